"""k of microaggregation counts persons where persons have several rows."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sites import site_of

from tasks.mask.groups.microaggregation import Microaggregation, microaggregate, refuse_unfit
from tasks.mask.groups.person_groups import join_to_k_persons
from tasks.mask.methods import infer_belief
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SCHEMA = Schema(
    (
        Attribute("who", Role.PERSON, Scale.CODE, "declared"),
        Attribute("a", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
        Attribute("b", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
    )
)


def group(data, k=2, **parameters):
    spec = Microaggregation(method="microaggregation", attributes=("a", "b"), k=k, **parameters)
    return microaggregate(site_of(data, SCHEMA), spec), spec


def persons_by_value(data, released, names=("a", "b")):
    found = defaultdict(set)
    for who, *values in zip(data.column("who").to_pylist(), *(released.column(n).to_pylist() for n in names), strict=True):
        if None not in values:
            found[tuple(values)].add(who)
    return found


def people(seed, n=60, gaps=False):
    rng = np.random.default_rng(seed)
    who = np.sort(rng.integers(0, 12, n))
    columns = {name: (who * 10 + rng.integers(0, 4, n)).astype(float) for name in "ab"}
    columns["b"][rng.random(n) < 0.5 * gaps] = np.nan
    return Microdata.from_columns(
        {"who": [str(one) for one in who], **{k: pa.array(v, from_pandas=True) for k, v in columns.items()}}
    )


def test_a_worked_table():
    # two rows of x and two of y and z: {0, 1} holds x alone and joins its neighbour
    data = Microdata.from_columns(
        {"who": ["x", "x", "y", "z", "u", "v"], "a": [0.0, 1, 10, 11, 50, 51], "b": [0.0, 0, 0, 0, 9, 9]}
    )
    released, _ = group(data)
    assert released.column("a").to_pylist() == [6, 6, 6, 6, 50, 50]  # means 5.5 and 50.5 at whole numbers, halves to even
    rows, _ = group(data, count="rows")
    assert rows.column("a").to_pylist() == [0, 0, 10, 10, 50, 50]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from(["mdav", "v_mdav", "refined", "projection", "individual_ranking"]), st.booleans()
)
def test_every_group_holds_k_persons(seed, partition, gaps):
    data = people(seed, gaps=gaps)
    try:
        released, _ = group(data, 3, partition=partition)
    except InputError as error:
        assert error.code == "group-too-small"
        return
    blocks = [("a",), ("b",)] if partition == "individual_ranking" else [("a", "b")]
    assert all(len(persons) >= 3 for names in blocks for persons in persons_by_value(data, released, names).values())


def test_rows_alone_would_hide_nobody():
    data = people(1)
    rows, _ = group(data, 3, count="rows")
    assert min(map(len, persons_by_value(data, rows).values())) == 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_joining_against_its_definition(seed, k):
    rng = np.random.default_rng(seed)
    points, groups = rng.normal(size=(40, 1)), np.repeat(np.arange(10), 4)
    points = np.sort(points, axis=0)
    persons = rng.integers(0, 8, 40)
    found = join_to_k_persons(points, groups, persons, k)
    assert sorted(set(found.tolist())) == list(range(int(found.max()) + 1))
    assert all(len(set(found[groups == one])) == 1 for one in range(10)), "groups are joined, never split"
    assert all(len(set(persons[found == one])) >= k for one in set(found)) or len(set(found)) == 1
    assert all(later == now or later not in found[: at + 1] for at, (now, later) in enumerate(pairwise(found))), "side by side"
    if all(len(set(persons[groups == one])) >= k for one in range(10)):
        assert (np.diff(found) > 0).sum() + (np.diff(found) < 0).sum() == 9


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_rows_says_nothing(seed):
    data = people(seed)
    order = np.random.default_rng(seed).permutation(data.n)

    def shown(table):  # of a person's equal rows nobody can say which is which
        columns = [of.column(name).to_pylist() for of in (table, group(table, 3)[0]) for name in ("who", "a", "b")]
        return sorted(zip(*columns, strict=True))

    assert shown(data) == shown(data.take(order))


def test_who_knows_the_persons_repeats_the_groups_and_nobody_else():
    data = people(3)
    released, spec = group(data, 3)
    his, shown = data.select(["a", "b"]), released.select(["a", "b"])
    knowing = infer_belief(his, shown, SCHEMA, (spec,), persons=data.column("who"))
    assert knowing.believed == shown
    assert knowing.shown
    assert not infer_belief(his, shown, SCHEMA, (spec,)).shown
    rows, by_rows = group(data, 3, count="rows")
    assert infer_belief(his, rows.select(["a", "b"]), SCHEMA, (by_rows,)).shown


def test_too_few_persons_are_refused_in_their_own_words():
    data = Microdata.from_columns({"who": ["x"] * 4 + ["y"], "a": [1.0, 2, 3, 4, 5], "b": [1.0, 2, 3, 4, 6]})
    spec = Microaggregation(method="microaggregation", attributes=("a", "b"), k=3)
    with pytest.raises(InputError, match="only 2 persons have all attributes of a block"):
        refuse_unfit(site_of(data, SCHEMA), spec)
    with pytest.raises(InputError, match="no attribute joins the rows of one person"):
        nobody = Schema(SCHEMA.attributes[1:])
        microaggregate(site_of(data, nobody), spec.model_copy(update={"count": "persons"}))
