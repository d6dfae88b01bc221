"""Microaggregation: what is published in place of each value."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from sites import site_of, view_of

from tasks.mask.groups.beside_mdav import compute_own_and_mdav_loss
from tasks.mask.groups.group_aggregates import aggregate_groups
from tasks.mask.groups.grouping import group_blocks
from tasks.mask.groups.microaggregation import (
    BlockSpec,
    Microaggregation,
    infer,
    microaggregate,
    refuse_unfit,
)
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

AGGREGATES = (None, "median", "plurality")
PARTITIONS = ("mdav", "v_mdav", "refined", "individual_ranking", "projection")


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
    data = Microdata.from_columns({"educ": texts})
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


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(2, 6), st.floats(0, 0.4), st.sampled_from(PARTITIONS))
def test_invariants(numbers, seed, n, k, gaps, partition):
    rng = np.random.default_rng(seed)
    positions = rng.integers(-50, 50, size=(n, 2)) / 2**30  # means of a few are exact enough at the grid of 15 decimals
    positions[rng.random(n) < gaps, 1] = np.nan
    complete = int((~np.isnan(positions[:, 1])).sum())
    k = min(k, *(size for size in (complete, n - complete) if size))
    if k < 2 or any(len(np.unique(column[~np.isnan(column)])) < 2 for column in positions.T):
        return
    data, schema = numbers({"a": positions[:, 0], "b": positions[:, 1]})
    shown = masked(data, schema, k=k, partition=partition)
    result = np.column_stack([shown.floats(name) for name in "ab"])
    np.testing.assert_allclose(np.nansum(result, axis=0), np.nansum(positions, axis=0), atol=1e-12)
    assert (np.isnan(result) == np.isnan(positions)).all()
    apart = partition == "individual_ranking"
    patterns = [~np.isnan(column) for column in positions.T] if apart else [has := ~np.isnan(positions[:, 1]), ~has]
    for j, pattern in enumerate(patterns):
        together = result[pattern][:, [j]] if apart else result[pattern]
        if len(together):
            assert np.unique(np.nan_to_num(together), axis=0, return_counts=True)[1].min() >= k


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(6, 40), st.sampled_from(PARTITIONS), st.sampled_from(AGGREGATES))
def test_the_order_of_the_file_moves_nothing(seed, n, partition, aggregate):
    rng = np.random.default_rng(seed)
    ranks = (
        rng.permutation(n) if partition == "individual_ranking" else rng.integers(0, 4, n)
    )  # of equals any may go either way
    data = Microdata.from_columns({"a": ranks, "b": rng.normal(size=n), "c": rng.choice(["x", "y", "z"], n)})
    if any(len(set(data.column(name).to_pylist())) < 2 for name in data.names):
        return
    names = data.names if partition in ("mdav", "v_mdav", "refined") else ("a", "b")
    schema = mixed(data)
    pairs, shuffled = (
        sorted(zip(*(t.column(name).to_pylist() for t in (x, masked(x, schema, attributes=names, k=3, partition=partition,
               aggregate=aggregate)) for name in data.names), strict=True))
        for x in (data, data.take(rng.permutation(n)))
    )  # fmt: skip
    assert pairs == shuffled


def mixed(data):
    scales = {"a": Scale.ORDINAL, "b": Scale.NUMERIC, "c": Scale.NOMINAL}
    return Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, scales[name], "declared") for name in data.names))


def test_worked_table_of_mixed_records():
    data = Microdata.from_columns({"a": [0, 0, 0, 3, 3, 3], "b": [1.0, 2, 1, 9, 8, 9], "c": ["x", "x", "y", "y", "y", "x"]})
    shown = masked(data, mixed(data), k=3)
    # c differs in 9 of 15 pairs and counts 2 / 0.6 = 3.3, as much as a (9 / 2.7); b adds at least 36 / 16.7 between the halves
    assert shown.floats("a").tolist() == [0, 0, 0, 3, 3, 3]
    assert shown.floats("b").tolist() == [1, 1, 1, 9, 9, 9]  # 1.33 and 8.67 at whole numbers
    assert shown.column("c").to_pylist() == ["x", "x", "x", "y", "y", "y"]


@pytest.mark.parametrize(
    ("values", "groups", "aggregate", "expected"),
    [
        ([1.0, 2.0, 6.0, 5.0], [0, 0, 0, 1], "mean", [3, 3, 3, 5]),
        ([1.0, 2.0, 6.0, 5.0], [0, 0, 0, 0], "median", [3.5] * 4),
        ([1.0, 2.0, 6.0, 5.0], [0, 0, 0, 0], "median category", [2] * 4),
        ([2.0, 1.0, 1.0, 2.0, 2.0], [0, 0, 0, 0, 1], "plurality", [2] * 5),  # 2 and 1 alike in group 0, 2 more frequent in all
        ([2.0, 1.0, 1.0, 2.0], [0, 0, 0, 0], "plurality", [1] * 4),  # alike everywhere: the lowest
    ],
)
def test_aggregates(values, groups, aggregate, expected):
    assert aggregate_groups(np.array(values), np.array(groups), aggregate).tolist() == expected


def test_each_block_may_have_a_k_of_its_own(numbers):
    data, schema = numbers({"a": [0, 2, 10, 12, 20, 22], "b": [0, 2, 4, 10, 12, 14]})
    shown = masked(data, schema, k=3, blocks=(BlockSpec(attributes=("a",), k=2), ("b",)))
    assert shown.floats("a").tolist() == [1, 1, 11, 11, 21, 21]
    assert shown.floats("b").tolist() == [2, 2, 2, 12, 12, 12]


def test_individual_ranking_is_the_optimum_of_each_attribute_alone(numbers):
    rng = np.random.default_rng(5)
    data, schema = numbers({name: rng.lognormal(size=50).round(2) for name in "abc"})
    alone = data
    for name in "abc":
        alone = masked(alone, schema, attributes=(name,), k=4, partition="optimal_univariate")
    assert masked(data, schema, k=4, partition="individual_ranking").arrow.equals(alone.arrow)


def test_nobody_repeats_a_randomised_partition_without_the_seed(numbers):
    rng = np.random.default_rng(8)
    data, schema = numbers({name: rng.normal(size=60) for name in "ab"})
    spec = Microaggregation(method="microaggregation", attributes=("a", "b"), k=3, partition="randomised")
    shown, again, other = (microaggregate(site_of(data, schema, seed=seed), spec) for seed in (1, 1, 2))
    assert shown.arrow.equals(again.arrow)
    assert not shown.arrow.equals(other.arrow)
    assert infer(view_of(data, shown, schema), spec).unclear == ("a", "b")
    assert np.unique(shown.floats("a"), return_counts=True)[1].min() >= 3


def test_the_loss_of_a_randomised_partition_is_told_beside_that_of_mdav(numbers):
    rng = np.random.default_rng(8)
    data, schema = numbers({name: rng.normal(size=90) for name in "ab"})
    spec = Microaggregation(method="microaggregation", attributes=("a", "b"), k=3, partition="randomised")
    site = site_of(data, schema, seed=4)
    drawn, repeatable = compute_own_and_mdav_loss(group_blocks(site, spec))
    for loss, partition in ((drawn, "randomised"), (repeatable, "mdav")):
        shown = microaggregate(site, spec.model_copy(update={"partition": partition}))
        parts = [np.var(shown.floats(n) - data.floats(n)) / np.var(data.floats(n)) for n in "ab"]
        assert loss == pytest.approx(100 * np.mean(parts), rel=1e-6)
    assert notes_of(site, spec) == [
        f"masking[0]: the randomised partition loses {drawn:.2g} % of the variation of what it groups; MDAV, which an intruder "
        f"can repeat, would lose {repeatable:.2g} %",
    ]
    assert notes_of(site, spec.model_copy(update={"partition": "refined"})) == []


def notes_of(site, spec):
    notes = []
    microaggregate(replace(site, tell=lambda note: notes.append(note())), spec)
    return notes


def test_without_standardising_the_widest_attribute_decides(numbers):
    data, schema = numbers({"a": [0, 0, 1, 1], "b": [0, 1000, 0, 1000]})
    assert masked(data, schema, k=2, standardize=False).floats("b").tolist() == [0, 1000, 0, 1000]


@pytest.mark.parametrize("partition", PARTITIONS)
def test_who_knows_the_partition_repeats_it(numbers, partition):
    rng = np.random.default_rng(8)
    data, schema = numbers({name: rng.normal(size=40) for name in "ab"})
    spec = Microaggregation(method="microaggregation", attributes=("a", "b"), k=3, partition=partition)
    shown = microaggregate(site_of(data, schema), spec)
    found = infer(view_of(data, shown, schema), spec)
    assert found.believed.arrow.equals(shown.arrow)
    assert found.is_certain(("a", "b"))


@pytest.mark.parametrize(
    ("columns", "parameters", "code", "place"),
    [
        ({"a": [1, 2, 3]}, {"k": 4}, "group-too-small", "masking[0].k"),
        ({"a": [7, 7, 7]}, {"k": 2}, "constant-attribute", "masking[0].attributes: a"),
        ({"a": [1.0, 2.0, np.inf]}, {"k": 2}, "infinite-value", "masking[0].attributes: a"),
        ({"a": [1.0, 2, 3, 4, 5], "b": [1.0, 2, 3, 4, None]}, {"k": 2}, "group-too-small", "masking[0].k"),
        ({"a": ["x", "y", "z"]}, {"k": 2}, "no-order", "masking[0].attributes: a"),
        (
            {"a": [1, 2], "b": [1, 2]},
            {"k": 2, "partition": "optimal_univariate"},
            "partition-needs-one-attribute",
            "masking[0].partition",
        ),
        (
            {"a": [1, 2, 3], "b": [1, 2, 3]},
            {"k": 2, "blocks": (BlockSpec(attributes=("a",), k=4), ("b",))},
            "group-too-small",
            "masking[0].k",
        ),
    ],
)
def test_refusals(numbers, columns, parameters, code, place):
    data, schema = numbers(columns)
    spec = Microaggregation(method="microaggregation", **{"attributes": schema.names, **parameters})
    for refusing in (microaggregate, refuse_unfit):
        with pytest.raises(InputError) as refused:
            refusing(site_of(data, schema), spec)
        assert (refused.value.code, refused.value.where) == (code, place)


@pytest.mark.parametrize("partition", ["individual_ranking", "optimal_univariate", "projection"])
def test_partitions_that_order_the_records_refuse_categories(partition):
    data = Microdata.from_columns({"c": ["x", "y", "x", "y"]})
    with pytest.raises(InputError) as refused:
        masked(data, mixed(data), k=2, partition=partition)
    assert refused.value.code == "partition-needs-order"


def test_too_many_categories():
    data = Microdata.from_columns({"c": [str(i) for i in range(300)]})
    with pytest.raises(InputError, match="300 categories"):
        masked(data, mixed(data), k=2)


def test_a_category_outside_the_declared_order_is_not_taken_for_missing():
    schema = Schema((Attribute("a", Role.QUASI_IDENTIFIER, Scale.ORDINAL, "declared", order=("low", "high")),))
    with pytest.raises(InputError) as refused:
        masked(Microdata.from_columns({"a": ["low", "high", "medium"]}), schema, k=2)
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
        {"k": 2, "gamma": 0.5},
        {"k": 2, "axis": "sum_of_z_scores"},
        {"k": 2, "blocks": (("a",), ("b",)), "partition": "individual_ranking"},
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


def test_the_loss_of_one_group_is_told_in_digits(numbers):
    data, schema = numbers({"a": [1.0, 2.0, 4.0], "b": [2.0, 7.0, 1.0]})
    spec = Microaggregation(method="microaggregation", attributes=("a", "b"), k=3, partition="randomised")
    assert "loses 100 % of the variation" in notes_of(site_of(data, schema), spec)[0]
