"""A release whose confidential values are inferred by models: by default, with limits, and without the attack."""

from __future__ import annotations

import numpy as np
import pytest
from outcomes import folder_of, scorecard_of, statement_in
from release_files import REASON, RELEASE, survey, write_release

LIMITS = [{"measure": "inference_excess", "at_most": 0.9}, {"measure": "inference_asserted", "at_most": 0.9}]
IDENTITY = [{"measure": "reidentification", "at_most": 0.4}, {"measure": "records_exposed", "at_most": 0.9}]
OTHERS = {"insiders": REASON, "membership": REASON}


@pytest.mark.slow
def test_a_policy_with_both_lines_answers_inference(certify, tmp_path):
    change = {"inference": None, "policy": [*IDENTITY, *LIMITS], "not_limited": OTHERS}
    ran, manifest = certify(change, text=survey(200))
    assert ran.code == 0, ran.out + ran.err
    assert manifest["exceptions"] == ["insiders", "membership"]
    scorecard = scorecard_of(tmp_path, manifest)
    decisions = {one["measure"]: (one["decision"], one["attack"]) for one in scorecard["criteria"]}
    assert {decisions[line["measure"]] for line in LIMITS} == {("pass", "model_based_disclosure")}
    figures = {one["measure"] for one in scorecard["estimates"] if one["attribute"] == "vote" and one["status"] == "ok"}
    assert {"inference_success", "inference_control", "inference_from_original", "inference_without_target"} <= figures
    said = statement_in(folder_of(tmp_path, manifest))["predicate"]
    assert "model_based_disclosure" in {one["method"] for one in said["claim"]["attacks"]}


@pytest.mark.slow
def test_the_attack_runs_where_no_line_asks_for_it_and_not_where_it_is_taken_out(certify, tmp_path):
    for inference, has_run in ((None, True), ([], False)):
        ran, manifest = certify({"inference": inference})
        assert ran.code == 0, ran.out + ran.err
        assert any(one["measure"] == "inference_excess" for one in scorecard_of(tmp_path, manifest)["estimates"]) == has_run
        assert "inference" in manifest["exceptions"]  # a figure without a limit answers nothing


def test_one_of_the_two_lines_is_silence(sdcert, tmp_path):
    change = {"inference": None, "policy": [*IDENTITY, LIMITS[0]], "not_limited": OTHERS}
    ran = sdcert("check", write_release(tmp_path / "project", change))
    assert ran.code == 2
    assert "{measure: inference_asserted, at_most: <limit>}" in ran.err
    assert "{measure: inference_excess, at_most: <limit>}" not in ran.err


def make_survey_of_towns(rows):
    """The vote is that of the town, and the town is known to nobody but insiders and who holds the register."""
    rng = np.random.default_rng(2)
    lines = ["person_id,age,income,town,vote"]
    for i in range(rows):
        town = rng.integers(0, 3)
        lines.append(f"{i},{rng.integers(18, 90)},{rng.integers(1, 90) * 100},{'abc'[town]},{'yes' if town else 'no'}")
    return "\n".join(lines) + "\n"


@pytest.mark.slow
def test_insiders_and_who_holds_a_file_infer_from_what_they_know(certify, tmp_path):
    text = make_survey_of_towns(200)
    held = [",".join(line.split(",")[i] for i in (0, 1, 3)) for line in text.splitlines()]
    (tmp_path / "register.csv").write_text("\n".join(held) + "\n")
    register = {"table": str(tmp_path / "register.csv"), "key": "person_id", "name": "towns"}
    everybody = ["declared", "insider", "file"]
    asserted = {"measure": "inference_asserted", "attribute": "vote", "at_most": 0.9}
    change = {
        "attributes": {**RELEASE["attributes"], "town": {"role": "confidential", "scale": "nominal"}},
        "masking": [{"method": "microaggregation", "attributes": ["age", "income"], "k": 5}],
        "intruder": {"curve": False, "files": [register]},
        "inference": [{"method": "model_based_disclosure", "learners": ["decision_tree"], "by": everybody}],
        "policy": [
            *IDENTITY,
            {**asserted, "intruder": "declared"},
            {**asserted, "intruder": "insider"},
            {**asserted, "intruder": "file:towns"},
            asserted,
        ],
    }
    ran, manifest = certify(change, text=text)
    assert ran.code == 1, ran.out + ran.err
    scorecard = scorecard_of(tmp_path, manifest)
    inferred = {(one["intruder"], one["attribute"]) for one in scorecard["estimates"] if one["measure"] == "inference_success"}
    assert inferred == {
        ("declared", "town"), ("declared", "vote"), ("insider:town", "vote"), ("insider:vote", "town"), ("file:towns", "vote")
    }  # fmt: skip
    found = [(one["intruder"], one["decision"]) for one in scorecard["criteria"] if one["measure"] == "inference_asserted"]
    assert found == [("declared", "pass"), ("insider:town", "fail"), ("file:towns", "fail"), ("file:towns", "fail")]


def test_a_line_by_who_does_not_infer_says_how_they_would(sdcert, tmp_path):
    line = {"measure": "inference_asserted", "intruder": "insider", "at_most": 0.9}
    ran = sdcert("check", write_release(tmp_path / "project", {"inference": None, "policy": [*IDENTITY, line]}))
    assert ran.code == 2
    assert "by: [declared, insider, file]" in ran.err
