"""What a Parquet file holds beside the values of its table: every byte is accounted for, or named."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tasks.audit.certificates.coverage.parquet_bounds import check_statistics
from tasks.audit.certificates.coverage.parquet_index import check_page_index
from tasks.audit.certificates.coverage.parquet_notes import list_unexplained_notes
from tasks.audit.certificates.coverage.parquet_pages import ENCODINGS, PAGE_KINDS, Leaf, NotExplained, Page, read_pages
from tasks.audit.certificates.coverage.parquet_shapes import FOOTER, has_shape
from tasks.audit.certificates.coverage.thrift import NotThrift, Struct, read_struct

_MAGIC, _TAIL = b"PAR1", 8
_ROOTS = (b"schema", b"root", b"spark_schema", b"hive_schema", b"duckdb_schema", b"arrow_schema", b"m")
_PROGRAMS = re.compile(
    r"(parquet-cpp-arrow|parquet-cpp|parquet-mr|parquet-rs|fastparquet-python|DuckDB|Polars|parquet-go)"
    r"( version)? v?[0-9]{1,4}(\.[0-9]{1,4}){1,2}(-SNAPSHOT)?( \(build [0-9a-f]{0,40}\))?"
)


def list_unexplained_parquet(content: bytes) -> Iterator[str]:
    """What a Parquet file holds beside the values of its table, in words. Cost: that of reading it."""
    length = int.from_bytes(content[-_TAIL:-4], "little")
    footer_at = len(content) - _TAIL - length
    footer, end = read_struct(content, footer_at)
    if end != len(content) - _TAIL or content[-4:] != _MAGIC or not _knows_footer(footer):
        yield "fields of the footer that are not understood"
        return
    yield from list_unexplained_notes(footer, _names(footer))
    if (program := footer.get(6)) is not None and _PROGRAMS.fullmatch(program.decode("latin-1")) is None:
        yield "the name of the program that wrote it"
    found: dict[str, list[str]] = defaultdict(list)
    parts = [(0, len(_MAGIC)), (footer_at, len(content))]
    for group in footer[4]:
        if not group[3]:
            found["a group of no rows"].append("")
        for chunk, element in zip(group[1], footer[2][1:], strict=True):
            parts += _chunk_places(chunk)
            for words in _list_unexplained_chunk(content, chunk, element, group[3]):
                found[words].append(element[4].decode("utf-8", "replace"))
    for words, names in found.items():
        columns = ", ".join(dict.fromkeys(filter(None, names)))
        yield f"{words} (column {columns})" if columns else words
    if not _fill(parts):
        yield "bytes between the columns that belong to none of them"


def _names(footer: Struct) -> list[str]:
    return [element[4].decode() for element in footer[2][1:]]


def _knows_footer(footer: Struct) -> bool:
    """Are all fields known, and is the table flat: the root, and columns directly below it?"""
    if not has_shape(footer, FOOTER):
        return False
    root, *leaves = footer[2]
    return (
        root.keys() <= {3, 4, 5}
        and root[4] in _ROOTS
        and all(1 in one and not one.get(5) and one.get(3) in (0, 1) and len(one.get(10, ())) <= 1 for one in leaves)
        and len(footer.get(7, ())) in (0, len(leaves))
        and all(len(group.get(4, ())) <= len(leaves) for group in footer[4])
    )


def _list_unexplained_chunk(content: bytes, chunk: Struct, element: Struct, rows: int) -> Iterator[str]:
    column = chunk[3]
    optional = element[3] == 1
    if column[3] != [element[4]] or column[1] != element[1]:
        yield "a column that is described in two ways"
        return
    leaf = Leaf(element[1], element.get(2, 0), optional, column[4])
    start, end = _pages_place(column)
    try:
        pages = read_pages(content, start, end, leaf, rows)
        check_statistics([(page.values, page.rows, page.statistics) for page in pages], column.get(12), element)
        check_page_index(content, chunk, pages, element)
        _check_counts(column, pages, optional)
    except NotExplained as error:
        yield str(error)
    except (NotThrift, IndexError, KeyError, ValueError, TypeError, OSError):
        yield "pages whose structure is not understood"


def _check_counts(column: Struct, pages: Sequence[Page], optional: bool) -> None:
    """Lists of numbers are those of the pages: in a list of any numbers a text could stand."""
    kinds = [(kind[1], kind[2]) for kind in column.get(13, ())]
    encodings = column[2]
    if len(set(kinds)) < len(kinds) or len(set(encodings)) < len(encodings) or not set(encodings) <= ENCODINGS:
        raise NotExplained("a list of encodings that are not known")
    if not all(kind in PAGE_KINDS and encoding in ENCODINGS for kind, encoding in kinds):
        raise NotExplained("a list of encodings that are not known")
    rows, present = sum(page.rows for page in pages), sum(len(page.values) for page in pages)
    sizes, levels = column.get(16, {}), [rows - present, present] if optional else [rows]
    if sizes.get(2, [rows]) not in ([], [rows]) or sizes.get(3, levels) not in ([], levels):
        raise NotExplained("sizes that are not those of the values")


def _pages_place(column: Struct) -> tuple[int, int]:
    start = min(column[9], column.get(11) or column[9])  # some programs write 0 for no dictionary
    return start, start + column[7]


def _chunk_places(chunk: Struct) -> Iterator[tuple[int, int]]:
    yield _pages_place(chunk[3])
    for offset, length in ((chunk.get(4), chunk.get(5)), (chunk.get(6), chunk.get(7))):
        if offset is not None:
            yield offset, offset + length


def _fill(parts: list[tuple[int, int]]) -> bool:
    """Do the parts follow each other without gap and overlap?"""
    return all(before[1] == after[0] for before, after in pairwise(sorted(parts)))
