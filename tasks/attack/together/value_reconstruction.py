"""Masked values that follow from the group means of several releases together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tasks.attack.together.earlier_release import EarlierView
from tasks.attack.together.group_equations import GroupEquations, create_group_equations
from tasks.attack.together.recognisable_rows import ReleaseRows, label_recognised
from tasks.attack.together.reconstruction import SolvedMeans, solve_group_means
from tasks.mask.methods import Mechanism
from tasks.mask.precision_grid import find_precision_grid, grid_step
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Schema
from tasks.microdata.table import Booleans, Integers, Microdata

WITHIN_PERCENT = 5.0  # of a standard deviation: the half width by which sdcMicro's dRisk counts


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconstructedAttribute:
    """Of how many records the value of one attribute follows, and of how many an estimate comes near.

    n: the records with a value. determined: those whose value the equations of all releases determine. reconstructed: those of
    them whose estimate is right, up to half a step of the grid or `within_percent` of a standard deviation. exact: those of
    them whose estimate, moved to the grid, is the original. near, near_alone: records, determined or not, whose estimate is so
    near the original with all releases, and with the mean that the newest one shows.
    """

    attribute: str
    n: int
    determined: int
    reconstructed: int
    exact: int
    near: int
    near_alone: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconstructionResult:
    """What follows from the means of all releases together.

    n: records of the newest source. within_percent: of a standard deviation of the originals: how near an estimate is right.
    releases: names of the earlier releases whose means were used. unread: names of those that count but have no tables.
    recognised: records of which the intruder recognises rows of two releases.
    attributes: those that this release and an earlier one publish as means of groups. any_reconstructed, any_near,
    any_near_alone: records of which at least one of these values is.
    """

    n: int
    within_percent: float
    releases: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    recognised: int = 0
    attributes: tuple[ReconstructedAttribute, ...] = ()
    any_reconstructed: int = 0
    any_near: int = 0
    any_near_alone: int = 0


def reconstruct_values(
    original: Microdata,
    masked: Microdata,
    alignment: Alignment,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    earlier: tuple[EarlierView, ...],
    within_percent: float = WITHIN_PERCENT,
) -> ReconstructionResult:
    """Reconstruct masked values from the published means of this release and of earlier ones, without knowing any original.

    Meaning: the intruder joins rows that they recognise in several releases, sees the groups as rows that look alike, and
    solves the equations of all groups together (`solve_group_means`).

    Used are attributes of which this release and an earlier one publish means of groups (`find_averaged_block`). Rows are
    joined by `recognise_records`. If the value of a person changed between two versions, it is another unknown, as for an
    intruder who knows whose values changed: the worst case, in which every equation holds, so that each value that is
    determined is right within the rounding of the means. The intruder does not use that originals lie on a grid or in a range,
    nor rows that several people's unchanged values fit. People who are in earlier releases alone are unknowns, and not counted.

    original, masked, alignment, schema, mechanisms: of the newest release; n and m <= n rows. earlier: in any order.
    Returns counts of the n records; of a record whose rows are not all recognised as one person's, any of them counts.
    Cost: that of the equations; attributes with the same groups of the same unknowns are solved together.
    """
    newest = ReleaseRows(original, masked, schema, mechanisms, alignment, np.arange(original.n, dtype=np.int64))
    releases = (newest, *(_create_rows(view) for view in earlier))
    labels = label_recognised(releases)
    systems: dict[bytes, dict[str, GroupEquations]] = defaultdict(dict)
    for name in masked.names:
        equations = create_group_equations(releases, labels, name)
        if equations is not None:
            systems[equations.structure][name] = equations
    found = {name: one for same in systems.values() for name, one in _count_values(same, newest, within_percent)}
    used = {place for same in systems.values() for one in same.values() for place in one.releases if place > 0}
    return ReconstructionResult(
        n=original.n,
        within_percent=within_percent,
        releases=tuple(sorted(earlier[place - 1].name for place in used)),
        recognised=_count_repeated(labels),
        attributes=tuple(found[name].summarize(name) for name in masked.names if name in found),
        any_reconstructed=_count_any([one.reconstructed for one in found.values()]),
        any_near=_count_any([one.near for one in found.values()]),
        any_near_alone=_count_any([one.near_alone for one in found.values()]),
    )


@dataclass(frozen=True, slots=True)
class _Findings:
    """Shape (n,) each: what is found of each record."""

    present: Booleans
    determined: Booleans
    reconstructed: Booleans
    exact: Booleans
    near: Booleans
    near_alone: Booleans

    def summarize(self, name: str) -> ReconstructedAttribute:
        return ReconstructedAttribute(
            attribute=name,
            n=int(self.present.sum()),
            determined=int(self.determined.sum()),
            reconstructed=int(self.reconstructed.sum()),
            exact=int(self.exact.sum()),
            near=int(self.near.sum()),
            near_alone=int(self.near_alone.sum()),
        )


def _create_rows(view: EarlierView) -> ReleaseRows:
    """The rows of an earlier release; a record of it that several of the newest source name is that of the first."""
    record = np.full_like(view.record, -1)
    named, first = np.unique(view.record, return_index=True)
    record[first[named >= 0]] = named[named >= 0]
    return ReleaseRows(view.original, view.masked, view.schema, view.mechanisms, view.alignment, record)


def _count_values(
    same: dict[str, GroupEquations], newest: ReleaseRows, within_percent: float
) -> Iterator[tuple[str, _Findings]]:
    """Solve attributes with the same equations together, and compare each with its originals."""
    one = next(iter(same.values()))
    means = np.column_stack([equations.mean for equations in same.values()])
    rounding = np.column_stack([equations.rounding for equations in same.values()])
    solved = solve_group_means(one.unknown, one.group, one.n, means, rounding)
    for column, name in enumerate(same):
        yield name, _compare_with_originals(newest, name, one.of_record, solved, column, within_percent)


def _compare_with_originals(
    newest: ReleaseRows, name: str, of_record: Integers, solved: SolvedMeans, column: int, within_percent: float
) -> _Findings:
    original = newest.original.floats(name)
    present = ~np.isnan(original)
    spread = float(np.std(original[present], ddof=1)) if present.sum() > 1 else 0.0
    half_step = grid_step(find_precision_grid(newest.original, name)) / 2
    reach = max(half_step, within_percent / 100 * spread)
    estimate = np.where(of_record >= 0, solved.estimate[of_record, column], np.nan)
    determined = (of_record >= 0) & solved.determined[of_record]
    away = np.abs(estimate - original[:, None])
    shown = np.r_[newest.masked.floats(name), np.nan][newest.row]
    first = np.take_along_axis(away, (of_record >= 0).argmax(axis=1)[:, None], axis=1)[:, 0]
    return _Findings(
        present=present,
        determined=present & determined.any(axis=1),
        reconstructed=present & (determined & (away <= reach)).any(axis=1),
        exact=present & (determined & (away < half_step)).any(axis=1),
        near=present & (first <= reach),
        near_alone=present & (np.abs(shown - original) <= reach),
    )


def _count_repeated(labels: Integers) -> int:
    """Of how many records two rows have one label."""
    ordered = np.sort(labels, axis=1)
    return int((ordered[:, 1:] == ordered[:, :-1]).any(axis=1).sum())


def _count_any(parts: list[Booleans]) -> int:
    return int(np.logical_or.reduce(parts).sum()) if parts else 0
