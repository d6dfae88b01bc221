"""People of another table as the control: in the columns of the source, and none of them in it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.control import _normal, harmonise_control
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Role, Scale
from tasks.microdata.units import find_units

N = 30


def people(table, first=0, n=N, **columns):
    base = {"id": np.arange(first, first + n), "x": np.arange(n) / 7 + first, "town": [f"t{i % 3}" for i in range(n)]}
    return table({**base, **columns}, scales={"town": Scale.NOMINAL}, roles={"id": Role.IDENTIFIER})


def test_columns_and_types_are_those_of_the_source(table):
    source, schema = people(table)
    other, _ = people(table, 100, x=np.arange(N), more=np.arange(N))  # whole numbers, and a column of its own
    fitted = harmonise_control(source, other, schema, "id")
    assert fitted.names == source.names
    assert fitted.column("x").type == source.column("x").type


def test_nobody_may_stand_in_both(table):
    source, schema = people(table)
    with pytest.raises(InputError, match="5 rows of the control's table stand in the source too, as `id` says"):
        harmonise_control(source, people(table, N - 5)[0], schema, "id")
    with pytest.raises(InputError, match="30 rows of the control's table stand in the source too, as `id` says"):
        harmonise_control(source, source, schema)  # an identifier tells it without a key
    harmonise_control(source, people(table, N)[0], schema, "id")


def test_people_of_several_rows_are_told_apart_by_their_key(table):
    columns = {"person": np.arange(2 * N) // 2, "x": np.arange(2.0 * N)}
    source, schema = table(columns, roles={"person": Role.PERSON})
    other, _ = table({"person": np.arange(2 * N) // 2 + N - 1, "x": np.arange(2.0 * N)}, roles={"person": Role.PERSON})
    with pytest.raises(InputError, match="2 rows of the control's table stand in the source too, as `person` says"):
        harmonise_control(source, other, schema)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": [f"v{i}" for i in range(N)]}, "`x` holds values of another kind"),
        ({"n": 12}, "the table of the control has 12 records"),
        ({"n": 1}, "the table of the control has 1 record\n"),
    ],
)
def test_what_is_no_control_is_refused(table, change, said):
    source, schema = people(table)
    with pytest.raises(InputError, match=said):
        harmonise_control(source, people(table, 100, **change)[0], schema)


WRITTEN = {  # how the source writes its keys, and how the control writes the same ones; 5 of the 30 stand in both
    "padded": ("P{}".format, " p{} ".format),
    "filled with zeros": ("{}".format, "{:06d}".format),
    "texts of whole numbers": (int, " {:04d}".format),
    "whole numbers of texts": ("{:06d}".format, int),
    "decimals": (int, "{}.0".format),
    "numbers with a fraction of nothing": ("{}".format, float),
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("named", [None, "id"])
def test_a_key_is_known_however_it_is_written(table, written, named):
    ours, theirs = WRITTEN[written]
    source, schema = people(table, id=[ours(i) for i in range(N)])
    other, _ = people(table, 100, id=[theirs(i) for i in range(N - 5, 2 * N - 5)])
    with pytest.raises(InputError, match="5 rows of the control's table stand in the source too, as `id` says") as refused:
        harmonise_control(source, other, schema, named)
    assert refused.value.value == 5
    apart, _ = people(table, 100, id=[theirs(i) for i in range(N, 2 * N)])
    assert harmonise_control(source, apart, schema, named).column("id").type == source.column("id").type


@settings(max_examples=40, deadline=None)
@given(st.integers(-(10**9), 10**9), st.integers(0, 5), st.text(" \t", max_size=3))
def test_a_whole_number_has_one_normal_form(number, zeros, blank):
    sign, size = "-" if number < 0 else "", abs(number)
    column = pa.array([f"{blank}{sign}{'0' * zeros}{size}{blank}", f"{sign}{size}.{'0' * zeros}", str(number)])
    found = {*_normal(column).to_pylist(), *_normal(pa.array([number])).to_pylist()}
    assert found | set(_normal(pa.array([float(number)])).to_pylist()) == {str(number)}


def test_other_values_stay_apart():
    texts = [
        "1",
        "-1",
        "10",
        "0.1",
        "1.01",
        "a1",
        "a01",
        "1e1",
        "1.",
        "",
        " ",
        None,
        "Strasse",
        "STRA\N{LATIN SMALL LETTER SHARP S}E",
    ]
    found = _normal(pa.array(texts)).to_pylist()
    assert found[:9] == ["1", "-1", "10", "0.1", "1.01", "a1", "a01", "1e1", "1"]
    assert found[9:] == [None, None, None, "strasse", "strasse"]


def test_another_identifier_than_the_key_is_looked_at(table):
    source, schema = named_people(table, [f"name {i}" for i in range(N)], 0)
    other, _ = named_people(table, ["NAME 3", *(f"other {i}" for i in range(N - 1))], 100)
    with pytest.raises(InputError, match="1 row of the control's table stands in the source too, as `name` says") as refused:
        harmonise_control(source, other, schema, "id")
    assert "name 3" not in str(refused.value).lower()


def test_an_identifier_that_repeats_in_the_source_tells_nobody_apart(table):
    source, schema = named_people(table, [f"name {i % 10}" for i in range(N)], 0)
    harmonise_control(source, named_people(table, [f"name {i % 10}" for i in range(N)], 100)[0], schema, "id")


def test_one_repeated_name_does_not_let_a_copy_in(table):
    names = ["name 0", *(f"name {i}" for i in range(N - 1))]
    source, schema = named_people(table, names, 0)
    with pytest.raises(InputError, match="as `name` says"):
        harmonise_control(source, named_people(table, names, 100)[0], schema, "id")
    few = [*names[:3], *(f"other {i}" for i in range(N - 3))]
    harmonise_control(source, named_people(table, few, 100)[0], schema, "id")


def test_a_name_in_all_rows_of_one_person_repeats_nothing(table):
    roles = {"person": Role.PERSON, "name": Role.IDENTIFIER}
    of = np.arange(2 * N) // 2
    source, schema = table({"person": of, "name": [f"name {i}" for i in of]}, roles=roles)
    other, _ = table({"person": of + 100, "name": [f"name {i + N - 1}" for i in of]}, roles=roles)
    with pytest.raises(InputError, match="2 rows of the control's table stand in the source too, as `name` says"):
        harmonise_control(source, other, schema)


def named_people(table, names, first):
    columns = {"id": np.arange(first, first + N), "name": names, "x": np.arange(N) / 7 + first}
    return table(columns, roles={"id": Role.IDENTIFIER, "name": Role.IDENTIFIER})


@pytest.mark.parametrize("missing", [None, "  "])
@pytest.mark.parametrize("role", [Role.IDENTIFIER, Role.PERSON])
def test_somebody_without_a_key_may_be_anybody(table, missing, role):
    source, schema = table({"id": [f"a{i}" for i in range(N)], "x": np.arange(N)}, roles={"id": role})
    other, _ = table({"id": [missing, missing, *(f"b{i}" for i in range(N - 2))], "x": np.arange(N)})
    with pytest.raises(InputError, match="2 of 30 rows of the control's table have no `id`") as refused:
        harmonise_control(source, other, schema, "id" if role is Role.IDENTIFIER else None)
    assert (refused.value.code, refused.value.value) == ("key-missing", 2)


def test_persons_of_another_kind_of_key_stay_as_many_and_apart_from_the_source(table):
    source, schema = table({"person": np.arange(2 * N) // 2, "x": np.arange(2 * N)}, roles={"person": Role.PERSON})
    other, _ = table({"person": [f"P{i // 2}" for i in range(2 * N)], "x": np.arange(2 * N) + 1000})
    fitted = harmonise_control(source, other, schema)
    assert fitted.column("person").type == source.column("person").type
    assert find_units(fitted, schema).n_units == N
    assert not set(fitted.column("person").to_pylist()) & set(source.column("person").to_pylist())
