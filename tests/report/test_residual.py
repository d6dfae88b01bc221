"""What remains in words: the insiders are named, and nothing is promised."""

from __future__ import annotations

from dataclasses import replace

from tasks.microdata.estimate import Estimate
from tasks.report.content import public_edition
from tasks.report.views import residual, table_risks
from tasks.report.views.rows import PUBLIC_CLASSES_NOTE
from tasks.report.wording.meanings import MEANINGS
from tasks.score.catalogue import LOSS
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide


def plain(sentences) -> str:
    return "\n".join(sentences).replace("\u202f", " ")


def told_by_id(sentences) -> dict:
    """The facts of each sentence that has an id."""
    return {one.id.removeprefix("residual."): one.facts for one in sentences if hasattr(one, "id")}


def test_the_insiders_are_named_with_their_figures(certified):
    told = told_by_id(residual.residual_risks(certified))
    assert told["insider"]["knows"].startswith("PID, ")
    assert told["insider"]["rate"].intruder == "insider:PID"
    assert [one.partition(" knowing ")[2] for one in told["other_insiders"]["found"]] == ["vote"]
    rate = told["declared_intruder"]["rate"]
    assert (rate.attack, rate.intruder, rate.chance_kind) == ("transparency", "declared", "uniform_guess")
    assert told["declared_intruder"]["unit"] == "respondent"
    shown = plain(residual.residual_risks(certified))
    assert all(figure in shown for figure in ("44.5 %", "19.1 %", "9.5 %", "0.11 %"))
    assert len(residual.summary(certified)) == 1


def test_what_is_learned_is_not_compared_with_a_blind_guess(certified):
    learned = tuple(replace(one, chance=0.05, chance_kind="permutation") if one.chance else one for one in certified.estimates)
    told = residual.residual_risks(replace(certified, estimates=learned))
    rate = told_by_id(told)["declared_intruder"]["rate"]
    assert (rate.chance_kind, rate.chance) == ("permutation", 0.05)
    assert "5.0 %" in plain(told)
    assert "blind guessing" not in plain(told)


def test_an_attack_omitted_or_failed_is_named(refused, undecided):
    def not_run(sentences):
        return told_by_id(sentences)["not_run"]["attacks"]

    assert not_run(residual.summary(refused)) == {"transparency": "omitted: the board has seen it on an earlier draft"}
    failed = not_run(residual.residual_risks(undecided))["transparency"]
    assert failed == "failed: the intersections are empty: the parameters are not those of the mask"
    attacks = tuple(replace(one, reason="it broke off. " + "more " * 99) for one in undecided.attacks)
    assert not_run(residual.summary(replace(undecided, attacks=attacks)))["transparency"] == "failed: it broke off"
    endless = tuple(replace(one, reason="word " * 99) for one in undecided.attacks)
    assert len(residual.summary(replace(undecided, attacks=endless))[-1]) < 250


def test_a_swap_is_said_to_hide_less_than_its_attacks_found(certified, refused):
    told = told_by_id(residual.residual_risks(refused))
    assert told["pairs_of_swaps"]["ran"] is False
    assert told["unmasked_keys"]["attributes"] == ["educ"]
    assert "pairs_of_swaps" not in told_by_id(residual.residual_risks(certified))


def test_a_value_is_disclosed_only_above_both_baselines(certified):
    figures = {one.id: one for one in certified.estimates}
    told = figures["linked_value_disclosed|transparency|declared|PID"]
    assert abs(table_risks.gain_over_baselines(certified, told) - (290 - 220) / 944) < 1e-12  # the control is the higher one
    vote = figures["linked_value_disclosed|transparency|declared|vote"]
    assert abs(table_risks.gain_over_baselines(certified, vote) - (600 - 550) / 944) < 1e-12  # the majority is, by classes too
    blunt = tuple(replace(one, value=0.1) if one.measure == "linked_value_disclosed" else one for one in certified.estimates)
    assert "no_value_told" in told_by_id(residual.residual_risks(replace(certified, estimates=blunt)))


def _with(content, *lines, figures=()):
    estimates = (*content.estimates, *figures)
    return replace(content, policy=lines, estimates=estimates, verdict=decide(lines, estimates))


def test_alarming_figures_without_a_limit_are_told(certified):
    figures = tuple(replace(one, value=1.0, low=1.0, high=1.0) if one.measure == "k_anonymity" else one
                    for one in certified.estimates)  # fmt: skip
    loss = PolicyLine(measure="sse_percent", at_most=15.0)
    bare = _with(replace(certified, estimates=figures), loss)
    told = residual.describe_unlimited_figures(bare)
    assert len(told) == 5
    assert told[2].id == "missing_limits.unique"
    assert [one.id for one in told[3:]] == ["missing_limits.certain"] * 2
    assert told[3].facts["attack"] == "distance_linkage"
    assert "100 %" in plain(told[3:])
    assert residual.summary(bare) == ()
    declared, insider = (PolicyLine(measure="reidentification", at_most=0.5, intruder=who) for who in ("declared", "insider"))
    limits = (PolicyLine(measure="k_anonymity", at_least=2), PolicyLine(measure="max_record_risk", at_most=0.9),
              PolicyLine(measure="max_record_risk", at_most=0.9, intruder="insider"))  # fmt: skip
    assert residual.describe_unlimited_figures(_with(bare, declared, insider, *limits)) == ()
    whose = [(measure, who) for measure in ("max_record_risk", "reidentification") for who in ("declared", "insider")]
    empty = [PolicyLine(measure=measure, at_most=1.0, intruder=who) for measure, who in whose]
    empty.append(PolicyLine(measure="k_anonymity", at_least=1))
    assert (
        residual.describe_unlimited_figures(_with(bare, loss, *empty)) == told
    )  # a limit that cannot be broken limits nothing
    vote = PolicyLine(measure="reidentification", at_most=0.5, intruder="insider:vote")
    assert residual.describe_unlimited_figures(_with(bare, declared, vote, *limits))[0].facts["rate"].intruder == "insider:PID"


def test_only_an_accepted_attack_leaves_the_others_free(certified):
    fields = {"measure": "reidentification", "at_most": 0.5, "attack": "distance_linkage"}
    assert len(residual.summary(_with(certified, PolicyLine(**fields)))) == 1
    assert residual.summary(_with(certified, PolicyLine(**fields, accept_other_attacks="the mask is secret"))) == ()


def test_what_an_insider_can_assert_is_told(certified):
    def known(value, intruder):
        return Estimate(measure="known_reidentification", value=value, unit="share", attack="transparency", intruder=intruder)

    nothing = residual.residual_risks(_with(certified, *certified.policy, figures=[known(0.0, "declared")]))
    assert "asserted_links" not in told_by_id(nothing)
    figures = [known(0.0, "declared"), known(0.195, "insider:PID"), known(0.1, "insider:vote")]
    told = residual.residual_risks(_with(certified, *certified.policy, figures=figures))
    (asserted,) = [one.facts for one in told if getattr(one, "id", "") == "residual.asserted_links"]
    assert (asserted["rate"].value, asserted["rate"].intruder, asserted["by_owner"]) == (0.195, "insider:PID", False)
    assert asserted["no_line"]
    assert "19.5 %" in plain(told)


def test_of_tied_attacks_the_deciding_one_is_named_else_the_first_of_the_plan(certified):
    risk = [replace(one, value=0.5, low=0.5, high=0.5) for one in certified.figures("max_record_risk", declared=True)]
    tied = replace(certified, estimates=tuple(risk[::-1]))
    assert tied.worst("max_record_risk").attack == "distance_linkage"
    decided = _with(tied, PolicyLine(measure="max_record_risk", at_most=0.5))
    (criterion,) = decided.verdict.criteria
    assert decided.worst("max_record_risk").attack == criterion.attack == "transparency"


def test_a_public_sentence_does_not_assert_what_may_be_nobody(internal):
    few = Estimate(measure="known_reidentification", value=1 / 944, unit="share", attack="transparency", intruder="declared",
                   n_targets=944, n_in_release=944)  # fmt: skip
    exact = _with(internal, *internal.policy, figures=[few])
    assert "0.11" in told_by_id(residual.residual_risks(exact))["asserted_links"]["share_told"]
    nobody = _with(internal, *internal.policy, figures=[replace(few, value=0.0)])
    for one in (public_edition(exact), public_edition(nobody)):
        assert told_by_id(residual.residual_risks(one))["asserted_links"]["share_told"] == "fewer than 15, perhaps none,"
        assert told_by_id(residual.list_known_limits(one))["rounded"]["classes"] == PUBLIC_CLASSES_NOTE


def test_without_a_figure_the_risk_is_not_assessed(certified):
    assert list(told_by_id(residual.residual_risks(replace(certified, estimates=())))) == ["nothing_found"]


def test_fitness_tells_each_loss_of_the_table(certified):
    told = plain(residual.fitness(certified))
    measured = {one.measure for one in certified.estimates if one.attribute is None}
    assert all(MEANINGS[measure.name].title in told for measure in LOSS if measure.name in measured)
    assert "TVnews, selfLR, ClinLR, DoleLR, PID and vote" in told
    assert "Not assessed" in told


def test_known_limits(certified):
    told = residual.list_known_limits(certified)
    wanted = {
        "not_in_law_but",
        "no_membership",
        "knowledge",
        "rows_of_a_table",
        "random_order",
        "earlier_releases",
        "secret_seed",
    }
    assert wanted <= set(told_by_id(told))
    counted = replace(certified, persons=900, context=certified.context.model_copy(update={"prior_releases": ()}))
    limits = told_by_id(residual.list_known_limits(counted))
    assert limits["persons"] == {"rows": 944, "persons": 900, "counted": False}
    assert "no_earlier_release" in limits
    before = replace(certified, context=certified.context.model_copy(update={"prior_releases": ("1995",)}))
    assert told_by_id(residual.list_known_limits(before))["earlier_releases"]["names"] == ("1995",)
    stranger = replace(certified, intruder=certified.intruder.model_copy(update={"participation_known": False}))
    assert told_by_id(residual.list_known_limits(stranger))["knowledge"]["participation_known"] is False


def test_what_follows_from_several_releases_is_told_only_where_there_are_some(certified):
    line = PolicyLine(measure="values_reconstructed", at_most=0.9)

    def told(*figures):
        return told_by_id(residual.residual_risks(_with(certified, line, figures=figures))).get("values_reconstructed")

    def figure(value, chance=0.0, **more):
        return Estimate(measure="values_reconstructed", value=value, low=value, high=value, unit="share", chance=chance,
                        n_targets=944, **more)  # fmt: skip

    assert told() is None
    assert told(figure(0.0, chance=None)) is None  # what a line asks for where no earlier release counts
    assert told(figure(0.5), figure(0.1, attribute="age"), figure(0.4, attribute="popul"))["worst"].attribute == "popul"
    assert told(figure(0.0))["worst"] is None
