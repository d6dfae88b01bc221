"""Open questions: a field of the file, refused by whatever makes something of a release, asked by `check --answer`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError
from release_files import RELEASE, survey
from ruamel.yaml import YAML

from flows.cli import run
from flows.cli.draft.answer import answer_questions
from flows.cli.draft.edit import append_entry, delete_entry, replace_entry
from flows.questions import extract_questions
from flows.release import ReleaseSpec
from flows.release_file import load_draft, load_release
from flows.schemas import create_release_schema
from tasks.microdata.document import read_document
from tasks.microdata.errors import InputError

FILE = """\
# A comment of the author.
name: asked
source: {dataset: anes96}
attributes:
  # a vote is secret
  vote:
    role: confidential
    decide: "is it secret? If not, write `role: quasi_identifier`"
  # how old
  age: {decide: ["is it a number? Else write `scale: ordinal`", "has it gaps?"]}   # in years
  popul: {role: withheld}
masking:
  # groups
  - {method: microaggregation, attributes: [age, educ], k: 3, decide: "are three enough?"}
policy:
  - measure: reidentification
    at_most: 0.4
    decide: "is that the limit?"
  # the last one
  - decide: "which limit has the loss?"
not_limited:
  membership: {decide: "why is membership not limited?"}
context: {environment: enclave}
"""
PLACES = ("attributes.vote (line 8)", "attributes.age (line 10)", "masking[0] (line 14)", "policy[0] (line 18)",
          "policy[1] (line 20)", "not_limited.membership (line 22)")  # fmt: skip


@pytest.fixture
def asked(tmp_path, monkeypatch, home):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asked.yaml").write_text(FILE)
    return tmp_path / "asked.yaml"


def answers(*given: str):
    left = list(given)
    return lambda _: left.pop(0)


def test_nothing_is_made_of_a_release_with_an_open_question_and_every_place_is_named(asked, capsys):
    assert run(["certify", "asked.yaml"]) == 2
    told = capsys.readouterr().err
    assert all(place in told for place in PLACES)
    assert "7 open questions" in told
    assert "sdcert check --answer asked.yaml" in told
    with pytest.raises(InputError) as refused:
        load_release(asked)
    assert refused.value.code == "open-question"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("look.yaml", "{name: look, release: asked.yaml, look_at: {source: release}, output: out}", "watch"),
        (
            "look.yaml",
            "{name: look, base: asked.yaml, pipelines: [{name: groups, axes: {'masking[0].k': {values: [3, 5]}}}]}",
            "sweep",
        ),
    ],
    ids=["watch", "sweep"],
)
def test_watches_and_sweeps_refuse_it_too(asked, name, content, kind, tmp_path):
    from flows.sweep.spec import load_sweep
    from flows.watch.spec import load_watch

    (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as refused:
        (load_watch if kind == "watch" else load_sweep)(tmp_path / name)
    assert refused.value.code == "open-question"


def test_a_file_is_read_without_its_questions_and_a_record_never_holds_one(asked):
    release = load_draft(asked)
    assert [line.measure for line in release.policy] == ["reidentification"]
    assert "decide" not in release.model_dump_json()
    content = json.loads(release.model_dump_json())
    content["policy"][0]["decide"] = "is that the limit?"
    with pytest.raises(ValidationError):
        ReleaseSpec.model_validate_json(json.dumps(content))


def test_check_lists_the_questions_and_does_not_refuse(asked, capsys):
    assert run(["check", "asked.yaml"]) == 0
    out = capsys.readouterr().out
    assert all(f"{place}: " in out for place in PLACES)
    assert "which limit has the loss?" in out


def test_without_a_terminal_there_is_one_clear_message(asked, capsys):
    assert run(["check", "--answer", "asked.yaml"]) == 2
    err = capsys.readouterr().err
    assert "nobody sits at this terminal" in err
    assert "delete its `decide`" in err
    assert asked.read_text() == FILE


def test_answers_are_written_and_nothing_else_changes(asked, capsys):
    given = answers(
        "2",  # vote becomes a quasi-identifier, and joins the microaggregation
        "2", "",  # age is ordinal; it keeps the rest
        "k: 5",
        "nonsense", "at_most: 4", "",  # two that do not fit, and the proposal
        "{measure: sse_percent, at_most: 60}",
        "{measure: records_exposed, at_most: 0.4}", "delete", "at_most: 0.2",  # three that say nothing on membership
        "{measure: membership_advantage, at_most: 1}",  # and one that cannot fail
        "{measure: membership_advantage, at_most: 0.2}",  # a limit instead of a reason
    )  # fmt: skip
    answer_questions(asked, given)
    content = read_document(asked).content
    assert content["attributes"] == {"vote": {"role": "quasi_identifier"}, "age": {"scale": "ordinal"},
                                     "popul": {"role": "withheld"}}  # fmt: skip
    assert content["masking"] == [{"method": "microaggregation", "attributes": ["age", "educ", "vote"], "k": 5}]
    assert [line["measure"] for line in content["policy"]] == ["reidentification", "sse_percent", "membership_advantage"]
    assert "not_limited" not in content
    assert load_release(asked).policy[1].at_most == 60
    text = asked.read_text()
    for comment in (
        "# A comment of the author.",
        "# a vote is secret",
        "# how old",
        "# in years",
        "# groups",
        "# the last one",
    ):
        assert comment in text
    out = capsys.readouterr().out
    assert out.count("That does not fit.") == 6
    assert out.rstrip().endswith("no questions left open")


def test_what_is_left_for_later_stays_open_and_what_was_answered_is_kept(asked, capsys):
    answer_questions(asked, answers("later", "1", "quit"))
    _, questions = extract_questions(read_document(asked))
    assert [one.about for one in questions][:2] == ["attributes.vote (line 8)", "attributes.age (line 10)"]
    assert len(questions) == 6
    assert "6 questions left open" in capsys.readouterr().out


def test_a_line_that_nobody_wants_is_deleted(asked):
    answer_questions(asked, answers(*["later"] * 5, "delete", "later"))
    assert len(read_document(asked).content["policy"]) == 1


def test_a_column_that_is_not_published_leaves_the_masks(asked):
    answer_questions(asked, answers("later", "role: withheld", "quit"))
    content = read_document(asked).content
    assert content["masking"][0]["attributes"] == ["educ"]
    assert content["attributes"]["age"] == {"role": "withheld", "decide": "has it gaps?"}


@pytest.mark.parametrize("value", ["''", "7", "[]", "{a: b}", "['a', 3]", "x" * 1001])
def test_a_question_is_a_text(asked, value, capsys):
    asked.write_text(FILE.replace('"is that the limit?"', value))
    assert run(["check", "asked.yaml"]) == 2
    err = capsys.readouterr().err
    assert "line 18: policy[0].decide" in err
    assert "That is no question." in err


@pytest.mark.slow
def test_editors_are_told_of_questions(asked):
    from jsonschema import validate
    from jsonschema.exceptions import ValidationError as Unfit

    schema = create_release_schema()
    content = read_document(asked).content
    validate(content, schema)
    content["source"]["decide"] = "which?"
    with pytest.raises(Unfit):
        validate(content, schema)


TEXT = (
    "a:\n  b: {c: 1}  # one\n  d:\n    e: 2\n    # inside\n    f: 'x'\n\n"
    "\n# two\nl:\n  - {g: 1}\n  # three\n  - h: 1\n    i: 2\n"
    "  - j: >-\n      one\n      text\n\nlong: |\n  two\n  lines\nlast: [1, 2]\n"
)


@pytest.mark.parametrize(
    "place", [("a", "b"), ("a", "d"), ("l", 0), ("l", 1), ("last", 1), ("a", "d", "f"), ("last",), ("l", 2), ("long",)]
)
def test_an_edit_changes_its_place_alone(place):
    """Against the plain way: load, change, compare what is read; and the comments outside the place stay."""
    text = TEXT
    value = {"k": ["v: 1", "no", "#"], "weird key: x": 'qu"ote'}

    def read(text):
        return YAML(typ="safe", pure=True).load(text)

    expected, gone = read(text), read(text)
    for content, change in ((expected, "set"), (gone, "del")):
        parent = content
        for step in place[:-1]:
            parent = parent[step]
        if change == "set":
            parent[place[-1]] = value
        else:
            del parent[place[-1]]
    assert read(replace_entry(text, place, value)) == expected
    assert read(delete_entry(text, place)) == gone
    assert all(comment in replace_entry(text, place, value) for comment in ("# one", "# two", "# three"))
    assert read(append_entry(text, "l", value))["l"] == [*read(text)["l"], value]


@pytest.mark.slow
def test_membership_is_limited_or_a_reason_with_a_colon_is_given(sdcert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_text(survey(200))
    for answer, has in (("1", "control"), ("why: everybody knows it", "not_limited")):
        assert sdcert("init", "survey.csv", "--output", "draft.yaml", "--force").code == 0
        answer_questions(Path("draft.yaml"), lambda prompt, answer=answer: "" if "[1]" in prompt else answer)
        content = read_document(Path("draft.yaml")).content
        assert has in content
        assert ("membership_advantage" in str(content["policy"])) == (has == "control")
        assert sdcert("certify", "draft.yaml", "--output", tmp_path / "releases").code in (0, 1)


def test_a_question_on_another_line_hides_no_silence(sdcert, tmp_path):
    asked = {"measure": "sse_percent", "at_most": 40, "decide": "is that enough?"}
    path = tmp_path / "release.yaml"
    (tmp_path / "survey.csv").write_text(survey())
    path.write_text(json.dumps({**RELEASE, "policy": [*RELEASE["policy"], asked]}))
    ran = sdcert("check", path)
    assert (ran.code, "membership" in ran.err) == (2, True)


PAIR = {**RELEASE["attributes"], "town": {"role": "confidential", "scale": "numeric"}}
FOUND = "measure: reidentification, at_most: 0.2, intruder: insider"
TOLD, ASSERTED = (f"measure: inference_{what}, at_most: 0.9" for what in ("excess", "asserted"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "wrong", "right"),
    [
        ("insiders", f"{FOUND}:vote", FOUND),
        ("insiders", FOUND.replace("0.2", "0.25"), FOUND),
        ("inference", f"{TOLD}, attribute: vote", TOLD),
        ("inference", TOLD.replace("0.9", "1"), TOLD),
        ("membership", "measure: reidentification, at_most: 0.1", "everybody is in it"),
        *(("inference", word, "they publish it themselves") for word in ("delete", "no", "`why`", "null", "at_most: 0.2")),
    ],
)
def test_an_answer_that_check_would_refuse_is_asked_again(kind, wrong, right, tmp_path, capsys, home):
    """A quarter of the records is released, so that a limit of a quarter cannot fail."""
    (tmp_path / "survey.csv").write_text(survey())
    path = tmp_path / "release.yaml"
    masking = [*({**step, "attributes": ["age", "income"]} for step in RELEASE["masking"])]
    masking += [{"method": "sampling", "share": 0.5}, {"method": "sampling", "share": 0.5}]
    content = {**RELEASE, "attributes": PAIR, "masking": masking, "not_limited": {kind: {"decide": "which limit?"}}}
    del content["inference"]
    path.write_text(json.dumps(content))
    answer_questions(path, answers(wrong, right, *([ASSERTED] if right == TOLD else [])))
    assert capsys.readouterr().out.count("That does not fit.") == 1
    after = read_document(path).content
    assert "decide" not in json.dumps(after)
    assert (kind in after.get("not_limited", {})) == (not right.startswith("measure"))


def test_a_slip_in_a_policy_line_does_not_become_a_reason(asked, capsys):
    """`at most` is no field of a line, and the text would be signed as the reason why nothing limits membership."""
    slip = "measure: membership_advantage, at most: 0.2"
    answer_questions(asked, answers(*["later"] * 6, slip, slip.replace("at most", "at_most")))
    out = capsys.readouterr().out
    assert out.count("That does not fit.") == 1
    assert "begins as a policy line" in out
    assert slip in out
    content = read_document(asked).content
    assert content["policy"][-1] == {"measure": "membership_advantage", "at_most": 0.2}
    assert "not_limited" not in content
    asked.write_text(FILE.replace('{decide: "why is membership not limited?"}', json.dumps(slip)))
    assert run(["check", "asked.yaml"]) == 2
    err = capsys.readouterr().err
    assert "asked.yaml, line 22: not_limited.membership" in err
    assert "write the line under `policy`" in err


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(TOLD, ASSERTED), (ASSERTED, TOLD)])
def test_who_answers_by_one_line_of_two_is_asked_for_the_other_at_once(first, second, tmp_path, capsys, home):
    (tmp_path / "survey.csv").write_text(survey())
    path = tmp_path / "release.yaml"
    others = dict.fromkeys(("insiders", "membership"), "nobody knows more than that")
    policy = [*RELEASE["policy"], {"measure": "records_exposed", "at_most": 0.9}]
    content = {**RELEASE, "policy": policy, "not_limited": {**others, "inference": {"decide": "which limit?"}}}
    del content["inference"]
    path.write_text(json.dumps(content))
    answer_questions(path, answers(first, "later"))
    told = capsys.readouterr().out
    assert f"`{second.partition(',')[0]}, at_most: ...`" in told
    assert f"`{first.partition(',')[0]}, at_most: ...`" not in told
    (left,) = extract_questions(read_document(path))[1]
    assert left.location == ("not_limited", "inference")
    assert run(["check", "--upgrade", str(path)]) == 0
    assert extract_questions(read_document(path))[1] == (left,), "the same question is not asked twice"
    answer_questions(path, answers(second))
    after = read_document(path).content
    assert [line["measure"] for line in after["policy"][-2:]] == [one.split(",")[0].split()[1] for one in (first, second)]
    assert run(["check", str(path)]) == 0


def test_a_proposed_limit_that_cannot_fail_is_not_kept(tmp_path, capsys, home):
    (tmp_path / "survey.csv").write_text(survey())
    path = tmp_path / "release.yaml"
    line = {"measure": "records_exposed", "at_most": 1, "decide": "is that enough?"}
    path.write_text(json.dumps({**RELEASE, "policy": [*RELEASE["policy"], line]}))
    answer_questions(path, answers("", "at_most: 0.9"))
    assert "That limit cannot fail" in capsys.readouterr().out
    assert read_document(path).content["policy"][1] == {"measure": "records_exposed", "at_most": 0.9}


SHIFTED = """\
name: asked
source: {table: survey.csv}
attributes: {age: {role: quasi_identifier, scale: numeric}}
masking:
  - decide: "which first?"
  - {method: microaggregation, attributes: [age], k: 3}
  - decide: "which then?"
  - STEP
policy:
  - decide: "which limit?"
  - LINE
"""


GROUPS = "{method: microaggregation, attributes: [age], k: 3}"
LIMIT = "{measure: reidentification, at_most: 0.4}"


@pytest.mark.parametrize(
    ("step", "line", "where"),
    [
        (GROUPS.replace("3", "0"), LIMIT, "line 8: masking[3].k"),
        (GROUPS.replace("age", "agge"), LIMIT, "line 8: masking[3]"),
        (GROUPS, LIMIT.replace("0.4", "4"), "line 11: policy[1].at_most"),
        (GROUPS, LIMIT.replace("at_most", "at_mots"), "line 11: policy[1]"),
        (GROUPS, LIMIT.replace("}", ", attack: none}"), "line 11: policy[1].attack"),
    ],
)
def test_an_error_behind_a_question_names_its_own_line_and_number(step, line, where, tmp_path, capsys, home):
    (tmp_path / "survey.csv").write_text(survey())
    path = tmp_path / "release.yaml"
    path.write_text(SHIFTED.replace("STEP", step).replace("LINE", line))
    assert run(["check", str(path)]) == 2
    assert f"release.yaml, {where}" in capsys.readouterr().err
