"""What a skops file says: a tree of nodes, checked before anything of it is made.

skops answers for the types that it makes. It does not answer for what is in them: scikit-learn's compiled code follows the
numbers of a tree without looking whether they are inside the arrays
(https://github.com/scikit-learn/scikit-learn/pull/34558). Hence a list of what is read here, and checks of each compiled part.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tasks.microdata.errors import InputError
from tasks.microdata.imports import one_at_a_time
from tasks.train.skops_archive import MOST_UNPACKED, create_damage_error, refusal
from tasks.train.skops_attributes import TEMPLATE, select_needed_attributes

PROTOCOL = 2
# What skops does not trust of itself and a model here may need, with the only kind of node that may make it. Each is checked:
# a dtype holds no data; a tree and a predictor lead from a root to leaves inside their arrays (`check_tree`,
# `check_predictor`); a bunch is a dictionary.
OWN_NODES = {
    "numpy.dtype": "DTypeNode",
    "sklearn.tree._tree.Tree": "TreeNode",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor": "ObjectNode",
    "sklearn.utils._bunch.Bunch": "DictNode",
}
# scikit-learn's modules that answer in Python and numpy, or in compiled parts that `model_parts` checks. Neither
# `GradientBoosting*` (compiled code that trusts sizes) nor what may read files (`feature_extraction.text`).
_READ = (
    "sklearn._loss.",
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.decomposition._pca.",
    "sklearn.decomposition._truncated_svd.",
    "sklearn.discriminant_analysis.",
    "sklearn.dummy.",
    "sklearn.ensemble._bagging.",
    "sklearn.ensemble._forest.",
    "sklearn.ensemble._hist_gradient_boosting.binning.",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.",
    "sklearn.ensemble._stacking.",
    "sklearn.ensemble._voting.",
    "sklearn.ensemble._weight_boosting.",
    "sklearn.feature_selection.",
    "sklearn.impute._base.",
    "sklearn.linear_model.",
    "sklearn.naive_bayes.",
    "sklearn.neural_network._multilayer_perceptron.",
    "sklearn.pipeline.",
    "sklearn.preprocessing._data.",
    "sklearn.preprocessing._discretization.",
    "sklearn.preprocessing._encoders.",
    "sklearn.preprocessing._function_transformer.",
    "sklearn.preprocessing._label.",
    "sklearn.preprocessing._polynomial.",
    "sklearn.tree._classes.",
)
# What holds rows, or a column, of the table that it was fitted to: its file is that table.
_KEEPING = (
    "sklearn.gaussian_process.",
    "sklearn.impute._knn.",
    "sklearn.neighbors.",
    "sklearn.preprocessing._data.KernelCenterer",
    "sklearn.preprocessing._data.QuantileTransformer",
    "sklearn.semi_supervised.",
    "sklearn.svm._classes.",
)
_COLUMNS = "sklearn.compose._column_transformer.ColumnTransformer"
_SEQUENCES = ("ListNode", "TupleNode", "SetNode")
_LOADERS = (
    *_SEQUENCES,
    "DictNode",
    "DTypeNode",
    "FunctionNode",
    "JsonNode",
    "LossNode",
    "NdArrayNode",
    "RandomGeneratorNode",
    "RandomStateNode",
    "SliceNode",
    "TypeNode",
)
_NUMPY_PLAIN = ("numpy.void", "numpy.object_")


# Of a node of a tree: how many training records came there, and how they differ. Without them it has no feature importances.
_COUNTS = ("impurity", "n_node_samples", "weighted_n_node_samples", "count", "gain")


class SkopsContent:
    """The nodes of a file, checked, in one form: without identities, each array named by its content.

    skops writes an object that occurs twice twice, and marks it by an identity, which is an address in memory; a hostile file
    can mark two different ones alike. Without identities the nodes are a tree, of the size of the text. What an object
    does not need to answer (`skops_attributes`) is not read: nobody needs to trust the type of an optimizer.
    """

    def __init__(self, members: Mapping[str, bytes], where: str) -> None:
        self._members, self._where = members, where
        self._untrusted: set[str] = set()
        self._read = 0
        self.members: dict[str, bytes] = {}

    def normalise_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema in this form; `members` holds its arrays afterwards.

        Raises InputError, and KeyError, TypeError, ValueError, AttributeError for what is no schema of skops.
        """
        if type(schema["protocol"]) is not int or schema["protocol"] != PROTOCOL:
            what = "the file was written by another version of skops"
            raise refusal("other-version", self._where, what, "write it anew with skops 0.16", schema["protocol"])
        root = self._node(schema)
        if self._untrusted:
            raise create_untrusted_error(self._untrusted, self._where)
        return {**root, "protocol": PROTOCOL, "_skops_version": str(schema["_skops_version"])}

    def _node(self, state: Any, template: bool = False) -> dict[str, Any]:
        loader, name = state["__loader__"], f"{state['__module__']}.{state['__class__']}"
        made = {"__class__": state["__class__"], "__module__": state["__module__"], "__loader__": loader}
        template = template or state.get(TEMPLATE) is True
        if not all(isinstance(one, str) for one in made.values()):
            raise create_damage_error(self._where, "a type has no name")
        if not self._trusts(loader, name):
            self._untrusted.add(name)
            return made
        if loader == "JsonNode":
            made["content"] = "".join(state["content"])
        elif loader in _SEQUENCES:
            content = [self._node(one, template) for one in state["content"]]
            made["content"] = sorted(content, key=json.dumps) if loader == "SetNode" else content
        elif loader == "DictNode":
            made["content"] = {key: self._node(one, template) for key, one in state["content"].items()}
            made["key_types"] = self._node(state["key_types"])
            if any(one["__loader__"] != "TypeNode" for one in made["key_types"].get("content", ())):
                raise create_damage_error(self._where, "the keys of a dictionary have no types")
        elif loader == "NdArrayNode":
            made |= self._array_node(state, name, template)
        elif loader == "SliceNode":
            made["content"] = {end: _whole_or_none(state["content"][end]) for end in ("start", "stop", "step")}
        elif loader in ("TreeNode", "LossNode"):
            made |= {"__reduce__": {"args": self._node(state["__reduce__"]["args"])}, "content": self._node(state["content"])}
        elif loader == "RandomGeneratorNode":
            made["content"] = {one: self._node(state["content"][one]) for one in ("bit_generator", "seed_seq")}
        elif loader in ("DTypeNode", "RandomStateNode"):
            made["content"] = self._node(state["content"])
        elif loader == "ObjectNode" and state.get("content") is not None:
            kept = select_needed_attributes(state["content"], name, template=template)
            made["content"] = self._node(self._mark_empty_transformers(kept) if name == _COLUMNS else kept, template)
        if name in OWN_NODES and not self._untrusted:
            self._check_compiled(made, name)
        return made

    def _mark_empty_transformers(self, state: dict[str, Any]) -> dict[str, Any]:
        """The attributes of a ColumnTransformer: a part of no columns was never fitted, and is the template still."""
        values = dict(state["content"])
        if "transformers_" in values:
            parts = [self._mark_transformer(part) for part in values["transformers_"]["content"]]
            values["transformers_"] = {**values["transformers_"], "content": parts}
        return {**state, "content": values}

    def _mark_transformer(self, part: dict[str, Any]) -> dict[str, Any]:
        name, transformer, columns = part["content"]
        return {**part, "content": [name, {**transformer, TEMPLATE: self._selects_nothing(columns)}, columns]}

    def _selects_nothing(self, columns: dict[str, Any]) -> bool:
        """Whether a ColumnTransformer takes this for no columns: an empty list, or a mask without a True."""
        if columns["__loader__"] not in (*_SEQUENCES, "NdArrayNode"):
            return False
        if columns["__loader__"] == "NdArrayNode" and columns["type"] == "numpy":
            chosen = np.load(io.BytesIO(_check_array(self._members[columns["file"]], self._where)), allow_pickle=False)
            return chosen.size == 0 or (chosen.dtype == np.bool_ and not chosen.any())
        return all(one.get("content") == "false" for one in columns["content"])

    def _trusts(self, loader: str, name: str) -> bool:
        """Whether such a node is read at all; skops asks about its type too."""
        if name in OWN_NODES:
            return loader == OWN_NODES[name]
        if loader == "ObjectNode":
            return name.startswith(_READ) and not name.startswith(_KEEPING) and ".tests." not in name
        return loader in _LOADERS

    def _array_node(self, state: dict[str, Any], name: str, template: bool) -> dict[str, Any]:
        if name in _NUMPY_PLAIN:
            raise create_damage_error(self._where, "an array has a type that skops does not write")
        if state["type"] == "json":
            shape = self._node(state["shape"])
            if shape["__loader__"] != "TupleNode" or len(shape["content"]) != 1:
                raise create_damage_error(self._where, "an array of objects has not one dimension")
            return {"type": "json", "content": [self._node(one, template) for one in state["content"]], "shape": shape}
        data = self._members[state["file"]]
        self._read += len(data)
        if self._read > MOST_UNPACKED:
            raise refusal("too-large-model", self._where, "the arrays are too large", "release a smaller model")
        data = _check_array(data, self._where)
        file = f"{hashlib.sha256(data).hexdigest()[:32]}.npy"
        self.members[file] = data
        return {"type": "numpy", "file": file}

    def _check_compiled(self, node: dict[str, Any], name: str) -> None:
        if name == "sklearn.tree._tree.Tree":
            arguments = [self._value(one) for one in node["__reduce__"]["args"]["content"]]
            check_tree(arguments, {key: self._value(one) for key, one in node["content"]["content"].items()}, self._where)

    def _value(self, node: dict[str, Any]) -> Any:
        if node["__loader__"] == "JsonNode":
            return json.loads(node["content"])
        if node["__loader__"] != "NdArrayNode" or node["type"] != "numpy":
            raise create_damage_error(self._where, "a tree holds something else than numbers")
        return np.load(io.BytesIO(self.members[node["file"]]), allow_pickle=False)


def create_untrusted_error(names: set[str], where: str) -> InputError:
    keeping = sorted(name for name in names if name.startswith(_KEEPING))
    if keeping:
        name = keeping[0].rpartition(".")[2]
        what = f"the model has a {name}, which keeps records that it was fitted to: its file is that table"
        return refusal("keeps-records", where, what, "fit it without, or release the table")
    first = ", ".join(f"`{name[:120]}`" for name in sorted(names)[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    remedy = "fit it with other steps of scikit-learn: those that encode and scale, linear models, trees, forests"
    return refusal("untrusted-type", where, f"the file holds types that are not trusted: {first}{more}", remedy)


def check_tree(arguments: list[Any], state: dict[str, Any], where: str) -> None:
    """That a tree of scikit-learn leads from its first node to leaves, in its arrays alone, and is as deep as it says.

    arguments: of its constructor: number of features, classes of each output, shape (1,), and number of outputs, which is 1.
    Raises InputError. Cost: O(n log n).
    """
    with one_at_a_time():
        from sklearn.tree._tree import NODE_DTYPE

    n_features, n_classes, n_outputs = arguments
    nodes, values = state["nodes"], state["values"]
    if not _is_whole(n_features) or n_outputs != 1 or n_classes.shape != (1,) or n_classes.dtype != np.intp:
        raise create_damage_error(where, "a tree has not one output")
    if set(state) != {"max_depth", "node_count", "nodes", "values"} or nodes.dtype != NODE_DTYPE or nodes.ndim != 1:
        raise create_damage_error(where, "a tree has nodes of another kind")
    n = len(nodes)
    sizes = (not _is_whole(state["node_count"]), state["node_count"] != n, n < 1, n_classes[0] < 1, n_features < 1)
    if any(sizes) or values.dtype != np.float64 or values.shape != (n, 1, n_classes[0]):
        raise create_damage_error(where, "the arrays of a tree do not fit together")
    leaf = nodes["left_child"] == -1
    deep = _depth(nodes["left_child"], nodes["right_child"], leaf)
    inside = (nodes["feature"][~leaf] >= 0) & (nodes["feature"][~leaf] < n_features)
    if deep is None or deep != state["max_depth"] or not inside.all() or (nodes["right_child"][leaf] != -1).any():
        raise create_damage_error(where, "a tree leads out of its arrays")


def check_predictor(nodes: Any, n_features: int, where: str) -> None:
    """That a tree of histogram-based gradient boosting leads from its first node to leaves, in its arrays alone."""
    with one_at_a_time():
        from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    if not isinstance(nodes, np.ndarray) or nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1 or len(nodes) < 1:
        raise create_damage_error(where, "a tree has nodes of another kind")
    leaf = nodes["is_leaf"] != 0
    inside = (nodes["feature_idx"] >= 0) & (nodes["feature_idx"] < n_features)
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    if _depth(left, right, leaf) is None or not inside[~leaf].all() or nodes["is_categorical"].any():
        raise create_damage_error(where, "a tree leads out of its arrays")


def _depth(left: Any, right: Any, leaf: Any) -> int | None:
    """How deep the tree of the first node is; None unless every other node is below it, as the child of exactly one."""
    n, inner = len(leaf), np.flatnonzero(~leaf)
    children = np.concatenate([left[inner], right[inner]])
    if not np.array_equal(np.sort(children), np.arange(1, n)):
        return None
    deep, reached, level = 0, 1, np.zeros(1, dtype=np.int64)
    while len(level := level[~leaf[level]]):
        level = np.concatenate([left[level], right[level]])
        deep, reached = deep + 1, reached + len(level)
    return deep if reached == n else None


def _check_array(data: bytes, where: str) -> bytes:
    """A `.npy` member, as long as its header says and without Python objects, which would be pickles.

    The gaps between the fields of a record are zeroed, which hold what was in the memory before, and so are `_COUNTS`.
    """
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, _, dtype = readers[version](stream)
    if dtype.hasobject:
        raise refusal("pickle", where, "an array of the file holds a pickle, which runs code when it is read")
    items = math.prod(map(int, shape))
    if dtype.itemsize * items != len(data) - stream.tell() or (dtype.itemsize == 0 and items > 0):
        raise create_damage_error(where, "an array has another size than it says")
    if dtype.names is None:
        return data
    if any(dtype[name].names or dtype[name].subdtype for name in dtype.names) or len(shape) != 1:
        raise create_damage_error(where, "an array has records of records")
    held, clean = np.frombuffer(data, dtype, offset=stream.tell()), np.zeros(shape, dtype)
    for name in set(dtype.names) - set(_COUNTS):
        clean[name] = held[name]
    return data[: stream.tell()] + clean.tobytes()


def _is_whole(value: Any) -> bool:
    return type(value) is int and abs(value) < 2**31


def _whole_or_none(value: Any) -> int | None:
    return None if value is None else int(value)
