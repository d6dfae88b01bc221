"""What a report says of targets that were taken in planned looks."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.attack.target_looks import TargetLook, plan_looks
from tasks.microdata.estimate import BOUND_CONFIDENCE, name_bound
from tasks.report.content import Content
from tasks.report.predicate import LooksClaim
from tasks.report.wording.sentence import Sentence, say


def describe_looks(content: Content) -> Iterator[Sentence]:
    """At which look it ended and how sure its bounds are; nothing where no looks were planned."""
    look = content.look
    if look is not None:
        yield say("policy.looks", first=_plan(content)[0].share, share=look.share, last=look.last_share, number=look.number,
                  planned=look.planned, counts=content.counts, bound=name_bound(1 - look.error))  # fmt: skip


def name_target_bounds(content: Content) -> str:
    """`one-sided 95 % bound`, of the figures of targets."""
    return name_bound(BOUND_CONFIDENCE if content.look is None else 1 - content.look.error)


def create_looks_claim(content: Content) -> LooksClaim | None:
    """The looks as the certificate says them."""
    look = content.look
    if look is None:
        return None
    shares = tuple(one.share for one in _plan(content))
    return LooksClaim(planned_shares=shares, ended_at=look.number, planned=look.planned, bound_confidence=1 - look.error)


def describe_looks_claim(claim: LooksClaim) -> str:
    """`sequential_targets: look 2 of 4, each bound one-sided 98.75 %`, as MLflow has it."""
    return f"{claim.basis}: look {claim.ended_at} of {claim.planned}, each bound one-sided {100 * claim.bound_confidence:.4g} %"


def _plan(content: Content) -> tuple[TargetLook, ...]:
    return plan_looks(content.intruder.targets)
