"""Options that say on which address a command that runs on serves its pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import click


class Listen(NamedTuple):
    """Where pages are served; an empty host means all addresses."""

    host: str
    port: int


def listen_option(
    name: str, default: str, text: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add an option ``HOST:PORT`` to a command, which gets a ``Listen``, or None for ``off``."""
    port = default.rpartition(":")[2]

    def read(_context: click.Context, _option: click.Parameter, text: str) -> Listen | None:
        if text == "off":
            return None
        match = re.fullmatch(r"(?:\[([^\[\]]+)\]|([^\[\]:]*)):(\d{1,5})", text)
        if match is None or int(match[3]) > 65535:
            raise click.BadParameter(
                f"{text!r} is not an address such as 127.0.0.1:{port}, [::1]:{port} or :{port}"
            )
        return Listen(match[1] or match[2], int(match[3]))

    return click.option(
        name,
        metavar="ADDRESS",
        default=default,
        show_default=True,
        callback=read,
        help=f"{text}; :PORT for all addresses, or off.",
    )
