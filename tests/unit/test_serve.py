"""The server's sockets: TLS, several at once, an end in time, and bounds for rude clients."""

from __future__ import annotations

import asyncio
import errno
import gc
import signal
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from nearwise.model.errors import InputError
from nearwise.server import serve
from nearwise.server.certificates import Certificates, kept
from nearwise.server.serve import listening, names_of, port_of, serving, tls, url_of


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return kept(tmp_path_factory.mktemp("pki"), (), datetime.now(UTC))


# --- An application and its client ----------------------------------------------------------


class Application:
    """Answers with its name, or with a stream that goes on until it is ended."""

    def __init__(self, name: str = "here", *, obeys: bool = True) -> None:
        self.name = name
        self.obeys = obeys
        self.ended = asyncio.Event()
        self.requests = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests += 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/stream":
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            await self.ended.wait()
        await send({"type": "http.response.body", "body": self.name.encode()})

    def end(self) -> None:
        if self.obeys:
            self.ended.set()


@asynccontextmanager
async def served(app: Application, certificates: Certificates) -> AsyncIterator[int]:
    """Serve an application; gives the port."""
    context = tls(certificates.certificate, certificates.key)
    with listening("127.0.0.1", 0) as sockets:
        async with serving(app, sockets, context, app.end):
            yield port_of(sockets[0])


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def ask(self, path: str) -> None:
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())

    async def go_on(self, part: bytes, times: int) -> None:
        for _ in range(times):
            self.writer.write(part)
            await self.writer.drain()
            await asyncio.sleep(0)


@asynccontextmanager
async def connected(port: int, certificates: Certificates) -> AsyncIterator[Client]:
    context = ssl.create_default_context(cafile=certificates.authority)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


async def ask(port: int, certificates: Certificates, path: str = "/") -> bytes:
    """Return a whole response."""
    async with connected(port, certificates) as client:
        client.ask(path)
        return await client.reader.read()


def run(test: Callable[[], Any], seconds: float = 20.0) -> None:
    """Run a test, which hangs if it takes so long."""

    async def bounded() -> None:
        async with asyncio.timeout(seconds):
            await test()

    asyncio.run(bounded())


# --- Serving --------------------------------------------------------------------------------


def test_it_answers_over_tls(certificates: Certificates) -> None:
    async def test() -> None:
        async with served(Application(), certificates) as port:
            answer = await ask(port, certificates)
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"here" in answer
        assert b"\r\nserver:" not in answer.lower()

    run(test)


def test_it_does_not_answer_without_tls(certificates: Certificates) -> None:
    async def test() -> None:
        app = Application()
        async with served(app, certificates) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = await reader.read()
            writer.close()
        assert b"HTTP" not in answer
        assert app.requests == 0

    run(test)


def test_several_serve_side_by_side_and_end_one_by_one(certificates: Certificates) -> None:
    async def test() -> None:
        async with served(Application("one"), certificates) as one:
            async with served(Application("two"), certificates) as two:
                assert one != two
                assert b"one" in await ask(one, certificates)
                assert b"two" in await ask(two, certificates)
            assert b"one" in await ask(one, certificates)
            with pytest.raises(ConnectionRefusedError):
                await ask(two, certificates)

    run(test)


def test_signals_are_left_to_who_runs_the_process(certificates: Certificates) -> None:
    async def test() -> None:
        before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
        async with served(Application(), certificates):
            now = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
        assert now == before

    run(test)


def test_a_server_that_cannot_begin_says_why(certificates: Certificates) -> None:
    async def test() -> None:
        app = Application()
        context = tls(certificates.certificate, certificates.key)
        with listening("127.0.0.1", 0) as sockets:
            sockets[0].close()
            with pytest.raises(OSError, match="Bad file descriptor"):
                async with serving(app, sockets, context, app.end):
                    pass

    run(test)


# --- The end --------------------------------------------------------------------------------


def test_open_streams_end_in_good_order_when_the_server_stops(certificates: Certificates) -> None:
    async def test() -> None:
        async with served(Application(), certificates) as port:
            answer = asyncio.create_task(ask(port, certificates, "/stream"))
            await asyncio.sleep(0.1)
        assert (await answer).endswith(b"here\r\n0\r\n\r\n")

    run(test)


def test_streams_that_do_not_end_are_broken_off(certificates: Certificates) -> None:
    async def test() -> None:
        async with served(Application(obeys=False), certificates) as port:
            answers = [asyncio.create_task(ask(port, certificates, "/stream")) for _ in range(20)]
            await asyncio.sleep(0.2)
        for answer in answers:
            try:
                text = await answer
            except ConnectionError:
                continue
            assert text.endswith(b"first\r\n")

    run(test)


def test_a_client_that_says_nothing_does_not_hold_up_the_end(certificates: Certificates) -> None:
    async def test() -> None:
        async with asyncio.timeout(10):
            async with served(Application(), certificates) as port:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.sleep(0.05)
        writer.close()

    run(test)


def test_the_port_is_free_afterwards(certificates: Certificates) -> None:
    async def test() -> None:
        async with served(Application(), certificates) as port:
            await ask(port, certificates)
        with listening("127.0.0.1", port):
            pass

    run(test)


# --- Bounds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["", ": x\r\n"], ids=["one header", "many headers"])
def test_an_endless_head_is_cut_off(certificates: Certificates, end: str) -> None:
    async def test() -> None:
        app = Application()
        async with served(app, certificates) as port, connected(port, certificates) as client:
            client.writer.write(b"GET / HTTP/1.1\r\n")
            with pytest.raises(ConnectionError):
                await client.go_on(("X" * 1000 + end).encode(), 10_000)
        assert app.requests == 0

    run(test)


def test_a_long_body_is_no_long_head(certificates: Certificates) -> None:
    async def test() -> None:
        async with (
            served(Application(), certificates) as port,
            connected(port, certificates) as client,
        ):
            size = 2 * serve.MAX_HEAD
            head = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n"
            client.writer.write(head.encode() + b"x" * size)
            await client.writer.drain()
            assert await client.reader.readline() == b"HTTP/1.1 200 OK\r\n"

    run(test)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost"], ids=["nothing", "half a head"])
def test_a_client_that_does_not_come_to_the_point_is_hung_up_on(
    certificates: Certificates, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "_HEAD", 0.05)

    async def test() -> None:
        app = Application()
        async with served(app, certificates) as port, connected(port, certificates) as client:
            client.writer.write(sent)
            assert await client.reader.read() == b""
        assert app.requests == 0

    run(test)


def test_a_client_that_does_not_finish_its_body_is_hung_up_on(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "_BODY", 0.05)

    async def test() -> None:
        async with (
            served(Application(), certificates) as port,
            connected(port, certificates) as client,
        ):
            client.writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
            assert (await client.reader.read()).startswith(b"HTTP/1.1 200 OK")

    run(test)


@pytest.mark.parametrize("header", ["X: y", "Connection: Upgrade\r\nUpgrade: websocket"])
def test_a_request_without_a_body_is_there_with_its_head(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    monkeypatch.setattr(serve, "_BODY", 0.05)

    async def test() -> None:
        app = Application()
        async with served(app, certificates) as port, connected(port, certificates) as client:
            client.writer.write(f"GET /stream HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n".encode())
            await client.reader.readuntil(b"first\r\n")
            await asyncio.sleep(0.2)
            app.end()
            assert b"here" in await client.reader.readuntil(b"0\r\n\r\n")

    run(test)


def test_an_idle_connection_holds_little_memory(certificates: Certificates) -> None:
    def servers() -> list[Any]:
        """Return the server's sides of connections, those that others left too."""
        found = (each for each in gc.get_objects() if isinstance(each, SSLProtocol))
        return [each for each in found if getattr(each, "_server_side", False)]

    async def test() -> None:
        before = servers()
        async with (
            served(Application(), certificates) as port,
            connected(port, certificates) as client,
        ):
            client.ask("/stream")
            await client.reader.readuntil(b"first\r\n")
            held = [each.max_size for each in servers() if each not in before]
        assert held == [16 << 10]

    run(test)


def test_a_connection_is_used_again_after_a_pause(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "_HEAD", 0.1)

    async def test() -> None:
        async with (
            served(Application(), certificates) as port,
            connected(port, certificates) as client,
        ):
            for _ in range(3):
                client.writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                assert (await client.reader.readuntil(b"0\r\n\r\n")).startswith(b"HTTP/1.1 200")
                await asyncio.sleep(0.2)

    run(test)


def test_what_is_not_http_gets_a_400(certificates: Certificates) -> None:
    async def test() -> None:
        async with (
            served(Application(), certificates) as port,
            connected(port, certificates) as client,
        ):
            client.writer.write(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
            assert (await client.reader.readline()).startswith(b"HTTP/1.1 400")

    run(test)


# --- Where to listen ------------------------------------------------------------------------


def refusal(address: str, port: int) -> str:
    """Try to listen; return why that is refused."""
    with pytest.raises(InputError) as refused, listening(address, port):
        pass
    return str(refused.value)


def test_all_addresses_of_a_name_get_one_port() -> None:
    with listening("localhost", 0) as sockets:
        ports = {port_of(one) for one in sockets}
    assert len(ports) == 1
    assert ports != {0}


def test_a_port_that_is_in_use_is_named_with_what_to_do() -> None:
    with listening("127.0.0.1", 0) as sockets:
        port = port_of(sockets[0])
        assert refusal("127.0.0.1", port) == (
            f"127.0.0.1:{port}: is in use (stop what listens there, or choose another port with "
            "--port (0: any free one))"
        )


@pytest.mark.parametrize("address", ["no.such.host.invalid", "192.0.2.1", "2001:db8::1", "a\x00b"])
def test_what_is_not_an_address_of_this_machine_is_refused(address: str) -> None:
    assert "is not an address of this machine" in refusal(address, 0)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (errno.EACCES, "127.0.0.1:80: may not be listened on (choose a port above 1023 with --p"),
        (errno.ENOBUFS, "127.0.0.1:80: cannot be listened on: No buffer space available"),
    ],
)
def test_other_reasons_of_the_system_are_told(
    code: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Socket(socket.socket):
        def bind(self, _address: object) -> None:
            raise OSError(code, {errno.ENOBUFS: "No buffer space available"}.get(code, ""))

    monkeypatch.setattr("nearwise.server.serve.socket.socket", Socket)
    assert refusal("127.0.0.1", 80).startswith(text)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "[::1]"),
        ("kube.example", "kube.example"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "127.0.0.1"),
    ],
)
def test_the_url_leads_there_from_this_machine(address: str, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one:
        assert url_of(address, [one]) == f"https://{host}:{port_of(one)}"


def test_a_server_is_known_by_the_address_it_listens_on() -> None:
    assert names_of("kube.example") == ["kube.example"]
    assert names_of("192.0.2.7") == ["192.0.2.7"]


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_a_server_on_all_addresses_is_known_by_the_name_of_the_machine(address: str) -> None:
    assert socket.gethostname() in names_of(address)


def test_listening_on_everything_takes_both_families() -> None:
    with listening("::", 0) as (one,):
        socket.create_connection(("127.0.0.1", port_of(one)), timeout=5).close()
