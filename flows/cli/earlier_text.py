"""Say before a run which earlier releases count for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flows.release import ReleaseSpec
    from tasks.attack.threat import Intruder
    from tasks.attack.together.earlier_release import EarlierRelease
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


def count_earlier_attacks(
    release: ReleaseSpec, found: tuple[PastRelease, ...], intruders: Sequence[Intruder], later: int = 0
) -> int:
    """The most attacks that join the release with those that count: each intruder seeks its rows, and those of all others.

    later: how many insiders follow who are chosen by what others find.
    """
    from tasks.attack.threat import is_on_knowledge_curve
    from tasks.report.publication import PriorTable

    named = release.context.prior_releases or ()
    counted = len(found) + len(named)
    if not counted or not release.kind.has_owners:
        return 0
    asking = later + sum(one.file is None and not is_on_knowledge_curve(one.name) for one in intruders)
    has_tables = bool(found) or any(isinstance(prior, PriorTable) for prior in named)  # else nobody seeks the rows of this one
    return asking * (has_tables + counted)


def warn_of_denial(release: ReleaseSpec, found: tuple[PastRelease, ...]) -> list[str]:
    """A warning where the release file says that there is no earlier release, and the ledger has one."""
    if release.context.prior_releases != () or not found:
        return []
    return ["`prior_releases: []` denies the earlier releases: it is refused, unless this run makes the same table again"]


def describe_joined_releases(found: tuple[EarlierRelease, ...]) -> list[str]:
    """For the plan of a sweep: the earlier releases with which every point is attacked, and those that cannot be attacked."""
    lines = [f"  earlier  {one.name} ({one.release}){_describe_use(one)}" for one in found[-SHOWN:]]
    return lines + ([f"  earlier  {len(found) - SHOWN:,} more"] if len(found) > SHOWN else [])


def _describe_use(one: EarlierRelease) -> str:
    if one.tables is None:
        return f": cannot be attacked, so that limits on identity stay undecided: {one.reason}"
    return ": about the same persons; every point is attacked together with it, as `sdcert certify` does"
