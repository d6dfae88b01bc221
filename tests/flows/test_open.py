"""`sdcert open`: which report a name means. And what a shell offers where a run is named."""

import json
import os
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest
from small_homes import put_run

from flows.cli import run

ROOT = Path(__file__).resolve().parents[2]
OLD, NEW = "20261101T000000Z-aaaaaa", "20261102T000000Z-bbbbbb"


@pytest.fixture
def two_runs(home, tmp_path):
    """Two finished runs of the release `survey`, each with its release folder; their folders."""
    folders = {name: tmp_path / "releases" / "survey" / name for name in (OLD, NEW)}
    for name, folder in folders.items():
        folder.mkdir(parents=True)
        (folder / "report.html").write_text("public")
        put_run(name, [], verdict="certified", folder=str(folder))
        (home / "runs" / name / "report-internal.html").write_text("internal")
    return folders


@pytest.mark.parametrize(("name", "meant"), [(OLD, OLD), ("20261102", NEW), ("survey", NEW)])
def test_a_run_is_named_by_its_id_its_beginning_or_its_release(two_runs, capsys, name, meant):
    assert run(["open", name, "--print"]) == 0
    assert capsys.readouterr().out == f"{two_runs[meant] / 'report.html'}\n"


def test_a_folder_is_taken_as_it_is(two_runs, tmp_path, capsys):
    moved = two_runs[OLD].rename(tmp_path / OLD)
    assert run(["open", str(moved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": str(moved / "report.html")}
    assert run(["open", OLD, "--print"]) == 2
    assert run(["open", str(moved), "--internal", "--print"]) == 0
    assert capsys.readouterr().out.endswith(f"runs/{OLD}/report-internal.html\n")


def test_the_browser_gets_the_address_of_the_file(two_runs, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address, *_: opened.append(address) or True)
    assert run(["open", "survey"]) == 0
    assert opened == [(two_runs[NEW] / "report.html").as_uri()]
    monkeypatch.setattr(webbrowser, "open", lambda *_: False)
    assert run(["open", "survey"]) == 2


@pytest.mark.parametrize("name", ["nobody", "2026", "/nowhere"])
def test_what_names_no_single_run_is_wrong_input(two_runs, name):
    assert run(["open", name, "--print"]) == 2


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("sdcert open ", ["survey", NEW, OLD]),
        ("sdcert open 20261101", [OLD]),
        ("sdcert compare s", ["survey"]),
        ("sdcert audit replay 2", [NEW, OLD]),
        ("sdcert sweeps --js", ["--json"]),
    ],
)
def test_a_shell_offers_runs_releases_and_options(two_runs, typed, offered):
    asked = {"_SDCERT_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    command = [sys.executable, "-c", "import sys; sys.argv = ['sdcert']; from flows.cli import main; main()"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert done.stdout.split() == offered


def test_what_a_crash_left_is_no_error_for_a_shell(two_runs, home):
    from flows.cli.completion import complete_run_or_release

    (home / "runs" / OLD / "manifest.json").write_text("{")
    (home / "runs" / NEW / "manifest.json").unlink()
    assert complete_run_or_release("") == [NEW, OLD]
