"""The many ways to write the same Endpoints, said in one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.model import ObjectReference
from nearwise.model.core import EndpointsAddress, EndpointsPort, EndpointsSubset
from nearwise.slices.subsets import repacked

HTTP = EndpointsPort("http", 80, "TCP")
METRICS = EndpointsPort("metrics", 9100, "TCP")


def subset(
    ready: str = "", not_ready: str = "", ports: tuple[EndpointsPort, ...] = (HTTP,)
) -> EndpointsSubset:
    return EndpointsSubset(
        tuple(EndpointsAddress(ip) for ip in ready.split()),
        tuple(EndpointsAddress(ip) for ip in not_ready.split()),
        ports,
    )


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ([], []),
        ([subset("b a c")], [subset("a b c")]),
        ([subset("a"), subset("b")], [subset("a b")]),
        ([subset("a", "b"), subset("b", "a")], [subset("", "a b")]),
        ([subset("a a", "c a c")], [subset("", "a c")]),
        ([subset("a"), subset("a", ports=(METRICS,))], [subset("a", ports=(HTTP, METRICS))]),
        (
            [subset("a", ports=(METRICS, HTTP)), subset("b")],
            [subset("a b"), subset("a", ports=(METRICS,))],
        ),
        (
            [subset("a"), subset("", "a", ports=(METRICS,))],
            [subset("a"), subset("", "a", ports=(METRICS,))],
        ),
        ([subset("a", ports=())], [subset("a", ports=())]),
        ([subset("a", ports=()), subset("a")], [subset("a")]),
        ([subset("a", ports=()), subset("b")], [subset("a", ports=()), subset("b")]),
        ([subset("", "", ports=(HTTP,))], [subset()]),
    ],
    ids=[
        "nothing",
        "addresses are sorted",
        "one port, two subsets: one",
        "not ready beats ready, wherever it stands",
        "an address twice is one",
        "the same addresses on two ports: one subset",
        "a port of two subsets gets a subset of its own",
        "ready on one port, not on another: apart",
        "no ports stay no ports",
        "addresses without ports that have ports too",
        "addresses without ports that have none elsewhere",
        "a subset of nobody",
    ],
)
def test_repacking(written: list[EndpointsSubset], said: list[EndpointsSubset]) -> None:
    assert repacked(written) == tuple(said)


def test_two_pods_with_one_ip_stay_two_and_the_first_mention_gives_the_rest() -> None:
    a = EndpointsAddress("10.0.0.1", target_ref=ObjectReference(name="a", uid="1"))
    b = EndpointsAddress("10.0.0.1", target_ref=ObjectReference(name="b", uid="2"))
    again = EndpointsAddress("10.0.0.1", node_name="n", target_ref=ObjectReference(uid="1"))

    assert repacked([EndpointsSubset((b, a, again), (), (HTTP,))])[0].addresses == (a, b)


subsets = st.builds(
    EndpointsSubset,
    st.lists(st.builds(EndpointsAddress, st.sampled_from("abcd")), max_size=4).map(tuple),
    st.lists(st.builds(EndpointsAddress, st.sampled_from("abcd")), max_size=3).map(tuple),
    st.lists(st.sampled_from([HTTP, METRICS]), max_size=2).map(tuple),
)


@given(st.lists(subsets, max_size=5))
def test_said_once_in_that_form_it_stays_so_in_any_order(written: list[EndpointsSubset]) -> None:
    said = repacked(written)

    assert repacked(said) == said
    assert repacked(reversed(written)) == said
    ports = [port for each in said for port in each.ports]
    assert len(ports) == len(set(ports))
