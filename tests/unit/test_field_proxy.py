"""Field cases of proxies: what a node's kernel is told, and what its operator reads.

The same cases with packets are in ``tests/packets``.
"""

from __future__ import annotations

import errno
import json
import logging
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
from msgspec.structs import replace

from fake_kernel import FakeFlows
from nearwise.loops.surroundings import Surroundings
from nearwise.model import (
    Endpoint,
    EndpointConditions,
    EndpointHints,
    EndpointPort,
    EndpointSlice,
    ForNode,
    ForZone,
    Service,
)
from nearwise.model.core import (
    LoadBalancerIngress,
    LoadBalancerStatus,
    ServicePort,
    ServiceStatus,
)
from nearwise.nft.choices import Flow
from nearwise.nft.compile import Compiler, Routes, compiled
from nearwise.nft.diff import Transaction
from nearwise.nft.layout import ENDPOINTS, Settings
from nearwise.nft.netlink.attributes import Message, pack_number
from nearwise.nft.registers import endpoint as packed
from nearwise.nft.registers import frontend, pack_address
from nearwise.nft.ruleset import Family
from nearwise.nft.trace import End, Outcome, Packet, outcomes
from nearwise.proxy import netlink
from nearwise.proxy.health import Health
from nearwise.proxy.health_checks import HealthChecks
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.netfilter_socket import NetlinkError
from nearwise.proxy.netlink import NetlinkKernel
from nearwise.proxy.program import ProgramKernel
from nearwise.proxy.routes import routes_of
from nearwise.routing import Client, merge
from proxy_world import DNS, HTTP, World, endpoint, node, service, settle, slice_of
from virtual_time import run
from worlds import explained, goes, nodes_in, only_part, settled, web

HERE = Client("n1", "a")
CLUSTER, BALANCER, NODE = "10.96.0.1", "198.18.0.1", "192.0.2.10"
POD, OUTSIDE = "10.244.7.7", "198.51.100.9"
SETTINGS = Settings(
    Family.IPV4,
    pod_networks=("10.244.0.0/16",),
    node_port_addresses=(NODE,),
    node_addresses=(NODE,),
)


def routes(made: Service, *slices: EndpointSlice, client: Client = HERE) -> Routes:
    """Return what the proxy of a node knows of a service."""
    return routes_of(merge(made, slices, "IPv4"), client)


def reached(made: Routes, source: str = POD, to: str = CLUSTER, port: int = 80) -> set[str] | End:
    """Return who can answer a connection, by the last bytes of addresses, or how it ends."""
    table = compiled(SETTINGS, {made.service.metadata.key: made})
    found = outcomes(table, Packet(source, to, port), [NODE])
    ends = {outcome.end for outcome in found}
    if ends != {End.SENT}:
        (end,) = ends
        return end
    return {_last(outcome) for outcome in found}


def _last(outcome: Outcome) -> str:
    return outcome.address.rpartition(".")[2]


def hinted(number: int, zone: str, on: str, *, ready: bool = True) -> Endpoint:
    """Make an endpoint with the hints of PreferSameNode."""
    hints = EndpointHints((ForZone(zone),), (ForNode(on),))
    return replace(endpoint(number, zone, on, ready=ready), hints=hints)


def balanced() -> Service:
    """Make the service with an address of a load balancer, under external policy Local."""
    made = service(
        type="LoadBalancer", external_traffic_policy="Local", health_check_node_port=32000
    )
    address = LoadBalancerIngress(ip=BALANCER)
    return replace(made, status=ServiceStatus(LoadBalancerStatus((address,))))


# --- Who is chosen ----------------------------------------------------------------------------


def test_f34_hints_are_complete_and_a_node_without_zone_label_uses_all() -> None:
    slice_ = slice_of(endpoint(1, "a"), endpoint(2, "b"))

    assert reached(routes(service(), slice_, client=Client("n1", None))) == {"1", "2"}


def test_f35_internal_policy_local_keeps_to_the_node_whatever_the_hints_say() -> None:
    slice_ = slice_of(endpoint(1, "b", on="n1"), endpoint(2, "a", on="n2"))

    assert reached(routes(service(internal_traffic_policy="Local"), slice_)) == {"1"}


def test_f41_a_node_in_a_zone_without_endpoints_uses_all() -> None:
    slice_ = slice_of(endpoint(1, "a"), endpoint(2, "b"))

    assert reached(routes(service(), slice_, client=Client("n1", "c"))) == {"1", "2"}
    assert reached(routes(service(), slice_, client=Client("n1", "b"))) == {"2"}


def test_f42_one_endpoint_without_zone_has_every_node_use_all() -> None:
    slice_ = slice_of(*[endpoint(number, "abc"[number % 3]) for number in range(8)], endpoint(8))

    for zone in ("a", "b", "c"):
        made = routes(service(), slice_, client=Client("n1", zone))
        assert reached(made) == set(map(str, range(9)))


def test_f43_a_pod_on_this_node_that_lacks_the_port_is_passed_over() -> None:
    made = service("web", CLUSTER, HTTP, ServicePort("grpc", "TCP", None, 81, 9090))
    http, grpc = EndpointPort("http", "TCP", 8080), EndpointPort("grpc", "TCP", 9090)
    here_without_grpc = slice_of(hinted(1, "a", "n1"), name="x")
    with_both = [hinted(2, "a", "n2"), hinted(3, "b", "n3")]
    others = replace(slice_of(*with_both, name="y"), ports=(http, grpc))
    found = routes(made, here_without_grpc, others)

    assert reached(found, port=80) == {"1"}
    assert reached(found, port=81) == {"2"}


def test_f47_while_the_pod_of_a_node_restarts_its_neighbour_serves_then_the_cluster() -> None:
    """Three zones of two nodes, a pod on each; this node is n1, its neighbour n2."""
    places = [(1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "c"), (6, "c")]

    def while_down(*down: int) -> set[str] | End:
        pods = [
            hinted(number, zone, f"n{number}", ready=number not in down) for number, zone in places
        ]
        return reached(routes(service(), slice_of(*pods)))

    assert while_down() == {"1"}
    assert while_down(1) == {"2"}
    assert while_down(1, 2) == {"3", "4", "5", "6"}
    assert while_down(3, 4) == {"1"}
    assert while_down(*range(1, 7)) is End.REJECTED


def test_f51_an_address_given_out_again_is_served_in_any_order_and_slice() -> None:
    gone = endpoint(5, ready=False, serving=False)
    came = endpoint(5)

    for first, second in permutations((gone, came)):
        assert reached(routes(service(), slice_of(first, second))) == {"5"}
        apart = slice_of(first, name="x"), slice_of(second, name="y")
        assert reached(routes(service(), *apart)) == {"5"}


def test_f51_of_two_that_both_run_the_order_decides_nothing() -> None:
    pair = slice_of(endpoint(5, "a"), name="x"), slice_of(endpoint(5, "b"), name="y")
    tables = [
        compiled(SETTINGS, {("shop", "web"): routes(service(), *order, slice_of(endpoint(6, "b")))})
        for order in permutations(pair)
    ]

    assert tables[0] == tables[1]


def test_f53_a_slice_whose_port_has_another_name_serves_nobody_and_that_is_refused() -> None:
    unnamed = service("web", CLUSTER, replace(HTTP, name=""))
    found = merge(unnamed, [slice_of(endpoint(1))], "IPv4")

    assert reached(routes_of(found, HERE)) is End.REJECTED
    assert any("http" in reason.text for reason in found.reasons)
    without_name = slice_of(endpoint(1), port=EndpointPort("", "TCP", 8080))
    assert reached(routes(unnamed, without_name)) == {"1"}


def test_f54_outside_the_terminating_pod_here_serves_inside_the_ready_one_elsewhere() -> None:
    leaving = endpoint(1, on="n1", ready=False, serving=True)
    made = routes(balanced(), slice_of(leaving, endpoint(2, on="n2")))

    assert reached(made, OUTSIDE, BALANCER) == {"1"}
    assert reached(made, POD, CLUSTER) == {"2"}
    asked: dict[int, object] = {}
    health = Health(Surroundings(lambda: 0.0, lambda: "", lambda: 0.0), patience=60.0)
    services = HealthChecks(health, asked.update)
    services.changed(Family.IPV4, {("shop", "web"): made})
    answer = asked[32000].get()  # type: ignore[attr-defined]
    assert (answer.status, json.loads(answer.body)["localEndpoints"]) == (503, 0)


def test_f54_when_all_terminate_they_serve_to_the_last() -> None:
    leaving = [endpoint(number, ready=False, serving=True) for number in (1, 2)]

    assert reached(routes(service(), slice_of(*leaving))) == {"1", "2"}
    assert reached(routes(service(), slice_of(*leaving, endpoint(3)))) == {"3"}


def test_f55_what_neither_serves_nor_terminates_is_never_used() -> None:
    broken = replace(endpoint(1), conditions=EndpointConditions(False, False, False))
    draining = endpoint(2, ready=False, serving=True)

    assert reached(routes(service(), slice_of(broken))) is End.REJECTED
    assert reached(routes(service(), slice_of(broken, draining))) == {"2"}
    assert reached(routes(service(), slice_of(broken, draining, endpoint(3)))) == {"3"}


def test_f57_nobody_anywhere_is_refused_and_nobody_here_is_dropped() -> None:
    nobody, elsewhere = slice_of(), slice_of(endpoint(1, on="n2"))

    for source, to in ((POD, CLUSTER), (OUTSIDE, BALANCER)):
        assert reached(routes(balanced(), nobody), source, to) is End.REJECTED
    assert reached(routes(balanced(), elsewhere), OUTSIDE, BALANCER) is End.DROPPED
    assert reached(routes(balanced(), elsewhere), POD, BALANCER) == {"1"}
    inside = service(internal_traffic_policy="Local")
    assert reached(routes(inside, elsewhere)) is End.DROPPED
    assert reached(routes(inside, nobody)) is End.REJECTED


def test_f87_what_explain_says_of_each_node_is_what_its_kernel_does() -> None:
    """Six nodes in three zones: no loop of curls, and no other answer than it would give."""
    made = service(
        selector={"app": "web"}, ip_families=("IPv4",), traffic_distribution="PreferSameZone"
    )
    world = settled(made, nodes_in(a=2, b=2, c=2), web("a-0", "b-0", "b-1", "c-0"))
    said = goes(only_part(explained(world)))
    assert len(said) == 6
    slices = world.objects.slices

    for name, endpoints in said.items():
        here = routes(made, *slices, client=Client(name, name[0]))
        table = compiled(SETTINGS, {("shop", "web"): here})
        found = outcomes(table, Packet(POD, CLUSTER, 80), [NODE])
        assert {f"web-{_last(outcome)}": share for outcome, share in found.items()} == {
            pod: Fraction(1, len(endpoints)) for pod in endpoints
        }


# --- What a change costs ----------------------------------------------------------------------


def one_change(services: int) -> Transaction:
    """Have one endpoint of one service replaced, among so many services of two."""

    def routes_to(number: int, *endpoints: int) -> Routes:
        made = service(f"s{number}", f"10.{96 + number // 65536}.{number // 256}.{number % 256}")
        placed = (endpoint(each, on="n9") for each in endpoints)
        return routes(made, slice_of(*placed, of=f"s{number}"))

    compiler = Compiler(SETTINGS)
    compiler.change({("shop", f"s{number}"): routes_to(number, 1, 2) for number in range(services)})
    return compiler.change({("shop", "s7"): routes_to(7, 1, 3)})


def test_f61_one_endpoint_among_ten_thousand_services_changes_what_it_does_among_ten() -> None:
    change = one_change(10_000)

    ours = frontend(pack_address("10.96.0.7"), "TCP", 80)
    assert change.drop.keys() == change.put.keys() == {ENDPOINTS}
    keys = {*change.drop[ENDPOINTS], *change.put[ENDPOINTS]}
    assert all(key.startswith(ours) for key in keys)
    assert change == one_change(10)
    assert change.size == 2  # the slot is taken out and put in


# --- What others do, and what is told ---------------------------------------------------------


def dns_flow(to: str, port: int) -> Flow:
    """Make a flow of a client that keeps asking the service at 10.96.0.53."""
    asked = frontend(pack_address("10.96.0.53"), "UDP", 53)
    return Flow(packed(pack_address(POD), 40000), asked, packed(pack_address(to), port))


def test_f62_a_program_that_is_too_old_or_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nft"
    program.write_text("#!/bin/sh\necho 'nftables v0.9.8 (E.D.S.)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(KernelError, match=r"nft is version 0\.9\.8, 1\.0\.6 or later is needed"):
        ProgramKernel()
    program.unlink()
    with pytest.raises(KernelError, match="nft is not installed"):
        ProgramKernel()


def test_f62_what_a_kernel_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel without fib: its answer names the first thing that it does not take."""

    class Lacking:
        def ask(self, _: Message) -> bytes:
            return pack_number(1, 7)

        def batch(self, _: int, requests: Sequence[Message]) -> None:
            found = next(each.about for each in requests if "policy-local" in each.about)
            raise NetlinkError(errno.ENOENT, about=found)

    monkeypatch.setattr(netlink, "NetfilterSocket", Lacking)

    with pytest.raises(KernelError) as caught:
        NetlinkKernel().check([Family.IPV4])
    assert "policy-local of table ip nearwise" in str(caught.value)
    assert "fib" in str(caught.value)


def test_f63_a_table_flushed_by_hand_is_noticed_put_back_whole_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    port = EndpointPort("dns", "UDP", 53)
    objects = (
        node(),
        service(),
        slice_of(endpoint(1), endpoint(2)),
        service("dns", "10.96.0.53", DNS),
        slice_of(endpoint(3), of="dns", port=port),
    )

    async def story() -> None:
        flows = FakeFlows()
        world = World(*objects, flows=flows)
        async with world.running():
            before = world.table()
            world.kernel.flush()
            flows.flows = [dns_flow("10.96.0.53", 53), dns_flow("10.0.0.3", 53)]
            await settle(31)
            assert world.table() == before
            # A client that asked while there were no rules would have gone on into nothing.
            assert flows.flows == [dns_flow("10.0.0.3", 53)]
            await settle(300)

    run(story())
    told = [each.getMessage() for each in caplog.records if "IPv4" in each.getMessage()]
    assert told == ["IPv4: somebody changed our table; it is put right, all of it"]


def test_f65_a_thousand_services_on_a_node_without_zone_are_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "nearwise")
    names = [f"s{number}" for number in range(1000)]
    slices = [slice_of(endpoint(1, "a"), endpoint(2, "b"), of=name) for name in names]
    services = [
        service(name, f"10.96.{1 + number // 250}.{number % 250}")
        for number, name in enumerate(names)
    ]

    async def story() -> None:
        world = World(node(""), *services, *slices)
        async with world.running(settle=60):
            for name in names[:50]:
                world.cluster.put(slice_of(endpoint(1, "a"), endpoint(3, "b"), of=name))
                await settle()

    run(story())
    told = [each.getMessage() for each in caplog.records]
    assert len([text for text in told if "zone" in text]) == 1
    assert not [text for text in told if "/s1" in text]
    assert len(told) < 10


def test_f66_a_node_that_is_relabelled_chooses_anew_without_a_restart(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    async def story() -> None:
        world = World(node("a"), service(), slice_of(endpoint(1, "a"), endpoint(2, "b")))
        async with world.running():
            assert world.endpoints() == ["1"]
            world.cluster.put(node("b"))
            await settle()
            assert world.endpoints() == ["2"]

    run(story())
    assert "node n1: zone b" in [each.getMessage() for each in caplog.records]


def test_f81_what_the_proxy_wrote_and_what_failed_last_can_be_read() -> None:
    async def story() -> None:
        world = World(node(), service(), slice_of(endpoint(1)), service("db", "10.96.0.2"))
        async with world.running() as process:

            def read(query: str = "family=ip&service=shop/web") -> str:
                answer = process.operator_pages.get("/rules", query=query)
                assert answer.status == 200
                return answer.body.decode()

            text = read()
            assert text.startswith("# IPv4: in the kernel\n# last applied: 20")
            assert '10.96.0.1 . tcp . 80 comment "shop/web:http" : goto spread-1' in text
            assert "10.96.0.1 . tcp . 80 . 0 : 10.0.0.1 . 8080" in text
            assert "10.96.0.2" not in text
            assert "10.96.0.2" in read("family=ip")
            assert "failure" not in text

            world.kernel.refuse = lambda change: "out of memory" if change else ""
            world.cluster.put(slice_of(endpoint(2)))
            await settle()
            text = read()
            assert text.startswith("# IPv4: not applied\n")
            assert "# failing: out of memory\n" in text

            world.kernel.refuse = lambda _: ""
            await settle(60)
            text = read()
            assert text.startswith("# IPv4: in the kernel\n")
            assert "failing" not in text
            assert "# last failure: " in text
            assert "out of memory" in text
            assert "10.0.0.2 . 8080" in text

    run(story())
