"""Several external files of one intruder, used together."""

from __future__ import annotations

import json

import numpy as np
import pytest
from held_files import PLAIN, figures_of, values
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.file_holders import hold_files
from tasks.attack.linkage.file_alignment import align_external_file
from tasks.attack.methods import attack
from tasks.attack.threat import IntruderSpec
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata

ROLES = {"id": Role.IDENTIFIER, "tax": Role.IDENTIFIER, "vote": Role.CONFIDENTIAL}
SCALES = {"id": Scale.CODE, "tax": Scale.CODE, "vote": Scale.NOMINAL, "town": Scale.NOMINAL}
FILES = [{"table": "a.csv", "key": "id", "name": "register"}, {"table": "b.csv", "key": "id", "name": "survey"}]
BOTH = {"files": ["register", "survey"]}


def intruder(*combine, files=FILES):
    return IntruderSpec.model_validate_json(json.dumps({"files": files, "combine": combine}))


def columns(**given):
    return Microdata.from_columns(given)


@pytest.fixture(scope="module")
def four(table):
    """Four records, all released as they are: age and town tell together who is who, and neither of them alone."""
    data, schema = table(
        {
            "id": ["a", "b", "c", "d"],
            "tax": ["1", "2", "3", "4"],
            "age": [20, 20, 30, 30],
            "town": ["Lund", "Oslo", "Lund", "Oslo"],
            "vote": ["y", "n", "y", "n"],
        },
        scales=SCALES,
        roles=ROLES,
    )
    masked = data.select(("age", "town", "vote"))
    return GroundTruth.create_from_tables(data, masked, schema, Alignment(np.arange(4), np.arange(4), 4)), schema


REGISTER = columns(id=["c", "b", "a"], age=[30, 20, 20])
SURVEY = columns(id=["b", "d", "c"], town=["Oslo", "Oslo", "Lund"])


def credits_of(source, schema, spec, tables):
    """The credit of each record of each holder's file, in the order of the source."""
    found = {}
    for one in hold_files(spec, source.original, schema, tables):
        scene = align_external_file(source, schema, one.table, one.holder.file)
        done = attack(
            *(source.original, source.masked, schema, (), PLAIN, one.holder),
            alignment=source.alignment,
            targets=np.arange(scene.original.n),
            file=one.table,
        )
        found[one.holder.name] = done, figures_of(done, scene, schema)
    return found


def test_a_register_and_a_survey_by_hand(four):
    """Of a only the age is known (1/2), of d only the town (1/2); of b and c both, which no other row shows: 1."""
    found = credits_of(*four, intruder(BOTH), (REGISTER, SURVEY))
    assert list(found) == ["file:register", "file:survey", "file:register+survey"]
    told = {name: done.outcomes.floats("credit").tolist() for name, (done, _) in found.items()}
    assert told["file:register"] == [0.5, 0.5, 0.5]
    assert told["file:survey"] == [0.5, 0.5, 0.5]
    assert told["file:register+survey"] == [0.5, 1, 1, 0.5]
    together = found["file:register+survey"][0]
    assert "the 4 records of the external files register and survey together" in together.knows_data
    assert together.knows_data.startswith("age and town")


def test_joined_by_an_attribute_that_both_have(four):
    """Towns of age 30 are one person's in both files, those of age 20 two people's in the register: a and b learn nothing."""
    source, schema = four
    survey = columns(id=["b", "c"], age=[20, 30], town=["Oslo", "Lund"])
    (*_, both) = hold_files(intruder({**BOTH, "by": ["age"]}), source.original, schema, (REGISTER, survey))
    assert both.table.arrow.to_pydict() == {"id": ["a", "b", "c"], "age": [20, 20, 30], "town": [None, None, "Lund"]}


def test_the_first_file_that_says_something_counts(four):
    source, schema = four
    register, survey = columns(id=["a", "b"], age=[21, None]), columns(id=["b", "a"], age=[20, 25])
    (*_, both) = hold_files(intruder(BOTH), source.original, schema, (register, survey))
    assert both.table.arrow.to_pydict() == {"id": ["a", "b"], "age": [21, 20]}
    (*_, turned) = hold_files(intruder({"files": ["survey", "register"]}), source.original, schema, (register, survey))
    assert turned.table.arrow.to_pydict() == {"id": ["a", "b"], "age": [25, 20]}


@pytest.mark.parametrize(
    ("combine", "tables", "code"),
    [
        ([{"files": ["register", "poll"]}], (REGISTER, SURVEY), "unknown-file"),
        ([{"files": ["register", "register"]}], (REGISTER, SURVEY), "duplicate-file"),
        ([BOTH, {"files": ["survey", "register"]}], (REGISTER, SURVEY), "duplicate-file"),
        ([{**BOTH, "by": ["town"]}], (REGISTER, SURVEY), "no-common-attribute"),
        ([{**BOTH, "by": ["age"]}], (REGISTER, columns(id=["a", "c"], age=[20, 31])), "nothing-joined"),
        ([BOTH], (REGISTER, columns(id=["d"], town=["Oslo"])), "nothing-joined"),
    ],
)
def test_what_cannot_be_combined_is_refused(four, combine, tables, code):
    source, schema = four
    with pytest.raises(InputError) as refused:
        spec = intruder(*combine)
        assert spec.file_holders
        hold_files(spec, source.original, schema, tables)
    assert refused.value.code == code
    assert refused.value.where.startswith("intruder.combine[")


def test_files_of_other_keys_are_joined_by_attributes_alone(four):
    source, schema = four
    files, survey = [FILES[0], {**FILES[1], "key": "tax"}], columns(tax=["3"], age=[30], town=["Lund"])
    with pytest.raises(InputError) as refused:
        hold_files(intruder(BOTH, files=files), source.original, schema, (REGISTER, survey))
    assert refused.value.code == "no-common-key"
    (*_, both) = hold_files(intruder({**BOTH, "by": ["age"]}, files=files), source.original, schema, (REGISTER, survey))
    assert both.table.arrow.to_pydict()["town"] == [None, None, "Lund"]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_a_file_cut_in_pieces_is_the_file(table, seed):
    """Columns and people dealt out to two files, strangers among them: together they find what the whole file finds."""
    rng = np.random.default_rng(seed)
    n = 40
    keys = [f"{i:02}" for i in range(n)]
    ages, sizes = rng.integers(18, 30, n), rng.normal(50, 10, n)
    data, schema = table(
        {"id": keys, "tax": keys, "age": ages, "size": sizes, "vote": rng.choice(["a", "b"], n)}, scales=SCALES, roles=ROLES
    )
    masked = Microdata.from_columns({"age": ages, "size": sizes + rng.normal(0, 5, n), "vote": data.column("vote")})
    source = GroundTruth.create_from_tables(data, masked, schema, Alignment(np.arange(n), np.arange(n), n))
    names = [*keys[:30], *(f"x{i}" for i in range(8))]
    know = {"age": rng.integers(18, 30, len(names)), "size": rng.normal(50, 10, len(names))}
    order = [rng.permutation(len(names)) for _ in range(2)]
    pieces = tuple(
        columns(id=[names[i] for i in one], **{name: know[name][one]}) for name, one in zip(know, order, strict=True)
    )
    cut = credits_of(source, schema, intruder(BOTH), pieces)["file:register+survey"]
    whole = credits_of(source, schema, intruder(files=FILES[:1]), (columns(id=names, **know),))["file:register"]
    assert cut[0].outcomes.arrow.equals(whole[0].outcomes.arrow)
    assert values(cut[1]) == values(whole[1])


def test_a_file_a_year_later_is_joined_by_likeness(table):
    """Ten people of ages 20, 22, ..., 38 with towns of their own; the survey has the ages a year later, and so no equal one."""
    names, ages = list("abcdefghij"), np.arange(20, 40, 2)
    towns = [f"town {name}" for name in names]
    data, schema = table(
        {"id": names, "tax": names, "age": ages, "town": towns, "vote": ["y", "n"] * 5}, scales=SCALES, roles=ROLES
    )
    register, survey = columns(id=names, age=ages), columns(id=names[::-1], age=ages[::-1] + 1, town=towns[::-1])
    with pytest.raises(InputError) as refused:
        hold_files(intruder({**BOTH, "by": ["age"]}), data, schema, (register, survey))
    assert refused.value.code == "nothing-joined"
    (*_, both) = hold_files(intruder({**BOTH, "by": ["age"], "matching": "likely"}), data, schema, (register, survey))
    assert both.table.arrow.to_pydict() == {"id": names, "age": ages.tolist(), "town": towns}


def test_people_in_both_files_who_are_not_in_the_source_are_joined_as_well(table):
    """Two files of the same 100 people, of whom the source has 10: as many are joined as if it had all of them."""
    rng = np.random.default_rng(3)
    names, size, order = [f"{i:03}" for i in range(100)], rng.normal(50, 10, 100), rng.permutation(100)
    age = rng.normal(50, 20, 100)
    told = [{"age": age + rng.normal(0, 0.5, 100), "size": size + rng.normal(0, 0.5, 100)} for _ in range(2)]
    register = columns(id=names, **told[0])
    survey = columns(
        id=[names[i] for i in order], **{name: given[order] for name, given in told[1].items()}, town=order.astype(str)
    )
    joined = []
    for n in (10, 100):
        data, schema = table(
            {"id": names[:n], "tax": names[:n], "age": age[:n], "size": size[:n], "town": ["0"] * n, "vote": ["y"] * n},
            scales=SCALES,
            roles=ROLES,
        )
        spec = intruder({**BOTH, "by": ["age", "size"], "matching": "likely"})
        (*_, both) = hold_files(spec, data, schema, (register, survey))
        found = both.table.arrow.to_pydict()
        joined.append({name: town for name, town in zip(found["id"], found["town"], strict=True) if town is not None})
    assert joined[0] == joined[1]
    assert sum(int(name) == int(town) for name, town in joined[0].items()) > 50


def test_files_that_say_nothing_of_each_other_are_not_joined(table):
    rng = np.random.default_rng(2)
    names = [f"{i:03}" for i in range(200)]
    data, schema = table(
        {"id": names, "tax": names, "age": rng.integers(18, 90, 200), "town": ["Lund"] * 200, "vote": ["y", "n"] * 100},
        scales=SCALES,
        roles=ROLES,
    )
    files = tuple(columns(id=names, age=rng.integers(18, 90, 200)) for _ in range(2))
    with pytest.raises(InputError) as refused:
        hold_files(intruder({**BOTH, "by": ["age"], "matching": "likely"}), data, schema, files)
    assert refused.value.code == "nothing-joined"
