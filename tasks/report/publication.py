"""The released table as a file, and the context in which it is released."""

from __future__ import annotations

import io
import re
from typing import Annotated, BinaryIO, Literal, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field

from tasks.ingest.checks.formulas import formulas_in_words
from tasks.mask.external_release.adoption import ReleasedSpec
from tasks.microdata.errors import InputError
from tasks.microdata.spec import Name, Public, Share, Spec
from tasks.microdata.table import CALENDAR_TYPES, Microdata, iso_texts

Format = Literal["csv", "parquet"]
Environment = Literal["public", "licensed", "enclave"]
Texts = Annotated[tuple[Name, ...], Field(min_length=1)]

_CHUNK_ROWS = 1 << 16
_WHOLE_IN_DOUBLE = 2.0**53
_MUST_QUOTE = '[,"\\r\\n;\\t|]'  # also what a reader might take for the delimiter
_PLAIN_NAME = re.compile(r"(?!BZh|PAR1|SQLite)[^\W\d][\w .-]*", re.ASCII)  # those begin files of other kinds


class Publish(Spec):
    """How the released table is written.

    format: `csv` (readable everywhere) or `parquet` (keeps the types).
    formulas: what becomes of texts that a spreadsheet would run (`=...`, `+...`, `-...`, `@...`): `keep` them as they are, with
        a warning, or `refuse` the release. They are never changed: the file must hold the values that were certified.
    """

    format: Public[Format] = "csv"
    formulas: Public[Literal["keep", "refuse"]] = "keep"


class PriorTable(ReleasedSpec):
    """The file of an earlier release about the same people that this home did not make; attacks join it with this release.

    It is read as a table masked elsewhere. mechanism: how it was masked; without it, it is attacked without knowledge of that.
    date: when it was released, for the reader.
    """

    date: Public[Name | None] = None

    def describe(self, number: int) -> str:
        """What report and certificate call it. number: its place among those that the release file names, from 1."""
        facts = ", ".join(part for part in (self.tool, self.date) if part is not None)
        return f"{name_prior_table(number)} ({facts})" if facts else name_prior_table(number)


class Context(Spec):
    """Where the release goes and what it is about; what is left out is "not assessed" in the statement.

    environment: `public` (anybody), `licensed` (named users under a contract) or `enclave` (a controlled room).
    recipients: who gets it.
    prior_releases: earlier releases about the same people that this home's ledger does not have, each a text, which no attack
        can use, or its table, `{table: old.csv, mechanism: [...], date: ...}`; an empty list says that there are none at all.
    unit: what one row is (`respondent`, `enterprise`). period: when the data were collected.
    special_categories: health, opinions, ...; an empty list says there are none.
    sampling_fraction: the share of the population that is in the source.
    """

    environment: Public[Environment] = "public"
    purpose: Public[Name | None] = None
    recipients: Public[Texts | None] = None
    prior_releases: Public[tuple[Name | PriorTable, ...] | None] = None
    unit: Public[Name | None] = None
    period: Public[Name | None] = None
    special_categories: Public[tuple[Name, ...] | None] = None
    sampling_fraction: Public[Share | None] = None

    @property
    def prior_texts(self) -> tuple[str, ...] | None:
        """The earlier releases as report and certificate name them; None: nothing is declared of them."""
        if self.prior_releases is None:
            return None
        return tuple(one if isinstance(one, str) else one.describe(i) for i, one in enumerate(self.prior_releases, 1))

    def without_tables(self) -> Context:
        """The context with names in place of the tables of earlier releases: where they are is private."""
        return self.model_copy(update={"prior_releases": self.prior_texts})


def name_prior_table(number: int) -> str:
    """What figures call an earlier release that the release file names by its table."""
    return f"file:{number}"


def encode(table: Microdata, format: Format) -> bytes:
    """The table as the bytes of one file: what `write_released` writes."""
    file = io.BytesIO()
    write_released(table, format, file)
    return file.getvalue()


def write_released(table: Microdata, format: Format, file: BinaryIO) -> None:
    """Write the table as one file, some rows after the others.

    CSV: UTF-8, comma, LF, a header, quotes where RFC 4180 needs them or a reader could mistake the delimiter. A missing value
    is an empty cell (a row that would be blank is written `""`), an empty text `""`. Doubles have the fewest digits that read
    back to the same number and always a point or an exponent, so that they are read as doubles; booleans are true and false.
    Parquet: values and types alone: no metadata of the program that made it, no index, statistics or unused categories.

    The bytes depend on names, types and values only, not on how the table lies in memory. `tasks.ingest` reads the
    same values back; CSV knows no booleans (they come back as text), no text of digits or of dates (it comes back as
    numbers and dates unless `order`, `scale: code` or `scale: nominal` is declared), and no difference between empty and
    missing text.
    Raises InputError for a text with a zero byte, which CSV readers do not take.
    Cost: about 1 s for 1,000,000 rows of 6 columns; the memory of some rows, and for Parquet of as many as one row group has.
    """
    match format:
        case "csv":
            _write_csv(table, file)
        case "parquet":
            _write_parquet(table, file)
        case _:
            assert_never(format)


def refuse_formulas(table: Microdata, publish: Publish) -> None:
    """InputError for texts that a spreadsheet would run, where the release refuses them."""
    found = formulas_in_words(table) if publish.formulas == "refuse" else ""
    if found:
        raise InputError("formulas", "publish.formulas", f"Texts begin as a spreadsheet formula does: {found}.",
                         "texts that do not begin with =, +, -, @, tab or CR",
                         "recode them at the source, leave the column out, or write `formulas: keep`")  # fmt: skip


def name_released_file(format: Format) -> str:
    """What the released table is called in the release folder."""
    return f"released.{format}"


def _write_parquet(table: Microdata, file: BinaryIO) -> None:
    fields = [pa.field(field.name, field.type) for field in table.arrow.schema]
    plain = pa.Table.from_arrays([table.column(name) for name in table.names], schema=pa.schema(fields))
    pq.write_table(plain, file, compression="zstd", write_statistics=False, store_schema=False, write_page_index=False)


def _write_csv(table: Microdata, file: BinaryIO) -> None:
    file.write((",".join(_quote_header(name) for name in table.names) + "\n").encode())
    for start in range(0, table.n, _CHUNK_ROWS):
        file.write(_encode_lines(table.arrow.slice(start, _CHUNK_ROWS)))


def _encode_lines(chunk: pa.Table) -> memoryview:
    columns = [_format_cells(chunk.column(name).combine_chunks(), name) for name in chunk.column_names]
    if len(columns) == 1:
        columns = [pc.if_else(pc.equal(columns[0], _create_text("")), _create_text('""'), columns[0])]
    lines = pc.binary_join_element_wise(*columns, _create_text(",")) if len(columns) > 1 else columns[0]
    _, starts, characters = pc.binary_join_element_wise(lines, _create_text(""), _create_text("\n")).buffers()
    return memoryview(characters or b"")[: int(np.frombuffer(starts, dtype=np.int64)[chunk.num_rows])]


def _format_cells(column: pa.Array, name: str) -> pa.Array:
    """One column as large texts, quoted where needed; missing is the empty text."""
    if pa.types.is_string(column.type):
        cells = _quote_cells(column.cast(pa.large_string()), name)
    elif pa.types.is_floating(column.type):
        cells = _format_doubles(column)
    elif column.type in CALENDAR_TYPES:
        cells = iso_texts(column).cast(pa.large_string())
    else:
        cells = column.cast(pa.large_string())
    return pc.fill_null(cells, _create_text(""))


def _format_doubles(column: pa.Array) -> pa.Array:
    """Shortest digits that read back the same; whole numbers below 2^53 in full, with `.0`."""
    shortest = column.cast(pa.large_string())
    whole = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), _WHOLE_IN_DOUBLE))
    digits = pc.if_else(whole, column, 0.0).cast(pa.int64()).cast(pa.large_string())
    signed = pc.if_else(pc.equal(shortest, _create_text("-0")), shortest, digits)
    return pc.if_else(whole, pc.binary_join_element_wise(signed, _create_text("0"), _create_text(".")), shortest)


def _quote_cells(cells: pa.Array, name: str) -> pa.Array:
    if pc.any(pc.match_substring(cells, "\0")).as_py():
        raise InputError("zero-byte", f"publish.format, column {name}", "A text holds a zero byte, which CSV cannot carry.",
                         "text without zero bytes", "write `publish: {format: parquet}`, or repair the source")  # fmt: skip
    special = pc.or_(pc.match_substring_regex(cells, _MUST_QUOTE), pc.equal(cells, _create_text("")))
    if not pc.any(special).as_py():
        return cells
    doubled = pc.replace_substring(cells, '"', '""')
    return pc.if_else(
        special, pc.binary_join_element_wise(_create_text('"'), doubled, _create_text('"'), _create_text("")), cells
    )


def _create_text(constant: str) -> pa.Scalar:
    return pa.scalar(constant, pa.large_string())  # 64-bit offsets: a chunk of long texts may pass 2 GB


def _quote_header(name: str) -> str:
    if "\0" in name:
        raise InputError("zero-byte", "publish.format", "A column name holds a zero byte, which CSV cannot carry.",
                         "names without zero bytes", "rename the column")  # fmt: skip
    return name if _PLAIN_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'
