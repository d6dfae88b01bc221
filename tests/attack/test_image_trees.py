"""What is found by trees where noise was added, against plain numpy over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from all_pairs import CHAINS, compare_with_pairs, prepare
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.transparency.image_posterior import posterior
from tasks.attack.transparency.transparency import link_by_mechanism


@pytest.mark.parametrize("chain", CHAINS)
def test_against_all_pairs(table, chain):
    assert compare_with_pairs(table, chain, 150, 3)


@pytest.mark.parametrize("chain", ["noise", "pram and noise", "factors"])
def test_gaps_and_equal_values(table, chain):
    assert compare_with_pairs(table, chain, 120, 5, gaps=True)
    compare_with_pairs(table, chain, 120, 5, whole=True)


def test_an_unseen_category_is_nobodys(table):
    assert compare_with_pairs(table, "pram and noise", 80, 6, unseen=True)


def test_few_rows(table):
    for n in (9, 12):
        assert compare_with_pairs(table, "pram and noise", n, 7)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(CHAINS)),
    st.sampled_from([1, 2, 5, 30, 70, 200]),
    st.integers(0, 2**31),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, ("x",), ("x", "u"), ("x", "y", "z", "u", "v")]),
)
def test_the_law_of_all_pairs(table, chain, n, seed, gaps, whole, knows):
    compare_with_pairs(table, chain, n, seed, gaps=gaps, whole=whole, knows=knows)


@pytest.mark.parametrize("chain", ["noise", "pram", "pram and noise"])
def test_sampled_targets_have_the_figures_of_all(table, chain):
    files, *_ = prepare(table, chain, 150, 8)
    some = np.array([3, 14, 15, 92])
    (everybody, _), (sampled, _) = (link_by_mechanism(*files, searching=who) for who in (None, some))
    whole, part = everybody.guesses(some), sampled.guesses(some)
    np.testing.assert_array_equal(part.starts, whole.starts)
    np.testing.assert_array_equal(part.classes, whole.classes)
    np.testing.assert_array_equal(part.sound_sizes, whole.sound_sizes)
    of_all, of_some = posterior(everybody), posterior(sampled, some)
    np.testing.assert_array_equal(of_some.compute_guess_probabilities(some), of_all.compute_guess_probabilities(some))
    np.testing.assert_array_equal(of_some.compute_probabilities(some, some), of_all.compute_probabilities(some, some))
    assert not of_some.compute_guess_probabilities(np.array([0, 1])).any()
