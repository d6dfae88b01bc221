"""Compressed files, known by their first bytes: gzip, bzip2, xz, zstd, and zip archives of one file."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, Any

import pyarrow as pa

from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import LARGEST_TABLE

LARGEST_BYTES = LARGEST_TABLE
LARGEST_RATIO = 1000
_SMALL_BYTES = 64 << 20  # up to this size a high ratio is no danger
_PIECE_BYTES = 1 << 20
_BROKEN = (
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    pa.ArrowException,
    ValueError,
    NotImplementedError,
)

Opener = Callable[[IO[bytes]], Any]
_OPENERS: tuple[tuple[bytes, str, Opener], ...] = (
    (b"\x1f\x8b", "gzip", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", "bzip2", bz2.BZ2File),
    (b"\xfd7zXZ\x00", "xz", lzma.LZMAFile),
    (b"\x28\xb5\x2f\xfd", "zstd", lambda file: pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")),
)
SUFFIXES = frozenset({".gz", ".bz2", ".xz", ".zst", ".zip"})
_ZIP = b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"


def is_compressed(content: bytes) -> bool:
    return content.startswith((_ZIP, _EMPTY_ZIP, *(magic for magic, _, _ in _OPENERS)))


def decompress_content(content: bytes, label: str) -> tuple[bytes, str]:
    """The content of a compressed file, and how it was compressed.

    Raises InputError: a damaged or truncated file; a zip archive that does not hold exactly one file, or is encrypted; more
    than `LARGEST_BYTES` unpacked, or more than 1,000 times the packed size (from 64 MiB on); a compressed file inside.
    """
    if content.startswith((_ZIP, _EMPTY_ZIP)):
        plain, kind = _from_zip(content, label), "zip"
    else:
        kind, opener = next((kind, opener) for magic, kind, opener in _OPENERS if content.startswith(magic))
        plain = _read(lambda: opener(io.BytesIO(content)), len(content), label, kind)
    if is_compressed(plain):
        raise InputError("compressed-twice", label, f"The {kind} file holds another compressed file or a workbook.",
                         "a table that is compressed once", "unpack the outer one; export workbooks as CSV")  # fmt: skip
    return plain, kind


def _from_zip(content: bytes, label: str) -> bytes:
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except _BROKEN:
        raise _create_damage_error(label, "zip") from None
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        workbook = any(member.filename == "[Content_Types].xml" for member in members)
        what = "The file is an Excel workbook." if workbook else f"The zip archive holds {len(members)} files."
        raise InputError("binary-file" if workbook else "zip-members", label, what, "an archive of exactly one file",
                         "export the table as CSV" if workbook else "pack the table alone")  # fmt: skip
    if members[0].flag_bits & 1:
        raise InputError("encrypted-file", label, "The zip archive is encrypted.", "an archive without password",
                         "unpack it where its password is known")  # fmt: skip
    return _read(lambda: archive.open(members[0]), len(content), label, "zip")


def _read(opened: Callable[[], Any], packed_bytes: int, label: str, kind: str) -> bytes:
    largest = min(LARGEST_BYTES, max(_SMALL_BYTES, LARGEST_RATIO * packed_bytes))
    pieces: list[bytes] = []
    read_bytes = 0
    try:
        with opened() as stream:
            while piece := stream.read(_PIECE_BYTES):
                pieces.append(piece)
                read_bytes += len(piece)
                if read_bytes > largest:
                    raise _create_too_large_error(label, kind)
    except _BROKEN:
        raise _create_damage_error(label, kind) from None
    return b"".join(pieces)


def _create_damage_error(label: str, kind: str) -> InputError:
    return InputError("damaged-archive", label, f"The {kind} file is damaged or ends too early.", f"a complete {kind} file",
                      "fetch or pack it again")  # fmt: skip


def _create_too_large_error(label: str, kind: str) -> InputError:
    return InputError("too-large", label, f"The {kind} file grows beyond the limit when it is unpacked.",
                      f"at most {LARGEST_BYTES >> 30} GiB, and at most {LARGEST_RATIO:,} times its packed size",
                      "if it is what it should be, unpack it yourself")  # fmt: skip
