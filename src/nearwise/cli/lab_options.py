"""What the commands of ``nearwise lab`` have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from nearwise.cli.output import progress

if TYPE_CHECKING:
    from nearwise.lab.running import Lab

DEFAULT = "lab"

name_option = click.option(
    "--name",
    metavar="LAB",
    default=DEFAULT,
    show_default=True,
    help="Which lab; several can run beside each other.",
)
"""Adds ``--name``."""


@contextmanager
def running(name: str, doing: str = "looking") -> Iterator[Lab]:
    """Give a lab that is running, while something is done, with progress.

    What does not come about in time is InputError, what the lab refuses is ClusterError, as for
    any cluster.
    """
    from nearwise.client.errors import ClusterError
    from nearwise.lab.running import Lab
    from nearwise.model.errors import InputError, LostError, StatusError

    try:
        with progress(doing) as told, Lab(name, told) as lab:
            yield lab
    except (LostError, StatusError) as error:
        raise ClusterError(f"the lab {name}: {error}") from None
    except TimeoutError as error:
        hint = f"logs are in /run/nearwise/lab/{name}"
        raise InputError(f"the lab did not get there: {error}", hint=hint) from None
