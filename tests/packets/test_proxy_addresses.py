"""The addresses of a machine, as netlink and as the program ip tell them."""

from __future__ import annotations

import json
from collections.abc import Callable

from netns import Namespace, join

from nearwise.proxy.addresses import machine_addresses


def test_the_addresses_of_a_machine_are_those_that_ip_tells(host: Callable[[], Namespace]) -> None:
    made, other = host(), host()
    made.set("net.ipv6.conf.default.accept_dad", 0)
    join(made, other, "192.168.9")
    for number in range(1, 200):
        made.ip(f"addr add 10.1.0.{number}/32 dev lo")
    made.ip("addr add fd00:1::1/64 dev lo")
    made.ip("addr add 10.9.0.1 peer 10.9.0.2/32 dev lo")  # ours is the first
    with made.entered():
        found = machine_addresses()
    told = {
        each["local"]
        for link in json.loads(made.ip("-j addr"))
        for each in link["addr_info"]
        if "local" in each
    }
    assert set(found) == told
    assert "10.9.0.2" not in found
    assert list(found).index("127.0.0.1") < list(found).index("::1")  # IPv4 first


def test_a_machine_without_any_address_has_none(host: Callable[[], Namespace]) -> None:
    made = host()
    made.ip("addr flush dev lo")
    with made.entered():
        assert machine_addresses() == ()
