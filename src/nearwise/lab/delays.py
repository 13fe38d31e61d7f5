"""Latency between zones: netem where the kernel has it, else a relay that holds packets back.

Law: one delay for each two zones, of both directions together, so as ``ping`` would tell it. What
there is stands in a file for each, and a relay ends with the lab.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from nearwise.lab import namespaces, network
from nearwise.lab.addresses import Plan
from nearwise.lab.state import Place
from nearwise.lab.waiting import wait
from nearwise.model.errors import InputError

NETEM: Final = "netem"
RELAY: Final = "relay"

_LONGEST: Final = 60  # seconds there and back
_RELAY: Final = Path(__file__).with_name("relay.py")


class Delay(msgspec.Struct, frozen=True):
    """How long packets take between two zones and back."""

    zones: tuple[str, str]
    seconds: float
    how: str
    process: int = 0


def read(place: Place) -> list[Delay]:
    """Return the delays that there are."""
    files = sorted(place.delays.glob("*.json"))
    return [msgspec.json.decode(file.read_bytes(), type=Delay) for file in files]


def set_delay(place: Place, plan: Plan, zone: str, other: str, seconds: float) -> Delay | None:
    """Delay what goes between two zones, in place of an earlier delay; 0 ends it.

    InputError where packets cannot be delayed.
    """
    if zone == other:
        raise InputError(f"zone {zone} has no way to itself", hint="name two zones")
    if seconds > _LONGEST:
        raise InputError(f"packets are held back for at most {_LONGEST} s")
    zone, other = sorted((zone, other))
    file = place.delays / f"{plan.zones[zone]}-{plan.zones[other]}.json"
    if file.exists():
        _end(place, plan, msgspec.json.decode(file.read_bytes(), type=Delay))
        file.unlink()
    if not seconds:
        return None
    process = 0
    if not _netem(place.lab, plan, zone, other, seconds):
        process = _relay(place.lab, plan, zone, other, seconds)
    delay = Delay((zone, other), seconds, RELAY if process else NETEM, process)
    file.write_bytes(msgspec.json.encode(delay))
    return delay


def _netem(lab: str, plan: Plan, zone: str, other: str, seconds: float) -> bool:
    """Have the kernel delay at both ends; tell whether it can."""
    for here, there in ((zone, other), (other, zone)):
        words = f"qdisc replace dev zone-{plan.zones[there]} root netem delay {seconds / 2}s"
        command = ("tc", "-n", namespaces.of_router(lab, here), *words.split())
        try:
            done = subprocess.run(command, capture_output=True, check=False)
        except FileNotFoundError:
            return False
        if done.returncode != 0:
            return False
    return True


def _relay(lab: str, plan: Plan, zone: str, other: str, seconds: float) -> int:
    """Send everything through a relay; returns its process. InputError when that cannot be."""
    home = namespaces.of_control(lab)
    ends = [
        (namespaces.of_router(lab, here), f"delay-{plan.zones[there]}", there)
        for here, there in ((zone, other), (other, zone))
    ]
    words = [word for namespace, device, _ in ends for word in (namespace, device)]
    done = subprocess.run(
        (sys.executable, "-I", "-S", str(_RELAY), *words, str(seconds / 2), home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    if done.returncode != 0:
        why = done.stderr.strip().rpartition("\n")[2]
        raise InputError(f"packets cannot be delayed here, neither by netem nor by TUN: {why}")
    for namespace, device, there in ends:
        lines = [f"link set {device} up", *network.through(plan, there, device)]
        namespaces.ip(lines, namespace)
    return int(done.stdout)


def _end(place: Place, plan: Plan, delay: Delay) -> None:
    """Have packets go straight again."""
    for here, there in (delay.zones, delay.zones[::-1]):
        router = namespaces.of_router(place.lab, here)
        if delay.how == NETEM:
            device = f"zone-{plan.zones[there]}"
            command = ("tc", "-n", router, "qdisc", "del", "dev", device, "root")
            subprocess.run(command, capture_output=True, check=False)
        else:
            namespaces.ip(network.between(plan, here, there), router)
    home = namespaces.of_control(place.lab)
    if delay.process in namespaces.processes([home])[home]:
        with suppress(ProcessLookupError):
            os.kill(delay.process, signal.SIGKILL)
        wait(lambda: "a relay" if delay.process in namespaces.processes([home])[home] else "")
