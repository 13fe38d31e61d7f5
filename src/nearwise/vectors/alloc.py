"""How many endpoints each zone is to get by its share of the CPU."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from nearwise.model import Node
from nearwise.model.codec import from_dict
from nearwise.slices.allocation import Refusal, allocate, zone_shares


class _Input(msgspec.Struct, rename="camel"):
    nodes: tuple[Node, ...] = ()
    ready_endpoints: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0


def answer(raw: object) -> dict[str, Any]:
    """Answer one recorded question (``nodes``, ``readyEndpoints``) in the shape of the record.

    The answer has ``ratios`` and ``allocations`` by zone and the text ``disabled``.
    """
    question = from_dict(raw, _Input)
    shares = zone_shares(question.nodes)
    outcome = allocate(shares, question.ready_endpoints)
    if isinstance(outcome, Refusal):
        return {"ratios": dict(shares.ratios), "allocations": {}, "disabled": outcome.text}
    return {
        "ratios": dict(shares.ratios),
        "allocations": {zone: msgspec.to_builtins(of) for zone, of in outcome.zones.items()},
        "disabled": "",
    }
