"""The pods of one node: a process that forks one for each pod, and what such a pod does.

Law: this runs as a program of its own in the namespace of the node, by plain Python without
anything of ours, so that a hundred pods are there in a moment. Orders are lines of JSON on
standard input, reports lines of JSON on standard output; when standard input ends, all pods do.
Its argument is the name of the namespace, for those who look at processes.

Orders name a pod by an ``id``::

    {"start": id, "about": {...}, "addresses": [...], "ports": [["TCP", 8080], ...]}
    {"listen": id, "ports": [...]}     on more ports
    {"terminate": id}                  SIGTERM: it serves on, and says that it is terminating
    {"end": id}                        it answers what it was asked, and ends

A pod answers HTTP on TCP, and any datagram on UDP, with one line of JSON: who it is (``about``),
whether it is ``terminating``, and from which address (``client``) it was asked.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any, Final

_BACKLOG: Final = 512
_LINGER: Final = 0.2  # seconds without a question after which an ending pod is gone
_LONGEST_LINGER: Final = 1.0
_FREE_BIND: Final = {socket.AF_INET: (socket.IPPROTO_IP, 15), socket.AF_INET6: (41, 78)}
_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n"
_LARGEST: Final = 65536


# --- A pod --------------------------------------------------------------------------------


class _Pod:
    """Serves until its orders end."""

    def __init__(self, id_: str, order: dict[str, Any], orders: int) -> None:
        self._id = id_
        self._about = order["about"]
        self._addresses = order["addresses"]
        self._orders = orders
        self._poll = select.epoll()
        self._listeners: dict[int, socket.socket] = {}
        self._flows: dict[int, socket.socket] = {}  # UDP
        self._connections: dict[int, tuple[socket.socket, str]] = {}
        self._asked: dict[int, bytes] = {}
        self._terminating = False
        signal.signal(signal.SIGTERM, self._terminate)
        self._poll.register(orders, select.EPOLLIN)
        failed = self._listen(order["ports"])
        _report(listening=id_, process=os.getpid(), failed=failed)

    def run(self) -> None:
        """Serve; returns when all is answered after the end of the orders."""
        while True:
            for number, _ in self._poll.poll():
                if number != self._orders:
                    self._serve(number)
                elif not (line := os.read(number, _LARGEST)):
                    self._finish()
                    return
                else:
                    for each in line.splitlines():
                        failed = self._listen(json.loads(each))
                        _report(listening=self._id, process=os.getpid(), failed=failed)

    def _finish(self) -> None:
        """Answer whoever is on the way, and leave no connection in the middle of an answer."""
        self._poll.unregister(self._orders)
        until = time.monotonic() + _LONGEST_LINGER
        while time.monotonic() < until and (events := self._poll.poll(_LINGER)):
            for number, _ in events:
                self._serve(number)
        for one in self._listeners.values():
            one.close()

    def _terminate(self, _signal: int, _frame: object) -> None:
        self._terminating = True

    def _listen(self, ports: list[tuple[str, int]]) -> list[str]:
        failed = []
        for address in self._addresses:
            for protocol, port in ports:
                try:
                    one = _socket(protocol, address, port)
                except OSError as error:
                    failed.append(f"{protocol} {address} port {port}: {error.strerror}")
                    continue
                kept = self._flows if one.type == socket.SOCK_DGRAM else self._listeners
                kept[one.fileno()] = one
                self._poll.register(one.fileno(), select.EPOLLIN)
        return failed

    def _serve(self, number: int) -> None:
        try:
            if number in self._listeners:
                self._accept(self._listeners[number])
            elif number in self._flows:
                self._reply(self._flows[number])
            elif number in self._connections:
                self._read(number)
        except OSError:
            self._drop(number)  # whoever asked has gone

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, client = listener.accept()
        except BlockingIOError:
            return
        connection.setblocking(False)
        if listener.proto == socket.IPPROTO_TCP:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connections[connection.fileno()] = (connection, client[0])
        self._asked[connection.fileno()] = b""
        self._poll.register(connection.fileno(), select.EPOLLIN)

    def _read(self, number: int) -> None:
        connection, client = self._connections[number]
        came = connection.recv(_LARGEST)
        asked = self._asked[number] + came
        while b"\r\n\r\n" in asked:
            head, _, asked = asked.partition(b"\r\n\r\n")
            last = b"connection: close" in head.lower() or b"HTTP/1.0" in head
            answer = self._answer(client)
            more = b"Connection: close\r\n" if last else b""
            connection.sendall(_HEAD % (len(answer), more) + answer)
            if last:
                came = b""
        self._asked[number] = asked
        if not came or len(asked) > _LARGEST:
            self._drop(number)

    def _reply(self, flow: socket.socket) -> None:
        _, client = flow.recvfrom(_LARGEST)
        flow.sendto(self._answer(client[0]), client)

    def _answer(self, client: str) -> bytes:
        said = {**self._about, "terminating": self._terminating, "client": client}
        return json.dumps(said).encode() + b"\n"

    def _drop(self, number: int) -> None:
        if number in self._connections:
            connection, _ = self._connections.pop(number)
            del self._asked[number]
            connection.close()


def _socket(protocol: str, address: str, port: int) -> socket.socket:
    """Return a socket on an address that the node has only by a route."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    kinds = {
        "TCP": (socket.SOCK_STREAM, socket.IPPROTO_TCP),
        "UDP": (socket.SOCK_DGRAM, 0),
        "SCTP": (socket.SOCK_STREAM, socket.IPPROTO_SCTP),
    }
    one = socket.socket(family, *kinds[protocol])
    try:
        one.setblocking(False)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.setsockopt(*_FREE_BIND[family], 1)
        one.bind((address, port))
        if protocol != "UDP":
            one.listen(_BACKLOG)
    except OSError:
        one.close()
        raise
    return one


# --- All pods of a node -------------------------------------------------------------------


class _Node:
    """Forks pods, tells them, and reports their ends."""

    def __init__(self) -> None:
        self._processes: dict[str, int] = {}
        self._orders: dict[str, int] = {}  # where each pod takes its orders

    def run(self) -> None:
        """Carry out orders until they end."""
        # Nothing is done on SIGCHLD, but it wakes us up.
        waking, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        signal.set_wakeup_fd(woken)
        poll = select.poll()
        poll.register(waking, select.POLLIN)
        poll.register(sys.stdin.fileno(), select.POLLIN)
        rest = b""
        while True:
            for number, _ in poll.poll():
                if number == waking:
                    os.read(waking, _LARGEST)
                    self._reap()
                    continue
                came = os.read(number, _LARGEST)
                if not came:
                    return
                *lines, rest = (rest + came).split(b"\n")
                for line in lines:
                    self._obey(json.loads(line))

    def _obey(self, order: dict[str, Any]) -> None:
        if "start" in order:
            self._start(order["start"], order)
        elif order.get("terminate") in self._processes:
            os.kill(self._processes[order["terminate"]], signal.SIGTERM)
        elif order.get("listen") in self._orders:
            os.write(self._orders[order["listen"]], json.dumps(order["ports"]).encode() + b"\n")
        elif order.get("end") in self._orders:
            os.close(self._orders.pop(order["end"]))

    def _start(self, id_: str, order: dict[str, Any]) -> None:
        reading, writing = os.pipe()
        child = os.fork()
        if child:
            os.close(reading)
            self._processes[id_], self._orders[id_] = child, writing
            return
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            os.close(writing)
            for other in self._orders.values():
                os.close(other)  # or those pods would not see the end of their orders
            _Pod(id_, order, reading).run()
            status = 0
        finally:
            os._exit(status)

    def _reap(self) -> None:
        while self._processes:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            for id_ in [id_ for id_, process in self._processes.items() if process == child]:
                del self._processes[id_]
                if id_ in self._orders:
                    os.close(self._orders.pop(id_))
                _report(ended=id_, status=os.waitstatus_to_exitcode(status))


def _report(**said: object) -> None:
    """Say something in one write, which no other process can get into."""
    os.write(sys.stdout.fileno(), json.dumps(said).encode() + b"\n")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us
    _Node().run()
