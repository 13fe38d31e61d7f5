"""A soak: an hour's worth of changes in a row through the whole agent, while clients connect.

Every endpoint address answers all the time, and services under test always have somebody ready
(``soak_town``). So whatever a client meets that is no answer, or the answer of an endpoint that has
been out of use for some seconds, is a mistake of ours. Beside them come and go services of every
kind that nobody connects to.

``NEARWISE_SOAK`` says how many changes there are (docs/testing.md).
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import resource
import sys
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace
from netns import Namespace, join
from soak_town import NODE, NODE_ADDRESS, Tell, Town

from nearwise.loops.surroundings import real_surroundings
from nearwise.model import Service
from nearwise.model.core import ServicePort, ServiceSpec
from nearwise.model.meta import ListMeta, ObjectMeta
from nearwise.model.resources import ENDPOINT_SLICES, NODES, SERVICES, Resource
from nearwise.nft.choices import choices
from nearwise.nft.compile import compiled
from nearwise.nft.diff import diff
from nearwise.nft.layout import ENDPOINTS, LOCAL_ENDPOINTS
from nearwise.nft.layout import SERVICES as FRONTENDS
from nearwise.nft.registers import frontend, pack_address
from nearwise.nft.ruleset import Family, Ruleset
from nearwise.proxy.addresses import machine_addresses
from nearwise.proxy.conntrack import KernelFlows
from nearwise.proxy.netlink import NetlinkKernel
from nearwise.proxy.node import Options
from nearwise.proxy.process import Machine, Process
from nearwise.proxy.programming import Programming

_CHANGES = int(os.environ.get("NEARWISE_SOAK", "5000"))
_WARM = 0.3  # of the changes, after which memory must not grow any more
_SLACK = 3.0  # seconds in which who was just taken out of use may still answer
_GROWTH = 8 << 20  # bytes: what the allocator makes of it, and nothing that grows with changes
_ENDS = Path(__file__).parent / "soak_ends.py"
_PODS = "10.1.0.0/16"
_NODE_NETWORK = NODE_ADDRESS.rpartition(".")[0]


class Feed:
    """An API server in which changes are told, for who follows it on the same event loop."""

    def __init__(self) -> None:
        self._stored: dict[str, dict[tuple[str, str], Any]] = defaultdict(dict)
        self._watches: dict[str, asyncio.Queue[tuple[str, Any]]] = {}
        self._version = 1

    def tell(self, change: Tell) -> None:
        """Have something change."""
        kinds = (NODES, SERVICES, ENDPOINT_SLICES)
        plural = next(each.plural for each in kinds if isinstance(change.obj, each.type))
        stored, key = self._stored[plural], change.obj.metadata.key
        self._version += 1
        meta = replace(change.obj.metadata, resource_version=str(self._version))
        obj = replace(change.obj, metadata=meta)
        kind = "DELETED" if change.gone else "MODIFIED" if key in stored else "ADDED"
        if change.gone:
            del stored[key]
        else:
            stored[key] = obj
        if plural in self._watches:
            self._watches[plural].put_nowait((kind, obj))

    async def page(
        self, resource: Resource[Any], query: Mapping[str, str]
    ) -> tuple[tuple[Any, ...], ListMeta]:
        """Everything is followed by a stream that begins with what is there."""
        raise AssertionError(f"{resource.plural} were listed: {query}")

    async def watch(
        self, resource: Resource[Any], query: Mapping[str, str]
    ) -> AsyncIterator[tuple[str, Any]]:
        """Tell what is there, that this was all, and then what changes."""
        assert "sendInitialEvents" in query
        events = self._watches[resource.plural] = asyncio.Queue()
        for obj in self._stored[resource.plural].values():
            yield "ADDED", obj
        annotations = {"k8s.io/initial-events-end": "true"}
        meta = ObjectMeta(annotations=annotations, resource_version=str(self._version))
        yield "BOOKMARK", resource.type(metadata=meta)
        while True:
            yield await events.get()


class Answer(NamedTuple):
    """What a client met."""

    began: float
    ended: float
    place: str
    who: str


class History:
    """Who might answer where, at every moment; kept in a file, so that memory is the agent's."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._last: dict[str, tuple[str, ...]] = {}

    def note(self, town: Town) -> None:
        """Note who may answer from now on; who did before still may for a while."""
        now = time.monotonic()
        news = {place: who for place, who in town.chosen() if self._last.get(place) != who}
        if news:
            self._last |= news
            with self._file.open("a") as out:
                out.writelines(f"{now} {place} {','.join(who)}\n" for place, who in news.items())

    def read(self) -> dict[str, list[Chosen]]:
        """Return what was noted, by place."""
        found: dict[str, list[Chosen]] = defaultdict(list)
        for line in self._file.read_text().splitlines():
            since, place, who = line.split()
            found[place].append(Chosen(float(since), frozenset(who.split(","))))
        return found


class Chosen(NamedTuple):
    """Who might answer from some moment on."""

    since: float
    who: frozenset[str]


def test_thousands_of_changes_leave_no_trace_and_no_client_behind(
    host: Callable[[], Namespace], tmp_path: Path
) -> None:
    node, pods, outside = host(), host(), host()
    _wire(node, pods, outside)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}, {_CHANGES} changes")
    town, history = Town(random.Random(seed)), History(tmp_path / "history")
    history.note(town)

    with (
        _serving(pods),
        node.entered(),
        closing(NetlinkKernel()) as kernel,
        closing(KernelFlows()) as flows,
    ):
        machine = Machine(kernel, flows, machine_addresses)
        clients = {node: town.places(outside=False), outside: town.places(outside=True)}
        files = asyncio.run(_soak(machine, town, history, clients, tmp_path))
        kernel.remove()
        assert kernel.read(Family.IPV4) is None

    noted = history.read()
    for file in files:
        answers = [_answer(line) for line in file.read_text().splitlines()]
        print(f"{file.name}: {len(answers)} connections")
        assert len(answers) > _CHANGES / 10
        assert [each for each in answers if not _is_right(each, noted[each.place])] == []
        assert [pair for pair in _moves(town, answers) if not _had_to(*pair, noted)] == []


async def _soak(
    machine: Machine,
    town: Town,
    history: History,
    clients: Mapping[Namespace, list[str]],
    folder: Path,
) -> list[Path]:
    feed, stop = Feed(), asyncio.Event()
    options = Options(node=NODE, pod_networks=(_PODS,))
    process = Process(feed, machine, options, real_surroundings())
    programming = process.programming
    for change in town.begin():
        feed.tell(change)
    running = asyncio.create_task(process.run(stop))
    await _settled(programming, feed, 1)
    with _connecting(clients, folder) as files:
        await _churn(town, history, feed, int(_WARM * _CHANGES))
        before = _resident()
        await _churn(town, history, feed, _CHANGES - int(_WARM * _CHANGES))
        await _settled(programming, feed, 2)
        after = _resident()
    stop.set()
    await running
    print(f"{before / 1e6:.1f} MB, then {after / 1e6:.1f} MB")
    assert after - before < _GROWTH
    tended = programming.families[Family.IPV4]
    wanted, found = tended.table.ruleset, machine.kernel.read(Family.IPV4)
    assert wanted is not None
    assert diff(found, wanted).is_empty
    afresh = compiled(tended.table.settings, tended.routes.routes)
    assert _by_choice(wanted) == _by_choice(afresh)
    assert wanted.chains.items() >= afresh.chains.items()  # others stay for later
    assert not programming.last_failure
    return files


async def _churn(town: Town, history: History, feed: Feed, changes: int) -> None:
    """Have things change, some at once and some alone."""
    lot = random.Random(changes)
    for _ in range(changes):
        told = list(town.change())
        history.note(town)
        for each in told:
            feed.tell(each)
        if lot.random() < 0.7:
            await asyncio.sleep(lot.choice((0.0, 0.002, 0.01)))


async def _settled(programming: Programming, feed: Feed, number: int) -> None:
    """Wait until what was told is in the kernel: a last service comes after all others."""
    address = f"10.96.9.{number}"
    spec = ServiceSpec(
        type="ClusterIP", cluster_ip=address, ports=(ServicePort("", "TCP", None, 80),)
    )
    meta = ObjectMeta(name=f"last-{number}", namespace="soak")
    feed.tell(Tell(Service(metadata=meta, spec=spec)))
    packed = frontend(pack_address(address), "TCP", 80)
    async with asyncio.timeout(60):
        while not _has(programming, packed):
            await asyncio.sleep(0.05)


def _has(programming: Programming, frontend: bytes) -> bool:
    tended = programming.families.get(Family.IPV4)
    if tended is None or tended.table.ruleset is None or not tended.table.certain:
        return False
    return frontend in tended.table.ruleset.elements[FRONTENDS]


# --- hosts ----------------------------------------------------------------------------------


def _wire(node: Namespace, pods: Namespace, outside: Namespace) -> None:
    """Have the node between the pods and who is outside."""
    node.set("net.ipv4.ip_forward", 1)
    node.set("net.ipv4.icmp_ratemask", 0)
    join(node, outside, _NODE_NETWORK)
    join(node, pods, "192.168.20")
    outside.ip(f"route add default via {_NODE_NETWORK}.1")
    pods.ip("route add default via 192.168.20.1")
    pods.ip(f"route add local {_PODS} dev lo")
    node.ip("route add default via 192.168.20.2")


@contextmanager
def _serving(pods: Namespace) -> Iterator[None]:
    """Have all endpoints answer meanwhile."""
    with pods.start(sys.executable, str(_ENDS), "serve", "8080") as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "serving\n"
        try:
            yield
        finally:
            server.kill()


@contextmanager
def _connecting(clients: Mapping[Namespace, list[str]], folder: Path) -> Iterator[list[Path]]:
    """Have clients connect to places meanwhile; gives the files they write."""
    files = [folder / each.name for each in clients]
    running = [
        client.start(sys.executable, str(_ENDS), "connect", str(file), *places)
        for (client, places), file in zip(clients.items(), files, strict=True)
    ]
    try:
        yield files
    finally:
        for each in running:
            _, wrong = each.communicate("")
            assert each.returncode == 0, wrong


# --- what came of it ------------------------------------------------------------------------


def _answer(line: str) -> Answer:
    began, ended, place, who = line.split()
    return Answer(float(began), float(ended), place, who)


def _is_right(answer: Answer, noted: list[Chosen]) -> bool:
    """Say whether somebody answered who could be chosen then, or shortly before."""
    return any(
        answer.who in each.who for each in _during(noted, answer.began - _SLACK, answer.ended)
    )


def _moves(town: Town, answers: list[Answer]) -> Iterator[tuple[Answer, Answer]]:
    """Give answers one after the other where a client with session affinity got another one."""
    sticky = {place for each in town.tested if each.kind == "sticky" for place in each.places}
    last: dict[str, Answer] = {}
    for each in answers:
        if each.place in sticky:
            before = last.get(each.place)
            last[each.place] = each
            if before is not None and before.who != each.who:
                yield before, each


def _had_to(before: Answer, after: Answer, noted: dict[str, list[Chosen]]) -> bool:
    """Say whether a client had to get another one: its own was out of use for a moment."""
    meanwhile = _during(noted[before.place], before.began - _SLACK, after.ended)
    return any(before.who not in each.who for each in meanwhile)


def _during(noted: list[Chosen], began: float, ended: float) -> list[Chosen]:
    """Return what was noted of some time: what held when it began, and all that came then."""
    first = max(0, bisect_right(noted, began, key=lambda each: each.since) - 1)
    last = bisect_right(noted, ended, key=lambda each: each.since)
    return noted[first:last]


def _by_choice(ruleset: Ruleset) -> object:
    """Return what a ruleset has, with who can be drawn where, whatever the slot."""
    elements = dict(ruleset.elements)
    slots = [elements.pop(name) for name in (ENDPOINTS, LOCAL_ENDPOINTS)]
    drawn = {
        (name, key[:-4]): choices(ruleset, key[:-4])
        for name, each in zip((ENDPOINTS, LOCAL_ENDPOINTS), slots, strict=True)
        for key in each
    }
    return ruleset.sets, elements, drawn, [len(each) for each in slots]


def _resident() -> int:
    """Return the bytes of memory that are in use, after what is garbage has gone."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
