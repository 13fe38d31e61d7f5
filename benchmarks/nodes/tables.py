"""Loading and changing the rules of many services, one row for each thing that is done."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from benchmarks.live.case import Measured
from benchmarks.nodes.host import hosts
from benchmarks.nodes.loading import Chains, Maps
from benchmarks.nodes.services import Shape
from benchmarks.nodes.spent import Spent, spent
from benchmarks.timing import tell
from nearwise.model.codec import read
from nearwise.proxy.netlink import NetlinkKernel
from nearwise.proxy.program import ProgramKernel

HEAD: Final = (
    "| rules of a node | ours | in Python | in the kernel | ours, through nft "
    "| chains, through nft | ratio |\n| --- | --- | --- | --- | --- | --- | --- |"
)

_CHANGES: Final = 200
_THROUGH_NFT: Final = 2


class Row(NamedTuple):
    """What one thing took: ours by both backends, and the rival, if it could do it in time."""

    case: str
    netlink: Spent
    program: Spent
    chains: Spent | None

    def __str__(self) -> str:
        """Write it as a line of the table."""
        ours = self.netlink
        ratio = f"{self.chains.whole / ours.whole:.3g}" if self.chains else ""
        times = tell(ours.whole), tell(ours.ours), tell(ours.kernel)
        rest = _parts(self.program), _parts(self.chains) if self.chains else "too slow", ratio
        return f"| {' | '.join((self.case, *times, *rest))} |"


def rows(shape: Shape, *, rival: bool) -> Iterator[Row]:
    """Do everything with the services of a shape, and yield what it took."""
    with hosts(3) as (by_netlink, by_program, by_chains):
        netlink, program = (
            Maps(by_netlink, NetlinkKernel, shape),
            Maps(by_program, ProgramKernel, shape),
        )
        chains = Chains(by_chains, shape)
        gc.freeze()  # what is prepared is no work for the collector, which stays on
        loaded = chains.load() if rival else None
        yield Row(f"{shape}: from nothing", netlink.load(), program.load(), loaded)
        program.flip(2)  # has nft load all of it once for the new number of endpoints
        yield Row(
            f"{shape}: one endpoint changes",
            netlink.flip(_CHANGES),
            program.flip(_THROUGH_NFT),
            chains.flip() if loaded else None,
        )
        yield Row(
            f"{shape}: one service more",
            netlink.add(_CHANGES),
            program.add(_THROUGH_NFT),
            chains.add() if loaded else None,
        )
        yield Row(
            f"{shape}: all of it goes",
            netlink.remove(),
            program.remove(),
            chains.remove() if loaded else None,
        )


def reading(shape: Shape) -> Measured:
    """Make objects of the JSON of all services and slices, as an API server lists them."""
    services = [shape.service(number) for number in range(shape.services)]
    slices = [each for number in range(shape.services) for each in shape.slices(number)]
    lists = [
        msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})
        for items in (services, slices)
    ]
    took = spent(lambda: [read(each) for each in lists]).whole
    plain = spent(lambda: [json.loads(each) for each in lists]).whole
    size = sum(map(len, lists)) / 1e6
    return Measured(f"{tell(took)} for {size:.0f} MB", f"json, to dicts: {tell(plain)}")


def _parts(spent: Spent) -> str:
    parts = {"Python": spent.ours, "nft": spent.program, "kernel": spent.kernel}
    told = ", ".join(f"{who} {tell(seconds)}" for who, seconds in parts.items() if seconds)
    return f"{tell(spent.whole)}: {told}"
