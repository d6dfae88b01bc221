"""Replays of runs of every kind: failed, killed, adopted, of other code, and of the releases that are shipped."""

import json
import shutil
import signal
from functools import partial

import pytest
from outcomes import ROOT, newest_manifest
from release_files import HARDLY_COMPILED, survey, write_release
from replays import by_stage, causes_of, replayed

import flows.replay.replay
from flows.replay.past_run import load_past_run

pytestmark = [pytest.mark.slow, pytest.mark.drawn]
OF_AGE = {"expect": "between", "attribute": "age", "low": 0, "high": 120}


@pytest.fixture
def replay(sdcert):
    """`replay(run, *options)` replays a run in this process; returns what ran and the comparison."""
    return partial(replayed, sdcert)


@pytest.mark.long
def test_a_run_that_failed_fails_again_in_the_same_way(certify, replay):
    stages = {}
    for change in (
        {"attributes": {"nobody": {"role": "quasi_identifier", "scale": "numeric"}}},
        {"policy": [{"measure": "reidentification", "attack": "distance_linkage", "intruder": "insider:age", "at_most": 1.0}]},
        {"masking": [{"method": "microaggregation", "attributes": ["age"], "k": 500}]},
    ):
        ran, manifest = certify(change)
        assert ran.code == 2, (change, ran.out)
        stages[manifest["run"]] = len(manifest["stages"])
        ran, told = replay(manifest["run"])
        assert ran.code == 0, (ran.err, told)
        assert by_stage(told)["ending"]["outcome"] == "identical"
    assert sorted(stages.values()) == [0, 2, 2]


def test_a_run_that_failed_over_its_data_is_told_when_they_are_mended(certify, replay, tmp_path):
    ran, manifest = certify({"expect": [OF_AGE]}, text=survey().replace("1000,", "1000,9", 1))
    assert ran.code == 2
    (tmp_path / "survey.csv").write_text(survey())
    ran, told = replay(manifest["run"], "--source", tmp_path / "survey.csv")
    assert ran.code == 1
    assert told["causes"] == ["data: the source has other content"]
    assert told["differs"] == ["ending"]


def test_a_release_that_was_good_and_fails_now_is_told(certify, replay, tmp_path):
    ran, manifest = certify({"expect": [OF_AGE]})
    assert ran.code == 0, ran.err
    (tmp_path / "survey.csv").write_text(survey().replace("1000,", "1000,9", 1))
    ran, told = replay(manifest["run"], "--source", tmp_path / "survey.csv")
    assert (ran.code, told["outcome"]) == (1, "failed")
    assert told["differs"][-1] == "ending"
    assert by_stage(told)["ending"]["outputs"][0].startswith("the replay ended with ingest: ")
    assert told["causes"] == ["data: the source has other content"]


KILLED_IN_ATTACK = """
import os, signal, sys
import flows.environment
import tasks.attack.task as module
module.attack_records = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
from flows.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.long
def test_a_run_that_was_killed_is_replayed_as_far_as_it_came(process, replay, tmp_path):
    path = write_release(tmp_path / "project")
    victim = process("-c", KILLED_IN_ATTACK, "certify", path, "--output", tmp_path / "releases")
    victim.communicate(timeout=300)
    assert victim.returncode == -signal.SIGKILL
    ran, told = replay(newest_manifest()["run"])
    assert ran.code == 0, ran.err
    assert list(by_stage(told)) == ["ingest", "classify", "mask"]
    assert "the run was killed: it is compared as far as it came (3 stages)" in told["remarks"]


def test_a_chosen_seed_needs_no_file(certify, replay, home):
    ran, manifest = certify({"seed": 7, "not_for_publication": True})
    assert ran.code == 0, ran.err
    shutil.rmtree(home / "draws" / "seeds")
    ran, _ = replay(manifest["run"])
    assert ran.code == 0, ran.err


def test_a_refused_release_is_replayed_too(certify, replay):
    ran, manifest = certify({"policy": [{"measure": "reidentification", "at_most": 0.0001}]})
    assert ran.code == 1
    ran, told = replay(manifest["run"])
    assert ran.code == 0, ran.err
    assert "released file" not in by_stage(told)


def test_a_run_that_left_out_what_it_omitted_is_replayed_without_it(certify, replay, home, monkeypatch):
    """As versions did whose omissions named no intruder."""
    import flows.release as release_file

    default_attacks = release_file.default_attacks

    def without_transparency(*steps, **options):
        return tuple(one for one in default_attacks(*steps, **options) if one.method != "transparency")

    with monkeypatch.context() as patch:
        patch.setattr(release_file, "default_attacks", without_transparency)
        ran, manifest = certify({"omit": [{"attack": "transparency", "reason": "shown in an earlier edition"}]})
    assert ran.code == 0, ran.err
    assert not any(stage.startswith("attack transparency") for stage in manifest["stages"])
    path = home / "runs" / manifest["run"] / "manifest.json"
    del manifest["spec"]["omit"][0]["intruder"]
    path.write_text(json.dumps(manifest))
    shutil.rmtree(home / "ledger")  # it knows the manifest as this version writes it
    ran, told = replay(manifest["run"])
    assert ran.code == 0, (ran.err, told)
    assert by_stage(told)["score"]["outcome"] == "identical"


def test_the_key_of_the_pseudonyms_must_be_there_and_none_is_made(certify, sdcert, home):
    pseudonyms = {"method": "pseudonyms", "attributes": ["person_id"], "stable": "series"}
    ran, manifest = certify({"masking": [pseudonyms], "policy": [{"measure": "reidentification", "at_most": 1.0}]})
    assert ran.code in (0, 1), ran.err
    assert sdcert("audit", "replay", manifest["run"]).code == 0
    (home / "draws" / "survey.pseudonyms").unlink()
    ran = sdcert("audit", "replay", manifest["run"])
    assert ran.code == 2
    assert "pseudonyms" in ran.err
    assert not (home / "draws" / "survey.pseudonyms").exists()


@pytest.fixture
def adopted_run(certify, tmp_path):
    """The id of a run on a table masked elsewhere, and that table."""
    (tmp_path / "project").mkdir()
    lines = survey().splitlines()
    rounded = [",".join([row.split(",")[0], "50.0", *row.split(",")[2:]]) for row in lines[1:]]
    masked = tmp_path / "project" / "masked.csv"
    masked.write_text("\n".join([lines[0], *rounded]) + "\n")
    policy = [{"measure": "reidentification", "at_most": 1.0}]
    change = {"masking": None, "released": {"table": "masked.csv", "align": "key", "tool": "by hand"}, "policy": policy}
    ran, manifest = certify(change)
    assert ran.code in (0, 1), ran.err
    return manifest["run"], masked


def test_an_adopted_table_that_was_changed_is_named(adopted_run, replay, tmp_path):
    run, masked = adopted_run
    assert replay(run)[0].code == 0
    moved = tmp_path / "elsewhere.csv"
    moved.write_text(masked.read_text())
    masked.unlink()
    assert replay(run, "--released", moved)[0].code == 0
    moved.write_text(moved.read_text().replace(",50.0,", ",51.0,", 3))
    ran, told = replay(run, "--released", moved)
    assert ran.code == 1
    assert causes_of(told, "ingest released")["data"].startswith("the released table: 3 rows changed, in age (3)")
    assert by_stage(told)["mask"]["outcome"] == "follows"
    assert by_stage(told)["ingest"]["outcome"] == "identical"


def test_a_run_that_read_the_released_table_where_it_was_aligned_is_replayed(adopted_run, replay, monkeypatch):
    run, masked = adopted_run

    def load_as_earlier_versions_wrote(name):
        past = load_past_run(name)
        del past.stages["ingest released"], past.inputs["ingest released"]
        past.inputs["mask"] = past.inputs["mask"][:6]
        return past

    monkeypatch.setattr(flows.replay.replay, "load_past_run", load_as_earlier_versions_wrote)
    ran, told = replay(run)
    assert ran.code == 0, told
    assert {one["outcome"] for one in by_stage(told).values()} == {"identical"}
    assert "ingest released" not in by_stage(told)
    masked.write_text(masked.read_text().replace(",50.0,", ",51.0,", 3))
    ran, told = replay(run)
    assert ran.code == 1
    assert causes_of(told, "mask")["data"].startswith("the released table: 3 rows changed, in age (3)")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("flows", "tasks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "requirements.lock", folder)
    return folder


@pytest.mark.long
def test_changed_code_and_a_changed_lock_are_named(process, checkout, home, tmp_path):
    path = write_release(tmp_path / "project", HARDLY_COMPILED)

    def ran(*words):
        child = process("-m", "flows.cli", *words, checkout=checkout)
        out, err = child.communicate(timeout=300)
        return child.returncode, out, err

    code, _, err = ran("certify", path, "--output", tmp_path / "releases")
    assert code == 0, err
    run = newest_manifest()["run"]

    def replay_again():
        code, out, err = ran("audit", "replay", run, "--json")
        assert code in (0, 1), err
        return code, json.loads(out)

    comment = checkout / "tasks" / "score" / "loss.py"
    comment.write_text(comment.read_text() + "\n# another version\n")
    lock = checkout / "requirements.lock"
    lock.write_text(lock.read_text().replace("\nnumpy==", "\nnumpy==0.", 1))
    code, told = replay_again()
    assert (code, told["changed_since"]["files"]) == (0, ["tasks/score/loss.py"])
    assert told["sentence"].endswith("although something has changed since.")
    (pin,) = told["changed_since"]["pins"]
    assert (code, pin.startswith("numpy "), " -> 0." in pin) == (0, True, True)
    assert told["changed_since"]["packages"] == []

    file = checkout / "tasks" / "score" / "task.py"
    text = file.read_text()
    assert "verdict = decide(" in text
    file.write_text(text.replace("verdict = decide(", "estimates = estimates[:-1]\n    verdict = decide("))
    code, told = replay_again()
    assert code == 1
    assert told["differs"] == ["score", "report"]
    causes = causes_of(told, "score")
    assert causes["code"] == "tasks/score/loss.py, tasks/score/task.py"
    assert causes["lock"] == pin
    assert set(causes_of(told, "report")) == {"inputs"}


RELEASES = sorted((ROOT / "params" / "releases").glob("*.yaml"))
QUICK = ("anes96",)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.long) for path in RELEASES],
)
def test_the_replay_of_a_shipped_release_is_identical(process, sdcert, replay, home, tmp_path, reference, monkeypatch, path):
    """Certified in this process, replayed in another one, so that nothing but the home joins them."""
    monkeypatch.setenv("SDCERT_REFERENCE_DATA", str(reference))
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code in (0, 1), ran.err
    child = process("-m", "flows.cli", "audit", "replay", newest_manifest()["run"], "--json")
    out, err = child.communicate(timeout=500)
    assert child.returncode == 0, (out, err)
    assert json.loads(out)["outcome"] == "identical"
