"""Thrift's compact protocol, in which the headers of a Parquet file are written, read without a description of the fields.

Readers of Parquet skip fields that they do not know. Here every field is kept, so that unknown ones are seen.
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from typing import Any

Struct = dict[int, Any]
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_LONGEST_NUMBER = 10
_DEEPEST = 16


class NotThrift(ValueError):
    """The bytes are no struct of the compact protocol, or are written in a way that no writer uses."""


def read_struct(content: bytes, offset: int = 0) -> tuple[Struct, int]:
    """A struct as a dictionary of its fields by number, and the place behind it. Raises NotThrift."""
    try:
        return _struct(content, offset, 0)
    except IndexError:
        raise NotThrift("it ends too early") from None


def _struct(content: bytes, offset: int, depth: int) -> tuple[Struct, int]:
    if depth > _DEEPEST:
        raise NotThrift("too deep")
    fields: Struct = {}
    number = 0
    while head := content[offset]:
        offset += 1
        if head >> 4:
            number += head >> 4
        else:
            number, offset = _read_signed(content, offset)
        if number in fields:
            raise NotThrift("a field occurs twice")
        kind = head & 0xF
        if kind in (_TRUE, _FALSE):
            fields[number] = kind == _TRUE
        else:
            fields[number], offset = _value(content, offset, kind, depth)
    return fields, offset + 1


def _value(content: bytes, offset: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (_I16, _I32, _I64):
        return _read_signed(content, offset)
    if kind == _BINARY:
        length, offset = read_number(content, offset)
        if offset + length > len(content):
            raise NotThrift("it ends too early")
        return content[offset : offset + length], offset + length
    if kind == _LIST:
        return _list(content, offset, depth)
    if kind == _STRUCT:
        return _struct(content, offset, depth + 1)
    if kind in (_TRUE, _FALSE):  # inside a list
        return content[offset] == _TRUE, offset + 1
    if kind == _BYTE:
        return content[offset], offset + 1
    raise NotThrift("a type that Parquet does not use")


def _list(content: bytes, offset: int, depth: int) -> tuple[list[Any], int]:
    head = content[offset]
    length, offset = (head >> 4, offset + 1) if head >> 4 < 15 else read_number(content, offset + 1)
    if length > len(content) - offset:
        raise NotThrift("it ends too early")
    values = []
    for _ in range(length):
        value, offset = _value(content, offset, head & 0xF, depth + 1)
        values.append(value)
    return values, offset


def read_number(content: bytes, offset: int) -> tuple[int, int]:
    """A whole number of seven bits a byte, the lowest first, and the place behind it."""
    number = 0
    for count in range(_LONGEST_NUMBER):
        byte = content[offset + count]
        number |= (byte & 0x7F) << 7 * count
        if byte < 0x80:
            if byte == 0 and count:
                raise NotThrift("a number is longer than it must be")
            return number, offset + count + 1
    raise NotThrift("a number is too long")


def _read_signed(content: bytes, offset: int) -> tuple[int, int]:
    number, offset = read_number(content, offset)
    return number >> 1 ^ -(number & 1), offset
