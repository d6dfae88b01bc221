"""The intruder who knows by how many ranks jitter moves values: each record for itself, and all together."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from tasks.attack.methods import attack
from tasks.attack.outcomes.guesses import Guesses
from tasks.attack.plan import MARGINALS, default_attacks
from tasks.attack.threat import Intruder
from tasks.attack.transparency import image_marginals as module
from tasks.attack.transparency.image_posterior import posterior
from tasks.attack.transparency.transparency import Transparency, link_by_mechanism
from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.jitter_distribution import compute_displacement_distribution
from tasks.mask.ranks.rank_jitter import RankJitter, half_width
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata

LEVEL = 1e-4
MATCHINGS = ("likeliest", "one_to_one", "marginals")


def jitter(*attributes, percent=10.0, by=None):
    return RankJitter(method="rank_jitter", attributes=attributes, window_percent=percent, by=by)


def linked(original, masked, schema, steps, matching="likeliest", knows=None):
    return link_by_mechanism(original, masked, schema, steps, knows or original.names, matching=matching)[0]


def masked_by(original, schema, steps, seed):
    return mask(original, schema, steps, seed=seed.to_bytes(32, "big"), path=()).data


def hits(links, truth=None):
    everybody = np.arange(len(links.search_class))
    return float(links.guesses(everybody).credit(everybody if truth is None else truth).mean())


def shares_of(held, n):
    record, row = (one.ravel() for one in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    return held.compute_probabilities(record, row).reshape(n, n)


def correlated(n, d, seed):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    return {f"a{j}": (0.6 * common + 0.8 * rng.normal(size=n)).round(6) for j in range(d)}


def test_worked(table, credits):
    # w = 1 of two: both stay with chance 7/8, so that the row that shows the own value speaks 7 times as much for the record as
    # for the other: r = 7 / (7 + 1/7)
    original, schema = table({"v": [10.0, 20.0]})
    masked = Microdata.from_columns({"v": [20.0, 10.0]})
    steps = (jitter("v", percent=50.0),)
    alone = linked(original, masked, schema, steps)
    assert credits(alone).tolist() == [[0, 1], [1, 0]]
    np.testing.assert_allclose(shares_of(posterior(alone), 2), [[0.02, 0.98], [0.98, 0.02]])
    together = linked(original, masked, schema, steps, "marginals")
    assert credits(together).tolist() == [[0, 1], [1, 0]]
    # three values of which the first two are equal: whatever speaks for a row 1 of one record speaks for that of the other
    original, schema = table({"v": [1.0, 1.0, 2.0]})
    together = linked(
        original, Microdata.from_columns({"v": [2.0, 1.0, 1.0]}), schema, (jitter("v", percent=40.0),), "marginals"
    )
    assert credits(together).tolist() == [[0, 0.5, 0.5], [0, 0.5, 0.5], [1, 0, 0]]
    shares = shares_of(together.posterior, 3)
    np.testing.assert_allclose(shares[0], shares[1])
    np.testing.assert_allclose(shares.sum(axis=1), 1)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(6, 30), st.floats(20, 60))
def test_slow_twin(table, seed, n, percent):
    rng = np.random.default_rng(seed)
    columns = {name: [0, 1, *rng.integers(0, n, n - 2)] for name in "uv"}
    columns["v"][-1] = None
    original, schema = table(columns)
    masked = masked_by(original, schema, (jitter("u", "v", percent=percent),), seed)
    chance = np.ones((n, n))
    for name in "uv":
        own, shown = original.floats(name), masked.floats(name)
        ranked = np.sort(own[~np.isnan(own)])
        law = compute_displacement_distribution(half_width(percent, len(ranked)), np.arange(len(ranked) + 1))
        chance *= [[_moves(a, b, ranked, law) for b in shown] for a in own]
    others = chance.sum(axis=0) - chance
    weight = np.where(chance > 0, chance / np.maximum(others, 1e-12 * chance.sum(axis=0)), 0.0)
    links = linked(original, masked, schema, (jitter("u", "v", percent=percent),))
    found = shares_of(posterior(links), n)
    np.testing.assert_allclose(found, weight / weight.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-9)


def _moves(own, shown, ranked, law):
    """The chance that one of the copies of a value becomes a copy of another; a missing value stays missing."""
    if np.isnan(own) or np.isnan(shown):
        return float(np.isnan(own) and np.isnan(shown))
    return law[np.ix_(ranked == own, ranked == shown)].sum(axis=1).mean()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_together_against_all_ways_to_match(table, seed):
    """Six records in two attributes: of every record the chosen row is nearly the best by the exact shares."""
    rng = np.random.default_rng(seed)
    original, schema = table({name: rng.permutation(6) for name in "uv"})
    masked = masked_by(original, schema, (jitter("u", "v", percent=40.0),), seed)
    law, chance = compute_displacement_distribution(2.4, np.arange(7)), np.ones((6, 6))
    for name in "uv":
        chance *= law[original.floats(name).astype(int)][:, masked.floats(name).astype(int)]
    shares = np.zeros((6, 6))
    for rows in permutations(range(6)):
        shares[np.arange(6), rows] += np.prod(chance[np.arange(6), rows])
    shares /= shares[0].sum()
    links = linked(original, masked, schema, (jitter("u", "v", percent=40.0),), "marginals")
    found = shares_of(links.posterior, 6)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert shares[np.arange(6), found.argmax(axis=1)].sum() > 0.9 * shares.max(axis=1).sum()


@pytest.mark.parametrize("matching", MATCHINGS)
def test_the_order_of_the_released_rows_is_forgotten(table, matching):
    original, schema = table(correlated(80, 3, 1))
    steps = (jitter(*original.names, percent=15.0),)
    masked, order = masked_by(original, schema, steps, 1), np.random.default_rng(2).permutation(80)
    straight = linked(original, masked, schema, steps, matching)
    shuffled = linked(original, masked.take(order), schema, steps, matching)
    assert hits(shuffled, np.argsort(order)) == pytest.approx(hits(straight), abs=1e-12)


@pytest.mark.parametrize("matching", MATCHINGS)
def test_everybody_is_found_by_a_unique_key_that_was_not_masked(table, matching):
    original, schema = table({**correlated(60, 2, 3), "key": np.random.default_rng(3).permutation(60)})
    steps = (jitter("a0", "a1"),)
    assert hits(linked(original, masked_by(original, schema, steps, 3), schema, steps, matching)) == 1.0


@pytest.mark.parametrize("matching", ["likeliest", "marginals"])
def test_nobody_is_found_on_columns_dealt_out_independently(table, matching):
    """20 files of 100: found are about as many as one in each by chance, Poisson(20) in all."""
    found = 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        original, schema = table(correlated(100, 3, seed))
        dealt = Microdata.from_columns({name: original.column(name).take(rng.permutation(100)) for name in original.names})
        found += 100 * hits(linked(original, dealt, schema, (jitter(*original.names, percent=60.0),), matching))
    assert found < 42  # 1e-5 of Poisson(20); ties shared vary less
    assert found > 3


@pytest.mark.parametrize("matching", ["likeliest", "marginals"])
def test_it_gains_by_the_law(table, matching):
    """The sets alone, with the nearest row in them, are those of a swap within twice the window."""
    more = []
    for seed in range(8):
        original, schema = table(correlated(150, 4, seed))
        steps = (jitter(*original.names, percent=12.0),)
        masked = masked_by(original, schema, steps, seed)
        bounds = (RankSwapping(method="rank_swapping", attributes=original.names, window_percent=24.0),)
        more.append(hits(linked(original, masked, schema, steps, matching)) - hits(linked(original, masked, schema, bounds)))
    assert np.mean(more) > 0.1


def test_together_more_are_found_than_one_by_one(table):
    found = dict.fromkeys(MATCHINGS, 0.0)
    for seed in range(8):
        original, schema = table(correlated(150, 4, seed))
        steps = (jitter(*original.names, percent=20.0),)
        masked = masked_by(original, schema, steps, seed)
        for matching in MATCHINGS:
            found[matching] += hits(linked(original, masked, schema, steps, matching)) / 8
    assert found["marginals"] > found["likeliest"] + 0.01
    assert found["marginals"] > found["one_to_one"] + 0.01


def claims(table, stated, matching="likeliest", n=150, seeds=20):
    apart = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        original, schema = table({name: rng.permutation(n) for name in "abc"})
        masked = masked_by(original, schema, (jitter("a", "b", "c", percent=12.0),), seed)
        links = linked(original, masked, schema, (jitter("a", "b", "c", percent=stated),), matching)
        held = links.posterior or posterior(links)
        everybody = np.arange(n)
        apart.append(hits(links) / held.compute_guess_probabilities(everybody).mean() - 1)
    return np.array(apart)


def is_apart(found):
    sides = ((0.05, "greater"), (-0.05, "less"))
    return min(ttest_1samp(found, allowed, alternative=side).pvalue for allowed, side in sides) < LEVEL


def test_the_law_of_what_is_claimed(table):
    # allowed: 5 % of the claim, as for the other laws; with the window wrong by 30 % the test must fail
    assert not is_apart(claims(table, 12.0))
    assert is_apart(claims(table, 12.0 * 1.3))
    assert is_apart(claims(table, 12.0 * 0.7))


def test_all_together_is_nearly_as_good_as_its_word(table):
    assert abs(claims(table, 12.0, "marginals").mean()) < 0.06


def test_where_values_are_many_blocks_stand_for_them(table):
    original, schema = table({f"a{j}": np.random.default_rng(j).permutation(1500) for j in range(4)})
    steps = (jitter(*original.names, percent=6.0),)
    links = linked(original, masked_by(original, schema, steps, 0), schema, steps)
    everybody, held = np.arange(1500), posterior(links)
    assert not links.rules_out(everybody, everybody).any()
    assert hits(links) == pytest.approx(held.compute_guess_probabilities(everybody).mean(), abs=0.05)


def test_within_strata(table):
    rng = np.random.default_rng(4)
    original, schema = table({**correlated(120, 3, 4), "g": rng.integers(0, 3, 120)})
    steps = (jitter("a0", "a1", "a2", percent=20.0, by=("g",)),)
    masked = masked_by(original, schema, steps, 4)
    links = linked(original, masked, schema, steps)
    assert not links.rules_out(np.arange(120), np.arange(120)).any()
    unknown = linked(original, masked, schema, (jitter("a0", "a1", "a2", percent=20.0),), knows=("a0", "a1", "a2", "g"))
    assert hits(links) > hits(unknown)


def test_strata_with_too_large_a_law_keep_their_intervals(table, monkeypatch):
    monkeypatch.setattr("tasks.mask.strata.MOST_CELLS", 100)
    original, schema = table({**correlated(60, 2, 5), "g": np.arange(60) % 2})
    steps = (jitter("a0", "a1", percent=10.0, by=("g",)),)
    links, knowledge = link_by_mechanism(original, masked_by(original, schema, steps, 5), schema, steps, original.names)
    assert not knowledge.likelihoods
    assert not knowledge.unclear
    assert {part.name for part in knowledge.between} == {"a0", "a1"}
    assert hits(links) > 0.3


def test_it_goes_together_with_other_laws(table):
    rng = np.random.default_rng(6)
    columns = {**correlated(80, 2, 6), "c": ["wxyz"[i] for i in rng.integers(0, 4, 80)]}
    original, schema = table(columns, scales={"c": Scale.NOMINAL})
    steps = (jitter("a0", "a1", percent=15.0), Pram(method="pram", attributes=("c",), retention=0.8))
    masked = masked_by(original, schema, steps, 6)
    for matching in MATCHINGS:
        both = hits(linked(original, masked, schema, steps, matching))
        assert both > hits(linked(original, masked, schema, steps, matching, knows=("a0", "a1")))


def result(original, schema, steps, spec, **more):
    done = mask(original, schema, steps, seed=bytes(32), path=())
    n = original.n
    alignment = Alignment(done.record, np.arange(len(done.record)), n)
    intruder = Intruder("declared", original.names, **more)
    parts = (original, done.data, schema, done.mechanisms, spec, intruder)
    return attack(*parts, alignment=alignment, targets=np.arange(n))


def test_the_attack_and_its_posterior(table):
    original, schema = table(correlated(60, 3, 7))
    steps = (jitter(*original.names),)
    plain = result(original, schema, steps, MARGINALS)
    assert (plain.status, plain.attack) == ("ok", "transparency_marginals")
    assert "posterior" not in plain.outcomes.names
    told = result(original, schema, steps, Transparency(method="transparency", matching="marginals", probabilities=True))
    assert told.outcomes.select(plain.outcomes.names).arrow.equals(plain.outcomes.arrow)
    assert (told.outcomes.floats("posterior") <= told.outcomes.floats("claimed") + 1e-12).all()


def test_where_somebody_is_left_out_it_does_not_run(table):
    original, schema = table(correlated(60, 3, 8))
    steps = (Sampling(method="sampling", share=0.5), jitter(*original.names))
    assert result(original, schema, steps, MARGINALS).status == "not_applicable"
    assert result(original, schema, (steps[1],), MARGINALS, participation_known=False).status == "not_applicable"


def test_too_many_pairs_are_refused(table, monkeypatch):
    monkeypatch.setattr(module, "MOST_PAIRS_JOINTLY", 50)
    original, schema = table(correlated(60, 1, 9))
    steps = (jitter("a0", percent=50.0),)
    with pytest.raises(NotApplicable, match="too many"):
        linked(original, masked_by(original, schema, steps, 9), schema, steps, "marginals")


def test_it_runs_by_default_where_values_are_moved_by_a_law():
    swap = RankSwapping(method="rank_swapping", attributes=("a",), window_percent=20.0)
    noise = Noise(method="noise", attributes=("a",), kind="independent", sd_percent=20.0)
    ranked = Microaggregation(method="microaggregation", attributes=("a",), k=3)
    for steps in ((jitter("a"),), (noise,), (swap, ranked), (ranked, noise)):
        assert MARGINALS in default_attacks(steps)
        assert MARGINALS not in default_attacks((*steps, Sampling(method="sampling", share=0.5)))
    of_b = ranked.model_copy(update={"attributes": ("b",)})
    assert all(MARGINALS not in default_attacks(steps) for steps in ((swap,), (ranked,), (swap, of_b)))


def test_credit_is_shared(table):
    """Of equal records each has all rows of the kind."""
    original, schema = table({"a": [1.0] * 5 + [2.0] * 5})
    guesses = linked(original, original, schema, (jitter("a", percent=20.0),), "marginals").guesses(np.arange(10))
    assert isinstance(guesses, Guesses)
    assert guesses.tie_sizes().tolist() == [5] * 10
