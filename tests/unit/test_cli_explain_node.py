"""``nearwise explain --node``: how it is called, what it prints, and how it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from fake_kernel import FakeFlows, FakeKernel
from nearwise.cli import Exit, cli
from nearwise.cli import explain_node as module
from nearwise.client.dump import load
from nearwise.insight.programmed import (
    Chosen,
    FamilyLines,
    FrontendLine,
    NodeExplanation,
    Way,
)
from nearwise.insight.programmed_ways import Goal
from nearwise.model.reasons import CATALOGUE, Level
from nearwise.nft.choices import Flow
from nearwise.nft.layout import ENDPOINTS, SERVICES
from nearwise.nft.registers import endpoint, frontend, pack_address, pack_drawn
from nearwise.nft.ruleset import Family
from nearwise.proxy.dry_run import dry_run
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.node import Options

SHOP = Path(__file__).parents[2] / "examples" / "shop.yaml"
PAGE = (Path(__file__).parents[2] / "docs" / "explain.md").read_text()
NODE = "worker-1"
ADDRESS = "192.168.76.107"
WEB = frontend(pack_address("10.96.166.70"), "TCP", 80)


class Here(FakeKernel):
    """The machine that is worker-1, with a kernel that has what the shop wants there."""

    def __init__(self) -> None:
        super().__init__()
        objects = load([str(SHOP)])
        (node,) = [each for each in objects.nodes if each.metadata.name == NODE]
        options = Options(node=NODE, pod_networks=("10.244.0.0/16",))
        tables = dry_run(objects.services, objects.slices, node, options)
        self.tables = {Family.IPV4: tables[Family.IPV4].ruleset}
        self.flows = FakeFlows()
        self.addresses = ("127.0.0.1", ADDRESS)
        self.refused = ""


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Here:
    here = Here()

    def opened() -> Here:
        if here.refused:
            raise KernelError(here.refused)
        return here

    monkeypatch.setattr(module, "open_kernel", opened)
    monkeypatch.setattr(module, "KernelFlows", lambda: here.flows)
    monkeypatch.setattr(module, "machine_addresses", lambda: here.addresses)
    return here


def explain(*arguments: str, service: str = "shop/web", node: str = NODE) -> Result:
    words = ["explain", service, "-f", str(SHOP), "--node", node, *arguments]
    return CliRunner().invoke(cli, words)


def document(**arguments: str) -> Any:
    return json.loads(explain("-o", "json", **arguments).stdout)


def lines(found: str, beginning: Iterable[str]) -> list[str]:
    return [line for line in found.splitlines() if line.startswith(tuple(beginning))]


# --- in step ------------------------------------------------------------------------------------


def test_a_kernel_in_step_ends_with_0_and_says_so_first(here: Here) -> None:
    result = explain()
    assert result.exit_code == Exit.FINE, result.output
    assert result.stdout == (
        "shop/web   NodePort   10.96.166.70   on worker-1 (zone-a)\n"
        "\n"
        "IPv4\n"
        "The kernel has what it should, for 2 frontends.\n"
        "\n"
        "FRONTEND                   KIND              PORT   FROM           SHOULD GO TO"
        "   IN THE KERNEL\n"
        "10.96.166.70:80/TCP        cluster address   http   this machine   4 endpoints"
        "    the same\n"
        "192.168.76.107:30088/TCP   node port         http   this machine   4 endpoints"
        "    the same\n"
        "192.168.76.107:30088/TCP   node port         http   outside        4 endpoints"
        "    the same\n"
        "\n"
        "New connections to 10.96.166.70:80/TCP from this machine and 2 more:\n"
        "ENDPOINT   ADDRESS            SHOULD GET   GETS\n"
        "web-0      10.244.0.16:8080    25.0 %       25.0 %\n"
        "web-1      10.244.0.17:8080    25.0 %       25.0 %\n"
        "web-2      10.244.0.18:8080    25.0 %       25.0 %\n"
        "web-3      10.244.0.19:8080    25.0 %       25.0 %\n"
        "\n"
        "WHY\n"
        "  chosen   no ready endpoint has a hint: all 4 are used\n"
    )


def test_every_service_of_the_shop_is_in_step(here: Here) -> None:
    """Headless ones, those without endpoints, and those that only terminating pods answer, too."""
    for service in load([str(SHOP)]).services:
        result = explain(service="/".join(service.metadata.key))
        assert result.exit_code == Exit.FINE, result.output


def test_a_headless_service_has_nothing_in_any_kernel(here: Here) -> None:
    headless = next(s for s in load([str(SHOP)]).services if s.spec.cluster_ip == "None")
    result = explain(service="/".join(headless.metadata.key))
    assert result.exit_code == Exit.FINE
    assert "\n\nWHY\n  note   " in result.stdout
    assert "headless" in result.stdout


def test_it_only_reads(here: Here) -> None:
    here.tables[Family.IPV4].elements[ENDPOINTS].clear()
    explain()
    assert here.applied == []


# --- not in step --------------------------------------------------------------------------------


def test_an_endpoint_taken_out_by_hand_ends_with_1_and_is_named(here: Here) -> None:
    del here.tables[Family.IPV4].elements[ENDPOINTS][WEB + pack_drawn(1)]
    result = explain()
    assert result.exit_code == Exit.FINDINGS
    assert "The kernel does not have what it should for 1 of 2 frontends." in result.stdout
    assert lines(result.stdout, ["web-0", "web-1"]) == [
        "web-0      10.244.0.16:8080    25.0 %       50.0 %",
        "web-1      10.244.0.17:8080    25.0 %           -",
        "web-0      10.244.0.16:8080    25.0 %       25.0 %",  # by the node port
        "web-1      10.244.0.17:8080    25.0 %       25.0 %",
    ]
    assert "sends nothing to 10.244.0.17:8080 (pod web-1)" in result.stdout


def test_what_is_other_comes_first(here: Here) -> None:
    del here.tables[Family.IPV4].elements[SERVICES][frontend(pack_address(ADDRESS), "TCP", 30088)]
    shown = lines(explain().stdout, ["10.96.166.70:80/TCP", ADDRESS])
    assert [line.split()[0] for line in shown] == [
        "192.168.76.107:30088/TCP",
        "192.168.76.107:30088/TCP",
        "10.96.166.70:80/TCP",
    ]
    assert shown[0].endswith("left as it is")


def test_without_a_table_it_says_that_no_proxy_has_run(here: Here) -> None:
    here.flush()
    result = explain()
    assert result.exit_code == Exit.FINDINGS
    assert "there is no table ip nearwise in force on this machine" in result.stdout


def test_flows_and_pins_to_who_is_gone_are_findings(here: Here) -> None:
    gone = endpoint(pack_address("10.244.0.99"), 8080)
    here.pinned[Family.IPV4] = {pack_address("10.244.0.7") + WEB: gone}
    result = explain()
    assert result.exit_code == Exit.FINDINGS
    assert "1 client is kept to 10.244.0.99:8080" in result.stdout
    here.flows = FakeFlows(Flow(endpoint(pack_address("10.244.0.7"), 999), WEB, gone, number=b"1"))
    assert "1 UDP flow goes on to 10.244.0.99:8080" in explain().stdout


def test_flows_that_cannot_be_listed_are_a_note_and_no_finding(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise KernelError("no access to the kernel's UDP flows: it is missing")

    monkeypatch.setattr(module, "KernelFlows", refuse)
    result = explain()
    assert result.exit_code == Exit.FINE
    assert "it is missing" in " ".join(result.stdout.split())


def test_another_machine_is_doubted(here: Here) -> None:
    here.addresses = ("127.0.0.1", "192.168.1.1")
    result = explain()
    assert result.exit_code == Exit.FINDINGS
    assert "none of the addresses of node worker-1 (192.168.76.107)" in result.stdout


# --- as a document ------------------------------------------------------------------------------


def test_as_json_it_is_a_document_of_a_kind_of_its_own(here: Here) -> None:
    found = document()
    assert (found["apiVersion"], found["kind"]) == ("nearwise/v1", "NodeExplanation")
    assert list(found) == [
        *("apiVersion", "kind", "service", "type", "clusterIPs", "node", "zone", "agrees"),
        *("families", "notes", "findings"),
    ]
    (family,) = found["families"]
    assert list(family) == [
        *("family", "table", "headline", "chosen", "frontends", "notes", "findings"),
    ]
    assert list(family["frontends"][0]) == ["frontend", "kind", "port", "agrees", "ways"]
    assert family["frontends"][0]["ways"][0]["kernel"][0] == {
        "becomes": "endpoint",
        "endpoint": "10.244.0.16:8080",
        "name": "web-0",
        "share": 0.25,
    }
    assert found["agrees"] is True


def test_as_yaml_it_is_the_same(here: Here) -> None:
    assert yaml.safe_load(explain("-o", "yaml").stdout) == document()


def test_a_document_ends_with_1_as_well(here: Here) -> None:
    here.flush()
    assert explain("-o", "json").exit_code == Exit.FINDINGS
    assert document()["agrees"] is False


# --- the page about it --------------------------------------------------------------------------


def test_the_page_shows_what_is_printed(here: Here) -> None:
    table = here.tables[Family.IPV4]
    table.elements[ENDPOINTS][WEB + pack_drawn(1)] = endpoint(pack_address("10.244.0.77"), 8080)
    assert f"$ sudo nearwise explain shop/web --node worker-1\n{explain().stdout}```" in PAGE


def test_every_field_of_the_document_and_every_finding_is_on_the_page() -> None:
    section = PAGE.partition("## On the node itself")[2].partition("## What is needed")[0]
    named = set(re.findall(r"`([\w-]+)(?:\[\])?`", section))
    values = (NodeExplanation, FamilyLines, FrontendLine, Chosen, Way, Goal)
    fields = {name for each in values for name in each.__struct_encode_fields__}
    codes = {
        code
        for code, entry in CATALOGUE.items()
        if code.startswith("kernel-") and entry.level is not Level.INFO
    }
    assert fields - named == set()
    assert codes - named == {"kernel-agrees-but", "kernel-differs"}  # headlines


# --- wrong usage --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [["--from", NODE], ["--clients", "cpu"], ["--profile", "kube-proxy"], ["--watch"]],
)
def test_options_about_other_places_do_not_go_with_it(here: Here, options: list[str]) -> None:
    result = explain(*options)
    assert result.exit_code == Exit.INPUT
    assert "do not go with it" in result.output


def test_a_node_that_is_not_there_is_asked_back(here: Here) -> None:
    result = explain(node="worker-9")
    assert result.exit_code == Exit.INPUT
    assert "there is no node worker-9 (--node says which; there are control-1" in result.output


def test_a_service_that_is_not_there_is_asked_back(here: Here) -> None:
    result = explain(service="shop/wep")
    assert result.exit_code == Exit.INPUT
    assert "did you mean shop/web" in result.output


def test_without_rights_it_ends_with_2_and_says_what_is_missing(here: Here) -> None:
    here.refused = "not allowed to change nftables: run as root"
    result = explain()
    assert result.exit_code == Exit.INPUT
    assert "run as root" in result.output


def test_a_kernel_that_cannot_be_read_ends_with_2(here: Here) -> None:
    here.refuse = lambda _: "table ip nearwise cannot be read: Interrupted"
    result = explain()
    assert result.exit_code == Exit.INPUT
    assert "cannot be read" in result.output
