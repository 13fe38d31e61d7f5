"""The API over HTTP: a plain ASGI application, for any server that speaks it.

Law: HTTP is here and nothing else: who may ask, how much, in which format, and how an answer is
written. What is asked for is decided in ``requests``, what comes of it in ``api``.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec

from nearwise.model.meta import Status
from nearwise.server import discovery, statuses
from nearwise.server.api import Api, Written
from nearwise.server.objects.bodies import read_object
from nearwise.server.objects.stored import load
from nearwise.server.openapi import document
from nearwise.server.openapi.documents import NO_KINDS, V2, V2_PROTOBUF, V2_PROTOBUF_ASKED
from nearwise.server.patch import PatchError
from nearwise.server.requests import JSON, WRITTEN, Request, Verb, acceptable, read_request
from nearwise.server.scaling import scale_of
from nearwise.server.statuses import Refusal
from nearwise.server.watching import Watch

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_LOG: Final = logging.getLogger(__name__)


class Limits(msgspec.Struct, frozen=True):
    """How much a client may send and have open."""

    body: int = 3 << 20
    """Bytes of a body, as in Kubernetes."""
    url: int = 64 << 10
    """Bytes of path and query: label selectors can be long."""
    headers: int = 256 << 10
    """Bytes of all headers."""
    watches: int = 20_000
    """Watches that are open at a time, of all clients."""


class Answer(msgspec.Struct, frozen=True):
    """A response that is there as a whole."""

    body: bytes
    status: int = 200
    media: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


class App:
    """The ASGI application of one API."""

    def __init__(
        self,
        api: Api,
        *,
        token: str = "",
        limits: Limits | None = None,
        refuses_expired_watches: bool = False,
    ) -> None:
        """Serve an API to who has the token; with "" to everybody.

        A watch from a version that is no longer kept is answered with an ERROR event in a good
        response, as kube-apiserver mostly does; or it is refused with 410, as it does too
        sometimes, and clients have to cope with both.
        """
        self._api = api
        self._token = token.encode()
        self._limits = limits or Limits()
        self._refuses_expired_watches = refuses_expired_watches

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Serve one request, or the begin and end of the server."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            raise NotImplementedError(f"{scope['type']} is not spoken here")

    async def _serve(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        answer: Answer | Watch
        try:
            headers = _headers(scope["headers"])
            request = self._read(scope, headers)
            if isinstance(request, Answer):
                answer = request
            elif request.verb is Verb.WATCH:
                answer = self._watch(request)
            else:
                answer = await self._answer(request, await self._body(headers, receive))
        except (Refusal, PatchError) as refused:
            answer = _refused(refused.status)
        except Exception:
            _LOG.exception("%s %s failed", scope["method"], scope["path"])
            answer = _refused(statuses.internal_error("see the log of the server").status)
        if isinstance(answer, Answer):
            await _send(answer, send)
        else:
            assert isinstance(request, Request)
            await _stream(_answered(request, b""), answer, receive, send)

    def _read(self, scope: MutableMapping[str, Any], headers: dict[str, str]) -> Request | Answer:
        """Return what is asked for, or the answer when it is always the same one."""
        path, query = scope["path"], scope["query_string"]
        if len(scope.get("raw_path") or path) + len(query) > self._limits.url:
            raise statuses.uri_too_long(self._limits.url)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > self._limits.headers:
            raise statuses.headers_too_large(self._limits.headers)
        if not self._is_known(headers) and path not in discovery.OPEN:
            raise statuses.unauthorized()
        request = read_request(scope["method"], path, query, headers)
        if request is not None:
            return request
        answer = _page(path, headers)
        if scope["method"] != "GET" and answer is not _NOT_FOUND:
            raise statuses.method_not_allowed()
        if not self._api.can_write and (check := path.strip("/")) in _CHECKS:
            return _unwell(check)
        return answer

    def _is_known(self, headers: Mapping[str, str]) -> bool:
        if not self._token:
            return True
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip().encode("latin-1", "replace")
        return scheme.lower() == "bearer" and hmac.compare_digest(given, self._token)

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        """Read the body of a request. Raises Refusal (413) when it is too long."""
        limit = self._limits.body
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > limit:
            raise statuses.too_large(limit)
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise statuses.bad_request("the client went away")
            part: bytes = message.get("body", b"")
            size += len(part)
            if size > limit:
                raise statuses.too_large(limit)
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)

    async def _answer(self, request: Request, body: bytes) -> Answer:
        """Carry out a request that is not a watch."""
        at, api = request.at, self._api
        match request.verb:
            case Verb.GET:
                return self._shown(request, api.get(at, request.first("resourceVersion")).value)
            case Verb.LIST:
                listing = api.list(at, request.list_options())
                shown = request.view.show_list(listing, api.world.now())
                return _answered(request, shown)
            case Verb.CREATE | Verb.UPDATE:
                return await self._write(request, body)
            case Verb.PATCH:
                options = request.write_options()
                return self._written(request, await api.patch(at, request.patch(body), options))
            case Verb.DELETE:
                return await self._delete(request, body)
            case _:
                chosen, how = request.list_options(), request.delete_options(body)
                listing = await api.delete_collection(at, chosen, how)
                return _answered(request, request.view.show_list(listing, api.world.now()))

    async def _write(self, request: Request, body: bytes) -> Answer:
        at, api = request.at, self._api
        part = at.resource.subresource(at.subresource)
        options = request.write_options()
        sent = read_object(body, request.media, part.kind if part else at.resource.kind)
        if at.subresource == "binding":
            await api.bind(at, sent, options)
            return Answer(statuses.encode(statuses.SUCCESS), 201)
        if request.verb is Verb.CREATE:
            return self._written(request, await api.create(at, sent, options))
        return self._written(request, await api.update(at, sent, options))

    async def _delete(self, request: Request, body: bytes) -> Answer:
        at = request.at
        options = request.delete_options(body)
        deleted = await self._api.delete(at, options)
        if deleted.gone and not at.resource.answers_deleted:
            uid = load(deleted.value, at.resource)["metadata"]["uid"]
            status = statuses.success(at.resource, at.name, uid)
            return _answered(request, statuses.encode(status))
        waits = not deleted.gone and options.orphan_dependents is False
        return self._shown(request, deleted.value, 202 if waits else 200)

    def _written(self, request: Request, written: Written) -> Answer:
        return self._shown(
            request, written.value, 201 if written.created else 200, written.warnings
        )

    def _shown(
        self, request: Request, value: bytes, status: int = 200, warnings: tuple[str, ...] = ()
    ) -> Answer:
        """Answer with one object."""
        at = request.at
        if at.subresource == "scale":
            shown = msgspec.json.encode(scale_of(load(value, at.resource)))
        else:
            shown = request.view.show(value, self._api.world.now())
        return _answered(request, shown, status, warnings)

    # --- Watches --------------------------------------------------------------------------

    def _watch(self, request: Request) -> Watch | Answer:
        """Open a watch, or answer why there is nothing to watch from."""
        if self._api.open_watches >= self._limits.watches:
            raise statuses.too_many_requests()
        try:
            return self._api.watch(request.view, request.at.namespace, request.list_options())
        except Refusal as refused:
            if refused.status.code != 410 or self._refuses_expired_watches:
                raise
            error = {"type": "ERROR", "object": statuses.to_object(refused.status)}
            return _answered(request, msgspec.json.encode(error) + b"\n")


async def _stream(head: Answer, watch: Watch, receive: Receive, send: Send) -> None:
    """Tell a client what is written until the watch ends or the client goes away."""
    listening = asyncio.create_task(_until_gone(receive, watch))
    sending = asyncio.current_task()
    assert sending is not None
    watch.on_cut = partial(_cancel, sending)
    try:
        await send(_start(head))
        async for chunk in watch:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except asyncio.CancelledError:
        # A client that is too slow is cut off in the middle of sending. Its response is left
        # incomplete, so that the server closes the connection.
        if not watch.cut_off:
            raise
    finally:
        watch.close()
        listening.cancel()


def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()


async def _until_gone(receive: Receive, watch: Watch) -> None:
    """Close a watch when its client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
    watch.close()


async def _live(receive: Receive, send: Send) -> None:
    """Agree to the begin and the end of the server."""
    while True:
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return


# --- Answers ------------------------------------------------------------------------------

_NOT_FOUND: Final = Answer(b"404 page not found\n", 404, discovery.TEXT)


def _page(path: str, headers: Mapping[str, str]) -> Answer:
    """Return what the server says about itself."""
    accept = headers.get("accept", "")
    if page := discovery.page(path, accept, headers.get("host", "")):
        return Answer(page.body, media=page.media)
    found = document(path.rstrip("/"))
    if found is None:
        return _NOT_FOUND
    if accept in V2_PROTOBUF_ASKED and found is document(V2):
        return Answer(NO_KINDS, media=V2_PROTOBUF)
    if not acceptable(accept):
        raise statuses.not_acceptable(WRITTEN)
    tag = ("etag", f'"{found.hash}"')
    if headers.get("if-none-match") == tag[1]:
        return Answer(b"", 304, headers=(tag,))
    return Answer(found.body, headers=(tag,))


_CHECKS: Final = frozenset(path.strip("/") for path in discovery.HEALTH)


def _unwell(check: str) -> Answer:
    """Say that nothing can be written, as kube-apiserver does without etcd; why is in the log."""
    text = f"[-]storage failed: reason withheld\n{check} check failed\n"
    return Answer(text.encode(), 500, discovery.TEXT)


def _answered(
    request: Request, body: bytes, status: int = 200, warnings: tuple[str, ...] = ()
) -> Answer:
    own = request.at.resource.warning
    said = (own, *warnings) if own else warnings
    headers = tuple(("warning", f"299 - {_quoted(text)}") for text in said)
    return Answer(body, status, request.accepted, headers)


def _refused(status: Status) -> Answer:
    wait = status.details.retry_after_seconds if status.details else 0
    headers = (("retry-after", str(wait)),) if wait else ()
    return Answer(statuses.encode(status), status.code, headers=headers)


def _quoted(text: str) -> str:
    """Quote the text of a warning; what cannot be in a header is left out (RFC 7234)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{"".join(c if " " <= c <= "~" else "?" for c in escaped)}"'


def _start(answer: Answer) -> Message:
    headers = [
        (b"content-type", answer.media.encode()),
        (b"cache-control", b"no-cache, private"),
        *((name.encode(), value.encode()) for name, value in answer.headers),
    ]
    return {"type": "http.response.start", "status": answer.status, "headers": headers}


async def _send(answer: Answer, send: Send) -> None:
    start = _start(answer)
    start["headers"].append((b"content-length", str(len(answer.body)).encode()))
    await send(start)
    await send({"type": "http.response.body", "body": answer.body})


def _headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name in lower case; of several with one name the values together."""
    found: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]},{text}" if key in found else text
    return found
