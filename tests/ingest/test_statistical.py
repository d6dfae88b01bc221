import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

from tasks.ingest.codebooks.categories import Category
from tasks.ingest.methods import IngestPlan, ingest
from tasks.ingest.readers import statistical
from tasks.ingest.readers.raw import RawTable
from tasks.ingest.sources import SourceSpec, read
from tasks.microdata.errors import InputError

FRAME = pd.DataFrame(
    {
        "N": [1.0, None, 3.0],
        "X": [0.5, 2.0, None],
        "W": [1.0, 2.0, 3.0],
        "T": ["Å\"';", "", "b"],
        "S": [1.0, 2.0, -9.0],
        "D": [datetime.date(1900, 2, 3), None, datetime.date(2020, 1, 2)],
        "M": [datetime.datetime(2020, 1, 2, 3, 4, 5), None, datetime.datetime(1999, 1, 1)],
        "C": [datetime.time(1, 2, 3), None, datetime.time(23, 59)],
    }
)
LABELS: dict[str, Any] = {
    "column_labels": {"S": "Satisfaction"},
    "variable_value_labels": {"S": {1.0: "low", 2.0: "high", -9.0: "refused"}},
}


def written(path: Path, frame: pd.DataFrame = FRAME, **options: Any) -> RawTable:
    writers = {".sav": pyreadstat.write_sav, ".zsav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta,
               ".por": pyreadstat.write_por, ".xpt": pyreadstat.write_xport}  # fmt: skip
    writers[path.suffix](frame, path, **options)
    return statistical.read(BytesIO(path.read_bytes()), path.name)


def test_spss_numbers_dates_and_labels(tmp_path: Path) -> None:
    raw = written(tmp_path / "a.sav", **LABELS, missing_ranges={"S": [{"lo": -10, "hi": -5}]},
                  variable_format={"N": "F8.0", "S": "F2.0", "X": "F8.0"})  # fmt: skip
    assert raw.format == "SPSS"
    kinds = ["int64", "double", "double", "string", "int64", "date32[day]", "timestamp[us]", "time64[us]"]
    assert [str(field.type) for field in raw.table.schema] == kinds  # X is no whole number, W shows decimals (F8.2)
    expected = FRAME.assign(S=[1, 2, None]).astype(object)
    for name in FRAME.columns:
        found = raw.table.column(name).to_pylist()
        assert found == [None if pd.isna(value) else value for value in expected[name]], name
    assert raw.column_notes == (("S", "1 values that the file calls missing became missing"),)
    assert raw.codebook is not None
    entry = raw.codebook.index_by_name()["S"]
    assert (entry.label, entry.categories) == (
        "Satisfaction",
        (Category(code="1", label="low"), Category(code="2", label="high")),
    )
    assert entry.missing == (Category(code="-9", label="refused"),)


def test_the_labels_reach_the_report(tmp_path: Path) -> None:
    written(tmp_path / "a.sav", FRAME[["S", "X"]], **LABELS, missing_ranges={"S": [-9]})
    report = ingest(IngestPlan(source=SourceSpec(table="a.sav").resolve_path(tmp_path))).report
    satisfaction, other = report.columns
    assert (satisfaction.label, satisfaction.unit, satisfaction.n_categories) == ("Satisfaction", None, 2)
    assert (satisfaction.n_missing, other.label, other.n_categories) == (1, None, None)
    assert "refused" not in repr(report)


def test_stata_tags_are_missing_and_its_integers_are_integers(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1.0, "a", "b"], "s": ["x", "y", "z"]})
    raw = written(tmp_path / "a.dta", frame, missing_user_values={"a": ["a", "b"]}, variable_value_labels={"a": {1: "one"}})
    assert raw.table.to_pydict() == {"a": [1.0, None, None], "s": ["x", "y", "z"]}
    assert raw.column_notes == (("a", "2 values that the file calls missing became missing"),)
    assert raw.codebook is not None
    assert raw.codebook.index_by_name()["a"].missing_codes == ("a", "b")
    whole = written(tmp_path / "b.dta", pd.DataFrame({"i": pd.Series([1, 2], dtype="int32"), "x": [1.0, 2.0]}))
    assert [str(field.type) for field in whole.table.schema] == ["int64", "double"]


@pytest.mark.parametrize("suffix", [".zsav", ".dta", ".xpt"])
def test_the_other_formats_hold_the_same_values(tmp_path: Path, suffix: str) -> None:
    raw = written(tmp_path / f"a{suffix}", **({"compress": True} if suffix == ".zsav" else {}))
    for name in FRAME.columns:
        expected = [None if pd.isna(value) or value == "" else value for value in FRAME[name].astype(object)]
        assert [None if value == "" else value for value in raw.table.column(name).to_pylist()] == expected
    assert read(SourceSpec(table=f"a{suffix}").resolve_path(tmp_path)).table == raw.table


def test_portable_files_are_read(tmp_path: Path) -> None:
    assert written(tmp_path / "a.por", FRAME[["N", "X"]]).table.to_pydict() == {"N": [1.0, None, 3.0], "X": [0.5, 2.0, None]}


def test_whole_numbers_of_sas_without_decimals_are_integers(tmp_path: Path) -> None:
    raw = written(tmp_path / "a.xpt", pd.DataFrame({"a": [1.0, None], "b": [1.0, 2.5], "c": [1.0, 2.0**53]}))
    assert [str(field.type) for field in raw.table.schema] == ["int64", "double", "double"]


def test_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    written(tmp_path / "a.sav", FRAME[["N"]])
    (tmp_path / "a.csv").write_bytes((tmp_path / "a.sav").read_bytes())
    assert read(SourceSpec(table="a.csv").resolve_path(tmp_path)).format == "SPSS"


@pytest.mark.parametrize("seconds", [86400.0, -1.0, 90000.5])
def test_durations_are_no_times_of_day(tmp_path: Path, seconds: float) -> None:
    """pyreadstat reads 25:00 as 01:00."""
    with pytest.raises(InputError) as caught:
        written(tmp_path / "a.sav", pd.DataFrame({"T": [seconds, 1.0]}), variable_format={"T": "TIME8"})
    assert (caught.value.code, caught.value.value) == ("not-a-time-of-day", None)


@pytest.mark.parametrize("suffix", [".sav", ".zsav", ".dta", ".xpt", ".por"])
def test_a_file_cut_anywhere_is_never_read_as_if_it_were_whole(tmp_path: Path, suffix: str) -> None:
    """Cut at every 37th byte: a message, never other values (a transport file cut between records is the known limit)."""
    path = tmp_path / f"a{suffix}"
    raw = written(path, FRAME[["N", "X", "W"]], **({"compress": True} if suffix == ".zsav" else {}))
    whole = path.read_bytes()
    for end in range(1, len(whole) - 1, 37):
        if suffix == ".xpt" and end % 80 == 0:
            continue
        try:
            cut = statistical.read(BytesIO(whole[:end]), path.name)
        except InputError as error:
            assert error.code in {"damaged-file", "not-statistical", "no-rows", "no-columns"}
        else:
            assert cut.table == raw.table
