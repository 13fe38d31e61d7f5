"""New names for old ones: each method renames one sort of thing.

Law: a new name depends on the old text and the salt alone (two texts whose hashes begin alike
aside, where the one met later gets more digits), is valid where the old one was, and two texts
never get the same one. Empty stays empty.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from nearwise.insight.kept_objects import DECIDING_ANNOTATIONS
from nearwise.model.wellknown import (
    ASKING,
    CONTROL_PLANE,
    HEADLESS,
    HOSTNAME,
    LAST_CHANGE_TRIGGER_TIME,
    LEADER,
    MANAGED_BY,
    MASTER,
    MIRRORING_CONTROLLER,
    NODE_STATE,
    NOT_ASKING,
    OVER_CAPACITY,
    SERVICE_NAME,
    SKIP_MIRROR,
    SLICE_CONTROLLER,
    TOPOLOGY_AWARE_HINTS,
    TOPOLOGY_MODE,
    ZONE,
)

_DIGITS: Final = 8  # of the hash in a name
# Names that every cluster has, and what stands for "no address".
_EVERYWHERE: Final = frozenset(
    ["", "None", "default", "kube-system", "kube-public", "kube-node-lease", "kubernetes"]
)
# What the API server appends to a name that it makes, or a number. It says nothing, and stays
# because of two slices that claim one address the one with the lesser name wins.
_GENERATED: Final = re.compile(r"(.+)(-(?:[bcdfghjklmnpqrstvwxz2456789]{5}|[0-9]+))")
_WORD: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._:-]*[A-Za-z0-9])?")
_CONDITIONS: Final = frozenset(
    [
        *("Ready", "PodScheduled", "Initialized", "ContainersReady", "PodReadyToStartContainers"),
        *("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"),
    ]
)  # of pods, of nodes
_MODES: Final = ASKING | NOT_ASKING
_MANAGERS: Final = frozenset([SLICE_CONTROLLER, MIRRORING_CONTROLLER])


class Pseudonyms:
    """The names of one cluster under one salt."""

    def __init__(self, salt: str) -> None:
        self._salt = salt
        self._codes: dict[str, str] = {}
        self._taken: set[str] = set()  # codes and addresses that are somebody's
        self._addresses: dict[str, str] = {}
        self._in_messages: dict[str, str] = {}
        # Labels and annotations whose key stays, and what becomes of the value.
        self._by_key: Mapping[str, Callable[[str], str]] = {
            ZONE: self.zone,
            "failure-domain.beta.kubernetes.io/zone": self.zone,
            "topology.kubernetes.io/region": self.region,
            "failure-domain.beta.kubernetes.io/region": self.region,
            HOSTNAME: self.node,
            CONTROL_PLANE: str,
            MASTER: str,
            "kubernetes.io/arch": str,
            "kubernetes.io/os": str,
            "kubernetes.io/metadata.name": self.namespace,
            "service.kubernetes.io/service-proxy-name": self.value,
            SERVICE_NAME: self.service,
            HEADLESS: str,
            SKIP_MIRROR: str,
            MANAGED_BY: self._unless(_MANAGERS),
            "endpoints.kubernetes.io/managed-by": str,
            TOPOLOGY_MODE: self._unless(_MODES),
            TOPOLOGY_AWARE_HINTS: self._unless(_MODES),
            LEADER: lambda _: "",  # that it is there decides; it names the leader
            LAST_CHANGE_TRIGGER_TIME: str,
            OVER_CAPACITY: str,
        }

    # --- Names ------------------------------------------------------------------------------

    def node(self, text: str) -> str:
        """Rename a node."""
        return self._named("node", text)

    def namespace(self, text: str) -> str:
        """Rename a namespace."""
        return self._named("ns", text)

    def service(self, text: str) -> str:
        """Rename a service, and the Endpoints of its name."""
        return self._named("svc", text)

    def pod(self, text: str) -> str:
        """Rename a pod."""
        return self._named("pod", text)

    def zone(self, text: str) -> str:
        """Rename a zone."""
        return self._named("zone", text)

    def region(self, text: str) -> str:
        """Rename a region."""
        return self._named("region", text)

    def slice(self, text: str) -> str:
        """Rename a slice; what the API server appended to the service's name stays."""
        generated = _GENERATED.fullmatch(text)
        new = self.service(generated[1]) + generated[2] if generated else self._new("slice", text)
        self._in_messages.setdefault(text, new)
        return new

    def slice_stem(self, text: str) -> str:
        """Rename what a slice's name is made of: the service's name and a dash."""
        return self.service(text.removesuffix("-")) + "-"

    def event(self, text: str) -> str:
        """Rename an event."""
        return self._new("event", text)

    def container(self, text: str) -> str:
        """Rename a container."""
        return self._new("container", text)

    def port(self, text: str) -> str:
        """Rename a port; at most 15 characters."""
        return self._new("p", text)

    def host(self, text: str) -> str:
        """Rename a host name of one label."""
        return self._new("host", text)

    def domain(self, text: str) -> str:
        """Rename a host name with dots."""
        return self.host(text) + ".example" if text else text

    def value(self, text: str) -> str:
        """Rename a value that only has to stay equal to itself."""
        return self._new("value", text)

    def protocol(self, text: str) -> str:
        """Rename an application protocol, unless it is a common one."""
        private = "/" in text and not text.startswith("kubernetes.io/")
        return "example.com/" + self.value(text) if private else text

    def condition(self, text: str) -> str:
        """Rename a condition's type, unless it is one of Kubernetes."""
        return text if text in _CONDITIONS else self._new("condition", text)

    def uid(self, text: str) -> str:
        """Rename a uid."""
        if not text:
            return text
        digest = self._digest(text)
        return "-".join([digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]])

    def _named(self, prefix: str, text: str) -> str:
        """Rename something that messages may speak of."""
        new = self._new(prefix, text)
        self._in_messages.setdefault(text, new)
        return new

    def _new(self, prefix: str, text: str) -> str:
        if text in _EVERYWHERE:
            return text
        code = self._codes.get(text)
        if code is None:
            digest, length = self._digest(text), _DIGITS
            while digest[:length] in self._taken:
                length += 1
            code = self._codes[text] = digest[:length]
            self._taken.add(code)
        return f"{prefix}-{code}"

    def _digest(self, text: str, turn: int = 0) -> str:
        return hashlib.sha256(f"{self._salt}\0{turn}\0{text}".encode()).hexdigest()

    # --- Addresses --------------------------------------------------------------------------

    def address(self, text: str) -> str:
        """Rename an address within its family; what is no address stays none."""
        if text in _EVERYWHERE:
            return text
        new = self._addresses.get(text)
        if new is None:
            new = self._addresses[text] = self._new_address(text)
        return new

    def node_address(self, text: str) -> str:
        """Rename an address of a node, which may be its name."""
        return self._in_messages.get(text) or self.address(text)

    def range(self, text: str) -> str:
        """Rename a range of addresses; its length stays."""
        try:
            old = ipaddress.ip_interface(text.strip())
        except ValueError:
            return self.domain(text)
        new = f"{self.address(str(old.ip))}/{old.network.prefixlen}"
        return str(ipaddress.ip_network(new, strict=False))

    def _new_address(self, text: str) -> str:
        try:
            old = ipaddress.ip_address(text)
        except ValueError:
            return self.domain(text)
        if old.is_loopback or old.is_link_local or old.is_multicast or old.is_unspecified:
            return text  # not valid for an endpoint, and says nothing
        if isinstance(old, ipaddress.IPv6Address) and old.ipv4_mapped:
            return f"::ffff:{self.address(str(old.ipv4_mapped))}"
        turn = 0
        while (new := self._hashed(old.version, self._digest(text, turn))) in self._taken:
            turn += 1
        self._taken.add(new)
        # Not written the one way that is valid for an endpoint: neither is the new one.
        return new if text == str(old) and "%" not in text else new.upper()

    def _hashed(self, version: int, digest: str) -> str:
        """Return an address for a digest, in 10.0.0.0/8 or fd00::/64."""
        number = int(digest, 16)
        if version == 4:
            return str(ipaddress.IPv4Address((10 << 24) + number % (1 << 24)))
        return str(ipaddress.IPv6Address((0xFD << 120) + number % (1 << 64)))

    # --- Labels, annotations, references, words ---------------------------------------------

    def labels(self, labels: Mapping[str, str]) -> dict[str, str]:
        """Rename labels or a selector: keys that Kubernetes does not know, and values."""
        return {self._key(key): self._value(key, value) for key, value in labels.items()}

    def taint(self, taint: Mapping[str, str]) -> dict[str, str]:
        """Rename a taint or a toleration."""
        new = dict(taint)
        if key := taint.get("key", ""):
            new["key"] = self._key(key)
            new["value"] = self._value(key, taint.get("value", ""))
        return {name: value for name, value in new.items() if value}

    def annotations(self, annotations: Mapping[str, str]) -> dict[str, str]:
        """Keep the annotations that decide something, and rename what they say."""
        return {
            key: self._value(key, value)
            for key, value in annotations.items()
            if key in DECIDING_ANNOTATIONS
        }

    def _key(self, key: str) -> str:
        stays = key in self._by_key or key.startswith(NODE_STATE)
        return key if stays else self._new("label", key)

    def _value(self, key: str, value: str) -> str:
        return self._by_key.get(key, self.value)(value)

    def _unless(self, known: frozenset[str]) -> Callable[[str], str]:
        """Return how to rename a value that has a meaning when it is one of these."""
        return lambda value: value if value in known else self.value(value)

    def reference(self, reference: Mapping[str, Any]) -> dict[str, Any]:
        """Rename what a reference points to."""
        return self._pointer(reference, ("kind", "apiVersion", "resourceVersion"))

    def owner(self, owner: Mapping[str, Any]) -> dict[str, Any]:
        """Rename an owner."""
        return self._pointer(owner, ("kind", "apiVersion", "controller", "blockOwnerDeletion"))

    def _pointer(self, old: Mapping[str, Any], same: tuple[str, ...]) -> dict[str, Any]:
        renames: dict[str, Callable[[str], str]] = {
            "Node": self.node,
            "Namespace": self.namespace,
            "Service": self.service,
            "Endpoints": self.service,
            "EndpointSlice": self.slice,
            "Pod": self.pod,
        }
        rename = renames.get(old.get("kind", ""), self._other)
        new = {field: value for field, value in old.items() if field in same}
        group = old.get("apiVersion", "").rpartition("/")[0]
        if "." in group and not group.endswith(".k8s.io"):
            new |= {"kind": "Custom", "apiVersion": "example.com/v1"}
        changes = {"name": rename, "namespace": self.namespace, "uid": self.uid}
        return new | {
            field: change(old[field]) for field, change in changes.items() if field in old
        }

    def _other(self, text: str) -> str:
        return self._new("owner", text)

    def message(self, text: str) -> str:
        """Rename everything in a sentence that was met before, and all addresses."""
        return _WORD.sub(self._said, text)

    def _said(self, word: re.Match[str]) -> str:
        text = word[0]
        if text in self._in_messages:
            return self._in_messages[text]
        try:
            ipaddress.ip_address(text)
        except ValueError:
            return text
        return self.address(text)
