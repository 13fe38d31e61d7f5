"""Whatever is sent, the answer is an object or a Status, and what is stored can be read again."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served import APPLY, MERGE, STRATEGIC, Server, play

from nearwise.model.codec import read
from nearwise.server.resources import RESOURCES, Resource

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
MEDIA = st.sampled_from(
    [MERGE, STRATEGIC, APPLY, "application/json-patch+json", "application/json", "application/yaml"]
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


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_f93_no_request_is_answered_with_a_mistake_of_ours(steps: Steps) -> None:
    async def scenario(server: Server) -> None:
        for method, path, query, body, media in steps:
            content = None if method == "GET" else _encoded(body)
            bounded = f"{query}&timeoutSeconds=1" if "watch" in query else query

            reply = await server.ask(method, f"{path}?{bounded}", content, media=media)

            if reply.status == 500:
                assert "resourceVersion should not be set" in reply.json["message"]
            if reply.status >= 400:
                assert reply.json["kind"] == "Status"
                assert reply.json["code"] == reply.status
        for resource in RESOURCES:
            listing = await server.get(_path(resource))
            assert listing["kind"] == resource.list_kind
            read(json.dumps(listing).encode())  # the model can read what is stored

    play(scenario)
