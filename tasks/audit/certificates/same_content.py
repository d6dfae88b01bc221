"""Is a file, whose bytes are not those of the certificate, the same data in another format?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.audit.certificates.exact_casts import KINDS, Misfit, exactly, without_words
from tasks.ingest.readers import parquet
from tasks.ingest.readers.compressed import is_compressed, unpacked
from tasks.ingest.readers.raw import RawTable
from tasks.ingest.sources import read_content
from tasks.microdata.errors import InputError
from tasks.microdata.table import Microdata
from tasks.report.predicate import ColumnClaim, FileClaim
from tasks.runtime.artifacts import content_address

_NAMED = 5  # so many columns are named, the others counted


class OtherData(Exception):
    """The file is not the same data; the text says in what, as far as can be told, and holds no value."""


def same_data(content: bytes, name: str, claim: FileClaim) -> str:
    """Compare the content of a file with the certified content, whatever the formats of the two; returns how it was read.

    Columns are read as the types that the certificate states, where no value changes by it. Empty and missing text, which many
    formats do not tell apart, are tried both ways, and `NA` as a missing text. Raises OtherData. A gigabyte at most is unpacked
    for a megabyte, four at most.
    """
    try:
        raw = _read(content, name.encode(errors="replace").decode(), claim)
        _same_shape(raw.table.column_names, raw.table.num_rows, claim)
        _refuse_hidden(raw)
        table = _typed(raw.table, claim.columns)
        for reading, words in _readings(table):
            if content_address(reading) == claim.content_address:
                beside = "" if raw.as_text else "; labels and notes in it are not compared"
                return f"{raw.format}{words}{beside}"
    except InputError as error:
        raise OtherData(f"it cannot be read as a table: {error.what}") from None
    except OtherData:
        raise
    except Exception as error:  # a spoiled file can make a parser throw anything, a full memory too: it is not the table
        raise OtherData(f"it cannot be read as a table ({type(error).__name__})") from None
    raise OtherData(
        "rows, columns and types are those of the certificate; at least one value, or the order of the rows, is not"
    )


def _read(content: bytes, name: str, claim: FileClaim) -> RawTable:
    if is_compressed(content):
        content, name = unpacked(content, name)[0], Path(name).stem
    if content.startswith(parquet.MAGIC):
        _refuse_other_parquet(content, claim)
    return read_content(content, name)


def _refuse_other_parquet(content: bytes, claim: FileClaim) -> None:
    """Told by the file's own summary: a few bytes can stand for any number of rows, which need not be read to be other ones."""
    try:
        summary = pq.read_metadata(pa.BufferReader(content))
    except (pa.ArrowException, OSError):
        return  # told by the reader
    _same_shape(list(summary.schema.to_arrow_schema().names), summary.num_rows, claim)


def _refuse_hidden(raw: RawTable) -> None:
    """SPSS, Stata and SAS keep a value beside the mark that it is missing: what was left out of a release may stand there."""
    marked = [name for name, _ in raw.column_notes]
    if marked:
        raise OtherData(f"it holds values that it calls missing, and they can be read all the same, in {_columns(marked)}")


def _same_shape(names: list[str], rows: int, claim: FileClaim) -> None:
    stated = [column.name for column in claim.columns]
    absent, added = [one for one in stated if one not in names], [one for one in names if one not in stated]
    differences = [
        f"it has {rows:,} rows, the certificate states {claim.rows:,}" if rows != claim.rows else "",
        f"it lacks {_columns(absent)}" if absent else "",
        f"the certificate does not know {_columns(added)}" if added else "",
        "its columns stand in another order" if sorted(names) == sorted(stated) and names != stated else "",
    ]
    if any(differences):
        raise OtherData("; ".join(filter(None, differences)))


def _typed(table: pa.Table, columns: tuple[ColumnClaim, ...]) -> Microdata:
    found, misfits = {}, []
    for column in columns:
        try:
            found[column.name] = exactly(table.column(column.name), KINDS[column.type])
        except (Misfit, KeyError):
            misfits.append(column)
    if misfits:
        types = ", ".join(dict.fromkeys(one.type for one in misfits))
        raise OtherData(
            f"it holds values that are not of the certified type ({types}) in {_columns([x.name for x in misfits])}"
        )
    return Microdata(pa.table(found))


def _readings(table: Microdata) -> Iterator[tuple[Microdata, str]]:
    """The table as read, then with its texts read in other ways, each with the words for it."""
    yield table, ""
    others = {
        ", empty text taken as missing": _empty_as_missing,
        ", missing text taken as empty": _missing_as_empty,
        ", a word such as NA or None taken as missing text": without_words,
    }
    for words, change in others.items():
        changed = _with_texts(table, change)
        if not changed.arrow.equals(table.arrow):
            yield changed, words


def _with_texts(table: Microdata, change: Callable[[pa.Array], pa.Array]) -> Microdata:
    columns = {name: table.column(name) for name in table.names}
    return Microdata(pa.table({name: change(one) if table.is_text(name) else one for name, one in columns.items()}))


def _empty_as_missing(cells: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells)


def _missing_as_empty(cells: pa.Array) -> pa.Array:
    return pc.fill_null(cells, "")


def _columns(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return f"the column {shown}" if len(names) == 1 else f"the columns {shown}"
