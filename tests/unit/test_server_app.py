"""HTTP: who may ask, how much, and what the server says about itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

import pytest

from asgi import Client
from nearwise.server.app import Limits
from nearwise.server.discovery import MINOR
from nearwise.server.protobuf.wire import fields
from nearwise.store import MemoryStore
from served import APPLY, DEFAULT, DEPLOYMENTS, SLICES, STRATEGIC, TABLE, Server, play, service

SERVICES = f"{DEFAULT}/services"
AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)


# --- Who ----------------------------------------------------------------------------------


def test_only_who_has_the_token_is_served() -> None:
    async def scenario(server: Server) -> None:
        strangers = [
            Client(server.app),
            Client(server.app, "wrong"),
            Client(server.app, "secret-and-more"),
        ]
        for stranger in strangers:
            reply = await stranger("GET", SERVICES)
            assert (reply.status, reply.json["reason"]) == (401, "Unauthorized")
            assert (await stranger("GET", "/api")).status == 401
            assert (await stranger("GET", "/nowhere")).status == 401
            watch = await stranger("GET", f"{SERVICES}?watch=1")
            assert watch.status == 401
            assert [(await stranger("GET", path)).status for path in ("/healthz", "/version")] == [
                200,
                200,
            ]
        basic = await strangers[0]("GET", SERVICES, headers={"authorization": "Basic secret"})
        assert basic.status == 401
        spelled = await strangers[0]("GET", SERVICES, headers={"authorization": "bearer secret"})
        assert spelled.status == 200
        assert (await server.ask("GET", SERVICES)).status == 200

    play(scenario, token="secret")


# --- How much -----------------------------------------------------------------------------


def test_what_is_too_much_is_refused() -> None:
    async def scenario(server: Server) -> None:
        body = await server.ask("POST", SERVICES, b" " * 1001)
        told = await server.ask("POST", SERVICES, b"{}", headers={"content-length": "1001"})
        url = await server.ask("GET", f"{SERVICES}?labelSelector={'x' * 1000}")
        headers = await server.ask("GET", SERVICES, headers={"x": "y" * 1000})

        assert (body.status, body.json["reason"]) == (413, "RequestEntityTooLarge")
        assert body.json["message"] == "Request entity too large: limit is 1000"
        assert told.status == 413
        assert url.status == 414
        assert headers.status == 431

    play(scenario, limits=Limits(body=1000, url=1000, headers=1000))


def test_a_body_may_come_in_pieces() -> None:
    async def scenario(server: Server) -> None:
        content = json.dumps(service()).encode()
        pieces = [content[:10], content[10:20], content[20:]]
        sent: list[MutableMapping[str, Any]] = []

        async def receive() -> dict[str, Any]:
            piece = pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": SERVICES,
            "query_string": b"",
            "headers": [(b"Content-Type", b"application/json; charset=utf-8")],
        }
        await server.app(scope, receive, send)

        assert sent[0]["status"] == 201

    play(scenario)


def test_a_client_that_goes_away_in_the_middle_of_its_body_writes_nothing() -> None:
    async def scenario(server: Server) -> None:
        messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": json.dumps(service()).encode(), "more_body": True},
            {"type": "http.disconnect"},
        ]
        sent: list[MutableMapping[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return messages.pop(0)

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": SERVICES,
            "query_string": b"",
            "headers": [],
        }
        await server.app(scope, receive, send)

        assert sent[0]["status"] == 400
        await server.get(f"{SERVICES}/web", 404)

    play(scenario)


# --- In which format ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "media", ["application/cbor", "application/merge-patch+json", "text/plain"]
)
def test_bodies_in_formats_that_are_not_read_are_refused_by_name(media: str) -> None:
    async def scenario(server: Server) -> None:
        reply = await server.ask("POST", SERVICES, b"\x00", media=media)

        assert (reply.status, reply.json["reason"]) == (415, "UnsupportedMediaType")
        assert "application/json, application/yaml" in reply.json["message"]

    play(scenario)


def test_who_takes_yaml_only_gets_json_which_is_yaml() -> None:
    async def scenario(server: Server) -> None:
        await server.create(SERVICES, service())

        reply = await server.ask("GET", f"{SERVICES}/web", headers={"accept": "application/yaml"})

        assert reply.headers["content-type"] == "application/yaml"
        assert reply.json["kind"] == "Service"

    play(scenario)


# --- What goes wrong ----------------------------------------------------------------------


def test_a_mistake_of_ours_is_told_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(server: Server) -> None:
        def broken(*_: object) -> None:
            raise RuntimeError("a mistake of ours")

        server.api.list = broken  # type: ignore[method-assign,assignment]

        reply = await server.ask("GET", SERVICES)

        assert (reply.status, reply.json["reason"]) == (500, "InternalError")
        assert "a mistake of ours" not in reply.body.decode()

    play(scenario)
    assert "a mistake of ours" in caplog.text


def test_a_store_that_takes_no_more_writes_still_answers_reads() -> None:
    store = MemoryStore()

    async def scenario(server: Server) -> None:
        await store.close()

        reply = await server.ask("POST", SERVICES, service())

        assert (reply.status, reply.json["reason"]) == (503, "ServiceUnavailable")
        await server.get(SERVICES)

    play(scenario, store=store)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/"])
def test_a_server_is_well_as_long_as_it_can_write(path: str) -> None:
    store = MemoryStore()

    async def scenario(server: Server) -> None:
        reply = await server.ask("GET", path)
        assert (reply.status, reply.body) == (200, b"ok")
        await store.close()
        reply = await server.ask("GET", path)
        assert reply.status == 500
        assert reply.body.startswith(b"[-]storage failed: reason withheld\n")

    play(scenario, store=store)


def test_paths_that_are_nothing() -> None:
    async def scenario(server: Server) -> None:
        for method in ("GET", "POST"):
            reply = await server.ask(method, "/nowhere")
            assert (reply.status, reply.body) == (404, b"404 page not found\n")
            assert reply.headers["content-type"].startswith("text/plain")
        assert (await server.ask("POST", "/version")).status == 405

    play(scenario)


def test_the_server_begins_and_ends_as_its_host_wants() -> None:
    async def scenario(server: Server) -> None:
        asked = iter(["lifespan.startup", "lifespan.shutdown"])
        sent: list[str] = []

        async def receive() -> dict[str, Any]:
            return {"type": next(asked)}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message["type"])

        await server.app({"type": "lifespan"}, receive, send)
        with pytest.raises(NotImplementedError, match="websocket"):
            await server.app({"type": "websocket"}, receive, send)

        assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]

    play(scenario)


# --- Discovery ----------------------------------------------------------------------------


def test_discovery_at_once_says_the_same_as_the_lists() -> None:
    async def scenario(server: Server) -> None:
        groups = [
            "v1",
            *(g["preferredVersion"]["groupVersion"] for g in (await server.get("/apis"))["groups"]),
        ]
        listed = {}
        for group in groups:
            path = f"/apis/{group}" if "/" in group else f"/api/{group}"
            for one in (await server.get(path))["resources"]:
                listed[group, one["name"]] = (one["kind"], one["namespaced"], one["verbs"])
        together = {}
        for path in ("/api", "/apis"):
            reply = await server.ask("GET", path, headers={"accept": AGGREGATED})
            assert reply.headers["content-type"].startswith(
                "application/json;g=apidiscovery.k8s.io;v=v2"
            )
            for item in reply.json["items"]:
                for version in item["versions"]:
                    name = item["metadata"].get("name", "")
                    group = f"{name}/{version['version']}" if name else version["version"]
                    for one in version["resources"]:
                        namespaced = one["scope"] == "Namespaced"
                        parts = [
                            (one["resource"], one),
                            *(
                                (f"{one['resource']}/{part['subresource']}", part)
                                for part in one.get("subresources", [])
                            ),
                        ]
                        for full, part in parts:
                            kind = part["responseKind"]["kind"]
                            together[group, full] = (kind, namespaced, part["verbs"])

        assert together == listed
        assert ("apps/v1", "deployments/scale") in listed

    play(scenario)


def test_a_group_and_the_paths_there_are() -> None:
    async def scenario(server: Server) -> None:
        apps = await server.get("/apis/apps")
        paths = (await server.get("/"))["paths"]

        assert apps["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}
        assert {"/api", "/api/v1", "/apis", "/apis/apps/v1", "/healthz", "/version"} <= set(paths)
        for path in paths:
            await server.ask("GET", path)

    play(scenario)


def test_the_version_is_one_that_clients_can_read() -> None:
    async def scenario(server: Server) -> None:
        version = await server.get("/version")

        assert (version["major"], version["minor"]) == ("1", str(MINOR))
        assert version["gitVersion"].startswith(f"v1.{MINOR}.2+nearwise.")

    play(scenario)


def test_openapi_is_served_with_a_tag_and_in_json() -> None:
    async def scenario(server: Server) -> None:
        index = await server.get("/openapi/v3")
        link = index["paths"]["apis/discovery.k8s.io/v1"]["serverRelativeURL"]
        document = await server.ask("GET", link)
        tag = document.headers["etag"]
        again = await server.ask("GET", link, headers={"if-none-match": tag})
        refused = await server.ask("GET", link, headers={"accept": "application/cbor"})

        assert "io.k8s.api.discovery.v1.EndpointSlice" in document.json["components"]["schemas"]
        assert (again.status, again.body) == (304, b"")
        assert refused.status == 406

    play(scenario)


def test_a_document_of_no_kinds_is_served_to_kubectl_which_asks_for_protobuf() -> None:
    protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

    async def scenario(server: Server) -> None:
        reply = await server.ask("GET", "/openapi/v2", headers={"accept": protobuf})
        assert reply.headers["content-type"] == protobuf.replace("@", ".")
        assert list(fields(reply.body)) == [(1, b"2.0")]
        refused = await server.ask("GET", "/openapi/v3", headers={"accept": protobuf})
        assert refused.status == 406

    play(scenario)


# --- What kubectl asks for ----------------------------------------------------------------


def test_f91_what_kubectl_needs_besides_reading_and_writing() -> None:
    """api-resources, explain, get -o wide, apply both ways, diff, patch, delete, describe."""

    async def scenario(server: Server) -> None:
        async def ok(method: str, target: str, body: object = None, **how: Any) -> Any:
            reply = await server.ask(method, target, body, **how)
            assert reply.status in (200, 201), (method, target, reply.body)
            return reply.json

        await ok("GET", "/version?timeout=32s")
        for path in ("/api", "/apis"):
            await ok("GET", f"{path}?timeout=32s", headers={"accept": AGGREGATED})
        await ok("GET", "/openapi/v3?timeout=32s")
        await ok("GET", "/openapi/v3/api/v1?timeout=32s")

        # apply by the client: get, create with field validation, then a strategic patch
        written = service(selector={"app": "web"})
        annotation = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(written)}
        written["metadata"]["annotations"] = annotation
        await server.get(f"{SERVICES}/web", 404)
        query = "fieldManager=kubectl-client-side-apply&fieldValidation=Strict"
        created = await ok("POST", f"{SERVICES}?{query}", written)
        assert created["metadata"]["managedFields"][0]["manager"] == "kubectl-client-side-apply"
        change = {"spec": {"$setElementOrder/ports": [{"port": 80}], "sessionAffinity": "ClientIP"}}
        await ok("PATCH", f"{SERVICES}/web?{query}", change, media=STRATEGIC)

        # apply by the server takes over, and diff is a dry run of it
        config = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  type: NodePort\n"
        path = f"{SERVICES}/web?fieldManager=kubectl&force=true"
        would = await ok("PATCH", f"{path}&dryRun=All", config, media=APPLY)
        assert would["spec"]["type"] == "NodePort"
        assert (await ok("GET", f"{SERVICES}/web"))["spec"]["type"] == "ClusterIP"
        await ok("PATCH", path, config, media=APPLY)

        # get -o wide, and by pages
        wide = await ok("GET", f"{SERVICES}?limit=500", headers={"accept": TABLE})
        assert wide["rows"][0]["cells"][0] == "web"

        # describe: the slices of a service and the events about it
        await ok("GET", f"{SLICES}?labelSelector=kubernetes.io%2Fservice-name%3Dweb&limit=500")
        about = "involvedObject.name%3Dweb%2CinvolvedObject.namespace%3Ddefault"
        uid = f"%2CinvolvedObject.uid%3D{created['metadata']['uid']}"
        await ok("GET", f"{DEFAULT}/events?fieldSelector={about}{uid}&limit=500")

        # delete with a wish for the dependents, then wait until it is gone
        await ok("DELETE", f"{SERVICES}/web", {"propagationPolicy": "Background"})
        gone = await ok("GET", f"{SERVICES}?fieldSelector=metadata.name%3Dweb")
        assert gone["items"] == []

        # rollout status and wait watch one object
        status = await server.ask("GET", f"{DEPLOYMENTS}/web")
        assert status.json["message"] == 'deployments.apps "web" not found'
        watch = f"{DEPLOYMENTS}?fieldSelector=metadata.name%3Dweb&watch=true&timeoutSeconds=1"
        assert (await server.ask("GET", watch)).body == b""

    play(scenario)


def test_many_clients_at_a_time_lose_no_write() -> None:
    async def scenario(server: Server) -> None:
        await server.create(
            f"{DEFAULT}/configmaps", {"metadata": {"name": "c"}, "data": {"n": "0"}}
        )
        path = f"{DEFAULT}/configmaps/c"

        async def count() -> None:
            while True:
                found = await server.get(path)
                found["data"]["n"] = str(int(found["data"]["n"]) + 1)
                await asyncio.sleep(0.001)
                if (await server.ask("PUT", path, found)).status == 200:
                    return

        await asyncio.gather(*(count() for _ in range(50)))

        assert (await server.get(path))["data"]["n"] == "50"

    play(scenario)
