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
from tasks.runtime.processes import is_there, started
from tasks.runtime.settings import Home

FILE = "asked-by.json"
FOLDER = "scheduled"
CODE_FILE = "SDCERT_CODE_FILE"


@dataclass(frozen=True, slots=True)
class Asked:
    """A flow run and its process: id and start, because ids are used again. at: when it asked; folder: of the output."""

    flow_run: str
    deployment: str | None
    process: int
    started: str
    at: float
    folder: str

    @classmethod
    def here(cls, flow_run: str, deployment: str | None, folder: Path) -> Asked:
        me = os.getpid()
        return cls(flow_run, deployment, me, started(me), time.time(), folder.name)

    @property
    def path(self) -> Path:
        return Home.current().root / FOLDER / self.folder / FILE

    def remember(self) -> None:
        write_whole(self.path, json.dumps(asdict(self)).encode())

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)

    @property
    def alive(self) -> bool:
        """Its process is there, or what it started: a command has some seconds to end in, and may come to its own end."""
        return is_there(self.process, self.started) or any(_of(self.flow_run, one) for one in psutil.process_iter())


def note_code(code: str) -> None:
    """Tell who started this command what kind of mistake ended it, and where; `code` holds no value. Nobody may have asked."""
    path = os.environ.get(CODE_FILE)
    if path:
        with suppress(OSError):
            write_whole(Path(path), code.encode())


def _of(flow_run: str, process: psutil.Process) -> bool:
    from flows.trail import ASKED_BY_FLOW_RUN  # it imports Prefect

    try:
        return process.status() != psutil.STATUS_ZOMBIE and process.environ().get(ASKED_BY_FLOW_RUN) == flow_run
    except (psutil.Error, OSError):
        return False


def lost() -> Iterator[Asked]:
    """Those whose process is gone before it could forget them."""
    for path in sorted((Home.current().root / FOLDER).glob(f"*/{FILE}")):
        with suppress(OSError, ValueError, TypeError):
            asked = Asked(**json.loads(path.read_bytes()))
            if not asked.alive:
                yield asked
