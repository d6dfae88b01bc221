"""A release whose confidential values are inferred by models: by default, with limits, and without the attack."""

from __future__ import annotations

import pytest
from outcomes import folder_of, scorecard_of, statement_in
from release_files import REASON, survey, write_release

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
