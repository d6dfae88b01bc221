"""Numbers 0, 1, ... in the place of values, in their order: counted, sorted or looked up, whichever is fastest.

Few numbers that lie close together are counted. Of many different ones a sort finds the order fastest, because a dictionary of
them does not fit into the processor's cache; of few different ones a dictionary does.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.value_order import FEWEST, look_up_in_order, sort_with_order

_SPREAD = 4  # times as many numbers as there are values are counted one by one
_LOOKED_AT = 1024  # values, to see whether most are different
_SAMPLED, _FEW_REPEATS = 16_384, 0.1  # of a sample: where fewer repeat, the whole column has very many different values

NumberArray = npt.NDArray[Any]
Ranks = npt.NDArray[np.int64]


def rank_values(values: NumberArray) -> tuple[Ranks, int]:
    """Shape (n,): numbers 0..c-1 in the place of c different numbers, in their order, and c. All NaN are one, and the last."""
    if not len(values):
        return np.zeros(0, dtype=np.int64), 0
    if np.issubdtype(values.dtype, np.integer):
        low, high = int(values.min()), int(values.max())
        if high - low < _SPREAD * len(values):
            return rank_by_count(values if low == 0 else values - low, high - low + 1)
    return rank_by_sort(values) if _differ_mostly(values) else _rank_by_dictionary(values)


def rank_by_count(values: NumberArray, size: int) -> tuple[Ranks, int]:
    """`rank_values` of whole numbers from 0 to `size` - 1."""
    present = np.zeros(size, dtype=bool)
    present[values] = True
    ranks = np.cumsum(present)
    count = int(ranks[-1])
    ranks -= 1
    return (values.astype(np.int64) if count == size else ranks[values]), count


def rank_by_sort(values: NumberArray) -> tuple[Ranks, int]:
    """`rank_values` by one sort."""
    ascending, order = sort_with_order(values)
    new = ascending[1:] != ascending[:-1]
    if ascending[-1] != ascending[-1]:  # NaN differs from itself
        new &= ascending[:-1] == ascending[:-1]
    steps = np.cumsum(new)
    ranks = np.zeros(len(values), dtype=np.int64)
    ranks[order[1:]] = steps
    return ranks, int(steps[-1]) + 1 if len(steps) else 1


def count_below(ascending: NumberArray, values: NumberArray) -> Ranks:
    """Shape (n,): how many of some ascending numbers are below each of n values. NaN are above all numbers.

    Cost: many values are sorted first, because looking them up in their order does not wait for the memory: 2.5 s instead of 15
    for 10,000,000 among as many.
    """
    return _look_up(ascending, values, ("left",))[0]


def count_up_to(ascending: NumberArray, values: NumberArray) -> Ranks:
    """Shape (n,): how many of some ascending numbers are not above each of n values. Cost: as of `count_below`."""
    return _look_up(ascending, values, ("right",))[0]


def count_below_and_up_to(ascending: NumberArray, values: NumberArray) -> tuple[Ranks, Ranks]:
    """Shape (n,) each: `count_below` and `count_up_to`, with one sort of the values."""
    below, up_to = _look_up(ascending, values, ("left", "right"))
    return below, up_to


def _look_up(ascending: NumberArray, values: NumberArray, sides: tuple[Literal["left", "right"], ...]) -> list[Ranks]:
    if min(len(ascending), len(values)) < FEWEST:  # fewer stay in the processor's cache
        return [np.searchsorted(ascending, values, side=side) for side in sides]
    ordered, order = sort_with_order(values)
    found = [np.empty(len(values), dtype=np.int64) for _ in sides]
    for places, side in zip(found, sides, strict=True):
        places[order] = look_up_in_order(ascending, ordered, side)
    return found


def count_distinct(present: pa.Array) -> int:
    """How many different values a column without gaps has; 0.0 and -0.0 are two, all NaN are one.

    Cost: O(n) where whole numbers lie close together or values repeat; else a sort of a copy, 0.05 s for 1,000,000 numbers,
    because a dictionary of as many different values does not fit into the processor's cache.
    """
    is_whole = pa.types.is_integer(present.type)
    if not len(present) or not (is_whole or present.type == pa.float64()) or present.type.bit_width != 64:
        return int(pc.count_distinct(present).as_py())
    numbers = present.to_numpy()
    if is_whole:
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < _SPREAD * len(numbers):
            is_there = np.zeros(high - low + 1, dtype=bool)
            is_there[numbers - low if low else numbers] = True
            return int(np.count_nonzero(is_there))
    some = np.sort(numbers[:: max(len(numbers) // _SAMPLED, 1)])
    repeats = np.count_nonzero(some[1:] == some[:-1]) > _FEW_REPEATS * len(some)
    if repeats or (not is_whole and bool(np.isnan(numbers.max()))):
        return int(pc.count_distinct(present).as_py())
    ascending = np.sort(numbers.view(np.int64))
    return int(np.count_nonzero(ascending[1:] != ascending[:-1])) + 1


def encode_column(column: pa.ChunkedArray) -> Ranks:
    """Shape (n,): numbers 0..c-1 in the place of the values of a column, in Arrow's order of its type; -1 where missing.

    0.0 and -0.0 are two values, as they are in a file: that comes first which occurs first.
    Cost: O(n), and a sort of the different values: 0.02 s for 1,000,000 numbers or texts of few kinds, 0.1 to 0.4 s of as many
    different ones.
    """
    if not pa.types.is_integer(column.type) and not pa.types.is_floating(column.type):
        return _encode_by_dictionary(column)
    numbers = _join_numbers(column.drop_null() if column.null_count else column)
    if pa.types.is_floating(column.type) and (has_both_zeros(numbers) or not _differ_mostly(numbers)):
        return _encode_by_dictionary(column)
    ranks, _ = rank_values(numbers)
    if not column.null_count:
        return ranks
    codes = np.full(len(column), -1, dtype=np.int64)
    codes[np.asarray(column.is_valid().combine_chunks().to_numpy(zero_copy_only=False), dtype=bool)] = ranks
    return codes


def _encode_by_dictionary(column: pa.ChunkedArray) -> Ranks:
    coded = column.dictionary_encode()
    if not coded.num_chunks:
        return np.zeros(0, dtype=np.int64)
    dictionary = coded.chunk(coded.num_chunks - 1).dictionary  # chunks share one, of which each has what was found by then
    ranks = np.full(len(dictionary) + 1, -1, dtype=np.int64)
    ranks[np.asarray(pc.sort_indices(dictionary))] = np.arange(len(dictionary))
    indices = [chunk.indices for chunk in coded.chunks]
    whole = [np.asarray(pc.fill_null(part, len(dictionary)) if part.null_count else part) for part in indices]
    found: Ranks = ranks[whole[0] if len(whole) == 1 else np.concatenate(whole)]
    return found


def _rank_by_dictionary(values: NumberArray) -> tuple[Ranks, int]:
    coded = pa.array(values if np.issubdtype(values.dtype, np.integer) else values + 0.0).dictionary_encode()  # -0.0 is 0.0
    ranks, count = rank_by_sort(coded.dictionary.to_numpy())
    found: Ranks = ranks[coded.indices.to_numpy()]
    return found, count


def _join_numbers(column: pa.ChunkedArray) -> NumberArray:
    parts = [chunk.to_numpy(zero_copy_only=False) for chunk in column.chunks]
    empty: NumberArray = np.zeros(0, dtype=np.int64)
    return parts[0] if len(parts) == 1 else np.concatenate(parts or [empty])


def _differ_mostly(values: NumberArray) -> bool:
    if len(values) <= _LOOKED_AT:
        return True
    some = np.sort(values[:: len(values) // _LOOKED_AT])
    return 2 * int(np.count_nonzero(some[1:] != some[:-1])) > len(some)


def has_both_zeros(numbers: NumberArray) -> bool:
    """Are there 0.0 and -0.0 among the numbers?"""
    zeros = numbers[numbers == 0]
    return bool(len(zeros)) and bool(np.signbit(zeros).any()) and not bool(np.signbit(zeros).all())
