"""Places that several machines share: an fsspec address (a folder, s3://bucket/folder), and what is written and read there.

Whole contents are put and taken, listed and looked for; nothing is renamed, appended to or locked, so that object stores serve.
What goes wrong there is told by its kind alone: the texts of the libraries may name accounts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import fsspec  # type: ignore[import-untyped]  # it has no stubs
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]  # it has no stubs

from tasks.microdata.errors import InputError, StorageUnreachable
from tasks.microdata.regular_files import LARGEST_TABLE, UnreadableFile, read_file
from tasks.runtime.failures import CREDENTIALS
from tasks.runtime.files import write_first, write_whole
from tasks.runtime.refusals import FULL

PROBE = ".sdcert"
ALLOWED = "a folder, or an fsspec URL: s3://bucket/folder"


class SharedStorage:
    """One address and what lies below it; names are relative to it, with `/`. A write is whole or not there.

    where: what named the address, for who has to mend it.
    """

    def __init__(self, url: str, where: str) -> None:
        self.url, self._where = refuse_password(url, where), where
        try:
            self._fs, self._root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            what = f"no library for such an address is installed ({type(error).__name__})"
            remedy = "give a folder, or install the library (`pip install 'sdcert[s3]'` for s3://)"
            raise InputError("store", where, what, ALLOWED, remedy, url) from None
        self._folder = Path(self._root) if isinstance(self._fs, LocalFileSystem) else None

    def readable(self) -> Self:
        """This place, after it was listed; InputError where that cannot be done."""
        with self._explain_errors("listed"):
            self.names("")
        return self

    def usable(self) -> Self:
        """This place, after something was written there and read again; InputError where that cannot be done."""
        with self._explain_errors("written and read"):
            self.write(PROBE, b"sdcert")
            self.read(PROBE)
        return self

    def read(self, name: str) -> bytes:
        """Raises FileNotFoundError where it is not there."""
        with translate_storage_errors():
            if self._folder is not None:
                return read_file(self._folder / name, LARGEST_TABLE)
            if self._fs.size(self._join_root(name)) > LARGEST_TABLE:
                raise StorageUnreachable(f"it holds more than {LARGEST_TABLE:,} bytes under one name")
            content: bytes = self._fs.cat_file(self._join_root(name))
        return content

    def write(self, name: str, content: bytes) -> None:
        with translate_storage_errors():
            if self._folder is not None:
                write_whole(self._folder / name, content)
                return
            self._fs.pipe_file(self._join_root(name), content)

    def create(self, name: str, content: bytes) -> None:
        """Write what is not there: of two at once the first wins in folders and on S3, the last where no place can tell."""
        if self._folder is not None:
            with translate_storage_errors():
                write_first(self._folder / name, content)
            return
        with suppress(StorageUnreachable), translate_storage_errors():  # somebody was first, or the place knows no such writing
            self._fs.pipe_file(self._join_root(name), content, mode="create")
        if not self.exists(name):
            self.write(name, content)

    def write_checked(self, name: str, content: bytes) -> None:
        """Write, and read what was written. Raises PlaceAway where it is not the same."""
        self.write(name, content)
        try:
            same = self.read(name) == content
        except FileNotFoundError:
            same = False
        if not same:
            raise StorageUnreachable("it gives back something else than was written")

    def exists(self, name: str) -> bool:
        if self._folder is not None:
            return (self._folder / name).exists()
        with translate_storage_errors():
            self._fs.invalidate_cache()  # others write there too
            return bool(self._fs.exists(self._join_root(name)))

    def names(self, folder: str) -> list[str]:
        """What lies in a folder, sorted; nothing where there is none, and no drafts of writers that were killed."""
        found = self._list_remote_names(folder) if self._folder is None else self._list_local_names(self._folder / folder)
        return sorted(name for name in found if not name.startswith("."))

    def sizes(self, folder: str) -> dict[str, int]:
        """Every file below a folder by its name, with its size; no drafts."""
        with translate_storage_errors():
            self._fs.invalidate_cache()
            found = self._fs.find(start := self._join_root(folder).rstrip("/"), detail=True)
        return {
            path[len(start) + 1 :]: int(known["size"]) for path, known in found.items() if not Path(path).name.startswith(".")
        }

    def path(self, name: str) -> Path | None:
        """The file itself, where the place is a folder."""
        return None if self._folder is None else self._folder / name

    def _join_root(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def _list_remote_names(self, folder: str) -> list[str]:
        try:
            with translate_storage_errors():
                return [Path(path).name for path in self._fs.ls(self._join_root(folder), detail=False, refresh=True)]
        except FileNotFoundError:
            return []

    @staticmethod
    def _list_local_names(folder: Path) -> list[str]:
        with translate_storage_errors():
            return [path.name for path in folder.iterdir()] if folder.is_dir() else []

    @contextmanager
    def _explain_errors(self, tried: str) -> Iterator[None]:
        try:
            yield
        except (StorageUnreachable, OSError) as error:
            what = f"it cannot be {tried} ({error.reason if isinstance(error, StorageUnreachable) else type(error).__name__})"
        else:
            return
        remedy = "look at the name, the rights and the account (AWS_PROFILE or AWS_ACCESS_KEY_ID for s3://)"
        raise InputError("store", self._where, what, "an address that this account may use", remedy, self.url)


@contextmanager
def translate_storage_errors() -> Iterator[None]:
    """Turns what a library raises into PlaceAway, but for files that are not there, or are no files."""
    kind = ""
    try:
        yield
    except (FileNotFoundError, UnreadableFile):
        raise
    except Exception as error:  # each library has errors of its own
        number = error.errno if isinstance(error, OSError) else None
        kind = FULL.get(number) or os.strerror(number) if number else type(error).__name__
    if kind:
        raise StorageUnreachable(kind)


def refuse_password(url: str, where: str) -> str:
    """The address; InputError, which does not tell it, where it holds a password: it would be shown and written down."""
    if CREDENTIALS.search(url):  # anywhere: addresses may be chained (zip://table.csv::ftp://...)
        what, remedy = (
            "the address holds a user or a password",
            "give them to its library: AWS_PROFILE, or fsspec's own settings",
        )
        raise InputError("store-password", where, what, "an address without them: s3://bucket/folder", remedy)
    return url
