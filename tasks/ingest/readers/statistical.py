"""Data files of SPSS, Stata and SAS. Values stay codes; what the file calls their labels becomes the codebook."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedIOBase, BytesIO
from typing import Any, Literal

import pyarrow as pa

from tasks.ingest.readers.file_format import FileFormat
from tasks.ingest.readers.labels import create_codebook, is_called_missing
from tasks.ingest.readers.raw import RawTable, read_whole, refuse_bad_names, too_large
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_TABLE

Program = Literal["spss", "stata", "sas"]
SUFFIXES = frozenset({".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"})
SAS_MAGIC = b"\x00" * 12 + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\x00\x09\xc7\x31\x8c\x18\x1f\x10\x11"
_OLD_STATA = re.compile(rb"[\x68-\x73][\x01\x02]\x01\x00")
_RECORD_BYTES = 80  # of a SAS transport file
_CELL_BYTES = 32  # of a number as the reader hands it over
_EXACT_DOUBLE = 2**53
_SECONDS_OF_DAY = 86400
_WHOLE = re.compile(r"^%?-?[A-Z]*[0-9]*(\.0?)?f?$")  # F8.0, COMMA10, BEST12., %8.0f, none: shown without decimals
_NUMERIC = re.compile(r"^(%-?[0-9.,]*[gfe]c?|(F|E|N|COMMA|DOT|DOLLAR|PCT|BEST|Z)?[0-9]*(\.[0-9]*)?)$")


@dataclass(frozen=True, slots=True)
class StatisticalFormat:
    """One file format. reader: the name of the function of pyreadstat that reads it."""

    name: str
    program: Program
    reader: str
    tells_missing: bool = True  # can the reader hand over the values that the file calls missing?

    def read(self, file: BytesIO, **options: Any) -> Any:
        """What pyreadstat returns: the values, and what the file says of them."""
        import pyreadstat  # a fifth of a second: only where such a file is read

        return getattr(pyreadstat, self.reader)(file, **options)


_SAV = StatisticalFormat("SPSS", "spss", "read_sav")
_POR = StatisticalFormat("SPSS portable", "spss", "read_por", tells_missing=False)
_DTA = StatisticalFormat("Stata", "stata", "read_dta")
_SAS7BDAT = StatisticalFormat("SAS", "sas", "read_sas7bdat")
_XPT = StatisticalFormat("SAS transport", "sas", "read_xport", tells_missing=False)


def find_format(content: bytes) -> StatisticalFormat | None:
    """The format that the first bytes of a file tell; None where it is another one."""
    if content.startswith((b"$FL2", b"$FL3")):
        return _SAV
    if content.startswith(b"<stata_dta>") or _OLD_STATA.match(content):
        return _DTA
    if content.startswith(SAS_MAGIC):
        return _SAS7BDAT
    if content.startswith(b"HEADER RECORD*******LIB"):
        return _XPT
    return _POR if b"SPSSPORT" in content[:600].replace(b"\r", b"").replace(b"\n", b"") else None


def refuse_encrypted(content: bytes, label: str) -> None:
    """InputError for an SPSS file that a password protects."""
    if content[8:17] == b"ENCRYPTED":
        raise InputError("encrypted-file", label, "The SPSS file is encrypted.", "a file without password",
                         "save it without password in SPSS, in a folder that is protected")  # fmt: skip


def read(file: BufferedIOBase, label: str, *, encoding: str | None = None) -> RawTable:
    """The columns of a data file: numbers, text, dates (date32), moments (timestamp) and times of day.

    A column of whole numbers that the file shows without decimals is a column of integers, because SPSS and SAS know no others;
    Stata's own integers are integers. Values that the file itself calls missing (missing ranges of SPSS, .a to .z of Stata
    and SAS) become missing, and a note counts them (not for .por and .xpt, whose reader does not tell them apart).

    Parameters
    ----------
    file: open at its beginning.
    encoding: of the texts, where the file does not tell it, or tells it wrongly.

    Raises InputError: a damaged file; a time of day of 24 hours or more, or below zero; no columns; no rows.
    """
    content = read_whole(file, label)
    kind = find_format(content)
    if kind is None:
        raise InputError("not-statistical", label, "The file is not what its name says.", "an SPSS, Stata or SAS file",
                         "save it again, or name a text table .csv")  # fmt: skip
    _refuse_truncated(content, kind, label)
    options = {} if encoding is None or kind is _POR else {"encoding": encoding}
    missing_options = {"user_missing": True} if kind.tells_missing else {}
    names = list(_parse_content(content, kind, label, metadataonly=True, **options)[0])
    refuse_bad_names(names, label)
    most = LARGEST_TABLE // (_CELL_BYTES * len(names))  # a few bytes of a compressed file can stand for any number of rows
    stored, meta = _parse_content(
        content, kind, label, disable_datetime_conversion=True, row_limit=most + 1, **options, **missing_options
    )
    if max(map(len, stored.values()), default=0) > most:
        raise too_large(label, "save the rows and columns that are needed")
    calendar = [name for name in stored if _may_be_calendar(meta, name)]
    converted = _parse_content(content, kind, label, usecols=calendar, **options)[0] if calendar else {}
    columns, notes = {}, []
    for name, values in stored.items():
        present, count = _blank_missing_values(values, name, meta)
        columns[name] = _column(present, converted.get(name), meta, name, f"{label}: column {name}", kind)
        notes += [(name, f"{count:,} values that the file calls missing became missing")] if count else []
    table = pa.table(columns)
    if table.num_rows == 0:
        raise InputError("no-rows", label, "The table has columns but no rows.", "at least one row", "check the file")
    return RawTable(table=table, label=label, format=kind.name, as_text=False, encoding=meta.file_encoding,
                    codebook=create_codebook(meta, list(stored), label), column_notes=tuple(notes))  # fmt: skip


def _blank_missing_values(values: Sequence[Any], name: str, meta: Any) -> tuple[list[Any], int]:
    gone = [is_called_missing(value, name, meta) for value in values]
    return [None if away else value for value, away in zip(values, gone, strict=True)], sum(gone)


def _refuse_truncated(content: bytes, kind: StatisticalFormat, label: str) -> None:
    """InputError for what the reader would take for complete: it stops where it has what it wants."""
    if (kind is _XPT and len(content) % _RECORD_BYTES) or (
        content.startswith(b"<stata") and b"</stata_dta>" not in content[-64:]
    ):
        raise _create_damage_error(kind, label)


def _parse_content(content: bytes, kind: StatisticalFormat, label: str, **options: Any) -> tuple[dict[str, list[Any]], Any]:
    import pyreadstat

    broken = (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, OverflowError, MemoryError, OSError)
    try:
        values, meta = kind.read(BytesIO(content), output_format="dict", **options)
    except broken:
        raise _create_damage_error(kind, label) from None
    return dict(values), meta


def _create_damage_error(kind: StatisticalFormat, label: str) -> InputError:
    return InputError("damaged-file", label, f"The {kind.name} file is damaged, or of a kind that is not read.",
                      f"a complete {kind.name} file", "save it again, or declare `source.encoding`")  # fmt: skip


def _may_be_calendar(meta: Any, name: str) -> bool:
    is_text = meta.readstat_variable_types.get(name) == "string"
    return not is_text and _NUMERIC.match(meta.original_variable_types.get(name) or "") is None


def _column(
    stored: Sequence[Any], converted: Sequence[Any] | None, meta: Any, name: str, where: str, kind: StatisticalFormat
) -> pa.Array:
    if meta.readstat_variable_types.get(name) == "string":
        return pa.array(stored, pa.string())
    types = {type(value) for value in converted or ()} & {datetime.date, datetime.datetime, datetime.time}
    if types == {datetime.time} and kind.program != "stata":
        _refuse_durations(stored, where)
    if types:
        return pa.array(converted)
    shown_whole = _WHOLE.match(meta.original_variable_types.get(name) or "") is not None
    integers = meta.readstat_variable_types.get(name, "").startswith("int")
    if integers or (shown_whole and all(v is None or (float(v).is_integer() and abs(v) < _EXACT_DOUBLE) for v in stored)):
        return pa.array([None if value is None else int(value) for value in stored], pa.int64())
    return pa.array(stored, pa.float64())


def _refuse_durations(seconds: Sequence[float | None], where: str) -> None:
    beyond = sum(1 for value in seconds if value is not None and not 0 <= value < _SECONDS_OF_DAY)
    if beyond:
        raise InputError("not-a-time-of-day", where, f"{beyond:,} times are below zero, or 24 hours or more.",
                         "times from 00:00:00 to 23:59:59", "store durations as numbers of seconds")  # fmt: skip


def is_statistical(content: bytes) -> bool:
    return find_format(content) is not None


FORMAT = FileFormat(name="SPSS, Stata and SAS", suffixes=SUFFIXES, recognise=is_statistical, read=read, options=("encoding",))
