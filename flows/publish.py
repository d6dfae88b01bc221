"""The release folder: it appears whole or not at all, and holds no table unless the release is certified."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tasks.runtime.files import sync_folder, write_whole

PARTIAL = ".partial-"


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
    """Remove drafts whose writer died."""
    for draft in parent.glob(f"{PARTIAL}*"):
        writer = draft.name.removeprefix(PARTIAL).split("-")[0]
        if writer.isdecimal() and not psutil.pid_exists(int(writer)):
            shutil.rmtree(draft, ignore_errors=True)


def as_json(content: Any) -> bytes:
    """JSON for people and programs alike: sorted, indented, no NaN."""
    return json.dumps(content, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False).encode() + b"\n"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
