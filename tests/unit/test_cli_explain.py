"""``nearwise explain``: how it is called, in which forms it answers, and how it ends."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cluster import node, service, slice_of
from nearwise.cli import Exit, cli
from nearwise.cli.explain_screen import print_explanation
from worlds import explained, settled, stored, web

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOP = str(EXAMPLES / "shop.yaml")
FLAGS = str(EXAMPLES / "flag-server-1-hints-on.yaml")


def explain(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["explain", *arguments], input=stdin)


def document(*arguments: str) -> Any:
    result = explain(*arguments, "-o", "json")
    assert result.exit_code == Exit.FINE, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ["orders", "-f", SHOP],
        ["shop/orders", "-f", SHOP],
        ["orders", "-n", "shop", "-f", SHOP],
        ["orders", "-A", "-f", SHOP],
        ["shop/orders", "-n", "edge", "-f", SHOP],
    ],
)
def test_a_service_is_named_as_kubectl_does_it(arguments: list[str]) -> None:
    result = explain(*arguments)
    assert result.exit_code == Exit.FINE, result.output
    assert result.stdout.startswith("shop/orders   ClusterIP")


def test_a_dump_can_come_from_standard_input() -> None:
    result = explain("orders", "-f", "-", stdin=Path(SHOP).read_bytes())
    assert result.stdout == explain("orders", "-f", SHOP).stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["ordres"], "did you mean orders"),
        (["orders", "-n", "edge"], "no service is called orders in namespace edge"),
        (["orders", "--from", "worker-9"], "no node, zone or pod is called worker-9"),
        (["orders", "--profile", "proxy"], "no data plane is called proxy"),
        (["orders", "--clients", "a=("], "label selector"),
    ],
)
def test_what_is_not_there_ends_with_2_and_a_hint(arguments: list[str], told: str) -> None:
    result = explain(*arguments, "-f", SHOP)
    assert result.exit_code == Exit.INPUT
    assert told in result.output


def test_a_name_that_several_services_have_is_asked_back(tmp_path: Path) -> None:
    names = {"one": "web", "two": "web"}
    dump = tmp_path / "dump.json"
    services = [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": ns, "name": name}}
        for ns, name in names.items()
    ]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": services}))
    result = explain("web", "-f", str(dump))
    assert result.exit_code == Exit.INPUT
    assert "2 services are called web (say which: one/web, two/web)" in result.output
    assert explain("two/web", "-f", str(dump)).exit_code == Exit.FINE


def test_json_has_the_documented_shape() -> None:
    found = document("feature-flags", "-f", FLAGS)
    assert (found["apiVersion"], found["kind"]) == ("nearwise/v1", "Explanation")
    assert found["service"] == "platform/feature-flags"
    assert found["clusterIPs"] == ["10.96.238.250"]
    (part,) = found["parts"]
    assert part["traffic"] == "inside"
    assert part["ports"] == [{"name": "http", "port": 80, "protocol": "TCP", "targets": [8080]}]
    assert part["headline"][0] == {
        "code": "traffic-part",
        "level": "warning",
        "text": "2 of 4 ready endpoints get all the traffic, 2 get none",
        "facts": {"reached": 2, "total": 4, "idle": 2},
    }
    assert {row["name"]: row["share"] for row in part["endpoints"]} == {
        "feature-flags-7c9f-0": 0.0,
        "feature-flags-7c9f-1": 0.5,
        "feature-flags-7c9f-2": 0.5,
        "feature-flags-7c9f-3": 0.0,
    }
    assert part["crossing"] == 1.0
    assert part["skew"] == 2.0
    assert part["zones"] == [{"from": "ap-northeast-2a", "to": "ap-northeast-2c", "share": 1.0}]
    first = part["groups"][0]
    assert first["pods"] == [f"ingress/ingress-proxy-{number}" for number in range(3)]
    assert (first["mode"], first["fate"], first["inZone"]) == ("same-zone", "forward", 0.0)


def test_every_field_of_the_json_is_documented() -> None:
    page = (EXAMPLES.parent / "docs" / "explain.md").read_text()
    found = document("shop/search", "-f", SHOP)
    part = found["parts"][0]
    named = [found, part, part["groups"][0], part["endpoints"][0], part["ports"][0]]
    named += [part["zones"][0], found["hints"][0]]
    documented = set(re.findall(r"`([a-zA-Z]+)(?:\[\])?`", page)) | {"apiVersion", "kind"}
    assert {name for each in named for name in each} <= documented


def test_yaml_says_the_same_as_json() -> None:
    result = explain("orders", "-f", SHOP, "-o", "yaml")
    assert yaml.safe_load(result.stdout) == document("orders", "-f", SHOP)


def test_wide_names_the_client_pods_and_shortens_nothing() -> None:
    fleet = str(EXAMPLES / "fleet.yaml")
    short = explain("svc-039", "-f", fleet).stdout
    wide = explain("svc-039", "-f", fleet, "-o", "wide").stdout
    assert "and 44 more (-o wide)" in short
    assert " more (-o wide)" not in wide
    assert all(f"svc-039-{number} " in wide for number in range(60))
    assert "CLIENT PODS" in wide


def test_on_a_terminal_without_unicode_the_bars_are_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    found = explained(settled(service(), [node("n0")], web("n0")))
    screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", screen)
    print_explanation(found, wide=False)
    screen.seek(0)
    assert "100.0 % ##########" in screen.read()


def test_the_two_families_of_a_service_are_told_apart_on_the_screen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = service(families=("IPv4", "IPv6"), distribution="PreferSameZone")
    print_explanation(explained(settled(made, [node("n0")], web("n0"))), wide=False)
    shown = capsys.readouterr().out
    assert "IPv4   http 80/TCP -> 8080" in shown
    assert "IPv6   http 80/TCP   from inside the cluster" in shown
    assert "IPv4 hints" in shown
    assert "No endpoint can be used" in shown


def test_two_data_planes_stand_one_under_the_other_and_their_reasons_are_told_apart() -> None:
    shown = explain("orders", "-f", SHOP, "--profile", "kube-proxy", "--profile", "no-hints").stdout
    assert "as kube-proxy does it" in shown
    assert "as no-hints does it" in shown
    assert "kube-proxy zone-b   zone hints: 6 of 6" in shown
    assert "no-hints chosen" in shown


def test_very_many_answers_are_cut_unless_wide(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = [node(f"n{number}", f"zone-{number:02}") for number in range(20)]
    made = service(distribution="PreferSameZone")
    found = explained(settled(made, cluster, web(*(each.metadata.name for each in cluster))))
    print_explanation(found, wide=False)
    assert capsys.readouterr().out.count("and 4 more (-o wide)") == 2
    print_explanation(found, wide=True)
    assert "more (-o wide)" not in capsys.readouterr().out


def test_slices_without_a_service_are_all_that_is_told_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_explanation(explained(stored(None, slices=[slice_of("web-abc")])), wide=False)
    assert capsys.readouterr().out.startswith("shop/web\n\nFINDINGS\n  warning  web-abc is left")
