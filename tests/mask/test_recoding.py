"""Recoding: bands of numbers and dates, joined categories, and mappings in files."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest
from followed import followed
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from sites import site_of

from flows.release_file import load_release
from tasks.mask.coding.recoding import Recoding, load_mappings, recode
from tasks.mask.coding.rounding import Rounding, round_to_base
from tasks.mask.methods import Masking, mask
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata


def step(recodes, **parameters):
    return Recoding(method="recoding", recode=recodes, **parameters)


def table(scale, values, order=None):
    attribute = Attribute("a", Role.QUASI_IDENTIFIER, scale, "declared", order=order)
    return Microdata.from_columns({"a": values}), Schema((attribute,))


def recoded(scale, values, how, order=None):
    data, schema = table(scale, values, order)
    return recode(site_of(data, schema), step({"a": how})).column("a").to_pylist()


NUMBERS = [3, 20, 24, 30, 39, None, 40, 45, 70]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        # [3] [20 24 30 39] [40 45 70]
        ({"intervals": [20, 40], "values": [0, 29, 60]}, [0, 29, 29, 29, 29, None, 60, 60, 60]),
        ({"intervals": [0, 25, 40, 71], "publish": "midpoint"}, [12, 12, 12, 32, 32, None, 55, 55, 55]),  # 12.5, 32.5, 55.5
        ({"intervals": [3, 20, 40], "publish": "lower"}, [3, 20, 20, 20, 20, None, 40, 40, 40]),
        ({"intervals": [30], "publish": "mean"}, [16, 16, 16, 45, 45, None, 45, 45, 45]),  # 47 / 3, 224 / 5
        ({"intervals": [25], "publish": "median"}, [20, 20, 20, 40, 40, None, 40, 40, 40]),
    ],
)
def test_worked_bands(how, expected):
    assert recoded(Scale.NUMERIC, NUMBERS, how) == expected


def test_bands_of_dates_and_of_ordered_categories():
    days = [date(2000, 1, 1), date(2000, 1, 4), date(2000, 1, 5), None]
    how = {"intervals": ["2000-01-01", "2000-01-05", "2000-01-09"], "publish": "midpoint"}
    assert recoded(Scale.DATE, days, how) == [date(2000, 1, 3), date(2000, 1, 3), date(2000, 1, 7), None]
    order = ("none", "school", "college", "doctor")
    grades = ["none", "school", "none", "doctor", "college", "college"]
    # none none school: none. college college doctor: college
    how = {"intervals": ["college"], "publish": "median"}
    assert recoded(Scale.ORDINAL, grades, how, order) == ["none", "none", "none", "college", "college", "college"]


TOWNS = ["Girona", "Madrid", None, "Reus", "Vic", "Madrid"]
CATALONIA = {"Girona": "Catalonia", "Reus": "Catalonia", "Vic": "Catalonia"}


@pytest.mark.parametrize(
    ("scale", "values", "how", "order", "expected"),
    [
        (Scale.NOMINAL, TOWNS, {"map": {**CATALONIA, "Madrid": "Castile"}}, None,
         ["Catalonia", "Castile", None, "Catalonia", "Catalonia", "Castile"]),
        (Scale.NOMINAL, TOWNS, {"map": CATALONIA, "others": "keep"}, None,
         ["Catalonia", "Madrid", None, "Catalonia", "Catalonia", "Madrid"]),
        (Scale.NOMINAL, TOWNS, {"map": {"Madrid": "capital"}, "others": {"become": "elsewhere"}}, None,
         ["elsewhere", "capital", None, "elsewhere", "elsewhere", "capital"]),
        (Scale.CODE, [11, 12, 21, None], {"map": {"11": "10", "12": 10, "21": 20}}, None, [10, 10, 20, None]),
        (Scale.CODE, ["011", "012"], {"map": {"011": "01", "012": "01"}}, None, ["01", "01"]),
        (Scale.ORDINAL, [1.0, 2.0, 3.0, 5.0], {"map": {"2": 1, "3": 5}, "others": "keep"}, None, [1.0, 1.0, 5.0, 5.0]),
        (Scale.ORDINAL, ["lo", "mid", "hi"], {"map": {"mid": "hi"}, "others": "keep"}, ("lo", "mid", "hi"), ["lo", "hi", "hi"]),
        (Scale.NOMINAL, [True, False, None], {"map": {"true": False, "false": "false"}}, None, [False, False, None]),
    ],
)  # fmt: skip
def test_worked_mappings(scale, values, how, order, expected):
    assert recoded(scale, values, how, order) == expected


LIMITS = st.lists(st.integers(-60, 60), min_size=1, max_size=6, unique=True).map(sorted)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(-50, 49), min_size=4, max_size=40), LIMITS, st.sampled_from(["lower", "midpoint"]), st.randoms())
def test_bands_keep_the_order_and_hold_their_value(values, limits, publish, random):
    limits = sorted({-60, *limits, 60})
    data, schema = table(Scale.NUMERIC, values)
    spec = step({"a": {"intervals": limits, "publish": publish}}, by=None)
    try:
        after = np.array(recode(site_of(data, schema), spec).floats("a"))
    except InputError as refused:
        assert refused.code in ("nothing-recoded", "one-band")
        return
    band, shown = (np.searchsorted(limits, column, side="right") for column in (np.array(values), after))
    assert (band == shown).all()
    assert all(len(set(after[band == one])) == 1 for one in set(band))
    rows = np.array(random.sample(range(len(values)), len(values)))
    assert (recode(site_of(data.take(rows), schema), spec).floats("a") == after[rows]).all()
    if publish == "lower" and (after != values).any():
        with pytest.raises(InputError, match="changes no value"):
            recode(site_of(Microdata.from_columns({"a": after.astype(int)}), schema), spec)


def test_rounding_is_recoding_by_the_intervals_around_the_multiples(numbers):
    values = [v for v in range(-30, 60) if v % 10 != 5]  # at the halves rounding goes to the even multiple
    data, schema = numbers({"a": values})
    spec = step({"a": {"intervals": list(range(-35, 66, 10)), "publish": "midpoint"}})
    to_ten = Rounding(method="rounding", kind="deterministic", bases={"a": 10})
    assert recode(site_of(data, schema), spec).arrow.equals(round_to_base(site_of(data, schema), to_ten).arrow)


def test_means_of_bands_in_strata(numbers):
    data, schema = numbers({"a": [1, 2, 6, 10, 10, 40, 40, 70], "s": [0, 0, 0, 1, 1, 1, 1, 1]}, s=Scale.NOMINAL)
    steps = (step({"a": {"intervals": [30], "publish": "mean"}}, by=("s",)),)
    with pytest.raises(InputError, match="in one of the 2 strata by s, of 5 rows"):
        mask(data, schema, steps, seed=b"s" * 32, path=())  # two records of 10
    done = mask(data.take(np.array([0, 1, 2, 5, 6, 7])), schema, steps, seed=b"s" * 32, path=())
    assert done.data.column("a").to_pylist() == [3, 3, 3, 50, 50, 50]


@pytest.mark.parametrize(
    ("scale", "values", "how", "order", "code"),
    [
        (Scale.NUMERIC, NUMBERS, {"intervals": [20, 40], "publish": "midpoint"}, None, "open-band"),
        (Scale.NUMERIC, NUMBERS, {"intervals": [20, 40], "publish": "lower"}, None, "open-band"),
        (Scale.NUMERIC, NUMBERS, {"intervals": [20, 40], "publish": "mean"}, None, "few-behind-a-centre"),
        (Scale.NUMERIC, NUMBERS, {"intervals": [40, 20], "publish": "median"}, None, "limits-not-ascending"),
        (Scale.NUMERIC, NUMBERS, {"intervals": [20.5], "publish": "median"}, None, "between-values"),
        (Scale.NUMERIC, NUMBERS, {"intervals": [90], "publish": "median"}, None, "one-band"),
        (Scale.NUMERIC, NUMBERS, {"intervals": [20], "values": [0, 10]}, None, "value-outside-its-band"),
        (Scale.NUMERIC, NUMBERS, {"map": {"3": 4}}, None, "wrong-scale"),
        (Scale.NUMERIC, [1.0, np.inf], {"intervals": [1], "publish": "median"}, None, "infinite-value"),
        (Scale.ORDINAL, [1, 2, 3], {"intervals": [2], "publish": "mean"}, None, "no-mean"),
        (Scale.ORDINAL, [1, 2, 3], {"intervals": [1, 4], "publish": "midpoint"}, None, "no-midpoint"),
        (Scale.NOMINAL, TOWNS, {"intervals": [20], "publish": "median"}, None, "wrong-scale"),
        (Scale.NOMINAL, TOWNS, {"map": CATALONIA}, None, "unlisted-category"),
        (Scale.NOMINAL, TOWNS, {"map": {"Girone": "x", **CATALONIA}, "others": "keep"}, None, "unknown-category"),
        (Scale.NOMINAL, TOWNS, {"map": {"Reus": "Reus"}, "others": "keep"}, None, "nothing-recoded"),
        (Scale.NOMINAL, TOWNS, {"file": "towns.csv"}, None, "unread-mapping"),
        (Scale.CODE, [11, 12], {"map": {"11": "ten"}, "others": "keep"}, None, "unfitting-category"),
        (Scale.CODE, [11.0, 12.0], {"map": {"11": 10, "11.0": 10}, "others": "keep"}, None, "mapping"),
        (Scale.ORDINAL, [1, 2, 3], {"map": {"1": 3}, "others": "keep"}, None, "order-not-kept"),
        (Scale.ORDINAL, ["lo", "hi"], {"map": {"lo": "low"}, "others": "keep"}, ("lo", "hi"), "unknown-category"),
    ],
)
def test_refusals(scale, values, how, order, code):
    with pytest.raises(InputError) as refused:
        recoded(scale, values, how, order)
    assert refused.value.code == code
    assert refused.value.where.startswith("masking[0].recode.a")
    assert not {"Girona", "Girone", "Madrid", "70"} & set(refused.value.what.replace("`", " ").split())


def test_a_slip_in_the_mapping_is_explained():
    with pytest.raises(InputError, match="did you mean `Girona`"):
        recoded(Scale.NOMINAL, TOWNS, {"map": {"Girone": "x"}, "others": "keep"})
    assert recoded(Scale.NOMINAL, ["a", "b"], {"map": {"a": "b", "z": "y"}, "others": "keep", "unused": "ignore"}) == ["b", "b"]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"intervals": [1]},
        {"intervals": [1], "publish": "mean", "values": [0, 2]},
        {"intervals": [1], "values": [0, 1, 2]},
        {"intervals": [1], "publish": "mean", "others": "keep"},
        {"map": {"a": "b"}, "publish": "mean"},
        {"map": {"a": "b"}, "file": "b.csv"},
        {"map": {"a": None}},
        {"map": {}},
        {"map": {"a": "b"}, "others": "drop"},
    ],
)
def test_parameters_that_make_no_sense(how):
    with pytest.raises(ValidationError):
        step({"a": how})


def test_strata_change_only_what_is_computed():
    with pytest.raises(ValidationError, match="take `by` out"):
        step({"a": {"intervals": [1], "publish": "lower"}}, by=("b",))


def test_what_is_stored_and_what_may_be_told():
    spec = step(
        {"b": {"map": {"Girona": "C", "Vic": "C"}, "others": {"become": "rest"}}, "a": {"intervals": [30], "publish": "mean"}}
    )
    stored = TypeAdapter(Masking)
    assert stored.validate_json(stored.dump_json(spec)) == spec
    told = spec.public()
    assert told["recode"] == {
        "a": {"bands": 2, "publish": "mean"},
        "b": {"categories": 2, "become": 1, "others": "become one category"},
    }
    assert spec.rule == "recoding of a into 2 bands and b into coarser categories"
    assert step({"a": {"map": {"x": "z", "y": "z"}}}) == step({"a": {"map": {"y": "z", "x": "z"}}})


def read_from(folder, name, content, **how):
    (folder / name).write_bytes(content)
    (spec,) = load_mappings((step({"a": {"file": name, **how}}),), folder, "masking")
    return spec


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("towns.csv", b"old,new\nGirona,Catalonia\nMadrid,Castile\nReus,Catalonia\nVic,Catalonia\nLleida,Catalonia\n"),
        ("towns.csv", '\ufeffold;new\r\nGirona;Catalonia\r\nMadrid;Castile\r\n"Reus";Catalonia\r\nVic;Catalonia\r\n'.encode()),
        ("towns.yaml", b"Girona: Catalonia\nMadrid: Castile\nReus: Catalonia\n'Vic': Catalonia\n"),
    ],
)
def test_a_mapping_in_a_file_becomes_part_of_the_spec(tmp_path, name, content):
    spec = read_from(tmp_path, name, content)
    data, schema = table(Scale.NOMINAL, TOWNS)
    shown = recode(site_of(data, schema), spec).column("a").to_pylist()
    assert shown == ["Catalonia", "Castile", None, "Catalonia", "Catalonia", "Castile"]
    assert spec != read_from(tmp_path, name, content.replace(b"Castile", b"Madrid"))
    stored = TypeAdapter(Masking)
    assert stored.validate_json(stored.dump_json(spec)) == spec
    assert (spec.recode[0][1].file, spec.recode[0][1].unused) == (None, "ignore")
    assert read_from(tmp_path, name, content, unused="refuse").recode[0][1].unused == "refuse"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("towns.csv", b"Girona,Catalonia\nMadrid,Castile\n"),
        ("towns.csv", b"old,new\nGirona,\n"),
        ("towns.csv", b"old,new\nGirona,a\nGirona,b\n"),
        ("towns.csv", b"old,new\nGirona,a,b\n"),
        ("towns.csv", b'old,new\n"Girona,a\n'),
        ("towns.csv", b"old,new\nGirona,\x00\n"),
        ("towns.csv", "old,new\nLogroño,a\n".encode("latin-1")),
        ("towns.csv", b"old,new\n"),
        ("towns.csv", b""),
        ("towns.csv", b"PK\x03\x04"),
        ("towns.yaml", b"Girona: &x Catalonia\nReus: *x\n"),
        ("towns.yaml", b"Girona: [Catalonia]\n"),
        ("towns.yaml", b"Girona: a\nGirona: b\n"),
        ("towns.yaml", b"1: a\n"),
        ("towns.yaml", b"- Girona\n"),
        ("towns.yaml", b"Girona: null\n"),
        ("towns.yaml", b"{" * 200),
        ("towns.yaml", b"\xff\xfe\x00"),
        ("towns.txt", b"old,new\nGirona,a\n"),
    ],
)
def test_a_hostile_mapping_file_gets_one_clear_message(tmp_path, name, content):
    with pytest.raises(InputError) as refused:
        read_from(tmp_path, name, content)
    assert refused.value.code == "mapping-file"
    assert "old,new" in refused.value.allowed
    assert name in str(refused.value)


def test_a_mapping_file_that_is_not_there(tmp_path):
    (tmp_path / "towns.csv").write_bytes(b"old,new\na,b\n")
    with pytest.raises(InputError, match=r"did you mean `towns\.csv`") as refused:
        load_mappings((step({"a": {"file": "town.csv"}}),), tmp_path, "masking")
    assert refused.value.where == "masking[0].recode.a.file"
    with pytest.raises(ValidationError, match="zero byte"):
        step({"a": {"file": "a\0.csv"}})


@pytest.mark.parametrize(
    "how",
    [
        {"intervals": [10, 20, 30], "publish": "mean"},
        {"intervals": [0, 11, 25, 40], "publish": "midpoint"},
        {"intervals": [12], "values": [1, 30]},
    ],
)
def test_the_intruder_repeats_bands(numbers, how):
    rng = np.random.default_rng(11)
    data, schema = numbers({"a": rng.integers(0, 40, 80), "b": rng.integers(0, 4, 80)})
    seen = followed(data, schema, (step({"a": how}),))
    assert seen.knowledge.is_certain(("a", "b"))
    assert not seen.rules_out_the_truth.any()
    shown = seen.masked.floats("a") * 10 + seen.masked.floats("b")
    assert (seen.sizes == (shown[:, None] == shown).sum(axis=1)).all()


def test_the_intruder_maps_his_own_categories():
    data, schema = table(Scale.NOMINAL, [*TOWNS, "Girona", "Burgos"])
    seen = followed(data, schema, (step({"a": {"map": CATALONIA, "others": "keep"}}),))
    assert not seen.rules_out_the_truth.any()
    assert seen.sizes.tolist() == [4, 2, 1, 4, 4, 2, 4, 1]
    twice = (step({"a": {"map": CATALONIA, "others": "keep"}}),
             step({"a": {"map": {"Catalonia": "Spain", "Madrid": "Spain"}, "others": "keep"}}))  # fmt: skip
    assert followed(data, schema, twice).sizes.tolist() == [6, 6, 1, 6, 6, 6, 6, 1]


def test_a_release_file_holds_its_mapping_and_tells_the_tracking_server_nothing_of_it(tmp_path):
    (tmp_path / "towns.csv").write_bytes(b"old,new\nGirona,Catalonia\n")
    release = tmp_path / "release.yaml"
    masking = "[{method: recoding, recode: {vote: {file: towns.csv}}}, {method: top_bottom_coding, limits: {age: {top: 77}}}]"
    policy = "[{measure: k_anonymity, at_least: 2}]"
    release.write_text(f"name: r\nsource: {{dataset: anes96}}\npolicy: {policy}\nmasking: {masking}\n")
    loaded = load_release(release)
    assert loaded.masking[0].recode[0][1].map == (("Girona", "Catalonia"),)
    told = json.dumps(loaded.public())
    assert "Girona" not in told
    assert "Catalonia" not in told
    assert "77" not in told
    (tmp_path / "towns.csv").unlink()
    with pytest.raises(InputError) as refused:
        load_release(release)
    assert refused.value.where == f"{release}, line 4: masking[0].recode.vote.file"


def test_three_rows_of_one_person_are_one_person():
    data = Microdata.from_columns({"person": [1, 2, 3, 9, 9, 9], "a": [10, 20, 30, 90, 91, 92]})
    attributes = (
        Attribute("person", Role.PERSON, Scale.CODE, "declared"),
        Attribute("a", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
    )
    with pytest.raises(InputError) as refused:
        recode(site_of(data, Schema(attributes)), step({"a": {"intervals": [50], "publish": "mean"}}))
    assert refused.value.code == "few-behind-a-centre"
    assert "1 person" in refused.value.what
