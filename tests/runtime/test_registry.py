import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlflow.utils.validation import _validate_model_name

from tasks.microdata.spec import SLUG
from tasks.runtime import registry
from tasks.runtime.registry import EndedRun, SeriesState, model_name
from tasks.runtime.tracking import Tracking
from tasks.runtime.tracking_store import open_client

NAME = "sdcert.survey"


def ended(run, verdict="certified", *, revoked=False):
    return EndedRun(run, {"sdcert.verdict": verdict, "sdcert.release": "survey"}, revoked=revoked)


@pytest.fixture
def follow(tracked_home):
    """`follow(run, *ended, standing)`: a run of the series ends, and the ledger says this of it."""

    def call(run, *runs, standing):
        tracking = Tracking(series="survey", run=run, read_state=lambda series: SeriesState(series, runs, standing))
        tracking.follow()
        assert tracking.close("FINISHED") is None
        return open_client()

    return call


def certified(client):
    """The run that the alias points to."""
    version = client.get_registered_model(NAME).aliases.get("certified")
    return None if version is None else client.get_model_version(NAME, version).tags["sdcert.run"]


def versions(client):
    return {one.tags["sdcert.run"]: one for one in client.search_model_versions(f"name='{NAME}'")}


def test_the_alias_follows_the_verdict(follow):
    one, two, three = ended("run-1"), ended("run-2", "refused"), ended("run-3")
    assert certified(follow("run-1", one, standing=one)) == "run-1"
    assert certified(follow("run-2", one, two, standing=one)) == "run-1", "a refused run moves nothing"
    client = follow("run-3", one, two, three, standing=three)
    assert certified(client) == "run-3"
    found = versions(client)
    assert {run: version.tags["sdcert.verdict"] for run, version in found.items()} == {
        "run-1": "certified",
        "run-2": "refused",
        "run-3": "certified",
    }
    for run, version in found.items():
        assert client.get_run(version.run_id).data.tags["sdcert.run"] == run


def test_revocation_moves_it_back_and_then_takes_it_away(follow):
    one, two = ended("run-1"), ended("run-2")
    follow("run-1", one, standing=one)
    assert certified(follow("run-2", one, two, standing=two)) == "run-2"
    gone = ended("run-2", revoked=True)
    client = follow("run-3", one, gone, ended("run-3", "failed"), standing=one)
    assert certified(client) == "run-1"
    assert versions(client)["run-2"].tags["sdcert.revoked"] == "true"
    client = follow("run-4", ended("run-1", revoked=True), gone, ended("run-4", "refused"), standing=None)
    assert certified(client) is None


def test_what_was_missed_is_made_good_and_nothing_twice(follow):
    missed, now = ended("run-1"), ended("run-2", "undecided")
    for _ in range(2):
        client = follow("run-2", missed, now, standing=missed)
    assert certified(client) == "run-1"
    assert sorted(int(one.version) for one in versions(client).values()) == [1, 2]
    written_later = client.get_run(versions(client)["run-1"].run_id)
    assert written_later.info.status == "FINISHED"
    assert written_later.data.tags["sdcert.verdict"] == "certified"


def test_an_old_certificate_is_found_behind_many_newer_versions(follow, monkeypatch):
    monkeypatch.setattr(registry, "NEWEST", 2)
    old, later = ended("run-0"), [ended(f"run-{n}", "refused") for n in range(1, 5)]
    follow("run-0", old, standing=old)
    for run in later:
        client = follow(run.run, run, standing=old)
    assert certified(client) == "run-0"
    assert len(client.search_model_versions(f"name='{NAME}'")) == 5


def test_no_version_says_anything_that_is_not_asked_for(follow):
    run = EndedRun("run-1", {"sdcert.verdict": "certified", "sdcert.certificate": "ab" * 32})
    (version,) = versions(follow("run-1", run, standing=run)).values()
    assert set(version.tags) == {"sdcert.run", "sdcert.verdict", "sdcert.certificate"}
    assert version.source == f"runs:/{version.run_id}/scorecard.json"


@given(st.from_regex(SLUG, fullmatch=True), st.from_regex(SLUG, fullmatch=True))
def test_mlflow_takes_the_name_of_every_series(one, other):
    _validate_model_name(model_name(one))
    assert "'" not in model_name(one), "names stand in filters"
    assert (model_name(one) == model_name(other)) == (one == other)
