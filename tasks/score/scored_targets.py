"""The targets of one attack that were scored, and how a figure of them becomes an estimate of all targets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tasks.attack.outcomes.credit_bounds import CreditBounds
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.target_looks import TargetLook
from tasks.microdata.estimate import CONFIDENCE, Estimate
from tasks.microdata.exact_sum import sum_exactly
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.interval import ERROR, Interval, check_shares, compute_bounded_mean_interval, hypergeometric_interval
from tasks.microdata.table import Booleans, Floats, Integers, Microdata
from tasks.score.measure import Measure

ONE_SHARE = (
    "who is linked depends on which records they hold: what holds of this share bounds no other one from above, and limits are "
    "not shown to be kept"
)
NONE_DRAWN = "no target of this part was drawn, so that nothing is known of it"
SAMPLED_MARGINS = "whose margin is large enough is found on all targets, and only a sample of them was scored"
UNKNOWN_IN_SAMPLE = (NONE_DRAWN, SAMPLED_MARGINS)  # reasons of figures that more targets would give


@dataclass(frozen=True, slots=True)
class ScoredTargets:
    """The scored targets of one attack, and how many there are in all.

    look: the planned look at which they were taken; None: there is one sample, and no looks.
    """

    result: AttackResult
    outcomes: Microdata
    population: int
    truth: GroundTruth
    look: TargetLook | None = None

    rows: Integers | None = None  # of the outcomes, where these are a part of the targets
    columns: dict[str, Floats] = field(default_factory=dict, compare=False, repr=False)  # that were read, of all outcomes

    @property
    def n(self) -> int:
        return self.outcomes.n if self.rows is None else len(self.rows)

    @property
    def exact(self) -> bool:
        return self.n == self.population

    @property
    def credit_bounds(self) -> CreditBounds:
        """Of all records; 1 where nothing is known of those that were not scored."""
        return self.result.credit_bounds or CreditBounds(mean=1.0, largest=1.0, exposed=1.0)

    @property
    def error(self) -> float:
        """How often each one-sided bound may err."""
        return ERROR if self.look is None else self.look.error

    def part(self, members: Booleans, population: int) -> ScoredTargets:
        """The scored targets that are members of a part of all targets, which has so many members."""
        rows = np.flatnonzero(members)
        return replace(self, rows=rows if self.rows is None else self.rows[rows], population=population)

    def floats(self, name: str) -> Floats:
        """One column of the outcomes, of the targets of this part. It is read once, and not to be written to."""
        if name not in self.columns:
            self.columns[name] = self.outcomes.floats(name)
        return self.columns[name] if self.rows is None else self.columns[name][self.rows]

    def truths(self, name: str) -> Booleans:
        return np.asarray(self.floats(name) == 1)

    def targets(self) -> Integers:
        """The unit of each scored target."""
        return self.truth.units.of_row[self.floats("target").astype(np.int64)]

    def share(self, measure: Measure, hits: Booleans) -> Estimate:
        """A share of targets: counts of a sample are hypergeometric."""
        if not len(hits):
            return self.nobody(measure)
        count = int(hits.sum())
        interval = hypergeometric_interval(count, len(hits), self.population, self.error)
        return self.estimate(measure, count / len(hits), interval, credit_rule="indicator")

    def mean(self, measure: Measure, values: Floats, *, attribute: str | None = None, subgroup: str | None = None) -> Estimate:
        """A mean of credits in [0, 1]."""
        if not len(values):
            return replace(self.nobody(measure), attribute=attribute, subgroup=subgroup)
        check_shares(values)
        mean = sum_exactly(values) / len(values)
        interval = Interval(mean, mean) if self.exact else compute_bounded_mean_interval(values, self.population, self.error)
        return self.estimate(measure, mean, interval, credit_rule="shared", attribute=attribute, subgroup=subgroup)

    def mean_size(self, measure: Measure, sizes: Floats) -> Estimate:
        """A mean of set sizes in 1..n, which is wide where a sample of small sets leaves room for one of n rows."""
        least = 1 if self.truth.complete else 0
        others = max(self.truth.most_candidates - least, 1)
        mean = float(sizes.mean())
        if self.exact:
            return self.estimate(measure, mean, Interval(mean, mean), credit_rule=None)
        unit = compute_bounded_mean_interval((sizes - least) / others, self.population, self.error)
        interval = Interval(least + unit.low * others, least + unit.high * others)
        return self.estimate(measure, mean, interval, credit_rule=None)

    def nobody(self, measure: Measure) -> Estimate:
        """What is said of a part of the targets of whom none was drawn, or whom nobody belongs to."""
        return self.nothing(measure, NONE_DRAWN if self.population else "no target belongs to this part")

    def nothing(self, measure: Measure, reason: str) -> Estimate:
        """A figure that cannot be given, and why."""
        blank = self.estimate(measure, 0.0, Interval(0, 0), credit_rule=None)
        return replace(blank, value=None, low=None, high=None, status="not_applicable", reason=reason)

    def estimate(
        self,
        measure: Measure,
        value: float,
        interval: Interval,
        *,
        credit_rule: str | None,
        attribute: str | None = None,
        subgroup: str | None = None,
    ) -> Estimate:
        if self.result.links_depend:
            interval = _widen_to_any_share(measure, interval)
        return Estimate(
            measure=measure.name,
            attack=self.result.attack,
            intruder=self.result.intruder,
            attribute=attribute,
            subgroup=subgroup,
            value=value,
            low=value if self.exact else interval.low,
            high=value if self.exact else interval.high,
            reason=ONE_SHARE if self.result.links_depend else None,
            unit=measure.unit,
            basis="exact" if self.exact else "sampled_targets" if self.look is None else "sequential_targets",
            confidence=CONFIDENCE if self.exact or self.look is None else self.look.confidence,
            credit_rule=credit_rule,
            n_targets=self.n,
            n_in_release=int(self.truths("in_release").sum()) if "in_release" in self.outcomes.names else None,
            counts=self.result.counts,
        )


def _widen_to_any_share(measure: Measure, interval: Interval) -> Interval:
    """The interval without the end that would show a limit to be kept."""
    if measure.better == "higher":
        return Interval(0.0, interval.high)
    return Interval(interval.low, measure.largest or 1.0)
