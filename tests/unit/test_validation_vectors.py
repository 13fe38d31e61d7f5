"""Every recorded answer of kube-apiserver 1.36 to an EndpointSlice or a Service."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from nearwise.model.validation import validate

VECTORS = Path(__file__).parent.parent / "vectors" / "validation.jsonl.gz"
RECORDED_MESSAGE = 600  # of longer ones only the beginning was kept
RECORDED = [json.loads(line) for line in gzip.decompress(VECTORS.read_bytes()).splitlines()]


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: str(recorded["case"]))
def test_answer_is_the_recorded_one(recorded: dict[str, Any]) -> None:
    given = recorded["object"]

    verdict = validate(given)

    assert verdict.status == recorded["status"]
    assert verdict.reason == recorded.get("reason", "")
    assert verdict.message[:RECORDED_MESSAGE] == recorded.get("message", "")
    assert [
        {"field": cause.field, "message": cause.message, "reason": cause.reason}
        for cause in verdict.causes
    ] == recorded.get("causes", [])
    assert _without_allocated(verdict.stored, given) == _without_allocated(
        recorded.get("stored"), given
    )


def test_all_lines_are_there() -> None:
    assert len(RECORDED) == 119
    assert sum(line["status"] == 422 for line in RECORDED) == 63


def _without_allocated(stored: dict[str, Any] | None, given: dict[str, Any]) -> object:
    """Put a word in place of each address and port that the server picked itself."""
    if stored is None or "spec" not in stored:
        return stored
    spec = dict(stored["spec"])
    if "clusterIP" in spec and "clusterIP" not in given["spec"]:
        assert spec["clusterIPs"] == [spec["clusterIP"]]
        assert spec["clusterIP"].startswith("10.96.")
        spec["clusterIP"], spec["clusterIPs"] = "picked", ["picked"]
    if "ports" in spec:
        asked = given["spec"]["ports"]
        spec["ports"] = [_port(*pair) for pair in zip(spec["ports"], asked, strict=True)]
    return {**stored, "spec": spec}


def _port(stored: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    if "nodePort" not in stored or "nodePort" in given:
        return stored
    assert 30000 <= stored["nodePort"] <= 32767
    return {**stored, "nodePort": "picked"}
