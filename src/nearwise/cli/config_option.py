"""Options from a file, for commands that run on: ``--config``.

The file is a YAML mapping from names of options, without the dashes in front, to their values.
What the environment says wins over it, and the command line over both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click

ENVIRONMENT: Final = {"auto_envvar_prefix": "NEARWISE"}
"""Context settings with which every option is also an environment variable."""


def config_option() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--config`` to a command."""
    return click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_take_defaults,
        help="Take options from this YAML file, where they are named without the dashes.",
    )


def _take_defaults(context: click.Context, _option: click.Parameter, path: Path | None) -> None:
    if path is None:
        return
    known = {
        name.removeprefix("--"): option.name
        for option in context.command.params
        for name in option.opts
        if name.startswith("--") and option.name is not None
    }
    defaults = {}
    for name, value in _read(path).items():
        if name not in known:
            raise click.UsageError(f"{path}: there is no option --{name}", context)
        if not isinstance(value, (str, int, float)):
            raise click.UsageError(f"{path}: {name} is not one value", context)
        defaults[known[name]] = value
    context.default_map = defaults


def _read(path: Path) -> Mapping[str, object]:
    from nearwise.model import yamltree
    from nearwise.model.errors import InputError

    found = [tree for _, tree in yamltree.documents(path.read_bytes(), str(path))]
    if not found:
        return {}
    if len(found) > 1 or not isinstance(found[0], dict):
        raise InputError("not one mapping of options", source=str(path), hint="such as workers: 10")
    return found[0]
