"""Risk and loss of a trial, by each view."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from tasks.sweep.layout import StoredFigure, TrialRow, TrialStatus, create_sweep_table
from tasks.sweep.results import Results
from tasks.sweep.views import (
    FigureLoss,
    FigureRisk,
    LiteratureLoss,
    LiteratureRisk,
    LossView,
    RiskView,
    WorstRisk,
    compute_loss,
    compute_risk,
)

NEAREST, FOLLOWED = "reidentification|distance_linkage|declared", "reidentification|transparency|declared"
INSIDER = "reidentification|distance_linkage|insider:vote"
CURVE = "reidentification|transparency|knowledge:2"
RANKS = "rank_interval_disclosure"
GONE: StoredFigure = {"status": "not_applicable"}
FAILED: StoredFigure = {"status": "failed"}


def results(*trials: dict[str, StoredFigure], status: TrialStatus = "ok", reason: str | None = None) -> Results:
    rows = [
        TrialRow(point=i, pipeline="p", seed=0, axes={}, status=status, reason=reason, figures=figures, seconds=0)
        for i, figures in enumerate(trials)
    ]
    return Results.from_table(create_sweep_table(rows))


def told(found: Results, view: Any) -> list[float | None]:
    seen = compute_risk(found, view) if isinstance(view, WorstRisk | LiteratureRisk | FigureRisk) else compute_loss(found, view)
    assert [np.isnan(value) for value in seen.values] == [why is not None for why in seen.reasons]
    return [None if np.isnan(value) else float(value) for value in seen.values]


def test_the_worst_is_the_largest_of_all_attacks_that_apply() -> None:
    found = results(
        {NEAREST: 0.1, FOLLOWED: 0.7, INSIDER: 0.9, CURVE: 1.0},
        {NEAREST: 0.3, FOLLOWED: GONE, INSIDER: 0.2},
        {NEAREST: 0.3, FOLLOWED: FAILED},
        {NEAREST: GONE, FOLLOWED: GONE},
        {INSIDER: 0.5, "records_exposed|distance_linkage|declared": 0.5, "known_links|transparency|declared": 1.0},
        {NEAREST: 0.0, FOLLOWED: 0.0},
    )
    assert told(found, WorstRisk()) == [0.7, 0.3, None, None, None, 0.0]
    seen = compute_risk(found, WorstRisk())
    assert seen.figure == (FOLLOWED, NEAREST, None, None, None, NEAREST)
    assert seen.reasons[2] == f"the figure {FOLLOWED} failed"
    assert seen.reasons[3] == "no such figure: no attack or attribute that it is about applies"
    assert told(found, WorstRisk(include_insiders=True)) == [0.9, 0.3, None, None, 0.5, 0.0]


@pytest.mark.parametrize("view", [WorstRisk(), LiteratureRisk(), FigureLoss(measure="il1s"), LiteratureLoss()])
def test_a_trial_that_was_skipped_has_no_number_and_says_why(view: Any) -> None:
    found = results({}, status="skipped", reason="k: larger than the table")
    assert told(found, view) == [None]
    seen = compute_risk(found, view) if isinstance(view, WorstRisk | LiteratureRisk) else compute_loss(found, view)
    assert seen.reasons == ("skipped: k: larger than the table",)


def test_a_trial_that_failed_has_none_though_it_has_figures() -> None:
    assert told(results({NEAREST: 0.1}, status="failed"), WorstRisk()) == [None]


def test_the_view_of_the_literature_by_hand() -> None:
    widths: dict[str, StoredFigure] = {
        f"{RANKS}|age|p_percent=5": 0.2,
        f"{RANKS}|age|p_percent=10": 0.4,
        f"{RANKS}|pay|p_percent=5": 0.9,
    }
    found = results(
        {NEAREST: 0.1, FOLLOWED: 1.0, "sd_interval_disclosure|age|p_percent=5": 1.0, **widths},
        {NEAREST: 0.1, FOLLOWED: 1.0},
        {FOLLOWED: 1.0, **widths},
        {NEAREST: 0.1, f"{RANKS}|age|p_percent=5": GONE, f"{RANKS}|pay|p_percent=5": 0.3},
    )
    assert told(found, LiteratureRisk()) == pytest.approx([0.5 * 0.5 + 0.5 * 0.1, None, None, 0.5 * 0.3 + 0.5 * 0.1])
    seen = compute_risk(found, LiteratureRisk())
    assert seen.reasons[1] == "no interval disclosure: no ordered attribute is masked"
    assert told(found, LiteratureRisk(linkage="transparency"))[0] == pytest.approx(0.75)
    assert "0.5 * interval disclosure (ranks) + 0.5 * distance linkage" in seen.says


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"measure": "reidentification"}, 0.7),
        ({"measure": "reidentification", "attack": "distance_linkage"}, 0.1),
        ({"measure": "reidentification", "intruder": "insider"}, 0.9),
        ({"measure": "reidentification", "intruder": "insider:vote", "attack": "transparency"}, None),
        ({"measure": "reidentification", "intruder": "knowledge:2"}, 1.0),
        ({"measure": RANKS}, 0.6),
        ({"measure": RANKS, "attribute": "age"}, 0.5),
        ({"measure": RANKS, "attribute": "age", "p_percent": 5.0}, 0.25),
        ({"measure": "subgroup_reidentification"}, 0.4),
        ({"measure": "subgroup_reidentification", "subgroup": "lowest values"}, 0.2),
    ],
)
def test_one_figure(asked: dict[str, Any], expected: float | None) -> None:
    found = results(
        {
            NEAREST: 0.1,
            FOLLOWED: 0.7,
            INSIDER: 0.9,
            CURVE: 1.0,
            f"{RANKS}|age|p_percent=5": 0.25,
            f"{RANKS}|age|p_percent=10": 0.5,
            f"{RANKS}|pay|p_percent=5": 0.6,
            "subgroup_reidentification|transparency|declared|pay|highest values": 0.4,
            "subgroup_reidentification|transparency|declared|pay|lowest values": 0.2,
        }
    )
    assert told(found, FigureRisk(**asked)) == [expected]


def test_losses() -> None:
    found = results(
        {"sse_percent": 3.0, "sse_percent|age": 9.0, "mean_difference|age": 0.1, "mean_difference|pay": 0.2, "il1s": 0.4},
        {"sse_percent": GONE, "sse_percent|age": GONE, "il1s": 0.0},
    )
    assert told(found, FigureLoss(measure="sse_percent")) == [3.0, None]
    assert told(found, FigureLoss(measure="sse_percent", attribute="age")) == [9.0, None]
    assert told(found, FigureLoss(measure="mean_difference")) == [0.2, None]


def test_the_loss_of_the_literature_by_hand() -> None:
    cells: dict[str, StoredFigure] = {"il1s": 0.4, "il1s|age": 0.9, "mean_difference|age": 0.1, "mean_difference|pay": 0.2}
    relations: dict[str, StoredFigure] = {"covariance_difference": 0.3, "correlation_difference": 0.2}
    found = results(cells | relations, cells, relations | {"il1s": GONE}, cells | relations | {"mean_difference|pay": GONE})
    assert told(found, LiteratureLoss()) == [pytest.approx(0.08 + 0.03 + 0.12 + 0.04), None, None, pytest.approx(0.26)]
    assert compute_loss(found, LiteratureLoss()).reasons == (None, "no covariance_difference", "no il1s", None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"view": "worst"}', WorstRisk()),
        ('{"view": "worst", "include_insiders": true}', WorstRisk(include_insiders=True)),
        ('{"view": "literature"}', LiteratureRisk()),
        (
            '{"measure": "max_record_risk", "attack": "transparency"}',
            FigureRisk(measure="max_record_risk", attack="transparency"),
        ),
    ],
)
def test_a_view_as_the_sweep_file_has_it(text: str, expected: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(RiskView)
    assert adapter.validate_json(text) == expected
    assert adapter.validate_json(adapter.dump_json(expected)) == expected


@pytest.mark.parametrize(
    "text",
    ['{"measure": "k_anonymity"}', '{"measure": "sse_percent"}', '{"measure": "linked_value_control"}', '{"view": "best"}',
     '{"view": "worst", "attack": "transparency"}', '{"measure": "x"}', "{}", "3"],
)  # fmt: skip
def test_what_is_no_risk_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(RiskView).validate_json(text)


def test_what_is_no_loss_is_refused() -> None:
    with pytest.raises(ValidationError, match="one of: records_absent, sse_percent"):
        TypeAdapter(LossView).validate_json('{"measure": "reidentification"}')
