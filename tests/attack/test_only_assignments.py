"""Is a least assignment the only one? And distances that are added column by column, to the last digit."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from tasks.attack.linkage import assignment
from tasks.attack.linkage.assignment import is_only_assignment, solve_assignment
from tasks.attack.linkage.transport import Lists, hand_over, new_state
from tasks.attack.neighbours.distances import create_weighted_mean, euclidean
from tasks.attack.neighbours.nearest import Search
from tasks.attack.neighbours.record_comparison import ABSOLUTE, EQUAL, SQUARED, ComparedColumns, compute_differences


def count_least(costs):
    """The assignments of all rows of a small matrix to different columns whose sum is the least."""
    sums = [sum(costs[i, j] for i, j in enumerate(to)) for to in permutations(range(costs.shape[1]), len(costs))]
    return sums.count(min(sums))


def is_only(costs):
    """`is_only_assignment` at the prices that scipy's linear program gives."""
    r, c = costs.shape
    rows, columns = linear_sum_assignment(costs)
    # a column costs at least what its owner would save elsewhere (longest ways, Bellman and Ford); what is free costs nothing
    price, given = np.where(np.isin(np.arange(c), columns), -100.0, 0.0), dict(zip(rows, columns, strict=True))
    for _ in range(c):
        for i, own in given.items():
            price[own] = max(price[own], *(costs[i, own] - costs[i, j] + price[j] for j in range(c)))
    pays = (costs - price).min(axis=1)
    lists = Lists(np.arange(0, r * c + 1, c), np.tile(np.arange(c), r), costs.ravel(), np.full(r, np.inf))
    state = new_state(np.arange(r), pays, np.ones(c, dtype=np.int64))
    state.price[:] = price
    hand_over(rows, columns, state)
    assert pays.sum() + price.sum() == costs[rows, columns].sum()  # whole numbers: the prices prove it
    return is_only_assignment(lists, state, 1e-9)


@pytest.mark.parametrize(
    ("costs", "only"),
    [
        ([[0, 1], [1, 0]], True),  # the other one costs 2
        ([[0, 1], [0, 1]], False),  # both cost 1
        ([[0, 0, 5]], False),  # the second column is free and costs as little
        ([[0, 1, 5]], True),
        ([[1, 2, 9], [1, 3, 2]], False),  # 1 + 2 and 2 + 1
    ],
)
def test_worked_examples(costs, only):
    assert is_only(np.array(costs, dtype=float)) == only


@given(
    st.tuples(st.integers(1, 4), st.integers(0, 2)).flatmap(
        lambda size: st.lists(
            st.lists(st.integers(0, 6), min_size=sum(size), max_size=sum(size)), min_size=size[0], max_size=size[0]
        )
    )
)
@example([[0, 0], [3, 3]])
def test_one_is_the_only_one_where_no_other_has_its_sum(costs):
    matrix = np.array(costs, dtype=float)
    assert is_only(matrix) == (count_least(matrix) == 1)


@pytest.mark.parametrize("whole", [False, True])
def test_the_only_assignment_needs_no_second_solver(monkeypatch, whole):
    """The same answer as where scipy chooses; of whole numbers there are several, and scipy is asked."""
    rng = np.random.default_rng(4)
    own = rng.normal(size=(60, 3))
    shown = own + rng.normal(size=own.shape)
    n = 30 if whole else 60
    own, shown = (np.unique(np.round(of) if whole else of, axis=0)[:n] for of in (own, shown))
    columns = ComparedColumns.create_plain(np.zeros(3, dtype=bool), np.ones(3))
    search, everybody = Search(own, shown, columns, euclidean(3)), np.arange(n)
    asked = []

    def ask(costs):
        asked.append(costs)
        return linear_sum_assignment(costs)

    monkeypatch.setattr(assignment.scipy.optimize, "linear_sum_assignment", ask)
    found = solve_assignment(search, everybody, everybody)
    assert bool(asked) == whole
    monkeypatch.setattr(assignment, "is_only_assignment", lambda *_: False)
    settled = solve_assignment(search, everybody, everybody)
    for part in ("starts", "classes", "total", "bound", "least", "runner_up"):
        np.testing.assert_array_equal(getattr(found, part), getattr(settled, part))


@given(st.integers(0, 2**32), st.booleans())
def test_weighted_means_are_those_of_the_differences_to_the_last_digit(seed, missing_out):
    rng = np.random.default_rng(seed)
    d, kinds = 5, np.array([SQUARED, EQUAL, ABSOLUTE, SQUARED, EQUAL])
    own, shown = (np.where(kinds == EQUAL, rng.integers(0, 3, (7, d)), rng.normal(size=(7, d))) for _ in range(2))
    own, shown = (np.where(rng.random(of.shape) < 0.2, np.nan, of) for of in (own, shown))
    columns = ComparedColumns(kinds, rng.random(d) * 3, np.arange(d), d, missing_out)
    form = create_weighted_mean(rng.random(d))
    found = Search(own, shown, columns, form).matrix(np.arange(7))
    for i in range(7):
        rules = (columns.kind, columns.weight, columns.attribute, d, missing_out)
        differences = compute_differences(np.repeat(own[i : i + 1], 7, axis=0), shown, *rules)
        np.testing.assert_array_equal(found[i], form.compute_distances(differences))
