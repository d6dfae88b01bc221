"""Whatever is changed in the file of a ledger, `verify` finds it; what only who holds the key can do, a witness finds."""

import base64
import itertools
import json
import shutil
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledgers import NOON, began, changed, copied, filled, forge_head, new_key, rewritten, short, signed_line, trusting
from trails import attempt, ended

from tasks.audit.ledger.entries import AttemptMade, RunEnded
from tasks.audit.ledger.head import LedgerHead
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.ledger.ledger_verification import LedgerVerification, verify_ledger
from tasks.audit.ledger.witness import create_witness, read_witness
from tasks.audit.signing.envelope import ENTRY_TYPE, sign_envelope
from tasks.audit.signing.keyring import Keyring

KEY, OTHER = new_key(), new_key()
ENTRIES = 6


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A ledger that no test changes."""
    return filled(tmp_path_factory.mktemp("whole") / "ledger", KEY, ENTRIES)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("small") / "ledger", KEY, 3)


@pytest.fixture
def trial(tmp_path):
    """Puts content in the place of a copy of a ledger."""

    def changed_to(ledger: Ledger, content: bytes) -> Ledger:
        copy = copied(ledger, tmp_path / "trial")
        copy.path.write_bytes(content)
        return copy

    return changed_to


@pytest.fixture
def witness(whole, tmp_path):
    return witness_of(whole, tmp_path / "witness.json")


def witness_of(ledger, path):
    path.write_bytes(create_witness(ledger, KEY))
    return read_witness(path)


def kinds(found: LedgerVerification) -> set[str]:
    return {finding.what for finding in found.findings}


def lines_of(ledger: Ledger) -> list[bytes]:
    return ledger.path.read_bytes().splitlines(keepends=True)


def found_in(ledger: Ledger, *witnesses) -> LedgerVerification:
    return verify_ledger(ledger, trusting(KEY), witnesses)


def test_a_ledger_that_nobody_changed_is_sound(whole, witness):
    found = found_in(whole, witness)
    assert (found.findings, found.notes, found.entries, found.ledger) == ((), (), ENTRIES, whole.head().ledger)
    assert found.root == whole.head().root


def assert_found(copy: Ledger, content: bytes, byte: int, value: int) -> None:
    """One byte of a ledger is another: it is found, with or without head.json, in the line where it is."""
    copy.path.write_bytes(content[:byte] + bytes([value]) + content[byte + 1 :])
    found = found_in(copy)
    assert not found.sound, (byte, value)
    line_begins = content.rfind(b"\n", 0, byte) + 1
    assert line_begins in {finding.byte for finding in found.findings}, (byte, value)


def test_every_third_byte_is_watched(small, trial):
    """One bit of each, another one at each."""
    content = small.path.read_bytes()
    copy = trial(small, content)
    for byte, value in list(enumerate(content))[::3]:
        assert_found(copy, content, byte, value ^ 1 << byte % 8)


@pytest.mark.long
@pytest.mark.parametrize("head", [True, False])
def test_every_bit_and_every_kind_of_byte_is_watched(small, trial, head):
    content = small.path.read_bytes()
    copy = trial(small, content)
    if not head:
        copy.head_path.unlink()
    for byte, value in enumerate(content):
        for other in {value ^ 1 << bit for bit in range(8)} | {*b'\0\n\r "A=/\xff'} - {value}:
            if other != value:
                assert_found(copy, content, byte, other)


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_put_in_or_taken_out_anywhere_are_found(small, trial, data):
    content = small.path.read_bytes()
    first = data.draw(st.integers(0, len(content)))
    last = data.draw(st.integers(first, min(first + 40, len(content))))
    other = content[:first] + data.draw(st.binary(max_size=40)) + content[last:]
    assert found_in(trial(small, other)).sound == (other == content)


def test_every_removed_entry_is_named(whole, trial):
    lines = lines_of(whole)
    for n in range(ENTRIES):
        found = found_in(trial(whole, b"".join(lines[:n] + lines[n + 1 :])))
        assert ("truncated" in kinds(found)) == (n == ENTRIES - 1)  # at the end is missing only what was the end
        if n < ENTRIES - 1:
            removed = [finding for finding in found.findings if finding.what == "removed"]
            assert [(one.entry, one.says) for one in removed] == [(n, f"entry {n}: not at its place before entry {n + 1}")]


def test_every_two_swapped_entries_are_named(whole, trial):
    lines = lines_of(whole)
    for one, other in itertools.combinations(range(ENTRIES), 2):
        swapped = lines.copy()
        swapped[one], swapped[other] = lines[other], lines[one]
        found = found_in(trial(whole, b"".join(swapped)))
        assert {"removed", "reordered"} <= kinds(found)
        assert one in {finding.entry for finding in found.findings if finding.what == "reordered"}


def test_every_repeated_entry_is_named_wherever_it_is_put(whole, trial):
    lines = lines_of(whole)
    for place, n in itertools.product(range(ENTRIES + 1), range(ENTRIES)):
        found = found_in(trial(whole, b"".join([*lines[:place], lines[n], *lines[place:]])))
        assert not found.sound
        if n < place:
            assert [(one.what, one.entry) for one in found.findings if one.what == "inserted"] == [("inserted", n)]


def test_entries_of_others_are_named_wherever_they_are_put(whole, trial, tmp_path):
    """Signed by a stranger, signed by us for another ledger, and no entries at all."""
    lines = lines_of(whole)
    stranger = signed_line(short(9), OTHER, LedgerHead(whole.head().ledger, last="a" * 64)) + b"\n"
    elsewhere = lines_of(filled(tmp_path / "elsewhere", KEY, 4))[2]
    for place, line in itertools.product(
        range(1, ENTRIES + 1), (stranger, elsewhere, b"\n", b"{}\n", sign_envelope({}, ENTRY_TYPE, KEY.signer) + b"\n")
    ):
        found = found_in(trial(whole, b"".join([*lines[:place], line, *lines[place:]])))
        begins = len(b"".join(lines[:place]))
        assert ("inserted", begins) in {(one.what, one.byte) for one in found.findings}


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.long)])
def test_the_end_cut_off_within_a_line_or_at_its_end_is_found(small, trial, step):
    content = small.path.read_bytes()
    copy = trial(small, content)
    ends = [place + 1 for place, byte in enumerate(content[:-1]) if byte == ord("\n")]
    for length in sorted({*range(0, len(content), step), *ends}):
        copy.path.write_bytes(content[:length])
        found = found_in(copy)
        assert "truncated" in kinds(found)
        assert ("torn" in kinds(found)) == (length > 0 and content[length - 1 : length] != b"\n")


def test_the_end_cut_off_with_a_head_that_fits_is_found_by_the_witness(whole, trial, witness):
    content = whole.path.read_bytes()
    ends = [n + 1 for n, byte in enumerate(content) if byte == ord("\n")]
    for length in [*ends[:-1], *range(1, len(content), 97)]:
        copy = trial(whole, content[:length])
        forge_head(copy)
        assert "witness" in kinds(found_in(copy, witness))
        assert found_in(copy).sound == (length in ends)  # which is why witnesses are kept outside


def test_a_line_longer_than_any_entry_is_passed_over(whole, trial, monkeypatch):
    monkeypatch.setattr("tasks.audit.ledger.ledger_verification.LARGEST_BYTES", 5_000)
    monkeypatch.setattr("tasks.audit.signing.envelope.LARGEST_BYTES", 5_000)
    lines = lines_of(whole)
    found = found_in(trial(whole, b"".join([*lines[:2], b"x" * 17_000 + b"\n", *lines[2:]])))
    assert (found.findings[0].what, found.findings[0].byte) == ("inserted", len(b"".join(lines[:2])))
    assert found.n_bytes == 17_001 + len(b"".join(lines))


@given(
    st.one_of(
        st.binary(max_size=400),
        st.lists(st.sampled_from([b"{", b"}", b"\n", b'"payload"', b":", b"[1e999]", b"\xff"])).map(b"".join),
    )
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_told_and_breaks_nothing(small, trial, content):
    assert not found_in(trial(small, content)).sound
    copy = trial(small, small.path.read_bytes())
    copy.head_path.write_bytes(content)
    assert [finding.what for finding in found_in(copy).findings] == ["head"]


ODD = [
    {"index": -1},
    {"index": 1 << 62},
    {"at": "0001-01-01T00:00:00+14:00"},
    {"at": "9999-12-31T23:59:59-14:00"},
    {"previous": "Z" * 64},
    {"event": {"kind": "opened"}},
    {"event": {"kind": "nothing"}},
    {"event": [[]]},
    {"ledger": "0" * 32},
]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_odd_entries_signed_with_the_key_break_nothing(whole, trial, odd):
    lines = lines_of(whole)
    entry = json.loads(signed_value(lines[2])) | odd
    for last in (True, False):
        line = sign_envelope(entry, ENTRY_TYPE, KEY.signer) + b"\n"
        found = found_in(trial(whole, b"".join([*lines[:2], line, *([] if last else lines[3:])])))
        assert not found.sound


def signed_value(line: bytes) -> bytes:
    return base64.b64decode(json.loads(line)["payload"])


def test_head_json_with_any_bit_changed_is_found(small, trial):
    copy = trial(small, small.path.read_bytes())
    content = copy.head_path.read_bytes()
    for byte, value in enumerate(content):
        copy.head_path.write_bytes(content[:byte] + bytes([value ^ 1 << byte % 7]) + content[byte + 1 :])
        assert kinds(found_in(copy)) <= {"head", "truncated"}
        assert not found_in(copy).sound


def test_a_missing_head_json_is_found(whole, trial):
    copy = trial(whole, whole.path.read_bytes())
    copy.head_path.unlink()
    assert kinds(found_in(copy)) == {"head"}


def test_who_holds_the_key_and_writes_all_anew_is_found_by_a_witness_alone(whole, trial, tmp_path, witness):
    copy = trial(whole, b"")
    rewritten(copy, [short(n) for n in (1, 2, 77, 4, 5)], KEY, whole.head().ledger)
    assert found_in(copy).sound
    assert [finding.what for finding in found_in(copy, witness).findings] == ["witness"]


def test_a_witness_speaks_for_what_it_saw_and_not_for_later(tmp_path):
    """Entries behind the witnessed ones are written anew: only the witness that saw them can tell."""
    ledger = filled(tmp_path / "ledger", KEY, 3)
    early = witness_of(ledger, tmp_path / "early.json")
    lines = lines_of(ledger)
    ledger.append(short(3), KEY)
    late = witness_of(ledger, tmp_path / "late.json")
    ledger.path.write_bytes(b"".join(lines))
    forge_head(ledger)
    ledger.append(short(33), KEY)
    assert found_in(ledger, early).sound
    assert [finding.says for finding in found_in(ledger, late).findings] == [
        "late.json: the first 4 entries are not those that it saw"
    ]


def test_a_stranger_who_writes_all_anew_is_found_by_the_key(whole, trial, witness):
    copy = trial(whole, b"")
    rewritten(copy, [short(n) for n in range(1, ENTRIES)], OTHER)
    assert kinds(found_in(copy)) == {"key"}
    says = " ".join(finding.says for finding in found_in(copy, witness).findings)
    assert "another ledger" in says


def test_an_entry_signed_by_the_key_in_another_place_is_no_entry_there(whole, trial):
    """The last entry, replaced by one that follows as well: head.json knows the other."""
    lines = lines_of(whole)
    before = trial(whole, b"".join(lines[:-1]))
    forge_head(before)
    before.append(short(55), KEY, NOON)
    copy = trial(whole, before.path.read_bytes())
    assert kinds(found_in(copy)) == {"head"}


def test_a_changed_entry_signed_anew_does_not_fit_the_next_one(whole, trial):
    lines = lines_of(whole)
    before = trial(whole, b"".join(lines[:3]))
    forge_head(before)
    before.append(short(55), KEY, NOON)
    found = found_in(trial(whole, b"".join([before.path.read_bytes(), *lines[4:]])))
    assert [(one.what, one.entry) for one in found.findings if one.what != "head"] == [("changed", 4)]


def test_keys_come_and_go(tmp_path):
    """A new key signs from when the old one names it; a retired one signs no more; a stranger's never."""
    new, person = new_key(), new_key("approvals")
    ledger = filled(tmp_path / "ledger", KEY, 2)
    ledger.append(changed("created", new), KEY)
    ledger.append(changed("created", person), KEY)
    ledger.append(changed("retired", KEY), new)
    ledger.append(short(1), new)
    assert found_in(ledger).findings == ()
    ledger.append(short(2), KEY)
    assert [(one.what, one.entry) for one in found_in(ledger).findings] == [("key", 6)]
    ledger.append(short(3), person)
    assert [(one.what, one.entry) for one in found_in(ledger).findings] == [("key", 6), ("changed", 7)]


def test_a_revocation_is_noted_with_what_rests_on_the_chain_alone(tmp_path):
    new = new_key()
    ledger = filled(tmp_path / "ledger", KEY, 3)
    ledger.append(changed("created", new), KEY)
    ledger.append(changed("revoked", KEY, since=NOON, reason="stolen"), new)
    found = found_in(ledger)
    assert found.findings == ()
    assert "signed 4 entries" in found.notes[0]
    ledger.append(short(3), KEY)
    assert kinds(found_in(ledger)) == {"key"}


def test_a_key_that_is_trusted_but_was_never_named_is_told(tmp_path):
    ledger = filled(tmp_path / "ledger", KEY, 3)
    ledger.append(short(3), OTHER)
    found = verify_ledger(ledger, trusting(KEY, OTHER))
    assert [(one.what, one.entry) for one in found.findings] == [("key", 3)]


def test_a_revocation_cut_off_the_end_is_found_by_who_knows_of_it(tmp_path):
    new = new_key()
    ledger = filled(tmp_path / "ledger", KEY, 2)
    ledger.append(changed("created", new), KEY)
    ledger.append(changed("revoked", KEY), new)
    known, other = trusting(KEY, new).keys
    for told in ({"revoked": True}, {"retired_at": NOON}):
        keyring = Keyring((replace(known, **told), other))
        assert verify_ledger(ledger, keyring).findings == ()
        cut = copied(ledger, tmp_path / "cut")
        cut.path.write_bytes(b"".join(lines_of(ledger)[:3]))
        forge_head(cut)
        assert verify_ledger(cut, trusting(KEY, new)).sound
        assert kinds(verify_ledger(cut, keyring)) == {"key"}


def test_a_clock_that_goes_back_is_told_beyond_a_minute(tmp_path):
    ledger = filled(tmp_path / "ledger", KEY, 1)
    for minute, second in ((10, 0), (9, 1), (9, 0)):
        ledger.append(short(second), KEY, NOON.replace(minute=minute, second=second))
    assert verify_ledger(ledger).findings == ()
    ledger.append(short(1), KEY, NOON.replace(minute=8, second=59))
    assert [(one.what, one.entry) for one in verify_ledger(ledger).findings] == [("clock", 4)]


def test_a_run_certified_without_its_attempt_is_told(tmp_path):
    ledger = filled(tmp_path / "ledger", KEY, 2)
    certified = RunEnded.model_validate_json(json.dumps(ended("run-1")))
    for event in (began("run-1"), AttemptMade.model_validate_json(json.dumps(attempt("run-1"))), certified):
        ledger.append(event, KEY)
    assert found_in(ledger).findings == ()
    ledger.append(certified, KEY)
    assert [(one.what, one.entry) for one in found_in(ledger).findings] == [("sequence", 5)]
    shutil.rmtree(ledger.folder)
    filled(ledger.folder, KEY, 2).append(began("run-1"), KEY)
    ledger.append(certified, KEY)
    assert "before its attempt was written down" in found_in(ledger).findings[0].says


def test_progress_is_told_in_bytes_up_to_all(whole):
    told = []
    verify_ledger(whole, progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (whole.head().n_bytes,) * 2
