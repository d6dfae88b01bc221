"""In what the release files of several runs differ, in words of the files."""

from __future__ import annotations

import json
import string
from collections.abc import Iterator, Sequence
from typing import Any

from tasks.microdata.escaping import escape_terminal

WITHHELD_PARAMETERS = frozenset(  # what names the release, or could tell a value or a place of the source
    {"name", "series", "seed", "source", "expect", "order", "missing", "categories", "hierarchy", "codebook"}
    | {"table", "dataset", "sql", "url_env"}
    | {"matrix", "yes", "map", "values", "intervals", "top", "bottom", "file"}  # of masking steps
)
DASH = "-"
_LONGEST = 60


def masking_in_words(spec: dict[str, Any]) -> list[str]:
    """One line for each masking step: the method, its parameters, how many attributes it masks."""
    if spec.get("released"):
        return ["masked elsewhere"]
    return [_step_in_words(step) for step in spec.get("masking") or ()]


def _step_in_words(step: dict[str, Any]) -> str:
    given = {k: v for k, v in step.items() if k not in {"method", "attributes"} and v is not None}
    names = step.get("attributes") or dict.fromkeys(
        name for value in given.values() if isinstance(value, dict) for name in value
    )
    of = f"{len(names)} attribute{'' if len(names) == 1 else 's'}" if names else "all fitting quasi-identifiers"
    texts = (_parameter(key, value) for key, value in given.items() if key not in WITHHELD_PARAMETERS)
    return ", ".join([f"{step['method']} of {of}", *filter(None, texts)])


def _parameter(name: str, value: Any) -> str:
    """One parameter in words; of a parameter for each attribute, the attributes with what they say."""
    if not isinstance(value, dict):
        return f"{name} {_value(value)}"
    texts = (f"{_value(attribute)}{_bracket_value(one)}" for attribute, one in value.items())
    return f"{name} {'; '.join(texts)}"


def _bracket_value(value: Any) -> str:
    """What is said of one attribute. Left out is what could tell a value or a place of the source."""
    if not isinstance(value, dict):
        return f" ({_value(value)})"
    texts = [_parameter(key, one) for key, one in value.items() if key not in WITHHELD_PARAMETERS and one is not None]
    return f" ({', '.join(texts)})" if texts else ""


def differences(specs: Sequence[dict[str, Any]]) -> list[str]:
    """One line for each field in which the files differ. Left out is what could tell a value or a place of the source."""
    flat = [dict(_flat(spec, "")) for spec in specs]
    locations = dict.fromkeys(location for fields in flat for location in fields)
    found = [(location, [fields.get(location) for fields in flat]) for location in locations]
    return [
        f"{location}: {_describe_difference(values)}"
        for location, values in found
        if any(value != values[0] for value in values)
    ]


def _flat(content: Any, location: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a spec by their places. Attributes go by name; a list of plain values is one leaf."""
    if isinstance(content, dict):
        for key, value in content.items():
            if key not in WITHHELD_PARAMETERS and value is not None:
                yield from _flat(
                    _index_by_name(value) if key == "attributes" else value,
                    f"{location}.{escape_terminal(key)}".removeprefix("."),
                )
    elif isinstance(content, list) and any(isinstance(part, dict | list) for part in content):
        for number, part in enumerate(content):
            yield from _flat(part, f"{location}[{number}]")
    else:
        yield location, content


def _index_by_name(declared: Any) -> Any:
    if isinstance(declared, list) and all(isinstance(part, dict) for part in declared):
        return {part["name"]: {k: v for k, v in part.items() if k != "name"} for part in declared}
    return declared


def _describe_difference(values: list[Any]) -> str:
    """`A 5, B 10`; of lists what only some have."""
    letters = string.ascii_uppercase
    if all(isinstance(value, list) for value in values):
        common = set.intersection(*({json.dumps(part) for part in value} for value in values))
        values = [[part for part in value if json.dumps(part) not in common] for value in values]
        return "; ".join(f"only {letters[i % 26]} has {_value(v)}" for i, v in enumerate(values) if v) or "another order"
    return ", ".join(
        f"{letters[location % 26]} {DASH if value is None else _value(value)}" for location, value in enumerate(values)
    )


def _value(value: Any) -> str:
    text = (
        ", ".join(map(_value, value)) if isinstance(value, list) else f"{value:g}" if isinstance(value, float) else str(value)
    )
    plain = escape_terminal(text)
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}..."
