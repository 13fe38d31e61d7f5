"""The summaries that recorded answers of the slice controllers consist of."""

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parent / "vectors"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"

Json = dict[str, Any]


def recorded(name: str) -> list[Json]:
    """Read the lines of a recorded file: each has ``input`` and ``expect``."""
    with gzip.open(VECTORS / f"{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def summarise(step: Mapping[str, Any]) -> Json:
    """Make the summary of one answered step: what all slices hold after it, and what was done.

    ``step`` has ``slices`` as whole objects, the counts ``created``, ``updated`` and ``deleted``,
    ``events`` and ``error``, and ``mirrored`` where that is asked.
    """
    step = json.loads(json.dumps(step))
    hints: Counter[str] = Counter()
    moves: Counter[str] = Counter()
    for_nodes = []
    endpoints = []
    for slice_ in step["slices"]:
        family = slice_["addressType"]
        for endpoint in slice_.get("endpoints") or []:
            hint = endpoint.get("hints") or {}
            for zone in hint.get("forZones") or []:
                hints[f"{family}:{zone['name']}"] += 1
                moves[f"{family}:{endpoint.get('zone', '')}->{zone['name']}"] += 1
            for node in hint.get("forNodes") or []:
                for_nodes.append([endpoint["addresses"][0], node["name"]])
            bare = {key: value for key, value in endpoint.items() if key != "hints"}
            endpoints.append({**bare, "_slice": [family, _port_names(slice_)]})
    summary = {
        "slices": _ordered(_shape(slice_) for slice_ in step["slices"]),
        "endpoints": _ordered(endpoints),
        "hintsPerZone": dict(hints),
        "hintMoves": dict(moves),
        "forNodes": _ordered(for_nodes),
        "created": step["created"],
        "updated": step["updated"],
        "deleted": step["deleted"],
        "events": _ordered(
            [event["type"], event["reason"], event["message"]] for event in step["events"]
        ),
        "error": step["error"],
    }
    if "mirrored" in step:
        summary["mirrored"] = step["mirrored"]
    return summary


def differences(expected: Mapping[str, Any], summary: Mapping[str, Any]) -> Json:
    """Return what differs from a recorded summary, as ``{field: (recorded, ours)}``.

    Fields that differed between runs of Kubernetes itself are not compared.
    """
    return {
        field: (expected[field], summary.get(field))
        for field in expected
        if field != "unstable"
        and field not in expected["unstable"]
        and expected[field] != summary.get(field)
    }


def _shape(slice_: Json) -> Json:
    meta = slice_["metadata"]
    annotations = {k: v for k, v in meta.get("annotations", {}).items() if k != TRIGGER_TIME}
    return {
        "addressType": slice_["addressType"],
        "annotations": annotations,
        "count": len(slice_.get("endpoints") or []),
        "generateName": meta.get("generateName", ""),
        "labels": meta.get("labels", {}),
        "owners": [
            [
                owner["kind"],
                owner["apiVersion"],
                owner["name"],
                owner["uid"],
                owner.get("controller"),
                owner.get("blockOwnerDeletion"),
            ]
            for owner in meta.get("ownerReferences", [])
        ],
        "ports": _ordered(_port(port) for port in slice_.get("ports") or []),
    }


def _port(port: Json) -> list[Any]:
    return [port.get("name"), port.get("port"), port.get("protocol"), port.get("appProtocol")]


def _port_names(slice_: Json) -> list[str]:
    return sorted(str(_port(port)[:3]) for port in slice_.get("ports") or [])


def _ordered(items: Any) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
