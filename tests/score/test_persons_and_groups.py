"""Figures that count persons, know absent records, and look at groups: from attacks on small releases."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import attack
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.alignment import Alignment
from tasks.microdata.interval import compute_bounded_mean_interval, hypergeometric_interval
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.score.anonymity import KAnonymitySubset, k_anonymity, k_anonymity_subset
from tasks.score.methods import score
from tasks.score.table_pair import RowwiseTablePair

SEED = bytes(range(32))
PLAIN = DistanceLinkage(method="distance_linkage")
BY = "|distance_linkage|declared"
ROLES = {"who": Role.PERSON, "house": Role.GROUP, "vote": Role.CONFIDENTIAL}


def schema_of(data, *, nominal=("vote",)):
    return Schema(
        tuple(
            Attribute(
                name,
                ROLES.get(name, Role.QUASI_IDENTIFIER),
                Scale.NOMINAL if name in nominal else Scale.NUMERIC,
                "declared",
            )
            for name in data.names
        )
    )


def figures(
    data, masked=None, *, alignment=None, targets=None, spec=PLAIN, steps=(), knows=("x",), who="declared", measures=()
):
    schema = schema_of(data)
    masked = data if masked is None else masked
    alignment = Alignment.complete_in(np.arange(data.n)) if alignment is None else alignment
    targets = np.arange(data.n) if targets is None else targets
    result = attack(data, masked, schema, steps, spec, Intruder(who, knows), alignment=alignment, targets=targets)
    n = find_units(data, schema).n_units
    found = score(data, masked, schema, steps, (result,), measures, alignment=alignment, n_targets=n)
    return {one.id: one for one in found}


@pytest.fixture(scope="module")
def homes():
    """Persons with one to three rows in twelve households; some rows live nowhere."""
    rng = np.random.default_rng(12)
    who = np.sort(rng.permutation(np.repeat(np.arange(40), rng.integers(1, 4, 40))))
    house = [None if h == 12 else int(h) for h in (who * 7 % 13)]
    columns = {"who": who, "house": house, "x": np.where(who % 5, who % 3, who), "vote": rng.choice(["a", "b"], len(who))}
    return Microdata.from_columns(columns)


def test_persons_are_what_is_counted(homes):
    found = figures(homes)
    rate = found[f"reidentification{BY}"]
    assert (rate.counts, rate.n_targets, rate.n_in_release, rate.basis) == ("persons", 40, 40, "exact")
    assert rate.chance == 1 / 40
    k = found["k_anonymity"]
    assert (k.counts, k.n_targets) == ("persons", 40)
    assert found[f"mean_candidate_set_size{BY}"].value <= 40
    assert found["records_absent"].value == 0
    assert not {"reidentification_present", "false_links_absent"} & {one.measure for one in found.values()}


def test_k_counts_persons_by_hand():
    data = Microdata.from_columns({"who": [1, 1, 1, 2, 3, 3], "x": [5, 5, 5, 6, 6, 6]})
    assert figures(data)["k_anonymity"].value == 1  # three rows alike, all of one person
    rows = Microdata.from_columns({"x": [5, 5, 5, 6, 6, 6]})
    assert figures(rows)["k_anonymity"].value == 3


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20))
def test_k_over_persons_against_a_dictionary(rows):
    who, x, y = (list(column) for column in zip(*rows, strict=True))
    data = Microdata.from_columns({"who": who, "x": x, "y": y})
    tables = RowwiseTablePair(data, data.select(["x", "y"]), schema_of(data), ())
    both, one = defaultdict(set), defaultdict(set)
    for w, a, b in rows:
        both[a, b].add(w)
        one[a].add(w)
    assert k_anonymity(tables).value == min(map(len, both.values()))
    assert k_anonymity_subset(tables, KAnonymitySubset(attributes=("x",))).value == min(map(len, one.values()))


def test_groups_exposed_against_a_dictionary(homes):
    found = figures(homes)[f"groups_exposed{BY}|house"]
    schema = schema_of(homes)
    alignment = Alignment.complete_in(np.arange(homes.n))
    outcomes = attack(
        homes, homes, schema, (), PLAIN, Intruder("declared", ("x",)), alignment=alignment, targets=np.arange(homes.n)
    ).outcomes
    who, house = homes.column("who").to_pylist(), homes.column("house").to_pylist()
    credit = {who[t]: c for t, c in zip(outcomes.floats("target").astype(int), outcomes.floats("credit"), strict=True)}
    groups = {h for h in house if h is not None}
    exposed = {h for h, w in zip(house, who, strict=True) if h is not None and credit[w] >= 0.5}
    assert 0 < len(exposed) < len(groups)
    assert (found.value, found.low, found.high, found.attribute) == (*[len(exposed) / len(groups)] * 3, "house")


def test_a_sample_bounds_the_groups_from_below(homes):
    schema = schema_of(homes)
    rows, _ = find_units(homes, schema).rows().find_rows(np.array([3, 30, 8, 11, 25, 17, 0, 39, 21, 5]))
    whole, found = figures(homes), figures(homes, targets=rows)
    rate, groups = found[f"reidentification{BY}"], found[f"groups_exposed{BY}|house"]
    assert (rate.n_targets, rate.basis) == (10, "sampled_targets")
    assert rate.low <= whole[rate.id].value <= rate.high
    assert groups.low == groups.value <= whole[groups.id].value
    assert groups.high == 1


def test_rates_over_the_present_and_false_links_of_the_absent():
    # records 1 and 4 are absent: 4 is nearest to one row alone, 1 lies between two
    data = Microdata.from_columns({"x": [0, 5, 10, 20, 31], "vote": ["a", "a", "b", "b", "b"]})
    alignment = Alignment(np.array([0, 2, 3]), np.array([1, 2, 0]), 5)
    found = figures(data, data.take(alignment.record), alignment=alignment)
    rate, present, false = (found[f"{m}{BY}"] for m in ("reidentification", "reidentification_present", "false_links_absent"))
    assert (rate.value, rate.n_targets, rate.n_in_release, rate.chance) == (3 / 5, 5, 3, 1 / 5)
    assert (present.value, present.n_targets, present.n_in_release, present.chance) == (1, 3, 3, 1 / 3)
    assert (false.value, false.n_targets, false.n_in_release) == (1 / 2, 2, 0)
    assert found["records_absent"].value == 2 / 5
    assert found[f"linked_value_disclosed{BY}|vote"].chance == 3 / 5  # the release's most frequent vote, of all five records
    assert {one.low for one in (rate, present, false)} == {rate.value, 1, 1 / 2}


def test_samples_of_the_present_and_the_absent():
    rng = np.random.default_rng(4)
    n = 200
    data = Microdata.from_columns({"x": rng.normal(size=n), "vote": rng.choice(["a", "b"], n)})
    alignment = Alignment(np.sort(rng.permutation(n)[:150]), rng.permutation(150), n)
    masked = Microdata.from_columns(
        {"x": data.floats("x")[alignment.record] + rng.normal(0, 0.05, 150), "vote": rng.choice(["a", "b"], 150)}
    )
    targets = np.random.default_rng(1).permutation(n)[:80]
    whole, some = figures(data, masked, alignment=alignment), figures(data, masked, alignment=alignment, targets=targets)
    there = alignment.present[targets]
    for measure in ("reidentification", "reidentification_present", "false_links_absent", "mean_candidate_set_size"):
        part = some[f"{measure}{BY}"]
        assert part.basis == "sampled_targets"
        assert part.low <= whole[part.id].value <= part.high
    present, false = some[f"reidentification_present{BY}"], some[f"false_links_absent{BY}"]
    assert (present.n_targets, false.n_targets, false.n_in_release) == (there.sum(), (~there).sum(), 0)
    counted = hypergeometric_interval(round(false.value * false.n_targets), false.n_targets, 50)
    assert (false.low, false.high) == (counted.low, counted.high)
    outcomes = attack(
        data, masked, schema_of(data), (), PLAIN, Intruder("declared", ("x",)), alignment=alignment, targets=targets
    ).outcomes
    bounds = compute_bounded_mean_interval(outcomes.floats("credit")[there], 150)
    assert (present.low, present.high) == (bounds.low, bounds.high)
    only_present = figures(data, masked, alignment=alignment, targets=alignment.record[:20])[f"false_links_absent{BY}"]
    assert (only_present.status, only_present.value) == ("not_applicable", None)


def test_absent_persons_are_those_without_any_row():
    data = Microdata.from_columns({"who": [0, 0, 1, 1, 2], "x": [0, 1, 10, 11, 20], "vote": ["a", "b", "a", "b", "a"]})
    partly = Alignment(np.array([0, 2, 4]), np.arange(3), 5)
    found = figures(data, data.take(partly.record), alignment=partly)
    assert not {"reidentification_present", "false_links_absent"} & {one.measure for one in found.values()}
    assert found["records_absent"].value == 2 / 5
    assert found[f"reidentification{BY}"].n_in_release == 3
    gone = Alignment(np.array([0, 1]), np.arange(2), 5)
    found = figures(data, data.take(gone.record), alignment=gone)
    assert found[f"reidentification_present{BY}"].n_targets == 1
    assert found[f"reidentification_present{BY}"].chance == 1
    assert found[f"false_links_absent{BY}"].value == 1


def test_losses_are_over_the_released_records():
    data = Microdata.from_columns({"x": [0.0, 10, 20, 30], "vote": ["a"] * 4})
    alignment = Alignment(np.array([1, 3]), np.arange(2), 4)
    steps = (Microaggregation(method="microaggregation", attributes=("x",), k=2),)
    masked = Microdata.from_columns({"x": [20.0, 20], "vote": ["a", "a"]})
    found = figures(data, masked, alignment=alignment, steps=steps)
    assert found["sse_percent"].value == pytest.approx(100)  # of the two that are released, both at their mean
    assert found["records_absent"].value == 0.5


def test_known_links_of_persons(homes):
    steps = (Microaggregation(method="microaggregation", attributes=("x",), k=3),)
    done = mask(homes, schema_of(homes), steps, seed=SEED, path=())
    spec = Transparency(method="transparency")
    found = figures(homes, done.data, spec=spec, steps=done.mechanisms)
    links, right = (found[f"{m}|transparency|declared"] for m in ("known_links", "known_reidentification"))
    assert links.value == right.value
    absent = Alignment(np.arange(1, homes.n), np.arange(homes.n - 1), homes.n)
    unsound = figures(homes, done.data.take(absent.record), spec=spec, steps=done.mechanisms, alignment=absent)
    assert "known_links|transparency|declared" not in unsound


def test_the_curve_gives_two_figures_alone(homes):
    schema, alignment = schema_of(homes), Alignment.complete_in(np.arange(homes.n))
    intruder = Intruder("knowing:1", ("x",), greedy=True)
    result = attack(homes, homes, schema, (), PLAIN, intruder, alignment=alignment, targets=np.arange(homes.n))
    assert not [name for name in result.outcomes.names if name.startswith("linked:")]
    assert "chosen one by one" in result.knows_data
    for one in (result, replace(result, status="failed", reason="why", outcomes=None)):
        found = score(homes, homes, schema, (), (one,), (), alignment=alignment, n_targets=40)
        assert [e.measure for e in found if e.attack] == ["reidentification", "records_exposed"]


def test_an_attack_that_failed_has_no_figure_of_groups_and_subgroups():
    rng = np.random.default_rng(1)
    data = Microdata.from_columns(
        {"x": rng.normal(size=300), "house": np.arange(300) // 3, "vote": rng.choice(["a", "b"], 300)}
    )
    alignment = Alignment(np.arange(290), np.arange(290), 300)
    schema = schema_of(data)
    result = attack(
        data, data.take(alignment.record), schema, (), PLAIN, Intruder("declared", ("x",)), alignment=alignment,
        targets=np.arange(300),
    )  # fmt: skip
    failed = replace(result, status="failed", reason="why", outcomes=None)

    def measured(one):
        found = score(data, data.take(alignment.record), schema, (), (one,), (), alignment=alignment, n_targets=300)
        return {e.id: e for e in found if e.attack}

    ran, none = measured(result), measured(failed)
    conditional = {
        "known_links",
        "known_reidentification",
    }  # of sound sets or margins, which nobody knows before the attack has run
    baselines = {"linked_value_control", "false_links_absent"}
    assert {e.id for e in none.values() if e.measure not in conditional} == {
        e.id for e in ran.values() if e.measure not in baselines | conditional
    }
    assert {(e.value, e.status) for e in none.values()} == {(None, "failed")}


def test_another_number_of_targets_is_refused(homes):
    with pytest.raises(ValueError, match="40 persons"):
        score(
            homes, homes, schema_of(homes), (), (), (), alignment=Alignment.complete_in(np.arange(homes.n)), n_targets=homes.n
        )
