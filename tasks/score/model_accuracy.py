"""What a released model is good for: how often it is right about people who did not teach it."""

from __future__ import annotations

import numpy as np

from tasks.attack.membership.answers import Answers, correct
from tasks.attack.membership.frame import Frame
from tasks.microdata.estimate import Estimate
from tasks.score.measures.model import MODEL_ACCURACY
from tasks.score.membership.intervals import share_interval
from tasks.score.membership.membership_figures import REHEARSED


def model_accuracy(answers: Answers, frame: Frame) -> Estimate:
    """How often the model is right about the targets that are no members; a person counts by the mean of their rows.

    answers: about the frame's `target_rows`. The bounds are Clopper and Pearson's. Chance is looked up among the same.
    Example: 6 of 10 right, 5 of them of one class: 0.6, chance 0.5.
    """
    right = frame.average_by_unit(correct(answers.probabilities, answers.labels))[~frame.is_member]
    others = (~frame.member)[frame.units.of_row[frame.target_rows]]
    weight = 1 / np.bincount(frame.units.of_row, minlength=frame.units.n_units)[frame.units.of_row[frame.target_rows]]
    of_class = np.bincount(answers.labels[others], weights=weight[others])
    n = len(right)
    within = share_interval(float(right.sum()), n)
    return Estimate(
        measure=MODEL_ACCURACY.name,
        value=float(right.mean()),
        low=within.low,
        high=within.high,
        unit=MODEL_ACCURACY.unit,
        basis="control_group",
        chance=float(of_class.max() / n),
        chance_kind="majority",
        credit_rule="shared",
        n_targets=n,
        n_in_release=0,
        reason=None if frame.evaluates == "this file" else REHEARSED,
        counts=frame.units.counts,
    )


def create_unmeasured_accuracy(reason: str, counts: str) -> Estimate:
    """The figure where nobody could be asked about."""
    return Estimate(
        measure=MODEL_ACCURACY.name,
        value=None,
        unit=MODEL_ACCURACY.unit,
        basis="control_group",
        status="not_applicable",
        reason=reason,
        counts="persons" if counts == "persons" else "records",
    )
