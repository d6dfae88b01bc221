"""What a sweep is about to do: how many trials, how many of them are there already, and how long the others will take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from flows.sweep.blocks import Candidate, Job

ENOUGH = 5  # earlier results of a pipeline, for an estimate
AT_ONCE = 1.5  # times as long as alone, where workers share caches, memory and the machine with others
SECONDS_TO_BEGIN = 30.0  # at most: Prefect's server, and what every worker loads and compiles
SECONDS_FOR_TIMING = 15.0
UNKNOWN_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """points, trials: of the whole sweep, as far as known (a search knows its first generation, and how many there will be).

    skipped: how many points are wrong in themselves, by reason. held: trials whose results are there. left: to compute; shared:
    how many of those share another's masked table. seconds: the least and the most that what is left may take, None where
    nothing is known. timed: how many trials that rests on; spread: the least and the most that one of them took.
    """

    points: int
    trials: int
    skipped: Mapping[str, int]
    held: int
    left: int
    shared: int
    workers: int
    seconds: tuple[float, float] | None
    timed: int
    spread: tuple[float, float]
    first_generation: int | None = None


@dataclass(slots=True)
class TrialCosts:
    """What trials took, by pipeline; a pipeline of which nothing is known is judged by the others.

    The median counts: the first trial of a worker loads and compiles, and takes many times as long.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def learn(self, candidates: Iterable[Candidate], held: Mapping[str, float]) -> None:
        """Take over what earlier trials of these points took."""
        for candidate in candidates:
            found = [held[key] for key in candidate.keys if key in held]
            self.seconds.setdefault(candidate.point.pipeline, []).extend(found)

    def estimate_seconds(self, job: Job) -> float:
        """What a job takes, about."""
        own = self._list_seconds(job.pipeline)
        return (median(own) if own else UNKNOWN_SECONDS) * len(job.group.trials)

    def bounds(self, jobs: Iterable[Job]) -> tuple[float, float]:
        """The least and the most that the jobs take alone: of few earlier results by the extremes, of many by their middles."""
        trials = Counter[str]()
        for job in jobs:
            trials[job.pipeline] += len(job.group.trials)
        each = {pipeline: _middles(self._list_seconds(pipeline)) for pipeline in trials}
        low, high = (sum(count * each[pipeline][end] for pipeline, count in trials.items()) for end in (0, 1))
        return low, high

    def _list_seconds(self, pipeline: str) -> list[float]:
        return self.seconds.get(pipeline) or self.all_seconds

    @property
    def all_seconds(self) -> list[float]:
        return [one for found in self.seconds.values() for one in found]


def _middles(seconds: Sequence[float]) -> tuple[float, float]:
    """Ends of what a trial takes on average, judged by some."""
    if len(seconds) < ENOUGH:
        return min(seconds), max(seconds)
    ends = sorted((median(seconds), fmean(seconds)))
    return ends[0], ends[1]


def choose_samples(jobs: Sequence[Job], costs: TrialCosts) -> list[list[Job]]:
    """For each pipeline of which too little is known the jobs by which to judge it: the first one warms up."""
    by_pipeline: dict[str, list[Job]] = {}
    for job in jobs:
        by_pipeline.setdefault(job.pipeline, []).append(job)
    unknown = {name: own for name, own in by_pipeline.items() if len(costs.seconds.get(name, [])) < ENOUGH}
    return [[own[i] for i in sorted({0, len(own) // 2, len(own) - 1})] for own in unknown.values()]


def time_samples(samples: Iterable[Sequence[Job]], compute: Callable[[Job], Mapping[str, float]], costs: TrialCosts) -> None:
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


def plan_sweep(
    candidates: Sequence[Candidate],
    jobs: Sequence[Job],
    costs: TrialCosts,
    *,
    seeds: int,
    held: int,
    workers: int,
    in_all: int | None,
) -> Plan:
    """in_all: how many points a search will try; None: those of `candidates`."""
    left = sum(len(job.group.trials) for job in jobs)
    known = costs.all_seconds
    points = len(candidates) if in_all is None else in_all
    times = 1.0 if in_all is None or not candidates else in_all / len(candidates)
    low, high = (times * one / workers for one in costs.bounds(jobs)) if known else (0.0, 0.0)
    return Plan(
        points=points,
        trials=points * seeds,
        skipped=Counter(candidate.reason for candidate in candidates if candidate.reason is not None),
        held=held,
        left=left,
        shared=left - len(jobs),
        workers=workers,
        seconds=(low, high * (AT_ONCE if workers > 1 else 1.0) + SECONDS_TO_BEGIN) if known else None,
        timed=len(known),
        spread=(min(known), max(known)) if known else (0.0, 0.0),
        first_generation=None if in_all is None else len(candidates),
    )
