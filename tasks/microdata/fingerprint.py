"""The fingerprint of source files: what a compiled function or a cached result was made by."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tasks.microdata.regular_files import read_file

TASKS = Path(__file__).resolve().parent.parent
SOURCES = frozenset({".py", ".html", ".css", ".js", ".j2", ".json"})


def list_room_files(rooms: Iterable[str]) -> tuple[Path, ...]:
    """Every source file and template of the named rooms (`microdata`, `mask`, ...), sorted."""
    return tuple(sorted(path for room in rooms for path in _list_sources(room)))


@cache
def _list_sources(room: str) -> tuple[Path, ...]:
    """As this process found them first: most stages run the code of several rooms."""
    found = (path for path in (TASKS / room).rglob("*") if path.suffix in SOURCES)
    return tuple(path for path in found if "__pycache__" not in path.parts)


def fingerprint(files: Iterable[Path]) -> str:
    """SHA-256 over the names and contents of files, in the order given, as hexadecimal text."""
    digest = hashlib.sha256()
    for path in files:
        content = read_source(path)
        digest.update(f"{path.relative_to(TASKS)}:{len(content)}:".encode())
        digest.update(content)
    return digest.hexdigest()


@cache
def read_source(path: Path) -> bytes:
    """The content of a source file as this process found it first: each is part of the fingerprints of several rooms."""
    return read_file(path)
