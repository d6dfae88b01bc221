"""How probable it is that a value moved from one rank to another, for masks that move values by ranks."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from tasks.mask.ranks.by_rank import ranks_in, window_ranks
from tasks.mask.ranks.rank_jitter import RankJitter, half_width
from tasks.mask.ranks.rank_swapping import RankSwapping, bucket_begins
from tasks.microdata.table import Floats, Integers
from tasks.microdata.value_ranks import count_below_and_up_to

LEAST = -40.0  # the logarithm of what is as good as impossible: rank swapping moves a few values anywhere


def mid_ranks(values: Floats, released: Floats) -> Floats:
    """The middle of the ranks that each value has in the released column, 0..n-1; NaN for NaN."""
    ranked = np.sort(released[~np.isnan(released)])
    below, up_to = count_below_and_up_to(ranked, values)
    return np.where(np.isnan(values), np.nan, (below + up_to - 1) / 2)


def count_copies(values: Floats, released: Floats) -> Integers:
    """How often each value occurs in the released column."""
    ranked = np.sort(released[~np.isnan(released)])
    below, up_to = count_below_and_up_to(ranked, values)
    return up_to - below


def log_displacement(
    step: RankSwapping | RankJitter, n: int, before: Floats, after: Floats, copies: Integers | int = 1
) -> Floats:
    """The logarithm of the probability that a value of rank `before` stands at rank `after` in the end, of n ranks.

    Far from the first and the last rank, and up to what depends on the order in which pairs are drawn; LEAST at least. With
    r the distance in ranks:
    - classic: 1/2w within the window w.
    - p_buckets: half of the values stay in their bucket, and of the quarter that rises, as of the quarter that falls, half goes
      to the next bucket, half of the rest to the one after that, ...; uniform within a bucket. (Of a bucket a share 1 - u has
      been taken from below. Of those who begin an exchange half take a partner from the bucket itself, so they are 2u/3; u/3
      rise, as many as are taken: u = 3/4.)
    - p_distribution: (normal of mean and standard deviation m = 0.5 p_percent n / 100)(r), up or down.
    - rank jitter: the rank in the end is that of i + U(-w, w) among all sums, which of 2w sums around it w/3 cross in variance:
      [Phi((w - r)/s) - Phi((-w - r)/s)] / 2w with s^2 = w/3.
    No swap exchanges a value with itself (a few values without a partner stay): of t equal values one becomes another, so that
    r = 0 counts (t - 1)/t.
    A missing value stays missing: LEAST where one of the two is NaN, and 0 where both are.
    n: the values that are present. before, after: shape (e,), ranks 0..n-1. copies: how often the value after it is released.
    Example: jitter with w = 30 moves a value by more than 50 ranks once in 10^9 times.
    """
    distance = np.abs(after - before)
    if isinstance(step, RankJitter):
        width = half_width(step.window_percent, n)
        spread = np.sqrt(width / 3)
        density = (ndtr((width - distance) / spread) - ndtr((-width - distance) / spread)) / (2 * width)
    elif step.buckets is not None:
        begins = bucket_begins(step.buckets, n)
        apart = np.abs(_bucket(begins, after) - _bucket(begins, before))
        density = np.where(apart == 0, 0.5, 0.25 * 0.5**apart) * step.buckets / n
    elif step.p_percent is not None:
        mean = float(ranks_in(step.p_percent, n)) / 2
        density = np.exp(-(((distance - mean) / mean) ** 2) / 2) / (2 * mean * np.sqrt(2 * np.pi) * ndtr(1.0))
    else:
        window = max(window_ranks(step.window_percent or 0.0, n), 1)
        density = np.where(distance <= window, 1 / (2 * window), 0.0)
    if isinstance(step, RankSwapping):
        density = np.where(distance == 0, density * (1 - 1 / np.maximum(copies, 1)), density)
    with np.errstate(divide="ignore"):
        found = np.maximum(np.log(density), LEAST)
    both_missing = np.isnan(before) & np.isnan(after)
    return np.where(np.isnan(distance), np.where(both_missing, 0.0, LEAST), found)


def _bucket(begins: Integers, ranks: Floats) -> Integers:
    return np.searchsorted(begins, np.nan_to_num(ranks), side="right") - 1
