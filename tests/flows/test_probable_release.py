"""A release file that asks for probabilistic linkage, through the command line."""

from __future__ import annotations

import pytest
from outcomes import folder_of, scorecard_of, statement_in

PLAIN = {"method": "distance_linkage"}
TRANSPARENT = {"method": "transparency"}
PROBABLE = {"method": "probabilistic_linkage", "false_links": 0.001, "missed": 0.1}


@pytest.mark.long
def test_a_release_is_attacked_by_probabilities(certify, tmp_path):
    _, before = certify({"attacks": [PLAIN, TRANSPARENT]})
    without = scorecard_of(tmp_path, before)["estimates"]
    worst = {"method": "probabilistic_linkage", "id": "oracle", "estimate": "supervised"}
    policy = [{"measure": "reidentification", "at_most": 0.5}, {"measure": "posterior_at_truth", "at_most": 0.9}]
    ran, manifest = certify({"attacks": [PLAIN, TRANSPARENT, PROBABLE, worst], "policy": policy})
    assert ran.code == 0, ran.err
    figures = scorecard_of(tmp_path, manifest)["estimates"]
    mine = ("probabilistic_linkage", "oracle")
    assert [one for one in figures if one["attack"] not in mine] == without
    declared = {(one["attack"], one["measure"]): one for one in figures if one["intruder"] == "declared"}
    at_truth = declared["probabilistic_linkage", "posterior_at_truth"]
    assert at_truth["chance"] == pytest.approx(1 / 80)
    assert at_truth["chance_kind"] == "uniform_guess"
    assert at_truth["low"] == at_truth["value"] == at_truth["high"] > 1 / 80
    assert declared["oracle", "reidentification"]["chance_kind"] == "permutation"
    assert ("distance_linkage", "posterior_at_truth") not in declared
    page = (folder_of(tmp_path, manifest) / "report.html").read_text()
    for said in ("The weights of agreement", "need not be right", "P(LP|U)", "The weight of each level of likeness"):
        assert said in page
    statement = statement_in(folder_of(tmp_path, manifest))
    assert "probabilistic_linkage" in str(statement)
    assert "probabilistic record linkage" not in str(statement["predicate"]["claim"])


def test_an_unknown_rule_of_likeness_is_told(certify):
    wrong = {"method": "probabilistic_linkage", "compare": {"age": [{"rule": "soundex"}]}}
    ran, _ = certify({"attacks": [PLAIN, TRANSPARENT, wrong]})
    assert ran.code == 2
    assert "same_bin" in ran.err + ran.out
