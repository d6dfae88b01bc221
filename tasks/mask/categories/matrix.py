"""The form of a transition matrix in a release file: a mapping from each category to the chances of being released as each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from tasks.microdata.spec import Name

Chances = tuple[tuple[str, float], ...]  # of one true category: released category, probability; in order of the texts
Rows = tuple[tuple[str, Chances], ...]
SUM_ERROR = 1e-9


def chances_of(rows: Rows) -> dict[str, dict[str, float]]:
    """The matrix as people write it."""
    return {category: dict(chances) for category, chances in rows}


def _from_mapping(value: object) -> object:
    """A mapping of mappings becomes sorted tuples, so that equal matrices are equal and can be hashed."""
    if not isinstance(value, Mapping):
        return value
    return tuple(sorted((category, _chances(row)) for category, row in value.items()))


def _chances(row: object) -> tuple[tuple[Any, Any], ...]:
    if not isinstance(row, Mapping):
        raise ValueError("each category needs a mapping from released categories to probabilities")  # noqa: TRY004 - pydantic's own
    return tuple(sorted(row.items()))


def _stochastic(rows: Rows) -> Rows:
    categories = [category for category, _ in rows]
    for category, chances in rows:
        if [released for released, _ in chances] != categories:
            raise ValueError("each row of the matrix must give a probability to each of its categories, and to no other")
        total = math.fsum(probability for _, probability in chances)
        if abs(total - 1) > SUM_ERROR:
            raise ValueError(f"row {categories.index(category) + 1} of the matrix sums to {total:.12g} instead of 1")
    if all(dict(chances)[category] == 1 for category, chances in rows):
        raise ValueError("the matrix keeps every value: it masks nothing")
    return rows


_Probability = Annotated[float, Field(ge=0, le=1)]
_ROW = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1}}
Matrix = Annotated[
    tuple[tuple[Name, tuple[tuple[Name, _Probability], ...]], ...],
    Field(min_length=2),
    AfterValidator(_stochastic),
    BeforeValidator(_from_mapping),
    PlainSerializer(chances_of),
    WithJsonSchema({"type": "object", "minProperties": 2, "additionalProperties": _ROW}),
]
