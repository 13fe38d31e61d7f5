"""``nearwise vectors``: questions in, answers out, one JSON line each."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from nearwise.cli import Exit, cli
from summaries import differences, summarise
from summaries import recorded as read_recorded

KINDS = ["reconcile", "mirror", "route", "alloc", "validation"]
recorded = cache(read_recorded)


def vectors(kind: str, *lines: object) -> Result:
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    return CliRunner().invoke(cli, ["vectors", kind], input=text)


def answers(result: Result) -> list[Any]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def question(line: dict[str, Any]) -> Any:
    return line.get("input", line.get("object"))


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_one_answer_a_line_for_a_question_as_for_a_recorded_line(kind: str) -> None:
    lines = recorded(kind)[:20]

    bare = answers(vectors(kind, *map(question, lines)))
    whole = answers(vectors(kind, *lines))

    answer = importlib.import_module(f"nearwise.vectors.{kind}").answer
    assert bare == whole == json.loads(json.dumps([answer(question(line)) for line in lines]))


@pytest.mark.parametrize("kind", ["reconcile", "mirror"])
def test_the_steps_of_a_controller_are_answered_with_whole_slices(kind: str) -> None:
    lines = recorded(kind)[:40]

    for line, steps in zip(lines, answers(vectors(kind, *lines)), strict=True):
        for expected, step in zip(line["expect"], steps, strict=True):
            assert set(step) == {
                *("slices", "created", "updated", "deleted", "events", "error"),
                *({"mirrored"} if kind == "mirror" else ()),
            }
            assert differences(expected, summarise(step)) == {}
            assert all(s["metadata"]["name"] for s in step["slices"])


def test_every_object_is_judged_as_recorded() -> None:
    lines = recorded("validation")

    for line, answer in zip(lines, answers(vectors("validation", *lines)), strict=True):
        assert answer["status"] == line["status"]
        assert answer.get("causes") == line.get("causes")
        assert answer.get("reason") == line.get("reason")
        assert ("stored" in answer) == ("stored" in line)


def test_an_answer_comes_before_the_next_question_is_asked() -> None:
    program = [sys.executable, "-m", "nearwise", "vectors", "alloc"]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for ready in (3, 4):
            process.stdin.write(json.dumps({"nodes": [], "readyEndpoints": ready}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["ratios"] == {}
        process.stdin.close()
        assert process.wait() == 0


def test_empty_lines_are_passed_over_and_nothing_in_gives_nothing_out() -> None:
    assert answers(vectors("alloc", "\n", {"readyEndpoints": 1}, "  \n")) != []
    assert vectors("alloc").stdout == ""


@pytest.mark.parametrize(
    ("kind", "line", "said"),
    [
        ("alloc", "{\n", "line 2: broken JSON"),
        ("alloc", "[" * 100_000 + "\n", "line 2: nested too deep"),
        ("alloc", "[]\n", "line 2: expected a mapping, got a list"),
        ("alloc", '{"readyEndpoints": "4"}\n', "line 2: readyEndpoints: expected a whole number"),
        ("reconcile", "{}\n", "line 2: object missing required field 'steps'"),
        ("reconcile", '{"steps": [], "maxEndpointsPerSlice": 0}\n', "line 2: maxEndpointsPerSlice"),
        ("mirror", '{"steps": [{"service": 3}]}\n', "line 2: expected a mapping"),
        ("route", "3\n", "line 2: expected a mapping"),
        ("validation", '"x"\n', "line 2: expected a Kubernetes object"),
    ],
)
def test_a_line_that_is_no_question_ends_the_run_and_is_named(
    kind: str, line: str, said: str
) -> None:
    result = vectors(kind, question(recorded(kind)[0]), line, question(recorded(kind)[1]))

    assert result.exit_code == Exit.INPUT
    assert said in result.stderr
    assert len(result.stdout.splitlines()) == 1


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    result = vectors("routes")

    assert result.exit_code == Exit.INPUT
    assert all(kind in result.output for kind in KINDS)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=300)
@given(st.sampled_from(KINDS), st.integers(0, 60), st.randoms(use_true_random=False), JUNK)
def test_a_mutated_question_gets_an_answer_or_a_message(
    kind: str, number: int, random: Any, junk: Any
) -> None:
    mutated = json.loads(json.dumps(question(recorded(kind)[number])))
    _mutate(mutated, random, junk)

    result = vectors(kind, mutated)

    assert result.exit_code in {Exit.FINE, Exit.INPUT}, result.output


def _mutate(tree: Any, random: Any, junk: Any) -> None:
    """Put junk somewhere into a tree of JSON."""
    while isinstance(tree, (dict, list)) and tree:
        place = random.choice(sorted(tree) if isinstance(tree, dict) else range(len(tree)))
        if random.random() < 0.2 or not isinstance(tree[place], (dict, list)):
            tree[place] = junk
            return
        tree = tree[place]
