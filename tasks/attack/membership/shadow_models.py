"""Shokri's attack: a classifier learns from shadow models how a model answers about those who taught it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from tasks.attack.membership.answers import Answers, compute_log_losses, correct, take_true_class
from tasks.attack.membership.scored import MembershipScores
from tasks.attack.membership.shadows import Shadows
from tasks.microdata.imports import one_at_a_time
from tasks.microdata.spec import Public, Slug, Spec
from tasks.microdata.table import Floats, Integers
from tasks.train.learners import RANDOM_STATES

LARGEST_POSTERIORS = 3
TREES = 100
LEAF_SIZE = 10


class ShadowModels(Spec):
    """Parameters of the attack by shadow models.

    id: what the attack is called in figures and policy lines; default: the method's name.
    shadows: how many, an even number; each learns from half of the intruder's own records.
    """

    method: Public[Literal["shadow_models"]]
    id: Public[Slug | None] = None
    shadows: Public[Annotated[int, Field(ge=2, le=1024, multiple_of=2)]] = 8


def score_by_shadow_models(answers: Answers, shadows: Shadows, *, rng: np.random.Generator) -> MembershipScores:
    """Score each target by the share of trees that take the model's answer about it for one about a member.

    Meaning: for each class a random forest learns to tell the answers of shadow models about the records that taught them from
    those about the others; then it is shown the released model's answers about the targets of that class. It sees the three
    largest posteriors, the posterior of the true class, the log loss, and whether the class is right. Half is the threshold.
    In words: P(taught | answer), by class.

    shadows: the answers about the intruder's own records, of models that saw no target. A class without records that taught
    and records that did not is judged by the forest of all classes.

    Returns scores in [0, 1]. Chance 1/2 for AUC. Cost: a forest of 100 trees on k times the own records.
    Source: Shokri et al. (2017); Torra (2024), mia(C_tr, A). Done otherwise than there: leaves of at least 10 answers, so that
    the score is a share; the shadows learn from real records, not synthetic ones.
    Example: a constant model: every member of a class has the same score.
    """
    features = _features(shadows.outputs, shadows.labels).reshape(shadows.taught.size, -1)
    taught, labels = shadows.taught.ravel(), np.tile(shadows.labels, shadows.n)
    seen = _features(answers.probabilities, answers.labels)
    scores = np.empty(len(seen))
    for label in np.unique(answers.labels):
        own, mine = labels == label, answers.labels == label
        if len(np.unique(taught[own])) < 2:
            own = np.ones_like(own)
        forest = _forest(int(rng.integers(RANDOM_STATES))).fit(features[own], taught[own])
        scores[mine] = forest.predict_proba(seen[mine])[:, 1]
    return MembershipScores(scores, 0.5, "shadow_models")


def _features(probabilities: Floats, labels: Integers) -> Floats:
    largest = -np.sort(-probabilities, axis=-1)[..., :LARGEST_POSTERIORS]
    others = (take_true_class(probabilities, labels), compute_log_losses(probabilities, labels), correct(probabilities, labels))
    return np.concatenate([largest, *(one[..., np.newaxis] for one in others)], axis=-1)


def _forest(random_state: int) -> Any:
    with one_at_a_time():
        from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(
        TREES, min_samples_leaf=LEAF_SIZE, class_weight="balanced", random_state=random_state, n_jobs=1
    )
