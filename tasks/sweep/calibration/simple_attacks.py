"""Four attacks of a few lines each, from the released table and the originals alone: what every better attack must reach.

They share no code with the attacks of sdcert: distances in full, ranks counted here. For tables of some hundred rows.
"""

from __future__ import annotations

import numpy as np
import scipy

from tasks.microdata.schema import Scale, Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata

_TOLERANCE = 1  # ranks by which an exchange may be missed


def attack_simply(
    original: Microdata, released: Microdata, schema: Schema, names: tuple[str, ...], own: Integers, window: float | None
) -> dict[str, Floats]:
    """What each simple attack is credited with: shape (k,), of the records that are released, ties shared.

    own: shape (n,), the released row of each record, -1 without one. window: the share of the ranks within which values were
    exchanged; None: they were not.
    Cost: O(n m d) time and memory.
    """
    from scipy.stats import rankdata

    known = np.flatnonzero(own >= 0)
    tables = [_order_values(original, released, name, schema) for name in names]
    values, shown = np.column_stack([one for one, _ in tables]), np.column_stack([other for _, other in tables])
    nominal = np.array([schema[name].scale is Scale.NOMINAL for name in names])
    ranks, ranks_shown = (np.apply_along_axis(rankdata, 0, one) / len(one) for one in (values, shown))
    scale = np.maximum(shown.std(axis=0), 1e-12)
    unlike = (values[:, np.newaxis] != shown[np.newaxis])[:, :, nominal].sum(axis=2)
    by_value = scipy.spatial.distance.cdist((values / scale)[:, ~nominal], (shown / scale)[:, ~nominal], "sqeuclidean") + unlike
    by_rank = scipy.spatial.distance.cdist(ranks[:, ~nominal], ranks_shown[:, ~nominal], "sqeuclidean") + unlike
    equal = (values[:, np.newaxis] == shown[np.newaxis]).sum(axis=2)
    found = {
        "nearest": _share_credit(by_value, own, known),
        "nearest by rank": _share_credit(by_rank, own, known),
        "one to one": _pair_one_to_one(by_rank, own, known),
        "equal values": _share_credit(-equal.astype(np.float64), own, known),
    }
    if window is not None and len(values) == len(shown):
        pairs = _follow_exchanges(ranks[:, ~nominal], ranks_shown[:, ~nominal], window)
        found["exchanges"] = _share_credit(-pairs.astype(np.float64), own, known)
    return found


def _order_values(original: Microdata, released: Microdata, name: str, schema: Schema) -> tuple[Floats, Floats]:
    """The values of an attribute in both tables as numbers in their order; what is missing is a value below all others."""
    if schema[name].scale is not Scale.NOMINAL:
        return np.nan_to_num(original.floats(name), nan=-1e9), np.nan_to_num(released.floats(name), nan=-1e9)
    one, other = (table.column(name).to_pylist() for table in (original, released))
    codes = {value: float(code) for code, value in enumerate(dict.fromkeys([*one, *other]))}
    return np.array([codes[value] for value in one]), np.array([codes[value] for value in other])


def _share_credit(distance: Floats, own: Integers, known: Integers) -> Floats:
    best = np.isclose(distance, distance.min(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)
    credit: Floats = best[known, own[known]] / best[known].sum(axis=1)
    return credit


def _pair_one_to_one(distance: Floats, own: Integers, known: Integers) -> Floats:
    pair = np.full(len(distance), -2)
    records, rows = scipy.optimize.linear_sum_assignment(distance)
    pair[records] = rows
    credit: Floats = (pair[known] == own[known]).astype(np.float64)
    return credit


def _follow_exchanges(ranks: Floats, shown: Floats, window: float) -> Booleans:
    """Pairs within the window of which each finds a partner in each attribute, up to a rank, until no more are left out."""
    n, d = ranks.shape
    held, seen = (np.rint(one * n).astype(int) - 1 for one in (ranks, shown))
    left: Booleans = (np.abs(ranks[:, np.newaxis] - shown[np.newaxis]) <= window + (_TOLERANCE + 0.5) / n).all(axis=2)
    while True:
        supported = left.copy()
        for j in range(d):
            grid = np.zeros((n, n), dtype=bool)
            records, rows = np.nonzero(left)
            grid[held[records, j], seen[rows, j]] = True
            near = scipy.ndimage.maximum_filter(grid, size=2 * _TOLERANCE + 1, mode="constant")
            supported &= near[seen[:, j]][:, held[:, j]].T  # who held what the row shows shows what the record held
        if supported.sum() == left.sum():
            return left
        left = supported
