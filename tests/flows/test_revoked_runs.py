"""What lists runs says `revoked` of one whose certificate is revoked, not the verdict that it once had."""

from __future__ import annotations

import json

import pytest
from certified_runs import issue

from flows.cli import run as sdcert
from flows.run.history import manifest_path

STANDS, REVOKED = (f"20261121T09300{n}Z-1f2e3d" for n in range(2))
LINES = [{"decision": "pass", "measure": "reidentification"}]


@pytest.fixture
def runs(own, tmp_path, capfd):
    """Two certified runs; the certificate of the second is revoked."""
    for run in (STANDS, REVOKED):
        issue(tmp_path / "releases" / "survey" / run, run=run)
        path = manifest_path(run)
        facts = {"series": "survey", "status": "finished", "started_at": "2026-11-21T09:30:00+00:00", "process": 1}
        facts |= {"host": "here", "spec": {}, "stages": {}, "verdict": "certified", "criteria": LINES}
        path.write_text(json.dumps(json.loads(path.read_text()) | facts))
    assert sdcert(["revoke", REVOKED, "--reason", "the source was wrong"]) == 0
    capfd.readouterr()


def test_the_list_of_runs_says_so_to_people_and_to_programs(runs, capfd):
    assert sdcert(["runs"]) == 0
    told = {line.split()[0]: line.split()[2] for line in capfd.readouterr().out.splitlines() if "survey" in line}
    assert told == {STANDS: "certified", REVOKED: "revoked"}
    assert sdcert(["runs", "--json", "--last", "1"]) == 0
    assert [(one["run"], one["verdict"]) for one in json.loads(capfd.readouterr().out)] == [(REVOKED, "revoked")]


def test_a_ledger_that_cannot_be_read_is_told_and_the_runs_are_listed(runs, own, capfd):
    (own.root / "ledger" / "ledger.jsonl").write_bytes(b"nonsense\n")
    assert sdcert(["runs"]) == 0
    told = capfd.readouterr()
    assert STANDS in told.out
    assert "which certificates were revoked is not known" in told.err


def test_a_comparison_says_so(runs, own, capfd):
    for run in (STANDS, REVOKED):
        (own.root / "runs" / run / "scorecard.json").write_text('{"estimates": []}')
        path = manifest_path(run)
        path.write_text(json.dumps(json.loads(path.read_text()) | {"criteria": [], "spec": {"masking": []}}))
    assert sdcert(["compare", STANDS, REVOKED]) == 0
    out = capfd.readouterr().out
    assert f"{REVOKED}  survey  CERTIFIED, and revoked since" in out
    assert f"{STANDS}  survey  CERTIFIED\n" in out
