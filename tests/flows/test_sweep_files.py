"""Sweep files: what is wrong with one is told in one message, with its line, before anything is computed."""

import copy
import json

import jsonschema
import pytest
from outcomes import ROOT
from ruamel.yaml import YAML

from tasks.microdata.errors import InputError

BASE = """\
name: survey
source: {table: survey.csv}
attributes:
  age: {role: quasi_identifier, scale: numeric}
  income: {role: quasi_identifier, scale: numeric}
masking: [{method: microaggregation, k: 5}]
policy: [{measure: reidentification, at_most: 0.4}]
"""
SWEEP = {
    "name": "s",
    "base": "base.yaml",
    "pipelines": [
        {
            "name": "mdav",
            "masking": [{"method": "microaggregation"}],
            "axes": {
                "masking[0].k": {"values": [3, 5]},
                "masking[0].partition": {"values": ["mdav", "v_mdav"]},
                "masking[0].gamma": {"range": [0.2, 1.1], "steps": 4, "when": {"masking[0].partition": "v_mdav"}},
            },
        },
    ],
    "seeds": 3,
}


def first(**fields):
    """The first pipeline, some of its fields changed; `axes` are added to its own."""
    pipeline = copy.deepcopy(SWEEP["pipelines"][0])
    axes = pipeline["axes"] | fields.pop("axes", {})
    return {"pipelines": [pipeline | fields | {"axes": {path: one for path, one in axes.items() if one is not None}}]}


def axis(path, **one):
    return first(axes={path: one})


K = "masking[0].k"
LOOKS = "intruder: {targets: {first: 0.1, last: 0.5, looks: 2}}"
GAMMA = "masking[0].gamma"
PLAIN = {"masking[0].partition": None, GAMMA: None}
CASES = {
    # what is changed, where it is told, the words of the message
    "unknown field": ({"pipeline": []}, "pipeline", "did you mean `pipelines`?"),
    "bad name": ({"name": "A sweep"}, "name", "small letters"),
    "no pipelines": ({"pipelines": []}, "pipelines", "at least 1 entry"),
    "no seeds": ({"seeds": 0}, "seeds", "greater than or equal to 1"),
    "two of one name": ({"pipelines": SWEEP["pipelines"] * 2}, "(the whole file)", "called `mdav`"),
    "unknown strategy": ({"strategy": {"method": "gird"}}, "strategy", "did you mean `grid`?"),
    "random without points": ({"strategy": {"method": "random"}}, "strategy.points", "must be given"),
    "unknown view": ({"risk": {"view": "worts"}}, "risk", "worst"),
    "a risk that is a loss": ({"risk": {"measure": "sse_percent"}}, "risk", "reidentification"),
    "a loss that is a risk": ({"loss": {"measure": "k_anonymity"}}, "loss", "sse_percent"),
    "no base": ({"base": "bse.yaml"}, "base", "no such release file"),
    "a base that cannot be": ({"base": "b" * 290}, "base", "no such release file"),
    "an axis without values": (axis(K), f"pipelines[0].axes.{K}", "exactly one"),
    "an unknown field of an axis": (axis(K, value=[1]), f"pipelines[0].axes.{K}.value", "did you mean `values`?"),
    "an unknown parameter": (axis("masking[0].kk", values=[1]), "pipelines[0].axes.masking[0].kk", "did you mean `k`?"),
    "a step that is not there": (axis("masking[1].k", values=[3]), "pipelines[0].axes.masking[1].k", "no `[1]`"),
    "the method": (axis("masking[0].method", values=["noise"]), "pipelines[0].axes.masking[0].method", "pipeline of its own"),
    "the source": (axis("source.table", values=["a"]), "pipelines[0].axes.source.table", "cannot vary"),
    "a value of another type": (axis(K, values=[3, "ten"]), f"pipelines[0].axes.{K}.values[1]", "a whole number is expected"),
    "a fraction of a record": (axis(K, values=[3, 4.5]), f"pipelines[0].axes.{K}.values[1]", "a whole number"),
    "a value that can never be": (axis(K, values=[3, 1]), f"pipelines[0].axes.{K}.values[1]", "greater than or equal to 2"),
    "a range that begins too low": (axis(K, range=[1, 9]), f"pipelines[0].axes.{K}.range[0]", "greater than or equal to 2"),
    "an unknown category": (
        axis("masking[0].partition", values=["mdav", "v_mdv"]),
        "pipelines[0].axes.masking[0].partition.values[1]",
        "v_mdav",
    ),
    "a condition on nothing": (
        axis(GAMMA, values=[1], when={"masking[0].partitoin": "v_mdav"}),
        f"pipelines[0].axes.{GAMMA}.when",
        "did you mean `masking[0].partition`?",
    ),
    "a condition that never holds": (
        axis(GAMMA, values=[1], when={"masking[0].partition": "vmdav"}),
        f"pipelines[0].axes.{GAMMA}.when",
        "did you mean `v_mdav`?",
    ),
    "a circle": (
        axis("masking[0].partition", values=["v_mdav"], when={GAMMA: 0.2}),
        "pipelines[0].axes.masking[0].partition",
        "circle",
    ),
    "one parameter twice": (
        SWEEP | {"axes": {K: {"values": [4]}}},
        f"axes.{K}",
        "two axes set one thing",
    ),
    "an endless grid": (axis(GAMMA, range=[0.2, 1.1]), f"pipelines[0].axes.{GAMMA}", "`steps`"),
    "a billion points": (
        first(axes={K: {"range": [2, 100_001]}, "intruder.targets": {"range": [0.1, 0.9], "steps": 10_000}} | PLAIN),
        "pipelines",
        "1,000,000,000 points",
    ),
    "a typing error in the masking": (
        first(masking=[{"method": "microaggregation", "agregate": "mean"}]),
        "pipelines[0].masking[0].agregate",
        "did you mean `aggregate`?",
    ),
    "an unknown method": (
        first(masking=[{"method": "microagregation"}], axes=dict.fromkeys(SWEEP["pipelines"][0]["axes"])),
        "pipelines[0].masking[0]",
        "did you mean `microaggregation`?",
    ),
    "an unknown method that has axes": (
        first(masking=[{"method": "microagregation"}]),
        "pipelines[0].axes.masking[0].k",
        "did you mean `microaggregation`?",
    ),
    "no method": (first(masking=[{"k": 3}]), "pipelines[0].axes.masking[0].k", "`method` is not given"),
    "points none of which can be": (
        axis("masking[0].axis", values=["sum_of_z_scores"]),
        "pipelines[0].masking[0]",
        "axis belongs to `partition: projection`",
    ),
    "a mapping file that is not there": (
        {"pipelines": [{"name": "r", "masking": [{"method": "recoding", "recode": {"age": {"file": "a.csv"}}}]}]},
        "pipelines[0].masking[0].recode.age.file",
        "a.csv",
    ),
}


@pytest.fixture
def load(tmp_path):
    """`load(change, base=...)` reads the sweep file, some top-level fields changed."""
    from flows.sweep.spec import load_sweep

    def loaded(change=None, base=BASE):
        (tmp_path / "base.yaml").write_text(base)
        path = tmp_path / "sweep.yaml"
        path.write_text(json.dumps(SWEEP | (change or {}), indent=1))
        return load_sweep(path)

    return loaded


def test_the_sweep_that_the_cases_change_is_right(load):
    found = load()
    assert found.n_points == len(list(found.points())) == 2 * (1 + 4)


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_sweep_file_is_refused_in_one_message(load, tmp_path, case):
    change, where, words = CASES[case]
    with pytest.raises(InputError) as told:
        load(change)
    error = told.value
    assert words in str(error)
    file, _, place = error.where.partition(": ")
    assert place == where
    assert file.startswith(f"{tmp_path / 'sweep.yaml'}, line ")
    assert "release.json" not in error.allowed


def test_the_line_is_that_of_the_wrong_value(load, tmp_path):
    with pytest.raises(InputError) as told:
        load(axis(K, values=[3, 5, 1]))
    lines = (tmp_path / "sweep.yaml").read_text().splitlines()
    line = int(told.value.where.partition("line ")[2].partition(":")[0])
    assert [text.strip(" ,") for text in lines[line - 3 : line]] == ["3", "5", "1"]


@pytest.mark.parametrize(
    ("change", "where", "words"),
    [
        (("k: 5", "k: 1"), "base.yaml, line 6: masking[0].k", "greater than or equal to 2"),
        (("masking:", "maskng:"), "base.yaml, line 6: maskng", "did you mean `masking`?"),
        (("masking: [{method: microaggregation, k: 5}]", "released: {table: m.csv}"), "sweep.yaml, line 3: base", "elsewhere"),
        (("masking:", f"{LOOKS}\nmasking:"), "sweep.yaml, line 3: base", "takes its targets in looks"),
    ],
)
def test_a_base_that_cannot_be_swept_is_refused(load, change, where, words):
    with pytest.raises(InputError, match=words.replace("?", r"\?")) as told:
        load(base=BASE.replace(*change))
    assert told.value.where.endswith(where)


def test_what_the_base_lacks_is_told_at_the_base(load):
    with pytest.raises(InputError, match="transparency") as told:
        load(base=BASE + "attacks: [{method: distance_linkage}]\n")
    assert told.value.where.endswith("base.yaml, line 8: attacks")


def test_a_random_sweep_may_have_continuous_axes(load):
    found = load(
        axis(GAMMA, range=[0.2, 1.1], when={"masking[0].partition": "v_mdav"})
        | {"strategy": {"method": "random", "points": 20}}
    )
    points = list(found.points())
    assert found.n_points == len(points) == 20
    gammas = [value for point in points for path, value in point.values if path == GAMMA]
    assert len(set(gammas)) == len(gammas) > 3
    assert points == list(found.points())


def test_the_shipped_sweeps_fit_the_shipped_schema_and_are_what_they_say():
    from flows.sweep.spec import load_sweep

    schema = json.loads((ROOT / "params" / "schema" / "sweep.json").read_text())
    paths = sorted((ROOT / "params" / "sweeps").glob("*.yaml"))
    for path in paths:
        jsonschema.validate(YAML(typ="safe", pure=True).load(path), schema)
        assert load_sweep(path).spec.name == path.stem
    census = load_sweep(ROOT / "params" / "sweeps" / "census.yaml")
    methods = {template.content["masking"][0]["method"] for template in census.templates}
    assert census.n_points >= 300
    assert census.spec.seeds == 3
    assert len(methods) >= 3
    for wrong in ({"pipelines": []}, {"seeds": 0}, {"axs": {}}, {"strategy": {"method": "gird"}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**SWEEP, **wrong}, schema)
