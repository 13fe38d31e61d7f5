"""A backend: one endpoint of a slice, on one of its ports."""

from __future__ import annotations

import msgspec

from nearwise.model import Endpoint, ObjectReference

PortKey = tuple[str, str]
"""What a service port and a slice port are matched by: name ("" when unnamed) and protocol."""


class Backend(msgspec.Struct, frozen=True, gc=False):
    """Something that a connection can be sent to.

    ``source`` is the endpoint as the slice has it; the properties read it as a proxy does.
    """

    address: str
    port: int
    source: Endpoint
    slice_name: str

    @property
    def endpoint(self) -> str:
        """Address and port as they are written: ``10.0.0.1:80``, ``[fd00::1]:80``."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"{address}:{self.port}"

    @property
    def who(self) -> str:
        """What is behind it, ``pod web-2``; empty when that is not told."""
        target = self.target
        return f"{target.kind.lower()} {target.name}".strip() if target else ""

    @property
    def label(self) -> str:
        """How a sentence names it: ``10.0.0.1:80 (pod web-2)``."""
        return f"{self.endpoint} ({self.who})" if self.who else self.endpoint

    @property
    def ready(self) -> bool:
        """Wants new connections. Absent means true (API field ``conditions.ready``)."""
        return self.source.ready

    @property
    def serving(self) -> bool:
        """Answers, be it about to go or not. Absent means true, as recorded."""
        return self.source.conditions.serving is not False

    @property
    def terminating(self) -> bool:
        """Is about to go. Absent means false (API field ``conditions.terminating``)."""
        return self.source.conditions.terminating is True

    @property
    def draining(self) -> bool:
        """Not ready any more, but terminating and still serving: the last resort (KEP-1669)."""
        return self.serving and self.terminating and not self.ready

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones whose clients should use it: zone hints (KEP-2433)."""
        hints = self.source.hints
        return tuple([zone.name for zone in hints.for_zones]) if hints else ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes whose clients should use it: node hints (KEP-3015)."""
        hints = self.source.hints
        return tuple([node.name for node in hints.for_nodes]) if hints else ()

    @property
    def node_name(self) -> str | None:
        """The node it runs on."""
        return self.source.node_name

    @property
    def zone(self) -> str | None:
        """The zone it runs in."""
        return self.source.zone

    @property
    def target(self) -> ObjectReference | None:
        """The object behind it, mostly a pod."""
        return self.source.target_ref
