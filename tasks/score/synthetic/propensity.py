"""Information loss of a fully synthetic release by a model: can its rows be told from the source's records?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations, zip_longest

import numpy as np

from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.schema import CATEGORICAL, Attribute
from tasks.microdata.table import Floats, Integers
from tasks.score.measure import Measure
from tasks.score.measures.loss import (
    PROPENSITY_RATIO,
    PROPENSITY_RATIO_LARGEST,
    TREE_PROPENSITY_RATIO,
    TREE_PROPENSITY_RATIO_LARGEST,
)
from tasks.score.policy import PolicyLine
from tasks.score.table_pair import TablePair

LARGEST_RATIO = {PROPENSITY_RATIO.name: PROPENSITY_RATIO_LARGEST, TREE_PROPENSITY_RATIO.name: TREE_PROPENSITY_RATIO_LARGEST}
MOST_ROWS = 20_000  # of each table; of more a sample, the same in every run
MOST_COLUMNS = 400  # with products of columns
WITHOUT_PRODUCTS = "means and spreads alone: there are too many columns, or too few rows, for products of columns"
FEWEST_ROWS_OF_A_COLUMN = 5  # fewer rows in both files together fit each column of the model by themselves
RAREST = 0.01  # categories of fewer rows are taken together
ALMOST_FREE = 1e6  # so small a penalty that it matters only where the tables are told apart with certainty
FEW = "there are too few rows for the model: fewer than five for each of its columns"
CONSTANT = "no published attribute differs between rows"
PERMUTATIONS = 10  # of the labels, for the tree
SMALLEST_LEAF = 5
FEWEST_ROWS_OF_A_TREE = 50
FEW_FOR_A_TREE = f"there are too few rows for the model: fewer than {FEWEST_ROWS_OF_A_TREE} in both tables together"


@dataclass(frozen=True, slots=True)
class PropensityPool:
    """The rows of both tables together: the first n are from the source, which has n_all; the others from the release.

    columns: of each attribute in the order of their names: in an order that does not depend on that of the table.
    """

    n: int
    n_all: int
    m: int
    columns: tuple[tuple[Floats, ...], ...]

    @property
    def share(self) -> float:
        """Of the rows, how many are from the release."""
        return self.m / (self.n + self.m)

    @property
    def largest(self) -> float:
        """The mean squared distance of the probabilities from the share where every row is told apart with certainty."""
        return self.share * (1 - self.share)


def propensity_ratio(tables: TablePair) -> tuple[Estimate, Estimate]:
    """How much better a logistic regression tells the tables apart than it would by luck (S_pMSE).

    Meaning: whoever analyses the release instead of the source gets other results to the degree that the two can be told apart.
    About 1 for rows drawn at random from the source itself, about 1 + m / n_all for m rows drawn anew from the population of
    which the n_all records are a sample; 10 and more are commonly taken as poor.
    Formula in words: both tables are put together; a logistic regression gives each row the probability p that it is from the
    release, whose share of all rows is c; the mean of (p - c)^2 is divided by what it would be for rows drawn from the source,
    c^2 (1 - c)^2 (1/m + 1/n - 1/n_all) times the columns of the model, n of n_all records having been looked at. The largest
    value is c (1 - c) over the same: every row is told apart.

    The columns: of what has an order the mid-ranks in both tables together, scaled to -1..1, and their squares; of
    categories one column for each that at least 1 % of the rows have but the most frequent; whether a value is missing. Then
    products of two columns, as many as there are five rows for each column, at most 400 columns in all: each pair of attributes
    in turn gives one product, then each a second one, and so on; which table a row is from has no part in the choice.

    Returns the ratio, 0 and up, and the largest value that it can take. Not applicable with fewer than five rows per column, or
    where nothing varies.
    Cost: O((n + m) log (n + m)) per attribute, and the regression over at most 20,000 rows of each table.
    Source: Snoke, Raab, Nowok, Dibben and Slavkovic 2018, whose expectation it is (with n' = n); there the columns are the
    values themselves. Ranks keep single large values from deciding.

    Example: a column whose values all differ between the tables: every row is told apart, and the ratio is large.
    """
    return _estimate_by_regression(_pool(tables))


def tree_propensity_ratio(tables: TablePair) -> tuple[Estimate, Estimate]:
    """How much better a classification tree tells the tables apart than it does where the labels are permuted.

    Meaning: about 1 if both tables come from one population; above, the tree finds what differs, whatever the kind of relation.
    Below 1 the tables are more alike than two samples of one population are: rows are copies of records, or learnt by heart.
    Formula in words: the mean of (p - c)^2, as `propensity_ratio` has it, of a tree whose leaves hold five rows or more, over
    its mean for ten permutations of which row is from which table.

    Returns the ratio, 0 and up, and the largest value that it can take. Not applicable for fewer than 50 rows, or where nothing
    varies.
    Cost: eleven trees over at most 20,000 rows of each table.
    Source: Raab, Nowok and Dibben 2021 (pMSE by CART with permuted labels).
    Example: rows drawn from the source with replacement: about one half.
    """
    return _estimate_by_tree(_pool(tables))


def refuse_limits_that_cannot_fail(policy: Iterable[PolicyLine], estimates: tuple[Estimate, ...]) -> None:
    """Raises InputError for a limit on a propensity ratio that no table of this size could break."""
    found = {one.measure: one.value for one in estimates}
    for position, line in enumerate(policy):
        largest = found.get(LARGEST_RATIO[line.measure].name) if line.measure in LARGEST_RATIO else None
        if largest is not None and line.limit >= largest:
            raise InputError(
                code="limit-out-of-reach",
                where=f"policy[{position}].{line.direction}",
                what=f"with so few rows for its columns {line.measure} cannot exceed {largest:.3g}, so every table would pass",
                allowed=f"less than {largest:.3g}",
                remedy="lower the limit, release more rows, or take the line out",
                value=line.limit,
            )


def _pool(tables: TablePair) -> PropensityPool:
    chosen = [_some(n, name) for n, name in ((tables.original.n, "source"), (tables.masked.n, "release"))]
    attributes = sorted((one for one in tables.schema.attributes if one.is_published), key=lambda one: one.name)
    columns = (tuple(c for c in _build_attribute_columns(tables, one, chosen) if c.min() < c.max()) for one in attributes)
    return PropensityPool(len(chosen[0]), tables.original.n, len(chosen[1]), tuple(filter(None, columns)))


def _estimate_by_regression(pool: PropensityPool) -> tuple[Estimate, Estimate]:
    if not pool.columns:
        return _create_blank_pair(PROPENSITY_RATIO, CONSTANT)
    rows, alone = pool.n + pool.m, sum(map(len, pool.columns))
    both = [*chain.from_iterable(pool.columns), *_products(pool.columns, min(MOST_COLUMNS, _most(rows)) - alone)]
    free = _orthogonal(np.column_stack(both))
    k = free.shape[1]
    if rows < FEWEST_ROWS_OF_A_COLUMN * (k + 1):
        return _create_blank_pair(PROPENSITY_RATIO, FEW)
    expected = pool.largest**2 * k * (1 / pool.m + 1 / pool.n - 1 / pool.n_all)
    found = float(np.mean((_probabilities(free, pool.n) - pool.share) ** 2))
    reason = WITHOUT_PRODUCTS if len(both) == alone > 1 else None
    return _figures(PROPENSITY_RATIO, found / expected, pool.largest / expected, reason)


def _estimate_by_tree(pool: PropensityPool) -> tuple[Estimate, Estimate]:
    rows = pool.n + pool.m
    if not pool.columns:
        return _create_blank_pair(TREE_PROPENSITY_RATIO, CONSTANT)
    if rows < FEWEST_ROWS_OF_A_TREE:
        return _create_blank_pair(TREE_PROPENSITY_RATIO, FEW_FOR_A_TREE)
    columns, from_release = np.column_stack(list(chain.from_iterable(pool.columns))), np.arange(rows) >= pool.n
    order = np.lexsort((from_release, *columns.T))  # so that the order of the rows says nothing
    columns, from_release = np.ascontiguousarray(columns[order]), from_release[order]
    rng = stream(bytes(SEED_BYTES), "propensity", "permuted labels")
    by_luck = np.mean([_leaves_apart(columns, rng.permutation(from_release), pool.share) for _ in range(PERMUTATIONS)])
    if by_luck == 0:
        return _create_blank_pair(TREE_PROPENSITY_RATIO, CONSTANT)
    found = _leaves_apart(columns, from_release, pool.share)
    return _figures(TREE_PROPENSITY_RATIO, found / float(by_luck), pool.largest / float(by_luck), None)


def _leaves_apart(columns: Floats, from_release: np.ndarray[tuple[int], np.dtype[np.bool_]], share: float) -> float:
    """The mean squared distance of a tree's probabilities from the share."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(min_samples_leaf=SMALLEST_LEAF, random_state=0).fit(columns, from_release)
    return float(np.mean((model.predict_proba(columns)[:, 1] - share) ** 2))


def _some(n: int, name: str) -> Integers:
    rows = np.arange(n, dtype=np.int64)
    if n <= MOST_ROWS:
        return rows
    rng = stream(bytes(SEED_BYTES), "propensity", name, str(n))
    return np.sort(rng.permutation(n)[:MOST_ROWS]).astype(np.int64)


def _build_attribute_columns(tables: TablePair, attribute: Attribute, chosen: list[Integers]) -> Iterator[Floats]:
    from scipy.stats import rankdata

    if attribute.scale in CATEGORICAL or (tables.original.is_text(attribute.name) and attribute.order is None):
        both = zip(tables.codes(attribute.name), chosen, strict=True)
        codes = np.concatenate([codes[rows] for codes, rows in both])
        values, counts = np.unique(codes, return_counts=True)
        by_size = values[np.argsort(-counts, kind="stable")]
        often = set(values[counts >= RAREST * len(codes)].tolist()) - {int(by_size[0])}
        yield from ((codes == value).astype(np.float64) for value in by_size.tolist() if value in often)
        return
    positions = np.concatenate([p[rows] for p, rows in zip(tables.positions(attribute), chosen, strict=True)])
    missing = np.isnan(positions)
    ranks = np.zeros(len(positions))
    if not missing.all():
        found = rankdata(positions[~missing])
        ranks[~missing] = 2 * found / (len(found) + 1) - 1
    yield from (ranks, ranks**2, missing.astype(np.float64))


def _most(rows: int) -> int:
    """How many columns a model over so many rows may have."""
    return rows // FEWEST_ROWS_OF_A_COLUMN - 1


def _products(columns: tuple[tuple[Floats, ...], ...], most: int) -> Iterator[Floats]:
    """Products of two columns of different attributes: of each pair of attributes in turn one, then each the next; `most`."""
    pairs = (_multiply_columns(one, other) for one, other in combinations(columns, 2))
    given = 0
    for product in chain.from_iterable(zip_longest(*pairs)):
        if given >= most:
            return
        if product is not None:
            yield product
            given += 1


def _multiply_columns(one: tuple[Floats, ...], other: tuple[Floats, ...]) -> Iterator[Floats]:
    """The products of the columns of two attributes, those of the first columns of both before the others."""
    pairs = ((i, j) for i in range(len(one)) for j in range(len(other)))
    found = (one[i] * other[j] for i, j in sorted(pairs, key=lambda position: (sum(position), position)))
    yield from (product for product in found if product.min() < product.max())


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


def _figures(measure: Measure, value: float, largest: float, reason: str | None) -> tuple[Estimate, Estimate]:
    other = LARGEST_RATIO[measure.name]
    return (
        Estimate(measure=measure.name, value=value, unit=measure.unit, reason=reason),
        Estimate(measure=other.name, value=largest, unit=other.unit),
    )


def _create_blank_pair(measure: Measure, reason: str) -> tuple[Estimate, Estimate]:
    one, other = (
        Estimate(measure=blank.name, value=None, unit=blank.unit, status="not_applicable", reason=reason)
        for blank in (measure, LARGEST_RATIO[measure.name])
    )
    return one, other
