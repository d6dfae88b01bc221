"""What the values of columns, each by itself, say of who is a member, where nobody is known to be one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import expit

from tasks.microdata.table import Booleans, Floats

LEAST_KEPT = 0.01  # of a column's values, to begin with
LEAST_NEARNESS, MOST_NEARNESS = 1.0, 200.0
ROUNDS, ENOUGH = 100, 1e-5  # of the search for the likeliest laws


@dataclass(frozen=True, slots=True)
class ColumnLaw:
    """How a column shows the values of members.

    kept: the share of them that it shows unchanged. nearness: how much nearer than anybody's value is what it shows of the
    others; 0: not at all. Their `chance` then has a density proportional to exp(-nearness * chance) from 0 to 1.
    """

    kept: float
    nearness: float

    @property
    def log_scale(self) -> float:
        """The logarithm of the factor by which that density has the integral 1."""
        return 0.0 if self.nearness == 0 else float(np.log(self.nearness / -np.expm1(-self.nearness)))


@dataclass(frozen=True, slots=True)
class PresenceEvidence:
    """Of each target, shape (t,): does their value occur, and does it say anything at all?

    chance: how probable it is that a value as near to theirs as the nearest released one is there without them, above 0.
    ordered: can a value be near to another?
    """

    occurs: Booleans
    known: Booleans
    chance: Floats
    ordered: bool

    def compare_likelihoods(self, law: ColumnLaw) -> Floats:
        """The log-likelihood ratio of a member and of somebody else, 0 where nothing is known.

        Of a value that occurs ln(1 - a + a / chance), a the kept share; of another ln(1 - a) and that of the law of nearness,
        against a chance that is uniform, as it is of people who are not in the release.
        """
        there = np.log(1 - law.kept + law.kept / self.chance)
        near = np.log1p(-law.kept) + law.log_scale - law.nearness * self.chance
        return np.where(self.known, np.where(self.occurs, there, near), 0.0)

    def guess_law(self) -> ColumnLaw:
        """Where the search begins: as much is kept as occurs."""
        n = int(self.known.sum())
        if n == 0:
            return ColumnLaw(0.0, 0.0)
        kept = float(self.occurs[self.known].mean())
        return ColumnLaw(min(max(kept, LEAST_KEPT), 1 - 1 / (2 * n)), LEAST_NEARNESS if self.ordered else 0.0)

    def update_law(self, law: ColumnLaw, member: Floats) -> ColumnLaw:
        """The law that makes the values likeliest. member: how probably each target is one; of one value more the share that is
        kept is never sure.
        """
        weight = member * self.known
        if weight.sum() == 0:
            return law
        by_keeping = np.where(self.occurs, law.kept / (law.kept + (1 - law.kept) * self.chance), 0.0)
        kept = min(float(weight @ by_keeping / weight.sum()), 1 - 1 / (2 * int(self.known.sum())))
        moved = weight * ~self.occurs
        if not self.ordered or moved.sum() == 0:
            return ColumnLaw(kept, law.nearness)
        return ColumnLaw(kept, find_nearness(float(moved @ self.chance / moved.sum())))


def find_nearness(mean: float) -> float:
    """The nearness b, from 1 to 200, at which the chance is so large on average: 1 / b - 1 / (e^b - 1).

    Example: 1/2 or more: 1. Near values speak for a member a little even where chance alone is not quite uniform.
    """
    if mean >= _mean_chance(LEAST_NEARNESS):
        return LEAST_NEARNESS
    if mean <= _mean_chance(MOST_NEARNESS):
        return MOST_NEARNESS
    return float(scipy.optimize.brentq(lambda nearness: _mean_chance(nearness) - mean, LEAST_NEARNESS, MOST_NEARNESS))


def _mean_chance(nearness: float) -> float:
    return float(1 / nearness - 1 / np.expm1(nearness))


def weigh_columns(columns: list[PresenceEvidence]) -> Floats:
    """Shape (t,): the log-likelihood ratio of what all columns show of each target, as if they were independent.

    The laws are those of maximum likelihood, found by turns with who is a member (EM), of whom nothing is known but that half
    of the targets are. Cost: O(t) for each column in each of at most 100 rounds.
    Source: Dempster, Laird and Rubin (1977).
    """
    laws = [column.guess_law() for column in columns]
    for _ in range(ROUNDS):
        member = expit(_add_up(columns, laws))
        better = [column.update_law(law, member) for column, law in zip(columns, laws, strict=True)]
        changed = max(
            max(abs(one.kept - other.kept), abs(one.nearness - other.nearness)) for one, other in zip(laws, better, strict=True)
        )
        laws = better
        if changed < ENOUGH:
            break
    return _add_up(columns, laws)


def _add_up(columns: list[PresenceEvidence], laws: list[ColumnLaw]) -> Floats:
    total: Floats = np.sum([column.compare_likelihoods(law) for column, law in zip(columns, laws, strict=True)], axis=0)
    return total
