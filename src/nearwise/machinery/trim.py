"""What is kept of a pod in a cache.

A pod as the API server sends it is mostly about running it. Kept is what decides whether it is an
endpoint, which one, and which service wants it; everything else is dropped when it arrives. Parts
that pods of one workload share (labels, ports) are kept once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, TypeVar

from nearwise.model import ObjectMeta, Pod
from nearwise.model.core import Condition, Container, ContainerPort, PodIP, PodSpec, PodStatus

T = TypeVar("T")

_MOST_SHARED: Final = 10_000
_READY: Final = "Ready"
_SIDECAR: Final = "Always"


class PodTrimmer:
    """Trims pods. The more pods go through one trimmer, the more they share."""

    def __init__(self) -> None:
        # When it is full it is begun anew: what is in use then is only shared no further.
        self._shared: dict[Hashable, object] = {}

    def __call__(self, pod: Pod) -> Pod:
        """Return the pod without what no decision about endpoints reads."""
        meta, spec, status, once = pod.metadata, pod.spec, pod.status, self._once
        address = status.pod_ip or (status.pod_ips[0].ip if status.pod_ips else "")
        return Pod(
            metadata=ObjectMeta(
                name=meta.name,
                namespace=once(meta.namespace),
                uid=meta.uid,
                resource_version=meta.resource_version,
                deletion_timestamp=meta.deletion_timestamp,
                labels=self._labels(meta.labels),
            ),
            spec=PodSpec(
                node_name=once(spec.node_name),
                # A hostname counts only together with a subdomain, which names the service.
                hostname=spec.hostname if spec.subdomain else "",
                subdomain=once(spec.subdomain),
                containers=once(_with_ports(spec.containers)),
                init_containers=once(
                    _with_ports(c for c in spec.init_containers if c.restart_policy == _SIDECAR)
                ),
            ),
            status=PodStatus(
                phase=once(status.phase),
                pod_ip=address,
                # The first of podIPs is podIP (core/v1): one text for both.
                pod_ips=tuple(
                    PodIP(address if ip.ip == address else ip.ip) for ip in status.pod_ips
                ),
                conditions=self._ready(status.conditions),
            ),
        )

    def _labels(self, labels: dict[str, str]) -> dict[str, str]:
        once = self._once
        shared = {once(label): once(value) for label, value in labels.items()}
        return once(shared, frozenset(labels.items()))

    def _ready(self, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
        for condition in conditions:
            if condition.type == _READY:
                kept = Condition(
                    type=_READY,
                    status=condition.status,
                    last_transition_time=condition.last_transition_time,
                )
                return self._once((kept,))
        return ()

    def _once(self, part: T, identity: Hashable = None) -> T:
        """Return what is equal to the part and is kept already, or else the part."""
        identity = part if identity is None else identity
        if len(self._shared) >= _MOST_SHARED:
            self._shared.clear()
        return self._shared.setdefault(identity, part)  # type: ignore[return-value]


def _with_ports(containers: Iterable[Container]) -> tuple[Container, ...]:
    """Return only what named target ports are looked up in."""
    kept = []
    for container in containers:
        ports = tuple(
            ContainerPort(port.name, port.container_port, port.protocol)
            for port in container.ports
            if port.name
        )
        if ports:
            kept.append(Container(ports=ports, restart_policy=container.restart_policy))
    return tuple(kept)
