"""List and watch: whatever happens on the way, the cache becomes what the server has."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from math import inf

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from msgspec.structs import replace

from listing_server import (
    BROKEN,
    BUSY,
    FORBIDDEN_PARAMETER,
    GONE,
    TOKEN_EXPIRED,
    TOO_LARGE,
    ListingServer,
    RefusalError,
    Snapshot,
    Stream,
    Streaming,
    bookmark,
    pod,
)
from nearwise.machinery.cache import Cache, Delta
from nearwise.machinery.listwatch import ListWatch, Phase, Request
from nearwise.machinery.wait import Wait
from nearwise.model import Pod, Status
from nearwise.model.meta import ListMeta, StatusDetails

Machine = ListWatch[Pod]


def seconds(step: object) -> float:
    """Return how long to wait, which is all there is to do."""
    assert isinstance(step, Wait)
    return step.seconds


def machine(lot: float = 0.0) -> Machine:
    return ListWatch(Cache(), lot=lambda: lot)


def watching(*pods: Pod, version: int = 100) -> Machine:
    """Make a machine that has listed these pods and watches from the version."""
    made = machine()
    ask(made)
    for obj in pods:
        made.event("ADDED", obj)
    made.event(*bookmark(version, ends_initial=True))
    return made


def by_pages(*, page: list[Pod] | None = None, token: str = "") -> Machine:
    """Make a machine that lists by pages and has the first one, if there is one."""
    made = machine()
    ask(made)
    made.failed(0, FORBIDDEN_PARAMETER)
    ask(made)
    if page is not None:
        made.listed(page, ListMeta("100", token))
        ask(made)
    return made


def ask(made: Machine, now: float = 0) -> Request:
    step = made.next(now)
    assert isinstance(step, Request)
    return step


def names(deltas: list[Delta[Pod]]) -> list[tuple[str | None, str | None]]:
    """Tell deltas as (name and version before, name and version after)."""
    return [
        tuple(obj and f"{obj.metadata.name}@{obj.metadata.resource_version}" for obj in delta)  # type: ignore[misc]
        for delta in deltas
    ]


# --- the first list -----------------------------------------------------------------------


def test_the_first_request_is_a_streaming_list() -> None:
    request = ask(machine())

    assert request.watch
    assert request.query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "timeoutSeconds": "300",
    }


def test_nothing_is_told_before_the_bookmark_that_ends_the_initial_objects() -> None:
    made = machine()
    ask(made)

    assert made.event("ADDED", pod("web", 7)) == []
    assert made.event("ADDED", pod("db", 5)) == []
    synced = [made.has_synced]

    assert names(made.event(*bookmark(9, ends_initial=True))) == [(None, "db@5"), (None, "web@7")]
    assert [*synced, made.has_synced] == [False, True]
    assert (made.phase, made.version) == (Phase.WATCH, "9")


def test_a_list_of_nothing_is_a_list_too() -> None:
    made = watching(version=9)

    assert made.has_synced
    assert made.version == "9"


def test_the_stream_goes_on_as_the_watch() -> None:
    made = watching(pod("web", 7), version=9)

    assert names(made.event("MODIFIED", pod("web", 10))) == [("web@7", "web@10")]


def test_objects_that_change_or_go_during_the_initial_events_are_told_as_they_are_at_the_end() -> (
    None
):
    made = machine()
    ask(made)
    made.event("ADDED", pod("web", 7))
    made.event("ADDED", pod("db", 5))
    made.event("MODIFIED", pod("web", 8))
    made.event("DELETED", pod("db", 9))

    assert names(made.event(*bookmark(9, ends_initial=True))) == [(None, "web@8")]


def test_a_stream_that_breaks_in_the_middle_is_begun_anew() -> None:
    made = machine()
    ask(made)
    made.event("ADDED", pod("web", 7))
    made.failed(1)
    assert "sendInitialEvents" in ask(made, now=1.8).query

    made.event("ADDED", pod("db", 8))
    assert names(made.event(*bookmark(9, ends_initial=True))) == [(None, "db@8")]


# --- servers that do not stream -----------------------------------------------------------


@pytest.mark.parametrize("code", [400, 422])
def test_a_server_that_refuses_to_stream_is_asked_for_pages_at_once(code: int) -> None:
    made = machine()
    ask(made)
    made.failed(0, Status(code=code))

    assert ask(made) == Request(False, {"limit": "500"}, 60)


def test_a_server_that_does_not_know_what_it_was_asked_for_is_asked_for_pages() -> None:
    ended, marked = machine(), machine()
    for made in (ended, marked):
        ask(made)
        made.event("ADDED", pod("web", 7))

    ended.ended(now=30)  # the server closed it, or was silent for as long as the patience
    marked.event(*bookmark(9))

    for made in (ended, marked):
        assert made.phase is Phase.LIST
        assert names(made.listed([pod("db", 5)], ListMeta("9"))) == [(None, "db@5")]


def test_such_a_server_is_never_asked_to_stream_again() -> None:
    made = by_pages(page=[])
    made.failed(0, GONE)

    assert ask(made, now=10).query == {"limit": "500"}


def test_twelve_hundred_slices_are_read_by_three_pages_of_one_snapshot_f90() -> None:
    every = [pod(f"web-{i:04}", i + 1) for i in range(1_200)]
    made = by_pages()
    assert made.listed(every[:500], ListMeta("1200", "one")) == []
    assert ask(made).query == {"limit": "500", "continue": "one"}
    assert made.listed(every[500:1_000], ListMeta("1200", "two")) == []
    assert ask(made).query == {"limit": "500", "continue": "two"}
    assert not made.has_synced

    deltas = made.listed(every[1_000:], ListMeta("1200"))

    assert [delta.new for delta in deltas] == every
    assert ask(made).query["resourceVersion"] == "1200"


def test_a_page_that_is_lost_is_asked_for_again_by_the_same_token() -> None:
    made = by_pages(page=[pod("db", 5)], token="one")
    made.failed(0)

    assert ask(made, now=10).query == {"limit": "500", "continue": "one"}
    assert names(made.listed([pod("web", 7)], ListMeta("9"))) == [(None, "db@5"), (None, "web@7")]


def test_a_token_that_expired_leads_to_a_list_in_one_piece_which_cannot_expire_f90() -> None:
    made = by_pages(page=[pod("db", 5)], token="one")
    made.failed(0, TOKEN_EXPIRED)

    # The token offered for the rest is left alone: first and last page would be of two moments,
    # and what changed between them would never be told.
    assert ask(made, now=10).query == {}
    assert names(made.listed([pod("web", 7)], ListMeta("12"))) == [(None, "web@7")]
    made.failed(20, GONE)
    assert ask(made, now=50).query == {"limit": "500"}


def test_a_token_that_the_server_does_not_understand_begins_the_list_anew() -> None:
    made = by_pages(page=[pod("db", 5)], token="one")
    made.failed(0, Status(code=400, message="invalid continue token"))

    assert ask(made, now=10).query == {"limit": "500"}


# --- watching -----------------------------------------------------------------------------


def test_a_watch_tells_what_was_added_changed_and_deleted_with_the_state_before() -> None:
    made = watching(pod("db", 5), version=9)

    assert names(made.event("ADDED", pod("web", 10))) == [(None, "web@10")]
    assert names(made.event("MODIFIED", pod("db", 11))) == [("db@5", "db@11")]
    assert names(made.event("DELETED", pod("web", 12))) == [("web@10", None)]


def test_a_watch_that_ends_goes_on_from_the_version_last_seen() -> None:
    made = watching(version=9)
    assert ask(made).query["resourceVersion"] == "9"
    made.event("ADDED", pod("web", 10))
    made.ended(now=300)
    assert ask(made, now=300).query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
        "resourceVersion": "10",
    }

    made.event(*bookmark(44))
    made.failed(400)
    assert ask(made, now=410).query["resourceVersion"] == "44"


def test_events_told_again_or_too_late_are_passed_over() -> None:
    made = watching(pod("web", 7), version=9)
    made.event("MODIFIED", pod("web", 12))

    for late in (pod("web", 12), pod("web", 11), pod("web", 9)):
        assert made.event("MODIFIED", late) == []
        assert made.event("ADDED", late) == []
    assert made.event("DELETED", pod("web", 11)) == []
    assert made.version == "12"


def test_a_pod_that_was_deleted_is_not_brought_back_by_an_event_told_again() -> None:
    made = watching(pod("web", 7), version=9)
    made.event("DELETED", pod("web", 12))

    assert made.event("MODIFIED", pod("web", 11)) == []
    assert made.event("DELETED", pod("web", 12)) == []
    assert names(made.event("ADDED", pod("web", 13, uid="second"))) == [(None, "web@13")]


def test_the_memory_of_deleted_pods_is_bounded() -> None:
    made = watching()
    for i in range(1, 3_001):
        made.event("DELETED", pod(f"web-{i}", i))

    assert len(made._tombstones) == 1_000


def test_versions_are_numbers_not_text() -> None:
    made = watching(pod("web", 9), version=9)

    assert names(made.event("MODIFIED", pod("web", 10))) == [("web@9", "web@10")]
    assert made.version == "10"


def test_versions_that_are_no_numbers_can_only_be_told_apart() -> None:
    made = watching(version=9)
    first = pod("web")
    second = replace(first, metadata=replace(first.metadata, resource_version="b"))

    assert names(made.event("ADDED", first)) == [(None, "web@")]
    assert names(made.event("MODIFIED", second)) == [("web@", "web@b")]
    assert made.event("MODIFIED", second) == []


def test_events_of_an_unknown_kind_are_passed_over() -> None:
    assert watching().event("RENAMED", pod("web", 101)) == []


def test_only_what_is_wanted_of_an_object_is_kept() -> None:
    cache = Cache[Pod]()
    made = ListWatch(cache, lot=lambda: 0.0, trim=lambda p: replace(p, spec=Pod().spec))
    ask(made)
    made.event("ADDED", pod("db", 5, node="n1"))
    made.event(*bookmark(9, ends_initial=True))
    made.event("ADDED", pod("web", 10, node="n1"))

    assert {p.spec.node_name for p in cache} == {""}


def test_a_watch_must_not_go_on_after_it_was_given_up() -> None:
    made = machine()
    ask(made)
    made.event(*bookmark(9))

    with pytest.raises(AssertionError, match="was to be closed"):
        made.event("ADDED", pod("web", 10))


# --- listing anew -------------------------------------------------------------------------


def as_http_status(made: Machine) -> None:
    made.ended(now=300)
    ask(made, now=300)
    made.failed(300, GONE)


def as_error_event(made: Machine) -> None:
    made.event("MODIFIED", pod("web", 50))
    made.failed(300, Status(reason="Expired"))


@pytest.mark.parametrize("gone", [as_http_status, as_error_event])
def test_gone_in_either_form_is_followed_by_a_list_at_once_f89(
    gone: Callable[[Machine], None],
) -> None:
    made = watching(pod("web", 7), version=50)
    gone(made)

    request = ask(made, now=300)

    assert "sendInitialEvents" in request.query
    assert "resourceVersion" not in request.query


def test_a_server_to_which_every_version_is_gone_is_not_asked_without_a_pause() -> None:
    made, now, asked = watching(), 0.0, []
    for _ in range(6):
        made.failed(now, GONE)
        step = made.next(now)
        if isinstance(step, Wait):
            now += step.seconds
            ask(made, now)
        asked.append(now)
        made.event(*bookmark(100, ends_initial=True))

    assert asked == pytest.approx([0.0, 1.6, 4.8, 11.2, 24.0, 49.6])


def test_objects_lost_while_away_are_told_as_deleted_with_their_last_state() -> None:
    made = watching(pod("api", 3), pod("db", 5), pod("web", 7), version=9)
    made.failed(0, GONE)
    ask(made)
    for obj in (pod("web", 20), pod("api", 3), pod("new", 21)):  # in any order
        made.event("ADDED", obj)

    deltas = made.event(*bookmark(30, ends_initial=True))

    assert names(deltas) == [("db@5", None), (None, "new@21"), ("web@7", "web@20")]


def test_an_object_of_the_same_name_but_another_uid_is_another_object() -> None:
    made = watching(pod("web", 7), pod("db", 5), version=9)
    assert names(made.event("ADDED", pod("db", 10, uid="second"))) == [
        ("db@5", None),
        (None, "db@10"),
    ]

    made.failed(0, GONE)
    ask(made)
    made.event("ADDED", pod("db", 10, uid="second"))
    made.event("ADDED", pod("web", 11, uid="second"))
    assert names(made.event(*bookmark(30, ends_initial=True))) == [
        ("web@7", None),
        (None, "web@11"),
    ]


def test_while_it_lists_anew_the_cache_stays_as_it_was() -> None:
    cache = Cache[Pod]()
    made = ListWatch(cache, lot=lambda: 0.0)
    ask(made)
    made.event("ADDED", pod("web", 7))
    made.event(*bookmark(9, ends_initial=True))
    made.failed(0, GONE)
    ask(made)
    made.event("ADDED", pod("db", 5))

    assert [p.metadata.name for p in cache] == ["web"]
    assert made.has_synced
    assert made.version == ""

    made.event(*bookmark(20, ends_initial=True))
    assert not made._collected, "what is in the cache is held once"


def test_a_server_that_was_set_back_to_an_earlier_state_is_believed() -> None:
    made = watching(pod("web", 90), version=90)
    made.event("DELETED", pod("web", 95))
    made.failed(0, GONE)
    ask(made)
    made.event(*bookmark(50, ends_initial=True))

    assert names(made.event("ADDED", pod("web", 51))) == [(None, "web@51")]
    assert made.version == "51"


# --- patience -----------------------------------------------------------------------------


@pytest.mark.parametrize(("lot", "factor"), [(0.0, 1), (0.5, 1.5)])
def test_lost_connections_are_made_again_after_0_8_to_30_seconds_times_1_to_2(
    lot: float, factor: float
) -> None:
    made, now, waits = machine(lot), 0.0, []
    for _ in range(8):
        made.failed(now)
        step = made.next(now)
        assert isinstance(step, Wait)
        waits.append(step.seconds)
        now += step.seconds
        ask(made, now)

    assert waits == pytest.approx([factor * w for w in (0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30)])


def test_after_two_quiet_minutes_the_pauses_begin_short_again() -> None:
    made = watching()
    for _ in range(5):
        made.failed(0)
    assert made.next(0) == Wait(0.8 * 16)

    made.failed(121)
    assert seconds(made.next(121)) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("status", "header", "waits"),
    [
        (BUSY, 0, 1),
        (replace(BUSY, details=None), 7, 7),
        (replace(BUSY, details=StatusDetails(retry_after_seconds=3_600)), 0, 30),
        (replace(BUSY, details=None), 0, 0.8),
        (Status(code=503), 4, 4),
    ],
)
def test_a_busy_server_is_left_alone_for_as_long_as_it_asks(
    status: Status, header: float, waits: float
) -> None:
    made = watching(version=9)
    made.failed(0, status, retry_after=header)

    assert made.next(0) == Wait(waits)
    assert ask(made, now=30).query["resourceVersion"] == "9"


@pytest.mark.parametrize("status", [TOO_LARGE, Status(code=504, message=TOO_LARGE.message), BROKEN])
def test_a_version_that_the_server_has_not_come_to_is_waited_for_but_not_for_ever(
    status: Status,
) -> None:
    made, now = watching(version=99), 0.0
    for _ in range(5):
        made.failed(now, status)
        now += 30
        assert ask(made, now).query["resourceVersion"] == "99"

    made.failed(now, status)

    assert "resourceVersion" not in ask(made, now + 60).query


def test_an_unreachable_server_is_no_reason_to_list_anew_when_it_is_back() -> None:
    made, now = watching(version=9), 0.0
    for _ in range(50):
        made.failed(now)
        now += 60

    assert ask(made, now).query["resourceVersion"] == "9"


def test_a_watch_that_the_server_does_not_understand_is_followed_by_a_list() -> None:
    made = watching(version=9)
    made.failed(0, Status(code=400, message="invalid resource version"))

    assert "sendInitialEvents" in ask(made).query


def test_a_watch_that_ends_at_once_and_brings_nothing_is_not_made_again_at_once() -> None:
    made = watching(version=9)
    ask(made, now=10)
    made.ended(now=10.5)
    assert seconds(made.next(10.5)) == pytest.approx(0.8)

    ask(made, now=12)
    made.event("ADDED", pod("web", 10))
    made.ended(now=12.5)
    assert ask(made, now=12.5)

    made.ended(now=14)
    assert ask(made, now=14)


def test_the_length_of_a_watch_is_drawn_and_one_that_outlives_it_is_dead() -> None:
    made = machine(lot=0.5)
    assert ask(made).query["timeoutSeconds"] == "450"
    assert ask(made).patience == 30
    made.event(*bookmark(9, ends_initial=True))

    request = ask(made)

    assert (request.query["timeoutSeconds"], request.patience) == ("450", 465)


def test_the_trouble_is_told_until_something_comes() -> None:
    made = watching(version=9)
    forbidden = Status(code=403, reason="Forbidden", message="pods is forbidden")
    troubles = [made.trouble]
    made.failed(0, forbidden)
    troubles.append(made.trouble)
    made.failed(1)
    troubles.append(made.trouble)
    made.event(*bookmark(10))
    troubles.append(made.trouble)

    assert troubles == [None, forbidden, Status(message="the connection was lost"), None]


# --- whatever happens ---------------------------------------------------------------------

NAMES = st.sampled_from(["api", "db", "mail", "shop", "web"])
FAULTS = [None, GONE, BUSY, BROKEN, TOO_LARGE, Status(code=503), Status(code=403)]


class Faults(RuleBasedStateMachine):
    """A server with a life of its own, a client, and a network between them.

    ``replica`` is made of the deltas alone: what they do not tell, it does not have.
    """

    @initialize(streaming=st.sampled_from(Streaming), lot=st.sampled_from([0.0, 0.3, 0.99]))
    def begin(self, streaming: Streaming, lot: float) -> None:
        self.server = ListingServer(streaming)
        self.cache = Cache[Pod]()
        self.machine = ListWatch(self.cache, lot=lambda: lot)
        self.stream: Stream | None = None
        self.replica: Snapshot = {}
        self.now = 0.0

    # what happens on the server

    @rule(name=NAMES, node=st.sampled_from(["n1", "n2"]))
    def write(self, name: str, node: str) -> None:
        self.server.write(name, node)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.server.delete(name)

    @rule()
    def compact(self) -> None:
        self.server.compact()

    # what the client does

    @precondition(lambda self: self.stream is None)
    @rule(fault=st.sampled_from([*FAULTS, None, None, None]), lost=st.booleans())
    def ask(self, fault: Status | None, lost: bool) -> None:
        step = self.machine.next(self.now)
        if isinstance(step, Wait):
            assert 0 < step.seconds < inf
            self.now += step.seconds
        elif fault is not None:
            if fault is GONE:
                self.server.gone.add(step.query.get("resourceVersion", ""))
            self.machine.failed(self.now, fault)
        elif lost and self.now < 1_000:
            self.machine.failed(self.now)
        else:
            self.answer(step)

    def answer(self, request: Request) -> None:
        try:
            if request.watch:
                self.stream = self.server.watch(request.query)
            else:
                items, meta = self.server.list(request.query)
                self.fold(self.machine.listed(items[::-1], meta))
        except RefusalError as refusal:
            self.machine.failed(self.now, refusal.status)

    @precondition(lambda self: self.stream is not None)
    @rule(most=st.integers(0, 6), again=st.integers(0, 3))
    def read(self, most: int, again: int) -> None:
        """Read some events, and perhaps some of those before once more."""
        assert self.stream is not None
        try:
            for event in islice(self.stream.events(), most):
                self.fold(self.machine.event(*event))
                if self.machine.phase is Phase.LIST:
                    self.stream = None
                    return
        except RefusalError as refusal:
            self.break_off(refusal.status, ended=False)
            return
        if self.machine.phase is Phase.WATCH and again:
            for event in self.stream.told[-again:]:
                self.fold(self.machine.event(*event))

    @precondition(lambda self: self.stream is not None)
    @rule()
    def tell_version(self) -> None:
        """Send a bookmark, as a server does when all before it was told."""
        assert self.stream is not None
        self.read(1_000, 0)
        if self.stream is not None and self.machine.phase is Phase.WATCH:
            self.fold(self.machine.event(*bookmark(self.server.version)))

    @precondition(lambda self: self.stream is not None)
    @rule(fault=st.sampled_from([*FAULTS, None, None]), ended=st.booleans())
    def break_off(self, fault: Status | None, ended: bool) -> None:
        self.stream = None
        if ended:
            self.machine.ended(self.now)
        else:
            if fault is GONE:
                self.server.gone.add(self.machine.version)
            self.machine.failed(self.now, fault)

    # what must hold

    def fold(self, deltas: list[Delta[Pod]]) -> None:
        for old, new in deltas:
            key = (new or old or pod("")).metadata.key
            assert self.replica.pop(key, None) == old, "a delta does not fit what was told before"
            if new is not None:
                assert old is None or old.metadata.uid == new.metadata.uid
                self.replica[key] = new
        assert self.replica == {p.metadata.key: p for p in self.cache}

    def teardown(self) -> None:
        """When the faults stop the client sees what there is, and soon."""
        if not hasattr(self, "server"):
            return
        self.server.write("last", "n1")
        for _ in range(20):
            if self.stream is None:
                self.ask(None, lost=False)
            else:
                self.read(1_000, 0)
                if self.stream and self.server.streaming is Streaming.IGNORED:
                    self.break_off(None, ended=True)
        assert self.machine.has_synced
        assert self.replica == self.server.objects


TestFaults = Faults.TestCase
TestFaults.settings = settings(max_examples=300, stateful_step_count=60, deadline=None)
