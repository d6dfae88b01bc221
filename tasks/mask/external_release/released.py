"""A table that another tool masked, or made up: what is known of how it was done."""

from __future__ import annotations

from typing import Literal

from tasks.mask.intruder_belief import Belief
from tasks.mask.mask_text import MaskText
from tasks.mask.step import IntruderView, MaskStep, Randomness
from tasks.microdata.schema import Schema
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

    @property
    def randomness(self) -> Randomness:
        return "by_row"

    @property
    def is_rule_for_values(self) -> bool:
        return False

    @property
    def answered_by(self) -> tuple[str, ...]:
        return ("transparency",)

    def infer(self, view: IntruderView) -> Belief:
        return view.knowledge.forget(self.attributes)

    def describe(self, schema: Schema) -> MaskText:
        return MaskText(
            title="Masked elsewhere, method not declared",
            text=f"{join_with_and(self.target_attributes)} had been masked before, elsewhere, by a method that nobody "
            "declared.",
            missing="The table was masked elsewhere: how missing values were treated there is not known.",
            attribute=lambda _: "masked elsewhere; the method was not declared",
        )


Aspect = Literal["displacements", "unchanged", "source values", "exchanges", "missing", "copies", "categories", "together"]
ASPECTS: dict[Aspect, str] = {
    "displacements": "how far values moved",
    "unchanged": "how many values stayed",
    "source values": "how many values occur in the source",
    "exchanges": "how many values changed places in pairs",
    "missing": "how many values are missing",
    "copies": "how many rows are alike",
    "categories": "which category became which",
    "together": "how attributes moved together",
}


class FalseDeclaration(MaskStep):
    """What stands beside declared steps that did not make the table: it does not show what they produce.

    attributes: those that show something else. aspects: what differs. Found by `find_false_declaration`. No attack that goes by
    the declared steps gives a figure: they are not those that were applied.
    """

    method: Public[Literal["false_declaration"]] = "false_declaration"
    attributes: Public[Names]
    aspects: Public[tuple[Aspect, ...]]

    @property
    def moves_values(self) -> bool:
        return True  # nobody knows, so it may be

    @property
    def no_attack_reason(self) -> str:
        return self.reason

    @property
    def reason(self) -> str:
        """Why no attack can go by the declared steps."""
        differing = join_with_and(ASPECTS[one] for one in self.aspects)
        return (
            f"the declared steps are not those that were applied: simulated, they give another result of "
            f"{join_with_and(self.target_attributes)} ({differing}; significance level 1e-6). Declare the true steps, or none"
        )

    @property
    def rule(self) -> str:
        return f"steps other than the declared ones, which changed {join_with_and(self.target_attributes)}"

    @property
    def randomness(self) -> Randomness:
        return "by_row"

    @property
    def is_rule_for_values(self) -> bool:
        return False

    @property
    def answered_by(self) -> tuple[str, ...]:
        return ("transparency",)

    def infer(self, view: IntruderView) -> Belief:
        return view.knowledge.forget(self.attributes)

    def describe(self, schema: Schema) -> MaskText:
        return MaskText(
            title="Masked elsewhere, not as declared",
            text=f"{join_with_and(self.target_attributes)} had been masked before, elsewhere, and not by the declared steps.",
            missing="The table was masked elsewhere: how missing values were treated there is not known.",
            attribute=lambda _: "masked elsewhere, not by the declared steps",
        )


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
    def no_attack_reason(self) -> str:
        return "no record was turned into a row, so that there is nothing to follow from a record to its row"

    @property
    def rule(self) -> str:
        return "the synthesis of rows that belong to nobody"

    @property
    def randomness(self) -> Randomness:
        return "by_row"

    @property
    def is_rule_for_values(self) -> bool:
        return False

    @property
    def answered_by(self) -> tuple[str, ...]:
        return ("distance_linkage",)

    def infer(self, view: IntruderView) -> Belief:
        return view.knowledge.forget(self.attributes)

    def describe(self, schema: Schema) -> MaskText:
        return MaskText(
            title="Fully synthetic, made elsewhere",
            text=f"The rows are made up: {join_with_and(self.target_attributes)} were written into rows that belong to "
            "nobody, elsewhere, by a "
            "method that is not known here.",
            missing="The rows belong to nobody: a gap in one says nothing of a person, and how gaps were made is not known.",
            attribute=lambda _: "synthetic, in rows that belong to nobody",
            analysts=(
                "Estimates from synthetic rows have the error of the synthesis beside that of sampling; a standard error that "
                "is computed as for a sample leaves the first out.",
            ),
        )
