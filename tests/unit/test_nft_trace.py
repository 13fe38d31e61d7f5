"""Following a packet: what statements, rules, chains and hooks mean."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest

from nearwise.nft.registers import endpoint, pack_address, pack_drawn
from nearwise.nft.ruleset import (
    Chain,
    ClearMark,
    Data,
    Draw,
    Drop,
    Elements,
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
    Rule,
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
from nearwise.nft.trace import End, Memory, Outcome, Packet, Trace, outcomes, trace

OWN = ("192.0.2.1",)
PACKET = Packet("10.0.0.1", "10.96.0.1", 80)

# --- Statements, rules and chains -----------------------------------------------------------


def table(
    *prerouting: Rule,
    chains: dict[str, tuple[Rule, ...]] | None = None,
    hooks: dict[Hook, tuple[Rule, ...]] | None = None,
    sets: tuple[Set, ...] = (),
    elements: dict[str, Elements] | None = None,
    family: Family = Family.IPV4,
) -> Ruleset:
    """Make a small table; what is not told is empty."""
    base = {Hook.PREROUTING: prerouting, **(hooks or {})}
    made = [Chain(hook.value, rules, hook) for hook, rules in base.items()]
    made += [Chain(name, rules) for name, rules in (chains or {}).items()]
    return Ruleset(
        family,
        {chain.name: chain for chain in made},
        {each.name: each for each in sets},
        elements or {},
    )


def first(_: int) -> int:
    return 0


def follow(ruleset: Ruleset, packet: Packet = PACKET) -> Trace:
    return trace(ruleset, packet, OWN, first)


def holds(statement: Statement, packet: Packet = PACKET, **parts: object) -> bool:
    """Say whether a rule is carried on after a statement."""
    ruleset = table((statement, Drop()), **parts)  # type: ignore[arg-type]
    return follow(ruleset, packet).outcome.end is End.DROPPED


def test_without_rules_it_goes_where_it_was_sent_to() -> None:
    assert follow(table()).outcome == Outcome(End.SENT, "10.96.0.1", 80)


def test_a_verdict_ends_it_all() -> None:
    found = follow(table((Reject(),), (Drop(),), hooks={Hook.POSTROUTING: ((Masquerade(),),)}))
    assert found.outcome == Outcome(End.REJECTED, "10.96.0.1", 80)
    assert [step.rule for step in found.steps] == [(Reject(),)]


def test_a_jump_comes_back_and_a_goto_does_not() -> None:
    side: dict[str, tuple[Rule, ...]] = {"side": ((SetMark(1),),)}
    assert follow(table((Jump("side"),), (Drop(),), chains=side)).outcome.end is End.DROPPED
    assert follow(table((Goto("side"),), (Drop(),), chains=side)).outcome.end is End.SENT


def test_a_goto_in_a_chain_that_was_jumped_to_comes_back_to_the_jump() -> None:
    chains: dict[str, tuple[Rule, ...]] = {
        "one": ((Goto("two"),), (Reject(),)),
        "two": ((SetMark(1),),),
    }
    found = follow(table((Jump("one"),), (Drop(),), chains=chains))
    assert found.outcome.end is End.DROPPED
    assert [step.chain for step in found.steps] == ["prerouting", "one", "two", "prerouting"]


def test_a_rule_is_left_at_the_first_statement_that_does_not_hold() -> None:
    other = Within(Field.SOURCE, "10.9.0.0/16")
    found = follow(table((SetMark(1), other, SetMark(2), Drop()), (SetMark(3),)))
    assert found.outcome == Outcome(End.SENT, "10.96.0.1", 80, mark=0b1010)
    assert [step.failed for step in found.steps] == [other, None]


@pytest.mark.parametrize(
    ("network", "inside"), [("10.0.0.0/24", True), ("10.0.1.0/24", False), ("10.0.0.1/32", True)]
)
def test_an_address_is_within_a_network_or_not(network: str, inside: bool) -> None:
    assert holds(Within(Field.SOURCE, network)) is inside
    assert holds(Within(Field.SOURCE, network, inverted=True)) is not inside


@pytest.mark.parametrize(
    ("source", "own"), [("192.0.2.1", True), ("127.0.0.9", True), ("10.0.0.1", False)]
)
def test_addresses_of_this_machine_are_those_told_and_its_loopback(source: str, own: bool) -> None:
    assert holds(FromHost(), msgspec.structs.replace(PACKET, source=source)) is own


def test_ports_and_transports() -> None:
    assert holds(HasPort())
    assert not holds(HasPort(), msgspec.structs.replace(PACKET, port=0))
    assert all(
        holds(HasTransport(), msgspec.structs.replace(PACKET, protocol=each))
        for each in ("TCP", "UDP", "SCTP")
    )


def test_marks_are_single_bits_and_leave_others_alone() -> None:
    foreign = msgspec.structs.replace(PACKET, mark=0b0001)
    assert holds(Marked(0), foreign)
    assert not holds(Marked(3), foreign)
    assert follow(table((SetMark(3),)), foreign).outcome.mark == 0b1001
    assert follow(table((SetMark(3), ClearMark(3))), foreign).outcome.mark == 0b0001


SEEN = Set("seen", (Field.SOURCE, Field.PROTOCOL))
SEEN_ELEMENTS: dict[str, Elements] = {
    "seen": {pack_address("10.0.0.1") + bytes((6, 0, 0, 0)): None}
}


@pytest.mark.parametrize(("protocol", "found"), [("TCP", True), ("UDP", False)])
def test_a_key_is_in_a_set_or_not(protocol: str, found: bool) -> None:
    packet = msgspec.structs.replace(PACKET, protocol=protocol)
    parts = {"sets": (SEEN,), "elements": SEEN_ELEMENTS}
    assert holds(Match(SEEN.key, "seen"), packet, **parts) is found
    assert holds(Match(SEEN.key, "seen", inverted=True), packet, **parts) is not found


@pytest.mark.parametrize(
    ("source", "port", "found"),
    [
        ("10.0.0.0", 80, True),
        ("10.0.0.255", 80, True),
        ("10.0.1.0", 80, False),
        ("9.255.255.255", 80, False),
        ("10.0.0.7", 81, False),  # every part has to lie in its own range
    ],
)
def test_a_range_counts_for_every_part_of_the_key(source: str, port: int, found: bool) -> None:
    allowed = Set("allowed", (Field.DESTINATION, Field.PORT, Field.SOURCE), interval=True)
    target = endpoint(pack_address("10.96.0.1"), 80)
    range_ = target + pack_address("10.0.0.0") + target + pack_address("10.0.0.255")
    packet = Packet(source, "10.96.0.1", port)
    assert (
        holds(
            Match(allowed.key, "allowed"),
            packet,
            sets=(allowed,),
            elements={"allowed": {range_: None}},
        )
        is found
    )


WHERE = Set("where", (Field.PORT,), Data.VERDICT)


@pytest.mark.parametrize(
    ("port", "end"),
    [(80, End.REJECTED), (81, End.DROPPED), (82, End.SENT)],
)
def test_a_map_says_where_to_go_and_else_comes_the_next_rule(port: int, end: End) -> None:
    verdicts: Elements = {
        b"\0\x50\0\0": Verdict(Goto("refuse"), "shop/web"),
        b"\0\x51\0\0": Verdict(Drop()),
    }
    ruleset = table(
        (Switch(WHERE.key, "where"), Reject()),  # the reject is never reached
        (SetMark(5),),
        chains={"refuse": ((Reject(),),)},
        sets=(WHERE,),
        elements={"where": verdicts},
    )
    found = follow(ruleset, msgspec.structs.replace(PACKET, port=port))
    assert found.outcome.end is end
    assert (found.outcome.mark == 1 << 5) is (end is End.SENT)
    assert found.steps[0].found == verdicts.get(port.to_bytes(2, "big") + b"\0\0")


def drawing(*numbers: str) -> Ruleset:
    """Make a table that sends to one of some addresses, and masquerades."""
    key = (Field.DESTINATION, Draw(len(numbers)))
    sets = (Set("ends", key, Data.ENDPOINT),)
    elements: Elements = {
        pack_address("10.96.0.1") + pack_drawn(slot): endpoint(pack_address(address), 8080)
        for slot, address in enumerate(numbers)
        if address
    }
    return table(
        (Translate(key, "ends"),),
        (Reject(),),
        hooks={Hook.POSTROUTING: ((Masquerade(),), (Drop(),))},
        sets=sets,
        elements={"ends": elements},
    )


def test_translated_it_is_through_with_this_hook_and_comes_to_the_next() -> None:
    asked: list[int] = []

    def second(modulus: int) -> int:
        asked.append(modulus)
        return 1

    found = trace(drawing("10.1.0.1", "10.1.0.2", "10.1.0.3"), PACKET, OWN, second)
    assert found.outcome == Outcome(End.SENT, "10.1.0.2", 8080, translated=True, masqueraded=True)
    assert asked == [3]
    assert [(step.chain, step.drawn) for step in found.steps] == [
        ("prerouting", (1,)),
        ("postrouting", ()),
    ]
    assert found.steps[0].found == endpoint(pack_address("10.1.0.2"), 8080)


def test_all_outcomes_have_exact_shares() -> None:
    def sent(address: str) -> Outcome:
        return Outcome(End.SENT, address, 8080, translated=True, masqueraded=True)

    ruleset = drawing("10.1.0.1", "10.1.0.9", "10.1.0.1", "")
    assert outcomes(ruleset, PACKET, OWN) == {
        Outcome(End.REJECTED, "10.96.0.1", 80): Fraction(1, 4),  # the map has a hole
        sent("10.1.0.1"): Fraction(1, 2),
        sent("10.1.0.9"): Fraction(1, 4),
    }


HOOKS: dict[Hook, tuple[Rule, ...]] = {
    hook: ((SetMark(number),),) for number, hook in enumerate(Hook)
}


@pytest.mark.parametrize(
    ("case", "packet", "passed"),
    [
        ("through", PACKET, [Hook.PREROUTING, Hook.POSTROUTING]),
        ("to here", Packet("10.0.0.1", "192.0.2.1", 80), [Hook.PREROUTING, Hook.INPUT]),
        (
            "from here",
            Packet("192.0.2.1", "10.0.0.1", 80, from_host=True),
            [Hook.OUTPUT, Hook.POSTROUTING],
        ),
        (
            "from here to here",
            Packet("192.0.2.1", "192.0.2.1", 80, from_host=True),
            [Hook.OUTPUT, Hook.POSTROUTING],
        ),
    ],
)
def test_which_hooks_a_packet_passes(case: str, packet: Packet, passed: list[Hook]) -> None:
    assert [step.chain for step in follow(table(hooks=HOOKS), packet).steps] == passed, case


def test_where_it_goes_decides_after_translation_which_hook_comes_next() -> None:
    ruleset = drawing("192.0.2.1")
    found = follow(ruleset)
    assert found.outcome == Outcome(End.SENT, "192.0.2.1", 8080, translated=True)


def test_what_we_do_not_know_is_not_guessed() -> None:
    found = follow(table((SetMark(1),), (Unknown("counter packets 0"), Drop())))
    assert found.outcome == Outcome(
        End.UNKNOWN, "10.96.0.1", 80, mark=2, unknown="counter packets 0"
    )


def test_a_packet_of_another_family_is_refused() -> None:
    with pytest.raises(ValueError, match=r"fd00::1 is no IPv4 address, as the table's are"):
        follow(table(), Packet("fd00::1", "fd00::2", 80))


def test_the_way_can_be_read() -> None:
    drawn = drawing("10.1.0.1")
    other = (Within(Field.SOURCE, "10.9.0.0/16"), Drop())
    verdicts: Elements = {b"\0\x50\0\0": Verdict(Goto("draw"), "shop/web")}
    ruleset = table(
        other,
        (Switch(WHERE.key, "where"),),
        chains={"draw": drawn.chains["prerouting"].rules},
        hooks={Hook.POSTROUTING: ((Unknown("counter packets 0"),),)},
        sets=(*drawn.sets.values(), WHERE),
        elements={**drawn.elements, "where": verdicts},
    )
    assert [step.words(Family.IPV4) for step in follow(ruleset).steps] == [
        "prerouting: ip saddr 10.9.0.0/16 drop (not so: ip saddr 10.9.0.0/16)",
        "prerouting: th dport vmap @where -> goto draw (shop/web)",
        "draw: dnat ip to ip daddr . numgen random mod 1 map @ends -> 10.1.0.1 . 8080",
        "postrouting: counter packets 0",
    ]


# --- Memory ---------------------------------------------------------------------------------

CLIENT = (Field.FIRST_SOURCE, Field.FIRST_PORT)
PINS = Set("pins", (Field.SOURCE, Field.PORT), Data.ENDPOINT, dynamic=True)


def remembering(*, first_look: bool = True) -> Ruleset:
    """Make a table in which a client keeps its endpoint for ten seconds after it was last here."""
    drawn = drawing("10.1.0.1", "10.1.0.2")
    look: tuple[Rule, ...] = ((Translate(PINS.key, "pins"),),) if first_look else ()
    keep = Remember(CLIENT, (Field.DESTINATION, Field.PORT), "pins", 10)
    chains = {
        **drawn.chains,
        "prerouting": Chain(
            "prerouting",
            (*look, *drawn.chains["prerouting"].rules),
            Hook.PREROUTING,
        ),
        "postrouting": Chain("postrouting", ((keep,),), Hook.POSTROUTING),
    }
    return msgspec.structs.replace(drawn, chains=chains, sets={**drawn.sets, "pins": PINS})


def test_a_client_keeps_its_endpoint_until_it_was_away_for_too_long() -> None:
    ruleset = remembering()
    memory: Memory = {}
    went: list[str] = []
    for now, number in ((0.0, 0), (9.0, 1), (18.0, 1), (28.0, 1), (29.0, 0)):
        found = trace(ruleset, PACKET, OWN, lambda _, n=number: n, memory=memory, now=now)  # type: ignore[misc]
        memory = found.memory
        went.append(found.outcome.address)
    assert went == ["10.1.0.1", "10.1.0.1", "10.1.0.1", "10.1.0.2", "10.1.0.2"]


def test_what_is_remembered_is_renewed_and_does_not_change() -> None:
    ruleset = remembering(first_look=False)
    memory: Memory = {}
    for now, number in ((0.0, 0), (5.0, 1)):
        found = trace(ruleset, PACKET, OWN, lambda _, n=number: n, memory=memory, now=now)  # type: ignore[misc]
        memory = found.memory
    assert found.outcome.address == "10.1.0.2"
    assert list(memory.values()) == [(endpoint(pack_address("10.1.0.1"), 8080), 15.0)]


def test_another_client_or_port_is_another_memory() -> None:
    ruleset = remembering()
    memory = trace(ruleset, PACKET, OWN, first).memory
    assert len(outcomes(ruleset, PACKET, OWN, memory=memory)) == 1
    for other in (
        msgspec.structs.replace(PACKET, source="10.0.0.2"),
        msgspec.structs.replace(PACKET, port=81),
    ):
        assert len(outcomes(ruleset, other, OWN, memory=memory)) == 2


def test_the_memory_handed_in_stays_as_it_is() -> None:
    memory: Memory = {}
    trace(remembering(), PACKET, OWN, first, memory=memory)
    assert memory == {}
