"""A table as its source holds it, before declarations are applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.ingest.codebooks.codebook_file import Codebook
from tasks.microdata.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """Columns as read.

    as_text: True where every column is text because the source knows no types; the empty cell is then null.
    label: what messages call the source.
    notes: what was found on the way and should be known: it is shown as a warning. how: how the source was read.
    codebook: the labels that the source holds itself.
    column_notes: notes about one column each, as (name, note).
    """

    table: pa.Table
    label: str
    format: str
    as_text: bool
    encoding: str | None = None
    delimiter: str | None = None
    notes: tuple[str, ...] = ()
    how: tuple[str, ...] = ()
    codebook: Codebook | None = None
    column_notes: tuple[tuple[str, str], ...] = ()

    def read_how(self, step: str) -> RawTable:
        return replace(self, how=(step, *self.how))

    def content(self) -> bytes:
        """The table as bytes: the same for every reading of the same rows in the same order."""
        sink = pa.BufferOutputStream()
        pq.write_table(self.table.combine_chunks(), sink, compression="none")
        written: bytes = sink.getvalue().to_pybytes()
        return written


def refuse_bad_names(names: Sequence[str], label: str) -> None:
    """InputError for a table without columns, or with empty or repeated column names."""
    if not names:
        raise InputError("no-columns", label, "The table has no columns.", "at least one column", "check the file")
    blank = [str(place) for place, name in enumerate(names, start=1) if not name.strip()]
    if blank:
        raise InputError("unnamed-column", f"{label}: header", f"Column {', '.join(blank)} has no name.",
                         "a name for every column", "name the column in the header")  # fmt: skip
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError("repeated-column", f"{label}: header", f"{len(repeated)} column name(s) occur more than once.",
                         "each name once", "rename or drop the repeated columns", value=repeated)  # fmt: skip
