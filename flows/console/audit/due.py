"""`sdcert audit due`: certificates that are to be looked at again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import starmap
from typing import Any

from flows.console.audit.lookup import open_trail_index, trust_in
from flows.console.terminal import terminal
from flows.console.timestamps import parse_timestamp
from tasks.audit.lookup.index import Index
from tasks.audit.maintenance.review_due import (
    DueCertificate,
    IssuedCertificate,
    Why,
    build_certificate,
    certificates,
    find_due_certificates,
)
from tasks.microdata.escaping import escape_terminal
from tasks.report.predicate import ATTACK_CATALOGUE_VERSION
from tasks.runtime.settings import prepare_environment

_TOLD = 20


def print_due(at: str | None, within: int, *, as_json: bool) -> int:
    """Print what is due at a date, or within so many days of it. Returns 1 if something is, else 0.

    What a later certificate of its series has taken the place of is told apart, and is not counted.
    """
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
        for one in replaced[-_TOLD:]:
            old = one.certificate
            say(f"  {old.release}, run {old.run}: {_why(one)}; the newest is {old.superseded_by}")
        if len(replaced) > _TOLD:
            say(f"  and {len(replaced) - _TOLD:,} older ones (`sdcert audit due --json` names each)")
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
    review = "" if one.review_by is None else f"{one.review_by:%Y-%m-%d}"
    match why:
        case "key revoked":
            end = one.key_revoked
            told = "revoked" if end is None else end.describe()
            return f"the key that signed it ({(one.signer or '')[:16]}) was {told}: it verifies no more"
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
    with open_trail_index() as index:
        found = _from(index, at, within)
        if not index.fits([one.certificate.run for one in found[1]]):
            found = _from(index, at, within)
        return found


def _from(
    index: Index, at: datetime, within: timedelta
) -> tuple[tuple[IssuedCertificate, ...], list[DueCertificate], list[DueCertificate]]:
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
