"""Epsilon of local differential privacy as a figure and as a line of a policy."""

from __future__ import annotations

from math import e, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.local_privacy import NOT_FINITE, epsilon, refuse_limit_without_pram
from tasks.score.policy import PolicyLine
from tasks.score.table_pair import RowwiseTablePair
from tasks.score.verdict import decide

NAMES = ("smokes", "region", "gaps", "age")
YES_NO = {"0": {"0": 0.875, "1": 0.125}, "1": {"0": 0.375, "1": 0.625}}
STEP = TypeAdapter(Pram)


def pram(*attributes, **rule):
    return STEP.validate_python({"method": "pram", "attributes": list(attributes) or None, **rule}, strict=False)


@pytest.fixture
def people():
    columns = {
        "smokes": ["0", "1"] * 7,
        "region": list("abcdefg") * 2,
        "gaps": ["x", None] + ["y"] * 12,
        "age": np.arange(14.0),
    }
    scales = (Scale.NOMINAL, Scale.NOMINAL, Scale.NOMINAL, Scale.NUMERIC)
    attributes = (Attribute(name, Role.QUASI_IDENTIFIER, scale, "declared") for name, scale in zip(NAMES, scales, strict=True))
    return Microdata.from_columns(columns), Schema(tuple(attributes))


def epsilon_of(people, steps):
    data, schema = people
    return epsilon(RowwiseTablePair(data, data, schema, tuple(steps)))


def values(people, *steps):
    return {one.attribute: one.value for one in epsilon_of(people, steps)}


def test_worked_examples(people):
    # ln 5 twice: 0.625 / 0.125 is more than 0.875 / 0.375; the truth, or Yes with 3/4: 0.625 / 0.125 as well for a No
    assert values(people, pram("smokes", matrix=YES_NO)) == pytest.approx({None: log(5), "smokes": log(5)})
    asked = pram("smokes", warner={"p": 0.5, "p_yes": 0.75, "yes": "1"})
    assert values(people, asked)["smokes"] == pytest.approx(log(0.625 / 0.125))
    # the coin: who says No has said the truth
    assert values(people, pram("smokes", warner={"p": 0.5, "p_yes": 1.0, "yes": "1"})) == {None: None, "smokes": None}
    # 0.8 against 0.2 spread over six others
    assert values(people, pram("region", retention=0.8))["region"] == pytest.approx(3.178, abs=5e-4)
    assert values(people, pram("region", epsilon=10.0))["region"] == pytest.approx(10)
    assert values(people, pram("region", epsilon=0.0)) == {None: 0, "region": 0}


def test_a_record_adds_up_its_attributes_and_steps(people):
    both = (pram("smokes", "region", epsilon=1.0), pram("smokes", epsilon=0.5))
    assert values(people, *both) == pytest.approx({None: 2.5, "smokes": 1.5, "region": 1})
    together = pram("smokes", "region", epsilon=1.0, jointly=True)
    assert values(people, together) == pytest.approx({None: 1, "smokes": 1, "region": 1})
    assert epsilon_of(people, [Microaggregation(method="microaggregation", attributes=("age",), k=3)]) == ()


@pytest.mark.parametrize("step", [pram("gaps", epsilon=1.0), pram("region", epsilon=1.0, invariant=True)])
def test_what_has_no_finite_epsilon_breaks_every_limit(people, step):
    found = epsilon_of(people, [pram("smokes", epsilon=1.0), step])
    (record, *each) = found
    assert (record.attribute, record.status, record.reason) == (None, "not_applicable", NOT_FINITE)
    assert sorted(one.status for one in each) == ["not_applicable", "ok"]
    lines = (PolicyLine(measure="epsilon", at_most=1e6), PolicyLine(measure="epsilon", at_most=1.0, attribute="smokes"))
    verdict = decide(lines, found)
    assert (verdict.verdict, [one.decision for one in verdict.criteria]) == ("refused", ["fail", "pass"])
    assert verdict.criteria[0].reason == NOT_FINITE


def test_limits(people):
    found = epsilon_of(people, [pram("smokes", "region", epsilon=1.0)])
    for limit, expected in ((2.0, "certified"), (1.99, "refused")):
        assert decide((PolicyLine(measure="epsilon", at_most=limit),), found).verdict == expected


def test_other_measures_that_do_not_apply_are_undecided():
    figure = Estimate(measure="sse_percent", value=None, unit="percent", status="not_applicable", reason="nothing masked")
    assert decide((PolicyLine(measure="sse_percent", at_most=1.0),), (figure,)).verdict == "undecided"


@pytest.mark.parametrize(
    ("line", "steps", "where"),
    [
        ({}, (), "policy[0].measure"),
        ({"attribute": "age"}, (pram("smokes", epsilon=1.0),), "policy[0].attribute"),
        ({"attribute": "age"}, (pram(epsilon=1.0),), "policy[0].attribute"),
    ],
)
def test_a_limit_that_no_figure_would_answer_is_refused(people, line, steps, where):
    with pytest.raises(InputError) as refused:
        refuse_limit_without_pram((PolicyLine(measure="epsilon", at_most=1.0, **line),), people[1], steps)
    assert (refused.value.code, refused.value.where) == ("epsilon-without-pram", where)


def test_a_limit_that_a_figure_answers_is_not_refused(people):
    lines = (PolicyLine(measure="epsilon", at_most=1.0), PolicyLine(measure="epsilon", at_most=1.0, attribute="region"))
    refuse_limit_without_pram(lines, people[1], (pram(epsilon=1.0),))
    refuse_limit_without_pram((PolicyLine(measure="k_anonymity", at_least=2.0),), people[1], ())


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.booleans())
def test_against_every_pair_of_true_categories(seed, c, zero):
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(c), c)
    if zero:
        matrix[0, 1] = 0
        matrix /= matrix.sum(axis=1, keepdims=True)
    names = [str(i) for i in range(c)]
    given_matrix = {i: {j: float(matrix[int(i), int(j)]) for j in names} for i in names}
    people = (
        Microdata.from_columns({"a": names * 2}),
        Schema((Attribute("a", Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared"),)),
    )
    (record, one) = epsilon_of(people, [pram("a", matrix=given_matrix)])
    shown = [j for j in range(c) if matrix[:, j].any()]
    with np.errstate(divide="ignore"):
        pairs = [np.log(matrix[i, j]) - np.log(matrix[k, j]) for j in shown for i in range(c) for k in range(c) if i != k]
    if np.isinf(np.nanmax(pairs)):
        assert one.status == record.status == "not_applicable"
    else:
        assert one.value == record.value == pytest.approx(max(pairs))
        assert all(matrix[i, j] <= e**one.value * matrix[k, j] * (1 + 1e-9) for j in shown for i in range(c) for k in range(c))
