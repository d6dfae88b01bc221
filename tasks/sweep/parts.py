"""The parts of a release that a sweep varies, and the places in them: `masking[0].k`, `intruder.targets`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import Field

from tasks.attack.methods import Attack
from tasks.attack.threat import IntruderSpec
from tasks.mask.methods import Masking
from tasks.microdata.errors import InputError
from tasks.microdata.public_paths import SpecPath
from tasks.microdata.spec import Public, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.score.methods import SelectedMeasure
from tasks.sweep.axes import Value

NAMING = ("method", "measure", "id")  # another method is another pipeline; an id names figures
_STEP = re.compile(r'\[(0|[1-9]\d{0,5})\]|\["([^"]+)"\]|(?:^|(?<!^)\.)([^.\[\]"]+)')
_PATHS = "masking[0].k, intruder.targets, attacks[0].scale_by"


class Parts(Spec):
    """What differs between the points of a sweep; all else is that of the base release."""

    masking: Public[Annotated[tuple[Masking, ...], Field(min_length=1)]]
    intruder: Public[IntruderSpec] = IntruderSpec()
    attacks: Public[Annotated[tuple[Attack, ...], Field(min_length=1)] | None] = None
    measures: Public[tuple[SelectedMeasure, ...]] = ()


def parse_axis_path(path: str) -> SpecPath:
    """`masking[0].k` as ("masking", 0, "k"). A name with dots stands in brackets: `masking[0].bases["a.b"]`.

    Raises InputError for what is no path, or leads to another part of the release.
    """
    location = parse_steps(path)
    if not location:
        what = "this is no path into a release file"
        raise InputError("axis", path, what, _PATHS, "write fields with dots, places in lists in brackets", path)
    if location[0] not in Parts.model_fields or len(location) == 1:
        parts = tuple(Parts.model_fields)
        inside = "name a field inside it"
        remedy = inside if location[0] in parts else did_you_mean(str(location[0]), parts, "change the base release")
        raise InputError("axis", path, f"a sweep cannot vary `{path}`", f"fields inside {', '.join(parts)}", remedy)
    return location


def parse_steps(path: str) -> SpecPath:
    """The steps of a path, wherever it leads; () for what is none."""
    steps = list(_STEP.finditer(path))
    if "".join(step.group() for step in steps) != path:
        return ()
    return tuple(int(step[1]) if step[1] else step[2] or step[3] for step in steps)


def find_number_kind(path: str, content: Mapping[str, Any]) -> tuple[bool, bool]:
    """Is the parameter at this path a whole number, and is it any number?

    content: the parts as a file has them; they say which method stands where.
    Raises InputError for a path that leads nowhere: a field that the method does not have, a step that is not there.
    """
    location, schema = parse_axis_path(path), _schema()
    here: Any = content
    if location[-1] in NAMING:
        raise InputError("axis", path, f"a sweep cannot vary `{location[-1]}`", "parameters of the methods",
                         "give each method a pipeline of its own, with its own axes")  # fmt: skip
    for i, step in enumerate(location):
        schema = _descend_schema(schema, step, here, path, is_last=i == len(location) - 1)
        here = _inside(here, step)
    types = {str(option.get("type")) for option in _options(schema)}
    return "integer" in types and "number" not in types, "number" in types


def replace_values(content: Mapping[str, Any], values: Mapping[str, Value]) -> dict[str, Any]:
    """The content with each value at its path; the content itself stays as it is. The paths lead somewhere
    (`find_number_kind`).
    """
    changed = dict(content)
    for path, value in values.items():
        location = parse_axis_path(path)
        here: Any = changed
        for step in location[:-1]:
            here[step] = dict(here[step]) if isinstance(here[step], Mapping) else list(here[step])
            here = here[step]
        here[location[-1]] = _plain(value)
    return changed


@cache
def _schema() -> dict[str, Any]:
    return Parts.model_json_schema(by_alias=True)


def _options(schema: Any) -> list[dict[str, Any]]:
    """What a value may be, references and alternatives followed."""
    if "$ref" in schema:
        return _options(_schema()["$defs"][schema["$ref"].rpartition("/")[2]])
    alternatives = schema.get("anyOf", schema.get("oneOf"))
    return [schema] if alternatives is None else [option for one in alternatives for option in _options(one)]


def _inside(here: Any, step: str | int) -> Any:
    try:
        return here[step]
    except (KeyError, IndexError, TypeError):
        return None


def _descend_schema(schema: Any, step: str | int, here: Any, path: str, *, is_last: bool) -> Any:
    """The schema of a field or place inside what has this schema; `here` is what the file has there."""
    options = [option for option in _options(schema) if _fits(option, here)]
    if not options:
        raise _unknown_method(path, schema, here)
    inner = _inside(here, step)
    if isinstance(step, int):
        items = [option["items"] for option in options if "items" in option]
        if not items or inner is None:
            raise _nowhere(path, step, [f"[{i}]" for i in range(len(here))] if isinstance(here, list) else [])
        return {"anyOf": items}
    fields = {name: field for option in options for name, field in option.get("properties", {}).items()}
    named = [option["additionalProperties"] for option in options if isinstance(option.get("additionalProperties"), dict)]
    if named and step not in fields:
        fields = {name: {"anyOf": named} for name in here or ()}
    if step not in fields or (inner is None and not is_last):
        raise _nowhere(path, step, [name for name in fields if name not in NAMING])
    return fields[step]


def _fits(option: Mapping[str, Any], here: Any) -> bool:
    """Is this the model that the file's content is of? Methods are told apart by their name."""
    for name in NAMING[:2]:
        named = option.get("properties", {}).get(name, {})
        if isinstance(here, Mapping) and "const" in named and named["const"] != here.get(name):
            return False
    return True


def _unknown_method(path: str, schema: Any, here: Mapping[str, Any]) -> InputError:
    fields = [option["properties"] for option in _options(schema)]
    name = next(name for name in NAMING if "const" in fields[0].get(name, {}))
    known, given = [str(one[name]["const"]) for one in fields], str(here.get(name, ""))
    what = f"there is no {name} `{given}`" if given else f"`{name}` is not given in the file"
    return InputError("axis", path, what, ", ".join(known), did_you_mean(given, known, f"give one of them as `{name}`"))


def _nowhere(path: str, step: str | int, known: list[str]) -> InputError:
    there, allowed = f"[{step}]" if isinstance(step, int) else str(step), ", ".join(known) or "nothing stands there"
    if there in known:
        return InputError(
            "axis", path, f"`{there}` is not given in the file, so nothing in it can vary", allowed, "give it there"
        )
    remedy = did_you_mean(there, known, "correct the path; it starts at the release file")
    return InputError("axis", path, f"the path leads nowhere: there is no `{there}`", allowed, remedy)


def _plain(value: Value) -> Any:
    return [_plain(one) for one in value] if isinstance(value, tuple) else value
