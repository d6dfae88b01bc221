"""Say before a run which earlier releases count for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flows.release import ReleaseSpec
    from tasks.audit.series.past_releases import PastRelease
    from tasks.microdata.schema import Schema
    from tasks.microdata.table import Microdata

SHOWN = 10


def find_earlier_releases(release: ReleaseSpec, data: Microdata, schema: Schema) -> tuple[PastRelease, ...]:
    """The certified releases of this home about the persons of a table. Writes nothing, also without a ledger."""
    from flows.earlier.search import EarlierSearch, Population
    from tasks.audit.ledger.ledger import Ledger
    from tasks.microdata.units import list_person_columns
    from tasks.runtime.artifacts import Store

    if not Ledger.current().exists():
        return ()
    columns = list_person_columns(schema, release.key)[::-1]
    population = Population(Store().compute_table_address(data), data, columns, release.series_name)
    return EarlierSearch(run="").find_releases(population)


def describe_earlier_releases(release: ReleaseSpec, found: tuple[PastRelease, ...]) -> list[tuple[str, str]]:
    """A line for each release that counts, and one for each that the release file names."""
    from tasks.report.publication import PriorTable

    lines = [f"run {one.run} ({one.release}) is about the same persons" for one in found[-SHOWN:]]
    lines += [f"{len(found) - SHOWN:,} older ones"] if len(found) > SHOWN else []
    for prior in release.context.prior_releases or ():
        told = f"{prior.label}, as the release file says" if isinstance(prior, PriorTable) else f"{prior}: without a table"
        lines.append(told)
    return [("earlier", f"{line}; counts") for line in lines]


def warn_of_denial(release: ReleaseSpec, found: tuple[PastRelease, ...]) -> list[str]:
    """A warning where the release file says that there is no earlier release, and the ledger has one."""
    if release.context.prior_releases != () or not found:
        return []
    return ["`prior_releases: []` denies the earlier releases: it is refused, unless this run makes the same table again"]


def warn_of_sweep(found: tuple[PastRelease, ...]) -> list[str]:
    """A warning where earlier releases count: a sweep judges each point by what it tells alone."""
    if not found:
        return []
    named = ", ".join(one.run for one in found[-SHOWN:])
    more = f" and {len(found) - SHOWN:,} older ones" if len(found) > SHOWN else ""
    return [
        f"a sweep judges each point by what it tells alone, not together with the earlier releases about the same persons "
        f"({named}{more}): a point that keeps the policy here may be refused. `sdcert certify` attacks a promoted point "
        "together with them"
    ]
