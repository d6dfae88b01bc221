"""Numbers of text tables that are typed while the file is read are what `typing_rules` makes of the whole column."""

from io import BytesIO
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.columns import plain_numbers
from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.readers import plain_cells
from tasks.ingest.readers.delimited import read
from tasks.ingest.sources import SourceSpec
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale

WHOLE = st.sampled_from(["1", "7", "23", "-4", "0", "1000000"])
DECIMAL = st.sampled_from(["1.5", "2", "-0.25", "0", "0.0", "1e3", "12.50"])
ODD = st.sampled_from(["", "x", "-0", "007", "+1", "1e-400", "0e-400", "1e400", "9007199254740993", "9223372036854775808",
                       "-9223372036854775808", "9" * 19, "9" * 25, "NA", "inf", "2024-05-01", "1,5", ".5", "NaN"])  # fmt: skip
SPECS = [
    {},
    {"scale": "numeric"},
    {"scale": "nominal"},
    {"scale": "code"},
    {"scale": "free_text"},
    {"scale": "ordinal", "order": ("1", "7")},
    {"missing": ("7",)},
    {"decimal": ","},
    {"scale": "date"},
    {"scale": "date", "date_format": "%d/%m/%Y"},
]


@st.composite
def columns(draw: st.DrawFn) -> list[str]:
    """Cells of one kind, with others in between, so that a later piece may refute what the first is."""
    cells = draw(st.lists(draw(st.sampled_from([WHOLE, DECIMAL, st.one_of(WHOLE, st.just(""))])), min_size=8, max_size=24))
    for at, cell in draw(st.lists(st.tuples(st.integers(0, len(cells) - 1), st.one_of(DECIMAL, ODD)), max_size=2)):
        cells[at] = cell
    return cells


def describe(content: bytes, declared: tuple[AttributeSpec, ...], *, as_text: bool) -> object:
    plan = IngestPlan(source=SourceSpec(table="a.csv"), attributes=declared)
    try:
        raw = read(BytesIO(content), "a.csv", delimiter=";", attributes=None if as_text else declared)
        found = ingest_raw_table(raw, plan)
    except InputError as error:
        return str(error)
    assert all(kind == pa.string() for kind in raw.table.schema.types) or not as_text
    return found.data.arrow.schema, found.data.arrow.to_pydict(), found.report


@settings(max_examples=600, deadline=None)
@given(columns(), columns(), st.sampled_from(SPECS), st.sampled_from([48, 64, 8 << 20]), st.sampled_from([0, 2]))
@example([""] * 20 + ["1.5"], ["1"] * 21, {}, 48, 2)  # the first piece says nothing
@example(["1"] * 20 + ["1.5"], ["1"] * 21, {}, 48, 0)
@example(["1.5"] * 20 + ["1"], ["1"] * 20 + ["x"], {}, 48, 2)
@example(["1"] * 20 + ["9" * 25], ["1"] * 21, {"scale": "numeric"}, 48, 2)
@example(["0.5"] * 20 + ["1e-400"], ["0"] * 21, {}, 48, 0)
def test_the_result_is_that_of_text(
    first: list[str], second: list[str], spec: dict[str, object], block: int, uncompiled: int
) -> None:
    content = "a;b\n" + "".join(f"{one};{other}\n" for one, other in zip(first, second, strict=False))
    declared = (AttributeSpec.model_validate({"name": "a", **spec}, strict=False),)
    read_how = {"_BLOCK_BYTES": block, "_UNCOMPILED": uncompiled, "is_machine_code_loaded": lambda: False}
    with patch.multiple(plain_cells, **read_how), patch.object(plain_numbers, "_PART", 8):
        assert describe(content.encode(), declared, as_text=False) == describe(content.encode(), declared, as_text=True)


def test_plain_numbers_are_numbers_when_they_are_read() -> None:
    content = b"whole,decimal,text,code\n" + b"12,1.5,x,4\n,2,y,5\n" * 50
    with patch.object(plain_cells, "_BLOCK_BYTES", 64):
        table = read(BytesIO(content), "a.csv", attributes=(AttributeSpec(name="code", scale=Scale.CODE),)).table
    assert table.schema.types == [pa.int64(), pa.float64(), pa.string(), pa.string()]
    assert table.slice(0, 2).to_pydict() == {"whole": [12, None], "decimal": [1.5, 2.0], "text": ["x", "y"], "code": ["4", "5"]}


@pytest.mark.parametrize("last", ["1.5", "x", "007", "9" * 25])
def test_a_file_is_read_again_where_its_end_refutes_its_beginning(last: str) -> None:
    content = b"a,b\n" + b"1,1\n" * 50 + f"{last},1\n".encode()
    with patch.object(plain_cells, "_BLOCK_BYTES", 64):
        table = read(BytesIO(content), "a.csv", attributes=()).table
    assert table.schema.types == [pa.string(), pa.int64()]
    assert table.column("a").to_pylist() == ["1"] * 50 + [last]
