"""The order of many values by the digits of their bits: linear in their number, where comparisons wait for the memory."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tasks.microdata.compiled import njit

FEWEST = 50_000  # values; numpy sorts fewer in some milliseconds, and no compiled code need be loaded for them
DIGIT_BITS = 8  # 256 places that are written to stay in the processor's cache

NumberArray = npt.NDArray[Any]
Rows = npt.NDArray[np.int32]


def order_values(values: NumberArray) -> Rows:
    """Shape (n,): the rows by ascending values; of equal values (0.0 and -0.0 are) by row; NaN, which are equal, come last.

    values: shape (n,), of fewer than 2^31 numbers, as no table has more rows.
    Cost: O(n): of 10,000,000 different numbers 0.3 s (numpy's stable sort takes 1.8), and 24 bytes a value.
    """
    return sort_with_order(values)[1]


def sort_with_order(values: NumberArray) -> tuple[NumberArray, Rows]:
    """Shapes (n,): the values, ascending (0.0 in the place of -0.0), and `order_values`."""
    if len(values) < FEWEST or values.dtype not in (np.float64, np.int64):
        order = np.argsort(values, kind="stable").astype(np.int32)
        return values[order] + values.dtype.type(0), order
    is_float = values.dtype == np.float64
    n = len(values)
    keys, rows = (np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)), (np.empty(n, np.int32), np.empty(n, np.int32))
    bits, order = _sort_by_digits(np.ascontiguousarray(values).view(np.int64), is_float, *keys, *rows)
    return bits.view(values.dtype), order


def look_up_in_order(
    ascending: NumberArray, asked: NumberArray, side: Literal["left", "right"], kind: type[np.integer] = np.int64
) -> npt.NDArray[Any]:
    """Shape (n,): `np.searchsorted` of n ascending numbers in m ascending numbers, as whole numbers of this kind.

    Cost: O(n + m), 0.04 to 0.13 s for 10,000,000 of each.
    """
    is_plain = ascending.dtype == asked.dtype and asked.dtype in (np.float64, np.int64)
    if min(len(ascending), len(asked)) < FEWEST or not is_plain or np.isnan(ascending[-1]) or np.isnan(asked[-1]):
        return np.searchsorted(ascending, asked, side=side).astype(kind, copy=False)
    found = np.empty(len(asked), dtype=kind)
    _walk_both(ascending, asked, side == "right", found)
    return found


@njit(infinite=dict.fromkeys(("ascending", "asked"), "an infinite number, which is only compared with"))
def _walk_both(ascending: NumberArray, asked: NumberArray, counts_equal: bool, found: npt.NDArray[Any]) -> None:
    n, m = 0, len(ascending)
    for i in range(len(asked)):
        while n < m and (ascending[n] < asked[i] or (counts_equal and ascending[n] == asked[i])):
            n += 1
        found[i] = n


@njit
def _sort_by_digits(
    bits: npt.NDArray[np.int64],
    is_float: bool,
    keys: npt.NDArray[np.uint64],
    other_keys: npt.NDArray[np.uint64],
    rows: Rows,
    other_rows: Rows,
) -> tuple[npt.NDArray[np.int64], Rows]:
    """`sort_with_order` of doubles, given and returned as the whole numbers that their bits are, or of whole numbers.

    keys, rows: shape (n,), room for two of each.
    Sorts by the lowest digit first, each time keeping the order before. Without its sign bit a positive double is as large a
    whole number as it comes late; of negative ones it is the other way.
    """
    n, largest, infinity = len(bits), np.int64(2**63 - 1), np.int64(0x7FF << 52)
    low, high = np.uint64(2**64 - 1), np.uint64(0)
    for i in range(n):
        key = bits[i]
        if is_float:
            size = key & largest
            if size == 0:  # of either sign
                key = np.int64(0)
            elif size > infinity:  # NaN
                key = largest
            elif key < 0:
                key ^= largest
        keys[i] = np.uint64(key) ^ np.uint64(1 << 63)
        low, high = min(low, keys[i]), max(high, keys[i])
    n_digits, span, mask = 1, high - low, np.uint64((1 << DIGIT_BITS) - 1)
    while n_digits * DIGIT_BITS < 64 and span >> np.uint64(n_digits * DIGIT_BITS):
        n_digits += 1
    counts = np.zeros((n_digits, 1 << DIGIT_BITS), dtype=np.int64)
    for i in range(n):
        keys[i] -= low
        rows[i] = i
        for d in range(n_digits):
            counts[d, (keys[i] >> np.uint64(d * DIGIT_BITS)) & mask] += 1
    for d in range(n_digits):
        if counts[d].max() == n:  # all have one digit
            continue
        places, shift = np.cumsum(counts[d]) - counts[d], np.uint64(d * DIGIT_BITS)
        for i in range(n):
            digit = (keys[i] >> shift) & mask
            at = places[digit]
            other_keys[at], other_rows[at] = keys[i], rows[i]
            places[digit] = at + 1
        keys, other_keys = other_keys, keys
        rows, other_rows = other_rows, rows
    ascending = keys.view(np.int64)
    for i in range(n):
        key = np.int64((keys[i] + low) ^ np.uint64(1 << 63))
        ascending[i] = key ^ largest if is_float and key < 0 else key
    return ascending, rows
