"""Laws of ranks: how probable it is that a value that stood in one block of ranks stands in another after the steps."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from tasks.microdata.table import Floats, Integers
from tasks.microdata.value_ranks import count_below_and_up_to

LEAST = 1e-30  # a chance that is as good as 0: what cannot be is for bounds to say
MOST_BLOCKS = 512
_CELLS = 4096
_FAR = 6.0  # standard deviations


def find_block_starts(column: Floats, most: int) -> Integers:
    """Shape (b + 1,), b <= most: where blocks of a sorted column begin, and its length; equal values are in one block."""
    firsts = np.flatnonzero(np.diff(column, prepend=-np.inf))
    if len(firsts) > most:
        targets = np.arange(most) * len(column) // most
        firsts = np.unique(firsts[np.searchsorted(firsts, targets, side="right") - 1])
    return np.append(firsts, len(column))


def code_by_rank(positions: Floats, begins: Integers) -> Integers:
    """Shape (n,): the block of the rank of each value among all of them, of equal ones the middle; b for a missing value.

    begins: of blocks of ranks. Where there are more or fewer values than ranks, ranks are taken in proportion.
    """
    b, missing = len(begins) - 1, np.isnan(positions)
    ranked = np.sort(positions[~missing])
    below, up_to = count_below_and_up_to(ranked, positions)
    middle = (below + up_to - 1) / 2
    block = np.searchsorted(begins, middle * begins[-1] / max(len(ranked), 1), side="right") - 1
    return np.where(missing, b, np.minimum(block, b - 1))


def spread_over_ranks(lows: Floats, highs: Floats, begins: Integers) -> Floats:
    """Shape (b, b): the chance that a value stands in block c whose rank is equally probable from lows[a] up to highs[a].

    Example: ranks 1 up to 3, and blocks of ranks 0, 1 and 2, 3: chances 1/2 and 1/2.
    """
    low, high = np.clip(lows, 0, begins[-1] - 1)[:, np.newaxis], np.clip(highs, 1, begins[-1])[:, np.newaxis]
    common = np.maximum(np.minimum(high, begins[1:]) - np.maximum(low, begins[:-1]), 0.0)
    kernel: Floats = common / common.sum(axis=1, keepdims=True)
    return kernel


def blur_ranks(column: Floats, begins: Integers, spread: float) -> Floats:
    """Shape (b, b): the chance that a value of block a stands in block c once normal noise was added to the column.

    Formula in words: the value is taken as the mean of its block. Block c then holds what lies between two quantiles of the
    column with noise, and these are taken as those of the mixture of all values with their noise.
    column: ascending, without NaN. spread: the standard deviation of the noise.
    Example: two values that are as far apart as the noise's standard deviation: they change places with chance 0.31, of which
    the exact figure is 0.24, as the noise of the other one is not known.
    """
    middles = np.add.reduceat(column, begins[:-1]) / np.diff(begins)
    cuts = _quantiles_of_mixture(column, spread, begins[1:-1] / begins[-1])
    below = ndtr((cuts[np.newaxis] - middles[:, np.newaxis]) / spread)
    b = len(middles)
    kernel: Floats = np.diff(np.column_stack([np.zeros(b), below, np.ones(b)]), axis=1)
    return kernel


def _quantiles_of_mixture(column: Floats, spread: float, shares: Floats) -> Floats:
    """Below which values these shares of the column lie once normal noise is added, in expectation."""
    beyond = (_FAR + 1) * spread  # so that the noise's own law is shorter than the grid
    grid = np.linspace(column[0] - beyond, column[-1] + beyond, _CELLS + 1)
    step = grid[1] - grid[0]
    if spread < 4 * step:  # noise that the grid does not resolve hardly changes the quantiles
        places = shares * len(column)
        return np.asarray((column[np.ceil(places).astype(int) - 1] + column[np.floor(places).astype(int)]) / 2)
    steps = np.arange(-np.ceil(_FAR * spread / step), np.ceil(_FAR * spread / step) + 1) * step
    weights = np.exp(-((steps / spread) ** 2) / 2)
    mixed = np.cumsum(np.convolve(np.histogram(column, grid)[0] / len(column), weights / weights.sum(), mode="same"))
    return np.asarray(np.interp(shares, mixed, grid[1:]))
