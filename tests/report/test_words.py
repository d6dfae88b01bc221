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
from tasks.report.views.overview import policy_rows
from tasks.report.views.rows import unit_of
from tasks.report.wording import meanings, sentences
from tasks.score.catalogue import LOSS, MEASURES
from tasks.score.policy import PolicyLine
from tasks.score.verdict import Verdict, decide


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


def test_every_measure_attack_role_and_decision_has_words():
    assert set(MEASURES) <= set(meanings.MEANINGS)
    assert all(meanings.MEANINGS[measure.name].analyst for measure in LOSS)
    assert all(meaning.sentence.endswith(".") and meaning.title for meaning in meanings.MEANINGS.values())
    assert set(sentences.ROLES) == set(Role)
    assert set(sentences.DECISIONS) == {"pass", "fail", "undecided"}


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
        assert sentences.why_unpublished(attribute).startswith("it ")
        assert role is not Role.DERIVED or "computed from y and z" in sentences.why_unpublished(attribute)
        undoes = "would undo" in sentences.why_unpublished(attribute, ("z",))
        assert undoes == (role is Role.DERIVED)
        assert "would undo" not in sentences.why_unpublished(attribute, ("other",))
    else:
        with pytest.raises(ValueError, match="is published"):
            sentences.why_unpublished(attribute)


def test_an_identifier_is_not_said_to_name_anybody():
    column = Attribute(name="turnover", role=Role.IDENTIFIER, scale=Scale.NUMERIC, decided_by="declared")
    assert sentences.why_unpublished(column) == "it is declared an identifier"
    assert sentences.why_unpublished(replace(column, decided_by="pipeline")) == "it was found to tell single units apart"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (PolicyLine(measure="reidentification", at_most=0.15),
         "Re-identification rate at most 15 %, in the worst of the attacks run"),
        (PolicyLine(measure="reidentification", at_most=0.5, intruder="insider"),
         "Re-identification rate at most 50 %, in the worst of the attacks run, for every insider"),
        (PolicyLine(measure="reidentification", at_most=0.5, intruder="insider:vote"),
         "Re-identification rate at most 50 %, in the worst of the attacks run, for the insider who also knows vote"),
        (PolicyLine(measure="records_exposed", at_most=0.1, attack="distance_linkage", accept_other_attacks="it is secret"),
         "Records exposed at most 10 %, in the distance-based linkage; other attacks are accepted: it is secret"),
        (PolicyLine(measure="rank_interval_disclosure", at_most=0.5, attribute="age", p_percent=5.0),
         "Interval disclosure of age (within 5 % of the ranks) at most 50 %"),
        (PolicyLine(measure="k_anonymity", at_least=5.0), "k-anonymity at least 5 records"),
        (PolicyLine(measure="membership_true_positive_rate", at_most=0.05, false_positive_rate=0.001),
         "Members surely noticed (wrong about 0.1 % of the others) at most 5 %, worst found among the attacks run"),
        (PolicyLine(measure="membership_true_positive_rate", at_most=0.05),
         "Members surely noticed (wrong about 1 % of the others) at most 5 %, worst found among the attacks run"),
    ],
)  # fmt: skip
def test_requirements(line, sentence):
    assert plain(sentences.requirement(line)) == sentence


def test_reasons_name_figure_bound_and_limit(certified, refused, undecided):
    kept, broken, left_open = (
        [plain(sentences.reason_in_words(line, one)) for line, one in content.lines()]
        for content in (certified, refused, undecided)
    )
    assert kept[0] == "9.5 % keeps the limit of at most 15 %."
    assert broken[0] == "40.3 % breaks the limit of at most 15 %."
    assert left_open[0] == (
        "The one-sided 95 % bound, 16.5 %, breaks the limit of at most 15 %, the other keeps it: more targets would decide."
    )
    assert left_open[1].startswith("The figure is failed: the intersections are empty")


def test_a_bound_that_fails_is_the_favourable_one(certified):
    figures = tuple(
        replace(one, low=0.3, high=0.5, basis="sampled_targets") if one.id == "reidentification|transparency|declared" else one
        for one in certified.estimates
    )
    line = PolicyLine(measure="reidentification", at_most=0.15)
    (criterion,) = decide((line,), figures).criteria
    assert "Even the more favourable one-sided 95 % bound, 30 %, breaks at most 15 %." in plain(
        sentences.reason_in_words(line, criterion)
    )
    loose = PolicyLine(measure="reidentification", at_most=0.6)
    assert plain(sentences.reason_in_words(loose, decide((loose,), figures).criteria[0])) == (
        "The one-sided 95 % bound, 50 %, keeps the limit of at most 60 %."
    )


def test_another_attack_is_blamed(certified):
    line = PolicyLine(measure="reidentification", at_most=0.09, attack="distance_linkage")
    (criterion,) = decide((line,), certified.estimates).criteria
    assert criterion.attack == "transparency"
    assert sentences.reason_in_words(line, criterion).endswith("does not say why this one should be accepted.")


def test_bounds_say_where_they_come_from(certified, undecided):
    exact = [sentences.describe_deciding_bound(one, certified.figure(one.estimate)) for one in certified.verdict.criteria]
    assert exact == [""] * 4
    sampled, none = (
        sentences.describe_deciding_bound(one, undecided.figure(one.estimate)) for one in undecided.verdict.criteria
    )
    assert plain(sampled) == "16.5 %, from a sample of 200 records"
    assert none == ""


def test_verdicts(certified, refused, undecided):
    assert sentences.verdict_in_words(certified) == "Certified: all 4 policy lines are kept."
    assert sentences.verdict_in_words(refused) == "Not certified: 3 of 4 policy lines are broken."
    assert sentences.verdict_in_words(undecided) == "Not certified: both policy lines could not be decided."
    one, *others = refused.verdict.criteria
    decisions = [replace(one, decision="fail"), *(replace(other, decision="pass") for other in others)]
    broken = replace(refused, verdict=Verdict("refused", tuple(decisions)))
    assert sentences.verdict_in_words(broken) == "Not certified: one of the 4 policy lines is broken."
    every = replace(refused, verdict=Verdict("refused", tuple(replace(other, decision="fail") for other in decisions)))
    assert sentences.verdict_in_words(every) == "Not certified: all 4 policy lines are broken."
    only = replace(refused, policy=refused.policy[:1], verdict=Verdict("refused", tuple(decisions[:1])))
    assert sentences.verdict_in_words(only) == "Not certified: its only policy line is broken."
    rehearsal = replace(certified, not_for_publication=True)
    assert sentences.verdict_in_words(rehearsal) == "Rehearsal: it would be certified, with all 4 policy lines kept."
    single = replace(certified, policy=certified.policy[:1], verdict=Verdict("certified", certified.verdict.criteria[:1]))
    assert sentences.verdict_in_words(single) == "Certified: its only policy line is kept."


def test_linkage_figures_come_with_direction_scale_and_credit(certified):
    said = sentences.linkage_settings(certified.attacks[0])
    assert said == (
        "Direction: each original record is linked to the release. Scale: both files are scaled by the release's mean and "
        "standard deviation. Credit: a tie of t records earns 1/t."
    )
    turned = replace(certified.attacks[0], direction="to_original", scale_by="own")
    assert "each released record is linked to the originals" in sentences.linkage_settings(turned)
    assert "each file is scaled by its own" in sentences.linkage_settings(turned)
    bare = replace(certified.attacks[0], direction=None, scale_by=None)
    assert sentences.linkage_settings(bare) == "Credit: a tie of t records earns 1/t."


def test_code_names_do_not_stand_in_sentences():
    said = sentences.expand_code_names("after rank_swapping; role quasi_identifier; distance_linkage; my_rank_swapping_2")
    assert said == "after rank swapping; role quasi-identifier; distance-based linkage; my_rank_swapping_2"
    assert sentences.attack_named("distance_linkage") == "distance-based linkage"
    assert sentences.attack_named("second_try") == "attack \u201csecond_try\u201d"


def test_figures_say_whose_they_are(certified):
    whose = [sentences.describe_figure_source(certified, one) for one in certified.verdict.criteria]
    keys = "popul, age, educ and income"
    assert whose[0] == f"by somebody who knows {keys} and how the masking works (transparency attack)"
    assert whose[1] == f"by somebody who knows {keys} (distance-based linkage)"
    assert whose[2:] == ["", ""]
    line = PolicyLine(measure="reidentification", at_most=0.5, intruder="insider")
    (insider,) = decide((line,), certified.estimates).criteria
    assert sentences.describe_figure_source(certified, insider) == "by an insider who also knows PID (transparency attack)"
    many = certified.intruder.model_copy(update={"knows": tuple(f"a{i}" for i in range(9))})
    assert (
        sentences.somebody(replace(certified, intruder=many), "declared", None)
        == "somebody who knows 9 attributes of a respondent"
    )


def test_rounding_twice_changes_nothing(certified):
    assert public_edition(certified) == certified


@pytest.mark.parametrize(("found", "verb"), [("12 records", "keep"), ("9.96 %", "keeps")])
def test_many_records_keep_a_limit(monkeypatch, certified, found, verb):
    monkeypatch.setattr(sentences, "format_deciding_figure", lambda *_: found)
    line, one = next((line, one) for line, one in certified.lines() if one.deciding_bound == "value")
    assert sentences.reason_in_words(line, one).startswith(f"{found} {verb} the limit of")


def test_a_bound_is_named_and_its_figure_stands_beside_it(certified):
    place, one = next((at, one) for at, (_, one) in enumerate(certified.lines()) if one.estimate is not None)
    bound = replace(one, deciding_bound="high", deciding_value=0.2)
    criteria = tuple(bound if each is one else each for each in certified.verdict.criteria)
    found = certified.figure(one.estimate)
    figure = format_with_unit(found.value, unit_of(found))
    other = replace(certified, verdict=replace(certified.verdict, criteria=criteria))
    whole, sampled = (policy_rows(content)[place] for content in (certified, other))
    assert "bound" not in whole.who
    assert sampled.who == f"one-sided 95\u202f% bound of {figure}, {whole.who}"
