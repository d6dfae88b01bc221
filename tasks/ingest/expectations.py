"""The expectations of a release file: a closed set of sentences about a table."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self, assert_never

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tasks.microdata.spec import Name, Names, Spec

_LARGEST_EXACT = 2**53


class NotMissing(Spec):
    """Every row has a value of the attribute."""

    expect: Literal["not_missing"]
    attribute: Name


def _exact(bound: object) -> object:
    if isinstance(bound, int) and abs(bound) > _LARGEST_EXACT:
        raise ValueError("whole bounds go up to 2^53 in size; write a larger one with an exponent (1e18)")
    return bound


Bound = Annotated[int | float, BeforeValidator(_exact)]


class Between(Spec):
    """Every value that is there lies between `low` and `high`, both included; one of them may be left out."""

    expect: Literal["between"]
    attribute: Name
    low: Bound | None = None
    high: Bound | None = None

    @model_validator(mode="after")
    def _an_interval(self) -> Self:
        if self.low is None and self.high is None:
            raise ValueError("give `low`, `high` or both")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError("`low` is above `high`")
        return self


class InSet(Spec):
    """Every value that is there is one of `values`."""

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


def anchored(pattern: str) -> str:
    """The pattern, made to match a whole text."""
    return rf"\A(?:{pattern})\Z"


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
        re.compile(anchored(pattern))
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


def columns_of(expectation: AnyExpectation) -> tuple[str, ...]:
    match expectation:
        case RowsBetween():
            return ()
        case Unique():
            return expectation.attributes
        case _:
            return (expectation.attribute,)


def in_words(expectation: AnyExpectation) -> str:
    match expectation:
        case NotMissing():
            return f"{expectation.attribute} is never missing"
        case Between():
            return f"{expectation.attribute} lies between {_bound(expectation.low)} and {_bound(expectation.high)}"
        case InSet():
            return f"{expectation.attribute} is one of {len(expectation.values)} declared values"
        case Unique():
            return (
                f"{' and '.join(expectation.attributes)} {'is' if len(expectation.attributes) == 1 else 'are together'} unique"
            )
        case RowsBetween():
            return f"the number of rows lies between {expectation.low:,} and {_bound(expectation.high)}"
        case Matches():
            return f"{expectation.attribute} matches the declared pattern"
        case HoldsNumbers():
            return f"{expectation.attribute} holds numbers"
        case _:
            assert_never(expectation)


def _bound(bound: float | None) -> str:
    return "any number" if bound is None else f"{bound:,}"
