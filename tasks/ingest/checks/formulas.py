"""Texts that a spreadsheet would take for a formula: counted and told, never changed.

The released bytes must read back to the values that were certified, so nothing is put before such a cell to make it harmless.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from tasks.microdata.table import Microdata

_FORMULA = r"(?s)^[=+\-@\t\r]."  # a sign alone, as in a test that is + or -, is no formula
_BEGINS_FORMULA = np.isin(np.arange(256), list(b"=+-@\t\r"))
_NAMED = 5
_AT_ONCE = 50_000  # texts


def formula_cells(data: Microdata) -> dict[str, int]:
    """The text columns that hold cells which begin as a formula does (=, +, -, @, tab, CR, and more), and how many cells."""
    texts = (name for name in data.names if data.is_text(name))
    counts = {name: _count_formulas(data.column(name)) for name in texts}
    return {name: count for name, count in counts.items() if count}


def _count_formulas(texts: pa.Array) -> int:
    """How many present texts match `_FORMULA`, by their first byte and their length."""
    if not len(texts):
        return 0
    _, stored, characters = texts.buffers()
    ends = np.frombuffer(stored, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(characters or b"", dtype=np.uint8)
    if not len(letters):
        return 0
    count = 0
    for begin in range(0, len(texts), _AT_ONCE):  # which stay in the processor's cache
        some = ends[begin : begin + _AT_ONCE + 1]
        (found,) = np.nonzero(_BEGINS_FORMULA.take(letters.take(some[:-1], mode="clip")))  # an empty text may end the letters
        found = found[some[found + 1] - some[found] > 1]
        count += len(found) - (texts.take(pa.array(begin + found)).null_count if texts.null_count else 0)
    return count


def formula_names(data: Microdata) -> tuple[str, ...]:
    """The columns whose own name begins as a formula does."""
    return tuple(name for name in data.names if re.match(_FORMULA, name))


def formula_notes(data: Microdata) -> tuple[str, ...]:
    """What a publisher should know of such cells and names, in at most one sentence; it holds column names and counts."""
    texts = formulas_in_words(data)
    kept = "they stay as they are, and a spreadsheet that opens a CSV may run them (`publish: {formulas: refuse}` forbids them)"
    return (f"texts that begin like a spreadsheet formula: {texts}; {kept}",) if texts else ()


def formulas_in_words(data: Microdata) -> str:
    """`note (3 cells), the name of =sum`; empty where there is none."""
    cells = [f"{name} ({count:,} cell{'' if count == 1 else 's'})" for name, count in formula_cells(data).items()]
    found = [*cells, *(f"the name of {name}" for name in formula_names(data))]
    more = f" and {len(found) - _NAMED} more columns" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more
