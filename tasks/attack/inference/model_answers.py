"""What the answers of a released model tell of confidential values: of the one it predicts, and of those it predicts from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tasks.attack.inference.model_based_disclosure import AGREES, RIGHT, SURE, average_by_unit, deal_halves
from tasks.attack.inference.secret import FEW_VALUES, SLACK
from tasks.attack.membership.answers import LEAST_PROBABILITY, correct, take_true_class
from tasks.attack.membership.frame import Frame
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Booleans, Floats, Integers, Microdata
from tasks.microdata.units import Units
from tasks.train.examples import Examples
from tasks.train.training import Predict

METHOD = "model_answers"
P_PERCENT, FEWEST_OF_SUBGROUP = 5.0, 20
FEWEST = 20  # members whose value is known
PLACES = 50  # of a number with many values, quantiles that are tried
ANSWER, WEIGHED, UNWEIGHED = "answer:value", "weighed:value", "unweighed:value"


@dataclass(frozen=True, slots=True)
class AskedPeople:
    """People who are asked about, and what the model makes of them.

    data: all records of the frame, as the model is asked about them. rows: shape (t,), the records that are asked about.
    units: of these t. is_member: shape (n_units,). others: records of the intruder, who takes the shares of values from them.
    """

    data: Examples
    rows: Integers
    units: Units
    is_member: Booleans
    others: Integers

    @property
    def member_rows(self) -> Booleans:
        """Shape (t,)."""
        return self.is_member[self.units.of_row]


def select_asked(frame: Frame, data: Examples, units: Units) -> AskedPeople:
    """The targets of a frame. units: of their records, in the order of the table."""
    rows = frame.target_rows
    is_member = np.zeros(units.n_units, dtype=bool)
    is_member[units.of_row] = frame.member[frame.units.of_row[rows]]
    return AskedPeople(data, rows, units, is_member, frame.shadow_rows)


def list_model_secrets(schema: Schema, target: str, features: tuple[str, ...]) -> tuple[str, ...]:
    """The confidential attributes that the model predicts or predicts from, in the order of the table."""
    return tuple(name for name in schema.find_by_role(Role.CONFIDENTIAL) if name == target or name in features)


def infer_target(asked: AskedPeople, predict: Predict, rng: np.random.Generator) -> Microdata:
    """How the intruder fares who takes the model's likeliest class for the person's.

    Meaning: they know what the model predicts from, and not the class. What the model knows by heart of those who taught it,
    it gets right of them more often than of others.

    Returns a row per unit with the columns of `infer_values` that have a meaning here: `sure` is the class's probability. Of
    equally likely classes each counts its share. Raises NotApplicable with fewer than 20 members.
    Cost: one answer per record. Example: a model that memorises: right of all members.
    """
    _refuse_few(int(asked.is_member.sum()))
    labels = asked.data.labels[asked.rows]
    answers = predict(asked.data.frame.iloc[asked.rows])
    blind = np.bincount(labels[asked.member_rows], minlength=answers.shape[1])
    found = {ANSWER: (correct(answers, labels), answers.max(axis=1))}
    return _tabulate(asked, found, (labels == blind.argmax()).astype(np.float64), rng)


def infer_feature(asked: AskedPeople, predict: Predict, name: str, rng: np.random.Generator) -> Microdata:
    """How the intruder fares who tries every value of one input, and takes that with which the answer fits best.

    Meaning: they know all else that the model reads, and the person's class. They put each value to the model, and weigh the
    probability that it gives the true class with the share of people who have the value (`weighed`; without: `unweighed`).
    The shares are those of records that the intruder has and nobody asks about. Of a number with more than 30 values the
    values are 50 quantiles, each as likely; a guess is right within 5 % of the members' standard deviation (n - 1).

    Returns a row per unit, as `infer_target`; missing where nobody knows the value. `sure`: the share of the chosen value in
    the weights of all. Raises NotApplicable where fewer than 20 members have a value, or the others have fewer than two.
    Cost: as many answers per record as values. Source: Fredrikson, Jha and Ristenpart (2015), with the class known.
    """
    column = asked.data.frame[name]
    truth, labels = column.iloc[asked.rows], asked.data.labels[asked.rows]
    is_known = ~truth.isna().to_numpy()
    _refuse_few(int((is_known & asked.member_rows).sum()))
    values, shares = _list_values(column.iloc[asked.others])
    fit = np.stack(list(_try_values(asked, predict, name, values, labels)), axis=1)
    tolerance = _measure_tolerance(truth[asked.member_rows])
    is_right = np.stack([_is_near(truth, value, tolerance) for value in values], axis=1)
    found = {}
    for way, weight in ((WEIGHED, shares), (UNWEIGHED, np.ones(len(values)))):
        chances = fit * weight
        chances /= chances.sum(axis=1, keepdims=True)
        best = chances.argmax(axis=1)
        right = is_right[np.arange(len(best)), best]
        found[way] = (np.where(is_known, right, np.nan), chances.max(axis=1))
    guess = is_right[asked.member_rows & is_known].mean(axis=0).argmax()
    return _tabulate(asked, found, np.where(is_known, is_right[:, guess], np.nan), rng)


def _try_values(asked: AskedPeople, predict: Predict, name: str, values: pd.Series[Any], labels: Integers) -> Iterator[Floats]:
    """For each value, shape (t,): the probability of the true class if everybody had it, at least 1e-3."""
    frame = asked.data.frame.iloc[asked.rows]
    for value in values:
        tried = frame.assign(**{name: pd.Series([value] * len(frame), index=frame.index, dtype=frame[name].dtype)})
        yield np.maximum(take_true_class(predict(tried), labels), LEAST_PROBABILITY)


def _list_values(column: pd.Series[Any]) -> tuple[pd.Series[Any], Floats]:
    """The values that are tried, and their shares."""
    counts = column.dropna().value_counts().sort_index(key=lambda index: index.astype(str))
    if len(counts) < 2:
        raise NotApplicable("the records that the intruder has show fewer than two values of it")
    if pd.api.types.is_numeric_dtype(column) and len(counts) > FEW_VALUES:
        places = np.unique(column.dropna().quantile((np.arange(PLACES) + 0.5) / PLACES, interpolation="nearest"))
        return pd.Series(places, dtype=column.dtype), np.full(len(places), 1 / len(places))
    return pd.Series(counts.index, dtype=column.dtype), counts.to_numpy(dtype=np.float64) / counts.sum()


def _measure_tolerance(members: pd.Series[Any]) -> float | None:
    """How far a guess of a number may be away; None: the values are texts."""
    return P_PERCENT / 100 * float(members.std(ddof=1)) if pd.api.types.is_numeric_dtype(members) else None


def _is_near(truth: pd.Series[Any], value: Any, tolerance: float | None) -> Floats:
    if tolerance is None:
        return np.asarray(truth == value, dtype=np.float64)
    far = np.abs(truth.to_numpy(dtype=np.float64) - float(str(value)))
    return (far <= tolerance * (1 + SLACK)).astype(np.float64)


def _tabulate(
    asked: AskedPeople, found: dict[str, tuple[Floats, Floats]], blind: Floats, rng: np.random.Generator
) -> Microdata:
    """By unit; the release has no rows that an original could teach in place of, so that those columns are missing."""
    columns = {"half": deal_halves(asked.is_member, rng)}
    for way, (right, sure) in found.items():
        columns[f"{RIGHT}{way}"] = average_by_unit(right, asked.units)
        columns[f"{SURE}{way}"] = average_by_unit(sure, asked.units)
    nothing = np.full(asked.units.n_units, np.nan)
    columns |= {"original": nothing, "left_out": nothing, AGREES: nothing, "guess": average_by_unit(blind, asked.units)}
    return Microdata.from_columns(columns)


def _refuse_few(members: int) -> None:
    if members < FEWEST:
        raise NotApplicable(f"fewer than {FEWEST} people who are asked about taught the model and have a value")
