"""Cells of text as values: what a column of a text table holds, by its declaration or by stated rules.

The rules, in this order. The empty cell and the declared `missing` codes are missing. A declared `order`, `scale: code` and
`scale: free_text` keep text. Declared dates and times are read as such, or refused (`calendar_rules`). All cells plain whole
numbers within 64 bits: integer. All cells plain decimals that a double holds: double. All cells ISO 8601 dates, moments or
times of day that exist: that, unless `scale: nominal` is declared. All cells numbers, dates or times but for usual words for
"missing": refused, because guessing would turn data into gaps or gaps into a category. Otherwise text, and a note says what
kept it from being numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.codebooks.codebook import Attributes, AttributeSpec
from tasks.ingest.columns.calendar_rules import as_declared, as_found, type_without_values
from tasks.ingest.columns.cell_patterns import all_match, may_all_match
from tasks.ingest.columns.iso_cells import find_calendar_kind
from tasks.ingest.columns.numerals import COMMA_NUMBER, INTEGER, NUMBER, is_infinity_word, is_missing_word, why_not_a_number
from tasks.ingest.columns.plain_numbers import (
    EXACT_DOUBLE,
    has_vanished,
    parse_by_parts,
    parse_plain_doubles,
    parse_plain_integers,
)
from tasks.microdata.chunks import join_chunks
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale

NumberRule = Callable[[str], bool]
_KEPT_AS_TEXT = frozenset({Scale.CODE, Scale.FREE_TEXT})
_NO_NUMBERS = _KEPT_AS_TEXT | {Scale.DATE, Scale.TIME}
_SHOWN_ROWS = 3
_EXPLAINED = 1000


def from_text(column: pa.ChunkedArray, spec: AttributeSpec, label: str) -> tuple[pa.Array, tuple[str, ...]]:
    """One column of text cells as a logical type but bool, with notes that hold no cell; numbers stay as they are.

    Raises InputError: a cell that is no number where `scale: numeric` (or ordinal without `order`) is declared, no date or time
    where such is; numbers or dates mixed with undeclared words for "missing"; infinities; numbers too large or too small for a
    double.
    """
    if column.type != pa.string():
        return join_chunks(column), ()
    cells, notes = _blank_missing_codes(column, spec.missing)
    if spec.order is not None or spec.scale in _KEPT_AS_TEXT:
        return join_chunks(cells), notes
    if cells.null_count == len(cells):
        kind = pa.float64() if _is_numeric(spec) else type_without_values(spec)
        return pa.nulls(len(cells), kind), (*notes, "no cell holds a value")
    if spec.scale in {Scale.DATE, Scale.TIME} or spec.date_format is not None:
        values, remarks = as_declared(join_chunks(cells), spec, label)
        return values, (*notes, *remarks)
    return _numbers_or_text(cells, spec, label, notes)


def create_number_rule(attributes: Attributes | None) -> NumberRule:
    """The rule by which a column of plain numbers, by its name, is one of numbers whatever else would follow from its cells.

    None: it never is.
    """
    if attributes is None:
        return lambda _: False
    others = {spec.name for spec in attributes if not _may_be_numbers(spec)}
    return lambda name: name not in others


def _may_be_numbers(spec: AttributeSpec) -> bool:
    return spec.order is None and not spec.missing and spec.scale not in _NO_NUMBERS and not (spec.date_format or spec.decimal)


def _numbers_or_text(
    column: pa.ChunkedArray, spec: AttributeSpec, label: str, notes: tuple[str, ...]
) -> tuple[pa.Array, tuple[str, ...]]:
    column = _convert_decimal_commas(column, spec, label) if spec.decimal == "," else column
    where = f"{label}: column {spec.name}"
    if may_all_match(column, INTEGER):
        integers = parse_by_parts(column, parse_plain_integers)
        if integers is not None:
            return join_chunks(integers), notes
        if all_match(column, INTEGER):  # all are plain: they do not fit
            return _too_precise(column, spec, where, notes, "whole numbers beyond 64 bits")
    if may_all_match(column, NUMBER):
        doubles = parse_by_parts(column, parse_plain_doubles)
        if doubles is not None or all_match(column, NUMBER):
            return _doubles(column, doubles, spec, where, notes)
    cells = join_chunks(column)
    if spec.scale not in {None, Scale.ORDINAL}:
        return _text(cells, spec, label, notes)
    values, remarks = as_found(cells)
    if values is not None or remarks:
        return cells if values is None else values, (*notes, *remarks)
    return _text(cells, spec, label, notes)


def _convert_decimal_commas(cells: pa.ChunkedArray, spec: AttributeSpec, label: str) -> pa.ChunkedArray:
    number = pc.match_substring_regex(cells, COMMA_NUMBER)
    if not pc.all(number).as_py():
        raise _not_numeric(cells, number, spec.name, label)
    return pc.replace_substring(cells, ",", ".", max_replacements=1)


def _is_numeric(spec: AttributeSpec) -> bool:
    return spec.scale is Scale.NUMERIC or spec.decimal is not None


def _blank_missing_codes(cells: pa.ChunkedArray, codes: tuple[str, ...]) -> tuple[pa.ChunkedArray, tuple[str, ...]]:
    if not codes:
        return cells, ()
    hit = pc.is_in(cells, value_set=pa.array(codes, type=pa.string()))
    count = pc.sum(hit).as_py() or 0
    if not count:
        return cells, ()
    return pc.if_else(hit, pa.scalar(None, pa.string()), cells), (f"{count:,} cells hold a declared missing code",)


def _doubles(
    cells: pa.ChunkedArray, numbers: pa.ChunkedArray | None, spec: AttributeSpec, where: str, notes: tuple[str, ...]
) -> tuple[pa.Array, tuple[str, ...]]:
    """numbers: the cells as doubles, if known."""
    numbers = join_chunks(cells.cast(pa.float64()) if numbers is None else numbers)
    ends = pc.min_max(numbers).as_py()
    least, most = ends["min"], ends["max"]
    if math.isinf(least) or math.isinf(most) or has_vanished(cells, numbers):
        raise InputError("out-of-range", where, "A number is too large or too small for a double.", "about 1e-308 to 1e308",
                         "rescale the column")  # fmt: skip
    if max(-least, most) >= EXACT_DOUBLE:
        large = cells.filter(pc.greater_equal(pc.abs(numbers), float(EXACT_DOUBLE)))
        if pc.any(pc.match_substring_regex(large, INTEGER)).as_py():
            return _too_precise(cells, spec, where, notes, "whole numbers from 2^53 on among decimals")
    return numbers, notes


def _too_precise(
    cells: pa.ChunkedArray, spec: AttributeSpec, where: str, notes: tuple[str, ...], what: str
) -> tuple[pa.Array, tuple[str, ...]]:
    if _needs_numbers(spec):
        raise InputError("beyond-64-bits", where, f"The column is declared {spec.scale} and holds {what}.",
                         "numbers that keep all their digits", "declare `scale: code` if they are codes")  # fmt: skip
    return join_chunks(cells), (*notes, f"{what}: kept as text")


def _needs_numbers(spec: AttributeSpec) -> bool:
    return spec.scale in {Scale.NUMERIC, Scale.ORDINAL}


def _text(cells: pa.Array, spec: AttributeSpec, label: str, notes: tuple[str, ...]) -> tuple[pa.Array, tuple[str, ...]]:
    if _is_numeric(spec):
        raise _not_numeric(cells, pc.match_substring_regex(cells, NUMBER), spec.name, label)
    texts = pc.unique(cells).drop_null()
    is_number = pc.match_substring_regex(texts, NUMBER)
    numbers, others = texts.filter(is_number), texts.filter(pc.invert(is_number)).to_pylist()
    n_numbers = pc.sum(pc.is_in(cells, value_set=numbers)).as_py() if len(numbers) else 0
    if spec.scale is not Scale.NOMINAL and n_numbers:
        _refuse_almost(cells, others, "numbers", spec.name, label)
    if spec.scale is not Scale.NOMINAL and not n_numbers:
        _refuse_almost_dates(cells, others, spec.name, label)
    reasons = sorted({why_not_a_number(cell)[0] for cell in others[:_EXPLAINED]} - {"it is text"})
    mixed = [f"{n_numbers:,} of {len(cells) - cells.null_count:,} cells are numbers; kept as text"] if n_numbers else []
    found = [f"kept as text; of some cells: {'; '.join(reasons)}"] if reasons else []
    return cells, (*notes, *mixed, *found)


def _not_numeric(cells: pa.Array | pa.ChunkedArray, number: pa.Array | pa.ChunkedArray, name: str, label: str) -> InputError:
    wrong = pc.indices_nonzero(pc.fill_null(pc.invert(number), False))
    first = wrong[0].as_py()
    reason, remedy = why_not_a_number(cells[first].as_py())
    return InputError(
        "not-numeric",
        f"{label}: row {first + 1}, column {name}",
        f"The column is declared numeric and {len(wrong):,} of its cells are no plain numbers: in the first, {reason}.",
        "digits, a decimal point, an exponent",
        remedy,
        value=cells[first].as_py(),
    )


def _refuse_almost_dates(cells: pa.Array, texts: list[str], name: str, label: str) -> None:
    words = [text for text in texts if is_missing_word(text)]
    if words and find_calendar_kind(pa.array(set(texts).difference(words), type=pa.string())) is not None:
        _refuse_almost(cells, words, "dates or times", name, label)


def _refuse_almost(cells: pa.Array, others: list[str], what: str, name: str, label: str) -> None:
    """InputError where everything but words for infinity or for "missing" is a number (a date, a time)."""
    infinite = [cell for cell in others if is_infinity_word(cell)]
    missing = [cell for cell in others if is_missing_word(cell)]
    if len(infinite) + len(missing) < len(others):
        return
    words = infinite or missing
    rows = pc.indices_nonzero(pc.fill_null(pc.is_in(cells, value_set=pa.array(words)), False)).to_pylist()
    shown = ", ".join(str(row + 1) for row in rows[:_SHOWN_ROWS])
    where = f"{label}: column {name}, row {shown}{', ...' if len(rows) > _SHOWN_ROWS else ''}"
    if infinite:
        raise InputError("infinite", where, f"{len(rows):,} cells are infinite.", "finite numbers",
                         "make them missing at the source", value=words[0])  # fmt: skip
    raise InputError(
        "undeclared-missing",
        where,
        f"All cells are {what} but for {len(rows):,} cells with {len(words)} word(s) that usually mean a missing value.",
        f"{what} and empty cells, or declared codes",
        f"declare `missing: {words!r}` on the attribute, or `scale: nominal` if they are data",
        value=words[0],
    )
