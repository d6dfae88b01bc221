"""What a model's answer about a record says of the record: is it right, how sure is it, how badly does it miss?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tasks.attack.membership.frame import Frame
from tasks.microdata.table import Floats, Integers, Microdata
from tasks.train.examples import Examples
from tasks.train.training import Predict

LEAST_PROBABILITY = 1e-3  # nearer to 0 or 1 than that, a probability is taken for that


@dataclass(frozen=True, slots=True)
class Answers:
    """What the released model answers about the targets: all that an attack on it sees.

    probabilities: shape (t, n_classes), in the order of the frame's `target_rows`. labels: shape (t,), their true classes.
    training_loss: the mean loss on the training set, where it was published; None: it was not.
    """

    probabilities: Floats
    labels: Integers
    training_loss: float | None = None

    def as_table(self) -> Microdata:
        """One row for each target row: its class, and the probability of each class."""
        columns = {"label": self.labels, **{f"p{c}": self.probabilities[:, c] for c in range(self.probabilities.shape[1])}}
        return Microdata.from_columns({name: pa.array(values) for name, values in columns.items()})

    @classmethod
    def create_from_table(cls, table: Microdata, training_loss: float | None) -> Answers:
        """The inverse of `as_table`."""
        probabilities = np.column_stack([table.floats(name) for name in table.names[1:]])
        return cls(probabilities, table.floats("label").astype(np.int64), training_loss)


def ask_about_targets(frame: Frame, predict: Predict, data: Examples, train: Examples | None = None) -> Answers:
    """Ask a model about the targets of a frame.

    data: all rows, as the intruder knows them. train: its training set, where the loss on that is published.
    """
    rows = frame.target_rows
    published = None if train is None else float(compute_log_losses(predict(train.frame), train.labels).mean())
    return Answers(predict(data.frame.iloc[rows]), data.labels[rows], published)


def correct(probabilities: Floats, labels: Integers) -> Floats:
    """1 where the true class is the likeliest, 1/t where it is one of t equally likely ones, else 0; shape (..., q)."""
    best = probabilities == probabilities.max(axis=-1, keepdims=True)
    return np.asarray(take_true_class(best.astype(np.float64), labels) / best.sum(axis=-1))


def compute_log_losses(probabilities: Floats, labels: Integers) -> Floats:
    """The log loss -ln p(true class), with p at least 1e-3; shape (..., q), from 0 to 6.9."""
    return -np.log(np.maximum(take_true_class(probabilities, labels), LEAST_PROBABILITY))


def confidence(probabilities: Floats, labels: Integers) -> Floats:
    """ln(p / (1 - p)) of the true class, p within 1e-3 of neither 0 nor 1; shape (..., q), from -6.9 to 6.9.

    Source: Carlini et al. (2022), section IV.C: so scaled, a model's confidence is nearly normal. The ends are ours: a forest
    answers 0 and 1 exactly.
    """
    p = np.clip(take_true_class(probabilities, labels), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return np.asarray(np.log(p) - np.log1p(-p))


def take_true_class(values: Floats, labels: Integers) -> Floats:
    """Of values by class, shape (..., q, n_classes), those of the true class; shape (..., q)."""
    return np.asarray(np.take_along_axis(values, np.broadcast_to(labels, values.shape[:-1])[..., np.newaxis], axis=-1)[..., 0])
