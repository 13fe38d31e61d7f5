"""Logs of commands that run on: one line a record on standard error, as text or as JSON."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

import click

from nearwise.cli.output import harmless

_LEVELS: Final = ("debug", "info", "warning", "error")


class LogFormat(StrEnum):
    """The choices of ``--log-format``."""

    TEXT = "text"
    JSON = "json"


def log_level_option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--log-level`` to a command."""
    return click.option(
        "--log-level",
        type=click.Choice(_LEVELS),
        default=default,
        show_default=True,
        help="What is logged at least.",
    )


log_format_option = click.option(
    "--log-format",
    type=click.Choice([str(each) for each in LogFormat]),
    default=str(LogFormat.TEXT),
    show_default=True,
    help="How a line of the log looks.",
)
"""Adds ``--log-format``."""


def begin_logs(level: str, form: LogFormat) -> None:
    """Have what happens from now on logged, if it is at least of this level."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if form is LogFormat.JSON else _Text())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


class _Text(logging.Formatter):
    """``2026-01-01T00:00:00.000Z INFO controllers.process: all caches are complete``."""

    def format(self, record: logging.LogRecord) -> str:
        return (
            f"{_time(record)} {record.levelname} {_where(record)}: {harmless(_what(self, record))}"
        )


class _Json(logging.Formatter):
    """One object a line: ``time``, ``level``, ``logger``, ``message``."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(
            {
                "time": _time(record),
                "level": record.levelname.lower(),
                "logger": _where(record),
                "message": _what(self, record),
            },
            ensure_ascii=False,
        )


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _where(record: logging.LogRecord) -> str:
    return record.name.removeprefix("nearwise.")


def _what(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    text = record.getMessage()
    if record.exc_info:
        text += "\n" + formatter.formatException(record.exc_info)
    return text
