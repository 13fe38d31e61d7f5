"""``nearwise hints``: what is printed, in which form, and how it exits."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from fake_cluster import FakeCluster, serving
from nearwise.cli import Exit, cli
from nearwise.cli.hints_screen import print_hints
from nearwise.client.dump import load
from nearwise.insight.hints import hints_of
from nearwise.insight.kept_objects import kept
from nearwise.insight.world import World
from nearwise.model.codec import read
from nearwise.slices.nodes import Nodes

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOP = str(EXAMPLES / "shop.yaml")
FLAGS_ON = str(EXAMPLES / "flag-server-1-hints-on.yaml")
FLAGS_OFF = str(EXAMPLES / "flag-server-2-hints-off.yaml")


def hints(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["hints", *arguments], input=stdin)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("   ") if cell.strip()]


def table(result: Result) -> dict[str, list[str]]:
    """Return the table's lines, taken apart, by service."""
    lines = result.stdout.split("\n\n")[0].splitlines()
    return {cells(line)[0]: cells(line)[1:] for line in lines}


def test_one_line_a_service_says_what_is_asked_for_what_is_there_and_the_last_event() -> None:
    result = hints("-f", SHOP)

    assert table(result) == {
        "SERVICE": ["FAMILY", "ASKS FOR", "HINTS", "SINCE", "LAST EVENT", "FINDINGS"],
        "edge/draining": ["IPv4", "PreferSameZone (field)", "all 1: zone-c 1", "-", "-", "-"],
        "shop/cache-preloader": [
            "IPv4",
            "PreferSameNode (field)",
            "all 4: zone-a 1, zone-b 2, zone-c 1, 4 nodes",
            "-",
            "-",
            "-",
        ],
        "shop/checkout": [
            "IPv4",
            "PreferSameNode (field)",
            "all 3: zone-a 1, zone-b 2, 2 nodes",
            "-",
            "-",
            "-",
        ],
        "shop/orders": [
            "IPv4",
            "PreferSameZone (field)",
            "all 6: zone-a 4, zone-b 1, zone-c 1",
            "-",
            "-",
            "-",
        ],
        "shop/recommend": [
            "IPv4",
            "Auto (annotation)",
            "none of 2",
            "2026-11-30T05:44:46Z",
            "Disabled 2026-11-30T05:44:47Z",
            "1",
        ],
        "shop/search": [
            "IPv4",
            "Auto (annotation over PreferClose)",
            "all 9: zone-a 3, zone-b 3, zone-c 3",
            "2026-11-30T05:44:46Z",
            "Enabled 2026-11-30T05:44:46Z",
            "1",
        ],
    }
    assert result.stderr == "Services that ask for no hints: 7 (--all shows them too).\n"


def test_the_page_about_it_shows_what_is_printed() -> None:
    page = (EXAMPLES.parent / "docs" / "hints.md").read_text()

    assert hints("-f", SHOP).stdout.split("\n\n")[0] in page


def test_findings_follow_by_service_and_what_all_share_comes_first() -> None:
    result = hints("-f", SHOP, "recommend")

    assert result.stdout.split("\n\n", 1)[1] == (
        "info     CPU of the ready worker nodes by zone: zone-a 16, zone-b 16, zone-c 16\n"
        "info     not counted in the CPU shares (control-plane), with their CPU: control-1 4\n"
        "\n"
        "shop/recommend\n"
        "  warning  hints are off: 2 ready for 3 zones; it needs at least 3 ready endpoints\n"
        "  info     Kubernetes tells it as: Insufficient number of endpoints (2 endpoints, 3 "
        "zones),\n"
        "           addressType: IPv4\n"
        "  info     with 2 ready there are no hints at these CPU shares; nearest with hints: 3\n"
        "  info     off at 2 endpoints between ratio 0.333 and 1; now 0.333 (zone-a)\n"
    )


def test_how_near_hints_are_to_being_lost_is_told_though_nothing_is_wrong() -> None:
    result = hints("-f", FLAGS_ON)

    assert result.exit_code == Exit.FINE
    assert result.stdout.endswith(
        "platform/feature-flags\n"
        "  info     off at 4 endpoints between ratio 0.6 and 0.7; now 0.5 (ap-northeast-2a)\n"
        "  info     at these CPU shares hints would be lost with 3 and 5 ready endpoints\n"
    )


def test_wide_has_how_near_they_are_on_the_line_of_the_service() -> None:
    result = hints("-f", FLAGS_ON, "-o", "wide")

    assert table(result)["platform/feature-flags"][-1] == (
        "off at 4 endpoints between ratio 0.6 and 0.7; now 0.5 (ap-northeast-2a)"
    )


@pytest.mark.parametrize(
    ("path", "names", "code"),
    [
        (FLAGS_ON, (), Exit.FINE),
        (FLAGS_OFF, (), Exit.FINDINGS),
        (SHOP, (), Exit.FINDINGS),
        (SHOP, ("orders",), Exit.FINE),
        (SHOP, ("shop/web", "data/db"), Exit.FINE),
    ],
)
def test_it_exits_with_1_when_something_should_be_looked_at(
    path: str, names: tuple[str, ...], code: Exit
) -> None:
    assert hints("-f", path, *names).exit_code == code


def test_all_shows_services_that_ask_for_nothing_too() -> None:
    shown = table(hints("-f", SHOP, "--all"))

    assert shown["shop/web"] == ["IPv4", "nothing", "none of 4", "-", "-", "-"]
    assert shown["edge/empty"] == ["IPv4", "nothing", "nothing is ready", "-", "-", "-"]
    assert len(shown) == 14


def test_a_service_asked_about_by_name_is_shown_whatever_it_asks_for() -> None:
    assert list(table(hints("-f", SHOP, "web"))) == ["SERVICE", "shop/web"]


def test_a_namespace_narrows_the_services() -> None:
    assert list(table(hints("-f", SHOP, "-n", "edge"))) == ["SERVICE", "edge/draining"]


def test_an_unknown_service_is_refused_with_those_that_are_called_alike() -> None:
    result = hints("-f", SHOP, "serch")

    assert result.exit_code == Exit.INPUT
    assert "no service is called serch (did you mean search" in result.output


def test_a_dump_without_services_says_so() -> None:
    result = hints("-f", "-", stdin=b"{apiVersion: v1, kind: Node, metadata: {name: node-1}}")

    assert (result.exit_code, result.stdout) == (Exit.FINE, "")
    assert result.stderr == "There are no services.\n"


def document(result: Result) -> dict[str, Any]:
    return dict(json.loads(result.stdout))


def test_json_has_the_documented_fields() -> None:
    found = document(hints("-f", FLAGS_OFF, "-o", "json"))

    assert (found["apiVersion"], found["kind"]) == ("nearwise/v1", "Hints")
    assert [each["code"] for each in found["cluster"]] == ["cpu-shares"]
    (service,) = found["services"]
    assert list(service) == [
        "service",
        "mode",
        "by",
        "value",
        "trafficDistribution",
        "families",
        "findings",
        "reasons",
    ]
    (family,) = service["families"]
    assert list(family) == [
        "family",
        "ready",
        "hinted",
        "zones",
        "nodes",
        "lent",
        "thresholds",
        "lastEvent",
        "since",
        "findings",
        "reasons",
    ]
    assert family["thresholds"]["limit"] == 0.6
    assert (family["thresholds"]["fewer"], family["thresholds"]["more"]) == (3, 5)
    assert family["lastEvent"] == {
        "time": "2026-11-30T05:43:44Z",
        "event": "TopologyAwareHintsDisabled",
        "message": "Unable to allocate minimum required endpoints to each zone without exceeding "
        "overload threshold (4 endpoints, 2 zones), addressType: IPv4",
        "count": 2,
    }
    assert family["since"] == {"time": "2026-11-30T05:43:43Z", "seconds": None}
    assert family["findings"][0]["code"] == "hints-off-minimums"


def test_yaml_holds_what_json_holds() -> None:
    as_yaml = hints("-f", SHOP, "-o", "yaml")

    assert yaml.safe_load(as_yaml.stdout) == document(hints("-f", SHOP, "-o", "json"))


@pytest.mark.parametrize(
    ("now", "since", "age"),
    [
        ("2026-11-30T05:43:44+00:00", "05:43:43Z (1 s)", "Disabled 0 s ago"),
        ("2026-11-30T05:44:40+00:00", "05:43:43Z (57 s)", "Disabled 56 s ago"),
        ("2026-11-30T05:50:00+00:00", "05:43:43Z (6 min)", "Disabled 6 min ago"),
        ("2026-11-30T14:50:00+09:00", "05:43:43Z (6 min)", "Disabled 6 min ago"),
        ("2026-11-30T12:50:00+00:00", "05:43:43Z (7 h)", "Disabled 7 h ago"),
        ("2026-12-02T12:50:00+00:00", "2026-11-30T05:43:43Z (2 d)", "Disabled 2 d ago"),
        ("2026-11-30T05:00:00+00:00", "05:43:43Z (0 s)", "Disabled 0 s ago"),
    ],
)
def test_on_a_live_cluster_it_says_how_long_ago(
    now: str, since: str, age: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(read(Path(FLAGS_OFF).read_bytes()))
    present = datetime.fromisoformat(now).astimezone(UTC)
    found = hints_of(world, Nodes(world.objects.nodes), ("platform", "feature-flags"), present)

    print_hints([found], (), now=present, wide=False)

    assert cells(capsys.readouterr().out.splitlines()[1])[-3:-1] == [since, age]


def test_a_live_cluster_is_read_like_a_dump_of_it_and_tells_how_long_ago(tmp_path: Path) -> None:
    with serving(FakeCluster(kept(load([SHOP])))) as cluster:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(
            "current-context: test\n"
            f"clusters: [{{name: c, cluster: {{server: '{cluster.server}'}}}}]\n"
            "contexts: [{name: test, context: {cluster: c, namespace: shop}}]\n"
        )
        live = hints("--kubeconfig", str(kubeconfig))
        live_json = hints("--kubeconfig", str(kubeconfig), "-o", "json")

    dump = table(hints("-f", SHOP, "-n", "shop"))
    assert {name: row[:3] for name, row in table(live).items()} == {
        name: row[:3] for name, row in dump.items()
    }
    since, last = table(live)["shop/recommend"][3:5]
    assert re.fullmatch(r".*05:44:46Z \(\d+ (s|min|h|d)\)", since)
    assert re.fullmatch(r"Disabled \d+ (s|min|h|d) ago", last)
    assert live.exit_code == Exit.FINDINGS
    shown = {
        each["service"]: each["families"][0]["since"] for each in document(live_json)["services"]
    }
    assert shown["shop/recommend"]["time"] == "2026-11-30T05:44:46Z"
    assert shown["shop/recommend"]["seconds"] >= 0
    assert shown["shop/orders"] is None


DUAL = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node,
   metadata: {name: node-1, labels: {topology.kubernetes.io/zone: "%s"}},
   status: {conditions: [{type: Ready, status: "True"}]}}
- {apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop},
   spec: {selector: {app: web}, ipFamilies: [IPv4, IPv6], clusterIP: 10.96.0.1,
          trafficDistribution: PreferSameZone}}
- {apiVersion: v1, kind: Pod, metadata: {name: web-0, namespace: shop, labels: {app: web}},
   spec: {nodeName: node-1}, status: {phase: Running, podIP: fd00::1, podIPs: [{ip: "fd00::1"}],
   conditions: [{type: Ready, status: "True"}]}}
- {apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv6, ports: [],
   metadata: {name: web-6, namespace: shop, labels: {kubernetes.io/service-name: web,
   endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}},
   endpoints: [{addresses: ["fd00::1"], conditions: {ready: true}, nodeName: node-1,
                targetRef: {kind: Pod, name: web-0, namespace: shop}}]}
"""


def test_each_family_of_a_dual_stack_service_has_its_line_and_its_findings() -> None:
    result = hints("-f", "-", stdin=(DUAL % "").encode())

    assert [cells(line)[1:4] for line in result.stdout.split("\n\n")[0].splitlines()[1:]] == [
        ["IPv4", "PreferSameZone (field)", "nothing is ready"],
        ["IPv6", "PreferSameZone (field)", "none of 1"],
    ]
    assert (
        "\nshop/web IPv6\n  warning  web-0 has no zone hint, for its node node-1 has no label"
        in (result.stdout)
    )


def test_nothing_that_a_terminal_would_act_on_comes_out() -> None:
    red = '"\\x1b[31mred"'
    place = f"nodeName: node-1, zone: {red}, hints: {{forZones: [{{name: {red}}}]}},"
    dump = (DUAL % "").replace("nodeName: node-1,", place)

    result = hints("-f", "-", stdin=dump.encode())

    assert "all 1: \\x1b[31mred 1" in result.stdout
    assert "\x1b" not in result.stdout
