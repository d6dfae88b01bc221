"""What a run is built on: a ledger that was changed anywhere stops it, whether that was verified before or not."""

from __future__ import annotations

import pytest
from ledgers import NOON, filled, new_key, short

from tasks.audit.ledger.checkpoint import FILE, refuse_unsound_ledger
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.ledger.signers import Signers
from tasks.audit.signing.keyring import Keyring
from tasks.microdata.errors import InputError
from tasks.runtime.settings import Home

KEY = new_key()


@pytest.fixture
def ledger(own, monkeypatch):
    """A ledger of the home of this test, whose keys know its one."""
    from ledgers import trusting

    monkeypatch.setattr(Keyring, "from_home", classmethod(lambda cls, home: trusting(KEY)))
    return filled(own.folder("ledger"), KEY, 12)


def refused(home: Home) -> str:
    with pytest.raises(InputError) as caught:
        refuse_unsound_ledger(home)
    assert caught.value.code == "ledger-damaged"
    assert "sdcert audit verify" in caught.value.remedy
    return caught.value.what


@pytest.mark.parametrize("verified_before", [0, 5, 12])
@pytest.mark.parametrize("entry", [0, 1, 4, 5, 8, 11])
def test_a_flipped_byte_of_any_entry_stops(own, ledger, verified_before, entry):
    whole = ledger.path.read_bytes()
    if verified_before == 12:
        refuse_unsound_ledger(own)
    elif verified_before:
        lines, head = whole.splitlines(keepends=True), ledger.head_path.read_bytes()
        ledger.path.write_bytes(b"".join(lines[:verified_before]))
        ledger.head_path.unlink()
        refuse_unsound_ledger(own)
        ledger.path.write_bytes(whole)
        ledger.head_path.write_bytes(head)
    lines = whole.splitlines(keepends=True)
    place = sum(map(len, lines[:entry])) + len(lines[entry]) // 2
    ledger.path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    assert refused(own)
    ledger.path.write_bytes(whole)
    refuse_unsound_ledger(own)
    assert (ledger.folder / FILE).stat().st_mode & 0o077 == 0


def test_what_is_appended_is_verified_and_then_known(own, ledger):
    refuse_unsound_ledger(own)
    first = (ledger.folder / FILE).read_bytes()
    refuse_unsound_ledger(own)
    assert (ledger.folder / FILE).read_bytes() == first
    ledger.append(short(99), KEY, NOON)
    refuse_unsound_ledger(own)
    assert (ledger.folder / FILE).read_bytes() != first
    ledger.append(short(100), new_key(), NOON)
    assert "a key that no entry before it names" in refused(own)


def test_an_older_copy_of_the_ledger_and_none_stop(own, ledger):
    older = ledger.path.read_bytes(), ledger.head_path.read_bytes()
    ledger.append(short(99), KEY, NOON)
    refuse_unsound_ledger(own)
    ledger.path.write_bytes(older[0])
    ledger.head_path.write_bytes(older[1])
    assert "has lost entries" in refused(own)
    ledger.path.unlink()
    ledger.head_path.unlink()
    assert "is gone" in refused(own)


@pytest.mark.parametrize(("old", "new"), [(b"{", b""), (b'"size":12', b'"size":11'), (b'"ended":""', b'"ended":"revoked"')])
def test_a_checkpoint_that_was_edited_is_made_again(own, ledger, old, new):
    refuse_unsound_ledger(own)
    path = ledger.folder / FILE
    before = path.read_bytes()
    path.write_bytes(before.replace(old, new))
    assert path.read_bytes() != before
    refuse_unsound_ledger(own)
    assert path.read_bytes() == before


def test_a_torn_end_and_a_lost_head_stop_nothing(own, ledger):
    """Both are what a crash leaves, and the next append mends them."""
    with ledger.path.open("ab") as file:
        file.write(b'{"payload":')
    refuse_unsound_ledger(own)
    ledger.head_path.unlink()
    refuse_unsound_ledger(own)
    assert Ledger(ledger.folder).append(short(50), KEY, NOON).index == 12
    refuse_unsound_ledger(own)


def test_whoever_appends_can_verify_first_and_waits_for_nobody(own, ledger):
    def verified(_):
        refuse_unsound_ledger(own, is_held=True)
        return short(50)

    assert ledger.append(verified, KEY, NOON).index == 12


def test_a_home_without_a_ledger_has_nothing_to_verify(own):
    refuse_unsound_ledger(own)
    assert not (own.root / "ledger" / FILE).exists()


def test_only_new_entries_have_their_signatures_checked(own, ledger, monkeypatch):
    checked, check = [], Signers.check

    def counted(self, entry, *arguments):
        checked.append(entry.index)
        return check(self, entry, *arguments)

    monkeypatch.setattr(Signers, "check", counted)
    for appended, expected in ((0, list(range(12))), (0, []), (3, [12, 13, 14]), (0, [])):
        for number in range(appended):
            ledger.append(short(50 + number), KEY, NOON)
        checked.clear()
        refuse_unsound_ledger(own)
        assert checked == expected
