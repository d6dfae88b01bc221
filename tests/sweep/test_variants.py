"""The release that a point is: the base with the point's values, and points that cannot be one."""

import json

import pytest

from flows.release_file import load_release
from flows.sweep.spec import load_sweep
from flows.sweep.variants import create_release_spec
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.errors import InputError
from tasks.sweep.points import SweepPoint

BASE = {
    "name": "survey",
    "source": {"table": "survey.csv"},
    "attributes": {name: {"role": "quasi_identifier", "scale": "numeric"} for name in ("age", "income", "town")},
    "masking": [{"method": "microaggregation", "k": 5}],
    "intruder": {"targets": 0.5, "knows": ["age"]},
    "policy": [{"measure": "reidentification", "at_most": 0.4}],
}
MDAV = {
    "name": "mdav",
    "masking": [{"method": "microaggregation"}],
    "axes": {
        "masking[0].k": {"values": [3, 10]},
        "masking[0].partition": {"values": ["mdav", "v_mdav"]},
        "masking[0].gamma": {"values": [0.2], "when": {"masking[0].partition": "v_mdav"}},
    },
}
SWAP = {
    "name": "swap",
    "masking": [{"method": "rank_swapping"}],
    "axes": {
        "masking[0].variant": {"values": ["classic", "p_buckets"]},
        "masking[0].window_percent": {"values": [5], "when": {"masking[0].variant": "classic"}},
        "masking[0].buckets": {"values": [4], "when": {"masking[0].variant": ["p_buckets"]}},
    },
}


@pytest.fixture
def sweep(tmp_path):
    """`sweep(pipelines, base=..., **fields)` writes both files and reads them."""

    def made(*pipelines, base=None, **fields):
        (tmp_path / "base.yaml").write_text(json.dumps(BASE | (base or {})))
        path = tmp_path / "sweep.yaml"
        path.write_text(json.dumps({"name": "s", "base": "base.yaml", "pipelines": pipelines, **fields}))
        return load_sweep(path)

    return made


def test_a_variant_is_the_base_but_for_the_point(sweep, tmp_path):
    found = sweep(MDAV, axes={"intruder.targets": {"values": [1]}})
    points = list(found.points())
    assert len(points) == 4
    last = create_release_spec(found, points[-1])
    assert last.masking == (Microaggregation(method="microaggregation", k=10, partition="v_mdav", gamma=0.2),)
    assert (last.intruder.targets, last.intruder.knows) == (1.0, ("age",))
    base = load_release(tmp_path / "base.yaml")
    same = set(type(base).model_fields) - {
        "masking",
        "intruder",
        "not_for_publication",
        "inference",
    }  # a sweep trains no models
    assert {name for name in same if getattr(last, name) != getattr(base, name)} == set()


def test_a_variant_is_a_rehearsal_even_of_a_base_with_a_chosen_seed(sweep):
    found = sweep(MDAV, base={"seed": 12345, "not_for_publication": True})
    made = create_release_spec(found, next(found.points()))
    assert (made.seed, made.not_for_publication) == (None, True)


def test_parameters_that_exclude_each_other_are_axes_with_conditions(sweep):
    found = sweep(SWAP)
    steps = [create_release_spec(found, point).masking[0] for point in found.points()]
    assert [(step.variant, step.window_percent, step.buckets) for step in steps] == [
        ("classic", 5.0, None),
        ("p_buckets", None, 4),
    ]


def test_a_pipeline_without_masking_has_that_of_the_base(sweep):
    found = sweep({"name": "base", "axes": {"masking[0].k": {"values": [7]}}}, {"name": "as-it-is"})
    assert [create_release_spec(found, point).masking[0].k for point in found.points()] == [7, 5]


def test_a_point_that_is_wrong_in_itself_says_so_and_the_sweep_goes_on(sweep):
    axes = {"masking[0].partition": {"values": ["mdav", "v_mdav"]}, "masking[0].gamma": {"values": [0.2]}}
    found = sweep(MDAV | {"axes": MDAV["axes"] | axes})
    wrong = [point for point in found.points() if dict(point.values)["masking[0].partition"] == "mdav"]
    assert len(wrong) == 2
    with pytest.raises(InputError, match="gamma belongs to `partition: v_mdav`") as told:
        create_release_spec(found, wrong[0])
    assert told.value.public == "point at masking[0]"


def test_attacks_that_a_mask_must_face_are_asked_of_each_point(sweep):
    plain = {"attacks": [{"method": "distance_linkage"}]}
    with pytest.raises(InputError, match="transparency"):
        sweep(MDAV, base=plain)
    found = sweep(MDAV, base=plain | {"omit": [{"attack": "transparency", "reason": "the method is kept secret"}]})
    assert [one.method for one in create_release_spec(found, next(found.points())).attacks_to_run] == [
        "distance_linkage",
        "transparency",
    ]


def test_attacks_and_measures_of_the_base_can_vary(sweep):
    attacks = {
        "attacks": [{"method": "distance_linkage"}, {"method": "transparency"}, {"method": "distance_linkage", "id": "own"}]
    }
    measures = {"measures": [{"measure": "rank_interval_disclosure", "p_percent": [20]}]}
    axes = {"attacks[2].scale_by": {"values": ["own"]}, "measures[0].p_percent": {"values": [[20], [20, 30]]}}
    found = sweep(MDAV, base=attacks | measures, axes=axes)
    made = [create_release_spec(found, point) for point in found.points()]
    assert {one.attacks[2].scale_by for one in made} == {"own"}
    assert [one.measures[0].p_percent for one in made[:2]] == [(20.0,), (20.0, 30.0)]


def test_a_policy_line_without_its_figure_is_a_wrong_point(sweep):
    measures = {"measures": [{"measure": "rank_interval_disclosure", "p_percent": [20]}]}
    line = {"measure": "rank_interval_disclosure", "p_percent": 30, "at_most": 0.5}
    axes = {"measures[0].p_percent": {"values": [[20], [20, 30]]}}
    base = measures | {"policy": [*BASE["policy"], line], "measures": [{**measures["measures"][0], "p_percent": [30]}]}
    found = sweep(MDAV, base=base, axes=axes)
    first, second = list(found.points())[:2]
    with pytest.raises(InputError, match="no interval of this width"):
        create_release_spec(found, first)
    assert create_release_spec(found, second).measures[0].p_percent == (20.0, 30.0)


def test_mapping_files_are_read_from_beside_the_file_that_names_them(sweep, tmp_path):
    (tmp_path / "towns.csv").write_text("old,new\n1,1\n2,1\n")
    town = {"attributes": BASE["attributes"] | {"town": {"role": "quasi_identifier", "scale": "nominal"}}}
    recoding = {"method": "recoding", "recode": {"town": {"file": "towns.csv"}}}
    found = sweep({"name": "recode", "masking": [recoding, {"method": "microaggregation", "k": 3}]}, base=town)
    assert create_release_spec(found, SweepPoint(0, "recode", ())).masking[0].recode[0][1].map == (("1", "1"), ("2", "1"))
