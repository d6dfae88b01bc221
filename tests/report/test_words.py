"""The sentences: every method, measure and decision has one, and none promises too much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.numbers import format_with_unit
from tasks.microdata.schema import UNPUBLISHED, Attribute, Role, Scale
from tasks.microdata.words import join_with_and
from tasks.report.content import public_edition
from tasks.report.mask_description import describe_mask
from tasks.report.views import overview, policy_lines
from tasks.report.views.overview import create_policy_rows, create_tiles, explain_unpublished
from tasks.report.wording import meanings, names
from tasks.report.wording.attack_settings import linkage_settings
from tasks.report.wording.figure_formats import unit_of
from tasks.report.wording.intruders import somebody
from tasks.report.wording.sentence import say
from tasks.score.catalogue import LOSS, MEASURES
from tasks.score.membership.membership_figures import REHEARSED
from tasks.score.policy import PolicyLine
from tasks.score.scored_targets import ONE_SHARE
from tasks.score.verdict import decide


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


def test_every_measure_attack_role_and_decision_has_words():
    assert set(MEASURES) <= set(meanings.MEANINGS)
    assert all(meanings.MEANINGS[measure.name].analyst for measure in LOSS)
    assert all(meaning.sentence.endswith(".") and meaning.title for meaning in meanings.MEANINGS.values())
    assert set(overview.ROLES) == set(Role)
    assert set(policy_lines.DECISIONS) == {"pass", "fail", "undecided"}


def test_listed():
    assert [join_with_and(names) for names in ((), ("a",), ("a", "b"), ("a", "b", "c"))] == ["", "a", "a and b", "a, b and c"]


def test_masks(certified):
    schema = certified.schema
    joint = Microaggregation(method="microaggregation", attributes=("age", "educ"), k=10)
    assert describe_mask(joint, schema).text == (
        "In age and educ, records were put into groups of at least 10 that are alike in them taken together, and each value "
        "was replaced by its group's mean (ordinal codes: their median category). After this step at least 10 records shared "
        "each combination of these values."
    )
    apart = Microaggregation(method="microaggregation", attributes=("age", "popul"), blocks=(("age",), ("popul",)), k=3)
    assert "In each of age and popul by itself" in describe_mask(apart, schema).text
    sets = Microaggregation(
        method="microaggregation", attributes=("age", "educ", "popul"), blocks=(("age", "educ"), ("popul",)), k=3
    )
    assert "each of these sets of attributes by itself (age and educ; popul)" in describe_mask(sets, schema).text
    assert "its group's mean. After this step at least 3" in describe_mask(apart, schema).text
    alone = Microaggregation(method="microaggregation", attributes=("educ",), k=3)
    assert "alike in it, and each value was replaced by its group's median category." in describe_mask(alone, schema).text
    swap = RankSwapping(method="rank_swapping", attributes=("popul", "age"), window_percent=2.5)
    assert plain(describe_mask(swap, schema).text) == (
        "In popul and age, each attribute by itself, values were exchanged between records whose ranks differ by at most 2.5 % "
        "of the number of records. Each column keeps exactly its values; which record holds which value is blurred."
    )
    assert [plain(describe_mask(step, schema).title) for step in (joint, swap)] == [
        "Microaggregation, groups of at least 10",
        "Rank swapping, window 2.5 %",
    ]
    assert (
        describe_mask(joint, schema).attribute(schema["educ"])
        == "replaced by the median category of a group of at least 10 records"
    )
    assert plain(describe_mask(swap, schema).attribute(schema["age"])) == "exchanged within 2.5 % of the ranks"


@pytest.mark.parametrize("role", list(Role))
def test_why_a_column_is_not_published(role):
    attribute = Attribute(name="x", role=role, scale=Scale.NUMERIC, decided_by="declared", derived_from=("y", "z"))
    if role in UNPUBLISHED:
        facts = explain_unpublished(attribute, ("z",)).facts
        assert facts == {"role": role, "declared": True, "derived_from": ("y", "z"), "undoes": True}
        assert explain_unpublished(attribute, ("other",)).facts["undoes"] is False
        assert ("y and z" in explain_unpublished(attribute)) is (role is Role.DERIVED)
    else:
        with pytest.raises(ValueError, match="is published"):
            explain_unpublished(attribute)


@pytest.mark.parametrize(
    ("line", "asked_of", "shown"),
    [
        (PolicyLine(measure="reidentification", at_most=0.15), "worst attack", ["15 %"]),
        (PolicyLine(measure="reidentification", at_most=0.5, intruder="insider"), "worst attack", ["50 %", "every insider"]),
        (PolicyLine(measure="reidentification", at_most=0.5, intruder="insider:vote"), "worst attack", ["vote"]),
        (PolicyLine(measure="records_exposed", at_most=0.1, attack="distance_linkage", accept_other_attacks="it is secret"),
         "attack", ["10 %", "distance-based linkage", "it is secret"]),
        (PolicyLine(measure="rank_interval_disclosure", at_most=0.5, attribute="age", p_percent=5.0), "table",
         ["age", "5 % of the ranks", "50 %"]),
        (PolicyLine(measure="sd_interval_disclosure", at_most=0.5, attribute="age", p_percent=5.0), "table",
         ["age", "5 % of a standard deviation"]),
        (PolicyLine(measure="k_anonymity", at_least=5.0), "table", ["at least 5 records"]),
        (PolicyLine(measure="membership_true_positive_rate", at_most=0.05, false_positive_rate=0.001),
         "worst membership attack", ["0.1 %", "at most 5 %"]),
        (PolicyLine(measure="membership_true_positive_rate", at_most=0.05), "worst membership attack", ["1 %"]),
    ],
)  # fmt: skip
def test_requirements(line, asked_of, shown):
    told = policy_lines.describe_requirement(line)
    assert (told.id, told.facts["line"], told.facts["asked_of"]) == ("policy.requirement", line, asked_of)
    assert told.startswith(meanings.MEANINGS[line.measure].title)
    assert all(text in plain(told) for text in shown)


def reasons(content):
    """Found figure, limit and decision of each line, as its reason was given them."""
    told = [policy_lines.explain_decision(line, one) for line, one in content.lines()]
    return [(plain(one.facts["found"]), plain(one.facts["limit"]), one.facts["criterion"].decision) for one in told]


def test_reasons_name_figure_bound_and_limit(certified, refused, undecided):
    assert reasons(certified)[0] == ("9.5 %", "at most 15 %", "pass")
    assert reasons(refused)[0] == ("40.3 %", "at most 15 %", "fail")
    assert reasons(undecided) == [("16.5 %", "at most 15 %", "undecided"), ("no figure", "at most 5 %", "undecided")]
    shown = [plain(policy_lines.explain_decision(line, one)) for line, one in undecided.lines()]
    assert "16.5 %" in shown[0] and "at most 15 %" in shown[0]
    assert "the intersections are empty" in shown[1]


def test_a_bound_that_fails_is_the_favourable_one(certified):
    figures = tuple(
        replace(one, low=0.3, high=0.5, basis="sampled_targets") if one.id == "reidentification|transparency|declared" else one
        for one in certified.estimates
    )
    for limit, told in ((0.15, ("30 %", "at most 15 %", "fail")), (0.6, ("50 %", "at most 60 %", "pass"))):
        policy = (PolicyLine(measure="reidentification", at_most=limit),)
        assert reasons(replace(certified, policy=policy, verdict=decide(policy, figures))) == [told]


def test_another_attack_is_blamed(certified):
    for attack, blamed in (("distance_linkage", True), (None, False), ("transparency", False)):
        line = PolicyLine(measure="reidentification", at_most=0.09, attack=attack)
        (criterion,) = decide((line,), certified.estimates).criteria
        assert criterion.attack == "transparency"
        assert policy_lines.explain_decision(line, criterion).facts["other_attack"] is blamed


def test_a_reason_ends_with_what_its_figure_is_not_about(undecided):
    line, one = next(undecided.lines())
    plainly, share = (policy_lines.explain_decision(line, replace(one, caution=text)) for text in (None, ONE_SHARE))
    assert (plainly.facts["more_targets"], share.facts["more_targets"]) == (True, False)
    assert share.endswith(names.end_as_sentence(ONE_SHARE))


@pytest.mark.parametrize("caution", [REHEARSED, ONE_SHARE])
def test_a_caution_stands_once_in_a_row_of_the_policy_and_on_a_tile(certified, caution):
    figures = tuple(replace(one, reason=caution) if one.status == "ok" else one for one in certified.estimates)
    content = replace(certified, estimates=figures, verdict=decide(certified.policy, figures))
    said = names.end_as_sentence(caution)
    rows = [f"{row.reason} {row.note}" for row in create_policy_rows(content)]
    assert [row.count(said) for row in rows] == [1] * len(rows)
    assert all(tile.note.count(said) == 1 for tile in create_tiles(content))


def test_bounds_say_where_they_come_from(certified, undecided):
    def bounds(content):
        return [policy_lines.describe_deciding_bound(one, content.figure(one.estimate)) for one in content.verdict.criteria]

    assert bounds(certified) == [""] * 4
    sampled, none = bounds(undecided)
    assert sampled.facts | {"found": plain(sampled.facts["found"])} == {
        "found": "16.5 %", "lower_bound": False, "targets": 200, "counts": "records"
    }  # fmt: skip
    assert none == ""


def test_verdicts(certified, refused, undecided):
    def verdict(content):
        told = policy_lines.state_verdict(content)
        return told.id.removeprefix("policy."), *told.facts.values()

    assert verdict(certified) == ("certified", "certified", 4)
    assert verdict(refused) == ("refused", 3, 4)
    assert verdict(undecided) == ("undecided", 2, 2)
    assert verdict(replace(certified, not_for_publication=True)) == ("rehearsed", 4)


@pytest.mark.parametrize(
    ("broken", "lines", "shown"),
    [(1, 1, "its only policy line is"), (1, 4, "one of the 4 policy lines is"), (2, 2, "both policy lines are"),
     (4, 4, "all 4 policy lines are"), (3, 4, "3 of 4 policy lines are")],
)  # fmt: skip
def test_lines_are_counted_in_words(broken, lines, shown):
    assert shown in say("policy.refused", broken=broken, lines=lines)


def test_linkage_figures_come_with_direction_scale_and_credit(certified):
    given = [(one, by) for one in ("to_release", "to_original", None) for by in ("release", "original", "own", None)]
    told = [linkage_settings(replace(certified.attacks[0], direction=one, scale_by=by)) for one, by in given]
    assert [(one.facts["direction"], one.facts["scale_by"]) for one in told] == given
    assert len(set(told)) == len(given)
    assert all("1/t" in one for one in told)


def test_code_names_do_not_stand_in_sentences():
    said = names.expand_code_names("after rank_swapping; role quasi_identifier; distance_linkage; my_rank_swapping_2")
    assert said == "after rank swapping; role quasi-identifier; distance-based linkage; my_rank_swapping_2"
    assert names.attack_named("distance_linkage") == "distance-based linkage"
    assert names.attack_named("second_try") == "attack \u201csecond_try\u201d"


def test_figures_say_whose_they_are(certified):
    whose = [policy_lines.describe_figure_source(certified, one) for one in certified.verdict.criteria]
    assert [one.facts["attack"] for one in whose] == ["transparency", "distance_linkage", None, None]
    assert [one.facts["who"] and one.facts["who"].facts["uses_masking"] for one in whose] == [True, False, "", ""]
    assert whose[0].facts["who"].facts["knows"] == ("popul", "age", "educ", "income")
    assert whose[2:] == ["", ""]
    line = PolicyLine(measure="reidentification", at_most=0.5, intruder="insider")
    (insider,) = decide((line,), certified.estimates).criteria
    assert policy_lines.describe_figure_source(certified, insider).facts["who"].facts["extra"] == "PID"
    many = certified.intruder.model_copy(update={"knows": tuple(f"a{i}" for i in range(9))})
    assert "9 attributes of a respondent" in somebody(replace(certified, intruder=many), "declared", None)


def test_rounding_twice_changes_nothing(certified):
    assert public_edition(certified) == certified


@pytest.mark.parametrize(("found", "verb"), [("12 records", "meet"), ("9.96 %", "meets")])
def test_many_records_meet_a_limit(monkeypatch, certified, found, verb):
    monkeypatch.setattr(policy_lines, "format_deciding_figure", lambda *_: found)
    line, one = next((line, one) for line, one in certified.lines() if one.deciding_bound == "value")
    assert policy_lines.explain_decision(line, one).startswith(f"{found} {verb} ")


def test_a_bound_is_named_and_its_figure_stands_beside_it(certified):
    place, one = next((at, one) for at, (_, one) in enumerate(certified.lines()) if one.estimate is not None)
    bound = replace(one, deciding_bound="high", deciding_value=0.2)
    criteria = tuple(bound if each is one else each for each in certified.verdict.criteria)
    found = certified.figure(one.estimate)
    other = replace(certified, verdict=replace(certified.verdict, criteria=criteria))
    whole, sampled = (create_policy_rows(content)[place] for content in (certified, other))
    assert whole.who.id == "policy.source"
    assert (sampled.who.id, sampled.who.facts) == (
        "policy.source_of_bound",
        {"value": found.value, "unit": unit_of(found), "source": whole.who, "bound": "one-sided 95 % bound"},
    )
    assert format_with_unit(found.value, unit_of(found)) in sampled.who
