"""What the drafted groups can be expected to do to a table: the same mask on some of its rows, measured as a release is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flows.cli.draft.column_proposals import DraftColumn
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.codes import joint_codes
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Integers, Microdata, encode_jointly
from tasks.score.category_loss import categories_lost, category_association_difference
from tasks.score.loss import sse_percent
from tasks.score.synthetic.distribution_loss import marginal_difference
from tasks.score.table_pair import RowwiseTablePair

MOST_ROWS = 2000  # that are grouped to estimate a loss; a part of the rows is sparser, and loses more
UNUSED_SEED = bytes(32)  # MDAV draws nothing


@dataclass(frozen=True, slots=True)
class Expected:
    """Some rows without gaps before and after the drafted groups; `figures` are those of the table, by measure."""

    tables: RowwiseTablePair
    groups: Integers
    figures: dict[str, float]

    def insiders_find(self, name: str) -> float:
        """The share of the records that somebody finds who knows the published value of one more column, on average.

        Example: ten records that look alike, two of which have the same weight and eight one of their own: 0.9.
        """
        (values,) = encode_jointly(self.tables.original.column(name))
        together = joint_codes([self.groups, values + 1], self.tables.original.n)
        return len(np.unique(together)) / len(together)


def estimate_effects(data: Microdata, columns: Sequence[DraftColumn], k: int) -> Expected | None:
    """Group up to 2,000 rows without gaps; None where too few rows are without, or no column that would be grouped varies."""
    grouped = [column for column in columns if column.groupable]
    gaps = np.logical_or.reduce([data.missing(column.name) for column in grouped])
    whole = np.flatnonzero(~gaps)
    if len(whole) < 2 * k:
        return None
    part = data.take(whole[np.linspace(0, len(whole) - 1, min(MOST_ROWS, len(whole))).astype(np.int64)])
    varying = [column.attribute for column in grouped if len(part.column(column.name).unique()) > 1]
    if not varying:
        return None
    names = [one.name for one in varying]
    step = Microaggregation(method="microaggregation", attributes=tuple(names), k=k)
    shown = mask(part.select(names), Schema(tuple(varying)), (step,), seed=UNUSED_SEED, path=("draft",)).data
    weights = [column.attribute for column in columns if column.attribute.role is Role.WEIGHT]
    kept = [*names, *(one.name for one in weights)]
    released = Microdata(part.select(kept).arrow)
    for name in names:
        released = released.replace_column(name, shown.column(name))
    tables = RowwiseTablePair(part, released, Schema((*varying, *weights)), (step,))
    groups = joint_codes([encode_jointly(shown.column(name))[0] + 1 for name in names], part.n)
    found = (
        *sse_percent(tables),
        *marginal_difference(tables),
        *categories_lost(tables),
        category_association_difference(tables),
    )
    figures = {one.measure: one.value for one in found if one.attribute is None and one.value is not None}
    return Expected(tables, groups, figures)
