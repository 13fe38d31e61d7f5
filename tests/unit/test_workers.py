"""Workers: each key is handed out, tried again when it failed, and stops nobody else."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

import pytest

from nearwise.loops.workers import TryAgainError, Workers
from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.queue import controller_queue
from nearwise.model import Status
from nearwise.model.errors import StatusError
from nearwise.server.chores import chores
from nearwise.server.statuses import Refusal
from virtual_time import run


def attempts(*failures: Exception | None) -> list[float]:
    """Return when one key is worked on, if its first attempts fail like this."""
    left = list(failures)
    seen: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def sync(_: ObjectKey) -> None:
            seen.append(loop.time())
            failure = left.pop(0) if left else None
            if failure is not None:
                raise failure

        workers = Workers[ObjectKey]("test", controller_queue(), sync)
        work = asyncio.create_task(workers.run(2))
        workers.add(("shop", "web"))
        await asyncio.sleep(60)
        workers.stop()
        await work

    run(main())
    return seen


def test_what_failed_is_tried_again_after_one_second_then_two() -> None:
    assert attempts(TryAgainError("not yet"), TryAgainError("not yet"), None) == [0, 1, 3]


def test_what_the_server_asks_for_is_kept_to() -> None:
    busy = StatusError(Status(code=429, reason="TooManyRequests"), retry_after=7)
    assert attempts(busy, None) == [0, 7]


def test_a_mistake_of_ours_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert attempts(KeyError("oops"), None) == [0, 1]

    assert "test shop/web failed; again in 1 s" in caplog.text


def test_when_all_fail_a_hundred_are_tried_again_at_once_and_then_ten_a_second() -> None:
    tried: Counter[ObjectKey] = Counter()
    again: list[float] = []

    async def main() -> None:
        async def sync(key: ObjectKey) -> None:
            tried[key] += 1
            if tried[key] > 1:
                again.append(asyncio.get_running_loop().time())
            else:
                raise TryAgainError("the server refuses everything", quiet=True)

        workers = Workers[ObjectKey]("test", controller_queue(), sync)
        for number in range(200):
            workers.add(("shop", f"web-{number}"))
        work = asyncio.create_task(workers.run(5))
        await asyncio.sleep(60)
        workers.stop()
        await work

    run(main())
    # The hundred waited a second each, and so did the ten that the next second allows.
    assert again == [1.0] * 110 + [pytest.approx(1 + number / 10) for number in range(1, 91)]


def test_what_was_added_before_work_begins_is_worked_on_in_that_order() -> None:
    done: list[str] = []

    async def main() -> None:
        async def do(key: str) -> None:
            done.append(key)

        workers = Workers[str]("test", controller_queue(), do)
        for key in ("web", "api", "web", "db"):
            workers.add(key)
        work = asyncio.create_task(workers.run(1))
        await asyncio.sleep(0)
        workers.stop()
        await work

    run(main())
    assert done == ["web", "api", "db"]


def test_a_chore_that_is_refused_is_soon_tried_again_and_told_to_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[float] = []

    async def main() -> None:
        async def do(_: str) -> None:
            seen.append(asyncio.get_running_loop().time())
            if len(seen) < 3:
                raise Refusal(Status(code=409, message="another write came in between"))

        workers = chores("test", do)
        work = asyncio.create_task(workers.run(2))
        await asyncio.sleep(0)
        workers.add("shop")
        await asyncio.sleep(60)
        work.cancel()

    with caplog.at_level(logging.INFO):
        run(main())
    assert seen == [0, pytest.approx(0.05), pytest.approx(0.15)]
    assert caplog.text == ""
