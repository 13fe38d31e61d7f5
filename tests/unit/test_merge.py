"""Merging slices: who is there on each port, whatever the slices' order and history."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.model import Endpoint, EndpointSlice
from nearwise.model.core import ServicePort
from nearwise.routing import Client, ServiceView, merge, pool, select
from route_builders import HTTP, codes, draining, endpoint, numbers, service, slice_of, texts

# --- Which slices and ports count -----------------------------------------------------------


def test_a_view_has_every_port_of_the_service_also_one_that_nobody_offers() -> None:
    both = service(
        ports=(
            ServicePort("http", "TCP", None, 80, 8080),
            ServicePort("dns", "UDP", None, 53, 53),
        )
    )
    view = merge(both, [slice_of(endpoint(1))], "IPv4")

    assert list(view.backends) == [("http", "TCP"), ("dns", "UDP")]
    assert [len(pool) for pool in view.backends.values()] == [1, 0]


def test_the_endpoint_and_its_slice_are_told_by_the_backend() -> None:
    backend = next(iter(merge(service(), [slice_of(endpoint(7))], "IPv4").backends[HTTP]))

    assert (backend.endpoint, backend.slice_name) == ("10.0.0.7:8080", "web-1")
    assert (backend.who, backend.label) == ("pod web-7", "10.0.0.7:8080 (pod web-7)")
    assert (backend.node_name, backend.zone, backend.zones, backend.nodes) == ("n1", "a", (), ())


def test_an_ipv6_address_is_written_in_brackets() -> None:
    six = slice_of(Endpoint(("fd00::1",)), family="IPv6")
    backend = next(iter(merge(service(), [six], "IPv6").backends[HTTP]))

    assert backend.label == "[fd00::1]:8080"


@pytest.mark.parametrize(
    ("written", "ready", "serving", "terminating"),
    [
        ({}, True, True, False),
        ({"ready": False}, False, True, False),
        ({"ready": True, "serving": False}, True, False, False),
        ({"ready": False, "serving": True, "terminating": True}, False, True, True),
    ],
)
def test_absent_conditions_mean_ready_serving_and_not_terminating(
    written: dict[str, bool], ready: bool, serving: bool, terminating: bool
) -> None:
    one = endpoint(1, **{"ready": None, **written})  # type: ignore[arg-type]
    backend = next(iter(merge(service(), [slice_of(one)], "IPv4").backends[HTTP]))

    assert (backend.ready, backend.serving, backend.terminating) == (ready, serving, terminating)
    assert backend.draining is (terminating and serving and not ready)


def test_only_slices_of_the_family_count() -> None:
    six = slice_of(Endpoint(("fd00::1",)), name="six", family="IPv6")
    slices = [slice_of(endpoint(1), name="four"), six]

    assert [b.address for b in merge(service(), slices, "IPv6").backends[HTTP]] == ["fd00::1"]
    assert merge(service(), slices, "IPv6").reasons == ()


def test_host_names_are_left_out_and_told() -> None:
    names = slice_of(Endpoint(("db.example.com",)), name="names", family="FQDN")
    view = merge(service(), [names], "IPv4")

    assert len(view.backends[HTTP]) == 0
    assert texts(view.reasons) == ["names lists 1 host name (FQDN): proxies leave it out"]


def test_a_slice_of_another_service_is_nobodys_business_here() -> None:
    view = merge(service(), [slice_of(endpoint(1), label="other")], "IPv4")

    assert len(view.backends[HTTP]) == 0
    assert view.reasons == ()


def test_a_slice_without_ports_is_told() -> None:
    view = merge(service(), [slice_of(endpoint(1), ports=())], "IPv4")

    assert texts(view.reasons) == ["web-1 has no ports: its 1 endpoint gets no traffic"]


def test_a_port_without_number_is_left_out_and_told() -> None:
    view = merge(service(), [slice_of(endpoint(1), ports=(("http", None),))], "IPv4")

    assert len(view.backends[HTTP]) == 0
    assert texts(view.reasons) == ["web-1 gives port http no number: that port is left out"]


def test_a_port_matches_by_name_and_protocol() -> None:
    udp = service(ports=(ServicePort("http", "UDP", None, 80, 8080),))
    view = merge(udp, [slice_of(endpoint(1))], "IPv4")

    assert len(view.backends["http", "UDP"]) == 0
    assert codes(view.reasons) == ["port-not-offered"]


def test_a_protocol_that_is_not_written_is_tcp() -> None:
    plain = service(ports=(ServicePort("http", "", None, 80, 8080),))

    assert len(merge(plain, [slice_of(endpoint(1))], "IPv4").backends[HTTP]) == 1


def test_only_the_first_address_of_an_endpoint_counts() -> None:
    two = Endpoint(("10.0.0.1", "10.0.0.2"))
    none = Endpoint(())

    assert numbers(merge(service(), [slice_of(two, none)], "IPv4").backends[HTTP]) == [1]


# --- One address, several endpoints ---------------------------------------------------------


def winner(*slices: EndpointSlice) -> str:
    (backend,) = merge(service(), slices, "IPv4").backends[HTTP]
    assert backend.target is not None
    return backend.target.name


OLD = endpoint(1, ready=False, serving=False, terminating=True, pod="old")
NEW = endpoint(1, pod="new")
OTHER = endpoint(1, pod="other")


@pytest.mark.parametrize("pair", [(OLD, NEW), (NEW, OLD)])
def test_a_running_endpoint_beats_a_terminating_one(pair: tuple[Endpoint, Endpoint]) -> None:
    assert winner(slice_of(*pair)) == "new"
    assert winner(slice_of(pair[0], name="x"), slice_of(pair[1], name="y")) == "new"


def test_of_two_running_ones_in_a_slice_the_later_counts() -> None:
    assert winner(slice_of(NEW, OTHER)) == "other"
    assert winner(slice_of(OTHER, NEW)) == "new"


def test_of_two_running_ones_in_two_slices_the_name_of_the_slice_decides() -> None:
    slices = [slice_of(NEW, name="y"), slice_of(OTHER, name="x")]

    assert winner(*slices) == winner(*reversed(slices)) == "new"


def test_of_two_terminating_ones_the_first_counts() -> None:
    older = endpoint(1, ready=False, serving=True, terminating=True, pod="older")

    assert winner(slice_of(OLD, older)) == "old"


def test_two_ports_on_one_address_are_two_backends() -> None:
    slices = [
        slice_of(endpoint(1), name="x", ports=(("http", 8081),)),
        slice_of(endpoint(1), name="y", ports=(("http", 8080),)),
    ]
    view = merge(service(), slices, "IPv4")

    assert [b.endpoint for b in view.backends[HTTP]] == ["10.0.0.1:8080", "10.0.0.1:8081"]
    assert view.reasons == ()


def test_two_running_claims_are_told_with_who_gets_it() -> None:
    view = merge(service(), [slice_of(NEW, name="x"), slice_of(OTHER, name="y")], "IPv4")

    assert texts(view.reasons) == [
        "10.0.0.1:8080 is claimed by pod other (slice y) and by pod new (slice x), all of them "
        "running: Kubernetes leaves open which one counts, here it is the first named"
    ]


def test_the_same_endpoint_in_two_slices_is_not_worth_a_word() -> None:
    moving = [slice_of(NEW, name="x"), slice_of(NEW, name="y")]

    assert merge(service(), moving, "IPv4").reasons == ()


def test_two_terminating_claims_are_not_worth_a_word() -> None:
    assert merge(service(), [slice_of(OLD, draining(1))], "IPv4").reasons == ()


def test_an_endpoint_without_target_can_claim_too() -> None:
    bare = Endpoint(("10.0.0.1",))
    view = merge(service(), [slice_of(OLD, bare)], "IPv4")

    assert texts(view.reasons) == [
        "10.0.0.1:8080 is an endpoint without target (slice web-1) now; listed with the same "
        "address, but terminating: pod old (slice web-1)"
    ]


# --- Changes --------------------------------------------------------------------------------


def test_a_slice_comes_changes_and_goes() -> None:
    view = merge(service(), [slice_of(endpoint(1), name="x")], "IPv4")
    grown = view.changed(put=[slice_of(endpoint(2), endpoint(3), name="y")])
    moved = grown.changed(put=[slice_of(endpoint(3), name="y")])
    left = moved.changed(drop=["x", "unknown"])

    assert [numbers(v.backends[HTTP]) for v in (view, grown, moved, left)] == [
        [1],
        [1, 2, 3],
        [1, 3],
        [3],
    ]
    assert list(left.slices) == ["y"]


def test_a_slice_that_loses_its_label_takes_its_endpoints_along() -> None:
    view = merge(service(), [slice_of(endpoint(1))], "IPv4")
    unlabelled = view.changed(put=[slice_of(endpoint(1), label=None)])

    assert len(unlabelled.backends[HTTP]) == 0
    assert codes(unlabelled.reasons) == ["slice-unlabelled"]


def test_when_the_winner_goes_the_other_claim_counts() -> None:
    view = merge(service(), [slice_of(NEW, name="x"), slice_of(OTHER, name="y")], "IPv4")
    (backend,) = view.changed(drop=["y"]).backends[HTTP]

    assert backend.slice_name == "x"


def test_a_change_shares_what_it_does_not_touch() -> None:
    before = merge(service(), [slice_of(*map(endpoint, range(200)), name="x")], "IPv4")
    after = before.changed(put=[slice_of(endpoint(255), name="y")])

    runs, others = before.backends[HTTP].runs, after.backends[HTTP].runs
    assert len(set(map(id, runs)) - set(map(id, others))) == 1


# --- Any history ----------------------------------------------------------------------------


@pytest.fixture(autouse=True, scope="module")
def short_runs() -> Iterator[None]:
    """Cut pools into short runs, so that small examples have many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "_RUN", 4)
        yield


ENDPOINTS = st.builds(
    endpoint,
    st.integers(1, 12),
    st.sampled_from(["n1", "n2", None]),
    zones=st.sampled_from([(), ("a",), ("a", "b")]),
    nodes=st.sampled_from([(), ("n1",)]),
    ready=st.sampled_from([True, False, None]),
    serving=st.sampled_from([True, False, None]),
    terminating=st.sampled_from([True, False, None]),
    pod=st.sampled_from(["web-a", "web-b"]),
)
SLICES = st.builds(
    lambda endpoints, name, number: slice_of(*endpoints, name=name, ports=(("http", number),)),
    st.lists(ENDPOINTS, max_size=9),
    st.sampled_from("stuvwxyz"),
    st.sampled_from([8080, 8080, 8080, 8081, None]),
)


def state(view: ServiceView) -> list[Any]:
    """Return all that can be seen of a view."""
    in_pool = view.backends[HTTP]
    chosen = [select(view.service, in_pool, Client(node, "a")) for node in ("n1", "n2")]
    return [list(in_pool), view.reasons, [(each.cluster, each.reasons) for each in chosen]]


def merged_plainly(slices: list[EndpointSlice]) -> dict[tuple[str, int], tuple[str, Endpoint]]:
    """Merge as the law says it, in so many words."""
    won: dict[tuple[str, int], tuple[str, Endpoint]] = {}
    for each in sorted(slices, key=lambda one: one.metadata.name):
        for one in each.endpoints:
            number = each.ports[0].port
            place = (one.addresses[0], number or 0)
            if number and (place not in won or not one.conditions.terminating):
                won[place] = (each.metadata.name, one)
    return dict(sorted(won.items()))


@given(st.lists(SLICES | st.sampled_from("stuvwxyz"), max_size=12), st.randoms())
def test_a_view_depends_on_the_slices_and_not_on_its_history(
    history: list[EndpointSlice | str], random: Random
) -> None:
    view = merge(service(), (), "IPv4")
    views, states = [view], [state(view)]
    there: dict[str, EndpointSlice] = {}
    for step in history:
        if isinstance(step, str):
            view = view.changed(drop=[step])
            there.pop(step, None)
        else:
            view = view.changed(put=[step])
            there[step.metadata.name] = step
        slices = list(there.values())
        random.shuffle(slices)

        expected = state(merge(service(), slices, "IPv4"))
        assert state(view) == expected
        assert {(b.address, b.port): (b.slice_name, b.source) for b in view.backends[HTTP]} == (
            merged_plainly(slices)
        )
        views.append(view)
        states.append(expected)
    assert [state(each) for each in views] == states


@given(st.lists(SLICES, max_size=6, unique_by=lambda each: each.metadata.name))
def test_changes_can_come_together_or_one_by_one(slices: list[EndpointSlice]) -> None:
    apart = merge(service(), (), "IPv4")
    for each in slices:
        apart = apart.changed(put=[each])
    names = [each.metadata.name for each in slices[::2]]

    assert state(apart) == state(merge(service(), slices, "IPv4"))
    assert state(apart.changed(drop=names)) == state(merge(service(), slices[1::2], "IPv4"))
