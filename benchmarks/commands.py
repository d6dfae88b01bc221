"""CPU seconds of whole commands: `python benchmarks/commands.py [--times N]`.

Each command is a process of its own in a new home that certifies the shipped release anes96; beside it a bare
`python -c pass` in the same run. Where the fork server may run a command, that is measured in the same run, too: the process
that asks and the one that was forked. The Prefect server of the home serves all of them: what it used meanwhile is a column
of its own. The smallest of several runs is shown, because other programs only add to it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import pandas as pd
import psutil
import typer

from flows.fork_server import ask, request
from flows.home_server.state import read_state
from tasks.runtime.processes import parse_identity
from tasks.runtime.settings import Home

ROOT = Path(__file__).resolve().parent.parent
SECONDS_TO_START = 120.0
FORKED = "import sys; from flows.fork_server.ask import ask; print(*ask(sys.argv[1:]), file=sys.stderr)"
RELEASE = str(ROOT / "params" / "releases" / "anes96.yaml")
WATCH = "name: anes96\nrelease: {release}\nlook_at: {{source: release}}\noutput: watched\n"
ONCE = "certify, first in a home"
COMMANDS = {
    ONCE: ("certify", RELEASE, "-o", "{folder}"),
    "certify, all cached": ("certify", RELEASE, "-o", "{folder}"),
    "certify --refresh": ("certify", RELEASE, "-o", "{folder}", "--refresh"),
    "check": ("check", RELEASE),
    "init": ("init", "dataset:anes96", "-o", "{folder}/draft-{run}.yaml"),
    "doctor": ("doctor",),
    "watch, nothing new": ("watch", "{folder}/watch.yaml"),
    "compare": ("compare", "{older}", "{newer}"),
    "audit show": ("audit", "show", "2"),
    "audit find": ("audit", "find", "{folder}/anes96/latest/released.csv"),
    "verify": ("verify", "{folder}/anes96/latest/released.csv"),
    "methods": ("methods",),
    "--help": ("--help",),
}


class Measured(NamedTuple):
    """CPU seconds of a command, and those of the home's server meanwhile."""

    seconds: float
    server: float
    code: int


def measure(words: list[str], home: Path) -> Measured:
    """A process of its own."""
    before, server = resource.getrusage(resource.RUSAGE_CHILDREN), read_server_seconds(home)
    done = subprocess.run([sys.executable, *words], env=environment_of(home), capture_output=True, check=False, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if words[1] != FORKED:
        return Measured(seconds, read_server_seconds(home) - server, done.returncode)
    code, of_forked = done.stderr.splitlines()[-1].split()
    return Measured(seconds + float(of_forked), read_server_seconds(home) - server, int(code))


def environment_of(home: Path) -> dict[str, str]:
    return {**os.environ, "SDCERT_HOME": str(home), "PYTHONPATH": str(ROOT)}


@contextmanager
def start_fork_server(home: Path) -> Iterator[None]:
    folder = home / request.FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    home.chmod(0o700)
    command, environment = (
        [sys.executable, "-P", *ask.PROGRAM, str(folder), "3600"],
        request.select_at_import(environment_of(home)),
    )
    with subprocess.Popen(command, env=environment, cwd=folder) as process:
        deadline = time.monotonic() + SECONDS_TO_START
        while not (folder / request.SOCKET).exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        try:
            yield
        finally:
            process.kill()


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
        (folder / "watch.yaml").write_text(WATCH.format(release=RELEASE), encoding="utf-8")
        with start_fork_server(home):
            bare = min(measure(["-c", "pass"], home).seconds for _ in range(times))
            for what, words in COMMANDS.items():
                runs: dict[str, list[Measured]] = {"-m": [], "-c": []}
                for run in range(1 if what == ONCE else times):
                    known = [one.name for one in sorted((home / "runs").glob("*"))][:2] if (home / "runs").is_dir() else []
                    names = {"folder": folder, "older": (*known, "")[0], "newer": (*known, "", "")[1]}
                    filled = [one.format(**names, run=run) for one in words]
                    runs["-m"].append(measure(["-m", "flows.cli", *filled], home))
                    if words[0] in ask.COMMANDS and what != ONCE:
                        again = [one.format(**names, run=f"{run}-forked") for one in words]
                        runs["-c"].append(measure(["-c", FORKED, *again], home))
                alone, forked = min(runs["-m"]), min(runs["-c"], default=None)
                codes = {alone.code} | ({forked.code} if forked else set())
                rows.append(
                    {
                        "command": what,
                        "CPU s": alone.seconds,
                        "forked, CPU s": None if forked is None else forked.seconds,
                        "server, CPU s": alone.server,
                        "times bare Python": alone.seconds / bare,
                        "forked, times bare Python": None if forked is None else forked.seconds / bare,
                        "exit code": ", ".join(map(str, sorted(codes))),
                    }
                )
                print(f"{what}: {alone.seconds:.2f} {'' if forked is None else f'{forked.seconds:.2f}'}", file=sys.stderr)
    print(pd.DataFrame(rows).round(2).to_string(index=False, na_rep=""))


if __name__ == "__main__":
    typer.run(main)
