"""Values that follow from published means: each group of each release is one linear equation about its members.

An intruder who recognises rows in several releases has equations that overlap: the sum over the members of a group is its size
times its published mean. They need no knowledge of any original to solve them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from tasks.microdata.table import Booleans, Floats, Integers

DETERMINED_FROM = 1 - 1e-9  # squared norm of the projection of a unit vector; the next ones are (m - 1) / m at most
DENSE_COST = 6e9  # rows x columns x the smaller of them, of components that are decomposed: a few seconds
PROBES = 3
MOST_STEPS = 50_000
ZERO_BELOW, CLEAR_BELOW, CLEAR_FROM = 1e-5, 1e-6, 1e-4  # of a probe: what is zero, and where nothing must lie
PROBE_TOLERANCE, VALUE_TOLERANCE = 1e-12, 1e-9
CHECKED_EACH = 50
ROUNDING_OF_FLOATS = 1e-9  # of the largest mean


@dataclass(frozen=True, slots=True)
class SolvedMeans:
    """What follows for each of n unknown values, of q attributes whose groups are the same.

    determined: shape (n,): do the equations leave one value, but for the rounding of the means?
    estimate: shape (n, q): the value, or the nearest solution to the means that the unknown stands under where many are left;
    NaN for an unknown without an equation.
    half_width: shape (n, q): the true value is at most so far from the estimate; infinite where it is not determined, NaN where
    it is and its component is too large for a bound.
    """

    determined: Booleans
    estimate: Floats
    half_width: Floats


def solve_group_means(unknown: Integers, group: Integers, n: int, means: Floats, rounding: Floats) -> SolvedMeans:
    """Solve the equations of the groups of all releases together.

    Formula in words: with A the matrix of groups by unknowns, 1 / size for members, an unknown is determined if and only if its
    unit vector lies in the row space of A: the squared norm of its projection is 1. The estimate is the solution by least
    squares that is nearest to what the unknown's own groups show, and its error at most the row of the pseudo-inverse of A, in
    absolute values, times the rounding.

    Parameters
    ----------
    unknown, group: shape (c,): unknown[j] in 0..n-1 is a member of group[j] in 0..m-1; no pair twice, no group without members.
    means, rounding: shape (m, q): the published mean of each group, and how far the exact one may be from it at most.

    Components of the bipartite graph of unknowns and groups are solved one by one: small ones by singular values, large ones by
    conjugate gradients on the normal equations. There a vector of random numbers is projected onto the space that the equations
    leave free: an unknown that is zero in each of three projections is determined. Steps go on until no unknown lies between
    zero and clearly not; what still does after 50,000 counts as determined.

    Cost: O(m^2 n) for a component below `DENSE_COST`; else O(c) a step, some thousand steps: 20,000 unknowns in four releases
    take two minutes. Source: conjugate gradients for least squares, Hestenes and Stiefel (1952).

    Example: groups {1, 2}, {3, 4} and {1, 2, 3}, {4}: 3 and 4 are determined, 1 and 2 are not.
    """
    q = means.shape[1]
    determined = np.zeros(n, dtype=bool)
    estimate, half_width = np.full((n, q), np.nan), np.full((n, q), np.inf)
    size = np.bincount(group, minlength=len(means))
    for part in _split_components(unknown, group, n, len(means)):
        members, groups = unknown[part], group[part]
        cells, columns = np.unique(members, return_inverse=True)
        equations, rows = np.unique(groups, return_inverse=True)
        if len(equations) == 1:
            determined[cells], estimate[cells] = len(cells) == 1, means[equations]
            if len(cells) == 1:
                half_width[cells] = rounding[equations]
            continue
        matrix = scipy.sparse.csr_array((1 / size[groups], (rows, columns)), shape=(len(equations), len(cells)))
        found = _solve_component(matrix, means[equations], rounding[equations])
        determined[cells], estimate[cells], half_width[cells] = found.determined, found.estimate, found.half_width
    return SolvedMeans(determined, estimate, half_width)


def _split_components(unknown: Integers, group: Integers, n: int, m: int) -> list[Integers]:
    """The memberships of each connected component, as places in `unknown`."""
    graph = scipy.sparse.coo_array((np.ones(len(unknown), dtype=np.int8), (unknown, group + n)), shape=(n + m, n + m))
    label = scipy.sparse.csgraph.connected_components(graph, directed=False)[1][unknown]
    order = np.argsort(label, kind="stable")
    return [part for part in np.split(order, np.flatnonzero(np.diff(label[order])) + 1) if len(part)]


def _solve_component(matrix: scipy.sparse.csr_array, means: Floats, rounding: Floats) -> SolvedMeans:
    m, n = matrix.shape
    belongs = (matrix > 0).astype(float)
    near = (belongs.T @ means) / belongs.sum(axis=0)[:, None]  # the mean of what an unknown's groups show
    left = means - matrix @ near
    if m * n * min(m, n) <= DENSE_COST:
        determined, moved, width = _solve_densely(matrix.toarray(), left, rounding)
    else:
        determined, moved = _solve_by_steps(matrix, left)
        width = np.where(determined[:, None], np.nan, np.inf) * np.ones_like(moved)
    width += ROUNDING_OF_FLOATS * np.abs(means).max(axis=0)
    return SolvedMeans(determined, near + moved, width)


def _solve_densely(matrix: Floats, left: Floats, rounding: Floats) -> tuple[Booleans, Floats, Floats]:
    u, singular, v = scipy.linalg.svd(matrix, full_matrices=False)
    rank = int((singular > max(matrix.shape) * np.finfo(float).eps * singular[0]).sum())
    u, singular, v = u[:, :rank], singular[:rank], v[:rank]
    determined = (v**2).sum(axis=0) > DETERMINED_FROM
    inverse = (v.T / singular) @ u.T
    width = np.where(determined[:, None], np.abs(inverse) @ rounding, np.inf)
    return determined, inverse @ left, width


def _solve_by_steps(matrix: scipy.sparse.csr_array, left: Floats) -> tuple[Booleans, Floats]:
    """Which unknowns are determined, and the least-squares solution of smallest norm.

    The numbers of the probes come from a fixed seed, so that the same releases have the same figures.
    """
    rng, q = np.random.default_rng(PROBES), left.shape[1]
    probes = rng.standard_normal((matrix.shape[1], PROBES))
    right = np.hstack([left, matrix @ probes])
    tolerance = np.r_[np.full(q, VALUE_TOLERANCE), np.full(PROBES, PROBE_TOLERANCE)]
    solution = np.zeros((matrix.shape[1], q + PROBES))
    transposed = matrix.T.tocsr()
    running = np.arange(q + PROBES)
    x, residual = solution.copy(), right
    slope = transposed @ residual
    way, square = slope.copy(), (slope**2).sum(axis=0)
    first = square.copy()
    for step in range(1, MOST_STEPS + 1):
        moved = matrix @ way
        length = _divide(square, (moved**2).sum(axis=0))
        x += length * way
        residual -= length * moved
        slope = transposed @ residual
        before, square = square, (slope**2).sum(axis=0)
        way = slope + _divide(square, before) * way
        if step % CHECKED_EACH:
            continue
        goes_on = square > tolerance[running] ** 2 * first
        solution[:, running] = x
        is_probe = running >= q  # probes go on together until they tell which unknowns are free
        if goes_on[is_probe].any() or not _is_clear(_find_free(probes, solution[:, q:])):
            goes_on[is_probe] = True
        goes_on &= square > 0
        if not goes_on.any():
            break
        running, x, residual, way = running[goes_on], x[:, goes_on], residual[:, goes_on], way[:, goes_on]
        square, first = square[goes_on], first[goes_on]
    return _find_free(probes, solution[:, q:]) < ZERO_BELOW, solution[:, :q]


def _find_free(probes: Floats, solution: Floats) -> Floats:
    """Shape (n,): the largest part of a probe that the equations leave free."""
    largest: Floats = np.abs(probes - solution).max(axis=1)
    return largest


def _is_clear(free: Floats) -> bool:
    return not ((free > CLEAR_BELOW) & (free < CLEAR_FROM)).any()


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
