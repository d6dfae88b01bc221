"""One array of a column's pieces: the same values, and a plain error where its texts are too long for one."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.readers.raw import RawTable
from tasks.ingest.sources import SourceSpec
from tasks.microdata import chunks
from tasks.microdata.chunks import TextsTooLong, count_text_bytes, write_out_dictionary
from tasks.microdata.errors import InputError

LONG = pa.array(["x" * (1 << 20)] * 100)
TEXTS = [["b", None, "a"], ["", "é", "b"], [], [None]]


def test_dictionaries_of_several_pieces_are_written_out() -> None:
    pieces = pa.chunked_array([pa.array(texts, pa.string()).dictionary_encode() for texts in TEXTS])
    assert write_out_dictionary(pieces).equals(pa.array([text for texts in TEXTS for text in texts], pa.string()))
    assert count_text_bytes(pieces) == len("baéb".encode())
    numbers = pa.chunked_array([pa.array([3, None, 3]).dictionary_encode()])
    assert write_out_dictionary(numbers).equals(pa.array([3, None, 3]))
    assert count_text_bytes(numbers) == 0


def test_what_is_no_dictionary_stays_where_it_is() -> None:
    whole = pa.array([1.5, None])
    assert write_out_dictionary(pa.chunked_array([whole])).buffers()[1].address == whole.buffers()[1].address


def test_a_dictionary_of_too_long_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = pa.chunked_array([pa.array(["long", "a", "a", "a"]).dictionary_encode()])
    monkeypatch.setattr(chunks, "LARGEST_TEXTS", 7)  # all of them are 7 bytes, four times the longest is 16
    assert write_out_dictionary(shown).to_pylist() == ["long", "a", "a", "a"]
    monkeypatch.setattr(chunks, "LARGEST_TEXTS", 6)
    with pytest.raises(TextsTooLong):
        write_out_dictionary(shown)


@pytest.mark.parametrize(
    ("kind", "as_text"),
    [
        (pa.string(), True),
        (pa.string(), False),
        pytest.param(pa.large_string(), False, marks=pytest.mark.slow),
        (pa.dictionary(pa.int32(), pa.string()), False),
    ],
)
def test_a_column_of_more_than_2_gib(kind: pa.DataType, as_text: bool) -> None:
    column = pa.chunked_array([LONG.cast(kind)] * 21)  # 2.2 GB of texts, of which memory holds 100 MB
    raw = RawTable(table=pa.table({"note": column}), label="t", format="csv", as_text=as_text)
    with pytest.raises(InputError) as caught:
        ingest_raw_table(raw, IngestPlan(source=SourceSpec(table="t")))
    assert (caught.value.code, caught.value.where) == ("too-large", "t: column note")
