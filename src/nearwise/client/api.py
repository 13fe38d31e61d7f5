"""A narrow client of the Kubernetes API: it lists, page by page, and says plainly what failed.

Reads are repeated when the server is busy or a connection breaks; how often and how long is
bounded. What the server answers is decoded straight into the model's structs.
"""

from __future__ import annotations

import asyncio
import http.client
import os
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Generic, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from msgspec.structs import replace

from nearwise import __version__
from nearwise.client.credentials import Identity
from nearwise.client.errors import ClusterError, ForbiddenError
from nearwise.client.kubeconfig import Access
from nearwise.model import Status
from nearwise.model.codec import decode
from nearwise.model.errors import InputError
from nearwise.model.meta import ListMeta, Object
from nearwise.model.resources import K, Resource

T = TypeVar("T")

_PAGE: Final = 500  # objects a request, as kubectl has it
_WAITS: Final = (0.25, 0.5, 1.0, 2.0)  # seconds between attempts, if the server names none
_LONGEST_WAIT: Final = 30.0  # seconds, whatever Retry-After says
_BUSY: Final = frozenset({429, 500, 502, 503, 504})
_BROKEN: Final = (
    aiohttp.ServerDisconnectedError,
    aiohttp.ClientConnectionResetError,
    aiohttp.ClientPayloadError,
    aiohttp.SocketTimeoutError,
)
_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=60)


class _Page(Object, Generic[T], frozen=True):
    """One answer to a list request."""

    metadata: ListMeta = ListMeta()
    items: tuple[T, ...] | None = None


class Api:
    """The API of one cluster, open while in its ``async with``."""

    def __init__(
        self, access: Access, *, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self._access = access
        self._sleep = sleep
        self._asking = asyncio.Lock()  # one program run at a time asks for credentials
        self._identity = Identity()
        self._tls: tuple[str | None, ssl.SSLContext] | None = None
        self._proxy = _proxy(access)

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=8),
            timeout=_TIMEOUT,
            headers=[
                ("User-Agent", f"nearwise/{__version__}"),
                ("Accept", "application/json"),
                *self._access.headers,
            ],
        )
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self._session.close()

    async def list(self, resource: Resource[K], namespace: str | None = None) -> tuple[K, ...]:
        """Return all objects of a kind, in one namespace or (None) in all.

        Raises ForbiddenError when we may not list them, else ClusterError.
        """
        path = resource.path(namespace)
        page_type: type[_Page[K]] = _Page[resource.type]  # type: ignore[name-defined]
        query = {"limit": str(_PAGE)}
        items: list[K] = []
        while True:
            try:
                body = await self._get(path, query)
            except _ExpiredError:
                # The pages would no longer show one moment: read all again, in one piece.
                items, query = [], {}
                body = await self._get(path, query)
            page = self._decode(body, page_type)
            items.extend(page.items or ())
            if not page.metadata.continue_:
                break
            query["continue"] = page.metadata.continue_
        # In a list the items leave out what they are.
        version, kind = resource.api_version, resource.kind
        return tuple(replace(item, api_version=version, kind=kind) for item in items)

    def _decode(self, body: bytes, page_type: type[T]) -> T:
        try:
            return decode(body, page_type)
        except InputError as error:
            raise ClusterError(
                f"{self._access.server} does not answer like a Kubernetes API server: {error} "
                f"({self._access.origin})"
            ) from None

    async def _get(self, path: str, query: Mapping[str, str]) -> bytes:
        """Return the body of a good answer; credentials that were refused are renewed once."""
        identity = await self._ask_identity()
        answer = await self._try(path, query, identity)
        if answer.status == 401 and self._access.credentials.can_renew:
            identity = await self._ask_identity(refused=identity)
            answer = await self._try(path, query, identity)
        if answer.status == 200:
            return answer.body
        raise self._refusal(answer, path)

    async def _try(self, path: str, query: Mapping[str, str], identity: Identity) -> _Answer:
        """Send the request, again while the server is busy or breaks the connection."""
        waits = iter(_WAITS)
        while True:
            wait = next(waits, None)
            try:
                answer = await self._send(path, query, identity)
            except _BROKEN as error:
                if wait is None:
                    raise self._unreached(error) from None
            except (aiohttp.ClientError, TimeoutError) as error:
                raise self._unreached(error) from None
            else:
                if wait is None or answer.status not in _BUSY:
                    return answer
                wait = answer.wait or wait
            await self._sleep(min(wait, _LONGEST_WAIT))

    async def _send(self, path: str, query: Mapping[str, str], identity: Identity) -> _Answer:
        headers = {}
        if identity.authorization is not None:
            headers["Authorization"] = identity.authorization.reveal()
        async with self._session.get(
            self._access.server + path,
            params=query,
            headers=headers,
            ssl=self._tls_for(identity),
            server_hostname=self._access.tls_server_name,
            proxy=self._proxy,
            allow_redirects=False,
        ) as response:
            retry_after = response.headers.get("Retry-After", "")
            wait = float(retry_after) if retry_after.isdecimal() else None
            return _Answer(response.status, wait, await response.read())

    async def _ask_identity(self, refused: Identity | None = None) -> Identity:
        """Return who we are; asks again for what the server has refused."""
        credentials = self._access.credentials
        async with self._asking:
            if refused is not None and refused is self._identity:
                credentials.renew()
            self._identity = await asyncio.to_thread(credentials.identity)
            return self._identity

    def _tls_for(self, identity: Identity) -> ssl.SSLContext | bool:
        """Return the TLS settings, with the client certificate of this identity."""
        if self._access.server.startswith("http:"):
            return True  # not used
        if self._tls is None or self._tls[0] != identity.certificate:
            self._tls = (identity.certificate, tls_context(self._access, identity))
        return self._tls[1]

    def _unreached(self, error: Exception) -> ClusterError:
        """Return what to tell when no answer came."""
        access = self._access
        hint = f"is the context right? ({access.origin})"
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            why = getattr(error.certificate_error, "verify_message", str(error.certificate_error))
            return ClusterError(
                f"{access.server} shows a certificate that is not trusted: {why}; {hint}"
            )
        where = "the proxy to " if isinstance(error, aiohttp.ClientProxyConnectionError) else ""
        return ClusterError(f"cannot reach {where}{access.server}: {_why(error)}; {hint}")

    def _refusal(self, answer: _Answer, path: str) -> ClusterError:
        """Return what to tell when the answer is not what we asked for."""
        access = self._access
        try:
            status = decode(answer.body, Status)
        except InputError:
            status = Status()  # not from a Kubernetes API server
        said = status.message or http.client.responses.get(answer.status, "no reason given")
        match answer.status:
            case 401:
                return ClusterError(
                    f"{access.server} does not accept our credentials: {said}; "
                    f"log in again, or is the context right? ({access.origin})"
                )
            case 403:
                return ForbiddenError(f"{said} ({access.origin})")
            case 410:
                return _ExpiredError(said)
            case code:
                return ClusterError(
                    f"{access.server} answers {code} to {path}: {said} ({access.origin})"
                )


class _ExpiredError(ClusterError):
    """A list cannot be continued: its snapshot is gone (410)."""


class _Answer(NamedTuple):
    """What came back."""

    status: int
    wait: float | None  # seconds, from Retry-After
    body: bytes


def tls_context(access: Access, identity: Identity) -> ssl.SSLContext:
    """Return how to check the server, and what to show to it.

    Python 3.13 turned on ``VERIFY_X509_STRICT``, which refuses the certificates of many clusters
    (no Authority Key Identifier); kubectl does not ask for that, and neither do we. Raises
    ClusterError for certificates and keys that are none.
    """
    try:
        context = ssl.create_default_context(cadata=access.authority)
    except (ssl.SSLError, ValueError) as error:
        raise ClusterError(f"the certificate-authority of {access.origin}: {error}") from None
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if access.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if identity.certificate and identity.key:
        # The ssl module takes files only. The folder is ours alone (0700) and short-lived.
        with tempfile.TemporaryDirectory(prefix="nearwise-") as folder:
            path = Path(folder, "client.pem")
            path.write_text(f"{identity.certificate}\n{identity.key.reveal()}")
            try:
                context.load_cert_chain(path, password="")
            except (ssl.SSLError, ValueError):
                raise ClusterError(
                    f"the client certificate and key of {access.origin} are not usable: "
                    "both must be PEM, belong together, and have no pass phrase"
                ) from None
    return context


def _proxy(access: Access) -> str | None:
    """Return the proxy: the kubeconfig's, else the environment's as other programs use it."""
    if access.proxy is not None:
        return access.proxy.reveal()
    server = urlsplit(access.server)
    if proxy_bypass(server.hostname or ""):
        return None
    return getproxies().get(server.scheme)


def _why(error: Exception) -> str:
    """Say in a few words why no answer came."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    cause: Exception = getattr(error, "os_error", error)
    if isinstance(cause, OSError) and cause.errno:
        # Name resolution has negative numbers and texts of its own.
        return (os.strerror(cause.errno) if cause.errno > 0 else cause.strerror or "").lower()
    return str(cause) or type(cause).__name__
