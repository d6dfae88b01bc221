"""Records of two files that are only alike, joined: against all matchings written out, and how often a join is right."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.together import likely_records
from tasks.attack.together.likely_records import join_likely_records
from tasks.attack.together.row_links import compare_rows, link_rows
from tasks.attack.together.row_sets import _compare
from tasks.microdata.errors import NotFollowed
from tasks.microdata.schema import Scale


def files_of(table, seed, *, n=80, common=50, error=0.05):
    """Two files of ages, heights and jobs: `common` people are in both, in any order, and what is said of them differs."""
    rng = np.random.default_rng(seed)
    people = 2 * n - common
    truth = {"a": rng.normal(size=people), "b": rng.normal(size=people), "c": rng.integers(0, 6, people)}
    who = [rng.permutation(n), rng.permutation(np.arange(people - n, people))]
    found = []
    for one in who:
        told = {name: values[one] + rng.normal(0, error, n) for name, values in truth.items() if name != "c"}
        told["c"] = np.where(rng.random(n) < 0.1, rng.integers(0, 6, n), truth["c"][one]).astype(str)
        found.append(table(told, scales={"c": Scale.NOMINAL}))
    (first, schema), (second, _) = found
    _, here, there = np.intersect1d(*who, return_indices=True)
    return first, second, schema, (here, there)


def test_ratios_of_many_pairs_are_those_of_each(table):
    first, second, schema, pairs = files_of(table, 1)
    ratios = link_rows(first, second, schema, pairs, ()).ratios
    rows, others = np.repeat(np.arange(5), 6), np.tile(np.arange(6), 5)
    expected = [_compare(row, other, ratios) for row, other in zip(rows, others, strict=True)]
    assert compare_rows(rows, others, ratios) == pytest.approx(np.array(expected))


def test_five_records_are_joined_as_by_all_their_matchings(table):
    """Five records a file, of which 3 are one person's: shares of all 600 ways to match three pairs; claims are off by 0.12."""
    first, second, schema, pairs = files_of(table, 4, n=60, common=40, error=0.2)
    links = link_rows(first, second, schema, pairs, ())
    few = [np.r_[side[:3], np.setdiff1d(np.arange(60), side)[:2]] for side in pairs]
    weight = np.exp(compare_rows(np.repeat(few[0], 5), np.tile(few[1], 5), links.ratios)).reshape(5, 5)
    chance = np.zeros((5, 5))
    for rows in combinations(range(5), 3):
        for others in permutations(range(5), 3):
            chance[rows, others] += weight[rows, others].prod()
    chance /= chance.sum() / 3
    ones = np.ones(5, dtype=np.int64)
    weighed = likely_records.WeighedPairs(np.arange(0, 26, 5), np.tile(np.arange(5), 5), weight.ravel())
    found = likely_records.compute_pair_marginals(weighed, ones, ones, 3).reshape(5, 5)
    assert np.abs(found - chance).max() < 0.12
    assert (found.argmax(1) == chance.argmax(1))[chance.max(1) > 0.6].all()


def test_joins_are_right_as_often_as_they_claim(table):
    """Over 12 pairs of files: more than half of those in both are joined, nobody twice, and as many are right as claimed."""
    right, people, claims, spread = 0, 0, 0.0, 0.0
    for seed in range(12):
        first, second, schema, (here, there) = files_of(table, seed)
        joined, chance = join_likely_records(first, second, schema, (here, there))
        made = joined[joined >= 0]
        assert len(np.unique(made)) == len(made)
        truth = np.full(first.n, -1)
        truth[here] = there
        hit = (joined >= 0) & (joined == truth)
        right, people = right + hit.sum(), people + len(here)
        claims, spread = claims + chance[joined >= 0].sum(), spread + (chance * (1 - chance))[joined >= 0].sum()
    assert right > 0.5 * people
    assert abs(right - claims) < 4 * np.sqrt(spread) + 0.05 * claims


def count_joins(table, seeds, values_of, *, n=100, common=30):
    """Joins that are right, and how many the claims promise. values_of: generator, people -> columns; the first are in both."""
    right, claims = 0, 0.0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        truth = values_of(rng, 2 * n - common)
        who = [rng.permutation(n), rng.permutation(np.append(np.arange(common), np.arange(n, 2 * n - common)))]
        told = [
            {
                name: column[one] + rng.normal(0, 0.3, n)
                if column.dtype.kind == "f"
                else np.where(rng.random(n) < 0.05, rng.choice(column, n), column[one])
                for name, column in truth.items()
            }
            for one in who
        ]
        scales = {name: Scale.NOMINAL for name, column in truth.items() if column.dtype.kind != "f"}
        (first, schema), (second, _) = (table(one, scales=scales) for one in told)
        _, *pairs = np.intersect1d(*who, return_indices=True)
        joined, chance = join_likely_records(first, second, schema, tuple(pairs))
        made = np.flatnonzero(joined >= 0)
        right, claims = right + (who[0][made] == who[1][joined[made]]).sum(), claims + chance[made].sum()
    return right, claims


def test_people_in_both_may_be_unlike_the_others(table):
    """In both are the 30 oldest of 170, so that the youngest of the two files are alike, and two people's:
    none of some 34 joins was right."""

    def values_of(rng, people):
        found = rng.normal(size=(people, 3))
        found[:, 0] = np.sort(found[:, 0])[::-1]
        return dict(zip("abc", found.T, strict=True))

    right, claims = count_joins(table, range(10), values_of)
    assert right > 0.9 * claims > 20


def test_people_in_both_may_live_in_one_town(table):
    """95 of 100 people in both live in one town, 5 of 100 others: of 12 joins that others' towns made 4 were right."""

    def values_of(rng, people):
        is_here = rng.random(people) < np.where(np.arange(people) < 30, 0.95, 0.05)
        town = np.where(is_here, "here", rng.choice(["x", "y", "z"], people))
        return dict(zip("abc", rng.normal(size=(3, people)), strict=True)) | {"town": town}

    right, claims = count_joins(table, range(6), values_of, n=200)
    assert right > 0.85 * claims > 20


def test_columns_that_follow_from_each_other_count_once(table):
    """Eight kinds of people, which five columns show alike: counted five times, a kind would seem to tell who somebody is."""

    def values_of(rng, people):
        kind = rng.integers(0, 8, people).astype(str)
        return dict.fromkeys("abcde", kind)

    right, claims = count_joins(table, range(6), values_of, common=100)
    assert claims - right < 5


@given(seed=st.integers(0, 10**6))
@settings(max_examples=8, deadline=None)
def test_the_order_of_a_file_does_not_matter_and_equal_files_are_joined_whole(table, seed):
    first, second, schema, (here, there) = files_of(table, seed, n=40, common=25)
    joined, _ = join_likely_records(first, second, schema, (here, there))
    order = np.random.default_rng(seed).permutation(second.n)
    back = np.argsort(order)
    turned, _ = join_likely_records(first, second.take(order), schema, (here, back[there]))
    assert turned.tolist() == np.where(joined >= 0, back[joined], -1).tolist()
    everybody = np.arange(first.n)
    same, chance = join_likely_records(first, first, schema, (everybody, everybody))
    assert same.tolist() == everybody.tolist()
    assert chance == pytest.approx(1)


def test_too_many_pairs_are_told(table, monkeypatch):
    monkeypatch.setattr(likely_records, "MOST_PAIRS", 100)
    first, second, schema, pairs = files_of(table, 1)
    with pytest.raises(NotFollowed):
        join_likely_records(first, second, schema, pairs)
