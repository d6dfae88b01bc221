"""The epsilon of a person who is in a release and in the earlier ones that count: for the steward alone."""

from __future__ import annotations

import flows.environment  # noqa: F401  # prepares the process before Prefect is imported

# isort: split
from collections.abc import Iterable

import numpy as np

from flows.earlier.counted import CountedRelease
from flows.kinds.base import ReleaseJob
from tasks.attack.together.earlier_release import read_earlier_view
from tasks.mask.categories.pram import Pram
from tasks.mask.categories.promise import INFINITE, Epsilon
from tasks.mask.categories.promise_over_releases import RandomisedTable, add_epsilons
from tasks.mask.outputs import Mechanisms
from tasks.microdata.schema import Schema
from tasks.runtime.artifacts import Store


def add_epsilons_of_releases(job: ReleaseJob, counted: Iterable[CountedRelease]) -> Epsilon | None:
    """What the promises of a release and of the earlier ones add up to; None where no PRAM step of it promises anything.

    Infinite where an earlier one is no table of rows with owners, or where its tables are gone.
    """
    store, releases = Store(), list(counted)
    mechanisms = store.record(job.masked.mechanisms, Mechanisms)
    if not releases or not job.release.kind.has_owners or not any(isinstance(step, Pram) for step in mechanisms):
        return None
    source = store.table(job.masked.data)
    schema, record = store.record(job.masked.schema, Schema), np.arange(source.n, dtype=np.int64)
    series = job.release.series_name
    added = [RandomisedTable(source=source, schema=schema, mechanisms=mechanisms, record=record, series=series)]
    for one in releases:
        if one.release.tables is None:
            return INFINITE
        view = read_earlier_view(store, one.release, one.release.tables)
        added.append(
            RandomisedTable(
                source=view.original, schema=view.schema, mechanisms=view.mechanisms, record=view.record, series=view.series
            )
        )
    return add_epsilons(added)
