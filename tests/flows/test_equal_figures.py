"""`benchmarks/equal_figures.py`: a figure that changed in its last bit, or is no longer there, is named."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from outcomes import ROOT

from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SCRIPTS = ROOT / "benchmarks"
COLUMN = Attribute("x", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared")


@pytest.fixture
def equal_figures(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import equal_figures

    return equal_figures


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.3, 0.1 + 0.2),
        (0.0, -0.0),
        (1, True),
        (None, "None"),
        (np.array([1, 2]), np.array([1.0, 2.0])),
        (np.zeros((2, 1)), np.zeros((1, 2))),
        ({"a": (1, 2)}, {"a": (1, 3)}),
        (Schema((COLUMN,)), Schema((replace(COLUMN, evidence=("few values",)),))),
        (Microdata.from_columns({"x": [0.1, None]}), Microdata.from_columns({"x": [None, 0.1]})),
        (Microdata.from_columns({"x": pa.array([1, 2])}), Microdata.from_columns({"x": pa.array([1.0, 2.0])})),
    ],
)
def test_what_differs_is_written_differently(equal_figures, one, other):
    assert equal_figures.write_exactly(one) != equal_figures.write_exactly(other)
    assert equal_figures.write_exactly(one) == equal_figures.write_exactly(one)


def test_each_kind_of_difference_is_told_once(equal_figures):
    before = {(0, "figure a|x, all targets"): {".value": "1", ".low": "0"}, (1, "mask"): {"[0]": "5", "[1]": "6"}}
    after = {(0, "figure a|x, all targets"): {".value": "2", ".low": "0", ".high": "3"}, (1, "mask"): {"[0]": "7", "[1]": "8"}}
    found = equal_figures.find_differences(before, {**after, (2, "mask"): {"[0]": "1"}})
    counts = {kind: len(places) for kind, places in found.items()}
    assert counts == {"figure a .value": 1, "figure a .high": 1, "mask [...]": 2, "mask, now alone": 1}
    assert found["figure a .high"] == ["release 0, figure a|x, all targets.high: None before, 3 now"]
    assert equal_figures.find_differences(after, after) == {}


@pytest.mark.slow
def test_a_tree_agrees_with_itself_and_not_with_one_that_counts_otherwise(equal_figures, tmp_path):
    changed = tmp_path / "changed"
    shutil.copytree(ROOT / "tasks", changed / "tasks", ignore=shutil.ignore_patterns("__pycache__"))
    rule = changed / "tasks" / "score" / "linkage.py"
    rule.write_text(rule.read_text().replace("EXPOSED_FROM = 0.5 ", "EXPOSED_FROM = 0.05 "))
    once, twice, otherwise = (
        equal_figures.compute_with_tree(tree, tmp_path / name, range(3), 100)
        for tree, name in ((ROOT, "once"), (ROOT, "twice"), (changed, "otherwise"))
    )
    assert len(once) > 100
    assert equal_figures.find_differences(once, twice) == {}
    found = equal_figures.find_differences(once, otherwise)
    assert "figure records_exposed .value" in found
    assert all("records_exposed" in kind or kind.startswith("verdict") for kind in found)
