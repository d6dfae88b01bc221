"""Numbers that Arrow parses are those that the patterns of `numerals` describe."""

import re
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.ingest.columns.numerals import INTEGER, NUMBER
from tasks.ingest.columns.plain_numbers import parse_plain_doubles, parse_plain_integers


def parse_integers(cells: list[str | None]) -> list[int | None] | None:
    found = parse_plain_integers(pa.array(cells, pa.string()))
    return None if found is None else found.to_pylist()


def parse_doubles(cells: list[str | None]) -> list[float | None] | None:
    found = parse_plain_doubles(pa.array(cells, pa.string()))
    return None if found is None else found.to_pylist()


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
    found = parse_plain_integers(some)
    expected = [None if cell is None else int(cell) for cell in cells] if plain else None
    assert (None if found is None else found.to_pylist()) == expected


DECIMAL = st.one_of(
    st.none(),
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
    found = parse_plain_doubles(some)
    expected = [None if cell is None else float(cell) for cell in cells] if plain else None
    assert (None if found is None else found.to_pylist()) == expected


def test_what_missing_cells_still_hold_in_memory_is_not_read() -> None:
    cells = pa.array(["1", "NA", "+5", "2"])
    codes = pa.array(["NA", "+5"])
    blanked = pa.compute.if_else(pa.compute.is_in(cells, value_set=codes), pa.scalar(None, pa.string()), cells)
    for parse in (parse_plain_integers, parse_plain_doubles):
        assert parse(blanked).to_pylist() == [1, None, None, 2]
