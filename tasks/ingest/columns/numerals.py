"""Read cells of text as numbers, and say why a cell is none."""

from __future__ import annotations

import re

from tasks.ingest.columns.iso_cells import DECLARE_FORMAT, LIKE_CALENDAR

INTEGER = r"^(0|-?[1-9][0-9]*)$"
NUMBER = r"^-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
COMMA_NUMBER = NUMBER.replace(r"\.", ",")
INFINITY_WORDS = frozenset({"inf", "infinity", "+inf", "-inf", "+infinity", "-infinity", "∞", "-∞"})
_BLANK = ""  # a cell of nothing but blanks, stripped
MISSING_WORDS = frozenset(
    {_BLANK, "na", "n/a", "n.a.", "#n/a", "nan", "-nan", "<na>", "null", "none", "nil", "missing", "unknown"}
    | set(".-?*")
    | {"--"}
)
_REASONS = tuple((re.compile(pattern, re.DOTALL), reason, remedy) for pattern, reason, remedy in (
    (r"-?0[0-9]+(\.[0-9]*)?", "it has leading zeros, as a code has", "declare `scale: code`, or take the zeros away"),
    (r"\s+\S.*|.*\S\s+", "it has blanks around it", "take the blanks away"),
    (r"\+.*", "it has a plus sign", "take the plus sign away"),
    (r"-?[0-9]{1,3}([,.' \u00a0\u202f][0-9]{3})+([.,][0-9]+)?", "it has thousands separators", "write digits alone"),
    (r"-?[0-9]*,[0-9]+", "it has a decimal comma", "declare `decimal: ','` on the attribute, or write decimal points"),
    (r".*[%€$£].*", "it has a unit", "move the unit out of the cells"),
    (LIKE_CALENDAR, "it looks like a date or time whose format nobody declared", DECLARE_FORMAT),
    (NUMBER, "it has a decimal point and `decimal: ','` is declared", "write commas alone, or leave `decimal` out"),
))  # fmt: skip


def is_missing_word(cell: str) -> bool:
    """Is the cell one of the usual ways of writing "no value"? The empty cell is missing without asking."""
    return cell.strip().casefold() in MISSING_WORDS


def is_infinity_word(cell: str) -> bool:
    return cell.strip().casefold() in INFINITY_WORDS


def why_not_a_number(cell: str) -> tuple[str, str]:
    """The reason why a cell is not a plain number, and what to do about it; neither holds the cell."""
    if is_infinity_word(cell):
        return "it is an infinity", "an infinite value cannot be masked or measured: make it missing at the source"
    if is_missing_word(cell):
        return "it is a word for a missing value", "declare it: `missing: [...]` on the attribute"
    found = next(((reason, remedy) for pattern, reason, remedy in _REASONS if pattern.fullmatch(cell)), None)
    return found or ("it is text", "correct the cell, declare it `missing`, or declare another scale")
