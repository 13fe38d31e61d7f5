"""One lab by its commands, from up to down: what happens in it, and where connections go.

The tests play on one lab, one after the other, and each leaves it as it found it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from lab_commands import Commands, lab, outside, traces

_SERVICES = ("--service", "web=4,PreferSameZone", "--service", "dns=daemon,PreferSameNode")


@pytest.fixture(scope="module")
def it() -> Iterator[Commands]:
    """Two zones of two nodes: web-1 on a1, web-2 on b1, web-3 on a2, web-4 on b2."""
    before = outside()
    with lab("s", "--zones", 2, "--nodes", 2, *_SERVICES) as commands:
        yield commands
    assert traces(commands.name) == []
    assert outside() == before


def test_connections_stay_in_the_zone_and_on_the_node_that_hints_say(it: Commands) -> None:
    assert it.answers("a1", "web", "-n", 40).keys() == {"web-1", "web-3"}
    assert it.answers("zone=zone-b", "web", "-n", 40).keys() == {"web-2", "web-4"}
    assert it.answers("b2", "dns", "-n", 10) == {"dns-b2": 10}
    assert it.answers("web-1", "dns:dns-tcp", "-n", 10) == {"dns-a1": 10}


def test_clients_outside_come_in_by_node_ports(it: Commands) -> None:
    assert it.answers("outside", "web", "--node-port", "b1", "-n", 40).keys() == {"web-2", "web-4"}


def test_a_pod_that_is_not_ready_gets_no_connections_and_then_gets_them_again(
    it: Commands,
) -> None:
    assert it.run("fail", "web-1") == "Pod web-1 is not ready.\n"
    assert it.answers("a1", "web", "-n", 20) == {"web-3": 20}
    it.run("fail", "default/web-3")
    assert it.answers("a1", "web", "-n", 40).keys() == {"web-2", "web-4"}
    it.run("heal", "web-1")
    assert it.answers("a2", "web", "-n", 20) == {"web-1": 20}
    it.run("heal", "web-3")
    assert it.answers("a2", "web", "-n", 40).keys() == {"web-1", "web-3"}


def test_the_table_says_who_answered_from_where(it: Commands) -> None:
    said = it.run("curl", "a1", "dns", "-n", 4).splitlines()
    assert said[0].startswith("4 connections from a1 to dns (10.96.")
    assert said[0].endswith(":53 UDP)")
    assert said[2].split() == ["POD", "ZONE", "NODE", "ANSWERS", "SHARE", "MEDIAN", "P99"]
    assert said[3].split()[:5] == ["default/dns-a1", "zone-a", "a1", "4", "100.0%"]
    assert said[-1] == "By zone: zone-a 100.0%."


def test_the_status_tells_of_nodes_services_and_pods(it: Commands) -> None:
    status = it.json("status")
    assert (status["apiVersion"], status["kind"]) == ("nearwise/v1", "LabStatus")
    assert [
        (each["name"], each["zone"], each["state"], each["readyPods"], each["proxy"])
        for each in status["nodes"]
    ] == [
        ("a1", "zone-a", "ready", 2, "in step"),
        ("a2", "zone-a", "ready", 2, "in step"),
        ("b1", "zone-b", "ready", 2, "in step"),
        ("b2", "zone-b", "ready", 2, "in step"),
    ]
    dns, web = status["services"]
    assert (web["name"], web["asksFor"], web["ready"], web["hinted"]) == (
        *("default/web", "PreferSameZone", 4, 4),
    )
    assert [(each["mode"], each["nodes"], each["endpoints"]) for each in web["ways"]] == [
        ("same-zone", ["a1", "a2"], ["web-1", "web-3"]),
        ("same-zone", ["b1", "b2"], ["web-2", "web-4"]),
    ]
    assert {each["mode"] for each in dns["ways"]} == {"same-node"}
    assert len(status["pods"]) == 8
    wide = it.run("status", "-o", "wide")
    assert "default/web   same-zone   a1, a2     web-1, web-3" in wide


def test_when_the_process_of_a_pod_dies_its_zone_steps_in(it: Commands) -> None:
    """That it is started again, as by a kubelet, takes ten seconds: see the last test."""
    it.run("kill", "pod", "dns-b2", "--wait")
    assert it.answers("b2", "dns", "-n", 10) == {"dns-b1": 10}
    pods = {each["name"]: each["state"] for each in it.json("status")["pods"]}
    assert pods["default/dns-b2"] == "not ready"


def test_a_node_that_is_lost_is_missed_after_a_while_and_comes_back(it: Commands) -> None:
    assert it.run("kill", "node", "a2") == "Node a2 is off; in 3 s that is noticed.\n"
    assert [each["state"] for each in it.json("status")["nodes"]].count("off") == 1
    lost = it.json("curl", "b1", "web:80", "-n", 1, "--timeout", "100ms")
    assert lost["result"]["failures"] == []
    it.run("kill", "node", "a2", "--wait")
    assert it.answers("a1", "web", "-n", 20) == {"web-1": 20}
    assert it.json("status")["nodes"][1]["state"] == "not ready"
    it.run("start", "node", "a2")
    assert it.answers("a1", "web", "-n", 40).keys() == {"web-1", "web-3"}


def test_a_node_that_is_added_gets_its_pods_and_goes_again(it: Commands) -> None:
    it.run("add", "node", "c1", "--zone", "zone-c")
    assert it.answers("c1", "dns", "-n", 5) == {"dns-c1": 5}
    assert len(it.answers("c1", "web", "-n", 100)) == 4  # nobody is in its zone
    it.run("remove", "node", "c1")
    assert [each["name"] for each in it.json("status")["nodes"]] == ["a1", "a2", "b1", "b2"]
    it.run("add", "node", "c1", "--zone", "zone-c")  # the same place can be taken again
    assert it.answers("c1", "dns", "-n", 5) == {"dns-c1": 5}
    it.run("remove", "node", "c1")


def test_packets_between_zones_take_as_long_as_they_are_told_to(it: Commands) -> None:
    it.run("fail", "dns-a1")
    it.run("fail", "dns-a2")
    assert "takes 40 ms more" in it.run("latency", "zone-b", "zone-a", "40ms")
    slow = it.json("curl", "a1", "dns", "-n", 6)["result"]["pods"]
    assert {each["zone"] for each in slow} == {"zone-b"}
    assert all(0.040 <= each["latency"]["median"] < 0.2 for each in slow)
    assert it.json("status")["latency"][0]["zones"] == ["zone-a", "zone-b"]
    assert "no added latency" in it.run("latency", "zone-a", "zone-b", "0")
    fast = it.json("curl", "a1", "dns", "-n", 20)["result"]["pods"]
    assert min(each["latency"]["median"] for each in fast) < 0.040
    it.run("heal", "dns-a1")
    it.run("heal", "dns-a2")


def test_what_fails_is_counted_and_makes_the_exit_code_1(it: Commands) -> None:
    for each in ("dns-a1", "dns-a2", "dns-b1", "dns-b2"):
        it.run("fail", each)
    found = it.json("curl", "a1", "dns:dns-tcp", "-n", 3, "--timeout", "300ms", code=1)["result"]
    assert (found["connections"], found["answered"], found["pods"]) == (3, 0, [])
    assert found["failures"] == [{"name": "refused", "count": 3, "share": 1.0}]
    assert "3 failed: 3 refused." in it.run("curl", "a1", "dns:dns-tcp", "-n", 3, code=1)
    for each in ("dns-a1", "dns-a2", "dns-b1", "dns-b2"):
        it.run("heal", each)


def test_names_that_are_not_there_are_told_with_what_may_have_been_meant(it: Commands) -> None:
    assert "did you mean" in it.run("curl", "a1", "wep", code=2)
    assert "no node or pod is called a9" in it.run("curl", "a9", "web", code=2)
    assert "no pod is called web-9" in it.run("fail", "web-9", code=2)
    assert "no node is called z" in it.run("kill", "node", "z", code=2)
    assert "no zone is called zone-z" in it.run("latency", "zone-a", "zone-z", "5ms", code=2)
    assert "has no port 81" in it.run("curl", "a1", "web:81", code=2)
    assert "has no node port" in it.run("curl", "a1", "dns", "--node-port", "a1", code=2)
    assert "already" in it.run("add", "node", "a1", "--zone", "zone-a", code=2)


def test_a_lab_that_is_there_is_not_made_again(it: Commands) -> None:
    assert f"there is a lab called {it.name} already" in it.run("up", code=2)


def test_a_pod_whose_process_has_died_is_started_again(it: Commands) -> None:
    until = time.monotonic() + 15
    while it.answers("b2", "dns") != {"dns-b2": 1}:
        assert time.monotonic() < until
        time.sleep(0.2)


def test_other_labs_are_not_there(it: Commands) -> None:
    other = Commands("nolab")
    assert "there is no lab called nolab" in other.run("status", code=2)
    assert other.run("down") == "There is no lab nolab.\n"
    assert json.loads((it.folder / "facts.json").read_text())["process"] == it.process
