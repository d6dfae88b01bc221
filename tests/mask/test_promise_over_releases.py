"""Epsilons of several releases of the same persons add up; one draw that is shown again counts once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.categories.pram import Pram
from tasks.mask.categories.pram_law import PersonalMatrix
from tasks.mask.categories.promise import compute_record_epsilon
from tasks.mask.categories.promise_over_releases import RandomisedTable, add_epsilons
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

LETTERS = ("u", "v")


def schema_of(*names, person=False):
    published = (Attribute(name, Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared") for name in names)
    key = Attribute("id", Role.PERSON if person else Role.IDENTIFIER, Scale.NOMINAL, "declared")
    return Schema((key, *published))


def release_of(values, epsilon=1.0, *, ids=None, names=("a",), record=None, personal=False, series="s", schema=None):
    """A release in which every name shows the same values."""
    n = len(values)
    source = Microdata.from_columns({"id": list(ids or range(n)), **{key: list(values) for key in names}})
    law = PersonalMatrix(key="id", categories=(LETTERS,)) if personal else None
    step = Pram(method="pram", attributes=("a",), epsilon=epsilon, draw="per_person" if personal else None, personal=law)
    record = np.arange(n) if record is None else np.array(record)
    schema = schema or schema_of(*names)
    return RandomisedTable(source=source, schema=schema, mechanisms=(step,), record=record, series=series)


def test_epsilons_add_up():
    one, other = release_of("uvuv"), release_of("vuvu", 0.5)
    assert add_epsilons([one]) == pytest.approx(1.0)
    assert add_epsilons([one, other]) == pytest.approx(1.5)
    assert add_epsilons([one, other, other]) == pytest.approx(2.0)


def test_a_column_without_an_epsilon_bounds_nothing():
    one = release_of("uvuv")
    for other in (release_of("uvuv", names=("a", "b")), release_of(["u", "v", None, "v"])):
        assert add_epsilons([one, other]) == add_epsilons([other, one]) == "infinite"


def test_a_draw_per_person_counts_once_for_each_value():
    first, second = release_of("uvuv", personal=True), release_of("uvuv", personal=True)
    changed = release_of("vvuv", personal=True)
    assert add_epsilons([first, second]) == pytest.approx(1.0)
    assert add_epsilons([first, second, changed]) == pytest.approx(2.0)
    assert add_epsilons([first, changed, second]) == pytest.approx(2.0)  # the first value again is the first draw again
    assert add_epsilons([first, release_of("uvuv", personal=True, series="t")]) == pytest.approx(2.0)
    assert add_epsilons([first, release_of("uvuv")]) == pytest.approx(2.0)
    moved = release_of("vu", personal=True, record=[1, 0, -1, -1])  # two of them, in another order
    assert add_epsilons([first, moved]) == pytest.approx(1.0)


def test_somebody_with_three_rows_has_three_draws():
    schema = schema_of("a", person=True)
    rows = release_of("uvuv", ids=[1, 1, 1, 2], schema=schema)
    assert add_epsilons([rows, release_of("uv")]) == pytest.approx(4.0)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.floats(0.1, 3), st.booleans()), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_it_is_at_most_the_sum_and_does_not_depend_on_the_order(wanted, seed):
    rng = np.random.default_rng(seed)
    releases = [release_of([*LETTERS, *rng.choice(LETTERS, 4)], e, personal=p, series=f"{e}") for e, p in wanted]
    total = add_epsilons(releases)
    alone = [compute_record_epsilon(one.source, one.schema, one.mechanisms) for one in releases]
    assert max(alone) * (1 - 1e-12) <= total <= sum(alone) * (1 + 1e-12)
    assert add_epsilons(releases[::-1]) == pytest.approx(total)
