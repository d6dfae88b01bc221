"""The release folder: it appears whole or not at all, and holds no table unless the release is certified."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tasks.audit.lookup.index import Index
from tasks.runtime.files import sync_folder, write_whole

PARTIAL = ".partial-"
CERTIFICATE, UNCERTIFIED = "certificate.json", "statement.json"


@dataclass(frozen=True, slots=True)
class Draft:
    """A release folder that nobody sees yet. final: where it will appear."""

    folder: Path
    final: Path

    def add(self, name: str, content: bytes) -> None:
        write_whole(self.folder / name, content)

    def appear(self) -> Path:
        """Make the folder appear by one rename."""
        self.folder.rename(self.final)
        sync_folder(self.final.parent)
        return self.final


@contextmanager
def drafted(output: Path, release: str, run: str) -> Iterator[Draft]:
    """A draft of `<output>/<release>/<run>/`; what has not appeared at the end is removed."""
    parent = output / release
    parent.mkdir(parents=True, exist_ok=True)
    clear_partial(parent)
    draft = Draft(parent / f"{PARTIAL}{os.getpid()}-{run}", parent / run)
    draft.folder.mkdir(mode=0o700)
    try:
        yield draft
    finally:
        shutil.rmtree(draft.folder, ignore_errors=True)


def clear_partial(parent: Path) -> None:
    """Remove drafts whose writer died; one that the ledger speaks of is complete, and appears as its writer meant it to."""
    for draft in parent.glob(f"{PARTIAL}*"):
        writer, _, run = draft.name.removeprefix(PARTIAL).partition("-")
        if not writer.isdecimal() or psutil.pid_exists(int(writer)):
            continue
        if _is_written_down(draft, run):
            with suppress(OSError):  # another process was quicker
                Draft(draft, parent / run).appear()
        else:
            shutil.rmtree(draft, ignore_errors=True)


def _is_written_down(draft: Path, run: str) -> bool:
    """Did its writer die between the entry in the ledger and the rename?"""
    with Index.current() as index:
        ended = index.run(run).ended if index.begin_so(run) == [run] and not index.run(run).revocations else None
    statements = (draft / name for name in (CERTIFICATE, UNCERTIFIED) if (draft / name).is_file())
    return ended is not None and any(sha256(path.read_bytes()) == ended.certificate for path in statements)


def as_json(content: Any) -> bytes:
    """JSON for people and programs alike: sorted, indented, no NaN."""
    return json.dumps(content, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False).encode() + b"\n"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
