"""The objects that a fitted model consists of, and whether its compiled parts can be asked without leaving their arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from tasks.microdata.imports import one_at_a_time
from tasks.train.skops_archive import create_damage_error, refusal
from tasks.train.skops_content import check_predictor


@dataclass(frozen=True, slots=True)
class Part:
    """An object of a model, and the attribute of which object it was reached by (both None for the model itself)."""

    held: Any
    owner: Any = None
    attribute: str | None = None


def list_model_parts(model: Any) -> Iterator[Part]:
    """Every object of scikit-learn that a model consists of, each once, through lists, dictionaries and arrays of objects."""
    waiting, seen, alive = [Part(model)], set(), []
    while waiting:
        part = waiting.pop()
        held = part.held
        if id(held) in seen:
            continue
        if isinstance(held, dict):
            below = list(held.values())
        elif isinstance(held, (list, tuple, set)):
            below = list(held)
        elif isinstance(held, np.ndarray) and held.dtype.hasobject:
            below = list(held.flat)
        elif type(held).__module__.startswith("sklearn.") and not isinstance(held, type):
            yield part
            waiting.extend(Part(value, held, name) for name, value in getattr(held, "__dict__", {}).items())
            below = []
        else:
            continue
        seen.add(id(held))
        alive.append(held)  # an address stays what it is while its object lives
        waiting.extend(Part(value, part.owner, part.attribute) for value in below)


def check_compiled_parts(model: Any, where: str) -> None:
    """That each compiled part is where scikit-learn puts it, in an object that asks it within its arrays.

    And that nothing is asked for the importances of trees: they follow from the counts that a file has not.
    Raises InputError. Cost: O(size of the model).
    """
    with one_at_a_time():
        from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
        from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
        from sklearn.feature_selection import SelectFromModel
        from sklearn.tree import BaseDecisionTree
        from sklearn.tree._tree import Tree

    fitted_attributes = {
        Tree: (BaseDecisionTree, "tree_"),
        TreePredictor: (BaseHistGradientBoosting, "_predictors"),
    }
    for part in list_model_parts(model):
        held = part.held
        owner, attribute = fitted_attributes.get(type(held), (object, part.attribute))
        if not isinstance(part.owner, owner) or part.attribute != attribute:
            raise create_damage_error(where, "a tree is where scikit-learn puts none")
        if any(callable(getattr(type(held), name, None)) for name in getattr(held, "__dict__", {})):
            raise create_damage_error(where, "an attribute takes the place of a method")
        if isinstance(held, BaseDecisionTree):
            _check_decision_tree(held, where)
        elif isinstance(held, BaseHistGradientBoosting):
            _check_boosting(held, where)
        elif isinstance(held, SelectFromModel) and any(isinstance(one.held, Tree) for one in list_model_parts(held)):
            what = "a SelectFromModel chooses columns by the importances of trees, which follow from counts of records"
            raise refusal(
                "needs-counts", where, what, "choose the columns by a linear model or by RFE: counts are not published"
            )


def _check_decision_tree(tree: Any, where: str) -> None:
    with one_at_a_time():
        from sklearn.base import ClassifierMixin

    if not hasattr(tree, "tree_"):
        return  # not fitted: a parameter of a forest
    if not isinstance(tree.n_features_in_, Integral) or tree.tree_.n_features != tree.n_features_in_:
        raise create_damage_error(where, "a tree was made for another number of features")
    classes = len(tree.classes_) if isinstance(tree, ClassifierMixin) else 1
    if tree.tree_.n_classes.tolist() != [classes] or getattr(tree, "n_classes_", classes) != classes:
        raise create_damage_error(where, "a tree was made for another number of classes")


def _check_boosting(model: Any, where: str) -> None:
    if not hasattr(model, "_predictors"):
        return
    if model._preprocessor is not None or getattr(model, "_in_fit", False) or not isinstance(model.n_features_in_, Integral):
        raise create_damage_error(where, "gradient boosting with features that it encodes itself is not read")
    for predictor in (one for some in model._predictors for one in some):
        check_predictor(predictor.nodes, int(model.n_features_in_), where)
        if np.size(predictor.binned_left_cat_bitsets) or np.size(predictor.raw_left_cat_bitsets):
            raise create_damage_error(where, "a tree without categories has sets of categories")
