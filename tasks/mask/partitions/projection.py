"""Groups of records that are near each other on one axis: fast, for where a search among all attributes is too slow.

Source: Defays and Nanopoulos (1993), "Panels of enterprises and confidentiality: the small aggregates method"; Mateo-Sanz and
Domingo-Ferrer (1998), "A comparative study of microaggregation methods", Questiio 22(3), for both axes. Done otherwise than
there: the order along the axis is not cut every k records but where the loss over ALL attributes is smallest (`cut_along`).
100 * SSE / SST of the z-scored reference tables for cutting so, every k records, and best for the projected values alone:

| axis, k = 3 / 10        | so            | every k       | projected values alone |
|-------------------------|---------------|---------------|------------------------|
| Census, component       | 24.40 / 34.86 | 26.72 / 36.22 | 28.11 / 36.68          |
| Census, sum of z-scores | 24.19 / 35.08 | 26.64 / 36.45 | 28.04 / 36.90          |
| EIA (10), component     | 12.00 / 18.62 | 14.14 / 19.79 | 15.11 / 19.93          |
| EIA (10), sum           | 11.79 / 18.06 | 14.49 / 19.32 | 15.61 / 19.43          |

MDAV loses 5.69 / 14.16 and 0.59 / 3.27 there: one axis shows little of thirteen.
"""

from __future__ import annotations

from typing import Literal, assert_never

import numpy as np

from tasks.mask.partitions.cut import cut_along, scale_to_unit
from tasks.microdata.table import Floats, Integers

ProjectionAxis = Literal["first_principal_component", "sum_of_z_scores"]
_EQUAL = 1e-9  # relative; eigenvalues that differ by less are one, because rounding alone can part them so far
_DECIMALS = 12  # of a loading; the last bits differ between linear algebra libraries, and must not decide between equals


def partition(points: Floats, k: int, *, axis: ProjectionAxis) -> Integers:
    """Order records along one axis and cut the order where the loss over all attributes is smallest.

    Formula in words: the score of a record is its coordinate on the first principal component of the covariance matrix of
    `points`, or the sum of its attributes, each less its mean and divided by its standard deviation (n - 1); a constant
    attribute adds nothing. Records of equal score follow each other in lexicographic order.

    Parameters
    ----------
    points: shape (n, p), n >= k, finite; the component depends on the scales of the attributes, the sum does not.
    k: smallest group, >= 1.

    Returns the group 0..g-1 of each record, ascending with the score, shape (n,); all groups have k..2k-1 records. Which are
    grouped depends on the multiset of records only; those equal in every attribute go out in the order of the file.
    The component's sign, which is arbitrary, is that which makes the first large loading positive: one whose square is at least
    half of the largest. Where several components share the largest variance, every axis of their space is as good: the one
    nearest to the first attribute with a large part in that space is taken. In the sum, attributes that move against each
    other cancel.

    Raises ValueError if k > n or a coordinate is not finite. Cost: O(n (p^2 + k p + log n)), memory O(n p).
    Example: with one attribute both axes give the univariate optimum; n < 2k gives one group.
    """
    canonical = np.lexsort(points.T[::-1]) if points.shape[1] else np.arange(len(points))
    records = points[canonical]
    order = canonical[np.argsort(_scores(scale_to_unit(records), axis), kind="stable")]
    groups = np.empty(len(points), dtype=np.int64)
    groups[order] = cut_along(points[order], k)
    return groups


def _scores(records: Floats, axis: ProjectionAxis) -> Floats:
    match axis:
        case "first_principal_component":
            return _project_on_first_component(records)
        case "sum_of_z_scores":
            return _sum_of_z_scores(records)
        case _:
            assert_never(axis)


def _sum_of_z_scores(records: Floats) -> Floats:
    scores = np.zeros(len(records))
    for column in records.T:
        reach = np.ptp(column)
        if reach > 0:
            unit = (column - column[0]) / reach
            scores += (unit - unit.mean()) / unit.std(ddof=1)
    return scores


def _project_on_first_component(records: Floats) -> Floats:
    """Added column by column, so that equal records score the same to the last bit wherever they stand."""
    centred = records - records.mean(axis=0)
    scores = np.zeros(len(records))
    for column, loading in zip(centred.T, _first_component(centred), strict=True):
        scores += column * loading
    return scores


def _first_component(centred: Floats) -> Floats:
    """Of unit length up to rounding; (1, 0, ...) if all records are equal."""
    if not centred.shape[1]:
        return np.zeros(0)
    values, vectors = np.linalg.eigh(np.einsum("ij,il->jl", centred, centred))
    leading = vectors[:, values >= values[-1] * (1 - _EQUAL)]
    shares = np.square(leading).sum(axis=1)
    first = int(np.argmax(shares >= shares.max() / 2))
    component: Floats = np.round(leading @ leading[first] / np.sqrt(shares[first]), _DECIMALS)
    return component
