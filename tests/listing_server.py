"""An API server that knows lists and watches of one resource, and can be made to misbehave."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from msgspec.structs import replace

from nearwise.model import ObjectMeta, Pod, Status
from nearwise.model.meta import ListMeta, StatusCause, StatusDetails

Snapshot = dict[tuple[str, str], Pod]
Event = tuple[str, Pod]

GONE = Status(code=410, reason="Expired", message="too old resource version: 50 (100)")
TOKEN_EXPIRED = Status(
    metadata=ListMeta(continue_="the-inconsistent-rest"), code=410, reason="Expired"
)
FORBIDDEN_PARAMETER = Status(code=422, reason="Invalid", message="sendInitialEvents is forbidden")
BUSY = Status(code=429, reason="TooManyRequests", details=StatusDetails(retry_after_seconds=1))
BROKEN = Status(code=500, reason="InternalError")
TOO_LARGE = Status(
    code=504,
    reason="Timeout",
    message="Timeout: Too large resource version: 99, current: 9",
    details=StatusDetails(
        causes=(StatusCause("ResourceVersionTooLarge", "Too large resource version"),),
        retry_after_seconds=1,
    ),
)


class Streaming(Enum):
    """How a server takes the request for a streaming list."""

    KNOWN = "known"
    REFUSED = "refused"
    IGNORED = "ignored"


class RefusalError(Exception):
    """The answer is a Status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


def pod(name: str, version: int = 0, uid: str = "", node: str = "") -> Pod:
    """Make a pod at a version."""
    made = Pod(metadata=ObjectMeta(name, "", "shop", uid or f"uid-{name}", str(version or "")))
    return replace(made, spec=replace(made.spec, node_name=node))


def bookmark(version: int, *, ends_initial: bool = False) -> Event:
    """Make a bookmark."""
    noted = {"k8s.io/initial-events-end": "true"} if ends_initial else {}
    return "BOOKMARK", Pod(metadata=ObjectMeta(resource_version=str(version), annotations=noted))


class Stream:
    """An open watch: its events from a version on, whenever it is asked."""

    def __init__(self, server: ListingServer, initial: list[Event], since: int) -> None:
        self._server = server
        self._initial = initial
        self._since = since
        self.told: list[Event] = []

    def events(self) -> Iterator[Event]:
        """Yield what has not been told yet; if that is no longer known, refuse to."""
        while self._initial:
            yield self._tell(self._initial.pop(0))
        if self._since < self._server.compacted:
            raise RefusalError(GONE)
        for version, kind, obj in self._server.log:
            if version > self._since:
                self._since = version
                yield self._tell((kind, obj))

    def _tell(self, event: Event) -> Event:
        self.told.append(event)
        return event


class ListingServer:
    """Pods, their history since the last compaction, and how they are asked for."""

    def __init__(self, streaming: Streaming = Streaming.KNOWN, page: int = 2) -> None:
        self.streaming = streaming
        self.page = page  # whatever the client says: five hundred would be long tests
        self.version = 100
        self.compacted = 0
        self.log: list[tuple[int, str, Pod]] = []
        self.gone: set[str] = set()  # versions and tokens that were answered with 410
        self._born = 0
        self._snapshots: dict[int, Snapshot] = {100: {}}

    @property
    def objects(self) -> Snapshot:
        """What there is now."""
        return self._snapshots[self.version]

    def write(self, name: str, node: str) -> None:
        """Create or change a pod."""
        before = self.objects.get(("shop", name))
        if before is None:
            self._born += 1
        uid = before.metadata.uid if before else f"uid-{self._born}"
        after = pod(name, self.version + 1, uid, node)
        self._commit("MODIFIED" if before else "ADDED", after, {("shop", name): after})

    def delete(self, name: str) -> None:
        """Delete a pod, if it is there."""
        before = self.objects.get(("shop", name))
        if before is not None:
            last = pod(name, self.version + 1, before.metadata.uid, before.spec.node_name)
            self._commit("DELETED", last, {})

    def _commit(self, kind: str, obj: Pod, put: Snapshot) -> None:
        after = {k: held for k, held in self.objects.items() if k != obj.metadata.key} | put
        self.version += 1
        self._snapshots[self.version] = dict(sorted(after.items()))
        self.log.append((self.version, kind, obj))

    def compact(self) -> None:
        """Forget the history: who has not seen all of it has to list anew."""
        self.compacted = self.version
        self.log.clear()

    def list(self, query: dict[str, str]) -> tuple[list[Pod], ListMeta]:
        """Answer a list request."""
        assert query.keys() <= {"limit", "continue"}
        token = query.get("continue", "")
        version, _, after = token.partition("/") if token else (str(self.version), "", "")
        if int(version) < self.compacted:
            assert token not in self.gone, "a token that is gone was used again"
            self.gone.add(token)
            raise RefusalError(TOKEN_EXPIRED)
        items = [obj for (_, name), obj in self._snapshots[int(version)].items() if name > after]
        if "limit" not in query or len(items) <= self.page:
            return items, ListMeta(version)
        page = items[: self.page]
        return page, ListMeta(version, f"{version}/{page[-1].metadata.name}")

    def watch(self, query: dict[str, str]) -> Stream:
        """Answer a watch request."""
        assert query["watch"] == query["allowWatchBookmarks"] == "true"
        if query.get("sendInitialEvents"):
            assert query["resourceVersionMatch"] == "NotOlderThan"
            return self._watch_list()
        version = query["resourceVersion"]
        if int(version) < self.compacted:
            assert version not in self.gone, "a version that is gone was asked for again"
            self.gone.add(version)
            raise RefusalError(GONE)
        return Stream(self, [], int(version))

    def _watch_list(self) -> Stream:
        if self.streaming is Streaming.REFUSED:
            raise RefusalError(FORBIDDEN_PARAMETER)
        initial = [("ADDED", obj) for obj in self.objects.values()]
        if self.streaming is Streaming.KNOWN:
            initial.append(bookmark(self.version, ends_initial=True))
        return Stream(self, initial, self.version)
