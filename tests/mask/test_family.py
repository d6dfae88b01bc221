"""What every mask must have and keep, whatever its method: each member of `Masking` is tested, nobody has to add it here.

A member that lacks a part fails with a message that names the member and the part.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mask_family import COMPLETE, EXAMPLES, SCHEMA, N, apply_example, example_ids, make_table, method_of
from pydantic import TypeAdapter, ValidationError

from tasks.mask.methods import METHODS, Masking, find_method, mask
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.report.mask_description import describe_mask

SEED = bytes(range(32))
STEP = TypeAdapter(Masking)
MASKS_PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "MASKS.md"
LINE = {"measure": "reidentification", "limit": 0.1, "attack": None}
UNADVISED = {"pseudonyms"}  # they mask nothing that a policy measures

each_method = pytest.mark.parametrize("kind", COMPLETE, ids=[kind.__name__ for kind in COMPLETE])
each_example = pytest.mark.parametrize(("kind", "step"), EXAMPLES, ids=example_ids())


@pytest.mark.parametrize("kind", METHODS, ids=[kind.__name__ for kind in METHODS])
def test_a_mask_declares_everything_about_it(kind):
    assert not inspect.isabstract(kind), f"{kind.__name__} lacks {', '.join(sorted(kind.__abstractmethods__))}"


@each_method
def test_a_mask_is_described_in_full(kind):
    about, name = kind.description(), method_of(kind)
    assert about.method == name, f"{kind.__name__}: the description is of `{about.method}`, the parameters are of `{name}`"
    assert find_method(name) is kind
    empty = [column for column, text in about.row().items() if not text]
    assert not empty, f"{kind.__name__}: the description says nothing under {', '.join(empty)}"
    assert f"\n| `{name}` | " in MASKS_PAGE.read_text(), f"docs/MASKS.md has no row for `{name}`"
    assert kind.examples(), f"{kind.__name__} has no examples, so that no law is tested on it"


def test_the_release_file_knows_the_methods_and_no_other():
    assert {method_of(kind) for kind in METHODS} == set(STEP.json_schema()["discriminator"]["mapping"])
    assert set(METHODS) == set(get_args(get_args(Masking)[0]))


@each_example
def test_a_recorded_step_is_read_back(kind, step):
    assert STEP.validate_json(step.model_dump_json()) == step


@each_example
def test_rows_schema_and_other_columns_stay(kind, step):
    data = make_table()
    done = apply_example(step, data)
    released = data.select(SCHEMA.release_columns).take(done.record)
    touched = {name for one in done.mechanisms for name in one.target_attributes}
    assert done.data.arrow.schema == released.arrow.schema
    assert sorted(done.order.tolist()) == list(range(done.data.n))
    for name in SCHEMA.release_columns:
        changed = not done.data.column(name).equals(released.column(name))
        assert changed == (name in touched), f"{kind.__name__}: `{name}` {'was' if changed else 'was not'} changed"


@each_example
def test_a_seed_determines_everything_and_a_step_without_randomness_needs_none(kind, step):
    first, again = (apply_example(step, make_table()).data for _ in range(2))
    assert first.arrow.equals(again.arrow)
    others = (apply_example(step, make_table(), seed=bytes([i] * 32)).data for i in range(5))
    differs = not all(other.arrow.equals(first.arrow) for other in others)
    assert differs == (step.randomness != "none"), f"{kind.__name__}: randomness is `{step.randomness}`, by another seed " + (
        "the result differs" if differs else "nothing differs"
    )


@pytest.mark.parametrize(
    ("kind", "step"), [one for one in EXAMPLES if one[1].randomness != "by_row"],
    ids=[name for name, one in zip(example_ids(), EXAMPLES, strict=True) if one[1].randomness != "by_row"],
)  # fmt: skip
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_result_follows_the_order_of_the_rows(kind, step, seed):
    data = make_table(seed)
    order = np.random.default_rng(seed + 1).permutation(N)
    masked, permuted = (apply_example(step, one).data for one in (data, data.take(order)))
    assert permuted.arrow.equals(masked.take(order).arrow), f"{kind.__name__} masks by the place of a row: randomness `by_row`"


@each_example
def test_a_step_is_explained_to_who_uses_the_data(kind, step):
    resolved = apply_example(step, make_table()).mechanisms[-1]
    words = describe_mask(resolved, SCHEMA)
    assert words.title and words.text and resolved.rule, f"{kind.__name__} lacks a title, a text or a rule"
    assert words.missing or not resolved.target_attributes, f"{kind.__name__} does not say what became of missing values"
    assert all(words.attribute(SCHEMA[name]) for name in resolved.target_attributes)


@each_example
def test_a_step_says_how_it_protects_more_and_costs_less(kind, step):
    fields = step.model_dump(mode="json")
    stronger = list(kind.suggest_stronger(fields, "masking step 1", LINE))
    weaker = list(kind.suggest_weaker(fields, "masking step 1"))
    if step.method in UNADVISED:
        assert not stronger and not weaker
        return
    assert stronger, f"{kind.__name__} does not say how to mask more strongly"
    assert weaker, f"{kind.__name__} does not say how to mask less"
    assert all("masking step 1" in sentence.lower() for sentence in (*stronger, *weaker))
    assert all(sentence[0].isupper() and sentence.endswith(".") for sentence in stronger)
    named = None if step.explicit_attributes is None else set(step.explicit_attributes)
    assert kind.list_attributes(fields) == named, f"{kind.__name__}.list_attributes does not find what the step names"


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
