"""Nearest records under a learned distance: by all pairs, or by a search tree where there are too many of them.

A tree needs coordinates whose Euclidean distance is the learned one: weighted means and positive semidefinite forms have them.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from tasks.attack.learned.features import Kind, matrix_of
from tasks.attack.learned.recount import Links, links_among, recount
from tasks.attack.learned.rows import Problem, nearest_by_pairs
from tasks.microdata.table import Floats, Integers

MOST_PAIRS = 50_000_000  # beyond, a tree is used where it can be
IN_TREE = 8  # neighbours of each record that the tree proposes for a count


def nearest_others(of: Problem, parameters: Floats, k: int) -> Integers:
    """The k records other than the own that are nearest; shape (q, k), in no order, -1 where there are no more."""
    root = _root(of, parameters)
    if root is None:
        return nearest_by_pairs(of, parameters, k)
    proposed = _proposed(of, root, k + 1)
    return np.where(proposed == of.truth[:, None], -1, proposed)


def links_of(of: Problem, parameters: Floats) -> Links:
    """`recount`; by a tree, with the counts of nearer and equal records cut off at the eight that the tree proposes."""
    root = _root(of, parameters)
    if root is None:
        return recount(of.kind, parameters, of.searching, of.found, of.truth)
    proposed = _proposed(of, root, IN_TREE + int(of.twins.max(initial=0)))
    return links_among(of.kind, parameters, of.searching, of.found, of.truth, proposed)


def _root(of: Problem, parameters: Floats) -> Floats | None:
    """The matrix R with distance = |x R - y R|^2, where pairs are many and there is one."""
    if len(of.searching) * len(of.found) <= MOST_PAIRS:
        return None
    if of.kind is Kind.WEIGHTED_MEAN:
        return np.diag(np.sqrt(parameters))
    if of.kind is not Kind.BILINEAR:
        return None
    values, vectors = np.linalg.eigh(matrix_of(parameters))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0))) if values[0] >= -1e-9 * values[-1] else None


def _proposed(of: Problem, root: Floats, k: int) -> Integers:
    searching, found = of.searching @ root, of.found @ root
    nearest = cKDTree(found).query(searching, min(k, len(found)))[1]
    return np.asarray(nearest, dtype=np.int64).reshape(len(searching), -1)
