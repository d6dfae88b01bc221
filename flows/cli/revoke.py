"""`sdcert revoke`: declare that a certificate can no longer be relied upon, from now on and for good.

The signed revocation is kept in the run's private folder, then the entry is appended, then the home's list of revoked
certificates and the folder are told and `latest` goes, and only then the person who asked: a reader who is gone stops
nothing. The ledger decides: whatever a crash leaves out after the entry, the same command puts in place. The folder need
not be there: nobody can keep a certificate alive by moving it away.

What is revoked is the certificate of one run. Others of the same data that still stand are named, or revoked with it.

A revocation recalls no file: what was released counts as an earlier release about its persons. Only a file that nobody outside
was ever given does not, and who revokes its certificate signs that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.root import app
from flows.cli.run_certificates import (
    A_REASON,
    CertifiedRun,
    FolderOption,
    RunArgument,
    check_release_folder,
    check_words,
    find_certified_run,
    find_release_folder,
    get_statement_path,
    identify_local_user,
    require_certified_run,
    store_statement,
    tell,
)
from flows.cli.terminal import find_passphrase_prompt
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_file
from tasks.runtime.files import write_whole
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from flows.run.publish import Latest
    from tasks.audit.certificates.revocation import RevocationPredicate
    from tasks.audit.ledger.entries import CertificateRevoked, ReleasedTable

KIND = "revocation"
SHOWN = 20
ELSEWHERE = "  for people who verify elsewhere: send them revocation.json, or a new trust file (`sdcert keys export --trust`)"


@app.command()
def revoke(
    run: RunArgument,
    reason: Annotated[
        str | None, typer.Option(help="why nobody shall rely on it any more", metavar="TEXT", show_default=False)
    ] = None,
    never_published: Annotated[
        str | None,
        typer.Option(
            help="in place of --reason: why it is known that nobody outside was ever given the file. It then does not count as "
            "an earlier release about its persons. This is signed; a release that somebody approved is refused",
            metavar="TEXT",
            show_default=False,
        ),
    ] = None,
    folder: FolderOption = None,
    others: Annotated[bool, typer.Option("--all", help="every other certificate of the same data as well")] = False,
) -> int:
    """Revoke the certificate of a run. Cannot be undone. Names other certificates of the same data, which stand."""
    from flows.clock import find_clock_warnings
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.signing.keyring import Keyring
    from tasks.microdata.spec import Reason

    ground = _choose_ground(reason, never_published)
    check_words("--never-published" if ground.never_published else "--reason", Reason, ground.reason, A_REASON)
    certified = _load_certified_run(run)
    Ledger.current().refuse_clock_behind()
    if folder is not None:
        folder = check_release_folder(certified, folder, Keyring.from_home(Home.current())).folder
    lines, failed = _revoke_run(certified, ground, folder or find_release_folder(certified))
    same = _find_other_runs(certified)
    if others:
        for other in same:
            try:
                more, fault = _revoke_run(other, ground, find_release_folder(other))
            except InputError as error:  # what was done before must be told all the same
                more, fault = [], error
            lines, failed = lines + more, failed or fault
    lines += _update_registered_models({certified.ended.series, *(other.ended.series for other in same if others)})
    try:
        warnings = (f"  warning: {text}" for text in find_clock_warnings())
        tell(*lines, *(() if others else _describe_still_standing(certified, same)), ELSEWHERE, *warnings)
    finally:
        if failed is not None:
            raise failed
    return 0


@dataclass(frozen=True, slots=True)
class RevocationGround:
    """Why a certificate is revoked. never_published: because nobody outside was given the file."""

    reason: str
    never_published: bool


def _choose_ground(reason: str | None, never_published: str | None) -> RevocationGround:
    """Raises InputError unless exactly one of the two options was given."""
    if (reason is None) == (never_published is None):
        what = "no reason is given" if reason is None else "two reasons are given"
        allowed = "--reason TEXT or, for a file that nobody outside was ever given, --never-published TEXT"
        raise InputError("no-reason", "--reason", what, allowed, "give one of them")
    return RevocationGround(reason or never_published or "", never_published is not None)


def _refuse_published(run: CertifiedRun) -> None:
    """InputError where it cannot be said of a release that it was never published."""
    if run.found.approvals:
        what, allowed = "somebody approved this release for publication", "a release that nobody approved"
        remedy = "revoke it with --reason TEXT: it goes on counting as an earlier release about its persons"
    elif any(not one.never_published for one in run.found.revocations):
        what, allowed = "the certificate was revoked before, as that of a published file", "a certificate that stands"
        remedy = "nothing: the file goes on counting as an earlier release about its persons"
    else:
        return
    raise InputError("published", "--never-published", what, allowed, remedy, run.run)


def _revoke_run(run: CertifiedRun, ground: RevocationGround, folder: Path | None) -> tuple[list[str], InputError | None]:
    """Revoke one certificate; what there is to tell, and what could not be done once it was revoked."""
    message = "the certificate was revoked before; the first reason stands"
    if ground.never_published:
        _refuse_published(run)
    if not run.found.revocations:
        _record(run, ground)
        run, message = _load_certified_run(run.run), "the certificate is revoked. This cannot be undone."
    lines, failed = _spread(run, folder)
    settled, fault = _settle_latest(run, folder)
    return [f"{run.release}, run {run.run}: {message}", *lines, *settled], failed or fault


def _settle_latest(run: CertifiedRun, folder: Path | None) -> tuple[list[str], InputError | None]:
    """Whoever follows `latest` is not led to a revoked release, nor to an older one that nobody chose: it goes."""
    from flows.run.publish import LATEST, settle_latest

    lines: list[str] = []
    parents = (_find_parent(run), None if folder is None else folder.parent)
    for parent in dict.fromkeys(filter(None, parents)):
        try:
            moved = settle_latest(parent, run.release)
        except OSError as error:
            what = f"the certificate is revoked, but `{LATEST}` may still point to it ({error.strerror})"
            remedy = "mend that, and give the same command again"
            return lines, InputError("latest-not-moved", str(parent), what, "a folder that can be written", remedy)
        if (parent / LATEST).is_symlink() or moved.before is not None:
            lines += _where_latest_points(parent / LATEST, moved, run.release)
    return lines, None


def _where_latest_points(link: Path, moved: Latest, release: str) -> Iterator[str]:
    if moved.now is not None:
        yield f"  {link} points to run {moved.now}{'' if moved.now == moved.before else ' now'}"
        return
    yield f"  {link} is gone: it comes back with the next run of {release} that is certified"
    yield f"  older releases that still stand are not led to: sdcert audit find --release {release} --verdict certified"


def _find_parent(run: CertifiedRun) -> Path | None:
    """The folder in which the release folder was made, whether that is still there or not."""
    from flows.run.history import read_manifest

    try:
        return Path(read_manifest(run.run)["folder"]).parent
    except (OSError, ValueError, KeyError):
        return None


def _update_registered_models(series: set[str]) -> Iterator[str]:
    """Let the registered models follow; those that cannot do it when their series runs next."""
    from flows.run.series_registry import follow_now

    for one in sorted(series):
        problem = follow_now(one)
        if problem is not None:
            yield f"  MLflow was not told ({problem}): the next run of series {one} moves `certified` there"


def _find_other_runs(run: CertifiedRun) -> list[CertifiedRun]:
    """The other runs whose certificate is of the same data and still stands, newest first."""
    from tasks.audit.lookup.index import Index
    from tasks.audit.lookup.query import Query

    with Index.current() as index:
        same = index.find(Query(content_address=run.released.content_address, verdict="certified"))
    certified = (find_certified_run(found) for found in same if found.run != run.run and not found.revocations)
    return [one for one in certified if one is not None]


def _describe_still_standing(run: CertifiedRun, others: list[CertifiedRun]) -> Iterator[str]:
    if not others:
        return
    yield f"  NOT revoked: {_describe_other_certificates(len(others))} of the same data, which will verify as before:"
    for other in others[:SHOWN]:
        yield f"    {other.release}, run {other.run}"
    if len(others) > SHOWN:
        yield f"    and {len(others) - SHOWN:,} more"
    yield f"  to revoke {'it' if len(others) == 1 else 'them'} too: sdcert revoke {run.run} --reason TEXT --all"


def _describe_other_certificates(number: int) -> str:
    return "another certificate" if number == 1 else f"{number:,} other certificates"


def _load_certified_run(run: str) -> CertifiedRun:
    from tasks.audit.lookup.index import Index

    with Index.current() as index:
        return require_certified_run(index, run)


def _record(run: CertifiedRun, ground: RevocationGround) -> None:
    """Sign the revocation, keep it, and append its entry."""
    from tasks.audit.certificates.revocation import sign_revocation
    from tasks.audit.ledger.checkpoint import refuse_unsound_ledger
    from tasks.audit.ledger.ledger import Ledger
    from tasks.audit.signing.keys import hold_signing_key

    refuse_unsound_ledger(Home.current())
    with hold_signing_key(ask=find_passphrase_prompt()) as machine:
        content = sign_revocation(_create_subject(run.released), _create_revocation_predicate(run, ground), machine)
        store_statement(run, content, KIND)
        Ledger.current().append(lambda _: _create_entry(run, ground, content), machine)


def _create_entry(run: CertifiedRun, ground: RevocationGround, content: bytes) -> CertificateRevoked:
    from tasks.audit.ledger.entries import CertificateRevoked

    now = _load_certified_run(run.run)
    if ground.never_published:
        _refuse_published(now)
    if now.found.revocations:
        what, remedy = (
            "the certificate was revoked a moment ago",
            "give the same command again: it shows the reason that stands",
        )
        raise InputError("revoked-already", "RUN", what, "one revocation", remedy, run.run)
    digest = hashlib.sha256(content).hexdigest()
    return CertificateRevoked(
        run=run.run,
        certificate=run.sha256,
        revocation=digest,
        reason=ground.reason,
        asked_by=identify_local_user(),
        never_published=ground.never_published,
    )


def _create_revocation_predicate(run: CertifiedRun, ground: RevocationGround) -> RevocationPredicate:
    from tasks.audit.certificates.revocation import RevocationPredicate

    now = datetime.now(UTC)
    return RevocationPredicate(
        certificate=run.sha256,
        run=run.run,
        release=run.release,
        at=now,
        reason=ground.reason,
        never_published=ground.never_published,
    )


def _create_subject(released: ReleasedTable) -> list[dict[str, Any]]:
    """The subject of the certificate, as the ledger has it."""
    digests = {"sha256": released.sha256, "sdcertContent": released.content_address}
    return [{"name": released.name, "digest": digests}]


def _spread(run: CertifiedRun, folder: Path | None) -> tuple[list[str], InputError | None]:
    """Note it in the home's list, and lay the signed revocation beside the certificate, over whatever else has its name."""
    from tasks.audit.certificates.revocation import FILE
    from tasks.audit.ledger.entries import CertificateRevoked
    from tasks.audit.signing.keyring import note_revoked

    at, revoked = next((one.at, one.event) for _, one in run.found.entries if isinstance(one.event, CertificateRevoked))
    table = {"table": run.released.sha256, "content_address": run.released.content_address}
    note_revoked(Home.current(), run.sha256, revoked.reason, at, **table)
    path, reason = get_statement_path(run, KIND, revoked.revocation), f"  reason: {revoked.reason}"
    if not path.is_file():
        return [reason, f"  the signed revocation is not in the private folder any more: restore {path} from a backup"], None
    if folder is None:
        missing = "  the release folder is not where it was made: lay this file, as revocation.json, beside the certificate"
        return [reason, missing, f"  {path}"], None
    try:
        write_whole(folder / FILE, read_file(path))
    except OSError as error:
        what = f"the certificate is revoked, but {FILE} could not be laid beside it ({error.strerror})"
        remedy = "mend that, and give the same command again"
        return [reason], InputError("not-laid", str(folder), what, "a folder that can be written", remedy)
    return [reason, f"  {folder / FILE}"], None
