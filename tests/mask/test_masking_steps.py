"""The masking steps of a release: in order, each with its own stream, touching nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, describe, mask
from tasks.mask.noise.noise import Noise
from tasks.mask.precision_grid import source_decimals
from tasks.mask.pseudonyms import Pseudonyms
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.errors import InputError
from tasks.microdata.scaling import refuse_too_large
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SEED = bytes(range(32))
N = 60


@pytest.fixture(scope="module")
def survey():
    rng = np.random.default_rng(7)
    data = Microdata.from_columns(
        {
            "name": [f"person {i}" for i in range(N)],
            "age": rng.integers(18, 90, N),
            "income": rng.lognormal(10, 1, N).round(2),
            "grade": rng.choice(["low", "middle", "high"], N),
            "town": rng.choice(["a", "b", "c"], N),
            "vote": [None if i % 9 == 0 else bool(i % 2) for i in range(N)],
        }
    )
    quasi, numeric = Role.QUASI_IDENTIFIER, Scale.NUMERIC
    attributes = (
        Attribute("name", Role.IDENTIFIER, Scale.NOMINAL, "declared"),
        Attribute("age", quasi, numeric, "declared"),
        Attribute("income", quasi, numeric, "declared"),
        Attribute("grade", quasi, Scale.ORDINAL, "declared", order=("low", "middle", "high")),
        Attribute("town", quasi, Scale.NOMINAL, "declared"),
        Attribute("vote", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
    )
    return data, Schema(attributes)


def microaggregation(**parameters):
    return Microaggregation(method="microaggregation", **{"k": 5, **parameters})


def swapping(*attributes, window_percent=20.0):
    return RankSwapping(method="rank_swapping", attributes=attributes or None, window_percent=window_percent)


COMBINED = {  # single steps: tests/mask/test_family.py
    "none": (),
    "three": (Pram(method="pram", attributes=("grade", "town"), epsilon=0.5), swapping("grade"), microaggregation(k=3)),
    "both": (microaggregation(attributes=("age",)), swapping("income", "age")),
    "pseudonyms": (Pseudonyms(method="pseudonyms", attributes=("name",)), swapping("income")),
    "restored": (Noise(method="noise", kind="variance_restoring", sd_percent=30.0), swapping("income")),
}


@pytest.mark.parametrize("steps", COMBINED.values(), ids=COMBINED)
def test_rows_schema_and_untouched_columns_stay(survey, steps):
    data, schema = survey
    done = mask(data, schema, steps, seed=SEED, path=("test",))
    assert done.data.arrow.schema == data.select(schema.release_columns).arrow.schema
    assert done.data.n == N
    assert sorted(done.order.tolist()) == list(range(N))
    touched = {name for step in done.mechanisms for name in step.attributes}
    for name in schema.release_columns:
        assert done.data.column(name).equals(data.column(name)) == (name not in touched)


@pytest.mark.parametrize("steps", COMBINED.values(), ids=COMBINED)
def test_a_seed_and_a_path_determine_everything(survey, steps):
    first, again = (mask(*survey, steps, seed=SEED, path=("a",)) for _ in range(2))
    other = mask(*survey, steps, seed=SEED, path=("b",))
    assert first.data.arrow.equals(again.data.arrow)
    assert (first.order == again.order).all()
    assert (first.order != other.order).any()


def test_mechanisms_name_the_attributes_and_survive_being_stored(survey):
    steps = (microaggregation(), swapping("income"), microaggregation(blocks=(("age", "grade"), ("income",))))
    mechanisms = mask(*survey, steps, seed=SEED, path=()).mechanisms
    assert mechanisms[0].attributes == ("age", "income", "grade")  # the quasi-identifiers that have an order
    assert mechanisms[2].attributes == ("age", "grade", "income")
    stored = TypeAdapter(tuple[Masking, ...])
    assert stored.validate_json(stored.dump_json(mechanisms)) == mechanisms


def test_changing_a_step_moves_no_other(survey):
    narrow, wide = (
        mask(*survey, (swapping("age"), swapping("income", window_percent=w)), seed=SEED, path=()).data for w in (10.0, 30.0)
    )
    assert narrow.column("age").equals(wide.column("age"))
    assert not narrow.column("income").equals(wide.column("income"))


def test_numbers_are_published_at_the_precision_of_the_source(survey):
    data = mask(*survey, (microaggregation(),), seed=SEED, path=()).data
    assert source_decimals(data.floats("income")) == 2
    assert data.is_integer("age")


@pytest.mark.parametrize(
    ("step", "code", "said"),
    [
        (swapping("agee"), "unknown-attribute", "did you mean `age`?"),
        (swapping("name"), "unpublished-attribute", "identifier"),
        (swapping("town"), "wrong-scale", "nominal"),
        (microaggregation(blocks=(("age", "name"),)), "unpublished-attribute", "identifier"),
    ],
)
def test_attributes_that_do_not_fit(survey, step, code, said):
    with pytest.raises(InputError) as refused:
        mask(*survey, (swapping("age"), step), seed=SEED, path=())
    assert refused.value.code == code
    assert said in str(refused.value)
    assert refused.value.where == "masking[1].attributes"


def test_nothing_to_mask(survey):
    data, schema = survey
    only_town = Schema((schema["town"], schema["vote"]))
    with pytest.raises(InputError) as refused:
        mask(data, only_town, (swapping(),), seed=SEED, path=())
    assert refused.value.code == "nothing-to-mask"


def test_every_method_is_described():
    described = [row["method"] for row in describe()]
    assert described[:4] == ["microaggregation", "rank_swapping", "rank_jitter", "pram"]
    assert len({tuple(row) for row in describe()}) == 1


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([], 0),
        ([1, 2, np.nan], 0),
        ([1, 2.5, 10.25], 2),
        ([0.1 + 0.2], 15),
        ([1e300, 5], 0),
        ([1234567.891], 3),
        ([1 / 3], 15),
        ([1e-20], 15),
    ],
)
def test_source_decimals(values, decimals):
    assert source_decimals(np.array(values, dtype=float)) == decimals


@given(st.lists(st.integers(-(10**9), 10**9), min_size=1), st.integers(0, 6))
def test_decimals_that_were_written_are_found(whole, decimals):
    values = np.array([float(f"{w}e-{decimals}") for w in whole])
    shown = max(len(f"{w:0{decimals + 1}d}"[-decimals:].rstrip("0")) if decimals else 0 for w in (abs(w) for w in whole))
    assert source_decimals(values) == shown


@pytest.mark.parametrize("place", [0, 16_383, 16_384, 39_999])
def test_decimals_are_looked_for_in_every_part(place):
    values = np.ones(40_000)
    values[5], values[place] = np.nan, 0.25
    assert source_decimals(values) == 2


@pytest.mark.parametrize("number", [1e200, -1e200, -np.inf])
def test_numbers_are_too_large_on_either_side(number):
    with pytest.raises(InputError, match="too large"):
        refuse_too_large(np.array([np.nan, 1.0, number]), "income", "masking[0]")


def test_two_releases_with_other_columns_do_not_stand_in_one_order() -> None:
    from tasks.mask.groups.microaggregation import Microaggregation
    from tasks.mask.methods import mask
    from tasks.microdata.schema import Attribute, Role, Scale, Schema
    from tasks.microdata.table import Microdata

    data = Microdata.from_columns(
        {"age": list(range(40)), "vote": [i % 2 for i in range(40)], "party": [i % 3 for i in range(40)]}
    )
    step = Microaggregation(method="microaggregation", attributes=("age",), k=3)
    orders = []
    for hidden in ("vote", "party"):
        roles = {"age": Role.QUASI_IDENTIFIER, "vote": Role.CONFIDENTIAL, "party": Role.CONFIDENTIAL, hidden: Role.IDENTIFIER}
        schema = Schema(tuple(Attribute(name, role, Scale.NUMERIC, "declared") for name, role in roles.items()))
        orders.append(mask(data, schema, (step,), seed=b"s" * 32, path=("one source",)).order)
    assert (orders[0] != orders[1]).any()


def test_rounding_leaves_no_negative_zero() -> None:
    import numpy as np

    from tasks.mask.precision_grid import round_to_decimals

    assert not np.signbit(round_to_decimals(np.array([-0.3, -0.04, -0.0]), 0)).any()
