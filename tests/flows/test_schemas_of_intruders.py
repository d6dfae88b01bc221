"""Linkage across schemas through the whole chain: figures, sentences, and one clear message where it cannot be."""

from __future__ import annotations

import pytest
from outcomes import folder_of, scorecard_of

LENIENT = [{"measure": "reidentification", "at_most": 1.0}]
ATTACKS = [
    {"method": "distance_linkage"},
    {"method": "profile_linkage", "id": "unnamed", "match": "names_unknown"},
    {"method": "profile_linkage", "id": "no-shared", "knows": ["age"], "release_attributes": ["income"]},
]


@pytest.mark.slow
def test_an_intruder_of_another_schema_is_scored_and_told_of(certify, tmp_path):
    ran, manifest = certify(
        {"attacks": ATTACKS, "policy": LENIENT, "omit": [{"attack": "transparency", "reason": "not asked"}]}
    )
    assert ran.code == 0, ran.err
    estimates = {one["id"]: one for one in scorecard_of(tmp_path, manifest)["estimates"]}
    unnamed, shared = (estimates[f"reidentification|{one}|declared"] for one in ("unnamed", "no-shared"))
    assert (unnamed["status"], shared["status"]) == ("ok", "ok")
    assert unnamed["chance"] == shared["chance"] == pytest.approx(1 / 80)
    page = (folder_of(tmp_path, manifest) / "report.html").read_text()
    assert "Linkage across schemas" in page
    assert "none of which they find in the release" in page
    assert "for the released ones that they are: 3 of 3" in page


def test_a_wrong_name_gets_one_clear_message(certify, tmp_path):
    wrong = {"method": "profile_linkage", "knows": ["aeg"]}
    ran, _ = certify({"attacks": [{"method": "distance_linkage"}, wrong], "policy": LENIENT, "omit": [
        {"attack": "transparency", "reason": "not asked"}]})  # fmt: skip
    assert ran.code == 2, ran.err
    assert "aeg" in ran.err
    assert "did you mean `age`?" in ran.err
    assert "Traceback" not in ran.err + ran.out
