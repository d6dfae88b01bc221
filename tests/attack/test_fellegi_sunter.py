"""The model of the patterns: weights and thresholds by hand, and estimates that find again what was planted."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tasks.attack.probabilistic.attenuation import RetentionEstimate, estimate_retention
from tasks.attack.probabilistic.decision import choose_classes, classify_pairs
from tasks.attack.probabilistic.fellegi_sunter import (
    Model,
    compute_prevalence,
    create_assumed_prior,
    create_estimated_prior,
    estimate_unconstrained,
    fit_supervised_model,
    fit_tied_model,
)
from tasks.attack.probabilistic.levels import SameBin, Within, create_pattern_comparison
from tasks.attack.probabilistic.loglinear import create_table, fit_loglinear_model
from tasks.attack.probabilistic.patterns import Patterns, compute_patterns, compute_strides, count_patterns
from tasks.attack.probabilistic.waterfall import riskiest
from tasks.mask.categories.pram import Pram
from tasks.mask.methods import mask
from tasks.microdata.errors import AttackFailed, InputError
from tasks.microdata.schema import Scale

N = 10**12  # pairs of a planted table: whole numbers then round nothing away


def patterns_with(counts):
    """Patterns whose counts are given as an array with one axis for each attribute."""
    counts = np.asarray(counts)
    sizes = np.array(counts.shape, dtype=np.int64)
    every = np.array(list(product(*map(range, counts.shape))))
    number = every @ compute_strides(sizes)
    order = np.argsort(number)
    occurs = order[counts.ravel()[order] > 0]
    names = tuple("abcdefgh"[: len(sizes)])
    return Patterns(number[occurs], counts.ravel()[occurs], every[occurs].T.astype(np.uint8), sizes, names)


def joint(*by_attribute):
    """The probabilities of all patterns of attributes that agree independently."""
    found = np.ones(())
    for one in by_attribute:
        found = np.multiply.outer(found, np.asarray(one))
    return found


def by_hand():
    """m = .9, .8 and u = .1, .25: patterns 00, 10, 01, 11 have m .02 .18 .08 .72 and u .675 .075 .225 .025."""
    patterns = patterns_with(np.array([[675, 225], [75, 25]]) * 4)
    m, u = (np.array([0.1, 0.9]), np.array([0.2, 0.8])), (np.array([0.9, 0.1]), np.array([0.75, 0.25]))
    logs = (np.log([0.02, 0.18, 0.08, 0.72]), np.log([0.675, 0.075, 0.225, 0.025]))
    return patterns, Model(m, u, *logs, prevalence=0.001)


def binary(patterns):
    return [float(one[1]) for one in patterns]


def test_worked_thresholds():
    # false links .03: 11 (u .025) is linked, with 10 they would be .1; missed .05: 00 (m .02) is not, with 01 it would be .1
    patterns, model = by_hand()
    found = choose_classes(model, false_links=0.03, missed=0.05)
    assert patterns.numbers[found.linked].tolist() == [3]
    assert patterns.numbers[found.not_linked].tolist() == [0]
    assert (found.link_from, found.drop_to) == pytest.approx((np.log2(0.72 / 0.025), np.log2(0.02 / 0.675)))
    assert (found.false_links, found.missed) == pytest.approx((0.025, 0.02))
    assert found.link_from == pytest.approx(4.848, abs=1e-3)


def test_a_rate_that_is_reached_exactly_is_used_up_and_nothing_is_left_to_a_clerk():
    _, model = by_hand()
    found = choose_classes(model, false_links=0.1, missed=0.1)
    assert (found.linked | found.not_linked).tolist() == [True] * 4
    assert (found.false_links, found.missed) == pytest.approx((0.1, 0.1))


def test_where_both_rates_allow_it_a_pattern_is_linked():
    _, model = by_hand()
    found = choose_classes(model, false_links=0.5, missed=0.3)
    assert found.linked.tolist() == [False, True, True, True]
    assert found.not_linked.tolist() == [True, False, False, False]
    assert found.missed == pytest.approx(0.02)


def test_without_room_for_errors_nothing_is_decided():
    _, model = by_hand()
    found = choose_classes(model, false_links=0, missed=0)
    assert not (found.linked | found.not_linked).any()
    assert (found.link_from, found.drop_to) == (np.inf, -np.inf)


def test_patterns_of_one_weight_go_together():
    _, model = by_hand()
    twins = Model(model.m, model.u, model.log_m, model.log_m + np.array([0, 1, 1, 0.5]) - 3, 0.001)
    found = choose_classes(twins, false_links=1, missed=float(np.exp(twins.log_m[1])) + 1e-9)
    assert found.not_linked.tolist() == [False] * 4  # 10 and 01 weigh the same, and together they miss more


def test_actual_rates_are_counts_of_true_pairs():
    patterns, model = by_hand()
    found = classify_pairs(choose_classes(model, false_links=0.03, missed=0.05), patterns, np.array([1, 2, 0, 7]))
    assert (found.matches, found.others) == ((7, 2, 1), (93, 1198, 2699))
    assert (found.false_links, found.miss_rate, found.precision) == (93 / 3990, 0.1, 0.07)


def test_rates_of_nothing_are_none():
    patterns, model = by_hand()
    found = classify_pairs(choose_classes(model, false_links=0, missed=0), patterns, np.zeros(4, dtype=np.int64))
    assert (found.miss_rate, found.precision) == (None, None)


@settings(max_examples=50, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 10**6))
def test_expected_errors_stay_within_the_rates_and_one_more_pattern_would_not(false_links, missed, seed):
    rng = np.random.default_rng(seed)
    m, u = rng.dirichlet(np.ones(9)), rng.dirichlet(np.ones(9))
    found = choose_classes(Model((), (), np.log(m), np.log(u), 0.1), false_links=false_links, missed=missed)
    assert u[found.linked].sum() <= false_links + 1e-9 and m[found.not_linked].sum() <= missed + 1e-9
    assert not (found.linked & found.not_linked).any()
    rest = ~found.linked
    if rest.any():
        best = np.flatnonzero(rest)[np.argmax((m / u)[rest])]
        assert u[found.linked].sum() + u[best] > false_links
        assert (m / u)[found.linked].min(initial=np.inf) >= (m / u)[best]
    clerical = ~(found.linked | found.not_linked)
    if clerical.any():
        worst = np.flatnonzero(clerical)[np.argmin((m / u)[clerical])]
        assert m[found.not_linked].sum() + m[worst] > missed


def test_worked_waterfall():
    patterns, model = by_hand()
    first, second = riskiest(patterns, model, most=2)
    assert [step.bits for step in first.steps] == pytest.approx([np.log2(9), np.log2(3.2)])
    assert first.before == pytest.approx(np.log2(1 / 999))
    assert first.after == pytest.approx(first.before + sum(step.bits for step in first.steps))
    assert (first.together, first.pairs) == (pytest.approx(0, abs=1e-12), 100)
    assert first.match == pytest.approx(0.001 * 0.72 / (0.001 * 0.72 + 0.999 * 0.025))
    assert [step.level for step in second.steps] == [1, 0]


def test_a_pattern_of_few_pairs_is_not_shown():
    patterns, model = by_hand()
    assert [one.pairs for one in riskiest(patterns, model, fewest_pairs=101)] == [300, 900, 2700]


def em_slowly(patterns, prevalence, kept, weight, steps):
    """Expectation maximisation of binary attributes, in plain words."""
    n, d = int(patterns.counts.sum()), len(patterns.sizes)
    u = [sum(int(c) for c, level in zip(patterns.counts, patterns.levels[j], strict=True) if level) / n for j in range(d)]
    centre = [max(kept, one) for one in u]
    m = list(centre)
    for _ in range(steps):
        alike, total = [0.0] * d, 0.0
        for count, levels in zip(patterns.counts.tolist(), patterns.levels.T.tolist(), strict=True):
            of_m = np.prod([m[j] if levels[j] else 1 - m[j] for j in range(d)])
            of_u = np.prod([u[j] if levels[j] else 1 - u[j] for j in range(d)])
            match = count * prevalence * of_m / (prevalence * of_m + (1 - prevalence) * of_u)
            total += match
            alike = [one + match * level for one, level in zip(alike, levels, strict=True)]
        extra = weight * prevalence * n
        m = [max((a + extra * c) / (total + extra), one) for a, c, one in zip(alike, centre, u, strict=True)]
    return m


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 500), min_size=8, max_size=8), st.floats(0.2, 0.9))
def test_the_estimate_is_that_of_the_steps_in_plain_words(counts, kept):
    patterns = patterns_with(np.array(counts).reshape(2, 2, 2))
    try:
        model = fit_tied_model(patterns, 0.01, create_assumed_prior(patterns, kept, 0.5))
    except AttackFailed:  # it says so where it does not settle
        reject()
    assert binary(model.m) == pytest.approx(em_slowly(patterns, 0.01, kept, 0.5, model.steps), abs=1e-5)


def planted(prevalence=0.001):
    m, u = [0.95, 0.9, 0.8, 0.7, 0.6], [0.1, 0.2, 0.05, 0.3, 0.15]
    both = [joint(*([1 - one, one] for one in side)) for side in (m, u)]
    return m, u, patterns_with(np.rint(N * (prevalence * both[0] + (1 - prevalence) * both[1])).astype(np.int64))


def test_the_estimate_finds_planted_probabilities():
    m, u, patterns = planted()
    model = fit_tied_model(patterns, 0.001, create_assumed_prior(patterns, 0.5, 0.001))
    assert binary(model.m) == pytest.approx(m, abs=0.02)
    assert binary(model.u) == pytest.approx(u, abs=0.001)


def test_the_plain_estimate_finds_planted_probabilities_and_how_many_match():
    m, u, patterns = planted(0.01)
    model = estimate_unconstrained(patterns, 0.05)
    assert model.settled
    assert binary(model.m) == pytest.approx(m, abs=1e-3)
    assert binary(model.u) == pytest.approx(u, abs=1e-4)
    assert model.prevalence == pytest.approx(0.01, abs=1e-4)


def test_supervised_probabilities_are_shares_of_the_matches():
    patterns, _ = by_hand()
    model = fit_supervised_model(patterns, np.array([1, 2, 0, 7]))
    assert binary(model.m) == pytest.approx([0.9, 0.7])
    assert binary(model.u) == pytest.approx([0.1, 0.25])
    assert model.prevalence == 10 / 4000


def test_prevalence_counts_who_is_in_both_files():
    assert compute_prevalence(100, 50, 40) == 40 / 5000


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 300), min_size=12, max_size=12).filter(any), st.floats(0.05, 0.95), st.floats(0.01, 20))
def test_more_alike_never_tells_less(counts, kept, weight):
    patterns = patterns_with(np.array(counts).reshape(4, 3))
    model = fit_tied_model(patterns, 0.02, create_assumed_prior(patterns, kept, weight))
    for m, u in zip(model.m, model.u, strict=True):
        ratio = m[u > 0] / u[u > 0]
        assert (np.diff(ratio) >= -1e-9).all()
        assert m.sum() == pytest.approx(1) and (m[u == 0] == 0).all()
    assert ((model.match >= 0) & (model.match <= 1)).all()


def test_dependence_is_found_again():
    # strangers agree in a and b together (one household): taken for independent, the matches are estimated wrong
    m, rest = [0.9, 0.8, 0.7, 0.85, 0.75, 0.6], ([0.95, 0.05], [0.9, 0.1], [0.96, 0.04], [0.92, 0.08])
    of_u = np.multiply.outer(np.array([[0.65, 0.05], [0.05, 0.25]]), joint(*rest))
    of_m = joint(*([1 - one, one] for one in m))
    patterns = patterns_with(np.rint(N * (0.001 * of_m + 0.999 * of_u)).astype(np.int64))
    prior = create_assumed_prior(patterns, 0.6, 0.05)
    apart, together = fit_tied_model(patterns, 0.001, prior), fit_tied_model(patterns, 0.001, prior, (("a", "b"),))
    levels = tuple(patterns.levels.astype(int))
    true = np.log(of_m / of_u)[levels]
    of_matches = 0.001 * of_m[levels]
    errors = [float((of_matches * np.abs(one.log_ratio - true)).sum() / of_matches.sum()) for one in (apart, together)]
    assert errors[1] < 0.2 < 0.4 < errors[0]
    shown = riskiest(patterns, together, most=64)
    for one in shown:
        assert one.before + sum(step.bits for step in one.steps) + one.together == pytest.approx(one.after)
    alike = {tuple(step.level for step in one.steps): one.together for one in shown}
    assert alike[1, 1, 1, 1, 1, 1] < -0.3  # to agree in a and b is less than twice the evidence
    assert alike[1, 0, 1, 1, 1, 1] > 0.3  # strangers hardly agree in one of the two alone


def test_a_model_with_all_interactions_of_two_attributes_is_the_counts():
    counts = np.array([[50, 20, 5], [10, 40, 8]])
    table = create_table(patterns_with(counts), (("a", "b"),))
    assert fit_loglinear_model(table, counts.ravel(order="F").astype(float)) == pytest.approx(
        counts.ravel(order="F") / counts.sum()
    )


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 200), min_size=12, max_size=12))
def test_the_fit_keeps_the_margins_of_the_pairs_that_interact(counts):
    counts = np.array(counts).reshape(2, 3, 2)
    table = create_table(patterns_with(counts), (("b", "c"),))
    levels, by_cell = table.levels, fit_loglinear_model(table, counts[tuple(table.levels.T)].astype(float))
    found = np.zeros(counts.shape)
    found[tuple(levels.T)] = by_cell * counts.sum()
    assert found.sum(axis=0) == pytest.approx(counts.sum(axis=0), rel=1e-6)
    assert found.sum(axis=(1, 2)) == pytest.approx(counts.sum(axis=(1, 2)), rel=1e-6)
    assert found == pytest.approx(counts.sum(axis=(1, 2))[:, None, None] * counts.sum(axis=0) / counts.sum(), rel=1e-6)


def test_the_supervised_model_takes_dependence_among_matches():
    rng = np.random.default_rng(3)
    every = rng.multinomial(100_000, joint([0.8, 0.2], [0.7, 0.3], [0.9, 0.1]).ravel()).reshape(2, 2, 2)
    matches = np.array([[[0, 0], [0, 50]], [[0, 0], [0, 150]]]) + np.array([[[100, 0], [0, 0]], [[0, 0], [0, 0]]])
    patterns = patterns_with(every + matches)
    order = patterns.levels.astype(int)
    model = fit_supervised_model(patterns, matches[tuple(order)], (("a", "b"), ("b", "c"), ("a", "c")))
    assert np.exp(model.log_m)[[0, 7]] == pytest.approx([1 / 3, 1 / 2], abs=0.02)
    assert fit_supervised_model(patterns, matches[tuple(order)]).log_m[0] < np.log(0.15)


def test_an_interaction_of_an_unknown_attribute_is_refused():
    patterns, _ = by_hand()
    with pytest.raises(InputError, match="interaction"):
        fit_tied_model(patterns, 0.001, create_assumed_prior(patterns, 0.5), (("a", "z"),))


def test_a_log_linear_model_of_too_many_patterns_is_refused():
    rng = np.random.default_rng(1)
    levels = rng.integers(0, 2, (13, 5000)).astype(np.uint8)
    numbers, first = np.unique(levels.T @ (1 << np.arange(13)), return_index=True)
    names = tuple("abcdefghijklm")
    patterns = Patterns(numbers, np.ones(len(numbers), dtype=np.int64), levels[:, first], np.full(13, 2), names)
    with pytest.raises(InputError, match="too many patterns for a log-linear model"):
        fit_tied_model(patterns, 0.001, create_assumed_prior(patterns, 0.5), (("a", "b"),))


def test_an_estimate_that_does_not_settle_is_a_failure(monkeypatch):
    monkeypatch.setattr("tasks.attack.probabilistic.fellegi_sunter.MOST_STEPS", 2)
    _, _, patterns = planted()
    with pytest.raises(AttackFailed, match="did not settle"):
        fit_tied_model(patterns, 0.001, create_assumed_prior(patterns, 0.5, 0.001))


def correlated(n, rng):
    """Four attributes of five categories that hang together by a hidden one."""
    hidden = rng.integers(0, 5, n)
    return {name: np.where(rng.random(n) < 0.6, hidden, rng.integers(0, 5, n)) for name in "abcd"}


@pytest.mark.parametrize("retention", [0.5, 0.9])
def test_the_share_that_a_mask_kept_is_found_from_the_files(table, retention):
    columns = correlated(4000, np.random.default_rng(7))
    original, schema = table(columns, scales=dict.fromkeys(columns, Scale.CODE))
    step = Pram(method="pram", attributes=original.names, retention=retention)
    masked = mask(original, schema, (step,), seed=bytes(32), path=()).data
    both = create_pattern_comparison(original, masked, schema, original.names)
    kept = (retention - 0.2) / 0.8  # kept, or drawn from all five
    found = estimate_retention(both, 0.6)
    assert found.share == pytest.approx([kept] * 4, abs=0.1)
    prior = create_estimated_prior(count_patterns(both), found)
    everybody = np.arange(original.n)
    alike = compute_patterns(both, everybody, everybody)[:, None] // compute_strides(both.sizes) % 2
    assert binary(prior.m) == pytest.approx(alike.mean(axis=0), abs=0.08)


def test_attributes_that_hang_together_with_no_other_keep_what_was_assumed(table):
    original, schema = table({"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5}, scales={"a": Scale.CODE, "b": Scale.CODE})
    assert estimate_retention(create_pattern_comparison(original, original, schema, ("a", "b")), 0.7).share == pytest.approx(
        [0.7, 0.7]
    )
    assert estimate_retention(create_pattern_comparison(original, original, schema, ("a",)), 0.7).share == pytest.approx([0.7])


def test_a_constant_attribute_takes_nothing_from_the_others(table):
    columns = correlated(2000, np.random.default_rng(7)) | {"k": np.full(2000, 3)}
    original, schema = table(columns, scales=dict.fromkeys(columns, Scale.CODE))
    found = estimate_retention(create_pattern_comparison(original, original, schema, original.names), 0.6)
    assert found.share[:4].min() > 0.95
    assert found.share[4] == pytest.approx(0.6)


def test_attributes_without_equality_keep_what_was_assumed(table):
    rng = np.random.default_rng(2)
    original, schema = table({"x": rng.normal(size=50), "y": rng.normal(size=50)})
    ladders = (("x", (Within(rule="within", percent=5),)), ("y", (SameBin(rule="same_bin", bins=4),)))
    both = create_pattern_comparison(original, original, schema, ("x", "y"), ladders)
    found = estimate_retention(both, 0.55)
    assert (found.attribute.tolist(), found.level.tolist()) == ([1], [1])
    prior = create_estimated_prior(count_patterns(both), found)
    assert prior.m[0].tolist() == pytest.approx([0.45, 0.55])


def test_worked_prior_from_the_files():
    # u: .5 .3 .2. At level 1 or above .5 + .8 (1 - .5) = .9, at level 2 .2 + .5 (1 - .2) = .6
    patterns = patterns_with(np.array([50, 30, 20]))
    found = RetentionEstimate(np.array([0, 0]), np.array([1, 2]), np.array([0.8, 0.5]), np.array([0.5, 0.2]), 0.6)
    assert create_estimated_prior(patterns, found).m[0].tolist() == pytest.approx([0.1, 0.3, 0.6])
