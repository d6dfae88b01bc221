"""What is left of attributes that were grouped together by values that an intruder does not know: they cannot form the groups.

Certain is only between what a group's value lies. How probable the rows are follows from how much the groups took away from
the attributes' variances, which the release shows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy

from tasks.mask.carrying import create_law_of_bounded_ranks, find_believed_positions, find_bounds, find_released_column
from tasks.mask.intruder_belief import Belief, DiscreteLikelihood, GaussianLikelihood, InInterval
from tasks.mask.noise.noise_distribution import compute_covariance, compute_standard_deviations
from tasks.mask.precision_grid import find_position_step
from tasks.mask.step import IntruderView
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.codes import row_codes
from tasks.microdata.table import Floats

_MOST_IN_GROUP = 100  # beyond, its mean can be nearly anything
_LEAST_SHARE = 1e-9  # of the variance that groups take away


def infer_unknown_groups(view: IntruderView, names: tuple[str, ...], *, by_mean: bool) -> Belief:
    """What is left of attributes that were grouped together, where what was known of them before is bounds and laws.

    Formula in words: x' are the values before the groups, of which a law is known of each record: that of noise or of ranks, or
    bounds, taken as a mean and a variance. Groups are as wide in each attribute, on one scale, as in any other: each loses the
    same share of its variance, and the row is expected where x' is, with that variance besides. The share is how much less
    variance the released attributes have than x', on average.
    by_mean: the groups publish means, not medians.

    Where a later step masks one of the attributes again, that is not seen, and the groups count as if they took nothing away.
    Attributes of which not even bounds are known become unclear. The law is heuristic: groups are not normal.
    """
    bounds = {name: find_bounds(view, name) for name in names}
    known = tuple(name for name, one in bounds.items() if one is not None and one.lowest is not None and len(one.lowest) > 1)
    knowledge = view.knowledge.forget(set(names).difference(known))
    if not known or not knowledge.complete:
        return knowledge.forget(names)
    centre, covariance = _compute_moments(view, known, bounds)
    shown = np.column_stack([view.released.positions(view.schema[name]) for name in known])
    if not any(set(step.target_attributes).intersection(known) for step in view.later):
        covariance = covariance + _compute_group_scatter(compute_covariance(centre) + covariance, shown)
    covariance = covariance + np.diag([find_position_step(view.precision, name) ** 2 / 12 for name in known])
    largest = _count_largest_group(view, names)
    kept = [one for name, one in bounds.items() if one is not None and name in known]
    moved = [_enclose_group_value(view, one, largest, by_mean=by_mean) for one in kept]
    alike = np.zeros(len(centre), dtype=np.int64), np.zeros(len(shown), dtype=np.int64)
    rest = knowledge.drop_attributes(known)
    return replace(
        rest,
        between=(*rest.between, *(InInterval(one.name, one.low, one.high) for one in moved)),
        blurred=(*rest.blurred, GaussianLikelihood(known, centre, shown, covariance[np.newaxis], *alike)),
        bounds=(*rest.bounds, *moved),
    )


def _compute_group_scatter(before: Floats, shown: Floats) -> Floats:
    variances, left = before.diagonal(), compute_standard_deviations(shown) ** 2
    if not (np.isfinite(variances).all() and np.isfinite(left).all() and (variances > 0).all()):
        return np.zeros_like(before)
    return np.diag(variances) * max(float(1 - (left / variances).mean()), _LEAST_SHARE)


def _compute_moments(
    view: IntruderView, names: tuple[str, ...], bounds: dict[str, ValueBounds | None]
) -> tuple[Floats, Floats]:
    """Where each record is expected before the groups, and how far off it is on average: noise jointly, the rest by itself."""
    knowledge, own = view.knowledge, np.empty((view.knowledge.believed.n, len(names)))
    parts = [part for part in knowledge.blurred if not part.factors and not set(part.names).isdisjoint(names)]
    covariance = scipy.linalg.block_diag(*(_average_covariance(part) for part in parts)) if parts else np.zeros((0, 0))
    joint = [name for part in parts for name in part.names]
    found = np.zeros((len(names), len(names)))
    for j, name in enumerate(names):
        one = bounds[name]
        if name in joint:
            (part,) = (part for part in parts if name in part.names)
            own[:, j] = part.centre[:, part.names.index(name)]
            for i, other in enumerate(names):
                if other in joint:
                    found[i, j] = covariance[joint.index(other), joint.index(name)]
        elif one is not None:
            own[:, j], found[j, j] = _locate(view, one)
    return own, found


def _average_covariance(part: GaussianLikelihood) -> Floats:
    shares = np.bincount(part.of_record, minlength=len(part.covariance)) / len(part.of_record)
    return np.asarray(np.tensordot(shares, part.covariance, axes=1))


def _locate(view: IntruderView, bounds: ValueBounds) -> tuple[Floats, float]:
    """Mean and average variance of an attribute by its law of ranks, by factors, or by its bounds."""
    knowledge, name = view.knowledge, bounds.name
    own = find_believed_positions(view, bounds)
    if knowledge.is_certain((name,)):
        return own, 0.0
    factors = next((part for part in knowledge.blurred if part.factors and name in part.names), None)
    if factors is not None:
        variance = _average_covariance(factors)[factors.names.index(name), factors.names.index(name)]
        return own, float(np.expm1(variance) * np.nanmean(own**2))
    expected = np.clip(own, bounds.low, bounds.high)
    found = expected, float(np.nanmean((bounds.high - expected) * (expected - bounds.low)))
    law = next((law for law in knowledge.likelihoods if law.begins is not None and law.names == (name,)), None)
    law = law or create_law_of_bounded_ranks(view, bounds)
    if law is None or bounds.lowest is None or bounds.highest is None:
        return found
    by_ranks = _average_by_ranks(law, (bounds.lowest + bounds.highest) / 2)
    return min(found, by_ranks, key=lambda one: one[1])


def _average_by_ranks(law: DiscreteLikelihood, column: Floats) -> tuple[Floats, float]:
    begins = np.arange(1) if law.begins is None else law.begins
    b = len(begins) - 1
    places = begins * len(column) // begins[-1]
    sums, squares = (np.diff(np.append(0.0, np.cumsum(one))[places]) for one in (column, column**2))
    sizes = np.maximum(np.diff(places), 1)
    chances = law.probability[:b, :b] / law.probability[:b, :b].sum(axis=1, keepdims=True)
    means = np.append(chances @ (sums / sizes), np.full(2, np.nan))
    own = means[law.own]
    variance = np.append(chances @ (squares / sizes), np.full(2, np.nan))[law.own] - own**2
    return own, float(np.nanmean(np.maximum(variance, 0.0)))


def _count_largest_group(view: IntruderView, names: tuple[str, ...]) -> int:
    """At most so many records are in one group: as many as there are equal rows, where these are released as grouped."""
    masked_later = any(not set(names).isdisjoint(step.target_attributes) for step in view.later)
    if masked_later or not view.all_released or not set(names) <= set(view.released.names):
        return max(view.released.n, view.originals.n, view.table.n)
    return int(np.bincount(row_codes(view.released, names)).max(initial=1))


def _enclose_group_value(view: IntruderView, bounds: ValueBounds, largest: int, *, by_mean: bool) -> ValueBounds:
    """Between what the value of each record's group lies, in which at most `largest` records are.

    Formula in words: a mean is least where the others of the group hold the lowest values of the column, and of some number of
    them. A median lies between the ends of the column. Half a step of the grid is added.
    """
    lowest, highest = bounds.lowest, bounds.highest
    if lowest is None or highest is None:
        raise ValueError("the column is not known")
    slack = find_position_step(view.precision, bounds.name) / 2 + 1e-9 * float(np.abs([lowest[0], highest[-1]]).max())
    ends = float(lowest[0]) - slack, float(highest[-1]) + slack
    low, high = (np.where(np.isnan(bounds.low), np.nan, end) for end in ends)
    if by_mean and largest <= _MOST_IN_GROUP:
        sizes = np.arange(1, min(largest, len(lowest)) + 1)
        below, above = (np.append(0.0, np.cumsum(one))[: len(sizes)] for one in (lowest, highest[::-1]))
        low = ((bounds.low[:, np.newaxis] + below) / sizes).min(axis=1) - slack
        high = ((bounds.high[:, np.newaxis] + above) / sizes).max(axis=1) + slack
    released = find_released_column(view, bounds)
    column = [np.full(len(lowest), end) for end in ends] if released is None else [released, released]
    return ValueBounds(bounds.name, low, high, *column)
