"""A sweep judges its points together with earlier releases about the same persons, as certifying them does.

Trials are computed by the worker's own function in this process; releases are made without a run.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from release_files import HARDLY_COMPILED, survey, write_release
from sweep_files import table_of, write_sweep
from trials import NOISE, lose, make_trial, masked_with, revoke

from flows.kinds import find_kind
from flows.release_file import load_release
from flows.sweep import continuation_finder
from flows.sweep.basis import prepare_basis
from flows.sweep.blocks import Block, list_candidates, list_jobs
from flows.sweep.record import sweep_id
from flows.sweep.spec import load_sweep
from flows.sweep.track import round_table
from flows.sweep.work import run_block
from flows.sweep.working_set import open_default_working_set
from tasks.microdata.canonical import canonical
from tasks.microdata.errors import InputError
from tasks.runtime.artifacts import Store
from tasks.score.release_figures import Score
from tasks.sweep.layout import TrialRow, create_sweep_table, encode_figures
from tasks.sweep.points import SweepPoint

__all__ = ["make_trial"]
DRAW = "sweep seed 0"  # what the first seed of a sweep is made of, so that a release and a trial are masked alike
GROUPS = {"method": "microaggregation", "attributes": ["age", "income", "town"], "k": 5}
RATE = "reidentification|earlier_releases|declared"


def prepare(trial):
    """The basis of a sweep over the source of a release, and the release of a point as it is in one."""
    release = trial.job.release
    return prepare_basis(release, open_default_working_set()), release


def find_candidate(trial):
    basis, release = prepare(trial)
    (candidate,) = list_candidates([SweepPoint(0, "mask", ())], basis, 1, lambda _: release)
    return basis, candidate


def compute_trial(trial):
    """The figures of the point with the steps of a release, as a worker computes them from the working set alone."""
    basis, candidate = find_candidate(trial)
    assert candidate.reason is None, candidate.reason
    block = Block(0, tuple(list_jobs([candidate], lambda _: False)))
    block.put(basis.storage, "sweep", basis.key)
    run_block(basis.storage.url, "sweep", 0)
    (row,) = basis.storage.rows(basis.key, set(candidate.keys))
    assert row["status"] == "ok", row["reason"]
    return json.loads(row["figures"])


def score_release(trial):
    """The figures that certifying a release gives."""
    job = replace(trial.job, earlier=trial.count().to_attack)
    kind = find_kind(job.release)
    found = Store().record(kind.score(job, kind.attack(job, trial.made)), Score)
    return json.loads(canonical(encode_figures(found.estimates)))


@pytest.mark.slow
def test_a_point_has_the_figures_of_its_release_to_the_last_digit(make):
    first = make(masked_with(10)).certify()
    trial = make(masked_with(5, name="other", intruder={"curve": False, "targets": 0.5}), draw=DRAW)
    figures = compute_trial(trial)
    assert figures == score_release(trial)
    assert {RATE, f"reidentification|earlier_releases:{first}|declared", "values_reconstructed"} <= figures.keys()


def test_a_release_that_cannot_be_attacked_is_a_figure_that_was_not_followed(make):
    before = make(masked_with(10))
    first = before.certify()
    lose(before.job.masked.masked)
    figures = compute_trial(make(masked_with(5)))
    assert figures[f"reidentification|earlier_releases:{first}|declared"]["status"] == "not_followed"
    assert RATE not in figures


@pytest.mark.slow
def test_the_same_table_counts_once(make):
    make(masked_with(10), draw=DRAW).certify()
    assert not any("earlier" in name for name in compute_trial(make(masked_with(10))))  # by its content
    assert RATE in compute_trial(make(masked_with(20)))


@pytest.mark.slow
def test_a_point_whose_steps_the_current_draw_has_released_is_that_release(make, monkeypatch):
    first = make(masked_with(10)).certify()
    monkeypatch.setattr(continuation_finder, "current_draw", lambda _: "draw")  # that of the ledger's attempts
    for change, known in ((masked_with(10), (first,)), (masked_with(20), ()), (masked_with(10, series="apart"), ())):
        _, candidate = find_candidate(make(change))
        assert candidate.continuation.known == known
    monkeypatch.setattr(continuation_finder, "current_draw", lambda _: "another")
    assert find_candidate(make(masked_with(10)))[1].continuation.known == ()


def test_keys_and_ids_change_with_what_was_released_and_with_nothing_else(make, tmp_path):
    sweep = load_sweep(write_sweep(tmp_path / "swept"))
    trial = make(masked_with(20))

    def find_names():
        _, candidate = find_candidate(trial)
        (job,) = list_jobs([candidate], lambda _: False)
        assert ("continuation" in job.serialise()) == (candidate.continuation is not None)
        return candidate.keys, sweep_id(sweep, prepare_basis(sweep.base, open_default_working_set()))

    nothing = find_names()
    make(masked_with(10)).certify(outcome="refused")
    assert find_names() == nothing
    other = make(masked_with(30), text=survey().replace("\n1", "\n91"))
    other.certify()
    assert find_names() == nothing  # other persons
    first = make(masked_with(10)).certify()
    counted = find_names()
    assert all(one != before for one, before in zip(counted, nothing, strict=True))
    revoke(first, never_published=True)
    assert find_names() == nothing


def test_a_denial_and_frozen_groups_of_nothing_are_refused(make, tmp_path):
    groups = {**HARDLY_COMPILED, "masking": [{**GROUPS, "frozen": True}]}
    denial = {**masked_with(20), "context": {"prior_releases": []}}
    frozen, denying = (load_release(write_release(tmp_path / str(i), one)) for i, one in enumerate((groups, denial)))
    with pytest.raises(InputError) as refused:
        prepare_basis(frozen, open_default_working_set()).refuse_unfit(frozen)
    assert refused.value.code == "frozen-in-sweep"
    first = make(masked_with(10)).certify()
    with pytest.raises(InputError) as refused:
        prepare_basis(denying, open_default_working_set()).count_earlier(denying)
    assert (refused.value.code, refused.value.where) == ("earlier-release", "context.prior_releases")
    assert first in refused.value.what


def test_a_release_that_the_file_names_counts_too(make):
    _, candidate = find_candidate(make(masked_with(20, context={"prior_releases": ["census 2020"]})))
    assert len(candidate.continuation.releases) == 1 and candidate.continuation.own == ()


def test_a_cluster_cannot_draw_by_the_key_of_a_series(make, tmp_path):
    personal = {"pipelines": [{"name": "noise", "masking": [{**NOISE, "draw": "per_person"}]}]}
    drawn, plain = (load_sweep(write_sweep(tmp_path / name, change)) for name, change in (("a", personal), ("b", None)))
    finder = prepare_basis(drawn.base, open_default_working_set()).finder
    finder.refuse_draws_in_cluster(drawn)  # nothing was released: they are drawn anew
    make(masked_with(10)).certify()
    finder = prepare_basis(drawn.base, open_default_working_set()).finder
    finder.refuse_draws_in_cluster(plain)
    with pytest.raises(InputError) as refused:
        finder.refuse_draws_in_cluster(drawn)
    assert refused.value.code == "key-not-shared"


def test_figures_about_other_people_are_not_logged():
    own, earlier = "reidentification|earlier_releases|declared", "reidentification|earlier_releases:file:1|declared"
    figures = {own: 0.5, earlier: 0.5, f"{own}|new people": {"value": 0.5, "low": 0.2, "high": 0.8}}
    row = TrialRow(point=0, pipeline="p", seed=0, axes={}, status="ok", reason=None, figures=figures, seconds=0)
    names = round_table(create_sweep_table([row]), 80).column_names
    assert own in names and not [one for one in names if earlier in one or "new people" in one]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["frozen", "per_person", "nested"])
def test_points_that_keep_groups_or_draws_have_the_figures_of_their_release(make, monkeypatch, way):
    """A table of 80 that has grown by 7 newcomers."""
    steps = {
        "frozen": ({**GROUPS, "frozen": True},) * 2,
        "per_person": ({**NOISE, "draw": "per_person"},) * 2,
        "nested": (GROUPS, {**GROUPS, "k": 10, "nested_in": 5}),
    }[way]
    before, after = ({**HARDLY_COMPILED, "masking": [step]} for step in steps)
    make(before).certify()
    trial = make(after, text=survey(87), draw=DRAW)
    figures = compute_trial(trial)
    assert figures == score_release(trial)
    assert RATE in figures
    plain = compute_trial(make({**after, "masking": [{**GROUPS, "k": 4}]}, text=survey(87)))
    assert figures[RATE] != plain[RATE]


@pytest.mark.slow
def test_the_whole_chain_names_the_release_and_refuses_points_as_certify_does(sdcert, certify, tmp_path, home):
    policy = [{"measure": "reidentification", "at_most": 0.24}]
    ran, first = certify({"policy": policy})  # k = 5
    assert ran.code == 0, ran.err
    pipelines = [
        {"name": "plain", "masking": [GROUPS], "axes": {"masking[0].k": {"values": [4, 5, 7]}}},
        {"name": "nested", "masking": [{**GROUPS, "k": 10, "nested_in": 5}]},
    ]
    path = write_sweep(tmp_path / "swept", {"pipelines": pipelines, "seeds": 1}, policy=policy)
    swept = sdcert("sweep", path, "--workers", 1, "--json")
    assert swept.code == 0, swept.err
    found = json.loads(swept.out)
    assert [(one["name"], one["attacked"]) for one in found["judged_with"]] == [(first["run"], True)]
    assert first["run"] in swept.err and first["run"] in (home / "sweeps" / found["id"] / "page.html").read_text()
    rows = table_of(home, found["id"]).to_pylist()
    joint = [row["reidentification|earlier_releases|declared"] for row in rows]
    assert joint[1] is None  # k = 5 is what was released
    declared = {name for name in rows[0] if name.startswith("reidentification|") and name.endswith("|declared")}
    worst = [max(row[name] for name in declared if row[name] is not None) for row in rows]
    keeping = {one["point"]: one["keeps_policy"] for one in found["frontier"]}
    assert keeping == {point: worst[point] <= 0.24 for point in keeping}
    assert keeping[1] and not keeping[0]
    ran, again = certify({"policy": policy, "masking": [{**GROUPS, "k": 7}]})
    figures = json.loads((home / "runs" / again["run"] / "scorecard.json").read_text())["estimates"]
    assert joint[2] == next(one["value"] for one in figures if one["id"] == "reidentification|earlier_releases|declared")
    assert (ran.code == 0) == (joint[2] <= 0.24)
