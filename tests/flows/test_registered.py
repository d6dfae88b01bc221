"""What the ledger says of a series, and MLflow's registered model that follows it."""

from __future__ import annotations

import pytest
from certified_runs import issue

from flows.run import series_registry
from flows.run.series_registry import follow_now, read_series_state
from tasks.audit.ledger.entries import AskedBy, CertificateRevoked
from tasks.audit.ledger.ledger import Ledger
from tasks.audit.signing.keys import open_signing_key


def revoke(issued):
    who = AskedBy(user="steward", host="here")
    said = CertificateRevoked(run=issued.run, certificate=issued.sha256, revocation="0" * 64, reason="why not", asked_by=who)
    Ledger.current().append(said, open_signing_key())


@pytest.fixture
def runs(own, tmp_path):
    """`runs(outcomes)`: a run of the series ends for each letter: certified, refused, or a rehearsal that is certified."""
    made = []

    def call(outcomes):
        for outcome in outcomes:
            number = len(made)
            word = "refused" if outcome == "r" else "certified"
            made.append(issue(tmp_path / f"{number}", run=f"run-{number:02}", outcome=word, rehearsal=outcome == "t"))
        return made

    return call


def test_the_newest_certificate_for_publication_stands_until_it_is_revoked_and_no_older_one_takes_its_place(runs):
    made = runs("ccrt")
    state = read_series_state("survey")
    assert [one.run for one in state.ended] == ["run-00", "run-01", "run-02", "run-03"]
    assert state.standing.run == "run-01"
    assert dict(state.standing.tags) == {
        "sdcert.release": "survey",
        "sdcert.verdict": "certified",
        "sdcert.verdict_word": "certified",
        "sdcert.certificate": made[1].sha256,
        "sdcert.released_sha256": state.standing.tags["sdcert.released_sha256"],
    }
    assert "sdcert.certificate" not in state.ended[2].tags, "a refusal has a statement and no certificate"
    assert state.ended[3].tags["sdcert.not_for_publication"] == "true"
    revoke(made[1])
    assert [one.revoked for one in read_series_state("survey").ended] == [False, True, False, False]
    assert read_series_state("survey").standing is None
    again = runs("rc")[-1]
    assert read_series_state("survey").standing.run == again.run
    revoke(made[0])
    assert read_series_state("survey").standing.run == again.run, "an older one was revoked"


def test_a_revoked_certificate_older_than_the_last_runs_stands_for_none_before_it(runs, monkeypatch):
    monkeypatch.setattr(series_registry, "NEWEST", 2)
    revoke(runs("ccrrr")[1])
    assert read_series_state("survey").standing is None


def test_a_certificate_older_than_the_last_runs_is_found(runs, monkeypatch):
    monkeypatch.setattr(series_registry, "NEWEST", 2)
    runs("crrr")
    state = read_series_state("survey")
    assert state.standing.run == "run-00"
    assert [one.run for one in state.ended] == ["run-02", "run-03"]
    assert [one.run for one in state.runs] == ["run-00", "run-02", "run-03"]


def test_a_series_without_runs_and_a_home_without_mlflow(own, monkeypatch):
    assert read_series_state("survey").runs == ()
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(series_registry, "_follow", lambda _: pytest.fail("nothing was ever recorded"))
    assert follow_now("survey") is None


def test_a_tracking_server_that_is_away_is_told_by_its_kind_alone(own, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nonsense://user:SECRET@here")
    assert "SECRET" not in (follow_now("survey") or pytest.fail("it is not there"))


@pytest.mark.long
def test_the_alias_follows_the_runs_and_their_revocation(certify, sdcert):
    from tasks.runtime.tracking_store import open_client

    def certified():
        version = open_client().get_registered_model("sdcert.survey").aliases.get("certified")
        return version and open_client().get_model_version("sdcert.survey", version).tags["sdcert.run"]

    first = certify()[1]["run"]
    assert certified() == first
    certify({"policy": [{"measure": "reidentification", "at_most": 0.000001}]})
    assert certified() == first
    second = certify(None, "--new-draw")[1]["run"]
    assert certified() == second
    assert sdcert("revoke", second, "--reason", "a test").code == 0
    assert not certified(), "no older one takes its place by itself"
    assert sdcert("revoke", first, "--reason", "a test").code == 0
    assert not certified()
    found = open_client().search_model_versions("name='sdcert.survey'")
    assert sorted(one.tags["sdcert.verdict"] for one in found) == ["certified", "certified", "refused"]
    assert {one.tags["sdcert.run"] for one in found if "sdcert.revoked" in one.tags} == {first, second}
    tracked = [open_client().get_run(one.run_id).data.tags for one in found]
    assert {tags["sdcert.run"] for tags in tracked if "sdcert.revoked" in tags} == {first, second}
