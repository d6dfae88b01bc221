"""Values present: whoever finds their own exact values in the columns of the release was among the originals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from scipy.special import expit

from tasks.attack.membership.closest_record import check_known
from tasks.attack.membership.frame import Frame
from tasks.attack.membership.scored import MembershipScores
from tasks.mask.control import normalise_values
from tasks.mask.precision import MOST_DECIMALS, PrecisionGrid, round_to_grid
from tasks.microdata.spec import Public, Slug, Spec
from tasks.microdata.table import Booleans, Floats, Integers, Microdata, encode_jointly

PRIOR = 0.5  # as many members as others are asked about
LEAST_KEPT = 0.01  # of a column's values, to begin with
ROUNDS, ENOUGH = 100, 1e-6  # of the search for the likeliest kept shares
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
    knows: tuple[str, ...],
    insiders: Mapping[str, tuple[str, ...]] | None = None,
) -> MembershipScores:
    """Score each target by the columns in which their own exact value occurs, more the rarer the value is.

    Meaning: swapping, jitter and reverse mapping move the values of a column to other rows and keep them. In each column alone
    the values of a member then occur in the release, and those of others only by chance: the less often, the rarer they are.

    Formula in words: the sum over the columns of the log-likelihood ratio of what is seen, as if columns were independent:
    ln(1 - a + a / q) where the value occurs, ln(1 - a) where it does not. q: the probability that it occurs without this
    person, 1 - (1 - p)^m in m rows, p the share of the value among the other people whom the intruder holds. A value that none
    of them has counts as k times, k at most 1, by Good and Turing: (2 N2 + 1) / (N1 + 1), N1 and N2 the values of one person
    and of two. a: how much of the column's values the release keeps, by maximum likelihood if half of those who are asked about
    are members. Both take nothing from who is one.
    A missing value says nothing. Numbers are compared at the precision that the released column shows, texts without regard to
    blanks, capitals and zeros in front, so that other formatting hides nobody.

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
    seen = {name: _look_up(original, frame, released, name) for name in columns}

    def score(names: Iterable[str]) -> Floats:
        return _weigh_columns([seen[name] for name in names])

    by_insider = tuple((name, score(known)) for name, known in others.items())
    return MembershipScores(score(knows), None, "calibration", by_insider)


@dataclass(frozen=True, slots=True)
class _Column:
    """Of each target, shape (t,): does their value occur, does it say anything, and how probably does it occur without them?"""

    occurs: Booleans
    known: Booleans
    chance: Floats

    def compare_likelihoods(self, kept: float) -> Floats:
        ratios = np.where(self.occurs, np.log(1 - kept + kept / self.chance), np.log1p(-kept))
        return np.where(self.known, ratios, 0.0)

    def guess_kept_share(self) -> float:
        """The share of the values that the release keeps, by how many occur; a little where they occur by chance alone."""
        if not self.known.any():
            return 0.0
        by_chance = min(float(self.chance[self.known].mean()), 1 - LEAST_KEPT)
        kept = (float(self.occurs[self.known].mean()) - by_chance) / (PRIOR * (1 - by_chance))
        return min(max(kept, LEAST_KEPT), self._most)

    def update_kept_share(self, kept: float, member: Floats) -> float:
        """The same by which of the occurring values are kept ones, most probably. member: how probably each target is one."""
        weight = member * self.known
        if weight.sum() == 0:
            return kept
        by_keeping = np.where(self.occurs, kept / (kept + (1 - kept) * self.chance), 0.0)
        return min(float(weight @ by_keeping / weight.sum()), self._most)

    @property
    def _most(self) -> float:
        """Never quite 1: one value more may have been changed."""
        return 1 - 1 / (2 * int(self.known.sum()))


def _weigh_columns(columns: list[_Column]) -> Floats:
    """Shape (t,): the log-likelihood ratio of what all columns show of each target, with the likeliest kept shares (EM)."""
    kept = [column.guess_kept_share() for column in columns]
    for _ in range(ROUNDS):
        ratio = _add_up(columns, kept)
        better = [column.update_kept_share(share, expit(ratio)) for column, share in zip(columns, kept, strict=True)]
        changed = max(abs(one - other) for one, other in zip(kept, better, strict=True))
        kept = better
        if changed < ENOUGH:
            break
    return _add_up(columns, kept)


def _add_up(columns: list[_Column], kept: list[float]) -> Floats:
    total: Floats = np.sum([column.compare_likelihoods(share) for column, share in zip(columns, kept, strict=True)], axis=0)
    return total


def _look_up(original: Microdata, frame: Frame, released: Microdata, name: str) -> _Column:
    own, shown = _encode_values(original.column(name), released.column(name))
    chance = _compute_chance(own, frame.units.of_row, released.n)
    rows = frame.target_rows
    return _Column(np.isin(own[rows], shown), own[rows] >= 0, chance[rows])


def _compute_chance(codes: Integers, unit: Integers, n_released: int) -> Floats:
    """Shape (n,): how probable it is that the value of a row occurs in the release, if its person is not in it.

    codes: the value of each row, missing -1. unit: the person of each row.
    """
    values = np.where(codes < 0, codes.max(initial=-1) + 1, codes)
    held, own, times = np.unique(np.column_stack([unit, values]), axis=0, return_inverse=True, return_counts=True)
    people_with = np.bincount(held[held[:, 1] <= codes.max(initial=-1), 1], minlength=1)
    unseen = min(1.0, (2 * int((people_with == 2).sum()) + 1) / (int((people_with == 1).sum()) + 1))
    others_with = np.bincount(values)[values] - times[own.ravel()]
    others = np.maximum(len(codes) - np.bincount(unit)[unit], 1)
    share = np.minimum(np.maximum(others_with, unseen) / others, 1.0)
    with np.errstate(divide="ignore"):
        chance: Floats = -np.expm1(n_released * np.log1p(-share))
    return chance


def _encode_values(own: pa.Array, shown: pa.Array) -> tuple[Integers, Integers]:
    """Equal codes for equal values, missing -1."""
    if all(pa.types.is_floating(column.type) or pa.types.is_integer(column.type) for column in (own, shown)):
        numbers = [np.array(column.to_numpy(zero_copy_only=False), dtype=np.float64) for column in (own, shown)]
        grid = _find_grid(numbers[1])
        own, shown = (pa.array(_round(column, grid), from_pandas=True) for column in numbers)
    else:
        own, shown = normalise_values(own), normalise_values(shown)
    mine, theirs = encode_jointly(own, shown)
    return mine, theirs


def _round(values: Floats, grid: PrecisionGrid | None) -> Floats:
    return values if grid is None else round_to_grid(values, grid)


def _find_grid(values: Floats) -> PrecisionGrid | None:
    """The coarsest decimal grid on which all released numbers lie; None: they have more digits than a decimal grid holds."""
    present = values[~np.isnan(values)]
    return next((grid for grid in _GRIDS if np.array_equal(round_to_grid(present, grid), present)), None)
