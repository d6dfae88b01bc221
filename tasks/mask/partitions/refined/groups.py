"""Groups that change: records move between them, and each change of the sum of squares is known before it is made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

VACANT, TRAILED = 0, 1  # places in `Groups.counts`


class MutablePartition(NamedTuple):
    """A partition of records, and room for the groups that may still be founded.

    points: shape (n, p). k: the smallest group. group, position: shape (n,), the group of a record and its place there.
    members: shape (room, 2k); sizes: shape (room,); means: shape (room, p), of each group.
    vacant: shape (room,), a stack of unused group numbers. trail: shape (2k, 2), the last moves: the record and where from.
    counts: shape (2,), how many are on the stack and on the trail.
    """

    points: Floats
    k: int
    group: Integers
    position: Integers
    members: Integers
    sizes: Integers
    means: Floats
    vacant: Integers
    trail: Integers
    counts: Integers


def create_partition(points: Floats, numbers: Integers, k: int) -> MutablePartition:
    """Groups from the number 0..g-1 of each record, of k..2k-1 records each."""
    n, p = points.shape
    room = n // k
    members, sizes = np.zeros((room, 2 * k), dtype=np.int64), np.zeros(room, dtype=np.int64)
    used = int(numbers.max()) + 1
    vacant, trail = np.zeros(room, dtype=np.int64), np.zeros((2 * k, 2), dtype=np.int64)
    vacant[: room - used] = np.arange(used, room)
    counts = np.array([room - used, 0])
    group, position = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    groups = MutablePartition(points, k, group, position, members, sizes, np.zeros((room, p)), vacant, trail, counts)
    _fill(groups, np.ascontiguousarray(numbers, dtype=np.int64))
    return groups


@njit
def _fill(groups: MutablePartition, numbers: Integers) -> None:
    for i in range(len(numbers)):
        _put(groups, i, numbers[i])
    for g in range(len(groups.sizes)):
        _average(groups, g)


@njit
def squares_within(groups: MutablePartition) -> float:
    """The sum of squared distances between the records and the means of their groups."""
    total = 0.0
    for i in range(len(groups.group)):
        total += compute_squared_distance(groups.points[i], groups.means[groups.group[i]])
    return total


@njit
def compute_squared_distance(point: Floats, other: Floats) -> float:
    """Squared Euclidean distance."""
    total = 0.0
    for j in range(len(point)):
        step = point[j] - other[j]
        total += step * step
    return total


@njit
def _average(groups: MutablePartition, g: int) -> None:
    # from the records themselves, not from the mean before: thousands of moves would add up their rounding
    size, mean = groups.sizes[g], groups.means[g]
    mean[:] = 0.0
    for position in range(size):
        point = groups.points[groups.members[g, position]]
        for j in range(len(mean)):
            mean[j] += point[j]
    for j in range(len(mean)):
        mean[j] /= max(size, 1)


@njit
def _put(groups: MutablePartition, i: int, g: int) -> None:
    groups.members[g, groups.sizes[g]] = i
    groups.group[i], groups.position[i] = g, groups.sizes[g]
    groups.sizes[g] += 1


@njit
def _take(groups: MutablePartition, i: int) -> None:
    g = groups.group[i]
    groups.sizes[g] -= 1
    last = groups.members[g, groups.sizes[g]]
    groups.members[g, groups.position[i]] = last
    groups.position[last] = groups.position[i]


@njit
def move(groups: MutablePartition, i: int, to: int) -> None:
    """Record i goes to another group."""
    source = groups.group[i]
    _take(groups, i)
    _put(groups, i, to)
    _average(groups, source)
    _average(groups, to)


@njit
def swap(groups: MutablePartition, i: int, j: int) -> None:
    """Two records of different groups change places."""
    a, b = groups.group[i], groups.group[j]
    groups.members[a, groups.position[i]], groups.members[b, groups.position[j]] = j, i
    groups.position[i], groups.position[j] = groups.position[j], groups.position[i]
    groups.group[i], groups.group[j] = b, a
    _average(groups, a)
    _average(groups, b)


@njit
def move_change(groups: MutablePartition, i: int, to: int) -> float:
    """By how much a move changes the sum of squares; `to` may be vacant, and i the last of its group."""
    source = groups.group[i]
    left, joined = groups.sizes[source] - 1, groups.sizes[to]
    change = joined / (joined + 1) * compute_squared_distance(groups.points[i], groups.means[to])
    if left > 0:
        change -= (left + 1) / left * compute_squared_distance(groups.points[i], groups.means[source])
    return float(change)


@njit
def swap_change(groups: MutablePartition, i: int, j: int) -> float:
    """By how much a swap changes the sum of squares."""
    a, b = groups.group[i], groups.group[j]
    point, other, mean, other_mean = groups.points[i], groups.points[j], groups.means[a], groups.means[b]
    along, apart = 0.0, 0.0
    for v in range(len(point)):
        step = point[v] - other[v]
        along += step * (mean[v] - other_mean[v])
        apart += step * step
    return float(2 * along - apart * (1 / groups.sizes[a] + 1 / groups.sizes[b]))


@njit
def move_with_trail(groups: MutablePartition, i: int, to: int) -> float:
    """Move a record, remember where it was, and return the change of the sum of squares."""
    change = move_change(groups, i, to)
    step = groups.counts[TRAILED]
    groups.trail[step, 0], groups.trail[step, 1] = i, groups.group[i]
    groups.counts[TRAILED] += 1
    move(groups, i, to)
    return change


@njit
def undo(groups: MutablePartition) -> None:
    """Take back the moves of the trail."""
    for step in range(groups.counts[TRAILED] - 1, -1, -1):
        move(groups, groups.trail[step, 0], groups.trail[step, 1])
    groups.counts[TRAILED] = 0
