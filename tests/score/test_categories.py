"""Loss in categories: shares, categories that are gone, associations; weighted where there are weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.contingency import association

from tasks.mask.groups.microaggregation import Microaggregation
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.category_loss import categories_lost, category_association_difference
from tasks.score.synthetic.distribution_loss import marginal_difference
from tasks.score.table_pair import RowwiseTablePair

NOMINAL, NUMERIC = Scale.NOMINAL, Scale.NUMERIC


def tables_of(
    before: dict, after: dict, masked: tuple[str, ...], *, scales=None, weight: str | None = None
) -> RowwiseTablePair:
    roles = {name: Role.WEIGHT if name == weight else Role.QUASI_IDENTIFIER for name in before}
    scale = {name: (scales or {}).get(name, NUMERIC if name == weight else NOMINAL) for name in before}
    schema = Schema(tuple(Attribute(name, roles[name], scale[name], "declared") for name in before))
    step = Microaggregation(method="microaggregation", attributes=masked, k=2)
    return RowwiseTablePair(Microdata.from_columns(before), Microdata.from_columns(after), schema, (step,))


def test_categories_lost_by_hand():
    """Of a, b, c and d the release shows a and b; of x and y both; missing is no category."""
    before = {"g": ["a", "b", "c", "d", None], "h": ["x", "y", "x", "y", "x"]}
    after = {"g": ["a", "b", "a", "b", None], "h": ["y", "y", "x", "y", "x"]}
    table, g, h = categories_lost(tables_of(before, after, ("g", "h")))
    assert (table.value, g.value, h.value) == (2 / 6, 0.5, 0.0)


def test_an_association_that_is_destroyed_by_hand():
    """Two columns that say the same (V = 1), of which one shows a single category: V = 0."""
    before = {"g": ["a", "a", "b", "b"], "h": ["x", "x", "y", "y"]}
    after = {"g": ["a", "a", "a", "a"], "h": ["x", "x", "y", "y"]}
    assert category_association_difference(tables_of(before, after, ("g",))).value == pytest.approx(1.0)


def test_weights_count_the_people_that_a_record_stands_for():
    """b has one record of four, and three sixths of the weight: shown as a, its share falls by a half and not by a fourth."""
    before = {"g": ["a", "a", "a", "b"], "w": [1.0, 1.0, 1.0, 3.0]}
    after = {"g": ["a", "a", "a", "a"], "w": [1.0, 1.0, 1.0, 3.0]}
    values = [
        [one.value for one in marginal_difference(tables_of(before, after, ("g",), weight=weight)) if one.attribute == "g"]
        for weight in (None, "w")
    ]
    assert values == [[0.25], [0.5]]


def test_the_column_that_suffered_most_is_the_largest():
    before = {"g": ["a", "b", "c", "d"], "h": ["x", "x", "y", "y"]}
    after = {"g": ["a", "a", "a", "a"], "h": ["x", "x", "y", "y"]}
    mean, largest, *_ = marginal_difference(tables_of(before, after, ("g", "h")))
    assert (mean.value, largest.value) == (0.375, 0.75)


def test_no_categories_no_figure():
    tables = tables_of({"n": [1.0, 2.0]}, {"n": [1.5, 1.5]}, ("n",), scales={"n": NUMERIC})
    assert [one.status for one in (*categories_lost(tables), category_association_difference(tables))] == ["not_applicable"] * 2


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(20, 60), st.integers(2, 5))
def test_cramers_v_is_that_of_scipy(seed, n, r):
    """Where no category is lost; a release that equals the original differs by nothing."""
    rng = np.random.default_rng(seed)
    every = np.arange(n) % r
    one, other, changed = (rng.permutation(every) for _ in range(3))
    before, after = ({"g": list(map(str, g)), "h": list(map(str, other))} for g in (one, changed))

    def strength(g):
        return association(np.histogram2d(g, other, bins=r)[0].astype(int), method="cramer", correction=False)

    found = category_association_difference(tables_of(before, after, ("g",))).value
    assert found == pytest.approx(abs(strength(changed) - strength(one)), abs=1e-9)
    assert category_association_difference(tables_of(before, before, ("g",))).value == 0
    assert 0 <= found <= 1


def test_a_number_is_related_in_five_classes_and_rare_categories_count_as_one():
    """A code of 100 categories that tells the number: shuffled, nearly all of the association is gone."""
    rng = np.random.default_rng(2)
    code = np.arange(2000) % 100
    before = {"g": list(map(str, code)), "n": code * 10.0}
    after = {"g": list(map(str, rng.permutation(code))), "n": code * 10.0}
    found = category_association_difference(tables_of(before, after, ("g",), scales={"n": NUMERIC})).value
    assert found > 0.5
