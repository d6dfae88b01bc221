"""Which attributes of scikit-learn's objects a file of a model holds: parameters, and what was fitted in order to answer.

It is a list of what is kept, so that what somebody attached to a model is not published with it: of each object its parameters,
and what the code of its class says of itself (`self.coef_`), without `_TRAINING`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

# The version of scikit-learn, which is compared when a file is read, and what a model may be asked about.
_ALWAYS = frozenset({"_sklearn_version", "n_features_in_", "feature_names_in_"})
# What estimators keep of their training and do not need to answer: predictions and marks of single training records; numbers of
# records, by class too; the course of the training and its measures; random generators and seeds, with which a training can be
# repeated with one record more or less; a second copy of the fitted parts.
_TRAINING = re.compile(
    r"oob_\w+|\w*n_samples\w*|\w*_samples_|_max_samples|_sample_weight|outliers_|inlier_mask_|X_offset_|\w*_count_?|feature_all_"
    r"|n_iter_|n_iterations_|t_|loss_|best_loss_|loss_curve_|validation_scores?_|best_validation_score_|train_score_"
    r"|estimator_errors_|cv_results_|cv_values_|best_score_|mse_path_|coefs?_paths?_|dual_gap_|do_early_stopping_"
    r"|\w*random_state_?|\w*_rng|_?random_seed|_seeds|_optimizer|_best_\w+|_scorer|epsilon_|estimator_params|_expanded_class_weight"
    r"|explained_variance_ratio_|singular_values_|noise_variance_|covariance_|named_estimators_|data_(min|max|range)_|max_abs_"
)
# By the start of the name of the class: what other classes need under that name. `scores_` are those of a cross-validation,
# `var_` is the square of `scale_`; the label encoder of boosting knows no more than `classes_`.
_TRAINING_OF = {
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.": frozenset({"_label_encoder"}),
    "sklearn.linear_model._logistic.": frozenset({"scores_"}),
    "sklearn.linear_model._bayes.": frozenset({"scores_"}),
    "sklearn.preprocessing._data.StandardScaler": frozenset({"var_"}),
}
_NEEDED_OF = {"sklearn.naive_bayes.CategoricalNB": frozenset({"class_count_"})}  # its length is the number of classes
# What stays as an attribute and loses its value: seeds; a folder; the values that columns were cut at, which are all of their
# values where they are few.
_FIXED = {"random_state": "null", "memory": "null", "verbose": "false"}
_FIXED_OF = {"sklearn.ensemble._hist_gradient_boosting.binning.": {"bin_thresholds_": "null"}}
_ASK = ("getattr", "hasattr", "setattr")


def answering(state: dict[str, Any], name: str) -> dict[str, Any]:
    """Of the attributes of an object those that it needs to answer, without seeds, folders and output, and with one thread.

    state: the node of its attributes. name: of its class, one of scikit-learn's; else the state is left as it is.
    Raises ImportError, AttributeError and TypeError where there is no such class.
    """
    if not name.startswith("sklearn.") or state["__loader__"] != "DictNode":
        return state
    content, types = state["content"], state["key_types"]["content"]
    keys, needed = list(content), kept_by(name)
    kept = [i for i, key in enumerate(keys) if key in needed]
    fixed = _FIXED | next((more for start, more in _FIXED_OF.items() if name.startswith(start)), {})
    values = {keys[i]: _json(fixed[keys[i]]) if keys[i] in fixed else content[keys[i]] for i in kept}
    if "n_jobs" in values and values["n_jobs"].get("content") != "null":
        values["n_jobs"] = _json("1")
    return {**state, "content": values, "key_types": {**state["key_types"], "content": [types[i] for i in kept]}}


@cache
def kept_by(name: str) -> frozenset[str]:
    """The attributes that are kept of an object of this class of scikit-learn.

    Raises ImportError, AttributeError and TypeError where there is no such class. Cost: one reading of each module of its code.
    """
    module, _, kind = name.rpartition(".")
    own = getattr(importlib.import_module(module), kind)
    if not isinstance(own, type):
        raise TypeError(name)
    of_sklearn = [one for one in own.__mro__ if one.__module__.startswith("sklearn.")]
    fitted = set().union(*(_of_itself(one.__module__).get(one.__qualname__, frozenset()) for one in of_sklearn))
    training = set().union(*(names for start, names in _TRAINING_OF.items() if name.startswith(start)))
    parameters = frozenset(inspect.signature(own).parameters)
    needed = _NEEDED_OF.get(name, frozenset())
    return _ALWAYS | parameters | needed | {one for one in fitted - training if _TRAINING.fullmatch(one) is None}


@cache
def _of_itself(module: str) -> dict[str, frozenset[str]]:
    """By class of a module: the attributes that its code reads or sets of itself. Of a compiled module none."""
    try:
        tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    except (OSError, TypeError):
        return {}
    return {one.name: frozenset(_said_of_self(one)) for one in ast.walk(tree) if isinstance(one, ast.ClassDef)}


def _said_of_self(code: ast.AST) -> Iterator[str]:
    for one in ast.walk(code):
        match one:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                yield name
            case ast.Call(func=ast.Name(id=asked), args=[ast.Name(id="self"), ast.Constant(value=str(name)), *_]):
                if asked in _ASK:
                    yield name


def _json(value: str) -> dict[str, Any]:
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": value}
