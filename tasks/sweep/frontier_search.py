"""Searching the frontier: which points to try next, given what became of those tried so far.

NSGA-II (Deb et al. 2002) in Optuna's form, by ask and tell, in memory. Each generation has a sampler of its own, seeded by the
search's seed and the generation's number, and is told all earlier points in their order; so a generation depends on the
space, the seed and the earlier results alone, and a search that is stopped and begun again asks for the same points.
Otherwise than usual, the parents are a third of a generation, and children of ordered axes lie between and a little beyond
their parents (BLX-alpha): with some hundred points that came nearest to frontiers that are known.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import NSGAIISampler
from optuna.samplers.nsgaii import BLXAlphaCrossover
from optuna.trial import FrozenTrial, TrialState, create_trial

from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.table import Floats
from tasks.sweep.axes import DIGITS, AxisValues, SweepAxis, Value
from tasks.sweep.points import Space, SweepPoint, random

PIPELINE = "pipeline"
NUMBER = "number"
GENERATION = "NSGAIISampler:generation"  # where Optuna keeps the generation of a trial
PARENTS = 3  # one parent for so many children: a sweep has few generations
ASKED_AGAIN = 10  # so many times the algorithm is asked for one new point before chance chooses one
DRAWS = 1000
INFEASIBLE = {"has risk and loss": 1.0}

Gene = int | float | str
Genes = dict[str, Gene]
Key = tuple[str, AxisValues]


@dataclass(frozen=True, slots=True)
class _Encoding:
    """A point as the genes that the algorithm crosses: the pipeline, and one gene for every axis of every pipeline.

    Ordered values are numbers by their rank, so that neighbours are near; others are categories. The genes of axes that a point
    does not have are drawn from its number: they wait, and come into use when a child changes the pipeline or a condition.
    """

    spaces: tuple[Space, ...]
    seed: bytes

    def distributions(self) -> dict[str, BaseDistribution]:
        pipelines: dict[str, BaseDistribution] = {PIPELINE: CategoricalDistribution([one.pipeline for one in self.spaces])}
        return pipelines | {name: _distribution(axis) for name, axis in self._axes()}

    def genes(self, point: SweepPoint) -> Genes:
        values, rng = dict(point.values), stream(self.seed, "waiting genes", str(point.number))
        waiting = {name: _gene(axis, axis.get_value_at(float(rng.random()))) for name, axis in self._axes()}
        active = {name: _gene(axis, values[axis.path]) for name, axis in self._axes(point.pipeline) if axis.path in values}
        return {PIPELINE: point.pipeline, **waiting, **active}

    def point(self, number: int, genes: Genes) -> SweepPoint:
        space = next(one for one in self.spaces if one.pipeline == genes[PIPELINE])
        assigned = space.assign_values(lambda axis: _value(axis, genes[_name(space, axis)]))
        return SweepPoint(number, space.pipeline, assigned)

    def _axes(self, pipeline: str | None = None) -> Iterator[tuple[str, SweepAxis]]:
        for space in self.spaces:
            if pipeline in (None, space.pipeline):
                yield from ((_name(space, axis), axis) for axis in space.axes)


class FrontierSearch:
    """A search of the frontier.

    spaces: one per pipeline. seed: of the search, 0 or more; public. size: points per generation, at least 2.
    What it was told is kept, so that the next generation costs no more than the last; nothing depends on that.
    """

    def __init__(self, spaces: tuple[Space, ...], *, seed: int, size: int) -> None:
        if size < 2:
            raise ValueError(f"a generation has at least 2 points, not {size}")
        self.spaces, self.size = spaces, size
        self._seed = seed
        self._bytes = seed.to_bytes(SEED_BYTES, "big")
        self._encoding = _Encoding(spaces, self._bytes)
        self._forget()

    def generation(self, points: Sequence[SweepPoint], risk: Floats, loss: Floats) -> tuple[SweepPoint, ...]:
        """The points to try next.

        points: all tried so far, in the order of their numbers, which is that of the generations. risk, loss: of each, shape
        (points,), NaN for a point that has none (skipped, failed): it counts as infeasible, worse than any other.

        Returns `size` new points, numbered onwards; fewer where the space has no more, none where it is exhausted. The first
        generation is drawn at random, evenly from the pipelines. No point is asked for twice: one that the algorithm asks for
        again is replaced, by its next proposal that is new or else by chance.
        Raises ValueError where the points are not the generations before.
        Cost: O(size^2) for the new generation, and O(points) to compare what was told.
        """
        self._hear(points, risk, loss)
        if len(points) % self.size:
            return ()
        if not points:
            return tuple(random(self.spaces, self.size, self._seed))
        seen = {_key(point) for point in points}
        return tuple(self._new_points(len(points), seen))

    def _hear(self, points: Sequence[SweepPoint], risk: Floats, loss: Floats) -> None:
        if [point.number for point in points] != list(range(len(points))) or not len(points) == len(risk) == len(loss):
            raise ValueError("a search is told all its points from number 0 on, in order, each with its risk and loss")
        evaluated = list(zip(points, np.nan_to_num(risk, nan=np.inf), np.nan_to_num(loss, nan=np.inf), strict=True))
        if evaluated[: len(self._told)] != self._told:
            self._forget()
        for i in range(len(self._told), len(evaluated) - len(evaluated) % self.size, self.size):
            self._told += evaluated[i : i + self.size]
            self._breed(range(i, i + self.size))

    def _forget(self) -> None:
        self._told: list[tuple[SweepPoint, float, float]] = []
        self._parents: list[int] = []

    def _breed(self, last: range) -> None:
        """Choose the parents of the next generation among the last one and its parents: all that the algorithm looks at."""
        self._study = _quiet_study(sampler := self._sampler())
        self._study.add_trials([self._as_trial(*self._told[i]) for i in (*self._parents, *last)])
        self._parents = sorted(one.user_attrs[NUMBER] for one in sampler.get_parent_population(self._study, 1))

    def _sampler(self) -> NSGAIISampler:
        """A new one for the generation that is next, as nobody had asked it anything."""
        generation = len(self._told) // self.size
        seed = int(stream(self._bytes, "generation", str(generation)).integers(2**32))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            crossover = BLXAlphaCrossover()
        return NSGAIISampler(population_size=max(self.size // PARENTS, 2), seed=seed, crossover=crossover)

    def _as_trial(self, point: SweepPoint, risk: float, loss: float) -> FrozenTrial:
        feasible = bool(np.isfinite(risk) and np.isfinite(loss))
        return create_trial(
            state=TrialState.COMPLETE,
            values=[risk, loss] if feasible else [0.0, 0.0],
            params=dict(self._encoding.genes(point)),
            distributions=self._encoding.distributions(),
            user_attrs={NUMBER: point.number},
            system_attrs={GENERATION: 0},
            constraints={name: beyond if not feasible else 0.0 for name, beyond in INFEASIBLE.items()},
        )

    def _new_points(self, tried: int, seen: set[Key]) -> Iterator[SweepPoint]:
        self._study.sampler = self._sampler()
        rng = stream(self._bytes, "replacements", str(tried))
        for number in range(tried, tried + self.size):
            found = self._propose_point(number, seen) or self._draw_point(number, seen, rng)
            if found is None:
                return
            seen.add(_key(found))
            yield found

    def _propose_point(self, number: int, seen: set[Key]) -> SweepPoint | None:
        """The algorithm's next proposal that is new."""
        for _ in range(ASKED_AGAIN):
            trial = self._study.ask(fixed_distributions=self._encoding.distributions())
            self._study.tell(trial, state=TrialState.FAIL)  # what came of it is told later, as a trial of its own
            point = self._encoding.point(number, trial.params)
            if _key(point) not in seen:
                return point
        return None

    def _draw_point(self, number: int, seen: set[Key], rng: np.random.Generator) -> SweepPoint | None:
        """A new point of any pipeline that has one; None where there is none."""
        open_ = [
            space for space in self.spaces if space.size is None or sum(of == space.pipeline for of, _ in seen) < space.size
        ]
        while open_:
            space = open_.pop(int(rng.integers(len(open_))))
            found = self._draw_point_in_space(space, number, seen, rng)
            if found is not None:
                return found
        return None

    def _draw_point_in_space(self, space: Space, number: int, seen: set[Key], rng: np.random.Generator) -> SweepPoint | None:
        for _ in range(DRAWS):
            point = SweepPoint(number, space.pipeline, space.assign_values(lambda axis: axis.get_value_at(float(rng.random()))))
            if _key(point) not in seen:
                return point
        left = (SweepPoint(number, space.pipeline, values) for values in space.grid()) if space.size is not None else iter(())
        return next((point for point in left if _key(point) not in seen), None)


def _quiet_study(sampler: NSGAIISampler) -> optuna.Study:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    finally:
        optuna.logging.set_verbosity(before)


def _key(point: SweepPoint) -> Key:
    return point.pipeline, point.values


def _name(space: Space, axis: SweepAxis) -> str:
    return f"{space.pipeline} {axis.path}"


def _sort_choices(axis: SweepAxis) -> list[Value]:
    return sorted(axis.choices) if axis.is_ordered else list(axis.choices)


def _distribution(axis: SweepAxis) -> BaseDistribution:
    if not axis.continuous:
        last = len(axis.choices) - 1
        return IntDistribution(0, last) if axis.is_ordered else CategoricalDistribution(range(last + 1))
    assert axis.bounds is not None  # noqa: S101  a continuous axis has ends
    return FloatDistribution(*axis.bounds, log=axis.log)


def _gene(axis: SweepAxis, value: Value) -> Gene:
    if axis.bounds is None or not axis.continuous:
        return _sort_choices(axis).index(value)
    assert isinstance(value, int | float)  # noqa: S101  a range has numbers
    return min(max(value, axis.bounds[0]), axis.bounds[1])  # a rounded number may lie just beyond the end


def _value(axis: SweepAxis, gene: Gene) -> Value:
    if axis.bounds is None or not axis.continuous:
        return _sort_choices(axis)[int(gene)]
    return min(axis.bounds[1], max(axis.bounds[0], float(f"{gene:.{DIGITS}g}")))
