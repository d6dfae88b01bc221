"""`sdcert audit replay`: a run that comes out as it was, and every reason why one does not."""

import json
import os
import shutil
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from outcomes import ROOT, folder_of, newest_manifest
from release_files import survey, write_release

LEFT_OUT = ("ledger", "keys", "prefect", "matplotlib", "locks", "mlflow.db")  # an entry, and what others write
OF_AGE = {"expect": "between", "attribute": "age", "low": 0, "high": 120}
OTHER_ROW = survey().replace("1000,", "1000,1", 1)  # the age of one person


@dataclass
class Certified:
    home: Path
    folder: Path
    manifest: dict

    @property
    def run(self):
        return self.manifest["run"]


@pytest.fixture(scope="module")
def certified(prefect, tmp_path_factory):
    """One certified run, in a home of its own."""
    folder = tmp_path_factory.mktemp("certified")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SDCERT_HOME", str(folder / "home"))
        from flows.cli import run

        path = write_release(folder / "project")
        assert run(["certify", str(path), "--output", str(folder / "releases")]) == 0
        return Certified(folder / "home", folder, newest_manifest())


@pytest.fixture
def kept(certified, home):
    """The certified run, its home copied for one test."""
    shutil.copytree(certified.home, home)
    return replace(certified, home=home)


@pytest.fixture
def replay(sdcert):
    """`replay(run, *options)` replays a run in this process; returns what ran and the comparison."""

    def call(run, *options):
        ran = sdcert("audit", "replay", run, "--json", *options)
        return ran, json.loads(ran.out) if ran.out else None

    return call


def by_stage(told):
    return {found["stage"]: found for found in told["results"]}


def causes_of(told, stage):
    return {cause["kind"]: cause["text"] for cause in by_stage(told)[stage]["causes"]}


def written(home):
    """Every file of the home that a replay must leave as it is, with its bytes."""
    files = [path for path in home.rglob("*") if path.is_file() and path.relative_to(home).parts[0] not in LEFT_OUT]
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in files}


def entries(home):
    return (home / "ledger" / "ledger.jsonl").read_bytes().splitlines()


def last_event(home):
    from tasks.audit.ledger.ledger import entry_of

    return entry_of(entries(home)[-1]).event


def change_manifest(kept, **facts):
    """Another manifest of the run, and a ledger that does not know it: only a run without an entry takes it."""
    path = kept.home / "runs" / kept.run / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def without_ledger(kept):
    shutil.rmtree(kept.home / "ledger")


def test_a_replay_is_identical_and_leaves_nothing_but_an_entry(kept, replay):
    before, lines = written(kept.home), entries(kept.home)
    ran, told = replay(kept.run[:-2])
    assert ran.code == 0, ran.err
    assert told["outcome"] == "identical"
    assert told["differs"] == told["causes"] == []
    assert set(by_stage(told)) == {*kept.manifest["stages"], "released file"}
    assert written(kept.home) == before
    assert entries(kept.home)[:-1] == lines
    event = last_event(kept.home)
    assert (event.kind, event.run, event.outcome) == ("replayed", kept.run, "identical")
    assert len(list(folder_of(kept.folder, kept.manifest).parent.iterdir())) == 1


def test_a_changed_row_is_named_as_the_cause_with_its_column(kept, replay, sdcert, tmp_path):
    (tmp_path / "elsewhere.csv").write_text(OTHER_ROW)
    records = {path.name: path.read_bytes() for path in (kept.home / "records").iterdir()}
    ran, told = replay(kept.run, "--source", tmp_path / "elsewhere.csv")
    assert ran.code == 1, ran.err
    assert told["causes"] == ["data: the source: 1 row changed, in age (1)"]
    assert told["differs"][0] == "ingest"
    assert by_stage(told)["ingest"]["outputs"] == ["data"]
    assert {by_stage(told)[stage]["outcome"] for stage in ("mask", "score", "report", "released file")} == {"follows"}
    assert causes_of(told, "score")["inputs"].startswith("ingest, mask")
    assert last_event(kept.home).causes == tuple(told["causes"])
    assert {path.name: path.read_bytes() for path in (kept.home / "records").iterdir()} == records
    assert OTHER_ROW.splitlines()[1].split(",")[1] not in ran.out + ran.err


@pytest.mark.slow
def test_a_source_that_was_moved_is_found_and_one_with_other_bytes_is_told(kept, replay, tmp_path):
    (tmp_path / "elsewhere.csv").write_text(survey().replace("\n", "\r\n"))
    ran, told = replay(kept.run, "--source", tmp_path / "elsewhere.csv")
    assert ran.code == 0, told
    assert told["remarks"] == ["the file of the source has other bytes than then, and the same content"]


def test_a_stage_that_nothing_explains_is_told_loudly(kept, sdcert, monkeypatch):
    import tasks.score.task as score_task

    before = written(kept.home)
    decide = score_task.decide
    monkeypatch.setattr(score_task, "decide", lambda policy, estimates: replace(decide(policy, estimates), verdict="refused"))
    ran = sdcert("audit", "replay", kept.run)
    assert ran.code == 1
    assert "score  DIFFERS: score\n    NOT EXPLAINED: nothing that it depends on has changed" in ran.out
    assert "report  differs, as what it was given differs" in ran.out
    assert ran.out.rstrip().endswith("A result that nothing explains must not be relied upon until it is explained.")
    after = written(kept.home)
    assert {name: after[name] for name in before} == before  # the cache of the next run among it
    assert all(name.startswith("store/") for name in after.keys() - before.keys())


def test_a_changed_manifest_is_found_before_anything_is_read_from_it(kept, replay):
    change_manifest(kept, spec={**kept.manifest["spec"], "source": {"table": "/etc/hostname"}})
    ran, told = replay(kept.run)
    assert (ran.code, told["differs"]) == (1, ["manifest"])
    assert "was changed" in told["sentence"]
    assert last_event(kept.home).outcome == "differs"


def test_a_seed_that_was_lost_is_brought_back_from_the_manifest(kept, replay):
    (path,) = (kept.home / "draws" / "seeds").iterdir()
    seed = path.read_bytes()
    path.unlink()
    ran, _ = replay(kept.run)
    assert ran.code == 0, ran.err
    assert path.read_bytes() == seed
    assert path.stat().st_mode & 0o777 == 0o400


def test_a_manifest_that_the_ledger_does_not_know_is_told(kept, replay):
    without_ledger(kept)
    ran, told = replay(kept.run)
    assert ran.code == 0, ran.err
    assert "is not proved" in told["remarks"][0]


REFUSED = {
    "no such run": ("no-such-run", lambda kept: kept.run[::-1], lambda kept: None),
    "no run is named": ("no-such-run", lambda kept: "", lambda kept: None),
    "the seed is lost": (
        "lost the seed",
        lambda kept: kept.run,
        lambda kept: (without_ledger(kept), change_manifest(kept, seed=None), shutil.rmtree(kept.home / "draws")),
    ),
    "the seed is another": (
        "seed of this run is damaged",
        lambda kept: kept.run,
        lambda kept: [(path.chmod(0o600), path.write_bytes(b"x" * 32)) for path in (kept.home / "draws/seeds").iterdir()],
    ),
    "the key is lost": (
        "lost the key of its store",
        lambda kept: kept.run,
        lambda kept: (kept.home / "keys" / "store.key").unlink(),
    ),
    "the key is another": (
        "not the one that this run used",
        lambda kept: kept.run,
        lambda kept: [(p.chmod(0o600), p.write_bytes(b"y" * 32)) for p in [kept.home / "keys" / "store.key"]],
    ),
    "the manifest is damaged": (
        "manifest is damaged",
        lambda kept: kept.run,
        lambda kept: (without_ledger(kept), (kept.home / "runs" / kept.run / "manifest.json").write_text('{"run": 1}')),
    ),
    "the manifest is of another version": (
        "of another version",
        lambda kept: kept.run,
        lambda kept: (without_ledger(kept), change_manifest(kept, spec={**kept.manifest["spec"], "masks": []})),
    ),
    "the source is gone": (
        "does not exist",
        lambda kept: kept.run,
        lambda kept: (
            without_ledger(kept),
            change_manifest(kept, spec={**kept.manifest["spec"], "source": {"table": str(kept.folder / "gone.csv")}}),
        ),
    ),
    "the variable of the query is not set": (
        "NOT_SET_ANYWHERE",
        lambda kept: kept.run,
        lambda kept: (
            without_ledger(kept),
            change_manifest(kept, spec={**kept.manifest["spec"], "source": {"sql": "select 1", "url_env": "NOT_SET_ANYWHERE"}}),
        ),
    ),
    "it still runs": (
        "has not ended",
        lambda kept: kept.run,
        lambda kept: (without_ledger(kept), change_manifest(kept, status="running", process=os.getpid())),
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_replayed_is_said_with_exit_code_2(kept, sdcert, why):
    told, run, prepare = REFUSED[why]
    prepare(kept)
    before = {path.relative_to(kept.home): path.is_file() and path.read_bytes() for path in (kept.home / "keys").rglob("*")}
    ran = sdcert("audit", "replay", run(kept))
    assert ran.code == 2, ran.err
    assert told in ran.err or told.replace("no-such-run", "no private manifest of such a run") in ran.err
    assert "Traceback" not in ran.err
    after = {path.relative_to(kept.home): path.is_file() and path.read_bytes() for path in (kept.home / "keys").rglob("*")}
    assert after == before  # no new key in the place of a lost one


@pytest.mark.slow
def test_an_older_manifest_without_inputs_and_provenance_is_compared_all_the_same(kept, replay, tmp_path):
    without_ledger(kept)
    path = kept.home / "runs" / kept.run / "manifest.json"
    manifest = {name: fact for name, fact in kept.manifest.items() if name not in ("inputs", "provenance", "store")}
    path.write_text(json.dumps(manifest))
    ran, told = replay(kept.run)
    assert ran.code == 0, ran.err
    assert told["changed_since"]["known"] is False
    (tmp_path / "survey.csv").write_text(OTHER_ROW)
    ran, told = replay(kept.run, "--source", tmp_path / "survey.csv")
    assert ran.code == 1
    assert causes_of(told, "ingest")["data"] == "the source: 1 row changed, in age (1)"
    assert by_stage(told)["mask"]["outcome"] == "follows"


@pytest.mark.slow
def test_a_file_that_is_written_otherwise_is_told_though_every_address_is_the_same(kept, replay, monkeypatch):
    import flows.replay.comparison as comparison

    encode = comparison.encode
    monkeypatch.setattr(comparison, "encode", lambda *arguments: encode(*arguments) + b"\n")
    ran, told = replay(kept.run)
    assert ran.code == 1
    assert told["differs"] == ["released file"]
    assert by_stage(told)["released file"]["outputs"] == ["sha256"]
    assert set(causes_of(told, "released file")) == {"unexplained"}


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_run_that_failed_over_its_data_is_told_when_they_are_mended(certify, replay, tmp_path):
    ran, manifest = certify({"expect": [OF_AGE]}, text=survey().replace("1000,", "1000,9", 1))
    assert ran.code == 2
    (tmp_path / "survey.csv").write_text(survey())
    ran, told = replay(manifest["run"], "--source", tmp_path / "survey.csv")
    assert ran.code == 1
    assert told["causes"] == ["data: the source has other content"]
    assert told["differs"] == ["ending"]


@pytest.mark.slow
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
module.attack = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
from flows.cli import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_run_that_was_killed_is_replayed_as_far_as_it_came(process, replay, tmp_path):
    path = write_release(tmp_path / "project")
    victim = process("-c", KILLED_IN_ATTACK, "certify", path, "--output", tmp_path / "releases")
    victim.communicate(timeout=180)
    assert victim.returncode == -signal.SIGKILL
    ran, told = replay(newest_manifest()["run"])
    assert ran.code == 0, ran.err
    assert list(by_stage(told)) == ["ingest", "classify", "mask"]
    assert "the run was killed: it is compared as far as it came (3 stages)" in told["remarks"]


@pytest.mark.slow
def test_a_chosen_seed_needs_no_file(certify, replay, home):
    ran, manifest = certify({"seed": 7, "not_for_publication": True})
    assert ran.code == 0, ran.err
    shutil.rmtree(home / "draws" / "seeds")
    ran, _ = replay(manifest["run"])
    assert ran.code == 0, ran.err


@pytest.mark.slow
def test_a_refused_release_is_replayed_too(certify, replay):
    ran, manifest = certify({"policy": [{"measure": "reidentification", "at_most": 0.0001}]})
    assert ran.code == 1
    ran, told = replay(manifest["run"])
    assert ran.code == 0, ran.err
    assert "released file" not in by_stage(told)


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_adopted_table_that_was_changed_is_named(certify, replay, home, tmp_path):
    (tmp_path / "project").mkdir()
    lines = survey().splitlines()
    rounded = [",".join([row.split(",")[0], "50.0", *row.split(",")[2:]]) for row in lines[1:]]
    masked = tmp_path / "project" / "masked.csv"
    masked.write_text("\n".join([lines[0], *rounded]) + "\n")
    policy = [{"measure": "reidentification", "at_most": 1.0}]
    change = {"masking": None, "released": {"table": "masked.csv", "align": "key", "tool": "by hand"}, "policy": policy}
    ran, manifest = certify(change)
    assert ran.code in (0, 1), ran.err
    assert replay(manifest["run"])[0].code == 0
    moved = tmp_path / "elsewhere.csv"
    moved.write_text(masked.read_text())
    masked.unlink()
    assert replay(manifest["run"], "--released", moved)[0].code == 0
    moved.write_text(moved.read_text().replace(",50.0,", ",51.0,", 3))
    ran, told = replay(manifest["run"], "--released", moved)
    assert ran.code == 1
    assert causes_of(told, "mask")["data"].startswith("the released table: 3 rows changed, in age (3)")
    assert by_stage(told)["ingest"]["outcome"] == "identical"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("flows", "tasks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "requirements.lock", folder)
    return folder


@pytest.mark.slow
def test_changed_code_and_a_changed_lock_are_named(process, checkout, home, tmp_path):
    path = write_release(tmp_path / "project")

    def ran(*words):
        child = process("-m", "flows.cli", *words, checkout=checkout)
        out, err = child.communicate(timeout=240)
        return child.returncode, out, err

    code, _, err = ran("certify", path, "--output", tmp_path / "releases")
    assert code == 0, err
    run = newest_manifest()["run"]

    def replayed():
        code, out, err = ran("audit", "replay", run, "--json")
        assert code in (0, 1), err
        return code, json.loads(out)

    assert replayed()[0] == 0  # in another process
    comment = checkout / "tasks" / "score" / "loss.py"
    comment.write_text(comment.read_text() + "\n# another version\n")
    code, told = replayed()
    assert (code, told["changed_since"]["files"]) == (0, ["tasks/score/loss.py"])
    assert told["sentence"].endswith("although something has changed since.")

    lock = checkout / "requirements.lock"
    lock.write_text(lock.read_text().replace("\nnumpy==", "\nnumpy==0.", 1))
    code, told = replayed()
    (pin,) = told["changed_since"]["pins"]
    assert (code, pin.startswith("numpy "), " -> 0." in pin) == (0, True, True)
    assert told["changed_since"]["packages"] == []

    file = checkout / "tasks" / "score" / "task.py"
    text = file.read_text()
    assert "verdict = decide(" in text
    file.write_text(text.replace("verdict = decide(", "estimates = estimates[:-1]\n    verdict = decide("))
    code, told = replayed()
    assert code == 1
    assert told["differs"] == ["score", "report"]
    causes = causes_of(told, "score")
    assert causes["code"] == "tasks/score/loss.py, tasks/score/task.py"
    assert causes["lock"] == pin
    assert set(causes_of(told, "report")) == {"inputs"}


RELEASES = sorted((ROOT / "params" / "releases").glob("*.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("path", RELEASES, ids=lambda path: path.stem)
def test_the_replay_of_a_shipped_release_is_identical(process, sdcert, replay, home, tmp_path, reference, monkeypatch, path):
    """Certified in this process, replayed in another one, so that nothing but the home joins them."""
    monkeypatch.setenv("SDCERT_REFERENCE_DATA", str(reference))
    ran = sdcert("certify", path, "--output", tmp_path / "releases")
    assert ran.code in (0, 1), ran.err
    child = process("-m", "flows.cli", "audit", "replay", newest_manifest()["run"], "--json")
    out, err = child.communicate(timeout=500)
    assert child.returncode == 0, (out, err)
    assert json.loads(out)["outcome"] == "identical"
