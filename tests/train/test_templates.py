"""Estimators that are parameters of others: published as they were made, and not as what somebody had fitted them to."""

from __future__ import annotations

import inspect
import io

import numpy as np
import pandas as pd
import pytest
import skops.io
from model_files import members_of
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SequentialFeatureSelector
from sklearn.linear_model import LogisticRegression, RANSACRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from tasks.microdata.errors import InputError
from tasks.train.model_parts import list_model_parts
from tasks.train.skops_content import _READ
from tasks.train.skops_file import imitation, read_model, serialise_model

WHERE = "release.model.file"
CANARY, SEED, VALUE = "told in confidence", 918273645, 7654.25
rng = np.random.default_rng(6)
FRAME = pd.DataFrame(rng.normal(size=(150, 4)), columns=list("abcd"))
CLASSES = np.array(["no", "perhaps", "yes"])[np.digitize(FRAME["a"] + rng.normal(size=150), [-0.5, 0.5])]
# Another table, of people who are nobody's business here: its medians, means and thresholds are halves of VALUE.
OTHER = pd.DataFrame(np.repeat(VALUE * np.arange(1, 41)[:, np.newaxis], 4, axis=1), columns=list("abcd"))
OTHER_CLASSES = np.repeat([f"{CANARY} 1", f"{CANARY} 2"], 20)


def elsewhere(estimator):
    """The estimator, fitted to the other table, with a note on each of its parts."""
    made = estimator.fit(OTHER, OTHER_CLASSES)
    for part in list_model_parts(made):
        if hasattr(part.held, "get_params"):
            part.held.note_ = CANARY
            if hasattr(part.held, "coef_"):
                part.held.coef_ = np.full((1, 4), VALUE)
            if "random_state" in part.held.get_params(deep=False):
                part.held.random_state = SEED
    return made


def several():
    scaled = make_pipeline(StandardScaler(), make_column_transformer((RobustScaler(), [0, 1])), LogisticRegression())
    return [("tree", elsewhere(DecisionTreeClassifier())), ("scaled", elsewhere(scaled)), ("bayes", elsewhere(GaussianNB()))]


def nested():
    bags = BaggingClassifier(elsewhere(make_pipeline(MinMaxScaler(), LogisticRegression())), n_estimators=2)
    return [("bags", elsewhere(bags)), ("votes", elsewhere(VotingClassifier(several(), voting="soft")))]


def columns():
    parts = ("numbers", elsewhere(StandardScaler()), ["a", "b"]), ("none", elsewhere(RobustScaler()), [])
    return ColumnTransformer(list(parts), remainder=elsewhere(MinMaxScaler()))


def mask_of_none():
    return ColumnTransformer([("all", StandardScaler(), list("abcd")), ("none", elsewhere(RobustScaler()), np.zeros(4, bool))])


def selecting(selector):
    return make_pipeline(selector, LogisticRegression())


def linear():
    return elsewhere(LogisticRegression())


MODELS = {
    "VotingClassifier": lambda: VotingClassifier(several(), voting="soft", weights=[1, 2, 3]),
    "StackingClassifier": lambda: StackingClassifier(several(), final_estimator=linear(), cv=2),
    "BaggingClassifier": lambda: BaggingClassifier(elsewhere(DecisionTreeClassifier()), n_estimators=3),
    "BaggingClassifier of a pipeline": lambda: BaggingClassifier(several()[1][1], n_estimators=3),
    "AdaBoostClassifier": lambda: AdaBoostClassifier(elsewhere(DecisionTreeClassifier(max_depth=2)), n_estimators=3),
    "templates of templates": lambda: VotingClassifier(nested(), voting="soft"),
    "ColumnTransformer": lambda: make_pipeline(columns(), LogisticRegression()),
    "ColumnTransformer with a mask": lambda: make_pipeline(mask_of_none(), LogisticRegression()),
    "RFE": lambda: selecting(RFE(linear(), n_features_to_select=2)),
    "RFE of a forest": lambda: selecting(RFE(elsewhere(RandomForestClassifier(2)), n_features_to_select=2)),
    "RFECV": lambda: selecting(RFECV(linear(), cv=2)),
    "SelectFromModel": lambda: selecting(SelectFromModel(linear())),
    "SequentialFeatureSelector": lambda: selecting(SequentialFeatureSelector(linear(), cv=2)),
    "Pipeline": lambda: Pipeline([("votes", VotingClassifier(several(), voting="soft"))]),
    "FeatureUnion": lambda: make_pipeline(make_union(columns(), SelectFromModel(linear())), LogisticRegression()),
}


def told(content):
    """What a file tells of the other table: classes, notes, seeds, and arrays that hold halves of VALUE."""
    members = members_of(content)
    schema = members.pop("schema.json").decode()
    found = {one for one in (CANARY, str(SEED)) if one in schema}
    for data in members.values():
        held = np.load(io.BytesIO(data))
        numbers = [held[name] for name in held.dtype.names] if held.dtype.names else [held]
        halves = [one[np.isfinite(one)] * 2 / VALUE for one in numbers if one.dtype.kind == "f"]
        if any(((one > 0.5) & np.isclose(one, np.rint(one), atol=1e-6, rtol=0)).any() for one in halves):
            found.add(VALUE)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_nothing_of_a_fitted_template_is_published_and_the_model_answers_as_before(name):
    model = MODELS[name]().fit(FRAME, CLASSES)
    given = skops.io.dumps(model)
    assert {CANARY, VALUE} <= told(given)
    content = serialise_model(model)
    assert told(content) == set()
    for read in (read_model(content, WHERE), read_model(given, WHERE)):
        assert np.array_equal(read.predict_proba(FRAME), model.predict_proba(FRAME))
        assert np.array_equal(read.predict(FRAME), model.predict(FRAME)) and serialise_model(read) == content
        imitated = imitation(read, 3).fit(FRAME, CLASSES).predict_proba(FRAME)
        assert np.array_equal(imitated, imitation(model, 3).fit(FRAME, CLASSES).predict_proba(FRAME))


def test_every_class_that_has_estimators_for_parameters_is_tried():
    """A new class of scikit-learn stands here before it is read."""
    wanted = {"estimator", "estimators", "final_estimator", "steps", "transformers", "transformer_list", "remainder"}
    kinds = {
        name
        for name, kind in all_estimators()
        if f"{kind.__module__}.{name}".startswith(_READ) and wanted & set(inspect.signature(kind).parameters)
    }
    regressors = {"AdaBoostRegressor", "BaggingRegressor", "StackingRegressor", "VotingRegressor", RANSACRegressor.__name__}
    assert kinds - regressors <= MODELS.keys() and regressors <= kinds


@pytest.mark.filterwarnings("ignore")
def test_what_was_fitted_before_and_answers_stays():
    """`prefit`: the very estimators that somebody gave are the fitted parts."""
    tree, bayes = DecisionTreeClassifier(max_depth=3).fit(FRAME, CLASSES), GaussianNB().fit(FRAME, CLASSES)
    logistic = LogisticRegression().fit(FRAME, CLASSES)
    stack = StackingClassifier([("tree", tree), ("bayes", bayes)], cv="prefit").fit(FRAME, CLASSES)
    chosen = SelectFromModel(logistic, prefit=True)
    never = Pipeline([("chosen", chosen), ("last", LogisticRegression().fit(chosen.transform(FRAME.to_numpy()), CLASSES))])
    again = make_pipeline(SelectFromModel(logistic, prefit=True), LogisticRegression()).fit(FRAME, CLASSES)
    union = FeatureUnion([("chosen", chosen), ("scaled", StandardScaler().fit(FRAME))])
    joined = Pipeline([("union", union), ("last", LogisticRegression().fit(union.transform(FRAME), CLASSES))])
    for model in (stack, never, again, joined):
        read = read_model(serialise_model(model), WHERE)
        assert np.array_equal(read.predict_proba(FRAME), model.predict_proba(FRAME))
    read = read_model(serialise_model(stack), WHERE)
    assert all(not hasattr(one, "classes_") for _, one in read.estimators)
    assert all(hasattr(one, "classes_") for one in read.estimators_)


@pytest.mark.filterwarnings("ignore")
def test_another_estimator_in_place_of_the_one_that_was_fitted_before_is_not_published():
    """Of a `SelectFromModel(prefit=True)` that was fitted, what answers is a copy."""
    model = make_pipeline(SelectFromModel(LogisticRegression().fit(FRAME, CLASSES), prefit=True), LogisticRegression())
    model.fit(FRAME, CLASSES)[0].estimator = linear()
    asked = model.predict_proba(FRAME)
    assert told(skops.io.dumps(model)) and told(serialise_model(model)) == set()
    assert np.array_equal(read_model(serialise_model(model), WHERE).predict_proba(FRAME), asked)


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_the_template_of_a_forest_is_as_it_was_made(kind):
    model = kind(3, max_depth=2).fit(FRAME, CLASSES)
    model.estimator = model.estimator_ = elsewhere(type(model.estimator)())
    assert CANARY in told(skops.io.dumps(model)) and told(serialise_model(model)) == set()
    assert np.array_equal(read_model(serialise_model(model), WHERE).predict_proba(FRAME), model.predict_proba(FRAME))


def test_what_calibrates_is_not_read():
    """Its parts are compiled or hold records; should it be read some day, its `estimator` is a template like any other."""
    from sklearn.calibration import CalibratedClassifierCV

    model = CalibratedClassifierCV(linear(), cv=2).fit(FRAME, CLASSES)
    with pytest.raises(InputError, match="CalibratedClassifierCV"):
        serialise_model(model)
