"""The points of a sweep: each a pipeline with a value on each of its axes, numbered in a fixed order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.sweep.axes import AxisValues, SweepAxis, Value, sort_axes

LARGEST = 100_000
MOST_MISSES = 1000  # repetitions in a row after which a pipeline is taken to be drawn out


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """A release candidate. number: its place in the sweep, from 0. values: of the axes that exist, in the order of the file."""

    number: int
    pipeline: str
    values: AxisValues


@dataclass(frozen=True, slots=True)
class Space:
    """All points of one pipeline. axes: in the order of the file; ordered: each after those that it depends on."""

    pipeline: str
    axes: tuple[SweepAxis, ...]
    ordered: tuple[SweepAxis, ...]

    @classmethod
    def from_axes(cls, pipeline: str, axes: tuple[SweepAxis, ...]) -> Space:
        """Raises InputError as `in_order` does."""
        return cls(pipeline, axes, sort_axes(axes))

    @property
    def finite(self) -> bool:
        return not any(axis.continuous for axis in self.axes)

    @property
    def size(self) -> int:
        """How many points there are, without making them; a continuous axis is counted as one value."""
        return _count(self.ordered)

    def assign_values(self, choose: Callable[[SweepAxis], Value]) -> AxisValues:
        """One point: `choose` is asked for each axis that exists, those that others depend on first."""
        chosen: dict[str, Value] = {}
        for axis in self.ordered:
            if axis.exists(chosen):
                chosen[axis.path] = choose(axis)
        return self._as_filed(chosen)

    def grid(self) -> Iterator[AxisValues]:
        """All points of a space without continuous axes, the last axis running fastest."""
        return map(self._as_filed, _expand_grid(self.ordered, {}))

    def _as_filed(self, chosen: dict[str, Value]) -> AxisValues:
        return tuple((axis.path, chosen[axis.path]) for axis in self.axes if axis.path in chosen)


def grid(spaces: tuple[Space, ...]) -> Iterator[SweepPoint]:
    """All points: the pipelines in their order, the last axis running fastest. No axis may be continuous."""
    return _number_points((space.pipeline, values) for space in spaces for values in space.grid())


def random(spaces: tuple[Space, ...], points: int, seed: int) -> Iterator[SweepPoint]:
    """So many distinct points drawn at random, as evenly as can be from each pipeline; all of them where there are no more.

    In a pipeline of at most 1,000,000 points all are equally likely; in a larger one, or with a continuous axis, all values of
    each axis are (on a log range: all factors). What is drawn from one pipeline depends on its name, its axes, its share and
    the seed alone. Numbered by pipeline; in a small one in the order of the grid.
    """
    shares = zip(spaces, allocate_points(spaces, points), strict=True)
    return _number_points(
        (space.pipeline, values) for space, share in shares for values in _draw_assignments(space, share, seed)
    )


def allocate_points(spaces: tuple[Space, ...], points: int) -> tuple[int, ...]:
    """How many points each pipeline gives: equal numbers, but none more than it has; the last ones give the remainder."""
    room = [space.size if space.finite else points for space in spaces]
    shares = [0] * len(spaces)
    for position, i in enumerate(sorted(range(len(spaces)), key=lambda i: room[i])):
        shares[i] = min(room[i], points // (len(spaces) - position))
        points -= shares[i]
    return tuple(shares)


def n_points(spaces: tuple[Space, ...], points: int | None = None) -> int:
    """How many points `grid` (points: None) or `random` gives."""
    return sum(space.size for space in spaces) if points is None else sum(allocate_points(spaces, points))


def _number_points(values: Iterable[tuple[str, AxisValues]]) -> Iterator[SweepPoint]:
    return (SweepPoint(number, pipeline, assigned) for number, (pipeline, assigned) in enumerate(values))


def _expand_grid(axes: tuple[SweepAxis, ...], chosen: dict[str, Value]) -> Iterator[dict[str, Value]]:
    if not axes:
        yield chosen
    elif not axes[0].exists(chosen):
        yield from _expand_grid(axes[1:], chosen)
    else:
        for value in axes[0].choices:
            yield from _expand_grid(axes[1:], {**chosen, axes[0].path: value})


def _count(axes: tuple[SweepAxis, ...]) -> int:
    """How many points `_expand_grid` gives.

    Of what was chosen only this is remembered: which later axes cannot exist any more.
    """
    positions = range(len(axes))
    kinds = [Counter(_list_excluded_axes(axes, i)) for i in positions]
    all_after = [frozenset(j for j in positions for path, _ in axes[j].when if path == axes[i].path) for i in positions]

    @cache
    def below(i: int, absent: frozenset[int]) -> int:
        if i == len(axes):
            return 1
        later = frozenset(j for j in absent if j > i)
        if i in absent:
            return below(i + 1, later | all_after[i])
        return sum(number * below(i + 1, later | out) for out, number in kinds[i].items())

    return below(0, frozenset())


def _list_excluded_axes(axes: tuple[SweepAxis, ...], i: int) -> Iterator[frozenset[int]]:
    """For each value of an axis the axes that cannot exist beside it; a continuous one rules out all that depend on it."""
    asked = [(j, set(map(_key, allowed))) for j, axis in enumerate(axes) for path, allowed in axis.when if path == axes[i].path]
    for value in axes[i].choices or (None,):
        yield frozenset(j for j, allowed in asked if value is None or _key(value) not in allowed)


def _key(value: Value) -> tuple[bool, Value]:
    return isinstance(value, bool), value


def _draw_assignments(space: Space, share: int, seed: int) -> Iterator[AxisValues]:
    rng = stream(seed.to_bytes(SEED_BYTES, "big"), "sweep", space.pipeline)
    if space.finite and space.size <= LARGEST:
        chosen = set(rng.choice(space.size, share, replace=False).tolist())
        yield from (values for index, values in enumerate(space.grid()) if index in chosen)
        return
    seen: set[AxisValues] = set()
    misses = 0
    while len(seen) < share and misses < MOST_MISSES:
        values = space.assign_values(lambda axis: axis.get_value_at(float(rng.random())))
        misses = misses + 1 if values in seen else 0
        if misses == 0:
            seen.add(values)
            yield values
