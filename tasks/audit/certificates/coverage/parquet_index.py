"""The index of pages behind the columns of a Parquet file: where pages lie, and their smallest and largest values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tasks.audit.certificates.coverage.parquet_bounds import compute_bounds, is_bound
from tasks.audit.certificates.coverage.parquet_pages import NotExplained, Page
from tasks.audit.certificates.coverage.parquet_shapes import PAGE_BOUNDS, PAGE_LOCATIONS, Shape, has_shape
from tasks.audit.certificates.coverage.thrift import Struct, read_struct

_WRONG = "an index of pages that is not that of the pages"


def check_page_index(content: bytes, chunk: Struct, pages: Sequence[Page], element: Struct) -> None:
    """Raises NotExplained where the index of a column chunk says what its pages do not."""
    if (offset := chunk.get(4)) is not None:
        _check_locations(_read(content, offset, chunk[5], PAGE_LOCATIONS), pages)
    if (offset := chunk.get(6)) is not None:
        _check_bounds(_read(content, offset, chunk[7], PAGE_BOUNDS), pages, element)


def _read(content: bytes, offset: int, length: int, shape: Shape) -> Struct:
    index, end = read_struct(content, offset)
    if end != offset + length or not has_shape(index, shape):
        raise NotExplained(_WRONG)
    return index


def _check_locations(index: Struct, pages: Sequence[Page]) -> None:
    first_rows = [0, *accumulate(page.rows for page in pages)]
    expected = [{1: page.offset, 2: page.size, 3: row} for page, row in zip(pages, first_rows, strict=False)]
    if index[1] != expected or index.get(2, []) not in ([], [sum(map(_length, page.values)) for page in pages]):
        raise NotExplained(_WRONG)


def _check_bounds(index: Struct, pages: Sequence[Page], element: Struct) -> None:
    missing = [page.rows - len(page.values) for page in pages]
    levels = [count for page, gone in zip(pages, missing, strict=True) for count in (gone, len(page.values))]
    rows = [page.rows for page in pages]
    counts_fit = (
        index.get(5, missing) == missing
        and index.get(6, []) in ([], rows)
        and index.get(7, []) in ([], levels if element[3] else rows)
    )
    if not counts_fit:
        raise NotExplained(_WRONG)
    for page, empty, low, high in zip(pages, index[1], index[2], index[3], strict=True):
        bounds = compute_bounds(page.values, element)
        stated = [is_bound(low, 0, bounds, element), is_bound(high, 1, bounds, element)]
        if (empty and (len(page.values) or low or high)) or not (empty or all(stated)):
            raise NotExplained(_WRONG)


def _length(value: object) -> int:
    return len(value) if isinstance(value, bytes) else 0
