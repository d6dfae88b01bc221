"""Information loss: how far the masked cells are from the original ones, and the statistics that analysts compute first.

Shared rules. A cell is compared where it is present in both tables; cells that were suppressed are counted by `cells_changed`
alone. Deviations are taken from the original's mean, standard deviations are the original's with n - 1. A numeric attribute
that is constant in the original has no scale: unchanged it loses nothing, changed it makes a figure in standard
deviations `not_applicable`, because no finite number would be true. Dates and times are numeric here: dates count in days,
moments in days and their fraction, times in seconds; no figure depends on that unit. Measures of loss have neither interval
nor chance level.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import MEASURED, Attribute, Scale
from tasks.microdata.table import Booleans, Floats
from tasks.score.measure import Measure
from tasks.score.measures.loss import CELLS_CHANGED, IL1S, MEAN_DIFFERENCE, RECORDS_ABSENT, SSE_PERCENT
from tasks.score.table_pair import RowwiseTablePair, TablePair

CellLoss = Callable[[Floats, Floats], float]


def records_absent(tables: RowwiseTablePair) -> Estimate:
    """Share of the source's records that are not released; 0 if all are. Persons count by their rows here too."""
    n = tables.all_records.n
    return _loss(RECORDS_ABSENT, (n - tables.masked.n) / n)


def sse_percent(tables: RowwiseTablePair) -> tuple[Estimate, ...]:
    """Squared change of the masked numeric attributes, in percent of their variation.

    Meaning: 0 is no change; 100 is what replacing every value by the mean loses; independent noise can lose more.
    Formula in words: per attribute 100 * SSE / SST, the sum of (masked - original)^2 over the sum of (original - mean)^2; for
    the table the mean over the numeric attributes that a step masked. It is the same on z-scores by the original.

    Ordinal codes are not in it, because their differences mean nothing: `reason` names those that were masked.

    Returns the table's figure first, then one per attribute; percent, 0 and up. Not applicable where no numeric attribute was
    masked.
    Cost: O(n) per attribute.
    Source: the IL of Domingo-Ferrer and Mateo-Sanz 2002 for microaggregation; docs/SCIENCE.md section 6.

    Example: swapping the two values of a table of two records gives 400: each moves by two deviations from the mean.
    """
    return _cell_measure(tables, SSE_PERCENT, compute_squared_error_percent)


def il1s(tables: RowwiseTablePair) -> tuple[Estimate, ...]:
    """Mean absolute change of a masked numeric cell, in units of sqrt(2) standard deviations.

    Meaning: how far a cell is from its original, where 1 is the standard deviation of the difference of two random people.
    Formula in words: per attribute the mean of |masked - original| / (sqrt(2) * sd); for the table the mean over the numeric
    attributes that a step masked.

    A mean per cell, not a sum: doubling the data does not change it (but for the n - 1 in sd). Cells whose original is 0 count
    like all others.

    Returns the table's figure first, then one per attribute; 0 and up. Not applicable where no numeric attribute was masked.
    Cost: O(n) per attribute.
    Source: Mateo-Sanz, Sebe and Domingo-Ferrer 2004 (IL1s). sdcMicro's IL1 is the sum and drops originals that are 0.

    Example: a column of standard deviation 1 with sqrt(2) added to each cell gives 1.
    """
    return _cell_measure(tables, IL1S, absolute_change)


def cells_changed(tables: RowwiseTablePair) -> tuple[Estimate, ...]:
    """Share of the masked cells that differ from the original.

    Meaning: how much of what was masked was in truth altered: a swap of equal values alters nothing.
    Formula in words: cells of masked attributes whose value differs, over all cells of masked attributes. A value that became
    missing, or the other way round, differs; missing that stayed missing does not.

    Returns the table's figure first, then one per attribute of any scale; share in [0, 1]. Not applicable without a mask.
    Cost: O(n log n) per attribute.
    Source: docs/SCIENCE.md section 7.

    Example: popul of anes96 is 24 % zeros: a 10 % swap leaves 25 % of its cells as they were.
    """
    shares = {}
    for attribute in tables.select_masked_attributes(*Scale):
        shares[attribute.name] = float(_flag_changed(tables, attribute).mean())
    if not shares:
        return (_not_applicable(CELLS_CHANGED, "no published attribute was masked"),)
    parts = (_loss(CELLS_CHANGED, share, attribute=name) for name, share in shares.items())
    return (_loss(CELLS_CHANGED, float(np.mean(list(shares.values())))), *parts)


def mean_difference(tables: TablePair) -> tuple[Estimate, ...]:
    """Distance between the mean of the original and of the release, in standard deviations of the original.

    Formula in words: |mean of the masked values - mean of the original values| / sd. Each mean is over the values present in
    its own table, as an analyst computes it, so that suppression shows.

    Returns one estimate per masked numeric attribute; 0 and up, without a sign, so that a limit bounds both directions.
    Cost: O(n) per attribute.
    Source: one of the five comparisons of Domingo-Ferrer and Torra 2001, there relative to the mean, which has no scale.

    Example: microaggregation and rank swapping keep the mean: 0 up to the precision of publication.
    """
    return tuple(_mean_difference(tables, attribute) for attribute in tables.select_masked_attributes(*MEASURED))


def compute_squared_error_percent(original: Floats, masked: Floats) -> float:
    """100 * SSE / SST of one attribute; shape (n,) each, no NaN; NaN where a constant was changed."""
    differences = masked - original
    error = float(np.sum(np.square(differences, out=differences)))
    np.subtract(original, original.mean(), out=differences)
    variation = float(np.sum(np.square(differences, out=differences)))
    return 100 * _ratio(error, variation if _varies(original) else 0.0)


def absolute_change(original: Floats, masked: Floats) -> float:
    """Mean of |masked - original| / (sqrt(2) sd); shape (n,) each, no NaN; NaN where a constant was changed."""
    sd = float(np.std(original, ddof=1)) if _varies(original) else 0.0
    changes = masked - original
    return _ratio(float(np.mean(np.abs(changes, out=changes))), float(np.sqrt(2) * sd))


def _flag_changed(tables: RowwiseTablePair, attribute: Attribute) -> Booleans:
    if tables.compares_as_numbers(attribute):
        original, masked = tables.positions(attribute)
        return np.asarray((original != masked) & (_present(original) | _present(masked)))
    codes, masked_codes = tables.codes(attribute.name)
    return np.asarray(codes != masked_codes)


def _ratio(change: float, scale: float) -> float:
    if scale > 0:
        return change / scale
    return 0.0 if change == 0 else float("nan")


def _varies(values: Floats) -> bool:
    return bool(values.min() < values.max())  # a computed sd of a constant need not be exactly 0


def _cell_measure(tables: RowwiseTablePair, measure: Measure, loss_of: CellLoss) -> tuple[Estimate, ...]:
    attributes = tables.select_masked_attributes(*MEASURED)
    note = _ordinal_note(tables)
    if not attributes:
        return (_not_applicable(measure, "; ".join(filter(None, ["no numeric attribute was masked", note]))),)
    losses = {attribute.name: _compute_present_loss(tables, attribute, loss_of) for attribute in attributes}
    parts = [_attribute_loss(measure, name, loss) for name, loss in losses.items()]
    unscaled = [part.attribute for part in parts if part.value is None]
    if unscaled:
        return (_not_applicable(measure, f"without a scale: {', '.join(map(str, unscaled))}"), *parts)
    return (_loss(measure, float(np.mean(list(losses.values()))), reason=note), *parts)


def _compute_present_loss(tables: RowwiseTablePair, attribute: Attribute, loss_of: CellLoss) -> float:
    original, masked = tables.positions(attribute)
    both = _present(original) & _present(masked)
    if not both.all():
        original, masked = original[both], masked[both]
    return loss_of(original, masked) if len(original) else float("nan")


def _attribute_loss(measure: Measure, name: str, loss: float) -> Estimate:
    if np.isnan(loss):
        reason = "the attribute is constant in the original and was changed, or no cell is present in both tables"
        return _not_applicable(measure, reason, attribute=name)
    return _loss(measure, loss, attribute=name)


def _mean_difference(tables: TablePair, attribute: Attribute) -> Estimate:
    original, masked = tables.positions(attribute)
    before, after = _drop_missing(original), _drop_missing(masked)
    if len(before) == 0 or len(after) == 0:
        return _attribute_loss(MEAN_DIFFERENCE, attribute.name, float("nan"))
    sd = float(np.std(before, ddof=1)) if _varies(before) else 0.0
    shift = float(np.mean(after - before[0]) - np.mean(before - before[0]))  # large values of small spread keep their digits
    return _attribute_loss(MEAN_DIFFERENCE, attribute.name, _ratio(abs(shift), sd))


def _ordinal_note(tables: RowwiseTablePair) -> str | None:
    names = [attribute.name for attribute in tables.select_masked_attributes(Scale.ORDINAL)]
    return f"ordinal codes are not in it: {', '.join(names)}" if names else None


def _drop_missing(values: Floats) -> Floats:
    present = _present(values)
    return values if present.all() else values[present]


def _present(values: Floats) -> Booleans:
    return np.asarray(~np.isnan(values))


def _loss(measure: Measure, value: float, *, attribute: str | None = None, reason: str | None = None) -> Estimate:
    return Estimate(measure=measure.name, attribute=attribute, value=value, unit=measure.unit, reason=reason)


def _not_applicable(measure: Measure, reason: str, *, attribute: str | None = None) -> Estimate:
    return Estimate(
        measure=measure.name, attribute=attribute, value=None, unit=measure.unit, status="not_applicable", reason=reason
    )
