"""Dominance, the frontier, and which points keep a policy."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tasks.attack.consistency.consistency import Consistency
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.omissions import Omission
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.microdata.table import Floats
from tasks.score.joined_releases import CHANGES
from tasks.score.policy import PolicyLine
from tasks.sweep.frontier import (
    NOBODY,
    compute_distance_behind,
    compute_hypervolume,
    compute_map_coordinates,
    find_dominators,
    find_frontier,
    find_policy_region,
    find_required,
)
from tasks.sweep.layout import StoredFigure, TrialRow, create_sweep_table, decode_figure, encode_figures
from tasks.sweep.results import Results

SIDE = 5
few_values = st.integers(0, SIDE - 1).map(float) | st.just(np.nan)
maps = st.integers(0, 14).flatmap(
    lambda n: st.tuples(arrays(float, n, elements=few_values), arrays(float, n, elements=few_values))
)


def beats(risk: Floats, loss: Floats, i: int, j: int) -> bool:
    no_larger = risk[i] <= risk[j] and loss[i] <= loss[j]
    return bool(no_larger and (risk[i] < risk[j] or loss[i] < loss[j]))


def beaten_by(risk: Floats, loss: Floats) -> list[list[int]]:
    """For each point all that dominate it: the definition, in O(n^2)."""
    return [[i for i in range(len(risk)) if beats(risk, loss, i, j)] for j in range(len(risk))]


def test_an_example_by_hand() -> None:
    risk, loss = np.array([0.5, 0.1, 0.5, 0.9, 0.1, np.nan, 0.9]), np.array([0.5, 0.9, 0.5, 0.1, 1.0, 0.0, 0.6])
    assert find_frontier(risk, loss).tolist() == [True, True, True, True, False, False, False]
    assert find_dominators(risk, loss).tolist() == [NOBODY, NOBODY, NOBODY, NOBODY, 1, NOBODY, 0]
    assert compute_distance_behind(risk, loss)[6] == pytest.approx((0.6 - 0.5) / 0.9), (
        "by so much of its range the loss would have to fall"
    )
    assert np.isnan(compute_distance_behind(risk, loss)[5])


@given(maps)
def test_as_the_definition_has_it(map_: tuple[Floats, Floats]) -> None:
    risk, loss = map_
    known = ~(np.isnan(risk) | np.isnan(loss))
    above = beaten_by(risk, loss)
    on_it = [bool(there) and not some for there, some in zip(known, above, strict=True)]
    assert find_frontier(risk, loss).tolist() == on_it
    witnesses = [next((i for i in some if on_it[i]), NOBODY) for some in above]
    assert find_dominators(risk, loss).tolist() == witnesses
    assert [witness != NOBODY for witness in witnesses] == [bool(some) for some in above]


@given(maps)
def test_the_order_of_the_points_changes_nothing(map_: tuple[Floats, Floats]) -> None:
    risk, loss = map_
    order = np.random.default_rng(len(risk)).permutation(len(risk))
    assert find_frontier(risk[order], loss[order]).tolist() == find_frontier(risk, loss)[order].tolist()
    assert np.array_equal(
        compute_distance_behind(risk[order], loss[order]), compute_distance_behind(risk, loss)[order], equal_nan=True
    )


@given(maps)
def test_the_area_is_the_number_of_squares_that_are_dominated(map_: tuple[Floats, Floats]) -> None:
    risk, loss = map_
    corners = [(x, y) for x in range(SIDE) for y in range(SIDE)]
    squares = sum(any(r <= x and v <= y for r, v in zip(risk, loss, strict=True)) for x, y in corners)
    assert compute_hypervolume(risk, loss, (SIDE, SIDE)) == squares
    assert compute_hypervolume(risk, loss, (0, SIDE)) == 0


@given(maps)
def test_a_step_of_the_distance_frees_a_point_and_less_does_not(map_: tuple[Floats, Floats]) -> None:
    risk, loss = map_
    far = compute_distance_behind(risk, loss)
    ahead = find_frontier(risk, loss)
    known = ~(np.isnan(risk) | np.isnan(loss))
    for i in np.flatnonzero(known & ~ahead):
        spans = [float(np.ptp(values[known])) or 1.0 for values in (risk, loss)]
        for step, free in ((far[i] + 1e-6, True), (far[i] - 1e-6, False)):
            moved = risk[i] - step * spans[0], loss[i] - step * spans[1]
            below = any(risk[j] < moved[0] and loss[j] < moved[1] for j in np.flatnonzero(ahead))
            assert below is not free or (not free and far[i] == 0)
    assert (far[ahead] == 0).all()


def test_ten_thousand_points_are_quick() -> None:
    rng = np.random.default_rng(1)
    clouds = [rng.random((2, 10_000)), np.stack([np.arange(1e4), -np.arange(1e4)])]
    for risk, loss in clouds:
        began = time.process_time()
        find_frontier(risk, loss)
        find_dominators(risk, loss)
        assert time.process_time() - began < 0.5


NO_MORE = PolicyLine(measure="reidentification", at_most=0.2)
ENOUGH = PolicyLine(measure="k_anonymity", at_least=3)
LINKED, FOLLOWED = "reidentification|distance_linkage|declared", "reidentification|transparency|declared"


def results(*points: list[dict[str, StoredFigure]]) -> Results:
    return Results.from_table(
        create_sweep_table(
            [
                TrialRow(point=i, pipeline="p", seed=seed, axes={}, status="ok", reason=None, figures=figures, seconds=0)
                for i, seeds in enumerate(points)
                for seed, figures in enumerate(seeds)
            ]
        )
    )


def test_the_region_of_a_policy() -> None:
    good: dict[str, StoredFigure] = {LINKED: 0.2, "k_anonymity": 3.0}
    unsure: StoredFigure = {"value": 0.15, "low": 0.1, "high": 0.3}
    found = results(
        [good, good],
        [good, {**good, LINKED: 0.21}],
        [good, {**good, FOLLOWED: 0.5}],
        [good, {**good, FOLLOWED: {"status": "not_applicable"}}],
        [good, {**good, FOLLOWED: {"status": "failed"}}],
        [{**good, LINKED: unsure}],
        [good, {}],
        [{**good, LINKED: unsure}, {**good, "k_anonymity": 2.0}],
        [{**good, "reidentification|distance_linkage|insider:vote": 1.0}],
    )
    kinds = ["inside", "outside", "outside", "inside", "undecided", "undecided", "undecided", "outside", "inside"]
    assert list(find_policy_region(found, (NO_MORE, ENOUGH))) == kinds
    with pytest.raises(InputError):
        find_policy_region(found, ())


def test_the_region_of_figures_as_they_are_scored() -> None:
    one = Estimate(measure="reidentification", attack="a", intruder="declared", value=0.2, low=0.2, high=0.2, unit="share")
    assert find_policy_region(results([encode_figures([one])]), (NO_MORE,)) == ("inside",)


SWAP = RankSwapping(method="rank_swapping", attributes=("age",), window_percent=10)
GROUP = Microaggregation(method="microaggregation", attributes=("age",), k=3)
LINK, PAIRS = DistanceLinkage(method="distance_linkage"), Consistency(method="consistency", id="pairs")


@pytest.mark.parametrize(("step", "region"), [(SWAP, "undecided"), (GROUP, "inside")])
def test_an_attack_of_any_name_counts_where_the_steps_of_the_point_require_its_method(step, region) -> None:
    known = {"measure": "reidentification", "intruder": "declared", "unit": "share"}
    linked = Estimate(attack="distance_linkage", value=0.2, low=0.2, high=0.2, **known)
    figures = [linked, Estimate(attack="pairs", value=None, status="not_followed", **known)]
    required = find_required((LINK, PAIRS), (step,))
    assert find_policy_region(results([encode_figures(figures)]), (NO_MORE,), lambda _: required) == (region,)


def test_of_two_attacks_by_one_method_one_is_enough() -> None:
    known = {"measure": "reidentification", "intruder": "declared", "unit": "share"}
    idle = Estimate(attack="pairs", value=None, status="not_followed", **known)
    required = find_required((PAIRS, Consistency(method="consistency")), (SWAP,))
    others = (
        replace(idle, attack="consistency", value=0.2, low=0.2, high=0.2, status="ok"),
        replace(idle, attack="consistency"),
    )
    points = results(*([encode_figures([idle, other])] for other in others))
    assert find_policy_region(points, (NO_MORE,), lambda _: required) == ("inside", "undecided")


def test_the_steps_are_those_of_each_point() -> None:
    known = {"measure": "reidentification", "intruder": "declared", "unit": "share"}
    linked = Estimate(attack="distance_linkage", value=0.2, low=0.2, high=0.2, **known)
    figures = encode_figures([linked, Estimate(attack="consistency", value=None, status="not_followed", **known)])
    plans = [find_required((LINK, Consistency(method="consistency")), (step,)) for step in (GROUP, SWAP)]
    assert find_policy_region(results([figures], [figures]), (NO_MORE,), lambda n: plans[n]) == ("inside", "undecided")


def test_a_required_attack_that_was_not_computed_leaves_a_point_undecided_or_outside() -> None:
    known = {"measure": "reidentification", "intruder": "declared", "unit": "share"}
    linked = Estimate(attack="distance_linkage", value=0.2, low=0.2, high=0.2, **known)
    idle = Estimate(attack="consistency", value=None, status="not_followed", **known)
    bounds = (replace(idle, value=low + 0.1, low=low, high=1.0) for low in (0.1, 0.5))
    points = [[encode_figures([linked, one])] for one in (idle, *bounds, replace(idle, attack="learned_linkage"))]
    required = {name: name for name in ("distance_linkage", "transparency", "consistency")}
    found = find_policy_region(results(*points), (NO_MORE,), lambda _: required)
    assert found == ("undecided", "undecided", "outside", "inside")
    assert find_policy_region(results(*points), (NO_MORE,))[-1] == "undecided", "nothing is known of the steps"


def test_each_earlier_release_must_be_answered_for_unless_it_is_omitted() -> None:
    known = {"measure": "reidentification", "intruder": "declared", "unit": "share"}
    linked, joint = (
        Estimate(attack=name, value=0.2, low=0.2, high=0.2, **known) for name in ("distance_linkage", "earlier_releases")
    )
    idle = Estimate(attack="earlier_releases:file:1", value=None, status="not_followed", **known)
    points = results([encode_figures([linked, joint])], [encode_figures([linked, joint, idle])])
    assert find_policy_region(points, (NO_MORE,), lambda _: {}) == ("inside", "undecided")
    accepted = (Omission(attack="earlier_releases", intruder="declared", reason="a text alone"),)
    assert find_policy_region(points, (NO_MORE,), lambda _: {}, accepted) == ("inside", "inside")
    others = (Omission(attack="earlier_releases", intruder="insider", reason="a text alone"),)
    assert find_policy_region(points, (NO_MORE,), lambda _: {}, others) == ("inside", "undecided")


def test_nothing_is_reconstructed_where_no_other_release_counts() -> None:
    line = PolicyLine(measure="values_reconstructed", at_most=0.1)
    unread: StoredFigure = {"status": "not_followed", "low": 0.0}
    points = results([{"sse_percent": 1.0}], *([{"values_reconstructed": one}] for one in (0.1, 0.2, unread)))
    assert find_policy_region(points, (line,)) == ("inside", "inside", "outside", "undecided")


@pytest.mark.parametrize("subgroup", CHANGES)
def test_figures_of_people_who_changed_are_read_back(subgroup) -> None:
    one = Estimate(
        measure="reidentification", attack="earlier_releases:file:1", intruder="declared", subgroup=subgroup, value=1.0,
        low=1.0, high=1.0, unit="share",
    )  # fmt: skip
    assert decode_figure(one.id, encode_figures([one])[one.id]).subgroup == subgroup
    assert find_policy_region(results([encode_figures([one])]), (NO_MORE,)) == ("outside",)


def test_a_point_that_lost_a_seed_is_not_compared() -> None:
    found = results([{"il1s": 1.0}, {"il1s": 3.0}], [{"il1s": 1.0}, {}], [{}, {}])
    loss = found.aggregate_seeds(found.values("il1s"))
    risk, same = compute_map_coordinates(loss, loss)
    assert np.array_equal(risk, [2.0, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(risk, same, equal_nan=True)
