"""The command line: ``nearwise`` and, as a plugin of kubectl, ``kubectl nearwise``.

Law: this file knows the names of the commands and how a run may end, nothing else. A command is
one file beside it that exposes ``command``; it is imported when it runs, and it imports what it
needs inside its function, so that ``--help`` stays fast. A command raises what went wrong and
never exits on its own account, except with ``click.Context.exit(Exit.FINDINGS)``.
"""

from __future__ import annotations

import importlib
import os
import sys
from enum import IntEnum
from typing import Any, Final, NoReturn

import click

from nearwise import __version__

COMMANDS: Final = {
    "controller": "The controllers that write EndpointSlices, for a cluster.",
    "explain": "Where traffic to a service goes, from each place, and why.",
    "hints": "What hints each service asks for, has, and is near to losing.",
    "lab": "A whole cluster on this machine, in which packets really flow.",
    "proxy": "What kube-proxy is on a node: connections go to near endpoints.",
    "slices": "The EndpointSlices that the control plane would write.",
    "snapshot": "Write what decides routing to a file that can be shared.",
    "up": "A Kubernetes API on this machine, with its controllers.",
    "vectors": "Answer inputs on standard input, one JSON line each.",
}


class Exit(IntEnum):
    """What the exit code of a run means."""

    FINE = 0
    FINDINGS = 1
    INPUT = 2  # wrong usage or unreadable input
    CLUSTER = 3  # the cluster was not reached or refused
    BUG = 70  # a mistake of Nearwise itself (EX_SOFTWARE)
    INTERRUPTED = 130
    PIPE_CLOSED = 141  # what a shell shows for a program that a closed pipe ends


class _Later(click.Command):
    """Stands in for a command in lists; becomes the real one when it is to run."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Import the command's module and go on with the command in it."""
        command: click.Command = importlib.import_module(f"{__name__}.{self.name}").command
        return command.make_context(info_name, args, parent, **extra)


class _Failure(click.ClickException):
    """Any error, as click shows and ends it."""

    exit_code: int  # type: ignore[misc]  # one class for all codes

    def __init__(self, error: Exception) -> None:
        from nearwise.cli.output import harmless
        from nearwise.client.errors import ClusterError
        from nearwise.model.errors import InputError

        message = harmless(str(error))
        if isinstance(error, ClusterError):
            self.exit_code = Exit.CLUSTER
        elif isinstance(error, InputError):
            self.exit_code = Exit.INPUT
        elif isinstance(error, OSError):
            words = [str(error.filename or ""), error.strerror or str(error)]
            message, self.exit_code = harmless(": ".join(filter(None, words))), Exit.INPUT
        else:
            message, self.exit_code = _bug(error, message), Exit.BUG
        super().__init__(message)


class _Commands(click.Group):
    """The group of all commands; turns every error into a message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:
            # The reader has gone; what is still buffered must not raise again at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(Exit.PIPE_CLOSED)
        except Exception as error:
            if os.environ.get("NEARWISE_DEBUG"):
                raise
            raise _Failure(error) from error


@click.group(
    cls=_Commands,
    commands={name: _Later(name, short_help=text) for name, text in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 fine, 1 findings, 2 wrong usage or input, 3 cluster not reached.",
)
@click.version_option(__version__, message="nearwise %(version)s")
def cli() -> None:
    """Kubernetes EndpointSlices: where does my traffic go, and why."""


def main() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is no reason to fail.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        code = cli.main(
            prog_name=_program(sys.argv[0]),
            complete_var="_NEARWISE_COMPLETE",
            standalone_mode=False,
        )
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:
        click.echo("Interrupted.", err=True)
        code = Exit.INTERRUPTED
    sys.exit(code)


def _program(path: str) -> str:
    """Return what the user typed: kubectl runs its plugin under the plugin's file name."""
    name = os.path.basename(path)
    return "kubectl nearwise" if name.startswith("kubectl-nearwise") else "nearwise"


def _bug(error: Exception, message: str) -> str:
    """Say what to do about a mistake of ours."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
    return (
        f"Nearwise made a mistake: {type(error).__name__}: {message}{place}\n"
        "Please report it, with the output of the same command under NEARWISE_DEBUG=1."
    )
