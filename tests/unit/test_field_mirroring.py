"""Field cases about mirroring: what real users met, and what they would have needed to read."""

from typing import cast

import msgspec

from nearwise.model import Endpoints, EndpointSlice, ObjectMeta, Service
from nearwise.model.core import EndpointsAddress, EndpointsPort, EndpointsSubset, ServiceSpec
from nearwise.model.wellknown import MANAGED_BY, SERVICE_NAME, SKIP_MIRROR
from nearwise.slices.asked import asked
from nearwise.slices.distribution import hints_for
from nearwise.slices.mirror import mirror
from nearwise.slices.plan import Plan, apply

SERVICE = Service(metadata=ObjectMeta(name="db", namespace="shop"))
PORTS = (EndpointsPort("pg", 5432, "TCP"),)


def addresses(count: int, third: int) -> tuple[EndpointsAddress, ...]:
    return tuple(
        EndpointsAddress(f"10.{third}.{number // 250}.{number % 250}") for number in range(count)
    )


def endpoints(
    ready: tuple[EndpointsAddress, ...], not_ready: tuple[EndpointsAddress, ...] = ()
) -> Endpoints:
    return Endpoints(
        metadata=ObjectMeta(name="db", namespace="shop", uid="e1"),
        subsets=(EndpointsSubset(ready, not_ready, PORTS),),
    )


def left_out(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return the addresses that are in no slice, by the code of their reason."""
    return {
        reason.code: cast("tuple[str, ...]", reason.facts["addresses"])
        for reason in plan.reasons
        if "addresses" in reason.facts
    }


def test_f67_ready_addresses_come_first_and_what_exceeds_1000_is_listed() -> None:
    plan = mirror(SERVICE, endpoints(addresses(990, 1), addresses(20, 2)), ())

    (slice_,) = plan.creates
    ready = [each for each in slice_.endpoints if each.conditions.ready]
    assert (len(slice_.endpoints), len(ready)) == (1000, 990)
    assert [event.message for event in plan.events] == [
        "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. "
        "10 addresses were skipped"
    ]
    listed = left_out(plan)["mirror-over-limit"]
    mirrored = {each.addresses[0] for each in slice_.endpoints}
    assert len(listed) == 10
    assert set(listed) == {each.ip for each in addresses(20, 2)} - mirrored


def test_f67_unparsable_addresses_are_told_apart_and_counted_again() -> None:
    bad = tuple(EndpointsAddress(f"not-an-ip-{number}") for number in range(3))

    plan = mirror(SERVICE, endpoints((*bad, *addresses(987, 1)), addresses(20, 2)), ())

    (slice_,) = plan.creates
    ready = [each for each in slice_.endpoints if each.conditions.ready]
    assert (len(ready), len(slice_.endpoints) - len(ready)) == (987, 13)
    assert [(event.reason, event.message) for event in plan.events] == [
        (
            "InvalidIPAddress",
            "Skipped 3 invalid IP addresses when mirroring to EndpointSlices",
        ),
        (
            "TooManyAddressesToMirror",
            "A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. "
            "10 addresses were skipped",
        ),
    ]
    listed = left_out(plan)
    assert listed["mirror-invalid-address"] == tuple(each.ip for each in bad)
    assert len(listed["mirror-over-limit"]) == 7


def test_f69_a_not_ready_address_is_mirrored_as_not_ready_and_nothing_else_is_said() -> None:
    plan = mirror(SERVICE, endpoints((), addresses(1, 1)), ())

    conditions = plan.creates[0].endpoints[0].conditions
    assert (conditions.ready, conditions.serving, conditions.terminating) == (False, None, None)


def test_f70_endpoints_before_their_service_wait_and_are_mirrored_when_it_comes() -> None:
    source = endpoints(addresses(2, 1))
    slices: tuple[EndpointSlice, ...] = ()

    alone = mirror(None, source, slices)
    assert alone.writes == 0
    assert (
        alone.reasons[0].text == "Endpoints db are not mirrored: there is no service of that name"
    )

    slices = apply(slices, mirror(SERVICE, source, slices))
    assert len(slices) == 1

    meta = msgspec.structs.replace(source.metadata, labels={SKIP_MIRROR: "true"})
    skipped = mirror(SERVICE, msgspec.structs.replace(source, metadata=meta), slices)
    assert apply(slices, skipped) == ()
    assert skipped.reasons[0].text == (
        "Endpoints db are not mirrored: they carry the label skip-mirror=true"
    )


def test_f71_stale_endpoints_beside_an_operators_slice_are_still_mirrored() -> None:
    """What the operator took out of its slice lives on in the mirror; both are left to see."""
    operators = EndpointSlice(
        metadata=ObjectMeta(
            name="kubelet-1",
            namespace="shop",
            labels={SERVICE_NAME: "db", MANAGED_BY: "prometheus-operator"},
        ),
        address_type="IPv4",
    )

    plan = mirror(SERVICE, endpoints(addresses(3, 1)), (operators,))

    after = apply((operators,), plan)
    assert operators in after
    assert [len(slice_.endpoints) for slice_ in plan.creates] == [3]


def test_f73_a_mirror_knows_no_zone_so_no_hint_can_follow_from_it() -> None:
    service = msgspec.structs.replace(
        SERVICE, spec=ServiceSpec(traffic_distribution="PreferSameZone")
    )
    source = endpoints((EndpointsAddress("10.0.0.1", node_name="node-1"),))

    (slice_,) = mirror(service, source, ()).creates

    (endpoint,) = slice_.endpoints
    assert (endpoint.node_name, endpoint.zone, endpoint.hints) == ("node-1", None, None)
    assert hints_for(endpoint, asked(service).distribution) is None
