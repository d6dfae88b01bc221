"""Which flow run asked for which command, written down beside its output: after a kill -9 of all, who comes next knows."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from tasks.runtime.files import write_whole
from tasks.runtime.settings import Home

FILE = "asked-by.json"
FOLDER = "scheduled"
CODE_FILE = "SDCERT_CODE_FILE"


@dataclass(frozen=True, slots=True)
class Asked:
    """A flow run and its process: id and start time, because ids are used again. at: when it asked; folder: of the output."""

    flow_run: str
    deployment: str | None
    process: int
    started: float
    at: float
    folder: str

    @classmethod
    def here(cls, flow_run: str, deployment: str | None, folder: Path) -> Asked:
        me = psutil.Process()
        return cls(flow_run, deployment, me.pid, me.create_time(), time.time(), folder.name)

    @property
    def path(self) -> Path:
        return Home.current().root / FOLDER / self.folder / FILE

    def remember(self) -> None:
        write_whole(self.path, json.dumps(asdict(self)).encode())

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)

    @property
    def alive(self) -> bool:
        try:
            return abs(psutil.Process(self.process).create_time() - self.started) < 1
        except psutil.NoSuchProcess:
            return False


def note_code(code: str) -> None:
    """Tell who started this command what kind of mistake ended it, and where; `code` holds no value. Nobody may have asked."""
    path = os.environ.get(CODE_FILE)
    if path:
        with suppress(OSError):
            write_whole(Path(path), code.encode())


def lost() -> Iterator[Asked]:
    """Those whose process is gone before it could forget them."""
    for path in sorted((Home.current().root / FOLDER).glob(f"*/{FILE}")):
        with suppress(OSError, ValueError, TypeError):
            asked = Asked(**json.loads(path.read_bytes()))
            if not asked.alive:
                yield asked
