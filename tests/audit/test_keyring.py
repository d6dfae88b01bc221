"""The public side: what a key that was given, retired or revoked is good for, and what is no public key at all."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as rsa_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.signer import CryptoSigner

from tasks.audit.signing.envelope import ENTRY_TYPE, TRUST_TYPE, open_envelope, sign_envelope
from tasks.audit.signing.keyring import (
    KeyRecord,
    KeyRefused,
    Keyring,
    KnownKey,
    RevokedCertificate,
    TrustFile,
    create_home_trust_file,
    note_revoked,
    parse_public_key,
    read_revoked_certificates,
)
from tasks.audit.signing.keys import create_key_record, keep_record
from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.runtime.settings import Home

PRIVATE, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32) for n in (1, 2))
RSA = rsa_key(65537, 2048)
RECORD = create_key_record(PRIVATE, "certificates", "Office")
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
CERTIFICATE = RevokedCertificate(sha256="c" * 64, reason="wrong table", at=NOON)


def changed(**fields: object) -> KeyRecord:
    return RECORD.model_copy(update=fields)


def ring(*records: KeyRecord) -> Keyring:
    return Keyring(tuple(KnownKey.from_record(record) for record in records))


def sign_with(private: Ed25519PrivateKey = PRIVATE):
    return open_envelope(sign_envelope({"a": 1}, ENTRY_TYPE, CryptoSigner(private)), ENTRY_TYPE)


def verdict(keyring: Keyring, signed_at: datetime = NOON, purpose: str = "certificates", envelope=None) -> str:
    try:
        keyring.require_valid_signer(envelope or sign_with(), purpose=purpose, signed_at=signed_at)
    except KeyRefused as refused:
        return refused.code
    return "good"


def pem_of(private) -> bytes:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def private_pem_of(private) -> bytes:
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def trust(*records: KeyRecord, certificates=()) -> bytes:
    file = TrustFile(ledger=None, written_at=NOON, keys=records, revoked_certificates=certificates)
    return canonical(file.model_dump(mode="json"))


@pytest.fixture
def file(tmp_path):
    """`file(content)` writes a file and returns its path."""

    def write(content: bytes):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.txt"
        path.write_bytes(content)
        return path

    return write


def of_file(path) -> InputError:
    with pytest.raises(InputError) as refused:
        Keyring.from_files([path])
    return refused.value


class TestWhatAKeyIsGoodFor:
    @pytest.mark.parametrize(
        ("fields", "before", "at", "after"),
        [
            ({}, "good", "good", "good"),
            ({"retired_at": NOON}, "good", "good", "retired"),
            ({"revoked_at": NOON}, "revoked", "revoked", "revoked"),
            ({"revoked_at": NOON + 9 * SECOND, "revoked_since": NOON}, "good", "revoked", "revoked"),
            ({"revoked_at": NOON, "retired_at": NOON}, "revoked", "revoked", "revoked"),
            ({"revoked_at": NOON, "revoked_since": NOON + 9 * SECOND, "retired_at": NOON}, "good", "good", "retired"),
        ],
    )
    def test_by_the_date_it_says(self, fields, before, at, after):
        keyring = ring(changed(**fields))
        assert [verdict(keyring, when) for when in (NOON - SECOND, NOON, NOON + SECOND)] == [before, at, after]

    def test_another_purpose(self):
        assert verdict(ring(RECORD), purpose="approvals") == "wrong-purpose"

    def test_an_unknown_key_and_a_bad_signature(self):
        assert verdict(ring(RECORD), envelope=sign_with(STRANGER)) == "unknown-key"
        assert verdict(Keyring()) == "unknown-key"
        content = sign_envelope({"a": 1}, ENTRY_TYPE, CryptoSigner(STRANGER))
        own_id, other_id = RECORD.claim.key_id, parse_public_key(pem_of(STRANGER)).keyid
        forged = open_envelope(content.replace(other_id.encode(), own_id.encode()), ENTRY_TYPE)
        assert verdict(ring(RECORD), envelope=forged) == "bad-signature"

    def test_whose_signature_it_is_is_told_whatever_became_of_the_key(self):
        keyring = ring(changed(revoked_at=NOON))
        assert keyring.signer_of(sign_with(), purpose="certificates").name == "Office"
        with pytest.raises(KeyRefused):
            keyring.signer_of(sign_with(), purpose="approvals")

    def test_the_reason_is_told(self):
        keyring = ring(changed(revoked_at=NOON, revoked_since=NOON, reason="the laptop was stolen"))
        with pytest.raises(KeyRefused, match=r"since 2026-11-21 12:00:00 UTC \(the laptop was stolen\)"):
            keyring.require_valid_signer(sign_with(), purpose="certificates", signed_at=NOON)

    def test_an_unknown_key_id_is_not_shown_as_it_is(self):
        content = canonical({**json.loads(sign_envelope({"a": 1}, ENTRY_TYPE, CryptoSigner(PRIVATE)))})
        hostile = content.replace(RECORD.claim.key_id.encode(), "\u202eevil\u0007".encode().replace(b"\x07", b"\\u0007"))
        with pytest.raises(KeyRefused) as refused:
            ring(RECORD).require_valid_signer(open_envelope(hostile, ENTRY_TYPE), purpose="certificates", signed_at=NOON)
        assert refused.value.reason.isprintable()

    def test_a_record_whose_id_is_of_another_key(self):
        claim = RECORD.claim.model_copy(update={"public_key": pem_of(STRANGER).decode()})
        with pytest.raises(ValueError, match="id"):
            KnownKey.from_record(KeyRecord(claim=claim))


class TestFiles:
    def test_a_public_key_says_nothing_of_its_use(self, file):
        keyring = Keyring.from_files([file(pem_of(PRIVATE))])
        (known,) = keyring.keys
        assert (known.claim, known.purpose, known.key_id) == (None, None, RECORD.claim.key_id)
        assert known.name == f"key {RECORD.claim.key_id[:16]}"
        assert verdict(keyring) == verdict(keyring, purpose="approvals") == "good"

    def test_a_public_key_may_stand_below_a_remark(self, file):
        assert Keyring.from_files([file(b"the key of the office\n" + pem_of(PRIVATE))]).find_key(RECORD.claim.key_id)

    def test_a_trust_file_may_speak_of_private_keys(self, file):
        reason = "-----BEGIN PUBLIC KEY----- was sent with its PRIVATE KEY"
        assert Keyring.from_files([file(trust(changed(revoked_at=NOON, reason=reason)))]).keys[0].reason == reason

    @pytest.mark.parametrize("is_signed", [False, True])
    def test_a_trust_file(self, is_signed, file):
        content = trust(changed(retired_at=NOON), certificates=(CERTIFICATE,))
        keyring = Keyring.from_files(
            [file(sign_envelope(json.loads(content), TRUST_TYPE, CryptoSigner(PRIVATE)) if is_signed else content)]
        )
        assert verdict(keyring, NOON + SECOND) == "retired"
        assert keyring.revocation_of("c" * 64) == CERTIFICATE
        assert keyring.revocation_of("d" * 64) is None

    def test_the_strictest_of_several_files_counts_in_any_order(self, file):
        early, late = NOON - 2 * SECOND, NOON - SECOND
        variants = [
            pem_of(PRIVATE),
            trust(RECORD),
            trust(changed(retired_at=late)),
            trust(changed(retired_at=early)),
            trust(changed(revoked_at=NOON, revoked_since=late)),
            trust(changed(revoked_at=NOON, revoked_since=early)),
            trust(changed(revoked_at=NOON), certificates=(CERTIFICATE,)),
        ]
        paths = [file(content) for content in variants]
        times = [early - SECOND, early, late, NOON]
        for one, other in product(paths, repeat=2):
            both, apart = Keyring.from_files([one, other]), [Keyring.from_files([path]) for path in (one, other)]
            assert len(both.keys) == 1
            for when in times:
                assert (verdict(both, when) == "good") == all(verdict(single, when) == "good" for single in apart)
            assert both.keys[0].purpose == next((part.keys[0].purpose for part in apart if part.keys[0].purpose), None)

    @pytest.mark.parametrize("bit", range(8))
    def test_a_flipped_bit_of_a_signed_trust_file_is_refused(self, bit, file):
        content = sign_envelope(json.loads(trust(RECORD)), TRUST_TYPE, CryptoSigner(PRIVATE))
        for place in range(bit, len(content), 61):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            assert of_file(file(bytes(flipped))).code == "not-a-public-key"

    @given(st.binary(max_size=200))
    def test_anything_else_is_refused_in_words(self, content):
        with NamedTemporaryFile() as handle:
            handle.write(content)
            handle.flush()
            assert of_file(Path(handle.name)).code == "not-a-public-key"

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (b"", "neither PEM nor JSON"),
            (b"{}", "no trust file"),
            (b"[" * 100_000, "neither PEM nor JSON"),
            (trust(RECORD) + b"\n", "byte for byte"),
            (trust(RECORD).replace(b":", b": ", 1), "byte for byte"),
            (trust(RECORD).replace(b'"ledger":null', b'"ledger":null,"ledgers":null'), "no trust file"),
            (trust(RECORD).replace(b'"name":"Office"', b'"name":1'), "no trust file"),
            (trust(RECORD).replace(RECORD.claim.key_id.encode(), b"0" * 64), "the id is not that"),
            (sign_envelope(json.loads(trust(RECORD)), TRUST_TYPE, CryptoSigner(STRANGER)), "none of its own keys"),
            (sign_envelope(json.loads(trust(RECORD)), ENTRY_TYPE, CryptoSigner(PRIVATE)), "another type"),
            (pem_of(PRIVATE)[:60], "not a public key"),
            (pem_of(PRIVATE) + pem_of(STRANGER), "several keys"),
            (pem_of(RSA), "another kind"),
            (pem_of(Ed448PrivateKey.generate()), "another kind"),
        ],
        ids=range(14),
    )
    def test_what_is_wrong_is_told(self, content, told, file):
        error = of_file(file(content))
        assert (error.code, told in error.what) == ("not-a-public-key", True)

    @pytest.mark.parametrize("private", [PRIVATE, RSA], ids=["ed25519", "rsa"])
    def test_a_private_key_is_refused_and_not_shown(self, private, file):
        content = private_pem_of(private)
        error = of_file(file(b"# my key\n" + content))
        assert error.code == "private-key-given"
        assert not any(line in str(error) for line in content.decode().splitlines()[1:-1])

    def test_what_is_no_file(self, tmp_path):
        assert "no such file" in of_file(tmp_path / "absent").what
        assert "not a file" in of_file(tmp_path).what
        os.mkfifo(tmp_path / "pipe")
        assert "not a file" in of_file(tmp_path / "pipe").what

    def test_a_huge_file_is_not_read(self, tmp_path):
        with (tmp_path / "huge").open("wb") as huge:
            huge.truncate(1 << 40)
        assert "more than" in of_file(tmp_path / "huge").what


class TestHome:
    def test_all_records_and_revoked_certificates(self, home):
        own = Home(home)
        keep_record(own, changed(retired_at=NOON))
        note_revoked(own, CERTIFICATE.sha256, CERTIFICATE.reason, CERTIFICATE.at)
        keyring = Keyring.from_home(own)
        assert keyring.revocation_of("c" * 64) == CERTIFICATE
        assert verdict(keyring, NOON + SECOND) == "retired"

    def test_what_it_exports_is_what_it_is(self, home, file):
        own = Home(home)
        keep_record(own, changed(revoked_at=NOON, revoked_since=NOON, reason="stolen"))
        keep_record(own, create_key_record(STRANGER, "approvals", "Ana"))
        note_revoked(own, "c" * 64, "wrong table", NOON)
        exported = Keyring.from_files([file(canonical(create_home_trust_file(own, "0" * 32).model_dump(mode="json")))])
        again = Keyring.from_home(own)
        said = [
            [(one.claim, one.retired_at, one.revoked, one.revoked_since, one.reason) for one in found.keys]
            for found in (exported, again)
        ]
        assert said[0] == said[1]
        assert len(said[0]) == 2
        assert exported.revoked_certificates == again.revoked_certificates

    def test_a_record_under_another_name_is_damage(self, home):
        own = Home(home)
        keep_record(own, RECORD)
        path = own.root / "keys" / "signing" / f"{RECORD.claim.key_id}.json"
        path.rename(path.with_name(f"{'0' * 64}.json"))
        with pytest.raises(InputError, match="damaged"):
            Keyring.from_home(own)

    def test_a_revocation_is_noted_once_and_stays(self, home):
        own = Home(home)
        assert read_revoked_certificates(own) == ()
        note_revoked(own, "c" * 64, "wrong table", NOON)
        note_revoked(own, "c" * 64, "another reason", NOON + SECOND)
        note_revoked(own, "d" * 64, "wrong policy", NOON)
        assert [one.reason for one in read_revoked_certificates(own)] == ["wrong table", "wrong policy"]
        assert (own.root / "keys" / "revoked.json").stat().st_mode & 0o077 == 0

    @pytest.mark.parametrize("content", [b"", b"[1]", b'[{"sha256":"x"}]'])
    def test_a_damaged_list_is_not_an_empty_one(self, content, home):
        own = Home(home)
        note_revoked(own, "c" * 64, "wrong table", NOON)
        (own.root / "keys" / "revoked.json").write_bytes(content)
        with pytest.raises(InputError, match="list of revoked certificates"):
            Keyring.from_home(own)
        with pytest.raises(InputError):
            note_revoked(own, "d" * 64, "wrong policy", NOON)
