"""Check whether a file whose bytes are not those of the certificate has the same data in another format."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyreadstat

from tasks.audit.certificates.coverage.coverage import list_stems, list_uncovered
from tasks.audit.certificates.exact_casts import KINDS, Misfit, blank_word, cast_exactly, find_missing_word
from tasks.ingest.readers import parquet
from tasks.ingest.readers.compressed import decompress_content, is_compressed
from tasks.ingest.readers.raw import RawTable
from tasks.ingest.readers.statistical import StatisticalFormat, find_format
from tasks.ingest.sources import read_content
from tasks.microdata.errors import InputError
from tasks.microdata.table import Microdata
from tasks.report.predicate import ColumnClaim, FileClaim
from tasks.runtime.artifacts import is_content_address

_NAMED = 5  # so many columns are named, the others counted


class OtherData(Exception):
    """The file is not the same data; the text says in what, as far as can be told, and holds no value."""


@dataclass(frozen=True, slots=True)
class SameData:
    """The table in a file is the certified one.

    read_as: how it was read. not_covered: what the file holds beside the table, in words, which may hold names from the file.
    """

    read_as: str
    not_covered: tuple[str, ...] = ()


def compare_content(content: bytes, name: str, claim: FileClaim) -> SameData:
    """Compare the content of a file with the certified content, whatever the formats of the two.

    Columns are read as the types that the certificate states, where no value changes by it, and none looks like another one.
    Empty and missing text, which many formats do not tell apart, are tried both ways, and a word such as `NA` as a missing text
    if all missing texts are written so. Raises OtherData. A gigabyte at most is unpacked for a megabyte, four at most.
    """
    try:
        label = name.encode(errors="replace").decode()
        plain, raw = _read(content, label, claim)
        _require_same_shape(raw.table.column_names, raw.table.num_rows, claim)
        _refuse_hidden(raw)
        table = _cast_columns(raw.table, claim.columns)
        for reading, words in _list_readings(table):
            if is_content_address(claim.content_address, reading):
                return SameData(f"{raw.format}{words}", list_uncovered(content, plain, raw, list_stems(label, claim.name)))
    except InputError as error:
        raise OtherData(f"it cannot be read as a table: {error.what}") from None
    except OtherData:
        raise
    except Exception as error:  # a spoiled file can make a parser throw anything, a full memory too: it is not the table
        raise OtherData(f"it cannot be read as a table ({type(error).__name__})") from None
    raise OtherData(
        "rows, columns and types are those of the certificate; at least one value, or the order of the rows, is not"
    )


def _read(content: bytes, name: str, claim: FileClaim) -> tuple[bytes, RawTable]:
    """The bytes of the table's own file, which may be packed in another, and the table."""
    if is_compressed(content):
        content, name = decompress_content(content, name)[0], Path(name).stem
    if content.startswith(parquet.MAGIC):
        _refuse_other_parquet(content, claim)
    elif (kind := find_format(content)) is not None and kind.tells_missing:
        _refuse_other_statistical(content, kind, claim)
    return content, read_content(content, name)


def _refuse_other_parquet(content: bytes, claim: FileClaim) -> None:
    """Told by the file's own summary: a few bytes can stand for any number of rows, which need not be read to be other ones."""
    try:
        summary = pq.read_metadata(pa.BufferReader(content))
    except (pa.ArrowException, OSError):
        return  # told by the reader
    _require_same_shape(list(summary.schema.to_arrow_schema().names), summary.num_rows, claim)


def _refuse_other_statistical(content: bytes, kind: StatisticalFormat, claim: FileClaim) -> None:
    """Told by the file's header, as above: room for all rows that it states is taken before the first is read."""
    try:
        _, summary = kind.read(io.BytesIO(content), metadataonly=True)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, OverflowError, OSError):
        return  # told by the reader
    if summary.number_rows is not None:
        _require_same_shape(list(summary.column_names), summary.number_rows, claim)


def _refuse_hidden(raw: RawTable) -> None:
    """SPSS, Stata and SAS keep a value beside the mark that it is missing: what was left out of a release may stand there."""
    marked = [name for name, _ in raw.column_notes]
    if marked:
        raise OtherData(
            f"it holds values that it calls missing, and they can be read all the same, in {_format_columns(marked)}"
        )


def _require_same_shape(names: list[str], rows: int, claim: FileClaim) -> None:
    stated = [column.name for column in claim.columns]
    absent, added = [one for one in stated if one not in names], [one for one in names if one not in stated]
    differences = [
        f"it has {rows:,} rows, the certificate states {claim.rows:,}" if rows != claim.rows else "",
        f"it lacks {_format_columns(absent)}" if absent else "",
        f"the certificate does not know {_format_columns(added)}" if added else "",
        "its columns stand in another order" if sorted(names) == sorted(stated) and names != stated else "",
    ]
    if any(differences):
        raise OtherData("; ".join(filter(None, differences)))


def _cast_columns(table: pa.Table, columns: tuple[ColumnClaim, ...]) -> Microdata:
    found, misfits = {}, []
    for column in columns:
        try:
            found[column.name] = cast_exactly(table.column(column.name), KINDS[column.type])
        except (Misfit, KeyError):
            misfits.append(column)
    if misfits:
        types = ", ".join(dict.fromkeys(one.type for one in misfits))
        raise OtherData(
            f"it holds values that are not of the certified type ({types}) in {_format_columns([x.name for x in misfits])}"
        )
    return Microdata(pa.table(found))


def _list_readings(table: Microdata) -> Iterator[tuple[Microdata, str]]:
    """The table as read, then with its texts read in other ways, each with the words for it."""
    yield table, ""
    others: dict[str, Callable[[pa.Array], pa.Array]] = {
        ", empty text taken as missing": _blank_empty_texts,
        ", missing text taken as empty": _fill_missing_texts,
    }
    if (word := _find_missing_word(table)) is not None:
        others[f", {word} taken as missing text"] = partial(blank_word, word=word)
    for words, change in others.items():
        changed = _transform_texts(table, change)
        if not changed.arrow.equals(table.arrow):
            yield changed, words


def _find_missing_word(table: Microdata) -> str | None:
    """The one word that stands for every missing text of the table; None where it has other missing texts, or several words."""
    texts = [table.column(name) for name in table.names if table.is_text(name)]
    found = {find_missing_word(cells) for cells in texts} - {None}
    return found.pop() if len(found) == 1 and not any(cells.null_count for cells in texts) else None


def _transform_texts(table: Microdata, change: Callable[[pa.Array], pa.Array]) -> Microdata:
    columns = {name: table.column(name) for name in table.names}
    return Microdata(pa.table({name: change(one) if table.is_text(name) else one for name, one in columns.items()}))


def _blank_empty_texts(cells: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(cells, ""), pa.scalar(None, pa.string()), cells)


def _fill_missing_texts(cells: pa.Array) -> pa.Array:
    return pc.fill_null(cells, "")


def _format_columns(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return f"the column {shown}" if len(names) == 1 else f"the columns {shown}"
