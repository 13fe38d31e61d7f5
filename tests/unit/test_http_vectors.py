"""Every recorded request to kube-apiserver 1.36, in order on a fresh server: the same answers.

Time and the random parts of names are handed to the server as they were in the record, so that
timestamps, ages and generated names come out equal. Of what is left to chance or depends on what
else the recorded server did (uids, resource versions, cluster addresses), each value of the
record must stand for one value of ours throughout, and later versions for later ones.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

import pytest

from asgi import Client, Reply
from nearwise.server.api import Api, World
from nearwise.server.app import App
from nearwise.server.resources import RESOURCES
from nearwise.store import MemoryStore
from virtual_time import run

VECTORS: Final = Path(__file__).parent.parent / "vectors" / "http.jsonl.gz"
RECORDED: Final = [json.loads(line) for line in gzip.decompress(VECTORS.read_bytes()).splitlines()]

START: Final = datetime(2026, 11, 30, 5, 51, 53, tzinfo=UTC)
SECOND_PART: Final = next(i for i, one in enumerate(RECORDED) if one["note"] == "node")
MOVING: Final = next(i for i, one in enumerate(RECORDED) if "leaves the selection" in one["note"])
SUFFIXES: Final = [
    one["response"]["metadata"]["name"].removeprefix("web-")
    for one in RECORDED
    if one["note"] == "slice"
]

UID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CLUSTER_IP: Final = re.compile(r"10\.96\.\d{1,3}\.\d{1,3}")
TOKEN: Final = re.compile(r"eyJ[\w-]{20,}")


class Comparison:
    """What values of the record stand for which of ours, and what does not agree."""

    def __init__(self) -> None:
        self.ours: dict[str, str] = {}
        self.recorded: dict[str, str] = {}
        self.versions: dict[int, int] = {}
        self.wrong: list[str] = []

    def translated(self, text: str) -> str:
        """Return a text of the record with our values in the place of its own."""
        for pattern in (UID, CLUSTER_IP, TOKEN):
            text = pattern.sub(lambda found: self.ours.get(found[0], found[0]), text)
        return text

    def body(self, value: Any) -> Any:
        """Return what is to be sent in the place of a recorded body."""
        if isinstance(value, dict):
            return {
                name: self.version(inner) if name == "resourceVersion" else self.body(inner)
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self.body(inner) for inner in value]
        return self.translated(value) if isinstance(value, str) else value

    def path(self, path: str, current: int) -> str:
        """Return what is to be asked for in the place of a recorded path.

        A version of the record that was in no answer is that of now.
        """
        before, _, query = path.partition("?")
        pairs = [
            (name, self.version(value, current) if name == "resourceVersion" else value)
            for name, value in parse_qsl(self.translated(query), keep_blank_values=True)
        ]
        return f"{before}?{urlencode(pairs, quote_via=quote)}" if query else before

    def version(self, text: str, current: int = 0) -> str:
        """Return our version for a recorded one; the first and impossible ones stay."""
        if not text.isdigit() or not 200 < int(text) < 1000:
            return text
        return str(self.versions.get(int(text), current))

    def compare(self, recorded: Any, ours: Any, path: str) -> None:
        """Note where our answer differs from the recorded one."""
        if isinstance(recorded, dict) and isinstance(ours, dict):
            self._compare_fields(recorded, ours, path)
        elif isinstance(recorded, list) and isinstance(ours, list):
            if len(recorded) != len(ours):
                self.wrong.append(f"{path}: {len(recorded)} items recorded, {len(ours)} here")
            for place, (one, other) in enumerate(zip(recorded, ours, strict=False)):
                self.compare(one, other, f"{path}[{place}]")
        elif isinstance(recorded, str) and isinstance(ours, str):
            self._compare_texts(recorded, ours, path)
        elif type(recorded) is not type(ours) or recorded != ours:
            self.wrong.append(f"{path}: recorded {recorded!r}, here {ours!r}")

    def _compare_fields(self, recorded: dict[str, Any], ours: dict[str, Any], path: str) -> None:
        for name in sorted(recorded.keys() | ours.keys()):
            inner = f"{path}.{name}"
            if name not in ours:
                self.wrong.append(f"{inner}: recorded {recorded[name]!r}, not here")
            elif name not in recorded:
                self.wrong.append(f"{inner}: not recorded, here {ours[name]!r}")
            elif name == "resourceVersion":
                self._compare_versions(recorded[name], ours[name], inner)
            else:
                self.compare(recorded[name], ours[name], inner)

    def _compare_texts(self, recorded: str, ours: str, path: str) -> None:
        if self.translated(recorded) == ours and recorded not in self.ours.keys() - {ours}:
            for pattern in (UID, CLUSTER_IP):
                if pattern.fullmatch(recorded):
                    self._stand(recorded, ours, path)
            return
        if TOKEN.fullmatch(recorded) and TOKEN.fullmatch(ours):
            self._compare_tokens(recorded, ours, path)
        elif any(p.fullmatch(recorded) and p.fullmatch(ours) for p in (UID, CLUSTER_IP)):
            self._stand(recorded, ours, path)
        elif self.translated(recorded) != self._with_current(recorded, ours):
            self.wrong.append(f"{path}: recorded {recorded!r}, here {ours!r}")

    def _with_current(self, recorded: str, ours: str) -> str:
        """Return our text with the recorded version where a message names the current one."""
        found = re.search(r"current: (\d+)", recorded)
        return re.sub(r"current: \d+", found[0], ours) if found else ours

    def _compare_versions(self, recorded: str, ours: str, path: str) -> None:
        if not (recorded.isdigit() and ours.isdigit()):
            self.wrong.append(f"{path}: recorded {recorded!r}, here {ours!r}")
            return
        known = self.versions.setdefault(int(recorded), int(ours))
        if known != int(ours):
            self.wrong.append(f"{path}: version {recorded} was {known} before, now {ours}")
        in_order = [self.versions[version] for version in sorted(self.versions)]
        if in_order != sorted(set(in_order)):
            self.wrong.append(f"{path}: versions out of order: {self.versions}")

    def _compare_tokens(self, recorded: str, ours: str, path: str) -> None:
        one, other = _token(recorded), _token(ours)
        if self.version(str(one.pop("rv"))) != str(other.pop("rv")) or one != other:
            self.wrong.append(f"{path}: tokens {_token(recorded)} and {_token(ours)}")
        self._stand(recorded, ours, path)

    def _stand(self, recorded: str, ours: str, path: str) -> None:
        known = self.ours.setdefault(recorded, ours)
        back = self.recorded.setdefault(ours, recorded)
        if (known, back) != (ours, recorded):
            self.wrong.append(f"{path}: {recorded} was {known}, {ours} was {back}")


def _token(text: str) -> dict[str, Any]:
    padded = text + "=" * (-len(text) % 4)
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(padded))
    return found


def _served(recorded: dict[str, Any]) -> dict[str, Any]:
    """Leave out of a recorded list of resources what is not served here."""
    mine = {
        name
        for resource in RESOURCES
        for name in (
            resource.plural,
            *(f"{resource.plural}/{part.name}" for part in resource.subresources),
        )
    }
    kept = [one for one in recorded["resources"] if one["name"] in mine]
    assert len(kept) >= len(recorded["resources"]) / 4
    return {**recorded, "resources": kept}


def _expected(recorded: Any, note: str, path: str) -> Any:
    """Return what is expected of us: a build of Kubernetes is not what we are."""
    if path == "/version":
        return {name: recorded[name] for name in recorded if name.startswith(("m", "em"))}
    if note == "discovery" and isinstance(recorded, dict) and "resources" in recorded:
        return _served(recorded)
    return recorded


def _given(reply: Reply, note: str, path: str) -> Any:
    """Return the body of our answer as plain values."""
    if note.startswith("watch"):
        return reply.events
    if reply.headers["content-type"].startswith("text/plain"):
        return reply.body.decode()
    found = reply.json
    if path == "/version":
        assert found.keys() == RECORDED[0]["response"].keys()
        return {name: found[name] for name in found if name.startswith(("m", "em"))}
    return found


class Replay:
    """The recorded requests, sent one after the other."""

    def __init__(self, recorded: list[dict[str, Any]]) -> None:
        self.recorded = recorded
        self.now = START
        self.comparison = Comparison()
        suffixes = iter(SUFFIXES)
        self.store = MemoryStore()
        self.api = Api(
            self.store,
            World(now=lambda: self.now, suffix=lambda: next(suffixes)),
        )
        self.client = Client(App(self.api))

    async def play(self) -> list[str]:
        """Send all of them; returns where answers differ, by request."""
        await self.api.start()
        for place, recorded in enumerate(self.recorded):
            self.now = START + timedelta(seconds=13 if place >= SECOND_PART else 2)
            if place == MOVING:
                reply = await self._watch_moving(recorded)
            else:
                reply = await self._send(recorded)
            self._check(f"{place} [{recorded['note']}]", recorded, reply)
        self.api.close()
        return self.comparison.wrong

    async def _send(self, recorded: dict[str, Any]) -> Reply:
        body = recorded["body"]
        return await self.client(
            recorded["method"],
            self.comparison.path(recorded["path"], self.store.read.revision),
            self.comparison.body(body) if recorded["contentType"] else body,
            media=recorded["contentType"] or "",
            headers={"accept": recorded["accept"]},
        )

    async def _watch_moving(self, recorded: dict[str, Any]) -> Reply:
        """Do what the record does not show: move an object out of the selection, and in again."""
        name = next(event["object"]["metadata"]["name"] for event in recorded["response"])
        path = f"/apis/discovery.k8s.io/v1/namespaces/demo/endpointslices/{name}"
        watching = asyncio.create_task(self._send(recorded))
        await asyncio.sleep(1)
        for label in ("x", "0"):
            patch = {"metadata": {"labels": {"n": label}}}
            await self.client("PATCH", path, patch, media="application/merge-patch+json")
            await asyncio.sleep(2)
        await self.client("DELETE", path)
        return await watching

    def _check(self, where: str, recorded: dict[str, Any], reply: Reply) -> None:
        comparison, note, path = self.comparison, recorded["note"], recorded["path"]
        comparison.compare(recorded["status"], reply.status, f"{where} status")
        for name in ("content-type", "warning", "retry-after"):
            comparison.compare(
                recorded["headers"].get(name), reply.headers.get(name), f"{where} {name}"
            )
        comparison.compare(
            _expected(recorded["response"], note, path), _given(reply, note, path), where
        )


def test_every_recorded_request_is_answered_alike() -> None:
    assert len(RECORDED) == 96
    assert run(Replay(RECORDED).play()) == []


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places of all plain values."""
    if isinstance(value, dict):
        return [leaf for name in value for leaf in _leaves(value[name], (*path, name))]
    if isinstance(value, list):
        return [leaf for at, inner in enumerate(value) for leaf in _leaves(inner, (*path, at))]
    return [path]


COMPARED = [place for place in range(3, len(RECORDED), 4) if _leaves(RECORDED[place]["response"])]


@pytest.mark.parametrize("place", COMPARED)
def test_another_answer_would_be_noticed(place: int) -> None:
    """Change one value of a recorded answer, and the replay must disagree there."""
    changed = json.loads(json.dumps(RECORDED))
    leaves = _leaves(changed[place]["response"])
    path = ("response", *leaves[place * 7 % len(leaves)])
    inner = changed[place]
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = "another" if isinstance(inner[path[-1]], str) else 12345

    wrong = run(Replay(changed).play())

    assert any(f"{place} [" in each for each in wrong)
