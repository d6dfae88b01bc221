"""What holds for all masks of a kind, whatever their method."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tasks.mask.methods import DESCRIPTIONS, Masking, mask
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

SEED = bytes(range(32))
STEP = TypeAdapter(Masking)
NUMBERS = ["whole", "money", "more"]

EQUIVARIANT = {
    **{
        f"microaggregation by {partition}": {"method": "microaggregation", "k": 3, "partition": partition}
        for partition in ("mdav", "v_mdav", "refined", "individual_ranking", "projection")
    },
    "with categories": {"method": "microaggregation", "k": 3, "attributes": ["whole", "money", "town"]},
    "in strata": {"method": "microaggregation", "k": 2, "attributes": NUMBERS, "by": ["town"]},
    "blocks": {"method": "microaggregation", "k": 3, "blocks": [["whole"], {"attributes": ["money", "more"], "k": 4}]},
    "swapping": {"method": "rank_swapping", "window_percent": 20},
    "swapping in buckets": {"method": "rank_swapping", "variant": "p_buckets", "buckets": 4},
    "swapping at a distance": {"method": "rank_swapping", "variant": "p_distribution", "p_percent": 20},
    "jitter": {"method": "rank_jitter", "window_percent": 20},
    "ends": {"method": "top_bottom_coding", "limits": {"money": {"top_percent": 20, "publish": "mean"}}},
    "rounding": {"method": "rounding", "kind": "deterministic", "bases": {"whole": 7, "money": 0.5}},
    "bands": {"method": "recoding", "recode": {"whole": {"intervals": [10, 20], "publish": "median"}}},
    "joined": {"method": "recoding", "recode": {"town": {"map": {"a": "b"}, "others": "keep"}}},
}

DRAWN_BY_ROW = {"pram", "noise", "reverse_mapping", "sampling"}  # what a record gets depends on the row where it stands
MADE_AFTER_THE_STEPS = {"pseudonyms"}  # by who holds the key


def test_every_method_is_among_those_that_follow_the_order_or_says_why_not():
    methods = {get_args(kind.model_fields["method"].annotation)[0] for kind in get_args(get_args(Masking)[0])}
    follow = {str(parameters["method"]) for parameters in EQUIVARIANT.values()}
    assert methods == follow | DRAWN_BY_ROW | MADE_AFTER_THE_STEPS


def table(seed, n=30):
    rng = np.random.default_rng(seed)
    towns = np.array(["a"] * 8 + ["b"] * 8 + ["c"] * (n - 16))
    data = Microdata.from_columns(
        {
            "whole": rng.permutation(n),
            "money": rng.permutation(n) / 4,
            "more": rng.normal(size=n),
            "town": rng.permutation(towns),
        }
    )
    scales = {"town": Scale.NOMINAL}
    return data, Schema(
        tuple(Attribute(n, Role.QUASI_IDENTIFIER, scales.get(n, Scale.NUMERIC), "declared") for n in data.names)
    )


def step_of(parameters):
    return STEP.validate_python(parameters, strict=False)


@pytest.mark.parametrize("parameters", EQUIVARIANT.values(), ids=EQUIVARIANT)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_is_followed(parameters, seed):
    data, schema = table(seed)
    order = np.random.default_rng(seed + 1).permutation(data.n)
    step = step_of(parameters)
    masked, permuted = (mask(one, schema, (step,), seed=SEED, path=()).data for one in (data, data.take(order)))
    assert permuted.arrow.equals(masked.take(order).arrow)


REFUSED = {
    "k above n": ({"method": "microaggregation", "k": 31}, "group-too-small", "masking[0].k"),
    "window under one rank": ({"method": "rank_swapping", "window_percent": 3}, "window-under-one-rank", None),
    "jitter under one rank": ({"method": "rank_jitter", "window_percent": 1}, "window-under-one-rank", None),
    "an unknown category": (
        {"method": "recoding", "recode": {"town": {"map": {"A": "b"}, "others": "keep"}}},
        "unknown-category", "masking[0].recode.town.map",
    ),
    "an unknown stratum": ({"method": "noise", "kind": "independent", "sd_percent": 5, "attributes": ["more"], "by": ["twon"]},
                           "unknown-attribute", "masking[0].by"),
    "a masked stratum": ({"method": "rank_swapping", "window_percent": 20, "by": ["whole"]}, "masked-stratum", "masking[0].by"),
}  # fmt: skip


@pytest.mark.parametrize(("parameters", "code", "where"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_with_a_place_and_a_remedy(parameters, code, where):
    with pytest.raises(InputError) as refused:
        mask(*table(1), (step_of(parameters),), seed=SEED, path=())
    assert code in (None, refused.value.code)
    assert where in (None, refused.value.where)
    assert refused.value.where.startswith("masking[0]")
    assert refused.value.allowed
    assert refused.value.remedy


ON_NUMBERS = {
    "microaggregation": {"k": 3},
    "rank_swapping": {"window_percent": 20},
    "rank_jitter": {"window_percent": 20},
    "noise": {"kind": "independent", "sd_percent": 10},
}


@pytest.mark.parametrize("values", [[5.0] * 12, [1.0] * 11 + [np.inf]], ids=["a constant", "an infinite value"])
@pytest.mark.parametrize("method", ON_NUMBERS)
def test_columns_that_cannot_be_masked(method, values):
    data = Microdata.from_columns({"x": values})
    schema = Schema((Attribute("x", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),))
    with pytest.raises(InputError, match=r"equal|infinite"):
        mask(data, schema, (step_of({"method": method, **ON_NUMBERS[method]}),), seed=SEED, path=())


@pytest.mark.parametrize(
    "parameters",
    [
        {"method": "pram", "epsilon": -0.1},
        {"method": "noise", "kind": "independent", "sd_percent": float("nan")},
        {"method": "noise", "kind": "independent", "sd_percent": -1},
        {"method": "rank_jitter", "window_percent": 0},
        {"method": "microaggregation", "k": 0},
        {"method": "sampling", "share": 1.5},
        {"method": "rounding", "kind": "random", "bases": {"whole": 0}},
    ],
)
def test_parameters_out_of_bounds(parameters):
    with pytest.raises(ValidationError):
        step_of(parameters)


def test_every_method_is_listed_once_in_full():
    assert {one.method for one in DESCRIPTIONS} == set(STEP.json_schema()["discriminator"]["mapping"])
    assert len({one.method for one in DESCRIPTIONS}) == len(DESCRIPTIONS)
    for one in DESCRIPTIONS:
        assert all(one.row().values())
