"""Learners and encoding: the model that is released, and its imitations."""

from __future__ import annotations

import io
import json
import re
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from membership_models import numbers
from pydantic import TypeAdapter, ValidationError
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Scale, Schema
from tasks.train.examples import Examples, Feature, create_encoder, find_class_positions
from tasks.train.learners import Learner
from tasks.train.rare import refuse_rare_categories
from tasks.train.skops_file import serialise_model
from tasks.train.spec import ModelSpec
from tasks.train.training import create_predictor, fit_model, learn_with

LEARNERS = {
    "decision_tree": {},
    "random_forest": {"n_estimators": 5},
    "gradient_boosting": {"max_iter": 5},
    "logistic_regression": {},
    "naive_bayes": {},
    "multilayer_perceptron": {"hidden_layer_sizes": [4], "max_iter": 20},
}


def learner(method, **parameters):
    return TypeAdapter(Learner).validate_json(json.dumps({"method": method, **parameters}))


def model(**fields):
    return ModelSpec.model_validate_json(json.dumps({"learner": {"method": "decision_tree"}, "target": "class", **fields}))


@pytest.fixture(scope="module")
def people(table):
    columns = {
        "age": [30, 40, None, 60, 25, 33],
        "colour": ["red", "blue", None, "red", "green", "blue"],
        "class": ["a", "b", "a", "b", "b", "a"],
        "pay": [1.0, 2.0, 3.0, 4.0, 5.0, 5.0],
        "name": [1, 2, 3, 4, 5, 6],
    }
    scales = {"colour": Scale.NOMINAL, "class": Scale.NOMINAL}
    return table(columns, scales=scales, roles={"name": Role.IDENTIFIER})


def test_a_table_as_a_learner_takes_it(people):
    data, schema = people
    found = create_encoder(model(), schema, data).examples(data)
    assert found.labels.tolist() == [0, 1, 0, 1, 1, 0] and found.classes.tolist() == ["a", "b"]
    assert [(one.name, one.kind) for one in found.features] == [("age", "number"), ("colour", "category"), ("pay", "number")]
    assert found.frame["age"].tolist()[:2] == [30.0, 40.0]
    assert found.frame.isna().to_numpy().nonzero()[0].tolist() == [2, 2]  # age and colour of the third


def test_a_numeric_target_is_cut_at_quantiles_and_ties_stay_together(people):
    data, schema = people
    thirds = create_encoder(model(target="pay", target_quantiles=3), schema, data)
    assert thirds.examples(data).labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert thirds.classes.tolist() == ["1: at most 2.67", "2: above 2.67, at most 4.33", "3: above 4.33"]
    halves = create_encoder(model(target="pay", target_quantiles=2), schema, data)
    assert halves.examples(data).labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_cuts_are_told_to_three_digits_and_follow_the_training_table(table):
    data, schema = table({"x": np.arange(4.0), "pay": [12_345.0, 12_346.0, 98_765.0, 98_766.0]})
    assert create_encoder(model(target="pay", target_quantiles=2), schema, data).cuts.tolist() == [55_600.0]
    masked, _ = table({"x": np.arange(4.0), "pay": [10_000.0, 10_000.0, 20_000.0, 20_000.0]})
    assert create_encoder(model(target="pay", target_quantiles=2), schema, masked, data).cuts.tolist() == [15_000.0]


def test_a_class_that_masking_took_away_is_a_class_of_which_the_model_knows_nothing(table):
    data, schema = table({"x": np.arange(6.0), "class": [1, 1, 2, 2, 3, 3]}, scales={"class": Scale.CODE})
    masked, _ = table({"x": np.arange(6.0), "class": [1, 1, 2, 2, 2, 2]}, scales={"class": Scale.CODE})
    coding = create_encoder(model(), schema, masked, data)
    made = fit_model(coding.examples(masked), learner("decision_tree"), 1)
    answers = create_predictor(made, coding.classes)(coding.examples(data).frame)
    assert made.classes_.tolist() == [1, 2] and coding.classes.tolist() == [1, 2, 3]
    assert coding.examples(data).labels.tolist() == [0, 0, 1, 1, 2, 2] and (answers[:, 2] == 0).all()


def test_what_a_shadow_learns_has_only_classes_that_are_known(table):
    data, schema = table({"x": np.arange(4.0), "class": [1, 1, 2, 2]}, scales={"class": Scale.CODE})
    other, _ = table({"x": np.arange(4.0), "class": [1, 7, 2, 2]}, scales={"class": Scale.CODE})
    train, rows = create_encoder(model(), schema, data).get_labelled_examples(other)
    assert rows.tolist() == [0, 2, 3] and train.labels.tolist() == [0, 1, 1]


def test_ordered_texts_are_places_in_the_order_that_the_training_table_shows(table):
    order = ("low", "middle", "high", "top")
    levels = [*["low", "high", "middle", "high"] * 10, *["top"] * 9]  # which fewer than ten records show
    data, schema = table({"level": levels, "class": [i % 2 for i in range(49)]}, scales={"class": Scale.CODE})
    schema = Schema((replace(schema["level"], scale=Scale.ORDINAL, order=order), schema["class"]))
    coding = create_encoder(model(), schema, data)
    assert coding.features == (Feature("level", "order", ("low", "middle", "high")),)
    made = fit_model(coding.examples(data), learner("decision_tree", max_depth=1), 1)
    asked = coding.examples(data).frame.head(4).assign(level=["top", "low", "high", np.nan])
    assert made.predict(asked)[1:3].tolist() == [0, 1]
    assert made.predict_proba(asked)[0].tolist() == made.predict_proba(asked)[3].tolist()  # `top` is a missing one


@pytest.mark.parametrize("listed", [None, ["north", "south"], ["north", "south", "nowhere"]])
def test_a_model_fitted_elsewhere_lists_no_category_of_fewer_than_ten_records(listed):
    frame = pd.DataFrame({"place": [*["north", "south"] * 10, "Canary"], "size": np.arange(21.0)})
    encoder = OneHotEncoder(categories="auto" if listed is None else [listed], handle_unknown="ignore")
    for columns in (
        ColumnTransformer([("places", encoder, ["place"]), ("sizes", "passthrough", ["size"])]),
        ColumnTransformer([("places", make_pipeline(SimpleImputer(strategy="most_frequent"), encoder), ["place"])]),
    ):
        made = make_pipeline(columns, LogisticRegression()).fit(frame, np.arange(21) % 2)
        if listed is None:
            with pytest.raises(InputError, match="list 1 category that fewer than 10 training records hold"):
                refuse_rare_categories(made, frame)
        else:
            refuse_rare_categories(made, frame)


@pytest.mark.parametrize(("missing", "refused"), [(0, False), (1, True), (9, True), (10, False)])
@pytest.mark.parametrize("held", ["category", "mark", "mark of another step"])
def test_a_model_fitted_elsewhere_does_not_tell_whose_value_alone_is_missing(missing, refused, held):
    sizes = np.where(np.arange(40) < missing, np.nan, np.arange(40) % 2)
    frame = pd.DataFrame({"size": sizes, "other": np.arange(40.0)})
    encoder = {
        "category": OneHotEncoder(handle_unknown="ignore"),
        "mark": SimpleImputer(add_indicator=True),
        "mark of another step": make_pipeline(MissingIndicator(error_on_new=False)),
    }[held]
    columns = ColumnTransformer([("others", "passthrough", ["other"]), ("sizes", encoder, ["size"])])
    made = make_pipeline(columns, LogisticRegression()).fit(frame, np.arange(40) % 2)
    if refused:
        with pytest.raises(InputError, match="list 1 category that fewer than 10 training records hold"):
            refuse_rare_categories(made, frame)
    else:
        refuse_rare_categories(made, frame)


@pytest.mark.parametrize(("few", "marked"), [(9, 0), (10, 1)])
@pytest.mark.parametrize("kind", ["number", "order", "rare level"])
def test_the_file_marks_missing_values_of_ten_records_or_more(table, few, marked, kind):
    levels = ["low", "high"] * 30
    values = {"number": [None] * few + [1.0, 2.0] * 30, "order": [None] * few + levels, "rare level": [*["top"] * few, *levels]}
    n = few + 60
    data, schema = table(
        {"size": values[kind], "plain": list(range(n)), "class": [i % 2 for i in range(n)]}, scales={"class": Scale.CODE}
    )
    if kind != "number":
        schema = Schema(
            (replace(schema["size"], scale=Scale.ORDINAL, order=("low", "high", "top")), schema["plain"], schema["class"])
        )
    examples = create_encoder(model(), schema, data).examples(data)
    made = fit_model(examples, learner("logistic_regression"), 1)
    parts = made[0].named_transformers_
    marks = [part for label, part in parts.items() if "marked" in label and part[-2].indicator_.features_.size]
    assert len(marks) == (marked if kind != "rare level" else 0)
    assert ("categories" in parts, np.isfinite(made.predict_proba(examples.frame)).all()) == (False, True)
    refuse_rare_categories(made, examples.frame)


@pytest.mark.parametrize(
    ("asked", "classes", "places"),
    [
        (["01", "02"], ["001", "01", "02"], [1, 2]),  # alike as numbers on one side alone
        (["01", "02"], ["01", "02", "1"], [0, 1]),
        ([1.0, 2.0], ["1", "2"], [0, 1]),
        ([1, 2], [1, 2, 3], [0, 1]),
        (["1.0", "2"], ["1", "2"], [0, 1]),
        ([1, 2], ["01", "001", "2"], [-1, 2]),
        (["a", "b"], ["b", "c"], [-1, 0]),
    ],
)
def test_classes_are_matched_by_one_rule_on_both_sides(asked, classes, places):
    assert find_class_positions(np.array(asked), np.array(classes)).tolist() == places


def test_a_stranger_among_the_classes_changes_no_answer():
    frame, labels = pd.DataFrame({"x": [0.0, 0, 0, 1, 1, 1]}), np.array(["01", "01", "01", "02", "02", "02"])
    made = DecisionTreeClassifier().fit(frame, labels)
    plain = create_predictor(made, np.array(["01", "02"]))(frame)
    assert (create_predictor(made, np.array(["001", "01", "02"]))(frame)[:, 1:] == plain).all() and (
        plain.sum(axis=1) == 1
    ).all()
    with pytest.raises(ValueError, match="knows a class"):
        create_predictor(made, np.array(["01", "03"]))


@pytest.mark.parametrize("kind", ["text", "code", "all rare"])
def test_the_file_names_no_category_of_fewer_than_ten_records(table, kind):
    """Else whoever holds one of them would be known to have taught the model, by looking it up."""
    own = [f"Canary {i}" if kind != "code" else 7700 + i for i in range(40)]
    shared = own[:1] * 40 if kind != "all rare" else [f"{value} too" for value in own]
    values = [*own, *shared, *([None] * 12 if kind == "text" else own[:12])]
    data, schema = table(
        {"place": values, "class": [i % 2 for i in range(92)]}, scales={"place": Scale.NOMINAL, "class": Scale.CODE}
    )
    examples = create_encoder(model(), schema, data).examples(data)
    made = fit_model(examples, learner("logistic_regression"), 1)
    (names,) = made[0].named_transformers_["categories"].categories_
    expected = {"text": ["Canary 0", np.nan], "code": [7700], "all rare": [""]}[kind]
    assert [name for name in names if name == name] == [name for name in expected if name == name]
    assert len(names) == len(expected)
    archive = zipfile.ZipFile(io.BytesIO(serialise_model(made)))
    content = b"".join(archive.read(name) for name in archive.namelist())
    assert not re.findall(rb"Canary [1-9]", content)
    assert np.isfinite(made.predict_proba(examples.frame)).all()


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"target": "clas"}, "unknown-attribute"),
        ({"target": "name"}, "unpublished-attribute"),
        ({"target": "age"}, "missing-target"),
        ({"features": ["class", "age"]}, "wrong-features"),
        ({"features": ["name"]}, "unpublished-attribute"),
        ({"target_quantiles": 2}, "no-order"),
    ],
)
def test_what_cannot_be_a_model_is_refused(people, fields, code):
    data, schema = people
    with pytest.raises(InputError) as refused:
        create_encoder(model(**fields), schema, data)
    assert refused.value.code == code
    assert refused.value.where.startswith("release.model")


def test_a_target_of_too_many_classes_is_refused(table):
    data, schema = table({"x": np.arange(300), "y": np.arange(300)})
    with pytest.raises(InputError, match="300 classes"):
        create_encoder(model(target="y"), schema, data)


@pytest.mark.parametrize(
    "wrong",
    [{"method": "pickle"}, {"method": "random_forest", "n_jobs": 4}, {"method": "decision_tree", "max_depth": 0}],
)
def test_only_listed_learners_and_parameters(wrong):
    with pytest.raises(ValidationError):
        TypeAdapter(Learner).validate_json(json.dumps(wrong))


@pytest.mark.parametrize("method", LEARNERS)
def test_every_learner_learns_from_mixed_columns_with_gaps(method):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 120) * 2  # class 1 does not occur
    numbers = labels + rng.normal(0, 0.3, 120)
    texts = np.array(["a", "b", "c"], dtype=object)[rng.integers(0, 3, 120)]
    texts[::10], numbers[5::10] = np.nan, np.nan
    features = (Feature("x", "number"), Feature("y", "category"))
    train = Examples(pd.DataFrame({"x": numbers, "y": texts}), features, labels, np.arange(3))
    made = learner(method, **LEARNERS[method])
    new = pd.concat([train.frame.head(5), pd.DataFrame({"x": [0.0], "y": ["never seen"]})])
    answers = learn_with(made)(train, 3)(new)
    assert answers.shape == (6, 3) and np.allclose(answers.sum(axis=1), 1) and (answers[:, 1] == 0).all()
    if method != "multilayer_perceptron":
        assert (answers[:5].argmax(axis=1) == labels[:5]).mean() >= 0.6
    assert np.array_equal(learn_with(made)(train, 3)(new), answers)


def test_a_training_set_of_one_class_makes_a_model_that_is_sure_of_it():
    train = numbers(np.arange(5.0)[:, np.newaxis], np.full(5, 1), 2)
    assert learn_with(learner("logistic_regression"))(train, 0)(train.frame.head(2)).tolist() == [[0, 1], [0, 1]]


def test_scaling_follows_from_the_training_set_alone():
    train = numbers(np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([0, 0, 1, 1]), 2)
    predict = learn_with(learner("logistic_regression"))(train, 0)
    one = predict(pd.DataFrame({"x0": [5.0]}))
    assert np.array_equal(predict(pd.DataFrame({"x0": [5.0, 1e6]}))[:1], one)
