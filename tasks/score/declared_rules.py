"""Association rules that must not follow from a release, as a release file declares them, and the rows that they are about.

Those that it asks to find instead are found in `score.found_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema, model_validator

from tasks.microdata.by_attribute import WrittenMapping
from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.schema import CATEGORICAL, Attribute, Schema
from tasks.microdata.spec import Name, Names, Public, PublicField, Share, Spec
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Booleans, Microdata, write_plain_texts

MOST_RULES = 1000
MOST_ITEMS = 5
DEFAULT_SUPPORT, DEFAULT_CONFIDENCE = 0.01, 0.8
RuleValue = int | float | Name
Categories = Annotated[tuple[RuleValue, ...], Field(min_length=1)]


class ValueInterval(Spec):
    """Values between two ends, which belong to it; of a missing end all values on that side.

    at_least, at_most: a number; a date or time as ISO 8601 text; a category of a declared order.
    """

    at_least: RuleValue | None = None
    at_most: RuleValue | None = None

    @model_validator(mode="after")
    def _has_an_end(self) -> ValueInterval:
        if self.at_least is None and self.at_most is None:
            raise ValueError("an interval has `at_least`, `at_most`, or both")
        return self


Condition = ValueInterval | Categories
_END = {"type": ["number", "string"]}
_CONDITION_FORM = {
    "anyOf": [
        {"type": "array", "minItems": 1, "items": _END},
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": {"at_least": _END, "at_most": _END},
        },
    ]
}
Conditions = Annotated[
    tuple[tuple[Name, Condition], ...],
    Field(min_length=1),
    BeforeValidator(WrittenMapping(Condition)),
    PlainSerializer(dict),
    WithJsonSchema({"type": "object", "minProperties": 1, "additionalProperties": _CONDITION_FORM}),
]


class Rule(Spec):
    """One association rule: who meets all conditions of `if` mostly meets all of `then`.

    A condition is a list of values (one of them), or an interval. What a rule says of whom is private.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    antecedent: Conditions = Field(alias="if")
    consequent: Conditions = Field(alias="then")

    @model_validator(mode="after")
    def _is_about_two_things(self) -> Rule:
        both = sorted({name for name, _ in self.antecedent} & {name for name, _ in self.consequent})
        if both:
            raise ValueError(f"`{both[0]}` stands in both `if` and `then`: a rule tells one attribute by others")
        return self


DeclaredRules = Annotated[tuple[Rule, ...], Field(min_length=1, max_length=MOST_RULES)]


class RuleSearch(Spec):
    """Which association rules of the original must not follow: the strongest, whatever they say.

    min_support, min_confidence: what a rule reaches in the original, as shares of its rows. items_at_most: the conditions of a
    rule and its conclusion, together. about: the confidential attributes that rules conclude on; None: all published ones.
    rules_at_most: how many of the strongest count; how many there are is a figure of the original, and so private.
    """

    min_support: Public[Share] = 0.05
    min_confidence: Public[Share] = DEFAULT_CONFIDENCE
    items_at_most: Public[Annotated[int, Field(ge=2, le=MOST_ITEMS)]] = 3
    about: Public[Names | None] = None
    rules_at_most: Public[Annotated[int, Field(ge=1, le=MOST_RULES)]] = 100


def _count_rules(spec: ResultsHidden) -> dict[str, object]:
    """How many rules there are: which they are would tell what must be hidden."""
    return {"rules": len(spec.rules or ())}


class ResultsHidden(Spec):
    """Parameters of result-driven privacy: what must not be concluded from the release.

    rules: which ones; their number alone is public. find: how to find them in the original instead; exactly one of both.
    support: the least share of rows that meet `if` and `then`. confidence: the least share of them among the rows that meet
    `if`. A rule can be concluded where it reaches both. Defaults: those of `find`, else 0.01 and 0.8.
    """

    measure: Public[Literal["results_hidden"]] = "results_hidden"
    rules: Annotated[DeclaredRules | None, PublicField(_count_rules)] = None
    find: Public[RuleSearch | None] = None
    support: Public[Share] = DEFAULT_SUPPORT
    confidence: Public[Share] = DEFAULT_CONFIDENCE

    @property
    def most_rules(self) -> int:
        """How many rules there are; of those to be found, how many at most."""
        return len(self.rules or ()) if self.find is None else self.find.rules_at_most

    @model_validator(mode="after")
    def _has_rules_once(self) -> ResultsHidden:
        if (self.rules is None) == (self.find is None):
            raise ValueError("exactly one of `rules` (they are declared) and `find` (they are found in the original) is needed")
        if self.rules is not None and len(set(self.rules)) < len(self.rules):
            raise ValueError("a rule stands twice in `rules`: each counts once")
        return self

    @model_validator(mode="after")
    def _has_limits_of_its_search(self) -> ResultsHidden:
        """A rule that is found and could not be concluded from the original itself would count as hidden by any mask."""
        if self.find is None:
            return self
        found = {"support": self.find.min_support, "confidence": self.find.min_confidence}
        for name, limit in found.items():
            if name not in self.model_fields_set:
                object.__setattr__(self, name, limit)  # a default that another field gives; frozen from here on
        if self.support > self.find.min_support or self.confidence > self.find.min_confidence:
            raise ValueError("with `find`, `support` and `confidence` are not above its `min_support` and `min_confidence`")
        return self


@dataclass(frozen=True, slots=True)
class _Site:
    """A condition and where it stands in the release file."""

    attribute: Attribute
    condition: Condition
    where: str


def check_rules(spec: ResultsHidden, source: Microdata, schema: Schema, where: str = "measures: results_hidden") -> None:
    """Refuse rules that name what the source does not have or the release does not show.

    where: of the entry in the release file.
    Raises InputError for an attribute that is not published, a value that does not occur, an interval of an attribute without
    an order, an end of another kind than its values, and an interval without values. Cost: O(n) for each condition.
    """
    for site in _list_sites(spec, schema, where):
        if isinstance(site.condition, ValueInterval):
            _check_interval(source, site)
        else:
            _check_categories(source, site, site.condition)


def _list_sites(spec: ResultsHidden, schema: Schema, where: str) -> Iterator[_Site]:
    for i, rule in enumerate(spec.rules or ()):
        for side, conditions in (("if", rule.antecedent), ("then", rule.consequent)):
            for name, condition in conditions:
                location = f"{where}.rules[{i}].{side}"
                if name not in schema.release_columns:
                    raise InputError(
                        code="unknown-attribute",
                        where=location,
                        what="no attribute of this name is published, so that nothing could be concluded on it",
                        allowed=", ".join(schema.release_columns) or "none: nothing is published",
                        remedy=did_you_mean(name, schema.release_columns, "take the rule out, or correct the name"),
                        value=name,
                    )
                yield _Site(schema[name], condition, f"{location}.{name}")


def _check_categories(source: Microdata, site: _Site, written: tuple[RuleValue, ...]) -> None:
    known = {*_list_texts(source, site.attribute.name), *(site.attribute.order or ())}
    for one in written:
        if _write_plainly(one) not in known:
            raise InputError(
                code="unknown-category",
                where=site.where,
                what=f"`{site.attribute.name}` has no such value in the source, so that the rule is about nobody",
                allowed="values of the source, as the table has them",
                remedy=did_you_mean(str(one), sorted(known), "correct it, or write an interval: `{at_least: ...}`"),
                value=one,
            )


def _check_interval(source: Microdata, site: _Site) -> None:
    attribute, interval = site.attribute, site.condition
    assert isinstance(interval, ValueInterval)  # noqa: S101  the caller has seen to it
    if attribute.scale in CATEGORICAL or (source.is_text(attribute.name) and attribute.order is None):
        raise InputError(
            code="interval-without-order",
            where=site.where,
            what=f"`{attribute.name}` has no order, and so no intervals",
            allowed="a list of its values",
            remedy="write the values: `[a, b]`, or declare `scale: ordinal` with its `order`",
        )
    low, high = find_ends(source, attribute, interval, site.where)
    if low > high:
        raise InputError(
            code="empty-interval",
            where=site.where,
            what="no value is in this interval: it ends before it begins",
            allowed="`at_least` that is not above `at_most`",
            remedy="exchange the ends",
            value=interval.at_least,
        )


def find_ends(table: Microdata, attribute: Attribute, interval: ValueInterval, where: str) -> tuple[float, float]:
    """Where an interval begins and ends on the scale of the attribute (`Microdata.positions`); infinite without an end.

    Raises InputError for an end that is no value of the kind that the column holds.
    """
    low = -np.inf if interval.at_least is None else _find_position(table, attribute, interval.at_least, f"{where}.at_least")
    high = np.inf if interval.at_most is None else _find_position(table, attribute, interval.at_most, f"{where}.at_most")
    return low, high


def _find_position(table: Microdata, attribute: Attribute, written: RuleValue, where: str) -> float:
    name = attribute.name
    if table.is_text(name) or table.is_calendar(name):
        kind = table.arrow.schema.field(name).type
        try:
            is_time = pa.types.is_time(kind)  # pyarrow reads no time of day from a text
            end = Microdata.from_columns(
                {name: pa.array([time.fromisoformat(str(written))], kind) if is_time else pa.array([str(written)]).cast(kind)}
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError):
            end = Microdata.from_columns({name: pa.nulls(1, kind)})
        position = float(end.positions(attribute)[0])
    else:
        position = np.nan if isinstance(written, str) else float(written)
    if np.isnan(position):
        kinds = "a date or time as ISO 8601 text" if table.is_calendar(name) else "a number"
        allowed = "a category of `order`" if table.is_text(name) else kinds
        known = attribute.order or ()
        remedy = did_you_mean(str(written), known, "write it as the table has it")
        code = "unknown-category" if table.is_text(name) else "written-value"
        raise InputError(code, where, f"this is no value of `{name}`", allowed, remedy, written)
    return position


def find_meeting_rows(
    table: Microdata, source: Microdata, schema: Schema, conditions: tuple[tuple[str, Condition], ...]
) -> Booleans:
    """Shape (n,): which rows of a table meet all conditions. A missing value meets none.

    source: the table in whose values the conditions are written; the ends of intervals are read there.
    Raises NotApplicable for an interval of an attribute that the table shows as other texts. Cost: O(n) for each condition.
    """
    found = np.ones(table.n, dtype=bool)
    for name, condition in conditions:
        attribute = schema[name]
        if not isinstance(condition, ValueInterval):
            found &= _find_category_rows(table, name, condition)
            continue
        if table.is_text(name) and (attribute.order is None or not source.is_text(name)):
            raise NotApplicable(f"the release shows {name} as text, and a declared rule has an interval of it")
        low, high = find_ends(source, attribute, condition, name)
        positions = table.positions(attribute)
        found &= (low <= positions) & (positions <= high)
    return found


def _find_category_rows(table: Microdata, name: str, written: tuple[RuleValue, ...]) -> Booleans:
    wanted = {_write_plainly(one) for one in written}
    values = pc.unique(table.column(name).drop_null())
    chosen = values.filter(pa.array([text in wanted for text in write_plain_texts(values)], pa.bool_()))
    return np.asarray(pc.is_in(table.column(name), value_set=chosen).to_numpy(zero_copy_only=False), dtype=bool)


def _list_texts(table: Microdata, name: str) -> list[str]:
    return [text for text in write_plain_texts(pc.unique(table.column(name).drop_null())) if text is not None]


def _write_plainly(written: RuleValue) -> str:
    """As `write_plain_texts` writes a value of a column: 1, 1.0 and "1" are the same."""
    if isinstance(written, float):
        return str(int(written)) if written.is_integer() else repr(written)
    return str(written)
