"""Where a node sends traffic, as recorded answers have it."""

from __future__ import annotations

from typing import Any

import msgspec

from nearwise.model import EndpointSlice, Service
from nearwise.model.codec import from_dict
from nearwise.model.wellknown import ZONE
from nearwise.routing import Backend, Client, is_routed, merge, select


class _Input(msgspec.Struct, rename="camel"):
    service: Service
    slices: tuple[EndpointSlice, ...] = ()
    node_name: str = ""
    node_labels: dict[str, str] = {}
    ip_family: str = "IPv4"


def answer(raw: object) -> dict[str, Any]:
    """Answer one recorded question in the shape of the record, by ``portName/PROTOCOL``.

    A question has a ``service``, its ``slices``, the client's ``nodeName`` and ``nodeLabels``, and
    the ``ipFamily``. A service that proxies do nothing for has no ports in the answer.
    """
    question = from_dict(raw, _Input)
    service = question.service
    if not is_routed(service):
        return {}
    client = Client(question.node_name, question.node_labels.get(ZONE))
    view = merge(service, question.slices, question.ip_family)
    answers = {}
    for (name, protocol), pool in view.backends.items():
        chosen = select(service, pool, client)
        answers[f"{name}/{protocol}"] = {
            "endpoints": sorted(
                [_endpoint(backend, client) for backend in pool], key=lambda one: one["endpoint"]
            ),
            "cluster": sorted([backend.endpoint for backend in chosen.cluster]),
            "local": sorted([backend.endpoint for backend in chosen.local]),
            "all": sorted([backend.endpoint for backend in chosen.all]),
            "clusterUsed": chosen.cluster_used,
            "localUsed": chosen.local_used,
            "hasAny": chosen.has_any,
        }
    return answers


def _endpoint(backend: Backend, client: Client) -> dict[str, Any]:
    return {
        "endpoint": backend.endpoint,
        "local": backend.node_name == client.node,
        "ready": backend.ready,
        "serving": backend.serving,
        "terminating": backend.terminating,
        "forZones": sorted(backend.zones),
        "forNodes": sorted(backend.nodes),
    }
