"""Compute the data of charts from tables. They are part of the content, so that the page can be rebuilt from it alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tasks.attack.outcomes.belief import TruthMasses, compute_masses
from tasks.microdata.alignment import NoAlignment, RowAlignment
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.report.charts.candidates import Candidates, candidates
from tasks.report.charts.distributions import DistributionChart, compute_distribution
from tasks.report.charts.editions import RULES, DrawingRule, Edition
from tasks.report.charts.precision import PrecisionCoverage, compute_precision_coverage
from tasks.report.charts.relations import Relations, compare_relations
from tasks.report.charts.reliability import ReliabilityCurve, create_reliability_curve
from tasks.report.charts.roc_chart import RocChart


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartData:
    """What was computed from tables, as far as `edition` may show it; the other charts are drawn from the estimates."""

    edition: Edition
    distributions: tuple[DistributionChart, ...] = ()
    relations: Relations = field(default_factory=Relations)
    candidates: tuple[Candidates, ...] = ()
    precision: tuple[PrecisionCoverage, ...] = ()
    reliability: tuple[ReliabilityCurve, ...] = ()
    masses: dict[str, tuple[TruthMasses, ...]] = field(default_factory=dict)
    masses_of_others: dict[str, dict[str, tuple[TruthMasses, ...]]] = field(default_factory=dict)
    membership: tuple[RocChart, ...] = ()


def chart_data(
    original: Microdata,
    masked: Microdata,
    alignment: RowAlignment,
    schema: Schema,
    touched: frozenset[str],
    outcomes: dict[str, Microdata],
    edition: Edition,
    outcomes_of_others: dict[str, dict[str, Microdata]] | None = None,
) -> ChartData:
    """The data of one edition.

    original: the whole source. masked: row for row original.take(alignment.record), or rows of nobody, of which the
    distributions and relations alone are drawn. touched: the attributes that a mask named.
    outcomes: by attack, those of the declared intruder. outcomes_of_others: by attack and then by intruder.
    Where a person has several rows, a bar needs as many times more: enough persons stand behind it, whoever's rows it holds.
    """
    rule = create_chart_rule(original, schema, edition)
    shown = (one for one in schema.attributes if one.is_published and one.name in touched)
    if isinstance(alignment, NoAlignment):
        marginals = tuple(compute_distribution(original, masked, one, rule) for one in shown)
        return ChartData(
            edition=edition, distributions=marginals, relations=compare_relations(original, masked, schema, touched, rule)
        )
    single = count_most_rows_of_a_person(original, schema) == 1
    same_records = original if alignment.complete else original.take(np.asarray(alignment.record))
    return ChartData(
        edition=edition,
        distributions=tuple(compute_distribution(original, masked, one, rule) for one in shown),
        relations=compare_relations(same_records, masked, schema, touched, rule),
        candidates=tuple(candidates(attack, table, rule) for attack, table in outcomes.items()),
        precision=tuple(compute_precision_coverage(attack, table, rule) for attack, table in outcomes.items()),
        masses={} if edition == "public" else _compute_all_masses(outcomes, one_row_each=single),
        masses_of_others={}
        if edition == "public"
        else {attack: _compute_all_masses(each, one_row_each=single) for attack, each in (outcomes_of_others or {}).items()},
        reliability=tuple(
            create_reliability_curve(attack, table, rule) for attack, table in outcomes.items() if "claimed" in table.names
        ),
    )


def _compute_all_masses(outcomes: dict[str, Microdata], *, one_row_each: bool) -> dict[str, tuple[TruthMasses, ...]]:
    return {name: compute_masses(table, one_row_each=one_row_each) for name, table in outcomes.items()}


def create_chart_rule(original: Microdata, schema: Schema, edition: Edition) -> DrawingRule:
    """How finely an edition is drawn where a person may have several rows."""
    return replace(RULES[edition], least=RULES[edition].least * count_most_rows_of_a_person(original, schema))


def count_most_rows_of_a_person(original: Microdata, schema: Schema) -> int:
    """How many rows the person with most rows has; 1 where the table has no person key."""
    return int(np.bincount(find_units(original, schema).of_row, minlength=1).max()) or 1
