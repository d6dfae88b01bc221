"""A confidential attribute as a learner takes it, and what a learner that was taught answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tasks.attack.inference.inference_learners import NEIGHBOURS, LearnerName, compute_chances, create_learner
from tasks.microdata.imports import one_at_a_time
from tasks.microdata.schema import MEASURED, Attribute
from tasks.microdata.table import Booleans, Floats, Integers, Microdata, encode_jointly

FEW_VALUES = 30  # a number with at most so many values among the lessons is inferred as one of these
MOST_VALUES = 100  # the most frequent ones of an attribute are guessed, and no others
FEWEST_OF_CELL = 20  # lessons in a cell of numbers that is guessed
SLACK = 1e-9  # of a tolerance: a guess that is exactly so far away is right


Form = Literal["value", "cell", "number"]


@dataclass(frozen=True, slots=True)
class Secret:
    """A confidential attribute: what the lessons say, and what is true of people.

    form: what is guessed: one of few values; a cell, as wide as a right guess may be off on both sides together; any number.
    lessons: shape (m,), numbers or places in `values`, NaN where the lesson teaches nothing. truth: shape (n,), numbers, or
    codes of categories, NaN where nobody knows the value. tolerance: how far a guess may be away; 0: equal. values: what is
    guessed, ascending, where that is no number of any size.
    """

    form: Form
    lessons: Floats
    truth: Floats
    tolerance: float
    values: Floats | None

    def judge(self, guesses: Floats, people: Integers) -> Floats:
        """Shape of `guesses`, one for each of some people: 1 where it is right, 0 where wrong, NaN where nobody knows."""
        truth = self.truth[people]
        return np.where(np.isnan(truth), np.nan, self.is_near(guesses, truth).astype(np.float64))

    def is_near(self, guesses: Floats, others: Floats) -> Booleans:
        """Is each guess as near to another number as a right one is to the truth?"""
        near: Booleans = np.abs(guesses - others) <= self.tolerance * (1 + SLACK)
        return near


def encode_secret(rows: Microdata, people: Microdata, tolerance: float | None, attribute: Attribute) -> tuple[Floats, Floats]:
    """Shapes (m,) and (n,): the attribute of the rows that teach and of the people, NaN where it is missing.

    Numbers; of a category (tolerance None) codes that both tables share.
    """
    if tolerance is not None:
        return rows.positions(attribute), people.positions(attribute)
    codes = encode_jointly(rows.column(attribute.name), people.column(attribute.name))
    shown, truth = (np.where(code < 0, np.nan, code.astype(np.float64)) for code in codes)
    return shown, truth


def create_secrets(lessons: Floats, truth: Floats, tolerance: float | None) -> tuple[Secret, ...]:
    """The attribute of the rows that teach and of the people (see `encode_secret`), in each form in which it can be guessed.

    A number is guessed as a number, and as the cell that is likeliest: where many people have one value (nothing, say), that is
    right more often than a mean. tolerance: how far a guess of a number may be away; None: it is a category.
    """
    if tolerance is None:
        return (_guess_places("value", lessons, truth, 0.0, 1),)
    if len(np.unique(lessons[~np.isnan(lessons)])) <= FEW_VALUES:
        return (_guess_places("value", lessons, truth, tolerance, 1),)
    middles = (np.floor(lessons / (2 * tolerance)) + 0.5) * 2 * tolerance if tolerance > 0 else lessons
    cells = _guess_places("cell", middles, truth, tolerance, FEWEST_OF_CELL)
    number = Secret("number", lessons, truth, tolerance, None)
    return (number, cells) if cells.values is not None and len(cells.values) else (number,)


def _guess_places(form: Form, lessons: Floats, truth: Floats, tolerance: float, fewest: int) -> Secret:
    """One of the most frequent values of the lessons is guessed; lessons with another one teach nothing."""
    values, counts = np.unique(lessons[~np.isnan(lessons)], return_counts=True)
    common = np.argsort(-counts, kind="stable")[: min(MOST_VALUES, int((counts >= fewest).sum()))]
    values = np.sort(values[common])
    places = np.searchsorted(values, lessons).astype(np.float64)
    return Secret(form, np.where(np.isin(lessons, values), places, np.nan), truth, tolerance, values)


def measure_tolerance(members: Microdata, attribute: Attribute, p_percent: float) -> float | None:
    """How far a guess of a number may be away: p percent of the standard deviation (n - 1); None: it is a category."""
    if attribute.scale not in MEASURED or members.column(attribute.name).type == pa.string():
        return None
    present = members.positions(attribute)
    present = present[~np.isnan(present)]
    return p_percent / 100 * float(np.std(present, ddof=1)) if len(present) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class Taught:
    """A learner that was taught. model: None: all lessons say the same, `constant`. near: of numbers, the lessons by input."""

    model: Any
    constant: float
    lessons: Floats
    near: Any
    secret: Secret

    def answer(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Shapes (n,): the guess of each person's value, and how sure the intruder is of it, 0 to 1."""
        return self.settle(self.tell(inputs), inputs)

    def tell(self, inputs: Floats) -> Floats:
        """Shape (n, values): how likely the learner takes each value for; rows add up to 1. Of numbers, (n,): its guesses."""
        values = self.secret.values
        if values is None:
            return np.asarray(self.model.predict(inputs), dtype=np.float64)
        chances = np.zeros((len(inputs), len(values)))
        if self.model is None:
            chances[:, int(self.constant)] = 1.0
        else:
            chances[:, self.model.classes_.astype(np.int64)] = compute_chances(self.model, inputs)
        return chances

    def settle(self, told: Floats, inputs: Floats) -> tuple[Floats, Floats]:
        """Shapes (n,): the guess of each person's value, and how sure the intruder is of it, 0 to 1.

        Of one of few values that is the learner's own probability; of a number the share of the ten lessons nearest to the
        person whose value is as near to the guess as a right guess has to be. told: see `tell`, of this learner or of several.
        """
        values = self.secret.values
        if values is not None:
            best = told.argmax(axis=1)
            return values[best], told[np.arange(len(told)), best]
        around = self.lessons[self.near.kneighbors(inputs, return_distance=False)]
        return told, (np.abs(around - told[:, None]) <= self.secret.tolerance * (1 + SLACK)).mean(axis=1)


def teach(
    learner: LearnerName,
    secret: Secret,
    inputs: Floats,
    random_state: int,
    which: Integers | None = None,
    *,
    spreads: Floats | None = None,
) -> Taught:
    """Fit a learner to the lessons that have a value, or to some of them.

    inputs: shape (m, d), of all lessons. spreads: see `create_learner`.
    """
    usable = ~np.isnan(secret.lessons)
    if which is not None:
        usable &= np.isin(np.arange(len(usable)), which)
    lessons, shown = secret.lessons[usable], inputs[usable]
    is_number = secret.values is None
    if not is_number and len(np.unique(lessons)) == 1:
        return Taught(None, float(lessons[0]), lessons, None, secret)
    model = create_learner(learner, numbers=is_number, n=len(lessons), random_state=random_state, spreads=spreads)
    model.fit(shown, lessons)
    near = None
    if is_number:
        with one_at_a_time():
            from sklearn.neighbors import NearestNeighbors
        near = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(lessons)), n_jobs=1).fit(shown)
    return Taught(model, 0.0, lessons, near, secret)
