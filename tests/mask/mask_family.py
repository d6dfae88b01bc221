"""The masks that there are, and the table and the steps on which all of them are tested."""

from __future__ import annotations

import inspect
from typing import get_args

import numpy as np

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import METHODS, mask
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

N = 48
SEED = bytes(range(32))
ORDER = ("low", "middle", "high")
SCHEMA = Schema(
    (
        Attribute("age", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
        Attribute("size", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),
        Attribute("group", Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared"),
        Attribute("vote", Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared"),
        Attribute("grade", Role.QUASI_IDENTIFIER, Scale.ORDINAL, "declared", order=ORDER),
        Attribute("id", Role.IDENTIFIER, Scale.NOMINAL, "declared"),
    )
)
BEFORE = {"reverse_mapping": (Microaggregation(method="microaggregation", attributes=("age", "size"), k=3),)}  # what it needs
COMPLETE = tuple(kind for kind in METHODS if not inspect.isabstract(kind))  # the rest is named by test_family
EXAMPLES = [(kind, step) for kind in COMPLETE for step in kind.examples()]


def method_of(kind):
    """The name of a method in the release file."""
    return get_args(kind.model_fields["method"].annotation)[0]


def example_ids():
    """`Pram-2`: the names of the examples in the output of the tests."""
    return [f"{kind.__name__}-{kind.examples().index(step) + 1}" for kind, step in EXAMPLES]


def make_table(seed=3):
    """The table that `MaskingMethod.examples` describes."""
    rng = np.random.default_rng(seed)
    return Microdata.from_columns(
        {
            "age": rng.permutation(N),
            "size": rng.permutation(N) / 4,
            "group": rng.permutation(np.repeat(["a", "b", "c"], N // 3)),
            "vote": rng.permutation(np.repeat(["Yes", "No"], N // 2)),
            "grade": rng.permutation(np.repeat(ORDER, N // 3)),
            "id": [f"p{i}" for i in range(N)],
        }
    )


def apply_example(step, data, *, seed=SEED, path=("family",)):
    """The result of an example, after what has to come before it."""
    return mask(data, SCHEMA, (*BEFORE.get(step.method, ()), step), seed=seed, path=path)
