"""What is read off sorted columns, against scipy, numpy, pandas and the plain way."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.score.association import covariance_difference, rank_correlation_difference
from tasks.score.interval_disclosure import (
    RankIntervalDisclosure,
    SdIntervalDisclosure,
    rank_interval_disclosure,
    same_value_disclosure,
    sd_interval_disclosure,
)
from tasks.score.sorted_columns import ColumnPair, SortedColumn, find_places
from tasks.score.subgroups import HIGHEST, LOWEST, TAIL, WIDEST_TAIL, find_subgroups
from tasks.score.table_pair import RowwiseTablePair, TablePair

NUMBERS = st.one_of(st.integers(-4, 4).map(float), st.just(-0.0), st.sampled_from([np.inf, -np.inf]))
GAPPED = st.one_of(st.just(np.nan), NUMBERS)


def schema_of(names, *more):
    return Schema((*(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in names), *more))


def table_of(columns):
    return Microdata(pa.table({name: pa.array(values, pa.float64(), from_pandas=True) for name, values in columns.items()}))


def steps_on(names):
    return (Microaggregation(method="microaggregation", attributes=tuple(names), k=2),)


@given(st.lists(NUMBERS, max_size=15), st.lists(NUMBERS, max_size=15))
def test_places_are_those_of_searchsorted(numbers, others):
    ascending, asked = np.sort(np.array(numbers)), np.sort(np.array(others))
    below, up_to = find_places(ascending, asked)
    np.testing.assert_array_equal(below, np.searchsorted(ascending, asked, "left"))
    np.testing.assert_array_equal(up_to, np.searchsorted(ascending, asked, "right"))


@given(st.lists(GAPPED, min_size=1, max_size=15), st.lists(GAPPED, min_size=1, max_size=15))
@example([np.nan], [1.0])
@example([np.inf], [np.nan, np.inf])
def test_the_largest_distance_of_tables_of_other_sizes_and_infinite_numbers(numbers, others):
    before, after = np.array(numbers), np.array(others)

    def share(values, bound):
        return np.mean(np.isnan(values) | (values <= bound))

    bounds = [one for one in (*numbers, *others) if not np.isnan(one)]
    gaps = abs(np.isnan(before).mean() - np.isnan(after).mean())
    expected = max([gaps, *(abs(share(before, bound) - share(after, bound)) for bound in bounds)])
    found = ColumnPair(SortedColumn(before), SortedColumn(after)).compute_largest_distance()
    assert found == pytest.approx(expected, abs=1e-12)


@given(st.lists(GAPPED, max_size=20))
def test_ranks_of_infinite_and_missing_values_are_those_of_pandas(numbers):
    values = np.array(numbers, dtype=np.float64)
    np.testing.assert_array_equal(SortedColumn(values).compute_ranks(), pd.Series(values).rank())


def draw_tables(n_names=3):
    def of_size(n):
        column = st.lists(st.one_of(st.none(), st.integers(0, 5).map(float)), min_size=n, max_size=n)
        return st.tuples(*[st.lists(column, min_size=n_names, max_size=n_names)] * 2)

    return st.integers(6, 25).flatmap(of_size)


def correlate_ranks(table, one, other):
    both = table[[one, other]].dropna()
    if len(both) < 2 or (both.nunique() < 2).any():
        return float("nan")
    return float(spearmanr(both[one], both[other]).statistic)


@settings(max_examples=60, deadline=None)
@given(draw_tables())
def test_rank_correlations_with_gaps_are_those_of_scipy(drawn):
    """Of several attributes: a pair must find nothing that the pair before it left behind."""
    before, after = (pd.DataFrame(dict(zip("abc", columns, strict=True)), dtype=float) for columns in drawn)
    tables = RowwiseTablePair(table_of(before), table_of(after), schema_of("abc"), steps_on("abc"))
    names = [name for name in "abc" if before[name].nunique() != 1 or after[name].nunique() != 1]
    changes = [
        abs(correlate_ranks(after, one, other) - correlate_ranks(before, one, other)) for one, other in combinations(names, 2)
    ]
    found = rank_correlation_difference(tables).value
    if not changes or np.isnan(changes).any():
        assert found is None
    else:
        assert found == pytest.approx(np.mean(changes), abs=1e-9)


@pytest.mark.parametrize(("n", "m"), [(40, 25), (25, 40)])
def test_relations_of_releases_of_another_size(n, m):
    """Complete attributes beside those with gaps: rows of the larger table must not reach into the smaller."""
    rng = np.random.default_rng(n)
    frames = []
    for size in (n, m):
        frame = pd.DataFrame(rng.integers(0, 9, (size, 3)).astype(float), columns=list("abc"))
        frame.loc[rng.random(size) < 0.3, "c"] = np.nan
        frames.append(frame)
    before, after = frames
    tables = TablePair(table_of(before), table_of(after), schema_of("abc"), steps_on("abc"))
    ranked = [abs(correlate_ranks(after, *pair) - correlate_ranks(before, *pair)) for pair in combinations("abc", 2)]
    assert rank_correlation_difference(tables).value == pytest.approx(np.mean(ranked))
    spread = np.sqrt(np.outer(before.var(), before.var()))
    changes = (np.abs(after.cov() - before.cov()) / spread).to_numpy()[np.triu_indices(3)]
    assert covariance_difference(tables).value == pytest.approx(changes.mean())


@given(st.integers(1, 20).flatmap(lambda n: st.tuples(*[st.lists(GAPPED, min_size=n, max_size=n)] * 2)))
def test_pairs_of_equal_values_where_either_is_missing(drawn):
    before, after = map(np.array, drawn)
    finite = [np.where(np.isinf(one), np.nan, one) + 0.0 for one in (before, after)]  # 0.0 and -0.0 are different cells
    tables = RowwiseTablePair(*(table_of({"a": one}) for one in finite), schema_of("a"), steps_on("a"))
    (found,) = same_value_disclosure(tables)
    present = finite[0][~np.isnan(finite[0])]
    if not len(present):
        assert found.value is None
        return
    assert found.value == pytest.approx(np.sum(finite[0] == finite[1]) / len(present))
    assert found.chance == pytest.approx(np.mean(present[:, np.newaxis] == finite[1][~np.isnan(finite[0])]), abs=1e-12)


WHOLE = st.integers(-3, 3)


@given(st.lists(st.tuples(st.one_of(st.none(), WHOLE), st.one_of(st.none(), WHOLE)), min_size=2, max_size=15))
def test_intervals_where_either_value_is_missing(drawn):
    """A record without an original value is none; one without a masked value is not disclosed."""
    own, shown = np.array(drawn, dtype=float).T
    present = own[~np.isnan(own)]
    if len(present) < 2:
        return
    tables = RowwiseTablePair(table_of({"a": own}), table_of({"a": shown}), schema_of("a"), steps_on("a"))
    reach = 0.5 * np.std(present, ddof=1)
    distances = np.abs(shown[:, np.newaxis] - own)
    if not np.isclose(distances, reach, rtol=1e-9).any():  # a distance of the reach itself is a matter of rounding
        (found,) = sd_interval_disclosure(tables, SdIntervalDisclosure(p_percent=(50.0,)))
        counted = ~np.isnan(own)
        assert found.value == pytest.approx(np.sum(np.diagonal(distances) <= reach) / len(present))
        assert found.chance == pytest.approx(np.sum(distances[counted] <= reach) / len(present) ** 2)
    (found,) = rank_interval_disclosure(tables, RankIntervalDisclosure(p_percent=(50.0,)))
    hits = pairs = 0
    for own_value, shown_value in zip(own, shown, strict=True):
        if np.isnan(own_value) or np.isnan(shown_value):
            continue
        low, high = find_rank_interval(np.sort(present), shown_value, 50)
        hits += low <= own_value <= high
        pairs += np.sum((present >= low) & (present <= high))
    assert found.value == pytest.approx(hits / len(present))
    assert found.chance == pytest.approx(pairs / len(present) ** 2)


def find_rank_interval(ranked, shown_value, p_percent):
    """The ends as the definition says, half places rounded inwards; infinity and -infinity where no place is left."""
    middle = (np.sum(ranked < shown_value) + np.sum(ranked <= shown_value) - 1) / 2
    window, n = p_percent * len(ranked) // 200, len(ranked)
    first, last = max(math.ceil(middle - window), 0), min(math.floor(middle + window), n - 1)
    return (ranked[first], ranked[last]) if first < n and last >= 0 else (np.inf, -np.inf)


def find_tail(values):
    """The plain way: the largest values, all that are equal together, up to a share; or the largest one up to another."""
    present = values[~np.isnan(values)]
    shares = [(value, np.mean(present >= value)) for value in np.unique(present)[::-1]]
    fitting = [value for value, share in shares if share <= TAIL] or [
        value for value, share in shares[:1] if share <= WIDEST_TAIL
    ]
    return values >= fitting[-1] if len(fitting) else np.zeros(len(values), dtype=bool)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([200, 400]), st.sampled_from([5, 60, 10_000]), st.sampled_from([0.0, 0.3]))
def test_tails_are_those_of_the_plain_way(seed, n, n_values, gaps):
    """Also of persons with several rows, of whom the lowest row counts among the lowest and the highest among the highest."""
    rng = np.random.default_rng(seed)
    values = (
        np.round(rng.standard_normal(n) ** 3, 3) if n_values > 100 else rng.integers(0, n_values, n) * rng.choice([0, 1.0], n)
    )
    values[rng.random(n) < gaps] = np.nan
    persons = rng.integers(0, n, n) if seed % 2 else np.arange(n)
    schema = schema_of("a", Attribute("id", Role.PERSON, Scale.NOMINAL, "declared"))
    data = Microdata(pa.table({"a": pa.array(values, from_pandas=True), "id": pa.array([str(one) for one in persons])}))
    units = find_units(data, schema)
    by_person = pd.Series(values).groupby(units.of_row)
    expected = {LOWEST: find_tail(-by_person.min().to_numpy()), HIGHEST: find_tail(by_person.max().to_numpy())}
    found = {one.name: one.members for one in find_subgroups(data, schema, units) if one.attribute == "a"}
    for name, members in expected.items():
        if name in found:
            np.testing.assert_array_equal(found[name], members)
        else:
            assert members.sum() < 10  # too few to be published
