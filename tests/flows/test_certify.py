import csv
import hashlib
import json
import re
import threading
from pathlib import Path

import pytest
from outcomes import computed, folder_of, newest_manifest, public_scorecard_of, scorecard_of, statement_in
from prefect.task_engine import SyncTaskRunEngine
from release_files import ROWS, survey, write_release

ATTACKS = [{"method": "distance_linkage"}, {"method": "transparency"}]
ALL = {
    "ingest",
    "classify",
    "mask",
    "attack distance_linkage (declared)",
    "attack transparency (declared)",
    "attack distance_linkage (insider:vote)",
    "attack transparency (insider:vote)",
    "score",
    "report",
}


def test_a_certified_release_leaves_four_files(certified, tmp_path):
    ran, manifest = certified.ran, certified.manifest
    folder = folder_of(tmp_path, manifest)
    assert sorted(path.name for path in folder.iterdir()) == [
        "certificate.json",
        "released.csv",
        "report.html",
        "scorecard.json",
    ]
    with (folder / "released.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == ROWS
    assert list(rows[0]) == ["age", "income", "town", "vote"]
    statement = statement_in(folder)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    (subject,) = statement["subject"]
    assert subject["digest"]["sha256"] == hashlib.sha256((folder / "released.csv").read_bytes()).hexdigest()
    scorecard = scorecard_of(tmp_path, manifest)
    assert scorecard["schema"] == "1"
    assert scorecard["verdict"] == manifest["verdict"] == "certified"
    assert scorecard["run"] == manifest["run"] == folder.name
    assert {line["decision"] for line in scorecard["criteria"]} == {"pass"}
    assert "CERTIFIED" in ran.out
    assert str(Path(manifest["folder"]) / "report.html") in ran.out


def test_the_report_fetches_nothing(certified, tmp_path):
    manifest = certified.manifest
    page = (folder_of(tmp_path, manifest) / "report.html").read_text()
    assert manifest["run"] in page
    assert not re.search(r"<script|<link|<iframe|@import|url\((?!data:)|src=\"(?!data:)", page)


def test_a_refused_release_leaves_everything_but_the_table(certify, tmp_path):
    ran, manifest = certify({"policy": [{"measure": "reidentification", "at_most": 0.0001}]})
    assert ran.code == 1
    assert sorted(path.name for path in folder_of(tmp_path, manifest).iterdir()) == [
        "report.html",
        "scorecard.json",
        "statement.json",
    ]
    assert "REFUSED" in ran.out
    line = scorecard_of(tmp_path, manifest)["criteria"][0]
    assert line["decision"] == "fail"
    assert line["deciding_value"] > line["limit"]


def test_undecided_is_not_certified(certify):
    ran, manifest = certify({"intruder": {"targets": 0.1}, "policy": [{"measure": "reidentification", "at_most": 0.19}]})
    assert (ran.code, manifest["verdict"]) == (1, "undecided"), ran.out


def test_the_second_run_computes_nothing_and_is_recorded_as_completely(certify, tmp_path):
    in_new_home, first = certify()
    in_same_home, second = certify()
    assert "no release was decided yet in this home: " in in_new_home.err
    assert "no release was decided yet" not in in_same_home.err
    assert set(first["stages"]) == set(second["stages"]) == computed(first) == ALL
    assert computed(second) == set()
    assert "tracking" not in first | second
    one, other = scorecard_of(tmp_path, first), scorecard_of(tmp_path, second)
    assert one["estimates"] == other["estimates"]
    assert (folder_of(tmp_path, first) / "released.csv").read_bytes() == (
        folder_of(tmp_path, second) / "released.csv"
    ).read_bytes()
    from tasks.runtime.tracking_store import open_client

    client = open_client()
    runs = client.search_runs([client.get_experiment_by_name("survey").experiment_id])
    assert len(runs) == 2
    figures = [{k: v for k, v in run.data.metrics.items() if k != "seconds"} for run in runs]
    assert figures[0] == figures[1]
    assert figures[0].keys() >= {"policy.kept", "policy.lines", "risk.worst_declared", "risk.worst_insider", "loss.sse_percent"}
    assert {len(run.inputs.dataset_inputs) for run in runs} == {1}
    assert len({run.inputs.dataset_inputs[0].dataset.digest for run in runs}) == 1
    assert {run.info.run_name.rpartition(" #")[2] for run in runs} == {"1", "2"}
    assert {run.data.tags["sdcert.verdict"] for run in runs} == {"certified"}
    assert all(client.list_artifacts(run.info.run_id) for run in runs)
    stages = {run.data.tags["sdcert.stages"] for run in runs}
    assert stages == {f"{len(ALL)} computed, 0 cached", f"0 computed, {len(ALL)} cached"}


@pytest.mark.slow
def test_an_added_attack_computes_that_attack_and_what_follows(certify):
    certify({"attacks": ATTACKS})
    _, manifest = certify({"attacks": [*ATTACKS, {"method": "distance_linkage", "id": "by-original", "scale_by": "original"}]})
    added = {"attack by-original (declared)", "attack by-original (insider:vote)", "score", "report"}
    assert computed(manifest) == added


def test_a_changed_policy_recomputes_no_attack(certify):
    certify()
    _, manifest = certify({"policy": [{"measure": "reidentification", "at_most": 0.41}]})
    assert computed(manifest) == {"score", "report"}


@pytest.mark.slow
def test_a_changed_source_recomputes_everything_after_it(certified, certify):
    _, manifest = certify(text=survey().replace("1000,", "2000,", 1))
    assert {"ingest", "classify", "mask"} <= computed(manifest)


def test_refresh_computes_all_with_the_same_seed_and_new_draw_draws_anew(certified, certify, tmp_path):
    first = certified.manifest
    _, refreshed = certify(None, "--refresh")
    assert computed(refreshed) == ALL
    assert (refreshed["draw"], refreshed["attempts"]) == (first["draw"], 1)
    released = [(folder_of(tmp_path, m) / "released.csv").read_bytes() for m in (first, refreshed)]
    assert released[0] == released[1]
    _, drawn = certify(None, "--new-draw")
    assert drawn["draw"] != first["draw"]
    assert drawn["attempts"] == 2
    assert (folder_of(tmp_path, drawn) / "released.csv").read_bytes() != released[0]
    assert "mask" in computed(drawn)


@pytest.mark.slow
def test_the_order_of_the_source_is_not_the_order_of_the_release(certify, tmp_path):
    grouped = {"method": "microaggregation", "attributes": ["age"], "k": 5}
    _, manifest = certify({"masking": [grouped], "intruder": {"knows": ["age"], "curve": False}})
    with (folder_of(tmp_path, manifest) / "released.csv").open() as file:
        towns = [row["town"] for row in csv.DictReader(file)]
    with (tmp_path / "project" / "survey.csv").open() as file:
        original = [row["town"] for row in csv.DictReader(file)]
    assert sorted(towns) == sorted(original)
    assert towns != original


def test_json_is_alone_on_stdout(certify, tmp_path):
    ran, manifest = certify(None, "--json")
    assert json.loads(ran.out) == public_scorecard_of(tmp_path, manifest)
    assert "CERTIFIED" in ran.err


@pytest.mark.slow
def test_a_chosen_seed_gives_the_same_release_in_another_home(sdcert, tmp_path, monkeypatch):
    released = []
    for name in ("one", "two"):
        monkeypatch.setenv("SDCERT_HOME", str(tmp_path / name))
        change = {"seed": 7, "not_for_publication": True, "masking": [{"method": "rank_swapping", "window_percent": 10}]}
        path = write_release(tmp_path / "project", {**change, "policy": [{"measure": "reidentification", "at_most": 1.0}]})
        assert sdcert("certify", path, "--output", tmp_path / "releases").code == 0
        released.append((folder_of(tmp_path, newest_manifest()) / "released.csv").read_bytes())
    assert released[0] == released[1]


def test_check_runs_nothing(sdcert, tmp_path, home):
    path = write_release(tmp_path / "project")
    ran = sdcert("check", path)
    assert ran.code == 0
    for word in ("microaggregation", "distance_linkage", "transparency", "reidentification"):
        assert word in ran.out
    assert not (home / "store").exists()


def test_runs_says_that_there_is_none(sdcert):
    assert "no run yet" in sdcert("runs").out


def test_runs_lists_what_was_done(certified, sdcert):
    out = sdcert("runs").out
    assert "certified" in out
    assert "survey" in out


def test_runs_tells_a_killed_run(certified, sdcert, home):
    manifest = certified.manifest
    path = home / "runs" / manifest["run"] / "manifest.json"
    killed = {k: v for k, v in manifest.items() if k not in ("verdict", "criteria")} | {
        "status": "running",
        "process": 2**22 + 1,
    }
    path.write_text(json.dumps(killed))
    assert "killed" in sdcert("runs").out


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["mask", "attack", "score"])
def test_methods_and_datasets(sdcert, stage):
    assert sdcert("methods", stage).code == 0
    assert {"mask": "rank_swapping", "attack": "transparency", "score": "k_anonymity"}[stage] in sdcert("methods", stage).out
    assert "anes96" in sdcert("datasets").out


def test_a_crash_is_exit_code_3_and_keeps_its_trace_private(certify, home, monkeypatch):
    monkeypatch.setattr("tasks.score.task.decide", lambda *_: 1 / 0)
    ran, manifest = certify()
    assert ran.code == 3
    assert "Traceback" not in ran.err + ran.out
    assert manifest["status"] == "failed"
    assert any("ZeroDivisionError" in path.read_text() for path in (home / "failures").iterdir())


def test_interrupted_is_130(certify, sdcert, tmp_path, monkeypatch):
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("flows.certify._count_attempt", stop)
    ran, manifest = certify()
    assert ran.code == 130
    assert manifest["status"] == "interrupted"
    listed = sdcert("runs").out
    assert "interrupted" in listed and "KeyboardInterrupt" not in listed
    assert not (tmp_path / "releases").exists() or not list((tmp_path / "releases").glob("*/*"))


@pytest.mark.slow
def test_tracking_that_is_away_costs_no_release(certify, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "sqlite:////dev/null/mlflow.db")
    ran, manifest = certify()
    assert ran.code == 0
    assert "not recorded" in manifest["tracking"]
    assert "warning" in ran.out


@pytest.mark.slow
def test_a_stage_that_prefect_could_not_begin_in_time_is_begun_again(certify, monkeypatch):
    begin, late = SyncTaskRunEngine.start, []

    def begin_late(self, *arguments, **named):
        if threading.current_thread() is not threading.main_thread() and not late:
            late.append(self.task.name)
            raise TimeoutError
        return begin(self, *arguments, **named)

    monkeypatch.setattr(SyncTaskRunEngine, "start", begin_late)
    ran, manifest = certify()
    assert (len(late), ran.code) == (1, 0), ran.err
    assert set(manifest["stages"]) == ALL
