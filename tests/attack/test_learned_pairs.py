"""The compiled loops of learning against plain ones: all pairs at once, and the best step on a line."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.attack.learned.attribute_differences import Apart
from tasks.attack.learned.constraint_rows import compute_pairwise_differences, problem
from tasks.attack.learned.exact_links import BLOCK, links_among
from tasks.attack.learned.features import CODES, LearnedDistanceKind, arithmetic_mean, cone, features, width
from tasks.attack.learned.joinability import extend_linked_set
from tasks.attack.learned.learned_neighbours import count_links, links_and_nearest
from tasks.attack.learned.local_search import line_overlap
from tasks.attack.neighbours.record_comparison import ABSOLUTE, EQUAL, SQUARED

# x, then two columns of one attribute of categories, an absolute difference, and x again by another weight
MIXED = Apart(
    np.array([SQUARED, EQUAL, EQUAL, ABSOLUTE, SQUARED]), np.array([1.0, 0.7, 0.3, 2.0, 0.4]), np.array([0, 1, 1, 2, 3]), 4
)


def mixed_files(seed, q, f):
    """Few values, so that there are ties and twins, and gaps in both files."""
    rng = np.random.default_rng(seed)
    files = [rng.integers(0, 3, (n, 5)).astype(float) for n in (q, f)]
    for one in files:
        one[rng.random(one.shape) < 0.15] = np.nan
    return *files, rng.integers(0, f, q), rng


@pytest.mark.parametrize("kind", LearnedDistanceKind)
@pytest.mark.parametrize("f", [3, 40, BLOCK + 90])
def test_all_pairs_at_once_are_what_they_are_one_by_one(kind, f):
    searching, found, truth, rng = mixed_files(f, 25, f)
    of = problem(kind, searching, found, truth, how=MIXED)
    parameters = rng.random(width(kind, 4))
    links, others = links_and_nearest(of, parameters, 5)
    everybody = np.arange(len(of.found))[None]
    one_by_one = links_among(CODES[kind], parameters, searching, of.found, of.truth, everybody, of.copies, MIXED)
    np.testing.assert_array_equal(links.nearer, one_by_one[0])
    np.testing.assert_array_equal(links.equal, one_by_one[1])
    assert links.nearer.max() > 0
    assert others.shape == (25, min(5, len(of.found) - 1))
    for i in range(25):
        apart = compute_pairwise_differences(of, np.full(len(of.found), i), np.arange(len(of.found))) @ parameters
        apart[of.truth[i]] = np.inf
        assert of.truth[i] not in others[i]
        assert len(set(others[i])) == len(others[i])
        np.testing.assert_allclose(apart[others[i]], np.sort(apart)[: len(others[i])], atol=1e-9)


def test_features_of_ordered_differences_by_hand():
    difference = np.array([[3.0, -1.0, np.nan]])  # squares 9, 1, 2: ascending 1, 2, 9
    assert features(LearnedDistanceKind.OWA, difference)[0].tolist() == [1, 2, 9]
    assert features(LearnedDistanceKind.CHOQUET, difference)[0].tolist() == [
        7,
        0,
        0,
        0,
        1,
        0,
        1,
    ]  # {0}: 9 - 2; {0, 2}: 2 - 1; all: 1
    assert features(LearnedDistanceKind.CHOQUET_2ADDITIVE, difference)[0].tolist() == [9, 1, 2, 1, 2, 1]


def linked_weight(a, b, starts, weight, step):
    return sum(
        one
        for one, first, last in zip(weight, starts[:-1], starts[1:], strict=True)
        if all(x + step * y > 0 for x, y in zip(a[first:last], b[first:last], strict=True))
    )


@pytest.mark.parametrize("seed", range(25))
def test_no_step_on_the_line_links_more(seed):
    """Against a look between all zeros of rows. Weights of 1 and less, rows that the line leaves as they are."""
    rng = np.random.default_rng(seed)
    starts = np.append(0, np.cumsum(rng.integers(0, 4, 30)))
    a, b = rng.normal(0.6, 1, starts[-1]), np.round(rng.normal(size=starts[-1]), 1)
    weight = rng.choice([0.0, 0.25, 0.5, 1.0], 30) if seed % 2 else np.ones(30)
    low, high = (0.0, 2.0) if seed % 5 == 0 else (-1.5, 3.0)
    zeros = np.unique(np.concatenate([[low, high], (-a / np.where(b == 0, np.nan, b))]))
    zeros = zeros[(zeros >= low) & (zeros <= high)]
    best = max(linked_weight(a, b, starts, weight, step) for step in (zeros[1:] + zeros[:-1]) / 2)
    step, depth = line_overlap(a, b, starts, weight, low, high, 1.0, rng.random())
    assert low < step < high
    assert depth == pytest.approx(best)
    assert linked_weight(a, b, starts, weight, step) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(8))
def test_records_join_until_all_are_linked_where_all_can_be(seed):
    """The first attribute is a key, by which equal weights do not link everybody."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(40, 3))
    of = problem(LearnedDistanceKind.WEIGHTED_MEAN, found + rng.normal(size=found.shape) * [0.0, 0.4, 0.4], found)
    start, bounds = arithmetic_mean(of.kind, 3), cone(of.kind, 3)
    parameters = extend_linked_set(of, start, bounds, lambda one: np.maximum(one, 0.0))
    assert of.worth(count_links(of, start)) < of.worth(count_links(of, parameters)) == 40
    np.testing.assert_array_equal(extend_linked_set(of, parameters, bounds, lambda one: one), parameters)
