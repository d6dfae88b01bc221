"""What singling out leaves behind: how many people predicates over sets of attributes isolate, and how many by chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict

from tasks.attack.membership.frame import Evaluates
from tasks.microdata.estimate import Status
from tasks.microdata.refs import RecordRef

ATTACK = "singling_out"
ISOLATES = "takes each released row for a description, and counts how many people of the source fit it: one is singled out"


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationCounts:
    """What the predicates over one set of attributes do.

    predicates: how many there are. isolating: of these, those that exactly one unit of the source satisfies. isolated: units
    that one of them isolates; as many, where a unit has one record. expected: how many of these predicates isolate one of as
    many people who are not in the release; None: nobody is known who is not in it.
    """

    attributes: tuple[str, ...]
    predicates: int
    isolating: int
    isolated: int
    expected: float | None = None

    @property
    def people_by_chance(self) -> float | None:
        """How many people are isolated by chance: where a unit has several records, predicates divided as among those found."""
        if self.expected is None or not self.isolating:
            return self.expected
        return self.expected * self.isolated / self.isolating


@dataclass(frozen=True, slots=True, kw_only=True)
class SinglingOutResult:
    """How many people predicates single out.

    largest: how many attributes a predicate over quasi-identifiers has at most. evaluates: whether the people are those of the
    file, or of a rehearsal. people, others: units of the source, and units that are not in the release (0: nobody is known).
    sets: of quasi-identifiers, in the order of `list_predicates`; private. every: over all published attributes at once;
    private. singled_out: units that a predicate of any of the sets isolates; private.
    """

    evaluates: Evaluates
    quasi_identifiers: tuple[str, ...]
    largest: int
    people: int = 0
    others: int = 0
    sets: tuple[IsolationCounts, ...] = ()
    every: IsolationCounts | None = None
    singled_out: int = 0
    status: Status = "ok"
    reason: str | None = None

    def describe_alone(self) -> SinglingOutResult:
        """The same without what was counted, which is private."""
        return replace(self, people=0, others=0, sets=(), every=None, singled_out=0)


class SinglingOutOutputs(TypedDict):
    """Singling out on this file, or in a rehearsal."""

    result: RecordRef[SinglingOutResult]
