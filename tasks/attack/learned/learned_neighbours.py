"""Nearest records under a learned distance: by all pairs, or by a search tree where there are too many of them.

A tree needs coordinates whose Euclidean distance is the learned one: weighted means and positive semidefinite forms have them.
"""

from __future__ import annotations

import numpy as np
import scipy

from tasks.attack.learned.constraint_rows import Problem
from tasks.attack.learned.exact_links import LinkCounts, links_among, look
from tasks.attack.learned.features import CODES
from tasks.attack.learned.forms import create_learned_form
from tasks.attack.neighbours.tree import find_embedding
from tasks.microdata.table import Floats, Integers

MOST_PAIRS = 50_000_000  # beyond, a tree is used where it can be
IN_TREE = 8  # neighbours of each record that the tree proposes for a count


def count_links(of: Problem, parameters: Floats) -> LinkCounts:
    """What links, over all pairs; by a tree, with the counts cut off at the eight nearest that it proposes."""
    return links_and_nearest(of, parameters, 0)[0]


def nearest_others(of: Problem, parameters: Floats, k: int) -> Integers:
    """The k records other than the own that are nearest; shape (q, k), in no order, -1 where there are no more."""
    return links_and_nearest(of, parameters, k)[1]


def links_and_nearest(of: Problem, parameters: Floats, k: int) -> tuple[LinkCounts, Integers]:
    """`count_links` and `nearest_others` for the cost of one of them."""
    files = CODES[of.kind], parameters, of.searching
    coordinates = _places(of, parameters)
    if coordinates is None:
        by_columns, k = np.ascontiguousarray(of.found.T), min(k, len(of.found) - 1)
        nearer, equal, others = look(*files, by_columns, of.truth, of.copies, of.how, k)
        return LinkCounts(nearer, equal), others
    proposed = _query_tree(*coordinates, max(k + 1, IN_TREE))
    links = links_among(*files, of.found, of.truth, proposed[:, :IN_TREE], of.copies, of.how)
    own = proposed[:, : k + 1] == of.truth[:, None]
    own[:, k:] |= ~own.any(axis=1, keepdims=True)  # where the own record is none of them, one is too many
    return LinkCounts(*links), np.where(own, -1, proposed[:, : k + 1])


def _places(of: Problem, parameters: Floats) -> tuple[Floats, Floats] | None:
    """Coordinates of both files, where pairs are many and there are any."""
    if len(of.searching) * len(of.found) <= MOST_PAIRS:
        return None
    return find_embedding(of.searching, of.found, of.how.columns, create_learned_form(of.kind, parameters, of.how.d))


def _query_tree(points: Floats, coordinates: Floats, k: int) -> Integers:
    nearest = scipy.spatial.cKDTree(coordinates).query(points, min(k, len(coordinates)))[1]
    return np.asarray(nearest, dtype=np.int64).reshape(len(points), -1)
