"""Rules that are found: twelve rows by hand, a slow twin, what a mask destroys and keeps, and wrong searches (3 s)."""

from __future__ import annotations

import datetime
import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score import found_rules
from tasks.score.declared_rules import ResultsHidden, RuleSearch
from tasks.score.figure_rounding import round_for_publication
from tasks.score.found_rules import check_search, find_rules, format_rule
from tasks.score.hidden_results import check_hidden_results, results_hidden
from tasks.score.rule_counts import count_rule
from tasks.score.table_pair import TablePair


def described(name, role=Role.QUASI_IDENTIFIER, scale=Scale.NOMINAL, order=None):
    return Attribute(name, role, scale, "declared", order=order)


VOTE = described("vote", Role.CONFIDENTIAL)
SCHEMA = Schema((described("town"), described("age", scale=Scale.NUMERIC), VOTE))
TWELVE = {
    "town": list("aaaabbbbcccc"),
    "age": [20, 30, 40, 50, 21, 31, 41, 51, 22, 32, 42, 52],
    "vote": list("xxxxxyyyxyyy"),
}
# The quartiles of age (its 3rd, 6th and 9th value) are 22, 32 and 42, so that the four parts have three rows each:
# up to 22: x x x; 30 to 32: x y y; 40 to 42: x y y; from 50: x y y. Six of the twelve vote x, and six y.
# town a: 4 of 4 x. Town b: 3 of 4 y; town c: 3 of 4 y.
BY_HAND = [  # at support 2/12 and confidence 2/3, the strongest first
    ("town = a -> vote = x", 4, 4),
    ("age <= 22 -> vote = x", 3, 3),
    ("town = b -> vote = y", 4, 3),
    ("town = c -> vote = y", 4, 3),
    ("age from 30 to 32 -> vote = y", 3, 2),
    ("age from 40 to 42 -> vote = y", 3, 2),
    ("age >= 50 -> vote = y", 3, 2),
]


def search(**change):
    given = {"min_support": 2 / 12, "min_confidence": 2 / 3, "items_at_most": 2, **change}
    return RuleSearch.model_validate_json(json.dumps(given))


def asked(entry=None, **change):
    return ResultsHidden.model_validate_json(json.dumps({"find": search(**change).model_dump(), **(entry or {})}))


def test_twelve_rows_by_hand():
    table = Microdata.from_columns(TWELVE)
    rules = find_rules(table, SCHEMA, search())
    counts = [count_rule(table, table, SCHEMA, rule) for rule in rules]
    assert [(format_rule(rule), one.antecedent, one.both) for rule, one in zip(rules, counts, strict=True)] == BY_HAND
    strongest = find_rules(table, SCHEMA, search(rules_at_most=3))
    assert strongest == rules[:3]
    # two conditions: each town and part of age is one row, and 1/12 is enough
    pairs = find_rules(table, SCHEMA, search(min_support=1 / 12, min_confidence=1.0, items_at_most=3, rules_at_most=1000))
    assert len([one for one in pairs if len(one.antecedent) == 2]) == 12
    assert [format_rule(one) for one in pairs[:2]] == [text for text, *_ in BY_HAND[:2]]


CELLS = st.one_of(st.none(), st.integers(0, 3))
ROWS = st.lists(st.tuples(CELLS, CELLS, st.integers(0, 20), CELLS, CELLS), min_size=1, max_size=30)
RANDOM = Schema(
    (
        described("p"), described("q"), described("z", scale=Scale.NUMERIC),
        described("s", Role.CONFIDENTIAL), described("t", Role.CONFIDENTIAL),
    )
)  # fmt: skip


def cut(values):
    """The slow twin of the cuts: a value belongs to the first of three quartiles that it is not above."""
    ordered = sorted(values)
    cuts = sorted({ordered[-(-len(ordered) * part // 4) - 1] for part in (1, 2, 3)})
    return [next((i for i, end in enumerate(cuts) if value <= end), len(cuts)) for value in values]


def find_slowly(rows, support, confidence, most):
    """All rules as (confidence, rows of both sides, number of conditions), the strongest first."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    columns[2] = cut(columns[2])
    found = []
    for size in range(1, most):
        for chosen in itertools.combinations(range(3), size):
            for wanted in itertools.product(*({*columns[i]} - {None} for i in chosen)):
                meets = [k for k in range(len(rows)) if all(columns[i][k] == v for i, v in zip(chosen, wanted, strict=True))]
                if any(sum(one == v for one in columns[i]) == len(rows) for i, v in zip(chosen, wanted, strict=True)):
                    continue  # everybody meets it
                for secret in (3, 4):
                    for value in {*columns[secret]} - {None}:
                        both = sum(columns[secret][k] == value for k in meets)
                        own = Fraction(columns[secret].count(value), len(rows))
                        strong = both and both >= support * len(rows) and both >= confidence * len(meets)
                        if strong and Fraction(both, len(meets)) > own:
                            found.append((Fraction(both, len(meets)), both, size))
    return sorted(found, key=lambda one: (-one[0], -one[1], one[2]))


@given(ROWS, st.sampled_from([0.0625, 0.125, 0.25]), st.sampled_from([0.25, 0.5, 0.75, 1.0]), st.sampled_from([2, 3, 4]))
def test_the_rules_are_those_of_a_slow_search_and_each_reaches_its_limits(rows, support, confidence, most):
    table = Microdata.from_columns(dict(zip("pqzst", (list(one) for one in zip(*rows, strict=True)), strict=True)))
    wanted = search(min_support=support, min_confidence=confidence, items_at_most=most, rules_at_most=1000)
    rules = find_rules(table, RANDOM, wanted)
    counts = [count_rule(table, table, RANDOM, rule) for rule in rules]
    assert all(one.can_be_concluded(support, confidence) for one in counts)
    assert len(set(rules)) == len(rules)
    ours = [(Fraction(c.both, c.antecedent), c.both, len(r.antecedent)) for c, r in zip(counts, rules, strict=True)]
    assert ours == find_slowly(rows, support, confidence, most)[:1000]


def test_no_rule_where_nothing_depends():
    rows = [*itertools.product("ab", [1, 2, 3, 4], "xxxy")]  # three of four vote x, in each cell
    table = Microdata.from_columns(
        dict(zip(("town", "age", "vote"), (list(one) for one in zip(*rows, strict=True)), strict=True))
    )
    assert find_rules(table, SCHEMA, search(min_support=0.01, min_confidence=0.5, items_at_most=3)) == ()
    figure = results_hidden(TablePair(table, table, SCHEMA, ()), asked(rules_at_most=2))
    assert figure[0].value == 0 and {one.value for one in figure[1:]} == {None}


def test_a_rule_that_a_mask_destroys_is_hidden_and_one_that_it_keeps_is_not(pair_of):
    spec = asked(min_confidence=1.0, rules_at_most=4)  # town a -> x, age <= 22 -> x
    kept = pair_of(TWELVE, TWELVE, [*SCHEMA.attributes])
    assert results_hidden(kept, spec)[0].value == 2 / 4
    moved = pair_of(TWELVE, {**TWELVE, "town": list("abcabcabcabc")}, [*SCHEMA.attributes])
    found = {one.id: one for one in results_hidden(moved, spec)}
    assert next(iter(found)) == f"results_hidden|rules_at_most=4|support={2 / 12!r}|confidence=1"
    assert found["rule_support|rule=1"].value == 2 / 12 and found["rule_confidence|rule=1"].value == 2 / 4
    assert found["rule_support_original|rule=1"].reason == "town = a -> vote = x"
    assert found["rule_confidence|rule=2"].value == 1.0 and next(iter(found.values())).value == 1 / 4
    assert all(found[f"{name}|rule=3"].value is None for name in ("rule_support", "rule_confidence_original"))


def test_the_public_edition_does_not_tell_how_many_rules_were_found(pair_of):
    nothing = {**TWELVE, "vote": list("xxyyyxxyxyyx")}  # two of four of a town vote x, and one or two of three of a part of age
    shown = []
    for source in (TWELVE, nothing):
        tables = pair_of(source, {**TWELVE, "vote": ["z"] * 12}, [*SCHEMA.attributes])
        figures = results_hidden(tables, asked(min_confidence=0.75, rules_at_most=5))
        shown.append(round_for_publication(figures))
        assert any(one.value is not None for one in figures[1:]) is (source is TWELVE)
    assert shown[0] == shown[1]
    assert asked().public() == {
        "measure": "results_hidden",
        "find": {"min_support": 2 / 12, "min_confidence": 2 / 3, "items_at_most": 2, "rules_at_most": 100},
        "support": 2 / 12,
        "confidence": 2 / 3,
    }


def test_items_of_every_kind_are_found_again():
    n = 24
    half = [i < n // 2 for i in range(n)]
    columns = {
        "yes": half,
        "born": [datetime.date(1950 + i, 1, 1) for i in range(n)],
        "grade": [f"g{i:02}" for i in range(n)],  # of many values: cut
        "few": ["low" if one else "high" for one in half],
        "income": [1.5 * i for i in range(n)],
        "secret": list(range(n)),
        "weight": [1.0 if one else 2.0 for one in half],
    }
    schema = Schema(
        (
            described("yes"),
            described("born", scale=Scale.DATE),
            described("grade", scale=Scale.ORDINAL, order=tuple(columns["grade"])),
            described("few", scale=Scale.ORDINAL, order=("low", "high")),
            described("income", Role.CONFIDENTIAL, Scale.NUMERIC),
            described("secret", Role.IDENTIFIER, Scale.NUMERIC),
            described("weight", Role.WEIGHT, Scale.NUMERIC),
        )
    )
    table = Microdata.from_columns(columns)
    rules = find_rules(table, schema, search(min_support=0.25, min_confidence=0.5))
    assert {name for rule in rules for name, _ in rule.antecedent} == {"yes", "born", "grade", "few"}
    assert {format_rule(one) for one in rules} >= {
        "born <= 1955-01-01 -> income <= 7.5",
        "grade from g06 to g11 -> income from 9.0 to 16.5",
        "few = high -> income >= 27.0",
        "yes = true -> income <= 7.5",
    }
    assert all(count_rule(table, table, schema, rule).can_be_concluded(0.25, 0.5) for rule in rules)


MALFORMED = [
    {},
    {"find": {}, "rules": [{"if": {"town": ["a"]}, "then": {"vote": ["x"]}}]},
    {"find": {"min_support": 0}},
    {"find": {"min_confidence": 1.1}},
    {"find": {"items_at_most": 1}},
    {"find": {"items_at_most": 6}},
    {"find": {"rules_at_most": 0}},
    {"find": {"about": []}},
    {"find": {"min_confidence": 0.7}, "confidence": 0.8},  # no mask would be needed
    {"find": {"min_suport": 0.1}},
]


@pytest.mark.parametrize("entry", MALFORMED)
def test_a_malformed_search_is_refused(entry):
    with pytest.raises(ValueError, match=r"1 validation error"):
        ResultsHidden.model_validate_json(json.dumps(entry))


def test_the_limits_of_the_release_are_those_of_the_search_unless_they_are_lower():
    spec = asked({"confidence": 0.5})
    assert (spec.support, spec.confidence) == (2 / 12, 0.5)
    assert ResultsHidden.model_validate_json(spec.model_dump_json(by_alias=True)) == spec


def test_what_the_table_does_not_allow_is_refused(monkeypatch):
    table = Microdata.from_columns(TWELVE)
    for about in ("vot", "town"):
        with pytest.raises(InputError) as caught:
            check_hidden_results((asked(about=["vote", about]),), table, SCHEMA)
        assert (caught.value.code, caught.value.value) == ("unknown-attribute", about)
        assert caught.value.where == "measures[0].find.about"
    with pytest.raises(InputError) as caught:
        check_search(search(), table, Schema(SCHEMA.attributes[:2]))
    assert caught.value.code == "no-confidential"
    # towns: 3, parts of age: 4, votes: 2; with two conditions (3 + 4 + 12) * 2
    monkeypatch.setattr(found_rules, "MOST_CANDIDATES", 37)
    check_search(search(), table, SCHEMA)
    with pytest.raises(InputError) as caught:
        check_search(search(items_at_most=3), table, SCHEMA)
    assert (caught.value.code, caught.value.value) == ("too-many-candidates", 38)


def test_rare_categories_are_no_candidates():
    n = 3000
    table = Microdata.from_columns({"town": [str(i) for i in range(n)], "age": [*range(n)], "vote": ["x", "y"] * (n // 2)})
    assert find_rules(table, SCHEMA, search(items_at_most=3)) == ()
    everybody = Microdata.from_columns({"town": ["a"] * 4, "age": [np.nan] * 4, "vote": ["x", "x", "y", None]})
    assert find_rules(everybody, SCHEMA, search(min_confidence=0.5, items_at_most=3)) == ()


def test_times_of_day_are_found_and_counted_again():
    arrivals = [datetime.time(i % 24, i % 60) for i in range(400)]
    table = Microdata.from_columns({"arrival": arrivals, "vote": ["x" if i % 24 < 9 else "y" for i in range(400)]})
    schema = Schema((described("arrival", scale=Scale.TIME), VOTE))
    found = find_rules(table, schema, search())
    assert found
    first = count_rule(table, table, schema, found[0])
    assert first.confidence >= search().min_confidence


def test_where_nothing_can_be_concluded_nothing_is_counted(monkeypatch):
    monkeypatch.setattr(found_rules, "_join_codes", None)  # would fail
    constant = {**TWELVE, "vote": ["x"] * 12}
    assert find_rules(Microdata.from_columns(constant), SCHEMA, search()) == ()
