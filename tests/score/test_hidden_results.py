"""Rules that must not follow: ten rows by hand, pandas as the oracle, conditions of every kind, and wrong rules (1 s)."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.declared_rules import ResultsHidden, check_rules
from tasks.score.figure_rounding import round_for_publication
from tasks.score.hidden_results import check_hidden_results, results_hidden
from tasks.score.policy import PolicyLine
from tasks.score.rule_counts import RuleCounts, count_rule
from tasks.score.table_pair import TablePair
from tasks.score.verdict import decide

VOTE = Attribute("vote", Role.CONFIDENTIAL, Scale.NOMINAL, "declared")
TEN = {"age": [70, 70, 70, 70, 30, 30, 30, 30, 30, 30], "vote": list("dddcdccccc")}
OLD = {"if": {"age": {"at_least": 65}}, "then": {"vote": ["d"]}}
YOUNG = {"if": {"age": {"at_most": 65}}, "then": {"vote": ["c"]}}


def declared(*rules, **change):
    return ResultsHidden.model_validate_json(json.dumps({"measure": "results_hidden", "rules": rules, **change}))


def figures(tables, spec):
    return {one.id: one for one in results_hidden(tables, spec)}


def test_ten_rows_by_hand(pair_of):
    # four of ten are 65 or older, three of these are d; five of the six others are c. The release moves two of the four.
    masked = {**TEN, "age": [70, 30, 30, 70, 30, 30, 30, 30, 30, 30]}
    tables = pair_of(TEN, masked, [VOTE])
    found = figures(tables, declared(OLD, YOUNG, support=0.1, confidence=0.625))
    assert {name: one.value for name, one in found.items()} == {
        "results_hidden|rules=2|support=0.1|confidence=0.625": 0.5,
        "rule_support|rule=1": 0.1,
        "rule_support|rule=2": 0.5,
        "rule_confidence|rule=1": 0.5,
        "rule_confidence|rule=2": 5 / 8,
        "rule_support_original|rule=1": 0.3,
        "rule_support_original|rule=2": 0.5,
        "rule_confidence_original|rule=1": 0.75,
        "rule_confidence_original|rule=2": 5 / 6,
    }


@pytest.mark.parametrize(
    ("support", "confidence", "share"), [(0.3, 0.75, 1.0), (0.31, 0.75, 0.0), (0.3, 0.76, 0.0), (0.01, 0.01, 1.0)]
)
def test_a_rule_that_equals_both_limits_can_be_concluded(pair_of, support, confidence, share):
    spec = declared(OLD, support=support, confidence=confidence)
    assert results_hidden(pair_of(TEN, TEN, [VOTE]), spec)[0].value == share


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([*"abc", None])), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
    st.floats(0.01, 1.0),
    st.floats(0.01, 1.0),
)
def test_the_order_of_rows_does_not_matter_and_what_is_concluded_has_its_support(rows, random, support, confidence):
    schema = Schema((Attribute("x", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"), replace(VOTE, name="g")))
    spec = declared({"if": {"x": [1, 2]}, "then": {"g": ["a", "b"]}}, support=support, confidence=confidence)
    shuffled = random.sample(rows, len(rows))
    first, second = (Microdata.from_columns({"x": [x for x, _ in t], "g": [g for _, g in t]}) for t in (rows, shuffled))
    one, other = (count_rule(table, first, schema, spec.rules[0]) for table in (first, second))
    assert one == other
    frame = pd.DataFrame(rows, columns=["x", "g"])  # the oracle
    sizes = frame.groupby(["x", "g"], dropna=False).size()
    meets = sum(count for (x, _), count in sizes.items() if x in (1, 2))
    both = sum(count for (x, g), count in sizes.items() if x in (1, 2) and g in ("a", "b"))
    assert one == RuleCounts(len(rows), meets, both)
    if one.can_be_concluded(support, confidence):
        assert one.support >= support - 1e-9
        assert one.confidence >= confidence - 1e-9
    else:
        assert one.support < support or one.confidence is None or one.confidence < confidence


CONDITIONS = [
    ({"n": [1, 2.0, "3"]}, [1, 1, 1, 0]),  # 1, 1.0 and "1" are one value
    ({"n": {"at_least": 2, "at_most": 3}}, [0, 1, 1, 0]),
    ({"educ": {"at_least": "middle"}}, [0, 1, 1, 0]),
    ({"educ": ["low", "high"]}, [1, 0, 1, 0]),
    ({"born": {"at_most": "1960-01-01"}}, [1, 1, 0, 0]),
    ({"born": ["1950-05-05"]}, [1, 0, 0, 0]),
    ({"vote": ["x"], "n": {"at_most": 1.5}}, [1, 0, 0, 0]),
]
KINDS = Schema(
    (
        Attribute("n", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
        Attribute("educ", Role.QUASI_IDENTIFIER, Scale.ORDINAL, "declared", order=("low", "middle", "high")),
        Attribute("born", Role.QUASI_IDENTIFIER, Scale.DATE, "declared"),
        VOTE,
        Attribute("answer", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
        Attribute("pid", Role.IDENTIFIER, Scale.NOMINAL, "declared"),
    )
)
TABLE = Microdata.from_columns(
    {
        "n": [1, 2, 3, None],
        "educ": ["low", "middle", "high", None],
        "born": [datetime.date(1950, 5, 5), datetime.date(1960, 1, 1), datetime.date(1970, 1, 1), None],
        "vote": ["x", "x", "y", None],
        "answer": ["yes"] * 4,
        "pid": list("abcd"),
    }
)


def rule_on(conditions):
    return declared({"if": conditions, "then": {"answer": ["yes"]}})


@pytest.mark.parametrize(("conditions", "rows"), CONDITIONS)
def test_conditions_of_every_kind(conditions, rows):
    spec = rule_on(conditions)
    check_rules(spec, TABLE, KINDS)
    meets = [count_rule(TABLE.take(np.array([i])), TABLE, KINDS, spec.rules[0]).antecedent for i in range(4)]
    assert meets == rows


WRONG = [
    ({"incme": [1]}, "unknown-attribute", "incme"),
    ({"pid": ["a"]}, "unknown-attribute", "pid"),  # not published
    ({"vote": ["z"]}, "unknown-category", "z"),
    ({"n": [7]}, "unknown-category", 7),
    ({"educ": {"at_least": "midle"}}, "unknown-category", "midle"),
    ({"vote": {"at_least": "x"}}, "interval-without-order", None),
    ({"n": {"at_least": "two"}}, "written-value", "two"),
    ({"born": {"at_least": "May 1950"}}, "written-value", "May 1950"),
    ({"n": {"at_least": 3, "at_most": 2}}, "empty-interval", 3),
]


@pytest.mark.parametrize(("conditions", "code", "value"), WRONG)
def test_wrong_rules_are_refused_with_their_place(conditions, code, value):
    with pytest.raises(InputError) as caught:
        check_hidden_results((rule_on(conditions),), TABLE, KINDS)
    assert (caught.value.code, caught.value.value) == (code, value)
    assert caught.value.where.startswith("measures[0].rules[0].if")


def test_two_entries_are_refused():
    with pytest.raises(InputError) as caught:
        check_hidden_results((rule_on({"n": [1]}), rule_on({"n": [2]})), TABLE, KINDS)
    assert (caught.value.code, caught.value.where) == ("rules-twice", "measures[1]")


MALFORMED = [
    {"rules": []},
    {"rules": [OLD, OLD]},
    {"rules": [{"if": {}, "then": {"vote": ["d"]}}]},
    {"rules": [{"if": {"vote": ["c"]}, "then": {"vote": ["d"]}}]},
    {"rules": [{"if": {"age": {}}, "then": {"vote": ["d"]}}]},
    {"rules": [{"if": {"age": []}, "then": {"vote": ["d"]}}]},
    {"rules": [{"if": {"age": 5}, "then": {"vote": ["d"]}}]},
    {"rules": [OLD], "support": 0},
    {"rules": [OLD], "confidence": 1.1},
]


@pytest.mark.parametrize("change", MALFORMED)
def test_malformed_rules_are_refused(change):
    with pytest.raises(ValueError, match=r"rules|support|confidence"):
        declared(*change.pop("rules"), **change)


def test_rules_are_read_back_and_only_their_number_is_public():
    spec = declared(OLD, YOUNG)
    assert ResultsHidden.model_validate_json(spec.model_dump_json(by_alias=True)) == spec
    assert ResultsHidden.model_validate_json(spec.model_dump_json()) == spec
    assert spec.public() == {"measure": "results_hidden", "rules": 2, "support": 0.01, "confidence": 0.8}
    assert declared(*reversed([OLD, YOUNG])) != spec


def test_the_public_edition_has_the_share_of_the_rules_and_no_figure_of_one(pair_of):
    masked = {**TEN, "vote": list("ddccdccccc")}
    found = results_hidden(pair_of(TEN, masked, [VOTE]), declared(OLD, {"if": {"age": [30]}, "then": {"vote": ["c"]}}))
    shown = {one.id: one for one in round_for_publication(found)}
    assert list(shown) == [one.id for one in found]
    for name, one in shown.items():
        assert (one.value is None) == name.startswith("rule_"), name
        assert one.value is not None or (one.low, one.high, one.status) == (None, None, "not_applicable")


def test_nobody_meets_the_condition(pair_of):
    found = figures(pair_of(TEN, {**TEN, "age": [30] * 10}, [VOTE]), declared(OLD))
    assert found["rule_confidence|rule=1"].status == "not_applicable"
    assert next(iter(found.values())).value == 0


def test_rows_of_nobody_and_a_release_that_shows_texts():
    schema = Schema((Attribute("age", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"), VOTE))
    source = Microdata.from_columns(TEN)
    fewer = Microdata.from_columns({"age": [70, 30], "vote": ["d", "c"]})
    assert results_hidden(TablePair(source, fewer, schema, ()), declared(OLD))[0].value == 1
    texts = Microdata.from_columns({"age": ["old", "young"], "vote": ["d", "c"]})
    unknown = results_hidden(TablePair(source, texts, schema, ()), declared(OLD))
    assert unknown[0].status == "not_applicable"
    assert decide((PolicyLine(measure="results_hidden", at_most=0.0),), unknown).verdict == "undecided"


@pytest.mark.parametrize(("limit", "verdict"), [(0.0, "refused"), (0.5, "certified")])
def test_a_line_holds_the_share_against_its_limit(pair_of, limit, verdict):
    found = results_hidden(pair_of(TEN, TEN, [VOTE]), declared(OLD, YOUNG, confidence=0.8))  # 0.75 and 0.83
    assert decide((PolicyLine(measure="results_hidden", at_most=limit),), found).verdict == verdict
