"""The stories of the example clusters: what a user must read on the screen, service by service.

Set ``NEARWISE_UPDATE_DOCS=1`` to write what the commands print into the pages that show it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from nearwise.cli import Exit, cli

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / name for name in ("README.md", "README.ko.md", "docs/tutorial.md", "docs/explain.md")
]
FLAGS_ON = "flag-server-1-hints-on"
FLAGS_OFF = "flag-server-2-hints-off"
FLAGS_AGAIN = "flag-server-3-hints-on-again"


class Screen(NamedTuple):
    """What a run printed."""

    text: str

    @property
    def top(self) -> str:
        """What is there at a glance: the lines before the first table."""
        return _unwrapped(self.text.split("\n\n")[1])

    @property
    def flat(self) -> str:
        """All of it, as if nothing were wrapped."""
        return _unwrapped(self.text)

    def line(self, *start: str) -> list[str]:
        """Return the cells of the first line that begins with these words."""
        for line in self.text.splitlines():
            cells = re.split(r" {2,}", line.strip())
            if line.startswith(" ".join(start)):
                return cells
        raise AssertionError(f"no line begins with {start} in:\n{self.text}")


def _unwrapped(text: str) -> str:
    return " ".join(text.split())


def explain(service: str, dump: str = "shop", *more: str) -> Screen:
    """Run ``nearwise explain`` on an example."""
    arguments = ["explain", service, "-f", str(ROOT / "examples" / f"{dump}.yaml"), *more]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == Exit.FINE, result.output
    return Screen(result.stdout)


# --- The flag server --------------------------------------------------------------------------


def test_flag_server_with_hints_two_of_four_get_all_and_two_get_none() -> None:
    screen = explain("feature-flags", FLAGS_ON)
    assert "2 of 4 ready endpoints get all the traffic, 2 get none." in screen.top
    assert (
        "Lent from zone ap-northeast-2c to zone ap-northeast-2a, because of the CPU shares "
        "(ap-northeast-2a 0.5, ap-northeast-2c 0.5): feature-flags-7c9f-1 and feature-flags-7c9f-2."
    ) in screen.top
    for busy in ("feature-flags-7c9f-1", "feature-flags-7c9f-2"):
        assert screen.line(busy)[1] == "50.0 % ██████████"
        assert screen.line(busy)[-1] == "ap-northeast-2a (lent)"
    for idle in ("feature-flags-7c9f-0", "feature-flags-7c9f-3"):
        assert screen.line(idle)[1] == "0.0 %"
    assert "100 % of the traffic crosses zones." in screen.flat
    assert "no client reaches feature-flags-7c9f-0 and feature-flags-7c9f-3" in screen.flat
    assert "the limit is 60 %" in screen.flat


def test_flag_server_with_hints_would_be_even_if_traffic_came_from_where_the_cpu_is() -> None:
    screen = explain("feature-flags", FLAGS_ON, "--clients", "cpu")
    assert "All 4 ready endpoints share the traffic evenly: 25 % each." in screen.top


def test_flag_server_without_hints_all_four_share_and_the_numbers_say_why() -> None:
    screen = explain("feature-flags", FLAGS_OFF)
    assert "All 4 ready endpoints share the traffic evenly: 25 % each." in screen.top
    assert (
        "Hints are off: the zones need at least ap-northeast-2a 3, ap-northeast-2c 2 of 4 ready "
        "endpoints (CPU shares ap-northeast-2a 0.65, ap-northeast-2c 0.35), 5 in all."
    ) in screen.top
    assert screen.line("feature-flags-7c9f-0")[1] == "25.0 % ██████████"
    assert "nearest with hints: 3 and 5" in screen.flat
    assert "last event 2026-11-30T05:43:44Z: TopologyAwareHintsDisabled" in screen.flat


def test_flag_server_with_hints_again_is_as_before_and_the_last_event_says_since_when() -> None:
    screen = explain("feature-flags", FLAGS_AGAIN)
    assert "2 of 4 ready endpoints get all the traffic, 2 get none." in screen.top
    assert "last event 2026-11-30T05:43:53Z: TopologyAwareHintsEnabled" in screen.flat


def test_flag_server_asked_from_a_caller_names_the_two_it_uses_and_why() -> None:
    screen = explain("feature-flags", FLAGS_AGAIN, "--from", "ingress/ingress-proxy-1")
    assert (
        "Traffic from ingress/ingress-proxy-1 goes to feature-flags-7c9f-1 and "
        "feature-flags-7c9f-2." in screen.top
    )
    assert (
        "zone hints: 4 of 4 ready endpoints have one, 2 of them for ap-northeast-2a" in screen.flat
    )


# --- The shop ---------------------------------------------------------------------------------


def test_cache_preloader_in_a_rollout_falls_back_to_the_zone_and_two_pods_take_double() -> None:
    screen = explain("cache-preloader")
    assert "All 4 ready endpoints get traffic, but from 16.7 % to 33.3 %." in screen.top
    assert screen.line("cache-preloader-0")[1:3] == ["33.3 % ██████████", "zone-a"]
    assert screen.line("cache-preloader-2")[1:3] == ["33.3 % ██████████", "zone-c"]
    assert screen.line("cache-preloader-1")[1] == "16.7 % █████"
    assert screen.line("cache-preloader-4")[1] == "16.7 % █████"
    assert screen.line("cache-preloader-3")[1:] == ["0.0 %", "zone-a", "worker-4", "not ready", "-"]
    assert screen.line("4 nodes in 3 zones")[-2:] == ["what runs on their own node", "same-node"]
    assert screen.line("zone-a: control-1, worker-4")[3:] == ["cache-preloader-0", "same-zone"]
    assert screen.line("zone-c: worker-6")[2:] == ["16.7 %", "cache-preloader-2", "same-zone"]
    assert "0 % of the traffic crosses zones" in screen.flat


def test_checkout_has_too_few_pods_and_the_zone_without_one_uses_all() -> None:
    screen = explain("checkout")
    assert screen.line("checkout-0")[1] == "44.4 % ██████████"
    assert screen.line("checkout-1")[1] == screen.line("checkout-2")[1] == "27.8 % ██████"
    assert screen.line("zone-c: worker-3, worker-6")[2:] == ["33.3 %", "all 3", "cluster"]
    assert screen.line("zone-b: worker-5")[3:] == ["checkout-1, checkout-2", "same-zone"]
    assert "33.3 % of the traffic crosses zones; spread over all endpoints it would be 66.7 %" in (
        screen.flat
    )


def test_checkout_on_an_old_proxy_goes_by_zone_alone() -> None:
    screen = explain("checkout", "shop", "--profile", "kube-proxy-1.33")
    assert screen.line("zone-a: 3 nodes")[3:] == ["checkout-0", "same-zone"]
    assert "same-node" not in screen.flat


def test_orders_keeps_zones_apart_so_the_lone_pods_do_four_times_the_work() -> None:
    screen = explain("orders")
    assert "All 6 ready endpoints get traffic, but from 8.3 % to 33.3 %." in screen.top
    assert screen.line("orders-4")[1:3] == ["33.3 % ██████████", "zone-b"]
    assert screen.line("orders-5")[1:3] == ["33.3 % ██████████", "zone-c"]
    assert {screen.line(f"orders-{n}")[1] for n in range(4)} == {"8.3 % ██"}
    assert (
        "hot: orders-4 and orders-5, up to 33.3 % of the traffic, 2 times the mean" in screen.flat
    )


def test_search_follows_the_annotation_and_not_the_field() -> None:
    screen = explain("search")
    assert "All 9 ready endpoints share the traffic evenly: 11.1 % each." in screen.top
    assert "topology-mode=Auto wins over trafficDistribution PreferClose" in screen.flat
    assert screen.line("zone-b: worker-2, worker-5")[3:] == [
        "search-1, search-4, search-7",
        "same-zone",
    ]
    assert "last event 2026-11-30T05:44:46Z: TopologyAwareHintsEnabled" in screen.flat


def test_recommend_has_two_endpoints_for_three_zones_and_so_no_hints() -> None:
    screen = explain("recommend")
    assert "All 2 ready endpoints share the traffic evenly: 50 % each." in screen.top
    assert "Hints are off: 2 ready for 3 zones; it needs at least 3 ready endpoints." in screen.top
    assert "nearest with hints: 3" in screen.flat
    assert "66.7 % of the traffic crosses zones." in screen.flat


def test_web_asks_for_nothing_and_all_nodes_use_all_pods() -> None:
    screen = explain("web")
    assert "All 4 ready endpoints share the traffic evenly: 25 % each." in screen.top
    assert screen.line("7 nodes in 3 zones")[2:] == ["100.0 %", "all 4", "cluster"]
    assert "neither trafficDistribution nor the topology annotation is set" in screen.flat
    assert "outside the cluster" not in screen.flat


def test_metrics_agent_is_missing_on_one_node_whose_traffic_is_dropped() -> None:
    screen = explain("metrics-agent")
    assert "All 5 ready endpoints share the traffic evenly: 16.7 % each." in screen.top
    assert "16.7 % of the traffic is dropped: there is no endpoint on control-1 and worker-3" in (
        screen.top
    )
    assert screen.line("2 nodes in 2 zones")[2:] == ["16.7 %", "nobody", "dropped"]


def test_ingress_differs_from_inside_and_from_outside() -> None:
    screen = explain("ingress")
    inside, outside = screen.text.split("from outside the cluster\n")
    assert "66.7 % of the traffic crosses zones." in inside
    assert "7 nodes in 3 zones" in inside
    assert "the 2 nodes whose health check passes" in outside
    assert "2 nodes in 2 zones" in outside
    assert Screen(outside).line("5 nodes in 3 zones")[2:] == ["0.0 %", "nobody", "dropped"]


def test_db_is_headless_and_left_to_dns() -> None:
    screen = explain("db")
    assert "DNS answers with all 3 addresses and each client picks one" in screen.top
    assert "CLIENTS ON" not in screen.text


def test_legacy_db_is_mirrored_and_its_zones_are_not_known() -> None:
    screen = explain("legacy-db")
    assert screen.line("192.0.2.11")[1:] == ["50.0 % ██████████", "-", "-"]
    assert "mirrored from Endpoints data/legacy-db: a mirror knows no zone" in screen.flat
    assert "Of 100 % of the traffic it is not known whether it crosses zones." in screen.flat


def test_draining_lists_terminating_pods_and_uses_the_ready_one() -> None:
    screen = explain("draining")
    assert "One endpoint is ready and gets all the traffic: draining-2." in screen.top
    assert screen.line("draining-0")[1:5] == ["0.0 %", "zone-a", "worker-1", "terminating"]
    assert "draining-0 and draining-1: terminating, so listed but not used" in screen.flat
    assert screen.line("5 nodes in 2 zones")[2:] == ["66.7 %", "draining-2", "cluster"]


def test_empty_refuses_and_says_that_the_selector_picks_nobody() -> None:
    screen = explain("empty")
    assert "No endpoint can be used: connections are refused at once." in screen.top
    assert "no pod in namespace edge has the labels app=nothing-matches" in screen.flat


def test_the_api_server_s_own_service_is_not_in_the_dump_and_that_is_said() -> None:
    screen = explain("kubernetes")
    assert "the snapshot has no EndpointSlice of default/kubernetes" in screen.flat


# --- The pages that tell them -----------------------------------------------------------------

BLOCK = re.compile(r"```console\n\$ nearwise (.*)\n([^`]*)```\n")


def printed(command: str) -> str:
    """Return what a command of a page prints; ``| head -7`` shows the first lines only."""
    words, _, lines = command.partition(" | head -")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        result = CliRunner().invoke(cli, shlex.split(words), catch_exceptions=False)
    text = result.output
    return "".join(text.splitlines(keepends=True)[: int(lines)]) if lines else text


def shown(page: Path) -> Iterator[tuple[str, str]]:
    yield from BLOCK.findall(page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_the_pages_show_is_what_the_commands_print(page: Path) -> None:
    if os.environ.get("NEARWISE_UPDATE_DOCS"):
        page.write_text(
            BLOCK.sub(
                lambda found: f"```console\n$ nearwise {found[1]}\n{printed(found[1])}```\n",
                page.read_text(),
            )
        )
    commands = list(shown(page))
    assert commands
    for command, output in commands:
        assert printed(command) == output, f"$ nearwise {command}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_the_pages_show_fits_a_screen_of_100_columns(page: Path) -> None:
    assert max(len(line) for _, output in shown(page) for line in output.splitlines()) <= 100
