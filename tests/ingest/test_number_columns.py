"""Numbers read from the bytes of a text table are those that its text would be typed as, and all other cells are text."""

import csv
import io
import struct
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.columns.typing_rules import from_text
from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.readers import delimited, number_columns
from tasks.ingest.readers.number_columns import TypedCells, parse_number_columns
from tasks.ingest.sources import SourceSpec
from tasks.microdata.errors import InputError
from tasks.microdata.table import Microdata

LONGEST = 1 << 20
PLAN = IngestPlan(source=SourceSpec(table="a.csv"))


@pytest.fixture(autouse=True)
def small_blocks() -> Iterator[None]:
    """So that few rows are many blocks, and columns may turn out to be texts after the first one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(number_columns, "_FIRST_ROWS", 2)
        patch.setattr(number_columns, "_BLOCK_ROWS", 3)
        patch.setattr(delimited, "_LARGE_BYTES", 0)
        yield


def parse(body: str, width: int = 2) -> TypedCells | None:
    return parse_number_columns(body.encode(), [f"c{i}" for i in range(width)], ",", LONGEST)


def read_columns(body: str, width: int = 2) -> list[tuple[str, list[object]]]:
    found = parse(body, width)
    assert found is not None
    return [(str(column.type), column.to_pylist()) for column in found.columns.values()]


def type_text(cells: list[str | None]) -> pa.Array | None:
    """The slow, obvious twin: the whole column as text, typed by the rules; None where they refuse it or leave it text."""
    try:
        found, notes = from_text(pa.chunked_array([pa.array(cells, pa.string())]), AttributeSpec(name="x"), "a.csv")
    except InputError:
        return None
    return found if found.type in (pa.int64(), pa.float64()) and not notes else None


def bits(values: list[float | None]) -> list[bytes | None]:
    return [None if value is None else struct.pack("d", value + 0.0) for value in values]


def test_worked_table() -> None:
    body = '1,0.5,"a, ""b""",\r\n-20,,c,7\r\n"3",2e3,,\r\n,-0,"",\r\n'
    assert read_columns(body, 4) == [
        ("int64", [1, -20, 3, None]),
        ("double", [0.5, None, 2000.0, 0.0]),
        ("string", ['a, "b"', "c", None, None]),
        ("int64", [None, 7, None, None]),
    ]


def test_a_negative_zero_is_zero() -> None:
    (_, doubles), _ = read_columns("-0,1\n-0.0,2\n-0e5,3\n")
    assert np.signbit(np.array(doubles)).tolist() == [False] * 3


@pytest.mark.parametrize(
    "cell", ["007", "+1", " 1", "1 ", "NA", "nan", "inf", "1e", ".", "-", "--1", "0x1F", "1_0", "1.2.3", "٣"]
)
@pytest.mark.parametrize("row", [0, 1, 4, 7])
def test_a_cell_that_is_no_plain_number_leaves_the_column_text(cell: str, row: int) -> None:
    cells = [str(i) for i in range(8)]
    cells[row] = cell
    found = read_columns("".join(f"{one},{i}.5\n" for i, one in enumerate(cells)))
    assert found == [("string", cells), ("double", [i + 0.5 for i in range(8)])]


@pytest.mark.parametrize(
    "cells",
    [
        ["9223372036854775808", "1"],  # beyond 64 bits
        ["9007199254740992", "0.5"],  # a whole number from 2^53 on among decimals
        ["0.5", "9007199254740993"],
        ["1e400", "1"],  # too large and too small for a double
        ["1e-400", "1"],
        ["0.5", "1" * 400],
    ],
)
def test_numbers_that_would_not_be_kept_leave_the_column_text(cells: list[str]) -> None:
    assert read_columns("".join(f"{cell},a\n" for cell in cells))[0] == ("string", cells)


def test_whole_numbers_become_doubles_where_a_decimal_comes_late() -> None:
    body = "".join(f"{i},x\n" for i in range(10)) + "0.25,x\n11,x\n"
    assert read_columns(body)[0] == ("double", [*map(float, range(10)), 0.25, 11.0])


NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.integers(-100, 100).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=3).map(str),
    st.from_regex(r"-?([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,3})([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.text("-+.0123456789eE ", max_size=8),
)


@settings(max_examples=600, deadline=None)
@given(st.lists(st.one_of(st.just(""), NUMBERS), min_size=1, max_size=9))
@example(["0.1", "123456789012345678", ""])
@example(["1.7976931348623157e308", "4.9e-324", "2.2250738585072011e-308"])
@example(["9007199254740993.0", "1e22", "1e23", "123456789012345678e-5"])
def test_numbers_are_those_of_the_text_to_the_last_bit(cells: list[str]) -> None:
    """Where a cell has more digits than one division of doubles can take, Arrow's parser decides, as it does for texts."""
    found = parse("".join(f"{cell},x\n" for cell in cells))
    assert found is not None
    texts = [cell or None for cell in cells]
    expected = type_text(texts)
    column = found.columns["c0"]
    if expected is None:
        assert (str(column.type), column.to_pylist()) == ("string", texts)
    elif expected.type == pa.int64():
        whole = column if column.type == pa.int64() else column.cast(pa.int64())  # of 19 digits: left to the rules of texts
        assert whole.to_pylist() == expected.to_pylist()
    else:
        assert bits(column.to_pylist()) == bits(expected.to_pylist())
    assert found.read_text("c0").to_pylist() == texts


def parse_strictly(body: str, width: int) -> list[list[str | None]] | None:
    try:
        rows = list(csv.reader(io.StringIO(body.rstrip("\r\n"), newline=""), strict=True))
    except csv.Error:
        return None
    if any(len(row) != width for row in rows):
        return None
    return [[cell or None for cell in row] for row in rows]


@settings(max_examples=800, deadline=None)
@given(st.text('a1,,,"""\n\n\r ;é.-', min_size=1, max_size=30), st.integers(2, 3))
@example('a,"b\nc"\nd,"e"', 2)
@example('a,"b""c"\nd,""""', 2)
@example('1,"2""3"\n4,"5"', 2)
@example('a,b"c"d\ne,f', 2)
@example('"a"b,c\nd,e', 2)
@example('1,"2"3\n4,5', 2)
@example('a,"b\r\nc"\r\nd,e\r\n', 2)
@example('"","\n"', 2)
def test_cells_are_those_of_a_strict_parser(body: str, width: int) -> None:
    found = parse(body, width)
    if found is not None:
        rows = parse_strictly(body, width)
        assert rows is not None
        columns = [found.read_text(name).to_pylist() for name in found.columns]
        assert [list(row) for row in zip(*columns, strict=True)] == rows


CELL = st.one_of(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=6), NUMBERS)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=9), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
def test_whatever_a_csv_writer_writes_is_read(drawn: list[tuple[str, str, str]], quoting: int) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n", quoting=quoting).writerows(drawn)
    found = parse(out.getvalue(), 3)
    assert found is not None
    for position, name in enumerate(found.columns):
        assert found.read_text(name).to_pylist() == [row[position] or None for row in drawn]


@pytest.mark.parametrize(
    "body",
    ['a,b"c"\n', '"a"b,c\n', 'a,"b\n', "a,b\rc,d\n", "a,b,c\n", "a\n", "1,2\n3\n", "a,b\n\nc,d\n", "", '1,"2"3\n', "1,2\r"],
)
def test_what_only_a_strict_parser_can_tell_is_left_to_it(body: str) -> None:
    found = parse(body)
    assert found is None or body == "1,2\r"  # a carriage return at the end ends the last row


def test_one_column_and_long_cells_are_left_to_the_strict_parser() -> None:
    assert parse_number_columns(b"1\n2\n", ["c"], ",", LONGEST) is None
    for cell in (b"bcd", b"1.3", b"123"):
        assert parse_number_columns(b"a," + cell + b"\n", ["x", "y"], ",", 2) is None


CONTENT = "code,x,n,note\n" + "".join(f"{i:03},{i}.50,{i - 9},é {i % 3}\n" for i in range(12))


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"n": {"missing": ["-9", "5"]}},
        {"n": {"missing": ["NA", "-9.0", "-9\n"]}},
        {"n": {"order": [str(i) for i in range(-9, 3)]}},
        {"n": {"scale": "code"}, "x": {"scale": "code"}},
        {"x": {"missing": ["3.5", "3.50"], "scale": "numeric"}},
        {"x": {"decimal": "."}, "n": {"decimal": ","}},
        {"n": {"missing": [str(i) for i in range(-9, 3)]}},
        {"note": {"scale": "nominal"}, "n": {"scale": "ordinal"}},
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_table_is_the_same_whichever_way_it_is_read(declared: dict[str, object], encoding: str) -> None:
    content = CONTENT.encode(encoding)
    plan = IngestPlan.model_validate({"source": {"table": "a.csv"}, "attributes": declared} if declared else PLAN.model_dump())
    fast, slow = (ingest_raw_table(delimited.read(content, "a.csv", as_numbers=asked), plan) for asked in (True, False))
    assert fast.data.arrow.equals(slow.data.arrow)
    assert fast.report == slow.report


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"   \n   \n",
        b"a,b\n",
        b"a,a\n1,2\n",
        b"a,\n1,2\n",
        b"a,b\n1,2,3\n",
        b"a,b\n1,2\n\n3,4\n",
        b"a,b\n\xc3\xa91,2\n\xff,3\n",
        b"x,y\n1,2\nNA,3\n",
        b"x,y\n1,2\ninf,3\n",
        b"x,y\n1.5,2\n1e999,3\n",
    ],
)
def test_what_is_wrong_is_said_in_the_same_words(content: bytes) -> None:
    found = []
    for asked in (True, False):
        with pytest.raises(InputError) as caught:
            ingest_raw_table(delimited.read(content, "a.csv", as_numbers=asked), PLAN)
        found.append((caught.value.code, str(caught.value)))
    assert found[0] == found[1]


def test_a_damaged_letter_is_found_where_the_pieces_of_a_file_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_PIECE_BYTES", 3)
    for text in ("aé日x", "日日é"):
        whole = text.encode()
        assert delimited._is_utf8(whole)
        assert not delimited._is_utf8(whole[:-1] + b"\xff")
        assert not delimited._is_utf8(whole[:2] if text[0] == "日" else whole[:2] + b"a")


def test_small_tables_and_those_who_do_not_ask_get_text(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {str(kind) for kind in delimited.read(b"a,b\n1,2\n", "a.csv").table.schema.types} == {"string"}
    assert {str(kind) for kind in delimited.read(b"a,b\n1,2\n", "a.csv", as_numbers=True).table.schema.types} == {"int64"}
    monkeypatch.setattr(delimited, "_LARGE_BYTES", 100)
    assert {str(kind) for kind in delimited.read(b"a,b\n1,2\n", "a.csv", as_numbers=True).table.schema.types} == {"string"}


def test_a_column_of_one_chunk_is_not_copied() -> None:
    table = Microdata.from_columns({"x": [1.0, 2.0, None]})
    chunk = table.arrow.column("x").chunk(0)
    assert table.column("x").buffers()[1].address == chunk.buffers()[1].address
    part = Microdata(table.arrow.slice(1))
    assert (part.column("x").offset, part.column("x").to_pylist()) == (0, [2.0, None])
