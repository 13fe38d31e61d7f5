"""What stays with a pod, told with real packets: sessions of clients, and flows of UDP."""

from __future__ import annotations

import socket
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from ipaddress import ip_network

import msgspec
from lab_stories import clients, evenly, pods_of, short, spread, strange

from nearwise.lab import namespaces
from nearwise.lab.running import Lab, Route
from nearwise.lab.waiting import wait

REFUSED = "refused"
LOST = "lost"

# --- Session affinity ---------------------------------------------------------------------


def test_each_client_stays_with_its_pod_and_clients_spread_over_all(town: Lab) -> None:
    pods = pods_of(town, "basket")
    of_client = _baskets(town)
    assert strange(Counter(of_client.values()), evenly(pods.values())) == ""
    assert _baskets(town) == of_client


def test_clients_whose_pod_goes_get_another_one_and_stay_there(town: Lab) -> None:
    pods = pods_of(town, "basket")
    gone = pods["b1"]
    others = set(pods.values()) - {gone}
    before = _baskets(town)
    with clients(town, "basket", "a2") as running:
        town.fail(gone)
        town.settle()
        while_away = _baskets(town)
        town.heal(gone)
        town.settle()
        after = _baskets(town)
    assert set(while_away.values()) == others
    for client, pod in before.items():
        assert while_away[client] == pod or pod == gone
    assert after == while_away
    assert len(running.journey("a2")) <= 2


def _baskets(it: Lab) -> dict[str, str]:
    """Ask three times from each of 120 client addresses on node a1; the pod of each.

    That all of them miss one of three pods by chance is less probable than 1e-20.
    """
    route = it.route("a1", "basket")
    found: dict[str, set[str]] = defaultdict(set)
    network = ip_network(it.plan.nodes["a1"].pods(4))
    for number in range(101, 221):
        client = str(network[number])
        target = msgspec.structs.replace(route.target, source=client)
        for answer in it.ask(Route(route.namespace, target), 3):
            found[client].add(short(answer))
    assert all(len(pods) == 1 for pods in found.values()), found
    return {client: pod for client, (pod,) in found.items()}


# --- UDP ----------------------------------------------------------------------------------


def test_datagrams_of_one_socket_follow_the_endpoints(town: Lab) -> None:
    """The pods go on answering whoever still asks them, so only the proxy can make it so."""
    names = sorted(pods_of(town, "dns").values())
    with _talk(town, "c1", "dns") as ask:
        first = ask()
        (second,) = set(names) - {first}
        assert {ask() for _ in range(50)} == {first}
        town.fail(first)
        _until(ask, second)
        town.settle()
        assert {ask() for _ in range(50)} == {second}
        town.fail(second)
        _until(ask, REFUSED)
        town.settle()
        assert {ask() for _ in range(50)} == {REFUSED}
        assert short(town.curl("c1", "dns")[0]) == REFUSED
        town.heal(first)
        _until(ask, first)
        town.heal(second)
        town.settle()
        assert {ask() for _ in range(50)} == {first}  # a flow that need not go stays


def test_datagrams_reach_the_next_pod_when_theirs_is_replaced(town: Lab) -> None:
    before = set(pods_of(town, "dns").values())
    with _talk(town, "c1", "dns") as ask, _talk(town, "a2", "dns") as ask_too:
        assert {ask(), ask_too()} <= before
        town.rollout("dns", max_unavailable=0)
        after = set(pods_of(town, "dns").values())
        assert not before & after
        _until(ask, *after)
        _until(ask_too, *after)
    assert short(town.curl("c1", "dns")[0]) in after


def test_new_sockets_spread_over_all_pods(town: Lab) -> None:
    spread(town, "c1", "dns", pods_of(town, "dns").values())


def _until(ask: Callable[[], str], *wanted: str) -> None:
    """Ask until it is as wanted."""
    wait(lambda: "" if (seen := ask()) in wanted else f"it is {seen}, not {wanted}")


@contextmanager
def _talk(it: Lab, place: str, service: str) -> Iterator[Callable[[], str]]:
    """Give what sends one datagram more from one socket: who answers it, or what became of it."""
    route = it.route(place, service)
    with namespaces.entered(route.namespace):
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with closing(one):
        one.settimeout(1.0)
        one.connect((route.target.address, route.target.port))

        def ask() -> str:
            try:
                with suppress(PermissionError):  # a packet that is rejected on its own host
                    one.send(b"who are you?")
                return str(msgspec.json.decode(one.recv(65536))["pod"])
            except ConnectionRefusedError:
                return REFUSED
            except TimeoutError:
                return LOST

        yield ask
