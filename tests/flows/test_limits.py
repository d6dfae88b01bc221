"""Every kind of disclosure has a limit or a reason: what silence is told, what the verdict says, and how a file is upgraded."""

from __future__ import annotations

import json

from outcomes import folder_of, newest_manifest, statement_in
from release_files import REASON, RELEASE, survey

RATE = {"measure": "reidentification", "at_most": 0.4}
TAIL = {"measure": "records_exposed", "at_most": 0.9}


def _release(folder, **change):
    (folder / "survey.csv").write_text(survey())
    path = folder / "release.yaml"
    path.write_text(json.dumps({**RELEASE, **change}, indent=1) + "\n")
    return path


def test_a_silent_policy_is_refused_before_an_attempt_and_upgraded(sdcert, tmp_path):
    path = _release(tmp_path, policy=[RATE])
    for command in ("check", "certify"):
        ran = sdcert(command, path)
        assert ran.code == 2
        assert "identity" in ran.err
        assert "- {measure: records_exposed, at_most: <limit>}" in ran.err
        assert 'membership: "<reason>"' in ran.err
    assert not (tmp_path / "releases").exists()
    before = path.read_text()
    assert sdcert("check", "--upgrade", path).code == 0
    after = path.read_text()
    assert after.startswith(before.rstrip())
    assert [kind for kind in ("identity", "insiders", "inference", "membership") if f"# DECIDE on {kind}:" in after] == [
        "identity",
        "insiders",
        "inference",
        "membership",
    ]
    assert sdcert("check", path).code == 2  # an open question is no answer
    assert sdcert("check", "--upgrade", path).code == 0
    assert path.read_text() == after


def test_the_word_names_what_is_excepted_wherever_it_stands(sdcert, tmp_path):
    reasons = dict.fromkeys(("insiders", "inference", "membership"), REASON)
    ran = sdcert("certify", _release(tmp_path, policy=[RATE, TAIL], not_limited=reasons), "--output", tmp_path / "releases")
    word = "except insiders, inference, membership"
    assert ran.code == 0, ran.err
    assert f"survey: CERTIFIED EXCEPT {word.removeprefix('except ')}" in ran.out
    assert "An insider (somebody who also knows vote" in ran.out
    assert f"Reason given: {REASON}" in ran.out
    manifest = newest_manifest()
    folder = folder_of(tmp_path, manifest)
    said = statement_in(folder)["predicate"]
    assert said["claim"]["verdict"] == "certified"
    assert said["not_claimed"]["exceptions"] == ["insiders", "inference", "membership"]
    assert {one["reason"] for one in said["not_claimed"]["kinds_not_limited"]} == {REASON}
    assert said["attack_model"]["worst_insider"]["intruder"] == "insider:vote"
    page = (folder / "report.html").read_text()
    assert f"Certified {word}" in page
    assert "Excepted from the verdict" in page
    verified = sdcert("verify", folder / "released.csv")
    assert verified.code == 0
    assert f"CERTIFIED EXCEPT {word.removeprefix('except ')}" in verified.out
    assert "no second person has approved this public release" in verified.out
    assert "Worst insider: reidentification" in verified.out
    listed = json.loads(sdcert("runs", "--json").out)[0]
    assert (listed["verdict"], listed["exceptions"]) == ("certified", ["insiders", "inference", "membership"])
    assert listed["worst_insider"]["intruder"] == "insider:vote"
