"""A release with rules that must not follow: what `check` refuses, and one run through all stages."""

from __future__ import annotations

import json

import pytest
from outcomes import folder_of, scorecard_of
from release_files import HARDLY_COMPILED, RELEASE, write_release

OLD = {"if": {"age": {"at_least": 65}}, "then": {"vote": ["yes"]}}
TOWN = {"if": {"town": {"at_least": -900000000}}, "then": {"vote": ["no"]}}
ENTRY = {"measure": "results_hidden", "rules": [OLD, TOWN], "support": 0.02, "confidence": 0.95}
LINE = {"measure": "results_hidden", "at_most": 0}
WRONG = {
    "no rules": ({"measures": None}, "policy[1].measure", "measures:"),
    "unknown attribute": (
        {"measures": [{**ENTRY, "rules": [{"if": {"agee": [1]}, "then": {"vote": ["no"]}}]}]},
        "measures[0].rules[0].if",
        "did you mean `age`?",
    ),
    "unknown category": (
        {"measures": [{**ENTRY, "rules": [{"if": {"age": {"at_least": 65}}, "then": {"vote": ["nein"]}}]}]},
        "measures[0].rules[0].then.vote",
        "nein",
    ),
    "a search about what is not confidential": (
        {"measures": [{"measure": "results_hidden", "find": {"about": ["age"]}}]},
        "measures[0].find.about",
        "confidential",
    ),
    "both": ({"measures": [{**ENTRY, "find": {}}]}, "measures[0]", "exactly one"),
    "neither": ({"measures": [{"measure": "results_hidden"}]}, "measures[0]", "exactly one"),
    "a limit of a search above 1": (
        {"measures": [{"measure": "results_hidden", "find": {"min_support": 1.5}}]},
        "measures[0].find.min_support",
        "1",
    ),
    "unknown field": ({"measures": [{**ENTRY, "suport": 0.1}]}, "measures[0]", "support"),
    "a limit above all shares": ({"policy": [*RELEASE["policy"], {**LINE, "at_most": 2}]}, "policy[1]", "0 to 1"),
}


@pytest.mark.parametrize("change", WRONG)
def test_wrong_rules_are_refused_by_check(sdcert, tmp_path, change):
    given, *words = WRONG[change]
    ran = sdcert("check", write_release(tmp_path / "p", {"policy": [*RELEASE["policy"], LINE], "measures": [ENTRY], **given}))
    assert ran.code == 2
    assert all(word in ran.err for word in words), ran.err
    assert "Traceback" not in ran.err


@pytest.mark.slow
def test_a_rule_that_still_follows_refuses_the_release(certify, tmp_path):
    policy = [{"measure": "reidentification", "at_most": 1.0}, LINE]
    measures = [{**ENTRY, "confidence": 0.3}]  # of all towns most vote no
    ran, manifest = certify({**HARDLY_COMPILED, "policy": policy, "measures": measures})
    assert ran.code == 1, ran.out + ran.err
    scorecard = scorecard_of(tmp_path, manifest)
    folder = folder_of(tmp_path, manifest)
    shown = json.loads((folder / "scorecard.json").read_text())
    decided = {one["measure"]: one["decision"] for one in scorecard["criteria"]}
    assert decided["results_hidden"] == "fail"
    exact, public = ({one["measure"]: one["value"] for one in found["estimates"]} for found in (scorecard, shown))
    assert exact["rule_support_original"] == exact["rule_support"] > 0  # the last rule: towns have noise, votes have none
    assert public["rule_support"] is None and public["rule_confidence"] is None
    assert public["rule_support_original"] is None
    texts = [path.read_text() for path in folder.iterdir() if path.suffix in (".html", ".json")]
    assert not any("900000000" in text for text in texts)
