"""The program that is the pods of a node, on addresses of this machine."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nearwise.lab import pods
from nearwise.lab.probe import Conversation, Failure, Target, ask

ABOUT = {"pod": "web-1", "namespace": "default", "node": "a1", "zone": "zone-a"}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Node:
    """The program, and what it says."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(pods.__file__)), "nw-test"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, **order: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def said(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        said: dict[str, Any] = json.loads(self.process.stdout.readline())
        return said

    def start(self, *ports: tuple[str, int]) -> dict[str, Any]:
        self.tell(start="u1", about=ABOUT, addresses=["127.0.0.1"], ports=list(ports))
        return self.said()


@pytest.fixture
def node() -> Iterator[Node]:
    it = Node()
    with it.process:
        yield it
        it.process.kill()


def test_a_pod_says_who_it_is_over_tcp_and_udp(node: Node) -> None:
    port = free_port()
    assert node.start(("TCP", port), ("UDP", port))["listening"] == "u1"
    for protocol in ("TCP", "UDP"):
        answer = ask(Target("127.0.0.1", port, protocol))
        assert (answer.pod, answer.node, answer.zone) == ("default/web-1", "a1", "zone-a")
        assert (answer.client, answer.terminating) == ("127.0.0.1", False)


def test_a_pod_that_is_to_end_serves_on_and_then_ends(node: Node) -> None:
    port = free_port()
    node.start(("TCP", port))
    connection = Conversation(Target("127.0.0.1", port))
    node.tell(terminate="u1")
    while not connection.ask().terminating:
        pass
    connection.close()
    node.tell(end="u1")
    assert node.said() == {"ended": "u1", "status": 0}
    assert ask(Target("127.0.0.1", port)).failure is Failure.REFUSED


def test_a_pod_listens_on_more_ports_when_it_is_told_to(node: Node) -> None:
    first, second = free_port(), free_port()
    node.start(("TCP", first))
    node.tell(listen="u1", ports=[["TCP", second]])
    assert node.said()["failed"] == []
    assert ask(Target("127.0.0.1", second)).failure is None


def test_a_port_that_cannot_be_had_is_told_and_the_others_are_served(node: Node) -> None:
    port = free_port()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        other = taken.getsockname()[1]
        (why,) = node.start(("TCP", port), ("TCP", other))["failed"]
    assert why.startswith(f"TCP 127.0.0.1 port {other}: ")
    assert ask(Target("127.0.0.1", port)).failure is None


def test_a_killed_pod_is_told_of(node: Node) -> None:
    process = node.start(("TCP", free_port()))["process"]
    os.kill(process, signal.SIGKILL)
    assert node.said() == {"ended": "u1", "status": -signal.SIGKILL}


def test_pods_end_with_whoever_started_them() -> None:
    it, port = Node(), free_port()
    with it.process:
        it.start(("TCP", port))
        it.process.kill()
        assert it.process.stdout is not None
        it.process.stdout.read()  # until the last of them has closed it
    assert ask(Target("127.0.0.1", port)).failure is Failure.REFUSED
