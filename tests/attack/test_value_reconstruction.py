"""Masked values of two and more releases: rows that an intruder recognises, equations of their groups, figures (5 s)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.together.earlier_release import EarlierView
from tasks.attack.together.group_equations import find_averaged_block
from tasks.attack.together.recognisable_rows import ReleaseRows, label_recognised, recognise_records
from tasks.attack.together.value_reconstruction import reconstruct_values
from tasks.mask.coding.rounding import Rounding
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask, resolve_steps
from tasks.mask.pseudonyms import Pseudonyms
from tasks.mask.sampling import Sampling
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SEED = bytes(range(32))


def schema_of(data, **roles):
    return Schema(tuple(Attribute(n, roles.get(n, Role.QUASI_IDENTIFIER), Scale.NUMERIC, "declared") for n in data.names))


def micro(k, *attributes, **more):
    return Microaggregation(method="microaggregation", attributes=attributes, k=k, **more)


def view(name, data, schema, steps, record=None):
    done = mask(data, schema, steps, seed=SEED, path=(name,))
    rows = Alignment(done.record, np.argsort(done.order), data.n)
    record = np.arange(data.n) if record is None else np.asarray(record)
    return EarlierView(
        name=name,
        original=data,
        masked=done.data,
        schema=schema,
        mechanisms=done.mechanisms,
        alignment=rows,
        record=record,
    )


def adopt(name, data, schema, groups, record=None, *, attributes=("x",), steps=None, rounded=False):
    """A view of a release whose groups are given: the means of each are published, as they are or as whole numbers."""
    masked, groups = data.select(schema.release_columns), np.asarray(groups)
    for one in attributes:
        means = np.bincount(groups, weights=data.floats(one)) / np.bincount(groups)
        masked = masked.replace_column(one, pa.array((np.rint(means) if rounded else means)[groups]))
    return EarlierView(
        name=name,
        original=data,
        masked=masked,
        schema=schema,
        mechanisms=(micro(2, *attributes),) if steps is None else steps,
        alignment=Alignment.complete_in(np.arange(data.n)),
        record=np.arange(data.n) if record is None else np.asarray(record),
    )


def combine(newest, *earlier, **more):
    return reconstruct_values(
        newest.original, newest.masked, newest.alignment, newest.schema, newest.mechanisms, earlier, **more
    )


def as_rows(one):
    return ReleaseRows(one.original, one.masked, one.schema, one.mechanisms, one.alignment, one.record)


FOUR = Microdata.from_columns({"x": [1.0, 3.0, 7.0, 2.0], "row": [10, 20, 30, 40]})


def test_four_records_by_hand():
    # {1, 2}, {3, 4}, then {1, 2, 3}, {4}: the third and the fourth value follow; `row` is unchanged and joins the rows
    schema = schema_of(FOUR)
    old, new = (adopt(n, FOUR, schema, groups) for n, groups in (("old", [0, 0, 1, 1]), ("new", [0, 0, 0, 1])))
    found = combine(new, old)
    (x,) = found.attributes
    assert (x.attribute, x.n, x.determined, x.reconstructed, x.exact) == ("x", 4, 2, 2, 2)
    assert (found.n, found.recognised, found.any_reconstructed, found.releases) == (4, 4, 2, ("old",))
    assert x.near == 2  # records 1 and 2 are one to the intruder: 2, and they are 1 and 3
    assert x.near_alone == 1  # the group of one; the mean of 1, 3 and 7 is none of them


def test_rows_that_nobody_recognises_tell_nothing_together():
    data = Microdata.from_columns({"x": FOUR.floats("x"), "row": [10, 10, 10, 10]})
    old, new = (adopt(n, data, schema_of(data), groups) for n, groups in (("old", [0, 0, 1, 1]), ("new", [0, 0, 0, 1])))
    found = combine(new, old)
    assert (found.recognised, found.any_reconstructed) == (0, 1)  # the group of one


def test_a_pseudonym_of_the_series_joins_rows_and_one_of_the_release_does_not():
    data = Microdata.from_columns({"x": FOUR.floats("x"), "id": ["a", "b", "c", "d"]})
    schema = schema_of(data, id=Role.IDENTIFIER)
    for stable, joined in (("series", True), ("release", False)):
        steps = (micro(2, "x"), Pseudonyms(method="pseudonyms", attributes=("id",), stable=stable))
        one, other = (as_rows(adopt(name, data, schema, [0, 0, 1, 1], steps=steps)) for name in "ab")
        assert recognise_records(one, other).tolist() == [joined] * 4


def test_a_chain_of_joins_is_one_person():
    # a and b share `u`, b and c share `v`: the rows of a and c are joined by way of b
    n, unique = 3, [1, 2, 3]
    columns = ({"u": unique}, {"u": unique, "v": unique}, {"v": unique})
    tables = [Microdata.from_columns({"x": [1.0, 2.0, 3.0], **one}) for one in columns]
    rows = [as_rows(adopt(str(i), one, schema_of(one), [0, 0, 0])) for i, one in enumerate(tables)]
    assert not recognise_records(rows[0], rows[2]).any()
    assert label_recognised(rows).tolist() == [[0, 0, 0]] * n


def test_a_column_whose_values_change_hides_nobody_whom_the_others_tell():
    columns = {"x": FOUR.floats("x"), "u": [1, 2, 3, 4]}
    old, new = (Microdata.from_columns({**columns, "age": age}) for age in ([1, 1, 1, 1], [2, 2, 2, 2]))
    one, other = (as_rows(adopt(name, data, schema_of(data), [0, 0, 1, 1])) for name, data in (("old", old), ("new", new)))
    assert recognise_records(one, other).all()


def test_a_value_that_changed_is_another_unknown():
    # the fourth is 2 in the old version and 9 in the new one, which is all four together less the three, or 16 less the third
    changed = FOUR.replace_column("x", pa.array([1.0, 3.0, 7.0, 9.0]))
    old = adopt("old", FOUR, schema_of(FOUR), [0, 0, 0, 1])
    for groups, n in (([0, 0, 0, 0], 1), ([0, 0, 1, 1], 2)):
        (x,) = combine(adopt("new", changed, schema_of(FOUR), groups), old).attributes
        assert (x.determined, x.reconstructed, x.exact) == (n, n, n)


def test_a_newcomer_is_the_difference():
    old_data = FOUR.take(np.array([0, 1, 3]))
    old = adopt("old", old_data, schema_of(FOUR), [0, 0, 1], record=[0, 1, -1, 2])
    new = adopt("new", FOUR, schema_of(FOUR), [0, 0, 0, 1])
    (x,) = combine(new, old).attributes
    assert (x.determined, x.reconstructed) == (2, 2)


def test_means_are_only_those_of_the_last_and_single_step():
    schema = schema_of(FOUR)
    steps = {
        "alone": ((micro(2, "x"),), ("x",)),
        "in a block": ((micro(2, "x", "row"),), ("x", "row")),
        "medians": ((micro(2, "x", aggregate="median"),), None),
        "rounded before": ((Rounding(method="rounding", kind="deterministic", bases={"x": 2}), micro(2, "x")), None),
        "sampled after": ((micro(2, "x"), Sampling(method="sampling", share=0.5)), None),
        "sampled before": ((Sampling(method="sampling", share=0.5), micro(2, "x")), ("x",)),
        "each alone": ((micro(2, "x", "row", partition="individual_ranking"),), ("x",)),
        "not at all": ((micro(2, "row"),), None),
    }
    for what, (some, block) in steps.items():
        one = adopt(what, FOUR, schema, [0, 0, 1, 1], steps=resolve_steps(some, schema, what))
        assert find_averaged_block(as_rows(one), "x") == block, what


def test_nothing_is_combined_without_means_of_two_releases():
    schema = schema_of(FOUR)
    new, old = (adopt(name, FOUR, schema, [0, 0, 1, 1], attributes=(name,)) for name in ("x", "row"))
    found = combine(new, old)
    assert (found.attributes, found.any_reconstructed, found.releases) == ((), 0, ())


@settings(max_examples=15)
@given(
    n=st.integers(6, 30),
    sizes=st.lists(st.integers(2, 5), min_size=1, max_size=3),
    new=st.integers(0, 3),
    changes=st.integers(0, 3),
    seed=st.integers(0, 999),
)
def test_every_determined_value_is_right_whoever_comes_and_whatever_changes(n, sizes, new, changes, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 500, n), rng.integers(0, 500, n)
    newest = Microdata.from_columns({"x": x, "y": y, "u": np.arange(n)})
    before = x.copy()
    before[:changes] += 1000
    stayed = np.arange(n - new if n - new >= 5 else n)
    older = Microdata.from_columns({"x": before, "y": y, "u": np.arange(n)}).take(stayed)
    record = np.where(np.arange(n) < len(stayed), np.arange(n), -1)
    schema = schema_of(newest)

    def release(name, data, k, record=None):
        groups = rng.permutation(data.n) // k
        return adopt(name, data, schema, groups, record, attributes=("x", "y"), rounded=True)

    earlier = [release(f"k{k}", older, k, record) for k in sizes]
    found = combine(release("new", newest, 3), *earlier, within_percent=100.0)
    assert [one.attribute for one in found.attributes] == ["x", "y"]
    for one in found.attributes:
        assert one.exact <= one.reconstructed <= one.determined <= one.n == n
        # rounding moves none by a standard deviation; a value that changed may be known as it was alone
        assert one.determined - one.reconstructed <= (changes if one.attribute == "x" else 0)


def release_census(census, ks):
    data, schema = census
    joined = Microdata(data.arrow.append_column("row", pa.array(np.arange(data.n))))
    schema = Schema((*schema.attributes, Attribute("row", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared")))
    return [view(f"k{k}", joined, schema, (micro(k, *data.names),)) for k in ks]


@pytest.mark.slow
def test_census_in_four_releases(census):
    # MDAV on all 13 columns: share of the records whose values follow; measured here, by singular values of all equations
    releases = release_census(census, (3, 4, 5, 6))
    for t, share in ((2, 0.132), (3, 0.254), (4, 0.740)):
        found = combine(releases[t - 1], *releases[: t - 1], within_percent=2.0)
        assert [round(one.determined / found.n, 3) for one in found.attributes] == [share] * 13
        assert found.any_reconstructed == found.attributes[0].determined  # rounding moves none by 2 % of an sd
        assert found.recognised == found.n
