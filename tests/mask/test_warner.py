"""Randomised response for a question of two answers, and the best matrix of two categories for an epsilon."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy.stats import binomtest

from tasks.mask.categories.matrix_advice import better_matrices
from tasks.mask.categories.pram import Pram, transition_matrix
from tasks.mask.categories.promise import randomisations
from tasks.mask.categories.randomised_response import compute_epsilon, estimate_marginals
from tasks.mask.categories.warner import Warner, warner_matrix
from tasks.mask.methods import Masking, mask
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SEED = bytes(range(32))
SLIDES = Warner(p=0.5, p_yes=0.75, yes="yes")
COIN = Warner(p=0.5, p_yes=1.0, yes="yes")
SCHEMA = Schema((Attribute("drug", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),))
LEVEL = 1e-6
probabilities = st.floats(0.01, 0.99)


def asked(**warner):
    return Pram(method="pram", attributes=("drug",), warner=Warner(**{"p": 0.5, "p_yes": 0.75, "yes": "yes", **warner}))


def test_the_example_of_the_slides():
    # docs/SCIENCE.md section 6, Torra (2026): p = 0.5, p' = 0.75; a true share of 0.1 is seen as 0.425, and back; epsilon ln 5
    matrix = warner_matrix(SLIDES, ("yes", "no"), where="")
    assert matrix.tolist() == [[0.875, 0.125], [0.375, 0.625]]
    assert np.array([0.1, 0.9]) @ matrix == pytest.approx([0.425, 0.575])
    assert estimate_marginals(matrix, np.array([425.0, 575.0])).shares == pytest.approx([0.1, 0.9])
    assert compute_epsilon(matrix) == pytest.approx(math.log(5))


def test_the_coin_of_the_slides():
    # heads: say Yes; tails: the truth. 55 Yes and 45 No of 100: 10 % Yes, 90 % No; and whoever says No is certainly a No
    matrix = warner_matrix(COIN, ("no", "yes"), where="")
    assert matrix.tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert estimate_marginals(matrix, np.array([45.0, 55.0])).shares == pytest.approx([0.9, 0.1])
    assert compute_epsilon(matrix) == np.inf


def test_answers_of_any_kind_in_any_order():
    step = asked(yes="1")
    assert transition_matrix(step, ("0", "1"), where="")[1].tolist() == [0.125, 0.875]
    assert warner_matrix(Warner(p=0.5, p_yes=0.75, yes="true"), ("false", "true"), where="")[0].tolist() == [0.625, 0.375]


@given(probabilities, probabilities, st.integers(0, 100))
def test_the_estimate_is_that_of_the_two_answers(p, p_yes, answered):
    # pi^ = (o - (1 - p) p') / p, which may be negative; its variance over the draw of people is larger by pi^ (1 - pi^) / n
    o = answered / 100
    share, variance = (o - (1 - p) * p_yes) / p, o * (1 - o) / (100 * p**2)
    matrix = warner_matrix(Warner(p=p, p_yes=p_yes, yes="yes"), ("yes", "no"), where="")
    found = estimate_marginals(matrix, np.array([answered, 100.0 - answered]))
    assert found.shares[0] == pytest.approx(share, abs=1e-9)
    assert found.variance[0] == pytest.approx(variance - share * (1 - share) / 100, rel=1e-6, abs=1e-8)


def test_the_estimate_is_unbiased_over_draws_and_its_variance_is_right():
    rng, n = np.random.default_rng(11), 400
    true = np.arange(n) < 120
    said = np.where(rng.random((20_000, n)) < 0.6, true, rng.random((20_000, n)) < 0.25).sum(axis=1)
    matrix = warner_matrix(Warner(p=0.6, p_yes=0.25, yes="yes"), ("yes", "no"), where="")
    by_count = {int(one): estimate_marginals(matrix, np.array([one, n - one], dtype=float)) for one in np.unique(said)}
    shares = np.array([by_count[int(one)].shares[0] for one in said])
    variances = np.array([by_count[int(one)].variance[0] for one in said])
    assert shares.mean() == pytest.approx(0.3, abs=5 * shares.std() / np.sqrt(len(said)))
    assert shares.var() == pytest.approx(variances.mean(), rel=0.05)


@pytest.mark.parametrize(
    ("warner", "said"),
    [
        ({"p": 1.0, "p_yes": 0.5, "yes": "1"}, "masks nothing"),
        ({"p": 1.5, "p_yes": 0.5, "yes": "1"}, "less than or equal to 1"),
        ({"p": 0.5, "yes": "1"}, "p_yes"),
        ({"p": 0.5, "p_yes": 0.5}, "yes"),
        ({"p": 0.5, "p_yes": 0.5, "yes": True}, "valid string"),
    ],
)
def test_designs_that_are_refused(warner, said):
    with pytest.raises(ValidationError, match=said):
        TypeAdapter(Masking).validate_json(json.dumps({"method": "pram", "attributes": ["drug"], "warner": warner}))


@pytest.mark.parametrize("more", [{"invariant": True}, {"jointly": True}, {"retention": 0.5}, {"attributes": None}])
def test_a_design_goes_with_nothing_else(more):
    with pytest.raises(ValidationError):
        Pram(**{"method": "pram", "attributes": ("drug", "sex"), "warner": SLIDES, **more})


@pytest.mark.parametrize(
    ("values", "code", "where"),
    [
        (["a", "b", "c"], "not-two-categories", "masking[0].warner"),
        (["a", "b", "a"], "unknown-category", "masking[0].warner.yes"),
    ],
)
def test_answers_that_do_not_fit(values, code, where):
    with pytest.raises(InputError) as refused:
        mask(Microdata.from_columns({"drug": values}), SCHEMA, (asked(),), seed=SEED, path=())
    assert (refused.value.code, refused.value.where) == (code, where)
    assert "yes" not in refused.value.what.replace("`yes`", "")


def test_the_draw_follows_the_design_and_the_test_has_power():
    n = 40_000
    data = Microdata.from_columns({"drug": ["yes"] * n + ["no"] * n + [None]})
    for p_yes, holds in ((0.75, True), (0.75 * 0.7, False)):
        said = mask(data, SCHEMA, (asked(p_yes=p_yes),), seed=SEED, path=()).data.column("drug").to_pylist()
        assert said[-1] is None
        tests = [binomtest(said[:n].count("yes"), n, 0.875), binomtest(said[n:-1].count("yes"), n, 0.375)]
        assert (min(one.pvalue for one in tests) > LEVEL) == holds


def test_what_may_be_told_of_a_design_does_not_say_which_answer_is_the_yes():
    step = asked(yes="canary")
    assert step.public() == {"attributes": ["drug"], "method": "pram", "warner": {"p": 0.5, "p_yes": 0.75}}
    assert "canary" not in step.rule
    assert TypeAdapter(Masking).validate_json(TypeAdapter(Masking).dump_json(step)) == step


def test_its_epsilon():
    data = Microdata.from_columns({"drug": ["yes", "no"]})
    assert randomisations(data, SCHEMA, (asked(),))[0].epsilon == pytest.approx(math.log(5))
    assert randomisations(data, SCHEMA, (asked(p_yes=1.0),))[0].epsilon == "infinite"
    assert randomisations(data, SCHEMA, (asked(p=0.0),))[0].epsilon == 0.0


@given(probabilities, probabilities)
def test_no_matrix_tells_more_than_the_best_of_its_epsilon(p00, p11):
    epsilon = compute_epsilon(np.array([[p00, 1 - p00], [1 - p11, p11]]))
    own = Pram(method="pram", attributes=("drug",), epsilon=max(epsilon, 1e-9))
    best = transition_matrix(own, ("no", "yes"), where="")
    assert compute_epsilon(best) == pytest.approx(max(epsilon, 1e-9), rel=1e-6)
    assert abs(p00 + p11 - 1) <= best.trace() - 1 + 1e-12


def test_a_better_design_is_named():
    data = Microdata.from_columns({"drug": ["yes", "no"]})
    (told,) = better_matrices(data, SCHEMA, (asked(),))
    assert told.startswith(
        "masking[0]: the probabilities for drug are 1.609-LDP; `epsilon: 1.609` keeps a value with probability 0.833"
    )
    assert "condition number 1.5 instead of 2.16" in told
    best = {"yes": {"yes": 0.75, "no": 0.25}, "no": {"yes": 0.25, "no": 0.75}}
    steps = (asked(p_yes=1.0), asked(p=0.0), asked(p_yes=0.5), Pram(method="pram", attributes=("drug",), matrix=best))
    assert better_matrices(data, SCHEMA, steps) == ()
