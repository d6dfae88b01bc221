"""The loss threshold: whom the model misses by little was a member."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from tasks.attack.membership.answers import Answers, compute_log_losses
from tasks.attack.membership.scored import MembershipScores
from tasks.attack.membership.shadows import Shadows
from tasks.microdata.errors import NotApplicable
from tasks.microdata.spec import Public, Slug, Spec


class LossThreshold(Spec):
    """Parameters of the attack by a threshold of the loss.

    id: what the attack is called in figures and policy lines; default: the method's name.
    threshold: `training_loss`: the model's mean loss on its training set, which its maker published; `shadow_models`: that of
        shadow models on theirs.
    shadows: how many of these, an even number.
    """

    method: Public[Literal["loss_threshold"]]
    id: Public[Slug | None] = None
    threshold: Public[Literal["training_loss", "shadow_models"]] = "training_loss"
    shadows: Public[Annotated[int, Field(ge=2, le=1024, multiple_of=2)]] = 8


def score_by_loss(answers: Answers, spec: LossThreshold, shadows: Shadows | None = None) -> MembershipScores:
    """Score each target by minus the log loss of the model on it; members are those at or below the mean loss of members.

    shadows: models that saw no target; needed for `threshold: shadow_models`.

    Raises NotApplicable where the mean loss on the training set was not published.
    Source: Yeom et al. (2018), adversary 2. Example: a model that knows its training set by heart: members have loss 0.
    """
    scores = -compute_log_losses(answers.probabilities, answers.labels)
    if spec.threshold == "training_loss":
        if answers.training_loss is None:
            raise NotApplicable("the model's mean loss on its training set is not published: take it from shadow models")
        return MembershipScores(scores, -answers.training_loss, "training_loss")
    if shadows is None:
        raise ValueError("shadow models are needed")
    return MembershipScores(
        scores, -float(np.mean(compute_log_losses(shadows.outputs, shadows.labels)[shadows.taught])), "shadow_models"
    )
