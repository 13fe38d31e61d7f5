"""Deletion: at once, in time, or when those who have to clean up are done."""

from __future__ import annotations

from typing import Any

import pytest

from served import (
    DEFAULT,
    DEPLOYMENTS,
    SLICES,
    Server,
    deployment,
    endpoint_slice,
    play,
    pod,
    service,
)

PODS = f"{DEFAULT}/pods"
SERVICES = f"{DEFAULT}/services"
NAMESPACES = "/api/v1/namespaces"


def test_an_object_without_finalizers_goes_at_once() -> None:
    async def scenario(server: Server) -> None:
        created = await server.create(SLICES, endpoint_slice())

        answer = await server.delete(f"{SLICES}/web-1")

        assert answer == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {
                "name": "web-1",
                "group": "discovery.k8s.io",
                "kind": "endpointslices",
                "uid": created["metadata"]["uid"],
            },
        }
        await server.get(f"{SLICES}/web-1", 404)

    play(scenario)


def test_pods_and_services_answer_with_what_was_deleted() -> None:
    async def scenario(server: Server) -> None:
        await server.create(SERVICES, service())

        deleted = await server.delete(f"{SERVICES}/web")

        assert deleted["kind"] == "Service"
        assert deleted["metadata"]["resourceVersion"] == str(server.revision)

    play(scenario)


# --- Finalizers ---------------------------------------------------------------------------


def test_an_object_with_finalizers_waits_for_them() -> None:
    async def scenario(server: Server) -> None:
        path = f"{SLICES}/web-1"
        await server.create(SLICES, endpoint_slice(finalizers=["a.io/x", "b.io/y"]))

        marked = await server.delete(path)
        again = await server.delete(path)
        half = await server.patch(path, {"metadata": {"finalizers": ["b.io/y"]}})
        more = await server.patch(path, {"metadata": {"finalizers": ["b.io/y", "c.io/z"]}}, 422)
        last = await server.patch(path, {"metadata": {"finalizers": None}})

        assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
        assert marked["metadata"]["generation"] == 2
        assert again == marked
        assert half["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
        assert "no new finalizers can be added" in more["message"]
        assert "finalizers" not in last["metadata"]
        await server.get(path, 404)

    play(scenario)


@pytest.mark.parametrize(
    ("options", "finalizer"),
    [
        ({"propagationPolicy": "Orphan"}, "orphan"),
        ({"propagationPolicy": "Foreground"}, "foregroundDeletion"),
        ({"orphanDependents": True}, "orphan"),
    ],
)
def test_the_garbage_collector_is_told_by_finalizers(
    options: dict[str, Any], finalizer: str
) -> None:
    async def scenario(server: Server) -> None:
        await server.create(DEPLOYMENTS, deployment())

        marked = await server.delete(f"{DEPLOYMENTS}/web", options)
        background = await server.delete(f"{DEPLOYMENTS}/web", {"propagationPolicy": "Background"})

        assert marked["metadata"]["finalizers"] == [finalizer]
        assert marked["metadata"]["deletionTimestamp"]
        assert background["status"] == "Success"  # what is asked for last counts
        await server.get(f"{DEPLOYMENTS}/web", 404)

    play(scenario)


def test_an_object_may_say_itself_what_becomes_of_its_dependents() -> None:
    async def scenario(server: Server) -> None:
        await server.create(SLICES, endpoint_slice(finalizers=["foregroundDeletion"]))

        marked = await server.delete(f"{SLICES}/web-1")

        assert marked["metadata"]["finalizers"] == ["foregroundDeletion"]

    play(scenario)


def test_events_have_no_dependents() -> None:
    async def scenario(server: Server) -> None:
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
        await server.create(f"{DEFAULT}/events", event)

        answer = await server.delete(f"{DEFAULT}/events/e", {"propagationPolicy": "Orphan"})

        assert answer["status"] == "Success"

    play(scenario)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"propagationPolicy": "Sideways"}, "propagationPolicy: Unsupported value"),
        (
            {"propagationPolicy": "Orphan", "orphanDependents": True},
            "orphanDependents and deletionPropagation cannot be both set",
        ),
        ({"dryRun": ["Some"]}, "dryRun: Unsupported value"),
    ],
)
def test_options_that_are_not_supported(options: dict[str, Any], message: str) -> None:
    async def scenario(server: Server) -> None:
        await server.create(SERVICES, service())

        status = await server.delete(f"{SERVICES}/web", options, 422)

        assert message in status["message"]
        await server.get(f"{SERVICES}/web")

    play(scenario)


# --- Grace --------------------------------------------------------------------------------


def test_a_pod_on_a_node_is_given_time() -> None:
    async def scenario(server: Server) -> None:
        await server.create(PODS, pod(node="n1", terminationGracePeriodSeconds=40))
        path = f"{PODS}/web-a"

        marked = await server.delete(path)
        server.pass_seconds(5)
        again = await server.delete(path)
        longer = await server.delete(path, {"gracePeriodSeconds": 60})
        shorter = await server.delete(path, {"gracePeriodSeconds": 10})

        assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:40Z"
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 40
        assert marked["metadata"]["generation"] == 2
        assert again == longer == marked
        assert shorter["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:10Z"
        assert shorter["metadata"]["deletionGracePeriodSeconds"] == 10
        assert shorter["metadata"]["generation"] == 2
        await server.get(path)

    play(scenario)


@pytest.mark.parametrize(
    ("node", "phase", "options"),
    [
        ("", "Pending", None),
        ("n1", "Succeeded", None),
        ("n1", "Failed", None),
        ("n1", "Running", {"gracePeriodSeconds": 0}),
    ],
)
def test_a_pod_that_nobody_has_to_stop_goes_at_once(
    node: str, phase: str, options: dict[str, Any] | None
) -> None:
    async def scenario(server: Server) -> None:
        await server.create(PODS, pod(node=node))
        await server.patch(f"{PODS}/web-a/status", {"status": {"phase": phase}})

        deleted = await server.delete(f"{PODS}/web-a", options)

        assert deleted["metadata"]["deletionGracePeriodSeconds"] == 0
        await server.get(f"{PODS}/web-a", 404)

    play(scenario)


def test_a_node_that_stopped_a_pod_deletes_it_with_no_grace() -> None:
    async def scenario(server: Server) -> None:
        await server.create(PODS, pod(node="n1"))
        await server.delete(f"{PODS}/web-a")

        await server.delete(f"{PODS}/web-a", {"gracePeriodSeconds": 0})

        await server.get(f"{PODS}/web-a", 404)

    play(scenario)


def test_a_negative_grace_is_a_second() -> None:
    async def scenario(server: Server) -> None:
        await server.create(PODS, pod(node="n1"))

        marked = await server.delete(f"{PODS}/web-a", {"gracePeriodSeconds": -1})

        assert marked["metadata"]["deletionGracePeriodSeconds"] == 1

    play(scenario)


def test_a_pod_with_finalizers_and_no_grace_left_waits_for_them() -> None:
    async def scenario(server: Server) -> None:
        given = pod(node="n1")
        given["metadata"]["finalizers"] = ["a.io/x"]
        await server.create(PODS, given)

        await server.delete(f"{PODS}/web-a", {"gracePeriodSeconds": 0})
        await server.get(f"{PODS}/web-a")
        await server.patch(f"{PODS}/web-a", {"metadata": {"finalizers": []}})

        await server.get(f"{PODS}/web-a", 404)

    play(scenario)


# --- Preconditions ------------------------------------------------------------------------


def test_a_deletion_may_say_which_object_and_version_it_means() -> None:
    async def scenario(server: Server) -> None:
        created = await server.create(SERVICES, service())
        path, version = f"{SERVICES}/web", created["metadata"]["resourceVersion"]

        other = await server.delete(path, {"preconditions": {"uid": "other"}}, 409)
        stale = await server.delete(path, {"preconditions": {"resourceVersion": "1"}}, 409)
        right = {"uid": created["metadata"]["uid"], "resourceVersion": version}
        await server.delete(path, {"preconditions": right})

        assert "The object might have been deleted and then recreated" in other["message"]
        assert "The object might have been modified" in stale["message"]

    play(scenario)


# --- Namespaces ---------------------------------------------------------------------------


def test_a_namespace_is_terminating_until_it_is_finalized() -> None:
    async def scenario(server: Server) -> None:
        await server.create(NAMESPACES, {"metadata": {"name": "shop"}})
        services = f"{NAMESPACES}/shop/services"
        await server.create(services, service())

        terminating = await server.delete(f"{NAMESPACES}/shop")
        refused = await server.create(services, service("late"), 403)
        await server.delete(f"{services}/web")
        terminating["spec"]["finalizers"] = []
        plain = await server.put(f"{NAMESPACES}/shop", terminating)
        still_there = await server.get(f"{NAMESPACES}/shop")
        await server.put(f"{NAMESPACES}/shop/finalize", terminating)

        assert terminating["status"]["phase"] == "Terminating"
        assert refused["details"]["causes"][0]["reason"] == "NamespaceTerminating"
        assert plain["spec"]["finalizers"] == ["kubernetes"]
        assert still_there["spec"]["finalizers"] == ["kubernetes"]
        await server.get(f"{NAMESPACES}/shop", 404)

    play(scenario)


def test_a_second_deletion_of_a_namespace_changes_nothing() -> None:
    async def scenario(server: Server) -> None:
        await server.create(NAMESPACES, {"metadata": {"name": "shop"}})
        first = await server.delete(f"{NAMESPACES}/shop")

        assert await server.delete(f"{NAMESPACES}/shop") == first

    play(scenario)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_stay(name: str) -> None:
    async def scenario(server: Server) -> None:
        status = await server.delete(f"{NAMESPACES}/{name}", status=403)

        assert status["message"] == (
            f'namespaces "{name}" is forbidden: this namespace may not be deleted'
        )

    play(scenario)


# --- Many at once -------------------------------------------------------------------------


def test_a_collection_is_deleted_by_selector() -> None:
    async def scenario(server: Server) -> None:
        for number in range(4):
            label = "odd" if number % 2 else "even"
            given = endpoint_slice(f"web-{number}", labels={"n": label})
            if number == 3:
                given["metadata"]["finalizers"] = ["a.io/x"]
            await server.create(SLICES, given)

        deleted = await server.delete(f"{SLICES}?labelSelector=n%3Dodd")

        assert deleted["kind"] == "EndpointSliceList"
        assert [one["metadata"]["name"] for one in deleted["items"]] == ["web-1", "web-3"]
        left = (await server.get(SLICES))["items"]
        assert [one["metadata"]["name"] for one in left] == ["web-0", "web-2", "web-3"]
        assert "deletionTimestamp" in left[-1]["metadata"]

    play(scenario)
