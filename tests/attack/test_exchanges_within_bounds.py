"""The consistency attack where another step moved the values that changed hands, before or after that."""

from __future__ import annotations

import numpy as np
import pytest
from exchanged_codes import as_set, of_pairs, single
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tasks.attack.consistency.consistency import link_by_consistency
from tasks.attack.consistency.exchanges import NOBODY, create_exchange
from tasks.attack.consistency.propagation import keep_supported_pairs
from tasks.attack.consistency.swapped_attributes import find_exchanged
from tasks.attack.consistency.tolerance import exchange_within_bounds
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.coding.rounding import Rounding
from tasks.mask.coding.top_bottom_coding import TopBottomCoding
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import InputError

SEED = bytes(range(32))


def swap(names, **parameters):
    return RankSwapping(method="rank_swapping", attributes=names, **(parameters or {"window_percent": 20.0}))


def noise(names, sd_percent):
    return Noise(method="noise", kind="independent", attributes=names, sd_percent=sd_percent)


def rounded(names, kind="deterministic", base=10):
    return Rounding.model_validate({"method": "rounding", "bases": dict.fromkeys(names, base), "kind": kind})


def coded(names):
    limits = {name: {"top_percent": 1} for name in names}
    return TopBottomCoding.model_validate({"method": "top_bottom_coding", "limits": limits})


def ranked(names, k=2):
    return Microaggregation(method="microaggregation", attributes=names, k=k, partition="individual_ranking")


class TestFourRecordsByHand:
    """Records held 10, 20, 30, 40. 10 and 20 changed places, and 30 and 40; then each was moved by up to 2.

    Row i is that of record i.
    """

    HELD, SHOWN = np.array([10.0, 20, 30, 40]), np.array([21.0, 9, 41, 29])

    def exchange(self, reach):
        return exchange_within_bounds(self.HELD - reach, self.HELD + reach, self.SHOWN, single(4))

    def test_who_alone_can_have_held_what_a_row_shows_did(self):
        exchange = self.exchange(2)
        assert exchange.holder[exchange.shown].tolist() == [1, 0, 3, 2]
        assert exchange.shower[exchange.held].tolist() == [1, 0, 3, 2]

    def test_of_several_nobody_is_the_one(self):
        exchange = self.exchange(9)  # 21 can have been 20 or 30, 9 was 10, 41 was 40, 29 can have been 20 or 30
        assert exchange.holder[exchange.shown].tolist() == [NOBODY, 0, 3, NOBODY]

    def test_a_pair_without_a_partner_falls(self):
        # record 0 as row 0 (10 became 20) needs record 1 as row 1; record 0 as row 2 (10 became 40) needs record 3 as row 1
        pairs = of_pairs([(0, 0), (0, 2), (1, 1), (2, 2), (3, 3)], 4, 4)
        left = as_set(keep_supported_pairs(pairs, (self.exchange(2),)))
        assert left == {(0, 0), (1, 1), (2, 2), (3, 3)}

    def test_a_record_is_not_its_own_partner_in_another_row(self):
        # 20 and 22 are alike within 3: record 0 in row 1 would find its partner in itself in row 0
        held = np.array([20.0, 22.0])
        exchange = exchange_within_bounds(held - 3, held + 3, np.array([21.0, 22.5]), single(2))
        assert as_set(keep_supported_pairs(of_pairs([(0, 0), (0, 1)], 2, 2), (exchange,))) == {(0, 0), (0, 1)}
        far = exchange_within_bounds(held - 3, held + 3, np.array([21.0, 24.5]), single(2))
        assert as_set(keep_supported_pairs(of_pairs([(0, 1)], 2, 2), (far,))) == set()

    def test_missing_values_go_with_missing_ones_alone(self):
        ends = np.array([np.nan, 1.0])
        exchange = exchange_within_bounds(ends, ends, np.array([1.0, np.nan]), single(2))
        assert as_set(keep_supported_pairs(of_pairs([(0, 1), (1, 0)], 2, 2), (exchange,))) == {(0, 1), (1, 0)}
        assert exchange.holder[exchange.shown].tolist() == [1, NOBODY]


def supported_slowly(chosen, exchanges):
    """Each pair needs another one, or itself, that goes with it in each attribute; exchanges: (low, high, shown)."""
    alive = set(chosen)
    while True:
        left = {
            (i, row)
            for i, row in alive
            if all(
                any(
                    low[p] <= shown[row] <= high[p] and low[i] <= shown[m] <= high[i]
                    for p, m in alive
                    if (p == i) == (m == row)
                )
                for low, high, shown in exchanges
            )
        }
        if left == alive:
            return left
        alive = left


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 9), st.integers(1, 2), st.sampled_from([0.2, 1.0, 3.0]))
def test_supported_pairs_are_those_of_a_slow_twin(seed, n, d, reach):
    rng = np.random.default_rng(seed)
    chosen = sorted({(int(i), int(row)) for i, row in rng.integers(0, n, (3 * n, 2))})
    held = [np.cumsum(rng.integers(1, 4, n)).astype(float) for _ in range(d)]  # all different, so that one record is one code
    shown = [rng.permutation(one) + rng.normal(scale=0.3, size=n) for one in held]
    bounds = [(one - reach, one + reach, seen) for one, seen in zip(held, shown, strict=True)]
    exchanges = tuple(exchange_within_bounds(*one, single(n)) for one in bounds)
    assert as_set(keep_supported_pairs(of_pairs(chosen, n, n), exchanges)) == supported_slowly(chosen, bounds)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 12), st.sampled_from([3, 100]))
def test_bounds_without_width_are_exact_values(seed, n, different):
    rng = np.random.default_rng(seed)
    held, shown = rng.integers(0, different, n), rng.permutation(n)
    shown = held[shown]
    pairs = of_pairs([(i, row) for i in range(n) for row in range(n) if rng.random() < 0.5 or i == row], n, n)
    exact = keep_supported_pairs(pairs, (create_exchange(held, shown, single(n)),))
    within = keep_supported_pairs(pairs, (exchange_within_bounds(held * 1.0, held * 1.0, shown * 1.0, single(n)),))
    assert as_set(within) <= as_set(exact)  # it also knows that a record is not its own partner in another row
    if different == 100 and len(set(held.tolist())) == n:
        slowly = supported_slowly(sorted(as_set(pairs)), [(held, held, shown)])
        assert as_set(within) == slowly


NAMES = ("a", "b")
BESIDE = {
    "little noise": noise(NAMES, 0.5),
    "noise": noise(NAMES, 10.0),
    "rounded": rounded(NAMES),
    "at random": rounded(NAMES, "random"),
    "coded": coded(NAMES),
    "ranked": ranked(NAMES),
    "swapped again": swap(NAMES, window_percent=10.0),
}


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([None, *BESIDE]),
    st.sampled_from([None, *BESIDE]),
    st.integers(0, 2**32 - 1),
    st.integers(12, 40),
    st.sampled_from([15, 10_000]),
    st.sampled_from([{"window_percent": 30.0}, {"variant": "p_buckets", "buckets": 3}]),
)
@example("noise", "noise", 1, 30, 10_000, {"window_percent": 30.0})
def test_the_true_row_is_never_left_out(table, before, after, seed, n, different, parameters):
    assume(after != "swapped again" or "variant" not in parameters)  # the last swap counts, and nobody knows what it was given
    rng = np.random.default_rng(seed)
    original, schema = table({name: np.append(rng.integers(0, different, n), [0, 25, 1, 53]) for name in NAMES})
    steps = [BESIDE[before]] if before else []
    steps += [swap(NAMES, **parameters), *([BESIDE[after]] if after else [])]
    try:
        done = mask(original, schema, tuple(steps), seed=SEED, path=(str(seed),))
    except InputError:
        return
    links, names = link_by_consistency(original, done.data, schema, done.mechanisms, NAMES)
    everybody = np.arange(original.n)
    assert set(names) == set(NAMES)
    assert not links.rules_out(everybody, everybody).any()


def test_where_the_values_are_shown(table):
    original, schema = table({"a": np.arange(40), "b": np.arange(40) * 100})
    steps = (swap(NAMES), rounded(("a",)))
    done = mask(original, schema, steps, seed=SEED, path=())
    found = find_exchanged(original, done.data, schema, done.mechanisms, NAMES)
    assert found["b"] is None
    np.testing.assert_array_equal(found["a"].low, np.rint(np.arange(40) / 10) * 10)
    np.testing.assert_array_equal(found["a"].low, found["a"].high)
    some = original.take(np.arange(0, 40, 2))  # who holds a share knows of nobody's partner that it was moved
    assert find_exchanged(some, done.data, schema, done.mechanisms, NAMES, n_records=40) == {"b": None}


@pytest.mark.parametrize(
    "step",
    [lambda names: noise(names, 0.01), lambda names: noise(names, 0.1), rounded, coded, ranked],
    ids=["noise 0.01 %", "noise 0.1 %", "rounding to 10", "top coding", "individual ranking"],
)
def test_census_is_found_after_a_small_second_step(census, step):
    original, schema = census
    names = original.names[:5]
    steps = (swap(names), step(names))
    done = mask(original, schema, steps, seed=SEED, path=())
    links, exchanged = link_by_consistency(original, done.data, schema, done.mechanisms, names)
    everybody = np.arange(original.n)
    assert exchanged == names
    assert not links.rules_out(everybody, everybody).any()
    assert links.guesses(everybody).credit(everybody).mean() >= 0.99
    by_bounds, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, names)
    assert by_bounds.guesses(everybody).credit(everybody).mean() < 0.3  # the pairs find them, not how far values moved


def test_noise_that_hides_the_partners_is_weighed(table):
    # the sets of 300 records with five attributes hold several rows: which of them it is, the noise says
    rng = np.random.default_rng(3)
    names = tuple("abcde")
    original, schema = table({name: rng.normal(size=300).round(6) for name in names})
    done = mask(original, schema, (swap(names), noise(names, 2.0)), seed=SEED, path=())
    links, _ = link_by_consistency(original, done.data, schema, done.mechanisms, names)
    everybody = np.arange(300)
    guesses = links.guesses(everybody)
    by_chance = (1 / guesses.sound_sizes).mean()
    assert by_chance < 0.5
    assert guesses.credit(everybody).mean() > 1.5 * by_chance
