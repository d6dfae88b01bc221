"""Loss: worked tables, invariances, slow twins, and figures of files that another tool masked."""

from __future__ import annotations

import csv
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.schema import Attribute, Role, Scale
from tasks.microdata.table import Microdata
from tasks.score.association import (
    correlation_differences,
    covariance_difference,
    rank_correlation_difference,
)
from tasks.score.catalogue import LOSS
from tasks.score.loss import (
    absolute_change,
    cells_changed,
    compute_squared_error_percent,
    il1s,
    mean_difference,
    sse_percent,
)
from tasks.score.table_measures import compute_family


def described(name: str, scale: Scale, role: Role = Role.QUASI_IDENTIFIER) -> Attribute:
    return Attribute(name=name, role=role, scale=scale, decided_by="declared")


def steps(*names: str) -> list[Microaggregation]:
    return [Microaggregation(method="microaggregation", attributes=names, k=2)]


# a: mean 2.5, deviations -1.5 -0.5 0.5 1.5, SST 5, sd sqrt(5/3); pairs averaged: SSE 4 * 0.25 = 1
A = [1.0, 2.0, 3.0, 4.0]
A_MASKED = [1.5, 1.5, 3.5, 3.5]
# b: its two middle values exchanged: SSE 2 * 4 = 8, SST 20
B = [0.0, 2.0, 4.0, 6.0]
B_MASKED = [0.0, 4.0, 2.0, 6.0]


def test_worked_table(pair_of):
    tables = pair_of({"a": A, "b": B}, {"a": A_MASKED, "b": B_MASKED})
    whole, a, b = sse_percent(tables)
    assert (a.value, b.value, whole.value) == pytest.approx((20.0, 40.0, 30.0))
    assert (whole.attribute, a.attribute, b.attribute) == (None, "a", "b")
    assert (whole.low, whole.high, whole.chance, whole.unit) == (None, None, None, "percent")
    # |change|: a 0.5 each; b 0, 2, 2, 0; sd sqrt(5/3) and sqrt(20/3)
    whole, a, b = il1s(tables)
    assert (a.value, b.value) == pytest.approx((0.5 / np.sqrt(10 / 3), 1 / np.sqrt(40 / 3)))
    assert whole.value == pytest.approx((a.value + b.value) / 2)
    whole, a, b = cells_changed(tables)
    assert (whole.value, a.value, b.value) == (0.75, 1.0, 0.5)
    assert [one.value for one in mean_difference(tables)] == [0.0, 0.0]
    # variance of a 5/3 -> 4/3, of b as it was; covariance 10/3 -> 4/3 (deviations -1 -1 1 1 with -3 1 -1 3, over 3), in units
    # of sd(a) sd(b) = 10/3
    assert covariance_difference(tables).value == pytest.approx((0.2 + 0.6 + 0.0) / 3)
    mean, largest = correlation_differences(tables)
    # 1 -> (4/3) / sqrt(4/3 * 20/3)
    assert mean.value == largest.value == pytest.approx(1 - 1 / np.sqrt(5))
    # ranks of a masked 1.5 1.5 3.5 3.5, of b masked 1 3 2 4: 2 / sqrt(4 * 5)
    assert rank_correlation_difference(tables).value == pytest.approx(1 - 2 / np.sqrt(20))


def test_the_only_pair_exchanged_gives_400_percent():
    assert compute_squared_error_percent(np.array([0.0, 1.0]), np.array([1.0, 0.0])) == pytest.approx(400)


def test_replacing_by_the_mean_gives_100_percent_and_loses_the_variance(pair_of):
    tables = pair_of({"a": A}, {"a": [2.5] * 4})
    assert sse_percent(tables)[0].value == pytest.approx(100)
    assert covariance_difference(tables).value == pytest.approx(1)


def test_an_original_of_zero_counts():
    # sdcMicro's IL1 drops cells whose original is 0; here they are half of the change
    original, masked = np.array([0.0, 0.0, 1.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.0])
    assert absolute_change(original, masked) == pytest.approx(1 / (np.sqrt(2) * np.sqrt(1 / 3)))


columns = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=25).filter(
    lambda rows: len({x for x, _ in rows}) > 1
)


@settings(deadline=None)
@given(columns, st.integers(1, 9), st.integers(-1000, 1000))
def test_scale_shift_and_repetition(rows, factor, shift):
    x, y = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    for loss in (compute_squared_error_percent, absolute_change):
        assert loss(factor * x + shift, factor * y + shift) == pytest.approx(loss(x, y))
        assert loss(x, x) == 0
    assert compute_squared_error_percent(np.tile(x, 2), np.tile(y, 2)) == pytest.approx(compute_squared_error_percent(x, y))
    n = len(x)  # a mean, not a sum: doubling the data moves only the n - 1 of the standard deviation
    correction = np.sqrt((2 * n - 1) / (2 * (n - 1)))
    assert absolute_change(np.tile(x, 2), np.tile(y, 2)) == pytest.approx(absolute_change(x, y) * correction)


def test_sse_percent_is_that_of_z_scores_by_the_original():
    rng = np.random.default_rng(2)
    x = rng.lognormal(size=50)
    y = x + rng.normal(size=50)
    z, masked = ((v - x.mean()) / x.std(ddof=1) for v in (x, y))
    assert compute_squared_error_percent(x, y) == pytest.approx(100 * ((z - masked) ** 2).sum() / 49)


def test_ordinal_codes_are_not_numbers(pair_of):
    tables = pair_of({"a": A, "code": [1, 2, 3, 4]}, {"a": A_MASKED, "code": [4, 3, 2, 1]}, [described("code", Scale.ORDINAL)])
    whole, only = sse_percent(tables)
    assert (whole.value, only.attribute) == (pytest.approx(20), "a")
    assert "ordinal codes are not in it: code" in whole.reason
    assert cells_changed(tables)[0].value == 1.0
    assert correlation_differences(tables)[0].status == "not_applicable"
    # ranks of `code` are reversed, of `a` tied in pairs: 1 -> -2 / sqrt(5)
    assert rank_correlation_difference(tables).value == pytest.approx(1 + 2 / np.sqrt(5))


def test_without_a_masked_number_nothing_is_made_up(pair_of):
    tables = pair_of(
        {"a": A, "code": [1, 2, 3, 4]}, {"a": A, "code": [1, 1, 4, 4]}, [described("code", Scale.ORDINAL)], steps("code")
    )
    found = [*sse_percent(tables), *il1s(tables), *correlation_differences(tables), covariance_difference(tables)]
    assert {(one.status, one.value) for one in found} == {("not_applicable", None)}
    assert "code" in found[0].reason
    assert mean_difference(tables) == ()
    nothing = pair_of({"a": A}, {"a": A}, steps=[])
    assert cells_changed(nothing)[0].status == "not_applicable"


def test_missing_cells_are_compared_nowhere_and_counted_as_changed(pair_of):
    tables = pair_of({"a": [*A, 9.0, None]}, {"a": [*A_MASKED, None, None]})
    assert sse_percent(tables)[0].value == pytest.approx(20)
    assert cells_changed(tables)[0].value == pytest.approx(5 / 6)
    # the analyst's means: 19/5 of the five originals, 10/4 of the four released
    sd = np.std([*A, 9.0], ddof=1)
    assert mean_difference(tables)[0].value == pytest.approx((3.8 - 2.5) / sd)


def test_a_constant_has_no_scale(pair_of):
    unchanged = pair_of({"a": A, "b": [0.1] * 4}, {"a": A_MASKED, "b": [0.1] * 4})
    assert [one.value for one in sse_percent(unchanged)] == [pytest.approx(10), pytest.approx(20), 0.0]
    changed = pair_of({"a": A, "b": [0.1] * 4}, {"a": A_MASKED, "b": [0.1, 0.1, 0.1, 0.2]})
    whole, a, b = sse_percent(changed)
    assert (whole.status, whole.value, a.value, b.value) == ("not_applicable", None, pytest.approx(20), None)
    assert "b" in whole.reason
    assert [one.value is None for one in mean_difference(changed)] == [False, True]
    assert {one.status for one in correlation_differences(changed)} == {"not_applicable"}
    assert all(one.value is None or np.isfinite(one.value) for one in compute_family(LOSS, changed))


def test_pairs_without_a_masked_attribute_do_not_dilute(pair_of):
    rng = np.random.default_rng(3)
    original = {name: rng.normal(size=30) for name in "abc"}
    masked = {**original, "a": rng.normal(size=30)}
    some, whole = (pair_of(original, masked, steps=steps(*names)) for names in ("a", "abc"))
    r = {pair: [np.corrcoef(t[pair[0]], t[pair[1]])[0, 1] for t in (original, masked)] for pair in combinations("abc", 2)}
    changes = [abs(r[pair][1] - r[pair][0]) for pair in (("a", "b"), ("a", "c"))]
    mean, largest = correlation_differences(some)
    assert (mean.value, largest.value) == (pytest.approx(np.mean(changes)), pytest.approx(max(changes)))
    assert correlation_differences(whole)[0].value == pytest.approx(np.sum(changes) / 3)


def test_rank_correlations_skip_missing_pairs_as_a_slow_twin_does(pair_of):
    from scipy.stats import spearmanr

    rng = np.random.default_rng(4)
    original = {name: np.where(rng.random(40) < 0.2, np.nan, rng.integers(0, 9, 40)) for name in "ab"}
    masked = {**original, "a": np.where(rng.random(40) < 0.2, np.nan, rng.integers(0, 9, 40))}
    found = rank_correlation_difference(pair_of(original, masked)).value
    before, after = (spearmanr(t["a"], t["b"], nan_policy="omit").statistic for t in (original, masked))
    assert found == pytest.approx(abs(after - before))


def test_a_permutation_of_values_keeps_means_and_variances(pair_of):
    rng = np.random.default_rng(5)
    original = {name: rng.lognormal(size=200) for name in "ab"}
    masked = {name: rng.permutation(column) for name, column in original.items()}
    tables = pair_of(original, masked)
    assert [one.value for one in mean_difference(tables)] == pytest.approx([0, 0], abs=1e-12)
    # an independent draw from the same law loses 200 % on average: E (x - y)^2 = 2 var
    assert sse_percent(tables)[0].value == pytest.approx(200, rel=0.25)


def read(path):
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, np.array(rows, dtype=np.float64).T, strict=True))


# Census, 13 columns, masked by sdcMicro 5.8.1: microaggregation(x, method="mdav", aggr=3); rankSwap(x, P=0.05, TopPercent=0,
# BottomPercent=0); addNoise(x, method="additive", noise=20). 100 * SSE / SST on z-scores (n - 1).
@pytest.mark.parametrize(
    ("file", "expected"),
    [("census-sdcmicro-mdav3", 5.6922), ("census-sdcmicro-rankswap5", 11.8465), ("census-sdcmicro-noise20", 4.0574)],
)
def test_files_masked_by_sdcmicro(reference, pair_of, file, expected):
    golden = reference.parent / "golden" / f"{file}.csv"
    if not golden.is_file():
        pytest.skip(f"{golden} is absent")
    original, masked = read(reference / "census.csv"), read(golden)
    tables = pair_of(original, masked)
    whole, *parts = sse_percent(tables)
    assert whole.value == pytest.approx(expected, abs=5e-5)
    assert len(parts) == 13
    correlation = correlation_differences(tables)[0].value
    names = list(original)
    before, after = (np.corrcoef([t[name] for name in names]) for t in (original, masked))
    upper = np.triu_indices(13, 1)
    assert correlation == pytest.approx(np.abs(after - before)[upper].mean())


def test_types_do_not_matter(pair_of):
    whole = pair_of({"a": [1, 2, 3, 4]}, {"a": [1, 1, 4, 4]})
    floats = pair_of({"a": [1.0, 2.0, 3.0, 4.0]}, {"a": [1.0, 1.0, 4.0, 4.0]})
    assert Microdata.is_integer(whole.original, "a")
    assert tuple(compute_family(LOSS, whole)) == tuple(compute_family(LOSS, floats))
