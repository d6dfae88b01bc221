"""PRAM of several attributes together: one of their combinations is drawn for each record; and its estimator."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy.stats import chisquare

from tasks.mask.categories.original_shares import MOST_SHOWN, estimate_shares, joint_marginals
from tasks.mask.categories.pram import Pram, compute_transition_matrix_with_gaps, transition_matrix
from tasks.mask.categories.product import create_category_coding
from tasks.mask.categories.promise import compute_record_epsilon, randomisations
from tasks.mask.categories.randomised_response import estimate_marginals
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, infer_belief, mask
from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SEED = bytes(range(32))
LEVEL = 1e-6
NONE = np.empty(0, dtype=np.int64)


def pram(*attributes, **rule):
    parameters = {"jointly": True, **({} if rule.keys() & {"retention", "epsilon", "matrix"} else {"retention": 0.8}), **rule}
    return Pram(method="pram", attributes=attributes or None, **parameters)


def schema_of(data, **orders):
    attributes = (
        Attribute(name, Role.QUASI_IDENTIFIER, Scale.ORDINAL if name in orders else Scale.NOMINAL, "declared",
                  order=orders.get(name))
        for name in data.names
    )  # fmt: skip
    return Schema(tuple(attributes))


@pytest.fixture(scope="module")
def small():
    data = Microdata.from_columns({"a": ["x", "y", None, "x", None], "b": pa.array([1, 2, 3, None, None], pa.int64())})
    return data, schema_of(data)


def test_codes_of_combinations(small):
    data, schema = small
    coding = create_category_coding(schema, data, ("a", "b"), "here")
    # a has the places x, y, gap, b the places 1, 2, 3, gap; the last changes fastest
    assert (coding.sizes, coding.size) == ((3, 4), 12)
    assert coding.codes(data).tolist() == [0, 5, 10, 3, 11]
    back = coding.columns(coding.codes(data))
    assert [column.to_pylist() for column in back] == [data.column(name).to_pylist() for name in "ab"]
    assert [block.tolist() for block in coding.blocks()] == [[0, 1, 2, 4, 5, 6], [3, 7], [8, 9, 10], [11]]
    assert [coding.texts(code) for code in (0, 7, 11)] == [("x", "1"), ("y", "missing"), ("missing", "missing")]
    strange = Microdata.from_columns({"a": ["x", "q"], "b": pa.array([9, None], pa.int64())})
    assert coding.codes(strange).tolist() == [12, 12]


def test_a_worked_matrix(small):
    # all six combinations count, although three occur: retention 0.8 leaves 0.2 / 5 to each other one
    data, schema = small
    coding = create_category_coding(schema, data, ("a", "b"), "here")
    found = compute_transition_matrix_with_gaps(pram("a", "b"), coding, NONE, where="")
    whole, only_a, only_b, gaps = coding.blocks()
    assert found[np.ix_(whole, whole)] == pytest.approx(np.where(np.eye(6, dtype=bool), 0.8, 0.04))
    assert found[np.ix_(only_a, only_a)] == pytest.approx(np.array([[0.8, 0.2], [0.2, 0.8]]))
    assert found[np.ix_(only_b, only_b)] == pytest.approx(np.where(np.eye(3, dtype=bool), 0.8, 0.1))
    assert found[gaps, gaps].tolist() == [1]
    assert found[:-1].sum(axis=1) == pytest.approx(np.ones(12))
    assert not found[np.ix_(whole, np.concatenate([only_a, only_b, gaps]))].any()  # a gap stays a gap, and none appears
    assert not found[-1].any()
    assert not found[:, -1].any()


@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.floats(0.05, 0.95), st.booleans(), st.integers(0, 2**32 - 1))
def test_every_matrix_is_stochastic_and_an_invariant_one_keeps_the_counts(sizes, kept, invariant, seed):
    rng = np.random.default_rng(seed)
    names = tuple("abc"[: len(sizes)])
    data = Microdata.from_columns(
        {name: [*range(c), *rng.integers(0, c, 20)] for name, c in zip(names, [max(sizes)] * len(sizes), strict=True)}
    )
    coding = create_category_coding(schema_of(data), data, names, "here")
    codes = coding.codes(data)
    step = Pram(method="pram", attributes=names, retention=kept, jointly=len(names) > 1, invariant=invariant)
    found = compute_transition_matrix_with_gaps(step, coding, codes, where="")
    assert found[:-1].sum(axis=1) == pytest.approx(np.ones(coding.size), abs=1e-12)
    counts = np.bincount(codes, minlength=coding.size + 1) / data.n
    if invariant:
        assert np.abs(counts @ found - counts).max() < 1e-12
    if len(names) == 1:  # a special case: one attribute alone
        plain = transition_matrix(
            Pram(method="pram", attributes=names, retention=kept), tuple("0123"[: coding.size - 1]), where=""
        )
        assert invariant or found[:-2, :-2] == pytest.approx(plain)


@pytest.fixture(scope="module")
def crossed():
    data = Microdata.from_columns({"a": ["x"] * 20_000 + ["y"] * 20_000, "b": ["u", "v"] * 20_000, "free": list(range(40_000))})
    return data, schema_of(data)


def counted(data, names=("a", "b")):
    joint = np.array([f"{one}{other}" for one, other in zip(*(data.column(name).to_pylist() for name in names), strict=True)])
    return np.unique(joint, return_inverse=True)


@pytest.mark.parametrize("invariant", [False, True])
def test_the_draw_follows_the_matrix_and_the_test_has_power(crossed, invariant):
    data, schema = crossed
    _, own = counted(data)
    coding = create_category_coding(schema, data, ("a", "b"), "here")
    block = coding.blocks()[0]
    for kept, holds in ((0.6, True), (0.42, False)):
        done = mask(data, schema, (pram("a", "b", retention=kept, invariant=invariant),), seed=SEED, path=())
        assert done.data.column("free").equals(data.column("free"))
        _, drawn = counted(done.data)
        expected = compute_transition_matrix_with_gaps(
            pram("a", "b", retention=0.6, invariant=invariant), coding, coding.codes(data), where=""
        )
        observed = np.bincount(own * 4 + drawn, minlength=16).reshape(4, 4)
        found = [chisquare(row, row.sum() * p).pvalue for row, p in zip(observed, expected[np.ix_(block, block)], strict=True)]
        assert (min(found) > LEVEL) == holds


def test_cells_of_a_record_change_together(crossed):
    # each by itself would change both with probability 0.16; together, of the 0.4 that change, one in three changes both
    data, schema = crossed
    done = mask(data, schema, (pram("a", "b", retention=0.6),), seed=SEED, path=())
    changed = [np.array(done.data.column(n).to_pylist()) != np.array(data.column(n).to_pylist()) for n in "ab"]
    both = np.bincount(changed[0] * 2 + changed[1], minlength=4)
    assert chisquare(both, 40_000 * np.array([0.6, 0.4 / 3, 0.4 / 3, 0.4 / 3])).pvalue > LEVEL
    assert chisquare(both, 40_000 * np.array([0.36, 0.24, 0.24, 0.16])).pvalue < LEVEL


def test_gaps_stay_and_declared_categories_count():
    rng = np.random.default_rng(4)
    n = 2000
    grade = [None if u < 0.2 else "low" if u < 0.6 else "high" for u in rng.random(n)]
    data = Microdata.from_columns({"grade": grade, "b": [None if u < 0.1 else bool(u > 0.5) for u in rng.random(n)]})
    schema = schema_of(data, grade=("low", "middle", "high"))
    done = mask(data, schema, (pram("grade", "b", epsilon=0.0),), seed=SEED, path=())
    for name in data.names:
        assert done.data.column(name).is_null().equals(data.column(name).is_null())
    assert set(done.data.column("grade").drop_null().to_pylist()) == {"low", "middle", "high"}
    with pytest.raises(InputError) as refused:
        mask(data, schema_of(data, grade=("low", "middle")), (pram("grade", "b"),), seed=SEED, path=())
    assert (refused.value.code, refused.value.where) == ("unknown-category", "masking[0].attributes: grade and b")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"attributes": ["a"], "retention": 0.8}, "two attributes or more"),
        ({"attributes": ["a", "b"], "matrix": {"1": {"1": 0.5, "2": 0.5}, "2": {"1": 0.5, "2": 0.5}}}, "single categories"),
        ({"attributes": ["a", "b"], "warner": {"p": 0.5, "p_yes": 0.5, "yes": "1"}}, "single categories"),
        ({"attributes": ["a", "b"], "retention": 0.8, "by": ["c"]}, "strata would change nothing"),
    ],
)
def test_what_is_refused_before_any_data(rule, said):
    with pytest.raises(ValidationError, match=said):
        TypeAdapter(Masking).validate_json(json.dumps({"method": "pram", "jointly": True, **rule}))


def test_one_attribute_and_too_many_combinations():
    data = Microdata.from_columns({"a": [i % 50 for i in range(200)], "b": [i % 40 for i in range(200)]})
    with pytest.raises(InputError) as refused:
        mask(data, schema_of(data), (pram("a", "b"),), seed=SEED, path=())
    assert (refused.value.code, refused.value.where) == ("combinations", "masking[0].attributes")
    assert "2,091 combinations" in refused.value.what
    alone = Microdata.from_columns({"a": ["x", "y"]})
    with pytest.raises(InputError) as refused:
        mask(alone, schema_of(alone), (pram(),), seed=SEED, path=())
    assert (refused.value.code, refused.value.where) == ("one-attribute", "masking[0].jointly")


def test_epsilons(crossed, small):
    data, schema = crossed
    steps = (pram("a", "b", epsilon=1.5), Pram(method="pram", attributes=("a",), epsilon=0.5))
    found = {one.attribute: one for one in randomisations(data, schema, steps)}
    assert (found["a"].epsilon, found["b"].epsilon) == (pytest.approx(2.0), pytest.approx(1.5))
    assert (found["a"].together, found["b"].together, found["a"].n_categories) == (("b",), ("a",), 2)
    assert compute_record_epsilon(data, schema, steps) == pytest.approx(2.0)  # what was drawn together counts once
    each = Pram(method="pram", attributes=("a", "b"), epsilon=1.5)
    assert compute_record_epsilon(data, schema, (each,)) == pytest.approx(3.0)
    assert compute_record_epsilon(data, schema, (pram("a", "b", retention=0.8),)) == pytest.approx(math.log(12))  # c = 4
    assert compute_record_epsilon(data, schema, ()) is None
    assert compute_record_epsilon(*small, (pram("a", "b"),)) == "infinite"  # gaps stay


def test_epsilon_of_one_attribute_never_passes_that_of_the_combination(crossed):
    # the other value held fixed, by the definition: the largest ratio over what can be shown
    coding = create_category_coding(crossed[1], crossed[0], ("a", "b"), "here")
    block = coding.blocks()[0]
    matrix = compute_transition_matrix_with_gaps(pram("a", "b", epsilon=1.2), coding, NONE, where="")[
        np.ix_(block, block)
    ].reshape(2, 2, 2, 2)
    for b, shown_a, shown_b in product(range(2), repeat=3):
        assert abs(math.log(matrix[0, b, shown_a, shown_b] / matrix[1, b, shown_a, shown_b])) <= 1.2 + 1e-12


def concluded(data, schema, *steps, names=None):
    done = mask(data, schema, steps, seed=SEED, path=())
    return infer_belief(data.select(names or schema.names), done.data, schema, done.mechanisms), done


def test_the_law_that_an_intruder_concludes(crossed):
    data, schema = crossed
    step = pram("a", "b", retention=0.6)
    found, done = concluded(data, schema, step, names=("a", "b"))
    (law,) = found.likelihoods
    coding = create_category_coding(schema, data, ("a", "b"), "here")
    assert law.names == ("a", "b")
    assert law.own.tolist() == coding.codes(data).tolist()
    assert law.shown.tolist() == coding.codes(done.data).tolist()
    assert law.probability == pytest.approx(compute_transition_matrix_with_gaps(step, coding, NONE, where=""))
    assert not found.is_certain(("a",))
    twice, _ = concluded(data, schema, step, step, names=("a", "b"))
    assert twice.likelihoods[0].probability == pytest.approx(law.probability @ law.probability)


def test_what_he_cannot_put_together_he_doubts(crossed):
    data, schema = crossed
    joint, single = pram("a", "b"), Pram(method="pram", attributes=("a",), retention=0.5)
    found, _ = concluded(data, schema, joint, names=("a", "free"))  # they lack b
    assert (found.likelihoods, found.unclear) == ((), ("a",))
    for steps in ((joint, single), (single, joint), (joint, pram("b", "a"))):
        found, _ = concluded(data, schema, *steps, names=("a", "b"))
        assert (found.likelihoods, set(found.unclear)) == ((), {"a", "b"})


# the estimator


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.floats(0.3, 0.9), st.booleans())
def test_expected_counts_are_undone(crossed, seed, kept, twice):
    data, schema = crossed
    coding = create_category_coding(schema, data, ("a", "b"), "here")
    counts = np.random.default_rng(seed).integers(0, 100, 4) + 1.0
    step = compute_transition_matrix_with_gaps(pram("a", "b", retention=kept), coding, NONE, where="")
    block = coding.blocks()[0]
    matrix = (step @ step if twice else step)[np.ix_(block, block)]
    assert estimate_marginals(matrix, matrix.T @ counts).shares == pytest.approx(counts / counts.sum(), abs=1e-8)


def test_unbiased_over_draws_with_the_variance_that_is_told(crossed):
    data, schema = crossed[0].take(np.arange(19_000, 20_400)), crossed[1]
    coding = create_category_coding(schema, data, ("a", "b"), "here")
    step = pram("a", "b", retention=0.5)
    probability = compute_transition_matrix_with_gaps(step, coding, NONE, where="")
    truth = np.bincount(counted(data)[1], minlength=4) / data.n
    two = probability @ probability
    for steps, matrix in (((step,), probability), ((step, step), two)):
        drawn = [mask(data, schema, steps, seed=SEED, path=(str(i),)).data for i in range(200)]
        found = [joint_marginals(coding, one, matrix)[0] for one in drawn]
        shares, variances = np.array([one.shares for one in found]), np.array([one.variance for one in found])
        assert shares.mean(axis=0) == pytest.approx(truth, abs=5 * np.sqrt(variances.max() / 200))
        assert shares.var(axis=0).mean() == pytest.approx(variances.mean(), rel=0.2)


def test_the_variance_of_a_sum_of_shares(crossed):
    # the marginal share of a = x out of the combinations, against every possible release of two records
    coding = create_category_coding(crossed[1], crossed[0], ("a", "b"), "here")
    block = coding.blocks()[0]
    matrix = compute_transition_matrix_with_gaps(pram("a", "b", retention=0.6), coding, NONE, where="")[np.ix_(block, block)]
    true, found, weight = (0, 3), [], []
    for draw in product(range(4), repeat=2):
        weight.append(math.prod(matrix[i, j] for i, j in zip(true, draw, strict=True)))
        found.append(estimate_marginals(matrix, np.bincount(draw, minlength=4).astype(float)).shares[:2].sum())
    mean = np.average(found, weights=weight)
    told = estimate_marginals(matrix, 2 * matrix.T @ [0.5, 0, 0, 0.5])
    assert mean == pytest.approx(0.5)
    assert np.average((np.array(found) - mean) ** 2, weights=weight) == pytest.approx(told.covariance[:2, :2].sum())


def test_what_a_reader_can_estimate(crossed):
    data, schema = crossed
    rows = data.n
    # all released as (x, u): o = 1, q = 1/15, d = 0.8 over four combinations
    released = Microdata.from_columns({"a": ["x"] * rows, "b": ["u"] * rows, "free": list(range(rows))})
    (one,) = estimate_shares(released, data, schema, (pram("a", "b"),))
    assert (one.attributes, one.n, one.n_categories, one.n_left_out) == (("a", "b"), rows, 4, 0)
    (share,) = one.shares
    assert (share.values, share.released) == (("x", "u"), 1.0)
    assert share.estimated == pytest.approx((1 - 1 / 15) / (0.8 - 1 / 15))  # above 1: not cut off
    drawn = 0.16 * share.estimated + (1 / 15) * (14 / 15) * (
        1 - share.estimated
    )  # the variance of one cell, summed over truths
    assert share.standard_error == pytest.approx(math.sqrt(drawn / rows) / (0.8 - 1 / 15))
    assert one.condition_number == pytest.approx(1 / (0.8 - 1 / 15))


def test_a_long_list_is_cut_by_how_frequent_categories_are():
    values = [i for i in range(20) for _ in range(10 + i)]
    data = Microdata.from_columns({"a": values})
    (one,) = estimate_shares(data, data, schema_of(data), (Pram(method="pram", attributes=("a",), retention=0.8),))
    assert [share.values for share in one.shares] == [(str(i),) for i in range(8, 20)]
    assert (len(one.shares), one.n_left_out, one.n_categories) == (MOST_SHOWN, 8, 20)
    assert one.shares[-1].standard_error == pytest.approx(
        math.sqrt(estimate_marginals(_spread(20, 0.8), np.arange(10.0, 30.0)).variance[-1])
    )


def _spread(c, kept):
    return np.where(np.eye(c, dtype=bool), kept, (1 - kept) / (c - 1))


def test_of_what_there_is_no_estimate(crossed):
    data, schema = crossed
    alone = Pram(method="pram", attributes=("a",), retention=0.8)
    stated = Pram(method="pram", attributes=("a",), matrix={"x": {"x": 0.5, "y": 0.5}, "y": {"x": 0.1, "y": 0.9}})
    mixed = (alone, pram("a", "b"))
    for steps in ((stated,), (alone, stated), (pram("a", "b", invariant=True),), mixed):
        assert estimate_shares(data, data, schema, steps) == []
    numbers = Microdata.from_columns({"a": [1, 2, 3, 4]})
    ordinal = Schema((Attribute("a", Role.QUASI_IDENTIFIER, Scale.ORDINAL, "declared"),))
    coarse = Microaggregation(method="microaggregation", attributes=("a",), k=2)
    assert estimate_shares(numbers, numbers, ordinal, (coarse, alone)) == []
    strange = Microdata.from_columns({"a": [1, 9, 3, 4]})  # no category that PRAM can have drawn
    assert estimate_shares(strange, numbers, ordinal, (alone,)) == []
    (one,) = estimate_shares(numbers, numbers, ordinal, (alone, alone))
    assert one.condition_number == pytest.approx(np.linalg.cond(_spread(4, 0.8)) ** 2)
    (nothing,) = estimate_shares(numbers, numbers, ordinal, (Pram(method="pram", attributes=("a",), epsilon=0.0),))
    assert (nothing.condition_number, nothing.shares) == (None, ())


def test_a_table_of_gaps_alone(small):
    data, schema = small
    coding = create_category_coding(schema, data, ("a", "b"), "here")
    gaps = data.take(np.array([2, 3, 4]))
    with pytest.raises(NotApplicable, match="without a gap"):
        joint_marginals(coding, gaps, compute_transition_matrix_with_gaps(pram("a", "b"), coding, NONE, where=""))
