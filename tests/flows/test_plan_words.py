"""How `sdcert check` writes the parameters of a step on one line."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from flows.console.parameters import with_parameters
from tasks.mask.methods import Masking


def words(**fields: object) -> str:
    import json

    return with_parameters(TypeAdapter(Masking).validate_json(json.dumps(fields)))


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
