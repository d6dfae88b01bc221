"""A clock that says less than the ledger stops what would be signed, until the holder of the key vouches for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from certified_runs import issue
from ledgers import ASKED, filled, new_key, short

from flows.cli import run as sdcert
from tasks.audit.ledger.entries import ClockSetBack
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.ledger.ledger_verification import verify_ledger
from tasks.audit.signing.keys import signing_key
from tasks.microdata.errors import InputError

KEY = new_key()
NEXT_YEAR = datetime.now(UTC) + timedelta(days=365)


def refusal(action, *arguments) -> str:
    with pytest.raises(InputError) as refused:
        action(*arguments)
    return refused.value.code


def at(ledger: Ledger) -> list[datetime]:
    from tasks.audit.ledger.ledger import open_entry

    return [open_entry(line.content).at for line in ledger.lines()]


def test_nothing_follows_an_entry_that_is_still_to_come(tmp_path):
    ledger = filled(tmp_path / "ledger", KEY, 2)
    ledger.append(short(3), KEY, NEXT_YEAR)
    size = ledger.path.stat().st_size
    assert refusal(ledger.append, short(4), KEY) == "clock-behind"
    assert refusal(ledger.append, lambda _: pytest.fail("nothing is made"), KEY) == "clock-behind"
    assert refusal(ledger.refuse_clock_behind) == "clock-behind"
    assert ledger.path.stat().st_size == size


def test_a_signed_note_lets_it_go_on_and_is_listed(tmp_path):
    ledger = filled(tmp_path / "ledger", KEY, 2)
    ledger.append(short(3), KEY, NEXT_YEAR)
    done = ledger.append_clock_set_back("it was a year ahead", ASKED, KEY)
    assert isinstance(done.entry.event, ClockSetBack)
    assert done.entry.event.latest == NEXT_YEAR
    ledger.append(short(4), KEY)
    ledger.refuse_clock_behind()
    found = verify_ledger(ledger)
    assert found.sound
    assert [note for note in found.notes if "set back" in note and "it was a year ahead" in note]
    assert refusal(ledger.append_clock_set_back, "again", ASKED, KEY) == "clock-fits"


def test_a_note_vouches_for_one_time_and_not_for_the_next(tmp_path):
    ledger = filled(tmp_path / "ledger", KEY, 1)
    ledger.append(short(1), KEY, NEXT_YEAR)
    ledger.append_clock_set_back("it was a year ahead", ASKED, KEY)
    ledger.append(short(2), KEY, NEXT_YEAR)
    assert refusal(ledger.append, short(3), KEY) == "clock-behind"
    ledger.append(short(3), KEY, datetime.now(UTC))  # as an older version did, or who has the key
    assert [one.what for one in verify_ledger(ledger).findings] == ["clock"]


def test_a_minute_of_difference_between_machines_leaves_no_trace(tmp_path):
    ledger = filled(tmp_path / "ledger", KEY, 1)
    ahead = datetime.now(UTC) + timedelta(seconds=50)
    ledger.append(short(1), KEY, ahead)
    for number in range(3):
        ledger.append(short(number), KEY)
    assert at(ledger) == sorted(at(ledger))
    assert max(at(ledger)) <= max(ahead, datetime.now(UTC))
    assert verify_ledger(ledger).sound


def test_a_ledger_whose_dates_went_back_before_goes_on_and_is_told_as_before(tmp_path):
    ledger = filled(tmp_path / "ledger", KEY, 1)
    ledger.append(short(1), KEY, NEXT_YEAR)
    ledger.append(short(2), KEY, datetime.now(UTC) - timedelta(days=1))
    ledger.append(short(3), KEY)
    assert {one.what for one in verify_ledger(ledger).findings} == {"clock"}


@pytest.fixture
def issued(own, tmp_path, capfd):
    """A certified run, and a clock that was a year ahead once."""
    made = issue(tmp_path / "releases" / "survey" / "20261121T093000Z-1f2e3d")
    Ledger.current().append(short(1), signing_key(), NEXT_YEAR)
    capfd.readouterr()
    return made


COMMANDS = [
    ["revoke", "{run}", "--reason", "the source was wrong"],
    ["approve", "{run}", "--as", "review board", "--reason", "minutes, item 4"],
    ["keys", "rotate", "--no-passphrase"],
    ["keys", "create", "--for", "approvals", "--name", "Board", "--no-passphrase"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_what_would_be_signed_is_refused_with_a_sentence(issued, own, capfd, words):
    before = {path: path.read_bytes() for path in (own.root / "keys").rglob("*") if path.is_file()}
    size = Ledger.current().path.stat().st_size
    assert sdcert([word.format(run=issued.run) for word in words]) == 2
    told = capfd.readouterr().err
    assert "the clock says" in told
    assert "sdcert keys clock --reason" in told
    assert Ledger.current().path.stat().st_size == size
    assert {path: path.read_bytes() for path in (own.root / "keys").rglob("*") if path.is_file()} == before
    assert not list(issued.folder.glob("*-*.json"))


def test_the_note_of_the_holder_of_the_key_lets_commands_go_on_with_a_warning(issued, own, capfd):
    assert sdcert(["keys", "clock", "--reason", "the clock was a year ahead"]) == 0
    assert "noted in the ledger: the clock was set back from" in capfd.readouterr().out
    assert sdcert(["revoke", issued.run, "--reason", "the source was wrong"]) == 0
    assert "warning: the clock was set back" in capfd.readouterr().out
    assert sdcert(["audit", "verify"]) == 0
    assert "the clock was a year ahead" in capfd.readouterr().out
    assert sdcert(["keys", "clock", "--reason", "once more"]) == 2
    assert "nothing is to be noted" in capfd.readouterr().err
