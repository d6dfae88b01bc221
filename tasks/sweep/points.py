"""The points of a sweep: each a pipeline with a value on each of its axes, numbered in a fixed order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.sweep.axes import Assignment, Axis, Value, among, in_order

LARGEST = 1_000_000
MOST_MISSES = 1000  # repetitions in a row after which a pipeline is taken to be drawn out
_OTHER = object()
_Known = tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A release candidate. number: its place in the sweep, from 0. values: of the axes that exist, in the order of the file."""

    number: int
    pipeline: str
    values: Assignment


@dataclass(frozen=True, slots=True)
class Space:
    """All points of one pipeline. axes: in the order of the file; ordered: each after those that it depends on."""

    pipeline: str
    axes: tuple[Axis, ...]
    ordered: tuple[Axis, ...]

    @classmethod
    def of(cls, pipeline: str, axes: tuple[Axis, ...]) -> Space:
        """Raises InputError as `in_order` does."""
        return cls(pipeline, axes, in_order(axes))

    @property
    def finite(self) -> bool:
        return not any(axis.continuous for axis in self.axes)

    @property
    def size(self) -> int:
        """How many points there are, without making them; a continuous axis is counted as one value."""
        return _count(self.ordered)

    def assigned(self, choose: Callable[[Axis], Value]) -> Assignment:
        """One point: `choose` is asked for each axis that exists, those that others depend on first."""
        chosen: dict[str, Value] = {}
        for axis in self.ordered:
            if axis.exists(chosen):
                chosen[axis.path] = choose(axis)
        return self._as_filed(chosen)

    def grid(self) -> Iterator[Assignment]:
        """All points of a space without continuous axes, the last axis running fastest."""
        return map(self._as_filed, _expanded(self.ordered, {}))

    def _as_filed(self, chosen: dict[str, Value]) -> Assignment:
        return tuple((axis.path, chosen[axis.path]) for axis in self.axes if axis.path in chosen)


def grid(spaces: tuple[Space, ...]) -> Iterator[Point]:
    """All points: the pipelines in their order, the last axis running fastest. No axis may be continuous."""
    return _numbered((space.pipeline, values) for space in spaces for values in space.grid())


def random(spaces: tuple[Space, ...], points: int, seed: int) -> Iterator[Point]:
    """So many distinct points drawn at random, as evenly as can be from each pipeline; all of them where there are no more.

    In a pipeline of at most 1,000,000 points all are equally likely; in a larger one, or with a continuous axis, all values of
    each axis are (on a log range: all factors). What is drawn from one pipeline depends on its name, its axes, its share and
    the seed alone. Numbered by pipeline; in a small one in the order of the grid.
    """
    shares = zip(spaces, shared_out(spaces, points), strict=True)
    return _numbered((space.pipeline, values) for space, share in shares for values in _drawn(space, share, seed))


def shared_out(spaces: tuple[Space, ...], points: int) -> tuple[int, ...]:
    """How many points each pipeline gives: equal numbers, but none more than it has; the last ones give the remainder."""
    room = [space.size if space.finite else points for space in spaces]
    shares = [0] * len(spaces)
    for place, i in enumerate(sorted(range(len(spaces)), key=lambda i: room[i])):
        shares[i] = min(room[i], points // (len(spaces) - place))
        points -= shares[i]
    return tuple(shares)


def n_points(spaces: tuple[Space, ...], points: int | None = None) -> int:
    """How many points `grid` (points: None) or `random` gives."""
    return sum(space.size for space in spaces) if points is None else sum(shared_out(spaces, points))


def _numbered(values: Iterable[tuple[str, Assignment]]) -> Iterator[Point]:
    return (Point(number, pipeline, assigned) for number, (pipeline, assigned) in enumerate(values))


def _expanded(axes: tuple[Axis, ...], chosen: dict[str, Value]) -> Iterator[dict[str, Value]]:
    if not axes:
        yield chosen
    elif not axes[0].exists(chosen):
        yield from _expanded(axes[1:], chosen)
    else:
        for value in axes[0].choices:
            yield from _expanded(axes[1:], {**chosen, axes[0].path: value})


def _count(axes: tuple[Axis, ...]) -> int:
    """How many points `_expanded` gives. Of the values chosen before only those are remembered that later conditions name."""
    named = {
        one.path: [value for axis in axes for path, asked in axis.when if path == one.path for value in asked] for one in axes
    }
    needed = [{path for axis in axes[i:] for path, _ in axis.when} for i in range(len(axes) + 1)]

    @cache
    def below(i: int, known: _Known) -> int:
        if i == len(axes):
            return 1
        axis, later = axes[i], needed[i + 1]
        kept = tuple(one for one in known if one[0] in later)
        if not axis.exists({path: value for path, value in known if value is not _OTHER}):  # type: ignore[misc]  # the rest are values
            return below(i + 1, kept)
        if axis.path not in later:
            return max(len(axis.choices), 1) * below(i + 1, kept)
        kinds = Counter(value if among(value, named[axis.path]) else _OTHER for value in axis.choices)
        return sum(number * below(i + 1, (*kept, (axis.path, kind))) for kind, number in kinds.items())

    return below(0, ())


def _drawn(space: Space, share: int, seed: int) -> Iterator[Assignment]:
    rng = stream(seed.to_bytes(SEED_BYTES, "big"), "sweep", space.pipeline)
    if space.finite and space.size <= LARGEST:
        chosen = set(rng.choice(space.size, share, replace=False).tolist())
        yield from (values for index, values in enumerate(space.grid()) if index in chosen)
        return
    seen: set[Assignment] = set()
    misses = 0
    while len(seen) < share and misses < MOST_MISSES:
        values = space.assigned(lambda axis: axis.at(float(rng.random())))
        misses = misses + 1 if values in seen else 0
        if misses == 0:
            seen.add(values)
            yield values
