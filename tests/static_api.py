"""An API server that only tells what it has: discovery, OpenAPI, and a few objects."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from nearwise.server.openapi import document
from nearwise.server.openapi.documents import V2
from nearwise.server.resources import GROUPS, Resource


class Write(NamedTuple):
    """A request that would have changed something."""

    method: str
    path: str
    query: str
    media: str
    body: Any


class StaticAPI:
    """The objects by their paths, and what was asked."""

    def __init__(self, objects: dict[str, Any]) -> None:
        self.objects = objects
        self.asked: list[str] = []
        self.writes: list[Write] = []
        self.server = ""

    def get(self, path: str) -> tuple[int, bytes]:
        """Answer a question. The OpenAPI of the second version is only there in JSON: 406."""
        self.asked.append(path)
        found = None if path == V2 else document(path)
        if found is not None:
            return 200, found.body
        answer = _DISCOVERY.get(path) or self.objects.get(path)
        if answer is not None:
            return 200, json.dumps(answer).encode()
        code, reason = (406, "NotAcceptable") if path == V2 else (404, "NotFound")
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
        return code, json.dumps({**status, "reason": reason, "message": reason}).encode()


def _listed(resources: tuple[Resource, ...]) -> list[dict[str, Any]]:
    return [
        {
            "name": each.plural,
            "singularName": each.singular,
            "namespaced": each.namespaced,
            "kind": each.kind,
            "shortNames": each.short_names,
            "verbs": each.verbs,
        }
        for each in resources
    ]


_DISCOVERY: dict[str, Any] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [
            {
                "name": group,
                "versions": [{"groupVersion": f"{group}/{version}", "version": version}],
                "preferredVersion": {"groupVersion": f"{group}/{version}", "version": version},
            }
            for group, version in GROUPS
            if group
        ],
    },
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.0"},
    **{
        f"/{'apis' if group else 'api'}/{resources[0].api_version}": {
            "kind": "APIResourceList",
            "groupVersion": resources[0].api_version,
            "resources": _listed(resources),
        }
        for (group, _), resources in GROUPS.items()
    },
}


@contextmanager
def serving(api: StaticAPI) -> Iterator[StaticAPI]:
    """Serve on a free port of this machine. What is written is answered with itself."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(*api.get(urlsplit(self.path).path))

        def do_POST(self) -> None:
            url = urlsplit(self.path)
            data = self.rfile.read(int(self.headers["Content-Length"]))
            media = self.headers["Content-Type"]
            api.writes.append(Write(self.command, url.path, url.query, media, json.loads(data)))
            stored = api.objects.get(url.path)
            self._send(200, data if stored is None else json.dumps(stored).encode())

        def do_PATCH(self) -> None:
            self.do_POST()

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    api.server = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
