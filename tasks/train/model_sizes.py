"""Whether what a fitted model keeps has the size that its features and classes give: rows can hide under a name that it needs.

Parameters are what somebody chose, and are not looked at. What was fitted is one value, a part of scikit-learn, or has a shape
of the list below, which is by the names of scikit-learn's attributes. Numbers are not looked at: as many as fit may be any.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tasks.microdata.errors import InputError
from tasks.train.model_parts import Part, list_model_parts
from tasks.train.skops_archive import refusal
from tasks.train.spec import MOST_CLASSES

# Shapes, and whose they are; of several one must fit. d: features; c: classes; r: rows of a linear model, one for two classes;
# e: estimators asked for, m: made; k, g, b: at most d, at most the categories or the bins of a feature; *: any number;
# `d of g`: a list, or the values of a dictionary, of d arrays of that shape; empty: one value.
_FORMS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("d",), "feature_names_in_ statistics_ mean_ center_ min_ xbar_ lambdas_ variances_ scores_ pvalues_ support_ ranking_"),
    (("d",), "n_categories_ n_bins_ n_bins_non_missing_ is_categorical_ drop_idx_ _drop_idx_after_grouping"),
    (("d", ""), "scale_ lambda_"),
    (("c",), "class_prior_ class_log_prior_ class_count_ priors_"),
    (("c,d",), "theta_ var_ means_"),
    (("r,d", "d"), "coef_"),
    (("r", "1", ""), "intercept_ C_ alpha_ l1_ratio_"),
    (("1",), "offset_"),
    (("1,1",), "constant_"),
    (("1,r",), "_baseline_prediction"),
    (("k",), "explained_variance_ features_"),
    (("k,d",), "components_"),
    (("m", "e"), "estimator_weights_"),
    (("m of k",), "estimators_features_"),
    (("c of d,k",), "rotations_"),
    (("d,k", "c of k"), "scalings_"),
    (("c,d", "d of c,g"), "feature_log_prob_"),
    (("d of g",), "categories_ _infrequent_indices _default_to_infrequent_mappings"),
    (("d of b",), "bin_edges_"),
    (("d of ",), "_n_features_outs"),
    (("m of ",), "_n_feature_outs stack_method_"),
    (("k of ",), "_missing_indices"),
    (("* of k of ",), "_transformer_to_input_indices"),
    (("1 of ",), "_sklearn_output_config"),
)
_SHAPES = {name: forms for forms, names in _FORMS for name in names.split()}
_PARTS = ("transformers_", "_remainder", "output_indices_", "estimators_", "_predictors")
_AT_MOST = "kgb"
_ONE = ("",)
_LONGEST_TEXT = 200  # of a class, a category, or the word for how something was solved


def check_sizes(model: Any, where: str) -> None:
    """That the fitted attributes of each part of a model have the shape that scikit-learn gives them.

    Raises InputError, which names the attribute and its part. Cost: O(number of attributes).
    Example: a logistic regression on 3 columns whose `coef_` has 1,003 rows.
    """
    most_classes = max(MOST_CLASSES, len(model.classes_))
    for part in list_model_parts(model):
        attributes = getattr(part.held, "__dict__", {})
        chosen = inspect.signature(type(part.held)).parameters if attributes else {}
        sizes = {**_sizes(part), "most": most_classes}
        for name in sorted(attributes, key=lambda name: name != "classes_"):  # by which the others are measured
            if name not in chosen and not _is_in_place(name, attributes, sizes):
                raise _misfit(part.held, name, sizes, where)


def _is_in_place(name: str, attributes: Mapping[str, Any], sizes: Mapping[str, int | None]) -> bool:
    value = attributes[name]
    if name == "classes_":
        return (shape := _shape(value)) is not None and len(shape) == 1 and shape[0] <= (sizes["most"] or 0)
    if name in ("coefs_", "intercepts_"):
        return _are_layers(attributes.get("coefs_"), attributes.get("intercepts_"), sizes)
    if name in _PARTS or type(value).__module__.startswith("sklearn."):
        return True
    return any(_fits(value, form, sizes) for form in _SHAPES.get(name, _ONE))


def _sizes(part: Part) -> dict[str, int | None]:
    """By letter. What an object does not say of itself (a part of gradient boosting) the one says that it belongs to."""
    held = part.held
    d = next(
        (found for one in (held, part.owner) if (found := _whole(_get_attribute(one, "n_features_in_"))) is not None), None
    )
    c = next(
        (len(found) for one in (held, part.owner) if isinstance(found := _get_attribute(one, "classes_"), np.ndarray)), None
    )
    categories, bins = _get_attribute(held, "categories_"), _get_attribute(held, "n_bins_")
    lengths = [len(one) for one in categories if isinstance(one, np.ndarray)] if isinstance(categories, list) else []
    numbers = _get_attribute(held, "n_categories_")
    return {
        "1": 1,
        "d": d,
        "c": c,
        "r": c if c is not None and c > 2 else 1,
        "e": _whole(_get_attribute(held, "n_estimators")),
        "m": len(_list_items(_get_attribute(held, "estimators_")) or ()),
        "k": d,
        "g": max([*lengths, *(numbers.tolist() if isinstance(numbers, np.ndarray) else [])], default=0),
        "b": 1 + max(bins.tolist() if isinstance(bins, np.ndarray) else [], default=0),
    }


def _get_attribute(held: Any, name: str) -> Any:
    """An attribute, or what a property answers; None where there is none, or where a damaged model cannot say."""
    try:
        return getattr(held, name, None)
    except Exception:
        return None


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None


def _fits(value: Any, form: str, sizes: Mapping[str, int | None]) -> bool:
    if value is None:
        return True
    number, several, each = form.partition(" of ")
    if several:
        items = _list_items(value)
        return items is not None and _agrees(len(items), number, sizes) and all(_fits(one, each, sizes) for one in items)
    letters, shape = form.split(",") if form else [], _shape(value)
    return shape is not None and len(shape) == len(letters) and all(map(_agrees, shape, letters, [sizes] * len(shape)))


def _agrees(length: int, letter: str, sizes: Mapping[str, int | None]) -> bool:
    if letter == "*":
        return True
    wanted = sizes[letter]
    return wanted is not None and (length <= wanted if letter in _AT_MOST else length == wanted)


def _list_items(value: Any) -> Sequence[Any] | None:
    if isinstance(value, np.ndarray) and value.dtype.hasobject and value.ndim == 1:
        return list(value)
    if isinstance(value, dict):
        return list(value.values()) if all(map(_is_one, value)) else None
    return value if isinstance(value, list | tuple) else None


def _shape(value: Any) -> tuple[int, ...] | None:
    """Of an array of numbers or texts, or of one of them; None of anything else."""
    if isinstance(value, np.ndarray):
        return value.shape if not value.dtype.hasobject or all(map(_is_one, value.flat)) else None
    return () if _is_one(value) else None


def _is_one(value: Any) -> bool:
    return value is None or isinstance(value, int | float | np.number | np.bool_ | np.dtype) or _is_text(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT


def _are_layers(weights: Any, shifts: Any, sizes: Mapping[str, int | None]) -> bool:
    """From the features, through layers of any width, to the classes: `coefs_` and `intercepts_` of a neural network."""
    shapes = [_shape(one) for one in _list_items(weights) or ()]
    of_shifts = [_shape(one) for one in _list_items(shifts) or ()]
    if not shapes or any(shape is None or len(shape) != 2 for shape in shapes):
        return False
    widths = [shape[1] for shape in shapes if shape is not None]
    ends = [sizes["d"], *widths[:-1]]
    return (
        [shape and shape[0] for shape in shapes] == ends
        and of_shifts == [(one,) for one in widths]
        and widths[-1] == sizes["r"]
    )


def _misfit(held: Any, name: str, sizes: Mapping[str, int | None], where: str) -> InputError:
    value = held.__dict__[name]
    texts = [f"{sizes[letter]} {what}" for letter, what in (("d", "features"), ("c", "classes")) if sizes[letter] is not None]
    shape = getattr(value, "shape", None)
    size = f"has the shape {shape}" if isinstance(shape, tuple) else f"is a {type(value).__name__}"
    what = f"`{name}` of the {type(held).__name__} {size}, which does not fit its {' and '.join(texts) or 'other attributes'}"
    return refusal("misfit-model", where, what, "write the model as it was fitted, with nothing else in its attributes")
