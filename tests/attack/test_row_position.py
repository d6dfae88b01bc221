"""The attack by row position: everybody where the order is kept, chance where it is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.methods import attack
from tasks.attack.row_position import RowPosition, link_by_position
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment

SPEC = RowPosition(method="row_position")


def guesses(links, n):
    return [links.classes[links.starts[i] : links.starts[i + 1]].tolist() for i in range(n)]


def test_worked_places():
    assert guesses(link_by_position(np.arange(4), 4), 4) == [[0], [1], [2], [3]]
    assert guesses(link_by_position(np.array([2, 0, 1]), 3), 3) == [[2], [0], [1]]
    # rows 0..3 of six records stand at 1/8, 3/8, 5/8, 7/8; records 1 and 4, at 3/12 and 9/12, lie between two of them
    assert guesses(link_by_position(np.arange(4), 6), 6) == [[0], [0, 1], [1], [2], [2, 3], [3]]


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_slow_twin(m, absent, seed):
    n = m + absent
    order = np.random.default_rng(seed).permutation(m)
    found = guesses(link_by_position(order, n), n)
    for i in range(n):
        distance = [abs((2 * i + 1) * m - (2 * j + 1) * n) for j in range(m)]  # times 2 m n, whole numbers
        assert found[i] == [order[j] for j in range(m) if distance[j] == min(distance)]


def run(data, schema, alignment):
    masked = data.take(alignment.record)
    return attack(data, masked, schema, (), SPEC, Intruder("declared", ("a",)), alignment=alignment, targets=np.arange(data.n))


def test_a_kept_order_finds_everybody_and_a_shuffled_one_nobody(table):
    n = 300
    data, schema = table({"a": np.zeros(n)})
    kept = run(data, schema, Alignment.complete_in(np.arange(n)))
    assert set(kept.outcomes.floats("credit")) == {1.0}
    assert kept.knows_data == "the order of the source's records, and that each of them is in the release"
    assert (kept.knows_mechanism, kept.scale_by, kept.chance) == ("nothing", None, 1 / n)
    rng = np.random.default_rng(5)
    found = [run(data, schema, Alignment.complete_in(rng.permutation(n))).outcomes.floats("credit").sum() for _ in range(400)]
    # correct guesses are the fixed points of a permutation: mean 1 and variance 1
    assert np.mean(found) == pytest.approx(1, abs=3.9 / 20)
    assert max(found) < 9


def test_absent_records_shift_the_rest(table):
    n = 100
    data, schema = table({"a": np.zeros(n)})
    few, many = (
        run(data, schema, Alignment(record, np.arange(len(record)), n)).outcomes.floats("credit").sum()
        for record in (np.delete(np.arange(n), 50), np.sort(np.random.default_rng(2).permutation(n)[:60]))
    )
    assert few > 45 > many > 1
