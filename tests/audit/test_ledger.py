"""Appending: what an entry is, and what happens where the file, the disk or head.json is not as it should be."""

import base64
import errno
import hashlib
import json
import os
import resource
import stat
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from ledgers import NOON, copied, filled, new_key, short, trusting

from tasks.audit.ledger import ledger as ledger_module
from tasks.audit.ledger.entries import LedgerOpened
from tasks.audit.ledger.head import LARGEST_HEAD, LedgerHead, parse_head, serialise_head
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.ledger.ledger_verification import verify_ledger
from tasks.audit.ledger.merkle import CompactRange, compute_root
from tasks.microdata.errors import InputError
from tasks.runtime.files import hold_file_lock

KEY = new_key()
NOBODY = 65534


@pytest.fixture
def ledger(tmp_path):
    return filled(tmp_path / "ledger", KEY, 4)


def refused(ledger: Ledger) -> InputError:
    """What an append is refused with; the file stays as it is."""
    before = ledger.path.read_bytes() if ledger.path.is_file() else None
    with pytest.raises(InputError) as caught:
        ledger.append(short(99), KEY)
    assert (ledger.path.read_bytes() if ledger.path.is_file() else None) == before
    return caught.value


def is_sound(ledger: Ledger, entries: int) -> bool:
    found = verify_ledger(ledger, trusting(KEY))
    assert not found.findings
    return found.entries == entries


def test_an_entry_is_a_signed_line_bound_to_the_one_before(tmp_path):
    """By hand: SHA-256, Ed25519 and the bytes that DSSE signs."""
    ledger = Ledger(tmp_path / "ledger")
    appended = ledger.append(short(1), KEY, NOON)
    first, second = ledger.path.read_bytes().splitlines()
    envelope = json.loads(second)
    payload = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    load_pem_public_key(KEY.claim.public_key.encode()).verify(signature, signed)
    said = json.loads(payload)
    leaf = hashlib.sha256(b"\x00" + first).digest()
    assert said["previous"] == leaf.hex()
    assert (said["index"], said["at"], said["event"]["run"]) == (1, "2020-01-01T12:00:00Z", "run-1")
    own = hashlib.sha256(b"\x00" + second).digest()
    assert appended.leaf == own.hex()
    assert appended.root == hashlib.sha256(b"\x01" + leaf + own).hexdigest()
    assert (appended.index, appended.size) == (1, 2)


def test_the_first_append_opens_the_ledger_with_the_key_that_signs(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.append(short(1), KEY)
    opened, first = [ledger.entry(line.first_byte, len(line.content)) for line in ledger.lines()]
    assert opened.event == LedgerOpened(key=KEY.claim)
    assert opened.previous == "0" * 64
    assert first.event == short(1)
    assert opened.ledger == first.ledger != Ledger(tmp_path / "other").append(short(1), KEY).entry.ledger


def test_a_ledger_is_opened_once(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    assert ledger.append(LedgerOpened(key=KEY.claim), KEY).size == 1
    with pytest.raises(ValueError, match="once"):
        ledger.append(LedgerOpened(key=KEY.claim), KEY)
    assert is_sound(ledger, 1)


def test_what_append_returns_is_what_the_file_holds(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    for n in range(1, 40):
        appended = ledger.append(short(n), KEY)
        lines = list(ledger.lines())
        assert appended.root == compute_root([line.leaf for line in lines]).hex() == ledger.head().root
        assert ledger.entry(appended.first_byte, appended.n_bytes) == appended.entry
        assert appended.size == ledger.head().size == n + 1
        assert appended.first_byte + appended.n_bytes == ledger.head().n_bytes == ledger.path.stat().st_size
    later = list(ledger.lines(lines[7].first_byte, index=7))
    assert later == lines[7:]


def test_files_are_private(ledger):
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [ledger.folder, *ledger.folder.iterdir()]}
    assert modes == {"ledger": 0o700, "ledger.jsonl": 0o600, "head.json": 0o600, ".lock": 0o600}


def test_a_function_is_asked_for_the_event_when_nobody_else_can_append(ledger):
    seen = []

    def event(given: Ledger):
        seen.append(given.head().size)
        with pytest.raises(TimeoutError), hold_file_lock(given.folder / ".lock", timeout_seconds=0):
            pass
        return short(50)

    assert ledger.append(event, KEY).entry.event == short(50)
    assert seen == [4]


def test_a_function_that_fails_appends_nothing(ledger):
    def fails(_: Ledger):
        raise KeyError

    with pytest.raises(KeyError):
        ledger.append(fails, KEY)
    assert is_sound(ledger, 4)
    assert ledger.append(short(5), KEY).index == 4


def test_an_append_reads_the_last_entry_alone(ledger):
    """What was changed before it is found by `verify`; an append must not take longer the longer the ledger is."""
    content = bytearray(ledger.path.read_bytes())
    content[50] ^= 1
    ledger.path.write_bytes(content)
    assert ledger.append(short(5), KEY).size == 5
    assert not verify_ledger(ledger).sound


@pytest.mark.parametrize("how", ["missing", "older", "empty", "garbage", "cut", "too long", "other"])
def test_head_is_made_again_by_reading(ledger, tmp_path, how):
    right, older = ledger.head_path.read_bytes(), copied(ledger, tmp_path / "older").head_path.read_bytes()
    ledger.append(short(4), KEY)
    now = ledger.head_path.read_bytes()
    contents = {"older": older, "empty": b"", "garbage": b"\xff{", "cut": now[:-9], "too long": now + b" " * LARGEST_HEAD}
    other = right.replace(b'"size"', b'"SIZE"')
    ledger.head_path.unlink() if how == "missing" else ledger.head_path.write_bytes(contents.get(how, other))
    appended = ledger.append(short(5), KEY)
    assert (appended.index, parse_head(ledger.head_path.read_bytes()).root) == (5, appended.root)
    assert is_sound(ledger, 6)


def test_nothing_is_appended_behind_lost_entries(ledger):
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    for kept in (b"".join(lines[:3]), b"".join(lines)[:-1], b"".join(lines)[:-40], b""):
        ledger.path.write_bytes(kept)
        error = refused(ledger)
        assert error.code == "ledger-damaged"
        assert "sdcert audit verify" in error.remedy
    ledger.path.unlink()
    assert "missing" in refused(ledger).what
    assert not ledger.path.exists()


def test_nothing_is_appended_behind_a_changed_entry(ledger):
    content = bytearray(ledger.path.read_bytes())
    content[-100] ^= 1
    ledger.path.write_bytes(content)
    assert refused(ledger).code == "ledger-damaged"


def test_nothing_is_appended_behind_a_line_that_does_not_follow(ledger, tmp_path):
    """Lines behind those that head.json knows are read before they are relied upon."""
    for line in (b"no entry\n", ledger.path.read_bytes().splitlines(keepends=True)[2]):
        broken = copied(ledger, tmp_path / "broken")
        with broken.path.open("ab") as file:
            file.write(line)
        assert refused(broken).code == "ledger-damaged"


def test_a_head_of_another_ledger_is_not_believed(ledger, tmp_path):
    other = filled(tmp_path / "other", KEY, 4)
    ledger.head_path.write_bytes(other.head_path.read_bytes())
    assert refused(ledger).code == "ledger-damaged"


def test_head_that_promises_a_wrong_size_is_not_believed(ledger):
    head = parse_head(ledger.head_path.read_bytes())
    ledger.head_path.write_bytes(
        serialise_head(LedgerHead(head.ledger, head.n_bytes + 5, head.last_byte, head.last, head.tree))
    )
    assert refused(ledger).code == "ledger-damaged"


@pytest.mark.parametrize("tail", [b"x", b"\0" * 300, b'{"payload":"e30="'])
def test_a_torn_tail_is_set_aside_and_told(ledger, tail):
    with ledger.path.open("ab") as file:
        file.write(tail)
    assert [finding.what for finding in verify_ledger(ledger, trusting(KEY)).findings] == ["torn"]
    assert ledger.append(short(4), KEY).index == 4
    aside = list(ledger.folder.glob("torn-*"))
    assert [path.read_bytes() for path in aside] == [tail]
    assert is_sound(ledger, 5)
    assert aside[0].name in verify_ledger(ledger).notes[0]


def test_no_entry_is_written_through_a_link(ledger, tmp_path):
    target = tmp_path / "elsewhere.jsonl"
    ledger.path.rename(target)
    ledger.path.symlink_to(target)
    assert refused(ledger).code == "ledger-not-usable"
    with pytest.raises(InputError):
        verify_ledger(ledger)
    target.unlink()
    with pytest.raises(InputError):
        ledger.append(short(4), KEY)
    assert not target.exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_no_entry_is_written_to_what_is_no_file(tmp_path, make):
    ledger = Ledger(tmp_path)
    make(ledger.path)
    assert refused(ledger).code == "ledger-not-usable"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_told_that_it_is_not_his(ledger, tmp_path):
    os.seteuid(NOBODY)
    try:
        with pytest.raises(InputError) as appended:
            ledger.append(short(5), KEY)
        with pytest.raises(InputError) as read_:
            ledger.exists()
    finally:
        os.seteuid(0)
    assert {appended.value.code, read_.value.code} == {"ledger-not-usable"}
    assert is_sound(ledger, 4)


def test_a_failed_sync_is_no_acknowledgement(ledger, monkeypatch):
    for error in (OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()):
        failing = iter([error])

        def fsync(descriptor: int, failing=failing) -> None:
            for raised in failing:
                raise raised

        with monkeypatch.context() as patched, pytest.raises((InputError, KeyboardInterrupt)):
            patched.setattr(ledger_module.os, "fsync", fsync)
            ledger.append(short(9), KEY)
        assert is_sound(ledger, 4)
    assert ledger.append(short(5), KEY).index == 4


def test_an_entry_on_the_disk_is_acknowledged_though_head_cannot_be_written(ledger, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(ledger_module, "write_whole", full)
        assert [ledger.append(short(n), KEY).index for n in (4, 5)] == [4, 5]
    assert verify_ledger(ledger, trusting(KEY)).notes[0].startswith("head.json is 2 entries behind")
    assert ledger.append(short(6), KEY).index == 6
    assert is_sound(ledger, 7)


def test_a_full_disk_leaves_a_valid_ledger_and_nothing_torn(ledger, tmp_path):
    """A limit on the size of files at every few bytes: of the ledger's next line, of head.json, and of the lock."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size, outcomes = ledger.path.stat().st_size, []
    for limit in [*range(0, 700, 60), *range(size - 40, size + 1000, 13)]:
        trial = copied(ledger, tmp_path / "trial")
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            trial.append(short(4), KEY)
            outcomes.append(5)
        except InputError as error:
            assert "full" in error.what
            outcomes.append(4)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert is_sound(trial, outcomes[-1])
        assert sorted(path.name for path in trial.folder.iterdir()) == [".lock", "head.json", "ledger.jsonl"]
        assert trial.append(short(5), KEY).index == outcomes[-1]
    assert set(outcomes) == {4, 5}


def test_a_full_disk_with_a_torn_tail_loses_neither(ledger):
    with ledger.path.open("ab") as file:
        file.write(b"torn" * 100)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        assert "full" in refused(ledger).what
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ledger.append(short(4), KEY).index == 4
    assert next(ledger.folder.glob("torn-*")).read_bytes() == b"torn" * 100


def test_a_ledger_that_is_held_too_long_is_told(ledger, monkeypatch):
    monkeypatch.setattr(ledger_module, "SECONDS_TO_WAIT", 0.1)
    with ledger.hold_lock():
        assert refused(ledger).code == "ledger-busy"


def test_times_are_given_with_their_zone(ledger):
    with pytest.raises(ValueError, match="timezone"):
        ledger.append(short(5), KEY, datetime(2026, 1, 1))  # what is tested
    now = datetime.now(UTC)
    assert abs(ledger.append(short(5), KEY).entry.at - now) < timedelta(minutes=1)


def test_reading_a_home_without_a_ledger_makes_nothing(home):
    ledger = Ledger.current()
    assert (ledger.exists(), ledger.head(), list(ledger.lines())) == (False, LedgerHead(), [])
    assert not home.exists()


def test_a_ledger_on_a_medium_that_cannot_be_written_can_be_checked(ledger, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(ledger_module, "hold_file_lock", refuse)
    assert is_sound(ledger, 4)
    assert refused(ledger).code == "ledger-not-usable"


def test_a_head_that_is_of_no_such_ledger_or_number_is_not_believed(ledger):
    """Else the next entry would have a wrong number, or be of another ledger, for good."""
    head, good = parse_head(ledger.head_path.read_bytes()), ledger.path.read_bytes()
    other = "f" * 32 if head.ledger != "f" * 32 else "e" * 32
    larger = CompactRange(head.size * 2, head.tree.peaks)
    for wrong in (LedgerHead(other, head.n_bytes, head.last_byte, head.last, head.tree),
                  LedgerHead(head.ledger, head.n_bytes, head.last_byte, head.last, larger)):  # fmt: skip
        ledger.head_path.write_bytes(serialise_head(wrong))
        assert refused(ledger).code == "ledger-damaged"
        assert ledger.path.read_bytes() == good


def test_a_head_with_any_bit_changed_spoils_no_later_entry(ledger, tmp_path):
    """It is made anew from the lines, root and all."""
    content = ledger.head_path.read_bytes()
    for byte in range(0, len(content), 7):
        copy = copied(ledger, tmp_path / "copy")
        copy.head_path.write_bytes(content[:byte] + bytes([content[byte] ^ 1 << byte % 7]) + content[byte + 1 :])
        copy.append(short(5), KEY)
        assert verify_ledger(copy, trusting(KEY)).sound
