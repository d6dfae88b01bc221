"""Rank swapping: in each attribute alone, pairs of values of neighbouring ranks are exchanged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np
import pyarrow as pa

from tasks.mask.fitting import checked_positions
from tasks.mask.images import Between, Knowledge
from tasks.mask.step import Description, Site, Step, View
from tasks.microdata.compiled import njit
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale
from tasks.microdata.spec import Percent
from tasks.microdata.table import Floats, Integers, Microdata
from tasks.microdata.words import listed


class RankSwapping(Step):
    """Parameters of rank swapping.

    attributes: what is masked; default: the quasi-identifiers that are numeric, ordinal, dates or times.
    window_percent: how far a value may move, in percent of the number of present values.
    """

    method: Literal["rank_swapping"]
    window_percent: Percent

    @property
    def values_move(self) -> bool:
        return True

    @property
    def rule(self) -> str:
        return f"rank swapping of {listed(self.masked)} within {self.window_percent:g} percent of the ranks"


SCALES = (Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL)
DESCRIPTION = Description(
    method="rank_swapping",
    what_it_does="exchanges pairs of values whose ranks are near, in each attribute alone",
    scales=SCALES,
    parameters="window_percent (how far a value moves, in percent of the ranks), attributes, by",
    intruder="lists for each attribute the rows within the window and intersects the lists; a single row left is a certain "
    "match",
)


def window_ranks(window_percent: float, n: int) -> int:
    """floor(window_percent * n / 100), exactly: 10 percent of 1080 is 108, and 1.1 percent of 1000 is 11."""
    return int(Fraction(str(window_percent)) * n // 100)


def rank_swap(site: Site, spec: RankSwapping) -> Microdata:
    """Exchange each value with one at most `window_percent` percent of the ranks away.

    Meaning: the column keeps exactly its values, and who holds which is blurred.
    Formula in words: sort the n present values (equal ones in random order); from the lowest up, exchange each value that was
    not exchanged yet with a uniformly chosen such value among the next w = floor(window_percent * n / 100) ranks; if there is
    none, it stays; undo the sorting. Attributes are swapped independently. Missing values stay missing.

    Parameters
    ----------
    site: a table whose columns include the step's attributes. spec: with its attributes resolved.

    Returns the table with those columns replaced. Each column is the source's under an involution that moves no value by more
    than w ranks.

    Raises InputError if the window is under one rank, for a constant column, an infinite value, or a text without order.
    Cost: O(n log n) per attribute, whatever the window.
    Source: Torra's slides of 2016 (machine learning for data privacy), after Moore (1996). Done otherwise than on the slide: it
    chooses among all of the next ranks and leaves open what happens where the chosen one was exchanged before.
    """
    data, rng = site.data, site.draw()
    for name in spec.masked:
        positions = checked_positions(data, site.schema, name, site.where)
        rows = np.flatnonzero(~np.isnan(positions))
        window = window_ranks(spec.window_percent, len(rows))
        if window < 1:
            raise _too_narrow(spec.window_percent, name, len(rows), site.where)
        source = np.arange(data.n)
        source[rows] = rows[swapped_rows(positions[rows], window, rng=rng)]
        data = data.with_column(name, data.column(name).take(pa.array(source)))
    return data


def _too_narrow(window_percent: float, name: str, n: int, where: str) -> InputError:
    what = f"the window is under one rank: {window_percent:g} percent of {n} values of `{name}`"
    allowed = f"at least {100 / n:.6g} percent"
    return InputError("window-under-one-rank", f"{where}.window_percent", what, allowed, "widen the window", window_percent)


def swapped_rows(values: Floats, window: int, *, rng: np.random.Generator) -> Integers:
    """Shape (n,): the row whose value each row receives; an involution. values: shape (n,) without NaN."""
    by_rank = np.lexsort((rng.permutation(len(values)), values))
    source = np.empty(len(values), dtype=np.int64)
    source[by_rank] = by_rank[exchange_ranks(window, rng.random(len(values)))]
    return source


@njit
def exchange_ranks(window: int, uniforms: Floats) -> Integers:
    """Shape (n,): the rank each rank is exchanged with, itself where it stays; one uniform number in [0, 1) for each rank."""
    n = len(uniforms)
    partner = np.arange(n)
    waiting = np.zeros(n, dtype=np.bool_)
    counts = _full_tree(n)
    waiting[:] = True
    for rank in range(n):
        if not waiting[rank]:
            continue
        _take(counts, waiting, rank)
        below = _count_through(counts, rank)
        candidates = _count_through(counts, min(n - 1, rank + window)) - below
        if candidates > 0:
            chosen = _rank_of(counts, below + min(int(uniforms[rank] * candidates), candidates - 1))
            partner[rank], partner[chosen] = chosen, rank
            _take(counts, waiting, chosen)
    return partner


# A Fenwick tree of the ranks that wait: the window may be a tenth of the file, and looking through it would take O(n^2).
@njit
def _full_tree(n: int) -> Integers:
    counts = np.zeros(n + 1, dtype=np.int64)
    for node in range(1, n + 1):
        counts[node] = node & -node
    return counts


@njit
def _take(counts: Integers, waiting: np.ndarray, rank: int) -> None:
    waiting[rank] = False
    node = rank + 1
    while node < len(counts):
        counts[node] -= 1
        node += node & -node


@njit
def _count_through(counts: Integers, rank: int) -> int:
    total, node = 0, rank + 1
    while node > 0:
        total += counts[node]
        node -= node & -node
    return total


@njit
def _rank_of(counts: Integers, skip: int) -> int:
    """The rank of the waiting value that has `skip` waiting values below it."""
    node, step = 0, 1
    while 2 * step < len(counts):
        step *= 2
    while step > 0:
        if node + step < len(counts) and counts[node + step] <= skip:
            node += step
            skip -= counts[node]
        step //= 2
    return node


def conclude(view: View, spec: RankSwapping) -> Knowledge:
    """What the step lets an intruder conclude who knows it and sees the released table.

    A swap permutes a column, so its values can be ranked in the released table itself: a value with ranks lo..hi there was
    exchanged with one at ranks lo - w..hi + w at the furthest (ties widen the window). This holds if the swap is the last step
    on the attribute. Where records were left out, before or after the swap, the ranks are those of the rows that are left or
    those of all: the interval covers both. Of an attribute that he is not certain of before the step nothing follows.
    """
    knowledge = view.knowledge
    for name in spec.masked:
        if not knowledge.is_certain((name,)):
            knowledge = knowledge.doubting((name,))
            continue
        attribute = view.schema[name]
        own, released = knowledge.believed.positions(attribute), view.released.positions(attribute)
        low, high = _interval(own, released, spec.window_percent)
        rest = knowledge.without((name,))
        knowledge = replace(rest, between=(*rest.between, Between(name, low, high)))
    return knowledge


def _interval(values: Floats, released: Floats, window_percent: float) -> tuple[Floats, Floats]:
    low, high = swap_interval(values, released, window_percent)
    if len(released) == len(values):
        return low, high
    low_of_all, high_of_all = swap_interval(values, values, window_percent)
    return np.minimum(low, low_of_all), np.maximum(high, high_of_all)


def swap_interval(values: Floats, released: Floats, window_percent: float) -> tuple[Floats, Floats]:
    """Lowest and highest released value that each value can have been exchanged with, shape (n,) each; NaN for NaN.

    With R the sorted present released values, lo and hi - 1 the first and last rank of a value in R, and w the window:
    [R[max(lo - w, 0)], R[min(hi - 1 + w, n - 1)]]; [inf, -inf], in which
    nothing lies, where R is empty. Example: R = 1..10, w = 2: the value 6 gives [4, 8], the value 10 [8, 10].
    """
    ranked = np.sort(released[~np.isnan(released)])
    if len(ranked) == 0:
        return np.where(np.isnan(values), np.nan, np.inf), np.where(np.isnan(values), np.nan, -np.inf)
    window = window_ranks(window_percent, len(ranked))
    missing = np.isnan(values)
    lo = np.searchsorted(ranked, values, side="left")
    hi = np.searchsorted(ranked, values, side="right")
    low = ranked[np.clip(lo - window, 0, len(ranked) - 1)]
    high = ranked[np.clip(hi - 1 + window, 0, len(ranked) - 1)]
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)
