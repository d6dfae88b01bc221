"""Texts that a spreadsheet would take for a formula: counted and told, never changed.

The released bytes must read back to the values that were certified, so nothing is put before such a cell to make it harmless.
"""

from __future__ import annotations

import re

import pyarrow.compute as pc

from tasks.microdata.table import Microdata

_FORMULA = r"(?s)^[=+\-@\t\r]."  # a sign alone, as in a test that is + or -, is no formula
_NAMED = 5


def formula_cells(data: Microdata) -> dict[str, int]:
    """The text columns that hold cells which begin as a formula does (=, +, -, @, tab, CR, and more), and how many cells."""
    texts = (name for name in data.names if data.is_text(name))
    counts = {name: int(pc.sum(pc.match_substring_regex(data.column(name), _FORMULA)).as_py() or 0) for name in texts}
    return {name: count for name, count in counts.items() if count}


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
