import csv
import io
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.ingest.readers import plain_cells
from tasks.ingest.readers.delimited import read
from tasks.ingest.readers.plain_cells import parse_plain_cells
from tasks.microdata.errors import InputError

LONGEST = 1 << 20
BLOCKS = st.sampled_from([16, 24, 8 << 20])  # bytes that Arrow reads at once


def parse_strictly(body: str, width: int) -> list[list[str | None]] | None:
    """The slow, obvious twin: the rows by the module `csv`, or None where a row is of another length, blank or malformed."""
    try:
        rows = list(csv.reader(io.StringIO(body.rstrip("\r\n"), newline=""), strict=True))
    except csv.Error:
        return None
    if any(len(row) != width for row in rows):
        return None
    return [[cell or None for cell in row] for row in rows]


def parse(body: str, width: int) -> list[list[str | None]] | None:
    columns = parse_plain_cells(io.BytesIO(body.encode()), [f"c{i}" for i in range(width)], ",", LONGEST)
    return None if columns is None else [list(row) for row in zip(*(column.to_pylist() for column in columns), strict=True)]


@settings(max_examples=600, deadline=None)
@given(st.text('a1,,,"""\n\n\r ;é', min_size=1, max_size=30), st.integers(2, 3), BLOCKS)
@example('a,"b\nc"\nd,"e"', 2, 16)
@example('a,"b""c"\nd,""""', 2, 16)
@example('a,b"c"d\ne,f', 2, 16)
@example('"a"b,c\nd,e', 2, 16)
@example('a,"b\r\nc"\r\nd,e\r\n', 2, 16)
@example('"q""r","x\r\ny"\n"x\r\ny","\r\n"\n"a","\r\n"\na,"a"', 2, 16)  # Arrow loses a line feed at the end of a block
@example('"","\n"', 2, 16)
def test_what_is_read_is_what_a_strict_parser_reads(body: str, width: int, block: int) -> None:
    with patch.object(plain_cells, "_BLOCK_BYTES", block):
        found = parse(body, width)
    assert found is None or found == parse_strictly(body, width)


CELL = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00\ufeff\r"), max_size=6)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=6), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
def test_what_a_csv_writer_writes_needs_no_strict_parser(drawn: list[tuple[str, str, str]], quoting: int) -> None:
    out = io.StringIO()
    could_hide_a_line = not all(any(row) for row in drawn)
    rows = [[re.sub("\n+", "\n", cell) if could_hide_a_line else cell for cell in row] for row in drawn]
    csv.writer(out, lineterminator="\n", quoting=quoting).writerows(rows)
    assert parse(out.getvalue(), 3) == [[cell or None for cell in row] for row in rows]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(CELL, CELL), min_size=20, max_size=60), st.integers(64, 200), st.sampled_from(["\n", "\r\n"]))
def test_a_file_of_many_pieces(rows: list[tuple[str, str]], block: int, end: str) -> None:
    rows = [
        (f"{i}{first}".replace("\n", " "), second.replace("\n", "" if end == "\r\n" else "\n"))
        for i, (first, second) in enumerate(rows)
    ]
    out = io.StringIO()
    csv.writer(out, lineterminator=end).writerows(rows)
    with patch.multiple(plain_cells, _BLOCK_BYTES=block, _PLACES_AT_ONCE=3):
        assert parse(out.getvalue(), 2) == [[cell or None for cell in row] for row in rows]


@settings(max_examples=300, deadline=None)
@given(st.text('a",\n', max_size=30), st.sampled_from([1, 3, 1 << 13]))
@example('b\n"c"d,e', 1)
@example('b\n"c"d,e', 1 << 13)
@example('b\nc"d"",e"', 1)
def test_every_quote_is_judged_whichever_part_it_is_in(rows: str, at_once: int) -> None:
    body = f'1,2\n"a",{rows}'
    with patch.object(plain_cells, "_PLACES_AT_ONCE", at_once):
        found = parse(body, 2)
    assert found is None or found == parse_strictly(body, 2)


@pytest.mark.parametrize("rows", range(1, 40))
@pytest.mark.parametrize("after", ["", "\n", "\n\n\n", "\r\n"])
def test_pieces_end_anywhere(rows: int, after: str) -> None:
    with patch.object(plain_cells, "_BLOCK_BYTES", 32):
        found = parse("1,2\n" * (rows - 1) + "1,2" + after, 2)
    assert found == [["1", "2"]] * rows or (found is None and len(after) > 1)  # a piece may end before a blank line


@settings(max_examples=300, deadline=None)
@given(st.text('a"\n', max_size=20))
def test_the_last_row_of_a_piece_ends_outside_of_quotes(rows: str) -> None:
    buffer = bytearray(b"\n" + rows.encode())
    ends = [at + 1 for at in range(1, len(buffer)) if buffer[at] == 10 and buffer.count(b'"', 0, at) % 2 == 0]
    quotes = plain_cells._find_letters(buffer, len(buffer), b'"')
    assert plain_cells._find_last_row(buffer, quotes) == max(ends, default=0)


@settings(max_examples=300, deadline=None)
@given(st.text('a",\r\n', max_size=30), st.text("a\n", max_size=5))
def test_letters_and_the_end_are_found_part_by_part(rows: str, stale: str) -> None:
    """Python's own search is the twin. stale: what an earlier piece left behind the rows."""
    buffer, filled = bytearray(f"\n{rows}{stale}".encode()), 1 + len(rows)
    with patch.multiple(plain_cells, _AT_ONCE=4, _TAIL_BYTES=4):
        for letter in b'",\r\n':
            places = [at for at in range(filled) if buffer[at] == letter]
            found = plain_cells._find_letters(buffer, filled, bytes([letter])).tolist()
            assert found == (places if places[-1:] > [0] else [])
        assert plain_cells._find_end(buffer, filled) == len(f"\n{rows}".rstrip("\r\n"))


def test_a_file_that_grows_is_left_to_the_reader_that_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "grows.csv"
    path.write_bytes(b"1,2\n" * 100)
    with path.open("rb") as file, patch.object(plain_cells, "_BLOCK_BYTES", 64):
        pieces = plain_cells._read_whole_rows(file)
        assert next(pieces)[1] > 1
        with path.open("ab") as more:
            more.write(b"1,2\n" * 100)
        assert [end for _, end, _ in pieces][-1] == 0
    with path.open("rb") as file:
        assert len(parse_plain_cells(file, ["x", "y"], ",", LONGEST)[0]) == 200


@pytest.mark.parametrize("odd", [b"\0", b"\xfc", b"\xed\xa0\x80", b"\n", b"\r", b"\xef\xbb\xbf", b'"', b","])
@pytest.mark.parametrize("at", [0, 3, 5, 6, 7, 9])  # in a cell, before a delimiter, at a row's beginning or end
def test_nothing_odd_is_missed_in_a_later_piece(odd: bytes, at: int) -> None:
    body = b"ab,cd\n" * 50
    with patch.object(plain_cells, "_BLOCK_BYTES", 64):
        for place in range(150 + at, 216, 6):  # so that each place of a piece has its turn
            content = body[:place] + odd + body[place:]
            columns = parse_plain_cells(io.BytesIO(content), ["x", "y"], ",", LONGEST)
            if columns is not None:
                assert list(zip(*(column.to_pylist() for column in columns), strict=True)) == [
                    tuple(row) for row in csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
                ]


@pytest.mark.parametrize(
    "body",
    [
        'a,b"c"\n',  # a quote inside a cell is a character
        '"a"b,c\n',  # something after the end of a quoted cell
        'a,"b\n',  # never closed
        "a,b\rc,d\n",  # a carriage return alone ends a line for some readers
        "a,b,c\n",  # too long
        "a\n",  # too short
        "a,b\n\nc,d\n",  # blank
        ',""\na,"b\n\nc"\n',  # two line feeds, and a row that could be a blank one
        "\ufeffa,b\n",  # a mark before the first cell is a character of it, which Arrow drops
        "",
    ],
)
def test_what_only_a_strict_parser_can_tell_is_left_to_it(body: str) -> None:
    assert parse(body, 2) is None


def test_one_column_has_blank_lines_and_is_left_to_the_strict_parser() -> None:
    assert parse_plain_cells(io.BytesIO(b"1\n\n2\n"), ["c"], ",", LONGEST) is None


def test_a_cell_beyond_the_limit_is_left_to_the_strict_parser() -> None:
    assert parse_plain_cells(io.BytesIO(b"a,bc\n"), ["x", "y"], ",", 2) is not None
    assert parse_plain_cells(io.BytesIO(b"a,bcd\n"), ["x", "y"], ",", 2) is None


def test_a_damaged_row_far_down_is_named_as_before() -> None:
    content = b"a,b\n" + b"1,2\n" * 100_000 + b"1,2,3\n"
    with pytest.raises(InputError) as caught:
        read(io.BytesIO(content), "a.csv")
    assert (caught.value.code, caught.value.where) == ("ragged-row", "a.csv: row 100001")
