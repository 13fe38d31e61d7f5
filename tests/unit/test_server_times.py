"""Times in objects are printed in one way, however a client writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.server.kinds.times import with_times
from nearwise.server.objects.stored import Decoded
from nearwise.server.openapi.definitions import definitions
from nearwise.server.resources import RESOURCES, Resource
from small_cluster import SmallCluster, run


def event(text: object) -> Decoded:
    return {"firstTimestamp": text, "eventTime": text}


@pytest.mark.parametrize(
    ("written", "seconds", "microseconds"),
    [
        ("2026-11-30T09:36:19Z", "2026-11-30T09:36:19Z", "2026-11-30T09:36:19.000000Z"),
        ("2026-11-30T09:36:19+00:00", "2026-11-30T09:36:19Z", "2026-11-30T09:36:19.000000Z"),
        ("2026-11-30T11:36:19.25+02:00", "2026-11-30T09:36:19Z", "2026-11-30T09:36:19.250000Z"),
        ("2026-12-01T00:06:19.999999+14:30", "2026-11-30T09:36:19Z", "2026-11-30T09:36:19.999999Z"),
    ],
)
def test_the_same_moment_is_printed_alike(written: str, seconds: str, microseconds: str) -> None:
    assert with_times(event(written), "v1", "Event") == {
        "firstTimestamp": seconds,
        "eventTime": microseconds,
    }


@pytest.mark.parametrize("value", ["yesterday", "2026-11-30T09:36:19", "", None, 7, {}, ["x"]])
def test_what_is_no_time_is_left_as_it_is(value: object) -> None:
    assert with_times(event(value), "v1", "Event") == event(value)


def test_times_are_found_however_deep_they_lie() -> None:
    given, wanted = "2026-11-30T09:36:19+00:00", "2026-11-30T09:36:19Z"

    def pod(text: str) -> Decoded:
        return {
            "metadata": {
                "name": "web-0",
                "labels": {"creationTimestamp": given},
                "creationTimestamp": text,
                "managedFields": [{"manager": "me", "time": text}],
            },
            "spec": {"nodeName": given},
            "status": {
                "conditions": [{"type": "Ready", "lastTransitionTime": text}],
                "containerStatuses": [{"state": {"running": {"startedAt": text}}}],
            },
        }

    assert with_times(pod(given), "v1", "Pod") == pod(wanted)


def test_an_object_of_an_unknown_kind_is_left_as_it_is() -> None:
    assert with_times(event("2026-11-30T09:36:19+00:00"), "v9", "Event")["eventTime"][-1] == "0"


FIELDS = sorted({name for each in definitions().values() for name in each.fields})


@given(
    st.sampled_from(RESOURCES),
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(FIELDS), inner),
    ),
)
def test_anything_can_be_sent(resource: Resource, content: object) -> None:
    obj = content if isinstance(content, dict) else {"metadata": content, "status": content}
    with_times(obj, resource.api_version, resource.kind)


def test_a_client_may_send_back_what_it_read_in_its_own_way() -> None:
    async def test(cluster: SmallCluster) -> None:
        await cluster.create("Service shop/web")
        created = cluster.get("Service shop/web")["metadata"]["creationTimestamp"]
        revision = cluster.store.read.revision
        await cluster.patch("Service shop/web", creationTimestamp=created.replace("Z", "+00:00"))
        assert cluster.store.read.revision == revision

    run(test)
