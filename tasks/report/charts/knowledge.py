"""The data of the chart of the re-identification rate by how many attributes the intruder knows.

What it may tell: rates of attacks, which are public as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.microdata.estimate import Estimate
from tasks.score.measures.linkage import REIDENTIFICATION
from tasks.score.policy import DECLARED

KNOWING = "knowing:"
_MEASURE = REIDENTIFICATION.name


@dataclass(frozen=True, slots=True)
class Point:
    """The rate of an intruder who knows so many attributes. lower_bound: the attack finds at least this."""

    known: int
    rate: float
    lower_bound: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeCurve:
    """One attack's rates by what is known; the last point is the declared intruder's."""

    attack: str
    points: tuple[Point, ...]
    chance: float | None


def is_knowing(estimate: Estimate) -> bool:
    return (estimate.intruder or "").startswith(KNOWING)


def parse_attribute_count(intruder: str) -> int:
    """How many attributes `knowing:<n>` knows."""
    return int(intruder.removeprefix(KNOWING))


def knowledge_curves(estimates: tuple[Estimate, ...], declared: int) -> tuple[KnowledgeCurve, ...]:
    """A curve for each attack that was also made with less knowledge; none where no attack was.

    declared: how many attributes the declared intruder knows.
    """
    rates = [one for one in estimates if one.measure == _MEASURE and one.value is not None and one.attribute is None]
    attacks = dict.fromkeys(one.attack or "" for one in rates if is_knowing(one))
    return tuple(_curve(attack, [one for one in rates if one.attack == attack], declared) for attack in attacks)


def _curve(attack: str, rates: list[Estimate], declared: int) -> KnowledgeCurve:
    own = [_point(declared, one) for one in rates if one.intruder == DECLARED]
    fewer = [_point(parse_attribute_count(one.intruder or ""), one) for one in rates if is_knowing(one)]
    points = tuple(sorted((*fewer, *own), key=lambda point: point.known))
    return KnowledgeCurve(attack=attack, points=points, chance=next((one.chance for one in rates), None))


def _point(known: int, rate: Estimate) -> Point:
    return Point(known, rate.value or 0.0, rate.is_lower_bound)
