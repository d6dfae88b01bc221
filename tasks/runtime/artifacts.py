"""The store: immutable tables, records and pages, addressed by a keyed digest of their content.

A stage hands the next one an address (`tasks.microdata.refs`), never a frame. The digest is an HMAC under the store's own key:
a plain hash of a private table would let anybody confirm a guess about it. Nothing here is pickled; an artifact is checked
against its address whenever it is read.
"""

from __future__ import annotations

import hashlib
import hmac
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar, overload
from weakref import WeakValueDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from tasks.microdata.parquet_files import read_parquet
from tasks.microdata.refs import FileRef, PageRef, RecordRef, Ref, TableRef
from tasks.microdata.regular_files import LARGEST_TABLE, open_regular_file, read_file
from tasks.microdata.table import Microdata, to_stored_integers
from tasks.runtime.files import write_whole
from tasks.runtime.seals import digest_under, store_key
from tasks.runtime.settings import Home
from tasks.runtime.store_sharing import open_shared_storage

T = TypeVar("T")

ROWS_OF_A_CHUNK = 1 << 20  # a table of more rows has the address of the addresses of its chunks
SUFFIX = {"table": ".parquet", "record": ".json", "page": ".html", "file": ".bin"}


_adapters: dict[Any, TypeAdapter[Any]] = {}
_tables_in_use: WeakValueDictionary[tuple[bytes, str], pa.Table] = WeakValueDictionary()
"""What stages that run side by side read once, by the store's key and the address: as long as one of them holds it."""


def create_adapter(kind: Any) -> TypeAdapter[Any]:
    """What writes and reads records of a kind: made once a process, for to make it costs more than to write most records."""
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


class Digest(Protocol):
    """What `hashlib` and `hmac` make."""

    def update(self, data: bytes | memoryview, /) -> None: ...

    def digest(self) -> bytes: ...

    def hexdigest(self) -> str: ...


class Damaged(Exception):
    """An artifact is gone, or is not what its address says."""


class Store:
    """Tables (Parquet), records (JSON of a pydantic model or a dataclass), pages (HTML) and files under one folder and one key.

    The folder is that of the home, or a place that several homes of the same key share (`SDCERT_STORE_URL`).
    """

    def __init__(self, home: Home | None = None) -> None:
        home = home or Home.current()
        self.shared = open_shared_storage(home)
        self.root = home.store
        self.key = store_key(home)

    def put_table(self, table: Microdata) -> TableRef:
        return TableRef(self._put("table", self._table_address(table), lambda: _parquet(table)))

    def table(self, ref: TableRef) -> Microdata:
        """The table of an address; the one that is in use, if another thread has read and checked it and still holds it.

        A file that is gone is missed, one that was damaged meanwhile is not: what is in use was checked.
        Raises Damaged where the file is missing, unreadable, or not what the address says.
        """
        held = _tables_in_use.get((self.key, ref))
        if held is not None and self.exists(ref):
            return Microdata(held)
        table = self._read_table(ref)
        _tables_in_use[self.key, ref] = table.arrow
        return table

    def _read_table(self, ref: TableRef) -> Microdata:
        content = self._read(ref, "table")
        try:
            table = Microdata(read_parquet(content).combine_chunks())
            is_intact = self._is_address(ref, table)
        except (pa.ArrowException, TypeError, ValueError, OSError):  # ValueError: a text that is no longer UTF-8
            raise Damaged(ref) from None
        if not is_intact:
            raise Damaged(ref)
        return table

    def compute_table_address(self, table: Microdata) -> TableRef:
        """The address that a table has in the store or would have; nothing is stored."""
        return TableRef(f"table:{self._table_address(table)}")

    def put_record(self, record: T, kind: Any = None) -> RecordRef[T]:
        """Store anything that pydantic can write as JSON; `kind` is its type where that is not its class."""
        content = create_adapter(kind or type(record)).dump_json(record, by_alias=True)
        return RecordRef(self._put("record", self.digest(content), lambda: content))

    @overload
    def record(self, ref: RecordRef[T], kind: type[T]) -> T: ...

    @overload
    def record(self, ref: RecordRef[T], kind: Any) -> T: ...  # a union or a tuple of specs

    def record(self, ref: RecordRef[T], kind: Any) -> Any:
        content = self._read(ref, "record")
        return create_adapter(kind).validate_json(self._verify_address(ref, content, self.digest(content)))

    def put_page(self, text: str) -> PageRef:
        content = text.encode()
        return PageRef(self._put("page", self.digest(content), lambda: content))

    def page(self, ref: PageRef) -> str:
        content = self._read(ref, "page")
        return self._verify_address(ref, content, self.digest(content)).decode()

    def put_file(self, content: bytes) -> FileRef:
        return FileRef(self._put("file", self.digest(content), lambda: content))

    def file(self, ref: FileRef) -> bytes:
        content = self._read(ref, "file")
        return self._verify_address(ref, content, self.digest(content))

    def intact(self, ref: str) -> bool:
        """Is the artifact there, and what its address says?"""
        try:
            match ref.partition(":")[0]:
                case "table":
                    self._read_table(TableRef(ref))
                case "page":
                    self.page(PageRef(ref))
                case "file":
                    self.file(FileRef(ref))
                case _:
                    content = self._read(ref, "record")
                    self._verify_address(ref, content, self.digest(content))
        except Damaged:
            return False
        return True

    def digest(self, content: bytes) -> str:
        """The keyed digest of bytes: says whether two contents are equal to somebody who has the key, and nothing to others."""
        return digest_under(self.key, content)

    def file_digest(self, path: Path) -> str:
        """The keyed digest of a file's bytes, read in pieces."""
        mac = hmac.new(self.key, digestmod=hashlib.sha256)
        with open_regular_file(path) as file:
            while piece := file.read(1 << 20):
                mac.update(piece)
        return mac.hexdigest()

    def _table_address(self, table: Microdata) -> str:
        return next(_list_digests(table, self._create_digest))

    def _is_address(self, ref: str, table: Microdata) -> bool:
        asked = ref.partition(":")[2]
        return any(hmac.compare_digest(one, asked) for one in _list_digests(table, self._create_digest))

    def _create_digest(self) -> Digest:
        return hmac.new(self.key, digestmod=hashlib.sha256)

    def _path(self, ref: str) -> Path:
        return self.root / name_artifact_file(ref)

    def exists(self, ref: str) -> bool:
        return self._path(ref).exists() if self.shared is None else self.shared.exists(name_artifact_file(ref))

    def content(self, ref: str) -> bytes:
        """The bytes of an artifact, not checked. Raises Damaged where there are none."""
        try:
            return (
                read_file(self._path(ref), LARGEST_TABLE) if self.shared is None else self.shared.read(name_artifact_file(ref))
            )
        except OSError:
            raise Damaged(ref) from None

    def _put(self, kind: str, address: str, content: Any) -> Ref:
        ref = Ref(f"{kind}:{address}")
        if self.exists(ref) and self.intact(ref):
            return ref
        if self.shared is None:
            write_whole(self._path(ref), content(), mode=0o400)
        else:
            self.shared.write_checked(name_artifact_file(ref), content())
        return ref

    def _read(self, ref: str, kind: str) -> bytes:
        if not ref.startswith(f"{kind}:"):
            raise Damaged(ref)
        return self.content(ref)

    def _verify_address(self, ref: str, content: T, address: str) -> T:
        if not hmac.compare_digest(ref.partition(":")[2], address):
            raise Damaged(ref)
        return content


def name_artifact_file(ref: str) -> str:
    """Where an artifact lies in the store."""
    kind, _, address = ref.partition(":")
    if kind not in SUFFIX or not address.isalnum():
        raise Damaged(ref)
    return f"{kind}/{address[:2]}/{address}{SUFFIX[kind]}"


def content_address(table: Microdata) -> str:
    """The plain SHA-256 of a table's content, whatever its file format.

    Written down for the RELEASED table alone, which is public. Of a private table it is used in memory only, to name a stream
    of randomness: the same source and seed then give the same release in every home.
    """
    return f"sha256:{next(_list_digests(table, hashlib.sha256))}"


def is_content_address(address: str, table: Microdata) -> bool:
    """Is it the address of the table's content, as it is computed now, or as it was before large tables had chunks?"""
    return any(address == f"sha256:{one}" for one in _list_digests(table, hashlib.sha256))


def _list_digests(table: Microdata, create: Callable[[], Digest]) -> Iterator[str]:
    """The digest of a table's content; of more than one chunk of rows that of the digests of its chunks, and then the former.

    So large tables can be digested chunk by chunk, in any order and in several places. create: makes a new digest.
    """
    if table.n > ROWS_OF_A_CHUNK:
        begins = range(0, table.n, ROWS_OF_A_CHUNK)
        chunks = (Microdata(table.arrow.slice(begin, ROWS_OF_A_CHUNK)) for begin in begins)
        digests = (_digest_pieces(serialise_table(chunk), create).digest() for chunk in chunks)
        yield _digest_pieces((f"{table.n} rows in {len(begins)} chunks\n".encode(), *digests), create).hexdigest()
    yield _digest_pieces(serialise_table(table), create).hexdigest()


def _digest_pieces(pieces: Iterable[bytes | memoryview], create: Callable[[], Digest]) -> Digest:
    digest = create()
    for piece in pieces:
        digest.update(piece)
    return digest


def serialise_table(table: Microdata) -> Iterator[bytes | memoryview]:
    """The content of a table as bytes that depend on nothing else: per column name, logical type, validity, values.

    Two equal tables give the same bytes however they were chunked, encoded or read; the order of columns and rows counts.
    -0.0 is 0.0.
    """
    yield f"{table.n} rows, {len(table.names)} columns\n".encode()
    for name in table.names:
        column = table.column(name)
        yield f"{len(name.encode())}:{name}:{column.type}\n".encode()
        yield np.packbits(column.is_valid().to_numpy(zero_copy_only=False)).tobytes()
        if pa.types.is_string(column.type):
            filled = pc.fill_null(column, "")
            yield np.asarray(pc.binary_length(filled).to_numpy(zero_copy_only=False), dtype="<i8").tobytes()
            yield _join_texts(filled)
        elif pa.types.is_boolean(column.type):
            yield np.packbits(pc.fill_null(column, False).to_numpy(zero_copy_only=False)).tobytes()
        elif pa.types.is_floating(column.type):
            yield (pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False) + 0.0).astype("<f8").tobytes()
        else:  # whole numbers, and dates and times as the whole numbers they are stored as
            yield pc.fill_null(to_stored_integers(column), 0).to_numpy(zero_copy_only=False).astype("<i8").tobytes()


def _join_texts(texts: pa.Array) -> memoryview:
    """The UTF-8 of all texts in a row, none of them missing, as they lie in memory."""
    _, starts, characters = texts.buffers()
    ends = np.frombuffer(starts, dtype="<i4")[texts.offset : texts.offset + len(texts) + 1] if len(texts) else (0, 0)
    return memoryview(characters or b"")[ends[0] : ends[-1]]


def _parquet(table: Microdata) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table.arrow.replace_schema_metadata(None), buffer, compression="zstd", write_statistics=False)
    return buffer.getvalue()
