"""Find what a Parquet file holds beside the values of its table: every byte is accounted for, or named."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tasks.audit.certificates.coverage.parquet_bounds import check_statistics
from tasks.audit.certificates.coverage.parquet_index import check_page_index
from tasks.audit.certificates.coverage.parquet_notes import list_unexplained_notes
from tasks.audit.certificates.coverage.parquet_pages import ENCODINGS, PAGE_KINDS, Leaf, NotExplained, Page, read_pages
from tasks.audit.certificates.coverage.parquet_shapes import FOOTER, NamedFields, UnknownField, name_fields
from tasks.audit.certificates.coverage.thrift import NotThrift, read_struct

_MAGIC, _TAIL = b"PAR1", 8
_REQUIRED, _OPTIONAL = 0, 1  # types of repetition; repeated columns are no part of a flat table
_ROOTS = (b"schema", b"root", b"spark_schema", b"hive_schema", b"duckdb_schema", b"arrow_schema", b"m")
_PROGRAMS = re.compile(
    r"(parquet-cpp-arrow|parquet-cpp|parquet-mr|parquet-rs|fastparquet-python|DuckDB|Polars|parquet-go)"
    r"( version)? v?[0-9]{1,4}(\.[0-9]{1,4}){1,2}(-SNAPSHOT)?( \(build [0-9a-f]{0,40}\))?"
)


def list_unexplained_parquet(content: bytes) -> Iterator[str]:
    """What a Parquet file holds beside the values of its table, in words. Cost: that of reading it."""
    length = int.from_bytes(content[-_TAIL:-4], "little")
    footer_at = len(content) - _TAIL - length
    footer = _read_footer(content, footer_at)
    if footer is None:
        yield "fields of the footer that are not understood"
        return
    yield from list_unexplained_notes(footer, [element["name"].decode() for element in footer["schema"][1:]])
    if (program := footer.get("created_by")) is not None and _PROGRAMS.fullmatch(program.decode("latin-1")) is None:
        yield "the name of the program that wrote it"
    found: dict[str, list[str]] = defaultdict(list)
    parts = [(0, len(_MAGIC)), (footer_at, len(content))]
    for group in footer["row_groups"]:
        if not group["num_rows"]:
            found["a group of no rows"].append("")
        for chunk, element in zip(group["columns"], footer["schema"][1:], strict=True):
            parts += _locate_chunk(chunk)
            for words in _list_unexplained_chunk(content, chunk, element, group["num_rows"]):
                found[words].append(element["name"].decode("utf-8", "replace"))
    for words, names in found.items():
        columns = ", ".join(dict.fromkeys(filter(None, names)))
        yield f"{words} (column {columns})" if columns else words
    if not _are_contiguous(parts):
        yield "bytes between the columns that belong to none of them"


def _read_footer(content: bytes, offset: int) -> NamedFields | None:
    """The footer by the names of its fields; None where not all of it is understood."""
    stored, end = read_struct(content, offset)
    try:
        footer: NamedFields = name_fields(stored, FOOTER)
    except UnknownField:
        return None
    return footer if end == len(content) - _TAIL and content[-4:] == _MAGIC and _is_flat(footer) else None


def _is_flat(footer: NamedFields) -> bool:
    """Is the schema that of a table: a root, and columns directly below it?"""
    root, *leaves = footer["schema"]
    return (
        root.keys() <= {"repetition_type", "name", "num_children"}
        and root["name"] in _ROOTS
        and all(_is_column(element) for element in leaves)
        and len(footer.get("column_orders", ())) in (0, len(leaves))
        and all(len(group.get("sorting_columns", ())) <= len(leaves) for group in footer["row_groups"])
    )


def _is_column(element: NamedFields) -> bool:
    return (
        "type" in element
        and not element.get("num_children")
        and element.get("repetition_type") in (_REQUIRED, _OPTIONAL)
        and len(element.get("logicalType", ())) <= 1
    )


def _list_unexplained_chunk(content: bytes, chunk: NamedFields, element: NamedFields, rows: int) -> Iterator[str]:
    column = chunk["meta_data"]
    optional = element["repetition_type"] == _OPTIONAL
    if column["path_in_schema"] != [element["name"]] or column["type"] != element["type"]:
        yield "a column that is described in two ways"
        return
    leaf = Leaf(element["type"], element.get("type_length", 0), optional, column["codec"])
    start, end = _locate_pages(column)
    try:
        pages = read_pages(content, start, end, leaf, rows)
        stated = [(page.values, page.rows, page.statistics) for page in pages]
        check_statistics(stated, column.get("statistics"), element)
        check_page_index(content, chunk, pages, element)
        _check_counts(column, pages, optional)
    except NotExplained as error:
        yield str(error)
    except (NotThrift, IndexError, KeyError, ValueError, TypeError, OSError):
        yield "pages whose structure is not understood"


def _check_counts(column: NamedFields, pages: Sequence[Page], optional: bool) -> None:
    """Lists of numbers are those of the pages: in a list of any numbers a text could stand."""
    kinds = [(kind["page_type"], kind["encoding"]) for kind in column.get("encoding_stats", ())]
    encodings = column["encodings"]
    if len(set(kinds)) < len(kinds) or len(set(encodings)) < len(encodings) or not set(encodings) <= ENCODINGS:
        raise NotExplained("a list of encodings that are not known")
    if not all(kind in PAGE_KINDS and encoding in ENCODINGS for kind, encoding in kinds):
        raise NotExplained("a list of encodings that are not known")
    rows, present = sum(page.rows for page in pages), sum(len(page.values) for page in pages)
    sizes, levels = column.get("size_statistics", {}), [rows - present, present] if optional else [rows]
    repetitions, definitions = sizes.get("repetition_level_histogram", []), sizes.get("definition_level_histogram", [])
    if repetitions not in ([], [rows]) or definitions not in ([], levels):
        raise NotExplained("sizes that are not those of the values")


def _locate_pages(column: NamedFields) -> tuple[int, int]:
    first_data = column["data_page_offset"]
    start = min(first_data, column.get("dictionary_page_offset") or first_data)  # some programs write 0 for no dictionary
    return start, start + column["total_compressed_size"]


def _locate_chunk(chunk: NamedFields) -> Iterator[tuple[int, int]]:
    yield _locate_pages(chunk["meta_data"])
    for index in ("offset_index", "column_index"):
        if (offset := chunk.get(f"{index}_offset")) is not None:
            yield offset, offset + chunk[f"{index}_length"]


def _are_contiguous(parts: list[tuple[int, int]]) -> bool:
    """Do the parts follow each other without gap and overlap?"""
    return all(before[1] == after[0] for before, after in pairwise(sorted(parts)))
