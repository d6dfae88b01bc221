"""`sdcert sweep` and `sdcert sweeps`: what a sweep computes, shows, records and leaves alone."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from release_files import ROWS, survey
from sweep_files import MASKED, POINTS, SKIPPED, table_of, write_sweep

from flows.release_file import load_release
from flows.sweep import track
from flows.sweep.basis import name_external_file, prepare_basis
from flows.sweep.spec import load_sweep
from flows.sweep.variants import create_release_spec
from flows.sweep.working_set import open_default_working_set
from tasks.classify.methods import classify
from tasks.runtime.artifacts import content_address
from tasks.runtime.draws import keep_seed
from tasks.runtime.tracking_store import open_client
from tasks.sweep.evaluation import ExternalFiles, Trial, TrialGroup, derive_seed, drop_curve_and_files, evaluate
from tasks.sweep.layout import encode_figures
from tasks.sweep.results import Results

TRIALS = 2 * POINTS


@dataclass(frozen=True)
class Once:
    path: Path
    err: str
    found: dict
    table: pa.Table
    home: Path


REHEARSAL = {"seed": 7, "not_for_publication": True}


@pytest.fixture(scope="module")
def once(prefect, tmp_path_factory, shared_places):
    """The small sweep, run once for all tests that look at it: what ran, its JSON, its table, and its home."""
    from flows.cli import run

    folder = tmp_path_factory.mktemp("once")
    shared_places.append(folder)
    path, out, err = write_sweep(folder / "project"), io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("SDCERT_HOME", str(folder / "home"))
        code = run(["sweep", str(path), "--workers", "2", "--json"])
    assert code == 0, err.getvalue()
    found = json.loads(out.getvalue())
    return Once(path, err.getvalue(), found, table_of(folder / "home", found["id"]), folder / "home")


@pytest.fixture
def same_home(once, monkeypatch, sdcert):
    """The command line in the home of the sweep that was run once."""
    monkeypatch.setenv("SDCERT_HOME", str(once.home))
    return sdcert


@pytest.fixture
def swept(sdcert, tmp_path, home):
    """`swept(change, *options)` sweeps over the small survey; returns what ran, its JSON and its table."""

    def call(change=None, *options, release=None):
        path = write_sweep(tmp_path / "project", change, **(release or {}))
        ran = sdcert("sweep", path, "--workers", 2, "--json", *options)
        assert ran.code == 0, ran.err
        found = json.loads(ran.out)
        return ran, found, table_of(home, found["id"])

    return call


def test_a_trial_has_the_figures_of_a_release_with_the_same_masking_seed_and_attacks(certify, tmp_path, monkeypatch, home):
    masking = [
        {"method": "rank_swapping", "attributes": MASKED, "window_percent": 20},
        {"method": "sampling", "share": 0.9},
    ]
    file = {"table": "register.csv", "key": "person_id", "attributes": ["town", "age"], "convert": {"age": {"times": 1.0}}}
    intruder = {"targets": 0.5, "records": 0.6, "curve": True}
    intruder |= {"files": [{**file, "name": "register"}, {**file, "attributes": ["age"]}]}
    people = survey().splitlines(keepends=True)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "register.csv").write_text("".join([people[0], *people[:20:-1], "7,30,1,2,yes\n"]))
    monkeypatch.setattr("flows.certify.keep_chosen_seed", lambda number: keep_seed(derive_seed(number)))
    ran, manifest = certify({"masking": masking, "intruder": intruder, **REHEARSAL})
    assert ran.code in (0, 1), ran.err
    private = json.loads((home / "runs" / manifest["run"] / "scorecard.json").read_text())
    release = load_release(tmp_path / "project" / "release.yaml")
    basis = prepare_basis(release, open_default_working_set())
    holders = basis.holders_of(release)
    trial = Trial("x", release.attacks_to_run, drop_curve_and_files(release.intruder), (), holders)
    group = TrialGroup(release.masking, REHEARSAL["seed"], (trial,))
    schema = classify(basis.table, release.classify_plan)
    files = ExternalFiles(
        {one.table: basis.storage.table(name_external_file(basis.key, one.table)) for one in holders}, content_address
    )
    (row,) = evaluate(basis.table, schema, group, source=content_address(basis.table), files=files)
    of_run = {one["id"]: one for one in private["estimates"] if one["intruder"] is None or "knowing" not in one["intruder"]}
    assert row.status == "ok"
    assert row.figures.keys() == of_run.keys()
    assert len(row.figures) > 50
    for name, targets in (("register", 30), ("2", 30)):  # half of 60 people of the survey and one other
        assert of_run[f"reidentification|distance_linkage|file:{name}"]["n_targets"] == targets
    held = of_run["reidentification|distance_linkage|declared"]
    assert (held["n_targets"], held["basis"], held["low"] < held["value"]) == (0.3 * ROWS, "sampled_targets", True)
    for name, figure in row.figures.items():
        told = figure if isinstance(figure, dict) else {"value": figure}
        for field, value in told.items():
            assert value == of_run[name][field], name


def test_a_sweep_holds_every_point_under_every_seed_and_skips_what_is_wrong_in_itself(once):
    found, table = once.found, once.table
    assert found["trials"] == {"ok": TRIALS - 2 * SKIPPED, "skipped": 2 * SKIPPED}
    assert [(row["point"], row["seed"]) for row in table.to_pylist()] == [(p, s) for p in range(POINTS) for s in range(2)]
    wrong = [row for row in table.to_pylist() if row["status"] == "skipped"]
    assert {row["axis:masking[0].k"] for row in wrong} == {10 * ROWS}
    assert all("masking[0]" in row["reason"] for row in wrong)
    assert f"trials   {TRIALS:>9,}" in once.err
    assert "left" in once.err


@pytest.mark.slow
def test_the_table_is_that_of_a_bare_loop_over_the_same_functions(once, home):
    sweep = load_sweep(once.path)
    basis = prepare_basis(sweep.base, open_default_working_set())
    results = Results.from_table(once.table)
    lines = iter(range(once.table.num_rows))
    for point in sweep.points():
        release = create_release_spec(sweep, point)
        for seed in range(2):
            group = TrialGroup(
                release.masking, seed, (Trial("", release.attacks_to_run, drop_curve_and_files(release.intruder)),)
            )
            schema = classify(basis.table, release.classify_plan)
            (row,) = evaluate(basis.table, schema, group, source=content_address(basis.table))
            assert encode_figures(results.estimates(next(lines))) == row.figures


@pytest.mark.slow
def test_started_again_it_computes_nothing_and_gives_the_same_table(once, same_home):
    files = {path: path.stat().st_mtime_ns for path in (once.home / "sweeps").rglob("results/*.parquet")}
    assert files
    again = same_home("sweep", once.path)
    assert again.code == 0, again.err
    assert table_of(once.home, once.found["id"]).equals(once.table)
    assert {path: path.stat().st_mtime_ns for path in (once.home / "sweeps").rglob("results/*.parquet")} == files
    assert "nothing is left to compute" in again.err
    resumed = same_home("sweep", "--resume", "survey-sweep")
    assert resumed.code == 0, resumed.err
    assert f"{once.found['id']}: {POINTS} points" in resumed.out
    assert "The frontier: " in resumed.out


@pytest.mark.slow
def test_what_two_sweeps_have_in_common_is_computed_once(once, same_home):
    more = write_sweep(once.path.parent, {"name": "more", "seeds": 3})
    ran = same_home("sweep", more, "--json")
    write_sweep(once.path.parent)
    assert json.loads(ran.out)["trials"]["ok"] == 3 * (POINTS - SKIPPED)
    assert f"held     {2 * POINTS:>9,}" in ran.err


def test_the_frontier_says_which_points_keep_the_policy_and_suggests_one_of_them(once, same_home):
    told = same_home("sweep", once.path, "--workers", 2)
    keeping = {one["point"]: one["loss"] for one in once.found["frontier"] if one["keeps_policy"]}
    for one in once.found["frontier"]:
        mark = "+" if one["keeps_policy"] else " "
        assert f"  {mark} point {one['point']:>6}  risk" in told.out
    assert f"under every seed: {len(keeping)} of them" in told.out
    suggested = min(keeping, key=keeping.__getitem__) if keeping else "POINT"
    assert f"sweep promote {once.found['id']} {suggested} -o" in told.out


def test_a_misspelt_attribute_is_refused_before_anything_is_computed(sdcert, tmp_path, home):
    wrong = [{"name": "mdav", "masking": [{"method": "microaggregation", "attributes": ["age", "incme"], "k": 3}]}]
    path = write_sweep(tmp_path / "project", {"pipelines": wrong})
    told = sdcert("sweep", path)
    assert told.code == 2
    assert f"{path}, line" in told.err
    assert "pipelines[0].masking[0].attributes" in told.err
    assert "did you mean" in told.err
    assert "incme" in told.err
    assert "income" in told.err


@pytest.mark.slow
def test_a_risk_that_no_trial_has_ends_with_exit_code_1_and_its_reason(sdcert, tmp_path, home):
    path = write_sweep(tmp_path / "project", {"risk": {"measure": "reidentification", "intruder": "insider:nobody"}})
    told = sdcert("sweep", path, "--workers", 2)
    assert told.code == 1
    assert "No point has both a risk and a loss" in told.out
    assert "no such figure" in told.out


def test_sweeps_lists_them(once, same_home):
    listed = [one for one in json.loads(same_home("sweeps", "--json").out) if one["id"] == once.found["id"]]
    assert [(one["points"], one["trials"], one["done"], one["state"]) for one in listed] == [
        (POINTS, TRIALS, TRIALS, "finished")
    ]
    assert listed[0]["frontier"] == len(once.found["frontier"]) > 0
    assert once.found["id"] in same_home("sweeps").out


@pytest.mark.slow
def test_a_search_of_the_frontier_asks_and_tells_to_its_end(swept):
    axes = {"masking[0].k": {"range": [2, 20]}}
    masking = [{"method": "microaggregation", "attributes": MASKED, "k": 3}]
    change = {
        "pipelines": [{"name": "mdav", "masking": masking, "axes": axes}],
        "strategy": {"method": "frontier", "points": 10, "generation": 4},
        "seeds": 1,
    }
    _, found, table = swept(change)
    assert found["points"] == 10
    assert len(set(table.column("axis:masking[0].k").to_pylist())) == 10
    assert swept(change)[2].equals(table)


def test_the_working_set_is_private_and_the_other_commands_do_not_mind_it(once, same_home):
    folder = once.home / "sweeps"
    assert {path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*")) if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()} == {0o600}
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert same_home("store", "verify").code == 0
    assert same_home("store", "gc", "--yes", "--older-than", 0).code == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_mlflow_gets_one_run_with_the_public_table_and_one_for_each_point(once, same_home):
    assert same_home("sweep", once.path).code == 0  # the same run, not a second one
    client = open_client()
    experiment = client.get_experiment_by_name("sweep-survey-sweep")
    runs = client.search_runs([experiment.experiment_id])
    (parent,) = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    children = {run.data.tags["sdcert.point"]: run for run in runs if run is not parent}
    assert len(children) == len(runs) - 1 == once.found["points"]
    frontier = {number for number, run in children.items() if run.data.tags["sdcert.frontier"] == "true"}
    assert frontier == {str(one["point"]) for one in once.found["frontier"]}
    assert {children[number].data.metrics["risk"] for number in frontier}
    assert {run.data.tags["sdcert.policy"] for run in children.values()} <= {"kept", "broken", "undecided"}
    assert {run.info.status for run in children.values()} == {"FINISHED"}
    assert parent.data.tags["sdcert.points_shown"] == f"{len(children)} of {len(children)}"
    page = next((once.home / "mlflow-artifacts" / "sweep-survey-sweep").rglob("page.html"))
    assert page.read_bytes() != (Path(once.found["folder"].removeprefix("file://")) / "page.html").read_bytes()
    assert parent.info.status == "FINISHED"
    assert parent.data.metrics["trials ok"] == TRIALS - 2 * SKIPPED
    logged = pq.read_table(next((once.home / "mlflow-artifacts" / "sweep-survey-sweep").rglob("table.parquet")))
    assert logged.equals(track.round_table(once.table, ROWS))
    told, exact = (table.column("sse_percent|age").to_pylist() for table in (logged, once.table))
    assert told != exact
    assert told == [None if value is None else float(f"{value:.1e}") for value in exact]


def test_axes_that_name_values_of_the_table_do_not_leave_the_home(once):
    limits = pa.array(["[0, 918273.5]"] * once.table.num_rows)
    table = once.table.add_column(5, "axis:masking[0].limits.income", limits)
    assert track.round_table(table, ROWS).equals(track.round_table(once.table, ROWS))
    assert track.is_public_axis("masking[0].window_percent")


@pytest.mark.parametrize(
    ("path", "cut"),
    [
        ('masking[0].recode.town.map["Ys"]', "masking[0].recode.town.map"),
        ('masking[0]["recode"].town.map.Ys', "masking[0].recode.town.map"),
        ('intruder.holds.town.coarser["Ys"]', "intruder.holds"),
        ('attacks[1].compare.town["Ys"]', "attacks[1].compare"),
    ],
)
def test_a_path_that_names_a_value_is_cut_before_it(path, cut):
    assert not track.is_public_axis(path)
    assert not track.is_public_axis(f"axis:{path}")
    assert track.trim_axis(path) == cut
    assert track.trim_axis("masking[0].k") == "masking[0].k"


@pytest.mark.slow
def test_a_tracking_server_that_is_away_costs_nothing_and_is_told(swept, monkeypatch, home, sdcert):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    ran, found, table = swept()
    assert table.num_rows == TRIALS
    assert "warning: MLflow" in ran.err
    assert json.loads((home / "sweeps" / found["id"] / "sweep.json").read_text())["tracking"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("sweep", "no-such.yaml"), "no-such.yaml"),
        (("sweep", "--workers", "2"), "a sweep is named by its file"),
        (("sweep", "--resume", "nothing"), "no sweep in this home"),
        (("sweep", "x.yaml", "--runner", "dask"), "--address"),
        (("sweep", "x.yaml", "--store", "nowhere://bucket"), "--store"),
        (("sweep", "promote", "nothing", "1", "-o", "x.yaml"), "no sweep in this home"),
    ],
)
def test_wrong_words_are_told_with_exit_code_2(sdcert, words, told):
    ran = sdcert(*words)
    assert ran.code == 2
    assert told in ran.err
    assert "Traceback" not in ran.err
