"""Releases that ask who is in the file: a control is set aside and never released, or the masking is rehearsed on halves."""

from __future__ import annotations

import csv

import pytest
from outcomes import folder_of, scorecard_of, statement_in
from release_files import ROWS, survey, write_release
from sweep_files import write_sweep

from tasks.report.wording.sentence import say

REHEARSAL = {"seed": 3, "not_for_publication": True}
LOOSE = [{"measure": "membership_auc", "at_most": 0.9999}, {"measure": "reidentification", "at_most": 0.9}]
STRICT = [{"measure": "membership_auc", "at_most": 0.5}]
ATTACKS = ("closest_record", "density_ratio", "linkage_score", "values_present")
VISITS = {
    "attributes": {"person": {"role": "person"}, "x": {"role": "quasi_identifier"}, "y": {"role": "quasi_identifier"}},
    "key": None,
    "masking": [{"method": "noise", "kind": "independent", "attributes": ["x", "y"], "sd_percent": 5}],
}


def figures(tmp_path, manifest):
    return {one["id"]: one for one in scorecard_of(tmp_path, manifest)["estimates"]}


def test_a_control_is_set_aside_asked_about_and_never_released(certify, sdcert, tmp_path):
    ran, manifest = certify({"control": 0.25, "policy": LOOSE})
    assert ran.code == 0, ran.err
    folder = folder_of(tmp_path, manifest)
    with (folder / "released.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 0.75 * ROWS
    found = figures(tmp_path, manifest)
    for attack in ATTACKS:
        auc = found[f"membership_auc|{attack}"]
        assert (auc["basis"], auc["n_targets"], auc["n_in_release"]) == ("control_group", 40, 20)
        assert auc["reason"] is None
        assert auc["low"] <= auc["value"] <= auc["high"]
    said = statement_in(folder)["predicate"]
    assert (said["data"]["rows_in"], said["data"]["rows_control"], said["data"]["rows_out"]) == (ROWS, 20, 60)
    assert said["not_claimed"]["attacks_not_in_catalogue"] == []
    page = (folder / "report.html").read_text()
    assert "Who is in the file" in page
    assert "20 rows of the source were set aside at random" in page
    assert "Rehearsed" not in page
    verified = sdcert("verify", folder / "released.csv")
    assert verified.code == 0, verified.err
    replayed = sdcert("audit", "replay", manifest["run"])
    assert replayed.code == 0, replayed.out + replayed.err


@pytest.mark.slow
def test_without_a_control_the_masking_is_rehearsed_and_says_so_everywhere(certify, tmp_path):
    change = {"membership": [{"method": "closest_record"}], "policy": STRICT, **REHEARSAL}
    ran, manifest = certify(change)
    assert ran.code == 1, ran.err
    folder = folder_of(tmp_path, manifest)
    found = figures(tmp_path, manifest)
    of_membership = [one for one in found.values() if one["measure"].startswith("membership_") and one["value"] is not None]
    assert len(of_membership) >= 6
    assert {one["reason"] for one in of_membership} == {
        "rehearsed on random halves of the source: it is about how the release is made, not about this release"
    }
    assert found["records_absent"]["value"] == 0
    said = statement_in(folder)["predicate"]
    assert said["not_claimed"]["attacks_not_in_catalogue"] == ["membership inference"]
    (criterion,) = said["claim"]["criteria"]
    assert "Rehearsed on random halves of the source" in criterion["reason"]
    (attack,) = [one for one in said["claim"]["attacks"] if one["method"] == "closest_record"]
    assert attack["settings"] == "who is in the file; evaluates: mechanism, not this file"
    assert "(rehearsed on random halves" in ran.out
    page = (folder / "report.html").read_text()
    assert say("membership.rehearsed", of_model=False) in page
    assert "were set aside" not in page


@pytest.mark.slow
def test_persons_are_set_aside_with_all_their_rows(certify, tmp_path):
    rows = ["person,x,y"] + [f"{i},{(i * 37 + v) % 101},{(i * 53 + 7 * v) % 211}" for i in range(60) for v in range(1 + i % 3)]
    change = {
        **VISITS,
        "control": 0.4,
        "not_for_publication": True,
        "policy": [{"measure": "membership_advantage", "at_most": 1.0}],
    }
    ran, manifest = certify(change, text="\n".join(rows) + "\n")
    assert ran.code == 0, ran.err
    auc = figures(tmp_path, manifest)["membership_auc|closest_record"]
    assert (auc["counts"], auc["n_targets"], auc["n_in_release"]) == ("persons", 30, 15)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"control": 0.25, "policy": [{"measure": "membership_recall", "at_most": 0.9}]}, "alone says nothing"),
        ({"control": 0.25, "policy": [{"measure": "membership_attribute_risk", "at_most": 0.9}]}, "alone says nothing"),
        (
            {"control": 0.25, "policy": [{"measure": "membership_f1", "at_most": 0.5}, {**STRICT[0], "at_most": 1.0}]},
            "alone says nothing",
        ),
        ({"policy": STRICT}, "no attack of this release asks who is in the file"),
        ({"control": 0.25, "policy": [{**STRICT[0], "attack": "closest_recrd"}]}, "did you mean `closest_record`"),
        ({"control": 0.25, "policy": [{**STRICT[0], "intruder": "insider"}]}, "has no figure per intruder"),
        ({"control": 0.7}, "less than or equal to 0.5"),
        ({"control": 0.25, "membership": [{"method": "closest_record"}] * 2}, "two attacks are called `closest_record`"),
        (
            {"control": 0.25, "membership": [{"method": "linkage_score", "id": "distance_linkage"}],
             "attacks": [{"method": "distance_linkage"}, {"method": "transparency"}]},
            "two attacks are called `distance_linkage`",
        ),
        ({"control": 0.25, "membership": [{"method": "density_ratio", "id": "transparency"}]},
         "two attacks are called `transparency`"),
        ({"control": 0.25, "masking": None, "released": {"table": "survey.csv"}}, "this table was made elsewhere"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_anything_is_read(sdcert, tmp_path, change, said):
    path = write_release(tmp_path / "project", change)
    for command in ("check", "certify"):
        ran = sdcert(command, path)
        assert ran.code == 2
        assert said in ran.err


@pytest.mark.long
def test_a_control_of_too_few_people_is_refused_before_an_attempt_is_counted(certify, sdcert, tmp_path):
    assert sdcert("check", write_release(tmp_path / "project", {"control": 0.1})).code == 2
    ran, _ = certify({"control": 0.1})
    assert ran.code == 2
    assert "a control of 8 of 80 records leaves too few on one side" in ran.err
    assert not (tmp_path / "releases").exists()
    ran, manifest = certify({"control": 0.25, "policy": LOOSE})
    assert ran.code == 0, ran.err
    assert manifest["attempts"] == 1


def test_a_mask_that_does_not_fit_the_rest_is_told_by_check(sdcert, tmp_path):
    masking = [{"method": "microaggregation", "attributes": ["age", "income", "town"], "k": 70}]
    ran = sdcert("check", write_release(tmp_path / "project", {"control": 0.25, "masking": masking}))
    assert ran.code == 2


@pytest.mark.slow
def test_nothing_public_counts_the_whole_source_where_a_control_is_set_aside(certify, tmp_path):
    text = survey().replace(",yes\n", ",\n", 9)
    ran, manifest = certify({"control": 0.25, "policy": LOOSE}, text=text)
    assert ran.code == 0, ran.err
    page = (folder_of(tmp_path, manifest) / "report.html").read_text()
    assert "9 missing" not in page
    assert "among the released records exactly the distribution" in page


@pytest.mark.slow
def test_steps_that_half_of_the_records_cannot_bear_are_not_rehearsed(certify, tmp_path):
    masking = [{"method": "microaggregation", "attributes": ["age", "income", "town"], "k": 60}]
    change = {"membership": [{"method": "closest_record"}], "masking": masking, "policy": STRICT, **REHEARSAL}
    ran, manifest = certify(change)
    assert ran.code == 1, ran.err
    auc = figures(tmp_path, manifest)["membership_auc|closest_record"]
    assert (auc["status"], auc["value"]) == ("not_followed", None)
    assert "half of the records" in auc["reason"]


@pytest.mark.slow
def test_the_scores_of_a_linkage_that_is_not_there_are_not_applicable(certify, tmp_path):
    change = {"control": 0.25, "membership": [{"method": "linkage_score", "of": "other"}, {"method": "density_ratio"}]}
    ran, manifest = certify({**change, "policy": LOOSE, **REHEARSAL})
    assert ran.code == 0, ran.err
    found = figures(tmp_path, manifest)
    assert found["membership_auc|linkage_score"]["status"] == "not_applicable"
    assert found["membership_auc|density_ratio"]["status"] == "ok"


def test_a_base_with_a_control_is_not_swept(sdcert, tmp_path):
    ran = sdcert("sweep", write_sweep(tmp_path / "project", control=0.25))
    assert ran.code == 2
    assert "sets a control aside" in ran.err
    ran = sdcert("sweep", write_sweep(tmp_path / "project", membership=[{"method": "closest_record"}]))
    assert ran.code == 2
    assert "rehearses its masking on halves" in ran.err


@pytest.mark.slow
def test_members_of_a_release_of_unmasked_people_are_told_apart(certify, tmp_path):
    masking = [{"method": "rounding", "kind": "deterministic", "bases": {"age": 1}}]
    ran, manifest = certify({"control": 0.25, "masking": masking, "policy": STRICT, **REHEARSAL}, text=survey())
    assert ran.code == 1, ran.err
    assert figures(tmp_path, manifest)["membership_auc|closest_record"]["value"] > 0.95


@pytest.mark.slow
def test_swapping_publishes_the_list_of_its_members(certify, tmp_path):
    """Each column keeps its values, so that a member finds all of theirs in the file, however far they were moved."""
    masking = [{"method": "rank_swapping", "attributes": ["age", "income", "town"], "window_percent": 40}]
    loose = [{"measure": "membership_auc", "at_most": 0.8}, *LOOSE[1:]]
    ran, manifest = certify({"control": 0.25, "masking": masking, "policy": loose})
    assert ran.code == 1, ran.err
    found = figures(tmp_path, manifest)
    assert found["membership_auc|values_present"]["value"] == 1
    assert found["membership_auc|closest_record"]["value"] < 0.8
    assert found["membership_auc|law_ratio"]["status"] == "ok"
    insider = found["insider_membership_auc|values_present|vote"]
    assert (insider["value"], insider["attribute"], insider["intruder"]) == (1, "vote", None)
    (line,) = [one for one in scorecard_of(tmp_path, manifest)["criteria"] if one["measure"] == "membership_auc"]
    assert (line["decision"], line["attack"]) == ("fail", "values_present")
    folder = folder_of(tmp_path, manifest)
    claimed = {one["attack"]: one for one in statement_in(folder)["predicate"]["claim"]["attacks"]}
    assert {name: claimed[name]["intruder"] for name in ATTACKS} == {
        **dict.fromkeys(ATTACKS[:3], "whole record"), "values_present": "declared",
    }  # fmt: skip
    assert claimed["law_ratio"]["knows_mechanism"] == "the steps and their parameters, not the seed"


@pytest.mark.slow
def test_groups_have_no_law_of_their_own_and_leave_no_doubt(certify, tmp_path):
    ran, manifest = certify({"control": 0.25, "policy": LOOSE})
    assert ran.code == 0, ran.out + ran.err
    found = figures(tmp_path, manifest)["membership_auc|law_ratio"]
    assert (found["status"], found["value"]) == ("not_applicable", None)
