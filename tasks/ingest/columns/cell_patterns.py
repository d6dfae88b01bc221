"""Columns of text in which all cells are written in one way."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

_LOOKED_AT = 12  # cells first


def all_match(cells: pa.Array | pa.ChunkedArray, pattern: str) -> bool:
    """Do all present cells match a pattern from `^` to `$`?"""
    if not may_all_match(cells, pattern):
        return False
    matched: bool = pc.all(pc.match_substring_regex(cells, pattern), min_count=0).as_py()
    return matched


def may_all_match(cells: pa.Array | pa.ChunkedArray, pattern: str) -> bool:
    """Do cells at equal distances match such a pattern? False: not all cells do. True: only looking at all of them can tell.

    It costs microseconds, because Python looks at a few cells; Arrow takes as much for each cell that it cannot make a number.
    """
    matches = re.compile(pattern).fullmatch
    return all(matches(cell) for cell in _take_some(cells))


def _take_some(cells: pa.Array | pa.ChunkedArray) -> Iterator[str]:
    """Present ones of at least `_LOOKED_AT` cells, or of all if there are fewer, at equal distances in each chunk."""
    chunks = cells.chunks if isinstance(cells, pa.ChunkedArray) else [cells]
    for chunk in chunks:
        looked_at = chunk.drop_null() if 2 * chunk.null_count > len(chunk) else chunk
        step = max(len(looked_at) * len(chunks) // _LOOKED_AT, 1)
        taken = (looked_at[i].as_py() for i in range(0, len(looked_at), step))  # one by one: the first may say all
        yield from (cell for cell in taken if cell is not None)
