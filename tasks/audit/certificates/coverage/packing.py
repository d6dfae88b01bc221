"""What a compressed file holds beside the one file that is packed in it: every byte is accounted for, or named.

What is listed here is what packers write and what carries nothing. Anything else is named as not covered, known or not.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Collection, Iterator

_LOCAL = struct.Struct("<4sHHHHHLLLHH")
_CENTRAL = struct.Struct("<4sHHHHHHLLLHHHHHLL")
_END = struct.Struct("<4sHHHHLLH")
_STORED, _DEFLATED, _BZIP2 = 0, 8, 12
_DESCRIPTOR, _UTF8 = 0x8, 0x800
_HARMLESS_FLAGS = 0x6 | _DESCRIPTOR | _UTF8  # how hard deflate tried; sizes stand behind the data; the name is UTF-8
_HARMLESS_EXTRA = {0x0001: (8, 16, 24), 0x5455: (5, 9, 13), 0x7875: (11,)}  # zip64 sizes, times, numbers of user and group
_GZIP_NAME, _GZIP_TEXT = 0x8, 0x1
_GZIP_SYSTEMS = (*range(14), 255)
_GZIP_TRAILER = 8  # checksum and length
_PIECE_BYTES = 1 << 12  # bzip2 packs 20,000-fold at most: 80 MB at a time
_ZSTD_BLOCK_HEADER = 3
_OWN_ENDINGS = ("", ".csv", ".txt", ".tsv", ".parquet", ".pq", ".sav", ".zsav", ".por", ".dta", ".xpt", ".sas7bdat")


def list_unexplained_packing(content: bytes, names: Collection[str]) -> Iterator[str]:
    """What a file of zip, gzip, bzip2, xz or zstd holds beside what is packed in it, in words.

    names: what the packed file may be called without its ending; another name inside is named as not covered.
    """
    try:
        if content.startswith(b"PK"):
            yield from _list_unexplained_zip(content, names)
        elif content.startswith(b"\x1f\x8b"):
            yield from list_unexplained_gzip(content, names)
        elif content.startswith(b"BZh"):
            yield from _list_trailing(bz2.BZ2Decompressor(), content, "bzip2")
        elif content.startswith(b"\xfd7zXZ"):
            yield from _list_trailing(lzma.LZMADecompressor(lzma.FORMAT_XZ), content, "xz")
        elif not is_plain_zstd(content):
            yield "frames or bytes of zstd that hold no part of the packed file"
    except (struct.error, IndexError, ValueError, EOFError, OSError, zlib.error, lzma.LZMAError):
        yield "an archive whose structure is not understood"


def _list_unexplained_zip(content: bytes, names: Collection[str]) -> Iterator[str]:
    """One local header, its data, one central header and the end of the directory fill the file without a gap."""
    local = _LOCAL.unpack_from(content)
    flags, method, name_length, extra_length = local[2], local[3], local[9], local[10]
    name = content[_LOCAL.size : _LOCAL.size + name_length]
    start = _LOCAL.size + name_length + extra_length
    end_place = len(content) - _END.size
    end = _END.unpack_from(content, max(end_place, 0))
    if end[0] != b"PK\x05\x06" or end[7] != 0 or end[1:5] != (0, 0, 1, 1):
        yield "a comment of the zip archive, bytes behind it, or more members than one"
        return
    offset = end[6]
    central = _CENTRAL.unpack_from(content, offset)
    _, _, _, flags_again, method_again, _, _, crc, packed_size, size, name_again, extra_again, comment, disk, _, _, at = central
    if central[0] != b"PK\x01\x02" or at or local[0] != b"PK\x03\x04":
        yield "bytes of the zip archive that belong to no member that it lists"
        return
    packed_end = start + packed_size
    if flags & ~_HARMLESS_FLAGS or (flags, method, name_length) != (flags_again, method_again, name_again):
        yield "flags of the zip archive that are not understood"
    if not _is_whole(content[start:packed_end], method, size):
        yield "bytes behind the packed file, inside its member of the zip archive"
    tail_ok = _is_descriptor(content[packed_end:offset], flags, (crc, packed_size, size))
    directory_end = offset + _CENTRAL.size + name_again + extra_again + comment
    if disk or directory_end != end_place or end[5] != end_place - offset or not tail_ok:
        yield "bytes of the zip archive that belong to no member that it lists"
    sizes_elsewhere = [(0, 0, 0)] * bool(flags & _DESCRIPTOR) + [(crc, 0xFFFFFFFF, 0xFFFFFFFF)] * bool(extra_length)
    if local[6:9] not in ((crc, packed_size, size), *sizes_elsewhere):
        yield "two headers of one member of the zip archive that contradict each other"
    if comment:
        yield "a comment on the member of the zip archive"
    here = offset + _CENTRAL.size
    extras = content[start - extra_length : start], content[here + name_again : here + name_again + extra_again]
    if not all(map(_is_harmless_extra, extras)):
        yield "extra fields of the zip archive"
    if content[here : here + name_again] != name or not is_own_name(name, names):
        yield "the name of the member of the zip archive"


def _is_whole(packed: bytes, method: int, size: int) -> bool:
    if method == _STORED:
        return len(packed) == size
    if method not in (_DEFLATED, _BZIP2):
        return False
    stream = zlib.decompressobj(-zlib.MAX_WBITS) if method == _DEFLATED else bz2.BZ2Decompressor()
    return _ends_with(stream, packed)


def _is_descriptor(between: bytes, flags: int, stated: tuple[int, int, int]) -> bool:
    if not flags & _DESCRIPTOR:
        return between == b""
    plain = between.removeprefix(b"PK\x07\x08")
    return plain in (struct.pack("<LLL", *stated), struct.pack("<LQQ", *stated))


def _is_harmless_extra(fields: bytes) -> bool:
    while fields:
        kind, length = struct.unpack_from("<HH", fields)
        if length not in _HARMLESS_EXTRA.get(kind, ()) or len(fields) < 4 + length:
            return False
        fields = fields[4 + length :]
    return True


def list_unexplained_gzip(content: bytes, names: Collection[str] = ()) -> Iterator[str]:
    """One member: ten bytes of header, perhaps its own name, deflated data, a checksum and the length."""
    flags, system = content[3], content[9]
    if content[2] != _DEFLATED or flags & ~(_GZIP_NAME | _GZIP_TEXT) or system not in _GZIP_SYSTEMS:
        yield "a comment, extra fields or flags of the gzip file"
        return
    start = 10
    if flags & _GZIP_NAME:
        start = content.index(b"\0", start) + 1
        if not is_own_name(content[10 : start - 1], names):
            yield "the name inside the gzip file"
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    behind = _rest_after(stream, content[start:])
    if behind is None or len(behind) != _GZIP_TRAILER:
        yield "more members of the gzip file, or bytes behind it"


def is_plain_zstd(content: bytes) -> bool:
    """Is it one frame of zstd, without a dictionary, and nothing before or behind it?"""
    if content[:4] != b"\x28\xb5\x2f\xfd":
        return False
    descriptor = content[4]
    single, checked, dictionary = descriptor & 0x20, descriptor & 0x4, descriptor & 0x3
    if dictionary or descriptor & 0x18:
        return False
    size_bytes = (1 if single else 0, 2, 4, 8)[descriptor >> 6]
    offset, last = 5 + (0 if single else 1) + size_bytes, 0
    while not last:
        header = int.from_bytes(content[offset : offset + _ZSTD_BLOCK_HEADER], "little")
        if offset + _ZSTD_BLOCK_HEADER > len(content):
            return False
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        offset += _ZSTD_BLOCK_HEADER + (1 if kind == 1 else size)
    return offset + (4 if checked else 0) == len(content)


def is_own_name(name: bytes, names: Collection[str]) -> bool:
    """Is it the name of the released file, or of the file at hand, with or without the ending of a table?"""
    return any(name == (stem + ending).encode() for stem in names for ending in _OWN_ENDINGS)


def _list_trailing(stream: bz2.BZ2Decompressor | lzma.LZMADecompressor, content: bytes, kind: str) -> Iterator[str]:
    if not _ends_with(stream, content):
        yield f"a second stream of {kind}, or bytes behind the first"


def _ends_with(stream: zlib._Decompress | bz2.BZ2Decompressor | lzma.LZMADecompressor, packed: bytes) -> bool:
    return _rest_after(stream, packed) == b""


def _rest_after(stream: zlib._Decompress | bz2.BZ2Decompressor | lzma.LZMADecompressor, packed: bytes) -> bytes | None:
    """The bytes behind the first compressed stream; None where it does not end. What it unpacks to is not kept."""
    view = memoryview(packed)
    for start in range(0, len(packed), _PIECE_BYTES):
        stream.decompress(view[start : start + _PIECE_BYTES])
        if stream.eof:
            return stream.unused_data + packed[start + _PIECE_BYTES :]
    return None
