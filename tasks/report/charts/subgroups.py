"""The chart of the rate by subgroup: the tails of measured attributes and the rare categories.

What it may tell: rates of attacks, in the public edition by classes of ten people. A rate over few people says too much of each
and is as good as nothing as a figure: the public chart leaves such subgroups out, and counts those whose rate is withheld.
"""

from __future__ import annotations

from dataclasses import dataclass

from tasks.microdata.estimate import Estimate
from tasks.report.charts.editions import DrawingRule
from tasks.score.figure_rounding import WITHHELD
from tasks.score.measures.linkage import REIDENTIFICATION, SUBGROUP_REIDENTIFICATION
from tasks.score.policy import DECLARED

MOST_ATTRIBUTES = 12
MEASURE = SUBGROUP_REIDENTIFICATION.name


@dataclass(frozen=True, slots=True)
class SubgroupRate:
    """A part of the targets, and the largest rate that an attack found there. lower_bound: it finds at least this."""

    attribute: str
    part: str
    rate: float
    attack: str
    n_targets: int
    lower_bound: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgroups:
    """The subgroups by attribute, those with the largest rate first; overall: the largest rate over all targets.

    n_small: subgroups left out because they are small. n_attributes: how many attributes there were to choose from.
    overall_is_lower_bound: the attack with the largest rate over all targets finds at least this.
    """

    subgroups: tuple[SubgroupRate, ...] = ()
    overall: float | None = None
    n_small: int = 0
    n_attributes: int = 0
    overall_is_lower_bound: bool = False


def subgroups(estimates: tuple[Estimate, ...], rule: DrawingRule) -> Subgroups:
    """The declared intruder's largest rate in each subgroup, among the attacks run."""
    own = [one for one in estimates if one.intruder == DECLARED and (one.value is not None or one.reason == WITHHELD)]
    found = [one for one in own if one.measure == MEASURE and one.attribute is not None and one.subgroup is not None]
    large = [one for one in found if (one.n_targets or 0) >= rule.least and one.value is not None]
    small = {(one.attribute, one.subgroup) for one in found} - {(one.attribute, one.subgroup) for one in large}
    worst: dict[tuple[str, str], Estimate] = {}
    for one in large:
        key = (one.attribute or "", one.subgroup or "")
        if key not in worst or (one.value or 0.0) > (worst[key].value or 0.0):
            worst[key] = one
    attributes = _sort_attributes_by_rate(worst)
    shown = [_subgroup(key, one) for name in attributes[:MOST_ATTRIBUTES] for key, one in worst.items() if key[0] == name]
    rates = [one for one in own if one.measure == REIDENTIFICATION.name and one.value is not None]
    overall = max(rates, key=lambda one: one.value or 0.0, default=None)
    return Subgroups(
        subgroups=tuple(shown),
        overall=None if overall is None else overall.value,
        n_small=len(small),
        n_attributes=len(attributes),
        overall_is_lower_bound=overall is not None and overall.is_lower_bound,
    )


def _sort_attributes_by_rate(worst: dict[tuple[str, str], Estimate]) -> list[str]:
    names = dict.fromkeys(name for name, _ in worst)
    return sorted(names, key=lambda name: -max(one.value or 0.0 for key, one in worst.items() if key[0] == name))


def _subgroup(key: tuple[str, str], one: Estimate) -> SubgroupRate:
    return SubgroupRate(key[0], key[1], one.value or 0.0, one.attack or "", one.n_targets or 0, one.is_lower_bound)
