"""Bodies that an API server takes, to be spoilt by tests, and its refusals in short."""

from __future__ import annotations

from typing import Any

from nearwise.model.validation import Verdict


def service(metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """Return a good Service, with other metadata or fields of its spec."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", **(metadata or {})},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}, **spec},
    }


def slice_of(*endpoints: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a good EndpointSlice with these endpoints and other fields."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "web-abc12"},
        "addressType": "IPv4",
        "endpoints": list(endpoints),
        **fields,
    }


def causes(verdict: Verdict) -> list[str]:
    """Return what is wrong as ``field: message``, without the examples that follow a rule."""
    return [f"{one.field}: {one.message}".partition(" (e.g.")[0] for one in verdict.causes]


def invalid(field: str, value: str, *details: str) -> list[str]:
    """Return the causes for one value with these faults."""
    return [f"{field}: Invalid value: {value}: {detail}" for detail in details]


LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
_WORD = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
NAME_PART = f"name part must {_WORD}"
QUALIFIED = f"a qualified name must {_WORD}"
LABEL_VALUE = f"a valid label must be an empty string or {_WORD}"
