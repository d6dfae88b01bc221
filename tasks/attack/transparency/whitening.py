"""Coordinates in which the noise of a release is independent with variance 1, so that the log-density is a plain distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.attack.neighbours.distances import MISSING_AGAINST_PRESENT
from tasks.attack.neighbours.record_comparison import Comparison
from tasks.mask.intruder_belief import GaussianLikelihood
from tasks.microdata.codes import joint_codes
from tasks.microdata.table import Booleans, Floats, Integers

LEAST_VARIANCE = 1e-8  # of noise in some direction, relative to that of the attributes
_AT_ONCE = 100_000  # rows


def whiten_positions(part: GaussianLikelihood) -> tuple[Floats, Floats]:
    """Where the records and the released rows stand once the noise is made white, shapes (n, d) and (m, d).

    Formula in words: L^-1 (x - c), L L^T being the covariance of the noise in the attributes that the record has and c some
    point. The squared distance of a record and a row with the same gaps is then the squared Mahalanobis distance by the law of
    the noise; of others it says nothing, and they are no images. In a direction without noise (correlated noise of attributes
    that depend on each other linearly) the noise counts as having 1e-8 of the variance: there the row must be where it is
    expected, but for rounding.
    """
    n, values = len(part.centre), np.vstack([part.centre, part.placed])
    present, covariance_of = ~np.isnan(values), np.concatenate([part.of_record, part.of_row])
    if present.size and present.all() and covariance_of[0] >= 0 and (covariance_of == covariance_of[0]).all():
        pieces = [slice(k, k + _AT_ONCE) for k in range(0, len(values), _AT_ONCE)]
        _whiten_rows(values, pieces, None, part.covariance[covariance_of[0]])
        return values[:n], values[n:]
    kinds = joint_codes([covariance_of, *present.T], len(values))
    for kind, first in zip(*np.unique(kinds, return_index=True), strict=True):
        columns, rows = np.flatnonzero(present[first]), np.flatnonzero(kinds == kind)
        if len(columns) and covariance_of[first] >= 0:
            covariance = part.covariance[covariance_of[first]][np.ix_(columns, columns)]
            _whiten_rows(values, [rows[k : k + _AT_ONCE] for k in range(0, len(rows), _AT_ONCE)], columns, covariance)
        else:
            values[rows] = 0.0
    return values[:n], values[n:]


def _whiten_rows(
    values: Floats, pieces: Sequence[Integers] | Sequence[slice], columns: Integers | None, covariance: Floats
) -> None:
    """Put the coordinates of rows in the place of their positions, piece by piece: large tables fill the memory.

    columns: those in which the rows have a value; None: all. Arrays keep their order in memory, on which last digits depend.
    """

    def select(piece: Integers | slice) -> Floats:
        found: Floats = values[piece] if columns is None else values[np.ix_(piece, columns)]  # type: ignore[arg-type]  # no slice
        return found

    sums, counts = zip(*((own.sum(axis=0), len(own)) for own in map(select, pieces)), strict=True)
    mean, matrix = sum(sums) / sum(counts), _whitening(covariance)
    for piece in pieces:
        own = (select(piece) - mean) @ matrix
        values[piece] = 0.0
        values[piece, : len(matrix)] = own


def _whitening(covariance: Floats) -> Floats:
    spread = np.sqrt(covariance.diagonal())
    variances, directions = np.linalg.eigh(covariance / np.outer(spread, spread))
    matrix: Floats = directions / np.sqrt(np.maximum(variances, LEAST_VARIANCE)) / spread[:, np.newaxis]
    return matrix


def as_if_blurred(both: Comparison, attributes: list[int]) -> tuple[Floats, Floats]:
    """The same for ordered attributes of which nothing is known, as if noise of the release's standard deviation lay on them.

    attributes: columns of the comparison; nominal ones are passed over. A gap stands at the mean, and apart from all values.
    """
    ordered = [j for j in attributes if not both.nominal[j]]
    scale, means = np.sqrt(both.weight[ordered]), _means(both.shown[:, ordered])
    own, shown = (_encode_gaps((of_kind[:, ordered] - means) * scale) for of_kind in (both.own, both.shown))
    return own[both.own_of_record], shown[both.shown_of_row]


def _means(values: Floats) -> Floats:
    present: Booleans = ~np.isnan(values)
    sums: Floats = np.where(present, values, 0.0).sum(axis=0)
    means: Floats = sums / np.maximum(present.sum(axis=0), 1)
    return means


def _encode_gaps(scaled: Floats) -> Floats:
    gaps = np.isnan(scaled)
    return np.column_stack([np.where(gaps, 0.0, scaled), np.sqrt(MISSING_AGAINST_PRESENT) * gaps])
