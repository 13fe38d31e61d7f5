"""Endpoints to slices: what is mirrored, into which slice, and what is written."""

from random import Random
from typing import TypeVar, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.model import Endpoints, EndpointSlice, ObjectMeta, ObjectReference, Service
from nearwise.model.core import (
    EndpointsAddress,
    EndpointsPort,
    EndpointsSubset,
    ServiceSpec,
)
from nearwise.model.wellknown import (
    LAST_APPLIED,
    LAST_CHANGE_TRIGGER_TIME,
    LEADER,
    MANAGED_BY,
    MIRRORING_CONTROLLER,
    SERVICE_NAME,
    SKIP_MIRROR,
)
from nearwise.slices.mirror import mirror, why_not_mirrored
from nearwise.slices.plan import Plan, apply

_T = TypeVar("_T")

SERVICE = Service(metadata=ObjectMeta(name="db", namespace="shop"))
HTTP = EndpointsPort("http", 80, "TCP")
METRICS = EndpointsPort("metrics", 9100, "TCP")


def subset(
    ready: str = "", not_ready: str = "", ports: tuple[EndpointsPort, ...] = (HTTP,)
) -> EndpointsSubset:
    return EndpointsSubset(
        tuple(EndpointsAddress(ip) for ip in ready.split()),
        tuple(EndpointsAddress(ip) for ip in not_ready.split()),
        ports,
    )


def endpoints(
    *subsets: EndpointsSubset,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    uid: str = "e1",
    deleted: str | None = None,
) -> Endpoints:
    return Endpoints(
        metadata=ObjectMeta(
            name="db",
            namespace="shop",
            uid=uid,
            labels=labels or {},
            annotations=annotations or {},
            deletion_timestamp=deleted,
        ),
        subsets=subsets,
    )


def mirrored(*subsets: EndpointsSubset) -> tuple[EndpointSlice, ...]:
    return mirror(SERVICE, endpoints(*subsets), ()).creates


def content(slices: tuple[EndpointSlice, ...]) -> list[tuple[str, str, str]]:
    """Say it as family, ports and addresses; an address that is not ready is in brackets."""
    return [
        (
            slice_.address_type,
            " ".join(str(port.port) for port in slice_.ports),
            " ".join(
                each.addresses[0] if each.conditions.ready else f"({each.addresses[0]})"
                for each in slice_.endpoints
            ),
        )
        for slice_ in slices
    ]


def codes(plan: Plan) -> list[str]:
    return [reason.code for reason in plan.reasons]


# --- Whether --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("service", "object_", "code"),
    [
        (SERVICE, endpoints(), None),
        (SERVICE, None, "mirror-no-endpoints"),
        (None, endpoints(), "mirror-no-service"),
        (SERVICE, endpoints(labels={SKIP_MIRROR: "true"}), "mirror-skip-label"),
        (SERVICE, endpoints(labels={SKIP_MIRROR: "True"}), None),
        (SERVICE, endpoints(labels={SKIP_MIRROR: "false"}), None),
        (SERVICE, endpoints(annotations={LEADER: ""}), "mirror-leader"),
        (
            msgspec.structs.replace(SERVICE, spec=ServiceSpec(selector={"app": "db"})),
            endpoints(),
            "mirror-service-selects",
        ),
    ],
)
def test_what_is_not_mirrored_and_why(
    service: Service | None, object_: Endpoints | None, code: str | None
) -> None:
    why_not = why_not_mirrored(service, object_)

    assert (why_not and why_not.code) == code


def test_what_is_mirrored_no_longer_takes_its_slices_along_and_leaves_those_of_others() -> None:
    ours = mirrored(subset("10.0.0.1"))[0]
    others = msgspec.structs.replace(
        ours, metadata=ObjectMeta(name="db-x", labels={SERVICE_NAME: "db", MANAGED_BY: "operator"})
    )

    plan = mirror(SERVICE, None, (ours, others))

    assert (plan.creates, plan.updates, plan.deletes) == ((), (), (ours,))
    assert codes(plan) == ["mirror-no-endpoints", "mirror-slice-removed"]


# --- What -----------------------------------------------------------------------------------


def test_one_slice_for_each_family_and_set_of_ports() -> None:
    slices = mirrored(
        subset("10.0.0.2 10.0.0.1 fd00::1"), subset("10.0.0.9", "10.0.0.3", ports=(METRICS,))
    )

    assert content(slices) == [
        ("IPv4", "80", "10.0.0.1 10.0.0.2"),
        ("IPv4", "9100", "(10.0.0.3) 10.0.0.9"),
        ("IPv6", "80", "fd00::1"),
    ]


def test_a_mirror_says_whose_it_is() -> None:
    source = endpoints(
        subset("10.0.0.1"),
        labels={"team": "x"},
        annotations={
            "note": "y",
            LAST_APPLIED: "{}",
            LAST_CHANGE_TRIGGER_TIME: "2026-01-01T00:00:00Z",
        },
    )

    (slice_,) = mirror(SERVICE, source, ()).creates

    assert (slice_.kind, slice_.api_version) == ("EndpointSlice", "discovery.k8s.io/v1")
    meta = slice_.metadata
    assert meta.labels == {"team": "x", SERVICE_NAME: "db", MANAGED_BY: MIRRORING_CONTROLLER}
    assert meta.annotations == {"note": "y"}
    assert (meta.namespace, meta.generate_name, meta.name[:3]) == ("shop", "db-", "db-")
    (owner,) = meta.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Endpoints", "db", "e1", True)


def test_an_endpoint_keeps_node_hostname_and_target_and_has_no_zone() -> None:
    target = ObjectReference("Pod", "shop", "db-0", "u0")
    address = EndpointsAddress("10.0.0.1", "db-0", "node-1", target)

    (slice_,) = mirrored(EndpointsSubset((address,), (), (HTTP,)))

    (endpoint,) = slice_.endpoints
    assert (endpoint.hostname, endpoint.node_name, endpoint.target_ref) == (
        "db-0",
        "node-1",
        target,
    )
    assert (endpoint.zone, endpoint.hints) == (None, None)


@pytest.mark.parametrize(
    ("written", "mirror_of"),
    [
        ("10.01.2.3", ("IPv4", "10.1.2.3")),
        ("010.000.0.001", ("IPv4", "10.0.0.1")),
        ("::ffff:10.1.2.3", ("IPv4", "10.1.2.3")),
        ("FD00:0:0:0:0:0:0:000a", ("IPv6", "fd00::a")),
        ("::", ("IPv6", "::")),
        ("fe80::1%eth0", None),
        ("10.0.0.256", None),
        ("10.0.0", None),
        ("10.0.0.1 ", None),
        ("not-an-ip", None),
        ("", None),
    ],
)
def test_addresses_are_read_as_kubernetes_reads_old_ones(
    written: str, mirror_of: tuple[str, str] | None
) -> None:
    slices = mirrored(EndpointsSubset((EndpointsAddress(written),), (), (HTTP,)))

    found = [(slice_.address_type, slice_.endpoints[0].addresses[0]) for slice_ in slices]
    assert found == ([] if mirror_of is None else [mirror_of])


def test_one_address_in_two_spellings_is_one_endpoint() -> None:
    assert content(mirrored(subset("10.1.2.3 10.01.2.3"))) == [("IPv4", "80", "10.1.2.3")]


def test_two_pods_with_one_address_are_two_endpoints() -> None:
    pods = tuple(
        EndpointsAddress("10.0.0.1", target_ref=ObjectReference("Pod", "shop", name, name))
        for name in ("a", "b")
    )

    assert content(mirrored(EndpointsSubset(pods, (), (HTTP,)))) == [
        ("IPv4", "80", "10.0.0.1 10.0.0.1")
    ]


# --- Writes ---------------------------------------------------------------------------------


def after(*plans_of: Endpoints) -> tuple[EndpointSlice, ...]:
    slices: tuple[EndpointSlice, ...] = ()
    for source in plans_of:
        slices = apply(slices, mirror(SERVICE, source, slices))
    return slices


def test_a_changed_address_updates_the_slice_in_place() -> None:
    before = after(endpoints(subset("10.0.0.1 10.0.0.2", "10.0.0.3")))

    plan = mirror(SERVICE, endpoints(subset("10.0.0.2 10.0.0.3 10.0.0.4")), before)

    assert (len(plan.creates), len(plan.updates), len(plan.deletes)) == (0, 1, 0)
    assert plan.reasons[0].facts == {
        "slice": before[0].metadata.name,
        "added": 1,
        "removed": 1,
        "changed": 1,
    }


@pytest.mark.parametrize(
    "change",
    [
        endpoints(subset("10.0.0.1"), labels={"team": "x"}),
        endpoints(subset("10.0.0.1"), annotations={"note": "y"}),
        endpoints(subset("10.0.0.1"), uid="e2"),
    ],
    ids=["labels", "annotations", "owner"],
)
def test_labels_annotations_and_owner_follow(change: Endpoints) -> None:
    plan = mirror(SERVICE, change, after(endpoints(subset("10.0.0.1"))))

    assert (plan.writes, codes(plan)) == (1, ["mirror-follows"])


def test_other_ports_reuse_the_slice_and_another_family_does_not() -> None:
    before = after(endpoints(subset("10.0.0.1")))

    ports = mirror(SERVICE, endpoints(subset("10.0.0.1", ports=(METRICS,))), before)
    family = mirror(SERVICE, endpoints(subset("fd00::1")), before)

    assert [(len(p.creates), len(p.updates), len(p.deletes)) for p in (ports, family)] == [
        (0, 1, 0),
        (1, 0, 1),
    ]
    assert codes(ports) == ["slice-recycle"]
    assert content(apply(before, ports)) == [("IPv4", "9100", "10.0.0.1")]


def test_dual_stack_with_new_ports_everywhere_is_right_at_once() -> None:
    """Kubernetes drops the wrong slice here, fails, and tries again for up to half a minute."""
    old = endpoints(subset("10.0.0.1 fd00::1"), subset("10.0.0.2 fd00::2", ports=(METRICS,)))
    new = endpoints(
        subset("10.0.0.1 fd00::1", ports=(EndpointsPort("a", 1, "TCP"),)),
        subset("10.0.0.2 fd00::2", ports=(EndpointsPort("b", 2, "TCP"),)),
        subset("10.0.0.3 fd00::3", ports=(EndpointsPort("c", 3, "TCP"),)),
    )

    plan = mirror(SERVICE, new, before := after(old))

    assert (len(plan.creates), len(plan.updates), len(plan.deletes)) == (2, 4, 0)
    assert sorted(content(apply(before, plan))) == [
        (family, str(number), address.format(number))
        for family, address in (("IPv4", "10.0.0.{}"), ("IPv6", "fd00::{}"))
        for number in (1, 2, 3)
    ]


def test_two_slices_for_the_same_ports_become_one() -> None:
    (one,) = after(endpoints(subset("10.0.0.1")))
    two = msgspec.structs.replace(
        one, metadata=msgspec.structs.replace(one.metadata, name="db-zzzzz")
    )

    plan = mirror(SERVICE, endpoints(subset("10.0.0.1")), (two, one))

    assert (plan.updates, plan.deletes) == ((), (two,))


def test_what_somebody_changed_in_a_mirror_is_put_back() -> None:
    (stored,) = after(endpoints(subset("10.0.0.1 10.0.0.2")))
    edited = msgspec.structs.replace(stored, endpoints=stored.endpoints[:1] * 2)

    assert mirror(SERVICE, endpoints(subset("10.0.0.1 10.0.0.2")), (edited,)).updates == (stored,)


def test_the_order_in_which_a_slice_lists_its_endpoints_and_ports_is_no_change() -> None:
    source = endpoints(subset("10.0.0.1 10.0.0.2", ports=(HTTP, METRICS)))
    (stored,) = after(source)
    turned = msgspec.structs.replace(
        stored, endpoints=stored.endpoints[::-1], ports=stored.ports[::-1]
    )

    assert mirror(SERVICE, source, (turned,)).writes == 0


def test_endpoints_being_deleted_get_no_new_slices_but_their_old_ones_are_kept_true() -> None:
    before = after(endpoints(subset("10.0.0.1")))
    going = endpoints(subset("10.0.0.2 fd00::1"), deleted="2026-01-01T00:00:00Z")

    plan = mirror(SERVICE, going, before)

    assert (len(plan.creates), len(plan.updates)) == (0, 1)
    assert "mirror-being-deleted" in codes(plan)


def test_a_reserved_label_is_not_followed_and_makes_every_look_a_write() -> None:
    """As recorded from Kubernetes 1.36."""
    source = endpoints(subset("10.0.0.1"), labels={MANAGED_BY: "me"})
    before = after(source)

    plan = mirror(SERVICE, source, before)

    assert plan.updates == before
    assert codes(plan) == ["mirror-reserved-label"]


def test_a_create_that_is_tried_again_asks_for_the_same_name() -> None:
    source = endpoints(subset("10.0.0.1"))

    assert mirror(SERVICE, source, ()) == mirror(SERVICE, source, ())


# --- Laws -----------------------------------------------------------------------------------

_addresses = st.builds(
    EndpointsAddress,
    st.one_of(
        st.integers(0, 40).map(lambda number: f"10.0.0.{number}"),
        st.integers(1, 20).map(lambda number: f"fd00::{number:x}"),
        st.just("nonsense"),
    ),
    node_name=st.sampled_from([None, "node-1"]),
)
_lists = st.lists(_addresses, max_size=8, unique_by=lambda address: address.ip).map(tuple)
_ports = st.lists(st.sampled_from([HTTP, METRICS]), max_size=2, unique=True).map(tuple)
_sources = st.builds(
    endpoints,
    st.builds(EndpointsSubset, _lists, _lists, _ports),
    st.builds(EndpointsSubset, _lists, _lists, _ports),
)


@given(_sources, _sources, st.integers(1, 6))
def test_a_second_look_writes_nothing(one: Endpoints, two: Endpoints, most: int) -> None:
    slices = apply((), mirror(SERVICE, one, (), most))
    slices = apply(slices, mirror(SERVICE, two, slices, most))

    assert mirror(SERVICE, two, slices, most).writes == 0


@given(_sources, _sources, st.integers(1, 6))
def test_what_was_there_before_does_not_matter_to_what_is_there_after(
    one: Endpoints, two: Endpoints, most: int
) -> None:
    before = apply((), mirror(SERVICE, one, (), most))

    changed = apply(before, mirror(SERVICE, two, before, most))

    fresh = apply((), mirror(SERVICE, two, (), most))
    assert sorted(content(changed)) == sorted(content(fresh))


@given(_sources, st.integers(1, 30))
def test_every_valid_address_is_in_one_slice_a_port_set_or_named_as_left_out(
    source: Endpoints, most: int
) -> None:
    plan = mirror(SERVICE, source, (), most)

    left_out: set[str] = set()
    for reason in plan.reasons:
        if reason.code == "mirror-over-limit":
            left_out.update(cast("tuple[str, ...]", reason.facts["addresses"]))
    for port in {port for each in source.subsets for port in each.ports}:
        serving = [
            each.addresses[0]
            for slice_ in plan.creates
            if port.port in {p.port for p in slice_.ports}
            for each in slice_.endpoints
        ]
        wanted = {
            address.ip
            for each in source.subsets
            if port in each.ports
            for address in (*each.addresses, *each.not_ready_addresses)
        } - {"nonsense"}
        assert len(serving) == len(set(serving))
        assert set(serving) <= wanted <= {*serving, *left_out}
    assert all(0 < len(slice_.endpoints) <= most for slice_ in plan.creates)


@given(_sources, st.integers(1, 6), st.randoms(use_true_random=False))
def test_the_order_of_subsets_addresses_and_slices_never_matters(
    source: Endpoints, most: int, random: Random
) -> None:
    # What two mentions of an address disagree on, the first one decides; so let them agree.
    def plain(addresses: tuple[EndpointsAddress, ...]) -> tuple[EndpointsAddress, ...]:
        return tuple(EndpointsAddress(each.ip) for each in addresses)

    def shuffled(items: tuple[_T, ...]) -> tuple[_T, ...]:
        return tuple(random.sample(items, len(items)))

    subsets = tuple(
        EndpointsSubset(plain(each.addresses), plain(each.not_ready_addresses), each.ports)
        for each in source.subsets
    )
    turned = tuple(
        EndpointsSubset(
            shuffled(each.addresses), shuffled(each.not_ready_addresses), shuffled(each.ports)
        )
        for each in shuffled(subsets)
    )
    before = apply((), mirror(SERVICE, source, (), most))

    assert mirror(SERVICE, endpoints(*turned), shuffled(before), most) == mirror(
        SERVICE, endpoints(*subsets), before, most
    )
