"""What an EndpointSlice is refused for, beyond the recorded answers."""

from __future__ import annotations

from typing import Any

import pytest

from api_objects import LABEL_VALUE, SUBDOMAIN, causes, invalid, slice_of
from nearwise.model.validation import validate


def refused(*endpoints: dict[str, Any], **fields: Any) -> list[str]:
    verdict = validate(slice_of(*endpoints, **fields))
    assert (verdict.status, verdict.reason) == (422, "Invalid")
    return causes(verdict)


@pytest.mark.parametrize(
    ("address", "detail"),
    [
        ("fe80::1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        ("::1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        ("::", "may not be unspecified (::)"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ("fd00::01", 'must be in canonical form ("fd00::1")'),
    ],
)
def test_an_ipv6_endpoint_has_a_usable_address_in_its_one_spelling(
    address: str, detail: str
) -> None:
    assert refused({"addresses": [address]}, addressType="IPv6") == invalid(
        "endpoints[0].addresses[0]", f'"{address}"', detail
    )


def test_an_address_of_the_wrong_family_may_be_wrong_in_itself_too() -> None:
    multicast = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
    assert refused({"addresses": ["ff02::1"]}) == [
        *invalid("endpoints[0].addresses", '"ff02::1"', "must be an IPv4 address"),
        *invalid("endpoints[0].addresses[0]", '"ff02::1"', multicast),
    ]


def test_host_names_may_end_in_a_dot_but_not_be_empty() -> None:
    good = slice_of({"addresses": ["example.com."]}, addressType="FQDN")
    assert validate(good).status == 201
    assert refused({"addresses": ["", "a..b"]}, addressType="FQDN") == [
        "endpoints[0].addresses[0]: Required value",
        *invalid("endpoints[0].addresses[1]", '"a..b"', SUBDOMAIN),
    ]


def test_hints_name_zones_and_nodes() -> None:
    hints = {"forZones": [{"name": "a b"}], "forNodes": [{"name": "N"}]}
    assert refused({"addresses": ["10.0.0.1"], "hints": hints}) == [
        *invalid("endpoints[0].hints.forZones[0].name", '"a b"', LABEL_VALUE),
        *invalid("endpoints[0].hints.forNodes[0].name", '"N"', SUBDOMAIN),
    ]


def test_more_than_eight_zones_are_too_many_to_look_at() -> None:
    hints = {"forZones": [{"name": "same"}] * 9}
    assert refused({"addresses": ["10.0.0.1"], "hints": hints}) == [
        "endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"
    ]


def test_there_is_a_limit_to_ports_too() -> None:
    assert refused(ports=[{"port": 80}] * 20001) == [
        "ports: Too many: 20001: must have at most 20000 items"
    ]
