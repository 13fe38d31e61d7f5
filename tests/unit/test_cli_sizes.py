"""Large clusters: screens stay short, and what is counted once is counted once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from cluster import endpoint, node, pod, service, slice_of
from hint_builders import endpoints, nodes
from nearwise.cli import Exit, cli
from nearwise.insight.disagreements import orphans
from nearwise.insight.world import World
from nearwise.model import EndpointSlice, Pod, Service, reason
from nearwise.model.core import ServicePort
from nearwise.model.objects import Objects
from nearwise.model.wellknown import TOPOLOGY_MODE
from nearwise.slices.allocation import (
    Allocations,
    Assigned,
    ZoneShares,
    allocate,
    assign,
    zone_shares,
)
from nearwise.slices.thresholds import nearness
from worlds import dump_of, settled, stored

AUTO = {TOPOLOGY_MODE: "Auto"}
MANY = 50


def lines(*arguments: str, of: World, code: int = Exit.FINE) -> list[str]:
    result = CliRunner().invoke(cli, [*arguments, "-f", "-"], input=dump_of(of))
    assert result.exit_code == code, result.output
    return result.stdout.splitlines()


def spread(*places: str) -> list[Pod]:
    return [pod(f"web-{n}", on, ips=(f"10.0.1.{n}",)) for n, on in enumerate(places)]


# --- Screens --------------------------------------------------------------------------------


def test_of_many_findings_of_one_kind_the_first_ten_are_shown_and_all_when_wide() -> None:
    near = service(distribution="PreferSameZone")
    bare = settled(near, [node("n0"), node("lost", "")], spread("n0", *["lost"] * MANY))

    for command, code in ((["explain", "web"], Exit.FINE), (["hints"], Exit.FINDINGS)):
        short = lines(*command, of=bare, code=code)
        wide = lines(*command, "-o", "wide", of=bare, code=code)

        assert sum("has no zone hint" in line for line in short) == 10
        assert any("and 40 more like these (-o wide shows all)" in line for line in short)
        assert sum("has no zone hint" in line for line in wide) == MANY


def test_of_many_nodes_that_stop_all_hints_three_are_at_the_top() -> None:
    lacking = [node(f"bare-{n}", "") for n in range(MANY)]
    off = settled(service(annotations=AUTO), [node("n0"), *lacking], spread("n0"))

    short = lines("explain", "web", of=off)

    assert sum("has no zone, and one such node is enough" in line for line in short) == 3
    assert "  and 47 more like these (-o wide)" in short


def test_of_a_hundred_ports_seven_are_named() -> None:
    ports = tuple(ServicePort(f"p{n}", "TCP", None, 1000 + n, 8000 + n) for n in range(100))
    busy = settled(service(ports=ports), [node("n0")], spread("n0"))

    short, wide = (
        " ".join(lines("explain", "web", *form, of=busy)) for form in ([], ["-o", "wide"])
    )

    assert "p6 1006/TCP -> 8006 + 93 more" in short
    assert "p99 1099/TCP -> 8099" in wide


def test_the_share_of_one_of_thousands_is_small_and_not_nothing() -> None:
    pods = [pod(f"web-{n}", "n0", ips=(f"10.0.{n // 250}.{n % 250}",)) for n in range(3000)]
    large = settled(service(), [node("n0")], pods)

    text = "\n".join(lines("explain", "web", of=large))

    assert "All 3000 ready endpoints share the traffic evenly: 0.033 % each." in text
    assert "web-0      < 0.1 % ██████████" in text
    assert "  0.0 %" not in text


def test_of_many_slices_to_be_written_the_first_are_named() -> None:
    pods = [pod(f"web-{n}", "n0", ips=(f"10.0.{n // 250}.{n % 250}",)) for n in range(1000)]
    written = settled(service(), [node("n0")], pods)
    changed = World(replace(written.objects, nodes=(node("n0", "b"),)))

    short = lines("slices", "--diff", of=changed, code=Exit.FINDINGS)
    wide = lines("slices", "--diff", "-o", "wide", of=changed, code=Exit.FINDINGS)

    assert short[0].endswith(", 2 more")
    assert short[0].count("web-") == 8
    assert wide[0].count("web-") == 10


def test_where_there_are_no_services_that_is_said() -> None:
    pods_only = stored(None, [node("n0")], pods=[pod("web-1")])
    for where, told in (([], ""), (["-n", "shop"], " in namespace shop")):
        for command in (["slices"], ["slices", "--diff"], ["hints"]):
            result = CliRunner().invoke(
                cli, [*command, *where, "-f", "-"], input=dump_of(pods_only)
            )
            assert (result.exit_code, result.stdout) == (Exit.FINE, "")
            assert result.stderr == f"There are no services{told}.\n"


# --- Work that follows the size -------------------------------------------------------------


def test_the_largest_zone_is_looked_for_once_however_many_zones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = []

    def largest(shares: ZoneShares) -> str:
        looked.append(shares)
        return max(shares.cpu, key=lambda zone: shares.cpu[zone])

    monkeypatch.setattr(ZoneShares, "largest", property(largest))
    near = nearness(zone_shares(nodes(*range(1, 11))), 30)

    assert near is not None
    assert len(looked) <= 3


def test_an_endpoint_is_lent_because_of_the_shares_of_two_zones_however_many_there_are() -> None:
    allocations = allocate(zone_shares(nodes(8, 1, 1, 1, 1)), 24)
    assert isinstance(allocations, Allocations)
    outcome = assign(allocations, [endpoints(4, 5, 5, 5, 5)], {})
    assert isinstance(outcome, Assigned)
    lent = [why.facts for why in outcome.reasons if why.code == "hint-lent"]
    assert lent
    for facts in lent:
        both = sorted([str(facts["zone"]), str(facts["to"])])
        assert facts["ratios"] == {name: allocations.ratios[name] for name in both}


class Counted(tuple[Service, ...]):
    """Services that count how often somebody goes through them."""

    gone_through = 0

    def __iter__(self) -> Iterator[Service]:
        Counted.gone_through += 1
        return super().__iter__()


def test_left_over_slices_are_found_without_going_through_all_services_each_time() -> None:
    def of(name: str) -> EndpointSlice:
        made = slice_of(name, endpoint("web-1"))
        labels = made.metadata.labels | {"kubernetes.io/service-name": name}
        return replace(made, metadata=replace(made.metadata, labels=labels))

    names = [f"gone-{n}" for n in range(MANY)]
    world = World(Objects(services=Counted([service()]), slices=tuple(map(of, names))))

    found = [orphans(world, ("shop", name)) for name in names]

    assert all(len(each) == 1 for each in found)
    assert Counted.gone_through == 1


class OnlyTheFirst(Mapping[str, float]):
    """A long mapping of which nobody may read more than seven values."""

    def __init__(self) -> None:
        self.read = 0

    def __len__(self) -> int:
        return 10_000

    def __iter__(self) -> Iterator[str]:
        return (f"zone-{n}" for n in range(10_000))

    def __getitem__(self, name: str) -> float:
        self.read += 1
        return 0.25


def test_a_sentence_with_a_long_list_reads_its_beginning_only() -> None:
    shares = OnlyTheFirst()
    text = reason("cpu-shares", cpu=shares).text
    assert text.endswith("zone-6 0.25, 9993 more")
    assert shares.read == 7


def test_equal_reasons_meet_in_a_set_and_others_stay_apart() -> None:
    def told(**cpu: float) -> set[object]:
        return {reason("cpu-shares", cpu=cpu)}

    assert told(a=1) | told(a=1.0) == told(a=1)
    assert len(told(a=1) | told(a=2)) == 2
