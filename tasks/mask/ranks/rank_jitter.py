"""Rank jitter: in each attribute alone, ranks are shaken and the values handed out by the new order; nothing is paired."""

from __future__ import annotations

from math import ceil
from typing import Literal

import numpy as np

from tasks.mask.images import Knowledge
from tasks.mask.ranks.by_rank import checked_window, concluded_within, handed_out, ranks_in
from tasks.mask.step import Description, Site, Step, View
from tasks.microdata.schema import Scale
from tasks.microdata.spec import Percent
from tasks.microdata.table import Floats, Integers, Microdata
from tasks.microdata.words import listed


class RankJitter(Step):
    """Parameters of rank jitter.

    attributes: what is masked; default: the quasi-identifiers that are numeric, ordinal, dates or times.
    window_percent: how far a rank is shaken up or down, in percent of the number of present values; a value may move nearly
        twice as far.
    """

    method: Literal["rank_jitter"]
    window_percent: Percent

    @property
    def values_move(self) -> bool:
        return True

    @property
    def rule(self) -> str:
        return f"rank jitter of {listed(self.masked)}, ranks shaken by up to {self.window_percent:g} percent of the ranks"


SCALES = (Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL)
DESCRIPTION = Description(
    method="rank_jitter",
    what_it_does="shakes the ranks and hands out the values by the new order, in each attribute alone; no pairs are exchanged",
    scales=SCALES,
    parameters="window_percent (how far a rank is shaken, in percent of the ranks), attributes, by",
    intruder="lists for each attribute the rows within twice the window and intersects the lists; a single row left is a "
    "certain match, and many attributes leave few rows",
    answered_by=("transparency",),
)


def jitter(site: Site, spec: RankJitter) -> Microdata:
    """Shake the ranks by uniform noise and hand out the sorted values by the new order.

    Meaning: the column keeps exactly its values, and who holds which is blurred; unlike a swap it does not exchange pairs, so
    that who finds one record's image has not found a second one. That does not make it safe: see below.
    Formula in words: sort the n present values (equal ones in random order); to rank i add a number drawn from U(-w, w),
    w = window_percent * n / 100; the record whose sum is the j-th smallest receives the value of rank j; undo the sorting.
    Attributes are shaken independently. Missing values stay missing.
    Bound: no value moves by more than `furthest(window_percent, n)` = ceil(2 w) - 1 ranks. A record rises by the number of
    records above it that fall below it, less the number of those below it that rise above it. One that began d >= 2 w ranks
    above rank i has a sum of at least i + d - w >= i + w and stays above (equal sums keep their order), so only those with
    d < 2 w can fall below: at most ceil(2 w) - 1 of them; falling is the mirror image. Rounding sums to floats keeps their
    order. The bound is sharp: with positive chance rank i goes to nearly i + w, the next ceil(2 w) - 1 each nearly w down.

    Parameters
    ----------
    site: a table whose columns include the step's attributes. spec: with its attributes resolved.

    Returns the table with those columns replaced; each is a permutation of the source's within the bound.

    Raises InputError if the window is under one rank, for a constant column, an infinite value, or a text without order.
    Cost: O(n log n) per attribute.
    Source: none published. It was made to answer the consistency attack on rank swapping, which does not apply to it. That
    makes it no safe mask: the likelihood of all displacements, records and rows matched one to one, finds all records of the
    Census file by 13 attributes at a window of 6 percent, 95 percent at 18, and 20 at 34 (`benchmarks/consistency.py`).
    Example: window_percent = 50 of 2 values: sums of U(-1, 1) and 1 + U(-1, 1): they change places with chance 1/8.
    """

    def givers(name: str, n: int, rng: np.random.Generator) -> Integers:
        checked_window("window_percent", spec.window_percent, name, n, site.where)
        return jittered_ranks(half_width(spec.window_percent, n), rng.random(n))

    return handed_out(site, spec.masked, givers)


def jittered_ranks(width: float, uniforms: Floats) -> Integers:
    """Shape (n,): the rank whose value each rank receives; uniforms: shape (n,), in [0, 1). width: w, in ranks."""
    n = len(uniforms)
    sums = np.arange(n) + width * (2 * uniforms - 1)
    received = np.empty(n, dtype=np.int64)
    received[np.argsort(sums, kind="stable")] = np.arange(n)  # stable: the bound needs ties of sums in the original order
    return received


def half_width(window_percent: float, n: int) -> float:
    """w = window_percent * n / 100, in ranks, not rounded to whole ones."""
    return float(ranks_in(window_percent, n))


def furthest(window_percent: float, n: int) -> int:
    """How many ranks a value moves at the most: the largest whole number under 2 w."""
    return ceil(2 * half_width(window_percent, n)) - 1


def conclude(view: View, spec: RankJitter) -> Knowledge:
    """What the step lets an intruder conclude who knows it: `concluded_within`, the reach being `furthest`."""
    return concluded_within(view, spec.masked, lambda n: furthest(spec.window_percent, n))
