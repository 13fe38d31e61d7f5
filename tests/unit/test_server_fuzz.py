"""Whatever is sent, the answer is an object or a Status, and what is stored can be read again."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearwise.model.codec import read
from nearwise.server.requests import address_of
from nearwise.server.resources import RESOURCES, Resource
from served import (
    APPLY,
    DEFAULT,
    DEPLOYMENTS,
    MERGE,
    SLICES,
    STRATEGIC,
    TABLE,
    Server,
    deployment,
    endpoint_slice,
    play,
    pod,
    service,
)

NAMES = st.sampled_from(["a", "web", "default", "n1", "", "A", "x" * 300, "a/b", "é"])
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5)
)
KEYS = st.sampled_from(
    [
        *("metadata", "spec", "status", "name", "namespace", "labels", "annotations", "uid"),
        *("finalizers", "ownerReferences", "resourceVersion", "managedFields", "generation"),
        *("ports", "port", "selector", "template", "containers", "image", "addresses", "subsets"),
        *("endpoints", "addressType", "conditions", "type", "clusterIP", "replicas", "$patch"),
        *("data", "involvedObject", "nodeName", "tolerations", "taints", "kind", "apiVersion"),
        *("deletionTimestamp", "generateName", "op", "path", "value", "resources", "limits"),
    ]
)
VALUES = st.recursive(
    SCALARS | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)
METADATA = st.fixed_dictionaries({"name": NAMES}, optional={"labels": VALUES, "finalizers": VALUES})
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4).flatmap(
    lambda content: METADATA.map(lambda metadata: {"metadata": metadata, **content})
)
BODIES = st.one_of(
    OBJECTS,
    VALUES,
    st.lists(st.dictionaries(KEYS, VALUES, max_size=3), max_size=2),
    st.binary(max_size=20),
)
QUERIES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("watch", "limit", "continue", "resourceVersion", "resourceVersionMatch"),
                *("labelSelector", "fieldSelector", "timeoutSeconds", "sendInitialEvents"),
                *("dryRun", "fieldManager", "fieldValidation", "force", "gracePeriodSeconds"),
                *("propagationPolicy", "allowWatchBookmarks", "includeObject"),
            ]
        ),
        st.sampled_from(["", "1", "0", "true", "All", "Strict", "a=b", "Exact", "-1", "%00", "me"]),
    ),
    max_size=3,
).map(lambda pairs: "&".join(f"{name}={value}" for name, value in pairs))
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])
JSON_PATCH = "application/json-patch+json"
MEDIA = st.sampled_from(
    [MERGE, STRATEGIC, APPLY, JSON_PATCH, "application/json", "application/yaml"]
)
PATHS = st.builds(
    lambda resource, name, part: _path(resource) + name + part,
    st.sampled_from(RESOURCES),
    st.sampled_from(["", "/a", "/web", "/default", "/n1"]),
    st.sampled_from(["", "", "", "/status", "/scale", "/finalize", "/binding"]),
)


def _path(resource: Resource) -> str:
    root = f"/apis/{resource.group}" if resource.group else "/api"
    inside = "/namespaces/default" if resource.namespaced else ""
    return f"{root}/{resource.version}{inside}/{resource.plural}"


def _encoded(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return json.dumps(body).encode()


Steps = list[tuple[str, str, str, Any, str]]
STEPS = st.lists(st.tuples(METHODS, PATHS, QUERIES, BODIES, MEDIA), min_size=1, max_size=6)


async def answered(server: Server, method: str, target: str, body: Any, media: str) -> int:
    """Send a request, and check that the answer is one that a client can understand."""
    content = None if body is None else _encoded(body)
    reply = await server.ask(method, target, content, media=media)
    if reply.status == 500:
        assert "resourceVersion should not be set" in reply.json["message"], reply.body
    if reply.status >= 400:
        assert reply.json["kind"] == "Status"
        assert reply.json["code"] == reply.status
    return reply.status


async def readable(server: Server) -> None:
    """Check that all that is stored can be listed, shown as a table, and read by the model."""
    for resource in RESOURCES:
        listing = await server.get(_path(resource))
        assert listing["kind"] == resource.list_kind
        read(json.dumps(listing).encode())
        table = await server.ask("GET", _path(resource), headers={"accept": TABLE})
        assert len(table.json["rows"]) == len(listing["items"])


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_f93_no_request_is_answered_with_a_mistake_of_ours(steps: Steps) -> None:
    async def scenario(server: Server) -> None:
        for method, path, query, body, media in steps:
            bounded = f"{query}&timeoutSeconds=1" if "watch" in query else query
            sent = None if method == "GET" else body
            await answered(server, method, f"{path}?{bounded}", sent, media)
        await readable(server)

    play(scenario)


# --- Objects that are almost right --------------------------------------------------------

RIGHT: list[tuple[str, dict[str, Any]]] = [
    (f"{DEFAULT}/services", service()),
    (f"{DEFAULT}/pods", pod("web", "n1")),
    (SLICES, endpoint_slice("web")),
    (DEPLOYMENTS, deployment()),
    ("/api/v1/nodes", {"metadata": {"name": "web"}, "status": {"allocatable": {"cpu": "4"}}}),
    ("/api/v1/namespaces", {"metadata": {"name": "web"}}),
    (
        f"{DEFAULT}/endpoints",
        {
            "metadata": {"name": "web"},
            "subsets": [{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}]}],
        },
    ),
    (
        f"{DEFAULT}/events",
        {"metadata": {"name": "web"}, "involvedObject": {"namespace": "default"}},
    ),
    (f"{DEFAULT}/configmaps", {"metadata": {"name": "web"}, "data": {"a": "b"}}),
    (
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        {"metadata": {"name": "web"}, "spec": {"holderIdentity": "a"}},
    ),
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places in an object where something else could be."""
    found = [path] if path else []
    if isinstance(value, dict):
        for name, inner in value.items():
            found += _places(inner, (*path, name))
        found += [(*path, name) for name in ("extra", "status", "labels", "type")]
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            found += _places(inner, (*path, place))
    return found


@st.composite
def almost_right(draw: st.DrawFn, right: dict[str, Any]) -> dict[str, Any]:
    """Put something else in one or two places of a right object."""
    changed: dict[str, Any] = json.loads(json.dumps(right))
    for _ in range(draw(st.integers(0, 2))):
        *way, last = draw(st.sampled_from(_places(changed)))
        inner: Any = changed
        for step in way:
            inner = inner[step]
        inner[last] = draw(VALUES)
    return changed


@st.composite
def patches(draw: st.DrawFn, right: dict[str, Any], typed: dict[str, Any]) -> tuple[str, Any]:
    """Return a patch of any type that is almost right, and what it is called."""
    media = draw(st.sampled_from([MERGE, STRATEGIC, APPLY, JSON_PATCH]))
    changed = draw(almost_right(right))
    if media == APPLY:
        return media, {**changed, **typed}
    if media == JSON_PATCH:
        place = draw(st.sampled_from(_places(right)))
        op = draw(st.sampled_from(["add", "replace", "remove", "test", "copy", "move"]))
        pointer = "/" + "/".join(map(str, place))
        return media, [{"op": op, "path": pointer, "from": pointer, "value": draw(VALUES)}]
    return media, changed


@settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_f93_objects_that_are_almost_right_are_taken_or_refused(data: st.DataObject) -> None:
    collection, right = data.draw(st.sampled_from(RIGHT))
    address = address_of(collection)
    assert address is not None
    typed = {"apiVersion": address.resource.api_version, "kind": address.resource.kind}
    target = f"{collection}/web"
    given_object = data.draw(almost_right(right))
    changes = data.draw(st.lists(patches(right, typed), max_size=3))
    part = data.draw(st.sampled_from(["", "", "/status"]))

    async def scenario(server: Server) -> None:
        status = await answered(server, "POST", collection, given_object, "application/json")
        assert status in (201, 400, 422, 500)
        await server.ask("POST", collection, right)
        for media, patch in changes:
            forced = "?fieldManager=me&force=true" if media == APPLY else ""
            await answered(server, "PATCH", f"{target}{part}{forced}", patch, media)
        await answered(server, "PUT", f"{target}{part}", given_object, "application/json")
        await readable(server)
        await answered(server, "DELETE", target, None, "")

    play(scenario)
