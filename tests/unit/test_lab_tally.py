"""Answers of many connections, counted and printed."""

from __future__ import annotations

import pytest

from nearwise.cli.lab_screen import duration_text, print_tally
from nearwise.lab.probe import Answer, Failure, Target
from nearwise.lab.tally import Share, tally


def answered(pod: str, zone: str, seconds: float, *, terminating: bool = False) -> Answer:
    return Answer(
        pod=f"default/{pod}", node=f"n-{zone}", zone=zone, seconds=seconds, terminating=terminating
    )


ANSWERS = [
    *(answered("web-1", "a", number / 1000) for number in range(1, 101)),
    answered("web-2", "b", 0.5, terminating=True),
    *([Answer(failure=Failure.REFUSED)] * 3),
    Answer(failure=Failure.TIMEOUT),
]


def test_answers_are_counted_by_pod_and_zone_and_failures_by_kind() -> None:
    found = tally(ANSWERS)
    assert (found.connections, found.answered) == (105, 101)
    first, second = found.pods
    assert (first.pod, first.count, first.share) == ("default/web-1", 100, 100 / 101)
    assert (first.latency.median, first.latency.p99) == (0.050, 0.099)
    assert (second.pod, second.terminating) == ("default/web-2", True)
    assert found.zones == (Share("a", 100, 100 / 101), Share("b", 1, 1 / 101))
    assert found.failures == (Share("refused", 3, 3 / 105), Share("timeout", 1, 1 / 105))


def test_nobody_who_answers_is_no_pod() -> None:
    found = tally([Answer(failure=Failure.EMPTY)])
    assert (found.pods, found.zones, found.answered) == ((), (), 0)


def test_the_order_in_which_answers_came_does_not_matter() -> None:
    equal = [answered("web-2", "b", 0.1), answered("web-1", "a", 0.1)]
    assert tally(equal) == tally(equal[::-1])


def test_the_screen_shows_who_answered_and_what_failed(capsys: pytest.CaptureFixture[str]) -> None:
    print_tally("a1", "web", Target("fd00::5", 80), tally(ANSWERS))
    assert capsys.readouterr().out.splitlines() == [
        "105 connections from a1 to web ([fd00::5]:80 TCP)",
        "",
        "POD                           ZONE   NODE   ANSWERS   SHARE   MEDIAN   P99",
        "default/web-1                 a      n-a    100       99.0%   50 ms    99 ms",
        "default/web-2 (terminating)   b      n-b    1         1.0%    500 ms   500 ms",
        "",
        "By zone: a 99.0%, b 1.0%.",
        "4 failed: 3 refused, 1 timeout.",
        "  refused: somebody said that nobody is there, as for a service without ready pods",
        "  timeout: no answer came in time; packets were dropped, or the other end is off",
    ]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.00042, "0.42 ms"), (0.005, "5 ms"), (0.0125, "12 ms"), (1.25, "1.2 s"), (12.0, "12 s")],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
