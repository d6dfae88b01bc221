"""Which rows of two releases an intruder recognises as one person's: by what both show unchanged, or by pseudonyms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tasks.attack.together.row_links import compare_columns, find_lasting_columns, key_rows
from tasks.mask.methods import Mechanism
from tasks.mask.pseudonyms import Pseudonyms
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Schema
from tasks.microdata.table import Booleans, Integers, Microdata, encode_jointly


@dataclass(frozen=True)
class ReleaseRows:
    """One of several releases, and where the records of the newest source are in it.

    original, masked, schema, mechanisms, alignment: as of `EarlierView`. record: shape (n,): the row in `original` of each
    record of the newest source, -1 where there is none; no row twice.
    """

    original: Microdata
    masked: Microdata
    schema: Schema
    mechanisms: tuple[Mechanism, ...]
    alignment: Alignment
    record: Integers

    @cached_property
    def row(self) -> Integers:
        """Shape (n,): the masked row of each record of the newest source, -1 where there is none."""
        rows = self.alignment.row_by_record
        return np.where(self.record >= 0, rows[self.record], -1) if len(rows) else np.full_like(self.record, -1)

    @property
    def unchanged_columns(self) -> tuple[str, ...]:
        """The published columns that no step masks."""
        masked = {name for step in self.mechanisms for name in step.target_attributes}
        return tuple(name for name in self.masked.names if name not in masked)

    @property
    def lasting_pseudonyms(self) -> frozenset[str]:
        """The identifiers whose pseudonyms are the same in all releases of the series."""
        steps = (step for step in self.mechanisms if isinstance(step, Pseudonyms) and step.stable == "series")
        return frozenset(name for step in steps for name in step.attributes if name in self.original.names)


def label_recognised(releases: Sequence[ReleaseRows]) -> Integers:
    """Shape (n, t): of each record's rows in the t releases, which ones the intruder recognises as one person's: equal labels.

    Rows of two releases are joined by `recognise_records`, and rows that are joined to one row are joined to each other. A
    record without a row in a release has a label of its own there.
    """
    label = np.tile(np.arange(len(releases)), (len(releases[0].record), 1))
    pairs = [(s, t) for t in range(len(releases)) for s in range(t)]
    together = {(s, t): recognise_records(releases[s], releases[t]) for s, t in pairs}
    for _ in releases:  # a chain of joins has fewer links than there are releases
        for (s, t), joined in together.items():
            least = np.minimum(label[:, s], label[:, t])
            label[joined, s] = label[joined, t] = least[joined]
    return label


def recognise_records(one: ReleaseRows, other: ReleaseRows) -> Booleans:
    """Shape (n,): the records of the newest source whose rows in two releases the intruder recognises as one person's.

    Two rows are joined if both show the same pseudonym, or the same combination of values in the columns that are published
    unchanged in both, and no other row of either does. An intruder may know which values never change in time, so that the
    columns count by themselves in which nobody's did. Two people's rows may match where somebody left and somebody else came;
    an intruder who knows who is in both versions does not join them, so that only joins of one person's rows count: the worst
    case.
    """
    present = (one.row >= 0) & (other.row >= 0)
    found = np.zeros(len(present), dtype=bool)
    for name in one.lasting_pseudonyms & other.lasting_pseudonyms:
        codes = encode_jointly(one.original.column(name), other.original.column(name))
        here, there = codes[0][one.record[present]], codes[1][other.record[present]]
        found[present] |= (here >= 0) & (here == there)
    columns = [name for name in one.unchanged_columns if name in other.unchanged_columns]
    tables, pairs = (one.masked.select(columns), other.masked.select(columns)), (one.row[present], other.row[present])
    shown, agreement = compare_columns(*tables, pairs)
    for names in (columns, find_lasting_columns(agreement)):
        if names:
            here, there = key_rows([shown[name] for name in names], (one.masked.n, other.masked.n))
            single, single_there = (np.bincount(key)[key] == 1 for key in (here, there))
            equal = here[pairs[0]] == there[pairs[1]]
            found[present] |= equal & single[pairs[0]] & single_there[pairs[1]]
    return found
