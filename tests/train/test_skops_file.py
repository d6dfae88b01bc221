"""The file of a model: the same bytes for the same model, with nothing in it but what it needs to answer."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from model_files import LEARNERS, fitted, members_of, people, pipeline

from tasks.microdata.errors import InputError
from tasks.train.skops_file import OWN_TYPES, imitation, list_classes, list_feature_names, read_model, serialise_model

FRAME, CLASSES = people()
WHERE = "release.model.file"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def models():
    return {method: fitted(method) for method in LEARNERS}


def refused(content):
    with pytest.raises(InputError) as caught:
        read_model(content, WHERE)
    assert caught.value.where == WHERE
    return caught.value


# ---- what is written


@pytest.mark.parametrize("method", LEARNERS)
def test_a_file_answers_as_its_model_and_is_written_alike_again(models, method):
    import skops.io

    model, content = models[method], serialise_model(models[method])
    asked = model.predict_proba(FRAME)
    loaded = skops.io.loads(content, trusted=sorted(set(skops.io.get_untrusted_types(data=content)) & set(OWN_TYPES)))
    assert np.array_equal(loaded.predict_proba(FRAME), asked) and np.array_equal(loaded.predict(FRAME), model.predict(FRAME))
    read = read_model(content, WHERE)
    assert np.array_equal(read.predict_proba(FRAME), asked) and serialise_model(read) == content
    assert serialise_model(read_model(skops.io.dumps(model), WHERE)) == content
    assert list_feature_names(read) == tuple(FRAME.columns) and list_classes(read).tolist() == ["no", "perhaps", "yes"]


@pytest.mark.long
def test_another_process_writes_the_same_bytes(models):
    """With other hash values of texts, and other leftovers in its memory."""
    environment = {**os.environ, "PYTHONHASHSEED": "7", "MALLOC_PERTURB_": "165", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, Path(__file__).with_name("model_files.py")]
    told = subprocess.run(command, env=environment, capture_output=True, check=True, cwd=ROOT).stdout
    assert json.loads(told) == {method: hashlib.sha256(serialise_model(model)).hexdigest() for method, model in models.items()}


def test_what_types_a_reader_has_to_trust(models):
    import skops.io

    beyond = {method: skops.io.get_untrusted_types(data=serialise_model(model)) for method, model in models.items()}
    trees = {"decision_tree": "sklearn.tree._tree.Tree", "random_forest": "sklearn.tree._tree.Tree"}
    trees["gradient_boosting"] = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
    assert beyond == {method: ["numpy.dtype", *([trees[method]] if method in trees else [])] for method in LEARNERS}


@pytest.mark.parametrize("method", LEARNERS)
def test_a_file_has_no_seeds_counts_or_traces_of_memory(models, method):
    members = members_of(serialise_model(models[method]))
    schema = members["schema.json"].decode()
    assert '"__id__"' not in schema and str(ROOT) not in schema
    assert all(name not in schema for name in ("_random_seed", "_optimizer", "_best_coefs", "_sample_weight", "rng"))
    for data in (data for name, data in members.items() if name != "schema.json"):
        held = np.load(io.BytesIO(data))
        if held.dtype.names:
            assert not any(
                held[name].any() for name in ("n_node_samples", "impurity", "count", "gain") if name in held.dtype.names
            )
            fields = np.zeros(held.shape, held.dtype)
            for name in held.dtype.names:
                fields[name] = held[name]
            assert data.endswith(fields.tobytes())  # the gaps between fields are zero
    read = read_model(serialise_model(models[method]), WHERE)
    assert {value for name, value in read.get_params().items() if name.endswith("random_state")} <= {None}


def test_no_time_owner_folder_or_thread_is_in_a_file(tmp_path):
    model = pipeline(forest(n_jobs=2)).set_params(memory=str(tmp_path)).fit(FRAME, CLASSES)
    content = serialise_model(model)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        kinds = {(one.date_time, one.create_system, one.external_attr, one.compress_type) for one in archive.infolist()}
        assert archive.namelist() == sorted(archive.namelist())
    assert kinds == {((1980, 1, 1, 0, 0, 0), 3, 0o600 << 16, zipfile.ZIP_DEFLATED)}
    read = read_model(content, WHERE)
    assert read.memory is None and read[-1].n_jobs == 1 and str(tmp_path).encode() not in members_of(content)["schema.json"]


def forest(**parameters):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(2, max_depth=2, **{"class_weight": "balanced", "random_state": 1, **parameters})


# ---- what is no fitted classifier


def test_what_is_no_fitted_classifier_is_told():
    import skops.io
    from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    numbers = FRAME[["pay"]]
    several = DecisionTreeClassifier(max_depth=1).fit(numbers, np.column_stack([CLASSES, CLASSES]))
    cases = [
        ({"a": 1}, "no-classifier"),
        (LinearRegression().fit(numbers, numbers["pay"]), "no-classifier"),
        (make_pipeline(StandardScaler()).fit(numbers), "no-classifier"),
        (RidgeClassifier().fit(numbers, CLASSES), "no-probabilities"),
        (LogisticRegression(), "not-fitted"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "not-fitted"),
        (DecisionTreeClassifier().fit(numbers, np.zeros(len(numbers))), "no-classifier"),
        (several, "damaged-model"),
    ]
    assert [refused(skops.io.dumps(model)).code for model, _ in cases] == [code for _, code in cases]


def test_columns_without_names_are_told():
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression().fit(FRAME[["pay"]].to_numpy(), CLASSES)
    with pytest.raises(InputError, match="without names of columns"):
        list_feature_names(model)


# ---- imitation


def test_an_imitation_has_the_same_parameters_and_nothing_learned(tmp_path):
    from sklearn.utils.validation import check_is_fitted

    model = pipeline(forest(n_jobs=2, warm_start=True, class_weight=None)).set_params(memory=str(tmp_path))
    model.fit(FRAME, CLASSES)
    made = imitation(model.set_params(randomforestclassifier__verbose=1), 11)
    before, after = (
        {name: value for name, value in one.get_params().items() if value is None or type(value) in (str, int, bool)}
        for one in (model, made)
    )
    assert dict(after.items() - before.items()) == {
        "memory": None,
        "randomforestclassifier__n_jobs": 1,
        "randomforestclassifier__random_state": 11,
        "randomforestclassifier__verbose": False,
        "randomforestclassifier__warm_start": False,
    }
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(made)
    assert model.memory == str(tmp_path) and model[-1].random_state == 1


def test_imitations_draw_by_the_seed_alone():
    model = pipeline(forest()).fit(FRAME, CLASSES)
    first, again, other = (imitation(model, seed).fit(FRAME, CLASSES).predict_proba(FRAME) for seed in (4, 4, 5))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_a_model_of_a_frame_of_texts_is_read(models):
    texts = pd.DataFrame({name: FRAME[name].astype("string") if name in ("sex", "school") else FRAME[name] for name in FRAME})
    model = pipeline(forest()).fit(texts.fillna({"sex": "f"}), CLASSES)
    assert read_model(serialise_model(model), WHERE).classes_.tolist() == model.classes_.tolist()


# ---- what somebody attached, and what scikit-learn keeps of the training records

N_TRAIN = 317
CANARY = "told in confidence"


def rows(n=N_TRAIN):
    """A frame of four numbers, a category, and three classes, of a number of records that nothing else has."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd")).assign(sex=rng.choice(["f", "m"], n))
    return frame, np.array(["no", "perhaps", "yes"])[np.digitize(frame["a"] + rng.normal(size=n), [-0.5, 0.5])]


def ensembles():
    from sklearn.decomposition import PCA
    from sklearn.ensemble import (
        BaggingClassifier,
        ExtraTreesClassifier,
        RandomForestClassifier,
        StackingClassifier,
        VotingClassifier,
    )
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, PowerTransformer, StandardScaler

    several = [("logistic", LogisticRegression()), ("bayes", GaussianNB())]
    counted = {"oob_score": True, "bootstrap": True, "random_state": 1}
    return {
        "principal components": make_pipeline(PCA(2, whiten=True, random_state=4), LogisticRegression()),
        "votes": VotingClassifier(several, voting="soft"),
        "stack": StackingClassifier(several, cv=2),
        "bags": BaggingClassifier(n_estimators=12, max_features=0.7, **counted),
        "random trees": ExtraTreesClassifier(15, max_depth=3, **counted),
        "forest": RandomForestClassifier(15, max_depth=3, class_weight="balanced", **counted),
        "scaled": make_pipeline(StandardScaler(), MinMaxScaler(), PowerTransformer(), BernoulliNB()),
        "binned": make_pipeline(KBinsDiscretizer(3, encode="ordinal"), CategoricalNB()),
    }


def encoded(last):
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    parts = (StandardScaler(), list("abcd")), (OneHotEncoder(sparse_output=False), ["sex"])
    return make_pipeline(make_column_transformer(*parts), last)


def everything(model):
    """Every attribute of every object of a model."""
    from tasks.train.model_parts import list_model_parts

    return [(part.held, name) for part in list_model_parts(model) for name in getattr(part.held, "__dict__", {})]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB", "ignore:invalid value", "ignore:Bins whose width")
@pytest.mark.parametrize("name", ensembles())
def test_a_file_answers_bit_for_bit_and_holds_no_array_of_the_training_records(name):
    frame, classes = rows()
    model = encoded(ensembles()[name]).fit(frame, classes)
    content = serialise_model(model)
    read = read_model(content, WHERE)
    assert np.array_equal(read.predict_proba(frame), model.predict_proba(frame)) and serialise_model(read) == content
    assert np.array_equal(read.predict(frame), model.predict(frame))
    members = members_of(content)
    assert f'"content":"{N_TRAIN}"' not in members.pop("schema.json").decode()
    assert members and all(N_TRAIN not in np.load(io.BytesIO(data)).shape for data in members.values())
    kept = {one for _, one in everything(read)}
    assert not kept & {"oob_score_", "oob_decision_function_", "n_samples_seen_", "n_iter_", "_seeds", "named_estimators_"}
    assert ("class_count_" in kept) == (name == "binned")  # scikit-learn asks how long it is
    assert all(getattr(held, one) is None for held, one in everything(read) if one == "random_state")


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
def test_what_somebody_attached_is_in_no_part_of_a_file():
    frame, classes = rows()
    model = encoded(ensembles()["forest"]).fit(frame, classes)
    columns, forest_ = model[0], model[-1]
    places = [model, columns, columns.named_transformers_["standardscaler"], forest_, forest_.estimators_[0], forest_.estimator]
    for i, part in enumerate(places):
        part.X_train_copy_, part.note_, part.data = frame.drop(columns="sex").to_numpy() + i, CANARY, {CANARY: classes}
        part.coef_sample_, part._fit_X, part.columns = classes, classes, [CANARY]
    content = serialise_model(model)
    schema = members_of(content).pop("schema.json").decode()
    assert all(one not in schema for one in (CANARY, "X_train_copy_", "note_", "coef_sample_", "_fit_X"))
    for part in places:
        for one in ("X_train_copy_", "note_", "data", "coef_sample_", "_fit_X", "columns"):
            delattr(part, one)
    assert content == serialise_model(model)


def test_reading_drops_what_somebody_attached(models):
    import skops.io

    model = pipeline(forest()).fit(FRAME, CLASSES)
    model.note_ = model[-1].estimators_[1].note_ = CANARY
    assert not [one for _, one in everything(read_model(skops.io.dumps(model), WHERE)) if one == "note_"]


def test_what_a_class_says_of_itself_is_kept_and_of_others_is_not():
    from tasks.train.skops_attributes import list_kept_attributes

    logistic = list_kept_attributes("sklearn.linear_model._logistic.LogisticRegression")
    assert {"C", "coef_", "intercept_", "classes_", "feature_names_in_", "_sklearn_version"} < logistic
    assert not {"shape", "data", "T", "n_iter_", "note_"} & logistic
    scaler = list_kept_attributes("sklearn.preprocessing._data.StandardScaler")
    assert {"mean_", "scale_", "_sklearn_output_config"} < scaler and not {"var_", "n_samples_seen_"} & scaler
