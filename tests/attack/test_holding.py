"""What an intruder holds instead of the original values, and what it is worth to them."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.linkage.holding import apply_holdings
from tasks.attack.methods import attack
from tasks.attack.threat import Intruder, IntruderSpec, intruders
from tasks.attack.transparency.transparency import Transparency
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Scale

N = 400


@pytest.fixture(scope="module")
def people(table):
    rng = np.random.default_rng(1)
    columns = {
        "age": rng.integers(0, 1000, N),
        "size": rng.normal(50, 10, N),
        "town": rng.choice(["Oslo", "Bergen", "Lund"], N),
        "grade": rng.choice(["low", "mid", "high"], N),
        "born": [datetime.date(2000, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 9000, N)],
        "vote": rng.choice(["a", "b"], N),
    }
    scales = {"town": Scale.NOMINAL, "grade": Scale.NOMINAL, "born": Scale.DATE, "vote": Scale.NOMINAL}
    return table(columns, scales=scales, roles={"vote": Role.CONFIDENTIAL})


def holds(**by_name):
    return IntruderSpec.model_validate_json(TypeAdapter(dict).dump_json({"holds": by_name})).holds


def seen(people, **by_name):
    data, schema = people
    return apply_holdings(data, schema, holds(**by_name))


def test_noise_rounding_and_units(people):
    data = people[0]
    size = data.floats("size")
    noisy = seen(people, size={"noise_percent": 50}).floats("size") - size
    assert noisy.std() == pytest.approx(5, rel=0.15)
    assert abs(noisy.mean()) < 1
    assert (seen(people, size={"rounded_to": 5}).floats("size") == np.round(size / 5) * 5).all()
    assert seen(people, size={"times": 0.01}).floats("size") == pytest.approx(size / 100)
    assert np.ptp(seen(people, age={"noise_percent": 1}).floats("age") % 1) > 0  # whole numbers become decimals
    days = seen(people, born={"noise_percent": 10}).floats("born")
    assert (days % 1 == 0).all()
    assert 0 < np.abs(days - data.floats("born")).mean() < 1000


def test_errors_gaps_and_coarser_categories(people):
    data = people[0]
    wrong = seen(people, age={"wrong_percent": 30}).floats("age") != data.floats("age")
    assert wrong.mean() == pytest.approx(0.3, abs=0.08)
    assert seen(people, town={"missing_percent": 20}).missing("town").mean() == pytest.approx(0.2, abs=0.07)
    coarser = seen(people, town={"coarser": {"Oslo": "Norway", "Bergen": "Norway", "Lund": "Sweden"}})
    assert set(coarser.column("town").to_pylist()) == {"Norway", "Sweden"}
    assert (
        seen(people, age={"wrong_percent": 30}).floats("age") == seen(people, age={"wrong_percent": 30}).floats("age")
    ).all()


@pytest.mark.parametrize(
    ("by_name", "code"),
    [
        ({"town": {"noise_percent": 5}}, "no-order"),
        ({"born": {"times": 2}}, "no-unit"),
        ({"town": {"coarser": {"Oslo": "Norway"}}}, "unknown-category"),
        ({"age": {"coarser": {"1": "2"}}}, "not-texts"),
    ],
)
def test_what_an_attribute_cannot_have(people, by_name, code):
    with pytest.raises(InputError) as refused:
        seen(people, **by_name)
    assert (refused.value.code, refused.value.where) == (code, f"intruder.holds.{next(iter(by_name))}")


def test_what_says_nothing_is_refused():
    for one in ({}, {"missing_percent": 0}, {"noise_percent": None}):
        with pytest.raises(ValidationError):
            holds(a=one)


def test_what_he_does_not_know_he_does_not_hold(people):
    spec = IntruderSpec(knows=("age",), holds=holds(size={"rounded_to": 5}))
    with pytest.raises(InputError, match="not among the attributes that they know"):
        intruders(spec, people[1])


def rate(people, holdings, **fields):
    data, schema = people
    spec = DistanceLinkage(method="distance_linkage", **fields)
    who, targets = Intruder("declared", ("age", "size"), holds=holdings), np.arange(N)
    found = attack(data, data, schema, (), spec, who, alignment=Alignment.complete_in(targets), targets=targets)
    return float(found.outcomes.floats("credit").mean()), found


def test_what_it_is_worth(people):
    exact, _ = rate(people, ())
    light, found = rate(people, holds(age={"noise_percent": 2}))
    heavy, _ = rate(people, holds(age={"noise_percent": 100}))
    assert exact == 1 > light > heavy > 1 / N
    assert "in a file of their own: age (noise of 2 % of its standard deviation)" in found.knows_data
    in_other_unit, own_scale = holds(size={"times": 2.54}), {"scale_by": "own"}
    assert rate(people, in_other_unit)[0] < 0.5
    assert rate(people, in_other_unit, **own_scale)[0] == 1


def test_what_is_scored_is_the_original(people):
    data, schema = people
    who = Intruder("declared", ("age",), holds=holds(age={"missing_percent": 100}))
    targets = np.arange(N)
    found = attack(
        data, data, schema, (), DistanceLinkage(method="distance_linkage"), who, alignment=Alignment.complete_in(targets),
        targets=targets,
    )  # fmt: skip
    assert found.outcomes.floats("credit").mean() == pytest.approx(1 / N)


def test_who_holds_what(people):
    _, schema = people
    spec = IntruderSpec(knows=("age", "size"), holds=holds(age={"rounded_to": 10}))
    by_name = {one.name: one for one in intruders(spec, schema, people[0])}
    assert by_name["declared"].holds == spec.holds
    assert by_name["insider:vote"].holds == ()
    assert by_name["knowing:1"].holds == (spec.holds if by_name["knowing:1"].knows == ("age",) else ())
    kind = TypeAdapter(Intruder)
    tree = Intruder("declared", ("town",), holds=holds(town={"coarser": {"Oslo": "Norway"}}))
    assert kind.validate_json(kind.dump_json(tree)) == tree
    assert TypeAdapter(IntruderSpec).validate_json(spec.model_dump_json()) == spec


def test_other_attacks_hold_the_original_values(people):
    data, schema = people
    targets = np.arange(N)
    results = [
        attack(
            data, data, schema, (), Transparency(method="transparency"), Intruder("declared", ("age",), holds=one),
            alignment=Alignment.complete_in(targets), targets=targets,
        )
        for one in ((), holds(age={"noise_percent": 50}))
    ]  # fmt: skip
    assert results[0] == results[1]
