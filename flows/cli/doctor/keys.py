"""What `sdcert doctor` says of the keys that sign. Opens the current one to see that it would, and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from flows.cli.doctor.home import Finding, fail, fine, warn
from tasks.audit.signing.key_changes import KeyChanges
from tasks.audit.signing.keyring import KeyRecord, Keyring, key_records
from tasks.audit.signing.keys import current_id, ledger_is_empty, open_key, pem_path, read_key_record, stranger, usable
from tasks.audit.signing.pem import PASSPHRASE_VARIABLE, PEM_VARIABLE, compute_key_id, has_passphrase, open_environment_key
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_NOTE, read_file
from tasks.runtime.settings import Home

TOPIC = "signing"
LOCKED = ("no-passphrase",)
RESTORE = "restore keys/signing from a backup of the private folder"


def check_keys(root: Path) -> Iterator[Finding]:
    """Does the current key sign; is every key whole; was a change broken off?"""
    home = Home(root)
    try:
        if PEM_VARIABLE in os.environ and (wrong := _environment(home)) is not None:
            yield wrong
            return
        records = [record for _, record in key_records(home)]
        Keyring.from_home(home)
        yield _current(home)
        yield from _incomplete(home, records)
        yield from _report_pending_change(home)
    except InputError as error:
        yield _create_error_finding(error)
    except OSError as error:
        yield fail(TOPIC, f"keys/signing cannot be looked at ({error.strerror})", "work as the user who owns the home")


def _environment(home: Home) -> Finding | None:
    private = open_environment_key()
    if private is None:
        return fine(TOPIC, f"{PEM_VARIABLE} is set and empty: the keys of the private folder are used")
    if compute_key_id(private) == current_id(home):
        return None
    if ledger_is_empty(home):
        return fine(TOPIC, f"the key in {PEM_VARIABLE} opens, and will sign from the first release on")
    return _create_error_finding(stranger())


def _current(home: Home) -> Finding:
    key_id = current_id(home)
    if key_id is None and ledger_is_empty(home):
        return fine(TOPIC, "no key yet: the first release makes one, or `sdcert keys create`")
    if key_id is None:
        return fail(TOPIC, "there is a ledger, and no mark which key signs it (keys/signing/current-certificates)", RESTORE)
    record = read_key_record(home, key_id)
    path = pem_path(home, key_id)
    try:
        open_key(home, record)
    except InputError as error:
        return _not_opened(error)
    if path.exists() and not has_passphrase(read_file(path, LARGEST_NOTE)):
        return fine(TOPIC, f"key {key_id[:16]} signs; it has no passphrase: who can read the private folder can sign")
    return fine(TOPIC, f"key {key_id[:16]} signs")


def _not_opened(error: InputError) -> Finding:
    if error.code in LOCKED:
        says = f"the current key is locked, and {PASSPHRASE_VARIABLE} is not set: only who is asked on a terminal can sign"
        return warn(TOPIC, says, f"set {PASSPHRASE_VARIABLE} where releases are certified without a terminal")
    return _create_error_finding(error)


def _incomplete(home: Home, records: list[KeyRecord]) -> Iterator[Finding]:
    """Keys in use that nobody can sign with here, and private keys of which nothing is known."""
    ids = {record.claim.key_id for record in records}
    for record in records:
        key_id = record.claim.key_id
        if key_id != current_id(home) and usable(record) and not pem_path(home, key_id).exists():
            says = f"key {key_id[:16]} ({record.claim.purpose}) is in use, and its private key is not here"
            yield warn(TOPIC, says, f"{RESTORE}; if it is lost or stolen: `sdcert keys revoke {key_id[:8]} --reason ...`")
    for path in sorted((home.root / "keys" / "signing").glob("*.pem")):
        if path.stem not in ids:
            says = f"{path} has no public record: it was never used, or the record is lost"
            yield warn(TOPIC, says, f"{RESTORE}; remove the file if its making was broken off")


def _report_pending_change(home: Home) -> Iterator[Finding]:
    pending = KeyChanges(home).pending()
    if pending is not None:
        says = f"a change of keys ({pending.change}) was broken off"
        yield warn(TOPIC, says, "`sdcert keys rotate` or `sdcert keys revoke` finishes it first; certifying goes on until then")


def _create_error_finding(error: InputError) -> Finding:
    return fail(TOPIC, f"{error.what} ({error.where})", error.remedy)
