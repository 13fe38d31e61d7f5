"""Reading objects: typed decoding against the official ``kubernetes`` client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes
import msgspec
import yaml

from benchmarks.timing import Case
from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointPort,
    EndpointSlice,
    ObjectMeta,
    ObjectReference,
)
from nearwise.model.codec import read

FLEET = Path(__file__).parent.parent / "examples" / "fleet.yaml"


def cases() -> Iterator[Case]:
    """Yield the comparisons."""
    data = _slice_list(1_000, 100)
    official = kubernetes.client.ApiClient()
    yield Case(
        f"decode 1,000 slices of 100 ({len(data) / 1e6:.0f} MB of JSON)",
        "official kubernetes client",
        lambda: official.deserialize(data.decode(), "V1EndpointSliceList", "application/json"),
        lambda: read(data),
        rounds=3,
    )
    text = FLEET.read_bytes()
    yield Case(
        f"read fleet.yaml ({len(text) / 1e6:.1f} MB, typed)",
        "PyYAML's C loader alone",
        lambda: yaml.load(text, yaml.CSafeLoader),
        lambda: read(text),
    )


def _slice_list(slices: int, size: int) -> bytes:
    items: list[Any] = [
        EndpointSlice(
            metadata=ObjectMeta(name=f"web-{n}", namespace="shop", labels={"app": "web"}),
            address_type="IPv4",
            endpoints=tuple(_endpoint(n * size + i) for i in range(size)),
            ports=(EndpointPort("http", "TCP", 8080),),
        )
        for n in range(slices)
    ]
    return msgspec.json.encode(
        {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSliceList", "items": items}
    )


def _endpoint(i: int) -> Endpoint:
    return Endpoint(
        (f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}",),
        EndpointConditions(True, True, False),
        node_name=f"node-{i % 60}",
        zone=f"zone-{i % 3}",
        target_ref=ObjectReference("Pod", "shop", f"web-{i}", f"{i:08x}-1111-2222-3333-44445555"),
    )
