"""A node with hosts around it, all of their own network: pods on it, pods elsewhere, outside.

Every pod that is an endpoint answers on its ports, TCP and UDP, with its own address and port and
with the source address it saw. Devices have addresses of 172.31, fd00:172; so what is masqueraded
comes from there, whatever address of the node a client on it has.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from enum import Enum
from typing import Final, NamedTuple

from netns import Namespace, run

from nearwise.nft.diff import Transaction
from nearwise.proxy.netlink import NetlinkKernel
from proxied_services import PORTS, V4, V6

_KINDS: Final = {"TCP": socket.SOCK_STREAM, "UDP": socket.SOCK_DGRAM}


class Silence(Enum):
    """How a connection can fail."""

    REFUSED = "refused"
    SILENT = "silent"  # nothing came back in time


class Reply(NamedTuple):
    """Who answered, and whom it answered."""

    address: str
    port: int
    source: str


Heard = Reply | Silence


class Lab:
    """The hosts. Addresses of pods and clients lead to their hosts."""

    def __init__(self, make: Callable[[], Namespace]) -> None:
        def host() -> Namespace:
            made = make()
            made.set("net.ipv6.conf.default.accept_dad", 0)  # else nothing is sent for seconds
            return made

        self.node = host()
        for key, value in {
            "net.ipv4.ip_forward": 1,
            "net.ipv6.conf.all.forwarding": 1,
            "net.ipv4.conf.all.rp_filter": 0,
            "net.ipv4.conf.default.rp_filter": 0,
            "net.ipv4.conf.all.send_redirects": 0,
            "net.ipv4.conf.default.send_redirects": 0,
            "net.ipv4.icmp_ratemask": 0,
            "net.ipv6.icmp.ratelimit": 0,
        }.items():
            self.node.set(key, value)
        self.hosts: dict[str, Namespace] = {}
        self.endpoints: list[str] = []
        self.own: list[str] = []
        for place in (V4, V6):
            for number in (1, 2):
                self._own(self.node, f"{place.node}{number}")
                self.own.append(f"{place.node}{number}")
        self._cables = 0
        far = self._wire(
            host(), *[f"{each.far}{number}" for number in (1, 2, 3, 4) for each in (V4, V6)]
        )
        for number in (1, 2, 3):
            self._wire(host(), *[f"{each.near}{number}" for each in (V4, V6)])
        silent = {f"{place.node}2" for place in (V4, V6)}
        self.endpoints = [each for each in self.hosts if each not in silent]
        self._wire(host(), *[f"{each.near}77" for each in (V4, V6)])
        self._wire(host(), *[f"{each.far}77" for each in (V4, V6)])
        self._wire(host(), *[f"{each.outside}9" for each in (V4, V6)])
        # What is nobody's goes to where it comes to an end: a host that forwards nothing.
        self.node.ip(f"route add default via 172.31.{far}.2")
        self.node.ip(f"-6 route add default via fd00:172:{far}::2")

    def _own(self, host: Namespace, address: str) -> None:
        self.hosts[address] = host
        if ":" in address:
            host.ip(f"addr add {address}/128 dev lo nodad")
        else:
            host.ip(f"addr add {address}/32 dev lo")

    def _wire(self, host: Namespace, *addresses: str) -> int:
        """Lay a cable from the node to a host with some addresses; return its number."""
        self._cables += 1
        number = self._cables
        device = f"to{number}"
        run("ip", "-n", self.node.name, "link", "add", device, "type", "veth",
            "peer", "name", "cable", "netns", host.name)  # fmt: skip
        for end, name, last in ((self.node, device, 1), (host, "cable", 2)):
            end.ip(f"addr add 172.31.{number}.{last}/24 dev {name}")
            end.ip(f"addr add fd00:172:{number}::{last}/64 dev {name} nodad")
            end.ip(f"link set {name} up")
        self.own += [f"172.31.{number}.1", f"fd00:172:{number}::1"]
        host.ip(f"route add default via 172.31.{number}.1")
        host.ip(f"-6 route add default via fd00:172:{number}::1")
        for address in addresses:
            self._own(host, address)
            if ":" in address:
                self.node.ip(f"-6 route add {address}/128 via fd00:172:{number}::2")
            else:
                self.node.ip(f"route add {address}/32 via 172.31.{number}.2")
        return number

    def load(self, change: Transaction) -> None:
        """Carry a transaction out in the kernel of the node."""
        with self.node.entered(), closing(NetlinkKernel()) as kernel:
            kernel.apply(change)

    # --- who answers ------------------------------------------------------------------------

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        """Have all endpoints answer."""
        loop = asyncio.get_running_loop()
        servers, transports = [], []
        for address in self.endpoints:
            for port in PORTS:
                stream = self._socket(address, port, "TCP")
                servers.append(await asyncio.start_server(_answer, sock=stream, backlog=500))
                transport, _ = await loop.create_datagram_endpoint(
                    _Answering, sock=self._socket(address, port, "UDP")
                )
                transports.append(transport)
        try:
            yield
        finally:
            for server in servers:
                server.close()
                await server.wait_closed()
            for transport in transports:
                transport.close()
            await asyncio.sleep(0)

    def _socket(self, address: str, port: int, protocol: str) -> socket.socket:
        """Make a socket on the host of an address."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with self.hosts[address].entered():
            made = socket.socket(family, _KINDS[protocol])
        made.setblocking(False)
        if port:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        return made

    # --- who asks -----------------------------------------------------------------------------

    async def ask(
        self, source: str, destination: str, port: int, protocol: str = "TCP", patience: float = 10
    ) -> Heard:
        """Connect from an address, and wait so many seconds for an answer."""
        with closing(self._socket(source, 0, protocol)) as client:
            talk = _ask_stream if protocol == "TCP" else _ask_datagram
            try:
                text = await asyncio.wait_for(talk(client, destination, port), patience)
            except ConnectionRefusedError:
                return Silence.REFUSED
            except OSError:  # also when it took too long
                return Silence.SILENT
        return _reply(text)

    @asynccontextmanager
    async def talking(
        self, source: str, destination: str, port: int
    ) -> AsyncIterator[Callable[[], Awaitable[Reply]]]:
        """Keep a TCP connection; it gives what asks again on it."""
        with closing(self._socket(source, 0, "TCP")) as client:
            await _ask_stream(client, destination, port)

            async def ask() -> Reply:
                return _reply(await asyncio.wait_for(_ask_again(client), 10))

            yield ask


def _reply(text: str) -> Reply:
    address, port, source = text.split()
    return Reply(address, int(port), source)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    address, port = writer.get_extra_info("sockname")[:2]
    source = writer.get_extra_info("peername")[0]
    with suppress(OSError):  # whoever asked may be gone
        while await reader.read(100):
            writer.write(f"{address} {port} {source}".encode())
        writer.close()
        await writer.wait_closed()


class _Answering(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self.transport = transport
        self.address, self.port = transport.get_extra_info("sockname")[:2]

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.transport.sendto(f"{self.address} {self.port} {addr[0]}".encode(), addr)


async def _ask_stream(client: socket.socket, address: str, port: int) -> str:
    await asyncio.get_running_loop().sock_connect(client, (address, port))
    return await _ask_again(client)


async def _ask_again(client: socket.socket) -> str:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(client, b"?")
    return (await loop.sock_recv(client, 200)).decode()


async def _ask_datagram(client: socket.socket, address: str, port: int) -> str:
    """Ask again and again: datagrams get lost."""
    loop = asyncio.get_running_loop()
    client.connect((address, port))
    while True:
        with suppress(PermissionError):  # dropped on the way out; a refusal comes as an answer
            client.send(b"?")
        with suppress(TimeoutError):
            return (await asyncio.wait_for(loop.sock_recv(client, 200), 0.5)).decode()
