"""Microaggregation: what is published in place of each value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from sites import site_of

from tasks.mask.groups.microaggregation import Microaggregation, aggregated, microaggregate, pattern_groups
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata


def masked(data, schema, **parameters):
    parameters = {"attributes": schema.names, **parameters}
    spec = Microaggregation(method="microaggregation", **parameters)
    return microaggregate(site_of(data, schema), spec)


def test_worked_table_of_means(numbers):
    data, schema = numbers({"a": [0, 1, 5, 6, 20, 21, 22]})
    # groups {0, 1}, {5, 6, 20}, {21, 22}: means 0.5, 10.33, 21.5, at the source's precision (whole, halves to even)
    assert masked(data, schema, k=2).floats("a").tolist() == [0, 0, 10, 10, 10, 22, 22]
    assert masked(data, schema, k=2).is_integer("a")


def test_worked_table_of_medians():
    order = ("none", "school", "degree", "doctor")
    texts = ["none", "none", "school", "doctor", "doctor", "degree"]
    data = Microdata.of({"educ": texts})
    schema = Schema((Attribute("educ", Role.QUASI_IDENTIFIER, Scale.ORDINAL, "declared", order=order),))
    # positions 0 0 1 3 3 2: groups {0, 0, 1} and {3, 3, 2}
    assert masked(data, schema, k=3).column("educ").to_pylist() == ["none"] * 3 + ["doctor"] * 3
    # groups {3, 3}, {0, 0}, {1, 2}: of an even number the lower of the middle two
    assert masked(data, schema, k=2).column("educ").to_pylist() == ["none", "none", "school", "doctor", "doctor", "school"]


def test_missing_values_stay_and_present_ones_are_masked_among_their_like(numbers):
    data, schema = numbers({"a": [1.0, 2, 9, 10, 5, 7], "b": [1.0, 2, 9, 10, None, None]})
    result = masked(data, schema, k=2)
    assert result.floats("a").tolist() == [2, 2, 10, 10, 6, 6]  # 1.5 and 9.5 at whole numbers, halves to even
    assert result.missing("b").tolist() == [False] * 4 + [True] * 2


def test_a_row_without_any_value_of_the_block_stays_as_it_is(numbers):
    data, schema = numbers({"a": [1.0, 3, None]})
    assert masked(data, schema, k=2).column("a").to_pylist() == [2.0, 2.0, None]


def test_blocks_are_grouped_separately(numbers):
    data, schema = numbers({"a": [0, 2, 10, 12], "b": [0, 10, 2, 12]})
    jointly, apart = masked(data, schema, k=2), masked(data, schema, k=2, blocks=(("a",), ("b",)))
    assert apart.floats("a").tolist() == [1, 1, 11, 11]
    assert apart.floats("b").tolist() == [1, 11, 1, 11]
    assert jointly.floats("b").tolist() != apart.floats("b").tolist()


def test_k_of_everybody_gives_the_mean(numbers):
    data, schema = numbers({"a": [1.25, 2.5, 3.0]})
    assert masked(data, schema, k=3).floats("a").tolist() == [2.25] * 3


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(2, 6), st.floats(0, 0.4))
def test_invariants(seed, n, k, gaps):
    rng = np.random.default_rng(seed)
    positions = rng.normal(size=(n, 2)).round(1)
    positions[rng.random(n) < gaps, 1] = np.nan
    complete = int((~np.isnan(positions[:, 1])).sum())
    k = min(k, *(size for size in (complete, n - complete) if size))
    if k < 2 or len(np.unique(positions[:, 0])) < 2 or complete < 2:
        return
    result = aggregated(positions, np.array([False, False]), k)
    np.testing.assert_allclose(np.nansum(result, axis=0), np.nansum(positions, axis=0), atol=1e-9)
    assert (np.isnan(result) == np.isnan(positions)).all()
    for rows, columns, groups in pattern_groups(positions, k):
        assert k <= np.bincount(groups).min() <= np.bincount(groups).max() <= 2 * k - 1
        shown = result[np.ix_(rows, columns)]
        assert all((shown[groups == g] == shown[groups == g][0]).all() for g in np.unique(groups))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 40))
def test_the_order_of_the_file_moves_nothing(seed, n):
    rng = np.random.default_rng(seed)
    positions = np.column_stack([rng.integers(0, 4, n), rng.normal(size=n).round(1)]).astype(float)
    if (positions == positions[0]).all(axis=0).any():
        return
    order = rng.permutation(n)
    ordinal = np.array([True, False])
    pairs, shuffled = (
        sorted(map(tuple, np.hstack([x, aggregated(x, ordinal, 2)]).tolist())) for x in (positions, positions[order])
    )
    assert pairs == shuffled  # to the last bit


@pytest.mark.parametrize(
    ("columns", "parameters", "code", "place"),
    [
        ({"a": [1, 2, 3]}, {"k": 4}, "group-too-small", "masking[0].k"),
        ({"a": [7, 7, 7]}, {"k": 2}, "constant-attribute", "masking[0].attributes: a"),
        ({"a": [1.0, 2.0, np.inf]}, {"k": 2}, "infinite-value", "masking[0].attributes: a"),
        ({"a": [1.0, 2, 3, 4, 5], "b": [1.0, 2, 3, 4, None]}, {"k": 2}, "group-too-small", "masking[0].k"),
        ({"a": ["x", "y", "z"]}, {"k": 2}, "no-order", "masking[0].attributes: a"),
    ],
)
def test_refusals(numbers, columns, parameters, code, place):
    data, schema = numbers(columns)
    with pytest.raises(InputError) as refused:
        masked(data, schema, **parameters)
    assert (refused.value.code, refused.value.where) == (code, place)


def test_a_category_outside_the_declared_order_is_not_taken_for_missing():
    schema = Schema((Attribute("a", Role.QUASI_IDENTIFIER, Scale.ORDINAL, "declared", order=("low", "high")),))
    with pytest.raises(InputError) as refused:
        masked(Microdata.of({"a": ["low", "high", "medium"]}), schema, k=2)
    assert refused.value.code == "unknown-category"


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 1},
        {"k": 2, "blocks": (("a",), ("a", "b"))},
        {"k": 2, "attributes": ("a",), "blocks": (("a",), ("b",))},
        {"k": 2, "attributes": ("a", "a")},
        {"k": 2, "blocks": ()},
        {"k": True},
    ],
)
def test_parameters_that_make_no_sense(parameters):
    with pytest.raises(ValidationError):
        Microaggregation(method="microaggregation", **parameters)


@pytest.mark.parametrize(
    ("table", "first", "figures"),
    [  # 100 * SSE / SST on z-scores (n - 1), sdcMicro 5.8.1, microaggregation(method="mdav", aggr=k)
        ("census", 0, {3: 5.6922, 5: 9.0884, 10: 14.1559}),
        ("eia", 5, {3: 0.5919, 5: 1.5877, 10: 3.2699}),
    ],
)
def test_golden_loss(numbers, reference, table, first, figures):
    frame = pd.read_csv(reference / f"{table}.csv").iloc[:, first:]
    data, schema = numbers({name: frame[name].to_numpy() for name in frame})
    source = frame.to_numpy(float)
    for k, figure in figures.items():
        result = masked(data, schema, k=k)
        errors = np.column_stack([result.floats(name) for name in frame]) - source
        percent = 100 * np.mean((errors**2).sum(axis=0) / ((source - source.mean(axis=0)) ** 2).sum(axis=0))
        assert round(percent, 4) == figure  # also after rounding to the source's whole numbers
