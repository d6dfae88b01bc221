"""Parquet files that contradict themselves, or hold what their types do not allow: one error, and never a part of a table."""

from __future__ import annotations

import errno
import struct
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.readers.parquet import columns, read
from tasks.ingest.sources import SourceSpec
from tasks.microdata.errors import InputError

ROWS = 77_777
TABLE = pa.table({"a": np.arange(ROWS), "b": np.arange(ROWS) % 7, "c": pa.array(["x", None, "y"]).take(np.arange(ROWS) % 3)})


def write(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=50_000)
    return bytes(sink.getvalue())


def encode_number(number: int, width: int) -> bytes:
    """As the footer has whole numbers that are not negative: twice the number, seven bits a byte, here in `width` bytes."""
    return bytes((2 * number >> 7 * i) & 127 | (128 if i < width - 1 else 0) for i in range(width))


def find_counts(content: bytes) -> list[tuple[int, int]]:
    """Where the footer says how many rows or values there are, and how many."""
    (length,) = struct.unpack("<I", content[-8:-4])
    footer = content[-8 - length : -8]
    return [
        (len(content) - 8 - length + i, count)
        for count in (ROWS, 50_000, ROWS - 50_000)
        for i in range(length - 2)
        if footer[i : i + 3] == encode_number(count, 3)
    ]


WHOLE = write(TABLE)
PLACES = find_counts(WHOLE)


def test_the_counts_of_the_footer_are_found() -> None:
    assert len(PLACES) >= 1 + 2 + 2 * TABLE.num_columns  # of the file, its row groups, and their columns


@pytest.mark.parametrize("place", range(len(PLACES)))
@pytest.mark.parametrize("said", [0, 5, 49_999, 200_000])
def test_a_wrong_count_never_leaves_rows_out(place: int, said: int) -> None:
    at, _ = PLACES[place]
    try:
        table = columns(BytesIO(WHOLE[:at] + encode_number(said, 3) + WHOLE[at + 3 :]), "t.parquet")
    except InputError as error:
        assert error.code == "not-parquet"
    else:
        assert table.equals(TABLE)


def test_an_error_of_the_disk_is_no_damage_of_the_file() -> None:
    class Failing(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() < 8:
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size)

    with pytest.raises(InputError, match="Input/output error") as refused:
        columns(Failing(WHOLE), "t.parquet")
    assert refused.value.code == "unreadable-source"


@pytest.mark.parametrize("is_dictionary", [False, True])
def test_texts_that_are_not_utf_8(is_dictionary: bool) -> None:
    wrong = pa.array([b"M\xfcller", b"b"] * 3).view(pa.string())
    with pytest.raises(InputError) as refused:
        content = write(pa.table({"n": range(6), "who": wrong.dictionary_encode() if is_dictionary else wrong}))
        ingest_raw_table(read(BytesIO(content), "t.parquet"), IngestPlan(source=SourceSpec(table="t.parquet")))
    assert (refused.value.code, refused.value.where) == ("not-utf-8", "t.parquet: column who")


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.struct([("p", pa.int8())])])
def test_types_derived_from_lists_and_structures_are_refused_before_they_are_read(kind: pa.DataType) -> None:
    stored = pa.array([None] * 3, kind)
    derived = pa.ExtensionArray.from_storage(pa.opaque(kind, "kind", "maker"), stored)
    with pytest.raises(InputError) as refused:
        columns(BytesIO(write(pa.table({"who": ["a", "b", "c"], "derived": derived}))), "t.parquet")
    assert (refused.value.code, refused.value.where) == ("unsupported-type", "t.parquet: column derived")
