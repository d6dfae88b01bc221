"""`sdcert calibrate`: exit codes, what is printed, what is written, and nothing unless asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from flows.cli import run
from tasks.sweep.calibration import checks as catalogue
from tasks.sweep.calibration import planted_checks

QUICK = ("calibrate", "--attack", "row_position", "--seeds", "10", "--workers", "1")
BROKEN = "credit of 3 missing"


@pytest.fixture
def calibrate(home, capfd, monkeypatch, tmp_path):
    """`calibrate(*options)` runs the command in this process and an empty folder: exit code, stdout, stderr, new files."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*options):
        capfd.readouterr()
        code = run([*QUICK, *map(str, options)])
        captured = capfd.readouterr()
        return code, captured.out, captured.err, sorted(path.name for path in folder.iterdir())

    return call


@pytest.fixture
def few(monkeypatch):
    """Two of the checks, of which one is about samples of targets."""
    chosen = {"null": "rows shuffled", "coverage": "row_position, rows kept in order"}
    some = tuple(one for one in catalogue.list_checks(("row_position",)) if chosen.get(one.kind) == one.scene)
    monkeypatch.setattr(catalogue, "list_checks", lambda attacks: some)
    return some


@pytest.fixture
def broken(few, monkeypatch):
    """No finding holds, with a reason that would play with the terminal."""

    def wrong(check, effort):
        return tuple(replace(one, holds=False, p=1e-5, reason=f"{BROKEN}\x1b[2J") for one in catalogue.carry_out(check, effort))

    monkeypatch.setattr("flows.calibrate.carry_out", wrong)


def test_what_holds_is_told_and_nothing_is_written(calibrate, few):
    code, out, err, files = calibrate()
    assert code == 0
    assert files == []
    assert "mean credit against random pairings" in out
    assert "reidentification" in out
    assert "all hold:" in out
    assert "2 of 2 checks" in err
    assert "WRONG" not in out


def test_what_does_not_hold_is_exit_code_1_with_the_reason(calibrate, broken):
    code, out, _, _ = calibrate()
    assert code == 1
    assert f"row_position, rows shuffled: {BROKEN}" in out
    assert "\x1b" not in out
    assert "do not hold" in out


def test_as_json_and_as_a_file(calibrate, few):
    code, out, _, files = calibrate("--json", "-o", "found.json")
    document = json.loads(out)
    assert (code, files) == (0, ["found.json"])
    assert json.loads(Path("found.json").read_text()) == document
    assert document["holds"] is True
    assert document["seeds"] == 10
    assert {one["kind"] for one in document["findings"]} == {"null", "coverage"}
    assert all(one["holds"] for one in document["findings"])


@pytest.mark.slow
def test_the_findings_depend_on_the_effort_alone(calibrate, few):
    first = calibrate("--json")[1]
    assert first == calibrate("--json")[1]
    assert first != calibrate("--json", "--seeds", "11")[1]


@pytest.mark.long
def test_several_processes_find_what_one_finds(calibrate):
    assert calibrate("--json")[1] == calibrate("--json", "--workers", "2")[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--attack", "distance_linkages"), "distance_linkage"),
        (("--seeds", "0"), "seeds"),
        (("-o", "no/such/folder.json"), "folder that exists"),
        (("-o", "."), "folder that exists"),
    ],
)
def test_wrong_options_are_exit_code_2_before_anything_is_computed(calibrate, monkeypatch, options, said):
    monkeypatch.setattr("flows.calibrate.carry_out", lambda *_: pytest.fail("computed"))
    code, out, err, files = calibrate(*options)
    assert (code, out, files) == (2, "", [])
    assert said in err


def test_only_the_attacks_that_are_named():
    for name in ("row_position", "transparency"):
        assert {one.attack for one in catalogue.list_checks((name,))} == {name}
    assert len(catalogue.list_checks()) > len(catalogue.list_checks(("row_position", "transparency")))
    assert planted_checks.CERTAIN <= catalogue.DEFAULT.seeds < catalogue.THOROUGH.seeds
