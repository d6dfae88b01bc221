"""Search the audit trail of the private folder: `sdcert.audit.find`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class RunSearch:
    """Runs that were found. runs: one row each, newest first. how: how they were found, or why none was. total: of all."""

    runs: pd.DataFrame
    how: str
    total: int

    def _repr_html_(self) -> str:
        from sdcert.pages import render_table

        return render_table(self.how, self.runs)


def find(
    path: str | os.PathLike[str] | None = None,
    *,
    release: str | None = None,
    series: str | None = None,
    since: str | None = None,
    until: str | None = None,
    verdict: str | None = None,
    dataset: str | None = None,
    touching: str | None = None,
    last: int = 20,
) -> RunSearch:
    """The runs that a file comes from, or that the arguments describe, as `sdcert audit find`.

    path: a released table, a report, a certificate or a source. since, until: dates, `2026-11-21`. touching: an attribute that
    a run masked or published. last: at most so many.

    Raises InputError for a wrong date or verdict, and for a file that cannot be read.
    """
    from flows.cli.audit.find import search_runs

    asked = {"release": release, "series": series, "since": since, "until": until}
    asked |= {"verdict": verdict, "dataset": dataset, "touching": touching}
    found = search_runs(None if path is None else Path(path), last=last, **asked).serialise()
    return RunSearch(pd.DataFrame(found["runs"]), found["how"], found["found"])
