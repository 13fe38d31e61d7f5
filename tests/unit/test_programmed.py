"""What a kernel has for a service against what it should have: tables meddled with by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fake_kernel import copy
from nearwise.insight.programmed import (
    FamilyLines,
    Seen,
    Wanted,
    node_explanation,
    programmed,
)
from nearwise.insight.programmed_rules import changed_parts, settings_in
from nearwise.insight.programmed_ways import Becomes, Clients
from nearwise.model import Node, ObjectMeta, Service, reason
from nearwise.model.core import (
    ClientIPConfig,
    LoadBalancerIngress,
    LoadBalancerStatus,
    NodeAddress,
    NodeStatus,
    ServicePort,
    ServiceStatus,
    SessionAffinityConfig,
)
from nearwise.nft.choices import Flow
from nearwise.nft.compile import Compiler
from nearwise.nft.diff import apply, diff
from nearwise.nft.layout import (
    ALLOWED,
    CLUSTER_ADDRESSES,
    ENDPOINTS,
    FENCED,
    LOCAL_ENDPOINTS,
    OUTSIDE,
    OWN_ENDPOINTS,
    REFUSE,
    SERVICES,
    Settings,
)
from nearwise.nft.registers import endpoint as packed
from nearwise.nft.registers import frontend, pack_address, pack_drawn
from nearwise.nft.ruleset import Chain, Drop, Family, Goto, Ruleset, Set, Unknown, Verdict
from nearwise.proxy.routes import routes_of
from nearwise.routing import Client, merge
from route_builders import codes, endpoint, node_port, service, slice_of, texts

MACHINE = ("127.0.0.1", "198.51.100.7", "198.51.100.8")
SETTINGS = Settings(
    Family.IPV4, node_port_addresses=("198.51.100.7",), node_addresses=MACHINE, masquerade_bit=14
)
CLUSTER = frontend(pack_address("10.96.0.1"), "TCP", 80)
NODE = frontend(pack_address("198.51.100.7"), "TCP", 30080)
BALANCER = frontend(pack_address("203.0.113.5"), "TCP", 80)
HERE, THERE, FAR = endpoint(1), endpoint(2, "n2"), endpoint(3, "n3", "b")


def at(number: int, port: int = 8080) -> bytes:
    return packed(pack_address(f"10.0.0.{number}"), port)


def slot(key: bytes, number: int) -> bytes:
    return key + pack_drawn(number)


def wanted(
    of: Service, *endpoints: Any, settings: Settings = SETTINGS, others: tuple[Service, ...] = ()
) -> Wanted:
    """Say what the node n1 in zone a should have for ``shop/web``, with other services around."""
    client = Client("n1", "a")
    routes = {
        each.metadata.key: routes_of(merge(each, slices, "IPv4"), client)
        for each, slices in ((of, [slice_of(*endpoints)]), *((other, []) for other in others))
    }
    compiler = Compiler(settings)
    compiler.change(routes)
    key = of.metadata.key
    return Wanted(
        of,
        settings,
        compiler.ruleset,
        routes[key].selections,
        compiler.left_out.get(key, ()),
    )


def meddled(should: Wanted, meddle: Callable[[Ruleset], object]) -> FamilyLines:
    """Compare with a kernel that has what it should, but for what somebody did to it."""
    table = copy(should.table)
    meddle(table)
    return programmed(should, Seen(table))


def put(name: str, key: bytes, value: Any = None) -> Callable[[Ruleset], object]:
    return lambda table: table.elements.setdefault(name, {}).__setitem__(key, value)


def drop(name: str, key: bytes) -> Callable[[Ruleset], object]:
    return lambda table: table.elements[name].pop(key)


def both(*meddles: Callable[[Ruleset], object]) -> Callable[[Ruleset], object]:
    return lambda table: [each(table) for each in meddles]


def balancer(*, ranges: tuple[str, ...] = ()) -> Service:
    """Make the service reachable by the address 203.0.113.5 of a load balancer."""
    made = service(kind="LoadBalancer")
    ingress = LoadBalancerStatus((LoadBalancerIngress(ip="203.0.113.5"),))
    spec = replace(made.spec, load_balancer_source_ranges=ranges)
    return replace(made, spec=spec, status=ServiceStatus(load_balancer=ingress))


def sticky(seconds: int = 10800) -> Service:
    """Make the service keep its clients to their endpoints."""
    made = service()
    affinity = SessionAffinityConfig(ClientIPConfig(seconds))
    spec = replace(made.spec, session_affinity="ClientIP", session_affinity_config=affinity)
    return replace(made, spec=spec)


WEB = wanted(service(), HERE, THERE, FAR)
"""Three endpoints without hints: all are chosen."""


# --- in step ----------------------------------------------------------------------------------


def test_a_kernel_that_has_what_it_should_agrees() -> None:
    found = programmed(WEB, Seen(copy(WEB.table)))
    assert found.headline == reason("kernel-agrees", frontends=1)
    assert found.findings == ()
    (line,) = found.frontends
    assert (line.frontend, line.kind, line.port) == ("10.96.0.1:80/TCP", "cluster address", "http")
    (way,) = line.ways
    assert way.should == way.kernel
    assert [(goal.name, goal.endpoint, round(goal.share, 3)) for goal in way.kernel] == [
        ("web-1", "10.0.0.1:8080", 0.333),
        ("web-2", "10.0.0.2:8080", 0.333),
        ("web-3", "10.0.0.3:8080", 0.333),
    ]


def test_the_reasons_of_the_choice_come_along() -> None:
    (chosen,) = programmed(WEB, Seen(copy(WEB.table))).chosen
    assert (chosen.port, chosen.protocol, codes(chosen.reasons)) == (
        "http",
        "TCP",
        ["route-unhinted"],
    )


@given(st.permutations([at(1), at(2), at(3)]))
def test_who_is_in_which_slot_is_no_difference(order: list[bytes]) -> None:
    found = meddled(
        WEB, both(*(put(ENDPOINTS, slot(CLUSTER, n), value) for n, value in enumerate(order)))
    )
    assert found.findings == ()


def test_the_elements_of_other_services_are_no_difference() -> None:
    other = frontend(pack_address("10.96.7.7"), "TCP", 443)
    found = meddled(WEB, put(SERVICES, other, Verdict(Goto(REFUSE), "shop/web-2:https")))
    assert found.findings == ()


def test_a_service_without_endpoints_is_rejected_in_both() -> None:
    found = programmed(wanted(service()), Seen(wanted(service()).table))
    assert [goal.becomes for goal in found.frontends[0].ways[0].kernel] == [Becomes.REJECTED]
    assert found.headline.code == "kernel-agrees"


# --- who is drawn -------------------------------------------------------------------------------


def test_an_endpoint_that_somebody_took_out_leaves_a_hole_and_is_missing() -> None:
    found = meddled(WEB, drop(ENDPOINTS, slot(CLUSTER, 1)))
    assert texts(found.findings) == [
        "10.96.0.1:80/TCP: 1 of 3 numbers that the kernel draws leads to no endpoint, so that the "
        "first one gets what is drawn so",
        "10.96.0.1:80/TCP: the kernel sends nothing to 10.0.0.2:8080 (pod web-2), though it is "
        "chosen for this node",
    ]
    assert found.headline == reason("kernel-differs", other=1, frontends=1)
    (way,) = found.frontends[0].ways
    assert {goal.name or goal.becomes: goal.share for goal in way.kernel} == {
        "web-1": pytest.approx(2 / 3),
        "web-3": pytest.approx(1 / 3),
    }


def test_an_endpoint_that_no_slice_lists_is_told_by_its_address() -> None:
    found = meddled(WEB, put(ENDPOINTS, slot(CLUSTER, 1), at(99, 81)))
    assert codes(found.findings) == ["kernel-endpoints-unknown", "kernel-endpoints-missing"]
    assert found.findings[0].facts["endpoints"] == ("10.0.0.99:81",)
    assert "10.0.0.99:81" in {goal.name for goal in found.frontends[0].ways[0].kernel}


def test_an_endpoint_of_the_service_that_is_not_for_this_node_is_told_by_its_pod() -> None:
    near = wanted(service(), endpoint(1, zones=("a",)), endpoint(2, "n2", "b", zones=("b",)))
    found = meddled(near, put(ENDPOINTS, slot(CLUSTER, 0), at(2)))
    assert texts(found.findings) == [
        "10.96.0.1:80/TCP: the kernel sends nothing to 10.0.0.1:8080 (pod web-1), though it is "
        "chosen for this node",
        "10.96.0.1:80/TCP: the kernel sends connections to 10.0.0.2:8080 (pod web-2), which is not "
        "chosen for this node",
    ]


def test_a_kernel_that_is_behind_misses_who_came_and_keeps_who_went() -> None:
    before = wanted(service(), HERE, THERE)
    found = programmed(wanted(service(), THERE, FAR), Seen(before.table))
    assert codes(found.findings) == ["kernel-endpoints-unknown", "kernel-endpoints-missing"]
    found = programmed(wanted(service(), HERE, THERE, FAR), Seen(before.table))
    assert codes(found.findings) == ["kernel-endpoints-missing"]


def test_one_endpoint_in_two_slots_is_drawn_more_often() -> None:
    found = meddled(WEB, put(ENDPOINTS, slot(CLUSTER, 1), at(1)))
    assert codes(found.findings) == ["kernel-endpoints-missing", "kernel-endpoints-twice"]


def test_an_endpoint_beyond_the_numbers_that_are_drawn_gets_nothing() -> None:
    found = meddled(WEB, put(ENDPOINTS, slot(CLUSTER, 3), at(9)))
    assert texts(found.findings) == [
        "10.96.0.1:80/TCP: in map endpoints, and never drawn: 10.0.0.9:8080"
    ]
    assert found.frontends[0].ways[0].should == found.frontends[0].ways[0].kernel


def test_what_is_other_at_several_frontends_is_told_once() -> None:
    should = wanted(node_port(), HERE, THERE)
    found = meddled(
        should,
        both(
            put(ENDPOINTS, slot(CLUSTER, 0), at(99)),
            put(ENDPOINTS, slot(NODE, 0), at(99)),
        ),
    )
    (unknown, _) = found.findings
    assert unknown.facts["frontends"] == ["10.96.0.1:80/TCP", "198.51.100.7:30080/TCP"]


# --- verdicts and frontends ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "has"), [(Drop(), "drop"), (Goto(REFUSE), "refuse"), (Goto("mine"), "mine")]
)
def test_another_verdict_is_told_by_its_chain(verdict: Any, has: str) -> None:
    def meddle(table: Ruleset) -> None:
        table.chains["mine"] = Chain("mine", ((Drop(),),))
        table.elements[SERVICES][CLUSTER] = Verdict(verdict, "shop/web:http")

    found = meddled(WEB, meddle)
    assert found.findings[0] == reason(
        "kernel-verdict-other",
        frontends=["10.96.0.1:80/TCP"],
        map="services",
        should="spread",
        has=has,
    )


def test_a_kernel_that_still_rejects_a_service_that_has_endpoints_now_is_told_so() -> None:
    found = programmed(WEB, Seen(wanted(service()).table))
    assert texts(found.findings)[0] == (
        "10.96.0.1:80/TCP: in map services the verdict is refuse, and should be spread"
    )
    assert not found.frontends[0].agrees


def test_a_frontend_that_is_not_in_the_kernel_is_missing() -> None:
    found = meddled(wanted(node_port(), HERE), drop(SERVICES, NODE))
    assert texts(found.findings) == ["198.51.100.7:30080/TCP: not in the kernel"]
    ways = {line.frontend: line.ways for line in found.frontends}["198.51.100.7:30080/TCP"]
    assert [way.kernel[0].becomes for way in ways] == [Becomes.UNTRANSLATED] * 2


def test_a_frontend_of_this_service_that_should_not_be_is_left_over() -> None:
    found = meddled(WEB, put(SERVICES, NODE, Verdict(Drop(), "shop/web:http")))
    assert texts(found.findings) == [
        "198.51.100.7:30080/TCP: in the kernel for this service, and should not be"
    ]
    (_, line) = found.frontends
    assert (line.kind, line.agrees) == ("", False)
    assert line.ways[0].kernel[0].becomes is Becomes.DROPPED


def test_a_frontend_that_the_kernel_has_for_another_service_names_that() -> None:
    verdict = Verdict(Goto("spread-3"), "shop/api:http")
    found = meddled(WEB, put(SERVICES, CLUSTER, verdict))
    assert texts(found.findings) == ["10.96.0.1:80/TCP: in the kernel for shop/api:http"]


def test_a_frontend_that_another_service_rightly_has_is_not_asked_of_the_kernel() -> None:
    ports = (ServicePort("http", "TCP", None, 80, 8080),)
    rival = replace(
        service(cluster_ip="10.96.0.2", external_ips=("203.0.113.9",), ports=ports),
        metadata=ObjectMeta(name="api", namespace="shop"),
    )
    mine = service(external_ips=("203.0.113.9",))
    should = wanted(mine, HERE, others=(rival,))
    found = programmed(should, Seen(copy(should.table)))
    assert [line.frontend for line in found.frontends] == ["10.96.0.1:80/TCP"]
    assert codes(found.notes) == ["frontend-contested"]
    assert found.findings == ()


# --- external policy Local ----------------------------------------------------------------------

LOCAL = wanted(node_port(external="Local"), HERE, THERE)


def test_under_policy_local_clients_outside_go_elsewhere_than_this_machine() -> None:
    found = programmed(LOCAL, Seen(copy(LOCAL.table)))
    assert found.findings == ()
    ways = {way.clients: way.kernel for way in found.frontends[1].ways}
    assert [goal.name for goal in ways[Clients.HERE]] == ["web-1", "web-2"]
    assert [goal.name for goal in ways[Clients.OUTSIDE]] == ["web-1"]


def test_an_endpoint_elsewhere_for_clients_outside_is_not_chosen() -> None:
    found = meddled(LOCAL, put(LOCAL_ENDPOINTS, slot(NODE, 0), at(2)))
    assert codes(found.findings) == ["kernel-endpoints-missing", "kernel-endpoints-not-chosen"]
    here, outside = found.frontends[1].ways
    assert here.should == here.kernel
    assert outside.should != outside.kernel


def test_a_drop_for_clients_outside_is_told_with_the_map() -> None:
    found = meddled(LOCAL, put(OUTSIDE, NODE, Verdict(Drop(), "shop/web:http")))
    assert found.findings[0].facts["map"] == "outside"
    assert found.findings[0].facts["has"] == "drop"


# --- source ranges, affinity, what is shared ----------------------------------------------------


def test_source_ranges_that_are_gone_or_too_many_are_told() -> None:
    fenced, open_ = wanted(balancer(ranges=("10.1.0.0/16",)), HERE), wanted(balancer(), HERE)
    assert programmed(fenced, Seen(copy(fenced.table))).findings == ()
    assert texts(meddled(fenced, drop(FENCED, BALANCER)).findings) == [
        "203.0.113.5:80/TCP: the kernel lets everybody in, and should only some sources"
    ]
    assert codes(meddled(open_, put(FENCED, BALANCER)).findings) == ["kernel-fence-left"]


def test_a_source_range_that_is_missing_or_left_is_told_from_its_first_to_its_last_address() -> (
    None
):
    one = wanted(balancer(ranges=("10.1.0.0/16",)), HERE)
    two = wanted(balancer(ranges=("10.1.0.0/16", "10.9.0.0/24")), HERE)
    (missing,) = programmed(two, Seen(one.table)).findings
    assert missing.text == (
        "203.0.113.5:80/TCP: the kernel does not let 10.9.0.0-10.9.0.255 in, and should"
    )
    (left,) = programmed(one, Seen(two.table)).findings
    assert left.code == "kernel-sources-left"
    assert ALLOWED in one.table.elements


def test_session_affinity_that_is_not_as_asked_for_is_told_in_seconds() -> None:
    found = programmed(wanted(sticky(), HERE), Seen(wanted(service(), HERE).table))
    (affinity,) = [why for why in found.findings if why.code == "kernel-affinity-other"]
    assert (affinity.facts["has"], affinity.facts["should"]) == ((), ("10800",))
    assert affinity.text.endswith("none in the kernel, and should be 10800")


def test_addresses_shared_by_services_are_missed() -> None:
    found = meddled(
        WEB,
        both(
            drop(CLUSTER_ADDRESSES, pack_address("10.96.0.1")),
            drop(OWN_ENDPOINTS, pack_address("10.0.0.1") * 2),
        ),
    )
    assert codes(found.findings) == [
        "kernel-cluster-addresses-missing",
        "kernel-own-endpoints-missing",
    ]
    assert found.headline == reason("kernel-agrees-but", findings=2)


# --- the table ----------------------------------------------------------------------------------


def test_without_a_table_every_connection_is_left_as_it_is() -> None:
    found = programmed(WEB, Seen(None))
    assert codes(found.findings) == ["kernel-table-missing"]
    assert (found.table, found.headline.code) == (False, "kernel-differs")
    assert found.frontends[0].ways[0].kernel[0].becomes is Becomes.UNTRANSLATED


def test_rules_changed_by_hand_are_told_once_and_where_they_lead() -> None:
    def meddle(table: Ruleset) -> None:
        chain = table.chains["spread-3"]
        table.chains["spread-3"] = Chain("spread-3", ((Drop(),), *chain.rules))

    found = meddled(WEB, meddle)
    assert texts(found.findings) == [
        "10.96.0.1:80/TCP: the elements are as they should be, but the rules of the table lead "
        "elsewhere",
        "table ip nearwise: this part is not as a proxy of ours makes it: chain spread-3",
    ]
    assert found.frontends[0].ways[0].kernel[0].becomes is Becomes.DROPPED


def test_a_rule_that_we_never_write_makes_the_answer_unknown() -> None:
    def meddle(table: Ruleset) -> None:
        chain = table.chains[SERVICES]
        table.chains[SERVICES] = Chain(SERVICES, ((Unknown("quota"),), *chain.rules))

    found = meddled(WEB, meddle)
    assert found.frontends[0].ways[0].kernel[0].becomes is Becomes.UNKNOWN
    assert codes(found.findings) == ["kernel-rules-mislead", "kernel-rules-changed"]


def test_rules_that_lead_nowhere_else_leave_the_frontends_in_step() -> None:
    found = meddled(WEB, lambda table: table.chains.update(mine=Chain("mine")))
    assert found.headline == reason("kernel-agrees-but", findings=1)
    assert found.findings[0].facts["parts"] == ("chain mine",)


def test_a_set_that_cannot_be_read_is_all_that_is_told() -> None:
    def meddle(table: Ruleset) -> None:
        table.sets[ENDPOINTS] = Set(ENDPOINTS, ())
        table.elements[ENDPOINTS] = {}

    found = meddled(WEB, meddle)
    assert codes(found.findings) == ["kernel-sets-unreadable"]
    assert found.headline == found.findings[0]
    assert found.frontends == ()


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS,
        replace(SETTINGS, masquerade_bit=3, masquerade_all=True),
        replace(SETTINGS, pod_networks=("10.0.0.0/16", "10.9.0.0/24")),
        replace(SETTINGS, node_port_addresses=("198.51.100.7", "198.51.100.8")),
        replace(SETTINGS, node_port_addresses=("198.51.100.8",)),
    ],
)
def test_what_an_operator_chose_is_read_off_the_table(settings: Settings) -> None:
    should = wanted(node_port(external="Local"), HERE, THERE, settings=settings)
    found = settings_in(should.table, SETTINGS, [should.service])
    assert found == settings
    assert changed_parts(should.table, found) == ()


def test_node_ports_that_are_all_gone_are_expected_where_they_usually_are() -> None:
    should = wanted(node_port(), HERE)
    table = copy(should.table)
    del table.elements[SERVICES][NODE]
    assert settings_in(table, SETTINGS, [should.service]) == SETTINGS


def test_one_node_port_on_an_address_does_not_make_it_one_of_all() -> None:
    should = wanted(node_port(), HERE)
    other = replace(node_port(cluster_ip="10.96.0.2"), metadata=ObjectMeta(name="b", namespace="b"))
    ports = (ServicePort("http", "TCP", None, 80, 8080, 30081),)
    other = replace(other, spec=replace(other.spec, ports=ports))
    table = copy(should.table)
    stray = frontend(pack_address("198.51.100.8"), "TCP", 30080)
    table.elements[SERVICES][stray] = Verdict(Drop(), "shop/web:http")
    found = settings_in(table, SETTINGS, [should.service, other])
    assert found.node_port_addresses == ("198.51.100.7",)


# --- what is remembered -------------------------------------------------------------------------


def test_clients_kept_to_an_endpoint_that_is_gone_are_counted() -> None:
    should = wanted(sticky(), HERE, THERE)
    pins = {
        pack_address("10.0.9.1") + CLUSTER: at(1),
        pack_address("10.0.9.2") + CLUSTER: at(7),
        pack_address("10.0.9.3") + CLUSTER: at(7),
        pack_address("10.0.9.4") + BALANCER: at(7),  # of somebody else
    }
    found = programmed(should, Seen(copy(should.table), pins))
    assert texts(found.findings) == [
        "10.96.0.1:80/TCP: 2 clients are kept to 10.0.0.7:8080 by session affinity, which they "
        "should not get any more"
    ]


def test_udp_flows_to_an_endpoint_that_is_gone_are_counted() -> None:
    ports = (ServicePort("http", "UDP", None, 80, 8080),)
    dns = wanted(service(ports=ports))
    key = frontend(pack_address("10.96.0.1"), "UDP", 80)
    flows = tuple(
        Flow(packed(pack_address("10.0.9.1"), 4000 + port), key, at(7)) for port in range(3)
    )
    found = programmed(dns, Seen(copy(dns.table), flows=flows))
    assert texts(found.findings) == [
        "10.96.0.1:80/UDP: 3 UDP flows go on to 10.0.0.7:8080, where nobody is sent any more"
    ]
    assert found.headline.code == "kernel-agrees-but"


# --- the whole answer ---------------------------------------------------------------------------


def whole(*lines: FamilyLines, of: Service = WEB.service, addresses: str = "198.51.100.7") -> Any:
    listed = (NodeAddress("InternalIP", addresses),)
    node = Node(metadata=ObjectMeta(name="n1"), status=NodeStatus(addresses=listed))
    return node_explanation(of, node, MACHINE, lines, ())


def test_the_answer_agrees_when_every_family_does() -> None:
    fine = programmed(WEB, Seen(copy(WEB.table)))
    assert whole(fine).agrees
    assert not whole(fine, programmed(WEB, Seen(None))).agrees


def test_a_machine_without_the_addresses_of_the_node_is_doubted() -> None:
    found = whole(programmed(WEB, Seen(copy(WEB.table))), addresses="198.51.100.99")
    assert codes(found.findings) == ["kernel-elsewhere"]
    assert not found.agrees


def test_a_service_that_no_proxy_serves_agrees_with_anything_and_says_why() -> None:
    headless = service(cluster_ip="None")
    found = whole(programmed(wanted(headless, HERE), Seen(None)), of=headless)
    assert found.families == ()
    assert found.agrees
    assert "service-headless" in codes(found.notes)


def test_a_family_that_the_machine_lacks_is_told() -> None:
    both_families = replace(
        WEB.service, spec=replace(WEB.service.spec, ip_families=("IPv4", "IPv6"))
    )
    found = whole(programmed(WEB, Seen(copy(WEB.table))), of=both_families)
    assert codes(found.notes) == ["kernel-family-none"]
    assert found.agrees


# --- always -------------------------------------------------------------------------------------

_SERVICES = st.sampled_from(
    [
        service(),
        node_port(),
        node_port(external="Local"),
        service(internal="Local"),
        sticky(),
        sticky(60),
        balancer(),
        balancer(ranges=("10.1.0.0/16", "10.9.0.0/24")),
    ]
)
_ENDPOINTS = st.lists(
    st.sampled_from([HERE, THERE, FAR, endpoint(4, zones=("a",)), endpoint(5, ready=False)]),
    unique_by=lambda each: each.addresses,
)


@given(_SERVICES, _ENDPOINTS, _SERVICES, _ENDPOINTS)
def test_the_kernel_agrees_exactly_when_there_is_nothing_to_change(
    before: Service, were: list[Any], now: Service, are: list[Any]
) -> None:
    """But for slots: so the same table is made on from what the kernel has."""
    has, should = wanted(before, *were), wanted(now, *are)
    found = programmed(should, Seen(has.table))
    compiler = Compiler(SETTINGS, has.table)
    view = merge(now, [slice_of(*are)], "IPv4")
    compiler.change({now.metadata.key: routes_of(view, Client("n1", "a"))})
    change = diff(has.table, compiler.ruleset)
    shared = {CLUSTER_ADDRESSES, OWN_ENDPOINTS}  # what is too much in these is of other services
    others = {*change.drop} - shared | {*change.put, *change.gone_sets}
    assert bool(found.findings) == bool(others)
    mended = copy(has.table)
    apply(mended, change)
    assert programmed(should, Seen(mended)).findings == ()
