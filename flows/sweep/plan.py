"""What a sweep is about to do: how many trials, how many of them are there already, and how long the others will take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from flows.sweep.blocks import Candidate, Job

ENOUGH = 5  # earlier results of a pipeline, for an estimate
SECONDS_FOR_TIMING = 15.0
UNKNOWN_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """points, trials: of the whole sweep, as far as known (a search knows its first generation, and how many there will be).

    skipped: how many points are wrong in themselves, by reason. held: trials whose results are there. left: to compute; shared:
    how many of those share another's masked table. seconds: estimate for what is left, None where nothing is known. timed: how
    many trials the estimate rests on; spread: the least and the most that one of them took.
    """

    points: int
    trials: int
    skipped: Mapping[str, int]
    held: int
    left: int
    shared: int
    workers: int
    seconds: float | None
    timed: int
    spread: tuple[float, float]
    first_generation: int | None = None


@dataclass(slots=True)
class Costs:
    """What trials took, by pipeline; a pipeline of which nothing is known is judged by the others.

    The median counts: the first trial of a worker loads and compiles, and takes many times as long.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def learn(self, candidates: Iterable[Candidate], held: Mapping[str, float]) -> None:
        """Take over what earlier trials of these points took."""
        for candidate in candidates:
            found = [held[key] for key in candidate.keys if key in held]
            self.seconds.setdefault(candidate.point.pipeline, []).extend(found)

    def per_trial(self, pipeline: str) -> float | None:
        own = self.seconds.get(pipeline) or [one for found in self.seconds.values() for one in found]
        return median(own) if own else None

    def of(self, job: Job) -> float:
        each = self.per_trial(job.pipeline)
        return (UNKNOWN_SECONDS if each is None else each) * len(job.group.trials)

    @property
    def known(self) -> list[float]:
        return [one for found in self.seconds.values() for one in found]


def samples_of(jobs: Sequence[Job], costs: Costs) -> list[list[Job]]:
    """For each pipeline of which too little is known the jobs by which to judge it: the first one warms up."""
    by_pipeline: dict[str, list[Job]] = {}
    for job in jobs:
        by_pipeline.setdefault(job.pipeline, []).append(job)
    unknown = {name: own for name, own in by_pipeline.items() if len(costs.seconds.get(name, [])) < ENOUGH}
    return [[own[i] for i in sorted({0, len(own) // 2, len(own) - 1})] for own in unknown.values()]


def timed(samples: Iterable[Sequence[Job]], compute: Callable[[Job], Mapping[str, float]], costs: Costs) -> None:
    """Compute some jobs for the time they take.

    compute: keeps their results, so that nothing is wasted, and returns nothing for a job of which a worker died.
    Ends after some seconds, when at least two jobs of each pipeline were computed, of which the first one is not counted: it
    loads and compiles.
    """
    started = time.monotonic()
    for jobs in samples:
        took: list[float] = []
        for job in jobs:
            if len(took) < 2 or time.monotonic() - started < SECONDS_FOR_TIMING:
                took += [fmean(found.values())] if (found := compute(job)) else []
        costs.seconds[jobs[0].pipeline] = took[1:] or took


def plan_of(
    candidates: Sequence[Candidate],
    jobs: Sequence[Job],
    costs: Costs,
    *,
    seeds: int,
    held: int,
    workers: int,
    in_all: int | None,
) -> Plan:
    """in_all: how many points a search will try; None: those of `candidates`."""
    left = sum(len(job.group.trials) for job in jobs)
    known = costs.known
    points = len(candidates) if in_all is None else in_all
    times = 1.0 if in_all is None or not candidates else in_all / len(candidates)
    return Plan(
        points=points,
        trials=points * seeds,
        skipped=Counter(candidate.reason for candidate in candidates if candidate.reason is not None),
        held=held,
        left=left,
        shared=left - len(jobs),
        workers=workers,
        seconds=times * sum(costs.of(job) for job in jobs) / workers if known else None,
        timed=len(known),
        spread=(min(known), max(known)) if known else (0.0, 0.0),
        first_generation=None if in_all is None else len(candidates),
    )
