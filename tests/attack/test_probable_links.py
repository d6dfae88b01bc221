"""r(b) and the links of probabilistic linkage: against the formula over all pairs, by chance, and on real tables."""

from __future__ import annotations

import json
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import poisson
from statsmodels.datasets import anes96

from tasks.attack.linkage.assignment import solve_assignment
from tasks.attack.probabilistic.estimation import link_by_probability
from tasks.attack.probabilistic.fellegi_sunter import (
    compute_prevalence,
    create_assumed_prior,
    estimate_unconstrained,
    fit_supervised_model,
    fit_tied_model,
)
from tasks.attack.probabilistic.levels import SameBin, create_pattern_comparison
from tasks.attack.probabilistic.match_posterior import check_compatible, compute_pattern_posterior, one_to_one
from tasks.attack.probabilistic.pattern_assignment import PatternCosts
from tasks.attack.probabilistic.patterns import compute_patterns, count_patterns, create_rules
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.mask.categories.pram import Pram
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.microdata.errors import AttackFailed, InputError, NotApplicable
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata

LEVEL = 1e-4
CODES = dict.fromkeys("abcd", Scale.CODE)


def linkage(**parameters):
    return ProbabilisticLinkage.model_validate_json(json.dumps({"method": "probabilistic_linkage", **parameters}))


def files(table, own, shown):
    names = "abcd"[: len(own[0])]
    columns = [{name: [row[j] for row in rows] for j, name in enumerate(names)} for rows in (own, shown)]
    original, schema = table(columns[0], scales=dict.fromkeys(names, Scale.CODE))
    return original, Microdata.from_columns(columns[1]), schema


row = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3))
rows = st.lists(row, min_size=2, max_size=9)


def shares_slowly(found, presence=1.0):
    """r(b) of all records over all rows: m/u over its sum, by the model's probabilities of the levels."""
    both, model = found.both, found.model
    n, m = len(both.own_of_record), len(both.shown_of_row)
    ratio = np.ones((n, m))
    for j in range(len(both.sizes)):
        own, shown = both.own[j][both.own_of_record], both.shown[j][both.shown_of_row]
        alike = np.equal.outer(own, shown).astype(int)
        ratio *= (model.m[j] / np.where(model.u[j] > 0, model.u[j], 1))[alike]
    prior = presence / m
    return prior * ratio / (1 - presence + prior * ratio.sum(axis=1, keepdims=True))


@settings(max_examples=30, deadline=None)
@given(rows, rows)
def test_the_distribution_is_the_formula(table, credits, own, shown):
    original, masked, schema = files(table, own, shown)
    found = link_by_probability(original, masked, schema, linkage(), original.names)
    slowly = shares_slowly(found, min(len(own), len(shown)) / len(own))
    r = np.array([found.distribution.compute_row_probabilities(i) for i in range(original.n)])
    assert r == pytest.approx(slowly, rel=1e-9)
    records = found.both.own_of_record
    assert found.distribution.largest[records] == pytest.approx(r.max(axis=1))
    assert found.distribution.squares[records] == pytest.approx((r**2).sum(axis=1))
    assert found.distribution.present[records] == pytest.approx(r.sum(axis=1))
    below = 1 - slowly / slowly.max(axis=1, keepdims=True)
    assume(not ((below > 1e-11) & (below < 1e-7)).any())  # what is nearly a tie is one or none by the last step of the estimate
    best = below <= 1e-11
    assert credits(found.links) == pytest.approx(best / best.sum(axis=1, keepdims=True))


@settings(max_examples=30, deadline=None)
@given(rows, rows, st.randoms(use_true_random=False))
def test_guesses_move_with_the_rows_and_the_order_of_attributes_does_not_count(table, own, shown, random):
    original, masked, schema = files(table, own, shown)
    plain = link_by_probability(original, masked, schema, linkage(), original.names)
    order = random.sample(range(len(shown)), len(shown))
    names = tuple(random.sample(original.names, 3))
    moved = link_by_probability(original, masked.take(np.array(order)), schema, linkage(), names)
    for i in range(original.n):
        assert moved.distribution.compute_row_probabilities(i) == pytest.approx(
            plain.distribution.compute_row_probabilities(i)[order], rel=1e-6
        )


@settings(max_examples=30, deadline=None)
@given(rows, rows)
def test_every_distribution_is_one_that_an_intruder_can_hold(table, own, shown):
    original, masked, schema = files(table, own, shown)
    found = link_by_probability(original, masked, schema, linkage(), original.names)
    known = np.unique(np.array(shown), axis=0, return_inverse=True)[1]
    everybody_there = len(own) <= len(shown)
    for i in range(original.n):
        shares = found.distribution.compute_row_probabilities(i)
        assert everybody_there == pytest.approx(shares.sum() > 1 - 1e-9)
        check_compatible(shares, known, present=everybody_there)


def test_what_is_no_probability_is_refused():
    known = np.array([0, 0, 1])
    check_compatible(np.array([0.25, 0.25, 0.5]), known)
    check_compatible(np.array([0.25, 0.25, 0.0]), known, present=False)
    for shares in ([0.25, 0.25, 0.25], [0.5, 0.5, 0.5], [0.75, 0.75, -0.5]):
        with pytest.raises(AttackFailed, match="is none"):
            check_compatible(np.array(shares), known)
    with pytest.raises(AttackFailed, match="cannot tell apart"):
        check_compatible(np.array([0.1, 0.4, 0.5]), known)


def test_worked_distribution(table):
    # m = .9 and u = .4 of one attribute: alike 2.25, else 1/6. Record 1 has one row like it and two others, which share alike
    original, masked, schema = files(table, [(1,)], [(1,), (2,), (3,)])
    both = create_pattern_comparison(original, masked, schema, ("a",))
    found = compute_pattern_posterior(both, count_patterns(both), np.log([0.1 / 0.6, 0.9 / 0.4]))
    assert found.compute_row_probabilities(0) == pytest.approx(np.array([2.25, 1 / 6, 1 / 6]) / (2.25 + 1 / 3))
    # with a chance of one half that the own row is there: 3 (1 - .5) / .5 = 3 more in the sum
    absent = compute_pattern_posterior(both, count_patterns(both), np.log([0.1 / 0.6, 0.9 / 0.4]), presence=0.5)
    assert absent.compute_row_probabilities(0) == pytest.approx(np.array([2.25, 1 / 6, 1 / 6]) / (2.25 + 1 / 3 + 3))


def test_a_record_that_no_row_can_be_has_no_guess(table):
    original, masked, schema = files(table, [(1,), (2,)], [(1,), (1,)])
    both = create_pattern_comparison(original, masked, schema, ("a",))
    found = compute_pattern_posterior(both, count_patterns(both), np.array([-np.inf, 0.0]))
    assert found.links.guesses(np.arange(2)).tie_sizes().tolist() == [2, 0]
    assert found.compute_row_probabilities(1).tolist() == [0, 0]
    assert found.largest.tolist() == [0.5, 0]
    assigned = one_to_one(both, count_patterns(both), np.array([-np.inf, 0.0]))
    assert assigned.guesses(np.arange(2)).credit(np.arange(2)).tolist() == [0.5, 0]


@settings(max_examples=25, deadline=None)
@given(st.lists(row, min_size=4, max_size=4), st.lists(row, min_size=4, max_size=5))
def test_one_to_one_is_the_likeliest_assignment(table, own, shown):
    original, masked, schema = files(table, own, shown)
    found = link_by_probability(original, masked, schema, linkage(), original.names)
    logs = np.log(shares_slowly(found))
    best = max(sum(logs[i, one] for i, one in enumerate(order)) for order in permutations(range(len(shown)), 4))
    links = one_to_one(found.both, found.patterns, found.model.log_ratio)
    guesses = links.guesses(np.arange(4))
    linked = [np.isin(links.found_class, guesses.classes[guesses.starts[i] : guesses.starts[i + 1]]) for i in range(4)]
    chosen = [order for order in permutations(range(len(shown)), 4) if all(linked[i][one] for i, one in enumerate(order))]
    assert max(sum(logs[i, one] for i, one in enumerate(order)) for order in chosen) == pytest.approx(best)


@settings(max_examples=25, deadline=None)
@given(st.lists(row, min_size=2, max_size=12), st.lists(row, min_size=2, max_size=12))
def test_growing_lists_find_an_assignment_as_likely_as_scipy_over_all_pairs(table, own, shown):
    original, masked, schema = files(table, own, shown)
    found = link_by_probability(original, masked, schema, linkage(), original.names)
    both, log_ratio = found.both, found.model.log_ratio

    def cost_of(numbers):
        return log_ratio.max() - log_ratio[np.searchsorted(found.patterns.numbers, numbers)]

    costs = PatternCosts(create_rules(both), cost_of, both.alike)
    grown = solve_assignment(costs, both.own_of_record, both.shown_of_row, full=0)
    matrix = costs.matrix(both.own_of_record)[:, both.shown_of_row]
    records, rows = linear_sum_assignment(matrix)
    assert grown.total == pytest.approx(matrix[records, rows].sum(), abs=1e-9)
    assert grown.bound == pytest.approx(grown.total, abs=1e-6)
    turned = costs.swap_sides().matrix(np.arange(both.shown.shape[1]))
    np.testing.assert_array_equal(turned.T, costs.matrix(np.arange(both.own.shape[1])))
    assert costs.apart(both.own_of_record[:2], both.shown_of_row[:2]).tolist() == np.diag(matrix)[:2].tolist()


def test_larger_files_are_assigned_by_growing_lists(table, credits, monkeypatch):
    own = [(i % 7, i % 5, i % 3) for i in range(40)]
    original, masked, schema = files(table, own, [own[i] for i in np.random.default_rng(1).permutation(40)])
    at_once = link_by_probability(original, masked, schema, linkage(matching="one_to_one"), original.names)
    monkeypatch.setattr("tasks.attack.probabilistic.match_posterior.MOST_OF_A_FULL_MATRIX", 20)
    grown = link_by_probability(original, masked, schema, linkage(matching="one_to_one"), original.names)
    np.testing.assert_array_equal(credits(grown.links), credits(at_once.links))
    monkeypatch.setattr("tasks.attack.probabilistic.match_posterior.MOST_PAIRS_TOGETHER", 100)
    with pytest.raises(NotApplicable, match="too many to assign"):
        link_by_probability(original, masked, schema, linkage(matching="one_to_one"), original.names)
    with pytest.raises(NotApplicable, match="cannot be matches"):
        one_to_one(grown.both, grown.patterns, np.full(len(grown.patterns.numbers), -np.inf))


def test_a_row_that_thousands_may_have_is_shared_by_them(table):
    original, masked, schema = files(table, [(1,)] * 3001, [(1,)])
    found = link_by_probability(original, masked, schema, linkage(matching="one_to_one"), ("a",))
    assert found.links.guesses(np.arange(3001)).tie_sizes().tolist() == [1] * 3001


@pytest.mark.parametrize("matching", ["likeliest", "one_to_one"])
def test_everybody_is_found_where_nothing_is_hidden(table, matching):
    own = [(i, i % 2, i % 3) for i in range(40)]
    original, masked, schema = files(table, own, own)
    found = link_by_probability(original, masked, schema, linkage(matching=matching), original.names)
    assert found.links.guesses(np.arange(40)).credit(np.arange(40)).tolist() == [1] * 40
    assert found.distribution.compute_probabilities(np.arange(40), np.arange(40)).min() > 0.8


def test_a_release_that_shows_nothing_earns_chance(table):
    original, masked, schema = files(table, [(i, i % 2) for i in range(10)], [(0, 0)] * 10)
    found = link_by_probability(original, masked, schema, linkage(), original.names)
    assert found.links.guesses(np.arange(10)).credit(np.arange(10)) == pytest.approx(np.full(10, 0.1))
    assert found.distribution.compute_row_probabilities(3) == pytest.approx(np.full(10, 0.1))


def test_over_all_shifts_of_the_truth_a_guess_earns_exactly_chance(table):
    rng = np.random.default_rng(1)
    own, shown = (rng.integers(0, 4, (25, 3)).tolist() for _ in range(2))
    original, masked, schema = files(table, own, shown)
    found = link_by_probability(original, masked, schema, linkage(), original.names)
    shifts = [np.roll(np.arange(25), s) for s in range(25)]
    everybody = np.arange(25)
    assert np.mean([found.links.guesses(everybody).credit(one).mean() for one in shifts]) == pytest.approx(1 / 25)
    assert np.mean([found.distribution.compute_probabilities(everybody, one).mean() for one in shifts]) == pytest.approx(1 / 25)


@pytest.mark.parametrize("assumed_share", [0.6, "estimated"])
def test_independent_files_earn_no_more_than_chance(table, assumed_share):
    # 40 files of 60 records: about 40 correct links by chance
    rng = np.random.default_rng(20261122)
    hits = 0.0
    for _ in range(40):
        own, shown = (rng.integers(0, 6, (60, 3)).tolist() for _ in range(2))
        original, masked, schema = files(table, own, shown)
        found = link_by_probability(original, masked, schema, linkage(assumed={"kept": assumed_share}), original.names)
        hits += found.links.guesses(np.arange(60)).credit(np.arange(60)).sum()
    assert LEVEL < poisson.cdf(hits, 40) < 1 - LEVEL


@pytest.mark.parametrize("seed", [1, 2])
def test_unsupervised_links_of_anes96_are_nearly_those_of_somebody_who_knows_m(table, seed):
    frame = anes96.load_pandas().data[["age", "educ", "income", "popul"]].astype(int)
    original, schema = table({name: frame[name].to_numpy() for name in frame}, scales=dict.fromkeys(frame, Scale.CODE))
    step = Pram(method="pram", attributes=original.names, retention=0.8)
    masked = mask(original, schema, (step,), seed=bytes([seed]) * 32, path=()).data
    both = create_pattern_comparison(original, masked, schema, original.names)
    patterns, everybody = count_patterns(both), np.arange(original.n)
    worst = fit_supervised_model(patterns, patterns.count_occurrences(compute_patterns(both, everybody, everybody)))
    found = fit_tied_model(
        patterns, compute_prevalence(original.n, original.n, original.n), create_assumed_prior(patterns, 0.6)
    )
    hits, most = (
        compute_pattern_posterior(both, patterns, one.log_ratio).links.guesses(everybody).credit(everybody).sum()
        for one in (found, worst)
    )
    assert hits >= 0.95 * most
    assert most > 600


def test_the_attack_says_what_it_estimated(table):
    rng = np.random.default_rng(4)
    own = rng.integers(0, 5, (60, 3))
    shown = np.where(rng.random((60, 3)) < 0.8, own, rng.integers(0, 5, (60, 3)))
    original, masked, schema = files(table, own.tolist(), shown.tolist())
    everybody = np.arange(60)
    spec = linkage(false_links=0.02, missed=0.1)
    found = link_by_probability(original, masked, schema, spec, original.names)
    counts = found.classify_true_pairs(everybody, everybody)
    assert sum(counts.matches) == 60 and sum(counts.others) == 3540
    alike = (own[:, None] == shown).all(axis=2)
    assert counts.matches[0] + counts.others[0] == alike.sum()
    assert counts.matches[0] == np.diag(alike).sum()
    assert found.model.prevalence == 1 / 60
    known = link_by_probability(
        original, masked, schema, linkage(estimate="supervised"), original.names, matches=(everybody, everybody)
    )
    assert [float(one[1]) for one in known.model.m] == pytest.approx((own == shown).mean(axis=0))
    assert link_by_probability(original, masked, schema, linkage(estimate="plain"), original.names).model.steps > 1


def test_who_may_be_absent_is_less_probable(table):
    original, masked, schema = files(table, [(1, 2), (2, 1), (3, 1), (1, 1)], [(1, 2), (2, 1)])
    found = link_by_probability(original, masked, schema, linkage(), original.names)
    assert found.model.prevalence == 2 / 8
    assert (found.distribution.present < 1).all()


def test_interactions_of_attributes_that_are_not_known_are_left_out(table):
    rng = np.random.default_rng(8)
    own = rng.integers(0, 3, (30, 3)).tolist()
    original, masked, schema = files(table, own, own)
    spec = linkage(interactions=[["a", "b"], ["b", "c"]])
    found = link_by_probability(original, masked, schema, spec, ("a", "b"))
    same = link_by_probability(original, masked, schema, linkage(interactions=[["a", "b"]]), ("a", "b"))
    assert found.model.log_m.tolist() == same.model.log_m.tolist()
    without = link_by_probability(original, masked, schema, linkage(), ("a", "b"))
    assert found.model.log_m.tolist() != without.model.log_m.tolist()


@pytest.mark.parametrize(
    "parameters",
    [
        {"estimate": "plain", "interactions": [["a", "b"]]},
        {"interactions": [["a", "b"], ["b", "a"]]},
        {"interactions": [["a"]]},
        {"assumed": {"kept": 1.0}},
        {"compare": {"a": []}},
        {"missed": 1.5},
    ],
)
def test_what_cannot_be_meant_is_refused(parameters):
    with pytest.raises(ValueError, match="validation error"):
        linkage(**parameters)


def test_unknown_names_are_refused_with_the_likely_one(table):
    original, masked, schema = files(table, [(1, 2)], [(1, 2)])
    for spec in (linkage(compare={"aa": [{"rule": "exact"}]}), linkage(interactions=[["a", "aa"]])):
        with pytest.raises(InputError, match="no attribute `aa`"):
            link_by_probability(original, masked, schema, spec, ("a", "b"))


def test_who_knows_nothing_links_nobody(table):
    original, masked, schema = files(table, [(1, 2)], [(1, 2)])
    with pytest.raises(NotApplicable, match="knows no published"):
        link_by_probability(original, masked, schema, linkage(), ())
    with pytest.raises(NotApplicable, match="who is who"):
        link_by_probability(original, masked, schema, linkage(estimate="supervised"), ("a",))
    with pytest.raises(NotApplicable, match="no record of the intruder"):
        link_by_probability(original, masked, schema, linkage(), ("a",), n_common=0)


@pytest.mark.parametrize("estimate", ["tied", "plain"])
def test_one_record_is_linked_to_the_only_row(table, estimate):
    original, masked, schema = files(table, [(1, 2)], [(1, 2)])
    found = link_by_probability(original, masked, schema, linkage(estimate=estimate), ("a",))
    assert found.distribution.compute_row_probabilities(0).tolist() == [1.0]


def test_a_plain_estimate_that_does_not_settle_is_no_rate(table, monkeypatch):
    monkeypatch.setattr("tasks.attack.probabilistic.fellegi_sunter.MOST_STEPS", 1)
    original, masked, schema = files(table, [(1, 2), (2, 1), (0, 1)], [(1, 2), (2, 2), (0, 0)])
    with pytest.raises(AttackFailed, match="did not settle"):
        link_by_probability(original, masked, schema, linkage(estimate="plain"), ("a", "b"))


KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "hhcivil"]


def links_by(original, schema, step, ladders=()):
    """Expected links of the tied, the plain and the supervised model, over five draws of the mask."""
    everybody, sums = np.arange(original.n), np.zeros(3)
    for seed in range(5):
        masked = mask(original, schema, (step,), seed=bytes([seed]) * 32, path=()).data
        both = create_pattern_comparison(original, masked, schema, original.names, ladders)
        patterns, prevalence = count_patterns(both), compute_prevalence(original.n, original.n, original.n)
        matches = patterns.count_occurrences(compute_patterns(both, everybody, everybody))
        models = (
            fit_tied_model(patterns, prevalence, create_assumed_prior(patterns, 0.6)),
            estimate_unconstrained(patterns, prevalence),
            fit_supervised_model(patterns, matches),
        )
        guesses = [compute_pattern_posterior(both, patterns, one.log_ratio).links.guesses(everybody) for one in models]
        sums += [one.credit(everybody).sum() for one in guesses]
    return sums


@pytest.mark.slow
@pytest.mark.parametrize("retention", [0.8, 0.6])
def test_links_of_household_are_nearly_those_of_somebody_who_knows_m(table, reference, retention):
    frame = pd.read_csv(reference / "household.csv")[KEYS]
    original, schema = table({name: frame[name].to_numpy() for name in frame}, scales=dict.fromkeys(KEYS, Scale.CODE))
    found, by_plain, most = links_by(original, schema, Pram(method="pram", attributes=original.names, retention=retention))
    assert found >= 0.95 * most
    assert by_plain < 0.7 * most  # the class that it finds is not that of the matches


@pytest.mark.slow
@pytest.mark.long
def test_links_of_census_in_bins_are_far_more_than_by_plain_estimation(table, reference):
    """The gain over plain estimation is asserted of household in the slow tier."""
    frame = pd.read_csv(reference / "census.csv").iloc[:, :6]
    original, schema = table({name: frame[name].to_numpy() for name in frame})
    step = Noise(method="noise", attributes=original.names, kind="independent", sd_percent=30)
    ladders = tuple((name, (SameBin(rule="same_bin", bins=20),)) for name in original.names)
    found, by_plain, _ = links_by(original, schema, step, ladders)
    assert found >= 1.3 * by_plain
