"""Noise: how far each kind spreads, what it keeps, and how an analyst takes it back."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import chi2, kstest, norm
from sites import site_of

from tasks.mask.noise.noise import Noise, add_noise
from tasks.mask.noise.noise_distribution import compute_covariance, log_variances, noisy, symmetric_root
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

LEVEL = 1e-4
KINDS = ("independent", "correlated", "variance_restoring", "multiplicative")
ADDED = KINDS[:3]
MIX = np.array([[1.0, 0.8, 0.0], [0.0, 0.6, -0.7], [0.0, 0.0, 0.7]])


def noise(kind="independent", sd_percent=30.0, **parameters):
    return Noise(method="noise", kind=kind, sd_percent=sd_percent, **parameters)


def masked(data, schema, kind, sd_percent=30.0, *, seed=0):
    return add_noise(site_of(data, schema, seed=seed), noise(kind, sd_percent, attributes=schema.names))


def people(n, seed=3):
    """Three correlated attributes of different size, far from 0, one of them skew."""
    values = np.random.default_rng(seed).standard_normal((n, 3)) @ MIX
    return np.column_stack([50 + 10 * values[:, 0], 3000 + 900 * values[:, 1], np.exp(8 + values[:, 2] / 2)])


def errors_of(kind, share, n_draws, values, seed=11):
    """Released minus expected for many draws on one table, shape (draws, n, d)."""
    rng = np.random.default_rng(seed)
    return np.array([noisy(values, kind, share, rng.standard_normal(values.shape)) for _ in range(n_draws)])


def test_worked_independent_noise():
    # sd of (0, 2) is sqrt 2, of (10, 30) 10 sqrt 2; half of it times the normals
    values, normals = np.array([[0.0, 10.0], [2.0, 30.0]]), np.array([[1.0, 0.5], [-1.0, 2.0]])
    expected = [[np.sqrt(0.5), 10 + 5 * np.sqrt(0.5)], [2 - np.sqrt(0.5), 30 + 20 * np.sqrt(0.5)]]
    np.testing.assert_allclose(noisy(values, "independent", 0.5, normals), expected)


def test_worked_correlated_noise():
    # correlation 1/2 of (0, 1, 2) and (0, 2, 1): sd 1 each; the root of [[1, .5], [.5, 1]] has a = .9659, b = .2588
    values, normals = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    a, b = np.cos(np.pi / 12), np.sin(np.pi / 12)
    added = 0.1 * np.array([[a, b], [b, a], [a + b, a + b]])
    np.testing.assert_allclose(noisy(values, "correlated", 0.1, normals), values + added)
    restored = 1 + (values + added - 1) / np.sqrt(1.01)
    np.testing.assert_allclose(noisy(values, "variance_restoring", 0.1, normals), restored)


def test_worked_factors():
    # (-1, 0, 1): variance 1, mean square 2/3: v = .25 * 1.5 = .375, the logarithm's variance ln 1.375 = .31845
    values = np.array([[-1.0], [0.0], [1.0]])
    factor = np.exp(np.sqrt(np.log(1.375)) - np.log(1.375) / 2)
    np.testing.assert_allclose(noisy(values, "multiplicative", 0.5, np.ones((3, 1))), factor * values)
    assert factor == pytest.approx(1.49944, abs=1e-5)


def test_gaps_stay_gaps_and_whole_numbers_whole(numbers):
    data, schema = numbers({"a": [1, None, 3, 40], "b": [1.25, 2.0, None, 3.5]})
    for kind in KINDS:
        done = masked(data, schema, kind, 50.0)
        for name in data.names:
            assert done.missing(name).tolist() == data.missing(name).tolist()
        assert done.is_integer("a")
        present = done.floats("b")[[0, 1, 3]]
        np.testing.assert_allclose(present, np.round(present, 2), atol=1e-12)
        assert not np.array_equal(present, data.floats("b")[[0, 1, 3]])


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.floats(5, 100))
@settings(max_examples=30, deadline=None)
def test_factors_keep_signs_and_zeros(numbers, seed, n, sd_percent):
    values = np.random.default_rng(seed).integers(-50, 50, n).astype(float)
    values[:2] = 0, 40
    data, schema = numbers({"a": values / 4})
    shown = masked(data, schema, "multiplicative", sd_percent, seed=seed).floats("a")
    assert (shown[values == 0] == 0).all()
    assert (shown * values >= 0).all()
    assert not np.signbit(shown[values >= 0]).any()


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.floats(1.0, 100.0))
@settings(max_examples=40, deadline=None)
def test_units_do_not_matter(seed, kind, sd_percent):
    # the same normals on the table in other units give the same table in other units; of sums also with another zero
    rng = np.random.default_rng(seed)
    values, normals = rng.standard_normal((12, 3)) * 5 + 20, rng.standard_normal((12, 3))
    scale, shift = rng.uniform(0.01, 1e6, 3), 0 if kind == "multiplicative" else rng.uniform(-1e3, 1e3, 3)
    straight = noisy(values, kind, sd_percent / 100, normals)
    np.testing.assert_allclose(
        noisy(values * scale + shift, kind, sd_percent / 100, normals), straight * scale + shift, rtol=1e-8
    )


@pytest.mark.parametrize("kind", KINDS)
def test_hardly_any_noise_is_hardly_any_change(kind):
    values = people(20)
    normals = np.random.default_rng(1).standard_normal(values.shape)
    np.testing.assert_allclose(noisy(values, kind, 1e-9, normals), values, rtol=1e-7)


def test_of_one_attribute_independent_and_correlated_noise_are_the_same():
    values, normals = people(15)[:, :1], np.random.default_rng(1).standard_normal((15, 1))
    np.testing.assert_allclose(noisy(values, "independent", 0.4, normals), noisy(values, "correlated", 0.4, normals))


def too_unlikely(statistic, law):
    """Two-sided."""
    return 2 * min(law.cdf(statistic), law.sf(statistic)) < LEVEL


@pytest.mark.parametrize("kind", KINDS)
def test_the_standard_deviation_is_what_was_said(kind):
    # of the error over all records and draws, against that of the attribute (n - 1); a law 30 % off is noticed
    values, share, draws = people(40), 0.25, 400
    errors = errors_of(kind, share, draws, values)
    if kind == "variance_restoring":
        centre = values.mean(axis=0)
        errors = centre + (errors - centre) * np.sqrt(1 + share**2)
    errors = errors - values
    for j in range(3):
        expected = share**2 * values[:, j].var(ddof=1)
        if kind == "multiplicative":
            per_draw = (errors[:, :, j] ** 2).mean(axis=1)
            z = (per_draw.mean() - expected) / (per_draw.std(ddof=1) / np.sqrt(draws))
            off = (per_draw.mean() - expected * 1.3) / (per_draw.std(ddof=1) / np.sqrt(draws))
            assert not too_unlikely(z, norm)
            assert too_unlikely(off, norm)
            continue
        total, law = (errors[:, :, j] ** 2).sum(), chi2(draws * 40)
        assert not too_unlikely(total / expected, law)
        assert too_unlikely(total / (1.3 * expected), law)


@pytest.mark.parametrize("kind", ["independent", "correlated"])
def test_errors_are_normal(kind):
    values = people(400)
    errors = errors_of(kind, 0.3, 5, values) - values
    for j in range(3):
        spread = 0.3 * values[:, j].std(ddof=1)
        assert kstest(errors[:, :, j].ravel(), norm(scale=spread).cdf).pvalue > LEVEL
        assert kstest(errors[:, :, j].ravel(), norm(scale=1.3 * spread).cdf).pvalue < LEVEL


def test_logarithms_of_factors_are_normal_with_mean_one_of_the_factor():
    values, share = people(400), 0.5
    logs = np.log(errors_of("multiplicative", share, 5, values) / values)
    for j, variance in enumerate(log_variances(values, share)):
        assert kstest(logs[:, :, j].ravel(), norm(-variance / 2, np.sqrt(variance)).cdf).pvalue > LEVEL
        assert kstest(logs[:, :, j].ravel(), norm(-variance / 2, 1.3 * np.sqrt(variance)).cdf).pvalue < LEVEL


def standard_error(per_draw):
    return per_draw.std(axis=0, ddof=1) / np.sqrt(len(per_draw))


def strays(per_draw, expected):
    """Is the mean over the draws further from what is expected than chance allows, in any of the cells?"""
    z = np.abs(per_draw.mean(axis=0) - expected) / standard_error(per_draw)
    return bool((z > norm.isf(LEVEL / 2 / per_draw[0].size)).any())


def covariance_after(kind, share, truth):
    """What the covariance matrix of a release is on average, by its kind."""
    if kind == "variance_restoring":
        return truth
    grown = truth * (1 + share**2)
    return grown if kind == "correlated" else np.where(np.eye(len(truth), dtype=bool), grown, truth)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_analyst_can_take_the_noise_back(kind):
    # the covariance of a release is, over draws, the original's in the form that its kind says; a share 30 % off is noticed
    values, share = people(30), 0.6
    truth = np.cov(values, rowvar=False)
    released = errors_of(kind, share, 3000, values)
    found = np.array([np.cov(one, rowvar=False) for one in released])
    assert not strays(found, covariance_after(kind, share, truth))
    assert not strays(released.mean(axis=1), values.mean(axis=0))
    assert strays(found, covariance_after("correlated" if kind == "variance_restoring" else kind, 1.3 * share, truth))


def test_correlated_noise_keeps_correlations_and_independent_noise_weakens_them():
    values = people(4000)
    truth = np.corrcoef(values, rowvar=False)
    normals = np.random.default_rng(5).standard_normal(values.shape)
    for kind, factor in (
        ("independent", 1 / 1.36),
        ("correlated", 1.0),
        ("variance_restoring", 1.0),
        ("multiplicative", 1 / 1.36),
    ):
        found = np.corrcoef(noisy(values, kind, 0.6, normals), rowvar=False)[0, 1]
        assert found == pytest.approx(factor * truth[0, 1], abs=0.04), kind
    assert abs(truth[0, 1] - truth[0, 1] / 1.36) > 0.15  # the bound tells the two apart


def test_attributes_that_depend_on_each_other_stay_so():
    values = people(50)[:, :2]
    values = np.column_stack([values, values @ [2.0, -0.01]])  # a singular covariance
    normals = np.random.default_rng(2).standard_normal(values.shape)
    for kind in ("correlated", "variance_restoring"):
        shown = noisy(values, kind, 0.5, normals)
        np.testing.assert_allclose(shown[:, :2] @ [2.0, -0.01], shown[:, 2], rtol=1e-6)
    broken = noisy(values, "independent", 0.5, normals)
    assert np.abs(broken[:, :2] @ [2.0, -0.01] - broken[:, 2]).max() > 1


@given(st.integers(0, 2**32 - 1), st.integers(4, 40), st.booleans())
@settings(max_examples=30, deadline=None)
def test_the_covariance_with_gaps(seed, n, gaps):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, 3)) * [1, 100, 1e-3]
    if gaps:
        values[rng.random(n) < 0.3, 1] = np.nan
        values[:3] = rng.standard_normal((3, 3))
    covariance = compute_covariance(values)
    np.testing.assert_allclose(np.sqrt(covariance.diagonal()), np.nanstd(values, axis=0, ddof=1))
    complete = values[~np.isnan(values).any(axis=1)]
    spread = np.sqrt(covariance.diagonal())
    np.testing.assert_allclose(covariance / np.outer(spread, spread), np.corrcoef(complete, rowvar=False), atol=1e-12)
    root = symmetric_root(covariance)
    np.testing.assert_allclose(root @ root, covariance, atol=1e-8 * covariance.max())


def test_gaps_elsewhere_do_not_change_the_law():
    # b is known of half the records only; the noise of a keeps its variance there and elsewhere
    values = people(200)[:, :2]
    values[::2, 1] = np.nan
    errors = errors_of("correlated", 0.5, 200, values)[:, :, 0] - values[:, 0]
    expected = 0.25 * values[:, 0].var(ddof=1)
    for part in (errors[:, ::2], errors[:, 1::2]):
        assert not too_unlikely((part**2).sum() / expected, chi2(part.size))
        assert too_unlikely((part**2).sum() / (1.3 * expected), chi2(part.size))


def test_days_move_by_days():
    days = [datetime.date(2000, 1, 1) + datetime.timedelta(days=int(d)) for d in range(0, 400, 7)] + [None]
    data = Microdata.from_columns({"born": days})
    schema = Schema((Attribute("born", Role.QUASI_IDENTIFIER, Scale.DATE, "declared"),))
    done = masked(data, schema, "correlated", 20.0)
    moved = (done.floats("born") - data.floats("born"))[:-1]
    assert np.array_equal(moved, np.rint(moved))
    assert 0 < np.abs(moved).max() < 6 * 0.2 * np.nanstd(data.floats("born"), ddof=1)
    with pytest.raises(InputError) as refused:
        masked(data, schema, "multiplicative")
    assert refused.value.code == "wrong-scale"
    late = Microdata.from_columns({"born": [*days[:-2], datetime.date(9999, 12, 31)] * 8})
    with pytest.raises(InputError) as refused:
        masked(late, schema, "independent")
    assert refused.value.code == "noise-out-of-range"


@pytest.mark.parametrize(
    ("columns", "kind", "sd_percent", "code", "where"),
    [
        ({"a": [3, 3, None]}, "independent", 10.0, "constant-attribute", "masking[0].attributes: a"),
        ({"a": [3, None]}, "correlated", 10.0, "constant-attribute", "masking[0].attributes: a"),
        ({"a": [3.0, np.inf, 1.0]}, "independent", 10.0, "infinite-value", "masking[0].attributes: a"),
        ({"a": [True, False]}, "independent", 10.0, "wrong-scale", "masking[0].attributes: a"),
        ({"a": [1, 2, 3]}, "correlated", 9.9, "noise-under-grid", "masking[0].sd_percent"),
        ({"a": [1e-300, 2e-300, 3e-300]}, "independent", 30.0, "noise-under-grid", "masking[0].sd_percent"),
        ({"a": [1, None, 2], "b": [None, 1, 2]}, "correlated", 50.0, "unknown-correlations", "masking[0].attributes"),
        ({"a": [1, 1, 2], "b": [5, 6, None]}, "variance_restoring", 50.0, "unknown-correlations", "masking[0].attributes"),
        ({"a": [1e308, -1e308, 0.0]}, "independent", 50.0, "infinite-value", "masking[0].attributes: a"),
        ({"a": [9_223_372_036_854_775_000, -9_223_372_036_854_775_000] * 8}, "independent", 90.0, "too-large", None),
    ],
)
def test_refusals(numbers, columns, kind, sd_percent, code, where):
    data, schema = numbers({name: np.array(v, dtype=object) for name, v in columns.items()})
    with pytest.raises(InputError) as refused:
        masked(data, schema, kind, sd_percent)
    assert refused.value.code == code
    assert where is None or refused.value.where == where


def test_just_enough_noise_for_whole_numbers(numbers):
    data, schema = numbers({"a": [1, 2, 3]})
    assert masked(data, schema, "correlated", 10.0).n == 3


def test_attributes_are_masked_by_themselves_where_correlations_are_not_known(numbers):
    data, schema = numbers({"a": [1, None, 2], "b": [None, 1, 2]})
    assert masked(data, schema, "independent", 50.0).n == 3


@pytest.mark.parametrize(
    "parameters", [{"sd_percent": 0.0}, {"sd_percent": 100.5}, {"kind": "restr"}, {"sd_percent": float("nan")}]
)
def test_parameters_out_of_range(parameters):
    with pytest.raises(ValidationError):
        noise(**parameters)


def test_what_is_told_of_the_step():
    step = noise("correlated", 12.5, attributes=("a", "b"), by=("c",))
    assert step.rule == (
        "normal noise that is correlated as the attributes are in a and b with 12.5 percent of each one's standard deviation"
    )
    assert step.moves_values
    assert step.public() == {"method": "noise", "kind": "correlated", "sd_percent": 12.5, "attributes": ["a", "b"], "by": ["c"]}
