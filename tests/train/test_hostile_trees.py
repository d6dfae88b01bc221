"""Trees from a hostile hand: none leads out of its arrays, whether a file holds one, a forest or gradient boosting."""

from __future__ import annotations

import io

import numpy as np
import pytest
from model_files import WHERE, array, attributes, forged, instead, json_node, node, people, refused

from tasks.train.skops_file import read_model

FRAME, CLASSES = people()


@pytest.fixture(scope="module")
def boosting():
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=1, early_stopping=False).fit(FRAME[["age", "pay"]], CLASSES)


def of_tree(schema):
    return attributes(schema)["tree_"]


def nodes_changed(**fields):
    """The nodes of a tree with other values of some fields: index and value."""

    def change(schema, members):
        file = of_tree(schema)["content"]["content"]["nodes"]["file"]
        nodes = np.load(io.BytesIO(members[file]))
        for name, (i, value) in fields.items():
            nodes[name][i] = value
        members[file] = array(nodes)

    return change


def state_changed(**values):
    def change(schema, members):
        of_tree(schema)["content"]["content"] |= {name: json_node(value) for name, value in values.items()}

    return change


def arguments_changed(i, value):
    def change(schema, members):
        of_tree(schema)["__reduce__"]["args"]["content"][i] = json_node(value)

    return change


def classes_changed(values):
    def change(schema, members):
        members[of_tree(schema)["__reduce__"]["args"]["content"][1]["file"]] = array(values)

    return change


def ring_beside(schema, members):
    """The root has two leaves, and the four other nodes lead to each other: 1 to 4 and 5, and 4 to 1 and 6."""
    for field, i, child in (("left_child", 0, 2), ("right_child", 0, 3), ("left_child", 1, 4), ("right_child", 1, 5)):
        nodes_changed(**{field: (i, child)})(schema, members)
    nodes_changed(left_child=(4, 1), right_child=(4, 6))(schema, members)
    state_changed(max_depth=1)(schema, members)


HOSTILE_TREES = {
    "nodes that nobody comes to": ring_beside,
    "child outside": nodes_changed(left_child=(0, 10**6)),
    "child before": nodes_changed(left_child=(0, -7)),
    "child of itself": nodes_changed(left_child=(0, 0)),
    "two parents": nodes_changed(right_child=(0, 1)),
    "half a leaf": nodes_changed(right_child=(-1, 0)),
    "feature outside": nodes_changed(feature=(0, 2)),
    "feature before": nodes_changed(feature=(0, -2)),
    "deeper than it says": state_changed(max_depth=1),
    "more nodes than it has": state_changed(node_count=10**6),
    "fewer nodes than it has": state_changed(node_count=1),
    "no whole number of nodes": state_changed(node_count=7.0),
    "values instead of nodes": lambda schema, members: of_tree(schema)["content"]["content"].update(
        nodes=of_tree(schema)["content"]["content"]["values"]
    ),
    "more outputs": arguments_changed(2, 1000),
    "more features": arguments_changed(0, 3),
    "more classes": classes_changed(np.array([1000])),
    "no classes": classes_changed(np.array([], dtype=np.int64)),
    "classes of each of two outputs": classes_changed(np.array([3, 3])),
}


@pytest.mark.parametrize("change", HOSTILE_TREES.values(), ids=HOSTILE_TREES)
def test_a_tree_that_leads_out_of_its_arrays_is_refused(tree, change):
    assert read_model(forged(tree, lambda schema, members: None), WHERE).get_depth() == 2
    assert "damaged: a tree" in refused(forged(tree, change)).what or "arrays of a tree" in refused(forged(tree, change)).what


HOSTILE_BOOSTED = [("left", 10**6), ("left", 0), ("feature_idx", 2), ("feature_idx", -1), ("is_categorical", 1)]


@pytest.mark.parametrize(("field", "value"), HOSTILE_BOOSTED)
def test_a_boosted_tree_that_leads_out_of_its_arrays_is_refused(boosting, field, value):
    import skops.io

    nodes = boosting._predictors[0][0].nodes
    held = nodes.copy()
    nodes[field][0] = value
    assert "a tree leads out of its arrays" in refused(skops.io.dumps(boosting)).what
    nodes[:] = held


def test_boosting_that_encodes_its_features_itself_is_refused(boosting):
    import skops.io

    content = skops.io.dumps(boosting)
    read_model(content, WHERE)
    for name, value in (("_preprocessor", "x"), ("n_features_in_", "x")):
        assert "gradient boosting with features" in refused(forged(content, instead(name, json_node(value)))).what


def test_compiled_parts_stay_where_they_belong(tree):
    def moved(schema, members):
        attributes(schema)["criterion"] = of_tree(schema)

    def shadowed(schema, members):
        attributes(schema)["_validate_X_predict"] = node("FunctionNode", "numpy.copysign")
        schema["content"]["key_types"]["content"].append(node("TypeNode", "builtins.str"))

    def of_fewer(schema, members):
        attributes(schema)["n_features_in_"] = json_node(1)

    assert "where scikit-learn puts none" in refused(forged(tree, moved)).what
    assert "takes the place of a method" in refused(forged(tree, shadowed)).what
    assert "another number of features" in refused(forged(tree, of_fewer)).what
