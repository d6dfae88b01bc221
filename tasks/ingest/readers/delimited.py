"""Delimited text tables, read as text with a real parser: quotes, doubled quotes and line breaks inside quotes.

Nothing is typed here but plain numbers, for a caller who says what is declared, and nothing is repaired: a row that is too long
or too short, a quote that is never closed or a zero byte is an error with its place, because every reader that repairs silently
moves values into the wrong column.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from functools import partial
from io import BufferedIOBase, BytesIO, StringIO
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from tasks.ingest.codebooks.codebook import Attributes
from tasks.ingest.columns.typing_rules import NumberRule, create_number_rule
from tasks.ingest.readers.encoding import decode
from tasks.ingest.readers.file_format import FileFormat
from tasks.ingest.readers.plain_cells import parse_plain_cells
from tasks.ingest.readers.raw import RawTable, read_whole, refuse_bad_names
from tasks.microdata.errors import InputError

DELIMITERS = (",", ";", "\t", "|")
_BINARY = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"%PDF", "a PDF"),
    (b"$FL2", "an SPSS file"),
    (b"SQLite format 3", "an SQLite database"),
)
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
_SAMPLE_CHARACTERS, _SAMPLE_ROWS, _CHUNK_ROWS = 1 << 17, 200, 1 << 16
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")  # found one by one: a text stream would first copy the whole sample
_LONGEST_CELL = 1 << 20


def read(
    file: BufferedIOBase,
    label: str,
    *,
    encoding: str | None = None,
    delimiter: str | None = None,
    attributes: Attributes | None = None,
) -> RawTable:
    """A text table as columns of text; the empty cell is null, `NA` is a text like any other.

    Parameters
    ----------
    file: open at its beginning. label: its name in messages.
    encoding, delimiter: detected where None. The delimiter is the one of comma, semicolon, tab and bar that splits the header
        and whose count is the same in most rows; a header that none of them splits is a table of one column.
    attributes: what is declared of the columns, by whoever types them next with `typing_rules`: those that will be numbers may
        then be numbers already. None: all are text.

    Raises
    ------
    InputError: empty file; header only; a row of another length; bad or repeated names; a zero byte; undecodable bytes; a
        quote that is not closed; a binary file; a blank line between rows (those before the header
        and after the last row are ignored).

    Rows are counted from 1 after the header; the line is that of the file. 0.15 s for 1,000,000 rows of 6 numbers;
    where a quote stands inside a cell, or a row is damaged, 5 s.
    """
    may_be_numbers = create_number_rule(attributes)
    table = _read_plain_table(file, label, delimiter, may_be_numbers) if encoding is None else None
    if table is not None:
        return table
    file.seek(0)
    content = read_whole(file, label)
    _refuse_binary(content, label, encoding)
    text, used, notes = decode(content, label, encoding)
    if not text.strip():
        raise InputError("empty-file", label, "The file is empty.", "a header line and at least one row", "check the export")
    separator = delimiter or _detect_delimiter(text)
    plain = None if encoding is None and used == "utf-8" else _parse_plain_text(text, separator, label, may_be_numbers)
    names, columns = plain or _parse_table(text, separator, label)
    return _create_table(names, columns, label, used, separator, notes)


def _create_table(
    names: list[str], columns: list[pa.ChunkedArray], label: str, encoding: str, delimiter: str, notes: tuple[str, ...] = ()
) -> RawTable:
    table = pa.table(dict(zip(names, columns, strict=True)))
    notes = (*notes, *_note_rows_inside_cells(table, delimiter))
    return RawTable(table=table, label=label, format="csv", as_text=True, encoding=encoding, delimiter=delimiter, notes=notes)


def _note_rows_inside_cells(table: pa.Table, delimiter: str) -> tuple[str, ...]:
    """The first cell with a whole line inside that has as many delimiters as a row: a quote by mistake swallows rows."""
    n_delimiters = table.num_columns - 1
    if n_delimiters < 2:  # any text may have one
        return ()
    for name in table.column_names:
        cells = table.column(name)
        if cells.type != pa.string() or not any(_has_line_feed(chunk) for chunk in cells.chunks):
            continue
        may_be = pc.and_(pc.match_substring(cells, "\n"), pc.greater_equal(pc.count_substring(cells, delimiter), n_delimiters))
        for row in pc.indices_nonzero(may_be).to_pylist():
            if any(line.count(delimiter) == n_delimiters for line in cells[row].as_py().split("\n")[1:]):
                where = f"a cell of column {name} (row {row + 1:,})"
                return (f"{where} holds lines that look like rows of the table, and counts as one value of one record: was its "
                        "quote opened by mistake?",)  # fmt: skip
    return ()


def _has_line_feed(texts: pa.Array) -> bool:
    return re.search(b"\n", texts.buffers()[2] or b"") is not None


def _read_plain_table(file: BufferedIOBase, label: str, delimiter: str | None, may_be_numbers: NumberRule) -> RawTable | None:
    """The table of a file in UTF-8 without a mark, where `_parse_plain` can read it; else None."""
    beginning = file.read(_SAMPLE_CHARACTERS)
    if beginning.startswith((codecs.BOM_UTF8, *_WIDE, *(magic for magic, _ in _BINARY))):
        return None
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        return None
    separator = delimiter or _detect_delimiter(text, cut=len(beginning) == _SAMPLE_CHARACTERS)
    file.seek(0)
    plain = _parse_plain(file, separator, label, may_be_numbers)
    return None if plain is None else _create_table(*plain, label, "utf-8", separator)


def _refuse_binary(content: bytes, label: str, encoding: str | None) -> None:
    kind = next((kind for magic, kind in _BINARY if content.startswith(magic)), None)
    if kind is not None:
        remedy = "read it with `source: {sql: ..., url_env: ...}`" if "SQLite" in kind else "export the table as CSV or Parquet"
        raise InputError("binary-file", label, f"The file is {kind}, not a text table.",
                         "CSV, Parquet, or a file of SPSS, Stata or SAS", remedy)  # fmt: skip
    wide = content.startswith(_WIDE) or (encoding or "").lower().replace("_", "-").startswith(("utf-16", "utf-32", "utf16"))
    if b"\x00" in content and not wide:
        line = content.count(b"\n", 0, content.index(b"\x00")) + 1
        raise InputError("zero-byte", f"{label}: line {line}", "The file holds a zero byte.", "a text table",
                         "repair the export; for UTF-16 without a byte order mark declare `source.encoding`")  # fmt: skip


def _detect_delimiter(text: str, *, cut: bool = False) -> str:
    """That of the rows at the beginning of a text. cut: the last of these may be only a part of one."""
    sample = text[:_SAMPLE_CHARACTERS]
    score = partial(_score, sample, cut=cut or len(sample) < len(text))
    scores = {delimiter: score(delimiter) for delimiter in DELIMITERS if delimiter in sample}
    if not any(splits_header for splits_header, *_ in scores.values()):  # those that are not there count too
        scores = {delimiter: score(delimiter) for delimiter in DELIMITERS}
    return max(scores, key=lambda delimiter: scores[delimiter])


def count_columns(text: str, delimiter: str | None = None) -> int:
    """How many columns the header of a text table has, given its beginning; 0 where that cannot be parsed."""
    rows = csv.reader(StringIO(text.lstrip("\ufeff\r\n"), newline=""), delimiter=delimiter or _detect_delimiter(text))
    try:
        return len(next(rows, []))
    except csv.Error:
        return 0


def _score(sample: str, delimiter: str, *, cut: bool) -> tuple[bool, float, int]:
    """Does it split the header; in what share of rows as often as in the header; into how many columns."""
    rows = csv.reader((line[0] for line in _LINE.finditer(sample)), delimiter=delimiter)
    try:
        lengths = [len(row) for row in islice(rows, _SAMPLE_ROWS) if row]
    except csv.Error:
        return False, 0.0, 0
    if not lengths:
        return False, 0.0, 0
    width, body = lengths[0], lengths[1 : -1 if cut and len(lengths) > 2 else None]
    return width > 1, sum(length == width for length in body) / max(len(body), 1), width


def _parse_plain_text(
    text: str, delimiter: str, label: str, may_be_numbers: NumberRule
) -> tuple[list[str], list[pa.ChunkedArray]] | None:
    try:
        return _parse_plain(BytesIO(text.encode()), delimiter, label, may_be_numbers)
    except UnicodeEncodeError:
        return None


def _parse_plain(
    file: BufferedIOBase, delimiter: str, label: str, may_be_numbers: NumberRule
) -> tuple[list[str], list[pa.ChunkedArray]] | None:
    """The table in UTF-8, where its header is one line and `parse_plain_cells` can read the rest; else None."""
    header = file.readline(_LONGEST_CELL)
    try:
        line = header.decode().removesuffix("\n").removesuffix("\r")
        names = next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except (csv.Error, UnicodeDecodeError):
        return None
    if not header.endswith(b"\n") or not line.strip() or "\r" in line or "\0" in line:
        return None
    try:
        refuse_bad_names(names, label)
    except InputError:  # raised again where the strict parser reads the table, if nothing worse is wrong with the file
        return None
    numeric = [name for name in names if may_be_numbers(name)]
    columns = parse_plain_cells(file, names, delimiter, _LONGEST_CELL, numeric)
    return None if columns is None else (names, columns)


def _parse_table(text: str, delimiter: str, label: str) -> tuple[list[str], list[pa.ChunkedArray]]:
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = _rows(reader, label)
    _, names = next(rows)
    refuse_bad_names(names, label)
    chunks = list(_chunks(rows, len(names), label, delimiter))
    if not chunks:
        raise InputError("no-rows", label, "The table has a header but no rows.", "at least one row", "check the export")
    return names, [pa.chunked_array(column) for column in zip(*chunks, strict=True)]


def _rows(reader: Iterator[list[str]], label: str) -> Iterator[tuple[int, list[str]]]:
    """Row number and cells; the header is row 0. A blank line is an error unless only blank lines follow."""
    blank: int | None = None
    number = -1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _create_row_error(label, number + 1, str(error)) from None
        if not row:
            blank = number + 1 if blank is None and number >= 0 else blank
            continue
        if blank is not None:
            raise InputError("blank-line", f"{label}: row {blank}", "A blank line stands between rows.", "one line per row",
                             'delete it; in a table of one column a missing cell is written ""')  # fmt: skip
        number += 1
        yield number, row


def _create_row_error(label: str, row: int, reason: str) -> InputError:
    where = f"{label}: row {row}" if row else f"{label}: header"
    return InputError("malformed-row", where, f"The row cannot be parsed: {reason}.", 'quotes closed and doubled inside ("")',
                      "look for a quote that is never closed, at this row or before it")  # fmt: skip


def _chunks(rows: Iterator[tuple[int, list[str]]], width: int, label: str, delimiter: str) -> Iterator[list[pa.Array]]:
    while block := list(islice(rows, _CHUNK_ROWS)):
        _refuse_ragged(block, width, label, delimiter)
        yield [_cells(column) for column in zip(*(row for _, row in block), strict=True)]


def _refuse_ragged(block: list[tuple[int, list[str]]], width: int, label: str, delimiter: str) -> None:
    for number, row in block:
        if len(row) != width:
            kind = "long" if len(row) > width else "short"
            reason = 'quote cells that hold the delimiter ("a, b")' if len(row) > width else "look whether the row was cut off"
            raise InputError(
                "ragged-row",
                f"{label}: row {number}",
                f"The row is too {kind}: {len(row)} cells where the header has {width} (delimiter {delimiter!r}).",
                f"{width} cells",
                f"{reason}; if the delimiter is wrong, declare `source.delimiter`",
            )


def _cells(column: tuple[str, ...]) -> pa.Array:
    cells = pa.array(column, type=pa.string())
    return pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells)


FORMAT = FileFormat(
    name="text tables",
    suffixes=frozenset(),
    recognise=lambda _: True,
    read=read,
    options=("encoding", "delimiter"),
)
