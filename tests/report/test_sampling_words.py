"""Sampling and pseudonyms in words for somebody who uses the data."""

from __future__ import annotations

import pytest

from tasks.mask.pseudonyms import Pseudonyms
from tasks.mask.sampling import Sampling
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.report.mask_description import describe_mask


def schema_of(**roles):
    return Schema(tuple(Attribute(name, role, Scale.NUMERIC, "declared") for name, role in roles.items()))


PLAIN = schema_of(age=Role.QUASI_IDENTIFIER, town=Role.QUASI_IDENTIFIER)
WEIGHTED = schema_of(age=Role.QUASI_IDENTIFIER, w=Role.WEIGHT, who=Role.PERSON)


def sampling(**parameters):
    return Sampling(method="sampling", **parameters)


def test_a_simple_sample_in_words():
    said = describe_mask(sampling(share=0.25), PLAIN)
    assert said.title == "Simple random sample of 25\u202f% of the records"
    assert "the others are not in the release" in said.text
    total, error = said.analysts
    assert "the number of records in the source over their number in the release. It is about 4." in total
    assert "s * sqrt((1 - m/n) / m)" in error


def test_the_weights_are_not_changed_and_the_reader_is_told():
    said = describe_mask(sampling(size=1500), WEIGHTED)
    assert said.title == "Simple random sample of 1,500 persons"
    assert "each with all rows or none" in said.text
    assert "The weights in w are those of the source and were not changed: multiply them by it." in said.analysts[0]


@pytest.mark.parametrize("allocation", ["proportional", "equal"])
def test_a_stratified_sample_has_a_factor_for_each_stratum(allocation):
    said = describe_mask(sampling(size=50, by=("town",), allocation=allocation), PLAIN)
    assert said.title == "Stratified random sample of 50 records, by town"
    assert "Each combination of values of town was sampled by itself" in said.text
    assert "within each combination of town the number of records" in said.analysts[0]
    assert ("Means need it too" in said.analysts[0]) == (allocation == "equal")


@pytest.mark.parametrize(("stable", "joins"), [("release", False), ("series", True)])
def test_what_pseudonyms_join_is_told(stable, joins):
    step = Pseudonyms(method="pseudonyms", attributes=("who",), stable=stable)
    said = describe_mask(step, WEIGHTED)
    assert ("not attacked here" in said.text) == joins
    assert ("join this release to no other" in said.text) != joins
    assert (step.describe_residual_risk() is not None) == joins
