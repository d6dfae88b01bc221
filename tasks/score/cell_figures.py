"""Figures of what the cells of a released table tell of confidential values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from tasks.attack.cells.released_cells import ReleasedCells
from tasks.microdata.errors import NotApplicable
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Role
from tasks.microdata.spec import Percent, Public, Spec
from tasks.microdata.units import Units, find_units
from tasks.score.measure import Measure
from tasks.score.measures.inference import CELL_HOMOGENEITY, CELL_MEMBERS_EXPOSED, T_CLOSENESS
from tasks.score.table_pair import RowwiseTablePair


class CellMembersExposed(Spec):
    """Parameters of what cells tell.

    coalition: how many members of a cell subtract themselves. p_percent: a number follows if the guess is at most this share of
    its standard deviation away.
    """

    measure: Public[Literal["cell_members_exposed"]] = "cell_members_exposed"
    coalition: Public[Annotated[int, Field(ge=1, le=1000)]] = 1
    p_percent: Public[Percent] = 5.0


def cell_members_exposed(tables: RowwiseTablePair, spec: CellMembersExposed) -> tuple[Estimate, ...]:
    """`cell_members_exposed`, `cell_homogeneity` and, beside them, `t_closeness` of each published confidential attribute.

    Formula in words: the people whose value follows (`ReleasedCells.find_exposed`) for the worst coalition of so many other
    members of their cell, over the people in the release who have a value; for `cell_homogeneity` the coalition is empty.

    Range [0, 1]; exact, without sampling error, and without chance: a value follows or does not. Not applicable where values
    of quasi-identifiers were moved, so that there are no cells, or where the attribute is masked otherwise than by means of
    groups. Earlier releases are not used.
    Cost: O(n log n + coalition n) for each attribute. Source: Torra (2020, 2024), Li et al. (2007).

    Example: the five rows of Torra (2020): an outsider knows the illness of two, coalitions of one that of two more.
    """
    names = tables.schema.find_by_role(Role.CONFIDENTIAL)
    units = find_units(tables.original, tables.schema)
    try:
        cells = ReleasedCells.create_from_tables(tables.original, tables.masked, tables.schema, tables.mechanisms, units)
    except NotApplicable as answer:
        return tuple(one for name in names for one in _create_idle_estimates(name, units, spec, answer))
    return tuple(one for name in names for one in _estimate_attribute(cells, name, spec))


def _estimate_attribute(cells: ReleasedCells, name: str, spec: CellMembersExposed) -> Iterator[Estimate]:
    known = cells.find_known(name)
    width = (("p_percent", spec.p_percent),) if cells.is_number(name) else ()
    try:
        if not known.any():
            raise NotApplicable(f"nobody has a value of {name}")
        found = {size: cells.find_exposed(name, spec.p_percent, size) for size in (spec.coalition, 0)}
    except NotApplicable as answer:
        yield from _create_idle_estimates(name, cells.units, spec, answer)
        return
    for measure, size in ((CELL_MEMBERS_EXPOSED, spec.coalition), (CELL_HOMOGENEITY, 0)):
        value = float(found[size][known].mean())
        parameters = ((("coalition", float(size)),) if size else ()) + width
        yield _create_estimate(measure, name, cells.units, value, int(known.sum()), parameters)
    skewness = cells.measure_skewness(name)
    if skewness is not None:
        yield _create_estimate(T_CLOSENESS, name, cells.units, skewness, cells.units.n_units, ())


def _create_estimate(
    measure: Measure, name: str, units: Units, value: float, n: int, parameters: tuple[tuple[str, float], ...]
) -> Estimate:
    return Estimate(
        measure=measure.name,
        attribute=name,
        parameters=parameters,
        value=value,
        low=value,
        high=value,
        unit=measure.unit,
        credit_rule="indicator" if measure is not T_CLOSENESS else None,
        n_targets=n,
        n_in_release=n,
        counts=units.counts,
    )


def _create_idle_estimates(name: str, units: Units, spec: CellMembersExposed, answer: NotApplicable) -> Iterator[Estimate]:
    for measure, parameters in ((CELL_MEMBERS_EXPOSED, (("coalition", float(spec.coalition)),)), (CELL_HOMOGENEITY, ())):
        yield Estimate(
            measure=measure.name,
            attribute=name,
            parameters=parameters,
            value=None,
            unit=measure.unit,
            status=answer.status,
            reason=answer.reason,
            counts=units.counts,
        )
