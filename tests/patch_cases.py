"""Recorded writes, and small objects at random, for tests of how the API server changes objects."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

from nearwise.model import Status
from nearwise.server.patch import PatchError, Write
from summaries import recorded

Json = dict[str, Any]

LINES = recorded("http")

CLIENT = "Python-urllib"
"""Who made the recorded requests, when they did not say."""


def line(number: int) -> Json:
    """Return a recorded request and its answer, counted from 1 as in the file."""
    return LINES[number - 1]


def answer(number: int) -> Json:
    """Return the recorded answer of a request."""
    found: Json = line(number)["response"]
    return copy.deepcopy(found)


def write(number: int, subresource: str = "", manager: str = CLIENT) -> Write:
    """Return the write of a recorded request: its answer tells when it took place."""
    times = [entry["time"] for entry in answer(number)["metadata"]["managedFields"]]
    return Write(manager, max(times), subresource)


def without_version(obj: Json) -> Json:
    """Leave out what the store gives."""
    rest = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    return {**obj, "metadata": rest}


def at(day: int, manager: str = "me", subresource: str = "") -> Write:
    """Return a write of a day in January."""
    return Write(manager, f"2026-01-{day:02}T00:00:00Z", subresource)


def refusal(act: Callable[[], object]) -> Status:
    """Return the Status with which something is refused."""
    with pytest.raises(PatchError) as refused:
        act()
    return refused.value.status


def owned(obj: Json, manager: str, operation: str = "Apply") -> Any:
    """Return what a manager owns of an object, as it is written there; None when nothing."""
    found = [
        entry["fieldsV1"]
        for entry in obj["metadata"].get("managedFields", [])
        if (entry["manager"], entry["operation"]) == (manager, operation)
    ]
    assert len(found) <= 1
    return found[0] if found else None


# --- Objects at random ----------------------------------------------------------------------

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "b", "~/"])
)
NAMES = st.sampled_from(["a", "b", "c", "", "~1", "x/y", "0", "-"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
"""Any JSON."""

OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
"""Any JSON object."""


def keyed(key: str, keys: str, content: dict[str, st.SearchStrategy[Any]]) -> Any:
    """Return lists of items with distinct keys, each with some of the content."""
    items = [st.fixed_dictionaries({key: st.just(letter)}, optional=content) for letter in keys]
    return st.permutations(items).flatmap(
        lambda order: st.integers(1, len(order)).flatmap(lambda n: st.tuples(*order[:n]).map(list))
    )


TEXTS = st.sampled_from(["x", "y", "z"])
LABELS = st.dictionaries(st.sampled_from(["app", "tier", "zone"]), TEXTS, max_size=3)
ENVIRONMENT = keyed("name", "AB", {"value": TEXTS})
CONTAINERS = keyed(
    "name",
    "abc",
    {
        "image": TEXTS,
        "env": ENVIRONMENT,
        "args": st.lists(TEXTS, max_size=2),
        "resources": st.fixed_dictionaries({}, optional={"limits": LABELS}),
    },
)
POD = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries({}, optional={"labels": LABELS}),
        "spec": st.fixed_dictionaries(
            {}, optional={"containers": CONTAINERS, "nodeSelector": LABELS, "hostname": TEXTS}
        ),
    },
)
FINALIZERS = st.lists(st.sampled_from(["f/a", "f/b", "f/c"]), unique=True, min_size=1, max_size=3)
DEPLOYMENTS = st.fixed_dictionaries(
    {
        "apiVersion": st.just("apps/v1"),
        "kind": st.just("Deployment"),
        "metadata": st.fixed_dictionaries(
            {"name": st.just("web")}, optional={"labels": LABELS, "finalizers": FINALIZERS}
        ),
    },
    optional={
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "replicas": st.integers(0, 3),
                "selector": st.fixed_dictionaries({"matchLabels": LABELS}),
                "strategy": st.fixed_dictionaries({}, optional={"type": TEXTS}),
                "template": POD,
            },
        )
    },
)
"""Deployments, whole or in parts: what an applied configuration can look like. Lists of items are
not empty: an empty one states nothing."""
