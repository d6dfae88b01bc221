"""How `sdcert check` writes the parameters of a step on one line."""

from __future__ import annotations

import json

import pytest
from pydantic import TypeAdapter

from flows.cli.plan_text import describe_method, describe_method_fields, describe_plan
from flows.release import ReleaseSpec
from tasks.mask.methods import Masking

POLICY = [{"measure": "membership_auc", "at_most": 0.7}]


def words(**fields: object) -> str:
    return describe_method(TypeAdapter(Masking).validate_json(json.dumps(fields)))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"method": "microaggregation", "attributes": ["age", "educ"], "k": 5},
         "microaggregation attributes age educ, k 5, partition mdav, standardize yes"),
        ({"method": "microaggregation", "k": 5, "blocks": [["age", "educ"], {"attributes": ["pay"], "k": 3}]},
         "microaggregation k 5, partition mdav, blocks (age educ; attributes pay, k 3), standardize yes"),
        ({"method": "rounding", "bases": {"age": 5.0, "pay": 500.0}, "kind": "random"},
         "rounding bases (age 5.0; pay 500.0), kind random"),
        ({"method": "top_bottom_coding", "limits": {"age": {"top": 85}, "pay": {"top_percent": 2.0, "publish": "median"}}},
         "top_bottom_coding limits (age top 85, publish limit; pay top_percent 2.0, publish median)"),
        ({"method": "pram", "attributes": ["sex"], "retention": 0.8},
         "pram attributes sex, retention 0.8, jointly no, invariant no"),
    ],
)  # fmt: skip
def test_nested_parameters_stand_in_brackets(fields, told):
    assert words(**fields) == told


def test_of_a_long_mapping_its_size_is_told():
    towns = {f"town {i}": f"region {i % 3}" for i in range(40)}
    found = words(method="recoding", recode={"town": {"map": towns}})
    assert "town map of 40 entries" in found
    assert "region 1" not in found
    matrix = {f"c{i}": {f"c{j}": 1 / 20 for j in range(20)} for i in range(20)}
    assert words(method="pram", attributes=["job"], matrix=matrix).startswith("pram attributes job, matrix of 20 entries")


def test_a_list_of_names_is_written_out_however_long():
    names = [f"a{i}" for i in range(30)]
    assert f"attributes {' '.join(names)}, k 3" in words(method="microaggregation", attributes=names, k=3)


def release(**fields: object) -> ReleaseSpec:
    about = {"name": "survey", "source": {"dataset": "anes96"}, "policy": [{"measure": "k_anonymity", "at_least": 2}]}
    return ReleaseSpec.model_validate_json(json.dumps({**about, **fields}))


def test_what_is_empty_is_left_out():
    fields = {"method": "probabilistic_linkage", "comparisons": {}, "interactions": [], "name": "", "cutoff": 0, "fast": False}
    assert describe_method_fields(fields) == "probabilistic_linkage cutoff 0, fast no"
    attack = {"method": "probabilistic_linkage"}
    told = dict(
        describe_plan(release(attacks=[attack], masking=[{"method": "pram", "attributes": ["vote"], "retention": 0.8}]), ())
    )
    assert "interactions" not in told["attack"] and " ," not in told["attack"]
    assert told["ingest"] == "dataset anes96"
    assert told["classify"] == "every attribute by its evidence"


def test_attacks_that_use_no_shadow_models_are_told_without_their_number():
    asking = [
        {"method": "loss_threshold"},
        {"method": "loss_threshold", "id": "shadowed", "threshold": "shadow_models"},
        {"method": "shadow_models", "shadows": 12},
    ]
    model = {"learner": {"method": "naive_bayes"}, "target": "vote"}
    lines = describe_plan(release(release={"model": model}, control=0.25, membership=asking, policy=POLICY), ())
    assert [what for stage, what in lines if stage == "attack"] == [
        "loss_threshold threshold training_loss on whose records the model was trained on",
        "loss_threshold id shadowed, threshold shadow_models, shadows 8 on whose records the model was trained on",
        "shadow_models shadows 12 on whose records the model was trained on",
        "model_answers on confidential values",
    ]
