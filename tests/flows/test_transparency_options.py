"""The options of the transparency attack in a release file, through the command line."""

from __future__ import annotations

import pytest
from outcomes import folder_of, scorecard_of

PLAIN = {"method": "distance_linkage"}
TRANSPARENT = {"method": "transparency"}
TOGETHER = {"method": "transparency", "id": "together", "matching": "one_to_one", "probabilities": True}


@pytest.mark.slow
def test_a_release_is_matched_as_a_whole(certify, tmp_path):
    _, before = certify({"attacks": [PLAIN, TRANSPARENT]})
    without = scorecard_of(tmp_path, before)["estimates"]
    ran, manifest = certify({"attacks": [PLAIN, TRANSPARENT, TOGETHER]})
    assert ran.code in (0, 1), ran.err
    figures = scorecard_of(tmp_path, manifest)["estimates"]
    assert [one for one in figures if one["attack"] != "together"] == without
    mine = {(one["intruder"], one["measure"]): one for one in figures if one["attack"] == "together"}
    ok = {key: one for key, one in mine.items() if one["status"] == "ok"}
    assert any(measure == "reidentification" for _, measure in ok)
    assert any(measure == "posterior_at_truth" for _, measure in ok)
    page = (folder_of(tmp_path, manifest) / "report.html").read_text()
    assert "assigns the records to the rest one to one" in page
    assert "draws nothing at random" in page or "No transparency attack answers" in page
