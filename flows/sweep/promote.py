"""A point of a sweep as a release file of its own: to be read by a person, and certified with a fresh seed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from flows.cli.draft.text import comment, dump_yaml, quote_text
from flows.sweep.file import SweepSpec, Template
from flows.sweep.spec import create_templates_and_spaces
from tasks.microdata.canonical import canonical
from tasks.microdata.document import Document, validate_document
from tasks.microdata.errors import InputError
from tasks.microdata.escaping import escape_terminal
from tasks.sweep.axes import AxisValues, SweepAxis, Value, is_one_of
from tasks.sweep.parts import Parts, replace_values
from tasks.sweep.points import Space, SweepPoint

LONGEST_NAME = 100
MOST_DETOUR = 20  # characters by which a relative path may be longer than the absolute one
AXIS = "axis:"
HEAD = (
    "Written by `sdcert sweep promote`: point {point} of the sweep {name} ({id}), one of {tried} that were tried.",
    "Its figures in the sweep are those of a choice among many, and look better than they are. `sdcert certify` on this file",
    "masks with a fresh seed and measures again; only those figures count. What the sweep did not vary is as in the release",
    "{base}; why it is so, that file says.",
)
MASKING = ("The masking of the point: pipeline {pipeline}{values}.",)
ORIGIN = ("Goes into the certificate: how many points were tried is part of what the figures are worth. Leave it here.",)
ORIGINS = ("It counts the {before} points of the sweep that the base release came from as well.",)


@dataclass(frozen=True, slots=True)
class PointOrigin:
    """What a promoted release says of its sweep."""

    name: str
    id: str
    points_tried: int


@dataclass(frozen=True, slots=True)
class SweepFiles:
    """The two files of a sweep as its record keeps them (`Sweep.kept`), and what they make."""

    document: Document
    base: Document
    templates: tuple[Template, ...]
    spaces: tuple[Space, ...]

    @classmethod
    def from_record(cls, files: Mapping[str, str]) -> SweepFiles:
        document = Document(Path(files["file_path"]), json.loads(files["file"]), {})
        base = Document(Path(files["base_path"]), json.loads(files["base"]), {})
        return cls(document, base, *create_templates_and_spaces(validate_document(SweepSpec, document), document, base))

    def template(self, pipeline: str) -> Template:
        return next(template for template in self.templates if template.pipeline == pipeline)


def find_point(table: pa.Table, number: int, spaces: tuple[Space, ...]) -> SweepPoint:
    """The point with this number, read off the table of a sweep.

    Raises InputError for a number that the table does not have, and for a point none of whose trials has figures.
    """
    numbers = table.column("point")
    own = table.filter(pc.equal(numbers, number))
    if own.num_rows == 0:
        known = pc.min_max(numbers).as_py()
        raise InputError("no-such-point", "POINT", "the sweep has no point of this number",
                         f"{known['min']} to {known['max']}", "choose one from the sweep's page or table", number)  # fmt: skip
    row = own.slice(0, 1).to_pylist()[0]
    if not pc.any(pc.equal(own.column("status"), "ok")).as_py():
        what = f"point {number} was never measured: it was {row['status']} ({row['reason']})"
        raise InputError("no-figures", "POINT", what, "a point with figures", "choose another point")
    space = next(space for space in spaces if space.pipeline == row["pipeline"])
    found = ((axis.path, _value(axis, row.get(AXIS + axis.path))) for axis in space.axes)
    values: AxisValues = tuple((path, value) for path, value in found if value is not None)
    return SweepPoint(number, space.pipeline, values)


def format_promoted_release(files: SweepFiles, point: SweepPoint, point_origin: PointOrigin, folder: Path) -> str:
    """The release file of a point, as YAML with comments, to stand in `folder`.

    It is the base release as it was when the sweep ran, with the point's masking, intruder, attacks and measures; of the same
    series, so that attempts are counted together; without a seed. Paths lead from `folder` to where they led before.
    """
    content = _content(files, point, point_origin, folder)
    axes = "".join(f", {path} {escape_terminal(canonical(value).decode())}" for path, value in point.values)
    words = {"point": point.number, "name": point_origin.name, "id": point_origin.id, "tried": f"{point_origin.points_tried:,}"}
    words["base"] = files.base.content["name"]
    root = CommentedMap({quote_text(key): _yaml(part) for key, part in content.items()})
    root.yaml_set_start_comment(comment([line.format(**words) for line in HEAD]))
    comments = [line.format(pipeline=point.pipeline, values=axes) for line in MASKING]
    before = _count_earlier_points(files.base.content)
    origin = [*ORIGIN, *(line.format(before=f"{before:,}") for line in ORIGINS if before)]
    for key, lines in (("masking", comments), ("sweep", origin)):
        root.yaml_set_comment_before_after_key(key, before="\n" + comment(lines))
    return dump_yaml(root, plain=_prints(content))


def _content(files: SweepFiles, point: SweepPoint, point_origin: PointOrigin, folder: Path) -> dict[str, Any]:
    template, base = files.template(point.pipeline), files.base.content
    parts = replace_values(template.content, dict(point.values))
    parts["masking"] = [_step_moved(step, _mover(template.folder, folder)) for step in parts["masking"]]
    move = _mover(files.base.path.parent, folder)
    if (parts.get("intruder") or {}).get("files"):
        parts["intruder"] = _intruder_moved(parts["intruder"], move)
    changed = {name: parts[name] for name in Parts.model_fields if parts.get(name) or name in base}
    name = f"{base['name']}-{point.pipeline}-{point.number}"[-LONGEST_NAME:].lstrip("._-")
    first = {"name": name, "series": base.get("series", base["name"])}
    tried = point_origin.points_tried + _count_earlier_points(base)
    origin = {"name": point_origin.name, "id": point_origin.id, "points_tried": tried}
    moved = _move_paths(base, move)
    return first | {key: part for key, part in (moved | changed).items() if key not in first} | {"sweep": origin}


def _count_earlier_points(base: Mapping[str, Any]) -> int:
    """A base that was itself chosen in a sweep brings the points of that one: the choice was among all of them."""
    return int((base.get("sweep") or {}).get("points_tried", 0))


def _mover(old: Path, new: Path) -> Callable[[str], str]:
    def move_path(path: str) -> str:
        if Path(path).is_absolute():
            return path
        absolute = os.path.normpath(old.absolute() / path)
        relative = os.path.relpath(absolute, new.absolute())
        same = os.path.realpath(new.absolute() / relative) == os.path.realpath(absolute)
        return relative if same and len(relative) <= len(absolute) + MOST_DETOUR else absolute

    return move_path


def _move_paths(base: Mapping[str, Any], move: Callable[[str], str]) -> dict[str, Any]:
    content = dict(base)
    if "table" in content["source"]:
        content["source"] = {**content["source"], "table": move(content["source"]["table"])}
    if content.get("codebook") is not None:
        content["codebook"] = move(content["codebook"])
    return content


def _intruder_moved(intruder: Mapping[str, Any], move: Callable[[str], str]) -> dict[str, Any]:
    files = [{**one, "table": move(one["table"])} if one.get("table") else one for one in intruder["files"]]
    return {**intruder, "files": files}


def _step_moved(step: Mapping[str, Any], move: Callable[[str], str]) -> dict[str, Any]:
    if not isinstance(step.get("recode"), Mapping):
        return dict(step)
    recode = {name: {**one, "file": move(one["file"])} if one.get("file") else one for name, one in step["recode"].items()}
    return {**step, "recode": recode}


def _value(axis: SweepAxis, cell: Any) -> Value | None:
    """The value of an axis from its cell, where it may have become a float or canonical JSON; None: the axis does not exist."""
    if cell is None:
        return None
    if axis.continuous:
        return float(cell)
    return next((one for one in axis.choices if is_one_of(one, (cell,)) or canonical(one).decode() == cell), None)


def _yaml(part: Any) -> Any:
    """What holds no more than plain values and lists of them stands on one line."""
    if isinstance(part, str):
        return quote_text(part)
    if isinstance(part, Mapping):
        found: Any = CommentedMap({quote_text(key): _yaml(one) for key, one in part.items()})
        inner = list(part.values())
    elif isinstance(part, list | tuple):
        found = CommentedSeq([_yaml(one) for one in part])
        inner = list(part)
    else:
        return part
    if not any(isinstance(one, Mapping) or (isinstance(one, list) and not _is_plain(one)) for one in inner):
        found.fa.set_flow_style()
    return found


def _is_plain(part: list[Any]) -> bool:
    return not any(isinstance(one, Mapping | list) for one in part)


def _prints(part: Any) -> bool:
    if isinstance(part, str):
        return part.isprintable()
    if isinstance(part, Mapping):
        return all(_prints(key) and _prints(one) for key, one in part.items())
    return not isinstance(part, list) or all(map(_prints, part))
