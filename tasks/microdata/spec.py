"""What every part of a release file shares: strict, frozen models, and the bounded numbers they are made of.

Models are validated in strict JSON mode: `true` is not 1, `"5"` is not 5, NaN is not a number, and lists become tuples.
Fields ending in `_percent` run from 0 to 100; every other share is a fraction from 0 to 1.

What may leave the private folders stands on the field itself: `k: Public[int]`. A field without it is private: the tracking
server, the signed statement and the report never see it. Names of attributes are public; categories, values and paths are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, StringConstraints
from pydantic.fields import FieldInfo

FieldT = TypeVar("FieldT")


@dataclass(frozen=True, slots=True)
class PublicField:
    """Marks a field of a `Spec` that may leave the private folders.

    summarise: makes what is published in place of a value that must stay private: parameters of the part that holds the field.
    """

    summarise: Callable[[Any], Mapping[str, object]] | None = None


Public = Annotated[FieldT, PublicField()]


class Spec(BaseModel):
    """Base of all parts of a release file: unknown fields are refused, nothing can be changed afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @final
    def public(self) -> dict[str, object]:
        """What may be told to anybody, as plain JSON values: the fields that are declared public, of nested parts as well.

        Fields without a value are left out. TypeError for a public field of a kind that says nothing about its own parts.
        """
        published: dict[str, object] = {}
        for name, field in type(self).model_fields.items():
            mark = find_declaration(field)
            value = None if mark is None else getattr(self, name)
            if mark is None or value is None:
                continue
            if mark.summarise is None:
                published[field.alias or name] = _plain(_as_written(field, value))
            else:
                published |= {key: _plain(part) for key, part in mark.summarise(self).items()}
        return published


def find_declaration(field: FieldInfo) -> PublicField | None:
    """How a field is declared public; None: it is private."""
    return next((mark for mark in field.metadata if isinstance(mark, PublicField)), None)


def _as_written(field: FieldInfo, value: Any) -> Any:
    """A mapping that is kept as pairs becomes a mapping again."""
    forms: list[Any] = [mark.func for mark in field.metadata if isinstance(mark, PlainSerializer)]
    return forms[0](value) if forms else value


def _plain(value: object) -> object:
    match value:
        case Spec():
            return value.public()
        case Mapping():
            return {str(key): _plain(part) for key, part in value.items()}
        case tuple() | list():
            return [_plain(part) for part in value]
        case str():
            return str(value)  # a member of an enumeration as its text
        case None | bool() | int() | float():
            return value
    raise TypeError(f"a public field holds a {type(value).__name__}, which does not say what of it is public")


LONGEST_NAME = 300  # of an attribute too: readers refuse a table with a longer one
SLUG = re.compile(r"^[a-z0-9][a-z0-9._-]{0,99}$")


def _a_slug(text: str) -> str:
    if SLUG.fullmatch(text) is None:
        like = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")[:100]
        hint = f", e.g. `{like}`" if like else ""
        raise ValueError(f"a name of 1 to 100 small letters, digits and . _ - that begins with a letter or digit{hint}")
    return text


def _refuse_zero_bytes(text: str) -> str:
    if "\0" in text:
        raise ValueError("a text without zero bytes is expected: no CSV and not every database can hold one")
    return text


Name = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME), AfterValidator(_refuse_zero_bytes)]
Slug = Annotated[str, Field(json_schema_extra={"pattern": SLUG.pattern}), AfterValidator(_a_slug)]
Reason = Annotated[str, StringConstraints(min_length=3, max_length=2000), AfterValidator(_refuse_zero_bytes)]
Percent = Annotated[float, Field(gt=0, le=100)]
Share = Annotated[float, Field(gt=0, le=1)]
Names = Annotated[tuple[Name, ...], Field(min_length=1)]
