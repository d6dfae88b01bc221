"""Where a table comes from: a file of text or Parquet, or a table that ships inside statsmodels."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, get_args

import pyarrow as pa
from pydantic import model_validator

from tasks.ingest import delimited, parquet
from tasks.ingest.raw import RawTable
from tasks.microdata.errors import InputError
from tasks.microdata.spec import Name, Spec
from tasks.microdata.suggestion import did_you_mean

DatasetName = Literal["anes96", "randhie", "fair"]
DATASETS: tuple[DatasetName, ...] = get_args(DatasetName)


class SourceSpec(Spec):
    """Exactly one of `table` (a CSV or Parquet file) and `dataset` (a table inside statsmodels).

    table: path, relative to the release file.
    encoding, delimiter: of a text table; detected and reported where they are not given.
    """

    table: Name | None = None
    dataset: DatasetName | None = None
    encoding: Name | None = None
    delimiter: Literal[",", ";", "\t", "|"] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.table is None) == (self.dataset is None):
            raise ValueError("a source is exactly one of `table: <path>` and `dataset: <name>`")
        if self.dataset is not None and (self.encoding or self.delimiter):
            raise ValueError("`encoding` and `delimiter` belong to a text table")
        return self

    def resolved(self, base: Path) -> SourceSpec:
        """The same source with its path made absolute against the folder `base` of the release file."""
        return self if self.table is None else self.model_copy(update={"table": str((base / self.table).absolute())})

    @property
    def label(self) -> str:
        """What messages call the source: the file's name without its folder, or the name of the dataset."""
        return f"dataset {self.dataset}" if self.table is None else Path(self.table).name


@dataclass(frozen=True, slots=True)
class Dataset:
    """One table that ships inside statsmodels."""

    name: DatasetName
    rows: int
    columns: int
    description: str


def list_datasets() -> tuple[Dataset, ...]:
    """The tables that need no file, with their sizes."""
    return tuple(_described(name) for name in DATASETS)


def files(source: SourceSpec) -> tuple[Path, ...]:
    """The files that `read` will read; InputError where one is absent."""
    if source.table is not None:
        return (_existing(Path(source.table), source.label),)
    module = importlib.import_module(f"statsmodels.datasets.{source.dataset}")
    return (_existing(Path(str(module.__file__)).with_name(f"{source.dataset}.csv"), source.label),)


def read(source: SourceSpec) -> RawTable:
    """The table as its file holds it: text cells of a text table, typed columns otherwise. No declaration is applied yet.

    Raises InputError for a file that is absent, unreadable, a folder, or not what it says; see `delimited` and `parquet`.
    """
    if source.dataset is not None:
        return _read_dataset(source.dataset)
    (path,) = files(source)
    content = _content(path, source.label)
    if content.startswith(parquet.MAGIC) or path.suffix.lower() in {".parquet", ".pq"}:
        return parquet.read(content, source.label)
    return delimited.read(content, source.label, encoding=source.encoding, delimiter=source.delimiter)


def _read_dataset(name: DatasetName) -> RawTable:
    frame = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
    table = pa.table({str(column): pa.array(frame[column], from_pandas=True) for column in frame.columns})
    return RawTable(table=table, label=f"dataset {name}", format="statsmodels", as_text=False)


def _described(name: DatasetName) -> Dataset:
    module = importlib.import_module(f"statsmodels.datasets.{name}")
    shape = module.load_pandas().data.shape
    return Dataset(name, shape[0], shape[1], " ".join(str(module.DESCRSHORT).split()))


def _existing(path: Path, label: str) -> Path:
    try:
        if path.is_file():
            return path
        what = "The source is a folder, not a file." if path.is_dir() else "The source file does not exist."
    except OSError as error:
        what = f"The source cannot be looked at ({error.strerror})."
    beside = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    remedy = did_you_mean(path.name, beside, "correct `source.table`; it is relative to the release file")
    raise InputError("no-such-source", f"source: {label}", what, "the path of a CSV or Parquet file", remedy, value=str(path))


def _content(path: Path, label: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError("unreadable-source", f"source: {label}", f"The source file cannot be read ({error.strerror}).",
                         "a file that this user may read", "check its permissions", value=str(path)) from None  # fmt: skip
