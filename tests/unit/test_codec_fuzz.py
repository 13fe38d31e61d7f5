"""Dumps broken on purpose: whatever comes, reading gives objects or a sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nearwise.model import codec
from nearwise.model.codec import InputError, read

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SHOP = (EXAMPLES / "shop.yaml").read_bytes()
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-1", "namespace": "shop"},
    "status": {"podIP": "10.0.0.1"},
}
PODS = {"apiVersion": "v1", "kind": "PodList", "items": [POD, POD]}
LINES = f"{json.dumps(POD)}\n{json.dumps(PODS)}".encode()


def _unharmed(data: bytes) -> None:
    """Read anything: objects, or a sentence; whatever else comes out is a bug."""
    said = "dump"
    try:
        codec.encode(msgspec.structs.replace(read(data, "dump"), notices=()))
    except InputError as error:
        said = str(error)
    assert said.startswith("dump")


SEEDS = [
    SHOP[:6000],
    json.dumps(yaml.safe_load(SHOP[: SHOP.index(b"- apiVersion", 4000)])).encode(),
    yaml.safe_dump_all([POD, POD]).encode(),
    LINES,
    gzip.compress(LINES),
    b"a: &a {b: [1, 2]}\n<<: *a\nc: *a\n",
]
TOKENS = [b"null", b"{", b"}", b"[", b"]", b"- ", b": ", b"\n", b"&a ", b"*a", b"---\n", b"!!int "]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_mutated_dumps_give_objects_or_a_sentence(data: st.DataObject) -> None:
    mutant = bytearray(data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(mutant)))
        how = data.draw(st.sampled_from(["cut", "flip", "token", "repeat", "drop"]))
        if how == "cut":
            del mutant[place:]
        elif how == "flip" and place < len(mutant):
            mutant[place] ^= 1 << data.draw(st.integers(0, 7))
        elif how == "token":
            mutant[place:place] = data.draw(st.sampled_from(TOKENS)) * data.draw(st.integers(1, 3))
        elif how == "repeat":
            mutant[place:place] = mutant[place : place + data.draw(st.integers(1, 200))]
        else:
            del mutant[place : place + data.draw(st.integers(1, 50))]
    _unharmed(bytes(mutant))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "apiVersion",
                    "kind",
                    "items",
                    "metadata",
                    "name",
                    "labels",
                    "spec",
                    "ports",
                    "status",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@settings(max_examples=300, deadline=None)
@given(
    JSON_VALUES,
    st.sampled_from(["Service", "Pod", "Node", "EndpointSlice", "Event", "PodList", "List"]),
    st.sampled_from(["v1", "discovery.k8s.io/v1", "discovery.k8s.io/v1beta1", "events.k8s.io/v1"]),
)
def test_any_json_under_a_known_kind_gives_objects_or_a_sentence(
    value: object, kind: str, api_version: str
) -> None:
    given = value if isinstance(value, dict) else {"metadata": value, "items": value}
    tree = {**given, "apiVersion": api_version, "kind": kind}
    _unharmed(json.dumps(tree).encode())
    _unharmed(json.dumps(tree, indent=1).encode() + b"\n---\n" + yaml.safe_dump(tree).encode())


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_objects_or_a_sentence(data: bytes) -> None:
    _unharmed(data)
