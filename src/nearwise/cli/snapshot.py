"""``nearwise snapshot``: write what decides routing to a file that can be shared."""

from __future__ import annotations

import click

from nearwise.cli.output import Format, output_option, print_note
from nearwise.cli.source import Source, load, scope, source_options


@click.command("snapshot")
@source_options
@click.option(
    "--to",
    "target",
    metavar="FILE",
    help="Write to this file instead of standard output; packed when it ends in .gz.",
)
@click.option(
    "--strip-annotations",
    is_flag=True,
    help="Leave out all annotations but those that decide routing.",
)
@click.option(
    "--anonymise",
    is_flag=True,
    help="Replace names, addresses, zones, labels and the rest consistently.",
)
@click.option(
    "--salt",
    metavar="TEXT",
    help="With --anonymise: the same text gives the same names another time. Keep it secret.",
)
@output_option(Format.YAML, Format.JSON)
def command(
    *,
    source: Source,
    output: Format,
    target: str | None,
    strip_annotations: bool,
    anonymise: bool,
    salt: str | None,
) -> None:
    """Write what decides routing in a cluster, so that it can be kept or shared.

    Nodes, namespaces, services, endpoints, endpoint slices, pods and events are reduced to what
    the other commands read, and these give the same answers on it (-f FILE). Never in it:
    Secrets, and what containers run: images, commands, environment, volumes.
    """
    from nearwise.insight.kept_objects import kept

    if salt is not None and not anonymise:
        raise click.UsageError("--salt is for --anonymise")
    items = kept(load(source), scope(source), strip_annotations=strip_annotations)
    if anonymise:
        from nearwise.insight.anonymise import anonymise as rename

        items = rename(items, salt or _new_salt())
    written = _write({"apiVersion": "v1", "kind": "List", "items": items}, output, target)
    if written:
        print_note(f"{len(items)} objects written to {target} ({written} bytes)")


def _new_salt() -> str:
    """Return a salt nobody can guess: with a known one, names can be tried out."""
    from secrets import token_hex

    return token_hex(16)


def _write(document: dict[str, object], output: Format, target: str | None) -> int:
    """Write the document; return how many bytes went into a file."""
    from nearwise.cli.output import to_json, to_yaml

    text = to_yaml(document) if output is Format.YAML else to_json(document)
    if target is None:
        click.echo(text, nl=False)
        return 0
    from gzip import compress
    from pathlib import Path

    data = text.encode()
    return Path(target).write_bytes(compress(data, mtime=0) if target.endswith(".gz") else data)
