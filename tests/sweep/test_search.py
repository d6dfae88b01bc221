"""The search of the frontier: a pure function of what it is told, without repetitions, and better than chance."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import optuna
import pytest

from tasks.microdata.table import Floats
from tasks.sweep.axes import SweepAxis
from tasks.sweep.frontier import frontier, hypervolume
from tasks.sweep.frontier_search import FrontierSearch, _Encoding
from tasks.sweep.points import Space, SweepPoint, random

REFERENCE = (1.5, 1.5)
GROUPS = Space.from_axes(
    "groups",
    (
        SweepAxis("k", tuple(range(2, 32))),
        SweepAxis("width", tuple(range(30))),
        SweepAxis("method", ("x", "y", "z")),
        SweepAxis("gamma", tuple(range(10)), when=(("method", ("z",)),)),
    ),
)
NOISE = Space.from_axes("noise", (SweepAxis("share", tuple(range(1, 51))), SweepAxis("scale", (), (0.0, 1.0))))
SPACES = (GROUPS, NOISE)


def toy(point: SweepPoint) -> tuple[float, float]:
    """A frontier that is known: groups by method z with gamma 7 and the width that belongs to k, and noise of scale 1/2."""
    values = {path: value for path, value in point.values if isinstance(value, int | float)}
    if point.pipeline == "noise":
        given, off = values["share"] / 50, abs(values["scale"] - 0.5) + 0.05
        return (1 - given) ** 0.7 + off, given + off
    given = values["k"] / 31
    unfit = {"x": 0.3, "y": 0.1, "z": 0.02 * abs(values.get("gamma", 0) - 7)}[str(dict(point.values)["method"])]
    off = unfit + 2 * (values["width"] / 29 - given * given) ** 2
    return 1 - given + off, given**2 + off


@functools.cache
def unbroken(seed: int, points: int, size: int = 30) -> tuple[tuple[SweepPoint, ...], ...]:
    search = FrontierSearch(SPACES, seed=seed, size=size)
    generations: list[tuple[SweepPoint, ...]] = []
    while len(joined(generations)) < points:
        generations.append(search.generation(*told(joined(generations))))
    return tuple(generations)


def told(points: Sequence[SweepPoint]) -> tuple[Sequence[SweepPoint], Floats, Floats]:
    both = np.array([toy(point) for point in points]).reshape(len(points), 2)
    return points, both[:, 0], both[:, 1]


def area(points: Sequence[SweepPoint]) -> float:
    return hypervolume(*told(points)[1:], REFERENCE)


def joined(generations: Sequence[Sequence[SweepPoint]]) -> list[SweepPoint]:
    return [point for generation in generations for point in generation]


@pytest.mark.parametrize("after", [0, 1, 2, 5])
def test_a_search_that_is_begun_again_asks_for_the_same_points(after: int) -> None:
    whole = unbroken(3, 180)
    again = FrontierSearch(SPACES, seed=3, size=30)
    for i in range(after, len(whole)):
        assert again.generation(*told(joined(whole[:i]))) == whole[i]


def test_what_it_was_told_before_makes_no_difference() -> None:
    whole = unbroken(3, 180)
    confused = FrontierSearch(SPACES, seed=3, size=30)
    points, risk, loss = told(joined(whole[:4]))
    confused.generation(points, 1 - risk, loss**2)
    assert confused.generation(points, risk, loss) == whole[4]
    assert confused.generation(points, risk, loss) == whole[4], "asked twice"
    assert confused.generation(*told(joined(whole[:2]))) == whole[2], "also backwards"


def test_results_and_seed_count() -> None:
    whole = unbroken(3, 180)
    points, risk, loss = told(joined(whole[:2]))
    assert FrontierSearch(SPACES, seed=3, size=30).generation(points, loss, risk[::-1].copy()) != whole[2]
    assert unbroken(4, 60)[0] != whole[0]


def test_points_are_numbered_on_and_never_repeated() -> None:
    points = joined(unbroken(3, 180))
    assert [point.number for point in points] == list(range(180))
    assert len({(point.pipeline, point.values) for point in points}) == 180
    for point in points:
        names = [path for path, _ in point.values]
        there = {"groups": ["k", "width", "method"], "noise": ["share", "scale"]}[point.pipeline]
        assert names == there + (["gamma"] if ("method", "z") in point.values else [])
        assert all(not isinstance(value, float) or 0 <= value <= 1 for _, value in point.values)


@pytest.mark.slow
def test_it_comes_nearer_to_the_frontier_than_chance() -> None:
    grid = [SweepPoint(0, "groups", values) for values in GROUPS.grid()]
    best = area([*grid, *(SweepPoint(0, "noise", (("share", k), ("scale", 0.5))) for k in range(1, 51))])
    left = {"search": 0.0, "chance": 0.0}
    for seed in range(5):
        left["search"] += best - area(joined(unbroken(seed, 300)))
        left["chance"] += best - area(list(random(SPACES, 300, seed)))
    assert left["search"] < 0.7 * left["chance"], left


def test_a_space_is_searched_to_its_end() -> None:
    small = (
        Space.from_axes("a", (SweepAxis("k", (2, 3, 5)), SweepAxis("m", (True, False)))),
        Space.from_axes("b", (SweepAxis("p", ("x",)),)),
    )
    search = FrontierSearch(small, seed=1, size=3)
    points: list[SweepPoint] = []
    while new := search.generation(points, np.arange(len(points), dtype=float), np.zeros(len(points))):
        points += new
    assert sorted((point.pipeline, str(point.values)) for point in points) == sorted(
        (space.pipeline, str(values)) for space in small for values in space.grid()
    )
    assert search.generation(points, np.zeros(7), np.zeros(7)) == ()


def test_a_space_smaller_than_a_generation() -> None:
    one = (Space.from_axes("a", (SweepAxis("k", (2, 3)),)),)
    search = FrontierSearch(one, seed=1, size=10)
    points = search.generation([], np.empty(0), np.empty(0))
    assert len(points) == 2
    assert search.generation(points, np.zeros(2), np.zeros(2)) == ()


def test_a_pipeline_without_axes_is_one_point() -> None:
    both = (Space.from_axes("plain", ()), Space.from_axes("a", (SweepAxis("k", tuple(range(4))),)))
    search = FrontierSearch(both, seed=0, size=5)
    points = search.generation([], np.empty(0), np.empty(0))
    assert [(point.pipeline, point.values) for point in points].count(("plain", ())) == 1
    assert len(points) == 5


def test_points_without_result_are_worse_than_any() -> None:
    """Half of the space fails; the search learns to stay away from it, though nothing there was ever said to be bad."""
    space = (Space.from_axes("a", (SweepAxis("x", tuple(range(100))), SweepAxis("y", tuple(range(100))))),)
    search = FrontierSearch(space, seed=5, size=40)
    points: list[SweepPoint] = []
    for _ in range(6):
        values = np.array([[dict(point.values)[name] for name in "xy"] for point in points], dtype=float).reshape(-1, 2)
        fails = values[:, 0] < 50
        risk, loss = (np.where(fails, np.nan, number) for number in (values[:, 0], values[:, 1]))
        points += search.generation(points, risk, loss)
    failed = [dict(point.values)["x"] < 50 for point in points]  # type: ignore[operator]  # all are numbers
    assert np.mean(failed[:40]) > 0.3
    assert np.mean(failed[-80:]) < 0.4, "the best points lie at the edge of it"
    best = np.array([[dict(point.values)[name] for name in "xy"] for point, bad in zip(points, failed, strict=True) if not bad])
    assert best[frontier(best[:, 0].astype(float), best[:, 1].astype(float))].min(axis=0).tolist() < [55, 5]


def test_nothing_but_failures_is_no_failure() -> None:
    search = FrontierSearch(SPACES, seed=2, size=10)
    points = list(search.generation([], np.empty(0), np.empty(0)))
    for _ in range(3):
        points += search.generation(points, np.full(len(points), np.nan), np.full(len(points), np.nan))
    assert len({(point.pipeline, point.values) for point in points}) == 40


def test_what_is_told_is_checked() -> None:
    points, risk, loss = told(joined(unbroken(3, 180)[:2]))
    search = FrontierSearch(SPACES, seed=3, size=30)
    for wrong in ((points[1:], risk[1:], loss[1:]), (points, risk[:-1], loss), (list(points)[::-1], risk, loss)):
        with pytest.raises(ValueError, match="from number 0 on"):
            search.generation(*wrong)
    with pytest.raises(ValueError, match="at least 2 points"):
        FrontierSearch(SPACES, seed=3, size=1)


def test_a_long_log_range_and_rounded_ends() -> None:
    space = (Space.from_axes("a", (SweepAxis("p", (), (0.123456789, 98.7654321), log=True),)),)
    search = FrontierSearch(space, seed=8, size=4)
    points: list[SweepPoint] = []
    for _ in range(8):
        numbers = np.array([float(str(point.values[0][1])) for point in points])
        points += search.generation(points, numbers, 100 - numbers)
    assert len(points) == 32
    assert all(0.123456 < float(str(point.values[0][1])) < 98.7655 for point in points)


def test_the_log_of_optuna_is_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    before = optuna.logging.get_verbosity()
    unbroken.__wrapped__(6, 60)
    assert optuna.logging.get_verbosity() == before
    assert capfd.readouterr() == ("", "")


def test_a_search_never_asks_for_a_value_beyond_the_ends_of_a_range() -> None:
    ends = 0.1234564, 0.9999999
    (space,) = spaces = (Space.from_axes("p", (SweepAxis("x", (), ends),)),)
    encoding = _Encoding(spaces, bytes(32))
    for end in ends:
        assert encoding.point(0, {"pipeline": "p", "p x": end}) == SweepPoint(0, space.pipeline, (("x", end),))
