"""How far noise can move values, but with a chance that is negligible for all cells together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tasks.mask.carrying import count_deviations, find_bounds, follow_blocks
from tasks.mask.intruder_belief import DiscreteLikelihood
from tasks.mask.noise.noise_distribution import contraction
from tasks.mask.precision_grid import grid_step
from tasks.mask.rank_law import blur_ranks
from tasks.mask.step import IntruderView
from tasks.mask.value_bounds import ValueBounds, largest_spread
from tasks.microdata.table import Floats

if TYPE_CHECKING:
    from tasks.mask.noise.noise import Noise

_SLACK = 1e-9  # of the last digits, relative to the largest of the values


def move_bounds_by_noise(view: IntruderView, spec: Noise, bounds: ValueBounds) -> ValueBounds | None:
    """The bounds after noise of an attribute; None: its standard deviation is not known.

    Formula in words: a normal number lies within z standard deviations, z of `count_deviations`; the noise's standard deviation
    is its share of the column's, which is at most `largest_spread`. Of factors the variance of the logarithm is largest where
    the column's variance is, and its mean square smallest. Half a step of the grid is added.
    """
    lowest, highest = bounds.lowest, bounds.highest
    if lowest is None or highest is None or len(lowest) < 2 or spec.personal is not None:  # no step comes after that one
        return None
    z, spread = count_deviations(view), largest_spread(lowest, highest)
    slack = grid_step(view.precision[bounds.name]) / 2 + _SLACK * float(np.abs([lowest[0], highest[-1]]).max())
    if spec.kind == "multiplicative":
        return _multiply(bounds, z, spread, spec.share, slack)
    furthest, noisier = z * spec.share * spread, replace(bounds, spread=float(np.hypot(bounds.spread, spec.share * spread)))
    if spec.kind != "variance_restoring":
        return noisier.map_ends(lambda x: x - furthest - slack, lambda x: x + furthest + slack)
    factor = contraction(spec.share)
    low_mean, high_mean = (float(ends.mean()) * (1 - factor) for ends in (lowest, highest))
    return noisier.map_ends(
        lambda x: low_mean + (x - furthest) * factor - slack, lambda x: high_mean + (x + furthest) * factor + slack
    )


def _multiply(bounds: ValueBounds, z: float, spread: float, share: float, slack: float) -> ValueBounds | None:
    lowest, highest = bounds.lowest, bounds.highest
    if lowest is None or highest is None:
        return None
    least_square = float((np.maximum(np.maximum(lowest, -highest), 0.0) ** 2).mean())
    if least_square == 0:  # all may be 0, and then nothing bounds the factors: only signs are left
        low, high = (np.where(np.isnan(bounds.low), np.nan, end) for end in (-np.inf, np.inf))
        low, high = np.where(bounds.low >= 0, 0.0, low), np.where(bounds.high <= 0, 0.0, high)
        return ValueBounds(bounds.name, low, high)
    most = np.sqrt(np.log1p(share**2 * spread**2 / least_square))
    ends = np.exp([-z * most - most**2 / 2, z * min(z, most) - min(z, most) ** 2 / 2])

    def lower(x: Floats) -> Floats:
        return np.asarray(np.where(x >= 0, x * ends[0], x * ends[1]) - slack)

    def upper(x: Floats) -> Floats:
        return np.asarray(np.where(x >= 0, x * ends[1], x * ends[0]) + slack)

    return bounds.map_ends(lower, upper)


def spread_ranks_by_noise(view: IntruderView, spec: Noise, law: DiscreteLikelihood) -> DiscreteLikelihood | None:
    """The law of ranks after noise, which blurs the order (`blur_ranks`); None: the column is not known.

    Factors blur the order of the logarithms, where all values are positive.
    """
    bounds = find_bounds(view, law.names[0])
    if law.begins is None or bounds is None or bounds.lowest is None or bounds.highest is None:
        return None
    column = _estimate_column(view, bounds.name, bounds.lowest, bounds.highest)
    if len(column) < 2 or law.begins[-1] != len(column) or column[0] == column[-1]:
        return None
    spread = spec.share * float(np.std(column, ddof=1))
    if spec.kind == "multiplicative":
        if column[0] <= 0:
            return None
        spread, column = float(np.sqrt(np.log1p(spread**2 / (column**2).mean()))), np.log(column)
    return follow_blocks(law, blur_ranks(column, law.begins, spread)) if spread > 0 else law


def _estimate_column(view: IntruderView, name: str, lowest: Floats, highest: Floats) -> Floats:
    """The middle of the bounds on the column, ascending; where they are wider than that varies, the released column."""
    middle = (lowest + highest) / 2
    shown = view.released.positions(view.schema[name])
    column = np.sort(shown[~np.isnan(shown)])
    is_vague = len(column) == len(middle) and (highest - lowest).mean() > middle.std()
    return column if is_vague else middle
