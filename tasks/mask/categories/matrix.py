"""The form of a transition matrix in a release file: a mapping from each category to the chances of being released as each."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, TypeAdapter, WithJsonSchema

from tasks.microdata.spec import Name

Chances = tuple[tuple[str, float], ...]  # of one true category: released category, probability; in order of the texts
MatrixRows = tuple[tuple[str, Chances], ...]
SUM_ERROR = 1e-9


def parse_chances(rows: MatrixRows) -> dict[str, dict[str, float]]:
    """The matrix as people write it."""
    return {category: dict(chances) for category, chances in rows}


def _from_mapping(value: object) -> object:
    """A mapping of mappings becomes sorted tuples, so that equal matrices are equal and can be hashed."""
    if isinstance(value, tuple):
        return value
    if not isinstance(value, Mapping):
        raise ValueError("a mapping from each category to the probabilities of the released ones is expected")  # noqa: TRY004 - pydantic's own
    rows = _ROWS.validate_json(json.dumps(dict(value)), strict=True)
    return tuple(sorted((category, tuple(sorted(row.items()))) for category, row in rows.items()))


def _sums_to_one(row: dict[str, float]) -> dict[str, float]:
    total = math.fsum(row.values())
    if abs(total - 1) > SUM_ERROR:
        raise ValueError(f"the probabilities of a row sum to {total:.12g} instead of 1")
    return row


def _stochastic(rows: MatrixRows) -> MatrixRows:
    categories = [category for category, _ in rows]
    for _, chances in rows:
        if [released for released, _ in chances] != categories:
            raise ValueError("each row of the matrix must give a probability to each of its categories, and to no other")
        _sums_to_one(dict(chances))
    if all(dict(chances)[category] == 1 for category, chances in rows):
        raise ValueError("the matrix keeps every value: it masks nothing")
    return rows


_Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_ROWS: TypeAdapter[dict[str, dict[str, float]]] = TypeAdapter(
    dict[Name, Annotated[dict[Name, _Probability], AfterValidator(_sums_to_one)]]
)
_ROW = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1}}
Matrix = Annotated[
    tuple[tuple[Name, tuple[tuple[Name, _Probability], ...]], ...],
    Field(min_length=2),
    AfterValidator(_stochastic),
    BeforeValidator(_from_mapping),
    PlainSerializer(parse_chances),
    WithJsonSchema({"type": "object", "minProperties": 2, "additionalProperties": _ROW}),
]
