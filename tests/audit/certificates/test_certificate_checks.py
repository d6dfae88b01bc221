"""What verification finds: each kind of mismatch by its name, and the certificate of an earlier day as good as ever."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.signer import CryptoSigner

from tasks.audit.certificates.approval import ApprovalPredicate, sign_approval
from tasks.audit.certificates.certificate_verification import verify_file
from tasks.audit.certificates.revocation import RevocationPredicate, sign_revocation
from tasks.audit.ledger.entries import KeyClaim
from tasks.audit.signing.envelope import LARGEST_BYTES, STATEMENT_PAYLOAD_TYPE, sign_envelope
from tasks.audit.signing.keyring import KeyRecord, Keyring, KnownKey, RevokedCertificate
from tasks.audit.signing.keys import SigningKey
from tasks.microdata.canonical import canonical

AT = datetime(2027, 1, 1, tzinfo=UTC)
ISSUED = datetime(2026, 11, 21, 9, 31, tzinfo=UTC)


def failed(found):
    return [check.what for check in found.checks if check.matches is False]


def said(found, what):
    return next(check.says for check in found.checks if check.what == what)


def test_the_golden_certificate_verifies(golden, golden_keys):
    certificate = (golden / "certificate.json").read_bytes()
    found = verify_file(golden / "released.csv", certificate, golden_keys, AT, beside=golden)
    assert found.matches
    assert [check.what for check in found.checks] == ["form", "signature", "verdict", "file", "date", "revocation"]
    assert found.sha256 == hashlib.sha256(certificate).hexdigest()
    assert (found.predicate.release, found.predicate.claim.file.rows) == ("golden", 12)
    for name in ("report.html", "scorecard.json"):
        assert verify_file(golden / name, certificate, golden_keys, AT).matches


def independent(folder):
    """A certificate by its documented form alone: DSSE's encoding before authentication, Ed25519, in-toto."""
    envelope = json.loads((folder / "certificate.json").read_text())
    payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    key = load_pem_public_key((folder / "sdcert.pem").read_bytes())
    key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), signed)
    (subject,) = json.loads(payload)["subject"]
    return subject["digest"]["sha256"] == hashlib.sha256((folder / subject["name"]).read_bytes()).hexdigest()


def test_others_verify_it_without_this_program(golden, tmp_path):
    assert independent(golden)
    copy = shutil.copytree(golden, tmp_path / "copy")
    (copy / "released.csv").write_bytes((golden / "released.csv").read_bytes().replace(b"70", b"71"))
    assert not independent(copy)
    (copy / "certificate.json").write_bytes(
        (golden / "certificate.json").read_bytes().replace(b'"payload":"eyJ', b'"payload":"eyK')
    )
    with pytest.raises(InvalidSignature):
        independent(copy)


def test_the_helpers_sign_as_the_program_does(checked, statement):
    assert checked(statement()).matches


@pytest.mark.parametrize(
    ("change", "what", "words"),
    [
        (lambda s: s["predicate"]["claim"].update(verdict="refused"), "verdict", "NOT certified: it is refused"),
        (lambda s: s["predicate"]["claim"].update(verdict="undecided"), "verdict", "NOT certified: it is undecided"),
        (lambda s: s["predicate"]["claim"].update(not_for_publication=True), "verdict", "rehearsal"),
        (lambda s: s.update(predicateType="urn:sdcert:predicate:release:4"), "statement", "newer program (version 4"),
        (lambda s: s.update(predicateType="urn:sdcert:predicate:release:1"), "statement", "never signed"),
        (lambda s: s.update(predicateType="https://slsa.dev/provenance/v1"), "statement", "another kind"),
        (lambda s: s.update(predicateType=7), "statement", "another kind"),
        (lambda s: s.update(_type="https://in-toto.io/Statement/v0.1"), "statement", "no in-toto statement"),
        (lambda s: s.update(more=1), "statement", "no in-toto statement"),
        (lambda s: s["predicate"].update(more=1), "statement", "does not have what this one has at more"),
        (lambda s: s["predicate"].update(attempts=0), "statement", "at attempts"),
        (lambda s: s["subject"][0].update(name="other.csv"), "statement", "contradicts itself"),
        (lambda s: s["subject"].append(s["subject"][0]), "statement", "contradicts itself"),
        (lambda s: s["predicate"]["claim"]["file"].update(sha256="0" * 64), "statement", "contradicts itself"),
    ],
)
def test_what_is_signed_must_be_a_certificate(checked, statement, change, what, words):
    found = checked(statement(change))
    assert (found.matches, failed(found)) == (False, [what])
    assert words in said(found, what)


def test_a_certificate_of_version_2_is_still_read(checked, statement):
    found = checked(statement(lambda s: s.update(predicateType="urn:sdcert:predicate:release:2")))
    assert "statement" not in failed(found)


def test_a_refused_release_has_a_statement_about_its_report(checked, statement, golden):
    def refused(value):
        value["predicate"]["claim"] |= {"verdict": "refused", "file": "not released"}
        report = value["predicate"]["documents"][0]
        value["subject"] = [{"name": "report.html", "digest": {"sha256": report["sha256"]}}]

    found = checked(statement(refused), golden / "report.html")
    assert (found.matches, failed(found)) == (False, ["verdict"])
    assert failed(checked(statement(refused), golden / "released.csv")) == ["verdict", "file"]


@pytest.mark.parametrize("value", [None, [], 7, "text", {}, {"_type": 1}])
def test_what_is_signed_may_be_anything(checked, value):
    assert failed(checked(value)) == ["statement"]


def nested(levels):
    value = 0
    for _ in range(levels):
        value = [value]
    return value


def test_a_signed_statement_may_be_nested_as_deeply_as_it_likes(checked, statement):
    found = checked(statement(lambda s: s["predicate"]["attributes"].append(nested(800))))
    assert failed(found) == ["statement"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"payload":' * 5_000,
        b"9" * 10_000,
        b'{"payload":"","payloadType":"\\ud800","signatures":[]}',
        b" " * (LARGEST_BYTES + 1),
        b'{"payload":"AA==","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"a","sig":1}]}',
    ],
    ids=["empty", "no-fields", "null", "not-utf8", "deep", "deep-objects", "long-number", "surrogate", "too-large", "types"],
)
def test_a_spoiled_certificate_is_none(golden, golden_keys, content):
    found = verify_file(golden / "released.csv", content, golden_keys, AT)
    assert (found.matches, failed(found), found.predicate) == (False, ["form"], None)


def test_blanks_and_order_are_changes(golden, golden_keys):
    plain = (golden / "certificate.json").read_bytes()
    for content in (plain + b"\n", json.dumps(json.loads(plain), indent=1).encode(), plain.replace(b"{", b'{"a":1,', 1)):
        assert failed(verify_file(golden / "released.csv", content, golden_keys, AT)) == ["form"]


def test_payloads_of_another_type_are_no_certificates(golden, issuer, statement):
    content = sign_envelope(statement(), "application/json", issuer.signer)
    assert failed(verify_file(golden / "released.csv", content, issuer.keyring, AT)) == ["form"]


def test_the_key_must_be_known(golden, golden_keys, issuer, statement, checked):
    certificate = (golden / "certificate.json").read_bytes()
    found = verify_file(golden / "released.csv", certificate, issuer.keyring, AT)
    assert (failed(found), found.predicate) == (["signature"], None)
    assert "not known here" in said(found, "signature")
    assert failed(verify_file(golden / "released.csv", certificate, Keyring(), AT)) == ["signature"]
    assert failed(checked(statement(), keyring=golden_keys)) == ["signature"]


def test_a_foreign_signature_under_a_known_name_is_bad(golden, issuer, statement):
    """Signed by a stranger, who writes the issuer's key id beside it."""
    envelope = json.loads(sign_envelope(statement(), STATEMENT_PAYLOAD_TYPE, CryptoSigner.generate_ed25519()))
    envelope["signatures"][0]["keyid"] = issuer.record.claim.key_id
    found = verify_file(golden / "released.csv", canonical(envelope), issuer.keyring, AT)
    assert failed(found) == ["signature"]
    assert "not one of key" in said(found, "signature")


@pytest.mark.parametrize(
    ("fate", "good"),
    [
        ({"retired_at": ISSUED + timedelta(days=1)}, True),
        ({"retired_at": ISSUED - timedelta(days=1)}, False),
        ({"revoked_at": AT}, False),
        ({"revoked_at": AT, "revoked_since": ISSUED + timedelta(days=1)}, True),
        ({"revoked_at": AT, "revoked_since": ISSUED - timedelta(days=1)}, False),
    ],
)
def test_what_became_of_the_key_counts(checked, statement, issuer, fate, good):
    found = checked(statement(), keyring=issuer.ring(**fate))
    assert failed(found) == ([] if good else ["signature"])


def test_a_key_of_a_person_signs_no_certificate(checked, statement, issuer):
    claim = issuer.record.claim.model_copy(update={"purpose": "approvals"})
    assert failed(checked(statement(), keyring=issuer.ring(claim=claim))) == ["signature"]


@pytest.mark.parametrize(
    ("at", "good"),
    [
        (datetime(2026, 11, 21, 9, 31, tzinfo=UTC), True),
        (datetime(2026, 11, 21, 9, 30, 59, tzinfo=UTC), False),
        (datetime(2028, 11, 21, 9, 31, tzinfo=UTC), True),
        (datetime(2028, 11, 21, 9, 31, 1, tzinfo=UTC), False),
    ],
)
def test_it_holds_from_its_issue_to_its_review(checked, statement, at, good):
    assert failed(checked(statement(), at=at)) == ([] if good else ["date"])


def test_the_keyring_may_know_of_a_revocation(golden, issuer, statement):
    certificate = issuer.seal(statement())
    sha256 = hashlib.sha256(certificate).hexdigest()
    for revoked, good in ((sha256, False), ("0" * 64, True)):
        ring = issuer.ring(revoked_certificates=(RevokedCertificate(sha256=revoked, reason="a new attack", at=AT),))
        found = verify_file(golden / "released.csv", certificate, ring, AT)
        assert failed(found) == ([] if good else ["revocation"])


@pytest.mark.parametrize("known_by", ["table", "content_address", None])
def test_a_revoked_certificate_of_the_same_data_is_a_warning_and_no_verdict(golden, issuer, statement, known_by):
    """What was wrong may have been what that certificate said: mended and certified again, the same data must verify."""
    certificate, claimed = issuer.seal(statement()), statement()["predicate"]["claim"]["file"]
    data = {"table": claimed["sha256"], "content_address": claimed["content_address"]}
    named = {} if known_by is None else {known_by: data[known_by]}
    other = RevokedCertificate(sha256="1" * 64, reason="the wrong purpose", at=AT, **named)
    found = verify_file(golden / "released.csv", certificate, issuer.ring(revoked_certificates=(other,)), AT)
    told = [check for check in found.checks if check.warning]
    assert (found.matches, found.has_revocation_warning, len(told)) == (True, known_by is not None, known_by is not None)
    assert all("another certificate of the same data was revoked on " in check.says for check in told)


@pytest.fixture
def folder(golden, issuer, statement, tmp_path):
    """A release folder whose certificate the issuer signed; the SHA-256 of that."""
    made = shutil.copytree(golden, tmp_path / "release")
    (made / "certificate.json").write_bytes(issuer.seal(statement()))
    return made


def verified(folder, keyring):
    return verify_file(folder / "released.csv", (folder / "certificate.json").read_bytes(), keyring, AT, beside=folder)


def about(folder):
    sha256 = hashlib.sha256((folder / "certificate.json").read_bytes()).hexdigest()
    return {"certificate": sha256, "run": "20261121T093100Z-000001", "release": "golden", "at": AT}


def test_a_revocation_beside_it_counts_and_so_does_a_spoiled_one(folder, issuer):
    key = SigningKey(issuer.record.claim, issuer.signer)
    path, said_of = folder / "revocation.json", RevocationPredicate(**about(folder), reason="a record was found again")
    path.write_bytes(sign_revocation([], said_of, key))
    found = verified(folder, issuer.keyring)
    assert failed(found) == ["revocation"]
    assert "a record was found again" in said(found, "revocation")
    for spoiled in (path.read_bytes()[:-1], b"", b"{}", b" " * (LARGEST_BYTES + 1)):
        path.write_bytes(spoiled)
        assert failed(verified(folder, issuer.keyring)) == ["revocation"]
        assert "cannot be checked" in said(verified(folder, issuer.keyring), "revocation")
    path.unlink()
    path.mkdir()
    assert failed(verified(folder, issuer.keyring)) == ["revocation"]


def test_approvals_are_listed_and_decide_nothing(folder, issuer):
    person = CryptoSigner.generate_ed25519()
    claim = person_claim(person)
    approval = ApprovalPredicate(
        **about(folder), by="B. Reviewer", role="review board", reason="seen in session", policy="0" * 64,
        policy_author="not assessed", independent=False, flags=("the approver asked for the run",),
    )  # fmt: skip
    (folder / "approval-1.json").write_bytes(sign_approval([], approval, SigningKey(claim, person)))
    (folder / "approval-2.json").write_bytes(b"{}")
    found = verified(folder, issuer.keyring)
    assert found.matches
    listed = [check.says for check in found.checks if check.what == "approval"]
    assert "not known here" in listed[0]
    assert "does not count" in listed[1]
    both = Keyring((*issuer.keyring.keys, KnownKey.from_record(KeyRecord(claim=claim))))
    first = said(verified(folder, both), "approval")
    assert first == "approval-1.json: approved by B. Reviewer as review board (the approver asked for the run)"


def person_claim(signer):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signer.public_key.keyval["public"]))
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    return KeyClaim(key_id=signer.public_key.keyid, purpose="approvals", name="B. Reviewer", public_key=pem, created_at=ISSUED)
