"""Attacks on rows that belong to nobody: what is read off them, what it is compared with, and what has no answer."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tasks.attack.methods import Attack, attack
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import ROWS_OF_NOBODY, Alignment, NoAlignment, read_alignment, require_alignment
from tasks.microdata.errors import NotApplicable
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units

DECLARED = Intruder("declared", ("age",))
SECRET = {"vote": Role.CONFIDENTIAL}
SCALES = {"vote": Scale.NOMINAL}


def spec_of(**fields):
    return TypeAdapter(Attack).validate_python({"method": "distance_linkage", **fields})


def nobody(m, n):
    return NoAlignment(np.arange(m), n)


def read(source, rows, schema, *, targets=None, intruder=DECLARED, **fields):
    everybody = np.arange(source.n) if targets is None else targets
    return attack(source, rows, schema, (), spec_of(**fields), intruder, alignment=nobody(rows.n, source.n), targets=everybody)


@pytest.fixture
def small(table):
    """Eight people and five synthetic rows: (source, rows, schema)."""
    ages, votes = [10, 11, 20, 21, 30, 31, 40, 41], ["a", "a", "b", "b", "a", "c", "b", "b"]
    source, schema = table({"age": ages, "vote": votes}, roles=SECRET, scales=SCALES)
    return source, Microdata.from_columns({"age": [10, 20, 22, 30, 44], "vote": ["a", "b", "b", "c", "a"]}), schema


def test_worked_table(small):
    found = read(*small)
    # 21 is as near to 20 as to 22, and both say b; 30 and 31 are told c, which is 31's; 40 and 41 are told a
    assert found.status == "ok"
    assert found.chance is None
    assert found.outcomes.floats("linked:vote").tolist() == [1, 1, 1, 1, 0, 1, 0, 0]
    assert found.outcomes.floats("candidates").tolist() == [1, 1, 1, 2, 1, 1, 1, 1]
    # the nearest other person of each: neighbours agree but for 30 and 31
    assert found.outcomes.floats("control:vote").tolist() == [1, 1, 1, 1, 0, 0, 1, 1]
    assert set(found.outcomes.names) == {"target", "candidates", "linked:vote", "control:vote"}


def test_the_order_of_the_targets_is_that_of_the_outcomes(small):
    chosen = np.array([7, 3, 5])
    found = read(*small, targets=chosen).outcomes
    whole = read(*small).outcomes
    assert found.floats("target").tolist() == chosen.tolist()
    for name in ("linked:vote", "control:vote", "candidates"):
        assert found.floats(name).tolist() == whole.floats(name)[chosen].tolist()


def test_who_knows_the_value_or_where_there_is_none_nothing_is_read(small, table):
    source, rows, schema = small
    found = read(source, rows, schema, intruder=Intruder("insider:vote", ("age", "vote")))
    assert found.status == "not_applicable"
    assert ROWS_OF_NOBODY in found.reason
    keys, all_keys = table({"age": [1, 2, 3]})
    assert read(keys, keys, all_keys).status == "not_applicable"


OTHERS = [
    {"method": "transparency"},
    {"method": "consistency"},
    {"method": "row_position"},
    {"method": "profile_linkage", "match": "names_unknown"},
    {"method": "learned_linkage", "learn": "weighted_mean"},
    {"method": "probabilistic_linkage"},
    {"matching": "one_to_one"},
    {"distance": {"kind": "mahalanobis", "covariance": "differences"}},
]


@pytest.mark.parametrize("fields", OTHERS, ids=str)
def test_what_needs_to_know_whose_row_is_whose_is_not_applicable(small, fields):
    found = read(*small, **fields)
    assert (found.status, found.reason, found.outcomes, found.chance) == ("not_applicable", ROWS_OF_NOBODY, None, None)
    assert not spec_of(**fields).traits.attacks_synthetic_rows


@pytest.mark.parametrize(
    "fields", [{}, {"scale_by": "own"}, {"direction": "to_original"}, {"distance": {"kind": "gower"}}], ids=str
)
def test_other_distances_and_directions_read_as_well(small, fields):
    found = read(*small, **fields)
    assert found.status == "ok"
    assert spec_of(**fields).traits.attacks_synthetic_rows


def test_each_released_row_looks_for_the_records(small):
    # 44 finds 41, 22 finds 21: nobody finds 11, 31 and 40, who are told the mode of the release, a and b tied
    linked = read(*small, direction="to_original").outcomes.floats("linked:vote").tolist()
    assert linked == [1, 0.5, 1, 1, 0, 0, 0.5, 0]


def test_misuse_raises(small):
    source, rows, schema = small
    scene = GroundTruth.create_from_tables(source, rows, schema, nobody(5, 8))
    for ask in ("alignment", "unit_of_row", "own_row", "complete", "rows_by_unit"):
        with pytest.raises(NotApplicable, match="belong to nobody"):
            getattr(scene, ask)
    with pytest.raises(NotApplicable):
        scene.chance(searched=False)
    for ask in ("record", "row_by_record", "present", "complete"):
        assert not hasattr(scene.belonging, ask)
    with pytest.raises(ValueError, match="rows"):
        GroundTruth.create_from_tables(source, rows, schema, nobody(4, 8))
    with pytest.raises(ValueError, match="permutation"):
        NoAlignment(np.array([0, 0]), 8)


def test_belonging_survives_the_store():
    ours = NoAlignment(np.array([2, 0, 1]), 8)
    again = read_alignment(ours.as_table(), 8)
    assert isinstance(again, NoAlignment)
    assert again.position.tolist() == [2, 0, 1]
    assert again.order.tolist() == [1, 2, 0]
    theirs = read_alignment(Alignment.complete_in(np.array([1, 0])).as_table(), 2)
    assert isinstance(theirs, Alignment)
    assert require_alignment(theirs) is theirs


def slowly(ages, votes, rows_at, rows_say, persons):
    """By person, in the order of first rows: the mean credit of the records with fewest nearest rows."""
    credit, sizes = [], []
    everywhere = Counter(rows_say)
    for age, vote in zip(ages, votes, strict=True):
        apart = [abs(age - other) for other in rows_at]
        told = Counter(say for say, away in zip(rows_say, apart, strict=True) if away == min(apart)) if apart else everywhere
        modal = [value for value, count in told.items() if count == max(told.values())]
        credit.append((vote in modal) / len(modal))
        sizes.append(sum(told.values()))
    found = []
    for person in dict.fromkeys(persons):
        mine = [i for i, one in enumerate(persons) if one == person]
        used = [i for i in mine if sizes[i] == min(sizes[j] for j in mine)]
        found.append(sum(credit[i] for i in used) / len(used))
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.integers(1, 30), st.booleans())
def test_slow_twin(table, seed, n, m, several):
    rng = np.random.default_rng(seed)
    persons = rng.integers(0, max(1, n // 2), n) if several else np.arange(n)
    ages, votes = rng.integers(0, 12, n), rng.integers(0, 3, n)
    columns = {"pid": persons, "age": ages, "vote": votes}
    source, schema = table(columns, roles=SECRET | {"pid": Role.PERSON}, scales=SCALES | {"pid": Scale.NOMINAL})
    at, say = rng.integers(0, 12, m), rng.integers(0, 3, m)
    at[0], at[-1] = 0, 11 if m > 1 else 0  # a constant release counts nothing of age
    rows = Microdata.from_columns({"age": at, "vote": say})
    if m == 1:
        return
    found = read(source, rows, schema)
    assert found.counts == find_units(source, schema).counts
    twin = slowly(ages.tolist(), votes.tolist(), at.tolist(), say.tolist(), persons.tolist())
    assert found.outcomes.floats("linked:vote").tolist() == pytest.approx(twin)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 25), st.integers(1, 40))
def test_the_order_of_the_rows_changes_nothing(table, seed, n, m):
    rng = np.random.default_rng(seed)
    columns = {"age": rng.integers(0, 9, n), "town": rng.integers(0, 3, n), "vote": rng.integers(0, 3, n)}
    source, schema = table(columns, roles=SECRET, scales=SCALES | {"town": Scale.NOMINAL})
    rows = Microdata.from_columns({name: rng.choice(column, m) for name, column in columns.items()})
    knows = Intruder("declared", ("age", "town"))
    once, again = (read(source, one, schema, intruder=knows).outcomes for one in (rows, rows.take(rng.permutation(m))))
    assert once.arrow.equals(again.arrow)


def test_a_release_that_is_the_source_tells_everything(table):
    rng = np.random.default_rng(0)
    columns = {"age": rng.permutation(300), "vote": rng.integers(0, 5, 300)}
    source, schema = table(columns, roles=SECRET, scales=SCALES)
    found = read(source, source.take(rng.permutation(300)), schema).outcomes
    assert found.floats("linked:vote").mean() == 1
    assert found.floats("control:vote").mean() < 0.3


@pytest.mark.parametrize("seed", range(3))
def test_an_independent_draw_tells_what_two_strangers_share(table, seed):
    rng = np.random.default_rng(seed)
    n, shares = 4000, np.array([0.5, 0.3, 0.2])
    columns = {"age": rng.random(n), "vote": rng.choice(3, n, p=shares)}
    source, schema = table(columns, roles=SECRET, scales=SCALES)
    rows = Microdata.from_columns({name: rng.permutation(column) for name, column in columns.items()})
    found = read(source, rows, schema).outcomes
    by_luck = float((shares**2).sum())  # one row is nearest: a vote drawn at random, below the mode's 0.5
    for name in ("linked:vote", "control:vote"):
        assert found.floats(name).mean() == pytest.approx(by_luck, abs=5 * np.sqrt(by_luck / n))
    assert found.floats("linked:vote").mean() < 0.5


@pytest.mark.parametrize("seed", range(3))
def test_a_new_sample_of_the_population_tells_as_much_as_other_people(table, seed):
    """The control must find nothing where nobody of the source went into the table, and something where they did."""
    rng = np.random.default_rng(seed)

    def drawn(n):
        age = rng.random(n)
        return {"age": age, "vote": (rng.random(n) < 0.1 + 0.8 * (age > 0.5)).astype(int)}

    source, schema = table(drawn(3000), roles=SECRET, scales=SCALES)
    fresh = read(source, Microdata.from_columns(drawn(2700)), schema).outcomes
    told, others = (fresh.floats(f"{kind}:vote").mean() for kind in ("linked", "control"))
    assert told > 0.75
    assert abs(told - others) < 5 * np.sqrt(0.3 / 3000)
    copied = read(source, source.take(np.arange(0, 3000, 2)), schema).outcomes
    assert copied.floats("linked:vote").mean() > others + 0.05


def test_one_person_has_no_control(table):
    columns = {"pid": [1, 1, 1], "age": [1, 2, 3], "vote": ["a", "b", "a"]}
    source, schema = table(columns, roles=SECRET | {"pid": Role.PERSON}, scales=SCALES | {"pid": Scale.NOMINAL})
    found = read(source, Microdata.from_columns({"age": [1, 3], "vote": ["a", "b"]}), schema)
    assert found.outcomes.n == 1
    assert "control:vote" not in found.outcomes.names


def test_one_row_alone_tells_everybody_the_same(small):
    source, _, schema = small
    found = read(source, Microdata.from_columns({"age": [25], "vote": ["b"]}), schema)
    assert found.outcomes.floats("linked:vote").mean() == 0.5


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.integers(1, 30))
def test_whom_disco_tells_the_nearest_rows_tell_too(table, seed, n, m):
    """DiSCO: all released rows with the person's own keys show one value, and it is the person's."""
    rng = np.random.default_rng(seed)
    columns = {"age": rng.integers(0, 4, n), "town": rng.integers(0, 2, n), "vote": rng.integers(0, 3, n)}
    source, schema = table(columns, roles=SECRET, scales=SCALES | {"town": Scale.NOMINAL})
    made = {"age": rng.integers(0, 4, m), "town": rng.integers(0, 2, m), "vote": rng.integers(0, 3, m)}
    told = read(source, Microdata.from_columns(made), schema, intruder=Intruder("declared", ("age", "town"))).outcomes
    for i, credit in enumerate(told.floats("linked:vote")):
        same = (made["age"] == columns["age"][i]) & (made["town"] == columns["town"][i])
        if same.any() and (made["vote"][same] == columns["vote"][i]).all():
            assert credit == 1
