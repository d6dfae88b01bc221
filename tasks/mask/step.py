"""What every masking step says, what it is given when it is applied, and what an intruder has who follows it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from pydantic import model_validator

from tasks.mask.intruder_belief import Belief
from tasks.mask.precision import Precision
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.spec import Names, Public, Spec
from tasks.microdata.table import Integers, Microdata

Draw = Callable[..., np.random.Generator]  # the stream of a step, or of a named part of it
NoteSink = Callable[[Callable[[], str]], None]  # takes a note, which is made only if somebody listens


def discard_note(note: Callable[[], str]) -> None:
    """Where what a step could tell of itself is of no use."""


class MaskStep(Spec):
    """Base of all masking steps.

    attributes: what is masked; default: the quasi-identifiers of a fitting scale.
    by: published attributes that no step masks; the step is carried out within each combination of their values.

    Every method answers the questions of risk below itself: a step that leaves one open cannot be made.
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
        """The attributes the step names, in one way or another."""
        return self.attributes

    @property
    def target_attributes(self) -> tuple[str, ...]:
        """The attributes the step masks, once they are resolved."""
        return self.attributes or ()

    @property
    @abstractmethod
    def rule(self) -> str:
        """What the step does to the attributes it names, as an intruder would put it; never a category or a value."""

    @property
    @abstractmethod
    def moves_values(self) -> bool:
        """Can a record show a value that no record like it had, so that released records that look alike bound nothing?"""

    @property
    def can_be_followed(self) -> bool:
        """Does knowing the step tell an intruder something of what their records show? Then a transparency attack must run."""
        return True

    @property
    @abstractmethod
    def no_attack_reason(self) -> str | None:
        """Why no attack gains by knowing the step, a clause; None: one does, and runs wherever the step was taken."""


@dataclass(frozen=True, slots=True)
class MaskContext:
    """What a method is given beside its own parameters.

    data: the published columns as the steps before left them. source: the same rows before the first step, all columns.
    table: the source with all its rows, where data and source are one stratum of them: what categories are taken from.
    precision: the grid on which each masked column of numbers, dates or times is published.
    draw: gives the step's own stream, or that of a part of it by name. where: the step's place in the release file.
    tell: what the steward should know of how the step turned out; no value of the table.
    """

    data: Microdata
    source: Microdata
    table: Microdata
    schema: Schema
    precision: Precision
    draw: Draw
    where: str
    tell: NoteSink = discard_note

    def select_rows(self, rows: Integers, draw: Draw) -> MaskContext:
        """The same for some of the rows; of a part nothing is told."""
        return replace(self, data=self.data.take(rows), source=self.source.take(rows), draw=draw, tell=discard_note)


@dataclass(frozen=True, slots=True)
class IntruderView:
    """What an intruder has when they follow one step: what they concluded before, their records, and the released table.

    originals: their records as they were before the first step, row i of them is record i of `knowledge`. table: all of them,
    where the others are one stratum. released: the released rows, in any order. all_released: are these the rows of all records
    of the source, of which theirs may be a share? window_at_most: in percent, where they do not know how far values were moved
    by ranks but have a bound; None: they know the windows.
    """

    knowledge: Belief
    originals: Microdata
    table: Microdata
    released: Microdata
    schema: Schema
    precision: Precision
    all_released: bool = False
    window_at_most: float | None = None

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
