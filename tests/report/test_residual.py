"""What remains in words: the insiders are named, and nothing is promised."""

from __future__ import annotations

from dataclasses import replace

from tasks.report import residual
from tasks.report.words import MEANINGS
from tasks.score.catalogue import LOSS


def plain(sentences) -> str:
    return "\n".join(sentences).replace("\u202f", " ")


def test_the_insiders_are_named_with_their_figures(certified):
    told = plain(residual.residual_risks(certified))
    assert "An insider who also knows PID, which is published unchanged, links 44.8 % of the records" in told
    assert "link 18.9 % knowing vote." in told
    assert (
        "The declared intruder links 9.96 % of the records to the right person, the worst found among the attacks run" in told
    )
    assert "blind guessing links 0.11 %" in told
    assert plain(residual.summary(certified)).count("\n") == 1


def test_an_attack_left_out_or_failed_is_named(refused, undecided):
    assert "Not assessed, because the attack was left out or failed: transparency." in plain(residual.summary(refused))
    assert "Not assessed, because the attack was left out or failed: transparency." in plain(residual.residual_risks(undecided))


def test_a_swap_is_said_to_hide_less_than_its_attacks_found(certified, refused):
    assert "consistency attack" in plain(residual.residual_risks(refused))
    assert "consistency attack" not in plain(residual.residual_risks(certified))
    assert "Quasi-identifiers that are published as they are: educ." in plain(residual.residual_risks(refused))


def test_a_value_is_disclosed_only_above_both_baselines(certified):
    figures = {one.id: one for one in certified.estimates}
    told = figures["linked_value_disclosed|transparency|declared|PID"]
    assert abs(residual.gain_over_baselines(certified, told) - (0.302 - 0.238)) < 1e-12  # the control is the higher one
    vote = figures["linked_value_disclosed|transparency|declared|vote"]
    assert abs(residual.gain_over_baselines(certified, vote) - (0.631 - 0.58)) < 1e-12  # the majority is
    blunt = tuple(replace(one, value=0.1) if one.measure == "linked_value_disclosed" else one for one in certified.estimates)
    assert "tell no confidential value better" in plain(residual.residual_risks(replace(certified, estimates=blunt)))


def test_without_a_figure_the_risk_is_not_assessed(certified):
    assert residual.residual_risks(replace(certified, estimates=())) == (
        "No attack gave a figure, so the remaining risk is not assessed.",
    )


def test_fitness_tells_each_loss_of_the_table(certified):
    told = plain(residual.fitness(certified))
    assert all(MEANINGS[measure.name].title in told for measure in LOSS if measure.name != "mean_difference")
    assert "TVnews, selfLR, ClinLR, DoleLR, PID and vote" in told
    assert "Not assessed" in told


def test_known_limits(certified):
    told = plain(residual.known_limits(certified))
    for said in (
        "not a determination of anonymity in law",
        "PCG64",
        "random order",
        "Rows are counted, not persons",
        "membership",
    ):
        assert said in told
    counted = replace(certified, persons=900, context=certified.context.model_copy(update={"prior_releases": ()}))
    assert "944 rows belong to 900 persons" in plain(residual.known_limits(counted))
    assert "There is no earlier release" in plain(residual.known_limits(counted))
    before = replace(certified, context=certified.context.model_copy(update={"prior_releases": ("1995",)}))
    assert "earlier ones (1995) is not assessed" in plain(residual.known_limits(before))
    stranger = replace(certified, intruder=certified.intruder.model_copy(update={"participation_known": False}))
    assert "does not know who is in the release" in plain(residual.known_limits(stranger))
