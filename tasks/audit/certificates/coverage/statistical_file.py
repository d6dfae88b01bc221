"""Find what a file of SPSS, Stata or SAS holds beside its values: they are written again, and must give the same bytes.

These formats have room for labels, notes, documents and records that readers skip. Where the writers of pyreadstat and pandas,
given nothing but the values, write the same bytes (but for the time of writing), the file holds nothing else.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pandas as pd
import pyreadstat

from tasks.ingest.readers.statistical import StatisticalFormat, find_format

_TIME_OF_WRITING = re.compile(
    rb"[0-9]{2} ?[A-Z][A-Za-z]{2} ?([0-9]{4}|[0-9]{2})[ :]?[0-9]{2}:[0-9]{2}(:[0-9]{2})?|8/[0-9]{8}6/[0-9]{6}"
)
_HEAD_BYTES = 1024
_DTYPES = {"int8": "Int8", "int16": "Int16", "int32": "Int32", "float": "float32", "double": "float64", "string": "object"}
_PLAIN_FORMAT = re.compile(
    r"[FE][0-9]{1,2}(\.[0-9]{1,2})?|A[0-9]{1,5}|(DATE|ADATE|EDATE|SDATE|TIME|DATETIME|YMDHMS)[0-9]{0,2}(\.[0-9]{1,2})?"
    r"|%-?[0-9]{0,2}(\.[0-9]{1,2})?[gfe]|%-?[0-9]{1,4}s|%t[dc]"
)
_STATA_VERSION = re.compile(rb"<stata_dta><header><release>([0-9]{3})</release>")
_OLDEST_OF_PANDAS = 114


def list_unexplained_statistical(content: bytes) -> Iterator[str]:
    """What the file holds beside its values, in words. Cost: that of writing it a few times."""
    kind = find_format(content)
    if kind is None:
        yield "what is not understood"
        return
    values, meta = kind.read(io.BytesIO(content), output_format="dict", disable_datetime_conversion=True)
    yield from _list_labels(meta)
    formats = {name: form for name, form in meta.original_variable_types.items() if form}
    unusual = [name for name, form in formats.items() if _PLAIN_FORMAT.fullmatch(form) is None]
    if unusual:
        yield f"formats that say how values are shown ({_name_columns(unusual)})"
    if not any(_zero_time(written) == _zero_time(content) for written in _write_again(content, kind, values, meta, formats)):
        yield f"records of {kind.name} that are no values, which were not examined"


def _list_labels(meta: Any) -> Iterator[str]:
    if labelled := [name for name, labels in meta.variable_value_labels.items() if labels]:
        yield f"labels of values ({_name_columns(labelled)})"
    if labelled := [name for name, label in meta.column_names_to_labels.items() if label]:
        yield f"labels of columns ({_name_columns(labelled)})"
    if meta.file_label or meta.notes:
        yield "notes"


def _write_again(content: bytes, kind: StatisticalFormat, values: Any, meta: Any, formats: dict[str, str]) -> Iterator[bytes]:
    """The same values, as each writer at hand writes them."""
    yield from filter(
        None, (_try_to_write(write) for write in _list_writers(content, kind, _create_frame(values, meta), meta, formats))
    )


def _list_writers(
    content: bytes, kind: StatisticalFormat, frame: pd.DataFrame, meta: Any, formats: dict[str, str]
) -> Iterator[Callable[[], bytes]]:
    match kind.name:
        case "SPSS":
            for packing in ({}, {"row_compress": True}, {"compress": True}):
                yield partial(_write, pyreadstat.write_sav, frame, variable_format=formats, **packing)
        case "SPSS portable":
            yield partial(_write, pyreadstat.write_por, frame, variable_format=formats)
        case "SAS transport":
            for version in (5, 8):
                yield partial(_write, pyreadstat.write_xport, frame, file_format_version=version, variable_format=formats)
        case "Stata":
            for version in (8, 10, 11, 12, 13, 14, 15):
                yield partial(_write, pyreadstat.write_dta, frame, version=version, variable_format=formats)
            yield partial(_write_with_pandas, content, meta)
        case _:
            return  # no writer of SAS files is at hand


def _create_frame(values: Any, meta: Any) -> pd.DataFrame:
    kinds = meta.readstat_variable_types
    return pd.DataFrame({name: pd.array(cells, dtype=_DTYPES[kinds[name]]) for name, cells in values.items()})


def _write(write: Callable[..., None], frame: pd.DataFrame, **options: Any) -> bytes:
    """The file in memory alone: nothing is written to a disk."""
    descriptor = os.memfd_create("written-again")
    try:
        write(frame, f"/proc/self/fd/{descriptor}", **options)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            file.seek(0)
            return file.read()
    finally:
        os.close(descriptor)


def _write_with_pandas(content: bytes, meta: Any) -> bytes:
    frame = pd.read_stata(io.BytesIO(content), convert_categoricals=False)
    stated = _STATA_VERSION.match(content)
    version: Any = int(stated[1]) if stated else _OLDEST_OF_PANDAS
    dates: Any = {name: form[1:] for name, form in meta.original_variable_types.items() if form in ("%tc", "%td")}
    sink = io.BytesIO()
    frame.to_stata(sink, write_index=False, version=version, convert_dates=dates or None)
    return sink.getvalue()


def _try_to_write(write: Callable[[], bytes]) -> bytes | None:
    try:
        return write()
    except Exception:  # what a writer does not take was not written by it
        return None


def _zero_time(content: bytes) -> bytes:
    return _TIME_OF_WRITING.sub(lambda found: b"0" * len(found[0]), content[:_HEAD_BYTES], count=4) + content[_HEAD_BYTES:]


def _name_columns(names: list[str]) -> str:
    return ", ".join(names)
