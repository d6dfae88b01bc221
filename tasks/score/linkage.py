"""What the linkage attacks found: rates over the targets, with intervals where only a sample of them was scored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.outcome import AttackResult
from tasks.microdata.estimate import Estimate
from tasks.microdata.interval import Interval, bounded_mean_interval, hypergeometric_interval
from tasks.microdata.schema import Role
from tasks.microdata.table import Booleans, Floats, Microdata
from tasks.score.aligned import Aligned
from tasks.score.catalogue import LINKAGE, MEASURES

EXPOSED_FROM = 0.5


def linkage_estimates(result: AttackResult, tables: Aligned, n_targets_total: int) -> tuple[Estimate, ...]:
    """The figures of one attack.

    `reidentification`: the mean credit. `records_exposed`: the share of targets with credit >= 1/2. `max_record_risk`: the
    largest credit. `truth_among_nearest`: the share whose own record is among the guesses. `mean_candidate_set_size`: the
    mean number of records among which the intruder cannot choose. Where the attack has sound candidate sets: `known_links`,
    the share of targets whose set is one record, and `known_reidentification`, the share where it is the target's own.
    Per confidential attribute that the intruder does not know: `linked_value_disclosed`, the mean credit for its value read
    off the linked records, and `linked_value_control`, the same without the target's own record.

    result: one row of `outcomes` per scored target. n_targets_total: the population of targets of which they are all, or a
    simple random sample in the order of its draw.

    Returns exact estimates (low = high = value) where all targets were scored, else two one-sided 95 % bounds: hypergeometric
    for counts of targets, a bounded-mean interval for shared credit. The largest credit of a sample bounds the largest of all
    from below alone: its `high` is 1. An attack that is not applicable or failed has None for every figure, never 0.
    Chance: 1/n for credit; for a confidential value the release's most frequent one guessed for everybody; none for others.
    Raises ValueError where more targets were scored than there are.
    Cost: O(targets).
    Source: SCIENCE sections 1 and 2; Torra 2024 (Reid, K.Reid), with ties shared; the control is anonymeter's idea.

    Example: constant released data: every credit is 1/n, nobody is exposed, the truth is always among the nearest.
    """
    if result.status != "ok" or result.outcomes is None:
        return tuple(_without_value(result, tables))
    sample = _Sample(result, result.outcomes, n_targets_total)
    return (*_rates(sample), *_known(sample), *_values(sample, tables))


@dataclass(frozen=True, slots=True)
class _Sample:
    """The scored targets of one attack, and how many there are in all."""

    result: AttackResult
    outcomes: Microdata
    population: int

    @property
    def exact(self) -> bool:
        return self.outcomes.n == self.population

    def truths(self, name: str) -> Booleans:
        return np.asarray(self.outcomes.floats(name) == 1)

    def share(self, measure: str, hits: Booleans) -> Estimate:
        """A share of targets: counts of a sample are hypergeometric."""
        count = int(hits.sum())
        interval = hypergeometric_interval(count, len(hits), self.population)
        return self.estimate(measure, count / len(hits), interval, credit="indicator")

    def mean(self, measure: str, values: Floats, *, attribute: str | None = None) -> Estimate:
        """A mean of credits in [0, 1]."""
        interval = bounded_mean_interval(values, self.population)
        return self.estimate(measure, math.fsum(values) / len(values), interval, credit="shared", attribute=attribute)

    def mean_size(self, measure: str, sizes: Floats) -> Estimate:
        """A mean of set sizes in 1..n, which is wide where a sample of small sets leaves room for one of n rows."""
        others = max(self.result.n_release - 1, 1)
        unit = bounded_mean_interval((sizes - 1) / others, self.population)
        return self.estimate(measure, float(sizes.mean()), Interval(1 + unit.low * others, 1 + unit.high * others), credit=None)

    def estimate(
        self, measure: str, value: float, interval: Interval, *, credit: str | None, attribute: str | None = None
    ) -> Estimate:
        return Estimate(
            measure=measure,
            attack=self.result.attack,
            intruder=self.result.intruder,
            attribute=attribute,
            value=value,
            low=value if self.exact else interval.low,
            high=value if self.exact else interval.high,
            unit=MEASURES[measure].unit,
            basis="exact" if self.exact else "sampled_targets",
            credit=credit,
            n_targets=self.outcomes.n,
            n_in_release=self.outcomes.n,
        )


def _rates(sample: _Sample) -> Iterator[Estimate]:
    credit = sample.outcomes.floats("credit")
    yield replace(sample.mean("reidentification", credit), chance=sample.result.chance, chance_kind="uniform_guess")
    yield sample.share("records_exposed", credit >= EXPOSED_FROM)
    largest = float(credit.max())
    yield sample.estimate("max_record_risk", largest, Interval(largest, 1.0), credit=sample.result.credit)
    yield sample.share("truth_among_nearest", sample.truths("among_nearest"))
    yield sample.mean_size("mean_candidate_set_size", sample.outcomes.floats("candidates"))


def _known(sample: _Sample) -> Iterator[Estimate]:
    sound = sample.outcomes.floats("sound_candidates")
    if np.isnan(sound).all():
        return
    asserted = sound == 1
    yield sample.share("known_links", asserted)
    yield sample.share("known_reidentification", asserted & sample.truths("among_nearest"))


def _values(sample: _Sample, tables: Aligned) -> Iterator[Estimate]:
    known = {name for name in tables.schema.with_role(Role.CONFIDENTIAL) if f"linked:{name}" not in sample.outcomes.names}
    for name in (name for name in _unknown_to(sample.result, tables) if name not in known):
        linked = sample.mean("linked_value_disclosed", sample.outcomes.floats(f"linked:{name}"), attribute=name)
        yield replace(linked, chance=majority_chance(tables, name), chance_kind="majority")
        yield sample.mean("linked_value_control", sample.outcomes.floats(f"control:{name}"), attribute=name)


def majority_chance(tables: Aligned, name: str) -> float:
    """The share of people whose value is the release's most frequent one; several equally frequent ones share the guess.

    Missing is a value of its own, as in the attack's `linked:` columns. Example: a released constant c: the share of c.
    """
    original, masked = tables.codes(name)
    counts = np.bincount(masked + 1)
    modes = np.flatnonzero(counts == counts.max()) - 1
    return float(np.isin(original, modes).mean() / len(modes))


def _without_value(result: AttackResult, tables: Aligned) -> Iterator[Estimate]:
    """None for every figure that a policy may limit, so that each line sees that the attack did not run."""
    for measure in LINKAGE:
        subjects = (None,) if measure.about == "table" else _unknown_to(result, tables)
        for attribute in subjects if measure.better is not None else ():
            yield Estimate(
                measure=measure.name,
                attack=result.attack,
                intruder=result.intruder,
                attribute=attribute,
                value=None,
                unit=measure.unit,
                status=result.status,
                reason=result.reason,
            )


def _unknown_to(result: AttackResult, tables: Aligned) -> tuple[str, ...]:
    """The confidential attributes that the intruder of an attack does not know already."""
    confidential = tables.schema.with_role(Role.CONFIDENTIAL)
    return tuple(name for name in confidential if result.intruder != f"insider:{name}")
