"""What the shell offers where a run or a release is named. Reads the private folder of runs, and imports nothing heavy."""

from __future__ import annotations

import json

from tasks.microdata.regular_files import read_file
from tasks.runtime.settings import Home

MOST_RUNS = 200  # the newest: more than anybody reads in a list, and quickly read


def complete_run(incomplete: str) -> list[str]:
    """The ids of the newest runs of this home that begin so, newest first."""
    return [run for run in _list_runs() if run.startswith(incomplete)]


def complete_run_or_release(incomplete: str) -> list[str]:
    """The names of releases that begin so, then the ids of runs."""
    names = {name for run in _list_runs() if (name := _read_release_name(run)).startswith(incomplete) and name}
    return [*sorted(names), *complete_run(incomplete)]


def _list_runs() -> list[str]:
    try:
        found = sorted((path.name for path in (Home.current().root / "runs").iterdir()), reverse=True)
    except OSError:
        return []
    return [name for name in found if name.isprintable()][:MOST_RUNS]


def _read_release_name(run: str) -> str:
    """The release of a run; empty where its manifest cannot be read: what cannot be offered is no error."""
    try:
        name = json.loads(read_file(Home.current().root / "runs" / run / "manifest.json"))["release"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return name if isinstance(name, str) and name.isprintable() else ""
