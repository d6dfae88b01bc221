"""What a release file may say of a distance, and what the attack then does in words."""

import pytest
from pydantic import TypeAdapter, ValidationError

from tasks.attack.linkage.distance_linkage import DistanceLinkage

SPEC = TypeAdapter(DistanceLinkage)


def spec_of(**fields):
    return SPEC.validate_python({"method": "distance_linkage", **fields}, strict=False)


@pytest.mark.parametrize(
    "distance",
    [
        {"kind": "weighted_mean", "weights": {"a": -1.0}},
        {"kind": "owa", "weights": [0.0]},
        {"kind": "choquet", "measure": [{"of": ["a"], "value": 0.7}, {"of": ["a", "b"], "value": 0.6}]},
        {"kind": "choquet", "measure": [{"of": ["a"], "value": 0.7}, {"of": ["a"], "value": 0.6}, {"of": ["b"], "value": 0.6}]},
        {"kind": "choquet_2_additive", "singles": {"a": 0.4, "b": 0.4}, "pairs": [{"of": ["a", "c"], "value": 0.2}]},
        {"kind": "bilinear", "attributes": ["a", "b"], "matrix": [[1.0, 2.0]]},
        {"kind": "bilinear", "attributes": ["a", "a"], "matrix": [[1.0, 2.0], [2.0, 1.0]]},
    ],
)  # fmt: skip
def test_what_is_no_distance_is_refused(distance):
    with pytest.raises(ValidationError):
        spec_of(distance=distance)
    with pytest.raises(ValidationError):
        spec_of(compare={"a": {"by": "hierarchy"}})


def test_a_rule_in_words():
    assert spec_of().rule == "links each record to the released rows that are nearest to it, ties shared"
    assert "one to one" in spec_of(matching="one_to_one").rule
    assert spec_of(distance={"kind": "owa", "weights": [1.0]}).rule.endswith("by the distance owa")
