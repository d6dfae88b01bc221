"""Approvals: who is independent, and which files count."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tasks.audit.certificates.approval import (
    ASKED,
    AUTHOR_UNDECLARED,
    PREDICATE_TYPE,
    WROTE_POLICY,
    ApprovalPredicate,
    PolicyAuthor,
    create_approval_schema,
    judge_independence,
    read_approval,
    sign_approval,
)
from tasks.audit.certificates.certificate_statements import NotValid
from tasks.audit.certificates.revocation import RevocationPredicate, sign_revocation
from tasks.audit.signing.envelope import STATEMENT_PAYLOAD_TYPE, open_envelope, sign_envelope
from tasks.audit.signing.keyring import Keyring, read_key_records
from tasks.audit.signing.keys import create_key, keep_record, open_key, retire_record, revoke_record
from tasks.runtime.settings import Home

CERTIFICATE = "ab" * 32
SUBJECT = [{"name": "released.csv", "digest": {"sha256": "cd" * 32}}]
AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
SAID = ApprovalPredicate(
    certificate=CERTIFICATE,
    run="20261121T093000Z-1f2e3d",
    release="survey",
    at=AT,
    by="Bob",
    role="review board",
    reason="it was discussed",
    policy="ef" * 32,
    policy_author=PolicyAuthor(name="Ada", known_from="certificate"),
    independent=True,
    flags=(),
)


@pytest.fixture
def keys(home):
    """A person's key and the machine's."""
    at = Home.current()
    person, machine = create_key("approvals", name="Bob"), create_key("certificates")
    return at, open_key(at, person), open_key(at, machine)


@pytest.mark.parametrize(
    ("by", "author", "asked_by", "independent", "flags"),
    [
        ("Bob", PolicyAuthor(name="Ada", known_from="certificate"), "steward", True, ()),
        ("Bob", PolicyAuthor(name=" bOB ", known_from="certificate"), "steward", False, (WROTE_POLICY,)),
        (
            "Robert",
            PolicyAuthor(name="Bob", known_from="certificate"),
            None,
            False,
            (WROTE_POLICY, "signed with the key of Bob"),
        ),
        ("Bob", PolicyAuthor(name="Ada", known_from="certificate"), "bob", True, (ASKED,)),
        ("Bob", PolicyAuthor(name="steward", known_from="ledger"), "steward", "not assessed", (AUTHOR_UNDECLARED,)),
        ("Bob", PolicyAuthor(name="bob", known_from="ledger"), "x", False, (WROTE_POLICY, AUTHOR_UNDECLARED)),
        ("Bob", None, None, "not assessed", (AUTHOR_UNDECLARED,)),
    ],
)
def test_who_is_independent(by, author, asked_by, independent, flags):
    found = judge_independence(by, "Bob", author, asked_by)
    assert (found.independent, found.flags) == (independent, flags)


@pytest.mark.slow
@given(st.text(min_size=1), st.text(min_size=1))
def test_nobody_who_wrote_the_policy_is_independent(name, other):
    author = PolicyAuthor(name=name, known_from="certificate")
    assert judge_independence(other, name, author, None).independent is False
    assert judge_independence(name, other, author, None).independent is False


def test_a_good_approval_is_read(keys):
    home, person, _ = keys
    content = sign_approval(SUBJECT, SAID, person)
    found = read_approval(content, CERTIFICATE, Keyring.from_home(home))
    assert (found.predicate, found.key.key_id, found.key.name) == (SAID, person.key_id, "Bob")


def test_what_does_not_count(keys):
    home, person, machine = keys
    keyring = Keyring.from_home(home)
    good = sign_approval(SUBJECT, SAID, person)
    about = {"certificate": CERTIFICATE, "run": SAID.run, "release": "survey", "at": AT, "reason": "wrong"}
    value = open_envelope(good, STATEMENT_PAYLOAD_TYPE).value
    bent = {**value, "predicate": {**value["predicate"], "independent": "certainly"}}
    more = {**value, "more": 1}
    cases = {
        "about another certificate": (good, "00" * 32, keyring),
        "not known here": (good, CERTIFICATE, Keyring()),
        "is for certificates, not for approvals": (sign_approval(SUBJECT, SAID, machine), CERTIFICATE, keyring),
        "another kind": (sign_revocation(SUBJECT, RevocationPredicate(**about), person), CERTIFICATE, keyring),
        "byte for byte": (good + b"\n", CERTIFICATE, keyring),
        "its fields": (sign_envelope(bent, STATEMENT_PAYLOAD_TYPE, person.signer), CERTIFICATE, keyring),
        "no in-toto statement": (sign_envelope(more, STATEMENT_PAYLOAD_TYPE, person.signer), CERTIFICATE, keyring),
        "not a signed envelope": (b"", CERTIFICATE, keyring),
    }
    for why, arguments in cases.items():
        with pytest.raises(NotValid, match=why):
            read_approval(*arguments)


@pytest.mark.parametrize("days", [-1, 1])
def test_a_persons_key_that_was_retired_or_revoked(keys, days):
    home, person, _ = keys
    content = sign_approval(SUBJECT, SAID, person)
    (record,) = [record for _, record in read_key_records(home) if record.claim.purpose == "approvals"]
    since = AT + timedelta(days=days)
    for changed in (retire_record(record, since), revoke_record(record, AT, since, "lost")):
        keep_record(home, changed)
        if days > 0:
            assert read_approval(content, CERTIFICATE, Keyring.from_home(home)).predicate == SAID
        else:
            with pytest.raises(NotValid, match=r"retired|revoked"):
                read_approval(content, CERTIFICATE, Keyring.from_home(home))


def test_every_changed_bit_is_found(keys):
    home, person, _ = keys
    content = sign_approval(SUBJECT, SAID, person)
    keyring, accepted = Keyring.from_home(home), []
    for place in range(0, len(content), 3):
        for bit in (1, 16):
            changed = bytearray(content)
            changed[place] ^= bit
            try:
                accepted.append(read_approval(bytes(changed), CERTIFICATE, keyring))
            except NotValid:
                continue
    assert accepted == []


def test_the_schema_takes_what_is_written_and_nothing_else(keys):
    _, person, _ = keys
    schema = create_approval_schema()
    assert schema["$id"] == PREDICATE_TYPE
    predicate = open_envelope(sign_approval(SUBJECT, SAID, person), STATEMENT_PAYLOAD_TYPE).value["predicate"]
    Draft202012Validator(schema).validate(predicate)
    assert not Draft202012Validator(schema).is_valid({**predicate, "more": 1})
    assert not Draft202012Validator(schema).is_valid(json.loads(json.dumps(predicate).replace("true", '"perhaps"')))
