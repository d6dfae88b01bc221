"""`sdcert verify`: is this released file what its certificate says?

Reads what it is given and writes nothing. Where the ledger is that the certificate is written down in, it is asked besides
whether a later release breaks the certificate.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from flows.cli.root import app
from flows.cli.terminal import terminal
from flows.cli.timestamps import parse_timestamp
from flows.run.criterion_text import describe_criterion
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.regular_files import open_regular_file
from tasks.runtime.settings import Home

if TYPE_CHECKING:
    from flows.earlier.later_releases import LaterRelease
    from tasks.audit.certificates.certificate_verification import CertificateVerification
    from tasks.audit.signing.keyring import Keyring
    from tasks.report.predicate import Claim, CriterionClaim, OmissionClaim, Predicate

BESIDE = ("certificate.json", "statement.json")
T = TypeVar("T")
REFUSAL = {"verdict"}, {"verdict", "date"}  # what fails of a statement that is genuine and certifies nothing
REHEARSED_FIGURE = "Rehearsed on random halves of the source"  # in the reason of a criterion
REHEARSED_ATTACK = "evaluates: mechanism, not this file"  # in the settings of an attack
MEMBERSHIP = "membership inference"  # among what was not tried
_REHEARSED = "rehearsed: about how the release is made, not about this release"
_WORDS = {True: "matches", False: "DOES NOT MATCH", None: "note"}


@app.command()
def verify(
    file: Annotated[
        Path,
        typer.Argument(help="the released table, in any format, or its report", metavar="RELEASED_FILE", show_default=False),
    ],
    certificate: Annotated[
        Path | None, typer.Option(help="default: certificate.json, else statement.json, beside the file", show_default=False)
    ] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(
            help="the issuer's public key (PEM) or trust file; repeatable; default: the keys of the private folder",
            metavar="PUB",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="judge as of this date (2028-11-21); default: now", metavar="DATE", show_default=False)
    ] = None,
    content_only: Annotated[
        bool, typer.Option("--content-only", help="of other bytes compare the table alone; what else the file holds is listed")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the checks on stdout as JSON")] = False,
) -> int:
    """Check offline that a released file fits its certificate. Reads only. Exit code 0 it matches, 1 it does not.

    On the issuer's machine, it warns of a later release of the same persons that breaks the certificate.

    Bytes are compared first. Where they differ, the table in the file is compared, in whatever format it is; a file that holds
    more than the table (metadata, labels, comments, hidden members of an archive) matches with --content-only alone.
    """
    verified = verify_released_file(file, certificate, key or [], at, content_only=content_only)
    if as_json:
        sys.stdout.write(json.dumps(verified.serialise(), indent=1) + "\n")
    else:
        _print(verified.found, file, verified.later)
    return 0 if verified.found.matches else 1


@dataclass(frozen=True, slots=True)
class VerifiedFile:
    """What was found of a file, by which certificate and as of when. later: the releases since that break the certificate."""

    found: CertificateVerification
    file: Path
    certificate: Path
    at: datetime
    later: tuple[LaterRelease, ...]

    def serialise(self) -> dict[str, Any]:
        """What `--json` prints."""
        return _serialise_verification(self.found, self.file, self.certificate, self.at, self.later)


def verify_released_file(
    file: Path, certificate: Path | None, keys: list[Path], at: str | None, *, content_only: bool
) -> VerifiedFile:
    """Check a released file as `sdcert verify` does. Raises InputError for what cannot be read, and where no key is known."""
    from tasks.audit.certificates.certificate_verification import verify_file

    _check_readable(file, "RELEASED_FILE", "the released file, or a document issued with it")
    _refuse_signed(file)
    where = certificate or _find_certificate_beside(file)
    _check_readable(where, "--certificate", "a certificate as `sdcert certify` writes it")
    keyring, as_of = _read_keyring(keys), parse_timestamp(at, "--at")
    content = _read_content(where)
    found = _read(file, lambda: verify_file(file, content, keyring, as_of, beside=where.parent, content_only=content_only))
    return VerifiedFile(found, file, where, as_of, _find_breaking_releases(found))


def _find_breaking_releases(found: CertificateVerification) -> tuple[LaterRelease, ...]:
    """The later releases about the same persons that break a certificate, as far as the ledger of this machine knows.

    Nothing where the certificate is not of this ledger, or the ledger cannot be read: a certificate is verified without it.
    """
    from tasks.audit.ledger.ledger import Ledger

    if found.predicate is None:
        return ()
    try:
        if not Home.current().root.is_dir() or not Ledger.current().exists():
            return ()
        from flows.earlier.family import ReleaseFamilies
        from flows.earlier.later_releases import CertificateJudge

        families = ReleaseFamilies.from_ledger()
        own = families.find_release(found.predicate.run)
        if own is None or own.certificate != found.sha256:
            return ()
        return tuple(one for one in CertificateJudge(families).judge_later_releases(own) if one.effect == "broken")
    except (InputError, OSError):
        return ()


def _print(found: CertificateVerification, file: Path, later: tuple[LaterRelease, ...] = ()) -> None:
    from flows.cli.family_text import describe_later_release

    console = terminal(soft_wrap=True)

    def say(text: str) -> None:
        console.print(escape_terminal(text))

    for check in found.checks:
        say(f"{'WARNING' if check.warning else _WORDS[check.matches]:<15} {check.what:<11} {check.says}")
    for one in later:
        say(f"{'WARNING':<15} {'later':<11} {describe_later_release(one)}")
    say("")
    say(summarise_verification(found, file.name))
    if found.matches and found.predicate is not None:
        for line in _describe_claims(found.predicate):
            say(line)


def summarise_verification(found: CertificateVerification, name: str) -> str:
    """One sentence."""
    if found.predicate is not None and set(found.failures) in REFUSAL:
        refusal = _describe_refusal(found.predicate)
        return f"{name} is genuine: {_describe_signature(found)}, and it says {refusal}: nothing is certified."
    if found.matches and found.predicate is not None:
        warned = (
            " BUT another certificate of the same data was revoked: ask the issuer." if found.has_revocation_warning else ""
        )
        excepted = _describe_exceptions(found.predicate)
        of = f"the certificate of {found.predicate.release} (run {found.predicate.run})"
        if found.document is not None:
            what = find_release_kind(found.predicate)
            return f"{name} is {found.document}, issued with {of}; the released {what} was not looked at.{excepted}{warned}"
        if found.not_covered:
            rest = "what else the file holds is not covered (see above)"
            return f"The table in {name} is what {of} speaks of; {rest}.{excepted}{warned}"
        return f"{name} is what {of} speaks of.{excepted}{warned}"
    if found.failures == ("file",) and found.not_covered:
        return (
            f"Do not rely on it: {name} holds the certified table and more, which the certificate does not cover (see above)."
        )
    return f"Do not rely on it: {name} and this certificate fail the check of {' and '.join(found.failures)}."


def _describe_exceptions(predicate: Predicate) -> str:
    """What the verdict excepts, as a sentence; empty where it excepts nothing."""
    from tasks.score.verdict_word import capitalise_verdict

    return f" The release is {capitalise_verdict(predicate.verdict_word)}." if predicate.not_claimed.exceptions else ""


def find_release_kind(predicate: Predicate) -> str:
    """What was released: `table`, `model`, or `file` where nothing was."""
    from tasks.report.predicate import FileClaim

    claimed = predicate.claim.file
    return claimed.kind if isinstance(claimed, FileClaim) else "file"


def _describe_signature(found: CertificateVerification) -> str:
    return next(check.says for check in found.checks if check.what == "signature")


def _describe_refusal(predicate: Predicate) -> str:
    return "REHEARSAL" if predicate.claim.verdict == "certified" else predicate.claim.verdict.upper()


def _describe_claims(predicate: Predicate) -> Iterator[str]:
    claim, denied = predicate.claim, predicate.not_claimed
    issued, review = f"{predicate.issued_at:%Y-%m-%d}", f"{predicate.review_by:%Y-%m-%d}"
    yield f"Claimed on {issued}, to be reviewed by {review}, {_describe_attacks(claim)}:"
    for criterion in claim.criteria:
        caution = _REHEARSED if REHEARSED_FIGURE in criterion.reason else None
        yield f"  {criterion.decision:<10}{describe_criterion({**criterion.model_dump(), 'caution': caution})}"
    yield from _describe_insiders(predicate)
    looks = predicate.attack_model.looks
    if looks is not None:
        sure = f"each bound on what they found is one-sided at {100 * looks.bound_confidence:.4g} %"
        yield f"Targets were taken in planned looks, which ended at look {looks.ended_at} of {looks.planned}; {sure}."
    if predicate.data.rows_belong_to == "nobody":
        yield "Its rows belong to nobody, as declared: it is fully synthetic, and who could be found again was not measured."
    yield "Not claimed:"
    yield f"  {denied.anonymity_in_law}"
    for one in denied.kinds_not_limited:
        yield f"  not limited: {one.kind}. {one.found} Reason given: {one.reason}"
    for omitted in denied.attacks_omitted:
        whom = "" if omitted.intruder is None else f" by {omitted.intruder}"
        needed = omitted.attack in denied.exceptions or not _has_figure(claim, omitted)
        yield f"  {'omitted' if needed else 'not omitted after all'}: {omitted.attack}{whom} ({omitted.reason})"
    for absent in denied.attacks_not_in_catalogue:
        only = " on this file (rehearsed)" if absent == MEMBERSHIP and _list_rehearsed_attacks(claim) else ""
        yield f"  not tried: {absent}{only}"
    if predicate.criteria_wp29.note is not None:
        yield f"  {predicate.criteria_wp29.note}"


def _has_figure(claim: Claim, omitted: OmissionClaim) -> bool:
    """An omission stops no attack that can run: it then changed nothing."""
    ok = (one for one in claim.attacks if one.status == "ok" and one.method == omitted.attack)
    return omitted.release is None and any(omitted.intruder in (None, one.intruder) for one in ok)


def _describe_attacks(claim: Claim) -> str:
    """`attacked by transparency; rehearsed: closest_record`: an attack in a rehearsal was not one on this file."""
    rehearsed = _list_rehearsed_attacks(claim)
    shown = [one.attack for one in claim.attacks if one.status == "ok" and one.attack not in rehearsed]
    ending = f"; rehearsed: {', '.join(rehearsed)}" if rehearsed else ""
    return f"attacked by {', '.join(dict.fromkeys(shown)) or 'none'}{ending}"


def _list_rehearsed_attacks(claim: Claim) -> list[str]:
    found = (one.attack for one in claim.attacks if one.status == "ok" and REHEARSED_ATTACK in one.settings)
    return list(dict.fromkeys(found))


def _describe_insiders(predicate: Predicate) -> Iterator[str]:
    """The worst figure of an insider under each limit on them: the attack model's own risks are the declared intruder's."""

    found, model = predicate.attack_model.worst_insider, predicate.attack_model
    if model.insiders_know > 1:
        greedy = model.insiders_all_sets_up_to != model.insiders_know
        chosen = f"; sets of more than {model.insiders_all_sets_up_to} greedy, not proven the worst" if greedy else ""
        yield f"Insiders know up to {model.insiders_know} published columns besides the quasi-identifiers{chosen}."
    if found is not None:
        whose = f"{found.intruder}, {found.attack}"
        figure = _format_figure(found.reidentification, at_least=found.lower_bound)
        yield f"Worst insider: reidentification {figure} ({whose}), whether a line limits it or not."
    limited = [one for one in predicate.claim.criteria if (one.intruder or "").startswith("insider")]
    worst: dict[str, CriterionClaim] = {}
    for one in limited:
        if one.deciding_value is not None and one.direction == "at_most":
            worst[one.measure] = max(one, worst.get(one.measure, one), key=_find_value_and_intruder)
    shown = [
        f"{measure} {_format_figure(one.deciding_value or 0.0, at_least=one.lower_bound)} ({one.intruder})"
        for measure, one in worst.items()
    ]
    if shown:
        limits = f"Insiders under the policy's limits: {', '.join(shown)}."
        yield f"{limits} The figures of the attack model are the declared intruder's alone."
    elif predicate.attack_model.insiders and not limited and found is None:
        yield "Insiders were tried, and the policy sets them no limit: the figures are the declared intruder's."


def _find_value_and_intruder(criterion: CriterionClaim) -> tuple[float, str]:
    return criterion.deciding_value or 0.0, str(criterion.intruder)


def _format_figure(value: float, *, at_least: bool) -> str:
    return f"{'at least ' if at_least else ''}{value:.4g}"


def _serialise_verification(
    found: CertificateVerification, file: Path, certificate: Path, at: datetime, later: tuple[LaterRelease, ...]
) -> dict[str, Any]:
    from flows.cli.family_text import serialise_later_release

    return {
        "matches": found.matches,
        "conclusion": summarise_verification(found, file.name),
        "file": str(file),
        "certificate": str(certificate),
        "certificate_sha256": found.sha256,
        "document": found.document,
        "not_covered": list(found.not_covered),
        "at": at.isoformat(),
        "checks": [asdict(check) for check in found.checks],
        "broken_by": [serialise_later_release(one) for one in later],
        "predicate": None if found.predicate is None else found.predicate.model_dump(mode="json"),
    }


def _read_keyring(paths: list[Path]) -> Keyring:
    from tasks.audit.signing.keyring import Keyring

    if paths:
        return Keyring.from_files(paths)
    keyring = _load_home_keyring()
    if not keyring.keys:
        what = "no public key is known here by which the certificate could be checked"
        remedy = "get the issuer's public key by a way that you trust (`sdcert keys export` writes it), and give it: --key FILE"
        raise InputError("no-key", "--key", what, "an Ed25519 public key (PEM) or a trust file", remedy)
    return keyring


def _load_home_keyring() -> Keyring:
    from tasks.audit.signing.keyring import Keyring

    home = Home.current()
    try:
        return Keyring.from_home(home) if home.root.is_dir() else Keyring()
    except OSError:  # somebody else's
        return Keyring()


def _find_certificate_beside(file: Path) -> Path:
    found = next((path for name in BESIDE if (path := file.parent / name).exists()), None)
    if found is None:
        what = f"neither {BESIDE[0]} nor {BESIDE[1]} stands beside the file"
        where = f"--certificate (looked for in {file.parent.absolute()})"
        raise InputError("no-certificate", where, what, "a certificate", "name it: --certificate FILE")
    return found


def _refuse_signed(file: Path) -> None:
    """InputError where the file is a signed statement: what speaks of a file was given in place of the file."""
    from tasks.audit.certificates.certificate_verification import describe_statement, read_small_file

    content = read_small_file(file) or b""
    found = describe_statement(content) if content[:1] == b"{" else None
    if found is None:
        return
    kind, names = found
    there = [name for name in (*names, "report.html") if Path(name).name == name and (file.parent / name).is_file()]
    which = f"{file.parent / there[0]}" if there else "the released file, or report.html"
    add = "" if file.name in BESIDE or kind.startswith(("an approval", "a revocation")) else f" --certificate {file}"
    remedy = f"name the file that it speaks of: sdcert verify {which}{add}"
    raise InputError(
        "certificate-given", "RELEASED_FILE", f"this is {kind}", "the released file", escape_terminal(remedy), str(file)
    )


def _check_readable(path: Path, where: str, allowed: str) -> None:
    try:
        if path.is_file():
            return
        what = "this is not a file" if path.exists() else "there is no such file"
    except OSError as error:
        what = f"it cannot be looked at ({error.strerror})"
    raise InputError("not-a-file", where, what, allowed, "correct the path", str(path))


def _read_content(path: Path) -> bytes:
    """The bytes of a certificate, of one byte more than it may have at most."""
    from tasks.audit.signing.envelope import LARGEST_BYTES

    def read() -> bytes:
        with open_regular_file(path) as file:
            return file.read(LARGEST_BYTES + 1)

    return _read(path, read)


def _read(path: Path, reading: Callable[[], T]) -> T:
    try:
        return reading()
    except OSError as error:
        what, remedy = f"the file cannot be read ({error.strerror})", "check its permissions"
        raise InputError("unreadable", path.name, what, "a file that this user may read", remedy, str(path)) from None
