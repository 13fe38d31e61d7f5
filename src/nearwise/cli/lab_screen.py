"""Labs as a person reads them.

Law: layout only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from nearwise.cli.output import Colour, Painted, Text, print_line, print_table
from nearwise.cli.sentences import counted
from nearwise.lab.delays import RELAY
from nearwise.lab.probe import Failure, Target
from nearwise.lab.proxied import IN_STEP
from nearwise.lab.status import LabStatus, ServiceStatus
from nearwise.lab.tally import Tally

_MANY: Final = 40  # pods that are listed; more only when wide
_MEANT: Final = {
    Failure.REFUSED: "somebody said that nobody is there, as for a service without ready pods",
    Failure.TIMEOUT: "no answer came in time; packets were dropped, or the other end is off",
    Failure.UNREACHABLE: "there is no route, as from outside to cluster addresses",
    Failure.RESET: "the connection broke",
    Failure.EMPTY: "it was closed without an answer",
    Failure.UNSUPPORTED: "the kernel here has no such protocol",
}
_GOOD: Final = frozenset(["ready", IN_STEP])


def print_status(seen: LabStatus, *, wide: bool) -> None:
    """Print nodes, services and pods; wide with the endpoints that are used from each node."""
    print_nodes(seen)
    print_line("")
    print_services(seen)
    if wide:
        print_line("")
        rows = [row for service in seen.services for row in _ways(service)]
        print_table(("SERVICE", "MODE", "ON NODES", "ENDPOINTS"), rows)
    print_line("")
    if wide or len(seen.pods) <= _MANY:
        rows = [
            (each.name, each.zone, each.node, ", ".join(each.addresses), _state(each.state))
            for each in seen.pods
        ]
        print_table(("POD", "ZONE", "NODE", "ADDRESS", "STATE"), rows)
    else:
        print_line(f"{len(seen.pods)} pods (-o wide lists them)")
    if seen.latency:
        print_line("")
        delays = [
            (f"{' - '.join(each.zones)}", duration_text(each.seconds), how_text(each.how))
            for each in seen.latency
        ]
        print_table(("ZONES", "ROUND TRIP", "BY"), delays)


def print_nodes(seen: LabStatus) -> None:
    """Print a line for each node."""
    rows = [
        (
            each.name,
            each.zone,
            _state(each.state),
            ", ".join(each.addresses),
            f"{each.ready_pods}/{each.pods}",
            _state(each.proxy),
        )
        for each in seen.nodes
    ]
    print_table(("NODE", "ZONE", "STATE", "ADDRESS", "PODS READY", "PROXY"), rows)


def print_services(seen: LabStatus) -> None:
    """Print a line for each service."""
    rows = [
        (
            each.name,
            ", ".join(each.addresses),
            ", ".join(each.ports),
            each.asks_for,
            f"{each.ready}/{each.endpoints}",
            str(each.hinted),
            _modes(each),
        )
        for each in seen.services
    ]
    headers = ("SERVICE", "ADDRESS", "PORTS", "ASKS FOR", "READY", "HINTED", "MODE ON NODES")
    print_table(headers, rows)


def print_tally(place: str, service: str, target: Target, found: Tally) -> None:
    """Print who answered, and what failed."""
    address = f"[{target.address}]" if ":" in target.address else target.address
    where = f"{address}:{target.port} {target.protocol}"
    print_line(
        Painted(counted(found.connections, "connection"), Colour.BOLD),
        f" from {place} to {service} ({where})",
    )
    print_line("")
    if found.pods:
        rows = [
            (
                f"{each.pod}{' (terminating)' if each.terminating else ''}",
                each.zone,
                each.node,
                str(each.count),
                f"{each.share:.1%}",
                duration_text(each.latency.median),
                duration_text(each.latency.p99),
            )
            for each in found.pods
        ]
        headers = ("POD", "ZONE", "NODE", "ANSWERS", "SHARE", "MEDIAN", "P99")
        print_table(headers, rows)
        print_line("")
        zones = [f"{each.name or 'no zone'} {each.share:.1%}" for each in found.zones]
        print_line(f"By zone: {', '.join(zones)}.")
    if found.failures:
        kinds = ", ".join(f"{each.count} {each.name}" for each in found.failures)
        failed = sum(each.count for each in found.failures)
        print_line(Painted(f"{failed} failed: {kinds}.", Colour.RED))
        for each in found.failures:
            print_line(f"  {each.name}: {_MEANT[Failure(each.name)]}")


def duration_text(seconds: float) -> str:
    """Return a duration as people read it: ``0.42 ms``, ``5 ms``, ``1.2 s``."""
    number, unit = (seconds, "s") if seconds >= 1 else (seconds * 1000, "ms")
    return f"{number:.2g} {unit}" if number < 10 else f"{number:.0f} {unit}"


def how_text(how: str) -> str:
    """Return by what packets are delayed."""
    return "a process that holds packets back" if how == RELAY else how


def _modes(service: ServiceStatus) -> str:
    """Return how many nodes choose in which way."""
    modes = Counter[str]()
    for way in service.ways:
        modes[way.mode] += len(way.nodes)
    return ", ".join(f"{mode} {count}" for mode, count in modes.most_common())


def _ways(service: ServiceStatus) -> Iterator[tuple[Text, ...]]:
    for way in service.ways:
        yield (service.name, way.mode, ", ".join(way.nodes), ", ".join(way.endpoints))


def _state(state: str) -> Text:
    return state if state in _GOOD or not state else Painted(state, Colour.YELLOW)
