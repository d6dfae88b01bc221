"""Find certificates to look at again: past review, broken by a later release, of older attacks, or of a revoked key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from tasks.audit.ledger.entries import Entry
from tasks.audit.lookup.index_rows import IndexRow, create_run_row, find_run, update_run_row
from tasks.audit.lookup.trust import KeyEnd
from tasks.report.predicate import ATTACK_CATALOGUE_VERSION

Later = Literal["broken by a later release", "perhaps broken by a later release"]
Why = Literal["key revoked", Later, "past review", "review soon", "older attacks"]
Revoked = Callable[[str | None], KeyEnd | None]
_START = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class IssuedCertificate:
    """A certificate that was issued for publication.

    superseded_by: the run of a later one of its series, the newest. signer: the id of its key; key_revoked: if it was revoked.
    """

    run: str
    release: str
    series: str
    sha256: str
    issued_at: datetime
    review_by: datetime | None
    catalogue: str | None
    superseded_by: str | None = None
    revoked_at: datetime | None = None
    signer: str | None = None
    key_revoked: KeyEnd | None = None


@dataclass(frozen=True, slots=True)
class DueCertificate:
    """A certificate that is due, and since when (or until when it is good) for each reason."""

    certificate: IssuedCertificate
    why: tuple[Why, ...]


def collect_certificates(entries: Iterable[tuple[Entry, str | None]]) -> tuple[IssuedCertificate, ...]:
    """All certificates for publication of entries, each with the key that signed it; the index has the same at once."""
    rows: dict[str, IndexRow] = {}
    signers: dict[int, str | None] = {}
    for number, (entry, signer) in enumerate(entries):
        run = find_run(entry.event)
        if run is not None:
            rows[run] = update_run_row(rows.get(run) or create_run_row(run, number, entry), number, entry)
            signers[number] = signer
    good = (row for row in rows.values() if row["outcome"] == "certified" and row["publishable"])
    return tuple(build_certificate(row, signers[row["ended"]]) for row in good)


def build_certificate(row: IndexRow, signer: str | None) -> IssuedCertificate:
    """The certificate of a run's row in the index."""
    return IssuedCertificate(
        run=row["run"],
        release=row["release"],
        series=row["series"],
        sha256=row["certificate"] or "",
        issued_at=_to_datetime(row["issued"]),
        review_by=None if row["review_by"] is None else _to_datetime(row["review_by"]),
        catalogue=row["catalogue"],
        revoked_at=None if row["revoked"] is None else _to_datetime(row["revoked"]),
        signer=signer,
    )


def select_standing(
    issued: Iterable[IssuedCertificate], *, at: datetime, revoked: Revoked = lambda _: None
) -> tuple[IssuedCertificate, ...]:
    """Those that stood at a moment, oldest first: issued by then, and not revoked by then.

    revoked: the revocation of a key by its id. A certificate of a revoked key is still among them: somebody must look at it.
    """
    by_then = (one for one in issued if one.issued_at <= at and (one.revoked_at is None or one.revoked_at > at))
    standing = sorted(by_then, key=lambda one: (one.issued_at, one.run))
    newest = {one.series: one.run for one in standing}
    return tuple(
        replace(
            one,
            superseded_by=None if newest[one.series] == one.run else newest[one.series],
            key_revoked=_select_key_revocation(revoked(one.signer), one, at),
        )
        for one in standing
    )


def find_due_certificates(
    known: Iterable[IssuedCertificate],
    *,
    at: datetime,
    within: timedelta,
    catalogue: str = ATTACK_CATALOGUE_VERSION,
    later: Mapping[str, tuple[Later, ...]] | None = None,
) -> tuple[DueCertificate, ...]:
    """Those of the certificates that are to be looked at again; the order is kept.

    within: told too are those whose date of review comes so soon after `at`. catalogue: the version of the attacks of today.
    later: by run, what releases about the same persons that came after it did to a certificate.
    """
    found = []
    for one in known:
        by_release = () if later is None else later.get(one.run, ())
        why: tuple[Why, ...] = (
            *_check_key(one),
            *by_release,
            *_check_review(one, at, within),
            *_check_attacks(one, catalogue),
        )
        found += [DueCertificate(one, why)] if why else []
    return tuple(found)


def _select_key_revocation(end: KeyEnd | None, one: IssuedCertificate, at: datetime) -> KeyEnd | None:
    is_reported = end is not None and end.covers(one.issued_at) and (end.at is None or end.at <= at)
    return end if is_reported else None


def _check_key(one: IssuedCertificate) -> tuple[Why, ...]:
    return () if one.key_revoked is None else ("key revoked",)


def _check_review(one: IssuedCertificate, at: datetime, within: timedelta) -> tuple[Why, ...]:
    if one.review_by is None or one.review_by - at >= within:
        return ()
    return ("past review",) if one.review_by < at else ("review soon",)


def _check_attacks(one: IssuedCertificate, catalogue: str) -> tuple[Why, ...]:
    return ("older attacks",) if _parse_version(one.catalogue) < _parse_version(catalogue) else ()


def _parse_version(text: str | None) -> tuple[int, ...]:
    """The parts of a version as numbers, so that 10 comes after 2; what is no version is older than any."""
    parts = (text or "").split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else ()


def _to_datetime(microseconds: int) -> datetime:
    return _START + timedelta(microseconds=microseconds)
