"""Check the page index behind the columns of a Parquet file: where pages lie, and their smallest and largest values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tasks.audit.certificates.coverage.parquet_bounds import compute_bounds, is_bound
from tasks.audit.certificates.coverage.parquet_pages import NotExplained, Page
from tasks.audit.certificates.coverage.parquet_shapes import (
    COLUMN_INDEX,
    OFFSET_INDEX,
    NamedFields,
    Shape,
    UnknownField,
    name_fields,
)
from tasks.audit.certificates.coverage.thrift import read_struct

_WRONG = "an index of pages that is not that of the pages"


def check_page_index(content: bytes, chunk: NamedFields, pages: Sequence[Page], element: NamedFields) -> None:
    """Raises NotExplained where the index of a column chunk says what its pages do not."""
    if (offset := chunk.get("offset_index_offset")) is not None:
        _check_locations(_read_index(content, offset, chunk["offset_index_length"], OFFSET_INDEX), pages)
    if (offset := chunk.get("column_index_offset")) is not None:
        _check_bounds(_read_index(content, offset, chunk["column_index_length"], COLUMN_INDEX), pages, element)


def _read_index(content: bytes, offset: int, length: int, shape: Shape) -> NamedFields:
    stored, end = read_struct(content, offset)
    if end != offset + length:
        raise NotExplained(_WRONG)
    try:
        index: NamedFields = name_fields(stored, shape)
    except UnknownField:
        raise NotExplained(_WRONG) from None
    return index


def _check_locations(index: NamedFields, pages: Sequence[Page]) -> None:
    first_rows = [0, *accumulate(page.rows for page in pages)]
    locations = [
        {"offset": page.offset, "compressed_page_size": page.size, "first_row_index": row}
        for page, row in zip(pages, first_rows, strict=False)
    ]
    lengths = [sum(map(_count_bytes, page.values)) for page in pages]
    if index["page_locations"] != locations or index.get("unencoded_byte_array_data_bytes", []) not in ([], lengths):
        raise NotExplained(_WRONG)


def _check_bounds(index: NamedFields, pages: Sequence[Page], element: NamedFields) -> None:
    missing = [page.rows - len(page.values) for page in pages]
    levels = [count for page, gone in zip(pages, missing, strict=True) for count in (gone, len(page.values))]
    rows = [page.rows for page in pages]
    counts_fit = (
        index.get("null_counts", missing) == missing
        and index.get("repetition_level_histograms", []) in ([], rows)
        and index.get("definition_level_histograms", []) in ([], levels if element["repetition_type"] else rows)
    )
    if not counts_fit:
        raise NotExplained(_WRONG)
    stated_bounds = zip(pages, index["null_pages"], index["min_values"], index["max_values"], strict=True)
    for page, empty, low, high in stated_bounds:
        bounds = compute_bounds(page.values, element)
        stated = [is_bound(low, 0, bounds, element), is_bound(high, 1, bounds, element)]
        if (empty and (len(page.values) or low or high)) or not (empty or all(stated)):
            raise NotExplained(_WRONG)


def _count_bytes(value: object) -> int:
    return len(value) if isinstance(value, bytes) else 0
