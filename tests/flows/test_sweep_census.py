"""The two pictures of the "Census" table that `params/sweeps/census.yaml` promises, on a part of its points."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from sweep_files import table_of

from tasks.sweep.frontier import compute_map_coordinates, find_frontier
from tasks.sweep.results import Results
from tasks.sweep.views import LiteratureLoss, LiteratureRisk, WorstRisk, compute_loss, compute_risk

SHIPPED = Path(__file__).resolve().parents[2] / "params" / "sweeps" / "census.yaml"
AXES = {
    "microaggregation": {"masking[0].k": {"values": [3, 10, 40, 160, 540]}},
    "rank-swapping": {"masking[0].window_percent": {"values": [10, 20, 30, 40, 50]}},
}


def at_the_frontier(results: Results, view: LiteratureRisk | WorstRisk) -> list[str]:
    """The pipelines of the points at the frontier, by growing risk."""
    risk, loss = compute_risk(results, view), compute_loss(results, LiteratureLoss())
    risks, losses = compute_map_coordinates(results.aggregate_seeds(risk.values), results.aggregate_seeds(loss.values))
    assert not np.isnan(risks).any()
    on = np.flatnonzero(find_frontier(risks, losses))
    pipelines = np.asarray(results.texts("pipeline"), dtype=object)[results.first]
    return [str(pipelines[i]) for i in on[np.argsort(risks[on])]]


@pytest.mark.long
def test_rank_swapping_stands_at_the_frontier_of_the_literature_and_falls_off_once_the_method_is_known(
    sdcert, tmp_path, home, reference, monkeypatch
):
    monkeypatch.setenv("SDCERT_REFERENCE_DATA", str(reference))
    asked = yaml.safe_load(SHIPPED.read_text())
    own = [one | {"axes": AXES[one["name"]]} for one in asked["pipelines"] if one["name"] in AXES]
    base = str(SHIPPED.parent / asked["base"])
    (tmp_path / "part.yaml").write_text(yaml.safe_dump(asked | {"name": "part", "base": base, "pipelines": own, "seeds": 2}))
    ran = sdcert("sweep", tmp_path / "part.yaml", "--workers", "2", "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    results = Results.from_table(table_of(home, found["id"]))
    assert (results.n_points, results.n_trials) == (10, 20)
    literature = at_the_frontier(results, LiteratureRisk())
    assert literature.count("rank-swapping") >= 2
    assert literature.count("microaggregation") >= 3
    assert set(at_the_frontier(results, WorstRisk())) == {"microaggregation"}
    assert {one["pipeline"] for one in found["frontier"]} == {"microaggregation"}


@pytest.mark.slow
def test_the_shipped_file_has_the_size_it_promises(reference, monkeypatch):
    from flows.sweep.spec import load_sweep

    monkeypatch.setenv("SDCERT_REFERENCE_DATA", str(reference))
    sweep = load_sweep(SHIPPED)
    methods = {step["method"] for one in sweep.spec.pipelines for step in one.masking or ()}
    assert len(methods) >= 3
    assert sweep.n_points >= 300
    assert sweep.spec.seeds == 3
