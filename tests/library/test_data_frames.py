"""Data frames of pandas, polars and Arrow become the same table, and come back as pandas."""

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sdcert as sc
from sdcert.frames import create_data_frame, read_frame
from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.sources import SourceSpec

PLAN = IngestPlan(source=SourceSpec(table="data frame"))
COLUMNS = {
    "n": [1, 2, None],
    "x": [0.5, None, -0.0],
    "t": ["a", None, "Å'\";"],
    "b": [True, None, False],
    "d": [datetime.date(2020, 2, 29), None, datetime.date(1900, 1, 1)],
}
TYPES = {"n": pa.int64(), "x": pa.float64(), "t": pa.string(), "b": pa.bool_(), "d": pa.date32()}


def ingest(frame):
    return ingest_raw_table(read_frame(frame), PLAN).data


@pytest.fixture
def arrow():
    return pa.table({name: pa.array(values, TYPES[name]) for name, values in COLUMNS.items()})


def test_pandas_is_read_as_arrow_is(arrow):
    frame = pd.DataFrame({**COLUMNS, "n": pd.array([1, 2, None], "Int64")}, index=[7, 7, 9])
    assert ingest(frame).arrow.equals(ingest(arrow).arrow)
    assert ingest(arrow).arrow.schema.types == list(TYPES.values())


def test_polars_is_read_as_arrow_is(arrow):
    polars = pytest.importorskip("polars", reason="polars is no dependency: data frames of it are taken where it is installed")
    assert ingest(polars.from_arrow(arrow)).arrow.equals(ingest(arrow).arrow)
    with pytest.raises(sc.InputError) as caught:
        read_frame(polars.from_arrow(arrow).lazy())
    assert caught.value.code == "no-data-frame"


def test_what_comes_back_has_gaps_where_they_were(arrow):
    frame = create_data_frame(ingest(arrow), pd.Index(["p", "q", "r"]))
    assert frame.index.tolist() == ["p", "q", "r"]
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "n": "Int64", "x": "float64", "t": "str", "b": "boolean", "d": "datetime64[ms]",
    }  # fmt: skip
    assert frame.isna().sum().tolist() == [1, 1, 1, 1, 1]
    assert ingest(frame.astype({"d": "datetime64[ms]"})).arrow.drop_columns("d").equals(ingest(arrow).arrow.drop_columns("d"))


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ([1, 2], "no-columns"),
        (np.ones((2, 2)), "no-data-frame"),
        (pd.DataFrame({0: [1, 2]}), "column-name"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "repeated-column"),
        (pd.DataFrame({"": [1]}), "unnamed-column"),
        (pd.DataFrame({"a": [1, "canary-4711"]}), "mixed-values"),
        (pd.DataFrame({"a": []}), "no-rows"),
        (pd.DataFrame({"a": [np.inf, 1.0]}), "infinite"),
        (pd.DataFrame({"a": pd.to_timedelta([1, 2], unit="s")}), "unsupported-type"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_table_is_refused(frame, code):
    with pytest.raises(sc.InputError) as caught:
        ingest(frame)
    assert caught.value.code in (code, "no-data-frame")
    assert "canary" not in str(caught.value)
