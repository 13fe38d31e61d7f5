"""Which nodes a pod may ever run on."""

import pytest

from hint_builders import node
from nearwise.model import Node, Pod
from nearwise.model.core import PodSpec, Taint, Toleration
from nearwise.slices.schedulable import schedulable

SPOT = Taint("spot", "true", "NoSchedule")


def pod(*tolerations: Toleration, selector: dict[str, str] | None = None) -> Pod:
    return Pod(spec=PodSpec(tolerations=tolerations, node_selector=selector or {}))


@pytest.mark.parametrize(
    ("toleration", "taint", "runs"),
    [
        (Toleration("spot", "Equal", "true", "NoSchedule"), SPOT, True),
        (Toleration("spot", "", "true", ""), SPOT, True),
        (Toleration("spot", "Exists", "", ""), SPOT, True),
        (Toleration("", "Exists", "", ""), SPOT, True),
        (Toleration("", "Exists", "", "NoExecute"), SPOT, False),
        (Toleration("spot", "Equal", "false", ""), SPOT, False),
        (Toleration("gpu", "Exists", "", ""), SPOT, False),
        (Toleration("spot", "Lt", "true", ""), SPOT, False),
        (Toleration("gpu", "Exists", "", ""), Taint("spot", "true", "PreferNoSchedule"), True),
    ],
)
def test_a_taint_keeps_away_pods_that_do_not_tolerate_it(
    toleration: Toleration, taint: Taint, runs: bool
) -> None:
    tainted = node("n1", taints=(taint,))

    assert schedulable([tainted], pod(toleration)) == ((tainted,) if runs else ())


def test_every_taint_must_be_tolerated() -> None:
    tainted = node("n1", taints=(SPOT, Taint("gpu", "", "NoExecute")))

    assert schedulable([tainted], pod(Toleration("spot", "Exists"))) == ()


def test_the_node_selector_picks_by_labels() -> None:
    cluster: list[Node] = [node("fast", labels={"disk": "ssd"}), node("slow")]

    assert schedulable(cluster, pod(selector={"disk": "ssd"})) == (cluster[0],)
    assert schedulable(cluster, pod()) == tuple(cluster)
