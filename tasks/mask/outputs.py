"""What the masking stages return, by address."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from tasks.mask.methods import Masking, Mechanism
from tasks.microdata.refs import RecordRef, TableRef

Mechanisms = tuple[Mechanism, ...]


class MaskOutputs(TypedDict):
    """What became of the table.

    masked: rows aligned with the original, as the evaluation sees them and the intruder does not. alignment: whose row each is.
    released: the same rows in the order of the file, with pseudonyms: what is published. mechanisms: what an intruder may know
    of how it was done. notes: what the steward should know.
    """

    masked: TableRef
    alignment: TableRef
    released: TableRef
    mechanisms: RecordRef[Mechanisms]
    notes: RecordRef[tuple[str, ...]]


class SetAsideOutputs(TypedDict):
    """data: what is masked and attacked from here on. control: the records that nobody is shown."""

    data: TableRef
    control: TableRef


class KeptGroupsOutputs(TypedDict):
    """data: what is masked and attacked from here on. steps: with the groups that they keep. notes: for the steward.

    history: who was ever released in the series, in which cohort, and whose rows have left (`FrozenMasking`);
        absent where no group is kept.
    """

    data: TableRef
    steps: RecordRef[tuple[Masking, ...]]
    history: NotRequired[TableRef]
    notes: RecordRef[tuple[str, ...]]


class ControlOutputs(TypedDict):
    """People of another table as a control, in the columns of the source."""

    control: TableRef
