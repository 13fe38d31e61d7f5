"""What the kernel remembers of choices that could not be made any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from nearwise.nft.choices import Flow, choices, stale_flows, stale_pins, touched
from nearwise.nft.diff import Transaction, diff
from nearwise.nft.layout import (
    ENDPOINTS,
    INSIDE,
    LOCAL_ENDPOINTS,
    OUTSIDE,
    POLICY_LOCAL,
    REFUSE,
    SERVICES,
    Settings,
    Spread,
    fixed_chains,
    fixed_sets,
)
from nearwise.nft.registers import endpoint, frontend, pack_address, pack_drawn
from nearwise.nft.ruleset import Drop, Elements, Family, Goto, Ruleset, Verdict

DNS = frontend(pack_address("10.96.0.10"), "UDP", 53)
DNS_BY_TCP = frontend(pack_address("10.96.0.10"), "TCP", 53)
STATS = frontend(pack_address("10.96.0.11"), "UDP", 8125)
A, B, C = (endpoint(pack_address(f"10.244.0.{last}"), 5353) for last in (1, 2, 3))
CLIENT = endpoint(pack_address("10.244.1.9"), 40000)


def ruleset(
    drawn: Mapping[bytes, Sequence[bytes]] = {},
    here: Mapping[bytes, Sequence[bytes]] = {},
    *,
    family: Family = Family.IPV4,
    pod_networks: tuple[str, ...] = (),
) -> Ruleset:
    """Make the table of services by who is drawn; ``here``: by clients outside, if not all."""
    elements: dict[str, Elements] = {each.name: {} for each in fixed_sets()}
    for key, endpoints in drawn.items():
        count = len(endpoints)
        way = Goto(Spread(count).chain if count else REFUSE)
        if key in here:
            elements[INSIDE][key] = Verdict(way)
            local = len(here[key])
            to = Goto(Spread(local, local=True).chain) if local else Drop()
            elements[OUTSIDE][key] = Verdict(to)
            way = Goto(POLICY_LOCAL)
        elements[SERVICES][key] = Verdict(way)
    for name, pools in ((ENDPOINTS, drawn), (LOCAL_ENDPOINTS, here)):
        for key, endpoints in pools.items():
            for slot, each in enumerate(endpoints):
                elements[name][key + pack_drawn(slot)] = each
    settings = Settings(family, pod_networks)
    return Ruleset(
        family,
        {each.name: each for each in fixed_chains(settings)},
        {each.name: each for each in fixed_sets()},
        elements,
    )


def flow(to: bytes, reply_from: bytes, number: int = 1) -> Flow:
    return Flow(CLIENT, to, reply_from, CLIENT, number.to_bytes(4, "big"))


def itself(key: bytes) -> bytes:
    """Return a frontend as the endpoint of a flow that was not translated."""
    return key[:-8] + key[-4:]


# --- what can be drawn ------------------------------------------------------------------------


def test_what_is_in_the_slots_of_a_frontend_can_be_drawn() -> None:
    table = ruleset({DNS: [A, B], STATS: [C]})

    assert choices(table, DNS) == {A, B}
    assert choices(table, STATS) == {C}
    assert choices(table, DNS_BY_TCP) == set()


def test_under_external_policy_local_both_pools_can() -> None:
    assert choices(ruleset({DNS: [A, B]}, {DNS: [A, C]}), DNS) == {A, B, C}


def test_what_lies_behind_a_hole_cannot() -> None:
    """There are no holes in what we write; somebody may have made one by hand."""
    table = ruleset({DNS: [A, B, C]})
    del table.elements[ENDPOINTS][DNS + pack_drawn(1)]

    assert choices(table, DNS) == {A}


# --- flows ------------------------------------------------------------------------------------


def test_f58_a_flow_to_an_endpoint_that_is_gone_is_stale_and_flows_to_others_are_not() -> None:
    gone, stays = flow(DNS, A, 1), flow(DNS, B, 2)

    assert stale_flows(ruleset({DNS: [B, C]}), [gone, stays]) == (gone,)


def test_f59_without_any_endpoint_all_flows_of_a_service_are_stale() -> None:
    assert stale_flows(ruleset({DNS: []}), [flow(DNS, A), flow(DNS, B)]) == (
        flow(DNS, A),
        flow(DNS, B),
    )


def test_f59_flows_of_a_service_that_has_just_gone_are_stale() -> None:
    left = ruleset({STATS: [C]})

    assert stale_flows(left, [flow(DNS, A), flow(STATS, C)], {DNS}) == (flow(DNS, A),)


def test_a_flow_from_before_the_service_was_there_or_had_anybody_is_stale() -> None:
    assert stale_flows(ruleset({DNS: [A]}), [flow(DNS, itself(DNS))]) == (flow(DNS, itself(DNS)),)


def test_flows_of_others_are_never_stale() -> None:
    elsewhere = frontend(pack_address("9.9.9.9"), "UDP", 53)
    other_port = frontend(pack_address("10.96.0.10"), "UDP", 54)
    others = [flow(elsewhere, itself(elsewhere)), flow(other_port, A)]

    assert stale_flows(ruleset({DNS: []}), others, {DNS, STATS}) == ()


def test_an_endpoint_that_outside_clients_draw_keeps_its_flows() -> None:
    assert stale_flows(ruleset({DNS: [A, B]}, {DNS: [C]}), [flow(DNS, C)]) == ()


def test_the_same_of_ipv6() -> None:
    dns = frontend(pack_address("fd00:96::10"), "UDP", 53)
    one, two = (endpoint(pack_address(f"fd00:244::{last}"), 53) for last in (1, 2))
    client = endpoint(pack_address("fd00:244::9"), 40000)
    table = ruleset({dns: [two]}, family=Family.IPV6)
    flows = [Flow(client, dns, each) for each in (one, two, itself(dns))]

    assert stale_flows(table, flows) == (flows[0], flows[2])


# --- pins -------------------------------------------------------------------------------------

INSIDER, OUTSIDER = pack_address("10.244.1.9"), pack_address("192.0.2.9")


def test_a_pin_to_an_endpoint_that_is_gone_is_stale() -> None:
    pins = {INSIDER + DNS: A, OUTSIDER + DNS: B, INSIDER + DNS_BY_TCP: A}
    table = ruleset({DNS: [B], DNS_BY_TCP: [B, C]})

    assert stale_pins(table, pins) == (INSIDER + DNS_BY_TCP, INSIDER + DNS)


def test_pins_of_a_frontend_that_is_gone_or_has_nobody_are_stale() -> None:
    assert stale_pins(ruleset({DNS: []}), {INSIDER + DNS: A, INSIDER + STATS: A}) == (
        INSIDER + DNS,
        INSIDER + STATS,
    )


@pytest.mark.parametrize(
    ("client", "pinned", "is_stale"),
    [
        (INSIDER, A, False),
        (OUTSIDER, A, False),
        (INSIDER, B, False),
        (OUTSIDER, B, True),
    ],
)
def test_under_external_policy_local_a_client_outside_keeps_only_pins_to_this_node(
    client: bytes, pinned: bytes, is_stale: bool
) -> None:
    """B is on another node: left from policy Cluster, its answers would come past this one."""
    table = ruleset({DNS: [A, B]}, {DNS: [A]}, pod_networks=("10.243.0.0/16", "10.244.0.0/16"))

    assert stale_pins(table, {client + DNS: pinned}) == ((client + DNS,) if is_stale else ())


# --- what to look at --------------------------------------------------------------------------


def test_a_transaction_that_changes_nothing_of_udp_touches_nothing() -> None:
    change = diff(ruleset({DNS_BY_TCP: [A], DNS: [A]}), ruleset({DNS_BY_TCP: [A, B], DNS: [A]}))

    assert not change.is_empty
    assert touched(change) == set()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(({DNS: [A]}, {}), ({DNS: [B]}, {}), id="an endpoint is another"),
        pytest.param(({DNS: [A]}, {}), ({DNS: []}, {}), id="the last one went"),
        pytest.param(({DNS: []}, {}), ({DNS: [A]}, {}), id="the first one came"),
        pytest.param(({DNS: [A]}, {}), ({}, {}), id="the service went"),
        pytest.param(({}, {}), ({DNS: [A]}, {}), id="the service came"),
        pytest.param(({DNS: [A]}, {DNS: [A]}), ({DNS: [A]}, {DNS: [B]}), id="another one here"),
        pytest.param(({DNS: [A]}, {DNS: [A]}), ({DNS: [A]}, {DNS: []}), id="nobody here"),
    ],
)
def test_what_changes_choices_of_udp_touches_the_frontend(
    before: tuple[dict[bytes, list[bytes]], dict[bytes, list[bytes]]],
    after: tuple[dict[bytes, list[bytes]], dict[bytes, list[bytes]]],
) -> None:
    for others in ({}, {STATS: [C]}):
        change = diff(
            ruleset({**before[0], **others}, before[1]), ruleset({**after[0], **others}, after[1])
        )
        assert touched(change) == {DNS}


def test_a_table_made_anew_touches_all_that_it_has() -> None:
    assert touched(diff(None, ruleset({DNS: [A], STATS: [], DNS_BY_TCP: [A]}))) == {DNS, STATS}


def test_an_ipv6_transaction_is_read_by_its_own_width() -> None:
    dns = frontend(pack_address("fd00:96::10"), "UDP", 53)
    by_tcp = frontend(pack_address("fd00:1100::1100"), "TCP", 53)
    change = diff(None, ruleset({dns: [], by_tcp: []}, family=Family.IPV6))

    assert touched(change) == {dns}
    assert touched(Transaction(Family.IPV6)) == set()
