"""Paths into a `Spec`, as a sweep's axes have them: does one lead to a parameter that may be told to anybody?"""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from tasks.microdata.spec import Spec, find_declaration

SpecPath = tuple[str | int, ...]


def is_public_path(spec: type[Spec], path: SpecPath) -> bool:
    """Is every field on the path declared public, and everything below its end? A path that leads nowhere is private.

    Where different parts may stand, as different masking methods do, all of those that have the field must declare it.
    """
    kinds: list[Any] = [spec]
    for step in path:
        kinds = _step_into(kinds, step)
    return bool(kinds) and all(_is_public_kind(kind) for kind in kinds)


def cut_at_private(spec: type[Spec], path: SpecPath) -> SpecPath:
    """The path up to the first field that is private, with its name: what stands below it may name a value of the table."""
    kinds: list[Any] = [spec]
    for i, step in enumerate(path):
        kinds = _step_into(kinds, step)
        if not kinds:
            return path[: i + 1]
    return path


def list_parts(annotation: Any) -> Iterator[type[Spec]]:
    """The parts that a field of this type can hold, at any depth of tuples and mappings."""
    if isinstance(annotation, type) and issubclass(annotation, Spec):
        yield annotation
    for argument in get_args(annotation):
        yield from list_parts(argument)


def _step_into(kinds: list[Any], step: str | int) -> list[Any]:
    """What may stand one step further; nothing where one of the fields of this name is not public itself."""
    found: list[Any] = []
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, Spec):
            field = kind.model_fields.get(str(step))
            mark = None if field is None else find_declaration(field)
            if field is not None and (mark is None or mark.summarise is not None):
                return []
            found += [] if field is None else _alternatives(field.annotation)
        elif get_origin(kind) is tuple:
            items = _alternatives(get_args(kind)[0])
            found += items if isinstance(step, int) else [value for item in items for value in _list_value_of_pair(item)]
    return found


def _list_value_of_pair(item: Any) -> list[Any]:
    """The second of a name and a value, where a mapping is kept as such pairs."""
    is_pair = get_origin(item) is tuple and len(get_args(item)) == 2 and get_args(item)[1] is not ...
    return _alternatives(get_args(item)[1]) if is_pair else []


def _alternatives(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for argument in get_args(annotation) for kind in _alternatives(argument)]
    return [annotation]


def _is_public_kind(kind: Any) -> bool:
    return all(
        (mark := find_declaration(field)) is not None and mark.summarise is None and _is_public_kind(field.annotation)
        for part in list_parts(kind)
        for field in part.model_fields.values()
    )
