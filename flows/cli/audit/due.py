"""`sdcert audit due`: certificates that are to be looked at again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
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
    from tasks.audit.lookup.index import Index
    from tasks.audit.maintenance.review_due import DueCertificate, IssuedCertificate, Why

_SHOWN = 20


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
    """Certificates past their date of review, or older than the attacks known today. Exit code 0 none is due, 1 some are."""
    from tasks.report.predicate import ATTACK_CATALOGUE_VERSION

    when = parse_timestamp(at, "--at")
    prepare_environment()
    known, current, replaced = _due(when, timedelta(days=within))
    if as_json:
        content = {"at": when.isoformat(), "within_days": within, "attack_catalogue_version": ATTACK_CATALOGUE_VERSION}
        lists = {"due": [_as_dict(one) for one in current], "superseded": [_as_dict(one) for one in replaced]}
        sys.stdout.write(json.dumps({**content, "certificates": len(known), **lists}, indent=1, ensure_ascii=False) + "\n")
        return int(bool(current))
    console = terminal(soft_wrap=True)

    def say(text: str) -> None:
        console.print(escape_terminal(text))

    _tell(say, known, current, replaced, when)
    return int(bool(current))


def _tell(
    say: Callable[[str], None],
    known: tuple[IssuedCertificate, ...],
    current: list[DueCertificate],
    replaced: list[DueCertificate],
    when: datetime,
) -> None:
    standing = sum(one.superseded_by is None for one in known)
    if not known:
        say(f"No certificate stands at {when:%Y-%m-%d} in this home: nothing was certified for publication, or all is revoked.")
        return
    for one in current:
        for line in _lines(one):
            say(line)
    if current:
        say("")
        say(
            "What to do: certify again (`sdcert certify RELEASE.yaml`: the same seed, and therefore no new attempt; the attacks"
        )
        say("of today), or, if the release shall no longer be relied upon, `sdcert revoke RUN --reason ...`.")
        say("")
    if replaced:
        say("Due too, but a later release of the series has taken their place (revoke them if nobody shall use them any more):")
        for one in replaced[-_SHOWN:]:
            old = one.certificate
            say(f"  {old.release}, run {old.run}: {_why(one)}; the newest is {old.superseded_by}")
        if len(replaced) > _SHOWN:
            say(f"  and {len(replaced) - _SHOWN:,} older ones (`sdcert audit due --json` names each)")
        say("")
    say(f"As of {when:%Y-%m-%d}: {len(current)} of {standing} certificates due, the newest of each series counted")


def _lines(one: DueCertificate) -> Iterator[str]:
    certificate = one.certificate
    yield f"{certificate.release}, run {certificate.run}, certified {certificate.issued_at:%Y-%m-%d}"
    for why in one.why:
        yield f"  {_describe_reason(why, certificate)}"


def _why(one: DueCertificate) -> str:
    return " and ".join(_describe_reason(why, one.certificate) for why in one.why)


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


def _due(at: datetime, within: timedelta) -> tuple[tuple[IssuedCertificate, ...], list[DueCertificate], list[DueCertificate]]:
    """All that stand at a moment, those of them that are due, and those of these that another has taken the place of.

    What the index says of those that count is compared with their entries; of the others nothing is read.
    """
    from flows.cli.audit.run_descriptions import open_trail_index

    with open_trail_index() as index:
        found = _from(index, at, within)
        if not index.fits([one.certificate.run for one in found[1]]):
            found = _from(index, at, within)
        return found


def _from(
    index: Index, at: datetime, within: timedelta
) -> tuple[tuple[IssuedCertificate, ...], list[DueCertificate], list[DueCertificate]]:
    from flows.cli.audit.run_descriptions import trust_in
    from tasks.audit.maintenance.review_due import build_certificate, certificates, find_due_certificates

    known = certificates(
        starmap(build_certificate, index.list_certified_runs()), at=at, revoked=trust_in(index).find_revocation
    )
    found = find_due_certificates(known, at=at, within=within)
    current = [one for one in found if one.certificate.superseded_by is None]
    return known, current, [one for one in found if one.certificate.superseded_by is not None]


def _as_dict(one: DueCertificate) -> dict[str, Any]:
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
    }
