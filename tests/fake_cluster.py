"""A small API server for tests: it lists what it was given, in pages, and can be told to fail."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

KINDS = {
    "nodes": "Node",
    "namespaces": "Namespace",
    "services": "Service",
    "endpoints": "Endpoints",
    "endpointslices": "EndpointSlice",
    "pods": "Pod",
    "events": "Event",
}


class Request(NamedTuple):
    """What the server was asked."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]


class Answer(NamedTuple):
    """What the server says instead of its objects."""

    status: int
    body: object = ""
    headers: dict[str, str] = {}


def status(code: int, reason: str, message: str) -> Answer:
    """Return an answer with a Status, as the API server makes it."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return Answer(code, {**body, "message": message, "reason": reason, "code": code})


class FakeCluster:
    """The objects, the answers to give first, and the requests that came."""

    def __init__(self, objects: Iterable[dict[str, Any]] = ()) -> None:
        self.objects = list(objects)
        self.requests: list[Request] = []
        self.first: list[Answer | None] = []  # None: close the connection without an answer
        self.forbidden: set[str] = set()  # plurals
        self.server = ""  # its address

    def answer(self, request: Request) -> Answer | None:
        """Return what to say."""
        self.requests.append(request)
        if self.first:
            return self.first.pop(0)
        *parents, plural = request.path.strip("/").split("/")
        namespace = parents[-1] if "namespaces" in parents else None
        if plural in self.forbidden:
            return status(403, "Forbidden", f'{plural} is forbidden: User "ann" cannot list them')
        found = [
            {key: value for key, value in each.items() if key not in ("apiVersion", "kind")}
            for each in self.objects
            if each["kind"] == KINDS[plural]
            and namespace in (None, each["metadata"].get("namespace"))
        ]
        begin = int(request.query.get("continue", 0))
        end = begin + int(request.query.get("limit", len(found)))
        metadata = {"resourceVersion": "7", **({"continue": str(end)} if end < len(found) else {})}
        return Answer(200, {"metadata": metadata, "items": found[begin:end] or None})


@contextmanager
def serving(cluster: FakeCluster, tls: ssl.SSLContext | None = None) -> Iterator[FakeCluster]:
    """Serve the cluster on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            request = Request(url.path, dict(parse_qsl(url.query)), dict(self.headers.items()))
            answer = cluster.answer(request)
            if answer is None:
                self.close_connection = True
                return
            body = (
                answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
            ).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients that hang up
    scheme = "http" if tls is None else "https"
    cluster.server = f"{scheme}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield cluster
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
