"""Result-driven privacy: which association rules, declared or found, can still be concluded from the release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.score.declared_rules import ResultsHidden, check_rules
from tasks.score.found_rules import check_search, find_rules, format_rule
from tasks.score.measure import Measure
from tasks.score.measures.disclosure import (
    RESULTS_HIDDEN,
    RULE_CONFIDENCE,
    RULE_CONFIDENCE_ORIGINAL,
    RULE_SUPPORT,
    RULE_SUPPORT_ORIGINAL,
)
from tasks.score.rule_counts import count_rule
from tasks.score.table_pair import RowwiseTablePair, TablePair

NOBODY = "no row meets the conditions of the rule"
NOT_FOUND = "the original has no further rule that is asked for"
TEXTS = "the release shows as text what the rules that were found have intervals of"


def check_hidden_results(measures: Iterable[object], source: Microdata, schema: Schema) -> None:
    """Refuse an entry of `measures` whose rules do not fit the source; InputError where there are several entries.

    Raises InputError as `check_rules` does of declared rules, and `check_search` of rules that are to be found.
    """
    entries = [(i, one) for i, one in enumerate(measures) if isinstance(one, ResultsHidden)]
    for i, _ in entries[1:]:
        what, allowed = "the rules of a release stand in one entry, so that a policy line is about all of them", "one entry"
        raise InputError("rules-twice", f"measures[{i}]", what, allowed, "write all rules into the first entry")
    for i, one in entries:
        check_rules(one, source, schema, f"measures[{i}]")
        if one.find is not None:
            check_search(one.find, source, schema, f"measures[{i}].find")


def results_hidden(tables: TablePair, spec: ResultsHidden) -> tuple[Estimate, ...]:
    """Share of the rules that can be concluded from the release; beside it support and confidence of each rule.

    Meaning: somebody who looks for association rules in the release finds those of at least the stated support and confidence.
    Formula in words: with m released rows, a of which meet `if` and b of these `then`, support is b / m and confidence b / a.
    The figure is the number of rules that reach both, over the number of declared rules, or over the
    stated most rules that are to be found: how many were found would tell of the original. The same counts over all n
    records of the source stand beside it, for the steward alone.

    Rows count, each once: without survey weights, and several rows of one person as several. A missing value meets no
    condition. Values are compared as the release shows them: a rule about a category that a mask joined with another cannot be
    concluded as it is declared, though a coarser one may.
    Returns five estimates or more, unit `share` in [0, 1], exact: nothing is sampled, and there is no chance level. Confidence
    is not applicable where no row meets `if`; the share is where the release shows an attribute of a rule as another kind.
    Raises InputError for rules that name what the source does not have (`check_rules`), and for a search that does not fit it
    (`check_search`). Cost: O(n) for each condition, and the search (`find_rules`).
    Source: Torra (2026), result-driven privacy; Agrawal, Imielinski and Swami (1993).

    Example: of ten rows four meet `if` and three of these `then`: support 0.3, confidence 0.75.
    """
    source = tables.all_records if isinstance(tables, RowwiseTablePair) else tables.original
    if spec.find is None:
        check_rules(spec, source, tables.schema)
        rules, unused = spec.rules or (), 0
        told: tuple[str, ...] = ()
        given = (("rules", float(len(rules))), *_list_limits(spec))
    else:
        rules = find_rules(source, tables.schema, spec.find)
        unused, told = spec.find.rules_at_most - len(rules), tuple(format_rule(one) for one in rules)
        given = (("rules_at_most", float(spec.find.rules_at_most)), *_list_limits(spec))
    originals = [count_rule(source, source, tables.schema, rule) for rule in rules]
    before = (
        *_estimate(RULE_SUPPORT_ORIGINAL, [one.support for one in originals], unused, told),
        *_estimate(RULE_CONFIDENCE_ORIGINAL, [one.confidence for one in originals], unused),
    )
    try:
        after = [count_rule(tables.masked, source, tables.schema, rule) for rule in rules]
    except NotApplicable as answer:
        return (_create_estimate(RESULTS_HIDDEN, None, given, answer.reason if spec.find is None else TEXTS), *before)
    concluded = sum(one.can_be_concluded(spec.support, spec.confidence) for one in after)
    return (
        _create_estimate(RESULTS_HIDDEN, concluded / spec.most_rules, given),
        *_estimate(RULE_SUPPORT, [one.support for one in after], unused),
        *_estimate(RULE_CONFIDENCE, [one.confidence for one in after], unused),
        *before,
    )


def _list_limits(spec: ResultsHidden) -> tuple[tuple[str, float], ...]:
    return ("support", spec.support), ("confidence", spec.confidence)


def _estimate(measure: Measure, values: Sequence[float | None], unused: int, told: tuple[str, ...] = ()) -> Iterator[Estimate]:
    """One figure for each rule, and one without a value for each that was not found.

    The public edition withholds all alike, in one order, so that nobody can count those that were found.
    told: each rule in words, of those that no file declares; it stands with its support, which no public edition shows.
    """
    for i, value in enumerate(values):
        figure = _create_estimate(measure, value, _number(i), NOBODY)
        yield replace(figure, reason=told[i]) if told else figure
    for i in range(len(values), len(values) + unused):
        yield _create_estimate(measure, None, _number(i), NOT_FOUND)


def _number(i: int) -> tuple[tuple[str, float], ...]:
    """Which rule a figure is about: its place in the release file, or among those found, the strongest first; from 1."""
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
