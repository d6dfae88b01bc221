"""Support and confidence of an association rule in one table, and whether they are enough to conclude it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.microdata.schema import Schema
from tasks.microdata.table import Booleans, Integers, Microdata
from tasks.score.declared_rules import Rule, find_meeting_rows

ROUNDING_ERROR = 1e-9  # of a count of rows: 0.8 of 10 rows are 8


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """A rule in one table of n rows: how many meet `if`, and how many of these `then`."""

    n: int
    antecedent: int
    both: int

    @property
    def support(self) -> float:
        """Share of all rows that meet both sides."""
        return self.both / self.n if self.n else 0.0

    @property
    def confidence(self) -> float | None:
        """Share of the rows that meet `if` that meet `then` as well; None: no row meets `if`."""
        return self.both / self.antecedent if self.antecedent else None

    def can_be_concluded(self, support: float, confidence: float) -> bool:
        """Does the rule reach both? Equal reaches, also where the last bits of a product differ."""
        return bool(reach_limits(self.n, np.asarray(self.antecedent), np.asarray(self.both), support, confidence))


def reach_limits(n: int, antecedent: Integers, both: Integers, support: float, confidence: float) -> Booleans:
    """Which of many rules in one table of n rows can be concluded (`RuleCounts.can_be_concluded`).

    antecedent, both: counts of rows, of shapes that broadcast to that of the answer.
    """
    enough = (both > 0) & (both >= support * n - ROUNDING_ERROR)
    return np.asarray(enough & (both >= confidence * antecedent - ROUNDING_ERROR), dtype=bool)


def count_rule(table: Microdata, source: Microdata, schema: Schema, rule: Rule) -> RuleCounts:
    """Count the rows of a table that meet a rule. source: in whose values the rule is written.

    Raises NotApplicable where the table does not show the values that the rule is about. Cost: O(n) for each condition.
    """
    antecedent = find_meeting_rows(table, source, schema, rule.antecedent)
    both = antecedent & find_meeting_rows(table, source, schema, rule.consequent)
    return RuleCounts(table.n, int(np.count_nonzero(antecedent)), int(np.count_nonzero(both)))
