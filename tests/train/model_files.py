"""Models of every learner, fitted to one small table, and files of models made by hand.

As a program: the digest of each one's file.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from tasks.microdata.errors import InputError
from tasks.train.learners import Learner, classifier
from tasks.train.skops_file import read_model

WHERE = "release.model.file"
LEARNERS = {
    "decision_tree": {},
    "random_forest": {"n_estimators": 3},
    "gradient_boosting": {"max_iter": 3},
    "logistic_regression": {},
    "naive_bayes": {},
    "multilayer_perceptron": {"hidden_layer_sizes": [4], "max_iter": 5},
}


def people():
    """A frame of numbers and categories with missing values, and three classes."""
    rng = np.random.default_rng(5)
    n = 120
    frame = pd.DataFrame({"age": rng.normal(40, 10, n), "pay": rng.lognormal(size=n)})
    frame["sex"], frame["school"] = rng.choice(["f", "m"], n), rng.choice(["low", "mid", "high"], n)
    frame.loc[::17, "age"], frame.loc[::13, "sex"] = np.nan, None
    return frame, rng.choice(["no", "perhaps", "yes"], n)


def pipeline(last):
    """Numbers filled and scaled, categories as columns, an ordered text as its places; then the learner."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    encoded = make_column_transformer(
        (numbers, ["age", "pay"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["sex"]),
        (OrdinalEncoder(categories=[["low", "mid", "high"]]), ["school"]),
    )
    return make_pipeline(encoded, last)


def fitted(method):
    learner = TypeAdapter(Learner).validate_json(json.dumps({"method": method, **LEARNERS[method]}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pipeline(classifier(learner, 3)).fit(*people())


def refused(content):
    with pytest.raises(InputError) as caught:
        read_model(content, WHERE)
    assert caught.value.where == WHERE
    return caught.value


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(*members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def forged(content, change):
    """The file with its schema and members changed in place: `change(schema, members)`."""
    members = members_of(content)
    schema = json.loads(members.pop("schema.json"))
    change(schema, members)
    return zipped(("schema.json", json.dumps(schema)), *members.items())


def attributes(schema):
    return schema["content"]["content"]


def instead(name, node):
    """Another node as an attribute of the model."""

    def change(schema, members):
        attributes(schema)[name] = node

    return change


def node(loader, name, **fields):
    module, _, kind = name.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": kind, **fields}


def json_node(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value))


def array_node(file):
    return node("NdArrayNode", "numpy.ndarray", type="numpy", file=file)


def array(values, **options):
    buffer = io.BytesIO()
    np.save(buffer, values, **options)
    return buffer.getvalue()


if __name__ == "__main__":
    from tasks.train.skops_file import serialise_model

    json.dump({method: hashlib.sha256(serialise_model(fitted(method))).hexdigest() for method in LEARNERS}, sys.stdout)
