"""`sdcert store verify`, `sdcert store gc` and `sdcert audit due` as somebody meets them on a terminal."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time

import pytest
from outcomes import computed
from small_homes import path_of, put, put_cache_record, put_run
from trails import runs, write_trail

from flows.cli import run
from tasks.audit.maintenance.use import lock_store, use_store

AGES = 2000.0
SECRET = b"the seed that nobody may see...."


@pytest.fixture
def command(home, capsys):
    """`command(*words)` runs a command that needs no Prefect; returns the exit code and what it printed."""

    def call(*words: str) -> tuple[int, str]:
        capsys.readouterr()
        code = run(list(words))
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return call


def files_in(home) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in home.rglob("*") if path.is_file() and "locks" not in path.parts}


@pytest.mark.slow
def test_a_rerun_of_a_certified_release_finds_everything_that_it_needs(certify, sdcert, home):
    """The issue's words: gc never removes what the ledger and the series need."""
    ran, manifest = certify()
    assert ran.code == 0
    orphan = put("an orphan", kind="table", days=AGES)
    put_cache_record("f" * 32, [orphan])
    before = files_in(home)

    assert sdcert("store", "gc", "--older-than", "0").code == 0
    assert files_in(home) == before, "a dry run changes nothing"

    collected = sdcert("store", "gc", "--older-than", "0", "--yes", "--json")
    told = json.loads(collected.out)
    assert (collected.code, told["removed"], told["going"]["artifacts"]) == (0, True, [orphan])
    assert [(one["run"], one["why"]) for one in told["kept"]["runs"]] == [(manifest["run"], "certified")]
    assert set(before) - set(files_in(home)) == {str(path_of(orphan)), str(home / "records" / ("f" * 32))}

    seen = sdcert("store", "verify", "--json")
    assert (seen.code, json.loads(seen.out)["findings"]) == (0, [])
    assert json.loads(seen.out)["artifacts"] == json.loads(seen.out)["artifacts_needed"]
    again, rerun = certify()
    assert (again.code, computed(rerun)) == (0, set())

    due = sdcert("audit", "due")
    assert (due.code, "0 of 1 certificates due" in due.out) == (0, True)
    later = sdcert("audit", "due", "--at", manifest["started_at"].replace("2026", "2036"), "--json")
    content = json.loads(later.out)
    assert (later.code, content["certificates"]) == (1, 2)
    assert [one["run"] for one in content["due"]] == [rerun["run"]]
    assert [(one["run"], one["superseded_by"]) for one in content["superseded"]] == [(manifest["run"], rerun["run"])]


def test_a_run_that_failed_leaves_a_store_that_is_sound(certify, sdcert, home):
    ran, _ = certify({"expect": [{"expect": "between", "attribute": "age", "low": 0, "high": 1}]})
    assert ran.code == 2
    assert list((home / "records").iterdir()), "Prefect keeps what it was told of the failure"
    assert "Everything is what its address says" in sdcert("store", "verify").out
    assert sdcert("store", "gc", "--yes").code == 0
    assert not list((home / "records").iterdir())


def test_a_run_in_progress_hinders_a_collection_and_is_named(command, home):
    orphan = put("an orphan", days=AGES)
    put_run("20280301T120000Z-aaaaaa", [], status="running", process=os.getpid())
    with use_store():
        code, told = command("store", "gc", "--older-than", "0", "--yes")
        assert command("store", "gc", "--older-than", "0")[0] == 0
        assert command("store", "verify")[0] == 0
    assert (code, path_of(orphan).exists()) == (1, True)
    assert "Nothing was removed: a run is in progress: 20280301T120000Z-aaaaaa (survey)" in told
    assert command("store", "gc", "--older-than", "0", "--yes")[0] == 0
    assert not path_of(orphan).exists()


def test_a_run_that_begins_during_a_collection_waits_for_its_end(home):
    began = threading.Event()

    def a_run() -> None:
        with use_store():
            began.set()

    with lock_store() as free:
        waiting = threading.Thread(target=a_run)
        waiting.start()
        assert free
        assert not began.wait(0.3)
    assert began.wait(5)
    waiting.join()


def test_what_a_killed_writer_left_is_told_and_removed(command, home):
    draft = home / "draws" / "seeds" / f".{'d' * 32}.{'0' * 32}.tmp"
    draft.parent.mkdir(parents=True)
    draft.write_bytes(SECRET)
    draft.chmod(0o400)
    os.utime(draft, (time.time() - 3700, time.time() - 3700))
    doctor = json.loads(command("doctor", "--json")[1])
    assert [one["status"] for one in doctor["findings"] if one["topic"] == "drafts"] == ["warn"]
    code, told = command("store", "gc")
    assert (code, draft.exists()) == (0, True)
    assert "1       32 B  drafts of writers that were killed" in told
    assert "To remove what is listed first: sdcert store gc --yes\n" in told
    code, told = command("store", "gc", "--yes")
    assert (code, draft.exists()) == (0, False)
    assert SECRET.decode() not in told


def test_a_damaged_artifact_is_told_in_a_sentence_with_what_to_do(command, home):
    needed = put("needed", kind="table")
    put_run("20280301T120000Z-bbbbbb", [needed], verdict="certified")
    path_of(needed).chmod(0o600)
    path_of(needed).write_bytes(b"")
    code, told = command("store", "verify")
    assert code == 1
    assert "is not what its address says: its file was changed or torn" in told
    assert "needed by: 20280301T120000Z-bbbbbb" in told
    assert "to do: `sdcert audit replay 20280301T120000Z-bbbbbb`" in told
    assert "1 finding: 1 damaged" in told


def test_names_of_strange_files_cannot_steer_the_terminal(command, home):
    put("something")
    strange = home / "store" / "record" / "\x1b[2Jgone\nok"
    strange.write_text("")
    strange.chmod(0o600)
    code, told = command("store", "verify")
    assert (code, "\x1b" in told) == (1, False)
    assert "store/record/\\x1b[2Jgone\\nok lies in the store" in told


def test_a_manifest_that_cannot_be_read_stops_a_collection(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SDCERT_HOME", str(tmp_path / "torn"))
    orphan = put("an orphan", days=AGES)
    put_run("a1", [])
    (tmp_path / "torn" / "runs" / "a1" / "manifest.json").write_text("{")
    assert run(["store", "gc", "--older-than", "0", "--yes"]) == 1
    assert "Nothing was removed: the manifest in runs/a1 cannot be read" in capsys.readouterr().out
    assert path_of(orphan).exists()


def spoiled(home, how: str) -> None:
    path = home / "ledger" / "ledger.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    match how:
        case "file gone":
            path.unlink()
        case "folder gone":
            shutil.rmtree(path.parent)
        case "cut":
            path.write_bytes(b"".join(lines[:-2]))
        case "a line in the middle":
            path.write_bytes(b"".join([*lines[:3], b"x" * (len(lines[3]) - 1) + b"\n", *lines[4:]]))


@pytest.mark.parametrize("how", ["file gone", "folder gone", "cut", "a line in the middle"])
def test_a_damaged_ledger_stops_a_collection(command, home, how):
    """What the runs need stands in it too: the release file is named nowhere else."""
    write_trail(home, runs(4))
    (home / "keys" / "signing" / "current-certificates").write_text("the one that signs")
    orphan = put("an orphan", days=AGES)
    spoiled(home, how)
    code, told = command("store", "gc", "--older-than", "0", "--yes")
    assert (code, path_of(orphan).exists()) == (1, True)
    assert "so what runs need is not known; restore it from a backup" in told
    assert command("store", "gc")[0] == 1
    verified = json.loads(command("store", "verify", "--json")[1])
    assert "ledger" in {one["kind"] for one in verified["findings"]}


def test_a_home_without_runs_is_sound_and_nothing_is_due(command):
    assert command("store", "verify")[0] == 0
    assert "is empty" in command("store", "verify")[1]
    code, told = command("store", "gc", "--yes")
    assert (code, "There was nothing to remove." in told) == (0, True)
    code, told = command("audit", "due")
    assert (code, "No certificate stands" in told) == (0, True)


@pytest.mark.parametrize(
    "words",
    [("audit", "due", "--at", "tomorrow"), ("audit", "due", "--within", "-1"), ("audit", "due", "--at", "2028-13-01"),
     ("store", "gc", "--older-than", "-1"), ("store", "gc", "--older-than", "900000")],
)  # fmt: skip
def test_wrong_arguments_are_refused(command, words):
    code, told = command(*words)
    assert (code, told.startswith("error: "), "Traceback" in told) == (2, True, False)
