"""A k-d tree from which records are taken away: exact farthest and nearest of what is left.

Source: Friedman, Bentley and Finkel (1977), "An algorithm for finding best matches in logarithmic expected time", ACM TOMS
3(3). Done otherwise than there: the tree is complete and lies in arrays; a removal tightens the boxes above it; a box knows
how far its records reach from the centre of all, which bounds the farthest record far better than the corners of the box do.

Equally far or near records are taken in the order of their numbers, so a box is passed over only if none of its records can
win such a tie. The distance to a box is the same sum in the same order as that to a record, and rounding keeps order; the
bound from the reach is another sum, and so has a margin, far above its rounding. No box is passed over by mistake.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

LEAF = 128
NEAREST, FARTHEST = 1.0, -1.0
MARGIN, TINY = 1e-10, 1e-300
_EMPTY = "the box of a node without records, at which `_compute_bound` does not look"


class KdTree(NamedTuple):
    """Nodes are numbered from the root 0, the children of i are 2i + 1 and 2i + 2. A named tuple: compiled code takes those.

    coordinates: shape (leaves, p, capacity), the records of a leaf beside each other, those left in front.
    members: shape (leaves, capacity), their numbers. left: shape (leaves,), how many are left. position: shape (n,), where a
    record lies in `members`, row by row. low, high: shape (nodes, p), the box round the records left below a node. first: shape
    (nodes,), the smallest number among them, n if there is none. centre: shape (p,), the mean of the records at the start.
    squares: shape (leaves, capacity), squared distances from it. reach: shape (nodes,), the largest of those left.
    """

    coordinates: Floats
    members: Integers
    left: Integers
    position: Integers
    low: Floats
    high: Floats
    first: Integers
    centre: Floats
    squares: Floats
    reach: Floats


@njit
def build_tree(points: Floats, records: Integers) -> KdTree:
    """The tree of some records. Its searches get slow when most are gone: build it anew when half are.

    points: shape (n, p). records: their numbers, at least one. Cost: O(n + m p log m) for m records.
    """
    n, p = points.shape
    leaves = 1
    while leaves * LEAF < len(records):
        leaves *= 2
    capacity, nodes = (len(records) + leaves - 1) // leaves, 2 * leaves - 1
    tree = KdTree(
        np.zeros((leaves, p, capacity)),
        np.zeros((leaves, capacity), dtype=np.int64),
        np.zeros(leaves, dtype=np.int64),
        np.full(n, -1, dtype=np.int64),
        np.zeros((nodes, p)),
        np.zeros((nodes, p)),
        np.zeros(nodes, dtype=np.int64),
        _centre(points, records),
        np.zeros((leaves, capacity)),
        np.zeros(nodes),
    )
    order = _split_into_leaves(points, records, leaves)
    for leaf in range(leaves):
        for position in range(len(order) * leaf // leaves, len(order) * (leaf + 1) // leaves):
            _put(tree, points, order[position], leaf)
    for node in range(nodes - 1, -1, -1):
        _tighten(tree, node)
    return tree


@njit
def _centre(points: Floats, records: Integers) -> Floats:
    centre = np.zeros(points.shape[1])
    for i in records:
        for j in range(len(centre)):
            centre[j] += points[i, j] / len(records)
    return centre


@njit
def _put(tree: KdTree, points: Floats, record: int, leaf: int) -> None:
    slot = tree.left[leaf]
    for j in range(points.shape[1]):
        step = points[record, j] - tree.centre[j]
        tree.coordinates[leaf, j, slot] = points[record, j]
        tree.squares[leaf, slot] += step * step
    tree.members[leaf, slot] = record
    tree.position[record] = leaf * tree.members.shape[1] + slot
    tree.left[leaf] += 1


@njit
def _split_into_leaves(points: Floats, records: Integers, leaves: int) -> Integers:
    """The records leaf by leaf: halved at the median of the column of widest range, and the halves again."""
    order, n = records.copy(), len(records)
    width = leaves if points.shape[1] else 1
    while width > 1:
        for leaf in range(0, leaves, width):
            start, middle, stop = n * leaf // leaves, n * (leaf + width // 2) // leaves, n * (leaf + width) // leaves
            part = order[start:stop]
            select_smallest(_widest(points, part), part, middle - start)
        width //= 2
    return order


@njit
def _widest(points: Floats, part: Integers) -> Floats:
    column, widest = 0, -1.0
    for j in range(points.shape[1]):
        low, high = np.inf, -np.inf
        for i in part:
            low, high = min(low, points[i, j]), max(high, points[i, j])
        if high - low > widest:
            column, widest = j, high - low
    values = np.empty(len(part))
    for position in range(len(part)):
        values[position] = points[part[position], column]
    return values


@njit
def select_smallest(values: Floats, records: Integers, middle: int) -> None:
    """Hoare's selection, in place: no value before place `middle` is above one from there on."""
    low, high = 0, len(values) - 1
    while low < high:
        one, two, three = values[low], values[(low + high) // 2], values[high]
        pivot = max(min(one, two), min(max(one, two), three))
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                records[left], records[right] = records[right], records[left]
                left, right = left + 1, right - 1
        low, high = (left if middle >= left else low), (right if middle <= right else high)
        if right < middle < left:
            return


@njit
def _tighten(tree: KdTree, node: int) -> None:
    leaf = node - len(tree.left) + 1
    if leaf >= 0:
        _tighten_leaf(tree, node, leaf)
        return
    one, two = 2 * node + 1, 2 * node + 2
    tree.first[node] = min(tree.first[one], tree.first[two])
    tree.reach[node] = max(tree.reach[one], tree.reach[two])
    for j in range(len(tree.centre)):
        tree.low[node, j] = min(tree.low[one, j], tree.low[two, j])
        tree.high[node, j] = max(tree.high[one, j], tree.high[two, j])


@njit
def _tighten_leaf(tree: KdTree, node: int, leaf: int) -> None:
    first, reach = len(tree.position), 0.0
    for slot in range(tree.left[leaf]):
        first, reach = min(first, tree.members[leaf, slot]), max(reach, tree.squares[leaf, slot])
    tree.first[node], tree.reach[node] = first, reach
    for j in range(len(tree.centre)):
        low, high = np.inf, -np.inf
        for slot in range(tree.left[leaf]):
            value = tree.coordinates[leaf, j, slot]
            low, high = min(low, value), max(high, value)
        tree.low[node, j], tree.high[node, j] = low, high


@njit(infinite={"tree.low": _EMPTY, "tree.high": _EMPTY})
def remove_records(tree: KdTree, records: Integers) -> None:
    """Take records away. Cost: O(p log n) for each, and that of a pass over its leaf."""
    leaves, capacity = tree.members.shape
    for i in records:
        leaf = tree.position[i] // capacity
        _drop(tree, i, leaf)
        node = leaf + leaves - 1
        _tighten(tree, node)
        while node > 0:
            node = (node - 1) // 2
            _tighten(tree, node)


@njit
def _drop(tree: KdTree, record: int, leaf: int) -> None:
    tree.left[leaf] -= 1
    slot, last = tree.position[record] % tree.members.shape[1], tree.left[leaf]
    other = tree.members[leaf, last]
    tree.members[leaf, slot], tree.squares[leaf, slot] = other, tree.squares[leaf, last]
    tree.position[other], tree.position[record] = tree.position[record], -1
    for j in range(len(tree.centre)):
        tree.coordinates[leaf, j, slot] = tree.coordinates[leaf, j, last]


@njit(infinite={"tree.low": _EMPTY, "tree.high": _EMPTY})
def search_nearest(tree: KdTree, reference: Floats, k: int, direction: float) -> tuple[Integers, Floats]:
    """The k nearest or farthest of the records left, of equally near or far ones those with the smallest numbers.

    reference: shape (p,). k: >= 1. direction: NEAREST or FARTHEST.

    Returns their numbers and their squared distances times the direction, the nearest (farthest) first; where fewer than k
    records are left, n and infinity fill up.
    """
    leaves, capacity = tree.members.shape
    nobody = len(tree.position)
    keys, found = np.full(k, np.inf), np.full(k, nobody, dtype=np.int64)
    scratch = np.empty(capacity)
    stack, bounds = np.zeros(64, dtype=np.int64), np.full(64, -np.inf)
    height = 1
    while height:
        height -= 1
        node = stack[height]
        if bounds[height] > keys[k - 1] or (bounds[height] == keys[k - 1] and tree.first[node] > found[k - 1]):
            continue
        if node >= leaves - 1:
            _scan(tree, node - leaves + 1, reference, direction, scratch, keys, found)
            continue
        near, far = 2 * node + 1, 2 * node + 2
        of_near, of_far = _compute_bound(tree, near, reference, direction), _compute_bound(tree, far, reference, direction)
        if of_far < of_near or (of_far == of_near and tree.first[far] < tree.first[near]):
            near, far, of_near, of_far = far, near, of_far, of_near
        stack[height], bounds[height], stack[height + 1], bounds[height + 1] = far, of_far, near, of_near
        height += 2
    return found, keys


@njit
def _compute_bound(tree: KdTree, node: int, reference: Floats, direction: float) -> float:
    if tree.first[node] == len(tree.position):
        return np.inf
    return _least(tree, node, reference) if direction == NEAREST else -_most(tree, node, reference)


@njit
def _least(tree: KdTree, node: int, reference: Floats) -> float:
    total = 0.0
    for j in range(len(reference)):
        step = max(0.0, tree.low[node, j] - reference[j], reference[j] - tree.high[node, j])
        total += step * step
    return total


@njit
def _most(tree: KdTree, node: int, reference: Floats) -> float:
    """No record below the node is farther: |x - r|^2 = |x - c|^2 + |c - r|^2 + 2 (x - c)(c - r), each at its largest."""
    corner, by_reach = 0.0, tree.reach[node]
    for j in range(len(reference)):
        low, high, centre = tree.low[node, j], tree.high[node, j], tree.centre[j]
        step, away = max(reference[j] - low, high - reference[j]), centre - reference[j]
        corner += step * step
        by_reach += away * away + 2.0 * max((low - centre) * away, (high - centre) * away)
    by_reach += MARGIN * (tree.reach[node] + corner) + TINY
    return float(min(corner, by_reach))


@njit
def _scan(tree: KdTree, leaf: int, reference: Floats, direction: float, scratch: Floats, keys: Floats, found: Integers) -> None:
    left, last = tree.left[leaf], len(keys) - 1
    scratch[:left] = 0.0
    for j in range(len(reference)):
        values, position = tree.coordinates[leaf, j], reference[j]
        for slot in range(left):
            step = values[slot] - position
            scratch[slot] += step * step
    for slot in range(left):
        key, record = direction * scratch[slot], tree.members[leaf, slot]
        if key > keys[last] or (key == keys[last] and record > found[last]):
            continue
        at = last
        while at > 0 and (keys[at - 1] > key or (keys[at - 1] == key and found[at - 1] > record)):
            keys[at], found[at] = keys[at - 1], found[at - 1]
            at -= 1
        keys[at], found[at] = key, record
