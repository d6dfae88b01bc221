"""`benchmarks/scale.py`: what it leaves out, and that each stage is measured."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from outcomes import ROOT

SCRIPT = ROOT / "benchmarks" / "scale.py"
STAGE = ("numeric", "noise", "transparency")


@pytest.fixture
def scale(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    import scale

    return scale


def test_the_exponent_is_that_of_the_last_two_sizes(scale):
    assert scale.compute_exponent({100: 1.0}) is None
    assert scale.compute_exponent({100: 1.0, 1_000: 10.0}) == pytest.approx(1)
    assert scale.compute_exponent({10: 9.0, 100: 1.0, 1_000: 100.0}) == pytest.approx(2)


@pytest.mark.parametrize(
    ("known", "seconds"),
    [
        ({}, 0),
        ({10_000: 1.0}, 10**1.5),
        ({1_000: 0.02, 10_000: 2.0}, 200),
        ({1_000: 1.0, 10_000: 1.0}, 10),  # never less than in proportion
        ({10_000: None}, float("inf")),  # what was left out is not tried on more rows
    ],
)
def test_what_a_stage_would_take_is_judged_by_its_growth(scale, known, seconds):
    costs = {rows: scale.Cost(took, 1e6) for rows, took in known.items()}
    assert scale.Growth(60.0).predict_seconds(costs, 100_000) == pytest.approx(seconds)


def test_a_stage_that_would_take_too_long_is_left_out_and_said_so(scale):
    growth = scale.Growth(60.0, {STAGE: {1_000: scale.Cost(0.02, 1e6), 10_000: scale.Cost(2.0, 1e7)}})
    assert growth.measure(STAGE, 100_000, None, None) is None  # nothing is called
    *_, last = growth.list_lines()
    assert (last["rows"], last["note"]) == (100_000, "left out: too long")


@pytest.mark.parametrize("kind", ["numeric", "nominal", "gaps"])
def test_the_tables_are_what_they_are_called(scale, kind):
    table = scale.make_source(3_000, kind)
    missing = [int(table.missing(name).sum()) for name in table.names]
    assert sum(map(table.is_text, table.names)) == (2 if kind == "nominal" else 0)
    assert all(30 < n < 90 for n in missing) if kind == "gaps" else not any(missing)
    assert max(sum(map(int, row)) for row in zip(*map(table.missing, table.names), strict=True)) == (1 if kind == "gaps" else 0)


@pytest.mark.slow
def test_each_stage_is_measured_in_a_process_of_its_own():
    words = ["--rows", "2000", "--rows", "4000", "--kind", "numeric", "--mask", "rank swapping"]
    ran = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, check=True)
    table, peers = ran.stdout.split("\npeers (")
    stages = ("ingest CSV", "ingest Parquet", "classify", "mask", "distance_linkage", "transparency", "consistency", "score")
    for stage in stages:
        assert len(re.findall(rf"{stage} +(2000|4000) +\d", table)) == 2, stage
    assert "left out" not in table
    for work in ("read CSV", "read Parquet", "smallest class", "nearest row"):
        assert len(re.findall(rf"numeric +\d+ +{work} +\d", peers)) == 2, work
