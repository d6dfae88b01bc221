"""The family of a certified release, and what a later release of the same persons does to an older certificate."""

from __future__ import annotations

import hashlib
import json

import pytest
from outcomes import folder_of
from release_files import write_release

from flows.earlier.family import ReleaseFamilies
from flows.earlier.later_releases import CertificateJudge
from flows.release_file import load_release
from flows.run.issue import create_scorecard
from tasks.audit.ledger.entries import ReleasedTable
from tasks.audit.series.past_releases import PastRelease
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store
from tasks.runtime.settings import Home

ZERO = "0" * 64
OLD, NEW = "20261121T093001Z-1f2e3d", "20261122T093001Z-1f2e3d"
LIMIT = {"measure": "reidentification", "at_most": 0.12}
MASKED = {"method": "microaggregation", "attributes": ["age", "income", "town"]}


def past(run, order, **facts):
    released = ReleasedTable(name="released.csv", sha256=ZERO, content_address=f"sha256:{run}", rows=1, columns=())
    plain = {"run": run, "release": "survey", "series": "survey", "order": order, "certificate": ZERO, "released": released}
    return PastRelease(**{**plain, "source": run, "made": {}, "manifest": ZERO, **facts})


def figure(value, *, attack=f"earlier_releases:{OLD}", low=None, high=None, **facts):
    ends = {"low": value if low is None else low, "high": value if high is None else high}
    plain = {"measure": "reidentification", "value": value, "unit": "share", "intruder": "declared", **ends}
    return Estimate(attack=attack, **{**plain, **facts})


@pytest.fixture
def judge(home, tmp_path):
    """`judge(figures, policy)`: what a newer release with these figures did to an older one with this policy."""

    def call(figures, *policy, newer=None, spec=None, older=None, intruder=None):
        path = write_release(tmp_path / "project", {"policy": list(policy or (LIMIT,)), **(older or {})})
        release = load_release(path).model_dump(mode="json", by_alias=True)
        spec = {**release, "intruder": {**release["intruder"], **(intruder or {})}, **(spec or {})}
        stages = {f"attack {one.attack} (declared)": {} for one in figures if one.attack}
        scorecard = create_scorecard("survey", NEW, "certified", (), tuple(figures), ())
        (Home.current().folder("runs", NEW) / "scorecard.json").write_text(json.dumps(scorecard))
        facts = {OLD: {"spec": release}, NEW: {"earlier": [OLD], "stages": stages, "spec": spec}}
        first, second = past(OLD, 1), newer or past(NEW, 2)
        return CertificateJudge(ReleaseFamilies((first, second), facts)).judge_pair(first, second)

    return call


@pytest.mark.parametrize(
    ("found", "effect"),
    [
        (figure(0.12), "kept"),  # equal is within
        (figure(0.25), "broken"),
        (figure(0.13, low=0.11, high=0.15), "undecided"),
        (figure(None, status="not_followed", reason="its tables are gone"), "undecided"),
        (figure(0.3, status="not_followed", low=0.3), "broken"),  # a lower bound
        (figure(0.9, attack="earlier_releases"), "not attacked"),  # on the rows of the newer release
        (figure(0.9, attack="transparency"), "not attacked"),
    ],
)
def test_the_older_policy_decides_by_the_figures_of_the_newer_run(judge, found, effect):
    assert judge([found]).effect == effect


def test_the_line_that_is_broken_is_told(judge):
    (line,) = judge([figure(0.25), figure(0.4, subgroup="people who left")]).criteria
    assert (line.measure, line.limit, line.deciding_value, line.subgroup) == ("reidentification", 0.12, 0.4, "people who left")


def test_a_line_that_accepts_other_attacks_is_not_broken_by_this_one(judge):
    line = {**LIMIT, "attack": "transparency"}
    assert judge([figure(0.25)], line, {"measure": "reidentification", "at_most": 0.5}).effect == "broken"
    line["accept_other_attacks"] = "only this attack is within reach of anybody"
    assert judge([figure(0.25)], line, {"measure": "reidentification", "at_most": 0.5}).effect == "kept"


def test_values_that_follow_from_both_break_a_line_on_them(judge):
    line = {"measure": "values_reconstructed", "at_most": 0.01}
    follow = figure(0.13, attack=None, intruder=None, measure="values_reconstructed")
    assert judge([figure(0.1), follow], LIMIT, line).effect == "broken"
    assert judge([figure(0.1), follow], LIMIT).effect == "kept"


@pytest.mark.usefixtures("home")
def test_figures_or_a_policy_that_cannot_be_read_leave_it_open():
    facts = {NEW: {"earlier": [OLD], "stages": {f"attack earlier_releases:{OLD} (declared)": {}}}, OLD: {}}
    older, later = past(OLD, 1), past(NEW, 2)
    assert CertificateJudge(ReleaseFamilies((older, later), facts)).judge_pair(older, later).effect == "undecided"


def test_figures_of_somebody_who_knows_less_do_not_keep_a_certificate(judge):
    found = judge([figure(0.1)], older={"intruder": {"curve": False, "knows": ["age", "income"]}}, intruder={"knows": ["age"]})
    assert (found.effect, found.reason) == ("undecided", "less")
    assert judge([figure(0.25)], intruder={"records": 0.5}).effect == "broken"
    assert judge([figure(0.1)], intruder={"records": 0.5}).reason == "less"
    assert (
        judge([figure(0.1)], older={"intruder": {"curve": False, "records": 0.5}}, intruder={"records": 1.0}).effect == "kept"
    )


def test_models_stand_beside_and_one_table_twice_is_the_same(judge):
    assert judge([figure(0.9)], spec={"release": {"model": {}}}).effect == "beside"
    assert judge([figure(0.9)], spec={"released": {"align": "none"}}).effect == "beside"
    same = past(NEW, 2, released=past(OLD, 1).released)
    assert judge([figure(0.9)], newer=same).effect == "same table"


def test_a_run_that_released_the_same_table_again_and_attacked_both_speaks_for_it():
    older, first, again = past(OLD, 1), past(NEW, 2), past("20261123T093001Z-1f2e3d", 3, released=past(NEW, 2).released)
    attacked = {"earlier": [OLD, NEW], "stages": {f"attack earlier_releases:{OLD} (declared)": {}}}
    (found,) = CertificateJudge(ReleaseFamilies((older, first), {NEW: {"earlier": [OLD]}})).judge_later_releases(older)
    assert (found.past, found.effect) == (first, "not attacked")
    facts = {NEW: {"earlier": [OLD]}, again.run: attacked}
    (found,) = CertificateJudge(ReleaseFamilies((older, first, again), facts)).judge_later_releases(older)
    assert (found.past, found.effect) == (again, "undecided")  # its scorecard is gone


@pytest.mark.usefixtures("home")
def test_who_is_of_a_family():
    """What a run wrote down; of runs before that the source, else digests of the persons, else the series."""

    def of_keys(run, order, *keys, series="a"):
        table = Microdata.from_columns({"key": [*keys], "x": [1.5] * len(keys)})
        made = {"ingest": {"data": Store().put_table(table)}, "classify": {"schema": Store().put_record(Schema(()))}}
        return past(run, order, made=made, series=series)

    one, two, three = of_keys("r1", 1, 1, 2), of_keys("r2", 2, 2, 3, series="b"), of_keys("r3", 3, 8, 9)
    gone, recorded = past("r4", 4, series="b"), past("r5", 5, series="z")
    facts = {run: {"spec": {"key": "key"}} for run in ("r1", "r2", "r3")} | {"r4": {}, "r5": {"earlier": ["r3"]}}
    families = ReleaseFamilies((one, two, three, gone, recorded), facts)
    found = {past.run: [other.run for other in families.list_relatives(past)] for past in families.past}
    assert found == {"r1": ["r2"], "r2": ["r1", "r4"], "r3": ["r5"], "r4": ["r2"], "r5": ["r3"]}
    assert [other.run for other in families.find_later(one)] == ["r2"]


@pytest.mark.slow
def test_a_later_release_that_breaks_a_certificate_is_told_everywhere(certify, sdcert, audit, tmp_path):
    strict = {"masking": [{**MASKED, "k": 5}], "policy": [{"measure": "reidentification", "at_most": 0.21}]}
    loose = {"masking": [{**MASKED, "k": 4}], "policy": [{"measure": "reidentification", "at_most": 0.998}]}
    ran, first = certify(strict)
    assert ran.code == 0, ran.err
    released = folder_of(tmp_path, first) / "released.csv"
    assert audit("due")[0] == 0
    assert json.loads(sdcert("verify", released, "--json").out)["broken_by"] == []
    ran, second = certify({**loose, "name": "other", "series": "apart"})
    assert ran.code == 0, ran.err

    code, out, _ = audit("due", "--json")
    (due,) = json.loads(out)["due"]
    assert (code, due["run"], due["why"]) == (1, first["run"], ["broken by a later release"])
    (later,) = due["later_releases"]
    assert (later["run"], later["effect"]) == (second["run"], "broken")
    assert second["run"] in audit("due")[1]

    before = hashlib.sha256(released.read_bytes()).hexdigest()
    (relative,) = json.loads(audit("find", released, "--json")[1])["family"]
    assert (relative["run"], relative["when"], relative["effect"]) == (second["run"], "later", "broken")
    (relative,) = json.loads(audit("show", second["run"], "--json")[1])["family"]
    assert (relative["run"], relative["when"], relative["effect"]) == (first["run"], "earlier", "broken")
    assert second["run"] in audit("show", before)[1]

    ran = sdcert("verify", released)
    assert (ran.code, second["run"] in ran.out) == (0, True)
    (told,) = json.loads(sdcert("verify", released, "--json").out)["broken_by"]
    assert told["run"] == second["run"]
    assert json.loads(sdcert("verify", folder_of(tmp_path, second) / "released.csv", "--json").out)["broken_by"] == []

    assert sdcert("revoke", second["run"], "--never-published", "it was a trial").code == 0
    assert audit("due")[0] == 0
    assert json.loads(audit("show", first["run"], "--json")[1])["family"] == []
