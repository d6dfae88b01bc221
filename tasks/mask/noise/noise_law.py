"""The law of noise that is drawn once for each person and value, as the first release of its series has it. Private."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from tasks.mask.noise.noise_distribution import (
    NoiseMoments,
    compute_column_means,
    compute_correlation,
    compute_standard_deviations,
)
from tasks.mask.precision_grid import PrecisionGrid
from tasks.microdata.spec import Name, Spec
from tasks.microdata.table import Floats


class PersonalNoise(Spec):
    """key: the column that tells people apart. The others: of the step's attributes, in their order, at the first release.

    deviations, means, mean_squares: of the present values. correlation: None where too few records have all attributes.
    grids: where the released values lie: units, parts, within_days of `PrecisionGrid`.
    """

    key: Name
    deviations: tuple[float, ...]
    means: tuple[float, ...]
    mean_squares: tuple[float, ...]
    correlation: tuple[tuple[float, ...], ...] | None
    grids: tuple[tuple[int, int, bool], ...]

    @classmethod
    def from_positions(cls, positions: Floats, key: str, grids: Sequence[PrecisionGrid]) -> Self:
        """positions: shape (n, d), NaN is missing."""
        correlation = compute_correlation(positions)
        return cls(
            key=key,
            deviations=tuple(compute_standard_deviations(positions).tolist()),
            means=tuple(compute_column_means(positions).tolist()),
            mean_squares=tuple(compute_column_means(positions**2).tolist()),
            correlation=tuple(map(tuple, correlation.tolist())) if np.isfinite(correlation).all() else None,
            grids=tuple((grid.units, grid.parts, grid.within_days) for grid in grids),
        )

    @property
    def moments(self) -> NoiseMoments:
        d = len(self.deviations)
        correlation = np.full((d, d), np.nan) if self.correlation is None else np.array(self.correlation)
        return NoiseMoments(np.array(self.deviations), np.array(self.means), np.array(self.mean_squares), correlation)

    def get_grid(self, j: int) -> PrecisionGrid:
        """The grid of one of the attributes."""
        return PrecisionGrid(*self.grids[j])
