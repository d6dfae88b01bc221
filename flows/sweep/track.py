"""Log a sweep to MLflow: one run, its table as one artifact, and a run below it for each point of the frontier.

Figures are those of the public edition, as for a release. A tracking server that is away costs nothing: the table stands in
the working set, what went wrong is told at the end, and the same sweep started again records it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flows.sweep.file import SweepDefinition
from tasks.microdata.document import format_dotted_path
from tasks.microdata.estimate import Estimate
from tasks.microdata.public_paths import cut_at_private, is_public_path
from tasks.microdata.table import Floats
from tasks.runtime.settings import Home
from tasks.runtime.tracking import Tracking
from tasks.score.attack_coverage import EARLIER
from tasks.score.figure_rounding import (
    DECIMALS,
    ERRORS,
    STATISTICS,
    choose_digits,
    find_classes,
    is_share_of_people,
    round_significant,
)
from tasks.score.joined_releases import CHANGES
from tasks.score.public_shares import FEWEST
from tasks.sweep.layout import AXIS, BESIDE, FigureSubject
from tasks.sweep.parts import Parts, parse_steps
from tasks.sweep.results import Results

SECONDS_BETWEEN_COUNTS = 5.0
COUNT = "trials done"


class SweepTracking:
    """Records one sweep; a sweep that is started again goes on with its run."""

    def __init__(self, sweep: SweepDefinition, name: str) -> None:
        self._tracking = Tracking(series=f"sweep-{sweep.spec.name}", run=name, again=True)
        self._tracking.parameters(list_parameters(sweep))
        self._tracking.tag("sdcert.sweep", sweep.spec.name)
        self._told = 0.0

    def log_progress(self, done: int) -> None:
        if time.monotonic() - self._told > SECONDS_BETWEEN_COUNTS:
            self._told = time.monotonic()
            self._tracking.metric(COUNT, done)

    def log_result(
        self, table: pa.Table, rows: int, counts: Mapping[str, int], frontier: Mapping[int, Mapping[str, Any]]
    ) -> str | None:
        """Log the table, the counts and the frontier, and end the run; returns what went wrong, if anything did.

        rows: of the source. frontier: the parameters of each of its points, by number.
        """
        public = round_table(table, rows)
        for name, count in counts.items():
            self._tracking.metric(name, count)
        with tempfile.TemporaryDirectory(dir=Home.current().folder("tmp")) as folder:
            path = Path(folder, "table.parquet")
            pq.write_table(public, path, compression="zstd")
            self._tracking.artifact(path)
            means = compute_point_means(public, list(frontier))
            for number, parameters in frontier.items():
                shown = {path: value for path, value in parameters.items() if is_public_axis(path)}
                self._tracking.child(f"point-{number}", shown, means[number])
            return self._tracking.close("FINISHED")

    def close_early(self, status: str) -> str | None:
        """End the run before its end: `FAILED` or `KILLED`."""
        return self._tracking.close(status)


def list_parameters(sweep: SweepDefinition) -> dict[str, Any]:
    """The sweep file and the release it starts from, as far as a release shows of itself."""
    spaces = [{"name": space.pipeline, "axes": [trim_axis(axis.path) for axis in space.axes]} for space in sweep.spaces]
    base = sweep.base.public()
    shown = {name: base[name] for name in base if name != "masking"}
    return {"sweep": {**sweep.spec.public(), "pipelines": spaces}, "release": shown}


def is_public_axis(path: str) -> bool:
    """May the values of this axis be told, which stand in parameters that are declared public?"""
    return is_public_path(Parts, parse_steps(path.removeprefix(AXIS)))


def trim_axis(path: str) -> str:
    """The path up to where it could name a value: `masking[0].recode.town.map["Ys"]` is `masking[0].recode.town.map`."""
    return format_dotted_path(cut_at_private(Parts, parse_steps(path)))


def round_table(table: pa.Table, rows: int) -> pa.Table:
    """The table with its figures rounded as `tasks.score.figure_rounding` rounds those of a release; of the axes the public
    ones.

    rows: of the source. Shares of people are shown by classes of so many, because the table does not hold how many there were.
    Figures about other people than those of the source are left out: of earlier releases, and of the people who changed.
    """
    table = table.drop_columns([name for name in table.column_names if name.startswith(AXIS) and not is_public_axis(name)])
    others = [name for name, subject in Results.from_table(table).figures.items() if _is_about_other_people(subject)]
    columns = [f"{prefix}{name}" for name in others for prefix in ("", *BESIDE)]
    table = table.drop_columns([name for name in columns if name in table.column_names])
    results = Results.from_table(table)
    parts = {measure: _count_parts(results, measure) for measure in ERRORS}
    for name, subject in results.figures.items():
        exact = results.values(name)
        for column in (name, *(f"{prefix}{name}" for prefix in BESIDE if prefix != "status:")):
            if column in table.column_names:
                if is_share_of_people(subject.measure):
                    values = _round_to_classes(exact, results.values(column), subject, column.removesuffix(name), rows)
                else:
                    values = _round_values(results.values(column), subject, parts.get(subject.measure))
                position = table.column_names.index(column)
                table = table.set_column(position, table.schema.field(column), pa.array(values, from_pandas=True))
    return table


def _is_about_other_people(subject: FigureSubject) -> bool:
    return (subject.attack or "").startswith(f"{EARLIER}:") or subject.subgroup in CHANGES


def compute_point_means(table: pa.Table, points: list[int]) -> dict[int, dict[str, float]]:
    """The mean over the seeds of every figure of some points that have it under all of them."""
    results = Results.from_table(table)
    positions = {number: int(np.searchsorted(results.points, number)) for number in points}
    means = {name: results.aggregate_seeds(results.values(name)).mean for name in results.figures}
    return {
        number: {name: float(mean[position]) for name, mean in means.items() if not np.isnan(mean[position])}
        for number, position in positions.items()
    }


def _count_parts(results: Results, measure: str) -> Floats:
    """Shape (trials,): of how many attributes each trial has the figure."""
    own = [name for name, subject in results.figures.items() if subject.measure == measure and subject.attribute is not None]
    return np.sum([~np.isnan(results.values(name)) for name in own], axis=0, dtype=np.float64) if own else np.zeros(1)


def _round_to_classes(exact: Floats, values: Floats, subject: FigureSubject, end: str, rows: int) -> Floats:
    """What is shown of shares of people, or of the ends of their intervals; end: `low:`, `high:`, or empty for the share."""
    if rows < FEWEST:
        return np.full(len(values), np.nan)
    classes, few = find_classes(subject.measure, rows), _choose_digits(subject, 1)

    def round_share(share: float) -> float:
        position = classes.find_class(share)
        return classes.interval(position)[end == "high:"] if end else classes.get_public_share(position)

    pairs = zip(exact, values, strict=True)
    found = np.array([value if np.isnan(value) or np.isnan(share) else round_share(share) for share, value in pairs])
    return found if few is None else np.array([value if np.isnan(value) else round_significant(value, few) for value in found])


def _round_values(values: Floats, subject: FigureSubject, parts: Floats | None) -> Floats:
    several = np.zeros(len(values), dtype=bool) if parts is None else np.broadcast_to(parts >= 2, values.shape)
    positions = DECIMALS if subject.measure in STATISTICS else None
    by_parts = {many: _choose_digits(subject, 2 if many else 1) for many in (False, True)}
    return np.array(
        [
            value if np.isnan(value) or (few := by_parts[bool(many)]) is None else round_significant(value, few, positions)
            for value, many in zip(values, several, strict=True)
        ]
    )


def _choose_digits(subject: FigureSubject, parts: int) -> int | None:
    """How many digits are public where so many attributes have the figure."""
    others = tuple(Estimate(measure=subject.measure, attribute=f"{i}", value=0.0, unit="") for i in range(parts))
    return choose_digits(subject.measure, subject.attribute, others)
