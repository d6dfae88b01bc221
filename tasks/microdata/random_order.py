"""Bring rows into random order: all of them, or those of equal values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers
from tasks.microdata.value_order import NumberArray, Rows, order_values, sort_with_order

MOST_SHUFFLED = 30_000  # rows; many more do not fit into the processor's cache, and a shuffle goes to and fro among them
_RANDOM_BITS = 32  # few rows draw equal numbers, and these are shuffled


def draw_permutation(n: int, *, rng: np.random.Generator) -> Integers:
    """Shape (n,): the rows 0..n - 1 in random order, all orders equally likely.

    Many rows are ordered by random numbers. Cost: O(n): of 10,000,000 rows 0.23 s, where a shuffle takes 0.4 to 0.5.
    """
    if n <= MOST_SHUFFLED:
        return rng.permutation(n)
    return order_with_random_ties(rng.integers(1 << _RANDOM_BITS, size=n), rng=rng).astype(np.int64)


def order_with_random_ties(values: NumberArray, *, rng: np.random.Generator) -> Rows:
    """Shape (m,): the rows from the lowest value to the highest, equal ones in random order, all orders equally likely.

    values: shape (n,), doubles or whole numbers. m: those that are not NaN; rows of NaN are left out, and nothing is drawn for
    them. Of many values only equal ones are shuffled. Cost: that of `order_values`.
    """
    m = len(values) - np.count_nonzero(np.isnan(values))
    if m <= MOST_SHUFFLED:
        shuffled = np.flatnonzero(~np.isnan(values)).astype(np.int32).take(rng.permutation(m))
        # stable: how a faster sort leaves ties depends on the processor, and a replay must give the same release
        return shuffled.take(order_values(values.take(shuffled)))
    ascending, order = sort_with_order(values)
    ascending, order = ascending[:m], order[:m]
    equal = ascending[1:] == ascending[:-1]
    _shuffle_equals(equal, rng.random(np.count_nonzero(equal)), order)
    return order


@njit
def _shuffle_equals(equal: npt.NDArray[np.bool_], uniforms: Floats, order: Rows) -> None:
    """Shuffle the rows of equal values (Fisher and Yates).

    equal: shape (n - 1,), whether each value but the first equals the one before it. uniforms: in [0, 1), one for each that
    does. order: shape (n,), the rows by their values.
    """
    begin, used = 0, 0
    for place in range(1, len(order)):
        if not equal[place - 1]:
            begin = place
            continue
        other = min(begin + int(uniforms[used] * (place - begin + 1)), place)
        order[place], order[other] = order[other], order[place]
        used += 1
