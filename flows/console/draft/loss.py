"""The last line of a drafted policy: a limit of the loss that the drafted groups can keep, and what to do if it is too much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flows.console.draft.columns import Drafted, Step
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.table import Floats, Microdata, shared_codes

SSE_PERCENT = 40  # the limit of the loss, unless the groups lose more
CELLS_CHANGED = 0.5  # likewise, where there are no numbers
MOST_ROWS = 2000  # that are grouped to estimate a loss; a part of the rows is sparser, and loses more
UNUSED_SEED = bytes(32)  # MDAV draws nothing
TO_CHOOSE = "Choose it from what the table is for."
TOO_MUCH = "If that is too much, lower `k` (more risk), publish fewer columns, or coarser ones; then lower this limit."


def loss_line(data: Microdata, grouped: Sequence[Drafted], k: int) -> Step:
    """The policy line on the loss. grouped: the columns of the one step that masks."""
    numbers = any(column.attribute.scale is Scale.NUMERIC for column in grouped)
    return _of_numbers(data, grouped, k) if numbers else _of_categories(data, grouped)


def _of_numbers(data: Microdata, grouped: Sequence[Drafted], k: int) -> Step:
    why = "And the table must still be worth something: at most this percentage of the variation of the numbers is lost."
    told, expected = TO_CHOOSE, expected_sse_percent(data, grouped, k)
    if expected > SSE_PERCENT:
        told = f"The groups are expected to lose about {expected:.0f}% of it: so many columns have little in common. {TOO_MUCH}"
    if any(column.attribute.scale is not Scale.NUMERIC for column in grouped):
        told = f"{told} `cells_changed` with `attribute: NAME` limits what a column of categories loses."
    limit = min(100, max(SSE_PERCENT, 5 * int(np.ceil(expected / 5))))
    return Step({"measure": "sse_percent", "at_most": limit}, (why, told))


def expected_sse_percent(data: Microdata, grouped: Sequence[Drafted], k: int) -> float:
    """The loss of the numbers if 2,000 of the rows without gaps are grouped; 0 where too few rows are without."""
    gaps = np.logical_or.reduce([data.missing(column.name) for column in grouped])
    whole = np.flatnonzero(~gaps)
    if len(whole) < 2 * k:
        return 0.0
    part = data.take(whole[np.linspace(0, len(whole) - 1, min(MOST_ROWS, len(whole))).astype(np.int64)])
    varying = [column.attribute for column in grouped if len(set(part.column(column.name).to_pylist())) > 1]
    step = Microaggregation(method="microaggregation", attributes=tuple(one.name for one in varying), k=k)
    shown = mask(part, Schema(tuple(varying)), (step,), seed=UNUSED_SEED, path=("draft",)).data
    numbers = [one.name for one in varying if one.scale is Scale.NUMERIC]
    return float(np.mean([_lost_percent(part.floats(name), shown.floats(name)) for name in numbers])) if numbers else 0.0


def _lost_percent(values: Floats, masked: Floats) -> float:
    variation = float(((values - values.mean()) ** 2).sum())
    return 100 * float(((values - masked) ** 2).sum()) / variation if variation > 0 else 0.0


def _of_categories(data: Microdata, grouped: Sequence[Drafted]) -> Step:
    why = "And the table must still be worth something: at most this share of the masked cells is changed."
    most = float(np.mean([_share_changed(data, column) for column in grouped]))
    told = TO_CHOOSE if most <= CELLS_CHANGED else f"The groups change at most about {most:.0%} of them. {TOO_MUCH}"
    limit = min(1.0, max(CELLS_CHANGED, float(np.ceil(20 * most)) / 20))
    return Step({"measure": "cells_changed", "at_most": limit}, (why, told))


def _share_changed(data: Microdata, column: Drafted) -> float:
    """The share of cells that differ if everybody is given the median or the mode: smaller groups are nearer to theirs."""
    if column.categorical:
        counts = np.bincount(shared_codes(data.column(column.name).drop_null())[0])
        return float(counts.sum() - counts.max()) / data.n
    values = data.floats(column.name)[~data.missing(column.name)]
    median = np.sort(values)[(len(values) - 1) // 2]
    return float((values != median).sum()) / data.n
