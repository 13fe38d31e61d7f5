"""Dumps and questions broken on purpose: every command answers, or says what is wrong."""

from __future__ import annotations

import copy
import gzip
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from nearwise.cli import Exit, cli
from summaries import recorded

EXAMPLES = Path(__file__).parents[2] / "examples"
DUMPS: list[dict[str, Any]] = [
    yaml.load((EXAMPLES / name).read_bytes(), Loader=yaml.CSafeLoader)
    for name in ("flag-server-1-hints-on.yaml", "flag-server-2-hints-off.yaml", "shop.yaml")
]
QUESTIONS = ["reconcile", "mirror", "route", "alloc", "validation"]
ROUNDS = 30  # commands a seed, times the four that read dumps

ODD: list[Any] = [
    *(None, True, False, 0, -1, 65_536, 10**30, 1.5, float("nan"), [], {}, [None], {"": None}),
    *("", "null", "n", "a/b", "a\nb", "\x1b[31mred\x1b[0m\x07", "\x9b2J", "\u202eevil", "가게"),
    *("x" * 5000, "10.0.0.1", "fe80::1%eth0", "-5", "1e400", "9" * 30, "100m"),
    *("Auto", "PreferSameNode", "PreferClose", "Local", "ExternalName", "None", "IPv6", "UDP"),
    *("Pod", "Service", "Failed", "True", "2026-11-30T05:43:40Z", "zone-a", "worker-1", "shop"),
    *("topology.kubernetes.io/zone", "kubernetes.io/service-name", "deletionTimestamp"),
]
JUNK = [b"\0", b"\xff", b"\x1b[2J", b"&a ", b"*a", b"{", b"- ", b": ", b"\n---\n", b"!!binary "]
ACTED_ON = re.compile(r"[^\n -~\xa0-\U0010ffff]")  # by a terminal
FINDING = {"hints", "slices"}  # commands that may end with findings


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Walk a tree: each container with each of its keys or positions."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def change(chance: random.Random, inside: Any, known: list[Any]) -> None:
    """Delete, replace, repeat, rename or swap one thing in a tree; ``known`` has other trees."""
    here, key = chance.choice(list(places(inside)) or [({"": None}, "")])
    how = chance.choice(["delete", "odd", "same type", "repeat", "rename", "swap"])
    if how == "delete":
        del here[key]
    elif how == "same type":
        here[key] = chance.choice([o for o in ODD if type(o) is type(here[key])] or ODD)
    elif how == "repeat" and isinstance(here, list):
        here.append(copy.deepcopy(here[key]))
    elif how == "rename" and isinstance(here, dict):
        here[chance.choice([o for o in ODD if isinstance(o, str)])] = here.pop(key)
    elif how == "swap":
        there, other = chance.choice(list(places(chance.choice(known))) or [({"": None}, "")])
        here[key] = copy.deepcopy(there[other])
    else:
        here[key] = chance.choice(ODD)


def broken_dump(chance: random.Random) -> tuple[dict[str, Any], bytes]:
    """Return a dump with some objects gone and some broken, and how it is written."""
    dump = copy.deepcopy(chance.choice(DUMPS))
    items: list[Any] = dump["items"]
    if chance.random() < 0.3:
        kinds = chance.sample(sorted({item["kind"] for item in items}), chance.randint(1, 5))
        items[:] = [item for item in items if item["kind"] in kinds]
    items[:] = [item for item in items if chance.random() < chance.choice([0.5, 1, 1])]
    for _ in range(chance.choice([1, 1, 2, 10]) if items else 0):
        change(chance, chance.choice(items), items)
        items += [copy.deepcopy(chance.choice(items))] if chance.random() < 0.2 else []
    if chance.random() < 0.2:
        data = yaml.dump(dump, Dumper=yaml.CSafeDumper).encode()
    else:
        data = json.dumps(dump).encode()
    if chance.random() < 0.2:
        data = spoiled(chance, data)
    return dump, gzip.compress(data) if chance.random() < 0.05 else data


def spoiled(chance: random.Random, data: bytes) -> bytes:
    """Cut the bytes off, flip one, or put something in."""
    at = chance.randrange(len(data))
    flipped = bytes([data[at] ^ 1 << chance.randrange(8)])
    return chance.choice([data[:at], data[:at] + flipped + data[at + 1 :]]) + chance.choice(JUNK)


def commands(chance: random.Random, dump: dict[str, Any]) -> Iterator[list[str]]:
    """Yield one question of each command that reads dumps."""
    services = [
        f"{item['metadata'].get('namespace')}/{item['metadata'].get('name')}"
        for item in dump["items"]
        if isinstance(item, dict)
        and item.get("kind") == "Service"
        and isinstance(item.get("metadata"), dict)
    ]
    service = chance.choice(services or ["shop/orders"])
    form = [[], ["-o", "wide"], ["-o", "json"], ["-o", "yaml"]]
    asked = [[], ["--from", "zone-a"], ["--from", "worker-1"], ["--clients", "cpu"]]
    asked += [["--clients", "pods"], ["--profile", "cilium"], ["--profile", "kube-proxy-1.33"]]
    yield ["explain", service, *chance.choice(asked), *chance.choice(form)]
    yield ["hints", "--all", *chance.choice([[], [service]]), *chance.choice(form)]
    how = [[], ["--diff"], ["--from-scratch"], ["--diff", "--from-scratch"]]
    yield ["slices", *chance.choice(how), *chance.choice(form)]
    hidden = [[], ["--anonymise"], ["--strip-annotations"]]
    yield ["snapshot", *chance.choice(hidden), *chance.choice([form[0], form[2]])]


def check(arguments: list[str], result: Result) -> None:
    """Hold a run against what every run promises."""
    may_find = {Exit.FINDINGS} if arguments[0] in FINDING else set()
    assert result.exit_code in {Exit.FINE, Exit.INPUT} | may_find, result.output
    assert not ACTED_ON.search(result.output), ACTED_ON.findall(result.output)
    if result.exit_code == Exit.INPUT:
        assert result.stdout == "" or arguments[0] == "vectors"
        assert len([line for line in result.stderr.splitlines() if "Error: " in line]) == 1
    elif "json" in arguments:
        json.loads(result.stdout)
    elif "yaml" in arguments or arguments[0] == "snapshot":
        yaml.load(result.stdout, Loader=yaml.CSafeLoader)


@pytest.mark.parametrize("seed", range(12))
def test_commands_on_broken_dumps_answer_or_say_what_is_wrong(seed: int) -> None:
    chance = random.Random(seed)
    codes = set()
    for _ in range(ROUNDS):
        dump, data = broken_dump(chance)
        for command in commands(chance, dump):
            result = CliRunner().invoke(cli, [*command, "-f", "-"], input=data)
            check(command, result)
            codes.add(result.exit_code)
    assert codes == {Exit.FINE, Exit.FINDINGS, Exit.INPUT}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_vectors_answer_broken_questions_or_say_what_is_wrong(kind: str) -> None:
    chance = random.Random(kind)
    known = [line.get("input", line.get("object")) for line in recorded(kind)[:60]]
    codes = set()
    for _ in range(150):
        question = copy.deepcopy(chance.choice(known))
        for _ in range(chance.choice([1, 1, 2, 5])):
            change(chance, question, known)
        data = json.dumps(question).encode()
        result = CliRunner().invoke(cli, ["vectors", kind], input=data)
        check(["vectors"], result)
        codes.add(result.exit_code)
    assert codes == {Exit.FINE, Exit.INPUT}


DEEP = 100_000


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no Kubernetes objects in it"),
        (b"[" * DEEP, "nested too deep"),
        (b'{"a":' * DEEP, "nested too deep"),
        (b"- " * DEEP, "nested more than 200 levels deep"),
        (b"{a: " * DEEP, "nested more than 200 levels deep"),
        (b"\0" * DEEP, "is not text"),
        (gzip.compress(b"\0" * DEEP)[:-20], "the gzip data ends too early"),
        (b'{"kind": "Pod", "apiVersion": "v1", "x": ' + b"[" * DEEP, "it ends too early|too deep"),
        (
            b"a0: &a0 [x, x]\n"
            + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b"*a%d, " % (n - 1) * 10) for n in range(1, 9)),
            "aliases stand for more than 1000000 values",
        ),
    ],
    ids=["empty", "lists", "maps", "yaml", "flow", "zeros", "gzip", "cut off", "aliases"],
)
@pytest.mark.parametrize("command", [["explain", "a"], ["hints"], ["slices"], ["snapshot"]])
def test_what_is_no_dump_is_refused_in_one_line(command: list[str], data: bytes, said: str) -> None:
    result = CliRunner().invoke(cli, [*command, "-f", "-"], input=data)
    check(command, result)
    assert result.exit_code == Exit.INPUT
    assert re.search(said, result.stderr)
