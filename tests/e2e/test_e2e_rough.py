"""A server among strangers: full disks, crowds, and clients that get into each other's way."""

from __future__ import annotations

import asyncio
import re
import resource
import socket
import ssl
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from e2e_cluster import Cluster, Json, RefusedError, cluster_of, eventually, limited, up
from e2e_shop import Shop

from nearwise.client.kubeconfig import find_access

# --- Many who write -------------------------------------------------------------------------


def at_once(times: int, do: Callable[[int], int]) -> Counter[int]:
    """Do something many times, eight at a time; how often each code came of it."""

    def code(number: int) -> int:
        try:
            return do(number)
        except RefusedError as refused:
            return refused.code

    with ThreadPoolExecutor(8) as threads:
        return Counter(threads.map(code, range(times)))


def config(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_of_writers_that_read_first_none_is_overwritten(shop: Shop) -> None:
    cluster, path = shop.cluster, f"{shop.path}/configmaps"
    cluster.ask("POST", path, config("counter", count="0"))

    def count(_: int) -> int:
        while True:
            found = cluster.get(f"{path}/counter")
            found["data"]["count"] = str(int(found["data"]["count"]) + 1)
            with suppress(RefusedError):
                cluster.ask("PUT", f"{path}/counter", found)
                return 200

    assert at_once(40, count) == {200: 40}
    assert cluster.get(f"{path}/counter")["data"] == {"count": "40"}


def test_patches_that_name_no_version_never_conflict(shop: Shop) -> None:
    cluster, path = shop.cluster, f"{shop.path}/configmaps"
    cluster.ask("POST", path, config("shared"))

    def add(number: int) -> int:
        cluster.patch(f"{path}/shared", {"data": {f"key-{number}": "here"}})
        return 200

    assert at_once(60, add) == {200: 60}
    assert len(cluster.get(f"{path}/shared")["data"]) == 60


def test_one_name_is_given_once_however_many_want_it(shop: Shop) -> None:
    cluster, path = shop.cluster, f"{shop.path}/configmaps"

    def create(number: int) -> int:
        cluster.ask("POST", path, config(f"name-{number // 8}"))
        return 201

    assert at_once(64, create) == {201: 8, 409: 56}


def test_a_watch_tells_of_objects_that_come_and_go_in_the_order_in_which_they_did(
    shop: Shop,
) -> None:
    cluster, path = shop.cluster, f"{shop.path}/configmaps"

    def come_and_go(number: int) -> int:
        name = f"name-{number % 3}"
        with suppress(RefusedError):
            cluster.ask("POST", path, config(name))
        cluster.ask("DELETE", f"{path}/{name}")
        return 200

    with cluster.watching(path) as seen:
        at_once(60, come_and_go)
        cluster.ask("POST", path, config("last"))
        eventually(lambda: "last" in [one["metadata"]["name"] for one in seen.of("ADDED")])

    there: set[str] = set()
    for event in seen.events:
        name = event["object"]["metadata"]["name"]
        assert (event["type"] == "ADDED") == (name not in there)
        there ^= {name}
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen.events]
    assert revisions == sorted(set(revisions))
    assert there == {one["metadata"]["name"] for one in cluster.get(path)["items"]} == {"last"}


def test_f90_pages_show_one_moment_while_others_write(shop: Shop) -> None:
    cluster, path = shop.cluster, f"{shop.path}/configmaps"
    at_once(60, lambda n: bool(cluster.ask("POST", path, config(f"name-{n:02}"))))
    page = cluster.get(f"{path}?limit=25")
    names = [one["metadata"]["name"] for one in page["items"]]
    while token := page["metadata"].get("continue"):
        with suppress(RefusedError):
            cluster.ask("DELETE", f"{path}/{names[-1]}")
        cluster.ask("POST", path, config(f"{names[-1]}-after"))
        page = cluster.get(f"{path}?limit=25&continue={token}")
        names += [one["metadata"]["name"] for one in page["items"]]
    assert names == [f"name-{n:02}" for n in range(60)]


# --- What is no good request ------------------------------------------------------------------


class Door:
    """Where a cluster is reached, for bytes of any kind."""

    def __init__(self, kubeconfig: Path) -> None:
        access = find_access(str(kubeconfig))
        place = urlsplit(access.server)
        self.context = ssl.create_default_context(cadata=access.authority)
        self.place = (place.hostname or "", place.port or 443)
        token = access.credentials.identity().authorization
        assert token is not None
        self.known = f"Authorization: {token.reveal()}"

    def codes(self, *heads: str, body: str = "") -> list[int]:
        """Send requests at once, the first with a body; return the codes of the responses."""
        first, *rest = (f"{head}\r\nHost: x\r\n\r\n" for head in heads)
        sent = "".join([first, body, *rest, _LAST]).encode("latin-1")
        with (
            socket.create_connection(self.place, timeout=20) as plain,
            self.context.wrap_socket(plain, server_hostname=self.place[0]) as one,
        ):
            one.sendall(sent)
            answer = b"".join(iter(partial(one.recv, 65536), b""))
        return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


_LAST = "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("door")
    with up(folder) as server:
        yield Door(server.kubeconfig)


@pytest.mark.alone
@pytest.mark.parametrize(
    "head",
    [
        "\x00\x01\x02",
        "FETCH /version HTTP/1.1",
        "GET /version HTTP/1.1\r\nno colon",
        "GET /version HTTP/1.1\r\nX: a\x00b",
        "GET /version\x00 HTTP/1.1",
        "POST /version HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked",
        "POST /version HTTP/1.1\r\nContent-Length: 4\r\nContent-Length: 5",
        "POST /version HTTP/1.1\r\nContent-Length: -4",
        "POST /version HTTP/1.1\r\nContent-Length: 99999999999999999999999",
        f"GET /version?{'x' * 70_000} HTTP/1.1",
    ],
    ids=lambda head: ascii(head)[1:40],
)
def test_what_is_no_http_is_refused_and_nothing_after_it_is_read(door: Door, head: str) -> None:
    assert door.codes(head) == [400]


@pytest.mark.alone
@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nodes",
        "//api/v1/nodes",
        "/%61pi/v1/nodes",
        "/version/../api/v1/nodes",
        "/version/%2e%2e/api/v1/nodes",
        "/version;/../api/v1/nodes",
        "/version/",
    ],
)
def test_no_path_leads_in_without_the_token(door: Door, path: str) -> None:
    assert door.codes(f"GET {path} HTTP/1.1") == [401, 200]


@pytest.mark.alone
def test_a_body_that_is_refused_is_not_taken_for_a_request(door: Door) -> None:
    inside = f"DELETE /api/v1/namespaces/default HTTP/1.1\r\nHost: x\r\n{door.known}\r\n\r\n"
    head = f"POST /api/v1/namespaces HTTP/1.1\r\nContent-Length: {len(inside)}"
    assert door.codes(head, body=inside) == [401, 200]


@pytest.mark.alone
def test_a_body_that_is_too_long_is_refused_and_the_next_request_is_served(door: Door) -> None:
    size = 4_000_000
    head = f"POST /api/v1/namespaces HTTP/1.1\r\n{door.known}\r\nContent-Length: {size}"
    assert door.codes(head, body="x" * size) == [413, 200]


# --- Many who listen ------------------------------------------------------------------------


@pytest.mark.alone
def test_three_hundred_watch_though_the_system_gives_a_process_few_files(tmp_path: Path) -> None:
    few = {resource.RLIMIT_NOFILE: 64}
    with up(tmp_path, limits=few) as server, cluster_of(server.kubeconfig, tmp_path) as cluster:
        asyncio.run(_crowd(Door(server.kubeconfig), cluster))


async def _crowd(door: Door, cluster: Cluster) -> None:
    head = f"GET /api/v1/namespaces?watch=1 HTTP/1.1\r\nHost: x\r\n{door.known}\r\n\r\n"

    async def watch() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*door.place, ssl=door.context)
        writer.write(head.encode())
        await reader.readuntil(b'"kube-system"')
        return reader, writer

    async with asyncio.timeout(60):
        watches = [await watch() for _ in range(300)]
        new = {"metadata": {"name": "news"}}
        await asyncio.to_thread(cluster.ask, "POST", "/api/v1/namespaces", new)
        await asyncio.gather(*(reader.readuntil(b'"news"') for reader, _ in watches))
        for _, writer in watches:
            writer.transport.abort()  # all are closed when the test ends


# --- Full disks -----------------------------------------------------------------------------


@pytest.mark.alone
def test_on_a_full_disk_it_is_not_well_and_with_room_again_all_that_was_told_is_there(
    tmp_path: Path,
) -> None:
    full = {resource.RLIMIT_FSIZE: 400_000}
    with up(tmp_path, "--data", str(tmp_path / "data"), limits=full) as server:
        with cluster_of(server.kubeconfig, tmp_path) as cluster:
            told = dict(_until_refused(cluster))
            with pytest.raises(RefusedError):
                cluster.get("/readyz")
        assert "cannot be written" in server.log.read_text()
        assert server.end() == 0

        server.limits = {}
        server.start()
        with cluster_of(server.kubeconfig, tmp_path) as cluster:
            path = "/api/v1/namespaces/default/configmaps"
            there = [one["metadata"] for one in cluster.get(path)["items"]]
            assert {each["name"]: each["resourceVersion"] for each in there} == told
            cluster.ask("POST", path, config("more"))


def _until_refused(cluster: Cluster) -> Iterable[tuple[str, str]]:
    """Create objects until the disk is full; their names and versions."""
    create = partial(cluster.ask, "POST", "/api/v1/namespaces/default/configmaps")
    try:
        for number in range(1000):
            made = create(config(f"name-{number}", text="x" * 10_000))["metadata"]
            yield made["name"], made["resourceVersion"]
    except RefusedError as refused:
        assert (refused.code, number > 5) == (503, True)  # noqa: PT017 - and it is refused


@pytest.mark.alone
@pytest.mark.parametrize("room", [4_000, 20_000, 40_000, 50_000])
def test_without_room_to_begin_it_says_so_in_a_line(tmp_path: Path, room: int) -> None:
    words = ("-m", "nearwise", "up", "--port", "0", "--data", str(tmp_path / "data"))
    command = limited({resource.RLIMIT_FSIZE: room}, *words)
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith("Error: ")
    assert "mistake" not in done.stderr
    assert "Traceback" not in done.stderr
