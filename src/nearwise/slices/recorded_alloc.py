"""The allocation as recorded answers have it: plain JSON in, plain JSON out."""

from __future__ import annotations

from typing import Any

import msgspec

from nearwise.model import Node
from nearwise.slices.allocation import Refusal, allocate, zone_shares


class _Input(msgspec.Struct, rename="camel"):
    nodes: tuple[Node, ...] = ()
    ready_endpoints: int = 0


def answer(raw: object) -> dict[str, Any]:
    """Answer one recorded question (``nodes``, ``readyEndpoints``) in the shape of the record.

    The answer has ``ratios`` and ``allocations`` by zone and the text ``disabled``. Raises
    msgspec.ValidationError for what is not such a question.
    """
    question = msgspec.convert(raw, _Input)
    shares = zone_shares(question.nodes)
    outcome = allocate(shares, question.ready_endpoints)
    if isinstance(outcome, Refusal):
        return {"ratios": dict(shares.ratios), "allocations": {}, "disabled": outcome.text}
    return {
        "ratios": dict(shares.ratios),
        "allocations": {zone: msgspec.to_builtins(of) for zone, of in outcome.zones.items()},
        "disabled": "",
    }
