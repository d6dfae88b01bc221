"""Result-driven privacy: which declared association rules can still be concluded from the release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.microdata.errors import NotApplicable
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.score.declared_rules import ResultsHidden, Rule, check_rules, find_meeting_rows
from tasks.score.measure import Measure
from tasks.score.measures.disclosure import (
    RESULTS_HIDDEN,
    RULE_CONFIDENCE,
    RULE_CONFIDENCE_ORIGINAL,
    RULE_SUPPORT,
    RULE_SUPPORT_ORIGINAL,
)
from tasks.score.table_pair import RowwiseTablePair, TablePair

ROUNDING_ERROR = 1e-9  # of a count of rows: 0.8 of 10 rows are 8
NOBODY = "no row meets the conditions of the rule"


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
        enough = self.both >= support * self.n - ROUNDING_ERROR
        return self.both > 0 and enough and self.both >= confidence * self.antecedent - ROUNDING_ERROR


def count_rule(table: Microdata, source: Microdata, schema: Schema, rule: Rule) -> RuleCounts:
    """Count the rows of a table that meet a rule. source: in whose values the rule is written.

    Raises NotApplicable where the table does not show the values that the rule is about. Cost: O(n) for each condition.
    """
    antecedent = find_meeting_rows(table, source, schema, rule.antecedent)
    both = antecedent & find_meeting_rows(table, source, schema, rule.consequent)
    return RuleCounts(table.n, int(np.count_nonzero(antecedent)), int(np.count_nonzero(both)))


def results_hidden(tables: TablePair, spec: ResultsHidden) -> tuple[Estimate, ...]:
    """Share of the declared rules that can be concluded from the release; beside it support and confidence of each rule.

    Meaning: somebody who looks for association rules in the release finds those of at least the stated support and confidence.
    Formula in words: with m released rows, a of which meet `if` and b of these `then`, support is b / m and confidence b / a.
    The figure is the number of rules that reach both, over the number of declared rules. The same counts over all n records of
    the source stand beside it, for the steward alone.

    Rows count, each once: without survey weights, and several rows of one person as several. A missing value meets no
    condition. Values are compared as the release shows them: a rule about a category that a mask joined with another cannot be
    concluded as it is declared, though a coarser one may.
    Returns five estimates or more, unit `share` in [0, 1], exact: nothing is sampled, and there is no chance level. Confidence
    is not applicable where no row meets `if`; the share is where the release shows an attribute of a rule as another kind.
    Raises InputError for rules that name what the source does not have (`check_rules`).
    Cost: O(n) for each condition. Source: Torra (2026), result-driven privacy; Agrawal, Imielinski and Swami (1993).

    Example: of ten rows four meet `if` and three of these `then`: support 0.3, confidence 0.75.
    """
    source = tables.all_records if isinstance(tables, RowwiseTablePair) else tables.original
    check_rules(spec, source, tables.schema)
    before = [count_rule(source, source, tables.schema, rule) for rule in spec.rules]
    given = (("rules", float(len(spec.rules))), ("support", spec.support), ("confidence", spec.confidence))
    try:
        after = [count_rule(tables.masked, source, tables.schema, rule) for rule in spec.rules]
    except NotApplicable as answer:
        return (_create_estimate(RESULTS_HIDDEN, None, given, answer.reason), *_estimate_originals(before))
    concluded = sum(one.can_be_concluded(spec.support, spec.confidence) for one in after)
    return (
        _create_estimate(RESULTS_HIDDEN, concluded / len(spec.rules), given),
        *(_create_estimate(RULE_SUPPORT, one.support, _number(i)) for i, one in enumerate(after)),
        *(_create_estimate(RULE_CONFIDENCE, one.confidence, _number(i), NOBODY) for i, one in enumerate(after)),
        *_estimate_originals(before),
    )


def _estimate_originals(counts: list[RuleCounts]) -> tuple[Estimate, ...]:
    return (
        *(_create_estimate(RULE_SUPPORT_ORIGINAL, one.support, _number(i)) for i, one in enumerate(counts)),
        *(_create_estimate(RULE_CONFIDENCE_ORIGINAL, one.confidence, _number(i), NOBODY) for i, one in enumerate(counts)),
    )


def _number(i: int) -> tuple[tuple[str, float], ...]:
    """Which rule a figure is about: its place in the release file, from 1."""
    return (("rule", float(i + 1)),)


def _create_estimate(
    measure: Measure, value: float | None, parameters: tuple[tuple[str, float], ...], reason: str | None = None
) -> Estimate:
    return Estimate(
        measure=measure.name,
        parameters=parameters,
        value=value,
        low=value,
        high=value,
        unit=measure.unit,
        status="ok" if value is not None else "not_applicable",
        reason=None if value is not None else reason,
    )
