"""Where a table comes from: a file, a folder of Parquet files, a query, or a table that has a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedIOBase, BytesIO
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tasks.ingest.codebooks.codebook import Attributes
from tasks.ingest.readers import compressed, datasets, folder, statistical
from tasks.ingest.readers.datasets import DATASETS as DATASETS
from tasks.ingest.readers.datasets import DatasetName
from tasks.ingest.readers.datasets import list_datasets as list_datasets
from tasks.ingest.readers.delimited import FORMAT as TEXT
from tasks.ingest.readers.file_format import FileFormat
from tasks.ingest.readers.parquet import FORMAT as PARQUET
from tasks.ingest.readers.raw import RawTable, read_whole
from tasks.ingest.readers.statistical import FORMAT as STATISTICAL
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_TABLE, open_regular_file
from tasks.microdata.spec import Name, Public, Spec
from tasks.microdata.suggestion import did_you_mean_file

FORMATS = (
    PARQUET,
    STATISTICAL,
)  # a file is of the first that recognises it or has its suffix; else it is a text table
_BEGINNING_BYTES = 1024  # by which a format is known
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMES = ", ".join(one.name for one in FORMATS).replace(" and ", " or ")
_FILES = f"a file of CSV (also compressed), {_NAMES}, or a folder of Parquet files"


class SourceSpec(Spec):
    """Exactly one of `table` (a file, or a folder of Parquet files), `dataset` (a table that has a name) and `sql` (a query).

    table: path, relative to the release file.
    sql: one SELECT; url_env: the environment variable that holds the database's URL, which is never written down.
    encoding, delimiter: of a text table; detected and reported where they are not given. `encoding` also of the texts inside a
        file of SPSS, Stata or SAS.
    """

    table: Name | None = None
    dataset: DatasetName | None = None
    sql: Annotated[str, Field(min_length=1, max_length=100_000)] | None = Field(None, repr=False)
    url_env: str | None = Field(None, repr=False, description="the NAME of an environment variable, not a URL")
    encoding: Public[Name | None] = None
    delimiter: Public[Literal[",", ";", "\t", "|"] | None] = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if sum(part is not None for part in (self.table, self.dataset, self.sql)) != 1:
            raise ValueError("a source is exactly one of `table: <path>`, `dataset: <name>` and `sql: <query>`")
        if self.table is None and (self.encoding or self.delimiter):
            raise ValueError("`encoding` and `delimiter` belong to a file")
        if (self.sql is None) != (self.url_env is None):
            raise ValueError("`sql` needs `url_env`, the name of the environment variable that holds the database's URL")
        if self.url_env is not None and _VARIABLE.fullmatch(self.url_env) is None:
            raise ValueError("`url_env` is the name of an environment variable; the URL itself is never written down")
        return self

    def resolve_path(self, base: Path) -> Self:
        """The same source with its path made absolute against the folder `base` of the release file."""
        return self if self.table is None else self.model_copy(update={"table": str((base / self.table).absolute())})

    @property
    def label(self) -> str:
        """What messages call the source: the file's name without its folder, the dataset's name, or whose database is asked."""
        if self.table is not None:
            return Path(self.table).name
        return f"dataset {self.dataset}" if self.dataset is not None else f"the query on ${self.url_env}"


def list_source_files(source: SourceSpec) -> tuple[tuple[str, Path], ...]:
    """The files that `read` will read, in its order, each with its path inside a folder ("" for a single file).

    () for a query. Raises InputError for a file or reference table that is absent, or a folder without Parquet files.
    """
    if source.dataset is not None:
        return (("", datasets.find_dataset_file(source.dataset)),)
    if source.table is None:
        return ()
    path = Path(source.table)
    if _is_folder(path):
        return folder.list_folder_files(path, source.label)
    return (("", _existing(path, source.label)),)


def files(source: SourceSpec) -> tuple[Path, ...]:
    """The files that `read` will read; () for a query. Raises as `list_source_files` does."""
    return tuple(path for _, path in list_source_files(source))


def reachable(source: SourceSpec) -> None:
    """InputError where the source is not there: a file that is absent, a variable that is not set, a database that is silent.

    Reads no row. A database gets 15 seconds to answer.
    """
    if source.sql is not None and source.url_env is not None:
        from tasks.ingest.readers import sql

        sql.check_query(source.sql, source.url_env, source.label)
    files(source)


def read(source: SourceSpec, attributes: Attributes | None = None) -> RawTable:
    """The table as its source holds it: text cells of a text table, typed columns otherwise. No declaration is applied yet.

    attributes: what is declared, by whoever types the columns next; those of a text table that will be numbers may then be
    numbers already (`delimited.read`), which takes less memory.
    A file is known by its first bytes, whatever its name is; compressed ones are unpacked first.

    Raises InputError for a source that is absent, unreadable, or not what it says; see `delimited`, `parquet`, `folder`,
    `statistical`, `compressed`, `sql` and `datasets`.
    """
    if source.dataset is not None:
        return datasets.read(source.dataset)
    if source.sql is not None and source.url_env is not None:
        from tasks.ingest.readers import sql

        return sql.read(source.sql, source.url_env, source.label)
    path, label = Path(str(source.table)), source.label
    if _is_folder(path):
        return folder.read(_open_files(source), label)
    with _open_file(_existing(path, label), label) as file:
        return _read_file(file, path, source, attributes)


def read_content(content: bytes, name: str) -> RawTable:
    """The table in the bytes of one file, known as in `read`; `name` is the file's name. Raises InputError."""
    return _read_file(BytesIO(content), Path(name), SourceSpec(table=name))


def _read_file(file: BufferedIOBase, path: Path, source: SourceSpec, attributes: Attributes | None = None) -> RawTable:
    label, suffix = source.label, path.suffix.lower()
    if compressed.is_compressed(_read_beginning(file)):
        content, kind = compressed.decompress_content(read_whole(file, label), label)
        suffix = "" if suffix == ".zip" else Path(path.stem).suffix.lower()
        raw = _read_plain(BytesIO(content), suffix, source, attributes)
        return raw.read_how(f"unpacked from {kind}")
    if suffix in compressed.SUFFIXES:
        raise InputError("damaged-archive", label, "The file is named like a compressed one and is none.",
                         "a file of gzip, bzip2, xz, zstd or zip", "compress it again, or name it what it is")  # fmt: skip
    return _read_plain(file, suffix, source, attributes)


def _read_plain(file: BufferedIOBase, suffix: str, source: SourceSpec, attributes: Attributes | None) -> RawTable:
    beginning = _read_beginning(file)
    statistical.refuse_encrypted(beginning, source.label)
    format_ = next((one for one in FORMATS if one.recognise(beginning) or suffix in one.suffixes), TEXT)
    given = {"encoding": source.encoding, "delimiter": source.delimiter}
    _refuse_options(given, format_)
    declared = {"attributes": attributes} if format_ is TEXT else {}
    return format_.read(file, source.label, **{option: given[option] for option in format_.options}, **declared)


def _read_beginning(file: BufferedIOBase) -> bytes:
    beginning = file.read(_BEGINNING_BYTES)
    file.seek(0)
    return beginning


def _refuse_options(given: Mapping[str, str | None], format_: FileFormat) -> None:
    unused = next((option for option, value in given.items() if value and option not in format_.options), None)
    if unused is not None:
        raise InputError("unused-option", f"source.{unused}", f"`{unused}` means nothing in a file of {format_.name}.",
                         f"no `{unused}`", f"remove `{unused}`")  # fmt: skip


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # told by _existing


def _existing(path: Path, label: str) -> Path:
    try:
        if path.is_file():
            return path
        what = "The source is a device, a pipe or a socket, not a file." if path.exists() else "The source file does not exist."
    except OSError as error:
        what = f"The source cannot be looked at ({error.strerror})."
    beside = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    remedy = did_you_mean_file(path.name, beside, "correct `table`; it is relative to the release file")
    raise InputError("no-such-source", f"source: {label}", what, f"the path of {_FILES}", remedy, value=str(path))


def _open_files(source: SourceSpec) -> Iterator[tuple[str, BufferedIOBase]]:
    """The files of a folder, each open until the next is asked for."""
    for name, path in list_source_files(source):
        with _open_file(path, source.label) as file:
            yield name, file


@contextmanager
def _open_file(path: Path, label: str) -> Iterator[BufferedIOBase]:
    try:
        with open_regular_file(path, LARGEST_TABLE) as file:
            yield file
    except OSError as error:
        raise InputError("unreadable-source", f"source: {label}", f"The source file cannot be read ({error.strerror}).",
                         "a file that this user may read", "check its permissions", value=str(path)) from None  # fmt: skip
