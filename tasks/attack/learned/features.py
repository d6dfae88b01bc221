"""Distances that are linear in their parameters: what each makes of the differences of two records, and what binds parameters.

A distance of a family is p . phi(differences), the parameters p from a convex cone. The differences are those of the scaled
attributes; the bilinear form looks at their signs, the others at their squares. Where one of two values is missing the
difference is NaN: its square counts 2, as in all linkage, and its products 0.

| kind | phi | parameters |
|---|---|---|
| weighted_mean | the squares | one weight for each attribute, >= 0 |
| owa | the squares in ascending order | one weight for each place in the order, >= 0 |
| choquet | the increments of the ascending squares, each at the set of attributes that are left | a fuzzy measure: monotone |
| choquet_2additive | the squares, then the smaller square of each pair | the measure's Moebius transform, up to pairs |
| bilinear | the products of pairs, those of two attributes twice | the triangle of a symmetric matrix, without bounds |

Metric variants: positive weights; submodular measures, mu(A) + mu(B) >= mu(A u B) + mu(A n B); positive definite matrices.

Sources: D11.2, sections 2.6 and 3.1, table 1; Torra (2016) for OWA and the metric variants. OWA and the Choquet
integral are written for ascending order, as there.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import combinations

import numpy as np
from scipy.special import comb

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

MOST_OF_CHOQUET = 10  # attributes of a general fuzzy measure: it has 2^d - 1 parameters


class LearnedDistanceKind(StrEnum):
    WEIGHTED_MEAN = "weighted_mean"
    OWA = "owa"
    CHOQUET = "choquet"
    CHOQUET_2ADDITIVE = "choquet_2additive"
    BILINEAR = "bilinear"


CODES = {kind: code for code, kind in enumerate(LearnedDistanceKind)}
_OWA, _CHOQUET, _TWO_ADDITIVE, _BILINEAR = 1, 2, 3, 4


def width(kind: LearnedDistanceKind, d: int) -> int:
    """The number of parameters for d attributes. Raises ValueError for a general fuzzy measure of more than 10 attributes."""
    match kind:
        case LearnedDistanceKind.WEIGHTED_MEAN | LearnedDistanceKind.OWA:
            return d
        case LearnedDistanceKind.CHOQUET if d > MOST_OF_CHOQUET:
            raise ValueError(f"a general fuzzy measure of {d} attributes has {2**d - 1} parameters: use choquet_2additive")
        case LearnedDistanceKind.CHOQUET:
            return int(2**d - 1)
        case LearnedDistanceKind.CHOQUET_2ADDITIVE | LearnedDistanceKind.BILINEAR:
            return d * (d + 1) // 2


def features(kind: LearnedDistanceKind, differences: Floats) -> Floats:
    """phi of each row of differences; shape (rows, d) -> (rows, p)."""
    return _features(CODES[kind], np.ascontiguousarray(differences, dtype=float), width(kind, differences.shape[1]))


@njit(missing={"differences": "one of two values is missing, which `square_difference` asks for"})
def _features(code: int, differences: Floats, p: int) -> Floats:
    made = np.zeros((len(differences), p))
    for row in range(len(differences)):
        write_features(code, differences[row], made[row])
    return made


@njit
def write_features(code: int, difference: Floats, out: Floats) -> None:
    """Write phi of one row of differences into `out`, which must be zero where a general measure's features are."""
    d = len(difference)
    if code == _CHOQUET:
        left, before = 2**d - 1, 0.0
        while left > 0:
            smallest = find_least_difference(difference, left)
            least = square_difference(difference[smallest])
            out[left - 1] = least - before
            before = least
            left -= 1 << smallest
        return
    for k in range(d):
        out[k] = square_difference(difference[k])
    if code == _OWA:
        out[:d].sort()
    if code in (_TWO_ADDITIVE, _BILINEAR):
        at = d
        for k in range(d):
            for m in range(k + 1, d):
                product = 2 * difference[k] * difference[m]
                out[at] = min(out[k], out[m]) if code == _TWO_ADDITIVE else 0.0 if np.isnan(product) else product
                at += 1


@njit
def square_difference(difference: float) -> float:
    """What a difference in one attribute adds."""
    return 2.0 if np.isnan(difference) else difference * difference


@njit
def find_least_difference(difference: Floats, left: int) -> int:
    """The attribute of least difference among those whose bits are set: by looking at each, for they are few."""
    least, smallest = np.inf, 0
    for k in range(len(difference)):
        if left >> k & 1 and square_difference(difference[k]) < least:
            least, smallest = square_difference(difference[k]), k
    return smallest


@njit
def write_distances(code: int, parameters: Floats, delta: Floats, f: int, distance: Floats, size: Floats) -> None:
    """p . phi of the first f columns of differences, shape (d, .), and what its terms add up to in absolute value.

    Term by term over many columns, as a processor does best; delta is room to work in.
    """
    d, terms, which = len(delta), np.empty(f), np.empty((len(delta), f), dtype=np.int64)
    distance[:f] = 0.0
    size[:f] = 0.0
    for k in range(d):
        which[k] = k
        for j in range(f if code != _BILINEAR else 0):
            delta[k, j] = square_difference(delta[k, j])
    if code in (_OWA, _CHOQUET):
        _order(delta, which, f)
    if code == _CHOQUET:
        _increments(delta, which, f)
    for k in range(d):
        for j in range(f):
            parameter = parameters[which[k, j]] if code == _CHOQUET else parameters[k]
            terms[j] = parameter * (square_difference(delta[k, j]) if code == _BILINEAR else delta[k, j])
        _add(terms, distance, size)
    at = d
    for k in range(d if code in (_TWO_ADDITIVE, _BILINEAR) else 0):
        for m in range(k + 1, d):
            for j in range(f):
                product = 2 * delta[k, j] * delta[m, j]
                both = min(delta[k, j], delta[m, j]) if code == _TWO_ADDITIVE else 0.0 if np.isnan(product) else product
                terms[j] = parameters[at] * both
            _add(terms, distance, size)
            at += 1


@njit
def _add(terms: Floats, distance: Floats, size: Floats) -> None:
    for j in range(len(terms)):
        distance[j] += terms[j]
        size[j] += abs(terms[j])


@njit
def _order(squares: Floats, which: Integers, f: int) -> None:
    """Sort each column, by exchanges of rows, and what stands in the same places of `which`."""
    for last in range(len(squares) - 1, 0, -1):
        for k in range(last):
            for j in range(f):
                one, other, first, second = squares[k, j], squares[k + 1, j], which[k, j], which[k + 1, j]
                apart = one > other
                squares[k, j], squares[k + 1, j] = (other, one) if apart else (one, other)
                which[k, j], which[k + 1, j] = (second, first) if apart else (first, second)


@njit
def _increments(squares: Floats, which: Integers, f: int) -> None:
    """From ascending squares to their increments, from attributes to the places of the sets that are left."""
    for k in range(len(squares) - 1, 0, -1):
        for j in range(f):
            squares[k, j] -= squares[k - 1, j]
    left = np.full(f, 2 ** len(squares) - 2)
    for k in range(len(squares)):
        for j in range(f):
            left[j], which[k, j] = left[j] - (1 << which[k, j]), left[j]


def arithmetic_mean(kind: LearnedDistanceKind, d: int) -> Floats:
    """The parameters with which a distance is the squared Euclidean one, divided by d; shape (p,)."""
    if kind is LearnedDistanceKind.CHOQUET:
        return np.array([mask.bit_count() / d for mask in range(1, 2**d)])
    parameters = np.zeros(width(kind, d))
    parameters[:d] = 1 / d
    return parameters


def diagonal(kind: LearnedDistanceKind, weights: Floats) -> Floats:
    """The parameters with which a distance is the weighted mean; for OWA the weights go to the places. Shape (d,) -> (p,)."""
    if kind is LearnedDistanceKind.CHOQUET:
        return np.array([sum(w for k, w in enumerate(weights) if mask >> k & 1) for mask in range(1, 2 ** len(weights))])
    parameters = np.zeros(width(kind, len(weights)))
    parameters[: len(weights)] = weights
    return parameters


def flatten_matrix(matrix: Floats) -> Floats:
    """The parameters of a symmetric bilinear form; shape (d, d) -> (d (d + 1) / 2,)."""
    return np.concatenate([matrix.diagonal(), matrix[np.triu_indices(len(matrix), 1)]])


def create_matrix(parameters: Floats) -> Floats:
    """The symmetric matrix of a bilinear form's parameters; the inverse of `flatten_matrix`."""
    d = int(np.sqrt(2 * len(parameters)))
    matrix = np.diag(parameters[:d])
    matrix[np.triu_indices(d, 1)] = parameters[d:]
    return np.asarray(np.triu(matrix, 1).T + matrix)


def create_fuzzy_measure(moebius: Floats, d: int) -> Floats:
    """The general fuzzy measure of a 2-additive one; shape (d (d + 1) / 2,) -> (2^d - 1,)."""
    pairs = list(combinations(range(d), 2))
    inside = [[s >> k & 1 for k in range(d)] + [s >> i & s >> j & 1 for i, j in pairs] for s in range(1, 2**d)]
    return np.asarray(np.array(inside, dtype=float) @ moebius)


def cone(kind: LearnedDistanceKind, d: int, *, metric: bool = False) -> Floats:
    """The linear bounds: parameters are allowed where every row g of the result has g . p >= 0; shape (rows, p).

    Positive definite matrices have no finite list of such rows: `negative_direction` gives the missing one.
    """
    match kind:
        case LearnedDistanceKind.WEIGHTED_MEAN | LearnedDistanceKind.OWA:
            return np.eye(d)
        case LearnedDistanceKind.BILINEAR:
            return np.zeros((0, width(kind, d)))
        case LearnedDistanceKind.CHOQUET:
            steps = [(full, full ^ 1 << k) for full in range(1, 2**d) for k in range(d) if full >> k & 1]
            rows = [_build_set_bound(d, (more,), (less,)) for more, less in steps]
            return np.array(rows + [_build_set_bound(d, *pair) for pair in _list_set_squares(d) if metric])
        case LearnedDistanceKind.CHOQUET_2ADDITIVE:
            rows = [_marginal(d, k, others) for k in range(d) for others in range(2**d) if not others >> k & 1]
            return np.array(rows + [-np.eye(width(kind, d))[at] for at in range(d, width(kind, d)) if metric])


def _list_set_squares(d: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """All A + i, A + j against A + i + j, A: submodularity follows from these."""
    pairs = [(1 << i, 1 << j) for i, j in combinations(range(d), 2)]
    return [((a | i, a | j), (a | i | j, a)) for i, j in pairs for a in range(2**d) if not a & (i | j)]


def _build_set_bound(d: int, plus: tuple[int, ...], minus: tuple[int, ...]) -> Floats:
    row = np.zeros(2**d)
    np.add.at(row, list(plus), 1.0)
    np.add.at(row, list(minus), -1.0)
    return row[1:]


def _marginal(d: int, k: int, others: int) -> Floats:
    """What attribute k adds to a set of others, in Moebius coordinates."""
    row = np.zeros(width(LearnedDistanceKind.CHOQUET_2ADDITIVE, d))
    row[k] = 1.0
    for at, (i, j) in enumerate(combinations(range(d), 2), start=d):
        row[at] = float((i == k and others >> j & 1) or (j == k and others >> i & 1))
    return row


def negative_direction(parameters: Floats) -> Floats | None:
    """The bound g . p >= 0 that a bilinear form breaks most: phi of its eigenvector of the least eigenvalue, or None."""
    values, vectors = np.linalg.eigh(create_matrix(parameters))
    if values[0] >= -1e-12 * np.abs(values).max():
        return None
    return np.asarray(features(LearnedDistanceKind.BILINEAR, vectors[:, :1].T)[0])


def clip_to_cone(kind: LearnedDistanceKind, parameters: Floats, d: int) -> Floats:
    """The parameters without what rounding left below the bounds of `cone`; those that are in it stay as they are.

    A weight of -1e-17 would decide, the wrong way round, between records that the other attributes do not tell apart.
    """
    match kind:
        case LearnedDistanceKind.BILINEAR:
            return parameters
        case LearnedDistanceKind.WEIGHTED_MEAN | LearnedDistanceKind.OWA:
            return np.maximum(parameters, 0.0)
        case LearnedDistanceKind.CHOQUET:
            mu: Floats = np.append(0.0, np.maximum(parameters, 0.0))
            for k in range(d):
                more = np.flatnonzero(np.arange(len(mu)) >> k & 1)
                mu[more] = np.maximum(mu[more], mu[more ^ 1 << k])
            return mu[1:]
        case LearnedDistanceKind.CHOQUET_2ADDITIVE:
            least = np.zeros(d)
            for value, pair in zip(np.minimum(parameters[d:], 0.0), combinations(range(d), 2), strict=True):
                least[list(pair)] -= value
            return np.concatenate([np.maximum(parameters[:d], least), parameters[d:]])


def normalise_parameters(kind: LearnedDistanceKind, parameters: Floats) -> Floats:
    """The same distance up to its unit: weights with sum 1, mu(all) = 1, a matrix with trace 1 (in absolute value)."""
    match kind:
        case LearnedDistanceKind.CHOQUET:
            unit = parameters[-1]
        case LearnedDistanceKind.BILINEAR:
            unit = np.abs(parameters[: len(create_matrix(parameters))]).sum()
        case LearnedDistanceKind.WEIGHTED_MEAN | LearnedDistanceKind.OWA | LearnedDistanceKind.CHOQUET_2ADDITIVE:
            unit = parameters.sum()
    scaled: Floats = parameters / unit if unit > 0 else parameters
    return scaled


def shapley(kind: LearnedDistanceKind, parameters: Floats, d: int) -> Floats:
    """How much each attribute betrays: shape (d,), the share of each in the distance, from the normalised parameters.

    Weighted mean: the weights. Choquet: Shapley's value. Bilinear: the diagonal. OWA weighs places, not attributes: NaN.
    """
    match kind:
        case LearnedDistanceKind.WEIGHTED_MEAN | LearnedDistanceKind.BILINEAR:
            return parameters[:d]
        case LearnedDistanceKind.OWA:
            return np.full(d, np.nan)
        case LearnedDistanceKind.CHOQUET_2ADDITIVE:
            pairs = np.array([[k in pair for pair in combinations(range(d), 2)] for k in range(d)], dtype=float)
            return np.asarray(parameters[:d] + pairs.reshape(d, -1) @ parameters[d:] / 2)
        case LearnedDistanceKind.CHOQUET:
            return _compute_shapley_values(np.append(0.0, parameters), d)


def _compute_shapley_values(mu: Floats, d: int) -> Floats:
    sizes: Integers = np.array([mask.bit_count() for mask in range(2**d)])
    share = 1 / (d * comb(d - 1, np.arange(d)))
    without = [np.flatnonzero([not mask >> k & 1 for mask in range(2**d)]) for k in range(d)]
    return np.array([np.sum(share[sizes[rest]] * (mu[rest | 1 << k] - mu[rest])) for k, rest in enumerate(without)])
