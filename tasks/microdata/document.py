"""Reading a YAML file that a person wrote, strictly: one meaning or a clear refusal.

YAML 1.2's core schema, and refused besides: duplicate keys, anchors and aliases (a few lines can grow to gigabytes), tags,
several documents, keys that are no text, and the spellings that YAML 1.1 reads as something else (yes, NO, 012, 1_000, 12:30).
"""

from __future__ import annotations

import functools
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tasks.microdata.errors import InputError
from tasks.microdata.regular_files import read_text_file
from tasks.microdata.suggestion import did_you_mean, did_you_mean_file

ModelT = TypeVar("ModelT", bound=BaseModel)
Path_ = tuple[str | int, ...]

LARGEST_BYTES = 1_000_000
DEEPEST = 30
LONGEST_NUMBER = 100
_OF_CATEGORIES = ("map", "matrix")  # mappings whose keys are categories of a table
_OF_ATTRIBUTES = (("attributes",), ("limits",), ("bases",), ("recode",))  # whose keys are attributes, of whatever name
EXAMPLE = "params/releases/anes96.yaml"
_OF_TABLES = {".csv", ".tsv", ".parquet", ".pq", ".sav", ".dta", ".sas7bdat", ".xpt", ".gz", ".zip"}  # suffixes
_YAML_1_1 = re.compile(
    r"^(?:yes|no|on|off|[-+]?0[0-9]+|[-+]?[0-9][0-9_]*_[0-9_]*|[-+]?[0-9]+(?::[0-5]?[0-9])+)$", re.IGNORECASE
)


@dataclass(frozen=True)
class Document:
    """A file's plain content and the line on which each of its parts stands.

    numbers: of a list from which entries were taken, the number that each of those left has in the file.
    """

    path: Path
    content: Any
    lines: dict[Path_, int] = field(repr=False)
    numbers: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)

    def where(self, location: Path_) -> str:
        """`release.yaml, line 7: masking[0].k`"""
        dotted = format_dotted_path(self.find_in_file(location)) or "(the whole file)"
        return f"{self.path}, line {self.line_of(location)}: {dotted}"

    def find_in_file(self, location: Path_) -> Path_:
        """A place of the content as the file counts it."""
        numbers = self.numbers.get(str(location[0]), ()) if len(location) > 1 else ()
        step = location[1] if numbers else None
        return (location[0], numbers[step], *location[2:]) if isinstance(step, int) and step < len(numbers) else location

    def line_of(self, location: Path_) -> int:
        """The line of a place, or of the nearest part around it."""
        location = self.find_in_file(location)
        known = next((location[:end] for end in range(len(location), -1, -1) if location[:end] in self.lines), ())
        return self.lines.get(known, 1)


def read_document(path: Path) -> Document:
    """Read one YAML file into dicts, lists, texts, numbers, booleans and None.

    Raises InputError (with the line) for everything that is not one plain YAML 1.2 mapping. Linear in the file, which may
    have at most 1 MB.
    """
    text = _read_text(path)
    try:
        _check_events(text, path)
        nodes = list(YAML(typ="safe", pure=True).compose_all(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise _create_refusal(path, line, f"this is not YAML: {error.problem}", "mend the line") from None
    except (YAMLError, RecursionError, ValueError) as error:
        raise _create_refusal(path, 1, f"this is not YAML: {type(error).__name__}", f"compare it with {EXAMPLE}") from None
    if len(nodes) != 1 or not isinstance(nodes[0], MappingNode):
        raise _create_refusal(path, 1, "the file must hold one mapping (`name: ...`, `source: ...`)", f"see {EXAMPLE}")
    lines: dict[Path_, int] = {}
    return Document(path, _convert_node(nodes[0], (), path, lines), lines)


def validate_document(model: type[ModelT], document: Document) -> ModelT:
    """The document as a model, or an InputError: the first wrong place, its value, what is allowed, how many more there are."""
    try:
        return model.model_validate_json(json.dumps(document.content, allow_nan=False))
    except ValidationError as error:
        raise _explain_validation_error(error, model, document) from None


def _read_text(path: Path) -> str:
    try:
        there = path.is_file()
    except OSError as error:
        what, remedy = f"that place cannot be looked at ({error.strerror})", "check the path"
        raise InputError("no-such-file", str(path), what, "the path of a file (YAML)", remedy) from None
    if not there:
        beside = [p.name for p in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
        hint = did_you_mean_file(path.name, beside, "check the path")
        raise InputError("no-such-file", str(path), "there is no such file", "the path of a release file (YAML)", hint)
    if path.stat().st_size > LARGEST_BYTES:
        raise _create_refusal(path, 1, f"the file is larger than {LARGEST_BYTES} bytes", "data belong into `source`")
    try:
        return read_text_file(path, encoding="utf-8-sig")
    except (UnicodeDecodeError, OSError) as error:
        raise _create_refusal(
            path, 1, f"the file cannot be read as UTF-8 text ({type(error).__name__})", "save it as UTF-8"
        ) from None


def _check_events(text: str, path: Path) -> None:
    """Refuse what must not even be composed: aliases, and nesting so deep that composing it would take for ever."""
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
            raise _create_refusal(path, 1, "anchors and aliases are not read", "write the part out in full")
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if depth > DEEPEST:
            raise _create_refusal(path, event.start_mark.line + 1, f"nested deeper than {DEEPEST} levels", "flatten it")


def _convert_node(node: Node, location: Path_, path: Path, lines: dict[Path_, int]) -> Any:
    line = node.start_mark.line + 1
    lines[location] = line
    if not isinstance(node, ScalarNode) and str(node.tag) not in ("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
        raise _create_refusal(path, line, f"{format_dotted_path(location)} is no plain value (it has a tag)", "remove the tag")
    if isinstance(node, SequenceNode):
        return [_convert_node(child, (*location, i), path, lines) for i, child in enumerate(node.value)]
    if isinstance(node, MappingNode):
        return _convert_mapping(node, location, path, lines)
    if not isinstance(node, ScalarNode):
        raise _create_refusal(
            path, line, f"{format_dotted_path(location)} is no plain value", "write a text, a number, a list or a mapping"
        )
    return _convert_scalar(node, location, path, line)


def _convert_mapping(node: MappingNode, location: Path_, path: Path, lines: dict[Path_, int]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = key_node.value
        if not isinstance(key_node, ScalarNode) or key_node.tag != "tag:yaml.org,2002:str":
            raise _create_refusal(
                path,
                line,
                f"a key under {format_dotted_path(location) or 'the top'} is not a text",
                "put quotes around it",
                key,
            )
        if key in found:
            raise _create_refusal(
                path, line, f"`{key}` stands twice under {format_dotted_path(location) or 'the top'}", "keep one of the two"
            )
        found[key] = _convert_node(value_node, (*location, key), path, lines)
    return found


def _convert_scalar(node: ScalarNode, location: Path_, path: Path, line: int) -> Any:
    text, tag = node.value, str(node.tag).rpartition(":")[2]
    if node.style is None and _YAML_1_1.match(text):
        why = f"`{text}` at {format_dotted_path(location)} means different things to different YAML readers"
        raise _create_refusal(
            path, line, why, f'write "{text}" in quotes if it is a text, or the plain number, or true / false', text
        )
    match tag:
        case "str":
            return text
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int" if len(text) <= LONGEST_NUMBER:
            return int(text, 0)
        case "float" if _is_finite(text):
            return float(text)
        case "timestamp":
            return text
        case _:
            raise _create_refusal(
                path, line, f"{format_dotted_path(location)} is no plain value ({tag})", "write a text or a finite number", text
            )


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:  # .nan and .inf
        return False


def _explain_validation_error(error: ValidationError, model: type[BaseModel], document: Document) -> InputError:
    details = error.errors(include_url=False)
    locations = [find_error_path(detail, document.content) for detail in details]
    chosen = _find_first_worth_telling(details, locations)
    first, location, shown_path = details[chosen], locations[chosen], _cut_at_categories(locations[chosen])
    value = find_value(document.content, location)
    more = _describe_other_errors([other for other in locations if not _is_one_inside_other(other, location)], document)
    unknown = first["type"] == "extra_forbidden"
    named = format_dotted_path(document.find_in_file(shown_path))
    what = f"unknown field `{location[-1]}`{more}" if unknown else f"{named or 'the file'}: {format_model_error(first)}{more}"
    allowed, remedy = _describe_guidance(first, model, location, value)
    shown = None if unknown or first["type"] == "missing" or isinstance(value, dict | list) else value
    if shown_path != location:
        shown = functools.reduce(lambda inner, step: {step: inner}, reversed(location[len(shown_path) :]), value)
    where = f"{document.path}, line {document.line_of(location)}: {named or '(the whole file)'}"
    return InputError("release-file", where, what, allowed, remedy, shown)


def _describe_other_errors(locations: list[Path_], document: Document) -> str:
    """How many more places are wrong and on which lines, so that all can be mended before the next try. A place around another
    is wrong by that other."""
    locations = [
        location
        for location in set(locations)
        if not any(location == other[: len(location)] for other in set(locations) - {location})
    ]
    if not locations:
        return ""
    lines = sorted({document.line_of(location) for location in locations})
    shown = ", ".join(map(str, lines[:5])) + (", ..." if len(lines) > 5 else "")
    return f" ({len(locations)} more after this one: line{'s' * (len(lines) > 1)} {shown})"


def _find_first_worth_telling(details: list[ErrorDetails], locations: list[Path_]) -> int:
    """An unknown field, which explains a gap; else the first, or what lies deeper in the same location: of the forms that a
    value
    can have that is the one which was meant."""
    for i, detail in enumerate(details):
        if detail["type"] == "extra_forbidden":
            return i
    inside = [i for i, location in enumerate(locations) if location[: len(locations[0])] == locations[0]]
    return max(inside, key=lambda i: len(locations[i]))


def _cut_at_categories(location: Path_) -> Path_:
    """The place up to a mapping whose keys are categories: a place may be logged, and a category is a value of the table."""
    for i, step in enumerate(location):
        if step in _OF_CATEGORIES and location[i - 1 : i] not in _OF_ATTRIBUTES:
            return location[: i + 1]
    return location


def format_model_error(detail: ErrorDetails) -> str:
    """What the model says, in words of somebody who writes the file."""
    match detail["type"]:
        case "too_short":
            least = detail["ctx"]["min_length"]
            return f"at least {least} {'entry is' if least == 1 else 'entries are'} needed here"
        case "tuple_type" | "list_type":
            return "a list is expected ([a, b])"
        case "model_type" | "model_attributes_type" | "dict_type":
            return "a mapping is expected (name: value)"
        case "string_too_short":
            least = detail["ctx"]["min_length"]
            return "the text is empty" if least == 1 else f"at least {least} characters are needed here"
        case "string_type":
            return "a text is expected; put quotes around a number"
        case "int_type" | "int_parsing" | "int_from_float":
            return "a whole number is expected, without quotes"
        case "float_type" | "float_parsing":
            return "a number is expected, without quotes"
        case "bool_type" | "bool_parsing":
            return "true or false is expected"
        case _:
            return _lower(detail["msg"])


def _is_one_inside_other(other: Path_, location: Path_) -> bool:
    """Is one place inside the other? A value that fits no member of a union is told once for each."""
    shorter = min(len(other), len(location))
    return other[:shorter] == location[:shorter]


def _describe_guidance(detail: ErrorDetails, model: type[BaseModel], location: Path_, value: object) -> tuple[str, str]:
    if detail["type"] == "extra_forbidden":
        fields = _list_field_names(model, detail["loc"])
        return ", ".join(fields) or "see params/schema/release.json", did_you_mean(str(location[-1]), fields, "remove it")
    if detail["type"] == "missing":
        return f"`{location[-1]}` must be given", f"add it; params/schema/release.json describes it, {EXAMPLE} is an example"
    context = detail.get("ctx", {})
    if "expected_tags" in context or "expected" in context:
        allowed = str(context.get("expected_tags", context.get("expected")))
        given = str(context.get("tag", detail.get("input", "")))
        return allowed, did_you_mean(given, re.findall(r"'([^']+)'", allowed), "choose one of these")
    if detail["type"] == "less_than_equal" and context.get("le") == 1 and isinstance(value, int | float) and 1 < value <= 100:
        return format_model_error(detail), f"write a fraction: {value:g} percent is {value / 100:g}"
    if detail["type"] == "value_error" and isinstance(value, dict):
        return "parameters that fit together", "change them as the first line says; params/schema/release.json describes each"
    return format_model_error(detail), "correct the value; params/schema/release.json describes every field"


def _list_field_names(model: type[BaseModel], loc: Path_) -> list[str]:
    """The fields allowed where an unknown one stood, found by walking the JSON schema along the error's place."""
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    here: Any = schema
    for step in loc[:-1]:
        here = _step(here, step, definitions)
    return sorted(_resolve_reference(here, definitions).get("properties", {}))


def _step(schema: Any, step: str | int, definitions: dict[str, Any]) -> Any:
    here = _resolve_reference(schema, definitions)
    if isinstance(step, int):
        return here.get("items", here.get("additionalProperties", {}))
    if step in here.get("properties", {}):
        return here["properties"][step]
    options = here.get("discriminator", {}).get("mapping", {})
    if step in options:
        return {"$ref": options[step]}
    named = [d for d in here.get("anyOf", here.get("oneOf", [])) if str(d.get("$ref", "")).endswith(f"/{step}")]
    return named[0] if named else here.get("additionalProperties", here)


def _resolve_reference(schema: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    while isinstance(schema, dict):
        if "$ref" in schema:
            schema = definitions[schema["$ref"].rpartition("/")[2]]
        elif len(options := [o for o in schema.get("anyOf", []) if o.get("type") != "null"]) == 1:
            schema = options[0]
        else:
            return schema
    return {}


def find_error_path(detail: ErrorDetails, content: Any) -> Path_:
    """The error's place as the file's author sees it: without the names of union members that pydantic inserts."""
    location: list[str | int] = []
    here = content
    for step in detail["loc"]:
        named = list(here)[step] if isinstance(here, dict) and isinstance(step, int) and step < len(here) else step
        if _holds(here, named):
            here = here[named]
            location.append(named)
    if detail["type"] == "missing" and isinstance(here, dict):
        location.append(detail["loc"][-1])
    return tuple(location)


def _holds(here: Any, step: str | int) -> bool:
    if isinstance(here, dict):
        return step in here
    return isinstance(here, list) and isinstance(step, int) and step < len(here)


def find_value(content: Any, location: Path_) -> Any:
    here = content
    for step in location:
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            return None
    return here


def format_dotted_path(location: Path_) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return text.removeprefix(".")


def _lower(message: str) -> str:
    plain = message.removeprefix("Value error, ")
    return plain[:1].lower() + plain[1:]


def _create_refusal(path: Path, line: int, what: str, remedy: str, value: object = None) -> InputError:
    if path.suffix.lower() in _OF_TABLES:
        remedy = f"if it is a table, let a release file name it: `sdcert init {path.name}` drafts one"
    return InputError("release-file", f"{path}, line {line}", what, "one plain YAML 1.2 mapping", remedy, value)
