"""The way to an API server: TLS, who we are, the proxy, and what is said when no answer came.

Law: how any server is asked is here; what it is asked, and what its answers mean, is not. A request
is sent once. Only when the server does not know us (401, so nothing was done) and our credentials
can be renewed, it is sent again as who we are then.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from nearwise import __version__
from nearwise.client.credentials import Identity
from nearwise.client.errors import ClusterError
from nearwise.client.kubeconfig import Access
from nearwise.client.tls import tls_context
from nearwise.model.errors import LostError

_CONNECT: Final = 10.0  # seconds, TLS included
_SILENCE: Final = 60.0  # seconds; the API server's own limit for requests that are no watch

# A peer that vanished without a word is noticed after a minute, on a silent watch too.
_KEEPALIVE: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}


class BrokenError(LostError):
    """The connection broke or fell silent while it was in use: another one may do better."""


class Connection:
    """The way to one API server, open while in its ``async with``.

    Every request under way has a connection (HTTP/1.1) of its own, which the next one may use.
    How many there are is up to those who ask.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._asking = asyncio.Lock()  # one program run at a time asks for credentials
        self._identity = Identity()
        self._tls: tuple[str | None, ssl.SSLContext] | None = None
        self._proxy = _proxy(access)
        self._answers: set[aiohttp.ClientResponse] = set()  # those that are being read

    async def __aenter__(self) -> Self:
        """Find out who we are. Raises ClusterError for credentials that are of no use."""
        await self._ask_identity()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, socket_factory=_socket),
            middlewares=(self._once,),
            headers=[
                ("User-Agent", f"nearwise/{__version__}"),
                ("Accept", "application/json"),
                ("Accept-Encoding", "gzip"),
                *self._access.headers,
            ],
        )
        return self

    async def __aexit__(self, *_failure: object) -> None:
        """Close all connections; whoever still waits for an answer gets LostError."""
        for answer in self._answers:
            answer.close()  # the session's own close would leave its reader waiting for ever
        await self._session.close()

    @property
    def server(self) -> str:
        """The server's address, for messages."""
        return self._access.server

    @asynccontextmanager
    async def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None = None,
        *,
        silence: float | None = _SILENCE,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request, with JSON if there is a body, and give the answer to be read.

        Raises LostError when no answer comes, when it breaks off while it is read, or after so many
        seconds of silence (None: however long it lasts).
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=silence)
        request = {"params": query, "data": body, "timeout": timeout}
        try:
            identity = await self._who()
            response = await self._send(method, path, identity, request)
            if response.status == 401 and self._access.credentials.can_renew:
                response.release()
                identity = await self._who(refused=identity)
                response = await self._send(method, path, identity, request)
            self._answers.add(response)
            try:
                async with response:
                    yield response
            finally:
                self._answers.remove(response)
        except (aiohttp.ClientPayloadError, aiohttp.SocketTimeoutError) as error:
            raise BrokenError(self._told(error)) from None
        except (aiohttp.ClientError, TimeoutError) as error:
            raise LostError(self._told(error)) from None

    async def _send(
        self, method: str, path: str, identity: Identity, request: Mapping[str, Any]
    ) -> aiohttp.ClientResponse:
        headers = {}
        if identity.authorization is not None:
            headers["Authorization"] = identity.authorization.reveal()
        if request["data"] is not None:
            headers["Content-Type"] = "application/json"
        try:
            return await self._session.request(
                method,
                self._access.server + path,
                **request,
                headers=headers,
                ssl=self._tls_for(identity),
                server_hostname=self._access.tls_server_name,
                proxy=self._proxy,
                allow_redirects=False,
            )
        except aiohttp.ClientError:
            raise  # some of them are ValueErrors too
        except ValueError as error:  # a token or a name to impersonate with a line break in it
            raise LostError(f"cannot ask {self.server} as {self._access.origin}: {error}") from None

    async def _once(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Let no write be repeated: aiohttp sends PUT and DELETE again when a connection breaks."""
        try:
            return await handler(request)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            raise BrokenError(self._told(error)) from None

    async def _who(self, refused: Identity | None = None) -> Identity:
        try:
            return await self._ask_identity(refused)
        except ClusterError as error:
            raise LostError(str(error)) from None

    async def _ask_identity(self, refused: Identity | None = None) -> Identity:
        """Return who we are; asks again for what the server has refused."""
        credentials = self._access.credentials
        async with self._asking:
            if refused is not None and refused is self._identity:
                credentials.renew()
            identity = await asyncio.to_thread(credentials.identity)
            self._tls_for(identity)
            self._identity = identity
            return identity

    def _tls_for(self, identity: Identity) -> ssl.SSLContext | bool:
        """Return the TLS settings, with the client certificate of this identity."""
        if self._access.server.startswith("http:"):
            return True  # not used
        if self._tls is None or self._tls[0] != identity.certificate:
            self._tls = (identity.certificate, tls_context(self._access, identity))
        return self._tls[1]

    def _told(self, error: Exception) -> str:
        """Say from where no answer came, and why."""
        server = self._access.server
        match error:
            case aiohttp.ClientConnectorCertificateError():
                why = error.certificate_error
                shown = getattr(why, "verify_message", str(why))
                return f"{server} shows a certificate that is not trusted: {shown}"
            case aiohttp.ClientProxyConnectionError():
                what = f"cannot reach the proxy to {server}"
            case aiohttp.ClientHttpProxyError():
                what = f"cannot get through the proxy to {server}"
            case (
                aiohttp.ClientConnectorError()
                | aiohttp.ConnectionTimeoutError()
                | aiohttp.InvalidURL()
            ):
                what = f"cannot reach {server}"
            case _:
                what = f"no answer from {server}"
        return f"{what}: {_why(error)}"


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Make a socket that notices when its peer is no longer there."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # not on every system
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made


def _proxy(access: Access) -> str | None:
    """Return the proxy: the kubeconfig's, else the environment's as other programs use it."""
    if access.proxy is not None:
        return access.proxy.reveal()
    server = urlsplit(access.server)
    if proxy_bypass(server.hostname or ""):
        return None
    return getproxies().get(server.scheme)


def _why(error: Exception) -> str:
    """Say in a few words why no answer came. No address: that of a proxy may hold a password."""
    match error:
        case TimeoutError():
            return "it took too long"
        case aiohttp.ServerDisconnectedError():
            return "it closed the connection"
        case aiohttp.ClientPayloadError():
            return "it broke off in the middle"
        case aiohttp.InvalidURL():
            return "its address, or that of the proxy, is none"
        case aiohttp.ClientResponseError():
            return f"{error.status} {error.message}"
    cause: Exception = getattr(error, "os_error", error)
    if isinstance(cause, OSError) and cause.errno:
        # Name resolution has negative numbers and texts of its own.
        return (os.strerror(cause.errno) if cause.errno > 0 else cause.strerror or "").lower()
    return str(cause) or type(cause).__name__
