"""Read numerals as doubles, only if the double is exactly what they say: further digits could say something else."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

_SURE_DIGITS = 15  # so many significant digits name one double each, wherever doubles are normal
_NORMAL_FROM = 2.0**-1022
_MOST_DIGITS = 800  # the longest double has 767 significant ones


def parse_doubles(cells: pa.Array) -> pa.Array | None:
    """The numerals as doubles; None where one of them says another number than its double.

    A double may be written with any number of digits, rightly rounded: 0.1, 0.10, 0.10000000000000001, 0.1000000000000000056.
    """
    numbers = cells.cast(pa.float64())
    digits = pc.replace_substring_regex(pc.replace_substring_regex(cells, r"[eE].*$", ""), r"^[-+.0]+|\.|0+$", "")
    digits = pc.replace_substring_regex(digits, "0+$", "")  # of 1200.: the point is gone now
    long = pc.greater(pc.utf8_length(digits), _SURE_DIGITS)
    small = pc.and_(pc.greater(pc.utf8_length(digits), 0), pc.less(pc.abs(numbers), _NORMAL_FROM))
    doubtful = pc.fill_null(pc.or_(long, small), False)
    pairs = zip(cells.filter(doubtful).to_pylist(), numbers.filter(doubtful).to_pylist(), strict=True)
    return numbers if all(_says(cell, number) for cell, number in pairs) else None


def _says(cell: str, number: float) -> bool:
    mantissa = cell.lower().partition("e")[0].lstrip("-+.0").replace(".", "")
    if number == 0 or len(mantissa) > _MOST_DIGITS:
        return False
    named = Decimal(cell)
    digits = {len(mantissa), len(mantissa.rstrip("0"))}
    return named == Decimal(repr(number)) or any(named == Decimal(f"{number:.{n - 1}e}") for n in digits)
