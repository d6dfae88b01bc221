import json
import os
import re
import sqlite3
import string
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mlflow.utils.validation import (
    _validate_metric_name,
    _validate_param_name,
    _validate_tag_name,
)

from tasks.microdata.estimate import Estimate
from tasks.runtime import tracking
from tasks.runtime.registry import SeriesState
from tasks.runtime.tracking import ChildRun, Tracking
from tasks.runtime.tracking_calls import PARENT, LocalTracker
from tasks.runtime.tracking_names import encode_name, flatten_parameters, metrics, name_distinctly
from tasks.runtime.tracking_store import open_client

ALLOWED = re.compile(r"^[\w\-. :]*$")


@given(st.text(max_size=400) | st.text("|./ ", max_size=10))
@example("insider:a||b")
@example("|a")
@example("a|")
@example("")
def test_every_name_becomes_one_that_is_taken(name):
    code = encode_name(name)
    assert ALLOWED.match(code)
    for taken in (_validate_metric_name, _validate_param_name, _validate_tag_name):
        taken(code)
    assert len(code) <= 250


@given(*[st.text(string.ascii_letters + ":./|% é", max_size=30) | st.text(":/|a0", max_size=5)] * 2)
def test_different_names_stay_different(one, other):
    given = name_distinctly([one, other])
    assert len(set(given.values())) == len({one, other})
    assert (encode_name(one) == encode_name(other)) == (one.replace("|", ".") == other.replace("|", "."))


@given(*[st.text("|~a", min_size=1, max_size=4)] * 2)
def test_a_key_is_one_part_whatever_is_in_it(one, other):
    assert len(dict(flatten_parameters({one: {other: 1}, f"{one}|{other}": 2}))) == 2


def test_leaves_of_a_spec():
    assert dict(flatten_parameters({"a": [{"k": 3}, {"k": True}], "b": "x"})) == {"a.0.k": "3", "a.1.k": "true", "b": "x"}


def test_bounds_are_logged_where_they_say_something():
    exact = Estimate(measure="m", value=0.5, low=0.5, high=0.5, unit="share")
    sampled = Estimate(measure="s", value=0.5, low=0.4, high=0.6, unit="share")
    nothing = Estimate(measure="n", value=None, unit="share", status="failed")
    assert dict(metrics([exact, sampled, nothing])) == {"m": 0.5, "s": 0.5, "s.low": 0.4, "s.high": 0.6}


def test_a_lower_bound_is_no_metric_of_the_figures_name():
    bound = Estimate(measure="b", value=0.5, low=0.5, high=1.0, unit="share", status="not_followed")
    sampled = Estimate(measure="s", value=0.5, low=0.4, high=1.0, unit="share", status="not_followed")
    assert dict(metrics([bound])) == {"b.at_least": 0.5, "b.high": 1.0}
    assert dict(metrics([sampled])) == {"s.at_least": 0.5, "s.low": 0.4, "s.high": 1.0}


def test_a_run_is_recorded(tracked_home, made_store):
    home = tracked_home
    tracking = Tracking(series="survey", run="run-1")
    tracking.parameters({"masking": [{"k": 3}]})
    tracking.estimates([Estimate(measure="loss", attribute="income (%) <é>", value=0.25, unit="share")])
    tracking.tag("sdcert.verdict", "certified")
    assert tracking.close("FINISHED") is None
    client = open_client()
    experiment = client.get_experiment_by_name("survey")
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.status == "FINISHED"
    assert found.data.params == {"masking.0.k": "3"}
    assert list(found.data.metrics.values()) == [0.25]
    assert found.data.tags["sdcert.verdict"] == "certified"
    assert experiment.artifact_location.startswith("file://" + str(home))
    assert made_store.stat().st_mode & 0o077 == 0, "as the store itself was made"
    with sqlite3.connect(home / "mlflow.db") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("uri", ["sqlite:////dev/null/mlflow.db", "nonsense://"])
def test_a_tracking_server_that_is_away_is_told_and_stops_nothing(home, monkeypatch, uri):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    asked = []
    tracking = Tracking(series="survey", run="run-1", read_state=asked.append)
    tracking.tag("a", "b")
    tracking.follow()
    assert tracking.close("FINISHED") is not None
    assert asked == []


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_database_is_asked_once(home, monkeypatch, content):
    from mlflow.store.db import utils

    waited = []
    monkeypatch.setattr(utils.time, "sleep", waited.append)
    (home / "mlflow.db").parent.mkdir(parents=True)
    (home / "mlflow.db").write_bytes(content)
    recorded = Tracking(series="survey", run="run-1")
    assert "DatabaseError" in (recorded.close("FINISHED") or "")
    assert max(waited, default=0) < 1


@pytest.mark.parametrize(
    "make", [lambda path: path.symlink_to(path.name), Path.mkdir, os.mkfifo], ids=["link", "folder", "pipe"]
)
def test_what_stands_in_the_place_of_the_database_is_asked_once(home, monkeypatch, make):
    from mlflow.store.db import utils

    waited = []
    monkeypatch.setattr(utils.time, "sleep", waited.append)
    home.mkdir(parents=True)
    make(home / "mlflow.db")
    recorded = Tracking(series="survey", run="run-1")
    assert "OperationalError" in (recorded.close("FINISHED") or "")
    assert max(waited, default=0) < 1


@pytest.mark.parametrize("seconds", [0, 60])
def test_after_one_long_wait_for_nothing_no_more_is_tried(home, monkeypatch, seconds):
    monkeypatch.setattr(tracking, "AWAY_SECONDS", seconds)
    tried = []
    monkeypatch.setattr(LocalTracker, "_perform", lambda self, call, *rest: tried.append(call) or 1 / 0)
    recorded = Tracking(series="survey", run="run-1")
    assert recorded.close("FINISHED") is not None
    assert tried == (["open"] if seconds == 0 else ["open", "end"])


@pytest.mark.parametrize(
    ("figure", "typed"),
    [
        ("reidentification|transparency|declared", "reidentification.transparency.declared"),
        ("m|insider:age", "m.insider:age"),
        ("m|größe in m²|a/b", "m.größe in m².a:2f:b"),
    ],
)
def test_a_name_is_what_people_type(figure, typed):
    assert encode_name(figure) == typed


def test_half_made_children_are_filled_and_whole_ones_left(tracked_home, made_store):
    child = ChildRun(id="point-1", name="point 1", parameters={"masking": [{"k": 3}]}, figures={"a|b": 1.0}, tags={"t": "x"})
    first = Tracking(series="survey", run="run-1", again=True)
    assert first.close("KILLED") is None
    half = {PARENT: first._tracked.id, "sdcert.run": "point-1"}
    open_client().create_run(first._tracked.experiment, tags=half)
    for _ in range(2):
        again = Tracking(series="survey", run="run-1", again=True)
        again.children([child])
        assert again.close("FINISHED") is None
    client = open_client()
    ids = [client.get_experiment_by_name("survey").experiment_id]
    (found,) = [run for run in client.search_runs(ids) if PARENT in run.data.tags]
    assert (found.info.status, found.data.metrics, found.data.params) == ("FINISHED", {"a.b": 1.0}, {"masking.0.k": "3"})


class Vanishing:
    """Another process that does so many calls; the next one it does or not, and answers no more."""

    def __init__(self, calls: int, *, does_the_last: bool) -> None:
        self.left, self.does_the_last, self.served = (
            calls,
            does_the_last,
            LocalTracker(lambda name: SeriesState(name, (), None)),
        )

    def perform(self, call, tracked, arguments):
        self.left -= 1
        if self.left >= 0 or (self.left == -1 and self.does_the_last):
            found = self.served.perform(call, tracked, json.loads(json.dumps(arguments)))
        if self.left < 0:
            raise ConnectionError("nobody answers")
        return found


@pytest.mark.slow
@pytest.mark.parametrize("does_the_last", [False, True])
@pytest.mark.parametrize("calls", [0, 1, 3, 6, 99])
def test_where_the_kept_process_vanishes_all_is_recorded_once(tracked_home, made_store, calls, does_the_last):
    kept = Vanishing(calls, does_the_last=does_the_last)
    report = tracked_home / "report.html"
    report.write_text("a report")
    tracking = Tracking(series="survey", run="run-1", read_state=lambda name: SeriesState(name, (), None), kept=kept)
    tracking.parameters({"masking": [{"k": 3}]})
    tracking.estimates([Estimate(measure="loss", value=0.25, unit="share")])
    tracking.source("source of survey", "ab")
    tracking.tag("a", "b")
    tracking.rename("survey certified")
    tracking.artifact(report)
    tracking.follow()
    assert tracking.close("FINISHED") is None
    client = open_client()
    (found,) = client.search_runs([client.get_experiment_by_name("survey").experiment_id])
    assert (found.info.status, found.info.run_name) == ("FINISHED", "survey certified")
    assert (found.data.params, found.data.metrics, found.data.tags["a"]) == ({"masking.0.k": "3"}, {"loss": 0.25}, "b")
    assert len(client.get_metric_history(found.info.run_id, "loss")) == 1
    assert len(found.inputs.dataset_inputs) == 1
    assert [one.path for one in client.list_artifacts(found.info.run_id)] == ["report.html"]


def test_what_the_kept_process_could_not_do_is_told_as_if_this_one_had_tried(home, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nonsense://")
    alone = Tracking(series="survey", run="run-1").close("FINISHED")
    assert Tracking(series="survey", run="run-1", kept=Vanishing(99, does_the_last=False)).close("FINISHED") == alone
    assert alone is not None
