"""Identities of several columns: sums and differences of two, and exact linear identities of more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import scipy

from tasks.classify.finding import (
    ENOUGH_ROWS,
    HOLDS,
    SLACK,
    Dependence,
    DependenceColumn,
    create_dependence,
    is_no_luck,
    screen_rows,
    share_if_holding,
)
from tasks.microdata.table import Booleans, Floats, Integers

RELATIVE_TOLERANCE = 1e-4  # of sums; published totals are rounded
EXACT_TOLERANCE = 1e-7  # of linear identities
_NO_WEIGHT = 1e-6


def sums(hidden: Sequence[DependenceColumn], shown: Sequence[DependenceColumn], screen: Integers) -> tuple[Dependence, ...]:
    """Triples with a + b = c that hold masked and unmasked columns; differences are sums read the other way.

    Sums of dates and times are left to `linear_identity`: here two dates within days of each other would count as equal.
    """
    n_hidden = sum(column.summable and not column.calendar for column in hidden)
    columns = [column for column in (*hidden, *shown) if column.summable and not column.calendar]
    if n_hidden == 0 or n_hidden == len(columns):
        return ()
    sample = np.stack([column.read_numbers(screen) for column in columns], axis=1)
    found = []
    for a, b in combinations(range(len(columns)), 2):
        for c in _candidates(sample, a, b):
            share = _sum_share(columns[a], columns[b], columns[c]) if 0 < sum(i < n_hidden for i in (a, b, c)) < 3 else None
            if share is not None:
                words = f"{columns[c].name} = {columns[a].name} + {columns[b].name}"
                found.append(replace(create_dependence("sum", columns, (a, b, c), n_hidden, share), identity=words))
    return tuple(found)


def _candidates(sample: Floats, a: int, b: int) -> list[int]:
    holds = _is_sum(sample[:, [a]], sample[:, [b]], sample)
    complete = ~np.isnan(sample[:, [a]] + sample[:, [b]] + sample)
    enough = complete.sum(axis=0) >= ENOUGH_ROWS
    passing = ~enough | (holds.sum(axis=0) >= (HOLDS - SLACK) * complete.sum(axis=0))
    return [int(c) for c in np.flatnonzero(passing) if c not in (a, b)]


def _is_sum(a: Floats, b: Floats, c: Floats) -> Booleans:
    size = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.abs(c))
    return np.asarray(np.abs(c - (a + b)) <= RELATIVE_TOLERANCE * size)


def _sum_share(a: DependenceColumn, b: DependenceColumn, c: DependenceColumn) -> float | None:
    """Share of rows with a + b = c; None unless it is 0.99, also where a is not 0 and where b is not 0, and no luck.

    Where a + b is not 0, independent draws of c equal it with chance at most the share of c's most frequent other value.
    """
    x, y, z = (column.read_numbers() for column in (a, b, c))
    complete = ~np.isnan(x + y + z)
    x, y, z = (column[complete] for column in (x, y, z))
    holds = _is_sum(x, y, z)
    counts = np.bincount(c.codes[complete][z != 0], minlength=1)
    if not is_no_luck(holds[x + y != 0], float(counts.max() / max(len(z), 1))):
        return None
    if share_if_holding(holds[x != 0]) is None or share_if_holding(holds[y != 0]) is None:
        return None
    return share_if_holding(holds)


def linear_identity(hidden: Sequence[DependenceColumn], shown: Sequence[DependenceColumn]) -> tuple[Dependence, ...]:
    """The exact linear identity between masked and unmasked columns, if there is one.

    The two sets span subspaces of the centred columns; a canonical correlation of 1 is a direction that both share. It is then
    computed on all complete rows and has to hold in 0.99 of them. As many rows as columns are spent on the weights; in the
    others, independent draws of the unmasked side agree with chance at most the share of its most frequent value.
    Of all columns together only the screened rows are held, unless there is a direction.
    """
    left, right = ([c for c in columns if c.summable] for columns in (hidden, shown))
    columns = [*left, *right]
    complete = _find_complete_rows(columns) if left and right else np.zeros(0, dtype=np.int64)
    if len(complete) < ENOUGH_ROWS + 3 * len(columns):
        return ()
    weights = _find_common_direction(_standardise_rows(columns, complete, screen_rows(len(complete))), len(left))
    if weights is None:
        return ()
    share = _identity_share(_standardise_rows(columns, complete) * weights, len(left))
    positions = np.flatnonzero(np.abs(weights) > _NO_WEIGHT * np.abs(weights).max()).tolist()
    return () if share is None else (create_dependence("linear", columns, positions, len(left), share),)


def _find_complete_rows(columns: Sequence[DependenceColumn]) -> Integers:
    """The rows in which all columns have a number."""
    missing = np.zeros(len(columns[0].values), dtype=bool)
    for column in columns:
        missing |= np.isnan(column.read_numbers())
    return np.flatnonzero(~missing)


def _standardise_rows(columns: Sequence[DependenceColumn], complete: Integers, wanted: Integers | None = None) -> Floats:
    """Shape (wanted, p), or all complete rows: with mean 0 and sd 1 over the complete rows; 0 in a constant.

    wanted: positions in `complete`. scikit-learn's `StandardScaler` leaves in a constant column what rounding made of it.
    """
    found = np.empty((len(complete if wanted is None else wanted), len(columns)))
    for j, column in enumerate(columns):
        numbers = column.read_numbers()
        numbers = numbers if len(complete) == len(numbers) else numbers[complete]
        varies = numbers.min() < numbers.max()
        # Summed row by row, so that the order of the sum does not depend on how many columns there are.
        mean = np.cumsum(numbers)[-1] / len(numbers)
        spread = np.sqrt(np.cumsum((numbers - mean) ** 2)[-1] / len(numbers)) if varies else 1.0
        some = numbers if wanted is None else numbers[wanted]
        found[:, j] = (some - mean) / spread if varies else 0.0
    return found


def _identity_share(parts: Floats, n_left: int) -> float | None:
    """Share of rows in which the weighted columns cancel; None under 0.99, or by luck."""
    holds = np.abs(parts.sum(axis=1)) <= EXACT_TOLERANCE * np.abs(parts).sum(axis=1)
    times = np.unique(np.round(parts[:, n_left:].sum(axis=1), 9), return_counts=True)[1]
    return share_if_holding(holds) if is_no_luck(holds[parts.shape[1] :], float(times.max() / len(parts))) else None


def _find_common_direction(z: Floats, n_left: int) -> Floats | None:
    """Shape (p,): weights under which the left and the right columns of z cancel; None where no direction is shared."""
    (left, on_left), (right, on_right) = _basis(z[:, :n_left]), _basis(z[:, n_left:])
    u, correlations, vt = np.linalg.svd(left.T @ right)
    if len(correlations) == 0 or correlations[0] < 1 - _NO_WEIGHT**2:
        return None
    return np.concatenate([on_left @ u[:, 0], -on_right @ vt[0]])


def _basis(z: Floats) -> tuple[Floats, Floats]:
    """An orthonormal basis of the columns of z, and the weights (columns of z -> basis)."""
    q, r, pivot = scipy.linalg.qr(z, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(r)) > _NO_WEIGHT * abs(r[0, 0])).sum()) if r[0, 0] else 0
    weights: Floats = np.zeros((z.shape[1], rank))
    weights[pivot[:rank]] = np.linalg.inv(r[:rank, :rank])
    return np.asarray(q[:, :rank], dtype=np.float64), weights
