"""The earlier releases that the release file names: texts, and tables that this home did not make."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from flows.earlier.counted import CountedRelease
from flows.earlier.earlier_tables import STEP, NotThere, find_earlier_tables
from flows.kinds.base import ReleaseJob
from flows.run.publish import compute_sha256
from flows.run.stage_runner import store_part
from tasks.attack.together.earlier_release import EarlierRelease
from tasks.ingest.task import ingest_released, source_digest
from tasks.mask.external_release.adoption import AdoptionPlan, ReleasedSpec
from tasks.mask.task import adopt_table
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_TABLE, read_file
from tasks.microdata.schema import Schema
from tasks.report.publication import PriorTable, name_prior_table
from tasks.runtime.artifacts import Store
from tasks.runtime.failures import StageFailure
from tasks.score.release_kinds import MASKED_TABLE

TOLD_ALONE = "the release file names it and gives no table of it"
NOT_COMBINED = "what is released here has no masked rows of persons: it is not combined with earlier releases"
OF_NOBODY = "its rows belong to nobody, and the attacks on it stand beside those on this release: the two are not combined"
WHERE = "context.prior_releases"


def name_prior_text(number: int) -> str:
    """What the certificate calls an earlier release that the release file names without its table."""
    return f"text:{number}"


def read_declared_releases(job: ReleaseJob, columns: tuple[str, ...]) -> Iterator[CountedRelease]:
    """Each earlier release that the release file names. columns: those that tell rows or persons apart.

    Raises InputError for a table that cannot be read, or does not fit the source.
    """
    for i, prior in enumerate(job.release.context.prior_releases or ()):
        yield _read_text(job, prior, i + 1) if isinstance(prior, str) else _read_table(job, prior, i, columns)


def _read_text(job: ReleaseJob, text: str, number: int) -> CountedRelease:
    reason = TOLD_ALONE if job.release.kind is MASKED_TABLE else NOT_COMBINED
    release = EarlierRelease(name=name_prior_text(number), release=text, reason=reason)
    return CountedRelease(release=release, is_beside=job.release.kind is not MASKED_TABLE)


def _read_table(job: ReleaseJob, prior: PriorTable, i: int, columns: tuple[str, ...]) -> CountedRelease:
    name, digest = name_prior_table(i + 1), None
    with _locate_errors(i):
        keyed = source_digest(prior)
        if prior.table is not None and Path(prior.table).is_file():
            digest = compute_sha256(read_file(Path(prior.table), LARGEST_TABLE))
    if job.release.kind is not MASKED_TABLE or prior.align == "none":
        reason = OF_NOBODY if job.release.kind is MASKED_TABLE else NOT_COMBINED
        named = EarlierRelease(name=name, release=prior.label, reason=reason)
        return CountedRelease(release=named, released=digest, is_beside=True)
    with _locate_errors(i):
        addresses = _adopt(job, prior, name, keyed)
    try:
        release = EarlierRelease(name=name, release=prior.label, tables=find_earlier_tables(job, name, addresses, columns))
    except NotThere as error:
        release = EarlierRelease(name=name, release=prior.label, reason=str(error))
    return CountedRelease(release=release, released=digest)


def _adopt(job: ReleaseJob, prior: PriorTable, name: str, digest: str) -> dict[str, str]:
    """Read the table and align it with the source, as one that was masked elsewhere; returns the addresses of its parts."""
    source, schema = job.source["data"], job.masked.schema
    released = ReleasedSpec.model_construct(**{field: getattr(prior, field) for field in ReleasedSpec.model_fields})
    plan = AdoptionPlan(released=released, attributes=job.release.attributes, key=job.release.key)
    whole = Store().record(schema, Schema)
    reading = store_part(plan.create_reading_plan(whole, may_lack=True))
    given = job.runner.run(f"{STEP} {name} ingest", ingest_released.bind(reading, digest))
    schema = store_part(whole.withhold_all_but(Store().table(given["data"]).names), Schema)
    call = adopt_table.bind(source, schema, store_part(plan), digest, job.masked.draw, "kept", given["data"], given["notes"])
    made = job.runner.run(f"{STEP} {name} align", call)
    parts = {"masked": made["masked"], "alignment": made["alignment"], "mechanisms": made["mechanisms"]}
    return {"data": source, "schema": schema, **parts}


@contextmanager
def _locate_errors(i: int) -> Iterator[None]:
    """Give an InputError the place of the table in the release file, also one that a stage met."""
    try:
        yield
    except (InputError, StageFailure) as failure:
        error = failure if isinstance(failure, InputError) else failure.cause
        if not isinstance(error, InputError):
            raise
        within = error.where.removeprefix("released").removeprefix("source").lstrip(".: ")
        raise replace(error, where=f"{WHERE}[{i}]{f': {within}' if within else ''}") from None
