"""Multipliers that rounding left are taken out of a reason before it is checked."""

from __future__ import annotations

import numpy as np

from tasks.attack.learned.separation import STRAYS, _drop_stray_multipliers


def test_a_column_that_is_not_needed_gets_no_multiplier():
    # rows (1, 0) and (-1, 0) cancel with one half each; the solver also left a stray on (0, 1), which nothing cancels
    rows = np.array([[1.0, 0], [-1, 0], [0, 1]])
    matrix, aim = np.vstack([rows.T, np.ones(3)]), np.array([0.0, 0, 1])
    found = list(_drop_stray_multipliers(matrix, aim, np.array([0.5, 0.5, 1e-13])))
    assert len(found) == 1 + len(STRAYS)
    assert found[0].tolist() == [0.5, 0.5, 1e-13]  # larger than the first threshold
    for anew in found[1:]:
        np.testing.assert_allclose(anew, [0.5, 0.5, 0])
        assert anew[2] == 0
    assert np.abs(rows.T @ found[-1]).max() < 1e-15
