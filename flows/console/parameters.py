"""The parameters of a step, an attack or a measure on one line: nested ones in brackets, long tables by their size alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

MOST = 12  # entries of a mapping or of nested lists that are written out
_EMPTY: tuple[object, ...] = ([], {}, (), "")


def describe_method(part: Any, *, without: Collection[str] = ()) -> str:
    """`microaggregation attributes age educ, k 5`; what is not given or empty is left out. part: a params model.

    A mapping is written out as `bases (age 5; income 500)`; of one with more than twelve entries only their number is told.
    without: names of parameters that have no effect beside the others.
    """
    given = part.model_dump(mode="json", exclude_none=True, exclude=set(without))
    return describe_method_fields(given)


def describe_method_fields(fields: Mapping[str, Any]) -> str:
    """The same of the fields themselves, as a manifest keeps them."""
    given = {key: value for key, value in fields.items() if value is not None and value not in _EMPTY}
    name = given.pop("method", None) or given.pop("measure")
    return " ".join([name, ", ".join(f"{key} {_format_value(value)}" for key, value in given.items())]).strip()


def _format_value(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case dict():
            return _bracket_parts([f"{key} {_inner(part)}" for key, part in value.items()])
        case list() if any(isinstance(part, dict | list) for part in value):
            return _bracket_parts([_inner(part) for part in value])
        case list():
            return " ".join(map(str, value))
        case _:
            return str(value)


def _inner(value: Any) -> str:
    """A value inside a mapping or a list: mappings without brackets of their own."""
    if not isinstance(value, dict):
        return _format_value(value)
    given = {key: part for key, part in value.items() if part is not None and part not in _EMPTY}
    if len(given) > MOST:
        return f"of {len(given):,} entries"
    return ", ".join(f"{key} {_format_value(part)}" for key, part in given.items())


def _bracket_parts(parts: list[str]) -> str:
    return f"({'; '.join(parts)})" if len(parts) <= MOST else f"of {len(parts):,} entries"
