"""The flag server of docs/tutorial.md, rebuilt as a lab from its dump, and its incident again.

Four pods in zone 2c, all callers in zone 2a, and hints by CPU share (topology-mode Auto).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner
from lab_stories import clients, example, spread

from nearwise.cli import cli
from nearwise.lab.running import Lab, lab
from nearwise.lab.waiting import wait
from nearwise.model.objects import Objects
from nearwise.model.wellknown import SERVICE_NAME

SERVICE = "platform/feature-flags"
PODS = [f"feature-flags-7c9f-{number}" for number in range(4)]
ZERO, ONE, TWO, THREE = PODS
CALLERS = [f"ingress/ingress-proxy-{number}" for number in range(3)]
NEAR, FAR = "ap-northeast-2a", "ap-northeast-2c"
KUBECTL = Path(sys.executable).parent / "kubectl"


@pytest.fixture(scope="module")
def running_flags() -> Iterator[Lab]:
    with lab(example("flag-server-1-hints-on.yaml"), f"ff{os.getpid()}") as it:
        yield it


@pytest.fixture
def flags(running_flags: Lab) -> Lab:
    """Give the cluster as it was when all began: three nodes of 4 CPUs in each zone."""
    running_flags.settle()
    return running_flags


def test_the_incident_with_real_connections(flags: Lab) -> None:
    """Told as in the tutorial, while the callers go on; no call fails in all of it."""
    with clients(flags, SERVICE, *CALLERS) as callers:
        _two_work_and_two_idle(flags)

        # A node is added, and zone 2a has 22.28 of 34.28 CPUs: 0.65. The hints are gone.
        flags.add_node("ip-10-0-1-13", NEAR, "10280m")
        flags.until(_has_none, "the end of the hints")
        flags.settle()
        _all_share(flags)
        assert "Hints are off: the zones need at least" in _explained(flags)
        assert f"(CPU shares {NEAR} 0.65, {FAR} 0.35), 5 in all" in _explained(flags)

        # The node goes. Nobody looks at the service for that; when somebody does, hints are back.
        flags.remove_node("ip-10-0-1-13")
        flags.settle()
        _all_share(flags)
        _touch_until(flags, _has_hints)
        _two_work_and_two_idle(flags)
    for caller in CALLERS:
        assert set(callers.journey(caller)) <= set(PODS)


def test_between_two_shares_with_hints_there_is_one_without(flags: Lab) -> None:
    """Of four pods zone 2a gets two with half of the CPU, three with three quarters of it."""
    with clients(flags, SERVICE, *CALLERS):
        flags.add_node("ip-10-0-1-13", NEAR, "10280m")
        flags.until(_has_none, "the end of the hints")
        flags.settle()
        _all_share(flags)
        flags.add_node("ip-10-0-1-14", NEAR, "13720m")  # 36 of 48
        flags.settle()
        _touch_until(flags, _has_hints)
        zones = _hints(flags.objects())
        lent = [pod for pod, zone in zones.items() if zone == NEAR]
        kept = [pod for pod, zone in zones.items() if zone == FAR]
        assert (len(lent), len(kept)) == (3, 1)
        for place in (*CALLERS, "ip-10-0-1-14"):
            spread(flags, place, SERVICE, lent)
        spread(flags, "ip-10-0-3-10", SERVICE, kept)
        assert "3 of 4 ready endpoints get all the traffic, 1 gets none" in _explained(flags)
        for node in ("ip-10-0-1-13", "ip-10-0-1-14"):
            flags.remove_node(node)
        _touch_until(flags, _two_and_two)


def test_when_a_node_is_resized_hints_go_with_the_next_look_at_the_service(flags: Lab) -> None:
    with clients(flags, SERVICE, *CALLERS):
        _resize(flags, "ip-10-0-1-10", "14280m")  # 22.28 of 34.28
        flags.settle()
        assert _two_and_two(flags.objects())
        _touch_until(flags, _has_none)
        _all_share(flags)
        _resize(flags, "ip-10-0-1-10", "4")
        _touch_until(flags, _two_and_two)


def _resize(flags: Lab, node: str, cpu: str) -> None:
    change = json.dumps({"status": {"allocatable": {"cpu": cpu}}})
    words = ["patch", "node", node, "--subresource=status", "--type=merge", "-p", change]
    command = [str(KUBECTL), "--kubeconfig", str(flags.kubeconfig), *words]
    subprocess.run(command, check=True, capture_output=True)


def _has_none(objects: Objects) -> bool:
    return not _hints(objects)


def _has_hints(objects: Objects) -> bool:
    return len(_hints(objects)) == len(PODS)


def _two_and_two(objects: Objects) -> bool:
    return sorted(_hints(objects).values()) == [NEAR, NEAR, FAR, FAR]


def _two_work_and_two_idle(flags: Lab) -> None:
    assert _hints(flags.objects()) == {ZERO: FAR, ONE: NEAR, TWO: NEAR, THREE: FAR}
    for caller in CALLERS:
        spread(flags, caller, SERVICE, {ZERO: 0.0, ONE: 0.5, TWO: 0.5, THREE: 0.0})
    spread(flags, "ip-10-0-3-10", SERVICE, [ZERO, THREE])
    assert "2 of 4 ready endpoints get all the traffic, 2 get none." in _explained(flags)


def _all_share(flags: Lab) -> None:
    for place in (*CALLERS, "ip-10-0-3-10"):
        spread(flags, place, SERVICE, PODS)
    assert "All 4 ready endpoints share the traffic evenly: 25 % each." in _explained(flags)


def _hints(objects: Objects) -> dict[str, str]:
    """Return the zone that each pod is hinted for, of those that are."""
    return {
        endpoint.target_ref.name: endpoint.hints.for_zones[0].name
        for each in objects.slices
        if each.metadata.labels[SERVICE_NAME] == "feature-flags"
        for endpoint in each.endpoints
        if endpoint.hints is not None and endpoint.target_ref is not None
    }


def _touch_until(flags: Lab, so: Callable[[Objects], bool]) -> None:
    """Change something of the service that means nothing, until what comes of a look at it is so.

    Once is enough, when the controller knows by then what has become of the nodes.
    """
    numbers = count()

    def not_yet() -> str:
        change = {"metadata": {"labels": {"touched": str(next(numbers))}}}
        flags.api.patch("Service", "feature-flags", change, "platform")
        return "" if so(flags.objects()) else f"the hints are {_hints(flags.objects())}"

    wait(not_yet)
    flags.settle()


def _explained(flags: Lab) -> str:
    """Return what ``nearwise explain`` says now, as if nothing were wrapped."""
    words = ["explain", SERVICE, "--kubeconfig", str(flags.kubeconfig)]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split())
