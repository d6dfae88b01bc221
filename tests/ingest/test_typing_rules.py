import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.columns.typing_rules import from_text
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale


def typed(cells: list[str | None], **declared: object) -> tuple[pa.Array, tuple[str, ...]]:
    return from_text(pa.chunked_array([pa.array(cells, pa.string())]), AttributeSpec(name="x", **declared), "a.csv")  # type: ignore[arg-type]  # declarations by name


@pytest.mark.parametrize(
    ("cells", "logical", "values"),
    [
        (["1", "-20", None, "0"], "int64", [1, -20, None, 0]),
        (["9007199254740993", None], "int64", [9007199254740993, None]),
        (["9223372036854775807", "-9223372036854775808"], "int64", [2**63 - 1, -(2**63)]),
        (["1", "2.5", "-1e3", ".5", "5."], "double", [1.0, 2.5, -1000.0, 0.5, 5.0]),
        (["-0", "1"], "double", [-0.0, 1.0]),
        (["0.1", "1e-300"], "double", [0.1, 1e-300]),
        (["00123", "4"], "string", ["00123", "4"]),
        (["+5", "4"], "string", ["+5", "4"]),
        (["9223372036854775808", "1"], "string", ["9223372036854775808", "1"]),
        (["9007199254740993", "0.5"], "string", ["9007199254740993", "0.5"]),
        (["NA", "yes"], "string", ["NA", "yes"]),
        (["nan", "NA", None], "string", ["nan", "NA", None]),
        (["1", "two"], "string", ["1", "two"]),
        (["1,234", "5"], "string", ["1,234", "5"]),
        (["true", "false"], "string", ["true", "false"]),
        (["１２", "3"], "string", ["１２", "3"]),
        (["1\n", "2"], "string", ["1\n", "2"]),
        (["0x10", "1"], "string", ["0x10", "1"]),
        ([None, None], "string", [None, None]),
    ],
)
def test_rules_for_what_nobody_declared(cells: list[str | None], logical: str, values: list[object]) -> None:
    column, _ = typed(cells)
    assert str(column.type) == logical
    assert column.to_pylist() == values


def test_negative_zero_keeps_its_sign() -> None:
    assert math.copysign(1, typed(["-0"])[0][0].as_py()) == -1


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["00123", "4"], "leading zeros"),
        (["1,234", "5"], "thousands"),
        (["3,14", "5"], "decimal comma"),
        ([" 5", "6"], "blanks"),
        (["9223372036854775808"], "beyond 64 bits"),
        (["9007199254740993", "0.5"], "from 2^53 on"),
        (["1", "two"], "1 of 2 cells are numbers"),
        ([None], "no cell holds a value"),
    ],
)
def test_notes_say_why_a_column_is_no_number_and_hold_no_cell(cells: list[str | None], words: str) -> None:
    told = " ".join(typed(cells)[1])
    assert words in told
    assert not any(cell in told for cell in cells if cell is not None and len(cell) > 1)


@pytest.mark.parametrize(
    ("cells", "declared", "code"),
    [
        (["1", "NA", "3", "n/a"], {}, "undeclared-missing"),
        (["1", "."], {}, "undeclared-missing"),
        (["1", "  "], {}, "undeclared-missing"),
        (["1", "nan"], {"scale": Scale.ORDINAL}, "undeclared-missing"),
        (["1", "inf"], {}, "infinite"),
        (["1", "-Infinity", "NA"], {}, "undeclared-missing"),
        (["1e400"], {}, "out-of-range"),
        (["1e-400", "1"], {}, "out-of-range"),
        (["9223372036854775808"], {"scale": Scale.NUMERIC}, "beyond-64-bits"),
        (["9007199254740993", "0.5"], {"scale": Scale.NUMERIC}, "beyond-64-bits"),
        (["1", "x", "2"], {"scale": Scale.NUMERIC}, "not-numeric"),
        (["007"], {"scale": Scale.NUMERIC}, "not-numeric"),
        (["1,5"], {"scale": Scale.NUMERIC}, "not-numeric"),
        (["inf"], {"scale": Scale.NUMERIC}, "not-numeric"),
    ],
)
def test_doubtful_columns_are_refused(cells: list[str | None], declared: dict[str, object], code: str) -> None:
    with pytest.raises(InputError) as caught:
        typed(cells, **declared)
    if "Infinity" in str(cells):
        assert caught.value.code == "infinite"
    else:
        assert caught.value.code == code
    assert "a.csv" in caught.value.where
    assert "column x" in caught.value.where


def test_the_refusal_counts_the_words_and_gives_the_remedy() -> None:
    with pytest.raises(InputError) as caught:
        typed(["1", "NA", None, "NA", "2", "n/a"])
    assert "3 cells" in caught.value.what
    assert "2 word(s)" in caught.value.what
    assert "missing: ['NA', 'n/a']" in caught.value.remedy
    assert "row 2, 4, 6" in caught.value.where


@pytest.mark.parametrize(
    ("cell", "remedy"),
    [("1,234.5", "digits alone"), ("3,14", "decimal points"), ("50 %", "unit"), ("NA", "missing"), ("0123", "scale: code")],
)
def test_a_cell_that_breaks_a_numeric_declaration_is_located_and_explained(cell: str, remedy: str) -> None:
    with pytest.raises(InputError) as caught:
        typed(["1", None, cell, cell], scale=Scale.NUMERIC)
    assert caught.value.where == "a.csv: row 3, column x"
    assert caught.value.value == cell
    assert remedy in caught.value.remedy
    assert cell not in caught.value.public


def test_declared_missing_codes_are_gaps_and_are_counted() -> None:
    column, notes = typed(["1", "NA", "-9", "2"], missing=("NA", "-9"))
    assert column.to_pylist() == [1, None, None, 2]
    assert notes == ("2 cells hold a declared missing code",)


def test_a_declared_order_keeps_text_and_a_declared_nominal_scale_keeps_words() -> None:
    assert typed(["1", "10", "2"], order=("1", "2", "10"))[0].to_pylist() == ["1", "10", "2"]
    assert typed(["1", "NA"], scale=Scale.NOMINAL)[0].to_pylist() == ["1", "NA"]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1).filter(lambda v: any(x is not None for x in v))
)
def test_every_64_bit_integer_survives(values: list[int | None]) -> None:
    column, _ = typed([None if value is None else str(value) for value in values])
    assert column.type == pa.int64()
    assert column.to_pylist() == values


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True), min_size=1))
def test_every_double_survives_its_shortest_text(values: list[float]) -> None:
    column, _ = typed(["0.5", *[repr(value) for value in values]])
    assert column.type == pa.float64()
    assert [x.hex() for x in column.to_pylist()[1:]] == [value.hex() for value in values]


PIECE = st.sampled_from(
    [None, "1", "-20", "0", "007", "-0", "2.5", "1,5", "1e400", "9223372036854775808", "NA", "", "a", "2020-01-31"]
)
DECLARED = st.sampled_from(
    [{}, {"scale": Scale.NUMERIC}, {"scale": Scale.NOMINAL}, {"scale": Scale.CODE}, {"missing": ("NA", "")}, {"decimal": ","}]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.lists(PIECE, max_size=3), max_size=4), DECLARED)
def test_how_a_file_was_read_in_parts_changes_nothing(parts: list[list[str | None]], declared: dict[str, object]) -> None:
    def read(chunks: list[list[str | None]]) -> object:
        column = pa.chunked_array([pa.array(cells, pa.string()) for cells in chunks], pa.string())
        try:
            return from_text(column, AttributeSpec(name="x", **declared), "a.csv")  # type: ignore[arg-type]  # declarations by name
        except InputError as error:
            return str(error)

    assert read(parts) == read([[cell for part in parts for cell in part]])
