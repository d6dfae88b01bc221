"""`sdcert approve`: a person signs under a certificate.

Three steps, each on the disk before the next: the signed approval in the run's private folder, the entry in the ledger, the
file beside the certificate; and only then a word on the terminal, so that a reader who is gone stops nothing. The entry comes
before the file that others see: nothing may be relied upon that the ledger does not know. What a crash leaves out after the
entry, the same command puts in place: the signature itself is kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from flows.cli.root import app
from flows.cli.run_certificates import (
    A_NAME,
    A_REASON,
    CertifiedRun,
    Folder,
    RunArgument,
    check_release_folder,
    check_words,
    get_statement_path,
    refuse_unwritable_folder,
    require_certified_run,
    store_statement,
    tell,
)
from flows.cli.terminal import find_passphrase_prompt
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import read_file
from tasks.runtime.files import sync_folder, write_whole
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from tasks.audit.certificates.approval import ApprovalPredicate, PolicyAuthor
    from tasks.audit.certificates.certificate_statements import UncheckedCertificate
    from tasks.audit.ledger.entries import ReleaseApproved
    from tasks.audit.lookup.index import Index
    from tasks.audit.signing.keys import SigningKey

KIND = "approval"


@app.command()
def approve(
    run: RunArgument,
    role: Annotated[str, typer.Option("--as", help="in which role", metavar="ROLE", show_default=False)],
    reason: Annotated[str, typer.Option(help="why the release is approved", metavar="TEXT", show_default=False)],
    by: Annotated[str | None, typer.Option(help="who approves; default: the name of the key", show_default=False)] = None,
    key: Annotated[
        str | None,
        typer.Option(help="the person's key: its name, or the beginning of its id; default: the only one", show_default=False),
    ] = None,
    folder: Folder = None,
) -> int:
    """Sign under a certificate, as a person with a key of their own. Who wrote the policy, or asked for the run, is flagged."""
    from flows.clock import find_clock_warnings
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.lookup.index import Index
    from tasks.audit.signing.keyring import Keyring
    from tasks.audit.signing.keys import signing_key
    from tasks.microdata.spec import Name, Reason

    words = ApprovalWords(role, reason, by)
    check_words("--as", Name, words.role, A_NAME)
    check_words("--reason", Reason, words.reason, A_REASON)
    if words.by is not None:
        check_words("--by", Name, words.by, A_NAME)
    Ledger.current().refuse_clock_behind()
    with Index.current() as index:
        certified = require_certified_run(index, run)
        _refuse_revoked(certified)
        issued = check_release_folder(certified, folder, Keyring.from_home(Home.current()))
        refuse_unwritable_folder(issued.folder)
        person = signing_key("approvals", name=key, ask=find_passphrase_prompt())
        approved = _find_approval(certified, person)
        if approved is not None:
            _same_words(approved, words)
            lines = [f"{approved.by} approved this certificate before, with this key: nothing was signed again"]
        else:
            approval = _create_approval_predicate(index, certified, issued.certificate, words, person)
            approved = _record_approval(certified, issued.certificate, approval, person)
            lines = _sentences(certified, approved)
    path = _place_approval_file(certified, approved, issued.folder)
    tell(
        *lines, f"  {path}", *_who_counts_it(path, certified.sha256), *(f"  warning: {text}" for text in find_clock_warnings())
    )
    return 0


@dataclass(frozen=True, slots=True)
class ApprovalWords:
    """What a person says with an approval. by: none for the name of the key."""

    role: str
    reason: str
    by: str | None


def _who_counts_it(path: Path, certificate: str) -> Iterator[str]:
    """Whether `sdcert verify` counts the approval, by which keys: tried as it will be tried."""
    from tasks.audit.certificates.approval import read_approval
    from tasks.audit.certificates.certificate_statements import NotValid
    from tasks.audit.certificates.certificate_verification import small_file
    from tasks.audit.signing.keyring import Keyring

    content, keyring = small_file(path) or b"", Keyring.from_home(Home.current())
    try:
        read_approval(content, certificate, keyring)
    except NotValid as error:
        yield f"  `sdcert verify` does NOT count it, here or elsewhere: {error}"
        return
    machine = Keyring(tuple(known for known in keyring.keys if known.purpose == "certificates"))
    try:
        read_approval(content, certificate, machine)
    except NotValid:
        yield "  `sdcert verify` counts it here. By the public key of the certificates alone (sdcert.pem) it does NOT count:"
        yield "  elsewhere a trust file is needed, with the approver's key too: sdcert keys export --trust -o trust.json"
        yield "  which is used so: sdcert verify RELEASED_FILE --key trust.json"


def _refuse_revoked(run: CertifiedRun) -> None:
    if run.found.revocations:
        what = f"the certificate was revoked: {escape_terminal(run.found.revocations[0].reason)}"
        raise InputError("revoked", "RUN", what, "a certificate that still stands", "certify the release again", run.run)


def _find_approval(run: CertifiedRun, person: SigningKey) -> ReleaseApproved | None:
    return next((one for one in run.found.approvals if one.key_id == person.key_id), None)


def _same_words(approved: ReleaseApproved, words: ApprovalWords) -> None:
    if (approved.role, approved.reason, approved.by) != (words.role, words.reason, words.by or approved.by):
        who = escape_terminal(f"{approved.by} has approved this certificate already with this key, as {approved.role}")
        remedy = "nothing: what was signed cannot be changed; another person approves with a key of their own"
        raise InputError("approved-already", "RUN", f"{who}, in other words", "one approval a key", remedy)


def _create_approval_predicate(
    index: Index, run: CertifiedRun, certificate: UncheckedCertificate, words: ApprovalWords, person: SigningKey
) -> ApprovalPredicate:
    from tasks.audit.certificates.approval import ApprovalPredicate, independence

    policy = certificate.predicate["claim"]["policy"]
    author = _policy_author(index, run, policy)
    by = words.by or person.claim.name
    asked_by = run.found.began.asked_by.user if run.found.began else None
    judged = independence(by, person.claim.name, author, asked_by)
    return ApprovalPredicate(
        certificate=certificate.sha256,
        run=run.run,
        release=run.release,
        at=datetime.now(UTC),
        by=by,
        role=words.role,
        reason=words.reason,
        policy=policy["digest"],
        policy_author=author or "not assessed",
        independent=judged.independent,
        flags=judged.flags,
    )


def _policy_author(index: Index, run: CertifiedRun, policy: dict[str, str]) -> PolicyAuthor | None:
    """Who wrote the policy: as the certificate says, else who first asked for a run under it."""
    from tasks.audit.certificates.approval import PolicyAuthor

    if policy.get("author", "not assessed") != "not assessed":
        return PolicyAuthor(name=policy["author"], known_from="certificate")
    first = next((one.run for one in index.attempts_of(run.ended.series) if one.policy == policy["digest"]), None)
    began = index.run(first).began if first else None
    return None if began is None else PolicyAuthor(name=began.asked_by.user, known_from="ledger")


def _record_approval(
    run: CertifiedRun, certificate: UncheckedCertificate, approval: ApprovalPredicate, person: SigningKey
) -> ReleaseApproved:
    """Keep the signed approval, then append its entry; nobody has revoked by then, and this key has not approved."""
    from tasks.audit.certificates.approval import sign_approval
    from tasks.audit.ledger.checkpoint import refuse_unsound_ledger
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.signing.keys import signing

    refuse_unsound_ledger(Home.current())
    content = sign_approval(certificate.statement["subject"], approval, person)
    store_statement(run, content, KIND)
    with signing(ask=find_passphrase_prompt()) as machine:
        Ledger.current().append(lambda _: _entry(run, approval, content, person), machine)
    return _create_approval_entry(approval, content, person)


def _entry(run: CertifiedRun, approval: ApprovalPredicate, content: bytes, person: SigningKey) -> ReleaseApproved:
    from tasks.audit.lookup.index import Index

    with Index.current() as index:
        now = require_certified_run(index, run.run)
    _refuse_revoked(now)
    if _find_approval(now, person) is not None:
        what = "this key has approved the certificate a moment ago"
        raise InputError("approved-already", "RUN", what, "one approval a key", "nothing: it is approved")
    return _create_approval_entry(approval, content, person)


def _create_approval_entry(approval: ApprovalPredicate, content: bytes, person: SigningKey) -> ReleaseApproved:
    from tasks.audit.ledger.entries import ReleaseApproved

    return ReleaseApproved(
        run=approval.run,
        certificate=approval.certificate,
        approval=hashlib.sha256(content).hexdigest(),
        by=approval.by,
        role=approval.role,
        reason=approval.reason,
        key_id=person.key_id,
        independent=approval.independent,
        flags=approval.flags,
    )


def _place_approval_file(run: CertifiedRun, approved: ReleaseApproved, folder: Path) -> Path:
    """The approval's file beside the certificate, which is made unless it is there."""
    from tasks.audit.certificates.certificate_verification import small_file

    for path in folder.glob(f"{KIND}-*.json"):
        if hashlib.sha256(small_file(path) or b"").hexdigest() == approved.approval:
            return path
    try:
        return _new_file(folder, read_file(get_statement_path(run, KIND, approved.approval)))
    except OSError as error:
        what = f"the approval is in the ledger, but its file could not be laid beside the certificate ({error.strerror})"
        remedy = "mend that, and give the same command again"
        raise InputError("not-laid", str(folder), what, "a folder where files can be made and linked", remedy) from None


def _new_file(folder: Path, content: bytes) -> Path:
    """The first free `approval-<n>.json`, which appears whole; of two makers at once each gets one of its own."""
    draft = folder / f".{KIND}-{uuid4().hex}"
    write_whole(draft, content)
    try:
        for number in count(1):
            path = folder / f"{KIND}-{number}.json"
            try:
                path.hardlink_to(draft)
            except FileExistsError:
                continue
            sync_folder(folder)
            return path
    finally:
        draft.unlink(missing_ok=True)
    raise AssertionError("numbers do not end")


def _sentences(run: CertifiedRun, approved: ReleaseApproved) -> list[str]:
    approval = {
        True: "another person than who wrote the policy",
        False: "NOT independent",
        "not assessed": "independence not assessed",
    }
    lines = [f"{run.release}, run {run.run}: approved by {approved.by} as {approved.role} ({approval[approved.independent]})"]
    return lines + [f"  flagged: {flag}" for flag in approved.flags]
