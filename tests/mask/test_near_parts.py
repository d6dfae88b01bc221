"""Partitions in parts: near records, whatever their order, and the groups of each part are those of the part alone."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from sites import site_of

from tasks.mask.groups import beside_mdav
from tasks.mask.groups.beside_mdav import compute_own_and_mdav_loss
from tasks.mask.groups.grouping import group_blocks
from tasks.mask.groups.microaggregation import BlockSpec, Microaggregation, microaggregate
from tasks.mask.methods import mask
from tasks.mask.partitions import mdav
from tasks.mask.partitions.near_parts import partition_in_parts, split_into_parts


def test_a_worked_example():
    parts = list(split_into_parts(np.array([[0.0, 0.0], [9, 1], [1, 0], [8, 1]]), 2))
    assert [sorted(part.tolist()) for part in parts] == [[0, 2], [1, 3]]
    groups = partition_in_parts(np.array([[0.0], [9], [1], [8]]), 2, lambda of_part: np.zeros(len(of_part), int))
    assert groups.tolist() == [0, 1, 0, 1]


@given(st.data(), st.integers(8, 60), st.integers(2, 40), st.integers(0, 3), st.integers(0, 2**32))
def test_parts_are_near_records_and_none_is_small(data, n, most, p, seed):
    """Few values, so that there are ties in every coordinate; the parts are those of the records in any order."""
    points = np.array(data.draw(st.lists(st.lists(st.integers(0, 3), min_size=p, max_size=p), min_size=n, max_size=n)), float)
    points = points.reshape(n, p)
    parts = list(split_into_parts(points, most))
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    if p:
        assert all(len(part) <= most for part in parts)
        assert len(parts) == 1 or all(2 * len(part) >= most for part in parts)
    order = np.random.default_rng(seed).permutation(n)
    again = list(split_into_parts(points[order], most))
    assert [points[order][part].tolist() for part in again] == [points[part].tolist() for part in parts]


def test_the_split_is_along_the_longest_side():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(400, 2)) * (1, 9)
    low, high = split_into_parts(points, 200)
    assert points[low][:, 1].max() <= points[high][:, 1].min()


@pytest.mark.parametrize("most", [50, 120, 500])
def test_each_part_has_the_groups_that_it_has_alone(most):
    points = np.random.default_rng(4).normal(size=(500, 3))
    groups = partition_in_parts(points, most, lambda of_part: mdav.partition(of_part, 3))
    assert groups.max() + 1 == len(np.unique(groups))
    assert 3 <= np.bincount(groups).min() <= np.bincount(groups).max() <= 5
    for part in split_into_parts(points, most):
        alone = mdav.partition(points[part], 3)
        assert len(set(zip(alone.tolist(), groups[part].tolist(), strict=True))) == alone.max() + 1
    if most == 500:
        assert np.array_equal(groups[mdav.lexicographic(points)], mdav.partition(points[mdav.lexicographic(points)], 3))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"records_per_part": 11}, "at least 4 k, here 12"),
        ({"records_per_part": 12, "blocks": (BlockSpec(attributes=("a",), k=4), ("b",))}, "at least 4 k, here 16"),
        ({"records_per_part": 40, "partition": "randomised"}, "belongs to"),
        ({"records_per_part": 40, "frozen": True}, "take `records_per_part` out"),
        ({"records_per_part": 5}, r"at least 4 k, here 12 \(k is 3\)"),
        ({"records_per_part": 0}, "at least 4 k, here 12"),
        ({"records_per_part": "11"}, "at least 4 k, here 12"),
        ({"records_per_part": 11.0}, "at least 4 k, here 12"),
        ({"records_per_part": 5, "k": 1}, "greater than or equal to 8"),  # beside the message on k
    ],
)
def test_what_parts_do_not_go_with(given, says):
    with pytest.raises(ValidationError, match=says):
        Microaggregation.model_validate({"method": "microaggregation", "k": 3, **given}, strict=False)
    assert "records_per_part" not in Microaggregation(method="microaggregation", k=3).model_dump()


def test_the_loss_of_parts_is_told_beside_that_of_all_records(numbers):
    rng = np.random.default_rng(8)
    data, schema = numbers({name: rng.normal(size=90) for name in "ab"})
    site = site_of(data, schema, seed=4)
    for most, told in ((40, 1), (90, 0), (400, 0)):
        spec, notes = Microaggregation(method="microaggregation", attributes=("a", "b"), k=3, records_per_part=most), []
        microaggregate(replace(site, tell=lambda note, notes=notes: notes.append(note())), spec)
        assert len(notes) == told
    own, whole = compute_own_and_mdav_loss(group_blocks(site, spec.model_copy(update={"records_per_part": 40})))
    assert own > whole == compute_own_and_mdav_loss(group_blocks(site, spec))[0]


def test_who_repeats_a_masking_compares_no_losses(numbers, monkeypatch):
    rng, compared, told = np.random.default_rng(8), [], []
    data, schema = numbers({name: rng.normal(size=90) for name in "ab"})
    monkeypatch.setattr(beside_mdav, "describe_loss_of_parts", lambda *_: compared.append(1) or "a note")
    steps = (Microaggregation(method="microaggregation", attributes=("a", "b"), k=3, records_per_part=40),)
    mask(data, schema, steps, seed=bytes(32), path=())
    assert compared == []
    mask(data, schema, steps, seed=bytes(32), path=(), tell=lambda note: told.append(note()))
    assert told == ["a note"]


@pytest.mark.parametrize("partition", ["mdav", "refined"])
def test_groups_nested_in_parts_are_whole_groups_of_the_release_before(numbers, partition):
    rng = np.random.default_rng(9)
    data, schema = numbers({name: rng.normal(size=120) for name in "ab"})
    how = {"method": "microaggregation", "attributes": ("a", "b"), "partition": partition, "records_per_part": 40}
    fine, coarse = (
        group_blocks(site_of(data, schema), Microaggregation(**how, **sizes))[0].groups[0].of_row
        for sizes in ({"k": 3}, {"k": 7, "nested_in": 3})
    )
    assert len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == fine.max() + 1
    assert np.bincount(coarse).min() >= 7
