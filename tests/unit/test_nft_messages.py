"""Rulesets as netlink messages, and back from what the kernel tells."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearwise.nft.diff import Transaction, diff
from nearwise.nft.layout import (
    AFFINITY,
    ALLOWED,
    CLUSTER_ADDRESSES,
    ENDPOINTS,
    OWN_ENDPOINTS,
    SERVICES,
    set_named,
)
from nearwise.nft.netlink.attributes import (
    LONGEST,
    Message,
    message,
    nest,
    pack,
    pack_number,
    pack_text,
    text_of,
    unpack,
    unpack_list,
)
from nearwise.nft.netlink.declarations import declaration, declared
from nearwise.nft.netlink.decoding import rule_of
from nearwise.nft.netlink.dump import elements_of, generation_of, is_in_force, pins_of, ruleset_of
from nearwise.nft.netlink.elements import packed, unpacked
from nearwise.nft.netlink.expressions import expressions, place_of, register
from nearwise.nft.netlink.messages import SUBSYSTEM, messages, removal, unpinning
from nearwise.nft.registers import pack_drawn
from nearwise.nft.ruleset import (
    Chain,
    Elements,
    Family,
    Goto,
    Hook,
    Ruleset,
    Set,
    Unknown,
    Verdict,
)
from ruleset_builders import Sample, address, built, endpoint_of, frontend_of, rulesets

IPV4, IPV6 = Family.IPV4, Family.IPV6
WEB = Sample(1)
ALL = [
    WEB,
    Sample(2, "UDP", 53, 3, seconds=60),
    Sample(3, "SCTP", 9, 4, is_local=True, seconds=10800),
    Sample(4, endpoints=0),
    Sample(5, endpoints=1, masquerade=True, sources=(1, 2)),
]
KINDS = ["NEWTABLE", "", "DELTABLE", "NEWCHAIN", "", "DELCHAIN", "NEWRULE", "", "DELRULE"]
KINDS += ["NEWSET", "", "DELSET", "NEWSETELEM", "", "DELSETELEM"]


def kind_of(each: Message) -> str:
    assert each.kind >> 8 == SUBSYSTEM
    return KINDS[each.kind & 0xFF]


def told(sent: Iterable[Message], family: Family) -> Ruleset:
    """Read what was sent as if the kernel told it: the attributes of both are the same."""
    by_kind: dict[str, list[bytes]] = {}
    for each in sent:
        by_kind.setdefault(kind_of(each), []).append(each.payload)
    return ruleset_of(
        family,
        by_kind.get("NEWSET", []),
        by_kind.get("NEWCHAIN", []),
        by_kind.get("NEWRULE", []),
        lambda name: [
            each for each in by_kind.get("NEWSETELEM", []) if text_of(unpack(each)[2]) == name
        ],
    )


# --- whole tables ---------------------------------------------------------------------------


@pytest.mark.parametrize("family", Family)
@given(data=st.data())
def test_any_ruleset_is_read_back_from_its_own_messages(
    family: Family, data: st.DataObject
) -> None:
    ruleset = data.draw(rulesets(family))
    assert told(messages(diff(None, ruleset)), family) == ruleset


def test_a_table_is_made_anew_whether_there_was_one_or_not() -> None:
    sent = messages(Transaction(IPV4, anew=True))
    assert [kind_of(each) for each in sent] == ["NEWTABLE", "DELTABLE", "NEWTABLE"]
    assert [kind_of(each) for each in removal(IPV6)] == ["NEWTABLE", "DELTABLE"]


def test_parts_come_before_what_names_them_and_go_after() -> None:
    before, after = built(IPV4, [WEB]), built(IPV4, [Sample(1, endpoints=1, seconds=60)])
    kinds = list(dict.fromkeys(map(kind_of, messages(diff(before, after)))))
    assert kinds == [
        "NEWSET",
        "NEWCHAIN",
        "DELRULE",
        "NEWSETELEM",
        "NEWRULE",
        "DELSETELEM",
        "DELCHAIN",
    ]


def test_each_message_says_what_it_is_about() -> None:
    after = built(IPV4, ALL)
    sent = messages(diff(built(IPV4), after)) + messages(diff(after, built(IPV4)))
    said = {each.about for each in sent}
    assert {
        "chain spread-2",
        "a rule of chain spread-2",
        "elements of services",
        "set sticky-60",
    } <= said
    assert "" not in said


def test_only_our_table_is_named() -> None:
    for each in messages(diff(None, built(IPV6, ALL))):
        assert text_of(unpack(each.payload)[1]) == "nearwise"
        assert each.family == 10


def test_a_changed_endpoint_is_two_messages() -> None:
    before, after = built(IPV4, [WEB]), built(IPV4, [WEB])
    key = frontend_of(IPV4, WEB) + pack_drawn(1)
    after.elements[ENDPOINTS][key] = endpoint_of(IPV4, 99)
    gone, came = messages(diff(before, after))
    assert (kind_of(gone), kind_of(came)) == ("DELSETELEM", "NEWSETELEM")
    assert elements_of(set_named(ENDPOINTS), [came.payload], IPV4) == {key: endpoint_of(IPV4, 99)}


def test_what_is_not_ours_is_never_written() -> None:
    strange = Transaction(IPV4, chains=(Chain("c", ((Unknown("counter"),),)),))
    with pytest.raises(ValueError, match="not ours to write: counter"):
        messages(strange)


# --- sets -----------------------------------------------------------------------------------

# What nft 1.0.6 notes (low byte first) with ``typeof ip daddr . meta l4proto . th dport
# . numgen random mod 65536 : ip daddr . th dport``.
NOTES = bytes.fromhex(
    "000400000000010400000000036000040d00000001580014000407000000010c00040c00000001040c000000"
    "010e00040900000001060004100000000214000407000000010c00040b000000010402000000031a00041700"
    "00000112000401000000010400000100020400000000043400040d000000012c0014000407000000010c0004"
    "0c00000001040c0000000114000407000000010c00040b000000010402000000060400000000"
)


def test_the_notes_of_a_set_are_those_of_nft() -> None:
    assert unpack(declaration(set_named(ENDPOINTS), IPV4, 1))[13] == NOTES


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("name", sorted(built(IPV4, ALL).sets))
def test_each_set_is_read_back_from_its_declaration(name: str, family: Family) -> None:
    attributes = unpack(declaration(set_named(name), family, 1))
    assert declared(attributes, name, family) == set_named(name)


@pytest.mark.parametrize("name", [SERVICES, ENDPOINTS, ALLOWED, CLUSTER_ADDRESSES])
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (3, b"\0\0\0\x40"),  # other flags
        (4, b"\0\0\0\x0d"),  # another type of key
        (5, b"\0\0\0\x05"),  # another size
        (6, b"\0\0\0\x0d"),  # another type of data
        (8, b"\0\0\0\1"),  # to be kept small
        (11, bytes(7) + b"\1"),  # elements that end
        (13, b""),  # no notes
        (13, NOTES[:40]),
        (17, b"counter"),  # elements that count
    ],
)
def test_a_set_that_is_not_ours_has_no_key(name: str, kind: int, value: bytes) -> None:
    attributes = unpack(declaration(set_named(name), IPV4, 1)) | {kind: value}
    assert declared(attributes, name, IPV4) == Set(name, ())


@given(notes=st.binary(max_size=80), flags=st.binary(max_size=4))
def test_no_declaration_raises_an_error(notes: bytes, flags: bytes) -> None:
    attributes = unpack(declaration(set_named(ENDPOINTS), IPV4, 1))
    declared(attributes | {13: notes, 3: flags}, ENDPOINTS, IPV4)
    declared(attributes | {13: NOTES[: len(notes)] + notes}, ENDPOINTS, IPV4)


# --- elements -------------------------------------------------------------------------------


def dumped(key: bytes, value: bytes = b"", *others: bytes) -> bytes:
    """Write an element as the kernel tells it, without flags for what is nested."""
    parts = pack(1, pack(1, key))
    if value:
        parts += pack(2, pack(1, value))
    return pack(1, parts + b"".join(others))


@pytest.mark.parametrize("family", Family)
def test_lists_of_elements_end_before_64_kib_and_nothing_is_lost(family: Family) -> None:
    ruleset = built(family, [Sample(number, endpoints=3) for number in range(3000)])
    for name, elements in ruleset.elements.items():
        lists = list(packed(set_named(name), elements, family))
        assert all(len(each) <= LONGEST - 4 for each in lists)
        found = {}
        for each in lists:
            found.update(unpacked(set_named(name), each, family))
        assert found == elements


def test_no_elements_are_no_message() -> None:
    assert list(packed(set_named(SERVICES), {}, IPV4)) == []


def test_elements_are_read_as_the_kernel_tells_them() -> None:
    key, value = frontend_of(IPV4, WEB) + pack_drawn(0), endpoint_of(IPV4, 1)
    one = dumped(key, value)
    other = dumped(key[:-4] + pack_drawn(1), value)
    assert unpacked(set_named(ENDPOINTS), one + other, IPV4) == {
        key: value,
        key[:-4] + pack_drawn(1): value,
    }


def test_an_element_with_something_of_others_is_not_ours() -> None:
    key, value = frontend_of(IPV4, WEB) + pack_drawn(0), endpoint_of(IPV4, 1)
    ends = pack(4, bytes(8))
    with pytest.raises(ValueError, match="not ours"):
        unpacked(set_named(ENDPOINTS), dumped(key, value, ends), IPV4)


def test_a_verdict_of_others_is_not_ours() -> None:
    accept = pack(2, pack(2, pack_number(1, 1)))
    strange = pack(1, pack(1, pack(1, frontend_of(IPV4, WEB))) + accept)
    with pytest.raises(ValueError, match="verdict"):
        unpacked(set_named(SERVICES), strange, IPV4)


def test_comments_are_cut_to_what_nft_takes() -> None:
    elements: Elements = {frontend_of(IPV4, WEB): Verdict(Goto("refuse"), 'a"b\n' + "x" * 200)}
    (written,) = packed(set_named(SERVICES), elements, IPV4)
    (read,) = unpacked(set_named(SERVICES), written, IPV4).values()
    assert read == Verdict(Goto("refuse"), "ab" + "x" * 126)


def test_what_clients_got_is_read_with_its_times_left_out() -> None:
    key, value = address(IPV4, 1, 1) + frontend_of(IPV4, WEB), endpoint_of(IPV4, 1)
    times = pack(4, bytes(7) + b"\5"), pack(5, bytes(7) + b"\3")
    both = dumped(key, value, *times) * 2
    head = pack_text(1, "nearwise") + pack_text(2, AFFINITY)
    assert pins_of([head + pack(3, both), head + pack(3, b"")], IPV4) == {key: value}


def test_what_clients_got_is_taken_out_by_its_keys() -> None:
    key = address(IPV4, 1, 1) + frontend_of(IPV4, WEB)
    (sent,) = unpinning(IPV4, [key])
    assert kind_of(sent) == "DELSETELEM"
    assert unpinning(IPV4, []) == []


def test_a_set_that_was_told_in_part_is_asked_for_again() -> None:
    ruleset = built(IPV4, [WEB])
    sent = messages(diff(None, ruleset))
    sets = [each.payload + pack_number(20, 2) for each in sent if kind_of(each) == "NEWSET"]
    sets = [each for each in sets if text_of(unpack(each)[2]) == ENDPOINTS]
    lists = [each.payload for each in sent if kind_of(each) == "NEWSETELEM"]
    whole = [each for each in lists if text_of(unpack(each)[2]) == ENDPOINTS]
    answers = iter([[], whole])
    read = ruleset_of(IPV4, sets, [], [], lambda _: next(answers))
    assert read.elements == {ENDPOINTS: ruleset.elements[ENDPOINTS]}


@given(junk=st.binary(max_size=200))
def test_elements_of_any_bytes_are_read_or_refused(junk: bytes) -> None:
    for name in (SERVICES, ENDPOINTS, ALLOWED, OWN_ENDPOINTS, AFFINITY):
        with suppress(ValueError):
            unpacked(set_named(name), junk, IPV4)


# --- rules ----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("chain", sorted(built(IPV4, ALL).chains))
def test_each_rule_is_read_back_from_its_expressions(chain: str, family: Family) -> None:
    for rule in built(family, ALL).chains[chain].rules:
        assert rule_of(expressions(rule, family, 1), family, ()) == rule


def test_a_rule_with_anything_of_others_is_unknown_as_a_whole() -> None:
    counter = nest(1, pack_text(1, "counter"), nest(2))
    for chain in built(IPV4, ALL).chains.values():
        for rule in chain.rules:
            (read,) = rule_of(expressions(rule, IPV4, 1) + counter, IPV4, ())
            assert isinstance(read, Unknown)
            assert read.what.endswith(" counter")


@given(data=st.data())
def test_no_rule_raises_an_error_whatever_a_foreign_hand_made_of_it(data: st.DataObject) -> None:
    rules = [rule for chain in built(IPV6, ALL).chains.values() for rule in chain.rules]
    written = bytearray(expressions(data.draw(st.sampled_from(rules)), IPV6, 1))
    for place in data.draw(st.lists(st.integers(0, len(written) - 1), max_size=4)):
        written[place] = data.draw(st.integers(0, 255))
    rule_of(bytes(written), IPV6, ())


@given(junk=st.binary(max_size=300))
def test_no_bytes_raise_an_error(junk: bytes) -> None:
    rule_of(junk, IPV4, ())
    told(
        [Message(SUBSYSTEM << 8 | kind, 2, pack_text(1, "nearwise") + junk) for kind in (3, 6, 9)],
        IPV4,
    )
    is_in_force(junk)
    generation_of(junk)


@pytest.mark.parametrize("place", range(0, 64, 4))
def test_a_register_has_a_place_and_a_place_a_register(place: int) -> None:
    assert place_of(register(place)) == place


def test_the_register_of_verdicts_has_no_place() -> None:
    with pytest.raises(ValueError, match="no place"):
        place_of(0)


def chain_of(payload: bytes) -> Chain:
    sent = pack_text(1, "nearwise") + pack_text(3, "c") + payload
    return ruleset_of(IPV4, [], [sent], [], lambda _: []).chains["c"]


def hooked(number: int, priority: int, policy: int = 1, kind: str = "nat") -> bytes:
    place = nest(4, pack_number(1, number), pack_number(2, priority & 0xFFFFFFFF))
    return place + pack_number(5, policy) + pack_text(7, kind)


def test_a_hook_that_is_not_ours_is_seen() -> None:
    assert chain_of(hooked(3, -100)) == Chain("c", (), Hook.OUTPUT)
    for strange in (hooked(3, -99), hooked(2, 0), hooked(3, -100, 0), hooked(3, -100, 1, "filter")):
        assert chain_of(strange) == Chain("c", ((Unknown("hook"),),))


def test_parts_of_other_tables_are_left_out() -> None:
    other = pack_text(1, "nearwise2")
    parts = [other + pack_text(2, "c") + pack_text(3, "c")]
    assert ruleset_of(IPV4, parts, parts, parts, lambda _: parts) == Ruleset(IPV4, {}, {}, {})


def test_a_table_that_is_switched_off_or_owned_is_not_in_force() -> None:
    assert is_in_force(pack_text(1, "nearwise") + pack_number(2, 0))
    assert not is_in_force(pack_text(1, "nearwise") + pack_number(2, 1))
    assert not is_in_force(pack_text(1, "nearwise") + pack_number(2, 2))


# --- the form of netlink --------------------------------------------------------------------


def test_a_message_has_its_length_before_it_and_is_filled_up() -> None:
    written = message(Message(10 << 8 | 6, 2, b"abc", 0x400, 10), 7, 5)
    assert len(written) == 24
    assert written[:4] == (23).to_bytes(4, sys.byteorder)
    assert written[-8:] == b"\2\0\0\x0aabc\0"


def test_attributes_are_read_back_and_what_is_cut_off_is_left_out() -> None:
    packed_ = pack(1, b"a") + pack_number(2, 258, 8) + nest(3, pack_text(1, "x"))
    assert unpack_list(packed_) == [(1, b"a"), (2, bytes(6) + b"\1\2"), (3, pack_text(1, "x"))]
    assert unpack(packed_[:-1]) == {1: b"a", 2: bytes(6) + b"\1\2"}


def test_an_attribute_that_is_too_long_is_refused() -> None:
    nest(1, bytes(LONGEST - 4))
    with pytest.raises(ValueError, match="the most is 65531"):
        nest(1, bytes(LONGEST - 3))


@given(st.binary(max_size=60))
def test_any_bytes_are_taken_apart(junk: bytes) -> None:
    for kind, value in unpack_list(junk):
        assert 0 <= kind < 0x4000
        assert len(value) <= len(junk)
