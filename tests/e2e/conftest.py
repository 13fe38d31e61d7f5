"""The clusters on which scenarios are played.

By default each scenario is played on two of ``nearwise up``, one in memory and one that keeps its
objects in SQLite. With ``NEARWISE_E2E_KUBECONFIG=FILE`` nothing is started: it is played on the
cluster that the file leads to, in namespaces of its own that are removed again. Then

- scenarios with pods are left out unless ``NEARWISE_E2E_NODES=1`` allows nodes to be added: they
  are unschedulable, run nothing, and are removed again;
- scenarios that need a cluster of their own (mark ``alone``) are left out.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from e2e_cluster import Cluster, RefusedError, cluster_of, eventually, up
from e2e_shop import Nodes, Shop

GIVEN = os.environ.get("NEARWISE_E2E_KUBECONFIG", "")
MAY_ADD_NODES = not GIVEN or os.environ.get("NEARWISE_E2E_NODES") == "1"
WHERE = ["given"] if GIVEN else ["memory", "sqlite"]


def pytest_configure(config: pytest.Config) -> None:
    """Say what the mark means."""
    config.addinivalue_line("markers", "alone: needs a cluster without nodes of others")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what may not be done to a cluster that is not ours."""
    here = Path(__file__).parent
    left_out = [
        item
        for item in items
        if GIVEN
        and here in item.path.parents
        and (item.get_closest_marker("alone") or (_adds_nodes(item) and not MAY_ADD_NODES))
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _adds_nodes(item: pytest.Item) -> bool:
    return "nodes" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session", params=WHERE)
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Give the cluster on which a scenario is played."""
    folder = tmp_path_factory.mktemp(request.param)
    if GIVEN:
        with cluster_of(Path(GIVEN), folder) as cluster:
            yield cluster
        return
    options = ["--data", str(folder / "data")] if request.param == "sqlite" else []
    with up(folder, *options) as server, cluster_of(server.kubeconfig, folder) as cluster:
        yield cluster


@pytest.fixture
def shop(cluster: Cluster) -> Iterator[Shop]:
    """Give a namespace, which is removed afterwards."""
    namespace = f"nearwise-e2e-{secrets.token_hex(4)}"
    metadata = {"name": namespace}
    cluster.ask("POST", "/api/v1/namespaces", {"metadata": metadata})
    shop = Shop(cluster, namespace)
    yield shop
    _remove(shop)


def _remove(shop: Shop) -> None:
    """Remove a namespace, unless that is done already."""
    with suppress(RefusedError):
        shop.cluster.ask("DELETE", shop.path)


@pytest.fixture
def nodes(cluster: Cluster, shop: Shop) -> Iterator[Nodes]:
    """Give nodes of the test's own, which are removed after its pods."""
    nodes = Nodes(cluster, shop.namespace)
    yield nodes
    _remove(shop)
    eventually(lambda: cluster.get(f"{shop.path}/pods")["items"], [])
    for name in nodes.names:
        cluster.ask("DELETE", f"/api/v1/nodes/{name}")


@pytest.fixture
def zones(nodes: Nodes) -> Nodes:
    """Give two nodes in each of two zones: a1 and a2, b1 and b2."""
    for name in ("a1", "a2", "b1", "b2"):
        nodes.add(name, zone=name[0])
    return nodes
