"""A live cluster read once: everything that decides routing."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from nearwise.client.api import Api
from nearwise.client.errors import ForbiddenError
from nearwise.client.kubeconfig import Access
from nearwise.model.objects import Objects, gather
from nearwise.model.resources import (
    ENDPOINT_SLICES,
    ENDPOINTS,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    SERVICES,
    Resource,
)

_FIELDS: Final[dict[str, Resource[Any]]] = {
    "nodes": NODES,
    "namespaces": NAMESPACES,
    "services": SERVICES,
    "endpoints": ENDPOINTS,
    "slices": ENDPOINT_SLICES,
    "pods": PODS,
    "events": EVENTS,
}


def read(
    access: Access, namespace: str | None, *, all_pods: bool = False
) -> tuple[Objects, list[ForbiddenError]]:
    """Return the objects of one namespace (None: of all), the nodes and the namespaces.

    With ``all_pods`` the pods of other namespaces are there too. A kind that we may not list is
    left out and its refusal returned, but without services there is no answer: raises
    ForbiddenError for these, and ClusterError when the cluster is not reached.
    """
    return asyncio.run(_read(access, namespace, all_pods))


async def _read(
    access: Access, namespace: str | None, all_pods: bool
) -> tuple[Objects, list[ForbiddenError]]:
    async with Api(access) as api:
        answers = await asyncio.gather(
            *(
                api.list(resource, None if all_pods and resource is PODS else namespace)
                for resource in _FIELDS.values()
            ),
            return_exceptions=True,
        )
    found: dict[str, tuple[Any, ...]] = {}
    refusals = []
    for (field, resource), answer in zip(_FIELDS.items(), answers, strict=True):
        if isinstance(answer, ForbiddenError) and resource is not SERVICES:
            refusals.append(answer)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found[field] = answer
    return gather(found, {}, ()), refusals
