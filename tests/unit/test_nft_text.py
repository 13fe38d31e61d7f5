"""Rulesets as nft text, and back."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.nft.diff import Transaction, diff
from nearwise.nft.layout import AFFINITY, ALLOWED, ENDPOINTS, SERVICES, set_named
from nearwise.nft.listing import elements_as_listed, listed, listed_elements
from nearwise.nft.registers import endpoint, frontend, pack_address, pack_drawn
from nearwise.nft.ruleset import (
    Chain,
    ClearMark,
    Draw,
    Drop,
    Family,
    Field,
    FromHost,
    Goto,
    HasPort,
    HasTransport,
    Hook,
    Jump,
    Marked,
    Masquerade,
    Match,
    Reject,
    Remember,
    Ruleset,
    Set,
    SetMark,
    Statement,
    Switch,
    Translate,
    Unknown,
    Verdict,
    Within,
)
from nearwise.nft.text import (
    LONGEST_COMMENT,
    as_they_are,
    comment_text,
    duration_text,
    element_text,
    rule_text,
    ruleset_text,
    script,
    unpinning,
)
from ruleset_builders import Sample, built, endpoint_of, frontend_of, rulesets

IPV4, IPV6 = Family.IPV4, Family.IPV6
WEB = Sample(1)

# --- statements -----------------------------------------------------------------------------

STATEMENTS: list[tuple[Statement, Family, str]] = [
    (Match((Field.DESTINATION,), "a"), IPV4, "ip daddr @a"),
    (Match((Field.SOURCE, Field.PORT), "a", True), IPV6, "ip6 saddr . th dport != @a"),
    (Within(Field.SOURCE, "10.0.0.0/8"), IPV4, "ip saddr 10.0.0.0/8"),
    (Within(Field.DESTINATION, "fd00::/17", True), IPV6, "ip6 daddr != fd00::/17"),
    (FromHost(), IPV4, "fib saddr type local"),
    (HasPort(), IPV4, "th dport != 0"),
    (HasTransport(), IPV4, "meta l4proto { tcp, udp, sctp }"),
    (Marked(14), IPV4, "meta mark & 0x00004000 == 0x00004000"),
    (SetMark(31), IPV4, "meta mark set meta mark | 0x80000000"),
    (ClearMark(0), IPV4, "meta mark set meta mark ^ 0x00000001"),
    (Switch((Field.PROTOCOL,), "m"), IPV4, "meta l4proto vmap @m"),
    (
        Translate((Field.DESTINATION, Draw(3)), "m"),
        IPV6,
        "dnat ip6 to ip6 daddr . numgen random mod 3 map @m",
    ),
    (
        Remember((Field.FIRST_SOURCE, Field.FIRST_PORT), (Field.DESTINATION, Field.PORT), "m", 90),
        IPV4,
        "update @m { ct original ip saddr . ct original proto-dst timeout 1m30s"
        " : ip daddr . th dport }",
    ),
    (Masquerade(), IPV4, "masquerade fully-random"),
    (Reject(), IPV4, "reject"),
    (Drop(), IPV4, "drop"),
    (Jump("other"), IPV4, "jump other"),
    (Goto("other"), IPV4, "goto other"),
]


def table_of(chain: Chain, family: Family = IPV4) -> Ruleset:
    return Ruleset(family, {chain.name: chain}, {}, {})


@pytest.mark.parametrize(("statement", "family", "text"), STATEMENTS)
def test_each_statement_has_its_words_and_is_read_back_from_them(
    statement: Statement, family: Family, text: str
) -> None:
    assert rule_text((statement,), family) == text
    ruleset = table_of(Chain("c", ((statement,),)), family)
    assert listed(ruleset_text(ruleset), family) == ruleset


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("meta l4proto { 6, 17, 132 }", (HasTransport(),)),
        ("meta l4proto { udp, sctp, tcp }", (HasTransport(),)),
        ("fib saddr type 2 drop", (FromHost(), Drop())),
        ("reject with icmp port-unreachable", (Reject(),)),
        ("reject with icmp type port-unreachable", (Reject(),)),
        ("meta mark & 0x4000 == 16384", (Marked(14),)),
        ("drop # handle 12", (Drop(),)),
    ],
)
def test_other_words_of_other_programs_are_read_as_well(
    written: str, rule: tuple[Statement, ...]
) -> None:
    text = f"table ip nearwise {{\n\tchain c {{ # handle 1\n\t\t{written}\n\t}}\n}}\n"
    assert listed(text, IPV4) == table_of(Chain("c", (rule,)))


@pytest.mark.parametrize(
    "written",
    [
        "accept",
        "counter packets 0 bytes 0 drop",
        "drop counter",
        "dropped",
        "ip daddr 10.0.0.1/8",
        "meta mark & 0x00004000 == 0x00008000",
        "meta mark & 0x00006000 == 0x00006000",
        "meta l4proto { tcp, udp }",
        "reject with icmp host-unreachable",
        "tcp dport 80 drop",
        "masquerade",
        "masquerade random,fully-random",
        "ip daddr != { 10.0.0.1 } drop",
        'ip daddr . th dport vmap @services drop comment "theirs"',
    ],
)
def test_a_rule_that_is_not_ours_is_unknown_as_a_whole(written: str) -> None:
    text = f"table ip nearwise {{\n\tchain c {{\n\t\t{written}\n\t\tdrop\n\t}}\n}}\n"
    assert listed(text, IPV4) == table_of(Chain("c", ((Unknown(written),), (Drop(),))))


def test_what_is_not_ours_is_never_written() -> None:
    with pytest.raises(ValueError, match="not ours to write: counter"):
        rule_text((Unknown("counter"),), IPV4)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (1, "1s"), (60, "1m"), (10800, "3h"), (86400, "1d"), (90061, "1d1h1m1s")],
)
def test_times_are_written_as_nft_writes_them(seconds: int, text: str) -> None:
    assert duration_text(seconds) == text


# --- hooks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hook", "line"),
    [
        (Hook.PREROUTING, "type nat hook prerouting priority dstnat; policy accept;"),
        (Hook.PREROUTING, "type nat hook prerouting priority -100; policy accept;"),
        (Hook.OUTPUT, "type nat hook output priority -100; policy accept;"),
        (Hook.OUTPUT, "type nat hook output priority dstnat; policy accept;"),
        (Hook.INPUT, "type nat hook input priority 100; policy accept;"),
        (Hook.POSTROUTING, "type nat hook postrouting priority srcnat; policy accept;"),
    ],
)
def test_a_hook_is_read_by_the_name_or_the_number_of_its_priority(hook: Hook, line: str) -> None:
    text = f"table ip nearwise {{\n\tchain c {{\n\t\t{line}\n\t}}\n}}\n"
    assert listed(text, IPV4) == table_of(Chain("c", (), hook))


@pytest.mark.parametrize(
    "line",
    [
        "type nat hook prerouting priority -99; policy accept;",
        "type nat hook prerouting priority dstnat; policy drop;",
        "type filter hook prerouting priority dstnat; policy accept;",
        "type nat hook ingress priority dstnat; policy accept;",
    ],
)
def test_a_hook_that_is_not_ours_is_seen(line: str) -> None:
    text = f"table ip nearwise {{\n\tchain c {{\n\t\t{line}\n\t\tdrop\n\t}}\n}}\n"
    assert listed(text, IPV4) == table_of(Chain("c", ((Unknown(line),), (Drop(),))))


# --- elements -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "family", "key", "value", "text"),
    [
        (
            SERVICES,
            IPV4,
            frontend(pack_address("10.96.0.1"), "TCP", 80),
            Verdict(Goto("spread-3"), "default/web:http"),
            '10.96.0.1 . tcp . 80 comment "default/web:http" : goto spread-3',
        ),
        (
            SERVICES,
            IPV6,
            frontend(pack_address("fd00::1"), "SCTP", 5),
            Verdict(Drop()),
            "fd00::1 . sctp . 5 : drop",
        ),
        (
            ENDPOINTS,
            IPV4,
            frontend(pack_address("10.96.0.1"), "UDP", 53) + pack_drawn(7),
            endpoint(pack_address("10.0.0.9"), 5353),
            "10.96.0.1 . udp . 53 . 7 : 10.0.0.9 . 5353",
        ),
    ],
)
def test_elements_are_written_as_nft_lists_them(
    name: str, family: Family, key: bytes, value: Verdict | bytes, text: str
) -> None:
    assert element_text(set_named(name), family, key, value) == text


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        ("10.0.0.0", "10.255.255.255", "10.0.0.0/8"),
        ("10.0.0.7", "10.0.0.7", "10.0.0.7"),
        ("0.0.0.0", "255.255.255.255", "0.0.0.0/0"),
        ("10.0.0.1", "10.0.0.3", "10.0.0.1-10.0.0.3"),
    ],
)
def test_ranges_are_written_as_networks_where_they_are_some(
    first: str, last: str, text: str
) -> None:
    start = frontend(pack_address("10.96.0.1"), "TCP", 80)
    key = start + pack_address(first) + start + pack_address(last)
    written = element_text(set_named(ALLOWED), IPV4, key, None)
    assert written == f"10.96.0.1 . tcp . 80 . {text}"
    ruleset = Ruleset(IPV4, {}, {ALLOWED: set_named(ALLOWED)}, {ALLOWED: {key: None}})
    assert listed(ruleset_text(ruleset), IPV4) == ruleset


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("default/web:http", "default/web:http"),
        ('" : drop } }\nflush ruleset\n', " : drop } }flush ruleset"),
        ("tab\tand\0nul\x1b[31m", "tabandnul[31m"),
        ("이름" * 60, "이름" * 21),
        ("x" * 200, "x" * LONGEST_COMMENT),
    ],
)
def test_a_comment_never_breaks_out_of_its_quotes(comment: str, left: str) -> None:
    assert comment_text(comment) == left
    text = element_text(set_named(SERVICES), IPV4, frontend_of(IPV4, WEB), Verdict(Drop(), comment))
    assert text == f'10.96.0.1 . tcp . 80 comment "{left}" : drop'


@given(st.text())
def test_any_comment_is_one_that_nft_takes_and_stays_what_it_is(text: str) -> None:
    comment = comment_text(text)
    assert len(comment.encode()) <= LONGEST_COMMENT
    assert not re.search(r'["\n\r\0]', comment)
    assert comment_text(comment) == comment


# --- whole tables ---------------------------------------------------------------------------


def tabbed(text: str) -> str:
    return dedent(text).replace("    ", "\t")


SMALL = Ruleset(
    IPV4,
    {
        "output": Chain("output", ((Jump("services"),),), Hook.OUTPUT),
        "services": Chain("services", ((HasPort(), Reject()), (Drop(),))),
    },
    {"wanted": Set("wanted", (Field.DESTINATION,)), AFFINITY: set_named(AFFINITY)},
    {"wanted": {pack_address("10.0.0.1"): None}},
)
SMALL_TEXT = tabbed(
    """\
    table ip nearwise {
        set wanted {
            typeof ip daddr
            elements = { 10.0.0.1 }
        }

        map affinity {
            typeof ip saddr . ip daddr . meta l4proto . th dport : ip daddr . th dport
            size 1048576
            flags dynamic,timeout
        }

        chain output {
            type nat hook output priority -100; policy accept;
            jump services
        }

        chain services {
            th dport != 0 reject
            drop
        }
    }
    """
)


def test_a_table_is_written_as_nft_lists_it_and_is_read_back() -> None:
    assert ruleset_text(SMALL) == SMALL_TEXT
    assert listed(SMALL_TEXT, IPV4) == SMALL


def test_elements_are_sorted_whatever_the_order_they_came_in() -> None:
    services = [Sample(number) for number in range(9)]
    assert ruleset_text(built(IPV4, services)) == ruleset_text(built(IPV4, services[::-1]))


@pytest.mark.parametrize("family", Family)
@given(data=st.data())
def test_any_ruleset_is_read_back_as_it_was(family: Family, data: st.DataObject) -> None:
    ruleset = data.draw(rulesets(family))
    assert listed(ruleset_text(ruleset), family) == ruleset


@pytest.mark.parametrize(
    "text",
    [
        "",
        "table ip other {\n}\n",
        "table ip6 nearwise {\n}\n",
        "table ip nearwise {\n\tflags dormant\n\n\tchain c {\n\t\tdrop\n\t}\n}\n",
    ],
)
def test_another_table_or_one_that_is_switched_off_is_none(text: str) -> None:
    assert listed(text, IPV4) is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("typeof ip daddr", "type ipv4_addr"),
        ("typeof ip daddr", "typeof ip daddr\n\t\tcounter"),
        ("typeof ip daddr", "typeof ip daddr\n\t\ttimeout 5m"),
        ("typeof ip daddr", "typeof ip daddr\n\t\tflags constant"),
        ("typeof ip daddr", "typeof vlan id . ip daddr"),
        ("elements = { 10.0.0.1 }", "elements = { 10.0.0.1 counter packets 1 bytes 2 }"),
        ("elements = { 10.0.0.1 }", "elements = { 10.0.0.1 : 10.0.0.2 }"),
        ("elements = { 10.0.0.1 }", 'elements = { 10.0.0.1 comment "theirs" }'),
        ("elements = { 10.0.0.1 }", "elements = { 10.0.0.1 . tcp }"),
    ],
)
def test_a_set_that_is_not_ours_makes_the_table_anew(wanted: str, found: str) -> None:
    assert wanted in SMALL_TEXT
    before = listed(SMALL_TEXT.replace(wanted, found, 1), IPV4)
    assert before is not None
    assert before.sets["wanted"] == Set("wanted", ())
    assert diff(before, SMALL).anew


def test_a_set_of_a_newer_program_says_how_many_elements_it_has() -> None:
    text = SMALL_TEXT.replace("typeof ip daddr\n", "typeof ip daddr\n\t\tsize 9\t# count 1\n", 1)
    ruleset = listed(text, IPV4)
    assert ruleset is not None
    assert ruleset.sets["wanted"].size == 9


def test_what_a_foreign_hand_writes_into_a_verdict_map_is_seen() -> None:
    text = ruleset_text(built(IPV4, [WEB])).replace(": goto spread-2", ": jump spread-2", 1)
    before = listed(text, IPV4)
    assert before is not None
    assert before.sets[SERVICES].key == ()


JUNK = st.text(alphabet=' \t\n{}:.,"#=@!abz019-/', max_size=60)


@given(junk=JUNK, place=st.integers(0, 4000), cut=st.integers(0, 60))
def test_no_listing_raises_an_error(junk: str, place: int, cut: int) -> None:
    text = ruleset_text(built(IPV4, [WEB, Sample(2, seconds=5, sources=(1,))]))
    listed(text[:place] + junk + text[place + cut :], IPV4)
    listed_elements(text[:place] + junk + text[place + cut :], set_named(AFFINITY), IPV4)


# --- what the kernel fills by itself --------------------------------------------------------

PINS = tabbed(
    """\
    table ip nearwise {
        map affinity {
            typeof ip saddr . ip daddr . meta l4proto . th dport : ip daddr . th dport
            size 1048576
            flags dynamic,timeout
            elements = { 10.1.0.1 . 10.96.0.1 . tcp . 80 timeout 3h expires 2h59m58s4ms : 10.0.0.1 . 8080 }
        }
    }
    """  # noqa: E501 (as nft lists it)
)
PIN = pack_address("10.1.0.1") + frontend(pack_address("10.96.0.1"), "TCP", 80)


def test_what_clients_got_is_read_with_its_times_left_out() -> None:
    found = listed_elements(PINS, set_named(AFFINITY), IPV4)
    assert found == {PIN: endpoint(pack_address("10.0.0.1"), 8080)}


def test_it_is_no_part_of_the_ruleset() -> None:
    ruleset = listed(PINS, IPV4)
    assert ruleset is not None
    assert ruleset.elements == {}


def test_it_is_taken_out_by_its_keys() -> None:
    assert unpinning(IPV4, [PIN]) == (
        "delete element ip nearwise affinity { 10.1.0.1 . 10.96.0.1 . tcp . 80 }\n"
    )


def test_it_is_put_back_with_its_times() -> None:
    assert as_they_are(IPV4, AFFINITY, elements_as_listed(PINS)) == (
        "add element ip nearwise affinity { 10.1.0.1 . 10.96.0.1 . tcp . 80 timeout 3h "
        "expires 2h59m58s4ms : 10.0.0.1 . 8080 }\n"
    )
    assert as_they_are(IPV4, AFFINITY, elements_as_listed("")) == ""


# --- transactions ---------------------------------------------------------------------------


def test_a_table_is_made_anew_in_one_script() -> None:
    assert script(diff(None, SMALL)) == (
        "add table ip nearwise\ndelete table ip nearwise\n" + SMALL_TEXT
    )


def test_a_changed_endpoint_is_one_element_out_and_one_in() -> None:
    before, after = built(IPV4, [WEB]), built(IPV4, [WEB])
    after.elements[ENDPOINTS][frontend_of(IPV4, WEB) + pack_drawn(1)] = endpoint_of(IPV4, 99)
    assert script(diff(before, after)) == dedent(
        """\
        delete element ip nearwise endpoints { 10.96.0.1 . tcp . 80 . 1 }
        add element ip nearwise endpoints { 10.96.0.1 . tcp . 80 . 1 : 10.97.0.99 . 8080 }
        """
    )


def test_parts_come_before_what_names_them_and_go_after() -> None:
    before = built(IPV4, [WEB])
    after = built(IPV4, [Sample(1, endpoints=1, seconds=60, comment="")])
    lines = script(diff(before, after)).splitlines()
    kinds = [tuple(line.split()[:2]) for line in lines]
    assert list(dict.fromkeys(kinds)) == [
        ("add", "set"),
        ("add", "chain"),
        ("flush", "chain"),
        ("add", "rule"),
        ("delete", "element"),
        ("add", "element"),
        ("delete", "chain"),
    ]
    assert max(n for n, kind in enumerate(kinds) if kind == ("add", "chain")) < min(
        n for n, kind in enumerate(kinds) if kind == ("add", "rule")
    )
    assert lines[-2:] == ["flush chain ip nearwise spread-2", "delete chain ip nearwise spread-2"]


def test_long_changes_are_written_in_several_commands() -> None:
    many = built(IPV4, [Sample(number) for number in range(2100)])
    change = diff(built(IPV4), many)
    added = [line for line in script(change).splitlines() if line.startswith("add element")]
    assert len(added) == 2 + 3 + 2 + 3  # of services, endpoints, addresses, own endpoints
    assert max(map(len, added)) < 200_000


def test_a_hooked_chain_is_added_with_its_hook() -> None:
    change = Transaction(IPV6, chains=(Chain("output", ((Drop(),),), Hook.OUTPUT),))
    assert script(change) == dedent(
        """\
        add chain ip6 nearwise output { type nat hook output priority -100; policy accept; }
        flush chain ip6 nearwise output
        add rule ip6 nearwise output drop
        """
    )
