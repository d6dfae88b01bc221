"""Invariant PRAM: the matrix keeps the expected frequencies, in strata as well, and the intruder can compute it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy.stats import chisquare

from tasks.mask.categories.invariant import invariant_matrix
from tasks.mask.categories.original_shares import estimate_shares
from tasks.mask.categories.pram import Pram, transition_matrix
from tasks.mask.categories.promise import compute_record_epsilon, randomisations
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, infer_belief, mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SEED = bytes(range(32))
LEVEL = 1e-6


def pram(*attributes, **rule):
    return Pram(
        method="pram",
        attributes=attributes or None,
        invariant=True,
        **({"retention": 0.5} | rule if "epsilon" not in rule else rule),
    )


def schema_of(data, **scales):
    attributes = (Attribute(name, Role.QUASI_IDENTIFIER, scales.get(name, Scale.NOMINAL), "declared") for name in data.names)
    return Schema(tuple(attributes))


def test_a_worked_matrix():
    # t = (3/4, 1/4), R = (.8, .2; .2, .8): R drawn 0 with .65, 1 with .35; Q = (12/13, 1/13; 3/7, 4/7)
    found = invariant_matrix(np.array([[0.8, 0.2], [0.2, 0.8]]), np.array([3.0, 1.0]))
    back = np.array([[12 / 13, 1 / 13], [3 / 7, 4 / 7]])
    assert found == pytest.approx(np.array([[0.8, 0.2], [0.2, 0.8]]) @ back)
    assert np.array([0.75, 0.25]) @ found == pytest.approx([0.75, 0.25], abs=1e-15)
    assert np.array([0.75, 0.25]) @ [[0.8, 0.2], [0.2, 0.8]] != pytest.approx([0.75, 0.25], abs=0.05)  # R does not


bases = st.integers(2, 6).flatmap(
    lambda c: st.tuples(
        st.lists(st.lists(st.integers(0, 20), min_size=c, max_size=c).filter(any), min_size=c, max_size=c),
        st.lists(st.integers(0, 1000), min_size=c, max_size=c),
    )
)


@given(bases)
def test_the_shares_are_kept_whatever_the_base(drawn):
    rows, counts = drawn
    base = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    found, t = invariant_matrix(base, np.array(counts, dtype=float)), np.array(counts) / max(sum(counts), 1)
    assert (found >= 0).all()
    assert found.sum(axis=1) == pytest.approx(np.ones(len(t)), abs=1e-12)
    assert np.abs(t @ found - t).max() <= 1e-12
    if sum(counts):
        assert (found[:, t == 0] == 0).all()  # what nobody has is never drawn
    together = t[:, None] * found
    assert together == pytest.approx(together.T, abs=1e-12)  # who became what is as frequent as the reverse


def test_equal_rows_give_the_shares_themselves():
    # epsilon 0: each value becomes that of a record drawn at random
    base = transition_matrix(pram("x", epsilon=0.0), ("a", "b", "c"), where="")
    assert invariant_matrix(base, np.array([1.0, 2.0, 5.0])) == pytest.approx(np.tile([1 / 8, 2 / 8, 5 / 8], (3, 1)))


def test_equal_shares_under_a_symmetric_base_give_its_square():
    base = transition_matrix(pram("x", retention=0.7), ("a", "b", "c"), where="")
    assert invariant_matrix(base, np.full(3, 4.0)) == pytest.approx(base @ base)


@pytest.fixture(scope="module")
def skewed():
    n = 60_000
    data = Microdata.from_columns({"a": ["u"] * (n * 6 // 10) + ["v"] * (n * 3 // 10) + ["w"] * (n // 10)})
    return data, schema_of(data)


def test_the_draw_follows_the_matrix_and_the_test_has_power(skewed):
    data, schema = skewed
    own = np.unique(data.column("a").to_pylist(), return_inverse=True)[1]
    expected = invariant_matrix(transition_matrix(pram("a"), ("u", "v", "w"), where=""), np.bincount(own).astype(float))
    for step, holds in ((pram("a"), True), (pram("a", retention=0.35), False)):
        drawn = np.unique(mask(data, schema, (step,), seed=SEED, path=()).data.column("a").to_pylist(), return_inverse=True)[1]
        counts = np.bincount(own * 3 + drawn, minlength=9).reshape(3, 3)
        tests = [chisquare(row, row.sum() * p).pvalue for row, p in zip(counts, expected, strict=True)]
        assert (min(tests) > LEVEL) == holds


def test_frequencies_stay_on_average_and_plain_pram_moves_them(skewed):
    data, schema = skewed
    shares, n = np.array([0.6, 0.3, 0.1]), data.n
    for invariant in (True, False):
        step = Pram(method="pram", attributes=("a",), retention=0.5, invariant=invariant)
        found = [mask(data, schema, (step,), seed=SEED, path=(str(i),)).data.column("a").to_pylist() for i in range(5)]
        counts = np.array([[one.count(value) for value in "uvw"] for one in found]).mean(axis=0)
        assert (np.abs(counts / n - shares).max() < 5 * np.sqrt(0.25 / (5 * n))) == invariant


@pytest.fixture(scope="module")
def strata():
    rng = np.random.default_rng(5)
    n = 3000
    town = rng.integers(0, 3, n)
    columns = {
        "town": [f"town {i}" for i in town],
        "a": [
            None if u < 0.05 else "xyz"[i] for i, u in zip((rng.random(n) * (1 + town)).astype(int), rng.random(n), strict=True)
        ],
        "grade": rng.integers(1, 5, n),
    }
    data = Microdata.from_columns(columns)
    return data, schema_of(data, grade=Scale.ORDINAL)


def test_each_stratum_keeps_its_own_frequencies(strata):
    data, schema = strata
    done = mask(data, schema, (pram("a", by=("town",), epsilon=0.0),), seed=SEED, path=())
    towns, before, after = (np.array(one, dtype=object) for one in (
        data.column("town").to_pylist(), data.column("a").to_pylist(), done.data.column("a").to_pylist()
    ))  # fmt: skip
    assert ((before == None) == (after == None)).all()  # noqa: E711  # elementwise
    assert set(before[towns == "town 0"]) == {"x", None}  # one category alone: it stays
    assert (before[towns == "town 0"] == after[towns == "town 0"]).all()
    assert set(after[towns == "town 1"]) == {"x", "y", None}  # z lives in town 2 alone
    for town in ("town 1", "town 2"):
        here = towns == town
        kept = np.mean(before[here] == "x")
        assert np.mean(after[here] == "x") == pytest.approx(kept, abs=5 * np.sqrt(kept / here.sum()))
        assert (before[here] != after[here]).any()


def concluded(data, schema, *steps, names=None):
    done = mask(data, schema, steps, seed=SEED, path=())
    return infer_belief(data.select(names or schema.names), done.data, schema, done.mechanisms), done


def test_who_knows_all_records_has_the_matrix(strata):
    found, _ = concluded(*strata, pram("grade"))
    (law,) = found.likelihoods
    counts = np.bincount(strata[0].column("grade").to_numpy())[1:].astype(float)
    expected = invariant_matrix(transition_matrix(pram("grade"), tuple("1234"), where=""), counts)
    assert law.probability[:4, :4] == pytest.approx(expected)
    assert found.unclear == ()


def test_in_strata_he_needs_to_know_the_strata(strata):
    step = pram("a", by=("town",))
    found, done = concluded(*strata, step)
    (law,) = found.likelihoods
    data = strata[0]
    towns, own, shown = (table.column(name).to_pylist() for table, name in ((data, "town"), (data, "a"), (done.data, "a")))
    for town, kept in (("town 0", 1.0), ("town 1", None), ("town 2", None)):
        here = [i for i in range(data.n) if towns[i] == town and own[i] == "x"]
        chance = law.probability[law.own[here[0]], law.shown[next(i for i in here if shown[i] == "x")]]
        counts = np.array([sum(own[i] == v and towns[i] == town for i in range(data.n)) for v in "xyz"], dtype=float)
        assert chance == pytest.approx(invariant_matrix(transition_matrix(step, tuple("xyz"), where=""), counts)[0, 0])
        assert kept is None or chance == kept
    elsewhere = next(i for i in range(data.n) if towns[i] == "town 1")
    here = next(i for i in range(data.n) if towns[i] == "town 2")
    assert law.probability[law.own[here], law.shown[elsewhere]] == 0  # a row of another stratum is not theirs
    stranger, _ = concluded(*strata, step, names=("a", "grade"))
    assert (stranger.likelihoods, stranger.unclear) == ((), ("a",))


def test_what_he_cannot_compute_he_doubts(strata):
    data, schema = strata
    coarse = Microaggregation(method="microaggregation", attributes=("grade",), k=700)
    swap = RankSwapping(method="rank_swapping", attributes=("grade",), window_percent=10.0)
    plain = Pram(method="pram", attributes=("grade",), retention=0.5)
    for steps in ((swap, pram("grade")), (plain, pram("grade")), (pram("grade"), coarse), (pram("grade", by=("town",)), plain)):
        found, _ = concluded(data, schema, *steps)
        assert (found.likelihoods, found.unclear) == ((), ("grade",))
    found, _ = concluded(data, schema, pram("grade"), plain)  # a known matrix after their own
    assert [law.names for law in found.likelihoods] == [("grade",)]


def test_after_a_sample_he_doubts(strata):
    from dataclasses import replace

    from sites import view_of

    from tasks.mask.categories.pram import infer

    data, schema = strata
    view = view_of(data, data, schema)
    partly = replace(view, knowledge=replace(view.knowledge, complete=False))
    assert infer(view, pram("grade")).likelihoods != ()
    assert infer(partly, pram("grade")).unclear == ("grade",)
    assert infer(partly, Pram(method="pram", attributes=("grade",), retention=0.5)).likelihoods != ()


def test_no_epsilon_and_nothing_of_the_data_in_what_is_told(strata):
    data, schema = strata
    step = pram("grade", epsilon=1.0)
    (one,) = randomisations(data, schema, (step,))
    assert (one.epsilon, one.invariant, one.truth_is_less_likely) == ("infinite", True, True)
    assert compute_record_epsilon(data, schema, (step,)) == "infinite"
    assert step.public() == {"attributes": ["grade"], "method": "pram", "epsilon": 1.0, "invariant": True}
    assert estimate_shares(data, data, schema, (step,)) == []  # its matrix would tell the shares


@pytest.mark.parametrize("rule", [{"by": ["town"]}, {"by": ["town"], "invariant": False}])
def test_strata_change_nothing_else(rule):
    with pytest.raises(ValidationError, match="strata would change nothing"):
        TypeAdapter(Masking).validate_json(json.dumps({"method": "pram", "attributes": ["a"], "retention": 0.8, **rule}))
