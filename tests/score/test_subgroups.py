"""Rates of the tails and the rare: who belongs, what a policy may ask of them, what of it is public."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import attack
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError
from tasks.microdata.estimate import Estimate
from tasks.microdata.interval import compute_bounded_mean_interval
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.score.figure_rounding import round_criteria, round_for_publication
from tasks.score.known_release import Known
from tasks.score.methods import score
from tasks.score.policy import PolicyLine, check_policy
from tasks.score.scored_targets import NONE_DRAWN
from tasks.score.subgroups import find_subgroups
from tasks.score.verdict import decide


def schema_of(scale, role=Role.QUASI_IDENTIFIER, **more):
    return Schema(
        (Attribute("a", role, scale, "declared"), *(Attribute(n, r, Scale.NUMERIC, "declared") for n, r in more.items()))
    )


def members(values, scale=Scale.NUMERIC, **more):
    data, schema = Microdata.from_columns({"a": values}), schema_of(scale)
    return {one.name: np.flatnonzero(one.members).tolist() for one in find_subgroups(data, schema, find_units(data, schema))}


def test_tails_by_hand():
    assert members(np.arange(200)) == {"lowest values": [*range(10)], "highest values": [*range(190, 200)]}
    assert members(np.arange(199)) == {}  # nine at each end
    # 48 zeros are 24 percent and no tail; of the highest value there are 16, 8 percent: it alone is the tail
    popul = np.concatenate([np.zeros(48), np.arange(1, 137), np.full(16, 999)])
    assert members(popul) == {"highest values": [*range(184, 200)]}
    assert members(np.concatenate([np.arange(179), np.full(21, 999)])) == {"lowest values": [*range(10)]}  # 10.5 percent
    # the next value would make it 11 of 200
    assert members(np.concatenate([np.arange(189), [500] * 1, [999] * 10])) == {
        "lowest values": [*range(10)],
        "highest values": [*range(190, 200)],
    }
    assert members([None] * 5) == members([7.0] * 300) == {}


def test_missing_values_belong_to_no_tail():
    values = [*range(200), *[None] * 100]
    assert members(values) == {"lowest values": [*range(10)], "highest values": [*range(190, 200)]}


def test_rare_categories_by_hand():
    values = ["a"] * 150 + ["b"] * 10 + ["c"] * 9 + ["d"] * 4 + [None] * 20 + ["e"] * 27
    assert members(values, Scale.NOMINAL) == {"rare categories": [*range(160, 173)]}  # b is 10 of 200, not under 5 percent
    assert members([str(i) for i in range(300)], Scale.NOMINAL) == {}  # everybody is rare
    assert members(["a"] * 200 + ["b"] * 9, Scale.NOMINAL) == {}
    assert members([7] * 290 + [8] * 10, Scale.CODE) == {"rare categories": [*range(290, 300)]}


@pytest.mark.parametrize(
    ("scale", "role", "looked_at"),
    [
        (Scale.ORDINAL, Role.CONFIDENTIAL, True),
        (Scale.NUMERIC, Role.WEIGHT, False),
        (Scale.NUMERIC, Role.OTHER, False),
        (Scale.NUMERIC, Role.IDENTIFIER, False),
    ],
)
def test_which_attributes_are_looked_at(scale, role, looked_at):
    data, schema = Microdata.from_columns({"a": np.arange(200)}), schema_of(scale, role)
    assert bool(find_subgroups(data, schema, find_units(data, schema))) is looked_at


def test_persons_count_by_their_extreme_rows():
    # 200 persons of two rows: one at 0..199, one at 1000 for everybody but the persons 0..9, who have 2000
    rows = np.arange(400)
    data = Microdata.from_columns({"a": np.where(rows % 2, np.where(rows < 20, 2000, 1000), rows // 2), "who": rows // 2})
    schema = schema_of(Scale.NUMERIC, who=Role.PERSON)
    found = {one.name: np.flatnonzero(one.members).tolist() for one in find_subgroups(data, schema, find_units(data, schema))}
    assert found == {"lowest values": [*range(10)], "highest values": [*range(10)]}
    codes = Microdata.from_columns({"a": np.where(rows % 2, 1, np.where(rows < 30, 2, 3)), "who": rows // 2})
    schema = schema_of(Scale.CODE, who=Role.PERSON)
    wide = [one for one in find_subgroups(codes, schema, find_units(codes, schema)) if one.name == "rare categories"]
    assert wide == []  # fifteen of two hundred persons, 7.5 percent
    few = Microdata.from_columns({"a": np.where(rows % 2, 1, np.where(rows >= 382, 2, 3)), "who": (rows + 2) // 2 % 200})
    assert find_subgroups(few, schema, find_units(few, schema)) == ()  # nine persons


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(1, 400), st.sampled_from([2, 5, 30, 1000]))
def test_tails_are_small_whole_and_extreme(seed, n, different):
    values = np.random.default_rng(seed).integers(0, different, n)
    for name, found in members(values).items():
        inside = np.isin(np.arange(n), found)
        assert 10 <= len(found) <= 0.10 * n
        ends = (
            (values[inside].min(), values[~inside].max())
            if name == "highest values"
            else (-values[inside].max(), -values[~inside].min())
        )
        assert ends[0] > ends[1]
        if len(found) > 0.05 * n:
            assert len(set(values[inside])) == 1


@pytest.fixture(scope="module")
def release():
    """400 people; those at the upper end of `a` stand apart from everybody, the others are released in pairs."""
    a = np.concatenate([np.repeat(np.arange(190.0), 2), 1000 + 10.0 * np.arange(20)])
    data = Microdata.from_columns({"a": a, "vote": ["x"] * 388 + ["y"] * 12})
    schema = Schema(
        (
            Attribute("a", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
            Attribute("vote", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
        )
    )
    return data, schema


def scored(release, targets=None, who=("declared",)):
    data, schema = release
    alignment = Alignment.complete_in(np.arange(data.n))
    targets = np.arange(data.n) if targets is None else targets
    spec = DistanceLinkage(method="distance_linkage")
    results = tuple(
        attack(data, data, schema, (), spec, Intruder(name, ("a",)), alignment=alignment, targets=targets) for name in who
    )
    return score(data, data, schema, (), results, (), alignment=alignment, n_targets=data.n)


def test_rates_of_subgroups(release):
    found = {(e.attribute, e.subgroup): e for e in scored(release, who=("declared", "insider:vote")) if e.subgroup}
    assert {key: (e.value, e.n_targets) for key, e in found.items()} == {
        ("a", "lowest values"): (0.5, 20),
        ("a", "highest values"): (1.0, 20),
        ("vote", "rare categories"): (1.0, 12),
    }
    assert {e.intruder for e in found.values()} == {"declared"}
    assert {(e.chance, e.basis, e.low == e.high) for e in found.values()} == {(1 / 400, "exact", True)}
    assert found["a", "highest values"].id == "subgroup_reidentification|distance_linkage|declared|a|highest values"


def test_samples_of_subgroups(release):
    targets = np.random.default_rng(3).permutation(400)[:300]
    found = {(e.attribute, e.subgroup): e for e in scored(release, targets) if e.subgroup}
    lowest = found["a", "lowest values"]
    inside = int((targets < 20).sum())
    assert (lowest.n_targets, lowest.basis) == (inside, "sampled_targets")
    bounds = compute_bounded_mean_interval(np.full(inside, 0.5), 20)
    assert (lowest.low, lowest.high) == (bounds.low, bounds.high)
    few = [e for e in scored(release, np.arange(100)) if e.subgroup]
    assert [(e.attribute, e.subgroup) for e in few if e.status == "ok"] == [("a", "lowest values")]
    assert {(e.reason, e.n_targets) for e in few[1:]} == {(NONE_DRAWN, 0)}, "nobody of the others was drawn"
    (criterion,) = decide((PolicyLine(measure="subgroup_reidentification", at_most=0.9),), tuple(few)).criteria
    assert (criterion.decision, NONE_DRAWN in criterion.reason) == ("undecided", True)


def test_policy_lines_about_subgroups(release):
    def line(**fields):
        return PolicyLine(measure="subgroup_reidentification", at_most=0.6, **fields)

    policy = (
        line(),
        line(subgroup="lowest values"),
        line(subgroup="highest values"),
        line(attribute="vote"),
        line(attribute="vote", subgroup="lowest values"),
        PolicyLine(measure="reidentification", at_most=0.6),
    )
    check_policy(policy, Known(attributes=("a", "vote"), intruders=("declared",)))
    found = decide(policy, scored(release)).criteria
    assert [one.decision for one in found] == ["fail", "pass", "fail", "fail", "undecided", "pass"]
    assert [(one.attribute, one.subgroup) for one in found] == [
        ("a", "highest values"),
        ("a", "lowest values"),
        ("a", "highest values"),
        ("vote", "rare categories"),
        ("vote", "lowest values"),
        (None, None),
    ]


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"measure": "subgroup_reidentification", "subgroup": "the old"}, "policy[0].subgroup"),
        ({"measure": "subgroup_reidentification", "intruder": "insider"}, "policy[0].intruder"),
        ({"measure": "reidentification", "subgroup": "lowest values"}, "policy[0].subgroup"),
        ({"measure": "reidentification", "intruder": "knowing:1"}, "policy[0].intruder"),
        ({"measure": "false_links_absent"}, "policy[0].measure"),
    ],
)
def test_lines_that_cannot_be_meant(fields, where):
    with pytest.raises(InputError) as refused:
        check_policy((PolicyLine(at_most=0.1, **fields),), Known())
    assert refused.value.where == where


def test_what_of_subgroups_is_public():
    exact = Estimate(
        measure="subgroup_reidentification", attack="x", intruder="declared", attribute="a", subgroup="highest values",
        value=17 / 123, low=17 / 123, high=17 / 123, unit="share", n_targets=123, n_in_release=118, chance=123 / 45678,
        chance_kind="uniform_guess",
    )  # fmt: skip
    groups = Estimate(
        measure="groups_exposed", attack="x", intruder="declared", attribute="house", value=3 / 457, low=3 / 457, high=1.0,
        unit="share", n_targets=1234, n_in_release=1234,
    )  # fmt: skip
    found = round_for_publication((exact, groups))
    first = (found[0].value, found[0].low, found[0].n_targets, found[0].n_in_release, found[0].chance)
    assert first == (0.16, 0.16, 120, 120, 0.0027)  # 17 are shown as 20 of 123
    assert (found[1].value, found[1].high, found[1].n_targets) == (0.0081, 1.0, 1234)  # 10 of 1234
    small = [replace(exact, n_targets=n, n_in_release=n) for n in (10, 13, 47, 96, 1234)]
    assert [one.n_targets for one in round_for_publication(tuple(small))] == [10, 10, 50, 100, 1200]
    line = PolicyLine(measure="subgroup_reidentification", at_most=0.14)
    criteria = decide((line,), (exact,)).criteria
    shown = round_for_publication((exact,), ((line, criteria[0]),))
    (criterion,) = round_criteria(criteria, (exact,), shown)
    assert (criterion.decision, criterion.deciding_value, shown[0].value) == ("pass", 0.14, 0.14)  # kept: shown within it
