"""Run a sweep file, as the command line does."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from sdcert.certified_releases import keep_rights


@dataclass(frozen=True, slots=True, eq=False)
class ParameterSweep:
    """What came of a sweep. Its figures are exact, and as private as the source.

    id: names it to `sdcert sweep promote`. risk, loss: what the axes of the map are. frontier: the points that no other beats,
    one row each, with the values of their parameters, risk, loss, and whether they keep the policy (None: not decided).
    table: one row for each trial. reasons: why trials were not carried out, or have no risk or no loss, with how many have
    each. A point without both figures is not on the frontier.
    """

    id: str
    risk: str
    loss: str
    frontier: pd.DataFrame
    table: pd.DataFrame = field(repr=False)
    reasons: dict[str, int]
    described: dict[str, Any] = field(repr=False)

    def _repr_html_(self) -> str:
        from sdcert.pages import render_table

        shown = render_table(f"{self.id}: risk {self.risk}; loss {self.loss}", self.frontier)
        left_out = pd.DataFrame(list(self.reasons.items()), columns=["reason", "trials"])
        return shown if left_out.empty else shown + render_table("Not on the map", left_out)


def sweep(path: str | os.PathLike[str], *, workers: int | None = None, store: str | None = None) -> ParameterSweep:
    """Mask and attack every point of a sweep file (YAML), as `sdcert sweep` does, without asking how long it may take.

    workers: processes; default: one for each core. store: as `--store`. What was computed before is not computed again.

    Raises InputError for wrong input. It tells its progress on stderr.
    """
    from flows.cli.sweep.result import as_dict
    from flows.cli.sweep.run import compute_sweep_file
    from flows.sweep.compute_backend import ComputeBackend

    found: list[ParameterSweep] = []

    def keep(execution: Any, result: Any, _: str | None) -> None:
        described = as_dict(execution, result)
        found.append(_create_sweep(described, result.table.to_pandas()))

    with keep_rights():
        backend = ComputeBackend.from_options(workers=workers, runner="local", address=None)
        compute_sweep_file(Path(path), None, store, backend, keep, yes=True)
    return found[0]


def _create_sweep(described: dict[str, Any], table: pd.DataFrame) -> ParameterSweep:
    rows = [{**{name: one[name] for name in one if name != "parameters"}, **one["parameters"]} for one in described["frontier"]]
    frontier = pd.DataFrame(rows).set_index("point") if rows else pd.DataFrame()
    reasons = {**described["reasons"], **described["nowhere"]}
    return ParameterSweep(described["id"], described["risk"], described["loss"], frontier, table, reasons, described)
