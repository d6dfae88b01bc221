"""Every kind of disclosure has a limit or a reason: what silence is told, what the verdict says, and how a file is upgraded."""

from __future__ import annotations

import json

import pytest
from outcomes import folder_of, newest_manifest, statement_in
from release_files import REASON, RELEASE, survey

from flows.cli.draft.answer import answer_questions
from flows.questions import extract_questions
from tasks.microdata.document import format_dotted_path, read_document

RATE = {"measure": "reidentification", "at_most": 0.4}
TAIL = {"measure": "records_exposed", "at_most": 0.9}
KINDS = ("insiders", "inference", "membership")


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
    asked = extract_questions(read_document(path))[1]
    assert [format_dotted_path(one.location) for one in asked] == [
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
    asked = extract_questions(read_document(path))[1]
    assert [format_dotted_path(one.location) for one in asked] == ["not_limited.insiders", "not_limited.inference", "policy[1]"]


def test_an_upgrade_keeps_the_question_that_is_open_on_a_kind(sdcert, tmp_path):
    """A person wrote it: the one that an upgrade would write does not replace it, and the other kinds are asked."""
    own = "what did the board say of members?"
    path = _release(tmp_path, policy=[RATE, TAIL], not_limited={"membership": {"decide": own}})
    ran = sdcert("check", "--upgrade", path)
    assert ran.code == 0
    assert "2 open questions were written into it, on insiders, inference\n" in ran.out
    asked = extract_questions(read_document(path))[1]
    assert {one.location[1] for one in asked} == {*KINDS}
    assert [one.question for one in asked if one.location[1] == "membership"] == [own]
    before = path.read_text()
    assert "nothing was written" in sdcert("check", "--upgrade", path).out
    assert path.read_text() == before


PLAIN = "".join(f"{name}: {json.dumps(value)}\n" for name, value in {**RELEASE, "policy": [RATE, TAIL]}.items())
LONG = "not_limited:\n  inference: >-\n    it is told\n    to everybody\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        PLAIN + LONG + "policy_version: '1'\n",
        PLAIN + LONG + "\n# the end\n",
        PLAIN + "not_limited:\n  inference: it is told to everybody # so it is\n",
        PLAIN + "not_limited:\n  membership: null\n  inference: it is told to everybody\n",
        PLAIN + "not_limited: {inference: it is told to everybody}\n...\n",
        PLAIN + "not_limited: {}\n",
        PLAIN + "...\n",
    ],
    ids=["long reason", "long reason at the end", "comment", "no reason yet", "brackets", "nothing", "end of the document"],
)
def test_an_upgraded_file_says_what_it_said_and_asks_what_was_left_out(sdcert, tmp_path, text):
    path = _release(tmp_path)
    path.write_text(text)
    before = read_document(path).content
    assert sdcert("check", "--upgrade", path).code == 0
    after = read_document(path).content
    reasons = {kind: reason for kind, reason in (before.pop("not_limited", {}) or {}).items() if reason is not None}
    given = after.pop("not_limited")
    assert after == before
    assert {kind: one for kind, one in given.items() if isinstance(one, str)} == reasons
    assert {kind for kind, one in given.items() if isinstance(one, dict)} == {*KINDS} - set(reasons)
    assert sdcert("check", path).code == 0


@pytest.mark.slow
def test_a_silent_point_is_not_promoted(sdcert, tmp_path):
    _release(tmp_path)
    sweep = {
        "name": "s",
        "base": "release.yaml",
        "pipelines": [{"name": "as-it-is"}],
        "axes": {"masking[0].k": {"values": [5]}},
    }
    (tmp_path / "sweep.yaml").write_text(json.dumps(sweep))
    assert sdcert("sweep", tmp_path / "sweep.yaml").code == 0
    ran = sdcert("sweep", "promote", "s", "0", "--output", tmp_path / "promoted.yaml")
    assert ran.code == 2
    assert "the base release of the sweep: policy" in ran.err
    assert "- {measure: records_exposed, at_most: <limit>}" in ran.err
    assert not (tmp_path / "promoted.yaml").exists()


@pytest.mark.slow
def test_a_watch_of_a_silent_release_refuses_each_look_and_quarantines_nothing(sdcert, tmp_path):
    _release(tmp_path)
    watch = {
        "name": "w",
        "release": "release.yaml",
        "look_at": {"source": "release", "settled_seconds": 0},
        "output": "releases",
    }
    (tmp_path / "watch.yaml").write_text(json.dumps(watch))
    for _ in range(2):
        ran = sdcert("watch", tmp_path / "watch.yaml")
        assert ran.code == 2
        assert "- {measure: records_exposed, at_most: <limit>}" in ran.err
    assert json.loads(sdcert("quarantine", "list", "--json").out) == []
    assert not (tmp_path / "releases").exists()


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


@pytest.mark.parametrize("not_limited", [("identity", *KINDS), KINDS], ids=["reasons alone", "identity left out"])
def test_an_upgrade_clears_no_file_that_check_refuses(sdcert, tmp_path, not_limited):
    """Identity needs a limit, whatever reason stands for it; the message names file and line."""
    loss = {"measure": "sse_percent", "at_most": 90}
    path = _release(tmp_path, policy=[loss], not_limited=dict.fromkeys(not_limited, REASON))
    checked, upgraded = sdcert("check", path), sdcert("check", "--upgrade", path)
    assert checked.code == 2
    if "identity" in not_limited:
        assert (upgraded.code, upgraded.err) == (2, checked.err)
        assert f"{path}, line " in upgraded.err
        assert "all clear" not in upgraded.out
    else:
        assert upgraded.code == 0
        assert sdcert("certify", path).code == 2


def test_upgrade_and_answer_do_both(sdcert, tmp_path):
    """Nobody sits at this terminal: the questions are written, and asking them is refused."""
    path = _release(tmp_path, policy=[RATE, TAIL])
    ran = sdcert("check", "--upgrade", "--answer", path)
    assert ran.code == 2
    assert "3 open questions were written into it" in ran.out
    assert "nobody sits at this terminal" in ran.err
    assert len(extract_questions(read_document(path))[1]) == 3
    whole = _release(tmp_path, policy=[RATE, TAIL], not_limited=dict.fromkeys(KINDS, REASON))
    ran = sdcert("check", "--upgrade", "--answer", whole)
    assert (ran.code, "no question is open" in ran.out, "Plan of release" in ran.out) == (0, True, True)
