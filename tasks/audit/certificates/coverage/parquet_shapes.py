"""The headers of a Parquet file, field by field: which there are, and of what type. Readers skip all others unseen.

https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift; left out are encryption, Bloom filters and
files in several parts.
"""

from __future__ import annotations

from typing import Any

Shape = Any  # int, bool, bytes; a list of one shape; a dictionary of shapes by the number of the field

_STATISTICS: Shape = {1: bytes, 2: bytes, 3: int, 4: int, 5: bytes, 6: bytes, 7: bool, 8: bool}
_SIZES: Shape = {1: int, 2: [int], 3: [int]}
_UNIT: Shape = {1: {}, 2: {}, 3: {}}
_LOGICAL: Shape = {
    **{number: {} for number in (1, 4, 6, 11, 14, 15)},  # text, enumeration, date, nothing, UUID, half precision
    5: {1: int, 2: int},  # decimal
    7: {1: bool, 2: _UNIT},
    8: {1: bool, 2: _UNIT},
    10: {1: int, 2: bool},
}
_ELEMENT: Shape = {**dict.fromkeys((1, 2, 3, 5, 6, 7, 8, 9), int), 4: bytes, 10: _LOGICAL}
_COLUMN: Shape = {
    **dict.fromkeys((1, 4, 5, 6, 7, 9, 11), int),
    2: [int],
    3: [bytes],
    12: _STATISTICS,
    13: [{1: int, 2: int, 3: int}],
    16: _SIZES,
}
_CHUNK: Shape = {2: int, 3: _COLUMN, 4: int, 5: int, 6: int, 7: int}
_GROUP: Shape = {1: [_CHUNK], 2: int, 3: int, 4: [{1: int, 2: bool, 3: bool}], 5: int, 6: int, 7: int}
FOOTER: Shape = {1: int, 2: [_ELEMENT], 3: int, 4: [_GROUP], 5: [{1: bytes, 2: bytes}], 6: bytes, 7: [{1: {}}]}

_PAGE: Shape = {1: int, 2: int, 3: int, 4: int}
DATA_PAGE: Shape = {**_PAGE, 5: {1: int, 2: int, 3: int, 4: int, 5: _STATISTICS}}
DICTIONARY_PAGE: Shape = {**_PAGE, 7: {1: int, 2: int, 3: bool}}
DATA_PAGE_V2: Shape = {**_PAGE, 8: {**dict.fromkeys(range(1, 7), int), 7: bool, 8: _STATISTICS}}

PAGE_LOCATIONS: Shape = {1: [{1: int, 2: int, 3: int}], 2: [int]}
PAGE_BOUNDS: Shape = {1: [bool], 2: [bytes], 3: [bytes], 4: int, 5: [int], 6: [int], 7: [int]}


def has_shape(value: Any, shape: Shape) -> bool:
    """Is it of this type, and does it have these fields at most, each of its type?"""
    if isinstance(shape, dict):
        known = isinstance(value, dict) and value.keys() <= shape.keys()
        return known and all(has_shape(one, shape[number]) for number, one in value.items())
    if isinstance(shape, list):
        return isinstance(value, list) and all(has_shape(one, shape[0]) for one in value)
    return type(value) is shape
