"""Kinds that are written back: nothing that the API knows of them is lost on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nearwise.model import resources
from nearwise.model.codec import decode, to_dict
from nearwise.model.resources import Resource
from nearwise.server.openapi.definitions import definitions, name_of

WHOLE = [each for each in vars(resources).values() if isinstance(each, Resource) and each.whole]

VALUES: dict[str, Any] = {"bool": True, "int32": 7, "int64": 7, "string": "some text"}
TIME = "2026-11-30T05:43:40Z"

# The API server keeps these itself, whatever is sent.
ITS_OWN = {"managedFields", "selfLink", "deprecatedTopology"}


def filled(type_: str) -> Any:
    """Return a value of a type of the API in which every field says something."""
    if type_ in VALUES:
        return VALUES[type_]
    if type_.endswith("Time"):
        return TIME
    if type_.endswith("IntOrString"):
        return "http"
    return {
        name: _many(field.many, filled(field.type))
        for name, field in definitions()[type_].fields.items()
        if name not in ITS_OWN
    }


def _many(how: str, one: Any) -> Any:
    return {"": one, "list": [one], "map": {"some/key": one}}[how]


def test_the_kinds_that_controllers_and_proxies_write() -> None:
    assert {each.kind for each in WHOLE} == {
        *("EndpointSlice", "Endpoints", "Event", "Lease", "Service"),
    }


@pytest.mark.parametrize("resource", WHOLE, ids=lambda each: each.kind)
def test_every_field_of_the_api_comes_back(resource: Resource[Any]) -> None:
    given = filled(name_of(resource.api_version, resource.kind))
    given |= {"apiVersion": resource.api_version, "kind": resource.kind}

    kept = to_dict(decode(json.dumps(given).encode(), resource.type))

    assert kept == given
