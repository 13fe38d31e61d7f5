"""What our own writes must have done to the cache before it can be trusted again.

Between a write and the watch event that tells of it, the cache shows slices as they were before.
Who plans on it writes the same thing twice, or fails on a conflict (k/k#92928). So for each slice
written, the generation that the server answered is remembered, and nothing is planned for the
service until the cache has caught up. It is as Kubernetes' own controllers do since 1.21.

Slices are known by uid: a slice of the same name made anew is another one. Generations rise with
every change of what a slice lists, but not with its labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nearwise.machinery.cache import ObjectKey
from nearwise.machinery.indexes import service_of
from nearwise.model import EndpointSlice

_DELETED: Final = -1  # in place of a generation


class SliceExpectations:
    """The slices of each service as our latest writes left them."""

    def __init__(self) -> None:
        self._expected: dict[ObjectKey, dict[str, int]] = {}  # by service and uid: generation

    # --- what we wrote --------------------------------------------------------------------

    def wrote(self, slice_: EndpointSlice) -> None:
        """Remember a slice as the server answered our create or update."""
        self._expect(slice_, slice_.metadata.generation)

    def deleted(self, slice_: EndpointSlice) -> None:
        """Remember that the server took our deletion of a slice."""
        self._expect(slice_, _DELETED)

    def forget(self, service: ObjectKey) -> None:
        """Expect nothing more for a service: it is gone."""
        self._expected.pop(service, None)

    # --- what the cache shows -------------------------------------------------------------

    def is_stale(self, service: ObjectKey, cached: Iterable[EndpointSlice]) -> bool:
        """Tell whether the cache is behind our own writes, so that nothing may be planned on it.

        ``cached`` are all slices of the service that we manage. It is behind when it shows an
        older generation than ours, does not show a slice that we wrote, or still shows one that
        we deleted. A slice that is marked for deletion has been seen, and is not waited for.
        """
        expected = self._expected.get(service)
        if not expected:
            return False
        shown = {slice_.metadata.uid: slice_.metadata for slice_ in cached}
        for uid, generation in expected.items():
            meta = shown.get(uid)
            if meta is None:
                if generation != _DELETED:
                    return True
            elif meta.deletion_timestamp is None and (
                generation == _DELETED or meta.generation < generation
            ):
                return True
        return False

    def is_ours(self, slice_: EndpointSlice) -> bool:
        """Tell whether a slice that the cache shows now is no newer than our own last write.

        If not, somebody else wrote it, and its service is to be looked at. A slice never written
        by us is not ours either. A change of labels alone is not told by a generation: compare
        them.
        """
        known = self._of(slice_).get(slice_.metadata.uid)
        return known is not None and slice_.metadata.generation <= known

    def saw_gone(self, slice_: EndpointSlice) -> bool:
        """Take note that the cache shows a slice no more; tell whether we deleted it.

        It was deleted, or (``slice_`` being what it was before) its labels say another service or
        another manager now. If we did not do that, its service is to be looked at.
        """
        known = self._of(slice_).pop(slice_.metadata.uid, None)
        return known == _DELETED

    # --- inside ---------------------------------------------------------------------------

    def _expect(self, slice_: EndpointSlice, generation: int) -> None:
        for service in service_of(slice_):
            self._expected.setdefault(service, {})[slice_.metadata.uid] = generation

    def _of(self, slice_: EndpointSlice) -> dict[str, int]:
        for service in service_of(slice_):
            return self._expected.get(service, {})
        return {}
