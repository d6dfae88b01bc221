"""A certified run as `sdcert approve` and `sdcert revoke` find it: its entries, its certificate, its folder."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.completion import complete_run
from flows.cli.terminal import terminal
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import read_file
from tasks.runtime.files import write_whole
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from tasks.audit.certificates.certificate_statements import UncheckedCertificate
    from tasks.audit.ledger.entries import AskedBy, ReleasedTable, RunEnded
    from tasks.audit.lookup.index import Index
    from tasks.audit.lookup.index_rows import RunEntries
    from tasks.audit.signing.keyring import Keyring

CERTIFICATE = "certificate.json"
A_NAME, A_REASON = "1 to 300 characters", "3 to 2,000 characters"
LONG = 300  # no kind of text is too short at this length

RunArgument = Annotated[
    str, typer.Argument(help="a run's id, or its beginning", metavar="RUN", show_default=False, autocompletion=complete_run)
]
FolderOption = Annotated[
    Path | None, typer.Option(help="the release folder, if it was moved", metavar="FOLDER", show_default=False)
]


@dataclass(frozen=True, slots=True)
class CertifiedRun:
    """A run that ended with a certificate: what the ledger says of it. sha256: of the certificate's bytes."""

    found: RunEntries
    ended: RunEnded
    sha256: str
    released: ReleasedTable

    @property
    def run(self) -> str:
        return self.found.run

    @property
    def release(self) -> str:
        return self.ended.release


@dataclass(frozen=True, slots=True)
class Issued:
    """A release folder and the certificate in it."""

    folder: Path
    certificate: UncheckedCertificate


def require_certified_run(index: Index, beginning: str) -> CertifiedRun:
    """The run of an id, or the only one whose id begins so; InputError unless it has a certificate."""
    try:
        found = index.run(beginning)
    except InputError as error:
        raise InputError(error.code, "RUN", error.what, error.allowed, error.remedy, error.value) from None
    certified = find_certified_run(found)
    if certified is not None:
        return certified
    ended = found.ending
    if ended is None or ended.outcome != "certified":
        became = "never ended" if ended is None else f"is {ended.outcome}"
        raise _no_certificate(f"the run has no certificate: it {became}", beginning)
    raise _no_certificate("the run was a rehearsal, not for publication: it has a statement, but no certificate", beginning)


def find_certified_run(found: RunEntries) -> CertifiedRun | None:
    """A run with its certificate; None for one that has none."""
    ended = found.ending
    if ended is None or not ended.is_release or ended.certificate is None or ended.released is None:
        return None
    return CertifiedRun(found, ended, ended.certificate, ended.released)


def check_release_folder(run: CertifiedRun, given: Path | None, keyring: Keyring) -> Issued:
    """The release folder and the certificate in it; InputError unless that is, byte for byte, the ledger's, and well signed.

    given: the folder, if it was moved from where the manifest says that it was made.
    """
    from tasks.audit.certificates.certificate_statements import open_certificate
    from tasks.audit.signing.envelope import NotAnEnvelope
    from tasks.audit.signing.keyring import KeyRefused

    folder = given or find_release_folder(run)
    path = Path(CERTIFICATE) if folder is None else folder / CERTIFICATE
    if folder is None or not path.is_file():
        what, remedy = "the certificate is not there", "if the release folder was moved, name it with --folder"
        raise InputError("no-folder", "--folder", what, f"the folder that holds {CERTIFICATE}", remedy, str(path))
    content = read_file(path)
    where = "the release folder" if given is None else "--folder"
    if hashlib.sha256(content).hexdigest() != run.sha256:
        raise _other_certificate(path, where, "the certificate in this folder is not the one that the ledger has for this run")
    try:
        certificate = open_certificate(content)
        issued_at = datetime.fromisoformat(str(certificate.predicate.get("issued_at")))
        keyring.require_valid_signer(certificate.envelope, purpose="certificates", signed_at=issued_at)
    except (NotAnEnvelope, KeyRefused, ValueError) as error:
        raise _other_certificate(path, where, f"the certificate does not verify: {error}") from None
    return Issued(folder, certificate)


def find_release_folder(run: CertifiedRun) -> Path | None:
    """Where the manifest says that the release folder was made; None where it says nothing, or there is none or a link."""
    from flows.run.history import read_manifest

    try:
        folder = Path(read_manifest(run.run)["folder"])
    except (OSError, ValueError, KeyError):
        return None
    is_linked = folder.is_symlink() or folder.parent.is_symlink()  # it would lead to somebody else's folder
    return folder if folder.is_dir() and not is_linked else None


def identify_local_user() -> AskedBy:
    """The user and host of this process."""
    import socket

    from tasks.audit.ledger.entries import AskedBy
    from tasks.runtime.processes import user_name

    return AskedBy(user=user_name(), host=socket.gethostname())


def store_statement(run: CertifiedRun, content: bytes, kind: str) -> Path:
    """Keep a signed statement in the run's private folder, on the disk before the ledger speaks of it."""
    path = get_statement_path(run, kind, hashlib.sha256(content).hexdigest())
    write_whole(path, content)
    return path


def get_statement_path(run: CertifiedRun, kind: str, sha256: str) -> Path:
    """Where a signed statement is kept: `kind` is `approval` or `revocation`."""
    return Home.current().folder("runs", run.run) / f"{kind}-{sha256}.json"


def check_words(option: str, kind: Any, text: str, allowed: str) -> None:
    """InputError unless a text is of the length that its kind allows: asked before a passphrase is."""
    from pydantic import TypeAdapter, ValidationError

    try:
        TypeAdapter(kind).validate_python(text)
    except ValidationError:
        fault, remedy = ("long", "shorten it") if len(text) > LONG else ("short", "say more")
        raise InputError(
            "words",
            option,
            f"this is too {fault}: it has {len(text):,} character{'' if len(text) == 1 else 's'}",
            allowed,
            remedy,
            text,
        ) from None


def tell(*sentences: str) -> None:
    """Print lines on stdout, whatever is in them made harmless."""
    console = terminal(soft_wrap=True)
    for sentence in sentences:
        console.print(escape_terminal(sentence))


def refuse_unwritable_folder(folder: Path) -> None:
    """InputError unless files can be made in a folder."""
    if not os.access(folder, os.W_OK | os.X_OK):
        what, remedy = "nothing can be written in the release folder", "make it writable, or name a copy of it with --folder"
        raise InputError("folder", "--folder", what, "a folder that can be written", remedy, str(folder))


def _no_certificate(what: str, run: str) -> InputError:
    allowed = "a run that was certified for publication"
    return InputError("no-certificate", "RUN", what, allowed, "`sdcert audit find --verdict certified` lists them", run)


def _other_certificate(path: Path, where: str, what: str) -> InputError:
    remedy = "bring back the folder as it was issued; `sdcert verify` says what does not match"
    return InputError("other-certificate", where, what, "the certificate as it was issued", remedy, str(path))
