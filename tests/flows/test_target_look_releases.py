"""Releases whose targets are taken in planned looks: from the release file to the certificate, and a replay."""

from __future__ import annotations

import csv
import io

import pytest
from outcomes import computed, folder_of, public_scorecard_of, scorecard_of, statement_in
from release_files import RELEASE, survey, write_release
from replays import replayed

from flows.run.looks import find_look_of_stage, went_as_planned
from tasks.attack.target_looks import TargetLooks, plan_looks
from tasks.runtime.tracking_store import open_client

LOOKS = {"first": 0.1, "last": 0.8, "looks": 3}  # 50, 141 and 400 of 500 records
PLANNED = TargetLooks(first=0.1, last=0.8, looks=3)
SURE = pytest.approx(1 - 0.05 / 3)
TABLE = survey(500)
NOISE = {"method": "noise", "kind": "independent", "attributes": ["age", "income", "town"], "sd_percent": 30}  # 21 % are found


def release(limit, looks=LOOKS, **change):
    policy = [{"measure": "reidentification", "at_most": limit}]
    drawn = {"seed": 5, "not_for_publication": True}
    return {"masking": [NOISE], "intruder": {"curve": False, "targets": looks}, "policy": policy, **drawn, **change}


def attacks_of(manifest):
    return {name for name in manifest["stages"] if name.startswith("attack ")}


def figure_of(scorecard, attack="transparency", intruder="declared"):
    figures = {one["id"]: one for one in scorecard["estimates"]}
    return figures[f"reidentification|{attack}|{intruder}"]


def test_a_risk_far_from_its_limit_is_decided_at_the_first_look_by_the_figures_of_a_plain_share(certify, tmp_path):
    ran, manifest = certify(release(0.6), text=TABLE)
    assert ran.code == 0, ran.err
    assert "look 1 of 3: 50 records attacked: every line on targets is decided, ends here" in ran.err
    assert {find_look_of_stage(name) for name in attacks_of(manifest)} == {"look 1 of 3"}
    assert "look 2 of 3" not in manifest["stages"]
    looks = figure_of(scorecard_of(tmp_path, manifest))
    assert (looks["basis"], looks["n_targets"], looks["confidence"]) == ("sequential_targets", 50, pytest.approx(1 - 0.1 / 3))

    ran, manifest = certify(release(0.6, 0.1), text=TABLE)
    assert ran.code == 0, ran.err
    assert attacks_of(manifest) & computed(manifest) == set(), "the attacks of a look are those of a plain share"
    plain = figure_of(scorecard_of(tmp_path, manifest))
    assert (plain["basis"], plain["value"], plain["confidence"]) == ("sampled_targets", looks["value"], 0.9)
    assert looks["low"] < plain["low"] < plain["high"] < looks["high"]
    assert "looks" not in scorecard_of(tmp_path, manifest)


def test_a_risk_near_its_limit_takes_another_look_and_a_replay_takes_the_same(certify, sdcert, tmp_path):
    ran, manifest = certify(release(0.3), text=TABLE)
    assert ran.code == 0, ran.err
    told = [line for line in ran.err.splitlines() if "attacked" in line]
    assert told == [
        "look 1 of 3: 50 records attacked: undecided, goes on",
        "look 2 of 3: 141 records attacked: every line on targets is decided, ends here",
    ]
    taken = [find_look_of_stage(name) for name in attacks_of(manifest)]
    assert {name: taken.count(name) for name in taken} == {"look 1 of 3": 6, "look 2 of 3": 6}
    assert "They ended at look 2 of 3" in " ".join(ran.out.split())

    claim = {"basis": "sequential_targets", "ended_at": 2, "planned": 3, "bound_confidence": SURE}
    claim["planned_shares"] = [0.1, 0.282843, 0.8]
    for scorecard in (scorecard_of(tmp_path, manifest), public_scorecard_of(tmp_path, manifest)):
        assert scorecard["looks"] == claim
        found = figure_of(scorecard)
        assert (found["basis"], found["n_targets"]) == ("sequential_targets", 141)
        assert scorecard["criteria"][0]["bound_confidence"] == SURE
        assert found["high"] == scorecard["criteria"][0]["deciding_value"] <= 0.3
    predicate = statement_in(folder_of(tmp_path, manifest))["predicate"]
    assert predicate["attack_model"]["looks"] == claim
    assert predicate["attack_model"]["targets"] == claim["planned_shares"][1]
    assert predicate["claim"]["criteria"][0]["bound_confidence"] == SURE
    assert "one-sided 98.33 % bound" in predicate["claim"]["criteria"][0]["reason"]
    page = (folder_of(tmp_path, manifest) / "report.html").read_text()
    assert "They ended at look 2 of 3" in page
    assert "98.33" in page

    client = open_client()
    (tracked,) = client.search_runs([client.get_experiment_by_name("survey").experiment_id])
    assert tracked.data.tags["sdcert.looks"] == "sequential_targets: look 2 of 3, each bound one-sided 98.33 %"
    assert tracked.data.params["intruder.targets.looks"] == "3"

    stages, ended = manifest["stages"], plan_looks(PLANNED)
    assert went_as_planned(PLANNED, ended[1], stages)
    assert not went_as_planned(PLANNED, ended[0], stages), "the first look left a line open"
    assert not went_as_planned(PLANNED, ended[2], stages), "the last look was not taken"
    assert not went_as_planned(PLANNED, None, stages)
    assert not went_as_planned(0.1, ended[1], stages)
    assert not went_as_planned(TargetLooks(first=0.1, last=0.9, looks=3), ended[1], stages), "the plan is another"
    skipped = {name: stage for name, stage in stages.items() if name != "look 1 of 3"}
    assert not went_as_planned(PLANNED, ended[1], skipped)

    ran, told = replayed(sdcert, manifest["run"])
    assert ran.code == 0, ran.err
    assert {one["outcome"] for one in told["results"]} == {"identical"}
    assert {"look 1 of 3", "look 2 of 3"} <= {one["stage"] for one in told["results"]}

    ran, again = certify(release(0.3), text=TABLE)
    assert ran.code == 0, ran.err
    assert not any("look" in name for name in computed(again)), "what was stopped goes on from the cache"


@pytest.mark.parametrize(
    ("limit", "code", "ending"),
    [
        (0.05, 1, "look 1 of 3: 50 records attacked: a line is broken, ends here"),
        (0.21, 1, "look 3 of 3: 400 records attacked: undecided, and this was the last look"),
    ],
)
def test_a_broken_line_ends_the_looks_and_the_last_one_may_decide_nothing(certify, tmp_path, limit, code, ending):
    ran, manifest = certify(release(limit), text=TABLE)
    assert (ran.code, ending in ran.err) == (code, True), ran.err
    verdict = scorecard_of(tmp_path, manifest)["verdict"]
    assert verdict == ("refused" if "broken" in ending else "undecided")


def test_a_line_that_no_sample_decides_is_not_waited_for(certify, tmp_path):
    policy = [{"measure": "max_record_risk", "at_most": 0.9}]
    groups = RELEASE["masking"]
    of_persons = {"masking": groups, "key": None, "person": "person_id"}  # whose rows bound nothing for others
    ran, manifest = certify(release(0.6, policy=policy, **of_persons), text=TABLE)
    assert ran.code == 1, ran.err
    said = "look 1 of 3: 50 persons attacked: undecided, and more targets cannot show the line to be kept, ends here"
    assert said in ran.err
    everybody = {"first": 0.1, "last": 1.0, "looks": 2}
    ran, manifest = certify(release(0.6, everybody, policy=policy, **of_persons), text=TABLE)
    assert "look 2 of 2: 500 persons attacked" in ran.err, "a look at everybody decides it"
    assert figure_of(scorecard_of(tmp_path, manifest))["basis"] == "exact"


def test_groups_of_equal_rows_decide_for_everybody_at_the_first_look(certify, tmp_path):
    lines = [("max_record_risk", 0.2), ("records_exposed", 0.0), ("reidentification", 0.2)]
    policy = [{"measure": measure, "at_most": limit} for measure, limit in lines]
    ran, manifest = certify(release(0.6, policy=policy, masking=RELEASE["masking"]), text=TABLE)
    assert ran.code == 0, ran.err
    assert "look 1 of 3: 50 records attacked: every line on targets is decided, ends here" in ran.err
    assert [one["decision"] for one in scorecard_of(tmp_path, manifest)["criteria"]] == ["pass"] * 3


@pytest.mark.slow
def test_persons_and_who_holds_a_file_are_looked_at_alike(sdcert, certify, tmp_path):
    people = list(csv.DictReader(io.StringIO(TABLE)))
    visits = ["pid,age,income,town,vote"]
    visits += [f"{i // 2},{one['age']},{one['income']},{one['town']},{one['vote']}" for i, one in enumerate(people)]
    register = ["pid,age,income,town"] + [line.rpartition(",")[0] for line in visits[1:301]]
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "register.csv").write_text("\n".join(register) + "\n")
    files = [{"table": "register.csv", "name": "register", "key": "pid"}]
    change = release(0.9, key=None, person="pid")
    change["intruder"] = {"curve": False, "targets": LOOKS, "files": files}
    change["policy"] = [
        {"measure": "reidentification", "at_most": 0.9},
        {"measure": "reidentification", "at_most": 0.9, "intruder": "file"},
    ]
    ran, manifest = certify(change, text="\n".join(visits) + "\n")
    assert ran.code in (0, 1), ran.err
    scorecard = scorecard_of(tmp_path, manifest)
    look = scorecard["looks"]["ended_at"] - 1
    share = scorecard["looks"]["planned_shares"][look]
    declared, holder = (figure_of(scorecard, "distance_linkage", who) for who in ("declared", "file:register"))
    assert (declared["counts"], declared["n_targets"]) == ("persons", round(share * 250))
    assert (holder["counts"], holder["n_targets"]) == ("persons", round(share * 150))
    assert {declared["basis"], holder["basis"]} == {"sequential_targets"}
    ran, told = replayed(sdcert, manifest["run"])
    assert {one["outcome"] for one in told["results"]} == {"identical"}


def test_rows_of_nobody_are_looked_at_too(certify, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "made.csv").write_text("\n".join(line.partition(",")[2] for line in TABLE.splitlines()) + "\n")
    change = release(0.9, masking=None, key=None, released={"table": "made.csv", "align": "none"}, seed=None)
    change["policy"] = [{"measure": "linked_value_disclosed", "attribute": "vote", "at_most": 0.95}]
    change["attributes"] = {**RELEASE["attributes"], "person_id": {"role": "identifier"}}
    ran, manifest = certify(change, text=TABLE)
    assert ran.code in (0, 1), ran.err
    ended = scorecard_of(tmp_path, manifest)["looks"]["ended_at"]
    assert f"look {ended} of 3" in manifest["stages"]
    assert {find_look_of_stage(name) for name in attacks_of(manifest)} == {f"look {i} of 3" for i in range(1, ended + 1)}


def test_check_names_the_sizes_of_the_looks(sdcert, tmp_path):
    out = sdcert("check", write_release(tmp_path / "project", release(0.3), text=TABLE)).out
    assert "looks     at 50, 141 and 400 of 500 records, until the policy is decided; each bound one-sided 98.33 %" in out
    assert "10 % to 80 % of these records are scored, in up to 3 looks" in out
