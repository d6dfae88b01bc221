"""The global matcher of the transparency attack: all records and all released rows, one to one."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import norm

from tasks.attack.methods import attack
from tasks.attack.plan import check_attacks, default_attacks
from tasks.attack.threat import Intruder
from tasks.attack.transparency import image_marginals
from tasks.attack.transparency.transparency import Transparency, link_by_mechanism
from tasks.mask.categories.pram import Pram
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError, NotApplicable, NotFollowed
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata

SEED = bytes(range(32))
NOMINAL = dict.fromkeys("abc", Scale.NOMINAL)
TOGETHER = Transparency(method="transparency", id="together", matching="one_to_one")
ALONE = Transparency(method="transparency")


def pram(*attributes, retention=0.8):
    return Pram(method="pram", attributes=attributes, retention=retention)


def noise(*attributes, percent=50.0):
    return Noise(method="noise", attributes=attributes, kind="independent", sd_percent=percent)


def swap(*attributes, percent=10.0):
    return RankSwapping(method="rank_swapping", attributes=attributes, window_percent=percent)


def linked(original, masked, schema, steps, matching="one_to_one"):
    return link_by_mechanism(original, masked, schema, steps, schema.names, matching=matching)[0]


def hits(links):
    everybody = np.arange(len(links.search_class))
    return float(links.guesses(everybody).credit(everybody).sum())


def test_worked_matching(table, credits):
    # retention 0.8 of x, y: records x, x, y and rows y, x, x. Each alone: an x takes the two rows x, the y the row y. Together
    # too: the rows x go to the records x, which share them
    original, schema = table({"a": ["x", "x", "y"]}, scales=NOMINAL)
    masked = Microdata.from_columns({"a": ["y", "x", "x"]})
    links = linked(original, masked, schema, (pram("a"),))
    assert credits(links).tolist() == [[0, 0.5, 0.5], [0, 0.5, 0.5], [1, 0, 0]]
    # 0, 1 and 5 with noise are 0.9, 1.1 and 9: alone both 0.9 and 1.1 are of the 1; together the 0 must take 0.9
    numbers, numeric = table({"v": [0.0, 1.0, 5.0]})
    noisy = Microdata.from_columns({"v": [0.9, 1.1, 9.0]})
    assert credits(linked(numbers, noisy, numeric, (noise("v"),))).tolist() == np.eye(3).tolist()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.3, 0.8]))
def test_no_assignment_is_more_probable(table, seed, kept):
    rng, n = np.random.default_rng(seed), 6
    columns = {"a": ["xy"[i] for i in [0, 1, *rng.integers(0, 2, n - 2)]], "v": rng.normal(size=n).round(9)}
    original, schema = table(columns, scales=NOMINAL)
    done = mask(original, schema, (pram("a", retention=kept), noise("v")), seed=SEED, path=(str(seed),))
    own, shown = (np.array(one.column("a").to_pylist()) for one in (original, done.data))
    x, y = original.floats("v"), done.data.floats("v")
    log = np.log(np.where(own[:, None] == shown, kept, 1 - kept))
    log += norm.logpdf(y - x[:, None], scale=0.5 * np.std(x, ddof=1))
    best = max(sum(log[i, row] for i, row in enumerate(rows)) for rows in permutations(range(n)))
    guesses = linked(original, done.data, schema, done.mechanisms).guesses(np.arange(n))
    rows = [int(np.flatnonzero(guesses.class_of_row == guesses.classes[guesses.starts[i]])[0]) for i in range(n)]
    assert sorted(rows) == list(range(n))
    assert sum(log[i, row] for i, row in enumerate(rows)) == pytest.approx(best, abs=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([5.0, 15.0, 40.0]))
def test_swaps_against_the_least_sum_of_distances_inside_the_sets(table, seed, percent):
    rng, n = np.random.default_rng(seed), 40
    original, schema = table({name: rng.permutation(n) for name in "nm"})
    done = mask(original, schema, (swap(*"nm", percent=percent),), seed=SEED, path=(str(seed),))
    x, y = (np.column_stack([one.floats(name) for name in "nm"]) for one in (original, done.data))
    inside = (np.abs(x[:, None] - y) <= int(percent * n / 100)).all(axis=2)
    squared = ((x[:, None] - y) ** 2).sum(axis=2)
    rows = linear_sum_assignment(np.where(inside, squared, 1e6))[1]
    guesses = linked(original, done.data, schema, done.mechanisms).guesses(np.arange(n))
    assert guesses.tie_sizes().tolist() == [1] * n
    found = np.argsort(guesses.class_of_row)[guesses.classes]
    assert inside[np.arange(n), found].all()
    assert squared[np.arange(n), found].sum() == squared[np.arange(n), rows].sum()


@pytest.fixture(scope="module")
def people(table):
    rng, n = np.random.default_rng(5), 80
    columns = {"a": ["wxyz"[i] for i in rng.integers(0, 4, n)], "b": ["xyz"[i] for i in rng.integers(0, 3, n)]}
    return table({**columns, "n": rng.permutation(n), "v": rng.normal(size=n).round(6)}, scales=NOMINAL)


STEPS = (pram("a", "b"), swap("n"), noise("v"))


def test_the_orders_of_rows_and_of_records_are_forgotten(people, credits):
    original, schema = people
    order = np.random.default_rng(4).permutation(original.n)
    done = mask(original, schema, STEPS, seed=SEED, path=())
    straight = credits(linked(original, done.data, schema, done.mechanisms))
    np.testing.assert_array_equal(credits(linked(original, done.data.take(order), schema, done.mechanisms)), straight[:, order])
    np.testing.assert_array_equal(credits(linked(original.take(order), done.data, schema, done.mechanisms)), straight[order])


def test_everybody_is_found_where_hardly_anything_is_masked(people):
    original, schema = people
    done = mask(original, schema, (pram("a", "b", retention=0.999999), noise("v", percent=0.01)), seed=SEED, path=())
    assert hits(linked(original, done.data, schema, done.mechanisms)) == original.n


def test_nobody_is_found_in_columns_that_were_permuted(table):
    found, n = [], 60
    for seed in range(20):
        rng = np.random.default_rng(seed)
        original, schema = table({"a": ["wxyz"[i] for i in rng.integers(0, 4, n)], "v": rng.normal(size=n)}, scales=NOMINAL)
        done = mask(original, schema, (pram("a"), noise("v")), seed=SEED, path=(str(seed),))
        apart = Microdata.from_columns({name: done.data.column(name).take(rng.permutation(n)) for name in original.names})
        found.append(hits(linked(original, apart, schema, done.mechanisms)))
    assert abs(np.mean(found) - 1) < 4 * np.std(found, ddof=1) / np.sqrt(len(found))


def test_more_are_found_together(table):
    gained = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        original, schema = table({name: rng.permutation(60) for name in "nmo"})
        done = mask(original, schema, (swap("n", "m", "o", percent=15.0),), seed=SEED, path=(str(seed),))
        alone, together = (linked(original, done.data, schema, done.mechanisms, how) for how in ("likeliest", "one_to_one"))
        assert alone.guesses(np.arange(60)).sound_sizes.tolist() == together.guesses(np.arange(60)).sound_sizes.tolist()
        gained.append(hits(together) - hits(alone))
    assert np.mean(gained) > 5


def test_it_is_an_option_of_the_attack_and_never_the_one_that_is_required(people):
    original, schema = people
    done = mask(original, schema, STEPS, seed=SEED, path=())
    everybody = np.arange(original.n)

    def result(spec, **more):
        intruder = Intruder("declared", schema.names, **more)
        parts = (original, done.data, schema, done.mechanisms, spec, intruder)
        return attack(*parts, alignment=Alignment.complete_in(everybody), targets=everybody[:10])

    alone, together = result(ALONE), result(TOGETHER)
    assert (together.attack, together.status, together.outcomes.n) == ("together", "ok", 10)
    assert "one to one" in together.infers
    assert "one to one" not in alone.infers
    doubting = result(TOGETHER, participation_known=False)
    assert (doubting.status, "their records are in the release" in doubting.reason) == ("not_applicable", True)
    with pytest.raises(NotApplicable, match="complete release"):
        linked(original, done.data.take(everybody[1:]), schema, done.mechanisms)
    assert default_attacks(done.mechanisms)[1] == ALONE
    plain = default_attacks(done.mechanisms)[:1]
    with pytest.raises(InputError, match="each record for itself"):
        check_attacks((*plain, TOGETHER), (), done.mechanisms)
    check_attacks((*default_attacks(done.mechanisms), TOGETHER), (), done.mechanisms)


def test_who_was_sampled_is_matched_to_nobody(people):
    original, schema = people
    steps = (Sampling(method="sampling", share=0.5), pram("a", "b"))
    done = mask(original, schema, steps, seed=SEED, path=())
    with pytest.raises(NotApplicable, match="complete release"):
        link_by_mechanism(original, done.data, schema, done.mechanisms, ("a", "b"), present=done.record, matching="one_to_one")


@pytest.mark.long
def test_beyond_the_size_of_a_full_matrix_it_is_still_the_likeliest(table):
    n, rng = 3200, np.random.default_rng(11)
    original, schema = table({"n": rng.permutation(n), "v": rng.normal(size=n).round(6)})
    done = mask(original, schema, (swap("n", percent=2.0), noise("v", percent=20.0)), seed=SEED, path=())
    x, y = original.floats("v"), done.data.floats("v")
    inside = np.abs(original.floats("n")[:, None] - done.data.floats("n")) <= 64
    log = np.where(inside, norm.logpdf(y - x[:, None], scale=0.2 * np.std(x, ddof=1)), -1e6)
    best = log[np.arange(n), linear_sum_assignment(log, maximize=True)[1]].sum()
    guesses = linked(original, done.data, schema, done.mechanisms).guesses(np.arange(n))
    found = np.argsort(guesses.class_of_row)[guesses.classes]
    assert log[np.arange(n), found].sum() == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize(("apart", "looks"), [(0, 1), (25_000, 2)])
def test_too_many_pairs_are_refused_before_all_rows_are_weighed(monkeypatch, table, apart, looks):
    """So many values far from all others, which have few images: where most have, half of those looked at first have few."""
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(size=40_000 - apart), 1_000.0 * np.arange(apart)])
    original, schema = table({"a": rng.permutation(values)})
    done = mask(original, schema, (noise("a", percent=100.0 if apart == 0 else 1e-5),), seed=SEED, path=())
    count, looked = image_marginals._count_pairs, []
    monkeypatch.setattr(image_marginals, "_count_pairs", lambda whole, some: looked.append(len(some)) or count(whole, some))
    estimated = []
    monkeypatch.setattr(image_marginals, "MANY", 12_000)
    monkeypatch.setattr("tasks.attack.transparency.scores.complete_scores", lambda whole, records: estimated.append(whole))
    with pytest.raises(NotFollowed, match="12,000,000 pairs of records and rows are possible"):
        linked(original, done.data, schema, done.mechanisms, matching="marginals")
    assert not estimated
    assert looked == [image_marginals._FIRST_LOOK, 1_000][:looks]
