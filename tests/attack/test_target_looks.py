"""Targets in planned looks: their sizes, that they are nested, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.attack.outcomes.outcome import count_sampled_units, list_persons, sample_unit_rows
from tasks.attack.target_looks import TargetLooks, find_largest_share, plan_looks, require_one_share
from tasks.attack.threat import IntruderSpec
from tasks.microdata.errors import InputError
from tasks.microdata.interval import ERROR
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units

SEED = bytes(range(32))


def looks(first: float, last: float, number: int) -> TargetLooks:
    return TargetLooks(first=first, last=last, looks=number)


def units_of(persons):
    """The units of rows of these persons; None: every row is a record of its own."""
    described = Attribute(name="pid", role=Role.PERSON, scale=Scale.CODE, decided_by="declared")
    key = np.array(persons)
    schema = Schema((described,)) if len(set(persons)) < len(persons) else Schema(())
    return find_units(Microdata.from_columns({"pid": key}), schema)


def test_worked_example_three_looks_of_a_million():
    planned = plan_looks(looks(0.001, 0.1, 3))
    assert [count_sampled_units(1_000_000, one.share) for one in planned] == [1_000, 10_000, 100_000]
    assert [one.name for one in planned] == ["look 1 of 3", "look 2 of 3", "look 3 of 3"]
    assert [one.is_last for one in planned] == [False, False, True]
    assert [one.share for one in planned] == [0.001, 0.01, 0.1], "without the last bits of a power"
    assert planned[2].share == planned[0].last_share == 0.1
    assert [one.error * 3 for one in planned] == pytest.approx([ERROR] * 3)
    assert (1 + planned[0].confidence) / 2 == pytest.approx(1 - 0.05 / 3)


@pytest.mark.parametrize(("first", "last"), [(1e-320, 0.5), (0.12345678, 0.12345679)])
def test_no_look_attacks_more_than_the_last_one(first, last):
    # last / first is infinite; and what lies between, to six digits, is more than both
    shares = [one.share for one in plan_looks(looks(first, last, 5))]
    assert shares == sorted(shares) and (shares[0], shares[-1]) == (first, last)


def test_a_plain_share_has_no_looks():
    assert plan_looks(0.2) == ()
    assert find_largest_share(0.2) == require_one_share(0.2, "a sweep") == 0.2
    assert find_largest_share(looks(0.1, 0.5, 2)) == 0.5


@given(st.floats(1e-4, 0.4), st.floats(0.5, 1.0), st.integers(2, 12), st.integers(1, 300), st.booleans())
def test_each_look_has_the_targets_of_the_one_before(first, last, number, n, joined):
    persons = [i // 3 if joined else i for i in range(n)]
    units, taken = units_of(persons), []
    for look in plan_looks(looks(first, last, number)):
        rows = sample_unit_rows(units, look.share, stream(SEED, "targets"))
        drawn = list_persons(units, rows).tolist()
        assert len(drawn) == len(set(drawn)) == count_sampled_units(units.n_units, look.share)
        assert drawn[: len(taken)] == taken, "in the same order"
        assert len(rows) == sum(person in set(drawn) for person in units.of_row.tolist()), "with all rows of a person"
        taken = drawn
    assert len(taken) == max(1, round(last * units.n_units))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"first": 0.1, "last": 0.1, "looks": 2}, "smaller share"),
        ({"first": 0.2, "last": 0.1, "looks": 2}, "smaller share"),
        ({"first": 0.01, "last": 0.1, "looks": 1}, "greater than or equal to 2"),
        ({"first": 0.01, "last": 0.1, "looks": 13}, "less than or equal to 12"),
        ({"first": 0.0, "last": 0.1, "looks": 2}, "greater than 0"),
        ({"first": 0.01, "last": 1.1, "looks": 2}, "less than or equal to 1"),
        ({"first": 0.01, "looks": 2}, "Field required"),
        ({"first": 0.01, "last": 0.1, "looks": 2, "growth": 3}, "Extra inputs"),
        ({"first": 0.01, "last": 0.1, "looks": "2"}, "valid integer"),
    ],
)
def test_looks_that_cannot_be_planned_are_refused(written, said):
    with pytest.raises(ValidationError, match=said):
        IntruderSpec.model_validate_json(json.dumps({"targets": written}))


def test_looks_are_public_and_a_plain_share_is_as_it_was():
    spec = IntruderSpec.model_validate_json('{"targets": {"first": 0.01, "last": 0.5, "looks": 3}}')
    assert spec.public()["targets"] == {"first": 0.01, "last": 0.5, "looks": 3}
    assert IntruderSpec.model_validate_json('{"targets": 0.25}').public()["targets"] == 0.25
    with pytest.raises(InputError) as refused:
        require_one_share(spec.targets, "a sweep")
    assert (refused.value.where, refused.value.allowed) == ("intruder.targets", "a share of the records, such as 0.01")
