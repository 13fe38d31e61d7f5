"""Objects of several sources put together."""

from __future__ import annotations

import msgspec
import pytest

from nearwise.model import ObjectMeta, Pod, Service
from nearwise.model.objects import Objects, merge


def pod(name: str, resource_version: str = "", uid: str = "") -> Pod:
    metadata = ObjectMeta(name=name, namespace="shop", resource_version=resource_version, uid=uid)
    return Pod(kind="Pod", metadata=metadata)


def pods(*given: Pod) -> Objects:
    return Objects(pods=given)


def test_kinds_stay_apart_and_are_sorted() -> None:
    web = Service(kind="Service", metadata=ObjectMeta(name="a", namespace="shop"))

    both = pods(pod("b")) + Objects(services=(web,), others={"Secret": 1}) + pods(pod("a"))

    assert [one.metadata.name for one in both.pods] == ["a", "b"]
    assert both.services == (web,)
    assert both.others == {"Secret": 1}


def test_the_same_object_twice_is_one_without_a_word() -> None:
    assert merge([pods(pod("a", "5")), pods(pod("a", "5"))]) == pods(pod("a", "5"))


@pytest.mark.parametrize(
    ("first", "second", "kept", "which"),
    [
        (pod("a", "9"), pod("a", "10"), 1, "resourceVersion 10"),
        (pod("a", "10"), pod("a", "9"), 0, "resourceVersion 10"),
        (pod("a", "5", "x"), pod("a", "5", "y"), 1, "the one given last"),
        (pod("a", "abc"), pod("a", "5"), 1, "the one given last"),
        (pod("a", "9" * 5000), pod("a", "5"), 1, "the one given last"),
        (pod("a", "", "x"), pod("a", "", "y"), 1, "the one given last"),
    ],
)
def test_of_two_versions_the_newer_stays_and_it_is_told(
    first: Pod, second: Pod, kept: int, which: str
) -> None:
    merged = merge([pods(first), pods(second)])

    assert merged.pods == ((first, second)[kept],)
    assert [notice.text for notice in merged.notices] == [
        f"Pod shop/a is given more than once: {which} is used"
    ]


def test_counts_and_notices_add_up() -> None:
    twice = merge([pods(pod("a", "1")), pods(pod("a", "2"))])
    other = Objects(others={"Secret": 2, "ConfigMap": 1})

    both = merge([twice, other, other])

    assert both.others == {"ConfigMap": 2, "Secret": 4}
    assert both.notices == twice.notices


def test_empty_means_nothing_at_all() -> None:
    assert Objects().empty
    assert not Objects(others={"Secret": 1}).empty
    assert not pods(pod("a")).empty
    assert msgspec.structs.replace(pods(pod("a")), pods=()).empty
