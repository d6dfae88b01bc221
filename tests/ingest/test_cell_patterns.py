"""Whether all cells are written in one way, against Python's regular expressions; and columns whose first cells mislead."""

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.ingest.columns.cell_patterns import all_match, may_all_match
from tasks.ingest.columns.numerals import INTEGER, NUMBER

CELLS = st.lists(st.sampled_from(["1", "-20", "1.5", "x", "007", "", "1\n", None]), max_size=80)


@given(CELLS, st.integers(1, 5), st.sampled_from([INTEGER, NUMBER]))
def test_all_match_what_python_matches(cells: list[str | None], n_chunks: int, pattern: str) -> None:
    expected = all(re.fullmatch(pattern, cell) for cell in cells if cell is not None)
    size = max(-(-len(cells) // n_chunks), 1)
    parts = [pa.array(cells[begin : begin + size], pa.string()) for begin in range(0, len(cells), size)]
    for column in (pa.array(cells, pa.string()), pa.chunked_array(parts, pa.string())):
        assert all_match(column, pattern) == expected
        assert may_all_match(column, pattern) or not expected


@pytest.mark.parametrize("first", [None, "1"])
@pytest.mark.parametrize("n_first", [1, 8, 100, 5000])
def test_first_cells_that_are_empty_or_numbers_do_not_hide_the_texts(first: str | None, n_first: int) -> None:
    cells = pa.array([first] * n_first + ["text"] * 5000, pa.string())
    assert not may_all_match(cells, NUMBER)
    assert not may_all_match(pa.chunked_array([cells[:3000], cells[3000:]]), NUMBER)
