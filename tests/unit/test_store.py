"""What every store promises, tried on each of them, by example and against the plainest model."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from nearwise.machinery.changes import (
    AlreadyExistsError,
    Change,
    CompactedError,
    ConflictError,
    Create,
    Delete,
    Encode,
    Event,
    Key,
    RefusedError,
    Update,
)
from nearwise.machinery.eventlog import Limits
from nearwise.machinery.revisions import FIRST
from nearwise.store import MemoryStore, SqliteStore, Store, StoreFailedError

WEB = Key("services", "shop", "web")
API = Key("services", "shop", "api")


def text(word: str) -> Encode:
    """Encode as the API server does: the revision is part of the stored bytes."""
    return lambda revision: f"{word}@{revision}".encode()


class Backend(NamedTuple):
    """How a store is opened on a directory, and whether what was in it is there again."""

    open: Callable[[Path, Limits | None], Store]
    lasts: bool


BACKENDS = {
    "memory": Backend(lambda _, limits: MemoryStore(limits), lasts=False),
    "sqlite": Backend(lambda path, limits: SqliteStore(path / "db", limits=limits), lasts=True),
}

Scenario = Callable[[Callable[[Store], Coroutine[Any, Any, None]]], None]


@pytest.fixture(params=BACKENDS)
def with_store(request: pytest.FixtureRequest, tmp_path: Path) -> Scenario:
    """Run a coroutine on an empty store of each kind."""

    def run(scenario: Callable[[Store], Coroutine[Any, Any, None]]) -> None:
        async def opened() -> None:
            store = BACKENDS[request.param].open(tmp_path, None)
            try:
                await scenario(store)
            finally:
                await store.close()

        asyncio.run(asyncio.wait_for(opened(), 30))

    return run


def test_a_write_is_visible_and_told_before_it_returns(with_store: Scenario) -> None:
    async def scenario(store: Store) -> None:
        told: list[tuple[Event, bool]] = []
        store.subscribe(lambda e: told.append((e, store.read.get(e.key) is e.entry)))
        event = await store.write(Create(WEB, text("a")))
        assert told == [(event, True)]
        assert store.read.get(WEB) == event.entry
        assert (event.type, event.revision, event.entry.value) == ("ADDED", FIRST + 1, b"a@2")

    with_store(scenario)


def test_of_many_writers_that_expect_one_revision_one_wins_and_the_others_then_see_its_write(
    with_store: Scenario,
) -> None:
    async def scenario(store: Store) -> None:
        start = (await store.write(Create(WEB, text("a")))).revision

        async def attempt(number: int) -> str:
            try:
                await store.write(Update(WEB, text(str(number)), expected=start))
            except ConflictError:
                entry = store.read.get(WEB)
                assert entry is not None
                assert entry.revision > start
                return "lost"
            return "won"

        outcomes = await asyncio.gather(*(attempt(number) for number in range(50)))
        assert sorted(outcomes) == ["lost"] * 49 + ["won"]
        assert store.read.revision == start + 1

    with_store(scenario)


def test_writers_that_count_up_one_object_from_what_is_latest_never_lose(
    with_store: Scenario,
) -> None:
    async def scenario(store: Store) -> None:
        await store.write(Create(WEB, lambda _: b"0"))

        async def add() -> None:
            for _ in range(5):
                latest = store.read.latest(WEB)
                assert latest is not None
                value = b"%d" % (int(latest.value) + 1)
                await store.write(Update(WEB, lambda _, v=value: v, expected=latest.revision))  # type: ignore[misc]

        await asyncio.gather(*(add() for _ in range(20)))
        entry = store.read.get(WEB)
        assert entry is not None
        assert entry.value == b"100"

    with_store(scenario)


def test_writes_of_many_callers_are_told_in_the_order_of_their_revisions_without_gaps(
    with_store: Scenario,
) -> None:
    async def scenario(store: Store) -> None:
        told: list[int] = []
        store.subscribe(lambda event: told.append(event.revision))

        async def caller(number: int) -> None:
            key = Key("pods", "shop", f"web-{number}")
            await store.write(Create(key, text("a")))
            await store.write(Update(key, text("b")))
            await store.write(Delete(key, text("b")))

        await asyncio.gather(*(caller(number) for number in range(30)))
        assert told == list(range(FIRST + 1, FIRST + 91))
        assert store.read.page("pods").entries == ()

    with_store(scenario)


def test_a_list_and_a_subscription_without_an_await_between_leave_no_gap_and_no_overlap(
    with_store: Scenario,
) -> None:
    async def scenario(store: Store) -> None:
        keys = [Key("pods", "shop", f"web-{number}") for number in range(40)]
        writing = asyncio.gather(*(store.write(Create(key, text("a"))) for key in keys))
        await asyncio.sleep(0)
        seen = [entry.key.name for entry in store.read.page("pods").entries]
        store.subscribe(lambda event: seen.append(event.key.name))
        await writing
        assert sorted(seen) == sorted(key.name for key in keys)

    with_store(scenario)


def test_a_refused_create_does_not_tell_of_an_object_before_it_is_there(
    with_store: Scenario,
) -> None:
    async def scenario(store: Store) -> None:
        first = asyncio.create_task(store.write(Create(WEB, text("a"))))
        await asyncio.sleep(0)
        with pytest.raises(AlreadyExistsError):
            await store.write(Create(WEB, text("b")))
        assert store.read.get(WEB) is not None
        assert (await first).entry.value == b"a@2"

    with_store(scenario)


def test_a_caller_that_goes_away_does_not_take_its_write_back(with_store: Scenario) -> None:
    async def scenario(store: Store) -> None:
        task = asyncio.create_task(store.write(Create(WEB, text("a"))))
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await store.write(Create(API, text("b")))
        entry = store.read.get(WEB)
        assert entry is not None
        assert entry.revision == FIRST + 1

    with_store(scenario)


def test_a_subscriber_that_fails_is_reported_and_the_others_are_told(
    with_store: Scenario,
) -> None:
    async def scenario(store: Store) -> None:
        reported: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: reported.append(what))

        def fail(event: Event) -> None:
            raise RuntimeError("oh")

        told: list[Event] = []
        store.subscribe(fail)
        store.subscribe(told.append)
        event = await store.write(Create(WEB, text("a")))
        assert told == [event]
        assert [what["message"] for what in reported] == [
            "a subscriber failed on services shop/web"
        ]

    with_store(scenario)


def test_a_subscription_ends_when_it_is_told_to_even_by_itself(with_store: Scenario) -> None:
    async def scenario(store: Store) -> None:
        told: list[Event] = []

        def once(event: Event) -> None:
            told.append(event)
            end()

        end = store.subscribe(once)
        event = await store.write(Create(WEB, text("a")))
        await store.write(Delete(WEB, text("a")))
        assert told == [event]

    with_store(scenario)


def test_a_closed_store_takes_no_writes_and_is_still_read(with_store: Scenario) -> None:
    async def scenario(store: Store) -> None:
        under_way = asyncio.create_task(store.write(Create(WEB, text("a"))))
        await asyncio.sleep(0)
        await store.close()
        event = await under_way
        with pytest.raises(StoreFailedError, match="the store is closed"):
            await store.write(Create(API, text("b")))
        await store.close()
        assert store.read.page("services").entries == (event.entry,)

    with_store(scenario)


def test_the_past_is_forgotten_by_order_and_by_limit(tmp_path: Path) -> None:
    async def scenario(store: Store) -> None:
        await store.write(Create(WEB, text("a")))
        for _ in range(20):
            await store.write(Update(WEB, text("a")))
        assert store.read.compacted == store.read.revision - 10
        store.compact(store.read.revision - 3)
        assert len(store.read.after("services", store.read.revision - 3)) == 3
        with pytest.raises(CompactedError):
            store.read.after("services", store.read.revision - 4)
        await store.close()

    for name, backend in BACKENDS.items():
        (tmp_path / name).mkdir()
        asyncio.run(scenario(backend.open(tmp_path / name, Limits(events=10))))


# Any history

KEYS = [
    Key(resource, namespace, name)
    for resource in ("pods", "services")
    for namespace in ("a", "b")
    for name in ("x", "y")
]
State = dict[Key, tuple[int, bytes]]


class StoreMachine(RuleBasedStateMachine):
    """A store and a dict, told the same; every state the store still knows is kept whole."""

    backend: Backend

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.directory = Path(tempfile.mkdtemp())
        self.states: dict[int, State] = {FIRST: {}}
        self.told: list[Event] = []
        self.open(self.directory)

    def open(self, directory: Path) -> None:
        self.store = self.backend.open(directory, Limits(events=30))
        self.store.subscribe(self.told.append)

    @property
    def state(self) -> State:
        return self.states[max(self.states)]

    def expect(self, change: Change) -> str:
        """Say what must come of a change, and note it."""
        state, revision = dict(self.state), max(self.states) + 1
        current = state.get(change.key)
        if isinstance(change, Create):
            if current:
                return "AlreadyExistsError"
        elif not current:
            return "NotFoundError"
        elif change.expected not in (None, current[0]):
            return "ConflictError"
        if isinstance(change, Delete):
            del state[change.key]
        else:
            state[change.key] = (revision, change.encode(revision))
        self.states[revision] = state
        return str(revision)

    async def outcome(self, change: Change) -> str:
        try:
            return str((await self.store.write(change)).revision)
        except RefusedError as error:
            return type(error).__name__

    @rule(
        wishes=st.lists(
            st.tuples(
                st.sampled_from((Create, Update, Delete)),
                st.sampled_from(KEYS),
                st.sampled_from(("any", "current", "stale")),
            ),
            min_size=1,
            max_size=12,
        )
    )
    def write_all_at_once(self, wishes: list[tuple[Any, Key, str]]) -> None:
        changes: list[Change] = []
        for kind, key, expecting in wishes:
            current = self.state.get(key, (0, b""))[0]
            expected = {"any": None, "current": current, "stale": current - 1}[expecting]
            options = {} if kind is Create else {"expected": expected}
            changes.append(kind(key, text(kind.__name__), **options))
        expected_outcomes = [self.expect(change) for change in changes]

        async def together() -> list[str]:
            return await asyncio.gather(*(self.outcome(change) for change in changes))

        assert self.runner.run(together()) == expected_outcomes

    @rule(back=st.integers(0, 10))
    def compact(self, back: int) -> None:
        revision = max(self.store.read.revision - back, self.store.read.compacted)

        async def compact() -> None:
            self.store.compact(revision)

        self.runner.run(compact())
        assert self.store.read.compacted == revision

    @rule()
    def restart(self) -> None:
        if self.backend.lasts:
            self.runner.run(self.store.close())
            self.open(self.directory)

    @rule()
    def lose_the_process(self) -> None:
        """Go on from a copy of the files as they are: what the disk holds after a kill."""
        if self.backend.lasts:
            copy = Path(tempfile.mkdtemp())
            shutil.copytree(self.directory, copy, dirs_exist_ok=True)
            self.close()
            self.directory = copy
            self.open(copy)

    @invariant()
    def nothing_else_is_stored_than_was_written(self) -> None:
        read = self.store.read
        assert read.revision == max(self.states)
        for revision in range(read.compacted, read.revision + 1):
            for resource in ("pods", "services"):
                page = read.page(resource, revision=revision)
                found = {entry.key: (entry.revision, entry.value) for entry in page.entries}
                state = self.states[revision]
                assert found == {k: v for k, v in state.items() if k.resource == resource}
                assert [*found] == sorted(found, key=lambda key: key.place)

    @invariant()
    def what_was_told_is_what_is_read_and_all_of_it(self) -> None:
        read = self.store.read
        assert [event.revision for event in self.told] == list(range(FIRST + 1, read.revision + 1))
        for resource in ("pods", "services"):
            assert read.after(resource, read.compacted) == [
                event
                for event in self.told
                if event.key.resource == resource and event.revision > read.compacted
            ]

    def close(self) -> None:
        self.runner.run(self.store.close())
        shutil.rmtree(self.directory)

    def teardown(self) -> None:
        self.close()
        self.runner.close()


class MemoryMachine(StoreMachine):
    backend = BACKENDS["memory"]


class SqliteMachine(StoreMachine):
    backend = BACKENDS["sqlite"]


TestMemoryHistories = MemoryMachine.TestCase
TestSqliteHistories = SqliteMachine.TestCase
TestMemoryHistories.settings = TestSqliteHistories.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None
)
