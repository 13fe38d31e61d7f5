"""Both ends of the connections of the soak, as programs: who serves, and who connects.

``soak_ends.py serve PORT`` answers TCP and UDP on all addresses with the address that was asked.
``soak_ends.py connect FILE PLACE...`` connects to each place (``tcp/10.0.0.1/80``) in turn until
its input ends, and writes a line for each time: when it began, when it ended, the place, and who
answered or what went wrong.
"""

from __future__ import annotations

import selectors
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

_IP_PKTINFO = 8  # ip(7); the socket module has no name for it before 3.12
_PATIENCE = 5.0  # seconds for a connection
_TRIES = 5  # for a datagram: its answer is lost when its connection is cut off meanwhile
_PAUSE = 0.002
_ABORT = struct.pack("ii", 1, 0)  # no state is left behind by who closes so
_LONG = 300  # datagrams after which a place gets a new socket


def serve(port: int) -> None:
    """Answer until killed."""
    listening = socket.create_server(("", port), backlog=1024)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
    datagrams.bind(("", port))
    both = selectors.DefaultSelector()
    for each in (listening, datagrams):
        both.register(each, selectors.EVENT_READ)
    print("serving", flush=True)
    while True:
        for key, _ in both.select():
            if key.fileobj is listening:
                connection, _ = listening.accept()
                with connection:
                    connection.sendall(connection.getsockname()[0].encode())
            else:
                question, about, _, client = datagrams.recvmsg(32, 64)
                asked = about[0][2][8:12]  # ipi_addr of in_pktinfo
                source = [(socket.IPPROTO_IP, _IP_PKTINFO, bytes(4) + asked + bytes(4))]
                answer = question + b" " + socket.inet_ntoa(asked).encode()
                datagrams.sendmsg([answer], source, 0, client)


def connect(file: Path, places: list[str]) -> None:
    """Connect until the input ends."""
    ended = threading.Event()
    threading.Thread(target=_wait, args=(ended,), daemon=True).start()
    flows = {place: Flow(place) for place in places if place.startswith("udp/")}
    turn = 0
    with file.open("w") as out:
        while not ended.is_set():
            place = places[turn % len(places)]
            turn += 1
            began = time.monotonic()
            try:
                answer = flows[place].ask() if place in flows else _connected(place)
            except OSError as wrong:
                answer = f"failed:{type(wrong).__name__}"
            out.write(f"{began} {time.monotonic()} {place} {answer}\n")
            time.sleep(_PAUSE)


def _wait(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


class Flow:
    """Datagrams to one place, many from one socket, so that connection tracking takes part."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._left = 0

    def ask(self) -> str:
        """Return who answered."""
        if not self._left:
            self._left = _LONG
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.settimeout(_PATIENCE / _TRIES)
            self._socket.connect(_address(self._place))
        self._left -= 1
        question = str(time.monotonic_ns())
        for _ in range(_TRIES):
            self._socket.send(question.encode())
            with suppress(TimeoutError):
                while True:
                    asked, answer = self._socket.recv(64).decode().split()
                    if asked == question:  # else it is late
                        return answer
        raise TimeoutError


def _connected(place: str) -> str:
    with socket.create_connection(_address(place), timeout=_PATIENCE) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
        return connection.recv(64).decode()


def _address(place: str) -> tuple[str, int]:
    _, address, port = place.split("/")
    return address, int(port)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", port]:
            serve(int(port))
        case ["connect", file, *places]:
            connect(Path(file), places)
