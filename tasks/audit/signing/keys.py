"""The private keys of a home: Ed25519, each in a file of its own beside its public record.

`keys/signing/` holds <key id>.pem (PKCS8, 0400, with or without a passphrase), <key id>.json (the public record), and
`current-certificates`, the id of the one key that signs certificates and entries of the ledger. A key signs only once the
ledger names it: the first entry names the first key, and every later one is announced by an entry of the key before it. So
nothing here lets a key sign that the ledger cannot trace; `key_changes.py` makes the changes and announces them.

The private key of certificates may be in the environment instead (`SDCERT_SIGNING_KEY`). It wins over the files, and it signs
only if it is the current key, or if nothing was signed yet. Anything else would be a signature that nobody can trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tasks.audit.ledger.entries import KeyClaim, KeyPurpose
from tasks.audit.signing.keyring import KeyRecord, format_default_key_name, read_key_records, read_record
from tasks.audit.signing.library import CryptoSigner
from tasks.audit.signing.pem import (
    PEM_VARIABLE,
    AskPassphrase,
    choose_passphrase,
    compute_key_id,
    open_environment_key,
    open_key_file,
    serialise_private_key,
    write_public_pem,
)
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_text_file
from tasks.runtime.files import hold_file_lock, write_whole
from tasks.runtime.settings import Home

_KEY_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key that was opened, and what is public of it."""

    claim: KeyClaim
    signer: CryptoSigner

    @property
    def key_id(self) -> str:
        return self.claim.key_id


def open_signing_key(
    purpose: KeyPurpose = "certificates",
    *,
    create: bool = True,
    name: str | None = None,
    ask: AskPassphrase | None = None,
    home: Home | None = None,
) -> SigningKey:
    """Open the key that signs now. Ask for it right before each signature: a key that was kept may have been retired since.

    purpose: `certificates` is the current key of the home, made here if there never was one and `create` says so. `approvals`
    is a person's, named by `name` (or the beginning of its id), or the only one; it is never made here.
    ask: given a question, returns a passphrase; asked only where the environment has none, or another one (`pem.py`).

    Raises InputError where the key is missing, locked, open to others, damaged, of another kind, or not the one that its
    record says. Costs a tenth of a millisecond once the key is open.
    """
    home = home or Home.current()
    if purpose == "approvals":
        return open_key(home, _find_approval_record(home, name), ask)
    private = open_environment_key(ask)
    if private is not None:
        return _from_environment(home, private)
    key_id = read_current_id(home)
    if key_id is None and not create:
        raise _create_no_key_error(home)
    return open_key(home, read_key_record(home, key_id or _find_first_id(home)), ask)


@contextmanager
def hold_signing_key(*, ask: AskPassphrase | None = None, home: Home | None = None) -> Iterator[SigningKey]:
    """The current certificates key, for as long as it takes to sign and append: no rotation comes between.

    Take the lock of the ledger inside, never around it, and do not nest.
    """
    home = home or Home.current()
    while True:
        key = open_signing_key(ask=ask, home=home)  # may take the same lock, or wait for a person
        with lock_keys(home):
            if key.key_id == read_current_id(home):
                yield key
                return


def create_key(
    purpose: KeyPurpose, *, name: str | None = None, passphrase: str | None = None, home: Home | None = None
) -> KeyRecord:
    """Make a key and its files; returns its public record. Announces nothing, and does not make it current.

    See `key_changes.create` and `changes.rotate`.
    """
    private = Ed25519PrivateKey.generate()
    record = create_key_record(private, purpose, name)
    write_key_files(home or Home.current(), record, private, passphrase)
    return record


def write_key_files(home: Home, record: KeyRecord, private: Ed25519PrivateKey, passphrase: str | None) -> None:
    """Write the files of a key, the public record last: where a record is, its key was whole."""
    write_whole(pem_path(home, record.claim.key_id), serialise_private_key(private, passphrase), mode=0o400)
    keep_record(home, record)


def retire_record(record: KeyRecord, at: datetime) -> KeyRecord:
    """The record of a key that signs nothing after `at`; what it signed up to then stays good."""
    return record.model_copy(update={"retired_at": at})


def revoke_record(record: KeyRecord, at: datetime, since: datetime | None, reason: str) -> KeyRecord:
    """The record of a key of which nothing is good any more, or nothing that it signed from `since` on."""
    return record.model_copy(update={"revoked_at": at, "revoked_since": since, "reason": reason})


def open_key(home: Home, record: KeyRecord, ask: AskPassphrase | None = None) -> SigningKey:
    """Open the private key that belongs to a record: the one in the environment if it is that, else its file."""
    given = open_environment_key(ask) if record.claim.purpose == "certificates" else None
    if given is not None and compute_key_id(given) == record.claim.key_id:
        return _create_signing_key(record, given, PEM_VARIABLE)
    path = pem_path(home, record.claim.key_id)
    return _create_signing_key(record, open_key_file(path, record.claim, ask), str(path))


def create_key_record(private: Ed25519PrivateKey, purpose: KeyPurpose, name: str | None) -> KeyRecord:
    key_id = compute_key_id(private)
    claim = KeyClaim(
        key_id=key_id,
        purpose=purpose,
        name=name or format_default_key_name(key_id),
        public_key=write_public_pem(private),
        created_at=datetime.now(UTC),
    )
    return KeyRecord(claim=claim)


def read_current_id(home: Home) -> str | None:
    """The id of the key that signs certificates, or None where none was made yet."""
    path = home.root / "keys" / "signing" / "current-certificates"
    try:
        found = read_text_file(path, encoding="ascii", errors="replace").strip()
        if _KEY_ID.fullmatch(found):
            return found
        what, allowed = "the mark of the current key is damaged", "the id of one key: 64 hexadecimal digits"
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        what, allowed = f"the mark of the current key cannot be read ({error.strerror})", "a file that its owner can read"
        raise InputError("no-current-key", str(path), what, allowed, "work as the user who owns the home") from None
    remedy = "restore keys/signing from a backup of the private folder"
    raise InputError("no-current-key", str(path), what, allowed, remedy)


def make_current(home: Home, key_id: str) -> None:
    write_whole(_find_folder(home) / "current-certificates", f"{key_id}\n".encode())


def keep_record(home: Home, record: KeyRecord) -> None:
    write_whole(_record_path(home, record.claim.key_id), record.model_dump_json().encode())


def read_key_record(home: Home, key_id: str) -> KeyRecord:
    """The public record of one key. Raises InputError where there is none."""
    path = _record_path(home, key_id)
    if path.exists():
        return read_record(path)
    where, allowed = str(path.parent), "a public record (<key id>.json) for every key"
    remedy = "restore keys/signing from a backup of the private folder"
    raise InputError("no-key-record", where, "the record of the signing key is gone", allowed, remedy, key_id)


def pem_path(home: Home, key_id: str) -> Path:
    return home.root / "keys" / "signing" / f"{key_id}.pem"


@contextmanager
def lock_keys(home: Home) -> Iterator[None]:
    """Held while keys are made or changed, and while the current one signs. Not to be taken twice by one caller."""
    with hold_file_lock(_find_folder(home) / ".lock"):
        yield


def is_usable(record: KeyRecord) -> bool:
    """Neither retired nor revoked."""
    return record.retired_at is None and record.revoked_at is None


def ledger_is_empty(home: Home) -> bool:
    path = home.root / "ledger" / "ledger.jsonl"
    return not path.exists() or path.stat().st_size == 0


def create_first_key(home: Home, *, name: str | None = None, passphrase: str | None = None) -> KeyRecord:
    """Make the first key for certificates and let it be current. Hold `lock_keys`.

    A key of a maker that died before it said which one is current is taken instead.

    Raises InputError where a ledger is there and it cannot be told which key signs it.
    """
    left = _find_unmarked_key(home)
    record = left or create_key("certificates", name=name, passphrase=passphrase, home=home)
    make_current(home, record.claim.key_id)
    return record


def admit(home: Home, private: Ed25519PrivateKey, name: str | None = None) -> None:
    """Let the key in the environment be current, if nothing was signed yet, or if only the mark of the current one is lost.

    Hold `lock_keys`. Raises InputError where the ledger has another key.
    """
    key_id, current = compute_key_id(private), read_current_id(home)
    if key_id == current:
        return
    only_one = [record.claim.key_id for record in _list_certificate_keys(home)] == [key_id]
    if not ledger_is_empty(home) and not (current is None and only_one):
        raise create_stranger_error()
    if not _record_path(home, key_id).exists():
        keep_record(home, create_key_record(private, "certificates", name))
    make_current(home, key_id)
    if current is not None:
        keep_record(home, retire_record(read_key_record(home, current), datetime.now(UTC)))


def _find_folder(home: Home) -> Path:
    return home.folder("keys", "signing")


def _record_path(home: Home, key_id: str) -> Path:
    return home.root / "keys" / "signing" / f"{key_id}.json"


def _find_first_id(home: Home) -> str:
    """The id of the first key, which is made here unless another process was quicker."""
    passphrase = choose_passphrase()
    with lock_keys(home):
        return read_current_id(home) or create_first_key(home, passphrase=passphrase).claim.key_id


def _find_unmarked_key(home: Home) -> KeyRecord | None:
    found = [record for record in _list_certificate_keys(home) if pem_path(home, record.claim.key_id).exists()]
    if ledger_is_empty(home):
        return found[-1] if found else None
    if len(found) == 1:
        return found[0]
    what = "the ledger of this home is there, but not the key that signs it"
    allowed = "keys/signing with the current key: a new one could not be traced to the first"
    remedy = "restore keys/signing from a backup; without one, move the ledger away and begin another"
    raise InputError("lost-signing-key", str(home.root / "keys" / "signing"), what, allowed, remedy)


def _list_certificate_keys(home: Home) -> list[KeyRecord]:
    return [record for _, record in read_key_records(home) if record.claim.purpose == "certificates" and is_usable(record)]


def _from_environment(home: Home, private: Ed25519PrivateKey) -> SigningKey:
    if compute_key_id(private) != read_current_id(home):
        with lock_keys(home):
            admit(home, private)
    return _create_signing_key(read_key_record(home, compute_key_id(private)), private, PEM_VARIABLE)


def create_stranger_error() -> InputError:
    what = "this is not the key that the ledger of this home knows as the current one: nobody could trace what it signs"
    remedy = "unset it; or, to sign with it from now on, run `sdcert keys rotate` once where the current key can be opened"
    return InputError("unknown-signing-key", PEM_VARIABLE, what, "the current key (`sdcert keys list`)", remedy)


def _find_approval_record(home: Home, name: str | None) -> KeyRecord:
    """The record of a person's key: the named one, or the only one."""
    found = [record for _, record in read_key_records(home) if record.claim.purpose == "approvals" and is_usable(record)]
    names = ", ".join(sorted(record.claim.name for record in found))
    if name is not None:
        found = [one for one in found if one.claim.name == name or one.claim.key_id.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        what, remedy = "there are several keys for approvals", "say whose approval this is"
    else:
        what = "there is no key for approvals" if name is None else "no key for approvals has this name"
        remedy = "`sdcert keys create --for approvals --name NAME`, with a passphrase that the approver alone knows"
    raise InputError("no-approval-key", str(home.root / "keys" / "signing"), what, names or "none yet", remedy, name)


def _create_signing_key(record: KeyRecord, private: Ed25519PrivateKey, where: str) -> SigningKey:
    claim = record.claim
    if (compute_key_id(private), write_public_pem(private)) != (claim.key_id, claim.public_key):
        what, allowed = "the public record is not that of this private key", "the pair as it was made"
        raise InputError("pair-of-keys", where, what, allowed, "restore keys/signing from a backup", claim.key_id)
    if not is_usable(record):
        what, remedy = "this key was retired or revoked: it signs nothing any more", "`sdcert keys list` shows which one signs"
        raise InputError("key-not-in-use", where, what, "the current key", remedy, claim.key_id)
    return SigningKey(claim, CryptoSigner(private))


def _create_no_key_error(home: Home) -> InputError:
    what, remedy = "this home has no signing key yet", "`sdcert keys create`, or certify a release"
    return InputError("no-signing-key", str(home.root / "keys"), what, "a key for certificates", remedy)
