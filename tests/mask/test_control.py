"""The control: who is set aside before masking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.mask.control import FEWEST, set_aside
from tasks.microdata.errors import InputError
from tasks.microdata.units import Units


def units(sizes):
    counts = "persons" if max(sizes) > 1 else "records"
    return Units(np.repeat(np.arange(len(sizes)), sizes), len(sizes), counts)


def test_a_tenth_of_300_records():
    rest, control = set_aside(units([1] * 300), 0.1, rng=np.random.default_rng(0))
    assert (len(rest), len(control)) == (270, 30)
    assert np.array_equal(np.sort(np.concatenate([rest, control])), np.arange(300))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=60, max_size=90), st.floats(0.34, 0.5), st.integers(0, 99))
def test_nobody_stands_on_both_sides_and_no_row_is_lost(sizes, share, seed):
    of = units(sizes)
    rest, control = set_aside(of, share, rng=np.random.default_rng(seed))
    assert not set(of.of_row[rest]) & set(of.of_row[control])
    assert np.array_equal(np.sort(np.concatenate([rest, control])), np.arange(len(of.of_row)))
    assert len(set(of.of_row[control])) == round(share * of.n_units)
    assert (np.diff(rest) > 0).all()
    assert (np.diff(control) > 0).all()


def test_every_unit_is_set_aside_equally_often():
    of, drawn = units([1] * 50), np.zeros(50)
    for seed in range(600):
        drawn[set_aside(of, 0.4, rng=np.random.default_rng(seed))[1]] += 1
    expected, spread = 0.4 * 600, np.sqrt(600 * 0.4 * 0.6)
    assert np.abs(drawn - expected).max() < 4.5 * spread
    assert drawn.sum() == 600 * 20


@pytest.mark.parametrize(("n", "share"), [(100, 0.1), (FEWEST * 2 - 1, 0.5), (30, 0.3), (1, 0.5)])
def test_too_few_on_one_side(n, share):
    with pytest.raises(InputError) as refused:
        set_aside(units([1] * n), share, rng=np.random.default_rng(0))
    assert refused.value.code == "control-too-small"
    assert "20 records on each" in refused.value.allowed or refused.value.allowed == "40 in all"
