"""Read a sweep file, and report everything that is wrong with it before anything is computed."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from flows.release import ReleaseSpec
from flows.release_file import load_release
from flows.sweep.file import Frontier as Frontier
from flows.sweep.file import Grid as Grid
from flows.sweep.file import Random as Random
from flows.sweep.file import SweepDefinition as Sweep
from flows.sweep.file import SweepSpec as SweepSpec
from flows.sweep.file import Template as Template
from flows.sweep.variants import refuse_if_no_sampled_point_fits, refuse_unfit_value
from tasks.attack.target_looks import TargetLooks
from tasks.microdata.document import EXAMPLE, Document, format_dotted_path, read_document, validate_document
from tasks.microdata.errors import InputError
from tasks.microdata.public_paths import SpecPath
from tasks.sweep.axes import AxisSpec, SweepAxis, create_axis
from tasks.sweep.parts import Parts, find_number_kind, parse_axis_path
from tasks.sweep.points import LARGEST, Space

SWEEP_EXAMPLE = "params/sweeps/anes96.yaml"
MOST_TRIALS = 1_000_000


def load_sweep(path: Path) -> Sweep:
    """Read and check a sweep file and its base, without touching the data. InputError says what is wrong, where, what to do.

    A pipeline none of whose points (of a sample, should there be many) can be is wrong; single points that cannot be are not.
    """
    document = read_document(path)
    spec = _validate_sweep(document)
    base_document, base = _load_base(spec, document)
    templates, spaces = create_templates_and_spaces(spec, document, base_document)
    sweep = Sweep(spec, base, spaces, templates, document, base_document)
    _refuse_endless(sweep)
    _refuse_too_many(sweep)
    refuse_pipelines(sweep)
    return sweep


def refuse_pipelines(sweep: Sweep, fits: Callable[[ReleaseSpec], object] = lambda release: None) -> None:
    """InputError for a pipeline none of whose points can be; `fits` raises it for a release that does not fit the table."""
    try:
        for pipeline in sweep.spec.pipelines:
            refuse_if_no_sampled_point_fits(sweep, pipeline.name, fits)
    except InputError as error:
        raise _advise_on_sweep(error) from None


def create_templates_and_spaces(
    spec: SweepSpec, document: Document, base: Document
) -> tuple[tuple[Template, ...], tuple[Space, ...]]:
    """Per pipeline what its points have in common, and which there are. Nothing but the two files is looked at.

    Raises InputError, with its place in the sweep file, for an axis that cannot be.
    """
    templates = tuple(_create_template(spec, i, document, base) for i in range(len(spec.pipelines)))
    return templates, tuple(_create_space(spec, i, template, document) for i, template in enumerate(templates))


def create_sweep_schema() -> dict[str, Any]:
    """The JSON schema that editors use; params/schema/sweep.json holds it, and a test says when it is stale."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **SweepSpec.model_json_schema(by_alias=True)}


def _validate_sweep(document: Document) -> SweepSpec:
    try:
        return validate_document(SweepSpec, document)
    except InputError as error:
        raise _advise_on_sweep(error) from None


def _load_base(spec: SweepSpec, document: Document) -> tuple[Document, ReleaseSpec]:
    path = document.path.parent / spec.base
    if not os.path.isfile(path):  # noqa: PTH113  Path.is_file raises for a name that is too long
        remedy = "correct `base`; it is relative to the sweep file"
        raise _create_sweep_error(
            document, ("base",), "there is no such release file", "the path of a release file (YAML)", remedy, spec.base
        )
    base = load_release(path)
    if base.released is not None:
        what = "the base release has a table that was masked elsewhere: there is nothing to vary in how it is masked"
        raise _create_sweep_error(document, ("base",), what, "a base with `masking`", "certify that table by itself", spec.base)
    if not base.kind.is_table:
        what = "the base release is a model, and a sweep masks and attacks a table"
        raise _create_sweep_error(
            document, ("base",), what, "a base that releases a table", "certify that model by itself", spec.base
        )
    if isinstance(base.intruder.targets, TargetLooks):
        what = "the base release takes its targets in looks, and a sweep attacks one share of the records"
        allowed, remedy = (
            "a base with one share, such as `targets: 0.01`",
            "write one; the release that is promoted may take looks",
        )
        raise _create_sweep_error(document, ("base",), what, allowed, remedy, spec.base)
    if base.control is not None or base.membership_attacks:
        does = "sets a control aside" if base.control is not None else "rehearses its masking on halves"
        what = f"the base release {does} to ask who is in the file, and a sweep masks and attacks the whole table"
        allowed, remedy = "a base without `control` and `membership`", "add them to the release that is promoted"
        raise _create_sweep_error(document, ("base",), what, allowed, remedy, spec.base)
    return read_document(path), base


def _create_template(spec: SweepSpec, i: int, document: Document, base: Document) -> Template:
    """Each point is made from the files as they were written, so that a release file can be written from it again."""
    pipeline, content = spec.pipelines[i], {name: base.content[name] for name in Parts.model_fields if name in base.content}
    content.setdefault("intruder", {})
    if pipeline.masking is not None:
        content["masking"] = document.content["pipelines"][i]["masking"]
    folder = (base if pipeline.masking is None else document).path.parent
    return Template(pipeline.name, content, folder, ("pipelines", i))


def _create_space(spec: SweepSpec, i: int, template: Template, document: Document) -> Space:
    own = {path: (*template.location, "axes", path) for path in spec.pipelines[i].axes}
    common = {path: ("axes", path) for path in spec.axes}
    locations = own | common
    _refuse_overlap(own, common, document)
    found = tuple(_create_axis(path, one, template, document, locations[path]) for path, one in _list_axes(spec, i))
    try:
        return Space.from_axes(template.pipeline, found)
    except InputError as error:
        path, when = error.where.removesuffix(".when"), error.where.endswith(".when")
        raise _move_error(error, document, (*locations[path], *(["when"] if when else []))) from None


def _list_axes(spec: SweepSpec, i: int) -> tuple[tuple[str, AxisSpec], ...]:
    return (*spec.pipelines[i].axes.items(), *spec.axes.items())


def _create_axis(path: str, spec: AxisSpec, template: Template, document: Document, location: SpecPath) -> SweepAxis:
    try:
        whole, real = find_number_kind(path, template.content)
    except InputError as error:
        raise _move_error(error, document, location) from None
    try:
        found = create_axis(path, spec, whole=whole, real=real)
    except InputError as error:
        raise _move_error(error, document, (*location, error.where)) from None
    form = next(name for name in ("values", "range", "log_range") if getattr(spec, name) is not None)
    ends = spec.values if spec.bounds is None else (found.choices[0], found.choices[-1]) if found.choices else spec.bounds
    for i, value in enumerate(ends or ()):
        refuse_unfit_value(template, found, value, document, (*location, form, i))
    return found


def _refuse_overlap(own: Mapping[str, SpecPath], common: Mapping[str, SpecPath], document: Document) -> None:
    """Two axes must not set one thing: neither the same field twice, nor a field and something inside it."""
    placed = [(path, where) for paths in (own, common) for path, where in paths.items()]
    for i, (path, where) in enumerate(placed):
        steps = _find_steps(path, where, document)
        for other, _ in placed[:i]:
            shorter = min(len(steps), len(parse_axis_path(other)))
            if steps[:shorter] == parse_axis_path(other)[:shorter]:
                what = f"two axes set one thing: {other} and {path}"
                raise _create_sweep_error(document, where, what, "one axis for each parameter", "take one of them out")


def _find_steps(path: str, where: SpecPath, document: Document) -> SpecPath:
    try:
        return parse_axis_path(path)
    except InputError as error:
        raise _move_error(error, document, where) from None


def _refuse_too_many(sweep: Sweep) -> None:
    if sweep.n_points > LARGEST:
        each = ", ".join(f"{space.pipeline} {space.size:,}" for space in sweep.spaces)
        what = f"the grid has {sweep.n_points:,} points ({each})"
        remedy = "fewer values, or `strategy: {method: random, points: 1000}`"
        raise _create_sweep_error(sweep.document, ("pipelines",), what, f"at most {LARGEST:,} points", remedy)
    if sweep.n_points * sweep.spec.seeds > MOST_TRIALS:
        what = f"{sweep.n_points:,} points under {sweep.spec.seeds:,} seeds are {sweep.n_points * sweep.spec.seeds:,} trials"
        raise _create_sweep_error(
            sweep.document, ("seeds",), what, f"at most {MOST_TRIALS:,} trials", "fewer points, or fewer seeds"
        )


def _refuse_endless(sweep: Sweep) -> None:
    if not isinstance(sweep.spec.strategy, Grid):
        return
    for space, template in zip(sweep.spaces, sweep.templates, strict=True):
        endless = next((one for one in space.axes if one.continuous), None)
        if endless is not None:
            location = (*template.location, "axes", endless.path)
            what = f"a grid needs to know how many values {endless.path} has"
            raise _create_sweep_error(
                sweep.document, location, what, "`steps` beside the range", "add `steps`, or choose a random or frontier search"
            )


def _create_sweep_error(
    document: Document, location: SpecPath, what: str, allowed: str, remedy: str, value: object = None
) -> InputError:
    return InputError("sweep-file", document.where(location), what, allowed, remedy, value)


def _move_error(error: InputError, document: Document, location: SpecPath) -> InputError:
    """The error of an axis, with its place in the sweep file."""
    return dataclasses.replace(
        error, code="sweep-file", where=f"{document.path}, line {document.line_of(location)}: {format_dotted_path(location)}"
    )


def _advise_on_sweep(error: InputError) -> InputError:
    """The error of a YAML file, with advice that fits a sweep file."""
    texts = (text.replace("schema/release.json", "schema/sweep.json") for text in (error.allowed, error.remedy))
    allowed, remedy = (text.replace(EXAMPLE, SWEEP_EXAMPLE).replace("a release file", "a sweep file") for text in texts)
    return dataclasses.replace(error, code="sweep-file", allowed=allowed, remedy=remedy)
