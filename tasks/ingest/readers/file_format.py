"""What a format of source files declares: how it is recognised, which options it knows, and the function that reads it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tasks.ingest.readers.raw import RawTable


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """One format, or several that one function reads. docs/ADD_A_FORMAT.md shows how to add one.

    name: what messages call it. suffixes: endings of file names, in lower case and with the dot.
    recognise: does a file begin like one of this format? It gets the first 1,024 bytes, uncompressed, and must be right: a file
    that two formats recognise goes to the first.
    read: gets the file, open at its beginning, the label for messages, and by name each of `options`. It raises InputError for
    whatever is wrong.
    options: the options of a source that mean something here: `encoding`, `delimiter`.
    """

    name: str
    suffixes: frozenset[str]
    recognise: Callable[[bytes], bool]
    read: Callable[..., RawTable]
    options: tuple[str, ...] = ()
