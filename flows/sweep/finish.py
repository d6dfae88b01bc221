"""The end of a sweep: its table, its page and what is told of it."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flows.sweep.execution import SweepExecution
from flows.sweep.file import Frontier, Grid, Random, SweepSpec
from flows.sweep.promote import PointOrigin as Origin
from flows.sweep.promote import SweepFiles, format_promoted_release
from flows.sweep.record import PAGE, TABLE
from tasks.attack.together.earlier_release import EarlierRelease
from tasks.sweep.evaluation import TrialGroup
from tasks.sweep.frontier import Region, Required, compute_map_coordinates, find_frontier, find_policy_region, find_required
from tasks.sweep.page.page_data import SweepDescription, create_page_data
from tasks.sweep.page.render import render_sweep_page
from tasks.sweep.results import Results
from tasks.sweep.views import compute_loss, compute_risk


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """A point that no other beats in risk and loss, means over its seeds. parameters: its values, by path.

    policy: whether it keeps every line of the base release's policy under every seed (`inside`).
    """

    point: int
    pipeline: str
    parameters: Mapping[str, Any]
    risk: float
    loss: float
    policy: Region


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What became of a sweep. counts: trials by status. reasons: of those that are not ok, with how many have each.

    nowhere: why trials that are ok have no risk or no loss, with how many have each reason. policy, parameters: of every point.
    """

    table: pa.Table
    risk: str
    loss: str
    counts: Mapping[str, int]
    reasons: Mapping[str, int]
    frontier: tuple[FrontierPoint, ...]
    on_the_map: int
    nowhere: Mapping[str, int]
    points: int
    written: tuple[str, ...]
    policy: Mapping[int, Region]
    parameters: Mapping[int, Mapping[str, Any]]

    @property
    def nearest_to_policy(self) -> FrontierPoint | None:
        """The point of the frontier to go on with: of those that keep the policy the one that loses least."""
        return min((one for one in self.frontier if one.policy == "inside"), key=lambda one: one.loss, default=None)


def finish_sweep(execution: SweepExecution) -> SweepResult:
    """Write the table of a sweep into its folder, and read off what is told of it."""
    table = execution.table()
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    execution.basis.storage.write(f"{execution.record.id}/{TABLE}", buffer.getvalue())
    results = Results.from_table(table)
    risk, loss = compute_risk(results, execution.sweep.spec.risk), compute_loss(results, execution.sweep.spec.loss)
    risks, losses = compute_map_coordinates(results.aggregate_seeds(risk.values), results.aggregate_seeds(loss.values))
    points = {candidate.point.number: candidate.point for candidate in execution.candidates}
    best = [(int(results.points[i]), risks[i], losses[i]) for i in np.flatnonzero(find_frontier(risks, losses))]
    groups = {candidate.point.number: candidate.group for candidate in execution.candidates}
    base = execution.sweep.base
    decided = find_policy_region(results, base.policy_of_sweep, lambda n: _find_required_attacks(groups[n]), base.omit)
    regions = dict(zip(results.points.tolist(), decided, strict=True))
    members = (
        FrontierPoint(n, points[n].pipeline, dict(points[n].values), float(r), float(at), regions[n]) for n, r, at in best
    )
    statuses, reasons = results.texts("status"), results.texts("reason")
    missing = (one for view in (risk, loss) for one, own in zip(view.reasons, reasons, strict=True) if own is None)
    return SweepResult(
        table,
        risk.says,
        loss.says,
        Counter(str(status) for status in statuses),
        Counter(reason for reason in reasons if reason is not None),
        tuple(sorted(members, key=lambda one: (one.risk, one.loss, one.point))),
        int(np.sum(~np.isnan(risks))),
        Counter(one for one in missing if one is not None),
        results.n_points,
        (TABLE, *_write_page(execution, results, decided)),
        regions,
        {number: {"pipeline": point.pipeline, **dict(point.values)} for number, point in points.items()},
    )


def _find_required_attacks(group: TrialGroup | None) -> Required:
    """The attacks that the steps of a point require; none of a point that is wrong in itself, which has no figures."""
    if group is None:
        return {}
    return find_required(group.trials[0].attacks, group.masking, keeps_row_order=group.keeps_row_order)


def _write_page(execution: SweepExecution, results: Results, regions: tuple[Region, ...]) -> tuple[str, ...]:
    """Write the page; it is left out where it would have nothing to show."""
    description = replace(
        _describe_sweep(execution),
        release_of=_release_texts(execution),
        earlier=tuple(describe_earlier_release(one) for one in execution.earlier),
    )
    page = render_sweep_page(create_page_data(results, description, regions))
    execution.basis.storage.write(f"{execution.record.id}/{PAGE}", page.encode())
    return (PAGE,)


def render_public_page(execution: SweepExecution, public: pa.Table, policy: Mapping[int, Region]) -> str:
    """The page for people who may not see exact figures: of the rounded table, without release files and earlier releases."""
    results = Results.from_table(public)
    regions = tuple(policy[int(number)] for number in results.points)
    description = replace(_describe_sweep(execution), sensitivity=False)
    return render_sweep_page(create_page_data(results, description, regions))


def _describe_sweep(execution: SweepExecution) -> SweepDescription:
    spec, facts = execution.sweep.spec, execution.record.facts
    return SweepDescription(
        name=spec.name,
        id=execution.record.id,
        base=execution.sweep.base.name,
        strategy=describe_strategy(spec),
        seeds=spec.seeds,
        began_at=_format_time(facts["started_at"]),
        written_at=_format_time(datetime.now(UTC).isoformat()),
        methods=_describe_methods(execution),
        risk=spec.risk,
        loss=spec.loss,
        policy=execution.sweep.base.policy_of_sweep,
    )


def describe_strategy(spec: SweepSpec) -> str:
    match spec.strategy:
        case Grid():
            return "every combination of the values"
        case Random(points=points):
            return f"{points:,} points drawn at random"
        case Frontier(points=points, generation=generation):
            return f"a search of the frontier, at most {points:,} points, {generation:,} at a time"
        case _:
            assert_never(spec.strategy)


def describe_earlier_release(one: EarlierRelease) -> str:
    """Its name and run, and why it cannot be attacked, where that is so."""
    named = one.release if one.release == one.name else f"{one.release} ({one.name})"
    return named if one.tables is not None else f"{named}, which cannot be attacked: {one.reason}"


def _describe_methods(execution: SweepExecution) -> dict[str, str]:
    """The masks of each pipeline, e.g. `microaggregation + noise`."""
    made = ((one.point.pipeline, one.group) for one in execution.candidates if one.group is not None)
    return {name: " + ".join(step.method for step in group.masking) for name, group in made}


def _release_texts(execution: SweepExecution) -> Callable[[int], str]:
    """The release file of a point as `sdcert sweep promote` writes it beside the sweep file."""
    files = SweepFiles.from_record(execution.record.facts["files"])
    points = {candidate.point.number: candidate.point for candidate in execution.candidates}
    tried = sum(candidate.reason is None for candidate in execution.candidates)
    origin = Origin(execution.sweep.spec.name, execution.record.id, tried)
    folder = execution.sweep.document.path.absolute().parent
    return lambda number: format_promoted_release(files, points[number], origin, folder)


def _format_time(moment: str) -> str:
    return f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M} UTC"
