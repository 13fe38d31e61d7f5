"""``nearwise lab fail``, ``kill``, ``add``, ``rollout``, ``latency`` ...: what happens in a lab."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from nearwise.cli.durations import duration_argument, duration_option
from nearwise.cli.lab_options import name_option, running
from nearwise.cli.output import print_line

_LATER: Final = "in 3 s that is noticed"


def _kind_argument(*kinds: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.argument("kind", type=click.Choice(kinds), metavar="|".join(kinds))


@click.command("fail", short_help="Have a pod fail its readiness probe.")
@click.argument("pod")
@name_option
def fail(*, pod: str, name: str) -> None:
    """Have a POD fail its readiness probe, and wait until everybody knows.

    It serves on whoever still comes. For kubectl it is the annotation nearwise.dev/ready=false.
    """
    with running(name, "waiting until everybody knows") as lab:
        lab.fail(pod)
        lab.settle()
    print_line(f"Pod {pod} is not ready.")


@click.command("heal", short_help="Have it pass again.")
@click.argument("pod")
@name_option
def heal(*, pod: str, name: str) -> None:
    """Have a POD pass its readiness probe again, and wait until everybody knows."""
    with running(name, "waiting until everybody knows") as lab:
        lab.heal(pod)
        lab.settle()
    print_line(f"Pod {pod} is ready.")


@click.command("kill", short_help="Kill the process of a pod, or a node.")
@_kind_argument("pod", "node")
@click.argument("which", metavar="NAME")
@click.option("--wait", is_flag=True, help="Wait until everybody knows.")
@name_option
def kill(*, kind: str, which: str, wait: bool, name: str) -> None:
    """Kill the process of a pod, or take a node off the net with everything on it.

    A pod is started again after 10 seconds, then 20 and so on, as a kubelet does. A node turns
    NotReady after 3 seconds, and its pods with it; packets to it get lost at once. For kubectl it
    is the annotation nearwise.dev/power=off.
    """
    with running(name, "waiting until everybody knows") as lab:
        if kind == "pod":
            lab.kill_pod(which)
        else:
            lab.kill_node(which)
        if wait:
            lab.settle()
    if kind == "pod":
        print_line(f"The process of pod {which} is dead; it is started again after a while.")
    else:
        print_line(f"Node {which} is off{'' if wait else f'; {_LATER}'}.")


@click.command("start", short_help="Start a node again that was killed.")
@_kind_argument("node")
@click.argument("which", metavar="NAME")
@name_option
def start(*, kind: str, which: str, name: str) -> None:
    """Start a node again that was killed, and wait until everybody knows."""
    with running(name, "waiting until everybody knows") as lab:
        lab.start_node(which)
        lab.settle()
    print_line(f"{kind.capitalize()} {which} is ready.")


@click.command("add")
@_kind_argument("node")
@click.argument("which", metavar="NAME")
@click.option("--zone", required=True, metavar="ZONE", help="In which zone; it may be a new one.")
@click.option("--cpu", default="4", show_default=True, help="How much CPU it has for pods.")
@name_option
def add(*, kind: str, which: str, zone: str, cpu: str, name: str) -> None:
    """Add a node, and wait until it is ready.

    Services with a pod on every node, as from a DaemonSet, get one on it.
    """
    with running(name, "waiting until it is ready") as lab:
        lab.add_node(which, zone, cpu)
        lab.settle()
    print_line(f"{kind.capitalize()} {which} is ready.")


@click.command("remove", short_help="Take a node away for good.")
@_kind_argument("node")
@click.argument("which", metavar="NAME")
@name_option
def remove(*, kind: str, which: str, name: str) -> None:
    """Take a node and its pods away for good, and wait until everybody knows."""
    with running(name, "waiting until everybody knows") as lab:
        lab.remove_node(which)
        lab.settle()
    print_line(f"{kind.capitalize()} {which} is gone.")


@click.command("rollout", short_help="Replace the pods of a service.")
@click.argument("service")
@click.option(
    "--max-unavailable",
    type=click.IntRange(0),
    default=None,
    metavar="N",
    help="How many at a time end before their successors come; by default 1 for pods of which "
    "every node has one, and 0 for others: then a new one is ready before an old one ends.",
)
@duration_option("--pause", "0s", "How long to wait between two steps.")
@name_option
def rollout(*, service: str, max_unavailable: int | None, pause: float, name: str) -> None:
    """Replace the pods of a SERVICE by new ones, step by step.

    A pod that is to end serves on through its time of grace, as well-behaved servers do. Returns
    when all new ones are ready and the old ones are gone.
    """
    with running(name) as lab:
        lab.rollout(service, max_unavailable=max_unavailable, pause=pause)
        lab.settle()
    print_line(f"All pods of service {service} are new.")


@click.command("latency", short_help="Delay packets between two zones.")
@click.argument("zone", metavar="ZONE")
@click.argument("other", metavar="ZONE")
@duration_argument("duration")
@name_option
def latency(*, zone: str, other: str, duration: float | None, name: str) -> None:
    """Have packets between two ZONEs take so long there and back; 0 ends it.

    The DURATION is that of a round trip, half of it each way. It is done by netem where the kernel
    has that, else by a process that holds packets back. Without a DURATION it is told what there
    is.
    """
    from nearwise.cli.lab_screen import duration_text, how_text

    with running(name) as lab:
        if duration is None:
            there = lab.latency(zone, other)
        else:
            there = lab.set_latency(zone, other, duration)
    between = f"between {zone} and {other}"
    if there is None:
        print_line(f"There is no added latency {between}.")
    else:
        took = duration_text(there.seconds)
        print_line(f"A round trip {between} takes {took} more (by {how_text(there.how)}).")


CHANGES: Final = (fail, heal, kill, start, add, remove, rollout, latency)
