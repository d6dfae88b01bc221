"""Which attributes of scikit-learn's objects a file of a model holds: parameters, and what was fitted in order to answer.

It is a list of what is kept, so that what somebody attached to a model is not published with it: of each object its parameters,
and what the code of its class says of itself (`self.coef_`), without `_TRAINING`. An estimator that is a parameter of another
is a template: clones of it were fitted, and what it was fitted to itself is none of this model. It is kept as it was made.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from tasks.microdata.imports import one_at_a_time

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
    r"|alphas_|cv_alphas_|criterion_|active_|singular_|rank_|Cs_|l1_ratios_|sigma_|X_scale_|step_\w+_|n_skips_\w+_|n_trials_"
    r"|_(standard|average)_(coef|intercept)|_(coef|intercept)_indptr|_loss_function_|y_true_\w+|class_indexing_offsets"
    r"|\w*_callbacks?_?\w*|_metadata_request|_parameter_constraints|__\w+|_columns|_transformers_feature_names_out"
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
# What is kept of a template: `clone` takes it over.
_OF_TEMPLATES = frozenset({"_sklearn_version", "_sklearn_output_config"})
# The parameters that are no templates, because what is fitted takes their place.
_FITTED_IN_PLACE = {
    "sklearn.pipeline.Pipeline": frozenset({"steps"}),
    "sklearn.pipeline.FeatureUnion": frozenset({"transformer_list"}),
}
# The attributes in which a template stands once more.
_TEMPLATE_AGAIN = {
    "sklearn.ensemble._base.BaseEnsemble": frozenset({"estimator", "estimator_"}),
    "sklearn.compose._column_transformer.ColumnTransformer": frozenset({"_remainder"}),
}
_SELECTING = "sklearn.feature_selection._from_model.SelectFromModel"
TEMPLATE = "__template__"  # marks a node of which no estimator answers


def select_needed_attributes(state: dict[str, Any], name: str, *, template: bool = False) -> dict[str, Any]:
    """Of the attributes of an object those that it needs to answer, without seeds, folders and output, and with one thread.

    state: the node of its attributes. name: of its class, one of scikit-learn's; else the state is left as it is. template: it
    is asked nothing, and keeps its parameters. Attributes that hold templates are marked by `TEMPLATE`.
    Raises ImportError, AttributeError and TypeError where there is no such class.
    """
    if not name.startswith("sklearn.") or state["__loader__"] != "DictNode":
        return state
    content, types = dict(state["content"]), state["key_types"]["content"]
    unfitted = find_templates(name)
    if name == _SELECTING and content.get("prefit", {}).get("content") == "true":
        content["estimator"] = content.get("estimator_", content["estimator"])  # it answers, or is a copy of what does
        unfitted -= {"estimator"}
    keys, needed = list(content), list_kept_template_attributes(name) if template else list_kept_attributes(name)
    kept = [i for i, key in enumerate(keys) if key in needed]
    fixed = _FIXED | next((more for start, more in _FIXED_OF.items() if name.startswith(start)), {})
    values = {keys[i]: _json(fixed[keys[i]]) if keys[i] in fixed else content[keys[i]] for i in kept}
    if "n_jobs" in values and values["n_jobs"].get("content") != "null":
        values["n_jobs"] = _json("1")
    values |= {key: {**values[key], TEMPLATE: True} for key in unfitted & values.keys()}
    return {**state, "content": values, "key_types": {**state["key_types"], "content": [types[i] for i in kept]}}


@cache
def list_kept_attributes(name: str) -> frozenset[str]:
    """The attributes that are kept of an object of this class of scikit-learn.

    What the class itself answers under a name (a property) is not read from the object, and not kept of it.
    Raises ImportError, AttributeError and TypeError where there is no such class. Cost: one reading of each module of its code.
    """
    own = _class(name)
    of_sklearn = [one for one in own.__mro__ if one.__module__.startswith("sklearn.")]
    fitted = set().union(*(_map_self_attributes(one.__module__).get(one.__qualname__, frozenset()) for one in of_sklearn))
    training = set().union(*(names for start, names in _TRAINING_OF.items() if name.startswith(start)))
    answered = {one for one in fitted if hasattr(own, one) and not callable(getattr(own, one))}
    needed = _NEEDED_OF.get(name, frozenset())
    kept = {one for one in fitted - training - answered if _TRAINING.fullmatch(one) is None}
    return _ALWAYS | _parameters(own) | needed | kept


@cache
def list_kept_template_attributes(name: str) -> frozenset[str]:
    """The attributes that are kept of an estimator of which clones are fitted: those that its constructor sets.

    Of other objects as `list_kept_attributes`.
    """
    own = _class(name)
    if not _is_estimator(own):
        return list_kept_attributes(name)
    made = (_map_self_attributes(one.__module__, "__init__").get(one.__qualname__, frozenset()) for one in own.__mro__)
    return (_parameters(own) | _OF_TEMPLATES).union(*made) & list_kept_attributes(name)


@cache
def find_templates(name: str) -> frozenset[str]:
    """The attributes of an estimator of this class that hold estimators which it does not ask; of other objects none."""
    own = _class(name)
    if not _is_estimator(own):
        return frozenset()
    again = (_TEMPLATE_AGAIN.get(f"{one.__module__}.{one.__qualname__}", frozenset()) for one in own.__mro__)
    return (_parameters(own) - _FITTED_IN_PLACE.get(name, frozenset())).union(*again)


def _class(name: str) -> type:
    module, _, kind = name.rpartition(".")
    own = getattr(importlib.import_module(module), kind)
    if not isinstance(own, type):
        raise TypeError(name)
    return own


def _parameters(own: type) -> frozenset[str]:
    return frozenset(inspect.signature(own).parameters)


def _is_estimator(own: type) -> bool:
    with one_at_a_time():
        from sklearn.base import BaseEstimator

    return issubclass(own, BaseEstimator)


@cache
def _map_self_attributes(module: str, method: str | None = None) -> dict[str, frozenset[str]]:
    """By class of a module: the attributes that its code, or one method, reads or sets of itself. Of a compiled module none."""
    try:
        tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    except (OSError, TypeError):
        return {}
    classes = {one.name: one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)}
    return {
        name: frozenset(name for code in _code(one, method) for name in _find_self_attributes(code))
        for name, one in classes.items()
    }


def _code(own: ast.ClassDef, method: str | None) -> list[ast.AST]:
    if method is None:
        return [own]
    return [one for one in own.body if isinstance(one, ast.FunctionDef) and one.name == method]


def _find_self_attributes(code: ast.AST) -> Iterator[str]:
    for one in ast.walk(code):
        match one:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                yield name
            case ast.Call(func=ast.Name(id=asked), args=[ast.Name(id="self"), ast.Constant(value=str(name)), *_]):
                if asked in _ASK:
                    yield name


def _json(value: str) -> dict[str, Any]:
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": value}
