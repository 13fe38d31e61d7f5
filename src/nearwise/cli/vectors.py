"""``nearwise vectors``: answers for whoever holds another implementation against this one."""

from __future__ import annotations

import importlib
import sys

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
    from nearwise.cli.output import to_json
    from nearwise.model.errors import InputError

    answer = importlib.import_module(f"nearwise.vectors.{kind}").answer
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        try:
            reply = answer(_question(line))
        except InputError as error:
            raise InputError(
                error.what,
                source="standard input",
                line=number,
                field=error.field,
                hint=error.hint or f"a line is one question of the kind {kind}, as JSON",
            ) from None
        sys.stdout.write(to_json(reply, indent=-1))
        sys.stdout.flush()


def _question(line: bytes) -> object:
    """Read a line; of a recorded one take the question. Raises InputError when it is no JSON."""
    import msgspec

    from nearwise.model.errors import InputError

    try:
        content = msgspec.json.decode(line)
    except msgspec.DecodeError as error:
        raise InputError(f"broken JSON: {error}") from None
    except RecursionError:
        raise InputError("nested too deep") from None
    if isinstance(content, dict):
        return content.get("input", content.get("object", content))
    return content
