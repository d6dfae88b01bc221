"""The public side of the keys: who may have signed what, and until when. Needs no home.

A keyring vouches for nobody: it is as good as the place it was got from. A trust file may be signed by one of its own keys,
which shows that it is whole and, to who held that key before, that it comes from the same hand; it shows nothing to who meets
it for the first time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pydantic import AwareDatetime, StringConstraints, TypeAdapter, ValidationError

from tasks.audit.ledger.entries import KeyClaim, KeyPurpose
from tasks.audit.signing.envelope import (
    LARGEST_BYTES,
    TRUST_TYPE,
    NotAnEnvelope,
    NotSignedByGivenKeys,
    SignedEnvelope,
    open_envelope,
    verify_signature,
)
from tasks.audit.signing.library import SSlibKey
from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import open_regular_file, read_file
from tasks.microdata.spec import Spec
from tasks.report.predicate import Digest
from tasks.runtime.files import hold_file_lock, write_whole
from tasks.runtime.settings import Home

_PRIVATE = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----")
Refusal = Literal["unknown-key", "bad-signature", "wrong-purpose", "retired", "revoked"]


class KeyRefused(Exception):
    """A signature is not to be relied on. code: why, in one word; reason: a sentence for people."""

    def __init__(self, code: Refusal, reason: str) -> None:
        super().__init__(reason)
        self.code: Refusal = code
        self.reason = reason


class KeyRecord(Spec):
    """A public key and what has become of it.

    retired_at: it signs nothing later. revoked_at: when that was told; revoked_since: what it signed before stays good (none:
    nothing does).
    """

    schema_version: Literal["1"] = "1"
    claim: KeyClaim
    retired_at: AwareDatetime | None = None
    revoked_at: AwareDatetime | None = None
    revoked_since: AwareDatetime | None = None
    reason: str | None = None


class RevokedCertificate(Spec):
    """A certificate, by the SHA-256 of its bytes, that is no longer to be relied on.

    table, content_address: the SHA-256 of the released table that it was about, and the address of the content; none where
    that is not told.
    """

    sha256: Digest
    reason: str
    at: AwareDatetime
    table: Digest | None = None
    content_address: str | None = None


class TrustFile(Spec):
    """What `sdcert keys export --trust` writes: canonical JSON, or that, signed. ledger: its id, if it exists."""

    schema_version: Literal["1"] = "1"
    ledger: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")] | None
    written_at: AwareDatetime
    keys: tuple[KeyRecord, ...]
    revoked_certificates: tuple[RevokedCertificate, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A public key that somebody vouches for. claim: none where it was given as a bare PEM, which says nothing of its use."""

    claim: KeyClaim | None
    key: SSlibKey
    retired_at: datetime | None = None
    revoked: bool = False
    revoked_since: datetime | None = None
    reason: str | None = None

    @classmethod
    def from_record(cls, record: KeyRecord) -> KnownKey:
        """Raises ValueError where the id of the record is not that of its public key."""
        key = parse_public_key(record.claim.public_key.encode())
        if key.keyid != record.claim.key_id:
            raise ValueError("the id is not that of the public key")
        revoked = record.revoked_at is not None
        return cls(record.claim, key, record.retired_at, revoked, record.revoked_since, record.reason)

    @property
    def key_id(self) -> str:
        return self.key.keyid

    @property
    def name(self) -> str:
        return self.claim.name if self.claim else format_default_key_name(self.key_id)

    @property
    def purpose(self) -> KeyPurpose | None:
        return self.claim.purpose if self.claim else None


@dataclass(frozen=True, slots=True)
class Keyring:
    """The keys that are known, each once, and the certificates that were revoked."""

    keys: tuple[KnownKey, ...] = ()
    revoked_certificates: tuple[RevokedCertificate, ...] = ()

    @classmethod
    def from_home(cls, home: Home) -> Keyring:
        """All keys that this home has ever had. Raises InputError where a record is damaged."""
        return _create_keyring(
            (_load_known_key(path, record) for path, record in read_key_records(home)), read_revoked_certificates(home)
        )

    @classmethod
    def from_files(cls, paths: Iterable[Path]) -> Keyring:
        """From public keys (PEM) and trust files. What one file revokes is revoked, whatever the others say.

        Raises InputError for a file that is neither, that was changed, or that holds a private key.
        """
        parts = [_read_keyring_file(path) for path in paths]
        keys = (key for part in parts for key in part.keys)
        return _create_keyring(keys, (revoked for part in parts for revoked in part.revoked_certificates))

    def find_key(self, key_id: str) -> KnownKey | None:
        return next((known for known in self.keys if known.key_id == key_id), None)

    def revocation_of(self, sha256: str) -> RevokedCertificate | None:
        """Was this certificate revoked, as far as this keyring knows?"""
        return next((one for one in self.revoked_certificates if one.sha256 == sha256), None)

    def revocations_of_data(self, table: str, content_address: str) -> tuple[RevokedCertificate, ...]:
        """The revoked certificates of a released table, by the SHA-256 of its bytes or the address of its content."""
        same = {("table", table), ("content", content_address)} - {("content", "not assessed")}
        found = [one for one in self.revoked_certificates if same & {("table", one.table), ("content", one.content_address)}]
        return tuple(sorted(found, key=lambda one: (one.at, one.sha256)))

    def signer_of(self, envelope: SignedEnvelope, *, purpose: KeyPurpose) -> KnownKey:
        """Whose signature this is, whatever became of the key. Raises KeyRefused: unknown, bad signature, wrong purpose."""
        known = self.find_key(envelope.key_id)
        if known is None:
            raise KeyRefused(
                "unknown-key", f"it says it was signed with key {_shorten(envelope.key_id)}, which is not known here"
            )
        try:
            verify_signature(envelope, [known.key])
        except NotSignedByGivenKeys:
            raise KeyRefused("bad-signature", f"the signature is not one of key {_shorten(known.key_id)}") from None
        if known.purpose not in (purpose, None):
            raise KeyRefused("wrong-purpose", f"key {_shorten(known.key_id)} is for {known.purpose}, not for {purpose}")
        return known

    def require_valid_signer(self, envelope: SignedEnvelope, *, purpose: KeyPurpose, signed_at: datetime) -> KnownKey:
        """Whose signature this is, if it may be relied on.

        A retired key is good for what was signed up to then; a revoked one for nothing, or for what was signed before the date
        given. signed_at is the signer's own claim: who stole a key can date back. Only the ledger, witnessed before the theft,
        shows that a signature is older.

        Raises KeyRefused: unknown, bad signature, wrong purpose, retired, revoked.
        """
        known = self.signer_of(envelope, purpose=purpose)
        if known.revoked and (known.revoked_since is None or signed_at >= known.revoked_since):
            since = "" if known.revoked_since is None else f" for what was signed since {_format_time(known.revoked_since)}"
            why = f" ({known.reason})" if known.reason else ""
            raise KeyRefused("revoked", f"key {_shorten(known.key_id)} was revoked{since}{why}")
        if known.retired_at is not None and signed_at > known.retired_at:
            text = f"key {_shorten(known.key_id)} was retired at {_format_time(known.retired_at)}, before this was signed"
            raise KeyRefused("retired", text)
        return known


def convert_to_utc(when: datetime) -> datetime:
    """The moment in UTC, or as it is where the calendar ends before: files from elsewhere may hold any date."""
    try:
        return when.astimezone(UTC)
    except OverflowError:
        return when


def format_default_key_name(key_id: str) -> str:
    """What a key is called to which nobody gave a name."""
    return f"key {key_id[:16]}"


def parse_public_key(pem: bytes) -> SSlibKey:
    """An Ed25519 public key and its id. Raises ValueError for anything else."""
    if pem.count(b"-----BEGIN") > 1:
        raise ValueError("several keys in one file: give each in a file of its own")
    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("not a public key in PEM form") from None
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError("a key of another kind: an Ed25519 key is wanted")  # noqa: TRY004  # of content, not of arguments
    return SSlibKey.from_crypto(key)


def read_key_records(home: Home) -> Iterator[tuple[Path, KeyRecord]]:
    """The public records of a home, oldest first. Makes nothing. Raises InputError where one is damaged."""
    paths = (home.root / "keys" / "signing").glob("*.json")
    records = [(path, read_record(path)) for path in paths if not path.name.startswith((".", "pending"))]
    yield from sorted(records, key=lambda found: (found[1].claim.created_at, found[1].claim.key_id))


def create_home_trust_file(home: Home, ledger: str | None) -> TrustFile:
    """What others need to check signatures of this home; `canonical(trust.model_dump(mode="json"))` are its bytes."""
    records = tuple(record for _, record in read_key_records(home))
    return TrustFile(
        ledger=ledger, written_at=datetime.now(UTC), keys=records, revoked_certificates=read_revoked_certificates(home)
    )


def read_trust(content: bytes) -> TrustFile:
    """A trust file, plain or signed by one of its own keys.

    Raises ValueError, NotAnEnvelope or BadSignature where it is not one, or was changed.
    """
    value = json.loads(content)
    if isinstance(value, dict) and "payloadType" in value:
        envelope = open_envelope(content, TRUST_TYPE)
        trust = _trust(envelope.value)
        verify_signature(envelope, [KnownKey.from_record(record).key for record in trust.keys])
        return trust
    if canonical(value) != content:
        raise ValueError("it is not byte for byte as it was written")
    return _trust(value)


def read_revoked_certificates(home: Home) -> tuple[RevokedCertificate, ...]:
    """The certificates that this home has revoked. Raises InputError where the list is damaged."""
    path = _get_revocation_list_path(home)
    try:
        return _REVOKED.validate_json(read_file(path))
    except FileNotFoundError:
        return ()
    except (ValidationError, OSError):
        what, allowed = "the list of revoked certificates cannot be read", "the file as `sdcert revoke` wrote it"
        raise InputError("damaged-list", str(path), what, allowed, "restore it from a backup of the private folder") from None


def note_revoked(
    home: Home, sha256: str, reason: str, at: datetime, *, table: str | None = None, content_address: str | None = None
) -> None:
    """Add a certificate to the list. One that is there already stays as it is, but is told its table if it has none."""
    path = _get_revocation_list_path(home)
    new = RevokedCertificate(sha256=sha256, reason=reason, at=at, table=table, content_address=content_address)
    with hold_file_lock(path.with_name(".revoked.lock")):
        before = read_revoked_certificates(home)
        found = _each_once((*before, new))
        if found != before:
            write_whole(path, _REVOKED.dump_json(found))


def _each_once(revoked: Iterable[RevokedCertificate]) -> tuple[RevokedCertificate, ...]:
    """Every certificate once, as it was told first; its table from whoever tells it."""
    kept: dict[str, RevokedCertificate] = {}
    for one in revoked:
        first = kept.setdefault(one.sha256, one)
        text = {"table": first.table or one.table, "content_address": first.content_address or one.content_address}
        kept[one.sha256] = first.model_copy(update=text)
    return tuple(kept.values())


_REVOKED = TypeAdapter(tuple[RevokedCertificate, ...])


def _get_revocation_list_path(home: Home) -> Path:
    return home.root / "keys" / "revoked.json"


def _trust(value: Any) -> TrustFile:
    return TrustFile.model_validate_json(canonical(value))


def read_record(path: Path) -> KeyRecord:
    """The public record in a file. Raises InputError where it is damaged."""
    try:
        return KeyRecord.model_validate_json(read_file(path))
    except (ValidationError, OSError):
        raise _create_damage_error(path) from None


def _load_known_key(path: Path, record: KeyRecord) -> KnownKey:
    try:
        known = KnownKey.from_record(record)
    except ValueError:
        raise _create_damage_error(path) from None
    if path.stem != known.key_id:
        raise _create_damage_error(path)
    return known


def _create_damage_error(path: Path) -> InputError:
    what, remedy = "the public record of a signing key is damaged", "restore it from a backup of the private folder"
    return InputError("damaged-key-record", str(path), what, "the file as `sdcert keys` wrote it", remedy)


def _read_keyring_file(path: Path) -> Keyring:
    content = _read_content(path)
    if _PRIVATE.search(content):
        what = "this file holds a private key, which nobody but its owner should have"
        remedy = (
            "give the public key: its owner writes it with `sdcert keys export`; if this file was sent around, revoke the key"
        )
        raise InputError("private-key-given", str(path), what, "a public key (PEM) or a trust file", remedy)
    try:
        if not content.lstrip().startswith(b"{") and b"-----BEGIN" in content:
            return Keyring((KnownKey(None, parse_public_key(content)),))
        trust = read_trust(content)
        return _create_keyring(map(KnownKey.from_record, trust.keys), trust.revoked_certificates)
    except (ValueError, RecursionError, NotAnEnvelope, NotSignedByGivenKeys) as error:
        raise _create_key_error(path, _describe_error(error)) from None


def _describe_error(error: Exception) -> str:
    match error:
        case NotSignedByGivenKeys():
            return "it is signed, and none of its own keys signed it"
        case ValidationError():
            return "it is JSON, but no trust file"
        case json.JSONDecodeError() | UnicodeDecodeError() | RecursionError():
            return "neither PEM nor JSON"
        case _:
            return str(error)


def _create_key_error(path: Path, why: str) -> InputError:
    what = f"this is no public key and no trust file: {why}"
    allowed = "an Ed25519 public key (PEM), or a trust file that `sdcert keys export --trust` wrote"
    return InputError("not-a-public-key", str(path), what, allowed, "ask who issued the certificate for the public key")


def _read_content(path: Path) -> bytes:
    try:
        if path.is_file():
            with open_regular_file(path) as file:
                content = file.read(LARGEST_BYTES + 1)
            if len(content) <= LARGEST_BYTES:
                return content
            raise _create_key_error(path, f"it has more than {LARGEST_BYTES:,} bytes")
    except OSError as error:
        raise _create_key_error(path, f"it cannot be read ({error.strerror})") from None
    raise _create_key_error(path, "it is not a file" if path.exists() else "there is no such file")


def _create_keyring(keys: Iterable[KnownKey], revoked: Iterable[RevokedCertificate]) -> Keyring:
    """Every key once, with the strictest that is said of it; every certificate once."""
    kept: dict[str, KnownKey] = {}
    for known in keys:
        before = kept.get(known.key_id)
        kept[known.key_id] = known if before is None else _merge_strictly(before, known)
    return Keyring(tuple(kept.values()), _each_once(revoked))


def _merge_strictly(one: KnownKey, other: KnownKey) -> KnownKey:
    revoking = [known for known in (one, other) if known.revoked]
    since = None if any(known.revoked_since is None for known in revoking) else _find_earliest(revoking, "revoked_since")
    reason = next((known.reason for known in (*revoking, one, other) if known.reason), None)
    retired = _find_earliest([one, other], "retired_at")
    return KnownKey(one.claim or other.claim, one.key, retired, bool(revoking), since, reason)


def _find_earliest(keys: Iterable[KnownKey], date: str) -> datetime | None:
    return min((when for known in keys if (when := getattr(known, date)) is not None), default=None)


def _shorten(key_id: str) -> str:
    """The beginning of a key id. The id of an unknown key is whatever the file says, so nothing but its letters is shown."""
    return "".join(character for character in key_id[:16] if character.isalnum())


def _format_time(when: datetime) -> str:
    return f"{convert_to_utc(when):%Y-%m-%d %H:%M:%S %Z}"
