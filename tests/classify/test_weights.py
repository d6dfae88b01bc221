"""What weights and group keys reveal: counts by hand, chance by all permutations, and no value."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.classify.weights import compute_determined_share, weight_reveals
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

ROLES = {
    "wgt": Role.WEIGHT,
    "house": Role.GROUP,
    "region": Role.QUASI_IDENTIFIER,
    "sex": Role.QUASI_IDENTIFIER,
    "id": Role.IDENTIFIER,
}


def schema_of(data):
    return Schema(tuple(Attribute(name, ROLES[name], Scale.NOMINAL, "declared") for name in data.names))


def told(data):
    """All sentences, weights first."""
    return tuple(sentence for sentences in weight_reveals(data, schema_of(data)).values() for sentence in sentences)


def test_worked_table():
    # weights 7.5 and 2.5 are those of the regions; one row has a weight of its own, one has none
    data = Microdata.from_columns(
        {
            "wgt": [7.5, 7.5, 7.5, 2.5, 2.5, 2.5, 9.25, None],
            "region": ["n", "n", "n", "s", "s", "s", "s", "n"],
            "sex": [1, 2, 1, 2, 1, 2, 1, 2],
            "house": [1, 1, 2, 3, 3, 3, None, 4],
            "id": [1, 2, 3, 4, 5, 6, 7, 8],
        }
    )
    assert told(data) == (
        "the weight `wgt` has 3 different values in 7 rows; 1 rows (14.3%) have one that no other row has",
        "the weight `wgt` tells region (for 100% of the rows, by chance 27%)",
        "the 4 groups of `house` have 1 to 3 rows, 1.8 on average; 2 rows (28.6%) are alone in theirs",
    )


def test_what_tells_nothing():
    data = Microdata.from_columns({"wgt": [1.5] * 6, "region": ["n", "s"] * 3})
    assert told(data) == (
        "the weight `wgt` has 1 different values in 6 rows; 0 rows (0.0%) have one that no other row has",
        "the weight `wgt` tells no other attribute",
    )
    unique = Microdata.from_columns({"wgt": np.arange(6.0) + 1, "region": ["n", "s"] * 3})
    assert told(unique)[1] == "the weight `wgt` tells no other attribute"
    empty = Microdata.from_columns({"wgt": [None, None], "house": [None, None], "region": ["n", "s"]})
    assert told(empty) == ("no row has a group of `house`",)
    plain = Microdata.from_columns({"region": ["n", "s"]})
    assert told(plain) == ()


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=6))
def test_chance_is_the_mean_over_all_permutations(rows):
    weight, values = np.array(rows).T
    share, chance = compute_determined_share(weight, values)

    def told(order):
        return sum(int((weight == w).sum()) for w in set(weight) if len(set(order[weight == w])) == 1) / len(weight)

    assert share == pytest.approx(told(values))
    assert chance == pytest.approx(np.mean([told(np.array(order)) for order in permutations(values.tolist())]))


def test_no_value_is_told():
    data = Microdata.from_columns(
        {"wgt": [12345.5] * 4 + [777.25] * 4, "region": ["north"] * 4 + ["south"] * 4, "house": [4711] * 8}
    )
    text = " ".join(told(data))
    assert not any(value in text for value in ("12345", "777", "north", "south", "4711"))
