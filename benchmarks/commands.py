"""CPU seconds of whole commands: `python benchmarks/commands.py [--times N]`.

Each command is a process of its own in a new home that certifies the shipped release anes96; beside it a bare
`python -c pass` in the same run. The Prefect server of the home serves all of them: what it used meanwhile is a column of
its own. The smallest of several runs is shown, because other programs only add to it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import pandas as pd
import psutil
import typer

from flows.home_server.state import read_state
from tasks.runtime.processes import parse_identity
from tasks.runtime.settings import Home

ROOT = Path(__file__).resolve().parent.parent
RELEASE = str(ROOT / "params" / "releases" / "anes96.yaml")
ONCE = "certify, first in a home"
COMMANDS = {
    ONCE: ("certify", RELEASE, "-o", "{folder}"),
    "certify, all cached": ("certify", RELEASE, "-o", "{folder}"),
    "certify --refresh": ("certify", RELEASE, "-o", "{folder}", "--refresh"),
    "check": ("check", RELEASE),
    "init": ("init", "dataset:anes96", "-o", "{folder}/draft-{run}.yaml"),
    "doctor": ("doctor",),
    "audit show": ("audit", "show", "2"),
    "audit find": ("audit", "find", "{folder}/anes96/latest/released.csv"),
    "verify": ("verify", "{folder}/anes96/latest/released.csv"),
    "methods": ("methods",),
    "--help": ("--help",),
}


def measure(words: list[str], home: Path) -> tuple[float, float, int]:
    """CPU seconds of a process, those of the home's server meanwhile, and its exit code."""
    before, server = resource.getrusage(resource.RUSAGE_CHILDREN), read_server_seconds(home)
    environment = {**os.environ, "SDCERT_HOME": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, read_server_seconds(home) - server, done.returncode


def read_server_seconds(home: Path) -> float:
    """CPU seconds that the home's server has used; 0 where there is none."""
    server = read_state(Home(home))
    found = None if server is None else parse_identity(server.process)
    if found is None or not psutil.pid_exists(found[0]):
        return 0.0
    used = psutil.Process(found[0]).cpu_times()
    return float(used.user + used.system)


def main(times: Annotated[int, typer.Option(help="how often each command is run", min=1)] = 3) -> None:
    """Print a table of all commands."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder, home = Path(name), Path(name) / "home"
        bare = min(measure(["-c", "pass"], home)[0] for _ in range(times))
        for what, words in COMMANDS.items():
            runs = []
            for run in range(1 if what == ONCE else times):
                filled = [one.format(folder=folder, run=run) for one in words]
                runs.append(measure(["-m", "flows.cli", *filled], home))
            seconds, server, code = min(runs)
            rows.append(
                {
                    "command": what,
                    "CPU s": seconds,
                    "server, CPU s": server,
                    "times bare Python": seconds / bare,
                    "exit code": code,
                }
            )
            print(f"{what}: {seconds:.2f}", file=sys.stderr)
    columns = ["command", "CPU s", "server, CPU s", "times bare Python", "exit code"]
    print(pd.DataFrame(rows, columns=columns).round(2).to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
