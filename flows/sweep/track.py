"""Log a sweep to MLflow: one run, its table and its page as artifacts, and a run below it for each point.

Figures are those of the public edition, as for a release. A tracking server that is away costs nothing: the table stands in
the working set, what went wrong is told at the end, and the same sweep started again records it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flows.sweep.file import SweepDefinition, SweepSpec
from flows.sweep.finish import SweepResult
from flows.sweep.record import PAGE, TABLE
from tasks.microdata.document import format_dotted_path
from tasks.microdata.estimate import Estimate
from tasks.microdata.public_paths import cut_at_private, is_public_path
from tasks.microdata.table import Floats
from tasks.runtime.settings import Home
from tasks.runtime.tracking import MOST_CHILDREN, ChildRun, Tracking
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
from tasks.sweep.frontier import Region
from tasks.sweep.layout import AXIS, BESIDE, FigureSubject
from tasks.sweep.parts import Parts, parse_steps
from tasks.sweep.results import Results
from tasks.sweep.views import compute_loss, compute_risk

SECONDS_BETWEEN_COUNTS = 5.0
COUNT = "trials done"
PIPELINE = "pipeline"
LONGEST_POINT_NAME = 200
KEPT: Mapping[Region, str] = {"inside": "kept", "outside": "broken", "undecided": "undecided"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedPoint:
    """A point as MLflow and Prefect show it. policy: does it keep that of the base release; figures: public ones, by id."""

    number: int
    policy: Region
    frontier: bool
    parameters: Mapping[str, object]
    figures: Mapping[str, float]


class SweepTracking:
    """Records one sweep; a sweep that is started again goes on with its run."""

    def __init__(self, sweep: SweepDefinition, name: str) -> None:
        self._tracking = Tracking(series=f"sweep-{sweep.spec.name}", run=name, again=True)
        self._tracking.parameters(list_parameters(sweep))
        self._tracking.tag("sdcert.sweep", sweep.spec.name)
        self._name, self._told = sweep.spec.name, 0.0

    def log_progress(self, done: int) -> None:
        if time.monotonic() - self._told > SECONDS_BETWEEN_COUNTS:
            self._told = time.monotonic()
            self._tracking.metric(COUNT, done)

    def log_result(self, public: pa.Table, page: str, counts: Mapping[str, int], points: Sequence[TrackedPoint]) -> str | None:
        """Log the table, the page, the counts and the points, and end the run; returns what went wrong, if anything did.

        public: the rounded table (`round_table`); page: made from it. Of more than `MOST_CHILDREN` points the frontier
        and those that keep the policy come first; the tag `sdcert.points_shown` says of how many they are.
        """
        for name, count in counts.items():
            self._tracking.metric(name, count)
        with tempfile.TemporaryDirectory(dir=Home.current().folder("tmp")) as folder:
            table = Path(folder, TABLE)
            pq.write_table(public, table, compression="zstd")
            self._tracking.artifact(table)
            written = Path(folder, PAGE)
            written.write_text(page, encoding="utf-8")
            self._tracking.artifact(written)
            first = sorted(points, key=lambda one: (not one.frontier, one.policy != "inside", one.number))[:MOST_CHILDREN]
            self._tracking.children([_create_child(one) for one in sorted(first, key=lambda one: one.number)])
            self._tracking.tag("sdcert.points_shown", f"{len(first)} of {len(points)}")
            self._tracking.rename(f"{self._name} {describe_points(points)}")
            self._tracking.describe(describe_points(points))
            return self._tracking.close("FINISHED")

    def close_early(self, status: str) -> str | None:
        """End the run before its end: `FAILED` or `KILLED`."""
        return self._tracking.close(status)


def list_points(public: pa.Table, found: SweepResult, spec: SweepSpec) -> tuple[TrackedPoint, ...]:
    """Every point with its public parameters, and the means of its public figures over the seeds.

    public: the table of the sweep, rounded. Risk and loss are those of the map, of the rounded figures.
    """
    results = Results.from_table(public)
    whole = [name for name, of in results.figures.items() if of.attribute is None and of.subgroup is None]
    means = {  # MLflow shows the first ones first
        "risk": results.aggregate_seeds(compute_risk(results, spec.risk).values).mean,
        "loss": results.aggregate_seeds(compute_loss(results, spec.loss).values).mean,
        **{name: results.aggregate_seeds(results.values(name)).mean for name in whole},
    }
    frontier = {one.point for one in found.frontier}
    return tuple(
        TrackedPoint(
            number=number,
            policy=found.policy[number],
            frontier=number in frontier,
            parameters={
                path: value for path, value in found.parameters[number].items() if path == PIPELINE or is_public_axis(path)
            },
            figures={name: float(mean[position]) for name, mean in means.items() if np.isfinite(mean[position])},
        )
        for position, number in enumerate(results.points.tolist())
    )


def describe_points(points: Sequence[TrackedPoint]) -> str:
    """How many points there are, and how many are good for something: `25 points, 3 keep the policy, 9 on the frontier`."""
    kept, frontier = sum(one.policy == "inside" for one in points), sum(one.frontier for one in points)
    return f"{len(points)} points, {kept} keep the policy, {frontier} on the frontier"


def _create_child(point: TrackedPoint) -> ChildRun:
    tags = {
        "sdcert.point": f"{point.number}",
        "sdcert.policy": KEPT[point.policy],
        "sdcert.frontier": f"{point.frontier}".lower(),
    }
    given = ", ".join(f"{path.rpartition('.')[2]} {value}" for path, value in point.parameters.items() if path != PIPELINE)
    name = f"point {point.number}: {point.parameters[PIPELINE]} {given}"
    return ChildRun(
        id=f"point-{point.number}",
        name=name[:LONGEST_POINT_NAME].strip(),
        parameters={path.replace("[", ".").replace("]", ""): value for path, value in point.parameters.items()},
        figures=point.figures,
        tags=tags,
    )


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
