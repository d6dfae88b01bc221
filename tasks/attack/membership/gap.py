"""The gap attack: whom the model gets right was a member."""

from __future__ import annotations

from typing import Literal

from tasks.attack.membership.answers import Answers, correct
from tasks.attack.membership.scored import MembershipScores
from tasks.microdata.spec import Public, Slug, Spec


class Gap(Spec):
    """Parameters of the gap attack.

    id: what the attack is called in figures and policy lines; default: the method's name.
    """

    method: Public[Literal["gap"]]
    id: Public[Slug | None] = None


def score_by_gap(answers: Answers) -> MembershipScores:
    """Score each target by whether the model's likeliest class is its true one; t equally likely ones share.

    Meaning: the baseline that needs the predicted class alone. Its advantage is the gap between the model's accuracy on its
    training set and elsewhere. Flagged are those whose true class alone is the likeliest.
    Source: Yeom et al. (2018). Example: a constant model: every member of a class has the same score.
    """
    return MembershipScores(correct(answers.probabilities, answers.labels), 1.0, "own_rule")
