"""The kinds, written down: one line a field, in the language of ``openapi/language.py``.

Law: what a field is called, what it holds, how lists of it merge and what it is for is said here
and nowhere else. From the API types of Kubernetes 1.36, fields behind gates included, as the API
server takes them too; the descriptions are our own. Each module has tables by the package that
Kubernetes has the types in.
"""

from typing import Final

from nearwise.server.openapi.schemas import (
    containers,
    meta,
    nodes,
    pod_status,
    pods,
    records,
    services,
    volumes,
    workloads,
)

TABLES: Final = tuple(
    item
    for module in (
        containers,
        meta,
        nodes,
        pod_status,
        pods,
        records,
        services,
        volumes,
        workloads,
    )
    for item in module.TABLES.items()
)
"""Package and text, several to a package."""
