"""How a command that runs on is told to stop: by Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import signal
from typing import Final

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def heed_signals() -> asyncio.Event:
    """Return what the first signal sets; a second one ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask_to_stop() -> None:
        stop.set()
        for each in _SIGNALS:
            loop.remove_signal_handler(each)

    for each in _SIGNALS:
        loop.add_signal_handler(each, ask_to_stop)
    return stop
