"""Steps that are declared of a table masked elsewhere: true ones are never refused, false ones are found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mask_family import BEFORE, EXAMPLES, ORDER, SCHEMA, example_ids
from scipy.stats import binom

from tasks.mask.external_release.declaration_check import LEVEL, find_false_declaration
from tasks.mask.external_release.released import FalseDeclaration
from tasks.mask.methods import find_method, mask, resolve_steps
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

NUMBERS = ("age", "size")


def make_source(n=300, seed=0):
    """A table with the columns of `mask_family`, one of them skew, with unequal categories."""
    rng = np.random.default_rng(seed)
    return Microdata.from_columns(
        {
            "age": 100 * rng.permutation(n),  # little noise is not lost in rounding
            "size": np.round(np.exp(1.2 * rng.normal(size=n)), 4),
            "group": np.r_[["a", "b", "c"], rng.choice(["a", "b", "c"], n - 3, p=[0.6, 0.3, 0.1])],
            "vote": rng.choice(["Yes", "No"], n),
            "grade": rng.choice(ORDER, n, p=[0.5, 0.3, 0.2]),
            "id": [f"p{i}" for i in range(n)],
        }
    )


def step(method, **fields):
    return find_method(method).model_validate({"method": method, **fields})


def noise(sd, kind="independent", attributes=NUMBERS):
    return step("noise", attributes=attributes, kind=kind, sd_percent=sd)


def swap(window=20.0, **fields):
    return step("rank_swapping", attributes=NUMBERS, **({"window_percent": window} | fields))


def jitter(window):
    return step("rank_jitter", attributes=NUMBERS, window_percent=window)


def micro(k, **fields):
    return step("microaggregation", attributes=NUMBERS, k=k, **fields)


def pram(retention=None, **fields):
    return step("pram", attributes=("group",), **({"retention": retention} | fields))


def matrix(*rows):
    return {one: dict(zip("abc", row, strict=True)) for one, row in zip("abc", rows, strict=True)}


def check(source, applied, declared, seed=0):
    """What is found of a table that one chain of steps made and another is declared of."""
    done = mask(source, SCHEMA, tuple(applied), seed=bytes(32), path=(str(seed),))
    return find_false_declaration(source, done.data, SCHEMA, resolve_steps(tuple(declared), SCHEMA, "mechanism"), done.record)


def test_worked_example():
    # 40 records 0, 10, ..., 390; every value stays, and the declared steps leave about none: 3 of 4 neighbours exchange
    schema = Schema((Attribute("a", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),))
    source = Microdata.from_columns({"a": np.arange(40) * 10.0})
    declared = resolve_steps((step("rank_swapping", attributes=("a",), window_percent=10.0),), schema, "mechanism")
    everybody = np.arange(40)
    found = find_false_declaration(source, source, schema, declared, everybody)
    assert found.attributes == ("a",)
    assert "unchanged" in found.aspects
    assert binom.sf(39, 40, 0.5) < LEVEL  # so would 40 of 40 be where half stay
    exchanged = Microdata.from_columns({"a": np.arange(40).reshape(-1, 2)[:, ::-1].ravel() * 10.0})
    wide = resolve_steps((step("rank_swapping", attributes=("a",), window_percent=2.5),), schema, "mechanism")
    assert find_false_declaration(source, exchanged, schema, wide, everybody) is None  # within one rank, it is what they do


def test_steps_without_attributes_and_steps_that_cannot_be_carried_out_are_not_judged():
    source, everybody = make_source(30), np.arange(30)
    assert find_false_declaration(source, source.select(SCHEMA.release_columns), SCHEMA, (), everybody) is None
    too_large = resolve_steps((micro(31),), SCHEMA, "mechanism")
    assert find_false_declaration(source, source.select(SCHEMA.release_columns), SCHEMA, too_large, everybody) is None


FALSE = {
    "a swap as noise": ([swap()], [noise(30.0)]),
    "a swap as jitter": ([swap()], [jitter(25.0)]),
    "a jitter as swap": ([jitter(20.0)], [swap()]),
    "noise as a swap": ([noise(30.0)], [swap()]),
    "noise 3 times too large": ([noise(10.0)], [noise(30.0)]),
    "noise 3 times too small": ([noise(30.0)], [noise(10.0)]),
    "factors as additive noise": ([noise(20.0, "multiplicative")], [noise(20.0)]),
    "a window of a fifth as one of a half": ([swap(20.0)], [swap(50.0)]),
    "a window of a half as one of a fifth": ([swap(50.0)], [swap(20.0)]),
    "pram kept too much": ([pram(0.5)], [pram(0.8)]),
    "pram kept too little": ([pram(0.8)], [pram(0.5)]),
    "another matrix with the same diagonal": (
        [pram(matrix=matrix((0.6, 0.4, 0.0), (0.4, 0.6, 0.0), (0.0, 0.4, 0.6)))],
        [pram(matrix=matrix((0.6, 0.0, 0.4), (0.0, 0.6, 0.4), (0.4, 0.0, 0.6)))],
    ),
    "groups of 3 as groups of 5": ([micro(3)], [micro(5)]),
    "groups of 5 as groups of 3": ([micro(5)], [micro(3)]),
    "joint groups as single ones": ([micro(3)], [micro(3, partition="individual_ranking")]),
    "a swap and little noise as noise": ([swap(), noise(0.1)], [noise(30.0)]),
    "noise as a swap and little noise": ([noise(30.0)], [swap(), noise(0.1)]),
    "a swap and little noise as jitter and little noise": ([swap(), noise(0.05)], [jitter(25.0), noise(0.05)]),
    "groups and then a swap as the groups alone": ([micro(3), swap()], [micro(3)]),
    "groups alone as groups and then a swap": ([micro(3)], [micro(3), swap()]),
    "noise and then groups in the other order": ([noise(30.0), micro(3)], [micro(3), noise(30.0)]),
    "groups and then noise in the other order": ([micro(3), noise(30.0)], [noise(30.0), micro(3)]),
}


@pytest.mark.parametrize("name", [name for name in FALSE if " and " not in name])
def test_a_false_declaration_is_found(name):
    applied, declared = FALSE[name]
    found = check(make_source(), applied, declared)
    assert found is not None
    assert set(found.attributes) <= {*NUMBERS, "group"}


@pytest.mark.slow
@pytest.mark.parametrize("name", FALSE)
def test_a_false_declaration_is_found_whatever_the_seed(name):
    applied, declared = FALSE[name]
    assert all(check(make_source(seed=seed), applied, declared, seed) is not None for seed in range(3))


TRUE = {str(i): chain for i, chain in enumerate({repr(one): one for pair in FALSE.values() for one in pair}.values())}


@settings(max_examples=6)
@given(st.sampled_from(list(TRUE)), st.integers(0, 2**32 - 1), st.sampled_from([25, 80, 300]))
def test_a_true_declaration_is_not_refused(name, seed, n):
    assert check(make_source(n, seed), TRUE[name], TRUE[name], seed) is None


@pytest.mark.parametrize(
    "seeds", [pytest.param(range(1), marks=pytest.mark.slow), pytest.param(range(1, 40), marks=pytest.mark.long)], ids=str
)
@pytest.mark.parametrize("name", TRUE)
def test_a_true_declaration_is_not_refused_whatever_the_seed(name, seeds):
    for seed in seeds:
        for n in (25, 80, 300):
            assert check(make_source(n, seed), TRUE[name], TRUE[name], seed) is None


@pytest.mark.parametrize(
    "seeds", [pytest.param(range(1), marks=pytest.mark.slow), pytest.param(range(1, 20), marks=pytest.mark.long)], ids=str
)
@pytest.mark.parametrize(("kind", "example"), EXAMPLES, ids=example_ids())
def test_every_method_may_be_declared(kind, example, seeds):
    for seed in seeds:
        chain = (*BEFORE.get(example.method, ()), example)
        try:
            done = mask(make_source(120, seed), SCHEMA, chain, seed=bytes(32), path=(str(seed),))
        except InputError:  # an example that is made for whole numbers
            return
        assert find_false_declaration(make_source(120, seed), done.data, SCHEMA, done.mechanisms, done.record) is None


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False])
def test_absent_records_may_have_been_left_out_before_or_after(before):
    source, record = make_source(), np.arange(0, 300, 2)
    masked = source.take(record) if before else source
    done = mask(masked, SCHEMA, (micro(3), noise(5.0)), seed=bytes(32), path=())
    shown = done.data if before else done.data.take(record)
    assert find_false_declaration(source, shown, SCHEMA, done.mechanisms, record) is None
    wrong = resolve_steps((micro(3), noise(30.0)), SCHEMA, "mechanism")
    assert find_false_declaration(source, shown, SCHEMA, wrong, record) is not None


def test_more_and_fewer_digits_are_no_sign():
    source, everybody = make_source(), np.arange(300)
    shown = mask(source, SCHEMA, (noise(20.0),), seed=bytes(32), path=()).data
    rng = np.random.default_rng(0)
    sd = 0.2 * np.std(source.floats("age"), ddof=1)
    columns = {name: shown.column(name) for name in shown.names}
    columns["age"] = source.floats("age") + rng.normal(0, sd, 300)  # decimals of whole numbers
    columns["size"] = np.round(shown.floats("size"), 1)
    declared = resolve_steps((noise(20.0),), SCHEMA, "mechanism")
    assert find_false_declaration(source, Microdata.from_columns(columns), SCHEMA, declared, everybody) is None


# made by sdcMicro 5.8.1 from census.csv: true and false declarations
GOLDEN = {
    "mdav3": (step("microaggregation", k=3), step("microaggregation", k=4)),
    "rankswap5": (step("rank_swapping", window_percent=5.0), step("rank_swapping", window_percent=10.0)),
    "noise20": (step("noise", kind="independent", sd_percent=20.0), step("noise", kind="independent", sd_percent=60.0)),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow) for name in GOLDEN])
def test_files_of_sdcmicro(reference, name):
    before, after = (pd.read_csv(path) for path in (
        reference / "census.csv", reference.parent / "golden" / f"census-sdcmicro-{name}.csv"))  # fmt: skip
    schema = Schema(tuple(Attribute(one, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for one in before))
    source, released = (Microdata.from_columns({one: frame[one].to_numpy() for one in frame}) for frame in (before, after))
    true, false = (resolve_steps((one,), schema, "mechanism") for one in GOLDEN[name])
    assert find_false_declaration(source, released, schema, true, np.arange(source.n)) is None
    found = find_false_declaration(source, released, schema, false, np.arange(source.n))
    assert isinstance(found, FalseDeclaration)
    assert set(found.attributes) == set(schema.names)
