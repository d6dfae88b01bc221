"""`sdcert audit replay`: a run that comes out as it was, and every reason why one does not."""

import json
import os
import shutil
from dataclasses import replace
from functools import partial

import pytest
from outcomes import folder_of
from release_files import survey
from replays import by_stage, causes_of, replayed

from tasks.runtime.memory_gate import memory_gate

pytestmark = pytest.mark.drawn  # a replay draws what the run drew

LEFT_OUT = ("ledger", "keys", "prefect", "matplotlib", "locks", "mlflow.db")  # an entry, and what others write
OTHER_ROW = survey().replace("1000,", "1000,1", 1)  # the age of one person


@pytest.fixture
def kept(certified_once, home):
    """The certified run, its home copied for one test; what else it left stays where it was written."""
    shutil.copytree(certified_once.home, home)
    return replace(certified_once, home=home)


@pytest.fixture
def replay(sdcert):
    """`replay(run, *options)` replays a run in this process; returns what ran and the comparison."""
    return partial(replayed, sdcert)


def written(home):
    """Every file of the home that a replay must leave as it is, with its bytes."""
    files = [path for path in home.rglob("*") if path.is_file() and path.relative_to(home).parts[0] not in LEFT_OUT]
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in files}


def entries(home):
    return (home / "ledger" / "ledger.jsonl").read_bytes().splitlines()


def last_event(home):
    from tasks.audit.ledger.ledger import open_entry

    return open_entry(entries(home)[-1]).event


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
    assert {path.name for path in folder_of(kept.folder, kept.manifest).parent.iterdir()} == {kept.run, "latest"}


def test_a_replay_keeps_to_the_memory_that_it_is_allowed(kept, replay, sdcert, monkeypatch):
    allowed = []
    monkeypatch.setattr(memory_gate, "allow", allowed.append)
    ran, told = replay(kept.run, "--memory", "12GB")
    assert (ran.code, told["outcome"], allowed) == (0, "identical", [12 * 10**9])
    ran = sdcert("audit", "replay", kept.run, "--memory", "lots")
    assert ran.code == 2 and "this is no amount of memory" in ran.err


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


@pytest.mark.slow
def test_a_stage_that_nothing_explains_is_told_loudly(kept, sdcert, monkeypatch):
    import tasks.score.task as score_task

    before = written(kept.home)
    decide = score_task.decide
    monkeypatch.setattr(score_task, "decide", lambda *given: replace(decide(*given), verdict="refused"))
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


@pytest.mark.slow
def test_a_seed_that_was_lost_is_brought_back_from_the_manifest(kept, replay):
    (path,) = (kept.home / "draws" / "seeds").iterdir()
    seed = path.read_bytes()
    path.unlink()
    ran, _ = replay(kept.run)
    assert ran.code == 0, ran.err
    assert path.read_bytes() == seed
    assert path.stat().st_mode & 0o777 == 0o400


@pytest.mark.slow
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
        "not the one that the store was made with",
        lambda kept: kept.run,
        lambda kept: [(p.chmod(0o600), p.write_bytes(bytes(range(150, 182)))) for p in [kept.home / "keys" / "store.key"]],
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
    import flows.kinds.masked_table as masked_table

    write_released = masked_table.write_released

    def write_otherwise(table, form, file):
        write_released(table, form, file)
        file.write(b"\n")

    monkeypatch.setattr(masked_table, "write_released", write_otherwise)
    ran, told = replay(kept.run)
    assert ran.code == 1
    assert told["differs"] == ["released file"]
    assert by_stage(told)["released file"]["outputs"] == ["sha256"]
    assert set(causes_of(told, "released file")) == {"unexplained"}
