"""Values present: whoever finds their own exact values in the columns of the release was among the originals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np

from tasks.attack.membership.closest_record import check_known
from tasks.attack.membership.column_evidence import PresenceEvidence, weigh_columns
from tasks.attack.membership.frame import Frame
from tasks.attack.membership.scored import MembershipScores
from tasks.mask.control import normalise_values
from tasks.mask.precision_grid import MOST_DECIMALS, PrecisionGrid, grid_step, round_to_grid
from tasks.microdata.codes import joint_codes
from tasks.microdata.schema import CATEGORICAL, Schema
from tasks.microdata.spec import Public, Slug, Spec
from tasks.microdata.table import Floats, Microdata, encode_jointly

_GRIDS = (
    *(PrecisionGrid(10**power, 1) for power in range(9, 0, -1)),
    *(PrecisionGrid(1, 10**d) for d in range(MOST_DECIMALS)),
)


class ValuesPresent(Spec):
    """Parameters of the attack by exact values.

    id: what the attack is called in figures and policy lines; default: the method's name.
    """

    method: Public[Literal["values_present"]]
    id: Public[Slug | None] = None


def score_by_values_present(
    original: Microdata,
    frame: Frame,
    released: Microdata,
    schema: Schema,
    knows: tuple[str, ...],
    insiders: Mapping[str, tuple[str, ...]] | None = None,
) -> MembershipScores:
    """Score each target by the columns in which their own exact value occurs, or nearly, more the rarer the value is.

    Meaning: swapping, jitter and reverse mapping move the values of a column to other rows and keep them. In each column alone
    the values of a member then occur in the release, and those of others only by chance: the less often, the rarer they are.
    A little noise afterwards leaves a value that is nearer than chance would have it.

    Formula in words: the sum over the columns of the log-likelihood ratio of `PresenceEvidence`. Its chance of a value that
    occurs is q = 1 - (1 - p)^m in m rows, p the share of it among the other people held by the intruder; a value that none of
    them has counts as k times, k at most 1, by Good and Turing: (2 N2 + 1) / (N1 + 1), N1 and N2 the values of one person and
    of two. Of another value, if n others are held and i of them are nearer than the nearest released value: as of m + n people
    in any order, 1 - (n / (m + n))^(i + 1/2); c / (1 + c) if none is, with c = m / n times the distance of the released value
    over that of the nearest of them. Of numbers that occur it is at least that of half a step of the release's grid. How much
    a column keeps, and how nearly, follows from nobody's membership (`weigh_columns`).
    A missing value says nothing, and categories are near to none. Numbers are compared at the precision that the released
    column shows, texts without regard to blanks, capitals and zeros in front: other formatting hides nobody.

    original: the table of the frame's units; all its people are held by the intruder. knows: published attributes, at least
    one. insiders: what each of some others knows instead.

    Returns log-likelihood ratios without a threshold, of the insiders too. Chance 1/2 for AUC. Raises NotApplicable where
    nothing is known or released. Cost: O((n + m) log n) for each column.
    Source: Homer et al. (2008) for membership by what a release says of each column alone; Good (1953) for unseen values.
    Example: 99 others, no value twice, a release of 50 of the 100 that keeps the column: a member's ln(1 / q) = ln 200.
    """
    check_known(released, knows)
    others = {} if insiders is None else insiders
    columns = dict.fromkeys((*knows, *(name for names in others.values() for name in names)))
    seen = {name: _look_up(original, frame, released, schema, name) for name in columns}

    def score(names: Iterable[str]) -> Floats:
        return weigh_columns([seen[name] for name in names])

    by_insider = tuple((name, score(known)) for name, known in others.items())
    return MembershipScores(score(knows), None, "calibration", by_insider)


def _look_up(original: Microdata, frame: Frame, released: Microdata, schema: Schema, name: str) -> PresenceEvidence:
    own, shown, step = _place_values(original, released, name)
    asked = own[frame.target_rows]
    known, distance = ~np.isnan(asked), _find_distances(asked, shown)
    ordered = not (schema[name].scale in CATEGORICAL or original.is_text(name) or released.is_text(name))
    if not ordered:
        distance, step = np.where(distance == 0, 0.0, np.inf), 0.0
    chance = _compute_chance(own, frame, distance, released.n, step)
    return PresenceEvidence(known & (distance == 0), known, chance, ordered)


def _compute_chance(own: Floats, frame: Frame, distance: Floats, n_released: int, step: float) -> Floats:
    """Shape (t,): how probable it is that a value within so small a distance is released, if the target is not in it.

    own: where the values of all rows lie, shape (n,). distance: of each target, shape (t,); 1 where it is infinite or NaN.
    step: of the grid of the release, within half of which any number would be taken for this one.
    """
    rows, units, finite = frame.target_rows, frame.units, np.isfinite(distance)
    asked, reach = own[rows], np.where(finite, distance, 0.0)
    ranked = np.sort(own[~np.isnan(own)])
    first, last = np.searchsorted(ranked, asked - reach, "left"), np.searchsorted(ranked, asked + reach, "right")
    mine, place = units.rows().find_rows(units.of_row[rows])
    within = np.bincount(place[np.abs(own[mine] - asked[place]) <= reach[place]], minlength=len(rows))
    near = last - first - within
    ends = np.concatenate([[-np.inf], ranked, [np.inf]])
    gap = np.minimum(asked - ends[first], ends[last + 1] - asked)
    others = np.maximum(len(own) - units.rows().sizes[units.of_row[rows]], 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        times = n_released / others * np.nan_to_num(np.maximum(reach, step / 2) / gap)
        there = -np.expm1(n_released * np.log1p(-np.maximum(near, _count_unseen(own, frame)) / others))
    by_order = np.where(near == 0, times / (1 + times), 1 - (others / (n_released + others)) ** (near + 0.5))
    return np.where(finite, np.where(reach == 0, np.maximum(there, by_order * (near == 0)), by_order), 1.0)


def _count_unseen(own: Floats, frame: Frame) -> float:
    """How often a value counts that nobody else has, by how many values one person has, and two."""
    known = ~np.isnan(own)
    values, unit = np.unique(own[known], return_inverse=True)[1], frame.units.of_row[known]
    of_pair = np.unique(joint_codes([unit, values], len(values)), return_index=True)[1]
    people = np.bincount(values[of_pair], minlength=1)
    return min(1.0, (2 * int((people == 2).sum()) + 1) / (int((people == 1).sum()) + 1))


def _find_distances(asked: Floats, shown: Floats) -> Floats:
    """Shape (t,): how far the nearest released value is; infinite where there is none, NaN where the own is missing."""
    ends = np.concatenate([[-np.inf], np.unique(shown[~np.isnan(shown)]), [np.inf]])
    place = np.searchsorted(ends, asked)
    place = np.clip(place, 1, len(ends) - 1)
    distances: Floats = np.minimum(asked - ends[place - 1], ends[place] - asked)
    return distances


def _place_values(original: Microdata, released: Microdata, name: str) -> tuple[Floats, Floats, float]:
    """Where the values of both tables lie, NaN where they are missing, and the step of their grid; texts lie in no order."""
    if not original.is_text(name) and not released.is_text(name):
        own, shown = original.floats(name), released.floats(name)
        grid = _find_grid(shown)
        return (own, shown, 0.0) if grid is None else (round_to_grid(own, grid), round_to_grid(shown, grid), grid_step(grid))
    codes = encode_jointly(normalise_values(original.column(name)), normalise_values(released.column(name)))
    own, shown = (np.where(one < 0, np.nan, one) for one in codes)
    return own, shown, 0.0


def _find_grid(values: Floats) -> PrecisionGrid | None:
    """The coarsest decimal grid on which all released numbers lie; None: they have more digits than a decimal grid holds."""
    present = values[~np.isnan(values)]
    return next((grid for grid in _GRIDS if np.array_equal(round_to_grid(present, grid), present)), None)
