"""Probabilistic linkage of all records together, in files too large for a matrix of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tasks.attack.linkage.assignment import list_assigned_classes
from tasks.attack.outcomes.links import Links
from tasks.attack.probabilistic.levels import PatternComparison
from tasks.attack.probabilistic.patterns import Rules, compute_block_patterns, compute_pattern_numbers, create_rules
from tasks.attack.probabilistic.similar import Alike
from tasks.microdata.table import Floats, Integers

_PAIRS_AT_A_TIME = 1 << 22


@dataclass(frozen=True, slots=True)
class PatternCosts:
    """What it costs to give a distinct record a distinct row: by how much the weight of their pattern is below the highest.

    rules: what is compared. cost_of: numbers of patterns -> costs, >= 0. alike: which texts are, as the rules list them.
    """

    rules: Rules
    cost_of: Callable[[Integers], Floats]
    alike: Alike

    @property
    def queries(self) -> Floats:
        return self.rules.own.T

    @property
    def searched(self) -> Floats:
        return self.rules.shown.T

    def matrix(self, some: Integers) -> Floats:
        """The costs of some distinct records with all rows."""
        mine = self.rules._replace(own=np.ascontiguousarray(self.rules.own[:, some]))
        return self.cost_of(compute_block_patterns(mine, 0, len(some)))

    def apart(self, queries: Integers, searched: Integers) -> Floats:
        """The costs of some pairs, one by one."""
        return self.cost_of(compute_pattern_numbers(self.rules, queries, searched))

    def few_nearest(self, k: int, some: Integers | None = None, price: Floats | None = None) -> tuple[Integers, Floats, Floats]:
        """As `Search.few_nearest`: k rows of least cost less price, their costs, and the least of all others."""
        queries = np.arange(self.rules.own.shape[1]) if some is None else some
        rows = self.rules.shown.shape[1]
        k, blocks = min(k, rows), max(-(-len(queries) * rows // _PAIRS_AT_A_TIME), 1)
        parts = [self._least(block, k, 0.0 if price is None else price) for block in np.array_split(queries, blocks)]
        near, apart, low = (np.concatenate([part[side] for part in parts]) for side in range(3))
        return near.astype(np.int64), apart, low

    def swap_sides(self) -> Self:
        """The same costs, seen from the other file."""
        rules, other = self.rules, self.alike.swap_sides()
        rules = rules._replace(own=rules.shown, shown=rules.own, first=other.first, starts=other.starts, alike=other.shown)
        return replace(self, rules=rules, alike=other)

    def _least(self, some: Integers, k: int, price: Floats | float) -> tuple[Integers, Floats, Floats]:
        costs = self.matrix(some)
        left = costs - price
        order = np.argpartition(left, min(k, left.shape[1] - 1), axis=1)
        near = order[:, :k]
        low = np.take_along_axis(left, order[:, k : k + 1], axis=1)[:, 0] if k < left.shape[1] else np.full(len(some), np.inf)
        return near, np.take_along_axis(costs, near, axis=1), low


def assign_by_patterns(both: PatternComparison, cost_of: Callable[[Integers], Floats], *, full: int = 0) -> Links:
    """The links of an assignment of least cost, as `solve_assignment` finds it: exact over all pairs.

    Several may cost the same: then it is one of them, the same whatever the order of either file.
    full: up to so many records scipy's solver over all pairs says which. Cost: some passes over all pairs.
    """
    starts, classes = list_assigned_classes(
        PatternCosts(create_rules(both), cost_of, both.alike), both.own_of_record, both.shown_of_row, full=full
    )
    return Links(both.shown_of_row, both.own_of_record, starts, classes)
