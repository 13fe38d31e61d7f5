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
BEFORE, AFTER, LISTING = "49", "50", ""  # up to where the cache has seen: our writes are at 50


def slice_(
    name: str = "web-1",
    generation: int = 1,
    *,
    uid: str = "",
    service: str = "web",
    version: int = 50,
) -> EndpointSlice:
    return EndpointSlice(
        metadata=ObjectMeta(
            name=name,
            namespace="shop",
            uid=uid or f"uid-{name}",
            resource_version=str(version),
            generation=generation,
            labels={SERVICE_NAME: service} if service else {},
        )
    )


def marked(obj: EndpointSlice) -> EndpointSlice:
    """Mark a slice for deletion, as the server does when a finalizer keeps it."""
    return replace(obj, metadata=replace(obj.metadata, deletion_timestamp="2026-01-01T00:00:00Z"))


# --- when the cache is behind -------------------------------------------------------------


def test_without_writes_of_ours_every_cache_is_good() -> None:
    assert not SliceExpectations().is_stale(WEB, [], BEFORE)
    assert not SliceExpectations().is_stale(WEB, [slice_()], BEFORE)


def test_a_slice_that_we_made_must_be_seen_first() -> None:
    expectations = SliceExpectations()
    expectations.wrote(slice_("web-1"))

    assert expectations.is_stale(WEB, [], BEFORE)
    assert expectations.is_stale(WEB, [], LISTING)
    assert expectations.is_stale(WEB, [slice_("web-2")], BEFORE)
    assert not expectations.is_stale(WEB, [slice_("web-2"), slice_("web-1")], AFTER)


def test_a_slice_that_we_changed_must_be_seen_as_we_left_it_or_newer() -> None:
    expectations = SliceExpectations()
    expectations.wrote(slice_(generation=2))

    assert expectations.is_stale(WEB, [slice_(generation=1)], BEFORE)
    assert not expectations.is_stale(WEB, [slice_(generation=2)], AFTER)
    assert not expectations.is_stale(WEB, [slice_(generation=3)], AFTER)


def test_a_slice_that_we_deleted_must_be_seen_no_more() -> None:
    expectations = SliceExpectations()
    expectations.deleted(slice_())

    assert expectations.is_stale(WEB, [slice_()], BEFORE)
    assert not expectations.is_stale(WEB, [slice_(uid="made-anew")], AFTER)


def test_a_slice_that_somebody_deleted_before_the_cache_showed_it_is_not_waited_for_for_ever() -> (
    None
):
    expectations = SliceExpectations()
    expectations.wrote(slice_())

    assert expectations.is_stale(WEB, [], BEFORE)
    assert not expectations.is_stale(WEB, [], AFTER)


def test_the_answer_to_a_deletion_may_come_after_the_cache_was_told_of_it() -> None:
    expectations = SliceExpectations()
    expectations.wrote(slice_())
    expectations.saw_gone(slice_())
    expectations.deleted(slice_())

    assert not expectations.is_stale(WEB, [], AFTER)
    assert expectations._written == {WEB: {}}


def test_a_slice_that_is_marked_for_deletion_keeps_nobody_waiting() -> None:
    expectations = SliceExpectations()
    expectations.deleted(slice_("web-1"))
    expectations.wrote(slice_("web-2", generation=2))

    assert not expectations.is_stale(WEB, [marked(slice_("web-1")), marked(slice_("web-2"))], AFTER)


def test_services_do_not_wait_for_each_other() -> None:
    expectations = SliceExpectations()
    expectations.wrote(slice_())

    assert not expectations.is_stale(("shop", "db"), [], BEFORE)
    assert not expectations.is_stale(("bar", "web"), [], BEFORE)


def test_a_service_that_is_gone_leaves_nothing_behind() -> None:
    expectations = SliceExpectations()
    expectations.wrote(slice_())
    expectations.forget(WEB)
    expectations.forget(WEB)

    assert not expectations.is_stale(WEB, [], BEFORE)
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
    assert not expectations.is_stale(WEB, [], BEFORE)


def test_a_slice_that_was_given_to_another_service_is_waited_for_no_longer() -> None:
    expectations = SliceExpectations()
    before = slice_()
    expectations.wrote(before)
    assert expectations.is_stale(WEB, [], BEFORE)

    assert not expectations.saw_gone(before)

    assert not expectations.is_stale(WEB, [], BEFORE)


# --- as it is used ------------------------------------------------------------------------


def test_a_second_event_before_the_cache_has_caught_up_writes_nothing_twice_f02() -> None:
    by_service = Index(service_of)
    cache, expectations = Cache(by_service), SliceExpectations()
    queue, writes = WorkQueue[tuple[str, str]](), list[int]()

    def sync(now: float) -> None:
        key = queue.next(now)
        assert key == WEB
        if expectations.is_stale(key, cache.select(by_service, key), BEFORE):
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


class OneWorker(RuleBasedStateMachine):
    """Our writes, those of others, and a cache that is told of both later.

    As the controllers do, one worker writes for the service, and only when the cache is not stale
    and the answer to the last write has come. The news of a write may come before its answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.expectations = SliceExpectations()
        self.version = 100
        self.stored: dict[str, EndpointSlice] = {}  # by name
        self.shown: dict[str, EndpointSlice] = {}
        self.seen = 100
        self.news: list[tuple[str, EndpointSlice]] = []
        self.answer: tuple[str, EndpointSlice] | None = None
        self.latest: dict[str, tuple[str, EndpointSlice]] = {}  # our latest writes, by uid

    def is_stale(self) -> bool:
        return self.expectations.is_stale(WEB, self.shown.values(), str(self.seen))

    def may_write(self) -> bool:
        return self.answer is None and not self.is_stale()

    def commit(self, kind: str, obj: EndpointSlice) -> tuple[str, EndpointSlice]:
        self.version += 1
        meta = replace(obj.metadata, resource_version=str(self.version))
        obj = replace(obj, metadata=meta)
        self.stored.pop(meta.name, None)
        if kind == "wrote":
            self.stored[meta.name] = obj
        self.news.append((kind, obj))
        return kind, obj

    # what is written

    @precondition(may_write)
    @rule()
    def we_create(self) -> None:
        name = f"web-{self.version}"
        self.answer = self.commit("wrote", slice_(name))

    @precondition(may_write)
    @rule(data=st.data(), delete=st.booleans())
    def we_change_what_we_see(self, data: st.DataObject, delete: bool) -> None:
        for name in sorted(self.shown)[: data.draw(st.integers(0, 3))]:
            if self.stored.get(name) == self.shown[name]:  # else it is a conflict
                self.answer = self.commit(
                    "deleted" if delete else "wrote", risen(self.stored[name], not delete)
                )
                break

    @precondition(lambda self: self.answer)
    @rule()
    def we_get_the_answer(self) -> None:
        assert self.answer is not None
        (kind, obj), self.answer = self.answer, None
        self.latest[obj.metadata.uid] = (kind, obj)
        (self.expectations.wrote if kind == "wrote" else self.expectations.deleted)(obj)

    @precondition(lambda self: self.stored)
    @rule(data=st.data(), delete=st.booleans())
    def somebody_else_writes(self, data: st.DataObject, delete: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.stored)))
        self.commit("deleted" if delete else "wrote", risen(self.stored[name], not delete))

    # what the cache is told

    @precondition(lambda self: self.news)
    @rule()
    def the_cache_is_told(self) -> None:
        kind, obj = self.news.pop(0)
        before = self.shown.pop(obj.metadata.name, None)
        self.seen = int(obj.metadata.resource_version)
        if kind == "wrote":
            self.shown[obj.metadata.name] = obj
        elif before:
            self.expectations.saw_gone(before)

    @rule()
    def the_cache_lists_anew(self) -> None:
        for name in sorted(self.shown.keys() - self.stored.keys()):
            self.expectations.saw_gone(self.shown[name])
        self.shown, self.seen = dict(self.stored), self.version
        self.news.clear()

    # what must hold

    @invariant()
    def a_cache_that_is_not_stale_shows_all_our_writes(self) -> None:
        if not self.may_write():
            return
        uids = {obj.metadata.uid: obj.metadata.generation for obj in self.shown.values()}
        for uid, (kind, obj) in self.latest.items():
            if kind == "deleted":
                assert uid not in uids
            else:
                shows = uids.get(uid, 0) >= obj.metadata.generation
                assert shows or self.seen >= int(obj.metadata.resource_version)

    @invariant()
    def a_cache_that_was_told_everything_is_never_stale(self) -> None:
        if not self.news and self.answer is None:
            assert not self.is_stale()


def risen(obj: EndpointSlice, rises: bool) -> EndpointSlice:
    meta = obj.metadata
    return replace(obj, metadata=replace(meta, generation=meta.generation + rises))


TestOneWorker = OneWorker.TestCase
