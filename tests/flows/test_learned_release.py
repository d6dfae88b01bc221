"""A release file that asks for the learned worst of linkage, through the command line."""

from __future__ import annotations

import pytest
from outcomes import folder_of, scorecard_of

WEIGHED = {"method": "learned_linkage", "solver": "certified", "time_limit_seconds": 20.0}
PLAIN = {"method": "distance_linkage"}
TRANSPARENT = {"method": "transparency"}


@pytest.mark.slow
def test_a_release_is_attacked_by_a_learned_distance(certify, tmp_path):
    _, before = certify({"attacks": [PLAIN, TRANSPARENT]})
    without = scorecard_of(tmp_path, before)["estimates"]
    ran, manifest = certify({"attacks": [PLAIN, TRANSPARENT, WEIGHED]})
    assert ran.code == 0, ran.err
    figures = scorecard_of(tmp_path, manifest)["estimates"]
    assert [one for one in figures if one["attack"] != "learned_linkage"] == without
    rates = {(one["attack"], one["intruder"]): one for one in figures if one["measure"] == "reidentification"}
    learned = rates["learned_linkage", "declared"]
    assert learned["value"] >= rates["distance_linkage", "declared"]["value"]
    assert (learned["chance_kind"], learned["chance"] > 1 / 80) == ("permutation", True)
    page = (folder_of(tmp_path, manifest) / "report.html").read_text()
    assert "Proven for this family" in page
    assert "Which attributes betray" in page


def test_a_family_that_does_not_exist_is_told(certify):
    ran, _ = certify({"attacks": [PLAIN, TRANSPARENT, {"method": "learned_linkage", "learn": "choquet_two_additive"}]})
    assert ran.code == 2
    assert "choquet_2_additive" in ran.err + ran.out
