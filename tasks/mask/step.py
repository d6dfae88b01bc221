"""What every masking step declares, what it is given when it is applied, and what an intruder has who undoes it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from tasks.mask.intruder_belief import Belief, DiscreteLikelihood
from tasks.mask.mask_text import MaskText
from tasks.mask.precision_grid import PrecisionGrids
from tasks.mask.shared_advice import Fields
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.schema import MaskTargets, Scale, Schema
from tasks.microdata.spec import Names, Public, Spec
from tasks.microdata.table import Integers, Microdata

Draw = Callable[..., np.random.Generator]  # the stream of a step, or of a named part of it
NoteSink = Callable[[Callable[[], str]], None]  # takes a note, which is made only if somebody listens
Randomness = Literal["none", "by_rank", "by_row"]  # what the random numbers of a step belong to


def discard_note(note: Callable[[], str]) -> None:
    """Where what a step could tell of itself is of no use."""


class MaskStep(Spec):
    """Base of everything that can have been done to a table.

    attributes: what is masked; default: the quasi-identifiers of a fitting scale.
    by: published attributes that no step masks; the step is carried out within each combination of their values.

    Every step answers the questions below itself: one that leaves a question open cannot be made.
    """

    attributes: Public[Names | None] = None
    by: Public[Names | None] = None

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        for field, names in (("attributes", self.attributes), ("by", self.by)):
            if names is not None and len(set(names)) < len(names):
                raise ValueError(f"`{field}` names an attribute twice")
        return self

    @property
    def explicit_attributes(self) -> tuple[str, ...] | None:
        """The attributes the step names, in one way or another; none at all: the step masks no attribute."""
        return self.attributes

    @property
    def target_attributes(self) -> tuple[str, ...]:
        """The attributes the step masks, once they are resolved."""
        return self.attributes or ()

    @property
    def strata(self) -> Names | None:
        """The attributes in whose strata the step is applied and followed, each stratum by itself."""
        return self.by

    @property
    @abstractmethod
    def rule(self) -> str:
        """What the step does to the attributes it names, as an intruder would put it; never a category or a value."""

    @property
    @abstractmethod
    def moves_values(self) -> bool:
        """Can a record show a value that no record like it had, so that released records that look alike bound nothing?"""

    @property
    @abstractmethod
    def randomness(self) -> Randomness:
        """What the random numbers of the step belong to.

        `none`: it draws nothing; `by_rank`: they go to the ranks of the values, so that the result follows the records if the
        rows are put in another order; `by_row`: they go to the rows.
        """

    @property
    @abstractmethod
    def is_rule_for_values(self) -> bool:
        """Does the step turn a value into another by a rule, so that it can be applied to people outside the table too?"""

    @property
    @abstractmethod
    def answered_by(self) -> tuple[str, ...]:
        """The attacks that show what an intruder gains who knows the step; a table masked so must face them."""

    @property
    @abstractmethod
    def no_attack_reason(self) -> str | None:
        """Why no attack gains by knowing the step, a clause; None: one does, and runs wherever the step was taken."""

    @abstractmethod
    def infer(self, view: IntruderView) -> Belief:
        """What the step lets an intruder conclude who knows it; in strata: within one stratum."""

    def move_bounds(self, view: IntruderView, bounds: ValueBounds) -> ValueBounds | None:
        """Where the values of an attribute lie after the step, if before it they lay within `bounds`, whoever held them.

        It uses nothing of the other attributes. None: nothing is said, and what was concluded before is lost.
        """
        return None

    def spread_ranks(self, view: IntruderView, law: DiscreteLikelihood) -> DiscreteLikelihood | None:
        """The law of the ranks at which values of one attribute stand after the step; None: it is lost."""
        return None

    @abstractmethod
    def describe(self, schema: Schema) -> MaskText:
        """The step in words for somebody who uses the data."""

    def describe_knowledge(self) -> str | None:
        """What an intruder gains by knowing the step, a sentence, where no attack measures it; None: an attack does."""
        if self.no_attack_reason is None:
            return None
        return (
            f"No transparency attack answers {self.rule}: {self.no_attack_reason}. It is attacked as by somebody who knows "
            "nothing of it."
        )

    def describe_residual_risk(self) -> str | None:
        """What risk remains that no attack here measures, a sentence; None: the step adds none."""
        return None


class MaskingMethod(MaskStep):
    """Base of all masking steps that a release file can ask for: one class a method declares everything about it.

    docs/ADD_A_MASK.md says how to write one, and tests/mask/test_family.py asks every member of `Masking` for its parts.
    """

    @classmethod
    @abstractmethod
    def description(cls) -> Description:
        """The method as a row of `sdcert methods mask`."""

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Self, ...]:
        """Steps for the tests that all masks must pass, one for each variant of the method.

        Their table has 48 records: `age` and `size`, numeric, every value once; `group`, nominal: a, b, c; `grade`, ordinal:
        low, middle, high; `vote`, nominal: Yes, No; `id`, an identifier. The calibration of the attacks uses the first example
        if it has no scene of its own for the method: that one names `age`, `size` or `group` alone.
        """

    @abstractmethod
    def apply(self, context: MaskContext) -> Microdata:
        """The published columns after the step; `attributes` is resolved. In strata: the rows of one stratum."""

    @classmethod
    @abstractmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        """How a step would protect more: sentences in the words of its parameters.

        fields: the step as a run recorded it; of an old run they lack the parameters of later versions. named: "masking step
        2". line: the line of the policy on risk that is not kept.
        """

    @classmethod
    @abstractmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        """How a step would cost less, as clauses."""

    @classmethod
    def list_attributes(cls, fields: Fields) -> set[str] | None:
        """The attributes that a recorded step names, in one way or another; None: those that fit it."""
        return None if fields.get("attributes") is None else set(fields["attributes"])

    def check(self, context: MaskContext) -> Microdata:
        """Refuse what `apply` refuses; a method that takes long overrides this, and returns the table as it is."""
        return self.apply(context)

    @property
    def answered_by(self) -> tuple[str, ...]:
        return self.description().answered_by

    @property
    def mask_targets(self) -> MaskTargets:
        """Which attributes the step names, and which scales it can mask."""
        about = self.description()
        return MaskTargets(self.explicit_attributes, about.scales, about.by_default)


@dataclass(frozen=True, slots=True)
class MaskContext:
    """What a method is given beside its own parameters.

    data: the published columns as the steps before left them. source: the same rows before the first step, all columns.
    table: the source with all its rows, where data and source are one stratum of them: what categories are taken from.
    precision: the grid on which each masked column of numbers, dates or times is published.
    draw: gives the step's own stream, or that of a part of it by name. where: the step's place in the release file.
    tell: what the steward should know of how the step turned out; no value of the table.
    secret: of the series, for draws that belong to a person; None: a release of its own, or an intruder who simulates one.
    """

    data: Microdata
    source: Microdata
    table: Microdata
    schema: Schema
    precision: PrecisionGrids
    draw: Draw
    where: str
    tell: NoteSink = discard_note
    secret: bytes | None = None

    def select_rows(self, rows: Integers, draw: Draw) -> MaskContext:
        """The same for some of the rows; of a part nothing is told."""
        return replace(self, data=self.data.take(rows), source=self.source.take(rows), draw=draw, tell=discard_note)


@dataclass(frozen=True, slots=True)
class IntruderView:
    """What an intruder has when they follow one step: what they concluded before, their records, and the released table.

    originals: their records as they were before the first step, row i of them is record i of `knowledge`. table: all of them,
    where the others are one stratum. released: the released rows, in any order. all_released: are these the rows of all records
    of the source, of which theirs may be a share? window_at_most: in percent, where they do not know how far values were moved
    by ranks but have a bound; None: they know the windows. later: the steps that were taken after this one.
    """

    knowledge: Belief
    originals: Microdata
    table: Microdata
    released: Microdata
    schema: Schema
    precision: PrecisionGrids
    all_released: bool = False
    window_at_most: float | None = None
    later: tuple[MaskStep, ...] = ()

    def select_rows(self, rows: Integers, released: Integers) -> IntruderView:
        """The same for some of the records and some of the released rows."""
        return replace(
            self,
            knowledge=self.knowledge.select_rows(rows, released),
            originals=self.originals.take(rows),
            released=self.released.take(released),
        )


@dataclass(frozen=True, slots=True)
class Description:
    """One line of `sdcert methods mask`.

    method: as the release file names it. what_it_does, parameters, intruder: phrases. scales: of the attributes it can mask.
    by_default: the scales that it masks where no attribute is named; None: all of them.
    answered_by: the attacks that show what an intruder gains who knows the method; linkage by distance where they gain nothing.
    """

    method: str
    what_it_does: str
    scales: tuple[Scale, ...]
    parameters: str
    intruder: str
    answered_by: tuple[str, ...]
    by_default: tuple[Scale, ...] | None = None

    def row(self) -> dict[str, str]:
        """As a row of a table."""
        return {
            "method": self.method,
            "what it does": self.what_it_does,
            "scales": ", ".join(self.scales) or "any",
            "parameters": self.parameters,
            "an intruder who knows it": self.intruder,
            "answered by": ", ".join(self.answered_by),
        }
