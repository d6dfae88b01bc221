"""The intruder who knows the law of the noise: Bayes' rule with densities."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from noise_law import KINDS, PLAIN, SEED, attacked, columns, expectation, likeliest, log_densities, noise, rate, stacked

from tasks.attack.linkage.distance_linkage import link_by_distance
from tasks.attack.methods import attack
from tasks.attack.plan import check_attacks, list_required_attacks
from tasks.attack.threat import Intruder
from tasks.attack.transparency import whitening
from tasks.attack.transparency.transparency import Transparency, link_by_mechanism
from tasks.attack.transparency.whitening import whiten_positions
from tasks.mask.intruder_belief import GaussianLikelihood
from tasks.mask.methods import mask
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import AttackFailed, InputError
from tasks.microdata.table import Microdata

LEVEL = 1e-4


def test_worked_example(table, credits):
    # two records 0 and 10 (sd 7.07), noise of 5 %: each takes its neighbour. Three records 0, 1 and 10, noise of 100 % (5.5):
    # the equal rows 1 are shared by 0 and 1, and 10 takes 9
    original, schema = table({"a": [0.0, 10.0]})
    links, _ = link_by_mechanism(
        original, Microdata.from_columns({"a": [9.0, 1.0]}), schema, (noise("a", sd_percent=5.0),), ("a",)
    )
    assert credits(links).tolist() == [[0, 1], [1, 0]]
    original, schema = table({"a": [0.0, 1.0, 10.0]})
    links, _ = link_by_mechanism(
        original, Microdata.from_columns({"a": [1.0, 9.0, 1.0]}), schema, (noise("a", sd_percent=100.0),), ("a",)
    )
    assert credits(links).tolist() == [[0.5, 0, 0.5], [0.5, 0, 0.5], [0, 1, 0]]
    assert links.guesses(np.arange(3)).sound_sizes.tolist() == [3, 3, 3]


def test_a_lonely_row_belongs_to_the_outlier(table, credits):
    # sd 1.748, noise as large. 4.5 is nearer to 3.9 than to 6.5, but all records may show 3.9: P = .943, q = 2.71, P / q = .35;
    # hardly anybody else shows 6.5: P = .520, q = .70, P / q = .74
    original, schema = table({"a": [0.0, 1.0, 2.0, 3.0, 4.5]})
    masked = Microdata.from_columns({"a": [0.1, 1.1, 2.0, 3.9, 6.5]})
    links, _ = link_by_mechanism(original, masked, schema, (noise("a", sd_percent=100.0),), ("a",))
    plain = link_by_distance(original, masked, schema, PLAIN, ("a",))
    assert credits(plain)[4].tolist() == [0, 0, 0, 1, 0]
    assert credits(links)[4].tolist() == [0, 0, 0, 0, 1]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(8, 30),
    st.sampled_from(KINDS[:3]),
    st.sampled_from([10.0, 40.0, 100.0]),
    st.booleans(),
    st.booleans(),
)
def test_against_the_slow_twin(table, credits, seed, n, kind, sd_percent, gaps, whole):
    original, schema = table(columns(n, seed, gaps=gaps, whole=whole))
    try:
        links, masked = attacked(original, schema, noise("a", "b", "c", kind=kind, sd_percent=sd_percent), path=(str(seed),))
    except InputError as refused:
        assert refused.code in ("unknown-correlations", "noise-under-grid")
        return
    step = np.array([1.0 if whole else 1e-6] * 3)
    expected, covariance = expectation(stacked(original), kind, sd_percent / 100, step)
    try:
        chance = log_densities(expected, covariance, stacked(masked))
    except np.linalg.LinAlgError:
        assume(False)  # the densities of a singular law: the twin has none
    np.testing.assert_array_equal(credits(links), likeliest(chance))
    assert links.guesses(np.arange(n)).sound_sizes.tolist() == (chance > -np.inf).sum(axis=1).tolist()
    assert links.rules_out(np.arange(n), np.arange(n)).sum() == 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(8, 30), st.sampled_from([10.0, 40.0, 100.0]))
def test_factors_against_the_slow_twin(table, credits, seed, n, sd_percent):
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.lognormal(8, 1, n), rng.normal(0, 1000, n)]).round(3)
    values[0, 1] = 0.0
    original, schema = table({"a": values[:, 0], "b": values[:, 1]})
    links, masked = attacked(original, schema, noise("a", "b", kind="multiplicative", sd_percent=sd_percent), path=(str(seed),))
    shown = stacked(masked)
    variance = np.log1p((sd_percent / 100) ** 2 * values.var(axis=0, ddof=1) / (values**2).mean(axis=0))
    chance = np.zeros((n, n))
    for i in range(n):
        for row in range(n):
            for j in range(2):
                if np.sign(values[i, j]) != np.sign(shown[row, j]):
                    chance[i, row] = -np.inf
                elif values[i, j] != 0:
                    expected = np.log(abs(values[i, j])) - variance[j] / 2
                    chance[i, row] -= (np.log(abs(shown[row, j])) - expected) ** 2 / variance[j] / 2
    np.testing.assert_array_equal(credits(links), likeliest(chance))


def test_a_zero_may_be_a_small_number(table):
    # whole numbers: 1 may be rounded to 0, 50 and more are not ruled out either, but -3 never shows a positive number
    original, schema = table({"a": [0, 1, -3, 50, 80, 90]})
    links, _ = link_by_mechanism(
        original,
        Microdata.from_columns({"a": [0, 0, -2, 40, 90, 100]}),
        schema,
        (noise("a", kind="multiplicative", sd_percent=50.0),),
        ("a",),
    )
    assert links.guesses(np.arange(6)).sound_sizes.tolist() == [2, 5, 3, 5, 5, 5]
    assert links.guesses(np.arange(6)).truth_among(np.arange(6)).tolist() == [True, True, True, True, True, True]


class TestWhitening:
    @pytest.mark.parametrize("at_once", [2, 100_000])
    @pytest.mark.parametrize("gaps", [False, True])
    def test_distances_are_those_of_the_noise(self, gaps, at_once):
        rng = np.random.default_rng(3)
        root = rng.standard_normal((3, 3))
        centre, placed = rng.standard_normal((7, 3)) + 1e6, rng.standard_normal((9, 3)) + 1e6
        if gaps:
            centre[:3, 1], placed[4:, 1], placed[8] = np.nan, np.nan, np.nan
        covariance = root @ root.T
        part = GaussianLikelihood(("a", "b", "c"), centre, placed, covariance[np.newaxis], np.zeros(7, int), np.zeros(9, int))
        with patch.object(whitening, "_AT_ONCE", at_once):
            own, shown = whiten_positions(part)
        for i in range(7):
            there = ~np.isnan(centre[i])
            for row in np.flatnonzero((np.isnan(placed) == np.isnan(centre[i])).all(axis=1)):
                apart = (centre[i] - placed[row])[there]
                expected = apart @ np.linalg.inv(covariance[np.ix_(there, there)]) @ apart
                assert ((own[i] - shown[row]) ** 2).sum() == pytest.approx(expected, rel=1e-5)

    def test_a_direction_without_noise_is_nearly_certain(self):
        covariance = np.array([[[1.0, 2.0], [2.0, 4.0]]])
        origin = np.zeros((1, 2))
        placed = np.array([[1.0, 2.0], [1.0, 2.1]])
        own, shown = whiten_positions(
            GaussianLikelihood(("a", "b"), origin, placed, covariance, np.zeros(1, int), np.zeros(2, int))
        )
        squared = ((own - shown) ** 2).sum(axis=1)
        assert squared[0] == pytest.approx(1.0)
        assert squared[1] > 1e4


@pytest.mark.parametrize("kind", KINDS)
def test_everybody_is_found_where_there_is_hardly_any_noise(table, credits, kind):
    original, schema = table(columns(60, 1))
    links, _ = attacked(original, schema, noise("a", "b", "c", kind=kind, sd_percent=0.01))
    np.testing.assert_array_equal(credits(links), np.eye(60))


@pytest.mark.parametrize("kind", KINDS)
def test_the_orders_of_rows_and_of_records_are_forgotten(table, credits, kind):
    original, schema = table(columns(70, 2, gaps=True, whole=True))
    steps = (noise("a", "b", "c", kind=kind),)
    order = np.random.default_rng(4).permutation(original.n)
    straight, masked = attacked(original, schema, *steps)
    permuted, _ = attacked(original, schema, *steps, order=order)
    np.testing.assert_array_equal(credits(permuted), credits(straight)[:, order])
    again, _ = link_by_mechanism(original.take(order), masked, schema, steps, schema.names)
    np.testing.assert_array_equal(credits(again), credits(straight)[order])
    assert credits(straight).mean() == pytest.approx(1 / original.n, rel=1e-12)


def p_value(matrix, draws=20_000):
    """How often a random assignment of records to rows earns at least what the true one does."""
    rng, n = np.random.default_rng(20261121), len(matrix)
    random = np.array([matrix[np.arange(n), rng.permutation(n)].sum() for _ in range(draws)])
    return (1 + int((random >= matrix.trace() - 1e-12).sum())) / (draws + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_found_in_an_independent_table(table, credits, kind):
    original, schema = table(columns(80, 5))
    done = mask(original, schema, (noise("a", "b", "c", kind=kind),), seed=SEED, path=())
    if kind == "multiplicative":  # signs are certain: rows are exchanged among those of one sign
        original, schema = table({name: np.abs(original.floats(name)) for name in original.names})
        done = mask(original, schema, (noise("a", "b", "c", kind=kind),), seed=SEED, path=())
    apart = done.data.take(np.random.default_rng(9).permutation(80))
    links, _ = link_by_mechanism(original, apart, schema, done.mechanisms, schema.names)
    matrix = credits(links)
    assert p_value(matrix) > LEVEL
    matrix[:10] = np.eye(80)[:10]
    assert p_value(matrix) < LEVEL


def test_equal_records_share(table, credits):
    original, schema = table({"a": [1.0, 1.0, 5.0, 9.0], "b": [2.0, 2.0, 0.0, 1.0]})
    links, _ = attacked(original, schema, noise("a", "b", sd_percent=20.0))
    matrix = credits(links)
    assert matrix[0].tolist() == matrix[1].tolist()
    masked = Microdata.from_columns({"a": [1.1, 1.1, 5.0, 9.0], "b": [2.0, 2.0, 0.0, 1.0]})
    links, _ = link_by_mechanism(original, masked, schema, (noise("a", "b", sd_percent=20.0),), ("a", "b"))
    assert credits(links)[0].tolist() == [0.5, 0.5, 0, 0]


# The mean over three draws of plain linkage by distance and of the attack, Census, noise of 30 %: made with this file's `rates`
FOUND = {
    "independent": (0.563, 0.743),
    "correlated": (0.475, 0.896),
    "variance_restoring": (0.484, 0.905),
    "multiplicative": (0.656, 0.985),
}


def rates(original, schema, step, draws):
    found = []
    for draw in range(draws):
        links, masked = attacked(original, schema, step, path=(str(draw),))
        found.append((rate(link_by_distance(original, masked, schema, PLAIN, schema.names)), rate(links)))
    return np.mean(found, axis=0)


@pytest.mark.parametrize("kind", KINDS)
def test_census(census, kind):
    original, schema = census
    found = rates(original, schema, noise(*schema.names, kind=kind), 1)
    assert found == pytest.approx(FOUND[kind], abs=0.05)
    assert found[1] > found[0] + 0.1


def test_a_wrong_spread_finds_fewer(census):
    # the attack uses what it is told: with noise of 30 %, an intruder who takes it for correlated loses
    original, schema = census
    done = mask(original, schema, (noise(*schema.names),), seed=SEED, path=())
    right, wrong = (
        rate(link_by_mechanism(original, done.data, schema, (noise(*schema.names, kind=kind),), schema.names)[0])
        for kind in ("independent", "correlated")
    )
    assert right > wrong + 0.1


@pytest.mark.slow
def test_what_is_claimed_is_hit(table):
    # calibration, q over all records but the target: the mean largest posterior is the mean rate of hits
    # (150 draws of plain numpy: claims 0.327, hits 0.315 +- 0.005, claims of a spread 30 % too small 0.449)
    claims, too_sure, hits = [], [], []
    for draw in range(60):
        original, schema = table(columns(60, 100 + draw))
        links, masked = attacked(original, schema, noise("a", "b", "c", sd_percent=50.0), path=(str(draw),))
        for share, found in ((0.5, claims), (0.5 / 1.3, too_sure)):
            chance = np.exp(log_densities(*expectation(stacked(original), "independent", share, 1e-6), stacked(masked)))
            ratio = chance / (chance.sum(axis=0) - chance + 1e-300)
            found.append((ratio / ratio.sum(axis=1, keepdims=True)).max(axis=1).mean())
        hits.append(rate(links))
    error = np.std(hits, ddof=1) / np.sqrt(len(hits))
    assert abs(np.mean(hits) - np.mean(claims)) < 0.02 + 4 * error
    assert abs(np.mean(hits) - np.mean(too_sure)) > 0.02 + 4 * error


def test_a_release_of_other_people_is_noticed_where_gaps_differ(table):
    original, schema = table({"a": [1.0, 2.0, None, 4.0]})
    with pytest.raises(AttackFailed, match="not those that were applied"):
        link_by_mechanism(original, Microdata.from_columns({"a": [1.0, 2.0, 3.0, 4.0]}), schema, (noise("a"),), ("a",))


def test_what_a_noisy_table_must_face():
    assert list_required_attacks((noise("a"),)) == ("distance_linkage", "transparency")
    with pytest.raises(InputError, match="transparency"):
        check_attacks((PLAIN,), (), (noise("a"),))


def test_what_the_intruder_knows_is_told(table):
    original, schema = table(columns(50, 17))
    done = mask(original, schema, (noise("a", "b", "c", kind="variance_restoring", sd_percent=20.0),), seed=SEED, path=())
    everybody = np.arange(50)
    plan, intruder = Transparency(method="transparency"), Intruder("declared", ("a", "b", "c"))
    parts = (original, done.data, schema, done.mechanisms, plan, intruder)
    found = attack(*parts, alignment=Alignment.complete_in(everybody), targets=everybody)
    assert (
        "brought back to their variance, in a, b and c with 20 percent of each one's standard deviation"
        in found.knows_mechanism
    )
    assert found.outcomes.floats("sound_candidates").tolist() == [50.0] * 50
    links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, schema.names)
    assert found.outcomes.floats("credit").tolist() == links.guesses(everybody).credit(everybody).tolist()
