import datetime
import os
from decimal import Decimal
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.columns.logical import from_typed
from tasks.ingest.methods import IngestPlan, ingest, ingest_raw_table
from tasks.ingest.readers import parquet
from tasks.ingest.readers.raw import RawTable
from tasks.ingest.sources import SourceSpec, files, list_datasets, read
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale

DAY = datetime.date(2020, 1, 1)
SOURCE = SourceSpec(table="a.parquet")


def typed(values: pa.Array, **declared: object) -> tuple[pa.Array, tuple[str, ...]]:
    return from_typed(pa.chunked_array([values]), AttributeSpec(name="x", **declared), "a.parquet")  # type: ignore[arg-type]  # declarations by name


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([None, "", "a", "long", "é"]), max_size=12), st.integers(0, 12))
def test_empty_texts_become_missing_wherever_they_stand(texts: list[str | None], begin: int) -> None:
    column, notes = typed(pa.array(texts, pa.string())[begin:])
    present = texts[begin:]
    assert column.to_pylist() == [text or None for text in present]
    assert notes == ((f"{present.count('')} empty texts became missing",) if "" in present else ())


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([None, 0.0, -0.0, 1.5, -1.5]), min_size=1, max_size=12), st.integers(0, 11))
def test_ingest_leaves_no_negative_zero(numbers: list[float | None], begin: int) -> None:
    column = pa.table({"x": pa.array(numbers, pa.float64())}).slice(min(begin, len(numbers) - 1))
    found = ingest_raw_table(RawTable(table=column, label="a", format="parquet", as_text=False), IngestPlan(source=SOURCE))
    expected = [None if number is None else repr(number + 0.0) for number in column.column("x").to_pylist()]
    assert [None if number is None else repr(number) for number in found.data.arrow.column("x").to_pylist()] == expected


@pytest.mark.parametrize(
    ("values", "logical", "expected"),
    [
        (pa.array([1, None], pa.int8()), "int64", [1, None]),
        (pa.array([2**63 - 1], pa.uint64()), "int64", [2**63 - 1]),
        (pa.array([0.5, float("nan"), None], pa.float64()), "double", [0.5, None, None]),
        (pa.array([0.5], pa.float32()), "double", [0.5]),
        (pa.array(["a", "", None]), "string", ["a", None, None]),
        (pa.array(["a", "b"], pa.large_string()), "string", ["a", "b"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), "string", ["a", "b", "a"]),
        (pa.array([True, None]), "bool", [True, None]),
        (pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)), "double", [1.5, None]),
        (pa.array([Decimal(12)], pa.decimal128(10, 0)), "int64", [12]),
        (pa.array([Decimal("0.25")], pa.decimal128(30, 10)), "double", [0.25]),
        (pa.array([Decimal(60892), None], pa.decimal32(5, 0)), "int64", [60892, None]),
        (pa.array([Decimal("7E+3")], pa.decimal128(4, -3)), "int64", [7000]),
        (pa.nulls(2), "string", [None, None]),
        (pa.array([DAY, None]), "date32[day]", [DAY, None]),
        (pa.array([DAY], pa.date64()), "date32[day]", [DAY]),
        (
            pa.array([datetime.datetime(2020, 1, 1, 12)], pa.timestamp("s")),
            "timestamp[us]",
            [datetime.datetime(2020, 1, 1, 12)],
        ),
        (pa.array([datetime.time(17, 30), None], pa.time32("s")), "time64[us]", [datetime.time(17, 30), None]),
        (pa.array([DAY, DAY]).dictionary_encode(), "date32[day]", [DAY, DAY]),
    ],
)
def test_columns_map_to_the_logical_types(values: pa.Array, logical: str, expected: list[object]) -> None:
    column, _ = typed(values)
    assert (str(column.type), column.to_pylist()) == (logical, expected)


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal32(9, 2), pa.decimal64(15, 4), pa.decimal64(18, 7), pa.decimal128(15, 15), pa.decimal128(38, 10),
        pa.decimal256(50, 3), pa.decimal128(12, -8),
    ],
)  # fmt: skip
def test_decimals_become_the_doubles_that_their_digits_name(kind: pa.DataType) -> None:
    digits = np.random.default_rng(1).integers(-(10 ** min(kind.precision, 15)) + 1, 10 ** min(kind.precision, 15), 3_000)
    decimals = [Decimal(int(one)).scaleb(-kind.scale) for one in digits]
    column, _ = typed(pa.array(decimals, kind))
    assert column.to_pylist() == [float(one) for one in decimals]


@pytest.mark.parametrize(
    ("values", "declared", "code"),
    [
        (pa.array([2**63], pa.uint64()), {}, "beyond-64-bits"),
        (pa.array([1.0, float("inf")]), {}, "infinite"),
        (pa.array([Decimal("1234567890123.123456789")], pa.decimal128(30, 9)), {}, "too-precise"),
        (pa.array([datetime.timedelta(days=1)]), {}, "unsupported-type"),
        (pa.array([1], pa.timestamp("ns")), {}, "too-precise"),
        (pa.array([4_000_000], pa.int32()).cast(pa.date32()), {}, "no-such-day"),
        (pa.array([DAY]), {"scale": Scale.NUMERIC}, "not-numeric"),
        (pa.array([DAY]), {"scale": Scale.TIME}, "not-of-scale"),
        (pa.array([1]), {"scale": Scale.DATE}, "not-of-scale"),
        (pa.array([1.5]), {"scale": Scale.CODE}, "order-of-decimals"),
        (pa.array([[1, 2]]), {}, "unsupported-type"),
        (pa.array([{"a": 1}]), {}, "unsupported-type"),
        (pa.array([b"x"]), {}, "unsupported-type"),
        (pa.array(["1"]), {"scale": Scale.NUMERIC}, "not-numeric"),
        (pa.array([True]), {"scale": Scale.NUMERIC}, "not-numeric"),
        (pa.array([1.5]), {"order": ("1.5",)}, "order-of-decimals"),
    ],
)
def test_columns_that_cannot_be_held_are_refused(values: pa.Array, declared: dict[str, object], code: str) -> None:
    with pytest.raises(InputError) as caught:
        typed(values, **declared)
    assert caught.value.code == code
    assert caught.value.where == "a.parquet: column x"


def test_missing_codes_compare_as_numbers_and_as_text() -> None:
    assert typed(pa.array([1.0, -9.0]), missing=("-9", "NA"))[0].to_pylist() == [1.0, None]
    assert typed(pa.array([1, -9]), missing=("-9",))[0].to_pylist() == [1, None]
    assert typed(pa.array(["a", "NA"]), missing=("NA",))[0].to_pylist() == ["a", None]


def test_order_reads_whole_numbers_as_text() -> None:
    assert typed(pa.array([1, 10, 2]), order=("1", "2", "10"))[0].to_pylist() == ["1", "10", "2"]


def stored(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def test_a_parquet_file_is_read_and_a_damaged_one_refused() -> None:
    content = stored(pa.table({"a": [1, 2]}))
    assert parquet.read(BytesIO(content), "a.parquet").table.to_pydict() == {"a": [1, 2]}
    for damaged in (content[:-9], b"PAR1", b"PAR1" + b"x" * 50):
        with pytest.raises(InputError, match="not a readable Parquet"):
            parquet.read(BytesIO(damaged), "a.parquet")


def test_repeated_names_and_empty_tables_are_refused() -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(InputError) as caught:
        parquet.read(BytesIO(stored(twice)), "a.parquet")
    assert caught.value.code == "repeated-column"
    with pytest.raises(InputError) as caught:
        parquet.read(BytesIO(stored(pa.table({"a": pa.array([], pa.int64())}))), "a.parquet")
    assert caught.value.code == "no-rows"
    with pytest.raises(InputError) as caught:
        parquet.read(BytesIO(stored(pa.table({}))), "a.parquet")
    assert caught.value.code == "no-columns"


def test_parquet_is_known_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(stored(pa.table({"a": [1]})))
    assert read(SourceSpec(table="a.csv").resolve_path(tmp_path)).format == "parquet"
    (tmp_path / "a.parquet").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(InputError) as caught:
        read(SourceSpec(table="a.parquet").resolve_path(tmp_path))
    assert caught.value.code == "not-parquet"


def test_absent_files_and_folders_are_refused(tmp_path: Path) -> None:
    for name, code in {"nowhere.csv": "no-such-source", ".": "not-a-parquet-folder"}.items():
        with pytest.raises(InputError) as caught:
            files(SourceSpec(table=name).resolve_path(tmp_path))
        assert caught.value.code == code
        assert str(tmp_path) not in caught.value.where


def test_a_file_that_vanishes_or_locks_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")

    def locked(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", locked)
    with pytest.raises(InputError, match="Permission denied") as caught:
        read(SourceSpec(table="a.csv").resolve_path(tmp_path))
    assert caught.value.code == "unreadable-source"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"table": "a.csv", "dataset": "fair"},
        {"dataset": "iris"},
        {"dataset": "fair", "delimiter": ";"},
        {"table": ""},
        {"tabel": "a"},
    ],
)
def test_a_source_is_exactly_one_thing(given: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        SourceSpec.model_validate(given)


def test_a_source_reads_back_equal() -> None:
    source = SourceSpec(dataset="fair")
    assert SourceSpec.model_validate_json(source.model_dump_json()) == source


# rows and columns of the tables as statsmodels 0.15 ships them
SHAPES = {"anes96": (944, 11), "randhie": (20190, 10), "fair": (6366, 9)}
# rows and columns of the reference tables, as the table of data/README.md has them
REFERENCE_SHAPES = {"census": (1080, 13), "eia": (4092, 15), "household": (4580, 15)}


def test_the_datasets_are_listed_and_read_without_loss() -> None:
    assert {d.name: (d.rows, d.columns) for d in list_datasets()} == SHAPES | REFERENCE_SHAPES
    assert all(d.description and d.a_row_is for d in list_datasets())
    import statsmodels.datasets

    for name, shape in SHAPES.items():
        source = SourceSpec.model_validate({"dataset": name})
        raw = read(source).table
        frame = getattr(statsmodels.datasets, name).load_pandas().data
        assert raw.shape == shape
        assert all(raw.column(c).to_pylist() == frame[c].tolist() for c in raw.column_names)
        assert [path.name for path in files(source)] == [f"{name}.csv"]


def test_the_same_table_as_csv_and_parquet_is_the_same(tmp_path: Path) -> None:
    table = pa.table({"n": [1, None, 3], "x": [0.1, 2.5, None], "t": ["a", None, 'q"\n']})
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text('n,x,t\n1,0.1,a\n,2.5,\n3,,"q""\n"\n')
    one, other = (ingest(IngestPlan(source=SourceSpec(table=name).resolve_path(tmp_path))) for name in ("a.parquet", "a.csv"))
    assert one.data.arrow.equals(other.data.arrow)


def test_the_reference_tables_are_read_under_their_names(reference: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDCERT_REFERENCE_DATA", str(reference))
    assert all(dataset.available for dataset in list_datasets())
    for name, shape in REFERENCE_SHAPES.items():
        source = SourceSpec.model_validate({"dataset": name})
        raw = read(source)
        assert (raw.table.shape, raw.label) == (shape, f"dataset {name}")
        assert [path.name for path in files(source)] == [f"{name}.csv"]


def test_the_list_says_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDCERT_REFERENCE_DATA", str(tmp_path))
    assert [dataset.name for dataset in list_datasets() if not dataset.available] == list(REFERENCE_SHAPES)
    assert "person-year" in {dataset.name: dataset for dataset in list_datasets()}["randhie"].a_row_is


class SourceWithMore(SourceSpec):
    """What a later stage may build on a source."""

    align: str = "row"


def test_a_source_may_be_extended(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    source = SourceWithMore(table="a.csv", align="key").resolve_path(tmp_path)
    assert (type(source), source.align, source.label) == (SourceWithMore, "key", "a.csv")
    assert read(source).table.to_pydict() == {"a": ["1"]}
    assert files(source) == (tmp_path / "a.csv",)
