"""Which certificates are to be looked at again: past their date of review, or older than the attacks known today."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from tasks.audit.ledger.entries import CertificateRevoked, Entry, RunEnded
from tasks.report.predicate import ATTACK_CATALOGUE_VERSION

Why = Literal["past review", "review soon", "older attacks"]


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that was issued for publication. superseded_by: the run of a later one of its series, the newest."""

    run: str
    release: str
    series: str
    sha256: str
    issued_at: datetime
    review_by: datetime | None
    catalogue: str | None
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """A certificate that is due, and since when (or until when it is good) for each reason."""

    certificate: Certificate
    why: tuple[Why, ...]


def certificates(entries: Iterable[Entry], *, at: datetime) -> tuple[Certificate, ...]:
    """Those that stood at a moment, oldest first: issued by then, for publication, and not revoked by then."""
    found: dict[str, tuple[RunEnded, datetime]] = {}
    revoked: set[str] = set()
    for entry in entries:
        event = entry.event
        if entry.at > at:
            continue
        if isinstance(event, CertificateRevoked):
            revoked.add(event.certificate)
        elif isinstance(event, RunEnded) and event.outcome == "certified" and not event.not_for_publication:
            found[event.certificate or event.run] = (event, entry.at)
    standing = {digest: one for digest, one in found.items() if digest not in revoked}
    newest = {ended.series: ended.run for ended, _ in sorted(standing.values(), key=_when)}
    return tuple(_certificate(ended, issued, newest) for ended, issued in sorted(standing.values(), key=_when))


def due(
    known: Iterable[Certificate], *, at: datetime, within: timedelta, catalogue: str = ATTACK_CATALOGUE_VERSION
) -> tuple[Due, ...]:
    """Those of the certificates that are to be looked at again; the order is kept.

    within: told too are those whose date of review comes so soon after `at`. catalogue: the version of the attacks of today.
    """
    reasons = ((one, (*_review(one, at, within), *_attacks(one, catalogue))) for one in known)
    return tuple(Due(one, why) for one, why in reasons if why)


def _certificate(ended: RunEnded, issued: datetime, newest: dict[str, str]) -> Certificate:
    later = newest[ended.series]
    return Certificate(
        run=ended.run,
        release=ended.release,
        series=ended.series,
        sha256=ended.certificate or "",
        issued_at=issued,
        review_by=ended.review_by,
        catalogue=ended.attack_catalogue_version,
        superseded_by=None if later == ended.run else later,
    )


def _when(one: tuple[RunEnded, datetime]) -> tuple[datetime, str]:
    return one[1], one[0].run


def _review(one: Certificate, at: datetime, within: timedelta) -> tuple[Why, ...]:
    if one.review_by is None or one.review_by - at >= within:
        return ()
    return ("past review",) if one.review_by < at else ("review soon",)


def _attacks(one: Certificate, catalogue: str) -> tuple[Why, ...]:
    return ("older attacks",) if _version(one.catalogue) < _version(catalogue) else ()


def _version(text: str | None) -> tuple[int, ...]:
    """The parts of a version as numbers; what is no version is older than any."""
    parts = (text or "").split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else ()
