"""External files of the intruder: whose each record is, and what links of such records are worth."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from held_files import PLAIN, declared, figures_of, file_spec, holder, result_of, values
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.learned.learned_linkage import LearnedLinkage
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.linkage.external_files import create_file_use, name_files, plan_file
from tasks.attack.linkage.file_alignment import align_external_file
from tasks.attack.methods import attack
from tasks.attack.row_position import RowPosition
from tasks.attack.task import scored_targets
from tasks.attack.transparency.transparency import Transparency
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata
from tasks.runtime.draws import keep_chosen_seed

ROLES = {"id": Role.IDENTIFIER, "vote": Role.CONFIDENTIAL, "house": Role.GROUP, "pid": Role.PERSON}
SCALES = {"id": Scale.CODE, "pid": Scale.CODE, "vote": Scale.NOMINAL, "town": Scale.NOMINAL, "house": Scale.CODE}


@pytest.fixture(scope="module")
def five(table):
    """Five records of whom four are released; row 2 of the release is 30 in both, so that 30 ties with nobody."""
    data, schema = table(
        {"id": ["a", "b", "c", "d", "e"], "age": [10, 20, 30, 40, 50], "vote": ["y", "n", "y", "n", "y"]},
        scales=SCALES,
        roles=ROLES,
    )
    masked = Microdata.from_columns({"age": [12, 18, 40, 48], "vote": ["y", "n", "n", "y"]})
    alignment = Alignment(np.array([0, 1, 3, 4]), np.arange(4), 5)
    return GroundTruth.create_from_tables(data, masked, schema, alignment), schema


def test_seven_records_of_whom_five_are_in_the_source(five):
    """By hand: the nearest of 12 18 40 48 to each age of the file; 15 ties between 12 and 18.

    x 11 -> 12, y 60 -> 48 (nobody's: both absent), a 15 -> 12 and 18 (1/2), b 21 -> 18, c 33 -> 40 (absent from the release),
    d 47 -> 48 (wrong), e 50 -> 48.
    """
    source, schema = five
    file = Microdata.from_columns({"age": [60, 50, 47, 33, 21, 15, 11], "id": ["y", "e", "d", "c", "b", "a", "x"]})
    found, figures = result_of(source, schema, file)
    outcomes = found.outcomes
    assert outcomes.floats("credit").tolist() == [0.5, 1, 0, 0, 1, 0, 0]  # a b c d e, then x and y
    assert outcomes.floats("in_release").tolist() == [1, 1, 0, 1, 1, 0, 0]
    assert outcomes.floats("candidates").tolist() == [2, 1, 1, 1, 1, 1, 1]
    rate, present = figures["reidentification", None], figures["reidentification_present", None]
    assert (rate.value, rate.n_targets, rate.n_in_release) == (2.5 / 7, 7, 4)
    assert rate.chance == 4 / 7 / 4  # each of the four present expects 1/4
    assert (present.value, present.chance) == (2.5 / 4, 1 / 4)
    assert figures["false_links_absent", None].value == 1  # c, x and y are each given one row
    # votes shown by the linked rows: a y or n (1/2), b n, c n but says y, d y but says n, e y; x and y have no vote to be told
    linked = figures["linked_value_disclosed", "vote"]
    assert (linked.value, linked.n_targets) == ((0.5 + 1 + 0 + 0 + 1) / 5, 5)
    assert linked.chance == 0.5  # the release has two y and two n
    assert "the 7 records of an external file, of which 4 are in the release" in found.knows_data


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_the_source_shuffled_is_the_declared_intruder(table, seed):
    """To the bit, absent records, margins and confidential values among them; whatever the order of the file."""
    source, schema = released(table, seed)
    knows = ("age", "size", "town")
    rng = np.random.default_rng(seed)
    file = source.original.select(("id", *knows)).take(rng.permutation(source.original.n))
    for how in (PLAIN, DistanceLinkage(method="distance_linkage", direction="to_original", scale_by="original"),
                DistanceLinkage(method="distance_linkage", matching="one_to_one")):  # fmt: skip
        assert values(result_of(source, schema, file, how=how)[1]) == values(declared(source, schema, knows, how))


def released(table, seed, n=60):
    rng = np.random.default_rng(seed)
    columns = {
        "id": [f"{i:03}" for i in rng.permutation(n)],
        "age": rng.integers(18, 40, n),
        "size": rng.normal(50, 10, n),
        "town": rng.choice(["Oslo", "Bergen", "Lund"], n),
        "vote": rng.choice(["a", "b", "c"], n),
        "house": rng.integers(0, n // 2, n),
    }
    data, schema = table(columns, scales=SCALES, roles=ROLES)
    kept = np.sort(rng.permutation(n)[: n - 10])
    masked = data.select(("age", "size", "town", "vote")).take(kept)
    noisy = pa.array(masked.floats("size") + rng.normal(0, 3, len(kept)))
    alignment = Alignment(kept, rng.permutation(len(kept)), n)
    return GroundTruth.create_from_tables(data, masked.replace_column("size", noisy), schema, alignment), schema


def test_the_order_of_the_file_says_nothing(table):
    """With people of whom the source knows nothing among them; the file is smaller than the release, and larger."""
    source, schema = released(table, 5)
    rng = np.random.default_rng(1)
    for n_own, n_others in ((20, 9), (60, 40)):
        own = source.original.select(("id", "age", "size")).take(rng.permutation(60)[:n_own])
        foreign = Microdata.from_columns(
            {
                "id": [f"x{i}" for i in range(n_others)],
                "age": rng.integers(18, 40, n_others),
                "size": rng.normal(50, 10, n_others),
            }
        )
        file = Microdata(pa.concat_tables([own.arrow, foreign.arrow]))
        spec = file_spec(convert={"size": {"noise_percent": 10}})
        first, figures = result_of(source, schema, file, spec)
        again, others = result_of(source, schema, file.take(rng.permutation(file.n)), spec)
        assert first.outcomes.arrow.equals(again.outcomes.arrow)
        assert values(figures) == values(others)
        assert figures["reidentification", None].n_targets == n_own + n_others
        assert 0 < figures["reidentification", None].value < figures["reidentification_present", None].value <= 1


def test_guessing_earns_chance(table):
    """The mean credit over all shuffles of who is who is the chance, for any links: here over rotations of the keys."""
    source, schema = released(table, 3)
    file = source.original.select(("id", "age")).take(np.arange(40))
    ids = file.column("id").to_pylist()
    rates = []
    for by in range(40):
        turned = file.replace_column("id", pa.array(ids[by:] + ids[:by]))
        found, figures = result_of(source, schema, turned, file_spec(attributes=["age"]))
        rates.append(figures["reidentification", None].value)
    there = found.outcomes.floats("in_release").sum()
    assert found.chance == there / 40 / 50
    credit = np.mean(rates)
    assert 0 < credit < 1
    direct = []
    for row in range(40):  # who holds this age: the share of the file's people among the rows that are nearest to it
        links = np.abs(source.masked.floats("age") - file.floats("age")[row])
        near = links == links.min()
        of_file = source.alignment.record[near] < 40
        direct.append(of_file.sum() / near.sum() / 40)
    assert credit == pytest.approx(np.mean(direct))


def test_units_are_converted(table):
    source, schema = released(table, 8)
    knows = ("age", "size")
    thousands = pa.array(source.original.floats("size") / 1000)
    file = Microdata.from_columns({"ID": source.original.column("id"), "age": source.original.column("age"), "k": thousands})
    spec = file_spec(key={"ID": "id"}, attributes={"k": "size", "age": "age"}, convert={"size": {"times": 1000}})
    figures = result_of(source, schema, file, spec)[1]
    assert figures["reidentification", None].value == declared(source, schema, knows)["reidentification", None].value
    lost = result_of(source, schema, file, replace_convert(spec))[1]
    assert lost["reidentification", None].value < figures["reidentification", None].value / 2
    coarse = file_spec(attributes=["town"], convert={"town": {"coarser": {"Oslo": "N", "Bergen": "N", "Lund": "S"}}})
    seen = align_external_file(source, schema, source.original, create_file_use(coarse, 0, schema, source.original.names))
    assert set(seen.original.column("town").to_pylist()) == {"N", "S"}


def replace_convert(spec):
    return spec.model_copy(update={"convert": ()})


def panel(table, seed=0):
    """Persons of several rows each, of whom some are not released; nobody's vote changes, towns do."""
    rng = np.random.default_rng(seed)
    pid = np.repeat(np.arange(100, 120), rng.integers(1, 4, 20))
    n = len(pid)
    data, schema = table(
        {
            "pid": pid,
            "age": rng.integers(0, 50, n),
            "vote": np.where(pid % 3 == 0, "y", "n"),
            "town": rng.choice(["O", "B"], n),
        },
        scales=SCALES,
        roles={**ROLES, "town": Role.CONFIDENTIAL},
    )
    kept = np.flatnonzero(pid < 115)
    masked = data.select(("age", "vote", "town")).take(kept)
    return GroundTruth.create_from_tables(data, masked, schema, Alignment(kept, np.arange(len(kept)), n)), schema


def rounded(numbers):
    return [None if one is None else round(one, 12) for one in numbers]


def test_persons_of_several_rows(table):
    """The source shuffled gives the figures of the declared intruder; where a person's rows disagree there is no truth."""
    source, schema = panel(table)
    file = source.original.select(("pid", "age")).take(np.random.default_rng(4).permutation(source.original.n))
    for how in (PLAIN, DistanceLinkage(method="distance_linkage", direction="to_original")):
        mine = values(result_of(source, schema, file, file_spec(key="pid"), how)[1])
        theirs = values(declared(source, schema, ("age",), how))
        for name in mine.keys() - {("linked_value_disclosed", "town"), ("linked_value_control", "town")}:
            assert rounded(mine[name]) == rounded(theirs[name])
    towns = {pid: set() for pid in source.original.column("pid").to_pylist()}
    for pid, town in zip(*(source.original.column(name).to_pylist() for name in ("pid", "town")), strict=True):
        towns[pid].add(town)
    assert mine["linked_value_disclosed", "town"][4] == sum(len(one) == 1 for one in towns.values()) < 20


def test_one_record_of_a_person_is_his(table):
    """A file with one row per person, and somebody else's: the truth is all of the person's released rows."""
    source, schema = panel(table)
    first = np.unique(source.original.floats("pid"), return_index=True)[1]
    file = source.original.select(("pid", "age")).take(first)
    file = Microdata(pa.concat_tables([file.arrow, pa.table({"pid": [7], "age": [3]})]))
    found, figures = result_of(source, schema, file, file_spec(key="pid"))
    assert (found.counts, figures["reidentification", None].n_targets) == ("persons", 21)
    assert figures["reidentification", None].n_in_release == 15
    m = source.masked.n
    assert found.chance == m / 21 / m  # the rows of 15 persons are all rows
    ages, shown, whose = file.floats("age"), source.masked.floats("age"), source.original.floats("pid")[source.alignment.record]
    expected = []
    for pid, age in zip(file.floats("pid"), ages, strict=True):
        near = np.abs(shown - age) == np.abs(shown - age).min()
        expected.append((whose[near] == pid).mean())
    assert figures["reidentification", None].value == pytest.approx(np.mean(expected))


def test_group_keys_tell_which_households_were_found(table):
    source, schema = released(table, 2)
    file = source.original.select(("id", "age", "size")).take(np.arange(30))
    found, figures = result_of(source, schema, file)
    house = source.original.column("house").to_pylist()
    exposed = {house[i] for i, credit in enumerate(found.outcomes.floats("credit")) if credit >= 0.5}
    assert figures["groups_exposed", "house"].value == len(exposed) / len(set(house[:30]))


@pytest.mark.parametrize("matching", ["nearest", "one_to_one"])
@pytest.mark.parametrize("distance", [{"kind": "mahalanobis", "covariance": "differences"}, {"kind": "gower"}])
def test_other_distances_and_one_record(table, matching, distance):
    source, schema = released(table, 6)
    how = DistanceLinkage.model_validate_json(
        json.dumps({"method": "distance_linkage", "distance": distance, "matching": matching, "scale_by": "own"})
    )
    file = source.original.select(("id", "age", "size")).take(np.arange(35))
    assert 0 < result_of(source, schema, file, how=how)[1]["reidentification", None].value <= 1
    one = source.original.select(("id", "age", "size")).take(np.array([source.alignment.record[0]]))
    found = result_of(source, schema, one, how=how)[0]
    assert found.status == ("not_applicable" if distance["kind"] == "mahalanobis" else "ok")
    plain, figures = result_of(source, schema, one)
    assert (plain.status, figures["reidentification", None].n_targets) == ("ok", 1)


def test_a_sample_of_the_targets_is_of_the_files(table, home):
    """Half of the file's records are scored: bounds instead of exact figures, about a number of targets that is the file's."""
    source, schema = released(table, 9)
    file = source.original.select(("id", "age", "size")).take(np.arange(40))
    file = Microdata(pa.concat_tables([file.arrow, pa.table({"id": ["x", "y"], "age": [20, 30], "size": [50.0, 51.0]})]))
    who = holder(file_spec(), schema, file)
    scene = align_external_file(source, schema, file, who.file)
    targets = scored_targets(scene.original, schema, 0.5, keep_chosen_seed(3), scene.units)
    assert len(set(targets.tolist())) == 21
    found = attack(
        *(source.original, source.masked, schema, (), PLAIN, who), alignment=source.alignment, targets=targets, file=file
    )
    figures, whole = figures_of(found, scene, schema), result_of(source, schema, file)[1]
    for name in (("reidentification", None), ("linked_value_disclosed", "vote"), ("reidentification_present", None)):
        assert figures[name].basis == "sampled_targets"
        assert figures[name].low <= whole[name].value <= figures[name].high
        assert figures[name].chance == whole[name].chance
    assert figures["linked_value_disclosed", "vote"].n_targets == (targets < 40).sum()


def test_attacks_that_need_the_source_do_not_apply(table):
    source, schema = released(table, 6)
    file = source.original.select(("id", "age"))
    for how in (Transparency(method="transparency"), RowPosition(method="row_position")):
        found, figures = result_of(source, schema, file, how=how)
        assert found.status == "not_applicable"
        assert "external file" in found.reason
        assert {one.value for one in figures.values()} == {None}


def change_ids(ids):
    def changed(file):
        return Microdata.from_columns({**{name: file.column(name) for name in file.names}, "id": ids})

    return changed


@pytest.mark.parametrize(
    ("change", "fields", "code"),
    [
        (change_ids([None, "b", "c", "d"]), {}, "file-without-key"),
        (change_ids(["a", "b", "c", "c"]), {}, "repeated-key"),
        (change_ids(["v", "w", "x", "y"]), {}, "nobody-in-source"),
        (change_ids([1, 2, 3, 4]), {}, "key-other-kind"),
        (lambda file: file, {"attributes": ["vote"], "convert": {"age": {"times": 2}}}, "unknown-attribute"),
        (lambda file: file.select(("id",)), {}, "no-shared-attribute"),
        (lambda file: Microdata.from_columns({"id": file.column("id"), "age": ["u", "v", "w", "x"]}), {}, "file-other-kind"),
        (lambda file: file, {"convert": {"vote": {"times": 2}}}, "no-order"),
    ],
)
def test_what_does_not_fit_is_told_in_one_message(five, change, fields, code):
    source, schema = five
    file = change(source.original.take(np.arange(4)))
    with pytest.raises(InputError) as caught:
        result_of(source, schema, file, file_spec(**fields))
    assert caught.value.code == code
    assert caught.value.where.startswith("intruder.files[0]")


def test_keys_that_name_several_people(table):
    data, schema = table({"id": [1, 1, 2], "age": [1, 2, 3]}, scales=SCALES, roles=ROLES)
    scene = GroundTruth.create_from_tables(data, data.select(("age",)), schema, Alignment.complete_in(np.arange(3)))
    with pytest.raises(InputError) as caught:
        result_of(scene, schema, Microdata.from_columns({"id": [2], "age": [3]}))
    assert caught.value.code == "ambiguous-key"


def test_whole_keys_stored_as_decimals_match_and_categories_nobody_has_differ(table):
    data, schema = table({"id": [1, 2, 3], "town": ["O", "B", "L"]}, scales=SCALES, roles=ROLES)
    scene = GroundTruth.create_from_tables(data, data.select(("town",)), schema, Alignment.complete_in(np.arange(3)))
    file = Microdata.from_columns({"id": [1.0, 2.0, 3.0], "town": ["O", "Paris", None]})
    assert result_of(scene, schema, file)[0].outcomes.floats("credit").tolist() == [1, 1 / 3, 1 / 3]
    with pytest.raises(InputError, match="key holds"):
        result_of(scene, schema, Microdata.from_columns({"id": [1.5, 2.0], "town": ["O", "B"]}))


def test_what_is_asked_of_a_file_can_be(five):
    source, schema = five

    def refused(code, **fields):
        with pytest.raises(InputError) as caught:
            plan_file(file_spec(**fields), 1, source.original, schema, ())
        assert (caught.value.code, caught.value.where[:17]) == (code, "intruder.files[1]")

    refused("unknown-key", key={"id": "idd"})
    refused("published-key", key={"id": "age"})
    refused("unknown-attribute", attributes={"AGE": "agee"})
    refused("unpublished-attribute", key={"k": "id"}, attributes=["id"])
    refused("unused-column", attributes=["age"], columns={"born": {"missing": ["0"]}})
    with pytest.raises(InputError, match="two files are called"):
        name_files((file_spec(name="2"), file_spec()))
    assert name_files((file_spec(), file_spec(name="register"))) == ("file:1", "file:register")


def test_a_column_is_read_as_the_sources(five):
    source, schema = five
    plan = plan_file(file_spec(attributes={"A": "age", "V": "vote"}), 0, source.original, schema, ())
    assert {one.name: one.scale for one in plan.declared} == {"id": Scale.CODE, "A": Scale.NUMERIC, "V": Scale.CODE}
    assert (plan.required, plan.optional) == (("id", "A", "V"), ())
    open_ = plan_file(file_spec(columns={"age": {"missing": ["-1"]}}), 0, source.original, schema, ())
    assert (open_.required, open_.optional) == (("id",), ("age", "vote"))
    assert next(one for one in open_.declared if one.name == "age").missing == ("-1",)


@pytest.mark.parametrize(
    "how",
    [
        LearnedLinkage(method="learned_linkage"),
        DistanceLinkage.model_validate(
            {**PLAIN.model_dump(), "distance": {"kind": "mahalanobis", "covariance": "differences"}}
        ),
    ],
)
def test_who_learned_from_few_is_not_held_to_have_found_them_by_chance(table, how):
    """Three records of thirty rows: exchanged among each other alone, a third would be right whatever was learned."""
    x = np.random.default_rng(7).normal(size=30)
    data, schema = table({"id": [f"p{i}" for i in range(30)], "x": x}, scales=SCALES, roles=ROLES)
    masked = Microdata.from_columns({"x": x + 1e-3 * np.arange(30)})
    alignment = Alignment(np.arange(24), np.arange(24), 30)
    source = GroundTruth.create_from_tables(data, masked.take(np.arange(24)), schema, alignment)
    file = Microdata.from_columns({"id": ["p0", "p1", "p2", "p29"], "x": x[[0, 1, 2, 29]]})
    found, figures = result_of(source, schema, file, how=how)
    present = figures["reidentification_present", None]
    assert (found.chance_kind, present.chance_kind) == ("permutation", "permutation")
    assert found.chance < 0.15
    assert present.chance == pytest.approx(found.chance * 4 / 3)
    assert figures["reidentification", None].value == present.value * 3 / 4 == 3 / 4
