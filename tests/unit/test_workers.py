"""Workers: each key is handed out, tried again when it failed, and stops nobody else."""

from __future__ import annotations

import asyncio
import logging

import pytest

from nearwise.loops.surroundings import Surroundings
from nearwise.loops.workers import TryAgainError, Workers
from nearwise.machinery.cache import ObjectKey
from nearwise.model import Status
from nearwise.model.errors import StatusError
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

        workers = Workers("test", sync, Surroundings(loop.time, lambda: "", lambda: 0.0))
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
