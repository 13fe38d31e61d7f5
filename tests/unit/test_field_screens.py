"""Field cases as a user meets them: the dump on standard input, the answer on the screen."""

from __future__ import annotations

from click.testing import CliRunner, Result
from msgspec.structs import replace

from cluster import node, pod, service
from nearwise.cli import Exit, cli
from nearwise.insight.world import World
from nearwise.model import Node, Pod
from nearwise.model.core import Taint, Toleration
from nearwise.model.wellknown import TOPOLOGY_MODE
from nearwise.slices.nodes import Nodes
from nearwise.slices.plan import apply
from nearwise.slices.reconcile import reconcile
from worlds import dump_of, nodes_in, settled, stored, web

AUTO = {TOPOLOGY_MODE: "Auto"}
SAME_ZONE = "PreferSameZone"


def ask(*arguments: str, of: World | bytes) -> Result:
    data = of if isinstance(of, bytes) else dump_of(of)
    return CliRunner().invoke(cli, [*arguments, "-f", "-"], input=data)


def flat(result: Result) -> str:
    """Return what was printed with one space between words, whatever lines they are on."""
    return " ".join(result.stdout.split())


def numbered(numbers: range) -> list[Pod]:
    return [pod(f"web-{n}", ips=(f"10.0.{n // 250}.{n % 250}",)) for n in numbers]


def test_f18_the_slices_that_would_do_and_the_writes_it_would_take_are_told() -> None:
    nodes, pods = Nodes([node("n0")]), numbered(range(1000))
    full = reconcile(service(), pods, nodes, ()).creates
    stay = {e.target_ref.name for s in full for e in s.endpoints[:5] if e.target_ref}
    left = [each for each in pods if each.metadata.name in stay]
    shrunk = apply(full, reconcile(service(), left, nodes, full))

    result = ask("slices", "--diff", of=stored(service(), [node("n0")], pods=left, slices=shrunk))

    assert result.exit_code == Exit.FINE
    assert (
        "50 endpoints lie in 10 slices and would fit in 1: nobody ever puts them together; it "
        "would take 10 writes" in flat(result)
    )


def test_f23_f33_a_service_that_is_too_small_is_told_the_rule_and_the_next_number() -> None:
    small = settled(service(annotations=AUTO), nodes_in(a=1, b=1, c=1), web("a-0", "b-0"))

    result = ask("hints", of=small)

    assert result.exit_code == Exit.FINDINGS
    assert "hints are off: 2 ready for 3 zones; it needs at least 3 ready endpoints" in flat(result)
    assert "nearest with hints: 3" in flat(result)
    assert "it needs at least 3 ready endpoints" in flat(ask("explain", "web", of=small))


def test_f29_in_one_zone_the_sentence_of_kubernetes_stands_beside_the_true_one() -> None:
    result = ask("hints", of=settled(service(annotations=AUTO), nodes_in(a=2), web("a-0", "a-1")))

    assert flat(result).count("all ready nodes are in zone a, so zone hints are pointless") == 1
    assert flat(result).count("Insufficient Node information") == 1


def group(name: str, *cpu: str) -> list[Node]:
    """Make a tainted node in each of the zones a, b and c."""
    return [
        replace(made, spec=replace(made.spec, taints=(Taint("group", name, "NoSchedule"),)))
        for made in (node(f"{name}-{zone}", zone, n) for zone, n in zip("abc", cpu, strict=True))
    ]


def test_f31_what_other_groups_of_nodes_do_to_the_shares_is_told_with_what_would_be() -> None:
    nodes = [*group("t1", "4", "4", "4"), *group("t2", "32", "4", "4")]
    tolerant = (Toleration("group", "Equal", "t1"),)
    pods = [
        replace(made, spec=replace(made.spec, tolerations=tolerant))
        for made in web("t1-a", "t1-a", "t1-b", "t1-b", "t1-c", "t1-c")
    ]

    result = ask("hints", of=settled(service(annotations=AUTO), nodes, pods))

    assert "all 6: a 4, b 1, c 1" in flat(result)
    assert (
        "counting only nodes on which these pods may run, the hints by zone would be a 2, b 2, "
        "c 2; counting all they are a 4, b 1, c 1" in flat(result)
    )


def test_f65_a_node_without_zone_is_told_once_for_all_services() -> None:
    nodes = [*nodes_in(a=1, b=1), node("lost", "")]
    many = [
        settled(service(name=f"web-{n}", distribution=SAME_ZONE), nodes, web("a-0", "b-0"))
        for n in range(50)
    ]

    result = ask("hints", of=dump_of(*many))

    assert result.exit_code == Exit.FINDINGS
    assert len([line for line in result.stdout.splitlines() if "lost" in line]) == 1
    assert "no zone label on lost: zone hints do not reach clients there" in flat(result)


def test_f65_where_nobody_has_hints_a_node_without_zone_is_not_spoken_of() -> None:
    result = ask("hints", "--all", of=settled(service(), [node("lost", "")], web("lost")))

    assert result.exit_code == Exit.FINE
    assert "lost" not in result.stdout
