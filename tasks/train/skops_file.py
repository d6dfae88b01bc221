"""The file of a fitted model, as skops writes it: from our own hand in one form, from another's with distrust.

Who receives such a file reads it so, with the types of `skops.io.get_untrusted_types(file=path)` that are in `OWN_TYPES`:
`skops.io.load(path, trusted=["numpy.dtype", "sklearn.tree._tree.Tree"])`.
"""

from __future__ import annotations

import io
import json
import threading
import warnings
import zipfile
from typing import Any

import numpy as np

from tasks.microdata.errors import InputError
from tasks.microdata.imports import one_at_a_time
from tasks.train.model_parts import check_compiled_parts
from tasks.train.model_sizes import check_sizes
from tasks.train.skops_archive import SCHEMA, create_damage_error, pack_archive, refusal, unpack_archive, zip_members
from tasks.train.skops_content import OWN_NODES, SkopsContent, create_untrusted_error

OWN_TYPES = tuple(OWN_NODES)
_ONE_AT_A_TIME = threading.Lock()


def serialise_model(model: Any) -> bytes:
    """skops' file of a fitted model: the same bytes for the same model, with nothing in it but what it needs to answer.

    Of each object its parameters are kept, and the fitted attributes that `skops_attributes.list_kept_attributes` names; what
    somebody attached to the model, or to a part of it, is not. Of an estimator that is a parameter of another the parameters
    alone are kept, whatever it was fitted to, unless it is the very part that answers. There are no seeds in the file, no
    counts of records in the nodes of trees (and hence no feature importances), nothing of the course of the training, no folder
    of a cache, one thread and no output. It answers as the model does, bit for bit, and `read_model` reads it. What is kept is
    not looked into here: a parameter may hold what its user put there, and what the model needs may tell of single records:
    a tree's leaves, the categories of an encoder.

    Raises InputError for types that `read_model` refuses and for a model that is too large. Cost: O(size of the model).
    """
    with one_at_a_time():
        import skops.io

    where = "model.skops"
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    content = SkopsContent(members, where)
    return pack_archive(content.normalise_schema(json.loads(members[SCHEMA])), content.members, where)


def read_model(content: bytes, where: str) -> Any:
    """The fitted classifier in a file that may be hostile. Nothing is ever unpickled.

    What skops does not trust is refused but for `OWN_TYPES`, and so are scikit-learn's estimators whose compiled code trusts
    what it is given (`skops_content`); of the other compiled parts the content is checked, and of what was fitted the size
    (`model_sizes`).

    Raises InputError for a pickle, for what is no skops file, is too large or damaged, was written by another version of skops
    or scikit-learn, holds other types, and for what is no fitted classifier with probabilities. Cost: O(size).
    """
    try:
        return _read(content, where)
    except InputError:
        raise
    except RecursionError:
        raise create_damage_error(where, "it is nested too deeply") from None
    except MemoryError:
        raise refusal("too-large-model", where, "the model does not fit into the memory", "release a smaller model") from None
    except Exception as error:
        raise create_damage_error(where, f"skops cannot read it ({type(error).__name__})") from error


def imitation(model: Any, random_state: int) -> Any:
    """An unfitted model of the same steps and parameters; its draws follow from `random_state` (0 to 2^32 - 1) alone.

    Every step has that seed, one thread, no output, no cache, and does not go on from an earlier fit.
    """
    with one_at_a_time():
        from sklearn.base import clone

    made = clone(model)
    fixed = {"random_state": random_state, "verbose": False, "warm_start": False, "memory": None}
    parameters = made.get_params(deep=True)
    of_steps = {name: (name.rpartition("__")[2], value) for name, value in parameters.items()}
    changed = {name: fixed[last] for name, (last, _) in of_steps.items() if last in fixed}
    threads = {name: 1 for name, (last, value) in of_steps.items() if last == "n_jobs" and value is not None}
    return made.set_params(**changed, **threads)


def list_feature_names(model: Any) -> tuple[str, ...]:
    """The names of the columns that a model was fitted on, in their order; InputError where it was fitted without names."""
    names = getattr(model, "feature_names_in_", None)
    if not isinstance(names, np.ndarray) or names.size == 0 or not all(isinstance(name, str) for name in names.flat):
        what = "the model was fitted without names of columns, so that nobody knows which column is which"
        raise refusal("no-column-names", "the model", what, "fit it on a pandas DataFrame, with the names of the table")
    return tuple(str(name) for name in names)


def list_classes(model: Any) -> np.ndarray[Any, Any]:
    """Shape (c,): the labels of a classifier's classes, in the order of its probabilities."""
    return np.asarray(model.classes_)


def _read(content: bytes, where: str) -> Any:
    with one_at_a_time():
        import skops.io
        from skops.io.exceptions import UntrustedTypesFoundException

    schema, members = unpack_archive(content, where)
    # one thread at a time: the filters of warnings are those of all threads, and numpy reads a header by Python's parser, which
    # under Python 3.11 raises SystemError in one thread for what another parses (python/cpython#106905)
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checked = SkopsContent(members, where)
        clean = zip_members(checked.normalise_schema(schema), checked.members)
        _refuse_other_version(schema, where)
        try:
            model = skops.io.loads(clean, trusted=list(OWN_TYPES))
        except UntrustedTypesFoundException as error:
            names = set(skops.io.get_untrusted_types(data=clean)) - set(OWN_TYPES)
            raise create_untrusted_error(names, where) from error
        _check_classifier(model, where)
        check_compiled_parts(model, where)
        check_sizes(model, where)
        hasattr(model, "feature_names_in_")  # a damaged model raises here
        imitation(model, 0)
    return model


def _refuse_other_version(schema: Any, where: str) -> None:
    """InputError where a part of the model was written by another version of scikit-learn."""
    with one_at_a_time():
        import sklearn

    parts = [schema]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            written_version = part.get("_sklearn_version")
            version = written_version.get("content") if isinstance(written_version, dict) else None
            if isinstance(version, str) and version != json.dumps(sklearn.__version__):
                what = f"the model was fitted with scikit-learn {version.strip(chr(34))[:20]}, and may answer differently here"
                raise refusal("other-version", where, what, f"fit it with scikit-learn {sklearn.__version__}")
            parts.extend(part.values())
        elif isinstance(part, list):
            parts.extend(part)


def _check_classifier(model: Any, where: str) -> None:
    with one_at_a_time():
        from sklearn.base import BaseEstimator, is_classifier
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

    remedy = "write the fitted classifier itself, or a pipeline that ends in one"
    if not isinstance(model, BaseEstimator):
        raise refusal("no-classifier", where, "the file holds no model of scikit-learn", remedy)
    if not is_classifier(model):
        raise refusal("no-classifier", where, f"the model is no classifier: {type(model).__name__}", remedy)
    if not hasattr(model, "predict_proba"):
        remedy = "fit a classifier that has `predict_proba`"
        raise refusal("no-probabilities", where, "the classifier gives no probabilities of its classes", remedy)
    try:
        check_is_fitted(model)
        classes = model.classes_
    except (NotFittedError, AttributeError) as error:
        raise refusal("not-fitted", where, "the classifier is not fitted", "fit it before it is written") from error
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not 2 <= len(set(classes.tolist())) == len(classes):
        what = "the classifier has not one attribute with two classes or more"
        raise refusal("no-classifier", where, what, "fit it to one target of at least two classes")
