"""Persons of several rows: credit by hand, by a slow twin, and its chance level over all ways to give the rows to persons."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import attack
from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.outcome import compute_outcomes, list_persons
from tasks.attack.outcomes.person_outcomes import fare, fare_searched
from tasks.attack.row_position import RowPosition
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency, link_by_mechanism
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units, group_rows

SEED = bytes(range(32))
LEVEL = 1e-4
PLAIN = DistanceLinkage(method="distance_linkage")
BACK = DistanceLinkage(method="distance_linkage", direction="to_original")
TRANSPARENT = Transparency(method="transparency")
POSITION = RowPosition(method="row_position")


def links_of(search_class, sets, found_class, small=None):
    """Links from sets of found classes by search class; small: the sound sets, written out."""

    def flat(lists):
        starts = np.cumsum([0, *(len(s) for s in lists)])
        return starts, np.array([c for s in lists for c in s], dtype=np.int64)

    found_class = np.array(found_class)
    sizes = None if small is None else np.array([int(np.isin(found_class, s).sum()) for s in small])
    return Links(found_class, np.array(search_class), *flat(sets), sizes, None if small is None else flat(small))


def mean_max(links, of_record, of_row):
    """What the docstring warns of: the largest credit of each person's records."""
    best = Counter()
    for i, person in enumerate(of_record):
        s = links.search_class[i]
        rows = np.flatnonzero(np.isin(links.found_class, links.classes[links.starts[s] : links.starts[s + 1]]))
        best[person] = max(best[person], float((of_row[rows] == person).mean()) if len(rows) else 0.0)
    return sum(best.values()) / (max(of_record) + 1)


def test_worked_table():
    # persons a (rows 0, 1), b (rows 2, 3, 4), c (row 5); the released row of each record is found by its class
    of = np.array([0, 0, 1, 1, 1, 2])
    sets = [[0, 1, 2], [1, 2], [2, 3], [3, 4], [0, 1, 2, 3, 4, 5], [0]]
    found = fare(links_of(range(6), sets, range(6)), np.array([2, 0, 1]), of, of)
    # a uses record 1 (two rows, one of them theirs); b uses 2 and 3 (two rows each, all theirs); c has one row, which is a's
    assert found.credit.tolist() == [0, 0.5, 1]
    assert found.among_nearest.tolist() == [False, True, True]
    assert found.candidates.tolist() == [1, 2, 1]
    assert [a.tolist() for a in found.used] == [[5, 1, 2, 3], [0, 1, 2, 2]]


def test_absent_rows_and_records_without_a_guess():
    # person 0 has two records and no released row; person 1 two records, of which one has no guess; person 2 none at all
    of_record, of_row = np.array([0, 0, 1, 1, 2]), np.array([1, 2])
    links = links_of(range(5), [[0], [1], [], [0, 1], []], range(2))
    found = fare(links, np.arange(3), of_record, of_row)
    assert found.credit.tolist() == [0, 0.5, 0]
    assert found.candidates.tolist() == [1, 2, 0]
    assert found.used[0].tolist() == [0, 1, 3, 4]


def test_a_sound_set_that_holds_one_person_asserts_him():
    # record 0: rows 0, 1 are both of person 0; record 1: rows 1, 2 of two persons; records 2, 3 share rows 2, 3 of person 1
    of = np.array([0, 0, 1, 1])
    small = [[0, 1], [1, 2], [2, 3]]
    found = fare(links_of([0, 1, 2, 2], [[0], [2], [2, 3]], range(4), small), np.array([1, 0]), of, of)
    assert found.sound.tolist() == [1, 1]
    assert found.known.tolist() == [True, True]
    wide = fare(links_of([0, 0, 0, 0], [[0]], range(4), [[]]), np.array([1, 0]), of, of)
    assert not wide.known.any()


def slowly(links, persons, of_record, of_row):
    found = []
    for person in persons:
        sets = []
        for i in np.flatnonzero(of_record == person):
            s = links.search_class[i]
            linked = links.classes[links.starts[s] : links.starts[s + 1]].tolist()
            sets.append([r for r in range(len(of_row)) if links.found_class[r] in linked])
        least = min((len(rows) for rows in sets if rows), default=0)
        used = [rows for rows in sets if len(rows) == least]
        credits = [sum(of_row[r] == person for r in rows) / len(rows) if rows else 0.0 for rows in used]
        candidates = [len({int(of_row[r]) for r in rows}) for rows in used]
        found.append((np.mean(credits), max(credits) > 0, np.mean(candidates)))
    return found


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 14), st.integers(1, 6), st.integers(1, 6))
def test_slow_twin(seed, n, n_persons, n_classes):
    rng = np.random.default_rng(seed)
    of_record = np.unique(rng.integers(0, n_persons, n), return_inverse=True)[1]
    record = np.sort(rng.permutation(n)[: max(1, n - rng.integers(0, 4))])
    of_row = of_record[record]
    found_class = np.unique(rng.integers(0, n_classes, len(record)), return_inverse=True)[1]
    search = np.unique(rng.integers(0, n_classes, n), return_inverse=True)[1]
    sets = [np.flatnonzero(rng.random(found_class.max() + 1) < 0.5).tolist() for _ in range(search.max() + 1)]
    links = links_of(search, sets, found_class)
    persons = rng.permutation(of_record.max() + 1)
    found = fare(links, persons, of_record, of_row)
    twin = slowly(links, persons, of_record, of_row)
    assert found.credit.tolist() == pytest.approx([credit for credit, _, _ in twin])
    assert found.among_nearest.tolist() == [hit for _, hit, _ in twin]
    assert found.candidates.tolist() == pytest.approx([size for _, _, size in twin])


# every way to give five released rows to persons of 1, 2 and 3 records; one record is not released
OF_RECORD = np.array([0, 1, 1, 2, 2, 2])
GUESSES = links_of(range(6), [[0, 1], [2], [3, 4], [0, 1, 2, 3, 4], [1], [4]], range(5))


def test_chance_is_exactly_one_over_the_persons():
    owners = [np.array(order) for order in set(permutations([0, 1, 1, 2, 2]))]
    means = [fare(GUESSES, np.arange(3), OF_RECORD, of_row).credit.mean() for of_row in owners]
    assert np.mean(means) == pytest.approx(1 / 3, rel=1e-12)
    # the best row of each person, chosen with hindsight, beats chance without looking at anything
    assert np.mean([mean_max(GUESSES, OF_RECORD, of_row) for of_row in owners]) > 0.45


def test_chance_where_the_released_rows_look_for_their_records():
    # five rows look for six records, which may be anybody's; a person with no released row earns nothing
    links = links_of(range(5), [[0, 1], [2], [3, 4, 5], [0, 1, 2, 3, 4, 5], [1]], range(6))
    for of_row, share in (([0, 1, 1, 2, 2], 1), ([0, 1, 1, 1, 0], 3 / 6)):
        rows = group_rows(np.array(of_row), 3)
        owners = [np.array(order) for order in set(permutations(OF_RECORD.tolist()))]
        means = [fare_searched(links, np.arange(3), rows, of_record).credit.mean() for of_record in owners]
        assert np.mean(means) == pytest.approx(share / 3, rel=1e-12)


@pytest.fixture(scope="module")
def years():
    """Sixty persons of one to four years, by a key: (table, schema); values of one person are near each other."""
    rng = np.random.default_rng(7)
    person = rng.permutation(np.repeat(np.arange(60), rng.integers(1, 5, 60)))
    n = len(person)
    level = rng.normal(0, 10, 60)
    data = Microdata.from_columns(
        {
            "who": person,
            "x": np.round(level[person] + rng.normal(0, 2, n), 1),
            "y": rng.integers(0, 40, n),
            "key": rng.permutation(n),
            "vote": [None if v == 3 else "abc"[v] for v in rng.integers(0, 4, n)],
        }
    )
    return data, schema_of(who=Role.PERSON, x=None, y=None, key=None, vote=Role.CONFIDENTIAL)


def schema_of(**roles):
    scales = {"vote": Scale.NOMINAL}
    return Schema(
        tuple(
            Attribute(name, role or Role.QUASI_IDENTIFIER, scales.get(name, Scale.NUMERIC), "declared")
            for name, role in roles.items()
        )
    )


def step(method, *names):
    if method == "micro":
        return (Microaggregation(method="microaggregation", attributes=names, k=4),)
    return (RankSwapping(method="rank_swapping", attributes=names, window_percent=20.0),)


def run(data, masked, schema, steps, spec, knows=("x", "y"), alignment=None, targets=None):
    alignment = Alignment.complete_in(np.arange(data.n)) if alignment is None else alignment
    targets = np.arange(data.n) if targets is None else targets
    return attack(data, masked, schema, steps, spec, Intruder("declared", knows), alignment=alignment, targets=targets)


CASES = [(spec, method) for spec in (PLAIN, BACK, TRANSPARENT) for method in ("micro", "swap")]


@pytest.mark.parametrize(("spec", "method"), CASES)
def test_persons_of_one_row_fare_as_records_do(years, spec, method):
    data, schema = years
    alone = data.replace_column("who", data.column("key"))
    done = mask(alone, schema, step(method, "x", "y"), seed=SEED, path=())
    records = Schema(tuple(a for a in schema.attributes if a.role is not Role.PERSON))
    persons = run(alone, done.data, schema, done.mechanisms, spec)
    plain = run(alone, done.data, records, done.mechanisms, spec)
    assert (persons.counts, plain.counts) == ("persons", "records")
    assert persons.chance == plain.chance
    assert persons.outcomes.names == plain.outcomes.names
    for name in persons.outcomes.names:
        ours, theirs = persons.outcomes.column(name).to_pylist(), plain.outcomes.column(name).to_pylist()
        if name == "sound_candidates":  # of large sets only a bound is known
            assert [s == 1 for s in ours] == [s == 1 for s in theirs]
        else:
            assert ours == theirs, name


@pytest.mark.parametrize("spec", [PLAIN, BACK, TRANSPARENT])
def test_everybody_is_found_by_a_unique_key(years, spec):
    data, schema = years
    done = mask(data, schema, step("micro", "x", "y"), seed=SEED, path=())
    found = run(data, done.data, schema, done.mechanisms, spec, knows=("key",))
    assert found.outcomes.n == 60
    assert set(found.outcomes.floats("credit")) == {1.0}
    assert set(found.outcomes.floats("candidates")) == {1.0}
    if spec is TRANSPARENT:
        assert set(found.outcomes.floats("known")) == {1.0}


@pytest.mark.parametrize(("spec", "method"), CASES)
def test_the_order_of_rows_is_forgotten(years, spec, method):
    data, schema = years
    done = mask(data, schema, step(method, "x", "y"), seed=SEED, path=())
    straight = run(data, done.data, schema, done.mechanisms, spec)
    order = np.random.default_rng(4).permutation(data.n)
    shuffled = run(data.take(order), done.data.take(order), schema, done.mechanisms, spec)
    person = find_units(data, schema).of_row
    first, second = (
        sorted(zip(person[rows], *(found.outcomes.column(c).to_pylist() for c in found.outcomes.names[1:]), strict=True))
        for found, rows in (
            (straight, straight.outcomes.floats("target").astype(int)),
            (shuffled, order[shuffled.outcomes.floats("target").astype(int)]),
        )
    )
    for ours, theirs in zip(first, second, strict=True):
        assert [x is None for x in ours] == [x is None for x in theirs]
        assert [x for x in ours if x is not None] == pytest.approx([x for x in theirs if x is not None])


def credit_of_strangers(data, masked, schema, steps, spec):
    """The summed credit; the transparency attack without the look at the true rows that would stop it."""
    if spec is not TRANSPARENT:
        found = run(data, masked, schema, steps, spec)
        assert found.chance == 1 / 60
        return float(found.outcomes.floats("credit").sum())
    scene = GroundTruth.create_from_tables(data, masked, schema, Alignment.complete_in(np.arange(data.n)))
    few = int(scene.rows_by_unit.sizes.max())
    links, _ = link_by_mechanism(data, masked, schema, steps, ("x", "y"), few=few)
    return float(compute_outcomes(scene, links, (), np.arange(data.n), searched=False, sound=True).floats("credit").sum())


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "method"), [case for case in CASES if case != (TRANSPARENT, "micro")])
def test_nobody_is_found_in_an_independent_table(years, spec, method):
    data, schema = years
    done = mask(data, schema, step(method, "x", "y"), seed=SEED, path=())
    rng = np.random.default_rng(9)
    masked = Microdata.from_columns({name: done.data.column(name).take(rng.permutation(data.n)) for name in done.data.names})
    credits = [credit_of_strangers(data, masked, schema, done.mechanisms, spec)]
    for _ in range(400):
        order = rng.permutation(data.n)  # whose rows they are, at random
        credits.append(credit_of_strangers(data, masked.take(order), schema, done.mechanisms, spec))
    assert np.mean(credits[1:]) == pytest.approx(1, abs=6 * np.std(credits) / 20)  # 60 persons, each found by chance of 1/60
    spread = (credits[0] - 1) / np.std(credits)
    assert spread < 4.5  # the permutation law at 1e-4, which 400 permutations give through its spread
    assert spread + 10 / np.std(credits) > 4.5  # ten of sixty found for certain are noticed


def test_targets_are_persons_in_the_order_of_their_draw(years):
    data, schema = years
    units = find_units(data, schema)
    drawn = np.array([17, 3, 42])
    rows, _ = units.rows().find_rows(drawn)
    assert list_persons(units, rows).tolist() == drawn.tolist()
    whole, some = (run(data, data, schema, (), PLAIN, targets=targets) for targets in (np.arange(data.n), rows))
    person = units.of_row[whole.outcomes.floats("target").astype(int)]
    by_person = dict(zip(person.tolist(), whole.outcomes.floats("credit").tolist(), strict=True))
    assert some.outcomes.floats("credit").tolist() == [by_person[p] for p in drawn]
    assert units.of_row[some.outcomes.floats("target").astype(int)].tolist() == drawn.tolist()


def test_sound_sets_of_one_person_are_found_whole(years):
    # a released file in which the rows of some persons are alike and of nobody else: k rows, one person
    data, schema = years
    units = find_units(data, schema)
    value = np.round(100.0 * units.of_row + 3 * (units.of_row % 2) * np.arange(data.n) % 7, 1)
    own = data.replace_column("x", Microdata.from_columns({"x": value}).column("x"))
    done = mask(own, schema, step("swap", "y"), seed=SEED, path=())
    found = run(own, done.data, schema, done.mechanisms, TRANSPARENT, knows=("x", "y"))
    alike = np.array([len(set(value[units.of_row == p])) == 1 for p in range(units.n_units)])
    person = units.of_row[found.outcomes.floats("target").astype(int)]
    known = found.outcomes.floats("known") == 1
    assert known[alike[person]].all()
    assert (known == (found.outcomes.floats("sound_candidates") == 1)).all()


def test_whose_rows_are_whose_must_be_clear():
    two = schema_of(who=Role.PERSON, x=Role.PERSON)
    with pytest.raises(InputError) as refused:
        find_units(Microdata.from_columns({"who": [1, 2], "x": [1, 2]}), two)
    assert refused.value.code == "two-person-keys"
    with pytest.raises(InputError) as refused:
        find_units(Microdata.from_columns({"who": [1, None], "x": [1, 2]}), schema_of(who=Role.PERSON, x=None))
    assert refused.value.code == "person-missing"
    assert "1 of 2 rows" in refused.value.what


def test_values_of_a_person_are_controlled_without_all_of_his_rows():
    # both rows of person 0 show "a" and are all that is linked: without them nothing is left but the release's "b"
    schema = schema_of(who=Role.PERSON, x=None, vote=Role.CONFIDENTIAL)
    data = Microdata.from_columns({"who": [0, 0, 1, 2, 3], "x": [1, 1, 5, 6, 7], "vote": ["a", "a", "b", "b", "b"]})
    found = run(data, data, schema, (), PLAIN, knows=("x",)).outcomes
    assert found.floats("linked:vote").tolist() == [1, 1, 1, 1]
    assert found.floats("control:vote").tolist() == [0, 1, 1, 1]


def test_years_of_the_health_insurance_experiment():
    # randhie: years of persons, whose key the public file lacks; one is planted, five rows each
    from statsmodels.datasets import randhie

    frame = randhie.load_pandas().data.iloc[:1000]
    data = Microdata.from_columns(
        {"who": np.arange(1000) // 5, **{name: frame[name].to_numpy() for name in ("lpi", "fmde", "disea", "mdvis")}}
    )
    schema = schema_of(who=Role.PERSON, lpi=None, fmde=None, disea=None, mdvis=None)
    done = mask(data, schema, step("micro", "lpi", "fmde", "disea", "mdvis"), seed=SEED, path=())
    records = Schema(tuple(a for a in schema.attributes if a.role is not Role.PERSON))
    knows = ("lpi", "fmde", "disea", "mdvis")
    by_person, by_row = (run(data, done.data, one, done.mechanisms, PLAIN, knows=knows) for one in (schema, records))
    assert (by_person.outcomes.n, by_row.outcomes.n) == (200, 1000)
    assert (by_person.chance, by_row.chance) == (1 / 200, 1 / 1000)
    # rows of a person are alike, so that counting rows hides how well the person is found
    assert by_person.outcomes.floats("credit").mean() > 2 * by_row.outcomes.floats("credit").mean()
    assert by_person.outcomes.floats("candidates").mean() < by_row.outcomes.floats("candidates").mean()
    scene = GroundTruth.create_from_tables(data, done.data, schema, Alignment.complete_in(np.arange(1000)))
    twin_links = by_links(data, done.data, schema, knows)
    twin = slowly(twin_links, np.arange(200), scene.units.of_row, scene.unit_of_row)
    assert by_person.outcomes.floats("credit").tolist() == pytest.approx([credit for credit, _, _ in twin])


def by_links(data, masked, schema, knows):
    from tasks.attack.linkage.distance_linkage import link_by_distance

    return link_by_distance(data, masked, schema, PLAIN, knows)
