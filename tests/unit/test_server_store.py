"""The server on a file: writes that wait for the disk, and a restart that nobody notices."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from nearwise.store import SqliteStore
from served import DEFAULT, SLICES, Server, endpoint_slice, service

SERVICES = f"{DEFAULT}/services"


async def opened(path: Path) -> Server:
    server = Server(store=SqliteStore(path / "state.db", synchronous="NORMAL"))
    await server.api.start()
    return server


async def closed(server: Server) -> None:
    server.api.close()
    await server.store.close()


def test_writes_that_wait_for_the_disk_see_each_other(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = await opened(tmp_path)
        created = await asyncio.gather(
            *(server.ask("POST", SERVICES, service()) for _ in range(20)),
            *(server.ask("POST", SERVICES, service(f"web-{n}")) for n in range(20)),
        )
        assert sorted(reply.status for reply in created) == [201] * 21 + [409] * 19
        addresses = {one["spec"]["clusterIP"] for one in (await server.get(SERVICES))["items"]}
        assert len(addresses) == 21

        web = await server.get(f"{SERVICES}/web")

        async def replace(number: int) -> int:
            labels = {"n": str(number)}
            body = {**web, "metadata": {**web["metadata"], "labels": labels}}
            return (await server.ask("PUT", f"{SERVICES}/web", body)).status

        assert sorted(await asyncio.gather(*map(replace, range(20)))) == [200] + [409] * 19
        deleted = await asyncio.gather(
            *(server.ask("DELETE", f"{SERVICES}/web") for _ in range(5)),
            server.ask("PATCH", f"{SERVICES}/web", {}, media="application/merge-patch+json"),
        )
        assert [reply.status for reply in deleted] == [200, 404, 404, 404, 404, 404]
        await closed(server)

    asyncio.run(scenario())


def test_objects_versions_and_what_was_written_are_there_after_a_restart(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = await opened(tmp_path)
        version = server.revision
        await server.create(SLICES, endpoint_slice("web-1"))
        await server.create(SLICES, endpoint_slice("web-2"))
        await server.delete(f"{SLICES}/web-1")
        await server.create(SERVICES, service(clusterIP="10.96.0.10"))
        before = await _everything(server, version)
        await closed(server)

        server = await opened(tmp_path)
        after = await _everything(server, version)
        taken = await server.create(SERVICES, service("other", clusterIP="10.96.0.10"), 422)
        await closed(server)

        assert before == after
        assert [event["type"] for event in after["events"]] == ["ADDED", "ADDED", "DELETED"]
        assert "already allocated" in taken["message"]

    asyncio.run(scenario())


async def _everything(server: Server, version: int) -> dict[str, Any]:
    watch = f"{SLICES}?watch=1&resourceVersion={version}&timeoutSeconds=1"
    return {
        "revision": server.revision,
        "namespaces": await server.get("/api/v1/namespaces"),
        "slices": await server.get(SLICES),
        "services": await server.get(SERVICES),
        "events": (await server.ask("GET", watch)).events,
    }
