"""``nearwise slices``: what is printed, in which form, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from nearwise.cli import Exit, cli
from nearwise.model.codec import read

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOP = str(EXAMPLES / "shop.yaml")
FLAGS_ON = str(EXAMPLES / "flag-server-1-hints-on.yaml")


def slices(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["slices", *arguments], input=stdin)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("   ") if cell.strip()]


def changed(*drop: str, **texts: str) -> str:
    """Return the shop without the objects of these names, as a dump of its own."""
    documents = yaml.load(Path(SHOP).read_text(), Loader=yaml.CSafeLoader)
    items = [item for item in documents["items"] if item["metadata"]["name"] not in drop]
    text = json.dumps({**documents, "items": items})
    for old, new in texts.items():
        text = text.replace(old, new)
    return text


# --- The slices ---------------------------------------------------------------------------


def test_one_line_a_slice() -> None:
    result = slices("-f", SHOP)

    lines = [cells(line) for line in result.stdout.splitlines()]
    assert lines[0] == ["SLICE", "FAMILY", "PORTS", "ENDPOINTS", "HINTS", "MANAGED BY", "WRITE"]
    assert [
        "shop/cache-preloader-bf8dq",
        "IPv4",
        "http:8080/TCP",
        "5 (4 ready)",
        "zone-a 1, zone-b 2, zone-c 1, 4 nodes",
        "endpointslice-controller.k8s.io",
        "-",
    ] in lines
    assert [
        "data/legacy-db-shlf4",
        "IPv4",
        "pg:5432/TCP",
        "2",
        "-",
        "endpointslicemirroring-controller.k8s.io",
        "-",
    ] in lines
    assert [
        "edge/empty-zn74h",
        "IPv4",
        "-",
        "0",
        "-",
        "endpointslice-controller.k8s.io",
        "-",
    ] in lines
    assert result.exit_code == Exit.FINE


def test_a_service_without_slices_is_told_with_the_reason() -> None:
    assert slices("-f", SHOP).stdout.endswith(
        "default/kubernetes: no slices.\n"
        "  info     nothing is mirrored: there is no Endpoints object\n"
    )


def test_wide_has_a_line_for_each_endpoint() -> None:
    result = slices("-f", SHOP, "draining", "empty", "-o", "wide")

    assert [cells(line)[3:] for line in result.stdout.splitlines()] == [
        ["ADDRESS", "STATE", "TARGET", "NODE", "ZONE", "HINTS", "WRITE"],
        ["10.244.0.41", "terminating", "Pod/draining-0", "worker-1", "zone-a", "-", "-"],
        ["10.244.0.42", "terminating", "Pod/draining-1", "worker-2", "zone-b", "-", "-"],
        ["10.244.0.43", "ready", "Pod/draining-2", "worker-3", "zone-c", "zone zone-c", "-"],
        ["-", "-", "-", "-", "-", "-", "-"],
    ]


def test_what_would_be_written_is_marked() -> None:
    dump = changed("web-3", "checkout-lrzhm", "draining-0", "draining-1", "draining-2")

    result = slices("-f", "-", stdin=dump)

    write = {cells(line)[0]: cells(line)[-1] for line in result.stdout.splitlines()[:13]}
    assert {name.rpartition("-")[0]: how for name, how in write.items() if how != "-"} == {
        "": "WRITE",
        "shop/web": "update",
        "shop/checkout": "create",
        "edge/draining": "update",
    }


def test_a_slice_that_would_go_is_told() -> None:
    dump = changed("legacy-db-unused")
    stray = json.loads(dump)
    mirror = next(item for item in stray["items"] if item["metadata"]["name"] == "legacy-db-shlf4")
    second = json.loads(json.dumps(mirror))
    second["metadata"]["name"] = "legacy-db-zzzzz"
    stray["items"].append(second)

    result = slices("-f", "-", "legacy-db", stdin=json.dumps(stray))

    assert "data/legacy-db: legacy-db-zzzzz would be deleted.\n" in result.stdout


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("path", [SHOP, FLAGS_ON])
def test_whole_slices_come_out_as_a_list_that_reads_back_as_what_is_stored(
    path: str, form: str
) -> None:
    result = slices("-f", path, "-o", form)

    assert read(result.stdout_bytes).slices == read(Path(path).read_bytes()).slices


def test_from_scratch_makes_every_slice_anew() -> None:
    found = read(slices("-f", SHOP, "--from-scratch", "-o", "json").stdout_bytes)

    stored = read(Path(SHOP).read_bytes())
    assert len(found.slices) == len(stored.slices)
    assert {s.metadata.name for s in found.slices}.isdisjoint(
        {s.metadata.name for s in stored.slices}
    )
    assert all(s.metadata.resource_version == "" for s in found.slices)


# --- The differences ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["shop", "flag-server-2-hints-off", "fleet"])
def test_in_the_examples_nothing_differs(name: str) -> None:
    result = slices("-f", str(EXAMPLES / f"{name}.yaml"), "--diff")

    number = {"shop": 13, "flag-server-2-hints-off": 2, "fleet": 41}[name]
    assert (result.exit_code, result.stdout) == (
        Exit.FINE,
        f"Nothing differs in {number} services.\n",
    )


def test_who_is_lent_elsewhere_is_told_and_is_no_difference() -> None:
    result = slices("-f", FLAGS_ON, "--diff", "--from-scratch")

    assert result.exit_code == Exit.FINE
    assert result.stdout == (
        "platform/feature-flags\n"
        "  info     feature-flags-7c9f-0 in feature-flags-g6gc9 is hinted to zone ap-northeast-2c, "
        "made anew\n"
        "           it would be to zone ap-northeast-2a: each zone gets the same number, and which "
        "endpoint\n"
        "           is lent does not matter\n"
        "  info     feature-flags-7c9f-2 in feature-flags-g6gc9 is hinted to zone ap-northeast-2a, "
        "made anew\n"
        "           it would be to zone ap-northeast-2c: each zone gets the same number, and which "
        "endpoint\n"
        "           is lent does not matter\n"
        "\n"
        "Nothing differs in 2 services.\n"
    )


def test_a_difference_is_told_with_the_write_the_endpoint_and_the_reason() -> None:
    result = slices("-f", "-", "web", "--diff", stdin=changed("web-3"))

    assert result.exit_code == Exit.FINDINGS
    assert result.stdout == (
        "shop/web: update web-c727d\n"
        "  info     no hints: neither trafficDistribution nor the topology annotation is set\n"
        "  info     web-c727d: 0 endpoints added, 1 removed, 0 changed\n"
        "  warning  web-3 (IPv4) is listed in web-c727d and should not be\n"
        "  info     there is no pod web-3 any more\n"
        "\n"
        "1 of 1 services differs.\n"
    )
    assert result.stdout in (EXAMPLES.parent / "docs" / "slices.md").read_text()


def test_slices_of_a_service_that_is_gone_are_told() -> None:
    result = slices("-f", "-", "--diff", stdin=changed("orders"))

    assert result.exit_code == Exit.FINDINGS
    assert "shop/orders\n  warning  orders-ckkz6 is left over: its owner" in result.stdout
    assert result.stdout.endswith("1 of 13 services differs.\n")


def test_many_differences_are_cut_short_unless_wide() -> None:
    fleet = yaml.load((EXAMPLES / "fleet.yaml").read_text(), Loader=yaml.CSafeLoader)
    fleet["items"] = [
        item
        for item in fleet["items"]
        if not (item["kind"] == "Pod" and item["metadata"]["name"].startswith("svc-000-"))
    ]
    dump = json.dumps(fleet)

    narrow = slices("-f", "-", "svc-000", "--diff", stdin=dump).stdout
    wide = slices("-f", "-", "svc-000", "--diff", "-o", "wide", stdin=dump).stdout

    assert "and 240 more (-o wide shows all)\n" in narrow
    assert wide.count("should not be") == 130


def test_a_dump_without_pods_is_not_compared_and_that_is_told_once() -> None:
    dump = json.loads(changed())
    dump["items"] = [item for item in dump["items"] if item["kind"] != "Pod"]

    result = slices("-f", "-", "--diff", stdin=json.dumps(dump))

    assert result.exit_code == Exit.FINDINGS
    assert result.stdout == (
        "Not compared: 10 services, for the snapshot has no pods: what the slices made of them "
        "should hold cannot be told.\n"
        "Nothing differs in 3 services.\n"
    )


def test_json_of_the_differences_has_the_documented_fields() -> None:
    result = slices("-f", "-", "web", "--diff", "-o", "json", stdin=changed("web-3"))

    found: dict[str, Any] = json.loads(result.stdout)
    assert (found["apiVersion"], found["kind"]) == ("nearwise/v1", "SliceDifferences")
    (service,) = found["services"]
    assert list(service) == [
        "service",
        "differs",
        "created",
        "updated",
        "deleted",
        "reasons",
        "differences",
        "notes",
        "unjudged",
    ]
    assert (service["service"], service["differs"]) == ("shop/web", True)
    assert service["updated"] == ["web-c727d"]
    assert [each["code"] for each in service["differences"]] == [
        "diff-endpoint-extra",
        "diff-pod-gone",
    ]
    assert service["unjudged"] is None


def test_an_unknown_service_is_refused() -> None:
    result = slices("-f", SHOP, "shop/wep")

    assert result.exit_code == Exit.INPUT
    assert "no service is called shop/wep" in result.output
