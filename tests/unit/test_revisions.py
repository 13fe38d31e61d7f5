"""The revision log by itself: what is decided, what is visible, what of the past can be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.machinery.changes import (
    AlreadyExistsError,
    Change,
    CompactedError,
    ConflictError,
    Create,
    Delete,
    Encode,
    Entry,
    Event,
    FutureRevisionError,
    Key,
    NotFoundError,
    RefusedError,
    Update,
)
from nearwise.machinery.eventlog import Limits
from nearwise.machinery.keyspace import Cursor
from nearwise.machinery.revisions import FIRST, RevisionLog

WEB = Key("services", "shop", "web")


def text(word: str) -> Encode:
    """Encode as the API server does: the revision is part of the stored bytes."""
    return lambda revision: f"{word}@{revision}".encode()


def write(log: RevisionLog, change: Change) -> Event:
    event = log.propose(change)
    log.publish(event)
    return event


def names(
    log: RevisionLog, resource: str, namespace: str | None = None, *, after: Cursor | None = None
) -> list[str]:
    entries = log.page(resource, namespace, after=after).entries
    return [f"{entry.key.namespace}/{entry.key.name}" for entry in entries]


# Writes


def test_an_object_is_created_changed_and_deleted_each_at_a_revision_of_its_own() -> None:
    log = RevisionLog()
    added = write(log, Create(WEB, text("a")))
    modified = write(log, Update(WEB, text("b"), expected=added.revision))
    deleted = write(log, Delete(WEB, text("b"), expected=modified.revision))

    assert [(e.type, e.revision, e.entry.value) for e in (added, modified, deleted)] == [
        ("ADDED", FIRST + 1, b"a@2"),
        ("MODIFIED", FIRST + 2, b"b@3"),
        ("DELETED", FIRST + 3, b"b@4"),
    ]
    assert [e.previous for e in (added, modified, deleted)] == [None, added.entry, modified.entry]
    assert log.get(WEB) is None
    assert log.revision == deleted.revision


def test_all_resources_share_one_counter() -> None:
    log = RevisionLog()
    write(log, Create(WEB, text("a")))
    other = write(log, Create(Key("nodes", "", "n1"), text("n")))
    assert other.revision == FIRST + 2
    assert log.page("services").revision == other.revision


def test_stored_bytes_are_handed_on_and_never_copied() -> None:
    log = RevisionLog()
    event = write(log, Create(WEB, text("a")))
    update = write(log, Update(WEB, text("b")))
    assert update.previous is event.entry
    assert log.get(WEB) is update.entry
    assert log.page("services").entries[0] is update.entry
    assert log.page("services", revision=event.revision).entries[0] is event.entry


@pytest.mark.parametrize(
    ("there", "change", "error", "says"),
    [
        (True, Create(WEB, text("x")), AlreadyExistsError, "services shop/web already exists"),
        (False, Update(WEB, text("x")), NotFoundError, "services shop/web does not exist"),
        (False, Delete(WEB, text("x")), NotFoundError, "services shop/web does not exist"),
        (True, Update(WEB, text("x"), 7), ConflictError, "services shop/web is at revision 2, not"),
        (True, Delete(WEB, text("x"), 7), ConflictError, "services shop/web is at revision 2, not"),
    ],
)
def test_a_change_that_does_not_fit_is_refused_and_takes_no_revision(
    there: bool, change: Change, error: type[RefusedError], says: str
) -> None:
    log = RevisionLog()
    if there:
        write(log, Create(WEB, text("a")))
    before = log.revision
    with pytest.raises(error, match=says):
        log.propose(change)
    assert write(log, Create(Key("nodes", "", "n1"), text("n"))).revision == before + 1


def test_an_encoder_that_fails_leaves_no_trace() -> None:
    log = RevisionLog()
    with pytest.raises(ZeroDivisionError):
        log.propose(Create(WEB, lambda revision: b"%d" % (revision // 0)))
    assert write(log, Create(WEB, text("a"))).revision == FIRST + 1


# Proposals


def test_a_proposal_counts_for_the_next_decision_but_is_visible_to_nobody() -> None:
    log = RevisionLog()
    first = log.propose(Create(WEB, text("a")))
    with pytest.raises(AlreadyExistsError):
        log.propose(Create(WEB, text("b")))
    second = log.propose(Update(WEB, text("b"), expected=first.revision))

    assert log.get(WEB) is None
    assert log.page("services").entries == ()
    assert log.after("services", FIRST) == []
    assert log.revision == FIRST
    assert log.latest(WEB) is second.entry

    log.publish(first)
    assert log.get(WEB) is first.entry
    assert log.latest(WEB) is second.entry
    log.publish(second)
    assert log.get(WEB) is log.latest(WEB) is second.entry


def test_of_two_updates_that_expect_one_revision_the_second_loses_before_the_first_is_visible() -> (
    None
):
    log = RevisionLog()
    seen = write(log, Create(WEB, text("a"))).revision
    log.propose(Update(WEB, text("b"), expected=seen))
    with pytest.raises(ConflictError):
        log.propose(Update(WEB, text("c"), expected=seen))


def test_an_object_whose_deletion_is_proposed_can_be_created_again() -> None:
    log = RevisionLog()
    write(log, Create(WEB, text("a")))
    gone = log.propose(Delete(WEB, text("a")))
    assert log.latest(WEB) is None
    again = log.propose(Create(WEB, text("b")))
    log.publish(gone)
    log.publish(again)
    assert (again.type, log.get(WEB)) == ("ADDED", again.entry)


def test_proposals_become_visible_only_in_their_order() -> None:
    log = RevisionLog()
    log.propose(Create(WEB, text("a")))
    second = log.propose(Create(Key("nodes", "", "n1"), text("n")))
    with pytest.raises(ValueError, match="revision 3 cannot follow 1"):
        log.publish(second)


def test_proposals_that_are_withdrawn_never_were() -> None:
    log = RevisionLog()
    log.propose(Create(WEB, text("a")))
    log.withdraw()
    assert log.latest(WEB) is None
    assert write(log, Create(WEB, text("b"))).revision == FIRST + 1


# Lists


def test_objects_are_listed_in_the_order_of_etcd_keys() -> None:
    log = RevisionLog()
    for namespace, name in [("shop", "b"), ("shop-eu", "z"), ("a", "x"), ("shop", "a")]:
        write(log, Create(Key("pods", namespace, name), text("p")))
    assert names(log, "pods") == ["a/x", "shop-eu/z", "shop/a", "shop/b"]
    write(log, Create(Key("pods", "shop", "aa"), text("p")))
    assert names(log, "pods", "shop") == ["shop/a", "shop/aa", "shop/b"]
    assert names(log, "pods", "none") == names(log, "nodes") == []


def test_pages_of_one_revision_show_one_snapshot_whatever_is_written_in_between() -> None:
    """F90: 1,200 slices, limit 500, writes in between: 500, 500 and 200 of the first snapshot."""
    log = RevisionLog()
    for number in range(1_200):
        write(log, Create(Key("endpointslices", "shop", f"web-{number:04}"), text("s")))
    snapshot = log.page("endpointslices").entries

    page = log.page("endpointslices", limit=500)
    pages = [page]
    while page.remaining:
        for number in (600 + len(pages), 1_100 + len(pages)):
            key = Key("endpointslices", "shop", f"web-{number:04}")
            write(log, Delete(key, text("s")))
            write(log, Create(Key("endpointslices", "shop", f"web-{number:04}-new"), text("s")))
            write(log, Update(Key("endpointslices", "shop", "web-1150"), text("t")))
        last = page.entries[-1].key
        page = log.page(
            "endpointslices",
            after=(last.namespace, last.name),
            limit=500,
            revision=page.revision,
        )
        pages.append(page)

    assert [(len(p.entries), p.remaining) for p in pages] == [(500, 700), (500, 200), (200, 0)]
    assert tuple(entry for p in pages for entry in p.entries) == snapshot


def test_a_cursor_may_name_an_object_that_is_gone() -> None:
    log = RevisionLog()
    for name in "abc":
        write(log, Create(Key("pods", "shop", name), text("p")))
    write(log, Delete(Key("pods", "shop", "b"), text("p")))
    assert names(log, "pods", after=("shop", "b")) == ["shop/c"]
    assert names(log, "pods", after=("shop-gone", "b")) == ["shop/a", "shop/c"]
    assert names(log, "pods", after=("shop", "c")) == []


# The past


def filled(limits: Limits | None = None) -> RevisionLog:
    """Revisions 2 to 9: web is created and changed six times, with a node in between."""
    log = RevisionLog(limits)
    write(log, Create(WEB, text("a")))
    write(log, Create(Key("nodes", "", "n1"), text("n")))
    for _ in range(6):
        write(log, Update(WEB, text("a")))
    return log


def test_events_go_on_after_a_revision_and_are_those_of_one_resource() -> None:
    log = filled()
    assert [e.revision for e in log.after("services", FIRST)] == [2, 4, 5, 6, 7, 8, 9]
    assert [e.revision for e in log.after("services", 6)] == [7, 8, 9]
    assert log.after("services", 9) == []
    assert [e.revision for e in log.after("nodes", FIRST)] == [3]


def test_what_is_compacted_cannot_be_read_and_what_is_not_can() -> None:
    log = filled()
    log.compact(5)
    assert log.compacted == 5
    assert [e.revision for e in log.after("services", 5)] == [6, 7, 8, 9]
    assert log.page("services", revision=5).entries[0].value == b"a@5"
    with pytest.raises(CompactedError, match="revision 4 is compacted, the oldest kept is 5"):
        log.after("services", 4)
    with pytest.raises(CompactedError, match="revision 4 is compacted, the oldest kept is 5"):
        log.page("services", revision=4)
    assert log.page("services").entries[0].value == b"a@9"


def test_the_future_cannot_be_read_either() -> None:
    log = filled()
    with pytest.raises(FutureRevisionError, match="revision 10 is in the future, the newest is 9"):
        log.after("pods", 10)
    with pytest.raises(FutureRevisionError, match="revision 10 is in the future, the newest is 9"):
        log.page("pods", revision=10)
    with pytest.raises(FutureRevisionError):
        log.compact(10)


def test_compaction_names_the_revisions_that_nobody_can_read_any_more() -> None:
    log = filled()
    write(log, Delete(Key("nodes", "", "n1"), text("n")))
    assert log.compact(5) == [2, 4]
    assert log.compact(log.revision) == [5, 6, 7, 8, 3, 10]
    assert log.compact(log.revision) == []
    assert write(log, Create(Key("nodes", "", "n1"), text("n"))).revision == 11


def test_the_past_is_kept_up_to_a_number_of_events() -> None:
    log = filled(Limits(events=3))
    log.compact()
    assert log.compacted == 6
    assert [e.revision for e in log.after("services", 6)] == [7, 8, 9]


def test_the_past_is_kept_up_to_a_number_of_bytes_that_only_it_holds() -> None:
    log = filled(Limits(bytes=9))  # each update replaces three bytes
    log.compact()
    assert [e.revision for e in log.after("services", log.compacted)] == [7, 8, 9]
    write(log, Delete(WEB, text("a")))  # replaces three and holds four
    log.compact()
    assert [e.revision for e in log.after("services", log.compacted)] == [10]


# Restoring


def test_a_log_restored_from_what_is_left_of_it_goes_on_where_it_was() -> None:
    log = filled()
    log.compact(5)
    versions = [(Entry(Key("nodes", "", "n1"), b"n@3", 3), False)]
    versions += [(Entry(WEB, b"a@%d" % revision, revision), False) for revision in range(5, 10)]
    again = RevisionLog.restored(versions, compacted=5)
    assert again.page("services") == log.page("services")
    assert again.page("nodes", revision=5) == log.page("nodes", revision=5)
    assert again.after("services", 5) == log.after("services", 5)
    assert write(again, Update(WEB, text("b"))).revision == 10


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        ([(5, "web", False), (7, "web", False)], "revision 7 cannot follow 5"),
        ([(4, "web", False), (5, "web", False)], "revision 5 should have been dropped"),
        ([(4, "web", True)], "revision 4 should have been dropped"),
        ([(6, "web", True)], "revision 6 deletes services shop/web, which is not there"),
    ],
)
def test_a_log_with_a_hole_is_not_restored(
    versions: list[tuple[int, str, bool]], says: str
) -> None:
    entries = [(Entry(Key("services", "shop", n), b"", r), gone) for r, n, gone in versions]
    with pytest.raises(ValueError, match=says):
        RevisionLog.restored(entries, compacted=5)


# Any history


@dataclass
class Model:
    """The plainest log there is: every state is kept whole."""

    states: list[dict[Key, tuple[int, bytes]]] = field(default_factory=lambda: [{}, {}])
    events: list[Event] = field(default_factory=list)

    def at(
        self, resource: str, namespace: str | None, revision: int
    ) -> list[tuple[Key, int, bytes]]:
        return [
            (key, *state)
            for key, state in sorted(self.states[revision].items(), key=lambda item: item[0].place)
            if key.resource == resource and namespace in (None, key.namespace)
        ]


KEYS = [
    Key(resource, namespace, name)
    for resource in ("pods", "services")
    for namespace in ("a", "a-b")
    for name in ("x", "x.y", "z")
]
History = list[tuple[Key, bool]]
HISTORIES = st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=10, max_size=60)


def play(history: History) -> tuple[RevisionLog, Model]:
    """Toggle objects: absent ones are created, others deleted or changed."""
    log, model = RevisionLog(), Model()
    for key, gone in history:
        state = dict(model.states[-1])
        if key not in state:
            event = write(log, Create(key, text("c")))
        elif gone:
            event = write(log, Delete(key, text("d"), state[key][0]))
        else:
            event = write(log, Update(key, text("u"), state[key][0]))
        if event.deleted:
            del state[key]
        else:
            state[key] = (event.revision, event.entry.value)
        model.states.append(state)
        model.events.append(event)
    return log, model


@given(HISTORIES, st.data())
def test_every_past_state_is_read_exactly_in_pages_of_any_size(
    history: History, data: st.DataObject
) -> None:
    log, model = play(history)
    log.compact(data.draw(st.integers(FIRST, log.revision)))
    limit = data.draw(st.integers(1, 4))
    for revision, resource, namespace in product(
        range(log.compacted, log.revision + 1), ("pods", "services"), (None, "a", "a-b", "none")
    ):
        expected = model.at(resource, namespace, revision)
        got: list[tuple[Key, int, bytes]] = []
        cursor: Cursor | None = None
        remaining = 1
        while remaining:
            page = log.page(resource, namespace, after=cursor, limit=limit, revision=revision)
            got += [(entry.key, entry.revision, entry.value) for entry in page.entries]
            remaining = page.remaining
            assert len(got) + remaining == len(expected)
            if got:
                cursor = (got[-1][0].namespace, got[-1][0].name)
        assert got == expected


@given(HISTORIES, st.data())
def test_events_after_a_revision_lead_from_its_state_to_the_current_one(
    history: History, data: st.DataObject
) -> None:
    log, model = play(history)
    revision = data.draw(st.integers(FIRST, log.revision))
    log.compact(data.draw(st.integers(FIRST, revision)))
    for resource in ("pods", "services"):
        events = log.after(resource, revision)
        assert events == [
            e for e in model.events if e.key.resource == resource and e.revision > revision
        ]
        state = {entry.key: entry for entry in log.page(resource, revision=revision).entries}
        for event in events:
            assert state.pop(event.key, None) == event.previous
            if not event.deleted:
                state[event.key] = event.entry
        assert state == {entry.key: entry for entry in log.page(resource).entries}


@given(HISTORIES, st.data())
def test_what_compaction_does_not_name_is_all_that_is_needed_to_restore(
    history: History, data: st.DataObject
) -> None:
    log, model = play(history)
    kept = {event.revision: event for event in model.events}
    for revision in sorted(data.draw(st.lists(st.integers(FIRST, log.revision), max_size=3))):
        for unreadable in log.compact(revision):
            del kept[unreadable]
    again = RevisionLog.restored(
        [(event.entry, event.deleted) for _, event in sorted(kept.items())], log.compacted
    )
    assert again.revision == log.revision
    for resource in ("pods", "services"):
        assert again.page(resource) == log.page(resource)
        assert again.after(resource, log.compacted) == log.after(resource, log.compacted)
