"""Objects to be shown in tables, and the rows that are made of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from nearwise.server.tables import table

NOW = datetime(2026, 11, 30, 5, 52, 6, tzinfo=UTC)
"""When the recorded Tables were asked for: their ages come out to the second."""


def ago(**time: float) -> str:
    return (NOW - timedelta(**time)).strftime("%Y-%m-%dT%H:%M:%SZ")


def obj(name: str = "web", created: str = ago(seconds=5), **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "creationTimestamp": created}, **fields}


def shown(resource: str, of: dict[str, Any]) -> dict[str, Any]:
    """Return the cells of an object by their columns."""
    plural, _, group = resource.partition(".")
    made = table(plural, group, [of], now=NOW)
    return dict(
        zip((column["name"] for column in made["columnDefinitions"]), row(made), strict=True)
    )


def row(made: dict[str, Any]) -> list[Any]:
    cells: list[Any] = made["rows"][0]["cells"]
    return cells
