"""A table as its source holds it, before declarations are applied."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BufferedIOBase

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.ingest.codebooks.codebook_file import Codebook
from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_TABLE, read_pieces
from tasks.microdata.spec import LONGEST_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """Columns as read.

    as_text: True where the source knows no types. Every column is text then, or of plain numbers if the caller asked for these;
        the empty cell is null.
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

    def __post_init__(self) -> None:
        """Raises InputError for a table of more than `LARGEST_TABLE` bytes."""
        if self.table.nbytes > LARGEST_TABLE:
            raise too_large(self.label, "read the rows and columns that are needed")

    def read_how(self, step: str) -> RawTable:
        return replace(self, how=(step, *self.how))

    def content(self) -> bytes:
        """The table as bytes: the same for every reading of the same rows in the same order."""
        sink = pa.BufferOutputStream()
        pq.write_table(self.table.combine_chunks(), sink, compression="none")
        written: bytes = sink.getvalue().to_pybytes()
        return written


def read_whole(file: BufferedIOBase, label: str) -> bytes:
    """The bytes of an open file from here to its end; InputError for more than `LARGEST_TABLE`."""
    content = read_pieces(file, LARGEST_TABLE)
    if len(content) > LARGEST_TABLE:
        raise too_large(label, "read the rows and columns that are needed")
    return content


def too_large(label: str, remedy: str) -> InputError:
    """The error that says that a table does not fit into the memory that one may take."""
    what = f"The table would take more than {LARGEST_TABLE >> 30} GiB of memory."
    return InputError("too-large", label, what, f"at most {LARGEST_TABLE >> 30} GiB", remedy)


def texts_too_long(label: str, name: str) -> InputError:
    """The error that says that the texts of a column are more than one array takes."""
    return InputError("too-large", f"{label}: column {name}", "The texts of this column take more than 2 GiB.",
                      "at most 2 GiB of texts in a column", "shorten them at the source, or leave the column out")  # fmt: skip


def refuse_bad_names(names: Sequence[str], label: str) -> None:
    """InputError for a table without columns, or with column names that are empty, invisible, repeated or too long.

    Every other name is taken as it is: it is a name to whoever reads it here, and never a pattern, a path or a template.
    """
    if not names:
        raise InputError("no-columns", label, "The table has no columns.", "at least one column", "check the file")
    blank = [str(position) for position, name in enumerate(names, start=1) if not any(map(_is_visible, name))]
    if blank:
        raise InputError("unnamed-column", f"{label}: header", f"Column {', '.join(blank)} has no name.",
                         "a name for every column", "name the column in the header")  # fmt: skip
    for position, name in enumerate(names, start=1):
        _refuse_bad_name(name, f"{label}: header, column {position}")
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError("repeated-column", f"{label}: header", f"{len(repeated)} column name(s) occur more than once.",
                         "each name once", "rename or drop the repeated columns", value=repeated)  # fmt: skip


def _refuse_bad_name(name: str, where: str) -> None:
    if len(name) > LONGEST_NAME:
        raise InputError("long-column-name", where, f"The name of this column has {len(name):,} characters.",
                         f"1 to {LONGEST_NAME} characters", "shorten it in the source", value=name)  # fmt: skip
    if "\0" in name:
        raise InputError("zero-byte", where, "The name of this column holds a zero byte.", "names without zero bytes",
                         "rename the column", value=name)  # fmt: skip


def _is_visible(character: str) -> bool:
    """Blanks, line breaks and marks that steer the writing are not seen; a name of these alone is as good as none."""
    return unicodedata.category(character) not in {"Zs", "Zl", "Zp", "Cc", "Cf"}
