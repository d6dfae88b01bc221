"""The distances of record linkage: each a function of how two records differ in each of d attributes.

A difference is signed where the attribute has an order (delta_j = (x_j - y_j) / s_j), else a distance >= 0 (see `comparison`);
its square c_j is what the attribute adds to the plain squared distance. A missing value against a present one counts c_j = 2,
what two random records differ by on average, and 0 against another missing one.

Sources: Torra, Abowd and Domingo-Ferrer (2006), Mahalanobis and kernels; Abril, Torra and Navarro-Arribas (2012), Choquet
integral and symmetric bilinear form; D11.2, section 2.6. Done otherwise than there: all are scaled so that the parameters in
which every attribute weighs the same give the plain squared Euclidean distance (D11.2: its mean over the attributes). That
changes no link.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import combinations

import numpy as np
import scipy

from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

MISSING_AGAINST_PRESENT = 2.0  # what a value adds to the squared distance where only one of two records has it
MOST_OF_A_MEASURE = 20  # attributes of a fuzzy measure that is written out: 2^20 values
MONOTONE_ERROR = 1e-9
NEGLIGIBLE_VARIANCE = 1e-8  # of a direction, relative to that of the standardised attributes


class DistanceKind(IntEnum):
    """How the squared differences, or the differences, of the attributes are joined."""

    WEIGHTED = 0
    QUADRATIC = 1
    ORDERED = 2
    CHOQUET = 3
    TWO_ADDITIVE = 4
    OF_PRESENT = 5
    POLYNOMIAL = 6  # of the records themselves, not of their differences


@dataclass(frozen=True, slots=True)
class Form:
    """One squared distance over d attributes.

    vector, matrix: its parameters, by kind (see the functions that make them). n_attributes: d. others: how many of these, the
    last ones, it adds up as the plain distance does.
    """

    kind: DistanceKind
    vector: Floats
    matrix: Floats
    n_attributes: int
    others: int = 0

    def compute_distances(self, differences: Floats) -> Floats:
        """The squared distance of each row of `differences`, shape (m, d) -> (m,); NaN where one of the two values is missing.

        Cost: O(d) a row; quadratic and 2-additive O(d^2), ordered and Choquet O(d^2) for the small d of linkage.
        """
        if self.kind is DistanceKind.POLYNOMIAL:
            raise ValueError("a kernel's distance is not a function of the differences")
        rows = np.ascontiguousarray(differences, dtype=np.float64)
        return aggregate_rows(int(self.kind), self.vector, self.matrix, self.others, rows)

    @property
    def degree(self) -> int:
        """Of the polynomial kernel."""
        return int(self.vector[0])

    @property
    def is_plain(self) -> bool:
        """Does every attribute weigh the same?"""
        return self.kind is DistanceKind.WEIGHTED and bool((self.vector == 1).all())

    @property
    def is_euclidean(self) -> bool:
        """Is it the squared Euclidean distance of linearly transformed attributes?"""
        if self.kind is DistanceKind.WEIGHTED:
            return bool((self.vector >= 0).all())
        return self.kind is DistanceKind.QUADRATIC and is_semidefinite(self.matrix)

    @property
    def square_root(self) -> Floats:
        """A matrix L, shape (d, d), with |delta L|^2 the distance; of Euclidean forms alone."""
        if self.kind is DistanceKind.WEIGHTED:
            return np.diag(np.sqrt(self.vector))
        values, directions = np.linalg.eigh(self.matrix)
        root: Floats = directions * np.sqrt(np.maximum(values, 0.0))
        return root


def euclidean(d: int) -> Form:
    """sum_j delta_j^2."""
    return create_weighted_mean(np.ones(d))


def create_weighted_mean(weights: Floats) -> Form:
    """sum_j w_j delta_j^2: d times the weighted mean where the w_j add up to d. Example: w = 1: Euclid."""
    return Form(DistanceKind.WEIGHTED, _numbers(weights), _NO_MATRIX, len(weights))


def quadratic(matrix: Floats) -> Form:
    """delta^T M delta, the symmetric bilinear form; the Mahalanobis distance where M is the inverse of a covariance.

    M need be neither definite nor metric: a negative squared distance is nearer than 0. A missing value takes its attribute out
    of the form and adds 2 M_jj. Raises ValueError for a matrix that is not symmetric. Example: a diagonal M: the weighted mean.
    """
    form = np.array(matrix, dtype=np.float64)
    if form.ndim != 2 or form.shape[0] != form.shape[1] or not np.allclose(form, form.T, rtol=1e-9, atol=1e-12):
        raise ValueError("the matrix of a bilinear form is square and symmetric")
    return Form(DistanceKind.QUADRATIC, _NO_VECTOR, (form + form.T) / 2, len(form))


def mahalanobis(covariance: Floats) -> Form:
    """delta^T C^-1 delta. Directions with less than 1e-8 of the variance (of standardised attributes) are left out.

    Attributes that depend on each other linearly make such directions: there the inverse would be rounding alone.
    """
    spread = np.sqrt(np.diag(covariance))
    present = spread > 0
    scale = np.where(present, 1 / np.where(present, spread, 1.0), 0.0)
    values, directions = np.linalg.eigh(covariance * np.outer(scale, scale))
    inverse = np.where(values > NEGLIGIBLE_VARIANCE * max(1.0, float(values.max())), 1 / np.where(values > 0, values, 1.0), 0.0)
    return quadratic((directions * inverse) @ directions.T * np.outer(scale, scale))


def owa(weights: Floats, d: int) -> Form:
    """sum_i w_i c_(i), c_(1) >= ... >= c_(d) the squared differences, the w_i scaled to add up to d.

    weights: m >= 1 numbers >= 0, the largest difference first. Where m is not d, they are the steps of a quantifier that is
    linear in between: w_i = Q(i/d) - Q((i-1)/d). Example: equal weights: Euclid; (1, 0, ..., 0): d times the largest.
    """
    given = _numbers(weights)
    if not len(given) or (given < 0).any() or given.sum() <= 0:
        raise ValueError("OWA weights are numbers >= 0, not all 0")
    quantifier = np.interp(np.linspace(0, 1, d + 1), np.linspace(0, 1, len(given) + 1), np.append(0, np.cumsum(given)))
    steps = given if len(given) == d else np.diff(quantifier)
    return Form(DistanceKind.ORDERED, steps * (d / given.sum()), _NO_MATRIX, d)


def choquet(measure: Floats, d: int) -> Form:
    """d times the Choquet integral of the c_j: sum_i (c_(i) - c_(i-1)) mu(A_(i)), c ascending, A_(i) the attributes from i on.

    measure: shape (2^d,), mu of the set whose members are the bits of the index (attribute j is bit j).
    Raises ValueError unless mu is 0 for nothing, 1 for all and never falls when an attribute is added.
    Example: an additive mu: the weighted mean. mu(A) a function of the size of A: OWA.
    """
    mu = _numbers(measure)
    if d > MOST_OF_A_MEASURE or len(mu) != 1 << d:
        raise ValueError(f"a measure on {d} attributes has 2^{d} values, and at most {MOST_OF_A_MEASURE} attributes")
    if mu[0] != 0 or abs(mu[-1] - 1) > MONOTONE_ERROR or not is_monotone(mu, d):
        raise ValueError("a fuzzy measure is 0 for no attribute, 1 for all, and never falls when one is added")
    return Form(DistanceKind.CHOQUET, mu * d, _NO_MATRIX, d)


def two_additive(singles: Floats, pairs: Floats) -> Form:
    """The Choquet integral of a 2-additive measure: d (sum_j m_j c_j + sum_{j<k} m_jk min(c_j, c_k)), m its Moebius transform.

    singles: shape (d,); pairs: shape (d, d), symmetric, its diagonal unused. Raises ValueError where the m do not add up to 1,
    or adding an attribute to some set would lower the measure. Example: no pairs: the weighted mean.
    """
    m, together = _numbers(singles), np.array(pairs, dtype=np.float64)
    d = len(m)
    np.fill_diagonal(together, 0.0)
    if together.shape != (d, d) or not np.array_equal(together, together.T):
        raise ValueError("the interactions of d attributes are a symmetric d x d matrix")
    if abs(m.sum() + together.sum() / 2 - 1) > MONOTONE_ERROR:
        raise ValueError("the singles and pairs of a 2-additive measure add up to 1")
    if (m + np.minimum(together, 0).sum(axis=1) < -MONOTONE_ERROR).any():
        raise ValueError("a fuzzy measure never falls when an attribute is added: m_j + the negative m_jk must be >= 0")
    return Form(DistanceKind.TWO_ADDITIVE, m * d, together * d, d)


def create_mean_of_present(d: int) -> Form:
    """Gower's coefficient: the mean of the c_j over the attributes that both records have; 1 where there is none.

    With c_j = |x - y| / range, [x differs from y], or the share of levels that differ (see `comparison`).
    """
    return Form(DistanceKind.OF_PRESENT, _NO_VECTOR, _NO_MATRIX, d)


def polynomial_kernel(degree: int, d: int) -> Form:
    """K(x, x) - 2 K(x, y) + K(y, y) with K(x, y) = (1 + x y)^degree: about the records, so that `of` cannot say it.

    Unlike the Gaussian kernel, whose distance grows with Euclid's, it is no function of the differences: far from the mean it
    counts all of them more. Example: degree 1: Euclid.
    """
    return Form(DistanceKind.POLYNOMIAL, _numbers(np.array([degree])), _NO_MATRIX, d)


def append_plain_attributes(form: Form, others: int) -> Form:
    """The form, and after its attributes so many that each add their c_j as in the plain distance."""
    if form.kind is DistanceKind.WEIGHTED:
        return create_weighted_mean(np.append(form.vector, np.ones(others)))
    if form.kind is DistanceKind.QUADRATIC:
        return quadratic(scipy.linalg.block_diag(form.matrix, np.eye(others)) if others else form.matrix)
    if form.kind in (DistanceKind.CHOQUET, DistanceKind.TWO_ADDITIVE):
        return replace(form, n_attributes=form.n_attributes + others, others=others)
    if others:
        raise ValueError("this distance is about all attributes that are compared")
    return form


def is_monotone(measure: Floats, d: int) -> bool:
    """Does the measure never fall when one attribute is added?"""
    sets = np.arange(len(measure))
    return all(
        bool((measure[without | (1 << j)] >= measure[without] - MONOTONE_ERROR).all())
        for j in range(d)
        for without in [sets[(sets >> j) & 1 == 0]]
    )


def expand_moebius_transform(singles: Floats, pairs: Floats) -> Floats:
    """The 2-additive measure with this Moebius transform, written out, shape (2^d,)."""
    d = len(singles)
    sets = np.arange(1 << d)
    measure = sum(((sets >> j) & 1) * singles[j] for j in range(d))
    joint = sum(((sets >> j) & (sets >> k) & 1) * pairs[j, k] for j, k in combinations(range(d), 2))
    return np.asarray(measure + joint, dtype=np.float64)


def is_semidefinite(matrix: Floats) -> bool:
    """Is the symmetric matrix positive semidefinite, up to rounding?"""
    values = np.linalg.eigvalsh(matrix)
    return bool(values.min(initial=0.0) >= -1e-12 * max(float(np.abs(values).max(initial=0.0)), 1e-300))


@njit(missing=dict.fromkeys("xy", "it asks for missing values"), infinite={"enough": "it only compares with it"})
def compute_record_distance(x: Floats, y: Floats, nominal: Booleans, weight: Floats, enough: float) -> float:
    """The plain squared distance of two records; infinity as soon as it is sure to be above `enough`.

    nominal, weight: shape (d,); a difference counts weight (nominal) or weight * difference^2.
    """
    total = 0.0
    for j in range(len(x)):
        if np.isnan(x[j]) or np.isnan(y[j]):
            total += 0.0 if np.isnan(x[j]) and np.isnan(y[j]) else MISSING_AGAINST_PRESENT
        elif nominal[j]:
            total += weight[j] if x[j] != y[j] else 0.0
        else:
            total += weight[j] * (x[j] - y[j]) * (x[j] - y[j])
        if total > enough:
            return np.inf
    return total


@njit(missing={"differences": "one of two values is missing, which every form asks for"})
def aggregate_rows(kind: int, vector: Floats, matrix: Floats, others: int, differences: Floats) -> Floats:
    """The squared distance of each row of differences."""
    distances = np.empty(len(differences))
    for i in range(len(differences)):
        distances[i] = aggregate_differences(kind, vector, matrix, others, differences[i])
    return distances


@njit
def aggregate_differences(kind: int, vector: Floats, matrix: Floats, others: int, delta: Floats) -> float:
    """The squared distance of two records by their differences; NaN where one of two values is missing."""
    own = delta[: len(delta) - others]
    total = 0.0
    if kind == 0:
        total = _aggregate_weighted(vector, own)
    elif kind == 1:
        total = _quadratic(matrix, own)
    elif kind == 2:
        total = _aggregate_ordered(vector, own)
    elif kind == 3:
        total = _choquet(vector, own)
    elif kind == 4:
        total = _two_additive(vector, matrix, own)
    else:
        total = _aggregate_present(own)
    for j in range(len(own), len(delta)):
        total += _component(delta[j])
    return total


@njit
def _component(delta: float) -> float:
    return 2.0 if np.isnan(delta) else delta * delta


@njit
def _aggregate_weighted(vector: Floats, delta: Floats) -> float:
    total = 0.0
    for j in range(len(delta)):
        total += vector[j] * _component(delta[j])
    return total


@njit
def _quadratic(matrix: Floats, delta: Floats) -> float:
    total = 0.0
    for j in range(len(delta)):
        if np.isnan(delta[j]):
            total += 2.0 * matrix[j, j]
            continue
        total += matrix[j, j] * delta[j] * delta[j]
        for k in range(j):
            if not np.isnan(delta[k]):
                total += 2 * matrix[j, k] * delta[j] * delta[k]
    return total


@njit
def _sort_components(delta: Floats) -> tuple[Floats, Integers]:
    """The squared differences ascending, and whose they are; by insertion, because d is small."""
    values, positions = np.empty(len(delta)), np.empty(len(delta), dtype=np.int64)
    for j in range(len(delta)):
        value, at = _component(delta[j]), j
        while at > 0 and values[at - 1] > value:
            values[at], positions[at] = values[at - 1], positions[at - 1]
            at -= 1
        values[at], positions[at] = value, j
    return values, positions


@njit
def _aggregate_ordered(vector: Floats, delta: Floats) -> float:
    values, _ = _sort_components(delta)
    total = 0.0
    for i in range(len(values)):
        total += vector[len(values) - 1 - i] * values[i]
    return total


@njit
def _choquet(measure: Floats, delta: Floats) -> float:
    values, positions = _sort_components(delta)
    left, before, total = len(measure) - 1, 0.0, 0.0
    for i in range(len(values)):
        total += (values[i] - before) * measure[left]
        before = values[i]
        left -= 1 << positions[i]
    return total


@njit
def _two_additive(vector: Floats, matrix: Floats, delta: Floats) -> float:
    total = 0.0
    for j in range(len(delta)):
        own = _component(delta[j])
        total += vector[j] * own
        for k in range(j):
            total += matrix[j, k] * min(own, _component(delta[k]))
    return total


@njit
def _aggregate_present(delta: Floats) -> float:
    total, present = 0.0, 0
    for j in range(len(delta)):
        if not np.isnan(delta[j]):
            total += delta[j] * delta[j]
            present += 1
    return total / present if present else 1.0


_NO_VECTOR = np.zeros(0)
_NO_MATRIX = np.zeros((0, 0))


def _numbers(values: Floats) -> Floats:
    return np.array(values, dtype=np.float64)
