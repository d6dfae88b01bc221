"""Numbers that Arrow parses are those that the patterns of `numerals` describe."""

import re
from io import BytesIO
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.ingest.columns.compiled_numbers import (
    is_machine_code_loaded,
    load_machine_code,
    parse_plainest_doubles,
    parse_plainest_integers,
)
from tasks.ingest.columns.numerals import INTEGER, NUMBER
from tasks.ingest.columns.plain_numbers import Parser, parse_plain_doubles, parse_plain_integers
from tasks.ingest.readers import plain_cells


def parse_integers(cells: list[str | None] | pa.Array) -> list[int | None] | None:
    return parse_in_both_ways(cells, parse_plain_integers)


def parse_doubles(cells: list[str | None] | pa.Array) -> list[float | None] | None:
    return parse_in_both_ways(cells, parse_plain_doubles)


def parse_in_both_ways(cells: list[str | None] | pa.Array, parse: Parser) -> list[Any] | None:
    """Machine code reads the same numbers to the last bit, or leaves them."""
    column = cells if isinstance(cells, pa.Array) else pa.array(cells, pa.string())
    found = parse(column)
    compiled = (parse_plainest_integers if parse is parse_plain_integers else parse_plainest_doubles)(column)
    if compiled is not None:
        compiled.validate(full=True)
        assert compiled.equals(found)
        assert [str(number) for number in compiled] == [str(number) for number in found]  # -0.0 too
    return None if found is None else list(found.to_pylist())


@pytest.mark.parametrize(("alphabet", "longest"), [("01-+xF9 .", 4), ("0_,\tA", 4)])
def test_every_short_cell_is_a_whole_number_where_the_pattern_says_so(alphabet: str, longest: int) -> None:
    for cell in ("".join(letters) for n in range(1, longest + 1) for letters in product(alphabet, repeat=n)):
        assert parse_integers([cell]) == ([int(cell)] if re.search(INTEGER, cell) else None), cell


@pytest.mark.parametrize(("alphabet", "longest"), [("01.-+eE", 5), ("0infa-", 4), ("0x ,1", 4)])
def test_every_short_cell_is_a_number_where_the_pattern_says_so(alphabet: str, longest: int) -> None:
    for cell in ("".join(letters) for n in range(1, longest + 1) for letters in product(alphabet, repeat=n)):
        assert parse_doubles([cell]) == ([float(cell)] if re.search(NUMBER, cell) else None), cell


CELL = st.one_of(st.none(), st.integers(-(2**70), 2**70).map(str), st.from_regex(r"-?0?x?[0-9A-F]{1,19}", fullmatch=True))


@settings(max_examples=500, deadline=None)
@given(st.lists(CELL, min_size=1, max_size=8), st.integers(0, 2))
@example(["0xFFFFFFFFFFFFFFF", "00"], 0)  # shorter than its digits, which a leading zero would even out
@example(["0xE8D4A51000A"], 0)  # as long as its digits
@example(["-9223372036854775808", None, "9223372036854775807"], 0)
@example(["9223372036854775808"], 0)
def test_a_column_holds_whole_numbers_where_each_cell_does(cells: list[str | None], left_out: int) -> None:
    some = pa.array([*["7"] * left_out, *cells], pa.string())[left_out:]
    present = [cell for cell in cells if cell is not None]
    plain = all(re.search(INTEGER, cell) and -(2**63) <= int(cell) < 2**63 for cell in present)
    found = parse_integers(some)
    expected = [None if cell is None else int(cell) for cell in cells] if plain else None
    assert found == expected


DECIMAL = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70).map(str),
    st.from_regex(r"-?[1-9][0-9]{14,19}(\.[0-9]{1,3})?", fullmatch=True),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[-+]?0?[0-9]{0,3}\.?[0-9]{0,3}([eE][+-]?[0-9]{1,3})?", fullmatch=True).filter(bool),
    st.sampled_from(["inf", "NaN", "1e400", "-1e400", "00", "-00.5", "+1", "0", "-0", ".5", "5."]),
)


@settings(max_examples=500, deadline=None)
@given(st.lists(DECIMAL, min_size=1, max_size=8), st.integers(0, 2))
def test_a_column_holds_numbers_where_each_cell_does(cells: list[str | None], left_out: int) -> None:
    some = pa.array([*["7"] * left_out, *cells], pa.string())[left_out:]
    present = [cell for cell in cells if cell is not None]
    plain = all(re.search(NUMBER, cell) and abs(float(cell)) < float("inf") for cell in present)
    found = parse_doubles(some)
    expected = [None if cell is None else float(cell) for cell in cells] if plain else None
    assert found == expected


def test_what_missing_cells_still_hold_in_memory_is_not_read() -> None:
    cells = pa.array(["1", "NA", "+5", "2"])
    codes = pa.array(["NA", "+5"])
    blanked = pa.compute.if_else(pa.compute.is_in(cells, value_set=codes), pa.scalar(None, pa.string()), cells)
    for parse in (parse_integers, parse_doubles):
        assert parse(blanked) == [1, None, None, 2]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.tuples(st.integers(-(10**17), 10**17), st.integers(0, 17)), min_size=1, max_size=30))
@example([(9007199254740993, 3), (9007199254740991, 15), (123456789012345, 17), (1, 17), (-5, 1)])
def test_decimals_are_the_nearest_doubles(written: list[tuple[int, int]]) -> None:
    """Python's own numbers are the independent twin."""
    cells = [f"{'-' * (n < 0)}{abs(n) // 10**k}.{abs(n) % 10**k:0{k}d}" if k else str(n) for n, k in written]
    assert parse_doubles([cell for cell in cells if cell != "-0"]) == [float(cell) for cell in cells if cell != "-0"]


def test_what_machine_code_takes_is_the_plainest_way() -> None:
    taken = pa.array(["12", None, "-0.25", "7.50", "0", "900719925474099.1", "0.00"] * 8)
    assert parse_plainest_doubles(taken[8:]).to_pylist() == [float(cell) if cell else None for cell in taken[8:].to_pylist()]
    assert parse_plainest_doubles(taken[3:]) is None  # its gaps do not begin at a byte
    assert parse_plainest_integers(pa.array(["12", None, "-999999999999999999"])).to_pylist() == [12, None, -(10**18 - 1)]
    for odd in ("9" * 19, "-9223372036854775808", "9223372036854775808", "9" * 19 + ".5", "99999999999999999.5"):
        assert parse_plainest_doubles(pa.array(["1.5", odd])) is None  # beyond 64 bits, or 53
    for odd in ("1e3", ".5", "5.", "-0.0", "9007199254740992", "1.2.3", "--1", "-", "01.5", "", "1.000000000000000000"):
        assert parse_plainest_doubles(pa.array(["1.5", odd])) is None
    for odd in ("-0", "9" * 19, "01", "1.0", "", "/", ":", "-"):
        assert parse_plainest_integers(pa.array(["15", odd])) is None


@pytest.mark.parametrize("is_loaded", [True, False])
def test_machine_code_that_is_loaded_reads_the_smallest_table(is_loaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    load_machine_code()
    assert is_machine_code_loaded()
    asked: list[str] = []
    parsers = {parse: lambda cells: asked.extend(cells.to_pylist()) for parse in plain_cells._COMPILED}  # they read nothing
    monkeypatch.setattr(plain_cells, "_COMPILED", parsers)
    if not is_loaded:
        monkeypatch.setattr(plain_cells, "is_machine_code_loaded", lambda: False)
    columns = plain_cells.parse_plain_cells(BytesIO(b"1,1.5\n"), ["a", "b"], ",", 99, ["a", "b"])
    assert columns is not None
    assert [column.to_pylist() for column in columns] == [[1], [1.5]]
    assert asked == (["1", "1.5", "1.5"] if is_loaded else [])  # each parser that may be that of the column
