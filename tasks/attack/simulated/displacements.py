"""The law of displacements, estimated: how far from its centre a masked value lies, as a density with an atom at 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from tasks.microdata.table import Booleans, Floats, Integers

CELLS = 192  # of the density, on either side of 0, evenly spaced in asinh(displacement / scale)
SMOOTHED_BY = 1.2  # cells: the standard deviation of the kernel
LEAST_ATOM = 0.01  # share of displacements that are 0, from which 0 counts by itself
LARGEST_Z = 4.0


@dataclass(frozen=True, slots=True)
class DisplacementLaw:
    """log densities of displacements, by group of records.

    scale, low, step: cell b is about asinh(d / scale) = low + b * step. density: shape (groups, cells), logarithms. atom: shape
    (groups,), the same at |d| <= still; NaN where 0 is nothing special. normal: shape (groups, cells): the displacement as the
    quantile of a normal variable (for what the attributes have in common).
    """

    scale: float
    low: float
    step: float
    still: float
    spread: float
    density: Floats
    atom: Floats
    normal: Floats
    normal_atom: Floats

    def evaluate(self, displacements: Floats, group: Integers) -> tuple[Floats, Floats]:
        """log densities, and normal quantiles, of displacements; broadcast."""
        cells = self.density.shape[1]
        position = np.clip((np.arcsinh(displacements / self.scale) - self.low) / self.step, 0, cells - 1)
        below = np.minimum(position.astype(np.int64), cells - 2)
        share, group = position - below, np.broadcast_to(group, displacements.shape)
        still = (np.abs(displacements) <= self.still) & ~np.isnan(self.atom)[group]
        found = []
        for table, atom in ((self.density, self.atom), (self.normal, self.normal_atom)):
            between = table[group, below] * (1 - share) + table[group, below + 1] * share
            found.append(np.where(still, atom[group], between))
        return found[0], found[1]


def estimate_displacements(displacements: Floats, group: Integers, n_groups: int, still: float, fine: float) -> DisplacementLaw:
    """Estimate the law from displacements of simulated maskings, shapes (k,), by group.

    still: what counts as 0. fine: the share of displacements within which the cells are evenly spaced. A histogram in
    asinh(d / scale), smoothed by a normal kernel, with a little of an even law over all that occurs, so that nothing is
    impossible.
    """
    sizes = np.abs(displacements)
    moved = sizes > still
    scale = max(float(np.quantile(sizes[moved], fine)) if moved.any() else still, still, 1e-300)
    ends = np.arcsinh(np.array([displacements.min(initial=0.0), displacements.max(initial=0.0)]) / scale)
    low, high = float(min(ends[0], -1.0)) - 0.5, float(max(ends[1], 1.0)) + 0.5
    step = (high - low) / (2 * CELLS - 1)
    grid = low + step * np.arange(2 * CELLS)
    width = step * scale * np.cosh(grid)  # of a cell, in displacements
    spread_of_sizes = max(float(np.quantile(sizes, 0.75)) if len(sizes) else 0.0, still)
    kernel = np.exp(-0.5 * (np.arange(-5, 6) / SMOOTHED_BY) ** 2)
    kernel /= kernel.sum()
    spread = scale * (np.sinh(high) - np.sinh(low))
    density, normal = np.empty((2, n_groups, len(grid)))
    atom, normal_atom = np.full((2, n_groups), np.nan)
    for g in range(n_groups):
        mine, goes = displacements[group == g], moved[group == g]
        n = len(mine)
        rests = 1 - float(goes.mean()) if n else 0.0
        alone = rests > LEAST_ATOM
        counted = mine[goes] if alone else mine
        cells = np.rint((np.arcsinh(counted / scale) - low) / step).astype(np.int64)
        counts = np.bincount(np.clip(cells, 0, len(grid) - 1), minlength=len(grid)).astype(np.float64)
        smooth = np.convolve(np.pad(counts, 5, mode="edge"), kernel, mode="valid") if counts.any() else counts
        smooth *= counts.sum() / max(smooth.sum(), 1e-300)
        even = 0.5 / (n + 1)
        whole = (1 - even) * smooth / max(n, 1) / width + even / spread
        density[g] = np.log(whole)
        before = np.append(0.0, np.cumsum(smooth)[:-1]) / max(n, 1)
        at_rest = np.where(grid > 0, rests if alone else 0.0, 0.0)
        normal[g] = _quantile(before + smooth / max(n, 1) / 2 + at_rest, n)
        if alone:
            atom[g] = np.log(rests / (2 * still))
            normal_atom[g] = _quantile(np.array([float((mine < -still).mean()) + rests / 2]), n)[0]
    return DisplacementLaw(scale, low, step, still, spread_of_sizes, density, atom, normal, normal_atom)


def _quantile(shares: Floats, n: int) -> Floats:
    least = 0.5 / (n + 1)
    return np.clip(ndtri(np.clip(shares, least, 1 - least)), -LARGEST_Z, LARGEST_Z)


def find_centres(base: Floats, images: Floats, kept: Booleans, groups: Integers) -> tuple[Floats, Floats]:
    """Where the images of each record lie on average: shape (n,), and without each masking in turn, shape (maskings, n).

    Meaning: what the steps do to a record for certain, such as the mean of its group, is in all of its images alike; chance is
    not. The mean of a record's own images is therefore drawn to that of its neighbours (in the order of `base`), the more the
    more its images differ (empirical Bayes).
    base: shape (n,), the source's values. images: shape (maskings, n). kept: where there is an image. groups: shape (n,).
    """
    counts = kept.sum(axis=0)
    total = np.where(kept, images, 0.0).sum(axis=0)
    own = total / np.maximum(counts, 1)
    smooth = base + _mean_of_neighbours(np.where(counts > 0, own - base, 0.0), base, counts)
    deviation = np.where(kept, images - own, 0.0)
    n_groups = int(groups.max(initial=0)) + 1

    def mean_by_group(values: Floats, weight: Floats) -> Floats:
        sums = np.bincount(groups, values * weight, n_groups) / np.maximum(np.bincount(groups, weight, n_groups), 1e-300)
        return sums[groups]

    many = (counts > 1).astype(np.float64)
    within = mean_by_group((deviation**2).sum(axis=0) / np.maximum(counts - 1, 1), many)
    chance = within / np.maximum(counts, 1)
    between = np.maximum(mean_by_group((own - smooth) ** 2 - chance, (counts > 0).astype(np.float64)), 0.0)

    def draw(mean: Floats, count: Integers) -> Floats:
        trust = np.where(count > 0, between / np.maximum(between + within / np.maximum(count, 1), 1e-300), 0.0)
        trust = np.where((within == 0) & (count > 0), 1.0, trust)
        return smooth + trust * (mean - smooth)

    without = (total - np.where(kept, images, 0.0)) / np.maximum(counts - kept, 1)
    same = deviation.max(axis=0, initial=0.0) - deviation.min(axis=0, initial=0.0) == 0
    without = np.where(same & (counts > 1), own, without)  # no rounding where nothing moves
    return draw(own, counts), draw(without, counts - kept)


def _mean_of_neighbours(values: Floats, base: Floats, weight: Integers) -> Floats:
    order, n = np.argsort(base, kind="stable"), len(base)
    half = max(12, n // 200)
    sums = np.append(0.0, np.cumsum((values * weight)[order]))
    counts = np.append(0.0, np.cumsum(weight[order]))
    at = np.arange(n)
    begin, end = np.maximum(at - half, 0), np.minimum(at + half + 1, n)
    found = np.empty(n)
    found[order] = (sums[end] - sums[begin]) / np.maximum(counts[end] - counts[begin], 1)
    return found
