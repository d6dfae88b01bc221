"""Pseudonyms: keyed, one for each identifier, and only in the released table."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.mask.external_release.adoption import ReleasedSpec
from tasks.mask.methods import mask, refuse_unfit, resolve_steps
from tasks.mask.pseudonyms import Pseudonyms, add_pseudonyms, derive_key, pseudonyms
from tasks.mask.sampling import Sampling
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
SEED = bytes(32)


def step(*names, stable="release"):
    return Pseudonyms(method="pseudonyms", attributes=names or ("id",), stable=stable)


def made(values, name="id", key=KEY, kind=None):
    return pseudonyms(pa.array(values, kind), name, key=key).to_pylist()


def schema_of(data, **roles):
    return Schema(tuple(Attribute(name, roles.get(name, Role.IDENTIFIER), Scale.CODE, "declared") for name in data.names))


@pytest.fixture
def people():
    n = 30
    data = Microdata.from_columns(
        {
            "id": np.arange(100, 100 + n),
            "age": np.arange(n) % 7,
            "card": [None if i == 4 else f"card {i}" for i in range(n)],
            "visit": np.arange(n) // 3,
        }
    )
    attributes = [Attribute(name, Role.IDENTIFIER, Scale.CODE, "declared") for name in ("id", "card", "visit")] + [
        Attribute("age", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared")
    ]
    by_name = {attribute.name: attribute for attribute in attributes}
    return data, Schema(tuple(by_name[name] for name in data.names))


def test_worked_by_hand():
    by_hand = base64.b32encode(hmac.new(KEY, b'["id", "number", "7"]', hashlib.sha256).digest()[:20]).decode()
    assert made([7]) == [by_hand]
    assert len(by_hand) == 32 and by_hand.isalnum() and by_hand.isupper()


@pytest.mark.parametrize(
    ("one", "another", "alike"),
    [
        ([7], [7.0], True),  # a column with a decimal somewhere is read as decimals
        ([7], ["7"], False),
        ([True], ["True"], False),
        (["a"], ["A"], False),
        (["a"], ["a "], False),
        ([0.1], [0.1 + 5e-18], True),
        ([0.1], [0.10000000000000002], False),
        ([dt.date(2020, 1, 2)], ["2020-01-02"], False),
        ([10**18], [10**18 + 1], False),
    ],
)
def test_what_counts_as_one_identifier(one, another, alike):
    assert (made(one) == made(another)) == alike


def test_a_missing_identifier_stays_missing():
    assert made([1, None, 3])[1] is None
    assert made([None, None], kind=pa.string()) == [None, None]


@given(st.lists(st.one_of(st.text(max_size=8), st.none()), max_size=20))
def test_equal_identifiers_and_no_others_have_equal_pseudonyms(values):
    found = made(values, kind=pa.string())
    assert [[a == b for b in values] for a in values] == [[a == b for b in found] for a in found]


def test_another_key_or_another_column_gives_others():
    values = [1, 2, 3]
    families = [made(values), made(values, key=OTHER), made(values, name="card")]
    assert len({one for family in families for one in family}) == 9


def test_no_plain_hash_of_the_identifier_is_in_it():
    (found,) = made(["AB-12"])
    for text in ("AB-12", '["id", "text", "AB-12"]'):
        for name in ("md5", "sha1", "sha256"):
            digest = hashlib.new(name, text.encode()).digest()
            assert base64.b32encode(digest[:20]).decode().rstrip("=") != found


def test_keys_of_different_purposes_differ():
    paths = [(), ("series",), ("a", "bc"), ("ab", "c"), ("abc",)]
    keys = {derive_key(KEY, *path) for path in paths}
    assert len(keys) == len(paths)
    assert KEY not in keys
    assert {len(key) for key in keys} == {32}


def test_the_columns_stand_in_the_order_of_the_schema_and_nowhere_but_in_the_released_table(people):
    data, schema = people
    steps = (Sampling(method="sampling", size=20), step("card"), step("id", stable="series"))
    done = mask(data, schema, steps, seed=SEED, path=())
    assert done.data.names == schema.release_columns == ("age",)
    rows = done.record[done.order]
    keys = {"release": KEY, "series": OTHER}
    released = add_pseudonyms(done.data.take(done.order), data.take(rows), schema, done.mechanisms, keys)
    assert released.names == ("id", "age", "card")
    assert released.column("age").equals(data.take(rows).column("age"))
    assert released.column("id").to_pylist() == made(data.take(rows).column("id").to_pylist(), key=OTHER)
    assert released.column("card").to_pylist() == made(data.take(rows).column("card").to_pylist(), name="card")


def test_without_the_step_the_released_table_is_as_it_was(people):
    data, schema = people
    done = mask(data, schema, (), seed=SEED, path=())
    assert add_pseudonyms(done.data, data, schema, done.mechanisms, {}).arrow.equals(done.data.arrow)


@pytest.mark.parametrize(
    ("steps", "code", "said"),
    [
        ((step("visit"),), "repeated-identifier", "20 rows repeat an earlier one"),
        ((step("age"),), "not-an-identifier", "role quasi_identifier"),
        ((step("crad"),), "unknown-attribute", "did you mean `card`?"),
        ((step("id"), step("id", stable="series")), "pseudonyms-twice", "two steps"),
    ],
)
def test_what_is_refused(people, steps, code, said):
    data, schema = people
    for refusing in (
        lambda: mask(data, schema, steps, seed=SEED, path=()),
        lambda: refuse_unfit(data, schema, resolve_steps(steps, schema, "masking")),
    ):
        with pytest.raises(InputError) as refused:
            refusing()
        assert refused.value.code == code
        assert said in str(refused.value)
        assert refused.value.where.endswith(".attributes")


def test_a_repetition_that_sampling_would_leave_out_is_refused_all_the_same(people):
    data, schema = people
    with pytest.raises(InputError) as refused:
        mask(data, schema, (Sampling(method="sampling", size=2), step("visit")), seed=SEED, path=())
    assert refused.value.code == "repeated-identifier"


@pytest.mark.parametrize("parameters", [{}, {"attributes": ()}, {"attributes": ("id",), "by": ("age",)}])
def test_parameters_that_are_refused(parameters):
    with pytest.raises(ValidationError):
        Pseudonyms(method="pseudonyms", **parameters)


def test_a_table_masked_elsewhere_cannot_declare_them():
    with pytest.raises(ValidationError, match="made here only"):
        ReleasedSpec(table="released.csv", mechanism=(step("id"),))
