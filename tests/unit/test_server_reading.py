"""Lists, pages and versions: every page of a list shows one moment."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

from served import DEFAULT, SLICES, TABLE, Server, endpoint_slice, play, pod, service

PODS = f"{DEFAULT}/pods"
SERVICES = f"{DEFAULT}/services"
NODES = "/api/v1/nodes"


def names(listing: dict[str, Any]) -> list[str]:
    return [one["metadata"]["name"] for one in listing["items"]]


async def slices(server: Server, count: int) -> None:
    for number in range(count):
        await server.create(SLICES, endpoint_slice(f"web-{number:04}", labels={"n": str(number)}))


# --- Pages --------------------------------------------------------------------------------


def test_f90_pages_come_from_one_snapshot_whatever_is_written_in_between() -> None:
    async def scenario(server: Server) -> None:
        async def page(token: str) -> tuple[list[str], dict[str, Any]]:
            found = await server.get(f"{SLICES}?limit=500&continue={token}")
            return names(found), found["metadata"]

        await slices(server, 1200)
        first, told = await page("")
        version = told["resourceVersion"]
        assert (len(first), told["remainingItemCount"]) == (500, 700)

        await server.delete(f"{SLICES}/web-0700")
        await server.create(SLICES, endpoint_slice("web-0800a"))
        second, told = await page(told["continue"])
        assert (len(second), told["remainingItemCount"]) == (500, 200)
        assert told["resourceVersion"] == version

        await server.delete(f"{SLICES}?labelSelector=n%3D1100")
        await server.create(SLICES, endpoint_slice("web-0700"))
        third, told = await page(told["continue"])
        assert (len(third), told) == (200, {"resourceVersion": version})

        assert first + second + third == [f"web-{number:04}" for number in range(1200)]

    play(scenario)


def test_f90_a_token_that_is_too_old_leads_to_the_rest_as_it_is_now() -> None:
    async def scenario(server: Server) -> None:
        await slices(server, 6)
        page = await server.get(f"{SLICES}?limit=2")
        await server.delete(f"{SLICES}/web-0004")
        server.store.compact(server.revision)

        expired = await server.get(f"{SLICES}?limit=2&continue={page['metadata']['continue']}", 410)

        assert expired["reason"] == "Expired"
        assert expired["message"].startswith(
            "The provided continue parameter is too old to display a consistent list result."
        )
        token = expired["metadata"]["continue"]
        rest = await server.get(f"{SLICES}?limit=2&continue={token}")
        assert names(rest) == ["web-0002", "web-0003"]
        last = await server.get(f"{SLICES}?continue={rest['metadata']['continue']}")
        assert names(last) == ["web-0005"]
        assert last["metadata"]["resourceVersion"] == str(server.revision)

    play(scenario)


def test_pages_of_all_namespaces_go_on_in_the_next_namespace() -> None:
    async def scenario(server: Server) -> None:
        for namespace in ("shop", "shop-eu"):
            await server.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
            for name in ("a", "b"):
                await server.create(f"/api/v1/namespaces/{namespace}/services", service(name))
        seen, token = [], ""
        while True:
            page = await server.get(f"/api/v1/services?limit=3&continue={token}")
            seen += [
                (one["metadata"]["namespace"], one["metadata"]["name"]) for one in page["items"]
            ]
            token = page["metadata"].get("continue", "")
            if not token:
                break

        assert sorted(seen) == [("shop", "a"), ("shop", "b"), ("shop-eu", "a"), ("shop-eu", "b")]
        assert len(seen) == 4

    play(scenario)


def test_pages_of_a_selection_do_not_say_how_many_are_left() -> None:
    async def scenario(server: Server) -> None:
        for number in range(5):
            await server.create(
                SLICES, endpoint_slice(f"web-{number}", labels={"odd": str(number % 2)})
            )

        first = await server.get(f"{SLICES}?labelSelector=odd%3D0&limit=2")
        token = first["metadata"]["continue"]
        second = await server.get(f"{SLICES}?labelSelector=odd%3D0&limit=2&continue={token}")
        exact = await server.get(f"{SLICES}?labelSelector=odd%3D1&limit=2")

        assert names(first) == ["web-0", "web-2"]
        assert "remainingItemCount" not in first["metadata"]
        assert names(second) == ["web-4"]
        assert "continue" not in second["metadata"]
        assert "continue" not in exact["metadata"]

    play(scenario)


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("zzz", "invalid character '\\xcf' looking for beginning of value"),
        ("!", "illegal base64 data"),
        (json.dumps({"v": "meta.k8s.io/v1", "rv": 5}), "no start"),
        (json.dumps({"v": "meta.k8s.io/v1", "start": "/a\0"}), "incorrect encoded start"),
        (
            json.dumps({"v": "v9", "rv": 5, "start": "/a"}),
            "does not recognize this encoded version",
        ),
        ("{}}", "malformed"),
    ],
)
def test_tokens_that_are_none(token: str, message: str) -> None:
    async def scenario(server: Server) -> None:
        given = token
        if token.startswith("{"):
            given = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")

        status = await server.get(f"{SLICES}?continue={quote(given)}", 400)

        assert status["message"].startswith("invalid continue token: continue key is not valid: ")
        assert message in status["message"]

    play(scenario)


# --- Versions -----------------------------------------------------------------------------


def test_a_list_at_an_exact_version_shows_the_past() -> None:
    async def scenario(server: Server) -> None:
        await slices(server, 2)
        then = server.revision
        await server.delete(f"{SLICES}/web-0000")
        await server.create(SLICES, endpoint_slice("web-0009"))

        past = await server.get(f"{SLICES}?resourceVersion={then}&resourceVersionMatch=Exact")
        by_limit = await server.get(f"{SLICES}?resourceVersion={then}&limit=1")
        not_older = await server.get(f"{SLICES}?resourceVersion={then}")
        any_version = await server.get(f"{SLICES}?resourceVersion=0&limit=1")

        assert names(past) == ["web-0000", "web-0001"]
        assert past["metadata"]["resourceVersion"] == str(then)
        assert names(by_limit) == ["web-0000"]  # a limit makes a version an exact one
        assert names(not_older) == ["web-0001", "web-0009"]
        assert names(any_version) == ["web-0001", "web-0009"]  # and 0 makes no pages

    play(scenario)


def test_a_past_that_is_no_longer_kept() -> None:
    async def scenario(server: Server) -> None:
        await slices(server, 2)
        server.store.compact(server.revision)

        status = await server.get(f"{SLICES}?resourceVersion=3&resourceVersionMatch=Exact", 410)

        assert status["reason"] == "Expired"
        assert status["message"] == "The resourceVersion for the provided list is too old."

    play(scenario)


@pytest.mark.parametrize(
    "query", ["resourceVersion=999", "resourceVersion=999&resourceVersionMatch=Exact"]
)
def test_a_version_that_nobody_has_written_yet(query: str) -> None:
    async def scenario(server: Server) -> None:
        reply = await server.ask("GET", f"{SLICES}?{query}")
        one = await server.ask("GET", f"/api/v1/namespaces/default?{query}")

        assert (reply.status, reply.json["reason"]) == (504, "Timeout")
        assert reply.headers["retry-after"] == "1"
        assert reply.json["message"].startswith("Timeout: Too large resource version: 999, current")
        assert one.status == 504

    play(scenario)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("resourceVersionMatch=Exact", "forbidden unless resourceVersion is provided"),
        ("resourceVersion=0&resourceVersionMatch=Exact", 'forbidden for resourceVersion "0"'),
        ("resourceVersion=1&resourceVersionMatch=Sometime", "Unsupported value"),
        (
            "resourceVersion=1&resourceVersionMatch=Exact&continue=x",
            "resourceVersionMatch is forbidden when continue is provided",
        ),
        ("sendInitialEvents=true", "sendInitialEvents is forbidden for list"),
    ],
)
def test_parameters_that_do_not_go_together(query: str, message: str) -> None:
    async def scenario(server: Server) -> None:
        status = await server.get(f"{SLICES}?{query}", 422)

        assert status["message"].startswith('ListOptions.meta.k8s.io "" is invalid: ')
        assert message in status["message"]

    play(scenario)


def test_a_token_has_a_version_of_its_own() -> None:
    async def scenario(server: Server) -> None:
        await slices(server, 2)
        token = (await server.get(f"{SLICES}?limit=1"))["metadata"]["continue"]

        status = await server.get(f"{SLICES}?continue={token}&resourceVersion=3", 400)

        assert status["message"] == (
            "specifying resource version is not allowed when using continue"
        )

    play(scenario)


# --- Selections ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("spec.nodeName=n1", ["web-a", "web-b"]),
        ("spec.nodeName!=n1", ["web-c"]),
        ("spec.nodeName=n1,status.phase=Running", ["web-b"]),
        ("spec.nodeName==n1,metadata.name!=web-a", ["web-b"]),
        ("metadata.name=web-c", ["web-c"]),
        ("metadata.name=web-c,metadata.namespace=shop", []),
        ("metadata.name=web-a,metadata.name=web-b", []),
        ("spec.hostNetwork=true", ["web-b"]),
        ("spec.hostNetwork=false", ["web-a", "web-c"]),
        ("status.podIP=", ["web-a", "web-c"]),
        ("status.podIP=10.1.1.1", ["web-b"]),
        (r"status.podIP=10\,1", []),
    ],
)
def test_fields_by_which_pods_are_selected(selector: str, expected: list[str]) -> None:
    async def scenario(server: Server) -> None:
        await server.create(PODS, pod("web-a", "n1"))
        await server.create(PODS, pod("web-b", "n1", hostNetwork=True))
        await server.create(PODS, pod("web-c"))
        status = {"status": {"phase": "Running", "podIP": "10.1.1.1"}}
        await server.patch(f"{PODS}/web-b/status", status)

        listing = await server.get(f"{PODS}?fieldSelector={quote(selector)}")

        assert names(listing) == expected

    play(scenario)


def test_nodes_are_selected_by_whether_they_take_pods() -> None:
    async def scenario(server: Server) -> None:
        await server.create(NODES, {"metadata": {"name": "n1"}})
        await server.create(NODES, {"metadata": {"name": "n2"}, "spec": {"unschedulable": True}})

        listing = await server.get(f"{NODES}?fieldSelector=spec.unschedulable%3Dfalse")

        assert names(listing) == ["n1"]

    play(scenario)


# --- Forms --------------------------------------------------------------------------------


def test_only_the_metadata_can_be_asked_for() -> None:
    async def scenario(server: Server) -> None:
        created = await server.create(SLICES, endpoint_slice())
        form = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io"

        many = await server.ask("GET", SLICES, headers={"accept": form.format("List")})
        one = await server.ask("GET", f"{SLICES}/web-1", headers={"accept": form.format("")})

        expected = {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": created["metadata"],
        }
        assert one.json == expected
        assert many.json["kind"] == "PartialObjectMetadataList"
        assert many.json["items"] == [expected]

    play(scenario)


def test_tables_have_of_their_objects_what_is_asked_for() -> None:
    async def scenario(server: Server) -> None:
        created = await server.create(SERVICES, service())
        form = {"accept": TABLE}

        whole = await server.ask("GET", f"{SERVICES}?includeObject=Object", headers=form)
        bare = await server.ask("GET", f"{SERVICES}?includeObject=None", headers=form)
        one = await server.ask("GET", f"{SERVICES}/web", headers=form)

        assert whole.json["rows"][0]["object"] == created
        assert bare.json["rows"][0]["object"] is None
        assert one.json["kind"] == "Table"
        assert one.json["metadata"] == {"resourceVersion": created["metadata"]["resourceVersion"]}
        assert one.json["rows"][0]["cells"][0] == "web"

    play(scenario)


def test_a_list_of_nothing_is_a_list() -> None:
    async def scenario(server: Server) -> None:
        listing = await server.get(PODS)

        assert listing == {
            "kind": "PodList",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(server.revision)},
            "items": [],
        }

    play(scenario)
