"""Tables that have a name: those inside statsmodels, and the reference tables of the literature, which are files."""

from __future__ import annotations

import hashlib
import importlib
import os
from dataclasses import dataclass
from importlib.metadata import distribution
from io import BytesIO
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa

from tasks.ingest.readers import delimited
from tasks.ingest.readers.raw import RawTable
from tasks.microdata.errors import InputError
from tasks.microdata.fingerprint import TASKS
from tasks.microdata.regular_files import LARGEST_TABLE, read_file

DatasetName = Literal["anes96", "randhie", "fair", "census", "eia", "household"]
DATASETS: tuple[DatasetName, ...] = get_args(DatasetName)
FOLDER_VARIABLE = "SDCERT_REFERENCE_DATA"
_ROW_IS = {"anes96": "a respondent", "randhie": "a person-year: the table holds no key of the person", "fair": "a respondent"}


@dataclass(frozen=True, slots=True)
class Dataset:
    """One table that has a name. a_row_is: what one row stands for. available: can it be read here and now?"""

    name: DatasetName
    rows: int
    columns: int
    description: str
    a_row_is: str
    available: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """One reference table: a CSV file that is known by its SHA-256, and how the public gets it."""

    rows: int
    columns: int
    description: str
    a_row_is: str
    sha256: str
    origin: str


def _from_r(table: str, name: str) -> str:
    return f'in R: library(sdcMicro); data({table}); write.csv({table}, "{name}.csv", row.names = FALSE)'


REFERENCES: dict[str, Reference] = {
    "census": Reference(
        rows=1080,
        columns=13,
        description="US Current Population Survey 1995, public use file of the CASC project (Brand et al. 2002)",
        a_row_is="a person",
        sha256="455aaecb2426a62c60c8aaa85ac09a9f01e35001063c07f32a67d82ad2e3be9f",
        origin=_from_r("CASCrefmicrodata", "census"),
    ),
    "eia": Reference(
        rows=4092,
        columns=15,
        description="US Energy Information Administration, Form 826, 1996, public use file of the CASC project",
        a_row_is="a utility in one state and month",
        sha256="0ccc4ada7995f5b3d4047afdf670852834ad8651ce8ea60d87a7c41ca74d34de",
        origin=_from_r("EIA", "eia"),
    ),
    "household": Reference(
        rows=4580,
        columns=15,
        description="household survey of the International Household Survey Network",
        a_row_is="a person; `ori_hid` is the household",
        sha256="07211ef56ba9641e0aca4cf1531a45e87c32396dd032fc0de7e3fd990e464b90",
        origin=_from_r("testdata", "household"),
    ),
}


def list_datasets() -> tuple[Dataset, ...]:
    """The tables that have a name, with their sizes, what a row is, and whether they are here."""
    return tuple(_describe_dataset(name) for name in DATASETS)


def find_dataset_file(name: DatasetName) -> Path:
    """The file that holds a table; InputError where a reference table is absent."""
    if name not in REFERENCES:
        place = f"statsmodels/datasets/{name}/{name}.csv"
        return Path(str(distribution("statsmodels").locate_file(place)))  # to import statsmodels takes half a second
    folder = reference_folder()
    path = None if folder is None else folder / f"{name}.csv"
    if path is not None and path.is_file():
        return path
    raise InputError(
        "no-such-dataset-file",
        f"source: dataset {name}",
        f"The reference table {name} ({REFERENCES[name].description}) is not here: sdcert does not carry it.",
        f"a file {name}.csv in the folder that the environment variable {FOLDER_VARIABLE} names",
        f"the R package sdcMicro ships it ({REFERENCES[name].origin}); then set {FOLDER_VARIABLE} to the folder of the file",
    )


def reference_folder() -> Path | None:
    """The folder of the reference tables: SDCERT_REFERENCE_DATA, or `../shared/data` beside the project if it is there."""
    named = os.environ.get(FOLDER_VARIABLE)
    beside = TASKS.parent.parent / "shared" / "data"
    return Path(named) if named else beside if beside.is_dir() else None


def read(name: DatasetName) -> RawTable:
    """The table; InputError where a reference table is absent, unreadable, or another version than the literature's."""
    label = f"dataset {name}"
    if name in REFERENCES:
        return delimited.read(BytesIO(_reference(name, find_dataset_file(name))), label)
    frame = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
    table = pa.table({str(column): pa.array(frame[column], from_pandas=True) for column in frame.columns})
    return RawTable(table=table, label=label, format="statsmodels", as_text=False)


def _reference(name: DatasetName, path: Path) -> bytes:
    try:
        content = read_file(path, LARGEST_TABLE)
    except OSError as error:
        raise InputError("unreadable-source", f"source: dataset {name}", f"The file cannot be read ({error.strerror}).",
                         "a file that this user may read", "check its permissions", value=str(path)) from None  # fmt: skip
    if hashlib.sha256(content).hexdigest() != REFERENCES[name].sha256:
        raise InputError("other-version", f"source: dataset {name}", "The file is not the reference table of that name.",
                         f"the file with SHA-256 {REFERENCES[name].sha256}",
                         "name your file with `table:` if it is another one", value=str(path))  # fmt: skip
    return content


def _describe_dataset(name: DatasetName) -> Dataset:
    if name in REFERENCES:
        known, folder = REFERENCES[name], reference_folder()
        here = folder is not None and (folder / f"{name}.csv").is_file()
        return Dataset(name, known.rows, known.columns, known.description, known.a_row_is, here)
    module = importlib.import_module(f"statsmodels.datasets.{name}")
    rows, columns = module.load_pandas().data.shape
    return Dataset(name, rows, columns, " ".join(str(module.DESCRSHORT).split()), _ROW_IS[name], available=True)
