"""Planned looks at targets: after each, whether more targets can decide more; and which limits no sample can show to be kept.

Each look decides by its own figures alone. A line that an earlier look found kept is asked again with all other lines, so that
the lines of a certified release are all kept at one look, by the same targets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from tasks.attack.outcomes.outcome import count_sampled_units
from tasks.attack.target_looks import TargetLook
from tasks.microdata.estimate import Estimate
from tasks.microdata.interval import ERROR, hypergeometric_interval
from tasks.microdata.units import Counts
from tasks.score.attack_coverage import Unfollowed
from tasks.score.catalogue import LINKAGE, MEASURES
from tasks.score.policy import FILE, PolicyLine, is_within
from tasks.score.scored_targets import NONE_DRAWN, ONE_SHARE, SAMPLED_MARGINS
from tasks.score.verdict import decide

LookState = Literal["open", "decided", "broken", "undecidable", "exhausted"]
BOUNDED_FROM_BELOW = ("max_record_risk", "plausible_deniability", "groups_exposed")  # a share of the targets bounds one side
BOUNDED_BY_GROUPS = ("max_record_risk", "plausible_deniability", "records_exposed", "reidentification")
OF_TARGETS = frozenset(measure.name for measure in LINKAGE)


@dataclass(frozen=True, slots=True)
class LookOutcome:
    """What one look at the targets came to.

    targets: how many of the source's records, or persons (`counts`), were attacked. lines: how many lines of the policy depend
    on targets. undecided: the places in the policy of those that are not decided.
    state: `open`: the next look may decide a line. `decided`: no line is left that depends on targets. `broken`: a line is
    broken, so that the release is refused whatever further targets say. `undecidable`: lines are left, and no number of
    targets that is planned can show them to be kept. `exhausted`: this was the last look, and it left a line undecided.
    """

    look: TargetLook
    state: LookState
    targets: int
    counts: Counts
    lines: int
    undecided: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SampledPopulation:
    """Whom looks take targets from. units: the records, or persons, of the source. held: the share that the intruder holds."""

    units: int
    counts: Counts
    held: float = 1.0


def judge_look(
    policy: tuple[PolicyLine, ...],
    estimates: tuple[Estimate, ...],
    unfollowed: Unfollowed,
    look: TargetLook,
    population: SampledPopulation,
) -> LookOutcome:
    """What follows of the figures of one look.

    Looks go on as long as no line is broken and more targets may show an undecided line to be kept. So they end at a broken
    line although others may be undecided, and no further look can take back what one has found.

    policy: all lines; those on the linkage of targets count. estimates: the figures of the linkage attacks at this look.
    """
    asked = [(i, line) for i, line in enumerate(policy) if line.measure in OF_TARGETS]
    targets = count_sampled_units(population.units, look.share * population.held)
    blank = LookOutcome(look, "decided", targets, population.counts, len(asked))
    if not asked:
        return blank
    lines = tuple(line for _, line in asked)
    decisions = _list_decisions(lines, estimates, unfollowed)
    undecided = tuple(i for (i, _), decision in zip(asked, decisions, strict=True) if decision == "undecided")
    if "fail" in decisions:
        return replace(blank, state="broken", undecided=undecided)
    if not undecided:
        return blank
    if look.is_last:
        return replace(blank, state="exhausted", undecided=undecided)
    attacked = count_sampled_units(population.units, look.last_share * population.held)
    smallest = compute_smallest_bound(attacked, population.units, look.error)
    best = tuple(_imagine_best_figure(one, look.last_share, population.held, smallest) for one in estimates)
    imagined = _list_decisions(lines, best, unfollowed)
    is_open = any(now == "undecided" and then == "pass" for now, then in zip(decisions, imagined, strict=True))
    return replace(blank, state="open" if is_open else "undecidable", undecided=undecided)


def compute_smallest_bound(targets: int, units: int, error: float = ERROR) -> float:
    """The smallest upper bound that a sample of so many targets can give for a share of all of them.

    Formula in words: the bound where none of those drawn is a success. No valid bound for a mean of credits in [0, 1] is below
    it: a population of so many credits of 1 would give a sample of zeros too often.

    Example: 10 of 20: 3/20, as 3 successes are missed by more than 5 % of the samples and 4 are not.
    """
    return hypergeometric_interval(0, targets, units, error).high


def is_beyond_samples(line: PolicyLine, smallest: float) -> bool:
    """Is the limit of a line below what a sample can show? smallest: of `compute_smallest_bound`."""
    measure = MEASURES[line.measure]
    is_share = line.measure in OF_TARGETS and measure.unit == "share" and measure.better == "lower"
    return is_share and not is_within(smallest, line.limit, "at_most")


def _list_decisions(lines: tuple[PolicyLine, ...], estimates: tuple[Estimate, ...], unfollowed: Unfollowed) -> list[str]:
    return [one.decision for one in decide(lines, estimates, unfollowed).criteria]


def _imagine_best_figure(one: Estimate, last_share: float, held: float, smallest: float) -> Estimate:
    """The figure as the last look may find it at best; one that more targets do not change, or do not show, stays as it is.

    Somebody who has an external file holds that, whatever share of the source's records (`held`) the others hold. smallest: the
    smallest upper bound of a share of the source's units at the last look.
    """
    of_file = (one.intruder or "").startswith(FILE)
    attacks_all = last_share * (1.0 if of_file else held) >= 1
    if one.reason == NONE_DRAWN or (one.reason == SAMPLED_MARGINS and attacks_all):
        return replace(one, status="ok", value=0.0, low=0.0, high=0.0)
    is_sampled = one.basis == "sequential_targets" and one.status == "ok" and one.reason != ONE_SHARE
    if not is_sampled or one.low is None or one.high is None:
        return one
    if one.measure in BOUNDED_FROM_BELOW and not attacks_all:
        return one
    measure = MEASURES[one.measure]
    if measure.better == "higher":
        return replace(one, low=one.high)
    best = one.low if attacks_all or of_file or measure.unit != "share" else max(one.low, min(smallest, one.high))
    return replace(one, low=best, high=best)
