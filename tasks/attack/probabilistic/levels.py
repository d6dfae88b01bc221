"""How alike two values of one attribute are: a ladder of rules, of which the first that holds is their level.

With r rules the levels are 0 (no rule holds) to r (the first rule holds). A rule asks whether two numbers are at most so far
apart: for equality and for bins these are codes, at most 0 apart; or, of texts, whether they are similar (`similar`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import numpy as np
import scipy
from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, PlainSerializer, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tasks.attack.probabilistic.similar import Alike, Similar, alike_texts
from tasks.microdata.by_attribute import WrittenMapping
from tasks.microdata.codes import stack_distinct_rows
from tasks.microdata.errors import InputError
from tasks.microdata.positions import extract_positions
from tasks.microdata.schema import CATEGORICAL, MEASURED, Attribute, Schema
from tasks.microdata.spec import Percent, Spec
from tasks.microdata.table import Floats, Integers, Microdata, encode_jointly

MISSING = -1e99  # stands for a missing value: far from every other, and 0 from another missing one
LISTED = -1.0  # the reach of a rule that lists which texts are alike


class Exact(Spec):
    """The two values are equal."""

    rule: Literal["exact"] = "exact"

    def __str__(self) -> str:
        return "equal"


class Within(Spec):
    """They are at most so many percent of the range of the released values apart."""

    rule: Literal["within"]
    percent: Percent

    def __str__(self) -> str:
        return f"within {self.percent:g} % of the range"


class SameBin(Spec):
    """They fall into the same one of so many bins, which hold about equally many released records."""

    rule: Literal["same_bin"]
    bins: Annotated[int, Field(ge=2, le=1000)]

    def __str__(self) -> str:
        return f"in the same of {self.bins} bins"


ComparisonRule = Annotated[Exact | Within | SameBin | Similar, Field(discriminator="rule")]
Ladder = Annotated[tuple[ComparisonRule, ...], Field(min_length=1, max_length=6)]
_LADDER: TypeAdapter[tuple[ComparisonRule, ...]] = TypeAdapter(Ladder)


@dataclass(frozen=True)
class _LaddersForm:
    """The JSON schema of ladders by attribute."""

    def __get_pydantic_json_schema__(self, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "object", "minProperties": 1, "additionalProperties": handler(_LADDER.core_schema)}


Ladders = Annotated[
    tuple[tuple[str, Ladder], ...],
    Field(min_length=1),
    BeforeValidator(WrittenMapping(Ladder)),
    PlainSerializer(dict),
    _LaddersForm(),
]
EQUAL: tuple[ComparisonRule, ...] = (Exact(),)
MEASURED_LADDER: tuple[ComparisonRule, ...] = (Exact(), *(Within(rule="within", percent=percent) for percent in (1, 5, 10)))


@dataclass(frozen=True, slots=True)
class PatternComparison:
    """The distinct records of the intruder and the distinct released rows, as the rules see them.

    own: shape (rules, r), shown: shape (rules, c): the numbers that each rule compares, all rules of all attributes.
    own_of_record, shown_of_row: shapes (n,) and (m,): which of them each record and each released row is.
    reach: shape (rules,): how far apart two numbers may be, LISTED where they number texts that `alike` lists. attribute,
        level: shape (rules,): of which attribute the rule is, and the level that it gives; the levels of an attribute ascend.
    sizes: shape (d,): number of levels of each attribute, 0 included. names: of the attributes.
    """

    own: Floats
    own_of_record: Integers
    shown: Floats
    shown_of_row: Integers
    reach: Floats
    attribute: Integers
    level: Integers
    alike: Alike
    sizes: Integers
    names: tuple[str, ...]

    @property
    def record_counts(self) -> Integers:
        """Shape (r,): number of the intruder's records that are alike."""
        return np.bincount(self.own_of_record, minlength=self.own.shape[1])

    @property
    def row_counts(self) -> Integers:
        """Shape (c,): number of released rows that are alike."""
        return np.bincount(self.shown_of_row, minlength=self.shown.shape[1])


def default_ladder(attribute: Attribute) -> tuple[ComparisonRule, ...]:
    """Equality; for numbers, dates and times also within 1, 5 and 10 % of the range, because noise leaves no value equal.

    On Census (13 attributes; noise, swapping, joint microaggregation) at least three times as many as by equality and 20 bins.
    """
    return MEASURED_LADDER if attribute.scale in MEASURED else EQUAL


def create_pattern_comparison(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    knows: tuple[str, ...],
    ladders: tuple[tuple[str, tuple[ComparisonRule, ...]], ...] = (),
) -> PatternComparison:
    """Put the intruder's records beside the released rows, in the order of `knows`.

    ladders: the rules of some attributes, the most alike first; others have `default_ladder`.
    Two missing values are equal; a missing value and a present one are at level 0. Ranges and bins are the release's, which the
    intruder holds. Texts are similar as `alike_texts` says.

    Raises InputError for a rule that needs an order the attribute has not, a category outside its order, an infinite value,
    and InputError and NotApplicable as `alike_texts`.
    """
    given = dict(ladders)
    chosen = [(schema[name], given.get(name) or default_ladder(schema[name])) for name in knows]
    parts = [_numbers(original, masked, schema, attribute, rule) for attribute, ladder in chosen for rule in reversed(ladder)]
    lengths = [len(ladder) for _, ladder in chosen]
    own, own_of_record = stack_distinct_rows([part[0] for part in parts])
    shown, shown_of_row = stack_distinct_rows([part[1] for part in parts])
    return PatternComparison(
        own=np.ascontiguousarray(own.T),
        own_of_record=own_of_record,
        shown=np.ascontiguousarray(shown.T),
        shown_of_row=shown_of_row,
        reach=np.array([part[2] for part in parts], dtype=np.float64),
        attribute=np.repeat(np.arange(len(chosen)), lengths),
        level=np.concatenate([np.arange(1, length + 1) for length in lengths]),
        alike=Alike.create_from_matrices([part[3] for part in parts]),
        sizes=np.array(lengths, dtype=np.int64) + 1,
        names=knows,
    )


_Numbers: TypeAlias = "tuple[Floats, Floats, float, scipy.sparse.csr_array | None]"  # own, shown, reach, and which are alike


def _numbers(original: Microdata, masked: Microdata, schema: Schema, attribute: Attribute, rule: ComparisonRule) -> _Numbers:
    if isinstance(rule, Exact):
        codes = encode_jointly(original.column(attribute.name), masked.column(attribute.name))
        own, shown = (one.astype(np.float64) for one in codes)
        return own, shown, 0.0, None
    location = f"attacks: compare.{attribute.name}"
    if isinstance(rule, Similar):
        own, shown, alike = alike_texts(original.column(attribute.name), masked.column(attribute.name), rule, location)
        return own, shown, LISTED, alike
    if attribute.scale in CATEGORICAL:
        what = f"`{attribute.name}` is {attribute.scale}: its values have no order, and so neither distances nor bins"
        raise InputError("no-order", location, what, "exact", "compare it by `exact`, or declare its order", rule.rule)
    positions = [extract_positions(table, schema, attribute.name, location) for table in (original, masked)]
    present = positions[1][~np.isnan(positions[1])]
    if isinstance(rule, SameBin):
        edges = np.unique(np.quantile(present, np.arange(1, rule.bins) / rule.bins)) if len(present) else present
        own, shown = (_mark_missing(values, np.searchsorted(edges, values, "right")) for values in positions)
        return own, shown, 0.0, None
    own, shown = (_mark_missing(values, values) for values in positions)
    return own, shown, float(np.ptp(present)) * rule.percent / 100 if len(present) else 0.0, None


def _mark_missing(positions: Floats, numbers: Floats | Integers) -> Floats:
    return np.where(np.isnan(positions), MISSING, numbers.astype(np.float64))
