"""What our own writes must have done to the cache before it can be trusted again.

Between a write and the watch event that tells of it, the cache shows slices as they were before.
Who plans on it writes the same thing twice, or fails on a conflict (k/k#92928). So for each slice
written, the generation that the server answered is remembered, and nothing is planned for the
service until the cache has caught up. Kubernetes' own controllers do so since 1.21, but for this:
a slice that we wrote, and that somebody deleted before the cache showed it, is not waited for for
ever. The version of the write tells that the cache is past it.

Slices are known by uid: a slice of the same name made anew is another one. Generations rise with
every change of what a slice lists, but not with its labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.indexes import service_of
from nearwise.machinery.resource_version import is_later
from nearwise.model import EndpointSlice

_DELETED: Final = -1  # in place of a generation


class _Write(NamedTuple):
    """What we left of a slice: its generation, and the version of the write."""

    generation: int
    version: str


class SliceExpectations:
    """The slices of each service as our latest writes left them."""

    def __init__(self) -> None:
        self._written: dict[ObjectKey, dict[str, _Write]] = {}  # by service and uid

    # --- what we wrote --------------------------------------------------------------------

    def wrote(self, slice_: EndpointSlice) -> None:
        """Remember a slice as the server answered our create or update."""
        meta = slice_.metadata
        self._remember(slice_, _Write(meta.generation, meta.resource_version))

    def deleted(self, slice_: EndpointSlice) -> None:
        """Remember that the server took our deletion of a slice that the cache showed."""
        self._remember(slice_, _Write(_DELETED, ""))

    def forget(self, service: ObjectKey) -> None:
        """Expect nothing more for a service: it is gone."""
        self._written.pop(service, None)

    # --- what the cache shows -------------------------------------------------------------

    def is_stale(self, service: ObjectKey, cached: Iterable[EndpointSlice], seen: str) -> bool:
        """Tell whether the cache is behind our own writes, so that nothing may be planned on it.

        ``cached`` are all slices of the service that we manage, and ``seen`` is the version up to
        which the cache has seen everything (empty while it lists anew). It is behind when it shows
        an older generation than ours, does not show yet what we wrote, or still shows what we
        deleted. A slice that is marked for deletion has been seen, and is not waited for.

        Writes to slices that are gone are forgotten here.
        """
        written = self._written.get(service)
        if not written:
            return False
        shown = {slice_.metadata.uid: slice_.metadata for slice_ in cached}
        stale = False
        for uid, write in list(written.items()):
            meta = shown.get(uid)
            if meta is None:
                if write.generation != _DELETED and is_later(write.version, seen):
                    stale = True
                else:
                    del written[uid]
            elif meta.deletion_timestamp is None:
                stale |= write.generation == _DELETED or meta.generation < write.generation
        return stale

    def is_ours(self, slice_: EndpointSlice) -> bool:
        """Tell whether a slice that the cache shows now is no newer than our own last write.

        If not, somebody else wrote it, and its service is to be looked at. A slice never written
        by us is not ours either. A change of labels alone is not told by a generation: compare
        them.
        """
        write = self._of(slice_).get(slice_.metadata.uid)
        return write is not None and slice_.metadata.generation <= write.generation

    def saw_gone(self, slice_: EndpointSlice) -> bool:
        """Take note that the cache shows a slice no more; tell whether we deleted it.

        It was deleted, or (``slice_`` being what it was before) its labels say another service or
        another manager now. If we did not do that, its service is to be looked at.
        """
        write = self._of(slice_).pop(slice_.metadata.uid, None)
        return write is not None and write.generation == _DELETED

    # --- inside ---------------------------------------------------------------------------

    def _remember(self, slice_: EndpointSlice, write: _Write) -> None:
        for service in service_of(slice_):
            self._written.setdefault(service, {})[slice_.metadata.uid] = write

    def _of(self, slice_: EndpointSlice) -> dict[str, _Write]:
        for service in service_of(slice_):
            return self._written.get(service, {})
        return {}
