"""Which parameter moves which measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from tasks.microdata.table import Floats
from tasks.sweep.layout import TrialRow, create_sweep_table
from tasks.sweep.page.influence_table import create_influence_table
from tasks.sweep.results import Results
from tasks.sweep.sensitivity import Influence, influences

K, M, G = "masking[0].k", "masking[0].partition", "masking[0].gamma"


def results(points: Sequence[Mapping[str, object]], seeds: int = 1, pipeline: str = "p") -> Results:
    return Results.from_table(
        create_sweep_table(
            [
                TrialRow(point=i, pipeline=pipeline, seed=seed, axes=axes, status="ok", reason=None, figures={}, seconds=0)
                for i, axes in enumerate(points)
                for seed in range(seeds)
            ]
        )
    )


def grid(**axes: Sequence[object]) -> list[dict[str, object]]:
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def of(found: Sequence[Influence]) -> dict[str, Influence]:
    return {line.axis: line for line in found}


def test_two_effects_by_hand() -> None:
    found = of(influences(results(grid(a=[0, 1], b=[0, 1]), seeds=2), np.repeat([0.0, 1, 3, 4], 2)))
    assert found["a"].share == pytest.approx(0.9), "3^2 of 3^2 + 1^2"
    assert found["b"].share == pytest.approx(0.1)
    assert found["a"].method == "eta_squared"
    assert found["a"].chance == pytest.approx(1 / 7)
    assert (found["a"].n_trials, found["a"].n_points, found["a"].levels) == (8, 4, 2)


def test_where_the_one_acts_through_the_other_alone_neither_does_by_itself() -> None:
    found = of(influences(results(grid(a=[0, 1], b=["x", "y"])), np.array([0.0, 1, 1, 0])))
    assert [found[name].share for name in "ab"] == [0, 0]
    assert (found["a"].direction, found["b"].direction) == (0, None), "names have no direction"


def test_as_an_analysis_of_variance_has_it() -> None:
    rng = np.random.default_rng(3)
    points = grid(a=[2, 3, 5], b=["u", "v"], c=[True, False])
    y = rng.normal(size=len(points) * 3) + np.repeat([float(str(point["a"])) for point in points], 3)
    data = pd.DataFrame([point for point in points for _ in range(3)]).assign(y=y)
    table = sm.stats.anova_lm(smf.ols("y ~ C(a) + C(b) + C(c)", data).fit(), typ=2)["sum_sq"]
    found = of(influences(results(points, seeds=3), y))
    for name in "abc":
        assert found[name].share == pytest.approx(table[f"C({name})"] / table.sum())


def test_an_axis_without_influence_gets_its_chance_on_average() -> None:
    rng = np.random.default_rng(7)
    table = results(grid(a=range(6), b=range(4)))
    runs = [influences(table, rng.normal(size=24)) for _ in range(300)]
    shares = np.array([line[0].share for line in runs], dtype=float)
    assert runs[0][0].chance == pytest.approx(5 / 23)
    assert abs(shares.mean() - 5 / 23) < 4 * shares.std() / np.sqrt(300)


def test_the_page_says_how_large_a_share_may_be_that_means_nothing() -> None:
    table = results(grid(a=range(60)), seeds=2)
    luck = create_influence_table(table, {"loss": np.random.default_rng(7).normal(size=120)}, (), {"a": "a"})
    assert (luck.rows[0][0].share or 0) > 0.3, "pure noise"
    assert "one that moves nothing can get up to about 50\u202f% here" in luck.says
    plain = create_influence_table(results(grid(a=[0, 1]), seeds=30), {"loss": np.arange(60.0)}, (), {"a": "a"})
    assert "moves nothing" not in plain.says


def test_directions() -> None:
    table = results(grid(a=[1, 2, 3, 4], b=[1, 2]))
    found = of(influences(table, np.array([float(str(a)) ** 3 for a in table.axis("a")])))
    assert found["a"].direction == pytest.approx(1)
    assert found["b"].direction == pytest.approx(0)
    assert of(influences(table, -np.array([float(str(a)) for a in table.axis("a")])))["a"].direction == pytest.approx(-1)


@pytest.mark.parametrize(
    ("points", "values", "reason"),
    [
        (grid(a=[1, 2, 3]), [1.0, 2, 3], "3 trials for 3 values are too few: at least 2 for each"),
        (grid(a=[1, 2], b=[1, 2]), [1.0, 1, 1, 1], "the figure is the same everywhere"),
        (grid(a=[1, 2], b=[1, 2]), [np.nan] * 4, "no trial has the figure"),
        (grid(a=[1, 2], b=[1, 2]), [1.0, 2, np.nan, 3], "3 points of an unbalanced design are too few: at least 50"),
    ],
)
def test_what_is_not_assessed_says_why(points: list[dict[str, object]], values: list[float], reason: str) -> None:
    for line in influences(results(points), np.array(values)):
        assert (line.share, line.method, line.reason) == (None, None, reason)


def test_an_axis_of_one_value_has_no_line() -> None:
    assert [line.axis for line in influences(results(grid(a=[1], b=[1, 2])), np.array([1.0, 2]))] == ["b"]
    assert influences(results([{}]), np.array([1.0])) == ()


def test_an_axis_whose_other_values_lack_the_figure() -> None:
    found = of(influences(results(grid(a=[1, 2], b=[1, 2])), np.array([1.0, 2, np.nan, np.nan])))
    assert found["a"].reason == "the axis takes one value where the figure is there"


def test_a_conditional_axis_counts_only_where_it_exists() -> None:
    points = [{K: k, M: "mdav"} for k in (2, 3)] + [{K: k, M: "v_mdav", G: g} for k in (2, 3) for g in (0.2, 0.5, 1.1)]
    y = np.array([5.0, 5] + [g * 10 for _ in (2, 3) for g in (0.2, 0.5, 1.1)])
    found = of(influences(results(points), y))
    assert (found[G].n_points, found[K].n_points, found[M].n_points) == (6, 8, 8)
    assert found[G].share == pytest.approx(1)
    assert found[K].share == pytest.approx(0)
    assert found[M].share == pytest.approx(_between([5.0, 5], [2, 5, 11, 2, 5, 11]))


def _between(*groups: Sequence[float]) -> float:
    everything = np.concatenate(groups)
    between = sum(len(one) * (np.mean(one) - everything.mean()) ** 2 for one in groups)
    return float(between / ((everything - everything.mean()) ** 2).sum())


def test_pipelines_are_told_apart() -> None:
    lines = [
        TrialRow(point=i, pipeline=name, seed=0, axes={"a": i % 4}, status="ok", reason=None, figures={}, seconds=0)
        for i, name in enumerate(["one"] * 8 + ["other"] * 8)
    ]
    table = Results.from_table(create_sweep_table(lines))
    y = np.array([float(str(a)) for a in table.axis("a")]) * ([1] * 8 + [-1] * 8)
    one, other = influences(table, y)
    assert (one.pipeline, other.pipeline) == ("one", "other")
    assert one.direction == pytest.approx(1)
    assert other.direction == pytest.approx(-1)


def scattered(n: int, y: object, seed: int = 5) -> tuple[Results, Floats]:
    rng = np.random.default_rng(seed)
    points = [{"a": float(rng.random()), "b": float(rng.random()), "c": str(rng.choice(["x", "y"]))} for _ in range(n)]
    return results(points), np.array([y(point, rng) for point in points])  # type: ignore[operator]  # a function


def test_a_random_design_is_asked_by_a_forest() -> None:
    found = of(influences(*scattered(200, lambda point, rng: 3 * point["a"] ** 2 + (point["c"] == "x"))))
    shares = {name: line.share for name, line in found.items()}
    assert shares["a"] > shares["c"] > shares["b"]  # type: ignore[operator]  # all were assessed
    assert {line.method for line in found.values()} == {"permutation"}
    score = found["a"].score
    assert score is not None
    assert 0.8 < score == pytest.approx(sum(share for share in shares.values() if share is not None))
    assert found["a"].direction is not None
    assert found["a"].direction > 0.5


def test_a_forest_that_foretells_nothing_says_so() -> None:
    for line in influences(*scattered(80, lambda point, rng: rng.normal())):
        assert line.share is None
        assert line.score is not None
        assert line.score < 0.1
        assert line.reason is not None
        assert line.reason.startswith("the axes do not foretell the figure: R^2 ")
