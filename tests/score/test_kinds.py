"""Which kinds of disclosure are asked, which lines answer them, and what a silent policy is told."""

from __future__ import annotations

from itertools import combinations

import pytest

from tasks.microdata.errors import InputError
from tasks.score.kinds import KINDS, NotLimited, Subject, kinds_asked, kinds_not_limited, refuse_silence, unanswered
from tasks.score.policy import PolicyLine
from tasks.score.verdict_word import in_capitals, verdict_word

TABLE = Subject(what="masked table", confidential=("vote", "PID"), insiders=("insider:vote", "insider:PID"))
LINES = {
    "rate": PolicyLine(measure="reidentification", at_most=0.1),
    "tail": PolicyLine(measure="records_exposed", at_most=0.0),
    "insiders": PolicyLine(measure="reidentification", at_most=0.5, intruder="insider"),
    "inference": PolicyLine(measure="linked_value_disclosed", at_most=0.6),
    "membership": PolicyLine(measure="membership_advantage", at_most=0.2),
}
KIND = {"rate": "identity", "tail": "identity"}


def test_by_hand():
    """A rate of 8 % says nothing of the person who is found with certainty; four lines answer the four kinds."""
    assert set(unanswered([LINES["rate"]], TABLE)) == {"identity", "insiders", "inference", "membership"}
    assert unanswered([LINES["rate"]], TABLE)["identity"] == ("measure: records_exposed",)
    assert unanswered([LINES["tail"]], TABLE)["identity"] == ("measure: reidentification",)
    assert unanswered(LINES.values(), TABLE) == {}


@pytest.mark.parametrize("count", range(len(LINES) + 1))
def test_a_kind_is_answered_by_its_own_lines_alone(count):
    for names in combinations(LINES, count):
        missing = {KIND.get(name, name) for name in LINES if name not in names}
        assert set(unanswered([LINES[name] for name in names], TABLE)) == missing


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("identity", PolicyLine(measure="records_exposed", at_most=1.0)),
        ("identity", PolicyLine(measure="k_anonymity", at_least=5)),
        ("identity", PolicyLine(measure="max_record_risk", at_most=0.3, intruder="insider")),
        ("identity", PolicyLine(measure="max_record_risk", at_most=0.3, intruder="file:register")),
        ("identity", PolicyLine(measure="subgroup_reidentification", at_most=0.3, subgroup="lowest values")),
        ("identity", PolicyLine(measure="max_record_risk", at_most=0.3, attack="transparency", accept_other_attacks="why")),
        ("insiders", PolicyLine(measure="reidentification", at_most=0.5, intruder="insider:vote")),
        ("inference", PolicyLine(measure="linked_value_disclosed", at_most=0.5, attribute="PID")),
        ("inference", PolicyLine(measure="rank_interval_disclosure", at_most=0.5, p_percent=5)),
        ("membership", PolicyLine(measure="membership_recall", at_most=0.5)),
        ("membership", PolicyLine(measure="membership_auc", at_most=1.0)),
    ],
)
def test_lines_that_answer_nothing(kind, line):
    own = {"identity": "tail"}.get(kind, kind)
    others = [one for name, one in LINES.items() if name != own]
    assert kind in unanswered([*others, line], TABLE)


def test_lines_on_each_part_answer_the_whole():
    each = [PolicyLine(measure="reidentification", at_most=0.5, intruder=name) for name in TABLE.insiders]
    each += [PolicyLine(measure="linked_value_disclosed", at_most=0.5, attribute=name) for name in TABLE.confidential]
    assert set(unanswered(each, TABLE)) == {"identity", "membership"}


def test_a_limit_that_a_sample_cannot_reach_answers_nothing():
    """If a tenth of the records is released, nobody finds 15 % of all records."""
    sampled = Subject(what="masked table", largest_share=0.1)
    loose, strict = (PolicyLine(measure="reidentification", at_most=limit) for limit in (0.15, 0.05))
    assert "measure: reidentification" in unanswered([loose], sampled)["identity"]
    assert unanswered([strict], sampled)["identity"] == ("measure: records_exposed",)


@pytest.mark.parametrize(
    ("subject", "asked"),
    [
        (TABLE, ("identity", "insiders", "inference", "membership")),
        (Subject(what="masked table"), ("identity", "membership")),
        (Subject(what="model", confidential=("vote",)), ("inference", "membership")),
        (Subject(what="synthetic table"), ("membership",)),
    ],
)
def test_a_kind_without_object_is_not_asked(subject, asked):
    assert kinds_asked(subject) == asked
    assert "earlier_releases" in KINDS


def test_silence_names_the_lines_to_add():
    with pytest.raises(InputError) as caught:
        refuse_silence((LINES["rate"], LINES["tail"]), NotLimited(insiders="nobody publishes them"), TABLE)
    assert caught.value.code == "kind-not-limited"
    assert "  - {measure: linked_value_disclosed, at_most: <limit>}" in caught.value.lines
    assert '  membership: "<reason>"' in caught.value.lines
    assert not any("insider" in line for line in caught.value.lines)
    assert str(caught.value).endswith("\n".join(f"    {line}" for line in caught.value.lines))


def test_a_reason_stands_for_a_limit():
    reasons = NotLimited(membership="too few people", inference="idle, because a line limits it")
    policy = tuple(line for name, line in LINES.items() if name != "membership")
    refuse_silence(policy, reasons, TABLE)
    assert kinds_not_limited(policy, reasons, TABLE) == (("membership", "too few people"),)


def test_identity_needs_a_limit_where_something_is_published():
    reasons = NotLimited(**dict.fromkeys(KINDS, "because"))
    with pytest.raises(InputError, match="belong to people"):
        refuse_silence((LINES["rate"],), reasons, TABLE)
    refuse_silence((LINES["rate"],), reasons, Subject(what="masked table", not_for_publication=True))


@pytest.mark.parametrize("what", ["model", "synthetic table"])
def test_of_a_model_or_a_synthetic_table_something_is_limited(what):
    reasons = NotLimited(inference="because", membership="because")
    subject = Subject(what=what, confidential=("vote",))
    with pytest.raises(InputError) as caught:
        refuse_silence((LINES["rate"],), reasons, subject)
    assert caught.value.code == "nothing-limited"
    refuse_silence((LINES["membership"],), reasons, subject)


def test_the_word():
    assert verdict_word("certified", ()) == "certified"
    assert verdict_word("certified", ["membership", "consistency"]) == "certified except membership, consistency"
    assert verdict_word("refused", ["membership"]) == "refused"
    assert in_capitals("certified except membership") == "CERTIFIED EXCEPT membership"
