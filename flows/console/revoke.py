"""`sdcert revoke`: a certificate is no longer to be relied upon, from now on and for good.

The signed revocation is kept in the run's private folder, then the entry is appended, then the home's list of revoked
certificates and the folder are told. The ledger decides: whatever a crash leaves out after the entry, the same command puts in
place. The folder need not be there: nobody can keep a certificate alive by moving it away.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flows.console.certified import (
    CertifiedRun,
    asked_here,
    certified_run,
    folder_of,
    issued_in,
    keep,
    kept,
    tell,
)
from flows.console.keys import asked
from tasks.audit.certificates.revocation import FILE, RevocationPredicate, sealed_revocation
from tasks.audit.ledger.entries import CertificateRevoked, ReleasedTable
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.lookup.index import Index
from tasks.audit.signing.keyring import Keyring, note_revoked
from tasks.audit.signing.keys import signing
from tasks.microdata.errors import InputError
from tasks.runtime.files import write_whole
from tasks.runtime.settings import Home

KIND = "revocation"


def revoke_certificate(run: str, reason: str, *, folder: Path | None) -> int:
    """Sign, record, and tell everybody who can be told. Returns 0; InputError where there is no certificate."""
    certified = _certified(run)
    if folder is not None:
        folder = issued_in(certified, folder, Keyring.of_home(Home.current())).folder
    if certified.found.revocations:
        tell(f"{certified.release}, run {certified.run}: the certificate was revoked before; the first reason stands")
    else:
        _record(certified, reason)
        certified = _certified(certified.run)
        tell(f"{certified.release}, run {certified.run}: the certificate is revoked. This cannot be undone.")
    _spread(certified, folder or folder_of(certified))
    return 0


def _certified(run: str) -> CertifiedRun:
    with Index.current() as index:
        return certified_run(index, run)


def _record(run: CertifiedRun, reason: str) -> None:
    """Sign the revocation, keep it, and append its entry."""
    with signing(ask=asked()) as machine:
        content = sealed_revocation(_subject(run.released), _said(run, reason), machine)
        keep(run, content, KIND)
        Ledger.current().append(lambda _: _entry(run, reason, content), machine)


def _entry(run: CertifiedRun, reason: str, content: bytes) -> CertificateRevoked:
    if _certified(run.run).found.revocations:
        what, remedy = (
            "the certificate was revoked a moment ago",
            "give the same command again: it shows the reason that stands",
        )
        raise InputError("revoked-already", "RUN", what, "one revocation", remedy, run.run)
    digest = hashlib.sha256(content).hexdigest()
    return CertificateRevoked(run=run.run, certificate=run.sha256, revocation=digest, reason=reason, asked_by=asked_here())


def _said(run: CertifiedRun, reason: str) -> RevocationPredicate:
    now = datetime.now(UTC)
    try:
        return RevocationPredicate(certificate=run.sha256, run=run.run, release=run.release, at=now, reason=reason)
    except ValidationError as error:
        what = error.errors()[0]["msg"]
        raise InputError("words", "--reason", what, "a reason of 3 to 2,000 characters", "say why, for who reads it") from None


def _subject(released: ReleasedTable) -> list[dict[str, Any]]:
    """The subject of the certificate, as the ledger has it."""
    digests = {"sha256": released.sha256, "sdcertContent": released.content_address}
    return [{"name": released.name, "digest": digests}]


def _spread(run: CertifiedRun, folder: Path | None) -> None:
    """Note it in the home's list, and lay the signed revocation beside the certificate, over whatever else has its name."""
    at, revoked = next((one.at, one.event) for _, one in run.found.entries if isinstance(one.event, CertificateRevoked))
    note_revoked(Home.current(), run.sha256, revoked.reason, at)
    tell(f"  reason: {revoked.reason}")
    path = kept(run, KIND, revoked.revocation)
    if folder is None:
        tell("  the release folder is not where it was made: lay this file, as revocation.json, beside the certificate")
        tell(f"  {path}")
    elif path.is_file():
        _lay(folder, path.read_bytes())
    tell("  for who verifies elsewhere: send them revocation.json, or a new trust file (`sdcert keys export --trust`)")


def _lay(folder: Path, content: bytes) -> None:
    try:
        write_whole(folder / FILE, content)
    except OSError as error:
        what = f"the certificate is revoked, but {FILE} could not be laid beside it ({error.strerror})"
        remedy = "mend that, and give the same command again"
        raise InputError("not-laid", str(folder), what, "a folder that can be written", remedy) from None
    tell(f"  {folder / FILE}")
