"""The archive of a skops file: a zip with `schema.json` and its arrays, read from a hostile hand and written in one way."""

from __future__ import annotations

import bz2
import io
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

from tasks.microdata.errors import InputError

MOST_BYTES = 200 * 2**20
MOST_UNPACKED = 2**30
MOST_SCHEMA = 100 * 2**20
MOST_BRACKETS = 5_000_000  # of the schema: what bounds the memory that it takes as Python's lists and dictionaries
MOST_MEMBERS = 500_000
SCHEMA = "schema.json"

ALLOWED = "a fitted classifier of scikit-learn, or a pipeline that ends in one, written by skops"
WRITE = "write it with `skops.io.dump`"
COMPRESS = "compress it (`skops.io.dump(model, path, compression=8)`), or release a smaller model"
_NAME = re.compile(r"[0-9A-Za-z_-]{1,64}\.[a-z]{1,4}")
_LEVEL = 6


def refusal(code: str, where: str, what: str, remedy: str = WRITE, value: object = None) -> InputError:
    return InputError(code, where, what, ALLOWED, remedy, value)


def unpack_archive(content: bytes, where: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The schema and the other members by name, of an archive that may be hostile.

    Raises InputError for a file above 200 MB or that unpacks to more than 1 GB, for a pickle, for what is no skops file, and
    for names that are paths or occur twice. Cost: what it unpacks to.
    """
    if len(content) > MOST_BYTES:
        raise refusal("too-large-model", where, f"the file is larger than {MOST_BYTES >> 20} MB", COMPRESS)
    if _is_pickle(content):
        what = "the file is a pickle, which runs code when it is read"
        raise refusal("pickle", where, what, "write it with `skops.io.dump` instead of pickle or joblib")
    if content.count(b"PK\x01\x02") > MOST_MEMBERS:
        raise refusal("too-large-model", where, f"the file has more than {MOST_MEMBERS} members", "release a smaller model")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _members(archive, where)
    except zipfile.BadZipFile as error:
        if not content.startswith(b"PK"):
            raise refusal("not-skops", where, "the file is not a skops file: it is no zip archive") from error
        raise create_damage_error(where, "its zip archive is broken") from error
    except (EOFError, OSError, zlib.error, RuntimeError, NotImplementedError, ValueError) as error:
        raise create_damage_error(where, "its zip archive is broken") from error
    schema = _schema(members.pop(SCHEMA), where)
    return schema, members


def pack_archive(schema: dict[str, Any], members: dict[str, bytes], where: str) -> bytes:
    """The archive, compressed; the same bytes for the same content, by the same version of zlib.

    Raises InputError where `unpack_archive` would refuse it.
    """
    text = _text(schema)
    size = sum(map(len, members.values())) + len(text)
    content = b"" if size > MOST_UNPACKED else zip_members(schema, members, zipfile.ZIP_DEFLATED)
    if not content or len(content) > MOST_BYTES or len(text) > MOST_SCHEMA or _brackets(text) > MOST_BRACKETS:
        raise refusal("too-large-model", where, "the model is too large to be released", "train a smaller one")
    return content


def zip_members(schema: dict[str, Any], members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """The archive with its members in order of their names, without times or traces of the machine."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in sorted({SCHEMA: _text(schema), **members}.items()):
            member = zipfile.ZipInfo(name)  # its time is the first of January 1980
            member.create_system, member.external_attr, member.compress_type = 3, 0o600 << 16, compression
            archive.writestr(member, data, compresslevel=_LEVEL)
    return buffer.getvalue()


def create_damage_error(where: str, how: str) -> InputError:
    return refusal("damaged-model", where, f"the file of the model is damaged: {how}", "write it anew with `skops.io.dump`")


def _members(archive: zipfile.ZipFile, where: str) -> dict[str, bytes]:
    found = archive.infolist()
    names = [one.filename for one in found]
    if SCHEMA not in names:
        raise refusal("not-skops", where, f"the file is not a skops file: it has no `{SCHEMA}`")
    if len(set(names)) < len(names):
        raise create_damage_error(where, "a member occurs twice")
    for one in found:
        if _NAME.fullmatch(one.orig_filename) is None or one.filename != one.orig_filename:
            raise create_damage_error(where, "a member has a name that skops does not give")
        if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise refusal("not-skops", where, "the file is compressed in another way than by deflate")
        if one.filename == SCHEMA and one.file_size > MOST_SCHEMA:
            raise refusal("too-large-model", where, "the description of the model is too large", "release a smaller model")
    if sum(one.file_size for one in found) > MOST_UNPACKED:
        what = f"the file unpacks to more than {MOST_UNPACKED >> 30} GB"
        raise refusal("too-large-model", where, what, "release a smaller model")
    members: dict[str, bytes] = {}
    for one in found:
        with archive.open(one) as stream:
            members[one.filename] = stream.read(one.file_size + 1)
        if len(members[one.filename]) != one.file_size:
            raise create_damage_error(where, "a member has another size than it says")
    return members


def _schema(text: bytes, where: str) -> dict[str, Any]:
    if _brackets(text) > MOST_BRACKETS:
        raise refusal("too-large-model", where, "the description of the model is too large", "release a smaller model")
    try:
        schema = json.loads(text)
    except RecursionError:
        raise
    except ValueError as error:
        raise create_damage_error(where, f"`{SCHEMA}` is not JSON") from error
    if not isinstance(schema, dict):
        raise create_damage_error(where, f"`{SCHEMA}` describes no object")
    return schema


def _text(schema: dict[str, Any]) -> bytes:
    return json.dumps(schema, separators=(",", ":"), allow_nan=False).encode()


def _brackets(text: bytes) -> int:
    return text.count(b"{") + text.count(b"[")


def _is_pickle(content: bytes) -> bool:
    """Python's pickles of protocol 2 and later, as they are and in the compressions of Python that joblib offers."""
    head = content[:4096]
    attempts: tuple[Callable[[bytes, int], bytes], ...] = (
        lambda data, size: data[:size],
        lambda data, size: zlib.decompressobj(wbits=47).decompress(data, size),
        lambda data, size: bz2.BZ2Decompressor().decompress(data, size),
        lambda data, size: lzma.LZMADecompressor(memlimit=2**27).decompress(data, size),
    )
    for attempt in attempts:
        try:
            start = attempt(head, 2)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError, MemoryError):
            continue
        if len(start) >= 2 and start[0] == 0x80 and start[1] <= 5:
            return True
    return False
