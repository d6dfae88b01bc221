"""The pages of one column chunk of a Parquet file: is every byte of them a value of the table?

Read are the encodings and compressions that need no room for anything else. `NotExplained` is raised for all others.
https://github.com/apache/parquet-format
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tasks.audit.certificates.coverage.packing import is_plain_zstd, list_unexplained_gzip
from tasks.audit.certificates.coverage.parquet_shapes import DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, has_shape
from tasks.audit.certificates.coverage.thrift import Struct, read_number, read_struct

Values = npt.NDArray[Any] | list[bytes]
_BOOLEAN, _INT32, _INT64, _INT96, _FLOAT, _DOUBLE, _BYTES, _FIXED = range(8)
_FIXED_TYPES = {_INT32: "<i4", _INT64: "<i8", _INT96: "V12", _FLOAT: "<f4", _DOUBLE: "<f8"}
_PLAIN, _PLAIN_DICTIONARY, _RLE, _RLE_DICTIONARY, _SPLIT = 0, 2, 3, 8, 9
_WIDEST = 32  # bits of a place in a dictionary
_BIT_PACKED = 4  # named for levels that do not exist
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_SHAPES = {_DATA: DATA_PAGE, _DICTIONARY: DICTIONARY_PAGE, _DATA_V2: DATA_PAGE_V2}
PAGE_KINDS, ENCODINGS = frozenset(_SHAPES), frozenset({_PLAIN, _PLAIN_DICTIONARY, _RLE, _BIT_PACKED, _RLE_DICTIONARY, _SPLIT})


class NotExplained(Exception):
    """Bytes that are no part of the table, or that are not understood; the text says which, in words."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column as the file stores it. width: of values of a fixed length, in bytes. optional: can values be missing?"""

    physical: int
    width: int
    optional: bool
    codec: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page of data. offset, size: where it lies in the file, with its header. statistics: as it states them."""

    offset: int
    size: int
    rows: int
    values: Values
    statistics: Struct | None


def read_pages(content: bytes, start: int, end: int, leaf: Leaf, rows: int) -> list[Page]:
    """The pages of data between two places of a file, of so many rows in all.

    Raises NotExplained where something between the places is no value, or is not understood. Cost: that of reading the
    column; texts without a dictionary are walked one by one.
    """
    pages: list[Page] = []
    dictionary: Values | None = None
    used: set[int] = set()
    offset, left = start, rows
    while offset < end:
        header, body_at = read_struct(content, offset)
        kind, size = header.get(1), header.get(3, -1)
        if kind not in _SHAPES or not has_shape(header, _SHAPES[kind]) or size < 0 or body_at + size > end:
            raise NotExplained("pages of an unknown kind, or with unknown fields")
        body = content[body_at : body_at + size]
        if kind == _DICTIONARY:
            if offset != start:
                raise NotExplained("a dictionary that no row uses")
            dictionary = _dictionary(header, body, leaf)
        else:
            stated = header.get(5 if kind == _DATA else 8)
            count = stated.get(1) if isinstance(stated, dict) else None
            if not isinstance(count, int) or not 0 <= count <= left:
                raise NotExplained("pages with more rows than the table")
            left -= count
            coded, encoding, statistics = (_data if kind == _DATA else _data_v2)(header, body, leaf, count)
            present = int(count if coded[1] is None else coded[1].sum())
            values = _decode(coded[0], present, encoding, leaf, dictionary, used)
            pages.append(Page(offset, body_at + size - offset, count, values, statistics))
        offset = body_at + size
    if left:
        raise NotExplained("pages with fewer rows than the table")
    if dictionary is not None and len(used) != len(dictionary):
        raise NotExplained("values in a dictionary that no row uses")
    return pages


EncodedValues = tuple[bytes, npt.NDArray[Any] | None]  # the values as stored, and for each row whether it has one


def _dictionary(header: Struct, body: bytes, leaf: Leaf) -> Values:
    stated = header[7]
    if stated.get(2) not in (_PLAIN, _PLAIN_DICTIONARY):
        raise NotExplained("pages in an encoding that is not examined")
    return _plain(_unpack(body, header[2], leaf.codec), stated[1], leaf)


def _data(header: Struct, body: bytes, leaf: Leaf, rows: int) -> tuple[EncodedValues, int, Struct | None]:
    stated = header[5]
    if stated.get(4) not in (_RLE, _BIT_PACKED):
        raise NotExplained("pages of an unknown kind, or with unknown fields")
    plain = _unpack(body, header[2], leaf.codec)
    if not leaf.optional:
        return (plain, None), stated[2], stated.get(5)
    length = int.from_bytes(plain[:4], "little")
    if stated.get(3) != _RLE:
        raise NotExplained("pages in an encoding that is not examined")
    levels = _all_runs(plain[4 : 4 + length], 1, rows)
    return (plain[4 + length :], levels), stated[2], stated.get(5)


def _data_v2(header: Struct, body: bytes, leaf: Leaf, rows: int) -> tuple[EncodedValues, int, Struct | None]:
    stated = header[8]
    if stated.get(6) != 0 or stated[1] != stated[3]:
        raise NotExplained("pages of an unknown kind, or with unknown fields")
    length = stated[5]
    if not leaf.optional and length:
        raise NotExplained("bytes in a page that are no value")
    levels = _all_runs(body[:length], 1, rows) if leaf.optional else None
    codec = leaf.codec if stated.get(7, True) else 0
    packed = body[length:]
    plain = _unpack(packed, header[2] - length, codec) if packed or header[2] - length else b""
    return (plain, levels), stated[4], stated.get(8)


def _unpack(body: bytes, size: int, codec: int) -> bytes:
    if codec not in _CODECS:
        raise NotExplained("pages in a compression that is not examined")
    name = _CODECS[codec]
    if name is None:
        plain = body
    else:
        plain = pa.Codec(name).decompress(body, decompressed_size=size, asbytes=True)
        if name == "zstd" and not is_plain_zstd(body):
            raise NotExplained("bytes in a compressed page that are no part of it")
        if name == "gzip" and any(list_unexplained_gzip(body)):
            raise NotExplained("bytes in a compressed page that are no part of it")
        if (
            name == "brotli" and pa.Codec(name).compress(plain, asbytes=True) != body
        ):  # its blocks of metadata can hold anything
            raise NotExplained("pages that brotli packed with other settings than usual, which are not examined")
    if len(plain) != size:
        raise NotExplained("bytes in a page that are no value")
    return plain


def _decode(stored: bytes, count: int, encoding: int, leaf: Leaf, dictionary: Values | None, used: set[int]) -> Values:
    if encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY):
        if dictionary is None:
            raise NotExplained("pages of an unknown kind, or with unknown fields")
        if not stored and not count:
            return dictionary[:0]
        offsets = _all_runs(stored[1:], stored[0], count)
        used.update(np.unique(offsets).tolist())
        return (
            dictionary[offsets] if isinstance(dictionary, np.ndarray) else [dictionary[offset] for offset in offsets.tolist()]
        )
    if encoding == _PLAIN:
        return _plain(stored, count, leaf)
    if encoding == _RLE and leaf.physical == _BOOLEAN:
        length = int.from_bytes(stored[:4], "little")
        if length != len(stored) - 4:
            raise NotExplained("bytes in a page that are no value")
        return _all_runs(stored[4:], 1, count).astype(bool)
    width = leaf.width if leaf.physical == _FIXED else np.dtype(_FIXED_TYPES.get(leaf.physical, "V1")).itemsize
    if encoding == _SPLIT and leaf.physical not in (_BOOLEAN, _BYTES) and len(stored) == count * width:
        return _plain(np.frombuffer(stored, np.uint8).reshape(width, count).T.tobytes(), count, leaf)
    raise NotExplained("pages in an encoding that is not examined")


def _plain(stored: bytes, count: int, leaf: Leaf) -> Values:
    if leaf.physical == _BYTES:
        return _byte_arrays(stored, count)
    if leaf.physical == _BOOLEAN:
        bits = np.unpackbits(np.frombuffer(stored, np.uint8), bitorder="little")
        if len(stored) != -(-count // 8) or bits[count:].any():
            raise NotExplained("bytes in a page that are no value")
        return bits[:count].astype(bool)
    width = leaf.width if leaf.physical == _FIXED else np.dtype(_FIXED_TYPES[leaf.physical]).itemsize
    if len(stored) != count * width:
        raise NotExplained("bytes in a page that are no value")
    if leaf.physical == _FIXED:
        return [stored[start : start + width] for start in range(0, len(stored), width)]
    return np.frombuffer(stored, _FIXED_TYPES[leaf.physical])


def _byte_arrays(stored: bytes, count: int) -> list[bytes]:
    values, offset = [], 0
    for _ in range(count):
        start = offset + 4
        offset = start + int.from_bytes(stored[offset:start], "little")
        values.append(stored[start:offset])
    if offset != len(stored):
        raise NotExplained("bytes in a page that are no value")
    return values


def _all_runs(stored: bytes, width: int, count: int) -> npt.NDArray[Any]:
    """Numbers of `width` bits in Parquet's mix of runs and packed bits, which fill the bytes."""
    parts: list[npt.NDArray[Any]] = []
    found, offset, byte_width = 0, 0, -(-width // 8)
    if width > _WIDEST:
        raise NotExplained("pages in an encoding that is not examined")
    while found < count:
        header, offset = read_number(stored, offset)
        if header & 1:
            length = (header >> 1) * width
            bits = np.unpackbits(np.frombuffer(stored[offset : offset + length], np.uint8), bitorder="little")
            numbers = bits.reshape(-1, width) @ (1 << np.arange(width)) if width else np.zeros((header >> 1) * 8, np.int64)
            offset += length
            if offset > len(stored) or len(numbers) - (count - found) >= 8 or numbers[count - found :].any():
                raise NotExplained("bytes in a page that are no value")
        else:
            number = int.from_bytes(stored[offset : offset + byte_width], "little")
            offset += byte_width
            if not 0 < header >> 1 <= count - found or number >> width:
                raise NotExplained("bytes in a page that are no value")
            numbers = np.full(header >> 1, number)
        parts.append(numbers[: count - found])
        found += len(parts[-1])
    if offset != len(stored):
        raise NotExplained("bytes in a page that are no value")
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
