"""Laws of ranks that outlast the steps after noise and rank jitter: by hand, and against many masked copies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.coding.rounding import Rounding
from tasks.mask.coding.top_bottom_coding import TopBottomCoding
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import infer_belief, mask
from tasks.mask.noise.noise import Noise
from tasks.mask.rank_law import blur_ranks, code_by_rank, spread_over_ranks
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.ranks.reverse_mapping import ReverseMapping

SEED = bytes(range(32))


def steps_of(names):
    return {
        "jitter": RankJitter(method="rank_jitter", attributes=names, window_percent=10.0),
        "less jitter": RankJitter(method="rank_jitter", attributes=names, window_percent=4.0),
        "noise": Noise(method="noise", attributes=names, kind="independent", sd_percent=20.0),
        "restored": Noise(method="noise", attributes=names, kind="variance_restoring", sd_percent=20.0),
        "factors": Noise(method="noise", attributes=names, kind="multiplicative", sd_percent=20.0),
        "little noise": Noise(method="noise", attributes=names, kind="independent", sd_percent=0.01),
        "back": ReverseMapping(method="reverse_mapping", attributes=names),
        "ranked": Microaggregation(method="microaggregation", attributes=names, k=2, partition="individual_ranking"),
        "rounded": Rounding.model_validate(
            {"method": "rounding", "bases": dict.fromkeys(names, 0.01), "kind": "deterministic"}
        ),
        "coded": TopBottomCoding.model_validate(
            {"method": "top_bottom_coding", "limits": {name: {"top_percent": 1} for name in names}}
        ),
        "swap": RankSwapping(method="rank_swapping", attributes=names, window_percent=5.0),
    }


class TestByHand:
    def test_a_value_stands_at_any_of_its_ranks(self):
        kernel = spread_over_ranks(np.array([1.0, -3]), np.array([3.0, 9]), np.array([0, 2, 4]))
        np.testing.assert_allclose(kernel, 0.5)

    def test_two_values_change_places(self):
        # the cut is at 0.5, half a standard deviation from either
        np.testing.assert_allclose(blur_ranks(np.array([0.0, 1.0]), np.arange(3), 1.0)[0, 1], ndtr(-0.5), atol=1e-3)

    def test_noise_that_is_far_smaller_than_gaps_changes_nothing(self):
        np.testing.assert_allclose(blur_ranks(np.arange(5.0), np.arange(6), 1e-6), np.eye(5), atol=1e-12)

    def test_noise_that_is_far_larger_leaves_nothing(self):
        np.testing.assert_allclose(blur_ranks(np.arange(5.0), np.arange(6), 1e4), np.full((5, 5), 0.2), atol=2e-3)

    def test_equal_values_stand_in_the_block_of_their_middle(self):
        begins = np.array([0, 2, 4, 6])
        assert code_by_rank(np.array([5.0, 1, 9, 5, np.nan, 7, 5]), begins).tolist() == [1, 0, 2, 1, 3, 2, 1]

    def test_ranks_are_taken_in_proportion(self):
        assert code_by_rank(np.array([1.0, 2, 3]), np.array([0, 2, 4, 6])).tolist() == [0, 1, 2]


CHAINS = (
    ("jitter", "noise"),
    ("noise", "jitter"),
    ("jitter", "less jitter"),
    ("noise", "back"),
    ("restored", "ranked"),
    ("factors", "back"),
)


@pytest.mark.parametrize("chain", CHAINS, ids=" then ".join)
def test_the_law_is_that_of_many_masked_copies(table, chain):
    rng = np.random.default_rng(7)
    n, copies, cells = 90, 120, 6
    data, schema = table({"v": np.sort(np.exp(rng.normal(scale=0.6, size=n))).round(9)})
    steps = tuple(steps_of(("v",))[name] for name in chain)
    counts = np.zeros((cells, cells))
    for copy in range(copies):
        shown = mask(data, schema, steps, seed=SEED, path=(str(copy),)).data.floats("v")
        places = (np.argsort(np.argsort(shown, kind="stable")) * cells) // n
        np.add.at(counts, (np.arange(n) * cells // n, places), 1)
    (law,) = infer_belief(data, mask(data, schema, steps, seed=SEED, path=()).data, schema, steps).likelihoods
    b = len(law.begins) - 1
    assert b == n
    np.testing.assert_allclose(law.probability[:b, :b].sum(axis=1), 1, atol=0.02)
    expected = law.probability[:b, :b].reshape(cells, n // cells, cells, n // cells).sum(axis=(1, 3)) * copies
    # a law that were 30 % off would miss by far more; the rest is that ranks depend on each other
    assert np.abs(counts - expected).max() < 0.06 * n * copies / cells


@pytest.mark.parametrize("second", ["little noise", "rounded", "coded", "ranked"])
def test_a_small_step_after_jitter_hides_nothing(table, second):
    rng = np.random.default_rng(3)
    names = tuple("abc")
    data, schema = table({name: rng.normal(size=250).round(6) for name in names})
    steps, everybody = steps_of(names), np.arange(250)

    def found(*chain):
        done = mask(data, schema, tuple(steps[name] for name in chain), seed=SEED, path=())
        links, knowledge = link_by_mechanism(data, done.data, schema, done.mechanisms, names)
        assert not links.rules_out(everybody, everybody).any()
        assert {name for law in knowledge.likelihoods for name in law.names} == set(names)
        return links.guesses(everybody).credit(everybody).mean()

    assert found("jitter", second) > found("jitter") - 0.04


def test_a_swap_of_buckets_ends_the_law(table):
    data, schema = table({"v": np.random.default_rng(1).permutation(60)})
    buckets = RankSwapping(method="rank_swapping", attributes=("v",), variant="p_buckets", buckets=4)
    steps = (steps_of(("v",))["jitter"], buckets)
    knowledge = infer_belief(data, mask(data, schema, steps, seed=SEED, path=()).data, schema, steps)
    assert (knowledge.likelihoods, knowledge.unclear) == ((), ("v",))


@pytest.mark.parametrize("chain", [("swap", "noise"), ("jitter", "swap"), ("at random", "jitter")], ids=" then ".join)
def test_bounds_of_ranks_are_weighed(table, chain):
    rng = np.random.default_rng(11)
    names = tuple("abcd")
    data, schema = table({name: rng.normal(size=250).round(6) for name in names})
    at_random = Rounding.model_validate({"method": "rounding", "bases": dict.fromkeys(names, 0.25), "kind": "random"})
    steps = {**steps_of(names), "at random": at_random}
    done = mask(data, schema, tuple(steps[name] for name in chain), seed=SEED, path=())
    links, knowledge = link_by_mechanism(data, done.data, schema, done.mechanisms, names)
    everybody = np.arange(250)
    assert not links.rules_out(everybody, everybody).any()
    assert {name for law in knowledge.likelihoods for name in law.names} == set(names)
    nearest = link_by_distance(data, done.data, schema, DistanceLinkage(method="distance_linkage"), names)
    assert links.guesses(everybody).credit(everybody).mean() > 1.15 * nearest.guesses(everybody).credit(everybody).mean()
