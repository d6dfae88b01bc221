"""The membership figures of a release: of each attack, or that it could not run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tasks.attack.membership.frame import Frame
from tasks.attack.membership.methods import MembershipResult
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import Counts
from tasks.score.measures.membership import DECIDING
from tasks.score.membership.exposure import list_missing_value_subgroups
from tasks.score.membership.membership_estimates import membership_estimates
from tasks.score.subgroups import find_subgroups

UNLIKE = "people of the control's table look more like members than the members do: the tables differ in other ways"
REHEARSED = "rehearsed on random halves of the source: it is about how the release is made, not about this release"


@dataclass(frozen=True, slots=True)
class MembershipOutcome:
    """What an attack said, and of whom: the table that its frame's units are of; None where nobody could be asked about."""

    result: MembershipResult
    frame: Frame | None = None
    table: Microdata | None = None


def membership_figures(answers: Iterable[MembershipOutcome], schema: Schema, counts: Counts) -> tuple[Estimate, ...]:
    """The figures of all attacks; a rehearsal says of each of its figures that it is one.

    counts: what is asked about, where no frame says it.
    """
    return tuple(figure for one in answers for figure in _compute_attack_figures(one, schema, counts))


def _compute_attack_figures(one: MembershipOutcome, schema: Schema, counts: Counts) -> tuple[Estimate, ...]:
    if one.frame is None or one.table is None:
        return tuple(_create_unmeasured_estimate(one.result, measure, counts) for measure in DECIDING)
    units = one.frame.units
    parts = (*find_subgroups(one.table, schema, units), *list_missing_value_subgroups(one.table, schema, units))
    found = membership_estimates(one.result, one.frame, parts)
    if one.result.evaluates == "this file":
        return found
    return tuple(replace(figure, reason=figure.reason or REHEARSED) for figure in found)


def _create_unmeasured_estimate(result: MembershipResult, measure: str, counts: Counts) -> Estimate:
    return Estimate(
        measure=measure,
        attack=result.attack,
        value=None,
        unit="share",
        basis="control_group",
        status="not_applicable" if result.status == "ok" else result.status,
        reason=result.reason,
        counts=counts,
    )


def withdraw_unlike_figures(figures: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
    """The figures without those of attacks to which the people of another table look more like members than the members do.

    Meaning: no release makes its members look less like members than strangers. Where the upper bound of the area is below one
    half, the two tables differ in other ways than membership, and what the attack says is about these: it has failed, and a
    policy line stays undecided.
    """
    unlike = {one.attack for one in figures if one.measure == DECIDING[0] and one.high is not None and one.high < 0.5}
    blank = {"value": None, "low": None, "high": None, "chance": None, "chance_kind": None, "status": "failed"}
    return tuple(
        replace(one, **blank, reason=UNLIKE) if one.attack in unlike else one  # type: ignore[arg-type]  # by name
        for one in figures
    )
