"""Columns that Arrow holds in several pieces, or as a dictionary and the place of each value, in one array."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

LARGEST_TEXTS = 2**31 - 1  # bytes of the texts of one array, whose places have 32 bits
_FEW_BYTES = 1 << 24  # a bound as low as this need not be exact


class TextsTooLong(pa.ArrowInvalid):  # type: ignore[misc]  # pyarrow has no types
    """The texts of one column take more than `LARGEST_TEXTS` bytes."""


def join_chunks(column: pa.ChunkedArray) -> pa.Array:
    """The values in one array: a column of one chunk is that chunk, which `combine_chunks` would copy. Raises TextsTooLong."""
    if column.num_chunks == 1 and column.chunk(0).offset == 0:
        return column.chunk(0)
    try:
        return column.combine_chunks()
    except pa.ArrowInvalid:
        if column.nbytes <= LARGEST_TEXTS:
            raise
        raise TextsTooLong from None


def write_out_dictionary(column: pa.ChunkedArray) -> pa.Array:
    """`join_chunks`, and each value of a dictionary wherever it is shown.

    Raises TextsTooLong. Arrow (25.0) would return an array whose places went beyond 32 bits.
    """
    if not pa.types.is_dictionary(column.type):
        return join_chunks(column)
    if bound_text_bytes(column) > LARGEST_TEXTS < count_text_bytes(column):
        raise TextsTooLong
    try:
        return join_chunks(column).dictionary_decode()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # one dictionary has more values than fit the places of each
        written = [chunk.dictionary_decode() for chunk in column.chunks]
        return join_chunks(pa.chunked_array(written, column.type.value_type))


def bound_text_bytes(column: pa.ChunkedArray) -> int:
    """An upper bound of `count_text_bytes`, in no time: as if every row showed the longest text of the dictionary.

    Where it is low anyway, as if every row showed the whole dictionary.
    """
    if not pa.types.is_dictionary(column.type):
        return 0
    dictionaries = [chunk.dictionary for chunk in column.chunks]
    bound = len(column) * max((dictionary.nbytes for dictionary in dictionaries), default=0)
    return bound if bound < _FEW_BYTES else len(column) * max(map(_find_longest, dictionaries))


def count_text_bytes(column: pa.ChunkedArray | pa.Array) -> int:
    """Bytes of the texts of a dictionary, each as often as it is shown; 0 of a column that is none, or none of texts."""
    if not pa.types.is_dictionary(column.type) or not is_text(column.type.value_type):
        return 0
    counted = 0
    for chunk in column.chunks:
        lengths = pc.fill_null(pc.binary_length(chunk.dictionary), 0).to_numpy()
        counted += int(lengths[chunk.indices.drop_null().to_numpy()].sum(dtype=np.int64))
    return counted


def is_text(kind: pa.DataType) -> bool:
    """Are its values of any length, as texts and bytes are, also in types that others derive from these?"""
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    return kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())


def _find_longest(values: pa.Array) -> int:
    """The most bytes of a text, 0 of other values."""
    return (pc.max(pc.binary_length(values)).as_py() or 0) if is_text(values.type) else 0
