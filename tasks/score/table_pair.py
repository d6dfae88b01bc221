"""The original and the masked table side by side, row for row or each as a whole, and what was done between them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tasks.mask.methods import Mechanism
from tasks.microdata.schema import CATEGORICAL, MEASURED, Attribute, Role, Scale, Schema
from tasks.microdata.table import Floats, Integers, Microdata, encode_jointly
from tasks.score.sorted_columns import ColumnPair, SortedColumn

EXACT_WHOLE_NUMBERS = 2.0**53  # from it on floats are not all whole numbers


@dataclass(frozen=True, slots=True)
class TablePair:
    """What measures of whole tables compare: of any number of rows each, whose rows may have nothing to do with each other."""

    original: Microdata
    masked: Microdata
    schema: Schema
    mechanisms: tuple[Mechanism, ...]
    coded: dict[str, tuple[Integers, Integers]] = field(default_factory=dict, init=False, compare=False, repr=False)
    columns: dict[str, ColumnPair] = field(default_factory=dict, init=False, compare=False, repr=False)  # that were asked for

    def select_masked_attributes(self, *scales: Scale) -> tuple[Attribute, ...]:
        """The published attributes of the given scales that a step masked, in the order of the table."""
        names = {name for step in self.mechanisms for name in step.target_attributes}
        found = (attribute for attribute in self.schema.attributes if attribute.name in names and attribute.is_published)
        return tuple(attribute for attribute in found if attribute.scale in scales)

    def select_published_attributes(self, *scales: Scale) -> tuple[Attribute, ...]:
        """All published attributes of the given scales, masked or not."""
        return tuple(attribute for attribute in self.schema.attributes if attribute.is_published and attribute.scale in scales)

    def positions(self, attribute: Attribute) -> tuple[Floats, Floats]:
        """Two arrays of shapes (n,) and (m,): where the original and the masked values stand; NaN is missing. Read only."""
        pair = self.pair_columns(attribute)
        return pair.original.values, pair.masked.values

    def pair_columns(self, attribute: Attribute) -> ColumnPair:
        """The column of an attribute in both tables, read and sorted once for all measures: 32 bytes a row in each."""
        name = attribute.name
        if name not in self.columns:
            original = SortedColumn(self.original.positions(attribute))
            is_kept = not any(name in step.target_attributes for step in self.mechanisms)
            same = is_kept and self.original.column(name).equals(self.masked.column(name))
            self.columns[name] = ColumnPair(original, original if same else SortedColumn(self.masked.positions(attribute)))
        return self.columns[name]

    def compares_as_numbers(self, attribute: Attribute) -> bool:
        """Are two cells equal where their positions are? Not categories, text, -0.0, times, or whole numbers beyond 2^53."""
        name = attribute.name
        if attribute.scale in CATEGORICAL:  # which have no positions, also where they are written as numbers
            return False
        kinds = {table.arrow.schema.field(name).type for table in (self.original, self.masked)}
        if not kinds <= {pa.int64(), pa.float64()}:
            return False
        pair = self.pair_columns(attribute)
        ends = [one.ascending[[0, -1]] for one in (pair.original, pair.masked) if one.n_present]
        exact = all(float(np.abs(one).max()) < EXACT_WHOLE_NUMBERS for one in ends) or pa.int64() not in kinds
        return exact and not pair.has_negative_zeros

    def codes(self, name: str) -> tuple[Integers, Integers]:
        """Two arrays of shapes (n,) and (m,): equal values have equal codes; missing is -1. Read only."""
        if name not in self.coded:
            original, masked = encode_jointly(self.original.column(name), self.masked.column(name))
            if self.schema[name].scale not in MEASURED:  # of few values, and asked for by several measures
                self.coded[name] = original, masked
            return original, masked
        return self.coded[name]

    @property
    def is_weighted(self) -> bool:
        """Has the table survey weights?"""
        return any(not self.original.is_text(name) for name in self.schema.find_by_role(Role.WEIGHT))

    def weights(self) -> tuple[Floats, Floats]:
        """Two arrays of shapes (n,) and (m,): the survey weight of each record and each released row; 1 where there is none.

        Of several weights the first counts. A missing or negative weight is 0.
        """
        name = next((name for name in self.schema.find_by_role(Role.WEIGHT) if not self.original.is_text(name)), None)
        ones = np.ones(self.original.n), np.ones(self.masked.n)
        if name is None:
            return ones
        found = [np.maximum(np.nan_to_num(table.floats(name), nan=0.0), 0.0) for table in (self.original, self.masked)]
        return (found[0], found[1]) if min(one.sum() for one in found) > 0 else ones


@dataclass(frozen=True, slots=True)
class RowwiseTablePair(TablePair):
    """What the measures of records compare: row i of `masked` is the masked version of row i of `original`.

    The alignment is the evaluator's knowledge; no intruder has it, and the released file is shuffled.
    source: all records, where some of them are not released and so not in `original`.
    """

    source: Microdata | None = None

    @property
    def all_records(self) -> Microdata:
        """The table before masking, with the records that are not released."""
        return self.original if self.source is None else self.source

    def __post_init__(self) -> None:
        if self.original.n != self.masked.n:
            raise ValueError("the original and the masked table have the same number of rows")
