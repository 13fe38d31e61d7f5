"""The garbage collector: who goes with whom, in which order, and who stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearwise.server.api import Deleted
from nearwise.server.garbage import Collector
from nearwise.server.options import DeleteOptions
from nearwise.server.resources import Address
from nearwise.server.statuses import unavailable
from small_cluster import SmallCluster, run, settled

A, B, C, D = (f"ConfigMap shop/{name}" for name in "abcd")


# --- In the background ----------------------------------------------------------------------


def test_what_an_owner_leaves_behind_goes_down_to_the_last_generation() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, A)
        await cluster.create(C, f"!{B}")
        await cluster.create(D)
        await settled()
        assert cluster.names("ConfigMap") == ["a", "b", "c", "d"]

        await cluster.delete(A)
        assert cluster.has(B, C)
        await settled()
        assert cluster.names("ConfigMap") == ["d"]

    run(test)


def test_an_object_stays_as_long_as_one_of_its_owners_does() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B)
        await cluster.create(C, A, B)

        await cluster.delete(A)
        await settled()
        assert cluster.owners(C) == ["b"]

        await cluster.delete(B)
        await settled()
        assert not cluster.has(C)

    run(test)


def test_an_owner_that_comes_again_under_its_name_is_another_one() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, A)
        await cluster.delete(A)
        await cluster.create(A)
        await settled()
        assert cluster.names("ConfigMap") == ["a"]

    run(test)


def test_an_object_whose_owner_never_was_goes() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(B, f"{A}#no-such-uid")
        await settled()
        assert cluster.names("ConfigMap") == []

    run(test)


def test_an_object_whose_owners_are_taken_from_it_stays() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, A)
        await cluster.patch(B, ownerReferences=None)
        await cluster.delete(A)
        await settled()
        assert cluster.names("ConfigMap") == ["b"]

    run(test)


def test_an_object_that_gets_an_owner_which_is_gone_goes() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, A)
        references = cluster.get(B)["metadata"]["ownerReferences"]
        await cluster.create(C)
        await cluster.delete(A)
        await cluster.patch(C, ownerReferences=references)
        await settled()
        assert cluster.names("ConfigMap") == []

    run(test)


def test_an_object_with_a_finalizer_waits_for_whoever_set_it() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, A, metadata={"finalizers": ["example.com/mine"]})
        await cluster.delete(A)
        await settled()
        assert "deletionTimestamp" in cluster.get(B)["metadata"]

        await cluster.patch(B, finalizers=None)
        await settled()
        assert not cluster.has(B)

    run(test)


def test_slices_of_a_deleted_service_go() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        service = await cluster.create("Service shop/web")
        await cluster.create("EndpointSlice shop/web-1", f"!{service}", addressType="IPv4")
        await cluster.delete(service)
        await settled()
        assert cluster.names("EndpointSlice") == []

    run(test)


def test_a_thousand_dependents_go() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        for number in range(1000):
            await cluster.create(f"ConfigMap shop/of-a-{number}", A)
        await cluster.delete(A)
        await settled()
        assert cluster.names("ConfigMap") == []

    run(test)


# --- What was there before ------------------------------------------------------------------


def test_what_was_left_behind_before_the_start_goes_too() -> None:
    async def test(cluster: SmallCluster) -> None:
        await cluster.create(A)
        await cluster.create(B, A)
        await cluster.create(C)
        await cluster.create(D, C)
        await cluster.delete(A)
        cluster.start(Collector)
        await settled()
        assert cluster.names("ConfigMap") == ["c", "d"]

        await cluster.delete(C)
        await settled()
        assert cluster.names("ConfigMap") == []

    run(test)


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
def test_a_deletion_that_was_under_way_before_the_start_is_finished(policy: str) -> None:
    async def test(cluster: SmallCluster) -> None:
        await cluster.create(A)
        await cluster.create(B, f"!{A}")
        await cluster.delete(A, policy)
        assert cluster.has(A)
        cluster.start(Collector)
        await settled()
        assert cluster.names("ConfigMap") == (["b"] if policy == "Orphan" else [])

    run(test)


# --- In the foreground ----------------------------------------------------------------------


def test_in_the_foreground_an_owner_goes_after_those_that_block_it() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, f"!{A}", metadata={"finalizers": ["example.com/mine"]})
        await cluster.create(C, f"!{A}")
        await cluster.delete(A, "Foreground")
        await settled()
        assert cluster.names("ConfigMap") == ["a", "b"]
        assert cluster.get(A)["metadata"]["finalizers"] == ["foregroundDeletion"]

        await cluster.patch(B, finalizers=None)
        await settled()
        assert cluster.names("ConfigMap") == []

    run(test)


def test_in_the_foreground_nobody_waits_for_those_that_do_not_block() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, A, metadata={"finalizers": ["example.com/mine"]})
        await cluster.delete(A, "Foreground")
        await settled()
        assert cluster.names("ConfigMap") == ["b"]
        assert "deletionTimestamp" in cluster.get(B)["metadata"]

    run(test)


def test_in_the_foreground_grandchildren_go_before_children() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, f"!{A}")
        await cluster.create(C, f"!{B}", metadata={"finalizers": ["example.com/mine"]})
        await cluster.delete(A, "Foreground")
        await settled()
        assert cluster.names("ConfigMap") == ["a", "b", "c"]
        assert cluster.get(B)["metadata"]["finalizers"] == ["foregroundDeletion"]

        await cluster.patch(C, finalizers=None)
        await settled()
        assert cluster.names("ConfigMap") == []

    run(test)


def test_an_owner_that_waits_lets_go_of_those_that_others_own_too() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B)
        await cluster.create(C, f"!{A}", B)
        await cluster.delete(A, "Foreground")
        await settled()
        assert cluster.names("ConfigMap") == ["b", "c"]
        assert cluster.owners(C) == ["b"]

    run(test)


def test_an_owner_that_waits_goes_when_its_dependent_is_told_not_to_block() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, f"!{A}", metadata={"finalizers": ["example.com/mine"]})
        await cluster.delete(A, "Foreground")
        await settled()
        assert cluster.has(A)

        (reference,) = cluster.get(B)["metadata"]["ownerReferences"]
        await cluster.patch(B, ownerReferences=[{**reference, "blockOwnerDeletion": False}])
        await settled()
        assert cluster.names("ConfigMap") == ["b"]

    run(test)


def test_two_that_own_each_other_do_not_wait_for_ever() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, f"!{A}")
        (reference,) = cluster.get(B)["metadata"]["ownerReferences"]
        uid = cluster.get(B)["metadata"]["uid"]
        await cluster.patch(A, ownerReferences=[{**reference, "name": "b", "uid": uid}])
        await settled()
        assert cluster.has(A, B)

        await cluster.delete(A, "Foreground")
        await settled()
        assert cluster.names("ConfigMap") == []

    run(test)


# --- Orphans --------------------------------------------------------------------------------


def test_orphans_stay_and_forget_their_owner() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, f"!{A}")
        await cluster.create(C)
        await cluster.create(D, C, A)
        await cluster.delete(A, "Orphan")
        await settled()
        assert cluster.names("ConfigMap") == ["b", "c", "d"]
        assert cluster.owners(B) == []
        assert cluster.owners(D) == ["c"]

    run(test)


def test_the_older_way_to_ask_for_orphans_does_the_same() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, A)
        await cluster.delete(A, orphan_dependents=True)
        await settled()
        assert cluster.names("ConfigMap") == ["b"]

    run(test)


def test_a_dependent_that_keeps_its_own_dependents_leaves_them() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, A, metadata={"finalizers": ["orphan"]})
        await cluster.create(C, B)
        await cluster.delete(A)
        await settled()
        assert cluster.names("ConfigMap") == ["c"]
        assert cluster.owners(C) == []

    run(test)


# --- Where owners are looked for ------------------------------------------------------------


def test_an_owner_in_another_namespace_is_none() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create("Namespace other")
        await cluster.create("ConfigMap other/a")
        uid = cluster.get("ConfigMap other/a")["metadata"]["uid"]
        await cluster.create(B, f"{A}#{uid}")
        await settled()
        assert cluster.names("ConfigMap") == []
        assert cluster.names("ConfigMap", "other") == ["a"]

    run(test)


def test_what_has_no_namespace_can_own_what_has_one() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create("Node n1")
        await cluster.create(B, "Node n1")
        await settled()
        assert cluster.has(B)

        await cluster.delete("Node n1")
        await settled()
        assert not cluster.has(B)

    run(test)


def test_what_has_no_namespace_is_not_collected_for_an_owner_that_would_have_one() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create("Node n1", f"{A}#gone")
        await settled()
        assert cluster.has("Node n1")

    run(test)


def test_an_owner_of_a_kind_that_is_not_served_is_taken_to_be_there() -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1"}
        await cluster.create(B, metadata={"ownerReferences": [owner]})
        await cluster.create(C)
        gone = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "2"}
        await cluster.patch(C, ownerReferences=[owner, gone])
        await settled()
        assert cluster.has(B)
        assert cluster.owners(C) == ["j", "x"]

    run(test)


# --- Any order ------------------------------------------------------------------------------

GRAPHS = st.lists(st.sets(st.integers(0, 7), max_size=3), min_size=1, max_size=8).map(
    lambda owners: [{one for one in each if one < place} for place, each in enumerate(owners)]
)
"""Objects by number, each with the numbers of its owners, which are smaller."""


@given(owners=GRAPHS, deleted=st.lists(st.integers(0, 7)), late=st.booleans())
@settings(max_examples=150, deadline=None)
def test_an_object_is_left_when_it_has_no_owners_or_one_that_is_left(
    owners: list[set[int]], deleted: list[int], late: bool
) -> None:
    left: set[int] = set()
    for number, each in enumerate(owners):
        if number not in deleted and (not each or each & left):
            left.add(number)

    async def test(cluster: SmallCluster) -> None:
        if not late:
            cluster.start(Collector)
        for number, each in enumerate(owners):
            named = [f"ConfigMap shop/{owner}" for owner in sorted(each)]
            await cluster.create(f"ConfigMap shop/{number}", *named)
        for number in dict.fromkeys(deleted):
            if number < len(owners):
                await cluster.delete(f"ConfigMap shop/{number}")
        if late:
            cluster.start(Collector)
        await settled()
        assert cluster.names("ConfigMap") == [str(number) for number in sorted(left)]

    run(test)


# --- Trouble --------------------------------------------------------------------------------


def test_what_is_refused_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(cluster: SmallCluster) -> None:
        cluster.start(Collector)
        await cluster.create(A)
        await cluster.create(B, A)
        await cluster.delete(A)
        delete, refusals = cluster.api.delete, [unavailable("the disk is busy")] * 3

        async def busy(at: Address, options: DeleteOptions | None = None) -> Deleted:
            if refusals:
                raise refusals.pop()
            return await delete(at, options)

        monkeypatch.setattr(cluster.api, "delete", busy)
        await settled()
        assert refusals == []
        assert cluster.names("ConfigMap") == []

    run(test)
