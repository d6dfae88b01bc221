"""Linkage across schemas: by no shared attribute, and by attributes whose names tell nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from tasks.attack.linkage.external_files import FileSpec
from tasks.attack.linkage.holding import Holding
from tasks.attack.methods import attack
from tasks.attack.profiles.profile_linkage import ProfileLinkage, link_by_profile
from tasks.attack.threat import Intruder, IntruderSpec, holders
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError, NotApplicable
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata

UNNAMED = {"match": "names_unknown"}
LEVEL = 1e-4


def spec(**parameters):
    return ProfileLinkage(method="profile_linkage", **parameters)


def run(data, masked, schema, knows, parameters, *, mechanisms=(), name="declared", holds=()):
    return attack(
        *(data, masked, schema, mechanisms, spec(**parameters), Intruder(name, tuple(knows), holds=holds)),
        alignment=Alignment.complete_in(np.arange(data.n)),
        targets=np.arange(data.n),
    )


def credit(*arguments, **named):
    return run(*arguments, **named).outcomes.floats("credit")


@pytest.fixture(scope="module")
def followed(table):
    """A function: records whose attributes follow one factor, a to d upwards and e downwards, with so much noise."""

    def made(noise, n=300, seed=1):
        rng = np.random.default_rng(seed)
        factor = rng.normal(size=n)
        return table({name: (-1 if name == "e" else 1) * factor + noise * rng.normal(size=n) for name in "abcde"})

    return made


def test_worked_example(table):
    # see the worked profile: the first record is at the top of both files; the others tie between the two other rows
    data, schema = table({"a": [1.0, 2.0, 3.0], "b": [30.0, 10.0, 20.0], "c": [9.0, 4.0, 5.0]})
    result = run(data, data, schema, "ab", {})
    assert result.outcomes.floats("credit").tolist() == [1.0, 0.5, 0.5]
    assert (result.status, result.scale_by, result.direction, result.chance) == ("ok", None, "to_release", 1 / 3)
    assert result.knows_data == (
        "the original a and b of every record, none of which they find in the release, and that each of them is in the release"
    )


def test_a_factor_without_noise_finds_everybody(followed):
    data, schema = followed(0.0)
    for matching in ("nearest", "one_to_one"):
        assert credit(data, data, schema, "ab", {"matching": matching}).sum() == data.n
    result = run(data, data, schema, "ae", {})  # mirrored: neither end is the one to which most point, or a tail
    assert (result.status, result.reason) == (
        "not_applicable",
        "nothing tells which end of the attributes' common factor is up",
    )


@pytest.mark.parametrize("scores", ["ranks", "standardised"])
def test_a_strong_factor_is_found_and_the_weaker_the_fewer(followed, scores):
    found = [
        credit(*[followed(noise)[0]] * 2, followed(noise)[1], "abe", {"scores": scores}).sum() for noise in (0.01, 0.1, 1.0)
    ]
    assert found[0] > 60
    assert found[0] > 3 * found[1]
    assert found[1] > 3  # by chance one


def test_turned_attributes_are_turned_back(followed):
    data, schema = followed(0.01)
    turned = credit(data, data, schema, "abe", {})
    recorded = credit(data, data, schema, "abe", {"orientation": "as_recorded"})
    assert turned.sum() > 3 * recorded.sum()


def permuted(matrix, draws=20_000):
    """How often random pairs of records and rows earn at least what the true ones do."""
    rng, n = np.random.default_rng(7), len(matrix)
    random = np.array([matrix[np.arange(n), rng.permutation(n)].sum() for _ in range(draws)])
    return (1 + int((random >= matrix.trace() - 1e-12).sum())) / (draws + 1)


def test_independent_files_earn_chance(table, credits):
    rng = np.random.default_rng(8)
    data, schema = table({name: rng.normal(size=60) for name in "abcd"})
    matrix = credits(link_by_profile(data, data, schema, spec(), ("a", "b"))[0])
    assert matrix.mean() == pytest.approx(1 / 60)
    assert permuted(matrix) > LEVEL


def test_the_law_of_chance_has_power(followed, credits):
    data, schema = followed(0.05, n=60)
    assert permuted(credits(link_by_profile(data, data, schema, spec(), ("a", "b"))[0])) < LEVEL


@pytest.mark.parametrize("parameters", [{}, UNNAMED, {**UNNAMED, "units": "same"}, {"matching": "one_to_one"}])
def test_neither_rows_nor_columns_of_the_release_have_an_order(census, parameters):
    data, schema = census
    data = data.take(np.arange(0, 1080, 6))
    done = mask(data, schema, (swap(schema.names),), seed=bytes(32), path=())
    knows, rng = schema.names[::2], np.random.default_rng(9)
    rows, columns = rng.permutation(data.n), rng.permutation(13)
    other = Microdata(done.data.arrow.select([schema.names[j] for j in columns])).take(rows)
    alignment = Alignment.complete_in(np.arange(data.n))
    straight, _ = link_by_profile(data, done.data, schema, spec(**parameters), knows)
    turned, _ = link_by_profile(
        data, other, type(schema)(tuple(schema.attributes[j] for j in columns)), spec(**parameters), knows
    )
    place = np.argsort(rows)
    everybody = np.arange(data.n)
    assert straight.guesses(everybody).credit(alignment.record).tolist() == turned.guesses(everybody).credit(place).tolist()


def swap(names, p=5.0):
    return RankSwapping(method="rank_swapping", attributes=tuple(names), window_percent=p)


def micro(names, k):
    return Microaggregation(method="microaggregation", attributes=tuple(names), k=k)


# correct links of 1,080 (chance: 1), every second attribute against the others; measured, of one seed
CENSUS = {"none": 9.0, "swap": 6.0, "mdav3": 7.0 + 1 / 3, "mdav10": 4.9}
# matched of 13 attributes, in the same units and in unknown ones, and the rate of linkage by them
UNNAMED_CENSUS = {"none": (13, 1.0, 13, 1.0), "mdav3": (13, 0.2920, 11, 0.2836), "mdav10": (13, 0.0730, 10, 0.0649)}
STEPS = {"none": (), "swap": (swap, 5.0), "mdav3": (micro, 3), "mdav10": (micro, 10)}


@pytest.fixture(scope="module")
def masked_census(census):
    data, schema = census

    def made(how):
        if not STEPS[how]:
            return data, ()
        make, parameter = STEPS[how]
        done = mask(data, schema, (make(schema.names, parameter),), seed=bytes(32), path=())
        return done.data, done.mechanisms

    return made


@pytest.mark.parametrize("how", CENSUS)
def test_census_by_no_shared_attribute(census, masked_census, how):
    data, schema = census
    masked, mechanisms = masked_census(how)
    found = credit(data, masked, schema, schema.names[::2], {}, mechanisms=mechanisms)
    assert found.sum() == pytest.approx(CENSUS[how], abs=1e-6)


@pytest.mark.parametrize("how", UNNAMED_CENSUS)
def test_census_without_names(census, masked_census, how):
    data, schema = census
    masked, mechanisms = masked_census(how)
    told = []
    for units in ("same", "unknown"):
        result = run(data, masked, schema, schema.names, {**UNNAMED, "units": units}, mechanisms=mechanisms)
        told += [int(result.knows_mechanism.rpartition(": ")[2].split()[0]), result.outcomes.floats("credit").mean()]
        assert result.scale_by == ("release" if units == "same" else "own")
    assert told == pytest.approx(UNNAMED_CENSUS[how], abs=0.00006)


def test_a_unit_that_nobody_told(census):
    data, schema = census
    holds = (("AGI", Holding(times=0.4)), ("FEDTAX", Holding(times=1000.0)))
    result = run(data, data, schema, schema.names, UNNAMED, holds=holds)
    assert result.outcomes.floats("credit").mean() == 1.0
    assert "in a file of their own" in result.knows_data


def test_words_and_numbers_without_names(table):
    rng = np.random.default_rng(10)
    n = 200
    columns = {
        "town": np.array(["p", "q", "r", "s"])[rng.choice(4, n, p=(0.5, 0.3, 0.15, 0.05))],
        "sex": np.array(["f", "m"])[rng.choice(2, n, p=(0.4, 0.6))],
        "age": rng.integers(18, 90, n),
        "pay": rng.lognormal(8, 1, n),
    }
    data, schema = table(columns, scales={"town": Scale.NOMINAL, "sex": Scale.NOMINAL})
    for units in ("same", "unknown"):
        result = run(data, data, schema, schema.names, {**UNNAMED, "units": units})
        assert "that they are: 4 of 4" in result.knows_mechanism
        assert result.outcomes.floats("credit").mean() == 1.0
    others = Microdata.from_columns({**columns, "town": pa.array([f"in {one}" for one in columns["town"]])})
    assert credit(data, others, schema, schema.names, UNNAMED).mean() == 1.0


def test_columns_that_cannot_be_told_apart_are_not_matched_by_their_places(table):
    # pairs of columns that show the same values in independent orders, in tables of two: right by chance
    rng, right = np.random.default_rng(11), []
    for trial in range(40):
        values = np.arange(30.0)
        names = (f"x{trial}", f"y{trial}")
        data, schema = table({name: rng.permutation(values) for name in names})
        _, remark = link_by_profile(data, data, schema, spec(**UNNAMED), names)
        right.append(int(remark.rpartition(": ")[2].split()[0]))
    assert set(right) == {0, 2}
    assert 8 <= right.count(2) <= 32  # of 40 at one half; outside once in 30,000


def test_who_knows_attributes_that_are_not_published(table):
    rng = np.random.default_rng(12)
    size = rng.lognormal(size=100)
    columns = {"staff": size, "sales": 3 * size, "profit": size**2, "vote": rng.integers(0, 2, 100)}
    roles = {"sales": Role.WITHHELD, "profit": Role.CONFIDENTIAL, "vote": Role.CONFIDENTIAL}
    data, schema = table(columns, roles=roles, scales={"vote": Scale.NOMINAL})
    masked = data.select(schema.release_columns)
    asked = {"knows": ("sales", "profit"), "release_attributes": ("staff",)}
    result = run(data, masked, schema, ("staff",), asked)
    assert result.outcomes.floats("credit").mean() == 1.0
    assert "the original sales and profit of every record" in result.knows_data
    assert [name for name in result.outcomes.names if name.startswith("linked:")] == ["linked:vote"]
    assert run(data, masked, schema, ("staff", "vote"), asked, name="insider:vote").status == "not_applicable"


def test_a_file_of_other_names_and_other_size(table):
    # somebody's register of half of the people, in another order: its column is recognised, and everybody in it found
    rng = np.random.default_rng(13)
    columns = {"id": np.arange(100), "age": rng.permutation(100) + 0.5, "pay": rng.lognormal(8, 1, 100)}
    data, schema = table(columns, roles={"id": Role.IDENTIFIER}, scales={"id": Scale.CODE})
    some = rng.permutation(100)[:50]
    file = Microdata.from_columns({"id": some, "WAGE": columns["pay"][some]})
    given = FileSpec(table="register.csv", key=(("id", "id"),), attributes=(("WAGE", "pay"),))
    (who,) = holders(IntruderSpec(files=(given,)), schema, (file.names,))
    result = attack(
        *(data, data.select(schema.release_columns), schema, (), spec(**UNNAMED, units="same"), who),
        alignment=Alignment.complete_in(np.arange(100)),
        targets=np.arange(50),
        file=file,
    )
    assert "that they are: 1 of 1" in result.knows_mechanism
    assert result.outcomes.floats("credit").mean() == 1.0


def test_what_cannot_be_compared(table):
    data, schema = table({"a": [1.0, 2.0], "b": ["x", "y"]}, scales={"b": Scale.NOMINAL})
    for knows, reason in (("ab", "has no attribute with an order"), ("b", "knows no attribute that has an order")):
        result = run(data, data, schema, knows, {})
        assert (result.status, result.outcomes) == ("not_applicable", None)
        assert reason in result.reason
    with pytest.raises(NotApplicable, match="of the kind"):
        link_by_profile(data, data, schema, spec(**UNNAMED, release_attributes=("b",)), ("a",))


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"knows": ("aa",)}, "unknown-attribute"),
        ({"release_attributes": ("zz",)}, "unknown-attribute"),
        ({"release_attributes": ("b",)}, "unpublished-attribute"),
    ],
)
def test_wrong_names(table, parameters, code):
    data, schema = table({"a": [1.0, 2.0], "b": [3.0, 4.0]}, roles={"b": Role.WITHHELD})
    with pytest.raises(InputError) as caught:
        link_by_profile(data, data, schema, spec(**parameters), ("a",))
    assert caught.value.code == code


@pytest.mark.parametrize("parameters", [{"knows": ("a",)}, UNNAMED, {**UNNAMED, "units": "same"}])
def test_columns_and_tables_of_nothing(table, parameters):
    data, schema = table({"a": np.array([np.nan] * 3), "b": [1.0, 2.0, 3.0]})
    found = credit(data, data, schema, ("a", "b"), parameters)
    # of whom nothing is known, all stand in the middle of their file, as the second row does in the release
    assert found.tolist() == ([0.0, 1.0, 0.0] if "knows" in parameters else [1.0] * 3)
    assert credit(data.take(np.array([0])), data.take(np.array([0])), schema, ("a", "b"), parameters).tolist() == [1.0]


@pytest.mark.parametrize("parameters", [{}, {"powers": (2.0,)}, UNNAMED, {**UNNAMED, "units": "same"}])
def test_what_is_stored_is_read_back(parameters):
    made = spec(**parameters)
    assert ProfileLinkage.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize("wrong", [{"units": "same"}, {**UNNAMED, "powers": (1.0,)}, {"powers": (0.0,)}, {"match": "names"}])
def test_fields_that_do_not_fit(wrong):
    with pytest.raises(ValidationError):
        spec(**wrong)
