"""Comparison patterns of all pairs: levels, and counts against a loop over every pair."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.probabilistic.levels import Exact, SameBin, Within, create_pattern_comparison
from tasks.attack.probabilistic.patterns import Patterns, compute_patterns, compute_strides, count_patterns
from tasks.attack.probabilistic.probabilistic_linkage import ProbabilisticLinkage
from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata

SCALES = {"c": Scale.NOMINAL, "x": Scale.NUMERIC}
WITHIN = Within(rule="within", percent=10)
BINS = SameBin(rule="same_bin", bins=4)
LADDER = (Exact(), WITHIN, BINS)


def level_slowly(own, shown, released):
    """The level of two numbers under LADDER, by the rules in words."""
    if own is None or shown is None:
        return 3 if own is shown else 0
    present = np.array([one for one in released if one is not None])
    edges = np.unique(np.quantile(present, [0.25, 0.5, 0.75]))
    holds = (own == shown, abs(own - shown) <= 0.1 * np.ptp(present), (edges <= own).sum() == (edges <= shown).sum())
    return next((3 - k for k, one in enumerate(holds) if one), 0)


def patterns_slowly(original, masked):
    """How often each pair of levels (of c: 0 or 1, of x: 0 to 3) occurs, by looking at every pair of rows."""
    found = np.zeros((2, 4), dtype=np.int64)
    own, shown = (list(zip(*(t.column(name).to_pylist() for name in "cx"), strict=True)) for t in (original, masked))
    for one, other in product(own, shown):
        found[int(one[0] == other[0]), level_slowly(one[1], other[1], masked.column("x").to_pylist())] += 1
    return found


def as_table(patterns: Patterns):
    found = np.zeros(tuple(patterns.sizes), dtype=np.int64)
    found[tuple(patterns.levels)] = patterns.counts
    return found


values = st.sampled_from([None, 0.0, 1.0, 2.0, 5.0, 9.5, 10.0])
rows = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([None, 0.0, 1.0, 2.0, 5.0, 9.5, 10.0])),
    min_size=1,
    max_size=12,
)


def typed(values):
    import pyarrow as pa

    return {"c": pa.array([v[0] for v in values], pa.string()), "x": pa.array([v[1] for v in values], pa.float64())}


@settings(max_examples=40, deadline=None)
@given(rows, rows, st.sampled_from([1 << 20, 0]))
def test_counts_are_those_of_a_loop_over_all_pairs(table, own, shown, at_once):
    original, schema = table(typed(own), scales=SCALES)
    masked = Microdata.from_columns(typed(shown))
    patterns = count_patterns(
        create_pattern_comparison(original, masked, schema, ("c", "x"), (("x", LADDER),)), at_once=at_once
    )
    assert as_table(patterns).tolist() == patterns_slowly(original, masked).tolist()
    assert patterns.n_pairs == len(own) * len(shown)


@settings(max_examples=20, deadline=None)
@given(rows, rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_does_not_count(table, own, shown, random):
    original, schema = table(typed(own), scales=SCALES)
    plain = count_patterns(
        create_pattern_comparison(original, Microdata.from_columns(typed(shown)), schema, ("c", "x"), (("x", LADDER),))
    )
    mixed = random.sample(own, len(own)), random.sample(shown, len(shown))
    tables = [Microdata.from_columns(typed(one)) for one in mixed]
    turned = count_patterns(create_pattern_comparison(*tables, schema, ("x", "c"), (("x", LADDER),)))
    assert as_table(turned).T.tolist() == as_table(plain).tolist()


def test_worked_levels(table):
    # released: 0, 10, 20, 100: range 100, so that 10 % is 10; quartile edges 7.5, 15, 40
    original, schema = table({"x": [0.0, 11.0, 30.0]})
    masked = Microdata.from_columns({"x": [0.0, 10.0, 20.0, 100.0]})
    both = create_pattern_comparison(original, masked, schema, ("x",), (("x", LADDER),))
    pairs = list(product(range(3), range(4)))
    found = compute_patterns(both, *(np.array(side) for side in zip(*pairs, strict=True))).reshape(3, 4)
    assert found.tolist() == [[3, 2, 0, 0], [0, 2, 2, 0], [0, 0, 2, 0]]


def test_a_rule_below_another_that_holds_does_not_lower_the_level(table):
    # 1 and 3 are in one bin (edges 5, 10, 15) but not within 5 % of 20; 4 and 5 the other way round
    original, schema = table({"x": [1.0, 4.0]})
    masked = Microdata.from_columns({"x": [3.0, 5.0, 0.0, 20.0, 10.0, 15.0]})
    ladder = (Within(rule="within", percent=5), BINS)
    both = create_pattern_comparison(original, masked, schema, ("x",), (("x", ladder),))
    edges = np.quantile([3, 5, 0, 20, 10, 15], [0.25, 0.5, 0.75])
    assert edges.tolist() == [3.5, 7.5, 13.75]
    assert compute_patterns(both, np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0])).tolist() == [1, 0, 2, 2]


def test_by_default_numbers_may_be_near_and_categories_are_equal_or_not(table):
    original, schema = table({"c": ["a"], "x": [1.0]}, scales=SCALES)
    assert create_pattern_comparison(original, original, schema, ("c", "x")).sizes.tolist() == [2, 5]


def test_missing_values_are_alike_and_far_from_all_others(table):
    original, schema = table({"x": [None, 1.0]})
    masked = Microdata.from_columns({"x": [None, 2.0]})
    both = create_pattern_comparison(original, masked, schema, ("x",), (("x", (Within(rule="within", percent=100),)),))
    assert compute_patterns(both, np.array([0, 0, 1]), np.array([0, 1, 0])).tolist() == [1, 0, 0]


def test_a_column_without_values_is_compared(table):
    original, schema = table({"x": np.array([np.nan, np.nan])})
    patterns = count_patterns(create_pattern_comparison(original, original, schema, ("x",), (("x", LADDER),)))
    assert (patterns.levels.tolist(), patterns.counts.tolist()) == ([[3]], [4])


def test_more_patterns_than_memory_holds_are_not_counted(table, monkeypatch):
    rng = np.random.default_rng(5)
    columns = {f"k{j}": rng.integers(0, 2, 30) for j in range(40)}
    original, schema = table(columns, scales=dict.fromkeys(columns, Scale.CODE))
    monkeypatch.setattr("tasks.attack.probabilistic.patterns.MOST_OCCURRING", 100)
    with pytest.raises(NotApplicable, match="more than 100 patterns of likeness occur"):
        count_patterns(create_pattern_comparison(original, original, schema, original.names))


def test_many_attributes_are_counted_by_sorting(table):
    rng = np.random.default_rng(5)
    columns = {f"k{j}": rng.integers(0, 2, 30) for j in range(40)}
    original, schema = table(columns, scales=dict.fromkeys(columns, Scale.CODE))
    both = create_pattern_comparison(original, original, schema, original.names)
    patterns = count_patterns(both)
    alike = np.stack([np.equal.outer(one, one) for one in columns.values()])
    numbers, counts = np.unique((alike * compute_strides(both.sizes)[:, None, None]).sum(axis=0), return_counts=True)
    assert patterns.numbers.tolist() == numbers.tolist()
    assert patterns.counts.tolist() == counts.tolist()


def test_more_patterns_than_numbers_are_refused(table):
    columns = {f"k{j}": [0, 1] for j in range(63)}
    original, schema = table(columns, scales=dict.fromkeys(columns, Scale.CODE))
    with pytest.raises(InputError, match="more patterns than can be told apart"):
        count_patterns(create_pattern_comparison(original, original, schema, original.names))


def test_categories_have_no_bins(table):
    original, schema = table({"c": ["a", "b"]}, scales=SCALES)
    with pytest.raises(InputError, match="have no order"):
        create_pattern_comparison(original, original, schema, ("c",), (("c", (Exact(), BINS)),))


def test_ladders_are_read_from_a_release_file():
    text = '{"method": "probabilistic_linkage", "compare": {"x": [{"rule": "exact"}, {"rule": "within", "percent": 10}]}}'
    spec = ProbabilisticLinkage.model_validate_json(text)
    assert spec.compare == (("x", (Exact(), WITHIN)),)
    assert ProbabilisticLinkage.model_validate_json(spec.model_dump_json()) == spec
    assert [str(rule) for rule in LADDER] == ["equal", "within 10 % of the range", "in the same of 4 bins"]
