"""Information loss of a fully synthetic release by a model: can its rows be told from the source's records?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from scipy.stats import rankdata

from tasks.microdata.estimate import Estimate
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.schema import CATEGORICAL, Attribute
from tasks.microdata.table import Floats, Integers
from tasks.score.aligned import Beside
from tasks.score.catalogue import MEASURES

MOST_ROWS = 20_000  # of each table; of more a sample, the same in every run
MOST_COLUMNS = 800  # with products of columns; beyond that each column stands for itself
WITHOUT_PRODUCTS = "means and spreads alone: there are too many columns, or too few rows, for their products"
FEWEST_ROWS_OF_A_COLUMN = 5  # fewer rows in both files together fit each column of the model by themselves
RAREST = 0.01  # categories of fewer rows are taken together
ALMOST_FREE = 1e6  # so small a penalty that it matters only where the tables are told apart with certainty
FEW = "there are too few rows for the model: fewer than five for each of its columns"
CONSTANT = "no published attribute differs between rows"


def propensity_ratio(tables: Beside) -> Estimate:
    """How much better a logistic regression tells the tables apart than it would by luck (S_pMSE).

    Meaning: whoever analyses the release instead of the source gets other results to the degree that the two can be told apart.
    About 1 for rows drawn at random from the source itself, about 1 + m / n for m rows drawn anew from the population of
    which the n records are a sample; 10 and more are commonly taken as poor.
    Formula in words: both tables are put together; a logistic regression gives each row the probability p that it is from the
    release, whose share of all rows is c; the mean of (p - c)^2 is divided by what it would be for rows drawn from the source,
    c^2 (1 - c)^2 (1/m + 1/n' - 1/n) times the columns of the model, n' of n records having been looked at.

    The columns: of what has an order the mid-ranks in both tables together, scaled to -1..1, and their squares; of
    categories one column for each that at least 1 % of the rows have but the most frequent; whether a value is missing; and all
    products of two, where that is at most 150 columns in all.

    Returns a ratio, 0 and up. Not applicable with fewer than five rows per column, or where nothing varies.
    Cost: O((n + m) log (n + m)) per attribute, and the regression over at most 20,000 rows of each table.
    Source: Snoke, Raab, Nowok, Dibben and Slavkovic 2018, whose expectation it is (with n' = n); there the columns are the
    values themselves. Ranks keep single large values from deciding.

    Example: a column whose values all differ between the tables: every row is told apart, and the ratio is large.
    """
    chosen = [_some(n, name) for n, name in ((tables.original.n, "source"), (tables.masked.n, "release"))]
    columns = list(_columns(tables, chosen))
    if not columns:
        return _nothing(CONSTANT)
    n, m = len(chosen[0]), len(chosen[1])
    both = _with_products(columns, n + m)
    free = _orthogonal(np.column_stack(both))
    k = free.shape[1]
    if n + m < FEWEST_ROWS_OF_A_COLUMN * (k + 1):
        return _nothing(FEW)
    share = m / (n + m)
    expected = (share * (1 - share)) ** 2 * k * (1 / m + 1 / n - 1 / tables.original.n)
    found = float(np.mean((_probabilities(free, n) - share) ** 2))
    alone = WITHOUT_PRODUCTS if len(both) == len(columns) > 1 else None
    unit = MEASURES["propensity_ratio"].unit
    return Estimate(measure="propensity_ratio", value=found / expected, unit=unit, reason=alone)


def _some(n: int, name: str) -> Integers:
    rows = np.arange(n, dtype=np.int64)
    if n <= MOST_ROWS:
        return rows
    rng = stream(bytes(SEED_BYTES), "propensity", name, str(n))
    return np.sort(rng.permutation(n)[:MOST_ROWS]).astype(np.int64)


def _columns(tables: Beside, chosen: list[Integers]) -> Iterator[Floats]:
    for attribute in tables.schema.attributes:
        if attribute.published:
            yield from (column for column in _of_attribute(tables, attribute, chosen) if column.min() < column.max())


def _of_attribute(tables: Beside, attribute: Attribute, chosen: list[Integers]) -> Iterator[Floats]:
    if attribute.scale in CATEGORICAL or (tables.original.is_text(attribute.name) and attribute.order is None):
        both = zip(tables.codes(attribute.name), chosen, strict=True)
        codes = np.concatenate([codes[rows] for codes, rows in both])
        values, counts = np.unique(codes, return_counts=True)
        by_size = values[np.argsort(-counts, kind="stable")]
        often = set(values[counts >= RAREST * len(codes)].tolist()) - {int(by_size[0])}
        yield from ((codes == value).astype(np.float64) for value in sorted(often))
        return
    positions = np.concatenate([p[rows] for p, rows in zip(tables.positions(attribute), chosen, strict=True)])
    missing = np.isnan(positions)
    ranks = np.zeros(len(positions))
    if not missing.all():
        found = rankdata(positions[~missing])
        ranks[~missing] = 2 * found / (len(found) + 1) - 1
    yield from (ranks, ranks**2, missing.astype(np.float64))


def _with_products(columns: list[Floats], rows: int) -> list[Floats]:
    """The columns and the products of any two, as far as there are rows enough for so many."""
    n = len(columns)
    every = n * (n + 1) // 2
    if every > MOST_COLUMNS or rows < FEWEST_ROWS_OF_A_COLUMN * (every + 1):
        return columns
    return [*columns, *(one * other for one, other in combinations(columns, 2))]


def _orthogonal(columns: Floats) -> Floats:
    """The space of the columns without the constant, by columns that are uncorrelated and of variance 1."""
    centred = columns - columns.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > 1e-9 * max(float(sizes.max()), 1e-300) * np.sqrt(len(columns))
    free: Floats = left[:, kept] * np.sqrt(len(columns))
    return free


def _probabilities(columns: Floats, n: int) -> Floats:
    """The fitted probability of each row to be from the release; the first n are from the source."""
    from sklearn.linear_model import LogisticRegression

    from_release = np.arange(len(columns)) >= n
    model = LogisticRegression(C=ALMOST_FREE, solver="newton-cholesky", max_iter=200).fit(columns, from_release)
    found: Floats = model.predict_proba(columns)[:, 1]
    return found


def _nothing(reason: str) -> Estimate:
    unit = MEASURES["propensity_ratio"].unit
    return Estimate(measure="propensity_ratio", value=None, unit=unit, status="not_applicable", reason=reason)
