"""What a lab leaves on the machine beside its namespaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearwise.lab import state
from nearwise.model.errors import InputError


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> state.Place:
    monkeypatch.setattr(state, "_ROOT", tmp_path)
    made = state.Place("brk")
    made.make()
    return made


def test_what_processes_complained_of_last_is_told(place: state.Place) -> None:
    place.log("lab").write_text("12:00 WARNING lab.hosts: first\n12:01 WARNING lab.hosts: last\n")
    place.log("proxy-a1").write_text("12:00 INFO proxy.agent: all caches are complete\n")
    place.log("proxy-a2").write_text("Error: address already in use\n")
    place.log("pods-a1").write_text("")
    assert place.complaints() == [
        "lab: 12:01 WARNING lab.hosts: last",
        "proxy-a2: Error: address already in use",
    ]


def test_a_lab_that_is_taken_away_meanwhile_has_no_last_words(place: state.Place) -> None:
    place.remove()
    assert place.last_words("lab") == ""
    assert place.complaints() == []


def test_one_at_a_time_begins_a_lab(place: state.Place) -> None:
    with place.alone():
        with pytest.raises(InputError, match="just being started by somebody else"), place.alone():
            pass
        with state.Place("other").alone():
            pass
    with place.alone():
        pass
