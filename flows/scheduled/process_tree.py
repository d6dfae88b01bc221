"""Start a process that never outlives the process that asked for it, however that one ends."""

from __future__ import annotations

import json
import os
import secrets
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from flows.scheduled.supervisor import MARK, end_marked
from tasks.runtime.processes import OWNER
from tasks.runtime.settings import PRIVATE

CODE_ROOT = str(Path(__file__).resolve().parents[2])
SUPERVISE = f"import sys; sys.path.insert(0, {CODE_ROOT!r}); from flows.scheduled.supervisor import main; main()"
MOST_OUTPUT_BYTES = 16 << 20


def create_python_path(environment: Mapping[str, str]) -> str:
    """The PYTHONPATH of a process that runs the code of this one, before all that `environment` names."""
    return os.pathsep.join(
        [CODE_ROOT, *(one for one in environment.get("PYTHONPATH", "").split(os.pathsep) if one not in ("", CODE_ROOT))]
    )


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process ended. exit_code: negative for a signal, None if it never ran or nobody knows.

    stopped: `limit`, `asked`, `not started`, `keeper lost`; None: it ended by itself.
    """

    exit_code: int | None
    stopped: str | None
    seconds: float


class ProcessTree:
    """A process of its own session, with all that it starts. Use as a context: leaving it ends them all.

    environment: the whole environment of the process; out, err: the files that take what it prints (at most twice
    `most_bytes` each, the newest). limit_seconds: None for no limit. leave: when the process itself ends, what it started
    goes on (a worker's runs). descriptors: open files that the process is handed. mark: finds what is left of it
    (`end_marked`), should its keeper and who asked be killed at once.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        out: Path,
        err: Path,
        limit_seconds: float | None,
        grace_seconds: float,
        leave: bool = False,
        most_bytes: int = MOST_OUTPUT_BYTES,
        folder: Path | None = None,
        descriptors: Sequence[int] = (),
    ) -> None:
        self.mark, self._leave = secrets.token_hex(16), leave
        order: dict[str, Any] = {
            "command": list(command),
            "limit": limit_seconds,
            "grace": grace_seconds,
            "leave": leave,
            "most": most_bytes,
        }
        order["descriptors"] = list(descriptors)
        inside = {MARK: f"{environment[MARK]}:{self.mark}" if environment.get(MARK) else self.mark}
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-c", SUPERVISE, json.dumps({**order, "out": str(out), "err": str(err)})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**{name: value for name, value in environment.items() if name != OWNER}, **inside},
            cwd=folder,
            start_new_session=True,
            umask=PRIVATE,
            pass_fds=tuple(descriptors),
        )
        assert self._keeper.stdout is not None  # noqa: S101  # it is a pipe
        self._stdout, self._told = self._keeper.stdout, cast(bytes | None, None)

    def __enter__(self) -> ProcessTree:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    @property
    def alive(self) -> bool:
        """Whether the process itself goes on; with `leave`, its keeper may stay for what it left."""
        return not self._has_report(0)

    @property
    def guarding(self) -> bool:
        """Whether the keeper is there still."""
        return self._keeper.poll() is None

    def wait(self, seconds: float | None = None) -> ProcessExit:
        """Wait for the end. Raises subprocess.TimeoutExpired if it takes longer; the process then goes on."""
        if not self._has_report(seconds):
            raise subprocess.TimeoutExpired("the process kept", seconds or 0)
        return self._ending()

    def ask(self) -> None:
        """Ask for the end, and return at once: SIGTERM, after the grace SIGKILL, for all that it started too."""
        if self._keeper.stdin is not None and not self._keeper.stdin.closed:
            self._keeper.stdin.close()

    def stop(self) -> None:
        """Ask for the end and see to it. May be called again."""
        self.ask()
        try:
            self._keeper.wait()
        except BaseException:
            self._keeper.kill()
            raise
        finally:
            self._ending()

    def _ending(self) -> ProcessExit:
        report = self._report()
        if not self._leave:
            self._keeper.wait()
        if report is None:
            end_marked(self.mark)
            return ProcessExit(None, "keeper lost", 0.0)
        return ProcessExit(report["exit"], report["stopped"], report["seconds"])

    def _has_report(self, seconds: float | None) -> bool:
        """Whether the keeper has said how it ended, or is gone."""
        return self._told is not None or bool(select.select([self._stdout], [], [], seconds)[0])

    def _report(self) -> dict[str, Any] | None:
        if self._told is None:
            self._told = self._stdout.read()
            self._stdout.close()
        try:
            report: dict[str, Any] = json.loads(self._told)
        except ValueError:
            return None
        return report
