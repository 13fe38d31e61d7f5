"""Which definition is which kind."""

from __future__ import annotations

from functools import cache
from typing import Final

from nearwise.server.openapi.language import Definition, read
from nearwise.server.openapi.schemas import TABLES

_PACKAGES: Final = {
    "v1": "io.k8s.api.core.v1",
    "apps/v1": "io.k8s.api.apps.v1",
    "autoscaling/v1": "io.k8s.api.autoscaling.v1",
    "coordination.k8s.io/v1": "io.k8s.api.coordination.v1",
    "discovery.k8s.io/v1": "io.k8s.api.discovery.v1",
    "events.k8s.io/v1": "io.k8s.api.events.v1",
}
"""Where the kinds of an API version are defined."""

META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"

EVERYWHERE: Final = ("DeleteOptions", "Status", "WatchEvent")
"""Kinds that belong to all API versions."""


@cache
def definitions() -> dict[str, Definition]:
    """Return all definitions by their full names; read once."""
    return read(TABLES)


def name_of(api_version: str, kind: str) -> str:
    """Return the full name of a kind's definition, whether or not there is one."""
    return f"{META if kind in EVERYWHERE else _PACKAGES.get(api_version, '')}.{kind}"


def definition_of(api_version: str, kind: str) -> Definition | None:
    """Return the definition of a kind; None for those that are not known."""
    return definitions().get(name_of(api_version, kind))
