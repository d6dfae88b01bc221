"""Groups along one attribute, seen by an intruder who does not hold all records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.groups.adjacent_groups import infer_neighbour_interval
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.intruder_belief import create_initial_belief
from tasks.mask.methods import infer_belief, mask
from tasks.mask.precision_grid import find_precision
from tasks.mask.sampling import Sampling
from tasks.mask.step import IntruderView
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SAMPLE = Sampling(method="sampling", share=0.5)


def schema_of(*names):
    return Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in names))


def apart(partition, *, k=3, **more):
    return Microaggregation(method="microaggregation", attributes=("a", "b"), k=k, partition=partition, **more)


def interval(values, released):
    own, shown = Microdata.from_columns({"a": values}), Microdata.from_columns({"a": released})
    view = IntruderView(create_initial_belief(own), own, own, shown, schema_of("a"), find_precision(own, ("a",)))
    (found,) = infer_neighbour_interval(view, "a").between
    return list(zip(found.low.tolist(), found.high.tolist(), strict=True))


def test_worked_brackets():
    found = interval([1.0, 2.0, 4.0, 5.0, 8.0, 9.0, 12.0], [5.0, 2.0, 9.0, 9.0, 2.0])
    assert found == [(2, 2), (2, 5), (2, 5), (2, 9), (5, 9), (5, 9), (9, 9)]


def followed(seed, partition, n, different, order, **more):
    """The intervals of an intruder who does not know who was sampled, and the released values of those who were."""
    rng = np.random.default_rng(seed)
    original = Microdata.from_columns({name: [0, 1, 2, *rng.integers(0, different, n - 3)] for name in ("a", "b")})
    steps = (SAMPLE, apart(partition, **more)) if order == "sampled first" else (apart(partition, **more),)
    done = mask(original, schema_of("a", "b"), steps, seed=seed.to_bytes(32, "big"), path=())
    released, record = done.data, done.record
    if order == "grouped first":
        record = np.sort(rng.permutation(n)[: n // 2])
        released = released.take(record)
    steps = done.mechanisms if order == "sampled first" else (SAMPLE, *done.mechanisms)
    return infer_belief(original, released, schema_of("a", "b"), steps), released, record


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(
        [
            ("individual_ranking", {}),
            ("individual_ranking", {"aggregate": "median"}),
            ("optimal_univariate", {}),
            ("projection", {}),
        ]
    ),
    st.integers(20, 60),
    st.sampled_from([6, 10_000]),
    st.sampled_from(["sampled first", "grouped first"]),
)
def test_the_true_row_is_never_left_out(seed, how, n, different, order):
    partition, more = how
    blocks = {} if partition == "individual_ranking" else {"blocks": (("a",), ("b",))}
    knowledge, released, record = followed(seed, partition, n, different, order, **more, **blocks)
    assert {part.name for part in knowledge.between} == {"a", "b"}
    for part in knowledge.between:
        shown = released.floats(part.name)
        assert ((part.low[record] <= shown) & (shown <= part.high[record])).all()
        assert ((np.unique(shown) >= part.low[:, None]) & (np.unique(shown) <= part.high[:, None])).sum(axis=1).max() <= 3


def test_a_bracket_leaves_few_rows():
    knowledge, released, record = followed(5, "individual_ranking", 200, 10_000, "sampled first")
    inside = np.all(
        [
            (part.low[record, None] <= released.floats(part.name)) & (released.floats(part.name) <= part.high[record, None])
            for part in knowledge.between
        ],
        axis=0,
    )
    assert inside.diagonal().all()
    assert inside.sum(axis=1).mean() < 3  # of 100 rows; two groups of 3 in each attribute leave 36 / 100 of another row


@pytest.mark.parametrize("partition", ["mdav", "refined", "v_mdav"])
def test_groups_that_need_not_lie_side_by_side_say_nothing(partition):
    knowledge, _, _ = followed(1, partition, 30, 10_000, "sampled first")
    assert (knowledge.between, set(knowledge.unclear)) == ((), {"a", "b"})
