"""A table that another tool masked, or made up: what is known of how it was done."""

from __future__ import annotations

from typing import Literal

from tasks.mask.step import MaskStep
from tasks.microdata.spec import Names, Public
from tasks.microdata.words import join_with_and


class Undeclared(MaskStep):
    """What stands for the mechanism of a table that was masked elsewhere by a method that nobody declared.

    attributes: those whose values differ from the source's.
    Somebody who knows the method may follow it: the transparency attack is required, and not followed (`why_lost`).
    """

    method: Public[Literal["undeclared"]] = "undeclared"
    attributes: Public[Names]

    @property
    def moves_values(self) -> bool:
        return True  # nobody knows, so it may be

    @property
    def no_attack_reason(self) -> str:
        return "nobody declared how it was done, and somebody who knows may find more"

    @property
    def rule(self) -> str:
        return f"a method that nobody declared, which changed {join_with_and(self.target_attributes)}"


class Synthetic(MaskStep):
    """What stands for the mechanism of a table whose rows belong to nobody: no record was turned into a row.

    attributes: all that are published.
    """

    method: Public[Literal["synthetic"]] = "synthetic"
    attributes: Public[Names]

    @property
    def moves_values(self) -> bool:
        return True

    @property
    def can_be_followed(self) -> bool:
        return False

    @property
    def no_attack_reason(self) -> str:
        return "no record was turned into a row, so that there is nothing to follow from a record to its row"

    @property
    def rule(self) -> str:
        return "the synthesis of rows that belong to nobody"
