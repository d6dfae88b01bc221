"""Which flow run asked for which command, written down beside its output: after a kill -9 of all, who comes next knows."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from tasks.microdata.regular_files import LARGEST_NOTE, read_file
from tasks.runtime.files import write_whole
from tasks.runtime.processes import is_there, own_processes, read_process_start
from tasks.runtime.settings import Home

FILE = "asked-by.json"
FOLDER = "scheduled"
CODE_FILE = "SDCERT_CODE_FILE"

_Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
_ProcessId = Annotated[int, Field(ge=1, lt=2**31)]
_Seconds = Annotated[float, Field(ge=0, le=250_000_000_000, allow_inf_nan=False)]  # until the year 9999, which a date can hold


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A flow run and its process: id and start, because ids are used again. at: when it asked; folder: of the output."""

    flow_run: _Uuid
    deployment: str | None
    process: _ProcessId
    started: str
    at: _Seconds
    folder: str

    @classmethod
    def here(cls, flow_run: str, deployment: str | None, folder: Path) -> CommandRequest:
        me = os.getpid()
        return cls(flow_run, deployment, me, read_process_start(me), time.time(), folder.name)

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
        return is_there(self.process, self.started) or has_command(self.flow_run)


def note_code(code: str) -> None:
    """Tell who started this command what kind of mistake ended it, and where; `code` holds no value. Nobody may have asked."""
    path = os.environ.get(CODE_FILE)
    if path:
        with suppress(OSError):
            write_whole(Path(path), code.encode())


def has_command(flow_run: str) -> bool:
    """Whether a command that a flow run started goes on."""
    from flows.run.run_entries import ASKED_BY_FLOW_RUN  # it imports Prefect

    return any(environment.get(ASKED_BY_FLOW_RUN) == flow_run for _, environment in own_processes())


def list_requests() -> Iterator[CommandRequest]:
    """Those who have asked and have not heard yet. A file that does not say so as `remember` does is passed over."""
    for path in sorted((Home.current().root / FOLDER).glob(f"*/{FILE}")):
        with suppress(OSError, ValidationError):
            yield replace(_ASKED.validate_json(read_file(path, LARGEST_NOTE)), folder=path.parent.name)


def find_lost_requests() -> Iterator[CommandRequest]:
    """Those whose process is gone before it could forget them."""
    return (asked for asked in list_requests() if not asked.alive)


_ASKED = TypeAdapter(CommandRequest)
