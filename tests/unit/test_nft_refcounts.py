"""What many need comes with the first and goes with the last."""

from __future__ import annotations

from nearwise.nft.refcounts import RefCounts


def test_a_thing_comes_with_the_first_who_needs_it_and_goes_with_the_last() -> None:
    counts = RefCounts[str]()
    counts.change((), ("a", "b"))
    assert counts.settle() == (["a", "b"], [])
    counts.change((), ("a",))
    assert counts.settle() == ([], [])
    counts.change(("a", "b"), ())
    assert counts.settle() == ([], ["b"])
    counts.change(("a",), ())
    assert counts.settle() == ([], ["a"])
    assert list(counts) == []


def test_what_goes_and_comes_back_was_never_away() -> None:
    counts = RefCounts[str]()
    counts.change((), ("a",))
    counts.settle()
    counts.change(("a",), ())
    counts.change((), ("a",))
    assert counts.settle() == ([], [])


def test_what_comes_and_goes_at_once_was_never_there() -> None:
    counts = RefCounts[str]()
    counts.change((), ("a",))
    counts.change(("a",), ())
    assert counts.settle() == ([], [])
