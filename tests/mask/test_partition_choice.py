"""Partitions that intruders repeat are computed once, and are those of the functions themselves."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
from numpy.random import default_rng

from tasks.mask.groups import partition_choice
from tasks.mask.groups.partition_choice import NESTABLE_PARTITIONS, partition_records
from tasks.mask.partitions import mdav, v_mdav
from tasks.mask.partitions.refined import refined_partition

DIRECT = {"mdav": mdav.partition, "v_mdav": v_mdav.partition, "refined": refined_partition.partition}


def of(points, k, partition="mdav"):
    return partition_records(
        points, k, partition, by_median=False, most=None, gamma=v_mdav.GAMMA, axis="sum_of_z_scores", rng=default_rng
    )


@pytest.fixture
def counted(monkeypatch):
    """How often MDAV was computed, of points that nobody had before."""
    asked = []
    compute = mdav.partition
    monkeypatch.setattr(mdav, "partition", lambda points, k: asked.append(k) or compute(points, k))
    partition_choice._partition_by_distance.cache_clear()
    return asked


@pytest.mark.parametrize("partition", NESTABLE_PARTITIONS)
def test_remembered_groups_are_those_of_the_partition(partition):
    points = default_rng(5).integers(0, 9, (60, 2)).astype(float)
    for k in (3, 4, 3):
        for given in (points, np.asfortranarray(points)):
            assert np.array_equal(of(given, k, partition), DIRECT[partition](points, k))


def test_whoever_repeats_a_partition_gets_groups_of_their_own(counted):
    points = default_rng(6).normal(size=(40, 2))
    first = of(points, 3)
    first[:] = 0
    assert len(np.unique(of(points.copy(), 3))) > 1
    assert counted == [3]


@pytest.mark.parametrize("change", [lambda points: points[::-1], lambda points: points + 1e-12, lambda points: points[:, ::-1]])
def test_other_points_are_grouped_anew(counted, change):
    points = default_rng(7).normal(size=(40, 2))
    of(points, 3)
    of(change(points), 3)
    of(points.reshape(20, 4), 3)
    of(points, 4)
    assert counted == [3, 3, 3, 4]


def test_attacks_that_run_at_once_compute_it_once(counted, monkeypatch):
    points, began, goes_on, compute = default_rng(8).normal(size=(30, 2)), Event(), Event(), mdav.partition

    def slowly(points, k):
        began.set()
        assert goes_on.wait(20)
        return compute(points, k)

    monkeypatch.setattr(mdav, "partition", slowly)
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(of, points, 3) for _ in range(3)]
        assert began.wait(20)
        goes_on.set()
        groups = [one.result() for one in asked]
    assert counted == [3]
    assert all(np.array_equal(one, groups[0]) for one in groups)


def test_one_that_failed_is_tried_again(counted, monkeypatch):
    compute = mdav.partition
    with monkeypatch.context() as broken, pytest.raises(MemoryError):
        broken.setattr(mdav, "partition", lambda *_, **__: (_ for _ in ()).throw(MemoryError))
        of(np.zeros((6, 1)), 3)
    assert mdav.partition is compute
    assert len(of(np.zeros((6, 1)), 3)) == 6


def test_what_is_remembered_takes_a_bounded_room(counted):
    room = partition_choice._partition_by_distance.cache
    for seed in range(3):
        of(default_rng(seed).normal(size=(50, 2)), 3)
    assert room.currsize == 3 * 50 * 8 < room.maxsize
