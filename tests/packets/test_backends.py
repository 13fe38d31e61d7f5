"""Both ways to the kernel's tables do the same: one suite for the two."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from ipaddress import ip_address
from itertools import permutations
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from netns import Namespace

from nearwise.nft.diff import Transaction, apply, diff
from nearwise.nft.layout import AFFINITY, ENDPOINTS, OWN_ENDPOINTS, SERVICES
from nearwise.nft.registers import pack_drawn
from nearwise.nft.ruleset import Drop, Family, Goto, Ruleset, Unknown, Verdict
from nearwise.nft.text import ruleset_text
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.netlink import NetlinkKernel
from nearwise.proxy.program import ProgramKernel
from ruleset_builders import Sample, address, built, endpoint_of, frontend_of, rulesets

BACKENDS: dict[str, type[NetlinkKernel] | type[ProgramKernel]] = {
    "netlink": NetlinkKernel,
    "nft": ProgramKernel,
}
IPV4, IPV6 = Family.IPV4, Family.IPV6
WEB, DNS = Sample(1, comment="default/web:http"), Sample(2, "UDP", 53, 3, comment="kube/dns:dns")
SHOP = [
    WEB,
    DNS,
    Sample(3, "SCTP", 9, 4, is_local=True),
    Sample(4, endpoints=0),
    Sample(5, endpoints=1, masquerade=True, sources=(1, 2)),
]
STICKY = Sample(6, endpoints=2, seconds=10800)


class Node(NamedTuple):
    """A host, and the kernel of it."""

    host: Namespace
    kernel: NetlinkKernel | ProgramKernel

    def load(self, ruleset: Ruleset) -> None:
        self.kernel.apply(diff(self.kernel.read(ruleset.family), ruleset))

    def listing(self) -> str:
        return self.host.run("nft", "list", "ruleset")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def node(host: Callable[[], Namespace], backend: str) -> Iterator[Node]:
    yield from entered(host(), backend)


def entered(there: Namespace, backend: str) -> Iterator[Node]:
    with there.entered(), closing(BACKENDS[backend]()) as kernel:
        yield Node(there, kernel)


def sorted_elements(listing: str) -> list[str]:
    """Sort the lines of each block, for sets are listed in any order."""
    one_by_one = listing.replace("elements = { ", "").replace(" }\n", "\n").replace(", ", ",\n")
    blocks = one_by_one.split("\n\n")
    return ["\n".join(sorted(line.strip(" \t,") for line in each.split("\n"))) for each in blocks]


# --- there and back -------------------------------------------------------------------------


@pytest.mark.parametrize("family", Family)
def test_where_there_is_no_table_none_is_read(node: Node, family: Family) -> None:
    assert node.kernel.read(family) is None
    assert node.kernel.pins(family) == {}


@pytest.mark.parametrize("family", Family)
def test_a_table_is_loaded_from_nothing_and_read_back_as_it_was(node: Node, family: Family) -> None:
    wanted = built(family, SHOP)
    node.load(wanted)
    assert node.kernel.read(family) == wanted
    assert diff(node.kernel.read(family), wanted).is_empty


def test_both_families_are_apart(node: Node) -> None:
    node.load(built(IPV4, SHOP))
    node.load(built(IPV6, [WEB]))
    assert node.kernel.read(IPV4) == built(IPV4, SHOP)
    assert node.kernel.read(IPV6) == built(IPV6, [WEB])


def test_what_is_printed_is_what_nft_lists(node: Node) -> None:
    wanted = built(IPV4, [*SHOP, STICKY])
    node.load(wanted)
    assert sorted_elements(node.listing()) == sorted_elements(ruleset_text(wanted))


def test_a_large_table_is_loaded_and_read_back(node: Node) -> None:
    wanted = built(IPV4, [Sample(n, endpoints=n % 5, seconds=n % 3 and 60) for n in range(3000)])
    node.load(wanted)
    assert node.kernel.read(IPV4) == wanted


@pytest.mark.parametrize("names", list(permutations(BACKENDS)), ids="-then-".join)
def test_a_table_that_one_loaded_the_other_reads_and_changes(
    host: Callable[[], Namespace], names: tuple[str, str]
) -> None:
    with ExitStack() as stack:
        stack.enter_context(host().entered())
        one, other = (stack.enter_context(closing(BACKENDS[name]())) for name in names)
        before, after = built(IPV4, [*SHOP, STICKY]), built(IPV4, [WEB, STICKY, Sample(9)])
        one.apply(diff(None, before))
        assert other.read(IPV4) == before
        other.apply(diff(before, after))
        assert one.read(IPV4) == other.read(IPV4) == after


@pytest.mark.parametrize("family", Family)
def test_nft_lists_the_same_whoever_loaded_it(
    host: Callable[[], Namespace], family: Family
) -> None:
    listings = []
    for backend in BACKENDS:
        for node in entered(host(), backend):
            node.load(built(family, [*SHOP, *[STICKY] * (family is IPV4)]))
            listings.append(node.listing())
    assert sorted_elements(listings[0]) == sorted_elements(listings[1])


@pytest.mark.parametrize("family", Family)
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_ruleset_follows_any_other(node: Node, family: Family, data: st.DataObject) -> None:
    for _ in range(2):
        wanted = data.draw(rulesets(family, sticky=can_stick(node, family)))
        node.load(wanted)
        assert node.kernel.read(family) == wanted


def can_stick(node: Node, family: Family) -> bool:
    """Say whether session affinity can be loaded: not over IPv6 by nft 1.0.6."""
    return family is IPV4 or isinstance(node.kernel, NetlinkKernel)


# --- changes --------------------------------------------------------------------------------

CHANGES = {
    "an endpoint elsewhere": ([WEB], [WEB._replace(number=1)]),
    "one endpoint more": ([WEB], [WEB._replace(endpoints=3)]),
    "no endpoint left": ([WEB], [WEB._replace(endpoints=0)]),
    "a service more": ([WEB], [WEB, DNS]),
    "a service less": ([WEB, DNS], [DNS]),
    "another comment": ([WEB], [WEB._replace(comment="other")]),
    "sources fenced in": ([WEB], [WEB._replace(sources=(1, 4))]),
    "sources let in again": ([WEB._replace(sources=(1, 4))], [WEB._replace(sources=(4,))]),
    "sticky from now on": ([WEB], [WEB._replace(seconds=60)]),
    "sticky for longer": ([WEB._replace(seconds=60)], [WEB._replace(seconds=90)]),
    "sticky no more": ([WEB._replace(seconds=60)], [WEB]),
    "everything new": (SHOP, [Sample(8), Sample(9, endpoints=7)]),
    "nothing left": (SHOP, []),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_arrives(node: Node, change: str) -> None:
    before, after = (built(IPV4, services) for services in CHANGES[change])
    node.load(before)
    node.kernel.apply(diff(before, after))
    assert node.kernel.read(IPV4) == after


def test_a_changed_endpoint_changes_nothing_else(node: Node) -> None:
    ruleset = built(IPV4, SHOP)
    node.load(ruleset)
    key = frontend_of(IPV4, WEB) + pack_drawn(0)
    change = Transaction(
        IPV4,
        drop={ENDPOINTS: {key: ruleset.elements[ENDPOINTS][key]}},
        put={ENDPOINTS: {key: endpoint_of(IPV4, 999)}},
    )
    count = node.kernel.generation()
    node.kernel.apply(change)
    apply(ruleset, change)
    assert node.kernel.read(IPV4) == ruleset
    assert node.kernel.generation() == count + 1


def test_a_table_is_made_anew_over_any_that_is_there(node: Node) -> None:
    node.host.nft(
        dedent(
            """\
            table ip nearwise {
                set services {
                    type ipv4_addr
                    elements = { 1.2.3.4 }
                }
                chain output {
                    type filter hook output priority 0; policy accept;
                    ip daddr @services drop
                    jump theirs
                }
                chain theirs {
                    tcp dport { 80, 443 } counter accept
                }
            }
            """
        )
    )
    wanted = built(IPV4, SHOP)
    assert diff(node.kernel.read(IPV4), wanted).anew
    node.load(wanted)
    assert node.kernel.read(IPV4) == wanted


BAD_PARTS = {
    "a target that is not there": Transaction(
        IPV4,
        put={
            ENDPOINTS: {frontend_of(IPV4, DNS) + pack_drawn(9): endpoint_of(IPV4, 1)},
            SERVICES: {frontend_of(IPV4, Sample(99)): Verdict(Goto("spread-99"))},
        },
    ),
    "an element that is not there": Transaction(
        IPV4,
        drop={OWN_ENDPOINTS: {bytes(8): None}},
        put={OWN_ENDPOINTS: {bytes((9,)) * 8: None}},
    ),
    "a chain that is still named": Transaction(
        IPV4, put={OWN_ENDPOINTS: {bytes((9,)) * 8: None}}, gone_chains=("spread-2",)
    ),
    "another value for a key that is there": Transaction(
        IPV4,
        put={
            OWN_ENDPOINTS: {bytes((9,)) * 8: None},
            SERVICES: {frontend_of(IPV4, WEB): Verdict(Drop())},
        },
    ),
}


@pytest.mark.parametrize("bad", BAD_PARTS)
def test_a_transaction_with_a_bad_part_changes_nothing(node: Node, bad: str) -> None:
    node.load(built(IPV4, SHOP))
    listing, count = node.listing(), node.kernel.generation()
    with pytest.raises(KernelError):
        node.kernel.apply(BAD_PARTS[bad])
    assert node.listing() == listing
    assert node.kernel.generation() == count


def test_a_change_of_a_table_that_is_gone_is_refused(node: Node) -> None:
    with pytest.raises(KernelError, match="nearwise"):
        node.kernel.apply(diff(built(IPV4, [WEB]), built(IPV4, [DNS])))
    assert node.listing() == ""


def test_a_transaction_of_nothing_is_nothing(node: Node) -> None:
    node.load(built(IPV4, [WEB]))
    node.kernel.apply(Transaction(IPV4))
    assert node.kernel.read(IPV4) == built(IPV4, [WEB])


# --- what others do -------------------------------------------------------------------------

FOREIGN = dedent(
    """\
    table inet firewall {
        set odd {
            typeof vlan id . ip saddr
            flags timeout
            elements = { 3 . 1.2.3.4 timeout 1d }
        }
        set named {
            type ifname . ipv4_addr . inet_service
            flags interval
            elements = { "eth0" . 10.0.0.0/8 . 1-100 }
        }
        chain input {
            type filter hook input priority 0; policy accept;
            tcp dport { 22, 80-90 } counter accept
        }
    }
    table ip nearwise2 {
        chain output {
            type nat hook output priority -100; policy accept;
            ip daddr 10.96.0.1 dnat to 10.0.0.1
        }
    }
    table ip6 kube-proxy {
        chain nearwise {
        }
    }
    """
)


def test_tables_of_others_stay_byte_for_byte_what_they_were(node: Node) -> None:
    node.host.nft(FOREIGN)
    others = node.host.run("nft", "-s", "list", "ruleset")
    for family in Family:
        node.load(built(family, SHOP))
        node.load(built(family, [WEB]))
        assert node.kernel.read(family) == built(family, [WEB])
    node.kernel.remove()
    listing = node.host.run("nft", "-s", "list", "ruleset")
    assert without_countdown(listing) == without_countdown(others)


def without_countdown(listing: str) -> str:
    return re.sub(r" expires \w+", "", listing)


BREAKAGES = {
    "the table flushed": "flush table ip nearwise",
    "the table deleted": "delete table ip nearwise",
    "all rulesets flushed": "flush ruleset",
    "a rule flushed away": "flush chain ip nearwise output",
    "a rule put before ours": "insert rule ip nearwise services counter accept",
    "a rule put after ours": "add rule ip nearwise refuse tcp dport 80 drop",
    "a chain of theirs": "add chain ip nearwise theirs",
    "a set of theirs": "add set ip nearwise theirs { type inet_service; }",
    "an element taken away": "delete element ip nearwise cluster-addresses { 10.96.0.1 }",
    "an element put there": "add element ip nearwise cluster-addresses { 10.0.0.1 }",
    "elements flushed": "flush map ip nearwise endpoints",
    "a verdict of theirs": "add element ip nearwise services { 10.9.9.9 . tcp . 1 : accept }",
    "the table switched off": "add table ip nearwise { flags dormant; }",
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_what_others_do_to_our_table_is_seen_and_put_right(node: Node, breakage: str) -> None:
    wanted = built(IPV4, SHOP)
    node.load(wanted)
    listing, count = node.listing(), node.kernel.generation()
    node.host.nft(BREAKAGES[breakage])
    assert node.kernel.generation() != count
    change = diff(node.kernel.read(IPV4), wanted)
    assert not change.is_empty
    node.kernel.apply(change)
    assert node.kernel.read(IPV4) == wanted
    assert sorted_elements(node.listing()) == sorted_elements(listing)


def test_a_rule_that_is_not_ours_is_unknown(node: Node) -> None:
    node.load(built(IPV4, [WEB]))
    node.host.nft("add rule ip nearwise refuse tcp dport 80 counter drop")
    ruleset = node.kernel.read(IPV4)
    assert ruleset is not None
    rules = ruleset.chains["refuse"].rules
    assert rules[:-1] == built(IPV4).chains["refuse"].rules
    assert isinstance(rules[-1][0], Unknown)


def test_the_count_of_changes_grows_with_the_changes_of_anybody(node: Node) -> None:
    counts = [node.kernel.generation(), node.kernel.generation()]
    node.load(built(IPV4))
    counts.append(node.kernel.generation())
    node.host.nft(FOREIGN)
    counts.append(node.kernel.generation())
    assert counts[0] == counts[1] < counts[2] < counts[3]


def test_a_table_is_read_whole_while_others_change_theirs(node: Node) -> None:
    wanted = built(IPV4, [Sample(n) for n in range(800)])
    node.load(wanted)
    churn = "while true; do nft add table ip x; nft delete table ip x; done"
    with node.host.start("sh", "-c", churn) as process:
        assert all(node.kernel.read(IPV4) == wanted for _ in range(10))
        process.kill()


# --- what clients got -----------------------------------------------------------------------


def with_pins(node: Node, family: Family, count: int) -> dict[bytes, bytes]:
    """Have the kernel remember some clients of a sticky service, as its rules would."""
    node.load(built(family, [STICKY] if can_stick(node, family) else [WEB]))
    service = address(family, 96, 6)
    pins = {}
    elements = []
    for number in range(count):
        client, got = address(family, 1, number), endpoint_of(family, number % 2)
        pins[client + frontend_of(family, STICKY)] = got
        key = " . ".join((str(ip_address(client)), str(ip_address(service)), "tcp . 80"))
        value = f"{ip_address(got[: family.width])} . 8080"
        elements.append(f"{key} timeout {10 + number}h : {value}")
    node.host.nft(f"add element {family} nearwise {AFFINITY} {{ {', '.join(elements)} }}")
    return pins


@pytest.mark.parametrize("family", Family)
def test_what_clients_got_is_told_and_is_no_part_of_the_ruleset(node: Node, family: Family) -> None:
    pins = with_pins(node, family, 300)
    assert node.kernel.pins(family) == pins
    ruleset = node.kernel.read(family)
    assert ruleset is not None
    assert AFFINITY not in ruleset.elements


@pytest.mark.parametrize("family", Family)
def test_what_some_clients_got_is_forgotten(node: Node, family: Family) -> None:
    pins = with_pins(node, family, 20)
    gone = sorted(pins)[:5]
    never = address(family, 2, 0) + frontend_of(family, STICKY)
    node.kernel.unpin(family, [*gone, never])
    assert node.kernel.pins(family) == {key: pins[key] for key in pins if key not in gone}
    node.kernel.unpin(family, [])
    node.kernel.unpin(family, pins)
    assert node.kernel.pins(family) == {}


def test_what_clients_got_outlives_changes(node: Node) -> None:
    pins = with_pins(node, IPV4, 20)
    for services in ([STICKY, WEB], [STICKY, DNS._replace(endpoints=7)], [STICKY]):
        node.load(built(IPV4, services))
        assert node.kernel.read(IPV4) == built(IPV4, services)
        assert node.kernel.pins(IPV4) == pins
    assert "timeout 10h expires 9h59m" in node.listing()


# --- removing -------------------------------------------------------------------------------


def test_our_tables_are_removed_and_nothing_is_fine_too(node: Node) -> None:
    for family in Family:
        node.load(built(family, SHOP))
    node.kernel.remove()
    assert node.listing() == ""
    count = node.kernel.generation()
    node.kernel.remove()
    assert node.kernel.generation() == count


# --- what is missing ------------------------------------------------------------------------


def test_what_is_needed_is_tried_without_any_effect(node: Node) -> None:
    node.load(built(IPV4, SHOP))
    listing, count = node.listing(), node.kernel.generation()
    node.kernel.check(Family)
    assert node.listing() == listing
    assert node.kernel.generation() == count


WITHOUT_RIGHTS = """
import ctypes, os, sys
from nearwise.nft.diff import diff
from nearwise.nft.probe import probe
from nearwise.nft.ruleset import Family
from nearwise.proxy.kernel import KernelError
from nearwise.proxy.netlink import NetlinkKernel
from nearwise.proxy.program import ProgramKernel

kernel = {"netlink": NetlinkKernel, "nft": ProgramKernel}[sys.argv[1]]
os.setgroups([])
os.setresuid(65534, 65534, 65534)
try:
    kernel().apply(diff(None, probe(Family.IPV4)))
except KernelError as error:
    print(error)
"""


def test_without_the_right_to_it_the_error_says_which_is_missing(
    host: Callable[[], Namespace], backend: str
) -> None:
    there = host()
    said = there.run(sys.executable, "-c", WITHOUT_RIGHTS, backend)
    assert said == (
        "not allowed to change nftables: run as root, or with the capability CAP_NET_ADMIN\n"
    )


def test_where_the_program_is_missing_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KernelError, match=r"nft is not installed: install nftables 1\.0\.6"):
        ProgramKernel()


@pytest.mark.parametrize(
    ("version", "words"),
    [("nftables v0.9.8 (E.D.S.)", r"version 0\.9\.8, 1\.0\.6 or later"), ("?", "version unknown")],
)
def test_where_the_program_is_too_old_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, words: str
) -> None:
    program = tmp_path / "nft"
    program.write_text(f"#!/bin/sh\necho '{version}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(KernelError, match=words):
        ProgramKernel()


def test_session_affinity_over_ipv6_is_refused_in_words_where_nft_cannot_write_it(
    node: Node,
) -> None:
    change = diff(None, built(IPV6, [STICKY]))
    if isinstance(node.kernel, NetlinkKernel):
        node.kernel.apply(change)
        assert node.kernel.read(IPV6) == built(IPV6, [STICKY])
        return
    with pytest.raises(KernelError, match="cannot write session affinity over IPv6"):
        node.kernel.apply(change)
    assert node.listing() == ""


def test_an_error_names_the_part_that_was_refused(node: Node) -> None:
    node.load(built(IPV4, SHOP))
    with pytest.raises(KernelError, match=r"elements? .*services"):
        node.kernel.apply(BAD_PARTS["a target that is not there"])
