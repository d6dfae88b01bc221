"""How alike two attributes of different files are, by their distributions; and how the attributes of one file hang together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tasks.attack.profiles.profile import compute_shares
from tasks.microdata.table import Floats, Integers, encode_jointly

UNLIKE = 10.0  # an attribute with an order and one without: further apart than any two of one kind
_BANDS = 5  # of an ordered attribute beside a nominal one
_MOST_CATEGORIES = 20  # the rarer ones count as one


@dataclass(frozen=True, slots=True)
class AttributeColumn:
    """One attribute of a file, without its name. values: positions, NaN missing; categories instead of them: texts."""

    values: Floats
    categories: pa.Array | None = None

    @property
    def is_ordered(self) -> bool:
        return self.categories is None


def measure_distribution_distance(one: AttributeColumn, other: AttributeColumn, *, same_units: bool) -> float:
    """How far two attributes are apart by their distributions, >= 0; 0 for the same column, in another order of the records.

    Formula in words: ordered attributes: Wasserstein's distance after x -> arsinh((x - c) / s), which is linear near 0 and
    logarithmic far out, so that long tails do not outshout the rest. In unknown units c is each column's median and s its mean
    absolute distance from it; in the same units c = 0 and s is the mean of both. Nominal ones: half the sum of the absolute
    differences of the shares, in falling order if the units (here: the names of the categories) are unknown, 0 to 1.
    Either way the difference of the shares of missing values is added. Different kinds: `UNLIKE`.
    Cost: O(n log n).
    """
    from scipy.stats import wasserstein_distance

    if one.is_ordered != other.is_ordered:
        return UNLIKE
    missing = abs(float(np.isnan(one.values).mean()) - float(np.isnan(other.values).mean()))
    if one.categories is not None and other.categories is not None:
        return missing + _apart_by_shares(one.categories, other.categories, same_units=same_units)
    x, y = (np.sort(column.values[~np.isnan(column.values)]) for column in (one, other))
    if not len(x) or not len(y):
        return missing
    if same_units:
        scale = (_spread(x, 0.0) + _spread(y, 0.0)) / 2
        positions = [_compress_values(z, 0.0, scale) for z in (x, y)]
    else:
        positions = [_compress_values(z, float(np.median(z)), _spread(z, float(np.median(z)))) for z in (x, y)]
    return missing + float(wasserstein_distance(positions[0], positions[1]))


def dependence(columns: tuple[AttributeColumn, ...]) -> Floats:
    """How the attributes of one file hang together, shape (d, d), symmetric, zeros on the diagonal.

    Spearman's rank correlation of two ordered attributes, -1 to 1; Cramer's V, 0 to 1, where one is nominal: an ordered one is
    cut into five bands of equally many records, and all but the 20 most frequent categories are one. A missing value stands in
    the middle, or is a category of its own. Neither depends on units, nor on the names of categories. Cost: O(n d^2).
    """
    d = len(columns)
    found = np.zeros((d, d))
    shares = [np.nan_to_num(compute_shares(column.values) - 0.5) for column in columns]
    bands = [_bands(column) for column in columns]
    for i in range(d):
        for j in range(i):
            both = columns[i].is_ordered and columns[j].is_ordered
            found[i, j] = found[j, i] = _correlation(shares[i], shares[j]) if both else _association(bands[i], bands[j])
    return found


def rank_by_share(categories: pa.Array) -> Floats:
    """For each record how many categories are more frequent than its own, shape (n,); NaN where it has none.

    Who does not know what the categories are called can still tell the most frequent one. Example: (a, b, a): (0, 1, 0).
    """
    codes: Integers = encode_jointly(categories)[0]
    counts = np.bincount(codes[codes >= 0])
    positions = len(counts) - np.searchsorted(np.sort(counts), counts, "right").astype(np.float64)
    return np.append(positions, np.nan)[codes]


def _spread(values: Floats, centre: float) -> float:
    return float(np.abs(values - centre).mean())


def _compress_values(values: Floats, centre: float, scale: float) -> Floats:
    positions: Floats = np.arcsinh((values - centre) / scale) if scale > 0 else values * 0.0
    return positions


def _apart_by_shares(one: pa.Array, other: pa.Array, *, same_units: bool) -> float:
    codes = [found[found >= 0] for found in encode_jointly(one, other)]
    size = 1 + max(int(found.max(initial=0)) for found in codes)
    shares = [np.bincount(found, minlength=size) / max(len(found), 1) for found in codes]
    if not same_units:
        shares = [np.sort(of)[::-1] for of in shares]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _bands(column: AttributeColumn) -> Integers:
    if column.categories is not None:
        codes: Integers = encode_jointly(column.categories)[0]
        return np.where(rank_by_share(column.categories) >= _MOST_CATEGORIES, len(codes), codes)
    shares = compute_shares(column.values)
    return np.where(np.isnan(shares), -1, np.minimum(np.nan_to_num(shares) * _BANDS, _BANDS - 1)).astype(np.int64)


def _correlation(x: Floats, y: Floats) -> float:
    lengths = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / lengths if lengths > 0 else 0.0


def _association(x: Integers, y: Integers) -> float:
    from scipy.stats.contingency import association, crosstab

    table = crosstab(x, y).count
    return float(association(table, method="cramer")) if min(table.shape) > 1 else 0.0
