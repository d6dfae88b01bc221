"""Relations of one masked and one unmasked column: copies, recodings, functions, common order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from scipy.special import gammaln

from tasks.classify.finding import (
    ENOUGH_ROWS,
    HOLDS,
    LUCK,
    SLACK,
    Codes,
    Dependence,
    DependenceColumn,
    Relation,
    is_no_luck,
    log_luck,
    share_if_holding,
)
from tasks.microdata.table import Floats, Integers

_SCREEN_TIED, _RANK_SCREEN_ROWS = 50, 1000
_LEFT_OF_MAJORITY = 0.05


def pair_dependence(
    masked: DependenceColumn, unmasked: DependenceColumn, screen: Integers, clusters: Integers | None
) -> Dependence | None:
    def build_dependence(relation: Relation, share: float) -> Dependence:
        return Dependence(relation, (masked.name,), (unmasked.name,), share)

    if (copied := _measure_copy(masked, unmasked)) is not None:
        return build_dependence("copy", copied)
    forward = _measure_function(masked.codes, unmasked.codes, screen, clusters)
    backward = _measure_function(unmasked.codes, masked.codes, screen, clusters)
    if forward is not None and backward is not None:
        return build_dependence("one_to_one", min(forward, backward))
    if (correlated := _rank_correlated(masked, unmasked, screen)) is not None:
        return build_dependence("rank_correlation", correlated)
    if forward is not None:
        return build_dependence("function_of_masked", forward)
    return None if backward is None else build_dependence("masked_is_function", backward)


def _measure_copy(a: DependenceColumn, b: DependenceColumn) -> float | None:
    """Share of equal values, over the rows where not both columns show their most frequent value; None under 0.99, or by luck.

    Where a is not at its most frequent value, independent draws of b equal it with chance at most the share of b's second.
    """
    if a.values.type == b.values.type:
        equal = np.asarray(pc.fill_null(pc.equal(a.values, b.values), False).to_numpy(zero_copy_only=False), dtype=bool)
    elif a.summable and b.summable:
        equal = np.asarray(a.read_numbers() == b.read_numbers())
    else:
        return None
    telling = (a.codes >= 0) & (b.codes >= 0) & ((a.codes != a.mode) | (b.codes != b.mode))
    off_mode = (a.codes >= 0) & (b.codes >= 0) & (a.codes != a.mode)
    counts = np.bincount(b.codes[b.codes >= 0], minlength=b.mode + 1)
    second = float(np.delete(counts, b.mode).max(initial=0) / max(counts.sum(), 1))
    return share_if_holding(equal[telling]) if is_no_luck(equal[off_mode], second) else None


def _measure_function(x: Codes, y: Codes, screen: Integers, clusters: Integers | None) -> float | None:
    """Share of rows in which y is a function of x, over the rows whose x occurs again; None if it is none, or may be luck.

    In words: give each x its most frequent y; at most 1 % of the rows with a repeated x may differ, and at most 5 % of what
    guessing the most frequent y would miss. If q is the share of the most frequent y and r the number of repeats, independent
    draws of y do as well with chance at most (ways to choose the exceptions) * q^r, which must be under one in a million.
    """
    if len(screen) < len(x):
        tied, errors, *_ = _repeats(x[screen], y[screen], None)
        if tied >= _SCREEN_TIED and errors > (1 - HOLDS + SLACK) * tied:
            return None
    tied, errors, repeats, majority = _repeats(x, y, clusters)
    if tied < ENOUGH_ROWS or errors > min(1 - HOLDS, _LEFT_OF_MAJORITY * (1 - majority)) * tied:
        return None
    return None if log_luck(tied, errors, repeats, majority) > np.log(LUCK) else 1 - errors / tied


def _repeats(x: Codes, y: Codes, clusters: Integers | None) -> tuple[int, int, int, float]:
    """Rows whose x occurs again; those of them off their x's most frequent y; repeats of an x; share of the most frequent y."""
    both = (x >= 0) & (y >= 0)
    if not both.any():
        return 0, 0, 0, 1.0
    width = int(y[both].max()) + 1
    pair = x[both].astype(np.int64)
    pair *= width
    pair += y[both]
    pair = pair if clusters is None else _once_per_cluster(pair, clusters[both])
    values, counts = np.unique(pair, return_counts=True)
    starts = np.flatnonzero(np.diff(values // width, prepend=-1))
    totals, biggest = np.add.reduceat(counts, starts), np.maximum.reduceat(counts, starts)
    again = totals > 1
    tied, errors = int(totals[again].sum()), int((totals - biggest)[again].sum())
    return tied, errors, int((totals - 1).sum()), float(np.bincount(pair % width).max() / len(pair))


def _once_per_cluster(pair: Integers, cluster: Integers) -> Integers:
    order = np.lexsort((pair, cluster))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(pair[order]) != 0) | (np.diff(cluster[order]) != 0)
    return pair[order][first]


def _rank_correlated(a: DependenceColumn, b: DependenceColumn, screen: Integers) -> float | None:
    """|Spearman| over the rows where both have a value; None under 0.99, or by luck.

    A random order of b, whose values occur c1, c2, ... times, agrees with that of a with chance c1! c2! ... / n!.
    """
    if not a.has_numbers or not b.has_numbers:
        return None
    x, y = (column.read_numbers(screen[:_RANK_SCREEN_ROWS]) for column in (a, b))
    if (~np.isnan(x + y)).sum() >= _SCREEN_TIED and _spearman(x, y) < HOLDS - SLACK:
        return None
    times = np.bincount(b.codes[(a.codes >= 0) & (b.codes >= 0)])
    if np.log(2) + gammaln(times + 1).sum() - gammaln(times.sum() + 1) > np.log(LUCK):
        return None
    strength = _spearman(a.read_numbers(), b.read_numbers())
    return strength if strength >= HOLDS else None


def _spearman(a: Floats, b: Floats) -> float:
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < ENOUGH_ROWS:
        return 0.0
    x, y = (np.asarray(pd.Series(one[both]).rank(), dtype=np.float64) for one in (a, b))
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return abs(float(x @ y)) / scale if scale > 0 else 0.0
