"""Create the release of a point of a sweep, and say what is wrong with points that cannot be one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flows.release import ReleaseSpec, collect_policy_names, include_omitted_attacks
from flows.sweep.file import SweepDefinition, Template
from tasks.attack.plan import check_attacks
from tasks.mask.coding.recoding import load_mappings
from tasks.microdata.document import (
    Document,
    find_error_path,
    find_value,
    format_dotted_path,
    format_model_error,
    validate_document,
)
from tasks.microdata.errors import InputError
from tasks.microdata.public_paths import SpecPath
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.score.policy import check_policy
from tasks.sweep.axes import SweepAxis, Value
from tasks.sweep.parts import Parts, parse_axis_path, parse_steps, replace_values
from tasks.sweep.points import SweepPoint

SAMPLE = 200  # points of a pipeline that are looked at when its file is read
_UNWRITTEN = Path("point")


def create_release_spec(sweep: SweepDefinition, point: SweepPoint) -> ReleaseSpec:
    """The release of one point: the base, masked and attacked as the point says. It is a rehearsal: nothing is published.

    Raises InputError for a point that is wrong in itself, as far as this shows without the table: parameters that do not fit
    together, masks that must face an attack which is not planned. Cost: below a millisecond.
    """
    template = sweep.template(point.pipeline)
    parts = _fill_parts(template, point)
    changed: dict[str, Any] = {name: getattr(parts, name) for name in Parts.model_fields}
    changed["masking"] = load_mappings(parts.masking, template.folder, "masking")
    files = tuple(file.resolve_path(sweep.base_document.path.parent) for file in parts.intruder.files)
    changed["intruder"] = parts.intruder.model_copy(update={"files": files})
    rehearsal = {"seed": None, "not_for_publication": True, "inference": (), "policy": sweep.base.policy_of_sweep}
    release = sweep.base.model_copy(update={**changed, **rehearsal})
    keeps_row_order = release.keep_row_order is not None
    check_attacks(release.attacks_to_run, release.omit, release.steps, keeps_row_order=keeps_row_order)
    release = include_omitted_attacks(release)
    check_policy(release.policy, collect_policy_names(release))
    return release


def refuse_if_no_sampled_point_fits(
    sweep: SweepDefinition, pipeline: str, fits: Callable[[ReleaseSpec], object] = lambda release: None
) -> None:
    """InputError, with its place in the sweep file, for a pipeline of which no point can be a release.

    The first point and a sample are looked at; what is wrong with the first is told. fits: raises InputError for a release that
    does not fit its table, once that is known.
    """
    template, space = sweep.template(pipeline), sweep.space(pipeline)
    first = SweepPoint(0, pipeline, space.assign_values(lambda axis: axis.get_value_at(0.0)))
    problem = _find_problem(sweep, first, fits)
    if problem is None:
        return
    rng = stream(bytes(SEED_BYTES), "points that are looked at")
    for _ in range(SAMPLE):
        values = space.assign_values(lambda axis: axis.get_value_at(float(rng.random())))
        if _find_problem(sweep, SweepPoint(0, pipeline, values), fits) is None:
            return
    raise _locate_point_error(problem, sweep, template, first)


def refuse_unfit_value(template: Template, axis: SweepAxis, value: Value, document: Document, location: SpecPath) -> None:
    """InputError for a value that its parameter can never have, whatever the others are. location: of the value in the file."""
    content = replace_values(template.content, {axis.path: value})
    wanted = parse_axis_path(axis.path)
    try:
        Parts.model_validate_json(json.dumps(content))
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            found = find_error_path(detail, content)
            if found[: len(wanted)] == wanted:
                what = f"{axis.path}: {format_model_error(detail)}"
                remedy = "correct the value; params/schema/release.json describes every field"
                raise InputError(
                    "sweep-file", document.where(location), what, format_model_error(detail), remedy, value
                ) from None


def _fill_parts(template: Template, point: SweepPoint) -> Parts:
    content = replace_values(template.content, dict(point.values))
    try:
        return validate_document(Parts, Document(_UNWRITTEN, content, {}))
    except InputError as error:
        where = error.where.partition(": ")[2]
        raise dataclasses.replace(error, code="point", where=where) from None


def _find_problem(sweep: SweepDefinition, point: SweepPoint, fits: Callable[[ReleaseSpec], object]) -> InputError | None:
    try:
        fits(create_release_spec(sweep, point))
    except InputError as error:
        return error
    return None


def _locate_point_error(error: InputError, sweep: SweepDefinition, template: Template, point: SweepPoint) -> InputError:
    """The error with the file and line that its place in the release comes from: an axis, the pipeline, or the base."""
    location = parse_steps(error.where) or ("masking",)
    axis = next((path for path, _ in point.values if location[: len(parse_axis_path(path))] == parse_axis_path(path)), None)
    if axis is not None:
        own = (*template.location, "axes", axis)
        return _relocate_error(
            error, sweep.document, own if find_value(sweep.document.content, own) is not None else ("axes", axis)
        )
    if location[0] == "masking" and find_value(sweep.document.content, (*template.location, "masking")) is not None:
        return _relocate_error(error, sweep.document, (*template.location, *location))
    return _relocate_error(error, sweep.base_document, location)


def _relocate_error(error: InputError, document: Document, location: SpecPath) -> InputError:
    return dataclasses.replace(
        error, where=f"{document.path}, line {document.line_of(location)}: {format_dotted_path(location)}"
    )
