"""What a table must fulfil before anything is done with it: we count, and great-expectations must agree.

The suite runs with BOOLEAN_ONLY: every other result format carries values of the source. How many rows fail, and which, is
counted here from the columns; the two must agree, or validation itself is broken and says so.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
import pandas as pd

from tasks.ingest.checks.expectations import (
    AnyExpectation,
    Between,
    Expectation,
    HoldsNumbers,
    InSet,
    Matches,
    NotMissing,
    RowsBetween,
    Unique,
    anchor_pattern,
    describe_expectation,
    find_bound_type,
    list_expected_columns,
)
from tasks.ingest.checks.violations import as_number, series, violations
from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.columns.code_values import convert_codes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Scale
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import DATE, MOMENT, TIME, Integers, Microdata

_AT_LEAST_ONE_ROW = RowsBetween(expect="rows_between", low=1)
_SHOWN_ROWS = 5
_KINDS: dict[Any, str] = {None: "numbers", DATE: "dates", MOMENT: "moments", TIME: "times of day"}


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """One expectation and its outcome; `n_violations` counts rows."""

    expectation: str
    passed: bool
    n_violations: int


def validate(
    data: Microdata, attributes: Sequence[AttributeSpec], expect: Sequence[Expectation], label: str, *, confirm: bool
) -> tuple[ExpectationResult, ...]:
    """Check a table against its declared schema and the expectations of the release file.

    confirm: great-expectations decides too, and must agree; the stage of a release asks for it, a look at a table does not.
    From the schema: at least one row; declared numeric columns hold numbers; declared categories are complete. Missing values
    fail `not_missing` alone.

    Returns
    -------
    One check per expectation, all passed.

    Raises
    ------
    InputError: an attribute that does not exist or does not fit the expectation; or expectations that fail, naming each with
        the number of rows and the first row numbers (from 1), never a value.

    great-expectations takes seconds to import, and is not asked where no declaration or expectation says more than that there
    are rows; 11 expectations on 1,000,000 rows take about 1 s more.
    """
    wanted: list[AnyExpectation] = [_AT_LEAST_ONE_ROW, *_from_schema(attributes, data), *expect]
    for expectation in wanted:
        _refuse_unfitting(expectation, data)
    failing = [np.flatnonzero(violations(expectation, data)) for expectation in wanted]
    if confirm and len(wanted) > 1:
        _refuse_disagreement(wanted, failing, _verdicts(wanted, data))
    checks = tuple(
        ExpectationResult(describe_expectation(e), len(rows) == 0, len(rows)) for e, rows in zip(wanted, failing, strict=True)
    )
    _refuse_failed(checks, failing, _first_unlisted(wanted, failing, data), label)
    return checks


def _refuse_disagreement(wanted: Sequence[AnyExpectation], failing: Sequence[Integers], agreed: Sequence[bool]) -> None:
    for expectation, rows, holds in zip(wanted, failing, agreed, strict=True):
        if holds != (len(rows) == 0):
            raise RuntimeError(f"validation disagrees with its own count: {describe_expectation(expectation)}")


def _from_schema(attributes: Sequence[AttributeSpec], data: Microdata) -> list[AnyExpectation]:
    numbers: list[AnyExpectation] = [HoldsNumbers(attribute=a.name) for a in attributes if a.scale is Scale.NUMERIC]
    return numbers + [
        InSet(expect="in_set", attribute=a.name, values=convert_codes(a.valid, data.column(a.name).type, a.name))
        for a in attributes
        if a.valid and a.name in data.names
    ]


def _first_unlisted(wanted: Sequence[AnyExpectation], failing: Sequence[Integers], data: Microdata) -> object:
    """The first value that is not among declared ones: for the terminal alone, where a typo is then seen at once."""
    found = ((e, rows[0]) for e, rows in zip(wanted, failing, strict=True) if isinstance(e, InSet) and len(rows))
    first = next(found, None)
    return None if first is None else data.column(first[0].attribute)[int(first[1])].as_py()


def _refuse_failed(checks: tuple[ExpectationResult, ...], failing: Sequence[Integers], unlisted: object, label: str) -> None:
    texts = [
        f"{c.expectation} ({_describe_failing_rows(c, rows)})" for c, rows in zip(checks, failing, strict=True) if not c.passed
    ]
    if texts:
        raise InputError("expectation-failed", f"{label}: {len(texts)} of {len(checks)} expectations",
                         "The table does not fulfil: " + "; ".join(texts) + ".", "a table that fulfils every expectation",
                         "correct the source or the expectation; add a category that is missing from `order` or `categories`",
                         value=unlisted)  # fmt: skip


def _describe_failing_rows(check: ExpectationResult, rows: Integers) -> str:
    if not len(rows):
        return "no row fails alone"
    shown = ", ".join(str(row + 1) for row in rows[:_SHOWN_ROWS])
    return f"{check.n_violations:,} rows fail, first {shown}"


def _refuse_unfitting(expectation: AnyExpectation, data: Microdata) -> None:
    where = f"expect: {expectation.expect}"
    for name in list_expected_columns(expectation):
        if name not in data.names:
            raise InputError("unknown-attribute", where, "The table has no such column.", "a column of the table",
                             did_you_mean(name, data.names, "check the name"), value=name)  # fmt: skip
        _refuse_other_kind(expectation, _kind(data, name), f"{where}, column {name}")


def _refuse_other_kind(expectation: AnyExpectation, kind: str, where: str) -> None:
    """InputError for bounds, values or a pattern that are of another kind than the column."""
    match expectation:
        case Between():
            asked = {_KINDS[find_bound_type(bound)] for bound in (expectation.low, expectation.high) if bound is not None}
            remedy = 'dates, moments and times are texts: "2023-01-31", "2023-01-31T23:59:59", "17:30"'
        case InSet():
            asked = {_name_value_kind(value, kind) for value in expectation.values}
            remedy = 'put quotes around texts ("1"), dates and times, none around numbers'
        case Matches():
            asked, remedy = {"text"}, "choose another expectation"
        case _:
            return
    if asked != {kind}:
        raise InputError("unfitting-expectation", where,
                         f"The column holds {kind}, and the expectation speaks of {' and '.join(sorted(asked - {kind}))}.",
                         f"an expectation about {kind}", remedy)  # fmt: skip


def _kind(data: Microdata, name: str) -> str:
    return "text" if data.is_text(name) else _KINDS.get(data.column(name).type, "numbers")


def _name_value_kind(value: object, kind: str) -> str:
    if not isinstance(value, str):
        return "numbers"
    if kind in {"text", "numbers"}:
        return "text"
    try:
        return _KINDS[find_bound_type(value)]
    except ValueError:
        return "text"


def _verdicts(wanted: Sequence[AnyExpectation], data: Microdata) -> list[bool]:
    """What great-expectations says, in the order asked. Columns go by number: names may hold anything."""
    gx: Any = importlib.import_module("great_expectations")  # seconds to import: only where a table is validated
    base: Any = importlib.import_module("great_expectations.data_context.types.base")
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = base.ProgressBarsConfig(globally=False)
    asset = context.data_sources.add_pandas("source").add_dataframe_asset("table")
    whole = asset.add_batch_definition_whole_dataframe("whole")

    def holds(expectation: AnyExpectation) -> bool:
        """Of its own columns alone: each time great-expectations goes through all that it is given."""
        columns = {name: f"column {position}" for position, name in enumerate(list_expected_columns(expectation))}
        values = {column: series(data.column(name)) for name, column in columns.items()}
        batch = whole.get_batch({"dataframe": pd.DataFrame(values, index=pd.RangeIndex(data.n))})
        return bool(batch.validate(_translate_expectation(expectation, columns, data), result_format="BOOLEAN_ONLY").success)

    return [holds(expectation) for expectation in wanted]


def _translate_expectation(expectation: AnyExpectation, columns: dict[str, str], data: Microdata) -> Any:
    gxe: Any = importlib.import_module("great_expectations.expectations")
    match expectation:
        case NotMissing():
            return gxe.ExpectColumnValuesToNotBeNull(column=columns[expectation.attribute])
        case Between():
            bounds = {"min_value": as_number(expectation.low), "max_value": as_number(expectation.high)}
            return gxe.ExpectColumnValuesToBeBetween(column=columns[expectation.attribute], **bounds)
        case InSet():
            values = [as_number(v) if data.is_calendar(expectation.attribute) else v for v in expectation.values]
            return gxe.ExpectColumnValuesToBeInSet(column=columns[expectation.attribute], value_set=values)
        case Unique() if len(expectation.attributes) == 1:
            return gxe.ExpectColumnValuesToBeUnique(column=columns[expectation.attributes[0]])
        case Unique():
            together = [columns[name] for name in expectation.attributes]
            return gxe.ExpectCompoundColumnsToBeUnique(column_list=together, ignore_row_if="any_value_is_missing")
        case RowsBetween():
            return gxe.ExpectTableRowCountToBeBetween(min_value=expectation.low, max_value=expectation.high)
        case Matches():
            return gxe.ExpectColumnValuesToMatchRegex(
                column=columns[expectation.attribute], regex=anchor_pattern(expectation.pattern)
            )
        case HoldsNumbers():
            numbers = ["Int64Dtype", "float64"]
            return gxe.ExpectColumnValuesToBeInTypeList(column=columns[expectation.attribute], type_list=numbers)
        case _:
            assert_never(expectation)
