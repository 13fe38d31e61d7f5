"""Write the pages that are made from the code: ``python docs/generate.py``.

``reasons.md`` comes from the catalogue of reasons, ``cli.md`` from what ``--help`` prints. A test
fails when they are not as this would write them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import click

from nearwise.cli import Exit, cli
from nearwise.model import reasons
from nearwise.model.catalogue import SECTIONS

DOCS: Final = Path(__file__).parent
_EXITS: Final = {
    Exit.FINE: "everything is fine",
    Exit.FINDINGS: "the command found something that should be looked at",
    Exit.INPUT: "wrong usage, or input that cannot be read",
    Exit.CLUSTER: "the cluster was not reached, or refused",
    Exit.BUG: "a mistake of Nearwise itself; please report it",
    Exit.INTERRUPTED: "interrupted (Ctrl-C)",
    Exit.PIPE_CLOSED: "whoever read the output has gone, as `head` does",
}
_WARNING: Final = "<!-- Written by docs/generate.py. -->"


def pages() -> dict[str, str]:
    """Return the text of every generated page, by file name."""
    return {"cli.md": _cli(), "reasons.md": _reasons()}


# --- The command line -----------------------------------------------------------------------


def _cli() -> str:
    parts = [
        _WARNING,
        "# The command line",
        "`nearwise` is also a plugin of kubectl: `kubectl nearwise ...` is the same.",
        _help(_top()),
    ]
    for name in sorted(cli.commands):
        parts += [f"## nearwise {name}", _help(_context(name)), *_commands_of(_context(name))]
    parts += [
        "## Exit codes",
        _table(["code", "meaning"], [[str(int(code)), text] for code, text in _EXITS.items()]),
        "## Completion in the shell",
        "Put one of these into the file that your shell reads when it starts:",
        "```sh\n"
        'eval "$(_NEARWISE_COMPLETE=bash_source nearwise)"   # bash\n'
        'eval "$(_NEARWISE_COMPLETE=zsh_source nearwise)"    # zsh\n'
        "_NEARWISE_COMPLETE=fish_source nearwise | source    # fish\n"
        "```",
    ]
    return "\n\n".join(parts) + "\n"


def _top() -> click.Context:
    return cli.make_context("nearwise", [], resilient_parsing=True)


def _context(name: str) -> click.Context:
    """Return the context of a command, which imports it."""
    return cli.commands[name].make_context(name, [], _top(), resilient_parsing=True)


def _commands_of(context: click.Context) -> Iterator[str]:
    """Give heading and help of each command inside a command."""
    if isinstance(context.command, click.Group):
        for name, command in sorted(context.command.commands.items()):
            inner = command.make_context(name, [], context, resilient_parsing=True)
            yield f"### {inner.command_path}"
            yield _help(inner)


def _help(context: click.Context) -> str:
    context.terminal_width = 96
    return f"```text\n{context.get_help().rstrip()}\n```"


# --- The catalogue of reasons ---------------------------------------------------------------


def _reasons() -> str:
    parts = [
        _WARNING,
        "# Reasons",
        "Why a decision came out as it did is told by these sentences and no others, on the screen "
        "and in every JSON answer. A code never changes its meaning. In braces stand the facts, "
        "which JSON has by name. Of one endpoint or node it is said in the singular.",
    ]
    for section, entries in SECTIONS.items():
        rows = [
            [f"`{code}`", level, sentence.format_map(_InBraces())]
            for code, level, sentence in entries
        ]
        parts += [f"## {section}", _table(["code", "level", "sentence"], rows)]
    if reasons.RETIRED:
        parts += ["## No longer used", ", ".join(f"`{code}`" for code in sorted(reasons.RETIRED))]
    return "\n\n".join(parts) + "\n"


class _InBraces(dict[str, object]):
    """Facts as ``{name}``, in the words of several."""

    def __missing__(self, name: str) -> object:
        return _Braced(name)


class _Braced(NamedTuple):
    name: str

    def __format__(self, words: str) -> str:
        return words.partition("|")[2] if words else f"{{{self.name}}}"


def _table(headers: list[str], rows: list[list[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in lines)


def _cell(text: str) -> str:
    """Keep a text from ending its cell, and angle brackets from being markup."""
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    for name, text in pages().items():
        (DOCS / name).write_text(text)
