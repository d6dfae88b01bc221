"""Bounds on values that are hidden, carried through the steps that follow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.coding.recoding import Recoding
from tasks.mask.coding.rounding import Rounding
from tasks.mask.coding.top_bottom_coding import TopBottomCoding
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.groups.moved_bounds import move_bounds_within_groups
from tasks.mask.methods import infer_belief, mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.ranks.reverse_mapping import ReverseMapping
from tasks.mask.value_bounds import ValueBounds, largest_spread, move_by_ranks
from tasks.microdata.errors import InputError, NotFollowed
from tests.mask.followed import followed

SEED = bytes(range(32))
V = ("v",)
SWAP = RankSwapping(method="rank_swapping", attributes=V, window_percent=20.0)
RANKED = Microaggregation(method="microaggregation", attributes=V, k=2, partition="individual_ranking")


def rounded(kind="deterministic", base=10):
    return Rounding.model_validate({"method": "rounding", "bases": {"v": base}, "kind": kind})


def coded(**limits):
    return TopBottomCoding.model_validate({"method": "top_bottom_coding", "limits": {"v": limits}})


def noise(kind="independent", sd_percent=10.0):
    return Noise(method="noise", attributes=V, kind=kind, sd_percent=sd_percent)


def banded(intervals, **shown):
    return Recoding.model_validate({"method": "recoding", "recode": {"v": {"intervals": intervals, **shown}}})


STEPS = {
    "swap": SWAP,
    "jitter": RankJitter(method="rank_jitter", attributes=V, window_percent=15.0),
    "ranked": RANKED,
    "median": RANKED.model_copy(update={"aggregate": "median", "k": 3}),
    "noise": noise(),
    "little noise": noise(sd_percent=1.5),
    "restored": noise("variance_restoring", 30.0),
    "factors": noise("multiplicative", 20.0),
    "rounded": rounded(),
    "at random": rounded("random"),
    "controlled": rounded("controlled", 7),
    "top": coded(top_percent=12),
    "both ends": coded(top=70, bottom_percent=12),
    "mean": coded(top_percent=20, publish="mean"),
    "median of the ends": coded(top_percent=12, bottom_percent=20, publish="median"),
    "bands": banded([5, 30, 61], publish="mean"),
    "medians of bands": banded([-10, 20, 21, 70], publish="median"),
    "lower limits": banded([-1000, 0, 30, 55], publish="lower"),
    "midpoints": banded([-1000, 0, 10, 55, 1000], publish="midpoint"),
    "stated": banded([5, 60], values=[-300, 40, 61]),
    "back": ReverseMapping(method="reverse_mapping", attributes=V),
}


class TestWorkedByHand:
    """Ten records that hold 1, 4, 8, 13, 19, 26, 34, 43, 53, 64, swapped over 2 ranks at the most."""

    VALUES = np.array([1, 4, 8, 13, 19, 26, 34, 43, 53, 64])

    def between(self, table, *steps, of=4):
        """What the row of the record with 19 shows, if `of` is 4."""
        data, schema = table({"v": self.VALUES})
        done = mask(data, schema, (SWAP, *steps), seed=SEED, path=())
        (part,) = infer_belief(data, done.data, schema, done.mechanisms).between
        return part.low[of], part.high[of]

    def test_rounding_rounds_the_ends_of_the_window(self, table):
        assert self.between(table, rounded()) == (10, 30)  # 8 and 34

    def test_random_rounding_reaches_to_the_multiples_around_them(self, table):
        assert self.between(table, rounded("random")) == (0, 40)

    def test_coding_cuts_them(self, table):
        assert self.between(table, coded(top_percent=40)) == (8, 34)  # 34, 43, 53 and 64 are published as 34
        assert self.between(table, coded(top_percent=40), of=9) == (34, 34)
        assert self.between(table, coded(top_percent=30, publish="mean"), of=9) == (53, 53)  # (43 + 53 + 64) / 3 = 53.3

    def test_bands_of_the_ends(self, table):
        assert self.between(table, banded([10, 30], values=[5, 20, 40])) == (5, 40)  # 8 and 34
        assert self.between(table, banded([10, 40], publish="mean")) == (0.5, 40.5)  # means of values from 1 to 40, rounded
        assert self.between(table, banded([0, 15, 30, 50, 70], publish="midpoint")) == (7, 40)

    def test_individual_ranking_gives_the_means_of_pairs(self, table):
        # 1 4 | 8 13 | 19 26 | 34 43 | 53 64 become 2, 10, 22, 38, 58 (halves to even)
        assert self.between(table, RANKED) == (10, 38)

    def test_little_noise_widens_the_window_by_what_it_can_reach(self, table):
        low, high = self.between(table, noise(sd_percent=2.0))
        sd = 0.02 * self.VALUES.std(ddof=1)  # 0.42; the chance beyond 5.7 of them is 1e-8, and half a unit is for rounding
        assert low == pytest.approx(8 - 5.73 * sd - 0.5, abs=0.01)
        assert high == pytest.approx(34 + 5.73 * sd + 0.5, abs=0.01)

    def test_a_second_swap_widens_it_by_its_window(self, table):
        assert self.between(table, SWAP) == (1, 53)


def test_ranks_of_a_value_in_a_column_that_is_not_quite_known():
    low, high = np.array([3.0, 9.0, np.nan]), np.array([4.0, 9.0, np.nan])
    bounds = ValueBounds("v", low, high, np.array([1.0, 2, 3, 8]), np.array([1.0, 3, 3, 9]))
    first, last = bounds.find_ranks()
    assert (first.tolist(), last.tolist()) == ([1, 3, -1], [2, 3, -1])
    moved = move_by_ranks(bounds, 1)
    np.testing.assert_array_equal(moved.low, [1, 3, np.nan])
    np.testing.assert_array_equal(moved.high, [9, 9, np.nan])


def test_spread_is_at_most_what_the_bounds_allow():
    rng = np.random.default_rng(1)
    for _ in range(200):
        lowest, width = np.sort(rng.normal(size=12)), rng.exponential(size=12)
        columns = lowest + width * rng.random((50, 12))
        assert columns.std(axis=1, ddof=1).max() <= largest_spread(lowest, lowest + width)


def test_groups_of_a_column_that_is_not_known_hold_neighbours():
    column = np.arange(10.0)
    moved = move_bounds_within_groups(ValueBounds("v", column, column, column, column + 0.5), 3)
    assert (moved.low[5], moved.high[5]) == (3.0, 7.5)  # 5 stands at rank 5 alone
    assert (moved.lowest[5], moved.highest[5]) == (3.0, 7.5)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=4),
    st.integers(0, 2**32 - 1),
    st.integers(20, 45),
    st.sampled_from([15, 200, 100_000]),
    st.floats(0, 0.3),
)
def test_no_chain_of_steps_rules_out_the_true_row(table, names, seed, n, different, gaps):
    rng = np.random.default_rng(seed)
    values = rng.integers(-different // 3, different, n) * 100 / different
    values = np.where(rng.random(n) < gaps, np.nan, np.round(values, 2))
    values[:6] = [0, 5, 50, 60, 99, 100]
    data, schema = table({"v": values})
    try:
        found = followed(data, schema, tuple(STEPS[name] for name in names), seed=seed.to_bytes(32, "big"))
    except InputError:  # steps that do not fit, such as rounding what is round
        return
    except NotFollowed:  # of a column whose values may all be 0, or whose limits may meet
        assert {"factors", "both ends", "median of the ends"}.intersection(names)
        return
    assert not found.rules_out_the_truth.any()
    assert "v" not in found.knowledge.unclear


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["swap", "jitter", "ranked"]), st.sampled_from(sorted(set(STEPS) - {"factors"})), st.integers(0, 2**32 - 1)
)
def test_in_strata_bounds_hold_too(table, first, second, seed):
    rng = np.random.default_rng(seed)
    data, schema = table({"v": np.append(rng.permutation(60), [0, 100]), "sex": np.append(rng.integers(0, 2, 60), [0, 1])})
    steps = (STEPS[first].model_copy(update={"by": ("sex",)}), STEPS[second])
    try:
        found = followed(data, schema, steps, seed=seed.to_bytes(32, "big"))
    except InputError:
        return
    assert not found.rules_out_the_truth.any()
