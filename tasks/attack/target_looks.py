"""Targets that are taken in planned looks: how many records are attacked at each, and how sure each bound has to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Discriminator, Field, Tag, model_validator

from tasks.microdata.errors import InputError
from tasks.microdata.estimate import CONFIDENCE
from tasks.microdata.spec import Public, Share, Spec

MOST_LOOKS = 12


class TargetLooks(Spec):
    """Targets in planned looks, in place of one share: `{first: 0.001, last: 0.1, looks: 4}`.

    first, last: the share of the records (persons) that the first look attacks, and the last one. looks: how many are planned.
    From look to look the share grows by the same factor. Each look has the targets of the one before and more.
    """

    first: Public[Share]
    last: Public[Share]
    looks: Public[Annotated[int, Field(ge=2, le=MOST_LOOKS)]]

    @model_validator(mode="after")
    def _looks_grow(self) -> TargetLooks:
        if self.first >= self.last:
            raise ValueError("`first` is a smaller share than `last`; for one look write the share itself, `targets: 0.01`")
        return self


def _name_form(given: object) -> str:
    """How targets are given; so an error is told of the form that was meant."""
    return "planned looks" if isinstance(given, dict | TargetLooks) else "one share"


Targets = Annotated[
    Annotated[Share, Tag("one share")] | Annotated[TargetLooks, Tag("planned looks")], Discriminator(_name_form)
]


@dataclass(frozen=True, slots=True)
class TargetLook:
    """One of the planned looks.

    number: 1 for the first. planned: how many there are. share: of the records that the intruder holds, attacked at this look.
    last_share: at the last one.
    """

    number: int
    planned: int
    share: float
    last_share: float

    @property
    def name(self) -> str:
        """`look 2 of 4`."""
        return f"look {self.number} of {self.planned}"

    @property
    def is_last(self) -> bool:
        return self.number == self.planned

    @property
    def error(self) -> float:
        """How often a one-sided bound of this look may err: the planned looks share the 5 % of a single one equally.

        The bounds of one figure at all looks together err in at most 5 % of the draws, because the probability that any of
        them errs is at most the sum (Bonferroni). So a wrong decision has at most this probability at whichever look it is
        made, and whatever made the looks end. It holds for every dependence between the looks. The two ends of an interval are
        two statements: each is held at its own 5 %.

        Source: Bonferroni's inequality; Pocock (1977) and Jennison and Turnbull (2000) for planned looks. Their boundaries use
        the correlation of looks under the normal law and are less wide; credits of few or rare targets are far from that law.
        """
        return (1 - CONFIDENCE) / 2 / self.planned

    @property
    def confidence(self) -> float:
        """Of the two bounds together, as `Estimate.confidence` has it."""
        return 1 - 2 * self.error


def plan_looks(targets: float | TargetLooks) -> tuple[TargetLook, ...]:
    """The looks in their order, of shares that grow by the same factor; none where the targets are one share.

    Example: 0.001 to 0.1 in 3 looks: 0.1 %, 1 % and 10 % of the records.
    """
    if not isinstance(targets, TargetLooks):
        return ()
    first, last, planned = targets.first, targets.last, targets.looks
    between = (first * (last / first) ** (i / (planned - 1)) for i in range(1, planned - 1))
    rounded = (min(float(f"{share:.6g}"), last) for share in between)  # the same on every platform, and none beyond the last
    shares = (first, *rounded, last)
    return tuple(TargetLook(i, planned, share, last) for i, share in enumerate(shares, 1))


def require_one_share(targets: float | TargetLooks, whose: str, where: str = "intruder.targets") -> float:
    """The one share that is attacked. Raises InputError for planned looks, which need a policy that is decided after each.

    whose: what takes no looks, as the subject of a sentence.
    """
    if not isinstance(targets, TargetLooks):
        return targets
    what, allowed = f"{whose} attacks one share of the records, and takes no looks", "a share of the records, such as 0.01"
    raise InputError("no-looks", where, what, allowed, "write a share here; `sdcert certify` takes the looks", targets.public())


def find_largest_share(targets: float | TargetLooks) -> float:
    """The share of the records that are attacked if every look is taken."""
    return targets.last if isinstance(targets, TargetLooks) else targets
