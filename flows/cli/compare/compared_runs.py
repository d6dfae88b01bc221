"""Read the runs that `sdcert compare` shows, and line up their figures: those of the public edition alone."""

from __future__ import annotations

import json
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from flows.cli.compare.spec_differences import DASH
from flows.cli.named_runs import find_finished_run
from flows.cli.runs import find_revoked_runs_or_warn
from flows.run.history import read_manifests
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import format_limit, format_with_unit
from tasks.microdata.regular_files import read_text_file
from tasks.report.wording.figure_formats import mark_bound
from tasks.runtime.settings import Home
from tasks.score.catalogue import LOSS, MEASURES
from tasks.score.figure_rounding import round_for_publication
from tasks.score.membership.membership_figures import REHEARSED
from tasks.score.policy import DECLARED, INSIDER, Policy, PolicyLine
from tasks.score.verdict import Criterion

WHERE = "sdcert compare RUN"
BOUND = "not compared: a lower bound"
RISKS = ("reidentification", "max_record_risk", "records_exposed", "linked_value_disclosed", "known_reidentification")
MEMBERSHIP = ("membership_auc", "membership_advantage")
ACCURACY = "model_accuracy"


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One finished run: its letter in the comparison, its manifest, and its figures as the public may see them.

    revoked: whether its certificate was.
    """

    letter: str
    manifest: dict[str, Any]
    estimates: tuple[Estimate, ...]
    revoked: bool = False

    @property
    def data(self) -> str | None:
        produced: str | None = self.manifest["stages"].get("ingest", {}).get("produced", {}).get("data")
        return produced

    @property
    def source_file(self) -> str | None:
        """The keyed digest of the source, with which its ingestion was asked for; None in a manifest without it."""
        given: list[Any] = (self.manifest.get("inputs") or {}).get("ingest") or []
        return str(given[1]) if len(given) > 1 else None

    @property
    def target(self) -> str | None:
        """What the released model predicts; None where a table is released."""
        model = (self.manifest["spec"].get("release") or {}).get("model")
        return None if model is None else str(model.get("target"))


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One line of the comparison. values: one a run, None where it has none. best: the places of the best, empty if equal.

    remark: why the values are not compared, where they are not. lower_bounds: the places of values that are lower bounds.
    """

    what: str
    values: tuple[float | None, ...]
    cells: tuple[str, ...]
    best: tuple[int, ...] = ()
    remark: str = ""
    lower_bounds: tuple[int, ...] = ()


def compare_sources(found: Sequence[ComparedRun]) -> Iterable[str]:
    """Are the figures about the same data? They are if the file is the same, or the table that was read from it."""
    tables, files = ({getattr(run, what) for run in found} for what in ("data", "source_file"))
    if len(tables) == 1:
        return
    if len(files) == 1 and None not in files:
        yield "the source is the same, but it was read into different tables: types, scales, selected columns or rows differ"
    else:
        yield "the source tables differ: the figures are about different data"


def load_runs(names: Sequence[str]) -> tuple[ComparedRun, ...]:
    known = read_manifests()
    chosen = [find_finished_run(name, known, WHERE) for name in names]
    runs = [manifest["run"] for manifest in chosen]
    if len(set(runs)) < len(runs):
        twice = next(run for run in runs if runs.count(run) > 1)
        raise InputError("run-twice", WHERE, "Two of the names mean the same run.", "each run once",
                         "a release name means its newest run; name an earlier one by its id", twice)  # fmt: skip
    revoked = find_revoked_runs_or_warn()
    return tuple(
        ComparedRun(_assign_letter(position), manifest, _parse_estimates(manifest), manifest["run"] in revoked)
        for position, manifest in enumerate(chosen)
    )


def _assign_letter(position: int) -> str:
    rounds, letter = divmod(position, len(string.ascii_uppercase))
    return string.ascii_uppercase[letter] + (str(rounds) if rounds else "")


def _parse_estimates(manifest: dict[str, Any]) -> tuple[Estimate, ...]:
    path = Home.current().root / "runs" / manifest["run"] / "scorecard.json"
    try:
        exact = json.loads(read_text_file(path, encoding="utf-8"))
        figures = exact["estimates"]
        plain = [{k: v for k, v in f.items() if k != "id"} | {"parameters": list(f["parameters"].items())} for f in figures]
        estimates = TypeAdapter(tuple[Estimate, ...]).validate_python(plain)
        return round_for_publication(
            estimates, _pair_lines_with_criteria(manifest["spec"].get("policy"), exact.get("criteria"))
        )
    except (OSError, ValueError, KeyError, TypeError):
        what = f"The scorecard of run {manifest['run']} is gone or damaged."
        raise InputError("no-scorecard", WHERE, what, "a run whose private folder is whole",
                         "certify it again: what was computed is kept") from None  # fmt: skip


def _pair_lines_with_criteria(policy: Any, criteria: Any) -> Iterable[tuple[PolicyLine, Criterion]]:
    """Each policy line of a run with what became of it: a figure is shown on that side of a limit on which it was found."""
    if not policy or not criteria:
        return ()
    lines = TypeAdapter(Policy).validate_json(json.dumps(policy))
    return zip(lines, TypeAdapter(tuple[Criterion, ...]).validate_json(json.dumps(criteria)), strict=True)


def compute_sections(found: Sequence[ComparedRun]) -> dict[str, tuple[ComparisonRow, ...]]:
    """The rows of the comparison, by the section that they stand in."""
    return {
        "policy": tuple(_create_policy_rows(found)),
        "risks": tuple(_create_risk_rows(found)),
        "losses": tuple(_create_loss_rows(found)),
        "use": tuple(_use_rows(found)),
    }


def _create_policy_rows(found: Sequence[ComparedRun]) -> Iterable[ComparisonRow]:
    lines = [{_line_key(line): line for line in run.manifest["criteria"]} for run in found]
    for key in dict.fromkeys(key for of_run in lines for key in of_run):
        of_key = [of_run.get(key) for of_run in lines]
        values = tuple(None if line is None else line["deciding_value"] for line in of_key)
        cells = tuple(
            DASH if line is None else _format_decision(line, value) for line, value in zip(of_key, values, strict=True)
        )
        bounds = tuple(position for position, line in enumerate(of_key) if line and line.get("lower_bound"))
        yield ComparisonRow(_line_in_words(next(line for line in of_key if line)), values, cells, lower_bounds=bounds)


def _line_key(line: dict[str, Any]) -> tuple[Any, ...]:
    who = (line["intruder"] or "").partition(":")[0]
    return (line["measure"], who, line["attribute"] if MEASURES[line["measure"]].about == "attribute" else None,
            line["p_percent"], line.get("false_positive_rate"), line["direction"], line["limit"])  # fmt: skip


def _line_in_words(line: dict[str, Any]) -> str:
    unit = MEASURES[line["measure"]].unit
    who = ", insider" if (line["intruder"] or "").startswith(INSIDER) else ""
    width = f", p = {line['p_percent']:g} %" if line["p_percent"] is not None else ""
    rate = line.get("false_positive_rate")
    width += f", {100 * rate:g} % of the others" if rate is not None else ""
    of = (
        f" of {escape_terminal(line['attribute'])}"
        if MEASURES[line["measure"]].about == "attribute" and line["attribute"]
        else ""
    )
    return f"{line['measure']}{of}{who}{width}: {line['direction'].replace('_', ' ')} {format_limit(line['limit'], unit)}"


def _format_decision(line: dict[str, Any], value: float | None) -> str:
    at_least = "at least " if line.get("lower_bound") else ""
    figure = "" if value is None else f" {at_least}{format_with_unit(value, MEASURES[line['measure']].unit)}"
    return f"{line['decision']}{figure}"


def _create_risk_rows(found: Sequence[ComparedRun]) -> Iterable[ComparisonRow]:
    for measure in RISKS:
        for who, label in ((DECLARED, "declared intruder"), (INSIDER, "worst insider")):
            worst = tuple(_worst(run.estimates, measure, who) for run in found)
            if any(one is not None for one in worst):
                yield _create_risk_row(f"{measure}, {label}", measure, worst)
    for measure in ("k_anonymity", "uniques_released", "replicated_uniques"):
        values = tuple(_find_table_figure(run.estimates, measure) for run in found)
        always = measure == "k_anonymity" and any(run.target is None for run in found)
        if always or any(value is not None for value in values):
            yield _create_row(measure, measure, values)
    for measure in MEMBERSHIP:
        yield from _list_membership_rows(found, measure, "worst attack")


def _create_risk_row(what: str, measure: str, worst: Sequence[Estimate | None]) -> ComparisonRow:
    """The worst figures of an attack; a lower bound says so, and is compared with nothing: nobody knows how much it leaves."""
    bounds = tuple(position for position, one in enumerate(worst) if one is not None and one.is_lower_bound)
    row = _create_row(what, measure, tuple(None if one is None else one.value for one in worst), BOUND if bounds else "")
    cells = tuple(cell if one is None else mark_bound(one, cell) for one, cell in zip(worst, row.cells, strict=True))
    return replace(row, cells=cells, lower_bounds=bounds)


def _list_membership_rows(found: Sequence[ComparedRun], measure: str, label: str, remark: str = "") -> Iterable[ComparisonRow]:
    """The worst figure of each run, if any has one. A rehearsal is about how a release is made: no file is compared with it."""
    worst = [_find_worst_membership_figure(run.estimates, measure) for run in found]
    if not any(worst):
        return
    rehearsed = [one.reason == REHEARSED for one in worst if one is not None]
    letters = [run.letter for run, one in zip(found, worst, strict=True) if one is not None and one.reason == REHEARSED]
    if any(rehearsed) and not all(rehearsed):
        remark = remark or f"not compared: rehearsed of {', '.join(letters)}"
    note = f", rehearsed: {', '.join(letters)}" if letters else ""
    yield _create_row(f"{measure}, {label}{note}", measure, tuple(None if one is None else one.value for one in worst), remark)


def _use_rows(found: Sequence[ComparedRun]) -> Iterable[ComparisonRow]:
    """How often a model is right, which is compared where the models answer the same question."""
    targets = {run.target for run in found if run.target is not None}
    yield from _list_membership_rows(
        found, ACCURACY, "of others", "not compared: they predict other attributes" if len(targets) > 1 else ""
    )


def _create_loss_rows(found: Sequence[ComparedRun]) -> Iterable[ComparisonRow]:
    """A loss over other attributes answers another question: it is shown, and none is called the best."""
    masked = {frozenset(e.attribute for e in run.estimates if e.measure == "cells_changed") for run in found}
    remark = "not compared: other attributes are masked" if len(masked) > 1 else ""
    for measure in LOSS:
        values = tuple(_find_table_figure(run.estimates, measure.name) for run in found)
        if any(value is not None for value in values):
            yield _create_row(measure.name, measure.name, values, remark)


def _worst(estimates: Iterable[Estimate], measure: str, who: str) -> Estimate | None:
    """The worst figure over the attacks (and attributes) of one kind of intruder; None: it was not measured."""
    mine = (e for e in estimates if e.measure == measure and e.subgroup is None and (e.intruder or "").partition(":")[0] == who)
    return _find_worst(mine, measure)


def _find_worst_membership_figure(estimates: Iterable[Estimate], measure: str) -> Estimate | None:
    """The worst figure over the attacks that ask who is in the file, or who taught the model; None: it was not measured."""
    return _find_worst((one for one in estimates if one.measure == measure and one.subgroup is None), measure)


def _find_worst(figures: Iterable[Estimate], measure: str) -> Estimate | None:
    """Of equal figures the first."""
    sign = -1 if MEASURES[measure].better == "higher" else 1
    return max((one for one in figures if one.value is not None), key=lambda one: sign * (one.value or 0.0), default=None)


def _find_table_figure(estimates: Iterable[Estimate], measure: str) -> float | None:
    return next((e.value for e in estimates if e.measure == measure and e.attribute is None and e.subgroup is None), None)


def _create_row(what: str, measure: str, values: tuple[float | None, ...], remark: str = "") -> ComparisonRow:
    cells = tuple(DASH if value is None else format_with_unit(value, MEASURES[measure].unit) for value in values)
    present = [value for value in values if value is not None]
    if remark or len(present) < 2 or len(set(cells)) == 1:
        return ComparisonRow(what, values, cells, (), remark)
    best = cells[values.index((max if MEASURES[measure].better == "higher" else min)(present))]
    return ComparisonRow(what, values, cells, tuple(position for position, cell in enumerate(cells) if cell == best))
