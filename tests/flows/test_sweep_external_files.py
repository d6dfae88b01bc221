"""Sweeps of a release whose intruder holds external files: every point is attacked with them, and they are read once."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from release_files import survey
from sweep_files import MASKED, write_sweep

from flows.sweep import basis as bases
from flows.sweep.basis import prepare_basis
from flows.sweep.blocks import Block, list_candidates, list_jobs
from flows.sweep.record import sweep_id
from flows.sweep.spec import load_sweep, refuse_pipelines
from flows.sweep.variants import create_release_spec
from flows.sweep.work import run_block
from flows.sweep.working_set import open_default_working_set
from tasks.microdata.errors import InputError
from tasks.sweep.layout import TrialRow, create_sweep_table
from tasks.sweep.results import Results
from tasks.sweep.views import FigureRisk, WorstRisk, compute_risk

FILE = {"table": "register.csv", "name": "register", "key": "person_id", "attributes": ["age", "town"]}
WAGES = {"table": "wages.csv", "name": "wages", "key": "person_id", "attributes": ["age", "income"]}
MDAV = {
    "name": "mdav",
    "masking": [{"method": "microaggregation", "attributes": MASKED, "k": 3}],
    "axes": {"masking[0].k": {"values": [2, 5]}},
}


@pytest.fixture
def planned(home, tmp_path):
    """`planned(text, pipeline fields, file fields)`: the sweep, its basis and its candidates."""

    def call(text=None, pipeline=None, **fields):
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        (folder / "register.csv").write_text(text or survey(40))
        (folder / "wages.csv").write_text(survey(60))
        combine = fields.pop("combine", None)
        intruder = {"curve": False, "files": [{**FILE, **fields}, *([WAGES] if combine else [])]}
        intruder |= {"combine": combine} if combine else {}
        change = {"pipelines": [{**MDAV, **(pipeline or {})}], "seeds": 1}
        sweep = load_sweep(write_sweep(folder, change, intruder=intruder))
        basis = prepare_basis(sweep.base, open_default_working_set())
        return sweep, basis, list(list_candidates(sweep.points(), basis, 1, partial(create_release_spec, sweep)))

    return call


def test_the_file_is_read_once_and_every_point_is_attacked_with_it(planned, monkeypatch):
    read = []
    monkeypatch.setattr(
        bases, "read_external_table", lambda plan, before=bases.read_external_table: read.append(plan) or before(plan)
    )
    _, basis, candidates = planned()
    assert (len(candidates), len(read)) == (2, 1)
    (job, *others) = list_jobs(candidates, lambda key: False)
    Block(0, (job, *others)).put(basis.storage, "s", basis.key)
    assert run_block(basis.storage.url, "s", 0) == 2
    rows = list(basis.storage.rows(basis.key, {key for one in candidates for key in one.keys}))
    assert [row["status"] for row in rows] == ["ok", "ok"]
    lines = [
        TrialRow(
            point=i, pipeline="mdav", seed=0, axes={}, status="ok", reason=None, figures=json.loads(row["figures"]), seconds=1.0
        )
        for i, row in enumerate(rows)
    ]
    results = Results.from_table(create_sweep_table(lines))
    mine, worst, asked = (
        compute_risk(results, view)
        for view in (FigureRisk(measure="reidentification", intruder="declared"), WorstRisk(),
                     FigureRisk(measure="reidentification", intruder="file"))
    )  # fmt: skip
    assert (worst.values == np.maximum(mine.values, asked.values)).all()
    assert all("file:register" in figure for figure in asked.figure)


def test_the_worst_risk_counts_who_holds_a_file():
    names = ("declared", "insider:vote", "file:register")
    figures = {f"reidentification|distance_linkage|{who}": value for who, value in zip(names, (0.1, 0.9, 0.3), strict=True)}
    line = TrialRow(point=0, pipeline="p", seed=0, axes={}, status="ok", reason=None, figures=figures, seconds=1.0)
    results = Results.from_table(create_sweep_table([line]))
    views = (WorstRisk(), WorstRisk(include_insiders=True), FigureRisk(measure="reidentification"))
    assert [float(compute_risk(results, view).values[0]) for view in views] == [0.3, 0.9, 0.3]
    asked = [FigureRisk(measure="reidentification", intruder=who) for who in ("declared", "insider", "file", "file:register")]
    assert [float(compute_risk(results, view).values[0]) for view in asked] == [0.1, 0.9, 0.3, 0.3]


def test_another_file_makes_another_sweep(planned):
    sweep, basis, candidates = planned()
    again, basis_again, same = planned()
    other, other_basis, others = planned(survey(39))
    assert sweep_id(sweep, basis) == sweep_id(again, basis_again) != sweep_id(other, other_basis)
    assert [one.keys for one in candidates] == [one.keys for one in same]
    assert not {key for one in candidates for key in one.keys} & {key for one in others for key in one.keys}


def test_an_axis_may_vary_what_the_holder_does_with_his_file(planned):
    axes = {"intruder.files[0].convert.age.rounded_to": {"values": [1, 10]}}
    _, _, candidates = planned(pipeline={"axes": axes}, convert={"age": {"rounded_to": 5}})
    holders = [one.group.trials[0].holders[0] for one in candidates]
    assert [one.intruder.file.convert[0][1].rounded_to for one in holders] == [1, 10]
    assert len({one.table for one in holders}) == 1
    assert candidates[0].keys != candidates[1].keys


@pytest.mark.parametrize(
    ("text", "fields", "told"),
    [
        ("person_id,age\n5,40\n", {"attributes": ["age"]}, "has a key of the source"),
        (None, {"attributes": ["income", "shoe"]}, "no attribute `shoe`"),
        ("person_id,age\n1001,40\n", {}, "no such column"),
    ],
)
def test_a_file_that_does_not_fit_is_told_before_anything_is_computed(planned, text, fields, told):
    sweep, basis, _ = planned(text, **fields)
    with pytest.raises(InputError, match=told) as refused:
        refuse_pipelines(sweep, basis.refuse_unfit)
    assert "release.yaml, line" in refused.value.where
    assert "intruder.files[0]" in refused.value.where


@pytest.mark.slow
def test_every_point_is_attacked_by_who_combines_files(planned):
    """Joined by their keys, or by ages that are alike: 40 people in one file and 60 in the other, of 80."""
    for combine, attributes in (
        ({"files": ["register", "wages"]}, ("age", "income", "town")),
        ({"files": ["register", "wages"], "by": ["age"], "matching": "likely"}, ("age", "income", "town")),
    ):
        _, basis, candidates = planned(combine=[combine])
        Block(0, tuple(list_jobs(candidates, lambda key: False))).put(basis.storage, "s", basis.key)
        assert run_block(basis.storage.url, "s", 0) == 2
        for row in basis.storage.rows(basis.key, {key for one in candidates for key in one.keys}):
            figures = json.loads(row["figures"])
            assert row["status"] == "ok"
            assert figures["reidentification|distance_linkage|file:register+wages"] > 0.1
        holders = candidates[0].group.trials[0].holders
        (holder,) = [one for one in holders if one.intruder.name == "file:register+wages"]
        assert holder.intruder.knows == attributes
