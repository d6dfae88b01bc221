"""Files of models from a hostile hand: nothing of them runs, unpacks without end or leads out of its arrays."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest
from model_files import (
    WHERE,
    array,
    array_node,
    attributes,
    forged,
    instead,
    json_node,
    members_of,
    node,
    people,
    refused,
    zipped,
)

from tasks.train import skops_archive
from tasks.train.skops_file import list_feature_names, read_model

FRAME, CLASSES = people()


@pytest.fixture(scope="module")
def linear():
    """skops' file of a logistic regression on one column."""
    import skops.io
    from sklearn.linear_model import LogisticRegression

    return skops.io.dumps(LogisticRegression().fit(FRAME[["pay"]], CLASSES))


# ---- what is no skops file


@pytest.mark.parametrize("compress", [0, ("zlib", 3), ("gzip", 3), ("bz2", 3), ("lzma", 3), ("xz", 3)])
def test_a_pickle_is_told_and_not_read(tmp_path, compress):
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "ran",))

    joblib.dump(Bomb(), tmp_path / "model", compress=compress)
    error = refused((tmp_path / "model").read_bytes())
    assert error.code == "pickle" and "runs code when it is read" in error.what and "skops.io.dump" in error.remedy
    assert refused(pickle.dumps(Bomb())).code == "pickle" and not (tmp_path / "ran").exists()


def test_what_is_no_archive_of_skops_is_told():
    assert [refused(content).code for content in (b"", b"age,pay\n1,2\n", zipped(("data.pkl", b"")))] == ["not-skops"] * 3


def test_broken_archives_are_told(tree):
    content = written_over(tree)
    assert refused(tree[: len(tree) // 2]).code == "damaged-model"
    assert refused(content).code == "damaged-model"
    assert refused(zipped(("schema.json", b"{"))).code == "damaged-model"
    assert refused(zipped(("schema.json", b"[1]"))).code == "damaged-model"
    assert refused(zipped(("schema.json", b"{}"))).code == "damaged-model"


def written_over(content):
    half = len(content) // 2
    return content[:half] + bytes(255 - one for one in content[half : half + 9]) + content[half + 9 :]


@pytest.mark.parametrize("name", ["../schema.json", "/etc/passwd.npy", "a/b.npy", "c:\\x.npy", "x.npy?.txt", "x"])
def test_a_member_that_is_named_like_a_path_is_refused(linear, name):
    content = zipped(*members_of(linear).items(), (name, b"")).replace(b"?", b"\x00")
    assert "a name that skops does not give" in refused(content).what


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_occurs_twice_is_refused(linear):
    members = members_of(linear)
    assert refused(zipped(*members.items(), ("schema.json", b"{}"))).what.endswith("a member occurs twice")


def test_too_much_is_refused_before_it_is_unpacked(linear, monkeypatch):
    bomb = zipped(*members_of(linear).items(), ("zeros.npy", bytes(2**20)))
    limits = {"MOST_UNPACKED": 2**20, "MOST_BYTES": 1000, "MOST_MEMBERS": 2, "MOST_SCHEMA": 1000, "MOST_BRACKETS": 10}
    for name, limit in limits.items():
        with monkeypatch.context() as patch:
            patch.setattr(skops_archive, name, limit)
            assert refused(bomb if name == "MOST_UNPACKED" else linear).code == "too-large-model"


def test_a_member_that_unpacks_to_more_than_it_says_is_refused(linear):
    content = bytearray(zipped(*members_of(linear).items(), ("zeros.npy", bytes(10**6))))
    for mark, size in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = content.index(b"zeros.npy") if mark == b"PK\x03\x04" else content.rindex(b"zeros.npy")
        start = content.rindex(mark, 0, place)
        content[start + size : start + size + 4] = (10).to_bytes(4, "little")
    assert refused(bytes(content)).code == "damaged-model"


def test_an_array_that_is_named_often_counts_as_often(linear, monkeypatch):
    from tasks.train import skops_content

    monkeypatch.setattr(skops_content, "MOST_UNPACKED", 10_000)

    def change(schema, members):
        members["big.npy"] = array(np.zeros(1000))
        attributes(schema)["coef_"] = node("ListNode", "builtins.list", content=[array_node("big.npy")] * 2)

    assert refused(forged(linear, change)).code == "too-large-model"


def test_what_is_nested_too_deeply_is_told(linear):
    deep = json_node(1)
    for _ in range(400):
        deep = node("ListNode", "builtins.list", content=[deep])
    assert "nested too deeply" in refused(forged(linear, instead("coef_", deep))).what
    assert "nested too deeply" in refused(zipped(("schema.json", b'{"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}"))).what
    text = node("JsonNode", "builtins.str", content="[" * 10_000 + "]" * 10_000)
    assert "nested too deeply" in refused(forged(linear, instead("coef_", text))).what


# ---- types


def function_transformer(function):
    import skops.io
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    return skops.io.dumps(make_pipeline(FunctionTransformer(function), LogisticRegression()).fit(FRAME[["pay"]], CLASSES))


def test_a_function_of_numpy_is_read_and_no_other(tmp_path):
    content = function_transformer(np.log1p)
    assert list_feature_names(read_model(content, WHERE)) == ("pay",)
    for module, name in (("os", "system"), ("builtins", "eval"), ("numpy", "load")):
        error = refused(forged(content, lambda schema, members, m=module, f=name: rename(schema, "log1p", m, f)))
        assert error.code == "untrusted-type" and f"`{module}.{name}`" in error.what


def rename(state, old, module, name):
    """Every node of a class has another name."""
    if isinstance(state, dict):
        if state.get("__class__") == old:
            state["__module__"], state["__class__"] = module, name
        for value in state.values():
            rename(value, old, module, name)
    elif isinstance(state, list):
        for value in state:
            rename(value, old, module, name)


EMPTY_TUPLE = node("TupleNode", "builtins.tuple", content=[])
EMPTY_DICT = node("DictNode", "builtins.dict", content={}, key_types=node("ListNode", "builtins.list", content=[]))
HOSTILE = {
    "operator": node("OperatorFuncNode", "operator.methodcaller", attrs=EMPTY_TUPLE),
    "operator called as another": node("OperatorFuncNode", "builtins.str", attrs=EMPTY_TUPLE),
    "method": node("MethodNode", "builtins.str", content={"func": "format", "obj": json_node("x")}),
    "partial": node(
        "PartialNode",
        "functools.partial",
        content={"func": EMPTY_DICT, "args": EMPTY_TUPLE, "kwds": EMPTY_DICT, "namespace": EMPTY_DICT},
    ),
    "constructor": node("ConstructorFromReduceNode", "os.PathLike", content=EMPTY_TUPLE),
    "object": node("ObjectNode", "subprocess.Popen", content=EMPTY_DICT),
    "type": node("TypeNode", "subprocess.Popen"),
    "list of another type": node("ListNode", "subprocess.Popen", content=[]),
    "array of another type": node(
        "NdArrayNode", "os.system", type="json", content=[], shape=node("TupleNode", "builtins.tuple", content=[json_node(0)])
    ),
    "loader of an older skops": node("FunctionNode", "os.system", content={"module_path": "os", "function": "system"}),
    "unknown loader": node("EvalNode", "builtins.str"),
    "tree by another loader": node("ConstructorFromReduceNode", "sklearn.tree._tree.Tree", content=EMPTY_TUPLE),
    "tree as a type": node("TypeNode", "sklearn.tree._tree.Tree"),
    "tree as an object": node("ObjectNode", "sklearn.tree._tree.Tree", content=EMPTY_DICT),
    "dtype by another loader": node("ConstructorFromReduceNode", "numpy.dtype", content=EMPTY_TUPLE),
    "compiled code that trusts sizes": node(
        "ObjectNode", "sklearn.ensemble._gb.GradientBoostingClassifier", content=EMPTY_DICT
    ),
    "what reads files": node("ObjectNode", "sklearn.feature_extraction.text.CountVectorizer", content=EMPTY_DICT),
    "sparse": node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="x.npz"),
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_types_that_are_not_trusted_are_named_and_not_made(linear, hostile):
    error = refused(forged(linear, instead("coef_", hostile)))
    assert error.code == "untrusted-type" and f"`{hostile['__module__']}.{hostile['__class__']}`" in error.what


def test_the_keys_of_a_dictionary_are_of_types_and_of_nothing_that_is_called(linear):
    def change(schema, members):
        schema["content"]["key_types"]["content"][0] = node("FunctionNode", "numpy.absolute")

    assert "the keys of a dictionary have no types" in refused(forged(linear, change)).what


def test_at_most_five_types_are_named(linear):
    many = node("ListNode", "builtins.list", content=[node("TypeNode", f"evil.T{i}") for i in range(8)])
    assert refused(forged(linear, instead("coef_", many))).what.endswith(
        "`evil.T0`, `evil.T1`, `evil.T2`, `evil.T3`, `evil.T4` and 3 more"
    )


def test_a_node_that_has_the_identity_of_another_is_read_for_itself(linear):
    """skops takes what has a known identity for what it has read under it, unseen."""

    def change(schema, members):
        attributes(schema)["C"] = {**json_node(1.0), "__id__": 5}
        attributes(schema)["coef_"] = {**node("TypeNode", "subprocess.Popen"), "__id__": 5}

    assert "`subprocess.Popen`" in refused(forged(linear, change)).what


def test_nodes_that_share_identities_do_not_multiply(linear):
    """Sixty lists, each of the one before twice: in memory of skops 2^60 paths."""
    shared = {**node("ListNode", "builtins.list", content=[]), "__id__": 1000}
    lists = [shared]
    for i in range(60):
        twice = [{**node("ListNode", "builtins.list", content=[]), "__id__": 1000 + i} for _ in range(2)]
        lists.append({**node("ListNode", "builtins.list", content=twice), "__id__": 1001 + i})
    model = read_model(forged(linear, instead("penalty", node("ListNode", "builtins.list", content=lists))), WHERE)
    assert model.penalty[-1] == [[], []]


def test_an_older_protocol_or_release_is_told(linear):
    for protocol in (0, 1, 3, True):
        assert refused(forged(linear, lambda schema, members, p=protocol: schema.update(protocol=p))).code == "other-version"
    error = refused(forged(linear, instead("_sklearn_version", json_node("1.2.0"))))
    assert error.code == "other-version" and "scikit-learn 1.2.0" in error.what


@pytest.mark.parametrize("step", ["KNeighborsClassifier", "SVC", "QuantileTransformer", "KNNImputer"])
def test_what_keeps_records_is_refused(step):
    import skops.io
    from sklearn import impute, neighbors, preprocessing, svm
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline

    kind = next(getattr(module, step) for module in (impute, neighbors, preprocessing, svm) if hasattr(module, step))
    model = make_pipeline(kind(n_quantiles=5) if step == "QuantileTransformer" else kind())
    if step.endswith(("Transformer", "Imputer")):
        model = make_pipeline(model, GaussianNB())
    error = refused(skops.io.dumps(model.fit(FRAME[["pay"]], CLASSES)))
    assert error.code == "keeps-records" and step in error.what


# ---- arrays and trees


def test_arrays_that_are_pickles_or_lie_about_their_size_are_refused(linear):
    def put(data):
        def change(schema, members):
            members["x.npy"] = data
            attributes(schema)["coef_"] = array_node("x.npy")

        return forged(linear, change)

    assert refused(put(array(np.array([{}], dtype=object), allow_pickle=True))).code == "pickle"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)})
    for data in (header.getvalue() + bytes(8), array(np.zeros(9))[:-8], array(np.zeros(3, dtype="V0"))):
        assert "an array has another size than it says" in refused(put(data)).what
    for data in (zipped(("a.npy", array(np.zeros(1)))), b"\x93NUMPY\x01\x00\x09\x00{'descr':", b""):
        assert refused(put(data)).code == "damaged-model"


def test_arrays_of_objects_have_one_dimension(linear):
    """numpy makes one of more by looking into what it holds."""
    pair = node("ListNode", "builtins.list", content=[json_node(1), json_node(2)])
    shape = node("TupleNode", "builtins.tuple", content=[json_node(1), json_node(2)])
    hostile = node("NdArrayNode", "numpy.ndarray", type="json", content=[pair], shape=shape)
    assert "not one dimension" in refused(forged(linear, instead("coef_", hostile))).what
