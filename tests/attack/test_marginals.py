"""Probabilities of pairs where every row is one record's: against all matchings, by hand, and what they claim."""

from __future__ import annotations

import json
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from tasks.attack.linkage.pair_marginals import WeighedPairs, compute_pair_marginals
from tasks.attack.methods import attack
from tasks.attack.probabilistic.estimation import link_by_probability
from tasks.attack.probabilistic.levels import create_pattern_comparison
from tasks.attack.probabilistic.match_posterior import check_compatible, compute_pattern_posterior, one_to_one
from tasks.attack.probabilistic.one_to_one_posterior import compute_one_to_one_posterior
from tasks.attack.probabilistic.patterns import count_patterns
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata

LEVEL = 1e-4
NAMES = ("a", "b", "c")
CODES = dict.fromkeys(NAMES, Scale.CODE)


def spec_of(**parameters):
    return ProbabilisticLinkage.model_validate_json(json.dumps({"method": "probabilistic_linkage", **parameters}))


TOGETHER = spec_of(matching="one_to_one")


def pairs_of(weights):
    there = weights > 0
    return WeighedPairs(np.append(0, np.cumsum(there.sum(axis=1))), np.nonzero(there)[1], weights[there])


def found_of(weights, records=None, rows=None, n_common=None):
    """Shape (r, c)."""
    records = np.ones(len(weights), dtype=np.int64) if records is None else np.array(records)
    rows = np.ones(weights.shape[1], dtype=np.int64) if rows is None else np.array(rows)
    n_common = min(records.sum(), rows.sum()) if n_common is None else n_common
    found = np.zeros(weights.shape)
    found[weights > 0] = compute_pair_marginals(pairs_of(weights), records, rows, int(n_common))
    return found


def slowly(weights, n_common):
    """The same by adding up all matchings of so many pairs."""
    chance, total = np.zeros(weights.shape), 0.0
    for records in combinations(range(len(weights)), n_common):
        for rows in permutations(range(weights.shape[1]), n_common):
            product = weights[list(records), list(rows)].prod()
            chance[list(records), list(rows)] += product
            total += product
    return chance / total


def test_worked_by_hand():
    np.testing.assert_allclose(found_of(np.ones((2, 5))), np.full((2, 5), 0.2), atol=1e-6)
    # 3 of 4 records are in 5 rows: each pair is 3 of 20
    np.testing.assert_allclose(found_of(np.ones((4, 5)), n_common=3), np.full((4, 5), 0.15), atol=1e-6)
    # the first can be row 0 alone: then the second is row 1, and the third row 2, whatever they would rather be
    sure = np.array([[1, 0, 0], [9, 1, 0], [5, 5, 0.1]])
    np.testing.assert_allclose(found_of(sure), np.eye(3), atol=1e-6)
    # two records that like the same row alike have it with 1/2 each, and share the other
    np.testing.assert_allclose(found_of(np.array([[3.0, 1.0], [3.0, 1.0]])), np.full((2, 2), 0.5), atol=1e-6)


weights = st.integers(2, 5).flatmap(lambda n: st.lists(st.floats(-3, 3), min_size=n * n, max_size=n * n))


@settings(max_examples=200, deadline=None)
@given(weights, st.integers(0, 2), st.integers(0, 2), st.integers(0, 2))
def test_nobody_has_more_than_one_row_and_as_many_are_matched_as_there_are(logs, fewer_records, fewer_rows, absent):
    n = int(np.sqrt(len(logs)))
    table = np.exp(np.array(logs).reshape(n, n))[: max(n - fewer_records, 1), : max(n - fewer_rows, 1)]
    n_common = max(min(table.shape) - absent, 1)
    found = found_of(table, n_common=n_common)
    assert found.min() >= 0 and found.sum(axis=1).max() <= 1 + 1e-9
    assert found.sum(axis=0).max() <= 1.01  # as far as the messages have settled
    assert found.sum() == pytest.approx(n_common, abs=0.01)


@pytest.mark.parametrize("absent", [0, 1])
@pytest.mark.parametrize("shape", [(3, 3), (4, 4), (5, 5), (3, 5), (5, 3), (2, 4), (4, 2)])
def test_near_the_sum_over_all_matchings(shape, absent):
    """So few records make the shortest circles, worst where all of three are matched to all of three: 0.14."""
    rng, n_common, off = np.random.default_rng(20261123), min(shape) - absent, []
    for _ in range(30):
        table = np.exp(rng.uniform(-3, 3, size=shape))
        exact = slowly(table, n_common)
        alone = table / table.sum(axis=1, keepdims=True) * n_common / len(table)
        off.append([np.abs(one - exact).mean() for one in (found_of(table, n_common=n_common), alone)])
    together, by_itself = np.mean(off, axis=0)
    most = {(3, 3): 0.15, (4, 4): 0.08, (5, 5): 0.04}.get(shape, 0.03)
    assert together < (0.45 if absent else 1) * most
    assert together < 0.9 * by_itself


def test_of_two_records_and_two_rows_it_is_too_sure():
    # a known limit: 4 : 1 becomes certainty, as messages go around in a circle of four
    table = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert slowly(table, 2)[0, 0] == pytest.approx(0.8)
    assert found_of(table)[0, 0] > 0.99


def test_closer_to_the_sum_over_all_matchings_than_each_record_by_itself():
    rng, off = np.random.default_rng(20261122), []
    for _ in range(40):
        table = np.exp(3 * rng.normal(size=(6, 6)))
        exact = slowly(table, 6)
        alone = table / table.sum(axis=1, keepdims=True)
        off.append([np.abs(one - exact).mean() for one in (found_of(table), alone)])
    together, alone = np.mean(off, axis=0)
    assert together < 0.06 < 0.1 < alone


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_equal_records_and_rows_count_as_often_as_they_occur(seed):
    rng = np.random.default_rng(seed)
    table, records, rows = np.exp(rng.normal(size=(3, 4))), [2, 1, 3], [1, 2, 2, 1]
    whole = np.repeat(np.repeat(table, records, axis=0), rows, axis=1)
    some = np.repeat(np.repeat(found_of(table, records, rows), records, axis=0), rows, axis=1)
    np.testing.assert_allclose(some, found_of(whole), atol=1e-6)
    np.testing.assert_allclose(some.sum(axis=1), np.ones(6))
    np.testing.assert_allclose(some.sum(axis=0), np.ones(6), atol=1e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("faint", [1.0, 1e-200])
def test_a_row_that_only_records_that_are_not_released_could_be(faint):
    """Two records of one kind, and none of the other: the second row is like the other kind alone."""
    pairs = WeighedPairs(np.array([0, 1, 2]), np.array([0, 1]), np.array([1.0, faint]))
    found = compute_pair_marginals(pairs, np.array([2, 0]), np.array([1, 1]), 2)
    assert found[0] == 1
    assert np.isfinite(found).all()


def test_factors_of_records_and_of_rows_change_nothing():
    rng = np.random.default_rng(5)
    table = np.exp(2 * rng.normal(size=(30, 30)))
    scaled = table * np.exp(8 * rng.normal(size=30)) * np.exp(8 * rng.normal(size=(30, 1)))
    np.testing.assert_allclose(found_of(scaled), found_of(table), atol=2e-3)


def files(table, rng, n=150, kept=0.8, sizes=(8, 6, 5)):
    """Independent codes, of which a mask kept a share; the released rows in random order, and whose they are."""
    own = {name: rng.integers(0, size, n) for name, size in zip(NAMES, sizes, strict=True)}
    order = rng.permutation(n)
    drawn = {name: rng.integers(0, size, n) for name, size in zip(NAMES, sizes, strict=True)}
    shown = {name: np.where(rng.random(n) < kept, one, drawn[name])[order] for name, one in own.items()}
    original, schema = table(own, scales=CODES)
    return original, Microdata.from_columns(shown), schema, np.argsort(order)


def attacked(original, masked, schema, own_row, spec):
    parts = (original, masked, schema, (), spec, Intruder("declared", NAMES))
    alignment = Alignment.complete_in(np.arange(len(own_row)))
    return attack(original, masked.take(own_row), *parts[2:], alignment=alignment, targets=np.arange(original.n))


def claims_of(table, seeds, kept, believed):
    """For each seed: hits and claims of the assigned rows, r at the truth and the sum of r^2, and r at the truth alone.

    believed: what the intruder takes for the share kept, of which m follows; u is what two random codes show.
    """
    found, sizes, everybody = [], np.array((8, 6, 5)), np.arange(150)
    for seed in range(seeds):
        original, masked, schema, own_row = files(table, np.random.default_rng(seed), kept=kept)
        both = create_pattern_comparison(original, masked, schema, NAMES)
        patterns = count_patterns(both)
        m, u = (believed + (1 - believed) / sizes)[:, None], (1 / sizes)[:, None]
        log_ratio = np.where(patterns.levels == 1, np.log(m / u), np.log((1 - m) / (1 - u))).sum(axis=0)
        links = one_to_one(both, patterns, log_ratio)
        held = compute_one_to_one_posterior(both, patterns, log_ratio, links, n_common=150, participation_known=True)
        alone = compute_pattern_posterior(both, patterns, log_ratio).compute_probabilities(everybody, own_row).mean()
        hit, at_truth = links.guesses(everybody).credit(own_row).mean(), held.compute_probabilities(everybody, own_row).mean()
        kinds = both.own_of_record
        found.append((hit, held.compute_guess_probabilities(everybody).mean(), at_truth, held.squares[kinds].mean(), alone))
    return np.array(found)


def test_the_law_of_what_is_claimed(table):
    # allowed: 5 % of the claim; with a share kept that is wrong by 30 % it must fail
    right = claims_of(table, 20, 0.7, believed=0.7)
    for hits, claims in ((right[:, 0], right[:, 1]), (right[:, 2], right[:, 3])):
        apart = (hits - claims) / claims.mean()
        assert ttest_1samp(apart, 0.05, alternative="greater").pvalue > LEVEL
        assert ttest_1samp(apart, -0.05, alternative="less").pvalue > LEVEL
    wrong = claims_of(table, 20, 0.7, believed=0.91)
    for hits, claims in ((wrong[:, 0], wrong[:, 1]), (wrong[:, 2], wrong[:, 3])):
        assert ttest_1samp((hits - claims) / claims.mean(), -0.05, alternative="less").pvalue < LEVEL
    assert (right[:, 2] > right[:, 4]).mean() >= 0.9  # the truth is more probable than to each record by itself
    assert right[:, 2].mean() > 1.05 * right[:, 4].mean()


def test_what_is_told_of_an_attack_is_that_of_its_probabilities(table):
    original, masked, schema, own_row = files(table, np.random.default_rng(4))
    result, alone = (attacked(original, masked, schema, own_row, one) for one in (TOGETHER, spec_of()))
    assert (result.probable.jointly, alone.probable.jointly) == (True, False)
    assert result.outcomes.floats("claimed").mean() == pytest.approx(result.probable.claimed)
    found = link_by_probability(original, masked.take(own_row), schema, TOGETHER, NAMES, participation_known=True)
    shares = np.array([found.distribution.compute_row_probabilities(i) for i in range(150)])
    assert result.outcomes.floats("posterior") == pytest.approx(np.diag(shares))
    guesses = found.links.guesses(np.arange(150))
    linked = [np.isin(found.links.found_class, guesses.classes[guesses.starts[i] : guesses.starts[i + 1]]) for i in range(150)]
    claims = [shares[i][one].mean() for i, one in enumerate(linked)]
    assert result.outcomes.floats("claimed") == pytest.approx(claims)
    assert result.outcomes.floats("posterior").mean() > alone.outcomes.floats("posterior").mean()


def test_it_is_a_probability_that_an_intruder_can_hold(table):
    original, masked, schema, _ = files(table, np.random.default_rng(2), n=40)
    for common, known in ((40, True), (30, True), (30, False)):
        found = link_by_probability(
            original, masked, schema, TOGETHER, NAMES, n_common=common, participation_known=known
        ).distribution
        for i in range(40):
            shares = found.compute_row_probabilities(i)
            check_compatible(shares, found.both.shown_of_row, present=known)
            kind = found.both.own_of_record[i]
            assert shares.sum() == pytest.approx(found.present[kind])
            assert (shares**2).sum() == pytest.approx(found.squares[kind])
        if not known:
            assert found.present[found.both.own_of_record].sum() == pytest.approx(30, abs=0.1)


def test_a_row_that_is_surely_anothers_is_nobodys_second_choice(table):
    own = {"a": [1, 1, 2], "b": [1, 2, 2], "c": [1, 1, 1]}
    original, schema = table(own, scales=CODES)
    masked = Microdata.from_columns({"a": [1, 2, 2], "b": [1, 2, 2], "c": [1, 1, 3]})
    alone, together = (
        link_by_probability(original, masked, schema, one, NAMES, participation_known=True).distribution
        for one in (spec_of(), TOGETHER)
    )
    assert together.compute_row_probabilities(2)[1:].sum() > alone.compute_row_probabilities(2)[1:].sum()


def test_records_of_nobody_are_worth_chance(table):
    rng, at_truth = np.random.default_rng(3), []
    for _ in range(20):
        original, masked, schema, _ = files(table, rng, n=60, kept=0.0)
        at_truth.append(attacked(original, masked, schema, np.arange(60), TOGETHER).outcomes.floats("posterior").mean())
    assert ttest_1samp(at_truth, 1 / 60).pvalue > LEVEL


def test_too_many_pairs_leave_each_record_by_itself_and_say_so(table, monkeypatch):
    monkeypatch.setattr("tasks.attack.probabilistic.one_to_one_posterior.MOST_PAIRS_JOINTLY", 10)
    original, masked, schema, own_row = files(table, np.random.default_rng(2), n=40)
    result = attacked(original, masked, schema, own_row, TOGETHER)
    alone = attacked(original, masked, schema, own_row, spec_of())
    assert (result.status, result.probable.jointly) == ("ok", False)
    assert "each record by itself" in result.knows_mechanism
    assert result.outcomes.floats("posterior").tolist() == alone.outcomes.floats("posterior").tolist()
