"""The rule by which records of mixed scales are compared: one squared distance, in which every attribute weighs the same.

Two random records differ by 2 on average in each attribute: numeric and ordinal attributes, dates (in days) and times (in
seconds) count the squared difference in standard deviations (n - 1), nominal ones and codes 2 * [x differs from y] / m with m
the share of pairs of records that differ. A missing value is 2 from a present one and 0 from another missing one. An attribute
that is constant in the scaling file counts 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.microdata.codes import find_distinct_rows
from tasks.microdata.compiled import njit
from tasks.microdata.positions import extract_positions
from tasks.microdata.scaling import share_of_pairs_that_differ, standardise_values, variance_of
from tasks.microdata.schema import CATEGORICAL, Attribute, Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata, encode_jointly

ScaleBy = Literal["release", "original", "own"]
MISSING_AGAINST_PRESENT = 2.0


@dataclass(frozen=True, slots=True)
class PlainComparison:
    """The distinct records of the intruder and the distinct released rows, in the attributes they know.

    own: shape (r, d), their distinct records; own_of_record: shape (n,), which of them each record is.
    shown: shape (c, d), the distinct released rows; shown_of_row: shape (n,), which of them each released row is.
    nominal, weight: shape (d,); a difference counts weight (nominal) or weight * difference^2. NaN is missing.
    """

    own: Floats
    own_of_record: Integers
    shown: Floats
    shown_of_row: Integers
    nominal: Booleans
    weight: Floats


def compare(
    original: Microdata, masked: Microdata, schema: Schema, knows: tuple[str, ...], scale_by: ScaleBy
) -> PlainComparison:
    """Put the intruder's records beside the released rows.

    scale_by: whose standard deviations scale the differences: the release's (an intruder has them whatever they hold), the
    original's, or each file's own (both are centred too, as some papers do; nominal attributes then go by the release).

    Raises InputError for a known ordinal text without an order, a category outside it, and an infinite value.
    """
    attributes = schema.select(knows)
    scaled = [_scale_attribute(original, masked, schema, attribute, scale_by) for attribute in attributes]
    own, own_of_record = find_distinct_rows(np.column_stack([part[0] for part in scaled]))
    shown, shown_of_row = find_distinct_rows(np.column_stack([part[1] for part in scaled]))
    nominal = np.array([attribute.scale in CATEGORICAL for attribute in attributes])
    return PlainComparison(own, own_of_record, shown, shown_of_row, nominal, np.array([part[2] for part in scaled]))


@njit(missing=dict.fromkeys("xy", "it asks for missing values"), infinite={"enough": "it only compares with it"})
def compute_record_distance(x: Floats, y: Floats, nominal: Booleans, weight: Floats, enough: float) -> float:
    """The squared distance of two records; infinity as soon as it is sure to be above `enough`."""
    total = 0.0
    for j in range(len(x)):
        if np.isnan(x[j]) or np.isnan(y[j]):
            total += 0.0 if np.isnan(x[j]) and np.isnan(y[j]) else MISSING_AGAINST_PRESENT
        elif nominal[j]:
            total += weight[j] if x[j] != y[j] else 0.0
        else:
            total += weight[j] * (x[j] - y[j]) * (x[j] - y[j])
        if total > enough:
            return np.inf
    return total


def _scale_attribute(
    original: Microdata, masked: Microdata, schema: Schema, attribute: Attribute, scale_by: ScaleBy
) -> tuple[Floats, Floats, float]:
    """The attribute in both files and its weight."""
    if attribute.scale in CATEGORICAL:
        own, shown = _codes(original, masked, attribute.name)
        return own, shown, _nominal_weight(own if scale_by == "original" else shown)
    place = f"attacks: {attribute.name}"
    own = extract_positions(original, schema, attribute.name, place)
    shown = extract_positions(masked, schema, attribute.name, place)
    if scale_by == "own":
        return standardise_values(own), standardise_values(shown), 1.0
    variance = variance_of(own if scale_by == "original" else shown)
    return own, shown, 1 / variance if variance > 0 else 0.0


def _codes(original: Microdata, masked: Microdata, name: str) -> tuple[Floats, Floats]:
    own, shown = (codes.astype(np.float64) for codes in encode_jointly(original.column(name), masked.column(name)))
    return np.where(own < 0, np.nan, own), np.where(shown < 0, np.nan, shown)


def _nominal_weight(codes: Floats) -> float:
    differing = share_of_pairs_that_differ(codes)
    return 2 / differing if differing > 0 else 0.0
