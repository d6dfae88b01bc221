"""How a record is compared with a released row, attribute by attribute: both files in columns whose differences are computed.

By default every attribute weighs the same, so that two random records differ by 2 on average in each: numeric and ordinal
attributes, dates (in days) and times (in seconds) count the squared difference in standard deviations (n - 1), nominal ones and
codes 2 * [x differs from y] / m with m the share of pairs of records that differ. A missing value is 2 from a present one and 0
from another missing one. An attribute that is constant in the scaling file counts 0. Other choices (`Compared`) also add 2 on
average over the pairs of records of the scaling file; for Gower's coefficient a share from 0 to 1 instead.

How the differences of all attributes are joined to a distance is said in `distances`, and which rows are nearest in `nearest`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from tasks.ingest.codebooks.categories import Hierarchy
from tasks.microdata.by_attribute import MappingForm, WrittenMapping
from tasks.microdata.codes import stack_distinct_rows
from tasks.microdata.compiled import njit
from tasks.microdata.errors import InputError
from tasks.microdata.positions import extract_positions
from tasks.microdata.row_hashes import stack_unordered_rows
from tasks.microdata.scaling import compute_share_of_unequal_pairs, compute_variance, standardise_values
from tasks.microdata.schema import CATEGORICAL, Attribute, Schema
from tasks.microdata.spec import Name, Spec
from tasks.microdata.table import DATE, MOMENT, Booleans, Floats, Integers, Microdata, encode_jointly
from tasks.microdata.value_ranks import count_below_and_up_to

ScaleBy = Literal["release", "original", "own"]
By = Literal["squared", "absolute", "rank", "equality", "hierarchy", "date_parts"]
SQUARED, EQUAL, ABSOLUTE = 0, 1, 2  # what is done with the two values of a column
ORDERED: tuple[By, ...] = ("squared", "absolute", "rank")

_MISSING = dict.fromkeys(("own", "shown"), "a missing value, which `write_differences` asks for")


class Compared(Spec):
    """How two values of one attribute are compared.

    by: `squared` (default of what has an order): the squared difference of the positions; `absolute`: their difference; `rank`:
        the squared difference of their mid-ranks in the scaling file; `equality` (default of categories): do they differ?;
        `hierarchy`: the share of the levels at which they differ; `date_parts`: how many of year, month and day differ.
    hierarchy: the parent of each category, as in a codebook; a release may show parents instead of categories.
    """

    by: By
    hierarchy: Hierarchy | None = None

    @model_validator(mode="after")
    def _has_its_hierarchy(self) -> Self:
        if (self.by == "hierarchy") != (self.hierarchy is not None):
            raise ValueError("`by: hierarchy` needs `hierarchy`, and nothing else takes one")
        return self


ComparedBy = Annotated[
    tuple[tuple[Name, Compared], ...],
    Field(min_length=1),
    BeforeValidator(WrittenMapping(Compared)),
    PlainSerializer(dict),
    MappingForm(Compared),
]


@dataclass(frozen=True, slots=True)
class ComparedColumns:
    """What is done with the columns of two records: SQUARED, EQUAL or ABSOLUTE, the weight, and the attribute of each column.

    kind, weight, attribute: shape (columns,), attributes 0..n_attributes-1 ascending. missing_out: is an attribute that one of
    two records lacks left out (NaN), whether the other has it or not? Else two missing values do not differ.
    """

    kind: Integers
    weight: Floats
    attribute: Integers
    n_attributes: int
    missing_out: bool

    @property
    def is_plain(self) -> bool:
        """Is each column an attribute that counts its squared difference, or whether it differs?"""
        return not self.missing_out and len(self.kind) == self.n_attributes and bool((self.kind <= EQUAL).all())

    @classmethod
    def create_plain(cls, nominal: Booleans, weight: Floats) -> ComparedColumns:
        """Each column is an attribute, of which a difference counts weight (nominal) or weight * difference^2."""
        return cls(np.where(nominal, EQUAL, SQUARED), weight, np.arange(len(weight)), len(weight), missing_out=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The distinct records of the intruder and the distinct released rows, in the columns of what they know.

    own, shown: shape (r, columns) and (c, columns), NaN is missing; own_of_record, shown_of_row: which of them each record and
    row is.
    """

    own: Floats
    own_of_record: Integers
    shown: Floats
    shown_of_row: Integers
    columns: ComparedColumns

    @property
    def nominal(self) -> Booleans:
        """Shape (columns,): is it compared by equality?"""
        nominal: Booleans = self.columns.kind == EQUAL
        return nominal

    @property
    def weight(self) -> Floats:
        return self.columns.weight

    def select_records(self, wanted: Integers) -> Comparison:
        """The comparison of some of the intruder's records, in this order."""
        classes, own_of_record = np.unique(self.own_of_record[wanted], return_inverse=True)
        return replace(self, own=self.own[classes], own_of_record=own_of_record)


@dataclass(frozen=True, slots=True)
class _Scaling:
    """Whose values scale the attributes, and whether they add a share of at most 1 (Gower) or 2 on average."""

    by: ScaleBy
    shares: bool


_Column = tuple[Floats, Floats, int, float]  # own, shown, kind, weight


def create_comparison(
    original: Microdata,
    masked: Microdata,
    schema: Schema,
    knows: tuple[str, ...],
    scale_by: ScaleBy,
    compared: tuple[tuple[str, Compared], ...] = (),
    *,
    shares: bool = False,
    wanted: Integers | None = None,
    sorts: bool = True,
) -> Comparison:
    """Put the intruder's records beside the released rows, in the order of `knows`.

    scale_by: whose values scale the differences: the release's (an intruder has them whatever they hold), the original's, or
        each file's own (both are centred too, as some papers do; nominal attributes then go by the release).
    compared: how, for some attributes; the others as it is the default of their scale. shares: for Gower's coefficient, in
        which what has an order is compared `absolute` by default. wanted: the records of the intruder that are compared, in
        this order; default: all. The others scale the attributes none the less. sorts: do the distinct records and rows
        ascend? Else they stand in any order, which takes less time.

    Raises InputError for a comparison that does not fit its attribute, a category outside its hierarchy, a known ordinal text
    without an order, a category outside that order, and an infinite value.
    """
    scaling, by_name = _Scaling(scale_by, shares), dict(compared)
    columns, attribute_of, attributes = list[_Column](), list[int](), schema.select(knows)
    for j, attribute in enumerate(attributes):
        how = by_name.get(attribute.name) or Compared(by=_default(attribute, shares=shares))
        _check_fits(how, attribute, original)
        made = _create_columns(original, masked, schema, attribute, how, scaling)
        columns += made if wanted is None else [(column[0][wanted], *column[1:]) for column in made]
        attribute_of += [j] * (len(columns) - len(attribute_of))
    kind, weight = np.array([column[2] for column in columns]), np.array([column[3] for column in columns])
    compared_columns = ComparedColumns(kind, weight, np.array(attribute_of), len(attributes), shares)
    own, shown = [column[0] for column in columns], [column[1] for column in columns]
    columns.clear()
    stack = stack_distinct_rows if sorts else stack_unordered_rows
    return Comparison(*stack(own), *stack(shown), compared_columns)


@njit
def write_differences(
    x: Floats, y: Floats, kind: Integers, weight: Floats, attribute: Integers, missing_out: bool, delta: Floats
) -> None:
    """Write how two records differ in each attribute into `delta`: signed where it has an order, NaN if a value is missing."""
    delta[:] = 0.0
    for e in range(len(kind)):
        j = attribute[e]
        if np.isnan(x[e]) or np.isnan(y[e]):
            if missing_out or np.isnan(x[e]) != np.isnan(y[e]):
                delta[j] = np.nan
        elif kind[e] == 0:
            delta[j] = np.sqrt(weight[e]) * (x[e] - y[e])
        elif kind[e] == 2:
            delta[j] = np.sign(x[e] - y[e]) * np.sqrt(weight[e] * abs(x[e] - y[e]))
        elif x[e] != y[e]:
            delta[j] = np.sqrt(delta[j] * delta[j] + weight[e])


@njit(missing=_MISSING)
def compute_differences(
    own: Floats, shown: Floats, kind: Integers, weight: Floats, attribute: Integers, n_attributes: int, missing_out: bool
) -> Floats:
    """How the records of two lists differ, one by one, shape (m, d)."""
    found = np.empty((len(own), n_attributes))
    for i in range(len(own)):
        write_differences(own[i], shown[i], kind, weight, attribute, missing_out, found[i])
    return found


def _default(attribute: Attribute, *, shares: bool) -> By:
    if attribute.scale in CATEGORICAL:
        return "equality"
    return "absolute" if shares else "squared"


def _check_fits(how: Compared, attribute: Attribute, data: Microdata) -> None:
    location, name = f"attacks: compare.{attribute.name}", attribute.name
    if how.by in ORDERED and attribute.scale in CATEGORICAL:
        what = f"`{name}` is {attribute.scale}: its values have no order, so that they cannot be compared by `{how.by}`"
        raise InputError(
            "no-order", location, what, "equality, hierarchy", "compare it by equality, or declare its order", how.by
        )
    if how.by == "date_parts" and data.column(name).type not in (DATE, MOMENT):
        what = f"`{name}` holds no dates: they have no year, month and day"
        raise InputError("not-a-date", location, what, "an attribute of dates", "compare it by squared or equality", how.by)


def _create_columns(
    original: Microdata, masked: Microdata, schema: Schema, attribute: Attribute, how: Compared, scaling: _Scaling
) -> list[_Column]:
    if how.by in ORDERED:
        return [_create_ordered_column(original, masked, schema, attribute, how.by, scaling)]
    pair = original.column(attribute.name), masked.column(attribute.name)
    if how.hierarchy is not None:
        return _parts(_levels(pair, how, f"attacks: compare.{attribute.name}"), scaling)
    if how.by == "date_parts":
        return _parts([(of(pair[0]), of(pair[1])) for of in (pc.year, pc.month, pc.day)], scaling)
    return _parts([pair], scaling)


def _create_ordered_column(
    original: Microdata, masked: Microdata, schema: Schema, attribute: Attribute, by: By, scaling: _Scaling
) -> _Column:
    location = f"attacks: {attribute.name}"
    own = extract_positions(original, schema, attribute.name, location)
    shown = extract_positions(masked, schema, attribute.name, location)
    if by == "rank":
        own, shown = _ranks(own, shown, scaling.by)
    if scaling.by == "own":
        own, shown = _scale_by_own_values(own, by, scaling), _scale_by_own_values(shown, by, scaling)
    scale = _scale(own if scaling.by == "original" else shown, by, scaling)
    weight = 0.0 if scale == 0 else 1.0 if scaling.by == "own" else 1 / scale  # by own values both are scaled already
    return own, shown, ABSOLUTE if by == "absolute" else SQUARED, weight


def _scale(values: Floats, by: By, scaling: _Scaling) -> float:
    """What an attribute's difference is divided by."""
    if not scaling.shares:
        return _mean_difference(np.sort(values[~np.isnan(values)])) / 2 if by == "absolute" else compute_variance(values)
    present = values[~np.isnan(values)]
    spread = float(present.max() - present.min()) if len(present) else 0.0
    return spread if by == "absolute" else spread**2


def _scale_by_own_values(values: Floats, by: By, scaling: _Scaling) -> Floats:
    if by != "absolute" and not scaling.shares:
        return standardise_values(values)
    scale = _scale(values, by, scaling)
    present = np.sort(values[~np.isnan(values)])
    centre = (float(present[0]) if scaling.shares else float(present.mean())) if len(present) else 0.0
    scaled: Floats = (values - centre) / (scale if by == "absolute" else np.sqrt(scale)) if scale > 0 else values * 0.0
    return scaled


def _mean_difference(ascending: Floats) -> float:
    """The mean absolute difference of two values (Gini's), 0 where there is no pair."""
    n = len(ascending)
    if n < 2:
        return 0.0
    centred = ascending - ascending[n // 2]
    return float(2 * (centred * (2 * np.arange(1, n + 1) - n - 1)).sum() / (n * (n - 1)))


def _ranks(own: Floats, shown: Floats, scale_by: ScaleBy) -> tuple[Floats, Floats]:
    """Mid-ranks as shares of the scaling file (of its own file each, if so)."""
    scaling = own if scale_by == "original" else shown
    return _rank_in(own, own if scale_by == "own" else scaling), _rank_in(shown, scaling)


def _rank_in(values: Floats, scaling: Floats) -> Floats:
    present = np.sort(scaling[~np.isnan(scaling)])
    below, up_to = count_below_and_up_to(present, values)
    return np.where(np.isnan(values), np.nan, (below + up_to) / (2 * max(len(present), 1)))


def _parts(pairs: Iterable[tuple[pa.Array, pa.Array]], scaling: _Scaling) -> list[_Column]:
    """Columns of codes of one attribute, of which each that differs adds the same."""
    coded = [tuple(np.where(one < 0, np.nan, one).astype(np.float64) for one in encode_jointly(*pair)) for pair in pairs]
    differing = sum(compute_share_of_unequal_pairs(own if scaling.by == "original" else shown) for own, shown in coded)
    weight = 1 / len(coded) if scaling.shares else 2 / differing if differing > 0 else 0.0
    return [(own, shown, EQUAL, weight) for own, shown in coded]


def _levels(pair: tuple[pa.Array, pa.Array], how: Compared, location: str) -> list[tuple[pa.Array, pa.Array]]:
    """The categories, and their ancestors at each level; what is shown as a parent is its own category below its level."""
    assert how.hierarchy is not None  # noqa: S101  the validator has seen to it
    texts = [column.cast(pa.string()) for column in pair]
    height = len(how.hierarchy.levels)
    above = [how.hierarchy.ancestors(level) for level in range(height + 1)]
    known = {name for level in above for name in level.values()}
    strangers = [text for column in texts for text in pc.unique(column.drop_null()).to_pylist() if text not in known]
    if strangers:
        what = f"{len(strangers)} categories are nowhere in the hierarchy"
        raise InputError("unknown-category", location, what, "categories of the hierarchy", "complete the hierarchy")
    at = [{**{name: name for name in known}, **_upwards(above, level)} for level in range(height + 1)]
    return [(_replace_categories(texts[0], mapping), _replace_categories(texts[1], mapping)) for mapping in at]


def _upwards(above: list[dict[str, str]], level: int) -> dict[str, str]:
    """Every category and every parent up to a level -> its ancestor there."""
    return {lower[category]: above[level][category] for lower in above[: level + 1] for category in lower}


def _replace_categories(column: pa.Array, mapping: dict[str, str]) -> pa.Array:
    return pa.array([None if text is None else mapping[text] for text in column.to_pylist()], pa.string())
