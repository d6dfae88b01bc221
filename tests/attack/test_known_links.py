"""Links that can be asserted by their margin: worked, calibrated on others, never by luck."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.linkage import assertable_links
from tasks.attack.linkage.assertable_links import (
    FEWEST,
    HALVINGS,
    PRECISION,
    compute_assertion_shares,
    find_surest_links,
    precision_curve,
    threshold,
)
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import attack
from tasks.attack.outcomes.links import Links
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment
from tasks.microdata.randomness import SEED_BYTES, stream

SEEDS = st.integers(0, 2**32 - 1)
PLAIN = DistanceLinkage(method="distance_linkage")


def links(least, runner_up, classes, starts=None, found_class=None):
    n = len(least)
    return Links(
        np.arange(n) if found_class is None else np.array(found_class),
        np.arange(n),
        np.arange(n + 1) if starts is None else np.array(starts),
        np.array(classes),
        least=np.array(least),
        runner_up=np.array(runner_up),
    )


def test_margins():
    found = links([1.0, 0, 2, 1, 0], [3.0, 2, np.inf, 1.5, np.inf], [0, 1, 2, 3, 4], found_class=[0, 1, 2, 3, 3, 4])
    # class 3 holds two rows: it names nobody
    assert found.margins(np.arange(5)).tolist() == pytest.approx([0.5, 1, 1, 0, 1])
    two_classes = links([1.0], [3.0], [0, 1], starts=[0, 2], found_class=[0, 1])
    assert two_classes.margins(np.arange(1)).tolist() == [0]
    assert Links(np.arange(1), np.arange(1), np.array([0, 1]), np.array([0])).margins(np.arange(1)) is None


def test_the_surest_link_of_a_person():
    # person 0 has records 0 and 1, of which 1 is surer and names row 2, of unit 7; person 1's record names nobody
    found = links([1.0, 1, 1], [2.0, 5, 9], [0, 2, 1, 2], starts=[0, 1, 2, 4])
    named = find_surest_links(found, np.arange(3), np.array([0, 0, 1]), 2, np.array([5, 6, 7]))
    assert named.margin.tolist() == pytest.approx([4 / 6, 0])
    assert named.unit.tolist() == [7, -1]


def test_a_worked_threshold():
    margin = np.array([0.9] * 15 + [0.8] * 10 + [0.7] * 20 + [0.0] * 5)
    right = np.array([True] * 24 + [False] + [True] * 20 + [True] * 5)
    # from 0.9 on fifteen are too few; from 0.8 on 24 of 25 are right; from 0.7 on 44 of 45
    assert threshold(margin, right) == 0.7
    right[27:30] = False  # 41 of 45
    assert threshold(margin, right) == 0.8
    right[:3] = False
    assert threshold(margin, right) == np.inf
    curve = precision_curve(margin, right)
    assert curve.coverage.tolist() == [0.3, 0.5, 0.9]
    assert curve.precision.tolist() == pytest.approx([12 / 15, 21 / 25, 38 / 45])
    assert threshold(np.zeros(0), np.zeros(0, dtype=bool)) == np.inf
    assert len(precision_curve(np.zeros(3), np.ones(3, dtype=bool)).precision) == 0


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(40, 400))
def test_no_link_decides_about_itself(seed, n):
    rng = np.random.default_rng(seed)
    margin = rng.random(n)
    right = rng.random(n) < margin
    claims = compute_assertion_shares(margin, right)
    for i in range(0, n, 17):
        other = right.copy()
        other[i] = ~other[i]
        assert compute_assertion_shares(margin, other)[i] == claims[i]


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 400), st.integers(1, 3))
def test_the_order_of_the_links_decides_nothing(seed, n, digits):
    rng = np.random.default_rng(seed)
    margin = rng.random(n).round(digits)
    right = rng.random(n) < 0.8 + 0.2 * margin
    order = rng.permutation(n)
    one, other = compute_assertion_shares(margin, right), compute_assertion_shares(margin[order], right[order])
    assert math.fsum(one) == math.fsum(other)
    assert math.fsum(one * right) == math.fsum(other * right[order])


def draw_halves(n, *, coins):
    rng = stream(bytes(SEED_BYTES), "calibration", str(n))
    if coins:
        words = rng.integers(0, 2**64, size=(HALVINGS, -(-n // 64)), dtype=np.uint64)
        yield from np.unpackbits(words.view(np.uint8), axis=1, count=n, bitorder="little").astype(bool)
        return
    for _ in range(HALVINGS):
        half = np.zeros(n, dtype=bool)
        half[rng.permutation(n)[: n // 2]] = True
        yield half


def count_link_by_link(margin, right, *, coins):
    """The slow twin: the same halves, all links of each."""
    falling = np.lexsort((right, margin))[::-1]
    margins, hits = margin[falling], right[falling]
    last = np.searchsorted(-margins, -margins, side="right") - 1  # of those that are as sure
    times = np.zeros(len(margin))
    for half in draw_halves(len(margin), coins=coins):
        for own, other in ((half, ~half), (~half, half)):
            count, found = np.cumsum(other)[last], np.cumsum(other & hits)[last]
            good = other & (margins > 0) & (count >= FEWEST) & (found >= PRECISION * count)
            times += own & (margins >= margins[good].min(initial=np.inf))
    shares = np.empty(len(margin))
    shares[falling] = times / HALVINGS
    return shares


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(1, 700), st.sampled_from([1, 2, 9]), st.sampled_from([1, 256]), st.booleans())
def test_links_counted_in_words_are_asserted_as_often_as_one_by_one(seed, n, digits, looked_at, coins):
    rng = np.random.default_rng(seed)
    margin = (rng.random(n) * (rng.random(n) < 0.9)).round(digits)
    right = rng.random(n) < np.clip(0.8 + 0.4 * rng.random() * margin, 0, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assertable_links, "_LOOKED_AT", looked_at)
        found = share_with(coins, patch, margin, right)
    np.testing.assert_array_equal(found, count_link_by_link(margin, right, coins=coins))


def share_with(coins, patch, margin, right):
    """As of few links, or as of so many that their halves are tossed."""
    assertable_links._draw_halves.cache_clear()
    patch.setattr(assertable_links, "MOST_PERMUTED", 0 if coins else 30_000)
    try:
        return compute_assertion_shares(margin, right)
    finally:
        assertable_links._draw_halves.cache_clear()


@pytest.mark.parametrize("coins", [False, True])
def test_each_link_is_asserted_as_often_as_by_a_plain_intruder(coins, monkeypatch):
    """Halves drawn anew, and the threshold of each by its definition: the same shares but for chance."""
    rng = np.random.default_rng(4)
    n, times = 300, 2000
    margin = rng.random(n).round(2)
    right = rng.random(n) < np.where(margin > 0.5, 0.97, 0.6)
    plain = np.zeros(n)
    for _ in range(times):
        order = rng.permutation(n)
        own, other = order[: n // 2], order[n // 2 :]
        plain[own] += margin[own] >= threshold(margin[other], right[other])
    found = share_with(coins, monkeypatch, margin, right)
    assert 0.2 < found.mean() < 0.6
    assert found.mean() == pytest.approx(2 * plain.mean() / times, abs=0.02)
    assert (found * right).mean() == pytest.approx(2 * (plain * right).mean() / times, abs=0.02)


def test_nothing_is_asserted_of_guesses_and_nearly_all_of_clear_links():
    rng = np.random.default_rng(8)
    margin = rng.random(4000)
    assert not compute_assertion_shares(margin, rng.random(4000) < 0.6).any()
    right = rng.random(4000) < np.where(margin > 0.4, 0.99, 0.3)
    claims = compute_assertion_shares(margin, right)
    assert (claims * right).sum() / claims.sum() == pytest.approx(0.95, abs=0.02)
    assert 0.6 < claims.mean() < 0.72


def test_the_outcomes_hold_margins(table):
    # record 0 finds the row 1 before 11, record 10 the row 11 before 1: wrong ones both; seen from the rows the next is 9 away
    original, schema = table({"a": [0.0, 10, 20]})
    masked, _ = table({"a": [11.0, 1, 20]})
    alignment, targets = Alignment.complete_in(np.arange(3)), np.array([2, 0, 1])
    for direction, first in (("to_release", 120 / 122), ("to_original", 80 / 82)):
        spec = PLAIN.model_copy(update={"direction": direction})
        found = attack(original, masked, schema, (), spec, Intruder("declared", ("a",)), alignment=alignment, targets=targets)
        assert found.outcomes.floats("margin").tolist() == pytest.approx([1, first, 80 / 82])
        assert found.outcomes.floats("named_right").tolist() == [1, 0, 0]
    assigned = attack(
        original, masked, schema, (), PLAIN.model_copy(update={"matching": "one_to_one"}), Intruder("declared", ("a",)),
        alignment=alignment, targets=targets,
    )  # fmt: skip
    # the squares add up to 1 + 1 + 0; without 0 -> 1 to 121 + 81, without either of the others to 1 + 100 + 81
    margins = [180 / (180 + 4 / 3), 200 / (200 + 4 / 3), 180 / (180 + 4 / 3)]
    assert assigned.outcomes.floats("margin").tolist() == pytest.approx(margins)
    assert assigned.outcomes.floats("named_right").tolist() == [1, 0, 0]
