"""How a sweep's figures are kept: for one trial as JSON, for all trials as the columns of one table.

The table has one row per trial, ordered by point and seed, and these columns:
    point (int64), pipeline (text), seed (int64), status (`ok`, `skipped`, `failed`), reason (text);
    `axis:<path>`, in the order of the paths, null where the trial's pipeline has no such axis or it is not active;
    the figures in the order of their ids: `<id>` (double) is the value, null where there is none. Only where some trial needs
    it, `low:<id>` and `high:<id>` (double) follow, null where the interval is the value itself or there is none, and
    `status:<id>` (`not_applicable`, `failed`), null where the figure is there, or where the trial has no such figure at all;
    seconds (double).
Of an `Estimate` its id, value, interval and status are kept: what decides a policy line. The id tells the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import pyarrow as pa

from tasks.microdata.canonical import canonical
from tasks.microdata.estimate import Estimate, Status, split_id
from tasks.score.catalogue import MEASURES
from tasks.score.joined_releases import CHANGES
from tasks.score.measure import SUBGROUPS, Measure
from tasks.score.measures.linkage import REIDENTIFICATION

TrialStatus = Literal["ok", "skipped", "failed"]
Scalar = bool | int | float | str
StoredFigure = float | dict[str, float | str]
FIGURE_FIELDS = ("value", "low", "high", "status")
FIRST, LAST = ("point", "pipeline", "seed", "status", "reason"), ("seconds",)
AXIS = "axis:"
BESIDE = ("low:", "high:", "status:")
_PARAMETER = re.compile(r"([a-z_]+)=(\d[\d.]*(?:e[+-]?\d+)?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRow:
    """One trial, as a row of the table. axes: the active ones. reason: why it is not ok. figures: see `encode_figures`."""

    point: int
    pipeline: str
    seed: int
    axes: Mapping[str, object]
    status: TrialStatus
    reason: str | None
    figures: Mapping[str, StoredFigure]
    seconds: float


def encode_figures(estimates: Iterable[Estimate]) -> dict[str, StoredFigure]:
    """What is kept of each figure, by its id; it goes into canonical JSON and comes back the same.

    The bare value where the interval is the value itself or there is none; else value, low and high; of a figure that is not
    ok its status, and `low` of one that was not followed but is bounded. A figure that is no finite number has `failed`: it
    decides nothing.
    """
    return {estimate.id: _encode_figure(estimate) for estimate in estimates}


def _encode_figure(estimate: Estimate) -> StoredFigure:
    ends = [end for end in (estimate.value, estimate.low, estimate.high) if end is not None]
    if estimate.status == "not_followed" and estimate.low is not None:
        return {"status": estimate.status, "low": float(estimate.low)}
    if estimate.status != "ok" or estimate.value is None or not all(map(math.isfinite, ends)):
        return {"status": "failed" if estimate.status == "ok" else estimate.status}
    value = float(estimate.value)
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high == value:
        return value
    return {"value": value, "low": float(estimate.low), "high": float(estimate.high)}


def decode_figure(figure_id: str, figure: StoredFigure) -> Estimate:
    """The figure as far as it was kept: enough for `decide`. Chance, counts and reasons are lost.

    Raises ValueError for an id that no figure of the catalogue has.
    """
    fields = figure if isinstance(figure, dict) else {"value": figure}
    subject = parse_figure_id(figure_id)
    low, high = (_number(fields.get(name)) for name in ("low", "high"))
    return Estimate(
        measure=subject.measure,
        attack=subject.attack,
        intruder=subject.intruder,
        attribute=subject.attribute,
        subgroup=subject.subgroup,
        parameters=subject.parameters,
        value=_number(fields.get("value")),
        low=low,
        high=high,
        basis="exact" if low is None else "sampled_targets",
        status=_parse_status(fields["status"]) if "status" in fields else "ok",
        unit=MEASURES[subject.measure].unit,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureSubject:
    """What a figure is about, read off its id: see `Estimate`."""

    measure: str
    attack: str | None = None
    intruder: str | None = None
    attribute: str | None = None
    subgroup: str | None = None
    parameters: tuple[tuple[str, float], ...] = ()

    @property
    def p_percent(self) -> float | None:
        """The width of an interval; None: the measure has none."""
        return dict(self.parameters).get("p_percent")


@lru_cache(maxsize=10_000)
def parse_figure_id(figure_id: str) -> FigureSubject:
    """Take an id apart, by what the catalogue says of its measure.

    Raises ValueError for an id that no figure of the catalogue has.
    Example: `rank_interval_disclosure|income|p_percent=5` is about the attribute income and the width 5.
    """
    name, *parts = split_id(figure_id)
    measure = MEASURES.get(name)
    attack, intruder = (parts.pop(0), parts.pop(0)) if measure and measure.by_attack and len(parts) >= 2 else (None, None)
    given = _take_parameters(measure, parts) if measure else ()
    of_changes = name == REIDENTIFICATION.name and not set(parts[-1:]).isdisjoint(CHANGES)
    subgroup = parts.pop() if measure and parts and (measure.by_subgroup or of_changes) else None
    attribute = parts.pop() if parts else None
    if measure is None or parts or (attack is None) == measure.by_attack or subgroup not in (None, *SUBGROUPS, *CHANGES):
        raise ValueError(f"no figure of the catalogue has the id {figure_id!r}")
    if measure.takes_p_percent and "p_percent" not in dict(given):
        raise ValueError(f"the id {figure_id!r} has no width")
    return FigureSubject(
        measure=name, attack=attack, intruder=intruder, attribute=attribute, subgroup=subgroup, parameters=given
    )


def _take_parameters(measure: Measure, parts: list[str]) -> tuple[tuple[str, float], ...]:
    """What stands as `name=number` at the end of an id, taken off its parts; an attribute may be called so too."""
    given: list[tuple[str, float]] = []
    others = 1 if measure.about == "attribute" else 0
    while measure.has_parameters and len(parts) > others and (found := _PARAMETER.fullmatch(parts[-1])):
        parts.pop()
        given.insert(0, (found[1], float(found[2])))
    return tuple(given)


def create_sweep_table(lines: Sequence[TrialRow]) -> pa.Table:
    """The table of a sweep from its trials, in the order of point and seed.

    Equal trials give equal tables, to the bit, whatever order they come in. Cost: O(trials * figures).
    """
    rows = sorted(lines, key=lambda line: (line.point, line.seed))
    paths = sorted({path for line in rows for path in line.axes})
    columns: dict[str, pa.Array] = {
        "point": pa.array([line.point for line in rows], pa.int64()),
        "pipeline": pa.array([line.pipeline for line in rows], pa.string()),
        "seed": pa.array([line.seed for line in rows], pa.int64()),
        "status": pa.array([line.status for line in rows], pa.string()),
        "reason": pa.array([line.reason for line in rows], pa.string()),
        **{AXIS + path: create_axis_column([line.axes.get(path) for line in rows]) for path in paths},
        **create_figure_columns([line.figures for line in rows]),
        "seconds": pa.array([line.seconds for line in rows], pa.float64()),
    }
    return pa.table(columns)


def create_axis_column(values: Sequence[object]) -> pa.Array:
    """The values of one axis: bool, int64 or double where all present ones fit, else text (of others canonical JSON)."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int} and all(value is None or abs(int(str(value))) < 2**63 for value in values):
        return pa.array(values, pa.int64())
    if float in kinds and kinds <= {int, float}:
        return pa.array([None if value is None else float(str(value)) for value in values], pa.float64())
    texts = [value if value is None or isinstance(value, str) else canonical(value).decode() for value in values]
    return pa.array(texts, pa.string())


def create_figure_columns(figures: Sequence[Mapping[str, StoredFigure]]) -> dict[str, pa.Array]:
    """The columns of the figures; one element of `figures` per row of the table, empty where the trial has none."""
    columns: dict[str, pa.Array] = {}
    for figure_id in sorted({one for trial in figures for one in trial}):
        fields = [_list_fields(trial.get(figure_id)) for trial in figures]
        columns[figure_id] = pa.array([_number(one.get("value")) for one in fields], pa.float64())
        for name in FIGURE_FIELDS[1:]:
            kind = pa.string() if name == "status" else pa.float64()
            if any(name in one for one in fields):
                columns[f"{name}:{figure_id}"] = pa.array([one.get(name) for one in fields], kind)
    return columns


def _list_fields(figure: StoredFigure | None) -> Mapping[str, float | str]:
    if figure is None:
        return {}
    return figure if isinstance(figure, dict) else {"value": figure}


def _number(value: float | str | None) -> float | None:
    return None if value is None else float(value)


def _parse_status(text: float | str) -> Status:
    found = next((status for status in get_args(Status) if status == text), None)
    if found is None:
        raise ValueError(f"no figure has the status {text!r}")
    status: Status = found
    return status
