"""From an ASGI application to its clients: sockets, TLS, and an end that does not wait for them.

Law: what is asked and answered is not looked at here. A server is an object of its own, without
signals and without anything global, so that several run in one process. However many streams are
open, it has stopped two seconds after it was told to.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import resource
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from uvicorn import Config, Server
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from nearwise.model.errors import InputError

Application = Callable[[Any, Any, Any], Awaitable[None]]
"""What speaks ASGI: it is handed what is asked, and how to receive and to send."""

MAX_HEAD: Final = 1 << 20
"""Bytes before the body of a request after which a connection is closed, as in Go."""

_HEAD: Final = 30.0  # seconds that a client has to say what it wants
_BODY: Final = 60.0  # and then for the body, as in Kubernetes
_TAKEN: Final = 16 << 10  # bytes taken in at a time: as many as TLS sends in one record
_IDLE: Final = 120  # seconds between two requests on a connection; Go's clients use one up to 90
_FILES: Final = 1 << 16  # open files: more than there can be watches
_GRACE: Final = 1  # seconds that requests under way have when the server stops


def tls(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the server's side of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate, key)
    return context


@asynccontextmanager
async def serving(
    app: Application,
    sockets: list[socket.socket],
    context: ssl.SSLContext,
    end_streams: Callable[[], None],
) -> AsyncIterator[None]:
    """Serve an application on these sockets until the block ends.

    ``end_streams`` is called when the server stops: what has no end by itself has to end by it,
    or is broken off a second later.
    """
    config = Config(
        app,
        interface="asgi3",
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",  # the application says itself what is wrong with it
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_GRACE,
        ssl_context_factory=lambda _config, _default: context,
    )
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets))
    listens = asyncio.create_task(server.listening.wait())
    await asyncio.wait((running, listens), return_when=asyncio.FIRST_COMPLETED)
    if not listens.done():
        listens.cancel()
        await running  # says why it does not
    try:
        yield
    finally:
        server.should_exit = True
        end_streams()
        await running
        for connection in tuple(server.server_state.connections):
            with suppress(AttributeError):  # Python 3.11.2 has it of a transport closed twice
                connection.transport.abort()


class _Server(Server):
    """A server that says when it listens, and leaves signals to whoever runs the process."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class _Connection(HttpToolsProtocol):
    """A connection that bounds what a request may take: its head in bytes, all of it in time."""

    _head = 0  # bytes of the head so far, -1 when the body goes on
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        _take_in_less(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        super().data_received(data)
        if self._head >= 0:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        """Begin to read the head of a request."""
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        """Go on with the body."""
        self._head = -1
        self._close_after(_BODY)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Have all of a request."""
        self._stop_timer()
        super().on_message_complete()

    def _await_head(self) -> None:
        self._head = 0
        self._close_after(_HEAD)

    def _close_after(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _take_in_less(transport: Any) -> None:
    """Have a connection take in little at a time.

    asyncio keeps 256 KiB for what TLS takes in, as long as a connection lasts: 1,000 idle watches
    held 290 MB by it, and hold 50 MB without. There is no other way to say so.
    """
    tls: Any = getattr(transport, "_ssl_protocol", None)
    if hasattr(tls, "max_size") and hasattr(tls, "_ssl_buffer_view"):
        tls.max_size = _TAKEN
        tls._ssl_buffer = bytearray(_TAKEN)
        tls._ssl_buffer_view = memoryview(tls._ssl_buffer)


# --- Where to listen ----------------------------------------------------------------------


def allow_many_connections() -> None:
    """Let this process have as many connections open as it may, as programs in Go do.

    Many systems begin with 1,024 open files, some with 256, which a few clients take.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # some systems say they allow more than they do
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextmanager
def listening(address: str, port: int) -> Iterator[list[socket.socket]]:
    """Give sockets that listen on a host name or address, all on one port, until the block ends.

    With port 0 that is any free one. InputError when there is no such address, or when the port
    is taken or not ours to take.
    """
    where = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    try:
        found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError, ValueError):
        raise InputError("is not an address of this machine", source=address) from None
    with ExitStack() as stack:
        sockets: list[socket.socket] = []
        try:
            for family, type_, protocol, _, place in dict.fromkeys(found):
                one = stack.enter_context(socket.socket(family, type_, protocol))
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    # "::" alone means the addresses of IPv4 too.
                    one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, address != "::")
                chosen = port_of(sockets[0]) if sockets else port
                one.bind((place[0], chosen, *place[2:]))
                one.listen()
                sockets.append(one)
        except OSError as error:
            raise _why_not(error, where) from None
        yield sockets


def port_of(one: socket.socket) -> int:
    """Return the port of a socket that listens."""
    port: int = one.getsockname()[1]
    return port


def url_of(address: str, sockets: list[socket.socket]) -> str:
    """Return where a server that listens on an address is reached from this machine."""
    if _is_everything(address):
        address = "127.0.0.1"
    host = f"[{address}]" if ":" in address else address
    return f"https://{host}:{port_of(sockets[0])}"


def names_of(address: str) -> list[str]:
    """Return by which names and addresses a server that listens on this one is reached."""
    if not _is_everything(address):
        return [address]
    name = socket.gethostname()
    found = {name} if name.isascii() else set()
    for family, place in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as one:
                one.connect((place, 9))  # sends nothing, but chooses the address to send from
                found.add(one.getsockname()[0])
        except OSError:
            continue  # this machine has no way out in that family
    return sorted(found)


def _is_everything(address: str) -> bool:
    """Tell whether an address stands for all addresses of this machine."""
    try:
        return ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False


def _why_not(error: OSError, where: str) -> InputError:
    match error.errno:
        case errno.EADDRINUSE:
            hint = "stop what listens there, or choose another port with --port (0: any free one)"
            return InputError("is in use", source=where, hint=hint)
        case errno.EACCES:
            hint = "choose a port above 1023 with --port"
            return InputError("may not be listened on", source=where, hint=hint)
        case errno.EADDRNOTAVAIL:
            return InputError("is not an address of this machine", source=where)
        case _:
            return InputError(f"cannot be listened on: {error.strerror}", source=where)
