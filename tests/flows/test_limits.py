"""Every kind of disclosure has a limit or a reason: what silence is told, what the verdict says, and how a file is upgraded."""

from __future__ import annotations

import json

from outcomes import folder_of, newest_manifest, statement_in
from release_files import REASON, RELEASE, survey

from flows.console.answer import answer_questions
from flows.questions import without_questions
from tasks.microdata.document import dotted, read_document

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
    assert sdcert("check", "--upgrade", path).code == 0
    after = path.read_text()
    asked = without_questions(read_document(path))[1]
    assert [dotted(one.place) for one in asked] == [
        "policy[1]", "not_limited.insiders", "not_limited.inference", "not_limited.membership"
    ]  # fmt: skip
    assert sdcert("check", path).code == 0  # it lists the questions
    assert sdcert("certify", path).code == 2  # an open question is no answer
    assert sdcert("check", "--upgrade", path).code == 0
    assert path.read_text() == after
    lines = iter(["measure: records_exposed, at_most: 0.9", "measure: reidentification, intruder: insider, at_most: 0.9",
                  "everybody knows how everybody voted", "everybody of the village is in it"])  # fmt: skip
    answer_questions(path, lambda _: next(lines))
    assert sdcert("certify", path, "--output", tmp_path / "releases").code == 0


def test_an_upgrade_leaves_every_other_line_and_comment_as_it_was(sdcert, tmp_path):
    path = _release(tmp_path)
    plain = {name: value for name, value in RELEASE.items() if name != "policy"}
    written = "\n".join(f"{name}: {json.dumps(value)}" for name, value in plain.items())
    policy = "policy: # ours\n  - measure: reidentification # a rate\n    at_most: 0.4\n"
    path.write_text(f"{written}\nnot_limited: # as agreed\n  membership: told to everybody # in 2026\n{policy}# the end\n")
    before = path.read_text().splitlines()
    assert sdcert("check", "--upgrade", path).code == 0
    after = path.read_text().splitlines()
    assert [line for line in after if line in before] == before
    asked = without_questions(read_document(path))[1]
    assert [dotted(one.place) for one in asked] == ["not_limited.insiders", "not_limited.inference", "policy[1]"]


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
