"""The mean of the records that are left, kept up as records go: what went before leaves no trace in its last digits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers


class FixedPoint(NamedTuple):
    """Coordinates as integers in two parts: (whole + rest / 2^bits) * unit. A named tuple: compiled code takes those.

    whole, rest: shape (n, p). unit: shape (p,), a power of two for each column.
    """

    whole: Integers
    rest: Integers
    unit: Floats
    bits: int


def convert_to_fixed_point(points: Floats) -> FixedPoint:
    """Coordinates as integers, whose sums are exact.

    Meaning: integers have one sum in whatever order they are added, and what was added can be taken away again; sums of
    floating-point numbers depend on the order. A coordinate keeps 2 * bits binary places below the largest absolute value of
    its column; bits is 45 for 100,000 records, so that all coordinates are exact that are not 10^11 times smaller than that.

    points: shape (n, p), finite. Cost: O(n p).
    """
    bits = 62 - len(points).bit_length()
    _, exponent = np.frexp(np.abs(points).max(axis=0, initial=0.0))
    scaled = np.ldexp(points, bits - exponent)
    whole = np.rint(scaled)
    rest = np.rint(np.ldexp(scaled - whole, bits))
    return FixedPoint(whole.astype(np.int64), rest.astype(np.int64), np.ldexp(1.0, exponent - bits), bits)


def compute_sums(numbers: FixedPoint) -> Integers:
    """The sums of both parts over all records, shape (2, p)."""
    return np.stack([numbers.whole.sum(axis=0), numbers.rest.sum(axis=0)])


@njit
def take_away(sums: Integers, numbers: FixedPoint, records: Integers) -> None:
    """Take records out of the sums, in place."""
    for i in records:
        for j in range(sums.shape[1]):
            sums[0, j] -= numbers.whole[i, j]
            sums[1, j] -= numbers.rest[i, j]


@njit
def compute_mean(sums: Integers, count: int, numbers: FixedPoint) -> Floats:
    """The mean of the `count` records still in the sums, shape (p,), rounded at its end only.

    It is within one last place of the exact mean of the integers or, nearer to 0, within 2^-(2 bits) of the column's largest.
    """
    mean = np.empty(sums.shape[1])
    scale = 2.0**-numbers.bits
    for j in range(len(mean)):
        quotient = sums[0, j] // count
        remainder = sums[0, j] - quotient * count
        mean[j] = (quotient + (remainder + sums[1, j] * scale) / count) * numbers.unit[j]
    return mean
