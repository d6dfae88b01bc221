"""Revocations: which files count, and that the home, a trust file and the file beside the certificate all say it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from jsonschema import Draft202012Validator

from tasks.audit.certificates.certificate_statements import NotValid
from tasks.audit.certificates.revocation import (
    PREDICATE_TYPE,
    RevocationPredicate,
    create_revocation_schema,
    read_revocation,
    sign_revocation,
)
from tasks.audit.signing.envelope import STATEMENT_PAYLOAD_TYPE, open_envelope
from tasks.audit.signing.keyring import Keyring
from tasks.audit.signing.keys import create_key, open_key
from tasks.runtime.settings import Home

CERTIFICATE = "ab" * 32
SUBJECT = [{"name": "released.csv", "digest": {"sha256": "cd" * 32}}]
AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
SAID = RevocationPredicate(
    certificate=CERTIFICATE, run="20261121T093000Z-1f2e3d", release="survey", at=AT, reason="wrong source"
)


@pytest.fixture
def keys(home):
    at = Home.current()
    return at, open_key(at, create_key("certificates")), open_key(at, create_key("approvals", name="Bob"))


def test_a_good_revocation_is_read(keys):
    home, machine, _ = keys
    found = read_revocation(sign_revocation(SUBJECT, SAID, machine), CERTIFICATE, Keyring.from_home(home))
    assert (found.predicate, found.key.key_id) == (SAID, machine.key_id)


def test_a_person_cannot_revoke_and_another_certificate_is_not_touched(keys):
    home, machine, person = keys
    keyring = Keyring.from_home(home)
    with pytest.raises(NotValid, match="is for approvals, not for certificates"):
        read_revocation(sign_revocation(SUBJECT, SAID, person), CERTIFICATE, keyring)
    with pytest.raises(NotValid, match="another certificate"):
        read_revocation(sign_revocation(SUBJECT, SAID, machine), "00" * 32, keyring)
    with pytest.raises(NotValid, match="not known here"):
        read_revocation(sign_revocation(SUBJECT, SAID, machine), CERTIFICATE, Keyring())


def test_every_changed_byte_is_found(keys):
    home, machine, _ = keys
    content, keyring, accepted = sign_revocation(SUBJECT, SAID, machine), Keyring.from_home(home), []
    for place in range(len(content)):
        changed = content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]
        try:
            accepted.append(read_revocation(changed, CERTIFICATE, keyring))
        except NotValid:
            continue
    assert accepted == []


def test_the_schema_takes_what_is_written_and_nothing_else(keys):
    _, machine, _ = keys
    schema = create_revocation_schema()
    assert schema["$id"] == PREDICATE_TYPE
    predicate = open_envelope(sign_revocation(SUBJECT, SAID, machine), STATEMENT_PAYLOAD_TYPE).value["predicate"]
    Draft202012Validator(schema).validate(predicate)
    assert not Draft202012Validator(schema).is_valid({**predicate, "certificate": "short"})
