"""Which distances are equal, and arrays that grow with the records that are equally near."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tasks.microdata.compiled import njit

TIE = 1 + 1e-9  # squared distances within this factor of the least are equal


@njit
def ensure_capacity(values: npt.NDArray[Any], used: int) -> npt.NDArray[Any]:
    """The array, twice as long if it is full."""
    if used < len(values):
        return values
    longer = np.empty(2 * len(values), dtype=values.dtype)
    longer[:used] = values
    return longer
