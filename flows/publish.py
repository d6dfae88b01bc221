"""The release folder: it appears whole or not at all, and holds no table unless the release is certified."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import psutil

from tasks.runtime.files import sync_folder, write_whole

PARTIAL = ".partial-"


def publish_folder(output: Path, release: str, run: str, contents: dict[str, bytes]) -> Path:
    """Write the files of one release to `<output>/<release>/<run>/`, which appears by one rename."""
    parent = output / release
    parent.mkdir(parents=True, exist_ok=True)
    clear_partial(parent)
    draft = parent / f"{PARTIAL}{os.getpid()}-{run}"
    draft.mkdir(mode=0o700)
    try:
        for name, content in contents.items():
            write_whole(draft / name, content)
        final = parent / run
        draft.rename(final)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    sync_folder(parent)
    return final


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
