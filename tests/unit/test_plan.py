"""Plans as values, and the names of new slices."""

import re

from hypothesis import given
from hypothesis import strategies as st

from nearwise.model import EndpointSlice, ObjectMeta
from nearwise.slices.plan import Plan, apply, name_for


def slice_(name: str, family: str = "IPv4") -> EndpointSlice:
    return EndpointSlice(metadata=ObjectMeta(name=name), address_type=family)


def test_a_plan_counts_its_writes() -> None:
    plan = Plan(creates=(slice_("a"), slice_("b")), updates=(slice_("c"),), deletes=(slice_("d"),))

    assert (plan.writes, Plan().writes) == (4, 0)


def test_applying_a_plan_adds_replaces_and_removes_by_name() -> None:
    before = (slice_("old"), slice_("kept"), slice_("changed"))
    plan = Plan(
        creates=(slice_("new"),), updates=(slice_("changed", "IPv6"),), deletes=(slice_("old"),)
    )

    after = apply(before, plan)

    assert after == (slice_("changed", "IPv6"), slice_("kept"), slice_("new"))


def test_applying_a_plan_twice_is_applying_it_once() -> None:
    plan = Plan(creates=(slice_("new"),), updates=(slice_("a", "IPv6"),), deletes=(slice_("b"),))
    once = apply((slice_("a"), slice_("b")), plan)

    assert apply(once, plan) == once


@given(st.from_regex(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True), st.text(max_size=20))
def test_a_name_is_valid_fits_and_is_the_same_each_time(service: str, identity: str) -> None:
    name = name_for(service, identity, ())

    assert name == name_for(service, identity, ())
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)
    assert len(name) <= 63
    assert re.fullmatch(re.escape(service[:57]) + "-[bcdfghjklmnpqrstvwxz2456789]{5}", name)


def test_a_taken_name_is_passed_over() -> None:
    first = name_for("web", "IPv4/1", ())
    second = name_for("web", "IPv4/1", {first})

    assert first != second
    assert name_for("web", "IPv4/1", {first, second}) not in {first, second}


def test_different_slices_of_a_service_get_different_names() -> None:
    assert name_for("web", "IPv4/1", ()) != name_for("web", "IPv4/2", ())
