"""The points of a sweep: the grid, its size, and points drawn at random."""

from collections import Counter
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tasks.sweep.axes import SweepAxis
from tasks.sweep.points import Space, SweepPoint, allocate_points, grid, n_points, random


def space(name, *axes):
    return Space.from_axes(name, axes)


MDAV = space(
    "mdav",
    SweepAxis("k", (3, 5)),
    SweepAxis("partition", ("mdav", "v_mdav")),
    SweepAxis("gamma", (0.2, 1.1), when=(("partition", ("v_mdav",)),)),
)
SWAP = space("swap", SweepAxis("p", (1, 2, 3)))


def test_the_grid_by_hand():
    assert list(grid((MDAV, SWAP))) == [
        SweepPoint(0, "mdav", (("k", 3), ("partition", "mdav"))),
        SweepPoint(1, "mdav", (("k", 3), ("partition", "v_mdav"), ("gamma", 0.2))),
        SweepPoint(2, "mdav", (("k", 3), ("partition", "v_mdav"), ("gamma", 1.1))),
        SweepPoint(3, "mdav", (("k", 5), ("partition", "mdav"))),
        SweepPoint(4, "mdav", (("k", 5), ("partition", "v_mdav"), ("gamma", 0.2))),
        SweepPoint(5, "mdav", (("k", 5), ("partition", "v_mdav"), ("gamma", 1.1))),
        SweepPoint(6, "swap", (("p", 1),)),
        SweepPoint(7, "swap", (("p", 2),)),
        SweepPoint(8, "swap", (("p", 3),)),
    ]
    assert (MDAV.size, SWAP.size, n_points((MDAV, SWAP))) == (6, 3, 9)


def test_a_pipeline_without_axes_is_one_point():
    assert list(grid((space("plain"),))) == [SweepPoint(0, "plain", ())]
    assert space("plain").size == 1


def test_values_stand_in_the_order_of_the_file_though_a_condition_looks_ahead():
    early = space("p", SweepAxis("gamma", (1, 2), when=(("way", ("x",)),)), SweepAxis("way", ("x", "y")))
    assert [one.values for one in grid((early,))] == [
        (("gamma", 1), ("way", "x")),
        (("gamma", 2), ("way", "x")),
        (("way", "y"),),
    ]


@st.composite
def spaces(draw):
    """Up to 6 axes whose conditions name any axes before them."""
    axes = []
    for i in range(draw(st.integers(0, 6))):
        values = tuple(range(draw(st.integers(1, 4))))
        named = draw(st.lists(st.sampled_from(axes), max_size=2, unique_by=lambda one: one.path)) if axes else []
        when = tuple((one.path, tuple(draw(st.sets(st.sampled_from(one.choices), min_size=1)))) for one in named)
        axes.append(SweepAxis(f"a{i}", values, when=when))
    return space("p", *draw(st.permutations(axes)))


def slowly(one):
    """All combinations of all axes, each stripped of the axes that do not exist in it."""
    found = {}
    for combination in product(*(axis.choices for axis in one.axes)):
        chosen = dict(zip([axis.path for axis in one.axes], combination, strict=True))
        while lost := [axis.path for axis in one.axes if axis.path in chosen and not axis.exists(chosen)]:
            del chosen[lost[0]]
        found[tuple(chosen.items())] = None
    return list(found)


@given(spaces())
def test_the_grid_and_its_size_are_those_of_the_slow_way(one):
    expected = slowly(one)
    assert sorted(map(repr, one.grid())) == sorted(map(repr, expected))
    assert one.size == len(expected)


def test_a_grid_of_billions_is_counted_without_being_made():
    many = space("many", *(SweepAxis(f"a{i}", range(1000)) for i in range(10)), SweepAxis("b", (1, 2), when=(("a3", (7,)),)))
    assert many.size == 1000**10 + 1000**9


@given(spaces(), st.integers(1, 40), st.integers(0, 5))
def test_random_points_are_distinct_points_of_the_grid(one, points, seed):
    found = list(random((one,), points, seed))
    assert len(found) == min(points, one.size) == n_points((one,), points)
    assert len({point.values for point in found}) == len(found)
    assert {point.values for point in found} <= set(one.grid())
    assert [point.number for point in found] == list(range(len(found)))
    assert found == list(random((one,), points, seed))


def test_another_seed_draws_other_points():
    large = space("large", SweepAxis("a", range(1000)))
    assert list(random((large,), 20, 0)) != list(random((large,), 20, 1))


def test_random_points_come_evenly_from_the_pipelines():
    large, endless = space("large", SweepAxis("a", range(1000))), space("endless", SweepAxis("b", (), bounds=(0.0, 1.0)))
    assert allocate_points((large, SWAP, endless), 21) == (9, 3, 9)
    found = Counter(point.pipeline for point in random((large, SWAP, endless), 21, 0))
    assert found == {"large": 9, "swap": 3, "endless": 9}
    assert n_points((large, SWAP, endless), 21) == 21


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(0, 120))
def test_no_pipeline_gives_more_than_it_has_and_nothing_is_lost(sizes, points):
    many = tuple(space(f"p{i}", SweepAxis("a", range(size))) for i, size in enumerate(sizes))
    shares = allocate_points(many, points)
    assert sum(shares) == min(points, sum(sizes))
    assert all(share <= size for share, size in zip(shares, sizes, strict=True))
    assert all(share == size or share >= max(shares) - 1 for share, size in zip(shares, sizes, strict=True))


def test_points_of_a_huge_space_are_drawn_without_making_it():
    huge = space("huge", *(SweepAxis(f"a{i}", range(1000)) for i in range(6)))
    found = [point.values for point in random((huge,), 50, 0)]
    assert len(set(found)) == 50
    assert {path for path, _ in found[0]} == {f"a{i}" for i in range(6)}
