"""Which earlier releases count for a release that was made, and what its attacks are given of each."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from flows.earlier.counted import CountedRelease, CountedReleases, hand_to_attacks
from flows.earlier.declared import NOT_COMBINED, OF_NOBODY, read_declared_releases
from flows.earlier.earlier_tables import NotThere, find_earlier_tables
from flows.earlier.epsilons import add_epsilons_of_releases
from flows.earlier.search import Population
from flows.kinds.base import MadeRelease, ReleaseJob
from flows.kinds.model import MODEL_FLOW
from flows.release import ReleaseSpec
from tasks.attack.together.earlier_release import EarlierRelease
from tasks.audit.series.past_releases import PastRelease
from tasks.microdata.errors import InputError
from tasks.microdata.refs import TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.units import list_person_columns
from tasks.runtime.artifacts import Damaged, Store
from tasks.score.release_kinds import MASKED_TABLE

OF_MODEL = "a model was released, and the attacks on it stand beside those on this release: the two are not combined"
FindReleases = Callable[[Population], Sequence[PastRelease]]
SHOWN = 5


def find_population(job: ReleaseJob) -> Population:
    """The persons of a release, as they are compared with those of earlier ones."""
    columns = list_identifying_columns(job)
    return Population(job.source["data"], Store().table(job.masked.data), columns, job.release.series_name)


def list_identifying_columns(job: ReleaseJob) -> tuple[str, ...]:
    """The columns that tell rows or persons apart across versions, a key of rows first."""
    return list_person_columns(Store().record(job.masked.schema, Schema), job.release.key)[::-1]


def count_releases(job: ReleaseJob, made: MadeRelease, past: Sequence[PastRelease]) -> CountedReleases:
    """Prepare what attacks are given of the past releases about the same persons.

    past: oldest first. The release itself does not count, and one table that was released twice counts once.
    Raises InputError where the release file says that there are none, or omits one that does not count or can be attacked.
    """
    others = select_other_releases(job, made, past)
    refuse_denial(job.release, others)
    counted = prepare_releases(job, others)
    if not counted:
        return hand_to_attacks((), job.release.omit)
    return replace(hand_to_attacks(counted, job.release.omit), epsilon=add_epsilons_of_releases(job, counted))


def prepare_releases(job: ReleaseJob, others: Sequence[PastRelease]) -> list[CountedRelease]:
    """What attacks can be given of past releases, and of those that the release file names."""
    if not others and not job.release.context.prior_releases:
        return []
    columns = list_identifying_columns(job)
    return [*(_prepare_release(job, one, columns) for one in others), *read_declared_releases(job, columns)]


def select_other_releases(job: ReleaseJob, made: MadeRelease, past: Iterable[PastRelease]) -> tuple[PastRelease, ...]:
    """The past releases of another table or model than this one, the oldest of those that released the same."""
    own = (job.masked.data, None if job.masked.table is None else job.masked.table["masked"])
    other = (one for one in past if made.address not in {address for stage in one.made.values() for address in stage.values()})
    return tuple(one for what, one in select_distinct_releases(other).items() if what != own)


def select_distinct_releases(past: Iterable[PastRelease]) -> dict[object, PastRelease]:
    """The oldest release of each table or model, by the records that were masked and what was released."""
    found: dict[object, PastRelease] = {}
    for one in past:
        released = find_masked_table(one) or (None if one.released is None else one.released.content_address) or one.run
        found.setdefault((one.data, released), one)
    return found


def find_masked_table(past: PastRelease) -> str | None:
    """Address of the masked table that was released; None where a model was, or the ledger does not say it."""
    return None if is_of_model(past) else past.made.get("mask", {}).get("masked")


def is_of_model(past: PastRelease) -> bool:
    return any(stage in past.made for stage in MODEL_FLOW.made_by)


def refuse_denial(release: ReleaseSpec, others: Sequence[PastRelease]) -> None:
    """InputError for a release file that says that there is no earlier release, where the ledger has one that counts."""
    if release.context.prior_releases != () or not others:
        return
    more = f", and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    named = ", ".join(f"run {one.run} ({one.release})" for one in others[:SHOWN])
    what = f"The release file says that there is no earlier release about these persons, and the ledger has one: {named}{more}."
    remedy = (
        "take `prior_releases: []` out: these releases are attacked together with this one. For one that nobody outside was "
        "given: `sdcert revoke RUN --never-published REASON`"
    )
    raise InputError("earlier-release", "context.prior_releases", what, "the earlier releases, or nothing", remedy)


def _prepare_release(job: ReleaseJob, past: PastRelease, columns: tuple[str, ...]) -> CountedRelease:
    tables, reason, beside = None, None, _find_reason_beside(job, past)
    if beside is None:
        try:
            tables = find_earlier_tables(job, past.run, past.tables, columns)
        except NotThere as error:
            reason = str(error)
    return CountedRelease(
        release=EarlierRelease(name=past.run, release=past.release, series=past.series, tables=tables, reason=beside or reason),
        certificate=past.certificate,
        released=None if past.released is None else past.released.sha256,
        is_beside=beside is not None,
    )


def _find_reason_beside(job: ReleaseJob, past: PastRelease) -> str | None:
    """Why a past release is not combined with this one though its tables may be there; None: it is."""
    if job.release.kind is not MASKED_TABLE:
        return NOT_COMBINED
    if is_of_model(past):
        return OF_MODEL
    alignment = past.made.get("mask", {}).get("alignment")
    try:
        rows = None if alignment is None else Store().table(TableRef(alignment))
    except Damaged:
        rows = None
    return OF_NOBODY if rows is not None and "record" not in rows.names else None
