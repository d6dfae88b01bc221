"""`sdcert audit due`: certificates that are to be looked at again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import starmap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.audit.group import group
from flows.cli.terminal import terminal
from flows.cli.timestamps import parse_timestamp
from tasks.microdata.escaping import escape_terminal
from tasks.runtime.settings import prepare_environment

if TYPE_CHECKING:
    from flows.earlier.later_releases import LaterRelease
    from tasks.audit.lookup.index import Index
    from tasks.audit.maintenance.review_due import DueCertificate, IssuedCertificate, Later, Why

_SHOWN = 20
LATER_BY_EFFECT: dict[str, Later] = {
    "broken": "broken by a later release",
    "undecided": "perhaps broken by a later release",
    "not attacked": "perhaps broken by a later release",
}
LATER = frozenset(LATER_BY_EFFECT.values())
LaterByRun = Mapping[str, Sequence["LaterRelease"]]


@group.command()
def due(
    at: Annotated[
        str | None, typer.Option(help="as of this date (2028-11-21); default: now", metavar="DATE", show_default=False)
    ] = None,
    within: Annotated[
        int, typer.Option(help="also what is to be reviewed within so many days", min=0, max=36500, metavar="DAYS")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="print them on stdout as JSON")] = False,
) -> int:
    """Certificates past review, older than the attacks of today, or broken by a later release of the same persons.

    Exit code 0 none is due, 1 some are.
    """
    from tasks.report.predicate import ATTACK_CATALOGUE_VERSION

    when = parse_timestamp(at, "--at")
    prepare_environment()
    known, current, replaced, later = _find_due_certificates(when, timedelta(days=within))
    if as_json:
        content = {"at": when.isoformat(), "within_days": within, "attack_catalogue_version": ATTACK_CATALOGUE_VERSION}
        lists = {name: [_as_dict(one, later) for one in ones] for name, ones in (("due", current), ("superseded", replaced))}
        sys.stdout.write(json.dumps({**content, "certificates": len(known), **lists}, indent=1, ensure_ascii=False) + "\n")
        return int(bool(current))
    console = terminal(soft_wrap=True)

    def say(text: str) -> None:
        console.print(escape_terminal(text))

    _tell(say, known, current, replaced, when, later)
    return int(bool(current))


def _tell(
    say: Callable[[str], None],
    known: tuple[IssuedCertificate, ...],
    current: list[DueCertificate],
    replaced: list[DueCertificate],
    when: datetime,
    later: LaterByRun,
) -> None:
    standing = sum(one.superseded_by is None for one in known)
    if not known:
        say(f"No certificate stands at {when:%Y-%m-%d} in this home: nothing was certified for publication, or all is revoked.")
        return
    for one in current:
        for line in _describe_certificate(one, later):
            say(line)
    if current:
        say("")
    if not all(LATER.issuperset(one.why) for one in current):
        say(
            "What to do: certify again (`sdcert certify RELEASE.yaml`: the same seed, and therefore no new attempt; the attacks"
        )
        say("of today), or, if the release shall no longer be relied upon, `sdcert revoke RUN --reason ...`.")
        say("")
    if replaced:
        say("Due too, but a later release of the series has taken their place (revoke them if nobody shall use them any more):")
        for one in replaced[-_SHOWN:]:
            old = one.certificate
            say(f"  {old.release}, run {old.run}: {_describe_reasons(one, later)}; the newest is {old.superseded_by}")
        if len(replaced) > _SHOWN:
            say(f"  and {len(replaced) - _SHOWN:,} older ones (`sdcert audit due --json` names each)")
        say("")
    say(f"As of {when:%Y-%m-%d}: {len(current)} of {standing} certificates due, the newest of each series counted")


def _describe_certificate(one: DueCertificate, later: LaterByRun) -> Iterator[str]:
    from flows.cli.family_text import describe_later_release

    certificate = one.certificate
    yield f"{certificate.release}, run {certificate.run}, certified {certificate.issued_at:%Y-%m-%d}"
    yield from (f"  {_describe_reason(why, certificate)}" for why in one.why if why not in LATER)
    yield from (f"  {describe_later_release(found)}" for found in later.get(certificate.run, ()))


def _describe_reasons(one: DueCertificate, later: LaterByRun) -> str:
    from flows.cli.family_text import summarise_later_releases

    found = [_describe_reason(why, one.certificate) for why in one.why if why not in LATER]
    return " and ".join([*summarise_later_releases(later.get(one.certificate.run, ())), *found])


def _describe_reason(why: Why, one: IssuedCertificate) -> str:
    from tasks.report.predicate import ATTACK_CATALOGUE_VERSION

    review = "" if one.review_by is None else f"{one.review_by:%Y-%m-%d}"
    match why:
        case "key revoked":
            end = one.key_revoked
            validity = "revoked" if end is None else end.describe()
            return f"the key that signed it ({(one.signer or '')[:16]}) was {validity}: it verifies no more"
        case "past review":
            return f"its review was due by {review}"
        case "review soon":
            return f"its review is due by {review}"
        case _:
            version = one.catalogue or "unknown"
            return f"the attacks have grown stronger: catalogue {version} then, {ATTACK_CATALOGUE_VERSION} now"


def _find_due_certificates(
    at: datetime, within: timedelta
) -> tuple[tuple[IssuedCertificate, ...], list[DueCertificate], list[DueCertificate], LaterByRun]:
    """All that stand at a moment, those of them that are due, and those of these that another has taken the place of; last
    what later releases did to those that stand.

    What the index says of those that count is compared with their entries. Cost: see `ReleaseFamilies.from_ledger`.
    """
    from flows.cli.audit.run_descriptions import open_trail_index

    with open_trail_index() as index:
        found = _from(index, at, within)
        if not index.fits([one.certificate.run for one in found[1]]):
            found = _from(index, at, within)
        return found


def _from(
    index: Index, at: datetime, within: timedelta
) -> tuple[tuple[IssuedCertificate, ...], list[DueCertificate], list[DueCertificate], LaterByRun]:
    from flows.cli.audit.run_descriptions import trust_in
    from tasks.audit.maintenance.review_due import build_certificate, find_due_certificates, select_standing

    issued = tuple(starmap(build_certificate, index.list_certified_runs()))
    known = select_standing(issued, at=at, revoked=trust_in(index).find_revocation)
    later = _judge_later_releases(known, {one.run for one in issued if one.issued_at <= at})
    reasons = {run: tuple(dict.fromkeys(LATER_BY_EFFECT[one.effect] for one in found)) for run, found in later.items()}
    found = find_due_certificates(known, at=at, within=within, later=reasons)
    current = [one for one in found if one.certificate.superseded_by is None]
    return known, current, [one for one in found if one.certificate.superseded_by is not None], later


def _judge_later_releases(known: Iterable[IssuedCertificate], there: set[str]) -> LaterByRun:
    """Of each certificate the later releases about the same persons that broke it, or may have; there: the runs by then."""
    from flows.earlier.family import ReleaseFamilies
    from flows.earlier.later_releases import CertificateJudge

    families = ReleaseFamilies.from_ledger()
    families = ReleaseFamilies(tuple(one for one in families.past if one.run in there))
    standing = {one.run for one in known}
    judge = CertificateJudge(families)
    found = {past.run: judge.judge_later_releases(past) for past in families.past if past.run in standing}
    harmed = {run: tuple(one for one in ones if one.effect in LATER_BY_EFFECT) for run, ones in found.items()}
    return {run: ones for run, ones in harmed.items() if ones}


def _as_dict(one: DueCertificate, later: LaterByRun) -> dict[str, Any]:
    from flows.cli.family_text import serialise_later_release

    certificate = one.certificate
    return {
        "release": certificate.release,
        "series": certificate.series,
        "run": certificate.run,
        "certificate": certificate.sha256,
        "issued_at": certificate.issued_at.isoformat(),
        "review_by": None if certificate.review_by is None else certificate.review_by.isoformat(),
        "attack_catalogue_version": certificate.catalogue,
        "superseded_by": certificate.superseded_by,
        "key_id": certificate.signer,
        "key_revoked": None if certificate.key_revoked is None else certificate.key_revoked.describe(),
        "why": list(one.why),
        "later_releases": [serialise_later_release(found) for found in later.get(certificate.run, ())],
    }
