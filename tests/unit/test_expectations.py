"""No plan is made on a cache that has not seen our own writes."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from nearwise.machinery.cache import Cache, Index
from nearwise.machinery.expectations import SliceExpectations
from nearwise.machinery.indexes import service_of
from nearwise.machinery.queue import WorkQueue
from nearwise.machinery.wait import Wait
from nearwise.model import EndpointSlice, ObjectMeta
from nearwise.model.wellknown import SERVICE_NAME

WEB = ("shop", "web")


def slice_(
    name: str = "web-1", generation: int = 1, *, uid: str = "", service: str = "web"
) -> EndpointSlice:
    return EndpointSlice(
        metadata=ObjectMeta(
            name=name,
            namespace="shop",
            uid=uid or f"uid-{name}",
            generation=generation,
            labels={SERVICE_NAME: service} if service else {},
        )
    )


def marked(obj: EndpointSlice) -> EndpointSlice:
    """Mark a slice for deletion, as the server does when a finalizer keeps it."""
    return replace(obj, metadata=replace(obj.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))


# --- when the cache is behind -------------------------------------------------------------


def test_without_writes_of_ours_every_cache_is_good() -> None:
    assert not SliceExpectations().is_stale(WEB, [])
    assert not SliceExpectations().is_stale(WEB, [slice_()])


def test_a_slice_that_we_made_must_be_seen_first() -> None:
    expectations = SliceExpectations()
    expectations.wrote(slice_("web-1"))

    assert expectations.is_stale(WEB, [])
    assert expectations.is_stale(WEB, [slice_("web-2")])
    assert not expectations.is_stale(WEB, [slice_("web-2"), slice_("web-1")])


def test_a_slice_that_we_changed_must_be_seen_as_we_left_it_or_newer() -> None:
    expectations = SliceExpectations()
    expectations.wrote(slice_(generation=2))

    assert expectations.is_stale(WEB, [slice_(generation=1)])
    assert not expectations.is_stale(WEB, [slice_(generation=2)])
    assert not expectations.is_stale(WEB, [slice_(generation=3)])


def test_a_slice_that_we_deleted_must_be_seen_no_more() -> None:
    expectations = SliceExpectations()
    expectations.deleted(slice_())

    assert expectations.is_stale(WEB, [slice_()])
    assert not expectations.is_stale(WEB, [])
    assert not expectations.is_stale(WEB, [slice_(uid="made-anew")])


def test_a_slice_that_is_marked_for_deletion_keeps_nobody_waiting() -> None:
    expectations = SliceExpectations()
    expectations.deleted(slice_("web-1"))
    expectations.wrote(slice_("web-2", generation=2))

    assert not expectations.is_stale(WEB, [marked(slice_("web-1")), marked(slice_("web-2"))])


def test_services_do_not_wait_for_each_other() -> None:
    expectations = SliceExpectations()
    expectations.wrote(slice_())

    assert not expectations.is_stale(("shop", "db"), [])
    assert not expectations.is_stale(("bar", "web"), [])


def test_a_service_that_is_gone_leaves_nothing_behind() -> None:
    expectations = SliceExpectations()
    expectations.wrote(slice_())
    expectations.forget(WEB)
    expectations.forget(WEB)

    assert not expectations.is_stale(WEB, [])
    assert not expectations.is_ours(slice_())


def test_a_slice_without_a_service_is_expected_by_none() -> None:
    expectations = SliceExpectations()
    stray = slice_(service="")
    expectations.wrote(stray)

    assert not expectations.is_ours(stray)
    assert not expectations.saw_gone(stray)


# --- whose change it is -------------------------------------------------------------------


def test_a_slice_as_we_wrote_it_is_no_reason_to_look_again_one_that_was_edited_is_f01() -> None:
    expectations = SliceExpectations()
    assert not expectations.is_ours(slice_())

    expectations.wrote(slice_(generation=2))

    assert expectations.is_ours(slice_(generation=1))
    assert expectations.is_ours(slice_(generation=2))
    assert not expectations.is_ours(slice_(generation=3))


def test_a_slice_that_somebody_else_deleted_is_a_reason_to_look_again_f01() -> None:
    expectations = SliceExpectations()
    expectations.wrote(slice_("ours"))
    expectations.wrote(slice_("theirs"))
    expectations.deleted(slice_("ours"))

    assert expectations.saw_gone(slice_("ours"))
    assert not expectations.saw_gone(slice_("theirs"))
    assert not expectations.saw_gone(slice_("never heard of"))
    assert not expectations.is_stale(WEB, [])


def test_a_slice_that_was_given_to_another_service_is_waited_for_no_longer() -> None:
    expectations = SliceExpectations()
    before = slice_()
    expectations.wrote(before)
    assert expectations.is_stale(WEB, [])

    assert not expectations.saw_gone(before)

    assert not expectations.is_stale(WEB, [])


# --- as it is used ------------------------------------------------------------------------


def test_a_second_event_before_the_cache_has_caught_up_writes_nothing_twice_f02() -> None:
    by_service = Index(service_of)
    cache, expectations = Cache(by_service), SliceExpectations()
    queue, writes = WorkQueue[tuple[str, str]](), list[int]()

    def sync(now: float) -> None:
        key = queue.next(now)
        assert key == WEB
        if expectations.is_stale(key, cache.select(by_service, key)):
            queue.retry(key, now)
        else:
            stored = cache.get(("shop", "web-1")) or slice_()
            written = slice_(generation=stored.metadata.generation + 1)
            writes.append(written.metadata.generation)
            expectations.wrote(written)
            queue.forget(key)
        queue.done(key, now)

    cache.put(slice_(generation=1))
    queue.add(WEB, 0)
    sync(0)
    assert writes == [2]

    queue.add(WEB, 0.1)  # a pod changed; the cache still shows generation 1
    sync(0.1)
    assert writes == [2]
    assert isinstance(queue.next(0.2), Wait)

    cache.put(slice_(generation=2))
    sync(1.1)
    assert writes == [2, 3]


class Watched(RuleBasedStateMachine):
    """A server, our writes to it and those of others, and a cache that is told of them later."""

    def __init__(self) -> None:
        super().__init__()
        self.expectations = SliceExpectations()
        self.stored: dict[str, EndpointSlice] = {}
        self.news: list[tuple[str, EndpointSlice]] = []
        self.shown: dict[str, EndpointSlice] = {}
        self.unseen: set[str] = set()  # uids that we wrote and the cache has not been told of
        self.made = 0

    def store(self, obj: EndpointSlice, *, ours: bool) -> None:
        self.stored[obj.metadata.name] = obj
        self.news.append(("put", obj))
        if ours:
            self.expectations.wrote(obj)

    @rule(ours=st.booleans())
    def create(self, ours: bool) -> None:
        self.made += 1
        self.store(slice_(f"web-{self.made % 4}", 1, uid=f"uid-{self.made}"), ours=ours)

    @precondition(lambda self: self.stored)
    @rule(ours=st.booleans(), data=st.data())
    def update(self, ours: bool, data: st.DataObject) -> None:
        obj = self.stored[data.draw(st.sampled_from(sorted(self.stored)))]
        generation = obj.metadata.generation + 1
        self.store(replace(obj, metadata=replace(obj.metadata, generation=generation)), ours=ours)

    @precondition(lambda self: self.stored)
    @rule(ours=st.booleans(), data=st.data())
    def delete(self, ours: bool, data: st.DataObject) -> None:
        obj = self.stored.pop(data.draw(st.sampled_from(sorted(self.stored))))
        self.news.append(("drop", obj))
        if ours:
            self.expectations.deleted(obj)

    @precondition(lambda self: self.news)
    @rule()
    def tell(self) -> None:
        kind, obj = self.news.pop(0)
        before = self.shown.pop(obj.metadata.name, None)
        if before is not None and (kind == "drop" or before.metadata.uid != obj.metadata.uid):
            self.expectations.saw_gone(before)
        if kind == "put":
            self.shown[obj.metadata.name] = obj

    @invariant()
    def a_cache_that_has_been_told_everything_is_good(self) -> None:
        if not self.news:
            assert not self.expectations.is_stale(WEB, self.shown.values())


class OursAlone(Watched):
    """With nobody else writing, a cache that is behind is always found out."""

    @rule()
    def create(self) -> None:  # type: ignore[override]
        self.made += 1
        name = f"web-{self.made % 4}"
        if name not in self.stored:
            self.store(slice_(name, 1, uid=f"uid-{self.made}"), ours=True)

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:  # type: ignore[override]
        super().update(True, data)

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:  # type: ignore[override]
        super().delete(True, data)

    @invariant()
    def a_cache_that_is_behind_is_found_out(self) -> None:
        if self.shown != self.stored:
            assert self.expectations.is_stale(WEB, self.shown.values())


TestWatched = Watched.TestCase
TestOursAlone = OursAlone.TestCase
