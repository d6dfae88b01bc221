"""Reverse mapping: the source's values by the ranks of masked ones, and what bounds whoever attacks it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from sites import site_of

from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import infer_belief, mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.reverse_mapping import ReverseMapping, describe_reverse_mapping, map_back
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import InputError
from tasks.microdata.table import Microdata

LEVEL = 1e-4


def back(*attributes, by=None):
    return ReverseMapping(method="reverse_mapping", attributes=attributes, by=by)


def micro(*attributes, k=3):
    return Microaggregation(method="microaggregation", attributes=attributes, k=k)


def masked_by(data, schema, steps, seed=0):
    return mask(data, schema, steps, seed=seed.to_bytes(32, "big"), path=())


def hits(data, released, schema, steps):
    links, _ = link_by_mechanism(data, released, schema, steps, data.names)
    everybody = np.arange(data.n)
    assert not links.rules_out(everybody, everybody).any()
    return links.guesses(everybody).credit(everybody).mean()


def applied(data, source, schema, *names, seed=0):
    return map_back(replace(site_of(data, schema, seed=seed), source=source), back(*names))


def test_worked(numbers):
    # the means of 1, 2 and of 8, 9 are handed 1, 2 and 8, 9; the last record has no value; -3 is the lowest of what is masked
    source, schema = numbers({"a": [1.0, 8, 2, 9, None, 5]})
    means = Microdata.from_columns({"a": [1.5, 8.5, 1.5, 8.5, None, -3.0]})
    seen = {tuple(applied(means, source, schema, "a", seed=seed).column("a").to_pylist()) for seed in range(60)}
    # 1 goes to -3; 2 and 5 to the means of 1.5; 8 and 9 to those of 8.5
    assert seen == {(x, u, y, v, None, 1.0) for x, y in permutations((2.0, 5.0)) for u, v in permutations((8.0, 9.0))}


@pytest.mark.slow
def test_all_orders_of_equal_values_are_equally_likely(numbers):
    """24 orders of one group; with an order that is kept a third of the time the law is refused."""
    source, schema = numbers({"a": [1.0, 2, 3, 4]})
    means, draws = Microdata.from_columns({"a": [2.5] * 4}), 2400
    seen = Counter(tuple(applied(means, source, schema, "a", seed=seed).floats("a")) for seed in range(draws))
    assert len(seen) == 24
    assert chisquare(list(seen.values())).pvalue > LEVEL
    wrong = np.full(24, 0.7 / 24)
    wrong[0] += 0.3
    assert chisquare(np.random.default_rng(1).multinomial(draws, wrong)).pvalue < LEVEL


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(8, 50), st.sampled_from([2, 4]))
def test_columns_keep_their_values_and_order_of_means(numbers, seed, n, k):
    rng = np.random.default_rng(seed)
    data, schema = numbers({name: [0, 1, *rng.integers(0, n, n - 2)] for name in "ab"})
    grouped = masked_by(data, schema, (micro("a", "b", k=k),)).data
    done = masked_by(data, schema, (micro("a", "b", k=k), back("a", "b")), seed % 1000)
    for name in "ab":
        assert sorted(done.data.floats(name)) == sorted(data.floats(name))
        means, values = grouped.floats(name), done.data.floats(name)
        for mean in np.unique(means):  # slow twin: the values below a mean are as many as the means below it
            below = np.sort(data.floats(name))[: int((means < mean).sum())]
            assert sorted([*below, *values[means == mean]]) == sorted(np.sort(data.floats(name))[: int((means <= mean).sum())])
    hits(data, done.data, schema, done.mechanisms)  # no true row is ruled out


def test_each_of_a_group_is_anybodys(numbers):
    """Groups of 5: whoever follows the steps finds 1 in 5, over 40 seeds."""
    rng = np.random.default_rng(2)
    data, schema = numbers({f"x{j}": rng.normal(size=60).round(6) for j in range(5)})
    steps = (micro(*data.names, k=5), back(*data.names))
    found = [hits(data, masked_by(data, schema, steps, seed).data, schema, steps) for seed in range(40)]
    assert np.mean(found) == pytest.approx(0.2, abs=0.02)
    single, schema = numbers({"x": rng.permutation(60)})
    steps = (micro("x", k=5), back("x"))
    links, _ = link_by_mechanism(single, masked_by(single, schema, steps).data, schema, steps, ("x",))
    assert (links.guesses(np.arange(60)).sound_sizes == 5).all()


def test_an_order_that_told_would_be_found(numbers):
    """The control of the bound: were equal means handed out in the order of the values, everybody would be found."""
    rng = np.random.default_rng(3)
    data, schema = numbers({f"x{j}": rng.permutation(60) for j in range(5)})
    grouped = masked_by(data, schema, (micro(*data.names, k=5),)).data
    columns = {}
    for name in data.names:
        taken = np.empty(60)
        taken[np.lexsort((data.floats(name), grouped.floats(name)))] = np.sort(data.floats(name))
        columns[name] = taken.astype(np.int64)
    assert hits(data, Microdata.from_columns(columns), schema, (micro(*data.names, k=5), back(*data.names))) > 0.5


def test_the_tables_loss_lies_between_the_means_and_a_swap_within_groups(numbers):
    rng = np.random.default_rng(4)
    common = rng.normal(size=300)
    data, schema = numbers({f"x{j}": common + 0.5 * rng.normal(size=300) for j in range(6)})
    names = data.names
    grouped = masked_by(data, schema, (micro(*names, k=8),)).data
    done = masked_by(data, schema, (micro(*names, k=8), back(*names))).data

    def loss(one):
        return sum(((one.floats(name) - data.floats(name)) ** 2).sum() for name in names)

    assert loss(grouped) < loss(done) < 1.6 * loss(grouped)


def test_after_noise_bounds_are_concluded(numbers):
    data, schema = numbers({"a": np.random.default_rng(5).normal(size=40).round(6)})
    noise = Noise(method="noise", kind="independent", attributes=("a",), sd_percent=30)
    done = masked_by(data, schema, (noise, back("a")))
    assert sorted(done.data.floats("a")) == sorted(data.floats("a"))
    knowledge = infer_belief(data, done.data, schema, done.mechanisms)
    assert (knowledge.unclear, knowledge.blurred) == ((), ())
    (between,) = knowledge.between
    shown = done.data.floats("a")
    assert ((between.low <= shown) & (shown <= between.high)).all()


def test_after_sampling_he_follows_on_those_who_are_left(numbers):
    data, schema = numbers({name: np.random.default_rng(ord(name)).permutation(60) for name in "abc"})
    steps = (Sampling(method="sampling", share=0.5), micro("a", "b", "c", k=3), back("a", "b", "c"))
    done = masked_by(data, schema, steps)
    links, knowledge = link_by_mechanism(data, done.data, schema, done.mechanisms, data.names, present=done.record)
    assert not links.rules_out(done.record, np.arange(30)).any()
    assert len(knowledge.between) == 3
    assert links.guesses(done.record).credit(np.arange(30)).mean() > 0.2


def test_within_strata(numbers):
    rng = np.random.default_rng(6)
    data, schema = numbers({"a": rng.permutation(40), "b": rng.permutation(40), "g": np.arange(40) % 2})
    by = micro("a", "b", k=4).model_copy(update={"by": ("g",)})
    done = masked_by(data, schema, (by, back("a", "b", by=("g",))))
    for name in "ab":
        for g in (0, 1):
            rows = data.floats("g") == g
            assert sorted(done.data.floats(name)[rows]) == sorted(data.floats(name)[rows])
    hits(data, done.data, schema, done.mechanisms)


def test_equal_records_in_two_groups(numbers):
    """They cannot say in which of them: the values of either are possible."""
    data, schema = numbers({"a": [1.0] * 5 + [7, 8, 9, 20, 21, 22], "b": [2.0] * 5 + [3, 9, 4, 1, 0, 8]})
    for seed in range(20):
        done = masked_by(data, schema, (micro("a", "b", k=3), back("a", "b")), seed)
        hits(data, done.data, schema, done.mechanisms)


def test_refusals(numbers):
    data, schema = numbers({"a": [1.0, 2, 3, 4, 5, 6], "b": [1.0, 2, 3, 4, 5, 7]})
    for steps in ((back("a"),), (micro("b", k=2), back("a", "b")), (back("a"), micro("a", k=2))):
        with pytest.raises(InputError) as refused:
            masked_by(data, schema, steps)
        assert refused.value.code == "nothing-masked-before"
    with pytest.raises(InputError) as refused:
        applied(Microdata.from_columns({"a": [1.0, None, 3, 4, 5, 6]}), data.select(("a",)), schema, "a")
    assert refused.value.code == "other-rows-missing"


def test_words():
    assert "equal ones in random order" in describe_reverse_mapping(back("a", "b")).text
