"""What masks by ranks share: the order of a column, the window in ranks, and what follows from how far a value moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from tasks.mask.carrying import carry_bounds, find_released_column
from tasks.mask.fitting import extract_varying_positions
from tasks.mask.intruder_belief import Belief, InInterval
from tasks.mask.step import IntruderView, MaskContext, MaskStep
from tasks.mask.value_bounds import ValueBounds, move_by_ranks
from tasks.microdata.compiled import njit
from tasks.microdata.errors import InputError
from tasks.microdata.random_order import order_with_random_ties
from tasks.microdata.table import Floats, Integers, Microdata
from tasks.microdata.value_order import Rows
from tasks.microdata.value_ranks import count_below_and_up_to

KEPT_COLUMNS = (
    "Statistics of one such attribute alone (mean, variance, quantiles, frequencies of its values) are exactly what "
    "they were before this step and need no correction, unless they are taken within a group of records.",
    "Its relations with other attributes (correlations, regressions, tables, statistics of groups) are weakened, mostly "
    "towards no relation; the release does not tell by how much, and no general correction is offered.",
)

RankAssignment = Callable[[str, int, np.random.Generator], Integers | Rows]
Window = Callable[[int], int]


def permute_by_rank(site: MaskContext, names: tuple[str, ...], giver: RankAssignment) -> Microdata:
    """The table with each of these columns permuted by ranks; missing values stay missing.

    giver: (attribute, n, rng) -> shape (n,), a permutation of 0..n - 1: the rank whose value each of the n present ranks
    receives. Equal values are ranked in random order. The attributes are drawn one after the other from one stream.

    Raises InputError for a constant column, an infinite value, or a text without order, and what `giver` raises.
    Cost: per attribute that of `order_values`, and what `giver` costs.
    """
    data, rng = site.data, site.draw()
    for name in names:
        positions = extract_varying_positions(data, site.schema, name, site.where)
        by_rank = order_with_random_ties(positions, rng=rng)
        source = np.arange(data.n, dtype=np.int32)
        _find_sources(by_rank, giver(name, len(by_rank), rng), source)
        data = data.replace_column(name, _take_beside_gaps(data.column(name), pa.array(source)))
    return data


def _take_beside_gaps(column: pa.Array, source: pa.Array) -> pa.Array:
    """`column.take(source)`, where a missing value takes its own place, and a present one that of a present one.

    column: without an offset. So it is known where values are missing, and Arrow need not move that bit by bit: 0.15 s for
    10,000,000 numbers, not 0.45. What memory holds where a value is missing stays, as in columns that no step touches; no file
    of a release holds it.
    """
    if not column.null_count or len(column.buffers()) != 2:  # texts have three
        return column.take(source)
    missing, values = column.buffers()
    taken = pa.Array.from_buffers(column.type, len(column), [None, values]).take(source)
    return pa.Array.from_buffers(column.type, len(column), [missing, taken.buffers()[1]])


@njit
def _find_sources(by_rank: Rows, received: Integers | Rows, source: Rows) -> None:
    """Writes the row whose value each row receives. by_rank, received: shape (n,). source: one for each row of the table."""
    for rank in range(len(by_rank)):
        source[by_rank[rank]] = by_rank[received[rank]]


def ranks_in(percent: float, n: int) -> Fraction:
    """percent * n / 100, exactly."""
    return Fraction(str(percent)) * n / 100


def window_ranks(window_percent: float, n: int) -> int:
    """floor(window_percent * n / 100), exactly: 10 percent of 1080 is 108, and 1.1 percent of 1000 is 11."""
    return int(ranks_in(window_percent, n) // 1)


def check_window(field: str, percent: float, name: str, n: int, where: str) -> int:
    """`window_ranks`, at least 1; InputError where it is under one rank. field: of the params model, for the message."""
    window = window_ranks(percent, n)
    if window < 1:
        what = f"the window is under one rank: {percent:g} percent of {n} values of `{name}`"
        allowed = f"at least {100 / n:.6g} percent"
        raise InputError("window-under-one-rank", f"{where}.{field}", what, allowed, "widen the window", percent)
    return window


def get_window_bound(view: IntruderView, window_percent: float) -> float:
    """The window that the intruder reckons with: the one of the step, or the larger bound of who does not know it.

    A bound below the window would rule out true rows: release files with one are refused (`check_attacks`).
    """
    return max(window_percent, view.window_at_most or 0.0)


def infer_rank_intervals(view: IntruderView, step: MaskStep, reach: Window) -> Belief:
    """What follows for the intruder of a permutation that moves no value by more than reach(n) of n ranks.

    A permutation keeps the column's values, so they can be ranked in the released table itself: a value with ranks lo..hi there
    shows one with ranks lo - reach..hi + reach at the furthest (ties widen the interval). This holds if the step is the last
    one on the attribute. Where records were left out, before or after the step, the ranks are those of the rows that are left
    or those of all, for which they take their own: the interval covers both. Where the intruder was not certain of the values
    before the step, or a later one masks the attribute again, bounds are carried instead (`move_bounds_by_ranks`).
    """
    for name in step.target_attributes:
        masked_later = any(name in later.target_attributes for later in view.later)
        if view.knowledge.is_certain((name,)) and not masked_later:
            attribute = view.schema[name]
            own, released = view.knowledge.believed.positions(attribute), view.released.positions(attribute)
            low, high = _interval(own, released, reach, all_released=view.all_released)
            rest = view.knowledge.drop_attributes((name,))
            knowledge = replace(rest, between=(*rest.between, InInterval(name, low, high)))
        else:
            knowledge = carry_bounds(view, step, name)
        view = replace(view, knowledge=knowledge)
    return view.knowledge


def move_bounds_by_ranks(view: IntruderView, bounds: ValueBounds, reach: Window) -> ValueBounds | None:
    """`move_by_ranks`, with the released column where that is the permuted one."""
    if bounds.lowest is None:
        return None
    return move_by_ranks(bounds, reach(len(bounds.lowest)), find_released_column(view, bounds))


def _interval(values: Floats, released: Floats, reach: Window, *, all_released: bool) -> tuple[Floats, Floats]:
    low, high = rank_interval(values, released, reach)
    if all_released:
        return low, high
    low_of_all, high_of_all = rank_interval(values, values, reach)
    return np.minimum(low, low_of_all), np.maximum(high, high_of_all)


def rank_interval(values: Floats, released: Floats, reach: Window) -> tuple[Floats, Floats]:
    """Lowest and highest released value within reach(n) ranks of each value, shape (n,) each; NaN for NaN.

    With R the sorted present released values, n of them, lo and hi - 1 the first and last rank of a value in R, and w the
    reach: [R[max(lo - w, 0)], R[min(hi - 1 + w, n - 1)]]; [inf, -inf], in which nothing lies, where R is empty.
    Example: R = 1..10, w = 2: the value 6 gives [4, 8], the value 10 [8, 10].
    """
    ranked, missing = np.sort(released[~np.isnan(released)]), np.isnan(values)
    if len(ranked) == 0:
        return np.where(missing, np.nan, np.inf), np.where(missing, np.nan, -np.inf)
    furthest, last = reach(len(ranked)), len(ranked) - 1
    lo, hi = count_below_and_up_to(ranked, values)
    low, high = ranked[np.clip(lo - furthest, 0, last)], ranked[np.clip(hi - 1 + furthest, 0, last)]
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)
