"""Learners with known laws, small tables and frames for the tests of membership attacks."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tasks.attack.membership.answers import ask_about_targets
from tasks.attack.membership.frame import create_frame
from tasks.attack.membership.methods import DEFAULT_MODEL_ATTACKS, Taught, attack_model, shadows_needed
from tasks.attack.membership.shadows import plan_shadow_pool, train_shadow_models
from tasks.microdata.units import Units
from tasks.train.examples import Examples, Feature
from tasks.train.learners import DecisionTree
from tasks.train.training import learn_with

TREE = DecisionTree(method="decision_tree")
ATTACKS = tuple(spec if spec.method == "gap" else spec.model_copy(update={"shadows": 4}) for spec in DEFAULT_MODEL_ATTACKS)


def records(n):
    return Units(np.arange(n), n, "records")


def halves(n, rng, *, target_share=0.25):
    """A frame in which a random half of n records are members."""
    member = np.zeros(n, dtype=bool)
    member[rng.permutation(n)[: n // 2]] = True
    return create_frame(records(n), member, ~member, target_share=target_share, rng=rng)


def noisy(n, rng, *, flipped=0.15, d=4, n_classes=2):
    """Records whose class follows from their first value, but for a share that is drawn anew."""
    values = rng.normal(size=(n, d))
    labels = np.searchsorted(np.quantile(values[:, 0], np.arange(1, n_classes) / n_classes), values[:, 0])
    wrong = rng.random(n) < flipped
    labels[wrong] = (labels[wrong] + rng.integers(1, n_classes, wrong.sum())) % n_classes
    return numbers(values, labels, n_classes)


def numbers(values, labels, n_classes):
    """Examples whose features are all numbers."""
    names = [f"x{j}" for j in range(values.shape[1])]
    features = tuple(Feature(name, "number") for name in names)
    return Examples(pd.DataFrame(values, columns=names), features, labels, np.arange(n_classes))


def memoriser(train, random_state):
    """Answers the label of a record that it has seen with certainty, and nothing of others."""
    known = {tuple(values): label for values, label in zip(train.frame.to_numpy(), train.labels, strict=True)}

    def predict(frame):
        answers = np.full((len(frame), train.n_classes), 1 / train.n_classes)
        for i, row in enumerate(frame.to_numpy()):
            if tuple(row) in known:
                answers[i] = np.eye(train.n_classes)[known[tuple(row)]]
        return answers

    return predict


def constant(train, random_state):
    """Answers the same about everybody, whatever it was taught."""
    return lambda frame: np.tile(np.arange(1, train.n_classes + 1) / sum(range(train.n_classes + 1)), (len(frame), 1))


def results(data, frame, rng, *, learn=None, predict=None, specs=ATTACKS, published=True):
    """The results of the attacks on a model of the frame's members, or on `predict`; shadows by the same learner."""
    learn = learn or learn_with(TREE)
    train = data.take(frame.member_rows)
    answers = ask_about_targets(frame, predict or learn(train, 1), data, train if published else None)
    taught = {
        kind: train_shadow_models(plan_shadow_pool(frame, k, kind, rng=rng), data, learn)
        for kind, k in shadows_needed(specs).items()
    }
    return {(r := attack_model(spec, answers, frame, Taught(**taught), rng=rng)).attack: r for spec in specs}
