"""``nearwise vectors``: answers for whoever holds another implementation against this one."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

_KINDS = ["reconcile", "mirror", "route", "alloc", "validation"]


@click.command(name="vectors")
@click.argument("kind", type=click.Choice(_KINDS))
def command(kind: str) -> None:
    """Answer inputs on standard input, one JSON line each, with one JSON line each.

    KIND says what is asked: what the EndpointSlice controller writes (reconcile), what the
    mirroring controller writes (mirror), where a node sends traffic (route), how many endpoints
    each zone gets by its CPU (alloc), or whether an API server takes an object (validation).

    A line is the "input" of a recorded line, for validation its "object"; a whole recorded line
    will do. Empty lines are passed over. The first line that cannot be used ends the run.
    """
    import msgspec

    answer = importlib.import_module(f"nearwise.vectors.{kind}").answer
    for number, line in enumerate(sys.stdin.buffer, 1):
        if line.strip():
            reply = msgspec.json.encode(answer(_question(line, number)))
            sys.stdout.write(reply.decode() + "\n")
            sys.stdout.flush()
