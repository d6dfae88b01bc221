"""The expectations of a release file: a closed set of sentences about a table."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self, assert_never

import pyarrow as pa
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tasks.ingest.columns.iso_cells import find_calendar_kind, parse_iso_cells
from tasks.microdata.spec import Name, Names, Spec
from tasks.microdata.table import to_stored_integers

_LARGEST_EXACT = 2**53


class NotMissing(Spec):
    """Every row has a value of the attribute."""

    expect: Literal["not_missing"]
    attribute: Name


def _exact(bound: object) -> object:
    if isinstance(bound, int) and abs(bound) > _LARGEST_EXACT:
        raise ValueError("whole bounds go up to 2^53 in size; write a larger one with an exponent (1e18)")
    return bound


def _iso(bound: str) -> str:
    parse_iso_value(bound)
    return bound


ExpectationBound = Annotated[int | float, BeforeValidator(_exact)] | Annotated[str, AfterValidator(_iso)]


class Between(Spec):
    """Every value that is there lies between `low` and `high`, both included; one of them may be left out.

    The bounds of dates, moments and times are texts as ISO 8601 writes them: "2023-01-31", "2023-01-31T23:59:59", "17:30".
    """

    expect: Literal["between"]
    attribute: Name
    low: ExpectationBound | None = None
    high: ExpectationBound | None = None

    @model_validator(mode="after")
    def _an_interval(self) -> Self:
        if self.low is None and self.high is None:
            raise ValueError("give `low`, `high` or both")
        if self.low is None or self.high is None:
            return self
        if find_bound_type(self.low) != find_bound_type(self.high):
            raise ValueError("`low` and `high` are of different kinds: numbers, dates, moments or times of day")
        if _comparable(self.low) > _comparable(self.high):
            raise ValueError("`low` is above `high`")
        return self


def parse_iso_value(text: str) -> pa.Scalar:
    """A date, a moment or a time as ISO 8601 writes it, as a value. Raises ValueError for another text."""
    cell = pa.array([text], type=pa.string())
    kind = find_calendar_kind(cell)
    values = None if kind in {None, "moment_with_offset"} else parse_iso_cells(cell, kind)
    if values is None:
        raise ValueError("a text is no date (YYYY-MM-DD), moment (YYYY-MM-DDTHH:MM:SS) or time (HH:MM:SS) that exists")
    return values[0]


def find_bound_type(bound: int | float | str) -> pa.DataType | None:
    """The logical type of dates and times that a bound is written for; None for numbers."""
    return parse_iso_value(bound).type if isinstance(bound, str) else None


def _comparable(bound: int | float | str) -> float:
    return to_stored_integers(parse_iso_value(bound)).as_py() if isinstance(bound, str) else bound


class InSet(Spec):
    """Every value that is there is one of `values`; dates and times are texts as ISO 8601 writes them."""

    expect: Literal["in_set"]
    attribute: Name
    values: Annotated[tuple[str | bool | int | float, ...], Field(min_length=1)]


class Unique(Spec):
    """No value, or no combination of several attributes, occurs twice; rows with a missing part are left out."""

    expect: Literal["unique"]
    attribute: Name | Names

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.attribute,) if isinstance(self.attribute, str) else self.attribute


class RowsBetween(Spec):
    """The number of rows lies between `low` and `high`, both included."""

    expect: Literal["rows_between"]
    low: Annotated[int, Field(ge=0)] = 0
    high: Annotated[int, Field(ge=0)] | None = None


def anchor_pattern(pattern: str) -> str:
    """The pattern, made to match a whole text."""
    return rf"\A(?:{pattern})\Z"


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
        re.compile(anchor_pattern(pattern))
    except re.error as error:
        raise ValueError(f"the pattern is not a regular expression: {error.msg}") from None
    return pattern


class Matches(Spec):
    """Every text that is there matches the regular expression (Python's) as a whole."""

    expect: Literal["matches"]
    attribute: Name
    pattern: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_compiles)]


class HoldsNumbers(Spec):
    """The column holds numbers, as its declared scale demands. Made from the codebook, not written by hand."""

    expect: Literal["numbers"] = "numbers"
    attribute: Name


Expectation = Annotated[NotMissing | Between | InSet | Unique | RowsBetween | Matches, Field(discriminator="expect")]
AnyExpectation = NotMissing | Between | InSet | Unique | RowsBetween | Matches | HoldsNumbers


def list_expected_columns(expectation: AnyExpectation) -> tuple[str, ...]:
    match expectation:
        case RowsBetween():
            return ()
        case Unique():
            return expectation.attributes
        case _:
            return (expectation.attribute,)


def describe_expectation(expectation: AnyExpectation) -> str:
    match expectation:
        case NotMissing():
            return f"{expectation.attribute} is never missing"
        case Between():
            bounds = (expectation.low, expectation.high)
            open_end = "any date or time" if any(isinstance(bound, str) for bound in bounds) else "any number"
            low, high = (open_end if bound is None else _format_bound(bound) for bound in bounds)
            return f"{expectation.attribute} lies between {low} and {high}"
        case InSet():
            return f"{expectation.attribute} is one of {len(expectation.values)} declared values"
        case Unique():
            return (
                f"{' and '.join(expectation.attributes)} {'is' if len(expectation.attributes) == 1 else 'are together'} unique"
            )
        case RowsBetween():
            return f"the number of rows lies between {expectation.low:,} and {_format_bound(expectation.high)}"
        case Matches():
            return f"{expectation.attribute} matches the declared pattern"
        case HoldsNumbers():
            return f"{expectation.attribute} holds numbers"
        case _:
            assert_never(expectation)


def _format_bound(bound: float | str | None) -> str:
    if isinstance(bound, str):
        return bound
    return "any number" if bound is None else f"{bound:,}"
