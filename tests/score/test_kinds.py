"""Which kinds of disclosure are asked, which lines answer them, and what a silent policy is told."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from tasks.mask.methods import mask
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import InputError
from tasks.score.kinds import (
    KINDS,
    NotLimited,
    Subject,
    begins_as_policy_line,
    compute_largest_share,
    find_unlimited_kinds,
    list_kinds_asked,
    list_kinds_not_limited,
    refuse_limits_as_reasons,
    refuse_silence,
)
from tasks.score.measures.inference import DECIDING
from tasks.score.policy import PolicyLine
from tasks.score.release_kinds import MASKED_TABLE, MODEL, SYNTHETIC_TABLE
from tasks.score.verdict_word import capitalise_verdict, format_verdict

TABLE = Subject(kind=MASKED_TABLE, confidential=("vote", "PID"), insiders=("insider:vote", "insider:PID"))
LINES = {
    "rate": PolicyLine(measure="reidentification", at_most=0.1),
    "tail": PolicyLine(measure="records_exposed", at_most=0.0),
    "insiders": PolicyLine(measure="reidentification", at_most=0.5, intruder="insider"),
    "excess": PolicyLine(measure="inference_excess", at_most=0.1),
    "asserted": PolicyLine(measure="inference_asserted", at_most=0.05),
    "membership": PolicyLine(measure="membership_advantage", at_most=0.2),
}
KIND = {"rate": "identity", "tail": "identity", "excess": "inference", "asserted": "inference"}


def test_by_hand():
    """A rate of 8 % says nothing of the person who is found with certainty; six lines answer the four kinds."""
    assert set(find_unlimited_kinds([LINES["rate"]], TABLE)) == {"identity", "insiders", "inference", "membership"}
    assert find_unlimited_kinds([LINES["rate"]], TABLE)["identity"] == ("measure: records_exposed",)
    assert find_unlimited_kinds([LINES["tail"]], TABLE)["identity"] == ("measure: reidentification",)
    assert find_unlimited_kinds(LINES.values(), TABLE) == {}


@pytest.mark.parametrize("count", range(len(LINES) + 1))
def test_a_kind_is_answered_by_its_own_lines_alone(count):
    for names in combinations(LINES, count):
        missing = {KIND.get(name, name) for name in LINES if name not in names}
        assert set(find_unlimited_kinds([LINES[name] for name in names], TABLE)) == missing


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
        ("inference", PolicyLine(measure="inference_excess", at_most=0.5, attribute="PID")),
        ("inference", PolicyLine(measure="linked_value_disclosed", at_most=0.6)),
        ("inference", PolicyLine(measure="rank_interval_disclosure", at_most=0.5, p_percent=5)),
        ("membership", PolicyLine(measure="membership_recall", at_most=0.5)),
        ("membership", PolicyLine(measure="membership_auc", at_most=1.0)),
        ("membership", PolicyLine(measure="membership_auc", at_most=1 - 1e-13)),  # what is beyond it by less is within
        ("identity", PolicyLine(measure="records_exposed", at_most=1 - 1e-13)),
    ],
)
def test_lines_that_answer_nothing(kind, line):
    own = {"identity": "tail", "inference": "excess"}.get(kind, kind)
    others = [one for name, one in LINES.items() if name != own]
    assert kind in find_unlimited_kinds([*others, line], TABLE)


def test_lines_on_each_part_answer_the_whole():
    each = [PolicyLine(measure="reidentification", at_most=0.5, intruder=name) for name in TABLE.insiders]
    each += [PolicyLine(measure=one, at_most=0.5, attribute=name) for name in TABLE.confidential for one in DECIDING]
    assert set(find_unlimited_kinds(each, TABLE)) == {"identity", "membership"}


def test_a_limit_that_a_sample_cannot_reach_answers_nothing():
    """If a tenth of the records is released, nobody finds 15 % of all records."""
    sampled = Subject(kind=MASKED_TABLE, largest_share=0.1)
    loose, strict = (PolicyLine(measure="reidentification", at_most=limit) for limit in (0.15, 0.05))
    assert "measure: reidentification" in find_unlimited_kinds([loose], sampled)["identity"]
    assert find_unlimited_kinds([strict], sampled)["identity"] == ("measure: records_exposed",)
    idle = PolicyLine(measure="reidentification", at_most=0.1 - 1e-13)
    assert "measure: reidentification" in find_unlimited_kinds([idle], sampled)["identity"]


def test_what_the_declared_intruder_knows_no_line_keeps_from_them():
    """The figures on inference are about what the declared intruder learns: of what they know already there is none."""
    subject = replace(TABLE, known_secrets=("vote",))
    each = [PolicyLine(measure=one, at_most=0.5, attribute=name) for name in TABLE.confidential for one in DECIDING]
    assert "inference" in find_unlimited_kinds([*LINES.values(), *each], subject)
    with pytest.raises(InputError, match="the declared intruder knows vote") as caught:
        refuse_silence(tuple(LINES.values()), NotLimited(), subject)
    assert '  inference: "<reason>"' in caught.value.lines
    assert not any("inference_" in line for line in caught.value.lines)
    refuse_silence(tuple(LINES.values()), NotLimited(inference="everybody knows how they voted"), subject)


HOLDERS = ("file:register", "file:club")
EVERYBODY = ("declared", *HOLDERS)


@pytest.mark.parametrize("half", ["rate", "tail"])
@pytest.mark.parametrize("named", [names for size in range(4) for names in combinations(EVERYBODY, size)])
def test_identity_is_answered_when_every_holder_of_a_file_is_limited(half, named):
    """A line on the declared intruder says nothing of who holds a register: each needs one, or one has no `intruder`."""
    subject = Subject(kind=MASKED_TABLE, file_holders=HOLDERS)
    other = LINES["tail" if half == "rate" else "rate"]
    lines = [LINES[half].model_copy(update={"intruder": name}) for name in named]
    assert ("identity" in find_unlimited_kinds([other, *lines], subject)) == (named != EVERYBODY)
    together = [line for line in lines if line.intruder == "declared"]
    together.append(LINES[half].model_copy(update={"intruder": "file"}))
    assert ("identity" in find_unlimited_kinds([other, *together], subject)) == ("declared" not in named)
    assert "identity" not in find_unlimited_kinds([other, LINES[half]], subject)


def test_subgroups_are_measured_of_the_declared_intruder_alone():
    line = PolicyLine(measure="subgroup_reidentification", at_most=0.3)
    assert "identity" not in find_unlimited_kinds([LINES["rate"], line], Subject(kind=MASKED_TABLE))
    subject = Subject(kind=MASKED_TABLE, file_holders=("file:register",))
    assert find_unlimited_kinds([LINES["rate"], line], subject)["identity"] == ("measure: records_exposed",)


def test_who_is_left_out_is_told():
    policy = tuple(LINES[name].model_copy(update={"intruder": "declared"}) for name in ("rate", "tail"))
    with pytest.raises(InputError, match="leave out the others: declared, file:register"):
        refuse_silence(policy, NotLimited(membership="why not"), Subject(kind=MASKED_TABLE, file_holders=("file:register",)))


SAMPLINGS = (
    [{"share": 0.5}, {"share": 0.5}],
    [{"share": 0.5, "by": ("town",)}],
    [{"share": 0.3, "by": ("town",), "allocation": "equal"}, {"size": 11}],
    [{"size": 40}, {"share": 0.25, "by": ("town",)}, {"share": 0.5}],
)


@pytest.mark.parametrize("steps", SAMPLINGS, ids=range(len(SAMPLINGS)))
def test_the_largest_share_is_what_the_samples_leave(steps, table):
    """Against the rows that a run keeps: strata and repeated samples leave no more than the shares multiplied."""
    data, schema = table({"town": [i % 7 for i in range(101)]}, scales={"town": "nominal"})
    samplings = tuple(Sampling(method="sampling", **step) for step in steps)
    left = mask(data, schema, samplings, seed=bytes(32), path=("test",)).data.n
    share = compute_largest_share(samplings, data.n)
    assert share == left / data.n
    subject = Subject(kind=MASKED_TABLE, largest_share=share)
    for limit, answered in ((share, False), (share - 0.01, True)):
        line = PolicyLine(measure="reidentification", at_most=limit)
        assert ("identity" not in find_unlimited_kinds([line, LINES["tail"]], subject)) == answered


@pytest.mark.parametrize(
    ("subject", "asked"),
    [
        (TABLE, ("identity", "insiders", "inference", "membership")),
        (Subject(kind=MASKED_TABLE), ("identity", "membership")),
        (Subject(kind=MODEL, confidential=("vote",)), ("inference", "membership")),
        (Subject(kind=SYNTHETIC_TABLE), ("membership",)),
    ],
)
def test_a_kind_without_object_is_not_asked(subject, asked):
    assert list_kinds_asked(subject) == asked
    assert "earlier_releases" in KINDS


def test_silence_names_the_lines_to_add():
    with pytest.raises(InputError) as caught:
        refuse_silence((LINES["rate"], LINES["tail"]), NotLimited(insiders="nobody publishes them"), TABLE)
    assert caught.value.code == "kind-not-limited"
    assert "  - {measure: inference_excess, at_most: <limit>}" in caught.value.lines
    assert '  membership: "<reason>"' in caught.value.lines
    assert not any("insider" in line for line in caught.value.lines)
    assert str(caught.value).endswith("\n".join(f"    {line}" for line in caught.value.lines))


def test_a_reason_stands_for_a_limit():
    reasons = NotLimited(membership="too few people", inference="idle, because a line limits it")
    policy = tuple(line for name, line in LINES.items() if name != "membership")
    refuse_silence(policy, reasons, TABLE)
    assert list_kinds_not_limited(policy, reasons, TABLE) == (("membership", "too few people"),)


@pytest.mark.parametrize(
    ("reason", "begins"),
    [
        ("measure: reidentification, at most: 0.2", True),
        ("- {Measure : membership_advantage", True),
        ("measure = inference_excess", True),
        ("measure reidentification, at_most: 0.2", True),
        ("reidentification at_most: 0.2", True),
        ("at_most: 0.2, of: reidentification", True),
        ("everybody is in it", False),
        ("measured elsewhere: see the file plan", False),
        ("a limit such as `measure: inference_excess, at_most: 0.1` cannot be decided with so few people", False),
        ("at most five people use it", False),
    ],
)
def test_a_policy_line_is_no_reason(reason, begins):
    assert begins_as_policy_line(reason) == begins
    given = NotLimited(membership=reason)
    if not begins:
        refuse_limits_as_reasons(given)
        return
    with pytest.raises(InputError) as caught:
        refuse_limits_as_reasons(given)
    assert (caught.value.code, caught.value.where, caught.value.value) == ("limit-as-reason", "not_limited.membership", reason)


def test_identity_needs_a_limit_where_something_is_published():
    reasons = NotLimited(**dict.fromkeys(KINDS, "because"))
    with pytest.raises(InputError, match="belong to people"):
        refuse_silence((LINES["rate"],), reasons, TABLE)
    refuse_silence((LINES["rate"],), reasons, Subject(kind=MASKED_TABLE, not_for_publication=True))


@pytest.mark.parametrize("kind", [MODEL, SYNTHETIC_TABLE], ids=lambda kind: kind.name)
def test_of_a_model_or_a_synthetic_table_something_is_limited(kind):
    reasons = NotLimited(inference="because", membership="because")
    subject = Subject(kind=kind, confidential=("vote",))
    with pytest.raises(InputError) as caught:
        refuse_silence((LINES["rate"],), reasons, subject)
    assert caught.value.code == "nothing-limited"
    refuse_silence((LINES["membership"],), reasons, subject)


@pytest.mark.parametrize("kind", [MODEL, SYNTHETIC_TABLE], ids=lambda kind: kind.name)
def test_without_a_confidential_attribute_membership_is_limited(kind):
    """Nothing else can be: a reason alone would certify whatever the model or the table tells."""
    reasons = NotLimited(membership="because")
    with pytest.raises(InputError) as caught:
        refuse_silence((LINES["rate"],), reasons, Subject(kind=kind))
    assert caught.value.code == "nothing-limited"
    assert "  - {measure: membership_advantage, at_most: <limit>}" in caught.value.lines
    refuse_silence((LINES["membership"],), NotLimited(), Subject(kind=kind))
    refuse_silence((LINES["rate"],), reasons, Subject(kind=kind, not_for_publication=True))
    refuse_silence((LINES["rate"], LINES["tail"]), reasons, Subject(kind=MASKED_TABLE))


def test_the_word():
    assert format_verdict("certified", ()) == "certified"
    assert format_verdict("certified", ["membership", "consistency"]) == "certified except membership, consistency"
    assert format_verdict("refused", ["membership"]) == "refused"
    assert capitalise_verdict("certified except membership") == "CERTIFIED EXCEPT membership"
