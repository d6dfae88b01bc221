"""Training: the model that is released, and what an intruder trains to imitate it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from tasks.microdata.errors import InputError, NotFollowed
from tasks.microdata.imports import one_at_a_time
from tasks.microdata.schema import Schema
from tasks.microdata.table import Floats, Microdata
from tasks.train.examples import (
    FEWEST_OF_A_CLASS,
    ExampleEncoder,
    Examples,
    Feature,
    create_encoder,
    create_encoder_for_file,
    find_class_positions,
)
from tasks.train.learners import AnyLearner, NaiveBayes, classifier
from tasks.train.skops_file import imitation, list_classes, list_feature_names
from tasks.train.spec import MODEL_LOCATION, ModelSpec

_ANSWERS = "a probability for each class, for every record"
_ROUNDING = 1e-6
Predict = Callable[[pd.DataFrame], Floats]  # records, shape (q, d) -> a probability for each class, shape (q, n_classes)
Learn = Callable[[Examples, int], Predict]  # what to learn from, and the seed of the learner's draws


def fit_model(train: Examples, learner: AnyLearner, random_state: int) -> Any:
    """A pipeline of scikit-learn, from a frame of the features to the classes, fitted to a training set.

    Numbers are standardised; a missing one is the median, and marked as missing where 10 training records or more have none.
    Categories of so many records are one column each, missing being one of them, and any other is none: the file lists them,
    and whose value (or missing one) stands there alone would be known to have taught the model. Texts of an order are their
    places in it. All of it follows from the training set alone. Medians, means and spreads have two digits, and so have the
    laws of naive Bayes: from exact ones of two models the record could be calculated in which their training sets differ.
    train: of two classes at least.
    """
    with one_at_a_time():
        from sklearn.pipeline import make_pipeline

    prepare, last = _preparation(train), classifier(learner, random_state)
    prepare.fit(train.frame)
    _round_statistics(prepare)
    classes = train.classes[train.labels]
    with _as_it_is():
        last.fit(prepare.transform(train.frame), classes)
    if isinstance(learner, NaiveBayes):
        for name in ("theta_", "var_", "class_prior_"):
            setattr(last, name, _two_digits(getattr(last, name)))
    return make_pipeline(prepare, last)


def _round_statistics(prepare: Any) -> None:
    """Give what the preparation has learned of numbers two digits: means and medians against the spread of their column."""
    for _, part, _ in prepare.transformers_:
        steps = dict(getattr(part, "steps", ()))
        scaler, imputer = steps.get("standardscaler"), steps.get("simpleimputer")
        if scaler is None or imputer is None:
            continue
        spread = _two_digits(scaler.scale_)
        n = len(imputer.statistics_)
        imputer.statistics_ = spread[:n] * np.round(imputer.statistics_ / spread[:n], 2)
        scaler.mean_ = spread * np.round(scaler.mean_ / spread, 2)
        scaler.scale_, scaler.var_ = spread, spread**2


def _two_digits(values: Floats) -> Floats:
    """Each number with two digits; 0 stays 0."""
    size = 10.0 ** (np.floor(np.log10(np.where(values == 0, 1.0, np.abs(values)))) - 1)
    return np.asarray(np.round(values / size) * size)


def learn_with(learner: AnyLearner) -> Learn:
    """How models of this learner are made; a training set of one class makes a model that is sure of it."""

    def learn(train: Examples, random_state: int) -> Predict:
        return _sure(train) or create_predictor(fit_model(train, learner, random_state), train.classes)

    return learn


def learn_like(model: Any) -> Learn:
    """How models are made that imitate a fitted one: the same steps with the same parameters, fitted to other records.

    They raise NotFollowed as `refit_model`.
    """

    def learn(train: Examples, random_state: int) -> Predict:
        return _sure(train) or create_predictor(refit_model(train, model, random_state), train.classes)

    return learn


def refit_model(train: Examples, model: Any, random_state: int) -> Any:
    """An imitation of a fitted model: the same steps, fitted to these records. NotFollowed where they cannot be."""
    try:
        with _as_it_is():
            return imitation(model, random_state).fit(train.frame, train.classes[train.labels])
    except Exception as error:  # what the steps of somebody else's pipeline raise
        raise NotFollowed("the model of the file cannot be fitted to other records of the source") from error


def refuse_silent(spec: ModelSpec, predict: Predict, frame: pd.DataFrame, whose: str) -> None:
    """InputError where a model that was fitted elsewhere cannot be asked about some records, or answers no probabilities."""
    if spec.learner is not None:
        return
    try:
        answers = predict(frame)
        fits = bool(np.isfinite(answers).all() and (answers >= 0).all() and (answers.sum(axis=1) < 1 + _ROUNDING).all())
    except Exception as error:  # what the steps of somebody else's pipeline raise
        what = f"the model cannot answer about {whose} ({type(error).__name__})"
        raise InputError(
            "silent-model", f"{MODEL_LOCATION}.file", what, _ANSWERS, "fit it to columns as the source has them"
        ) from error
    if not fits:
        what = f"what the model answers about {whose} are no probabilities"
        raise InputError(
            "silent-model", f"{MODEL_LOCATION}.file", what, _ANSWERS, "release a model whose `predict_proba` gives these"
        )


def coding_for(spec: ModelSpec, schema: Schema, model: Any, training: Microdata, people: Microdata) -> ExampleEncoder:
    """How tables become examples for a model of a training table that is asked about people.

    Raises InputError as `create_encoder` and `create_encoder_for_file`.
    """
    if spec.learner is None:
        return create_encoder_for_file(spec, schema, list_feature_names(model), list_classes(model), people)
    return create_encoder(spec, schema, training, people)


def create_predictor(model: Any, classes: np.ndarray[Any, Any]) -> Predict:
    """What a fitted model answers, by class of `classes`; a class that it does not know has probability 0.

    Raises ValueError where a class of the model is none of them.
    """
    positions = find_class_positions(np.asarray(model.classes_), classes)
    if (positions < 0).any():
        raise ValueError("the model knows a class that is not among the classes")

    def predict(frame: pd.DataFrame) -> Floats:
        every = np.zeros((len(frame), len(classes)))
        every[:, positions] = np.asarray(model.predict_proba(frame), dtype=np.float64)
        return every

    return predict


def _sure(train: Examples) -> Predict | None:
    present = np.unique(train.labels)
    if len(present) > 1:
        return None
    answer = np.zeros(train.n_classes)
    answer[present] = 1.0
    return lambda frame: np.tile(answer, (len(frame), 1))


@contextmanager
def _as_it_is() -> Iterator[None]:
    """As a model is after `max_iter` rounds, so it is released."""
    with one_at_a_time():
        from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _preparation(train: Examples) -> Any:
    with one_at_a_time():
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    def create_number_steps(marked: bool) -> tuple[Any, Any]:
        return SimpleImputer(strategy="median", add_indicator=marked, keep_empty_features=True), StandardScaler()

    parts = []
    for marked, label in ((False, ""), (True, ", missing marked")):
        held = [one for one in train.features if one.kind != "category" and _often_missing(train, one) == marked]
        numbers, ordered = ([one for one in held if one.kind == kind] for kind in ("number", "order"))
        orders = [np.array(one.order, dtype=object) for one in ordered]
        positions = OrdinalEncoder(
            categories=orders, handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
        )
        parts.append((f"numbers{label}", make_pipeline(*create_number_steps(marked)), [one.name for one in numbers]))
        parts.append((f"orders{label}", make_pipeline(positions, *create_number_steps(marked)), [one.name for one in ordered]))
    names = [one.name for one in train.features if one.kind == "category"]
    common = [_common(train.frame[name]) for name in names]
    parts.append(("categories", OneHotEncoder(categories=common, handle_unknown="ignore", sparse_output=False), names))
    return ColumnTransformer([part for part in parts if part[2]])


def _often_missing(train: Examples, feature: Feature) -> bool:
    """Whether enough records have no value that the model knows: the file says of a column that somebody's is missing."""
    column = train.frame[feature.name]
    absent = ~column.isin(feature.order) if feature.kind == "order" else column.isna()
    return bool(absent.sum() >= FEWEST_OF_A_CLASS)


def _common(column: pd.Series[Any]) -> np.ndarray[Any, Any]:
    """The categories of enough records, ascending, missing last; where there is none one that does not hang on the records."""
    counts = column.value_counts(dropna=False)
    held = counts.index[counts >= FEWEST_OF_A_CLASS]
    if pd.api.types.is_numeric_dtype(column):
        return np.sort(np.asarray(held)) if len(held) else np.zeros(1, dtype=column.dtype)
    missing = [np.nan] if held.hasnans else []
    return np.array([*sorted(held.dropna()), *missing] or [""], dtype=object)
