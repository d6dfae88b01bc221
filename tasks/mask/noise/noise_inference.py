"""What an intruder concludes of noise: where the row of each of their records is to be expected, and how far off it may be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy

from tasks.mask.carrying import carry_bounds, find_believed_positions, find_bounds
from tasks.mask.intruder_belief import Belief, GaussianLikelihood, InInterval
from tasks.mask.noise.noise_distribution import (
    compute_column_means,
    compute_covariance,
    compute_log_variances,
    compute_standard_deviations,
    contraction,
    log_variances,
)
from tasks.mask.precision_grid import grid_step
from tasks.mask.step import IntruderView
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.codes import joint_codes
from tasks.microdata.table import Floats, Microdata

if TYPE_CHECKING:
    from tasks.mask.noise.noise import Noise


def infer(view: IntruderView, spec: Noise) -> Belief:
    """What the step lets an intruder conclude who knows it: the law of what the row of each of their records shows.

    Noise that is added to noise adds up: covariances are summed, and contracted by `variance_restoring`. Rounding counts as
    normal noise with its variance, a twelfth of the grid's step squared; of a product it is passed over, and a 0 that may be a
    small number that was rounded stands at half a step. Standard deviations, means and correlations are those of their
    records where they hold all that the step was applied to; else they estimate them from the release by the correction for
    analysts. Certain is only that a gap stays a gap, and of a product the sign and that a zero stays zero.
    An attribute that they were not certain of before the first noise, but knew within bounds that are narrow beside the noise,
    counts as if it had been noisy then (`locate_within_bounds`); else, and where factors meet other noise, bounds are left.
    For the steps to come there are bounds beside the law (`move_bounds_by_noise`).
    """
    names = tuple(name for name in spec.target_attributes if _can_follow(view, name, spec))
    for name in spec.target_attributes:
        if name not in names:
            view = replace(view, knowledge=carry_bounds(view, spec, name))
    knowledge = view.knowledge
    if not names:
        return knowledge
    part = (
        _model_multiplicative_noise(view, names, spec)
        if spec.kind == "multiplicative"
        else _model_additive_noise(view, names, spec)
    )
    if not np.isfinite(part.covariance).all():
        return knowledge.forget(names)
    before = {name: find_bounds(view, name) for name in part.names}
    moved = (
        spec.move_bounds(view, bounds) if name in names else bounds for name, bounds in before.items() if bounds is not None
    )
    rest = knowledge.drop_attributes(part.names)
    ranges = [_range(view, name, part, None if knowledge.is_certain((name,)) else before[name]) for name in part.names]
    return replace(
        rest,
        between=(*rest.between, *ranges),
        blurred=(*rest.blurred, part),
        bounds=(*rest.bounds, *(bounds for bounds in moved if bounds is not None)),
    )


def _can_follow(view: IntruderView, name: str, spec: Noise) -> bool:
    blurred = {name for part in view.knowledge.blurred for name in part.names}
    if view.knowledge.is_certain((name,)) or name in blurred:
        return view.knowledge.is_certain((name,)) or (spec.kind != "multiplicative" and _is_added(view.knowledge, name))
    bounds = find_bounds(view, name)
    if bounds is None or bounds.lowest is None or bounds.highest is None or len(bounds.lowest) < 2:
        return False
    own, variance = locate_within_bounds(view, bounds)
    return bool(variance <= (spec.share * np.nanstd(own)) ** 2)


def _is_added(knowledge: Belief, name: str) -> bool:
    return any(name in part.names and not part.factors for part in knowledge.blurred)


def locate_within_bounds(view: IntruderView, bounds: ValueBounds) -> tuple[Floats, float]:
    """Where each value is expected within its bounds, and the variance around that on average, at the most.

    Expected is what each record was last known to hold, or else the end of the bounds next to it: rounding at random is right
    in expectation. Around a mean c within low..high the variance is at most (high - c) (c - low) (Bhatia and Davis 2000).
    """
    own = np.clip(find_believed_positions(view, bounds), bounds.low, bounds.high)
    return own, float(np.nanmean((bounds.high - own) * (own - bounds.low)))


def _range(view: IntruderView, name: str, part: GaussianLikelihood, bounds: ValueBounds | None) -> InInterval:
    own = view.knowledge.believed.positions(view.schema[name])
    missing = np.isnan(own)
    ends = (np.broadcast_to(end, own.shape) for end in (-np.inf, np.inf))  # without a gap they take no memory
    low, high = (np.where(missing, np.nan, end) if missing.any() else end for end in ends)
    if part.factors:
        lowest, highest = (own, own) if bounds is None else (bounds.low, bounds.high)
        low, high = np.where(lowest >= 0, 0.0, low), np.where(highest <= 0, 0.0, high)
    return InInterval(name, low, high)


def _model_multiplicative_noise(view: IntruderView, names: tuple[str, ...], spec: Noise) -> GaussianLikelihood:
    own, noise_before = _locate(view, names)
    shown = _positions(view.released, view, names)
    variances = _find_log_variances(view, own, shown, names, spec)
    half = _steps(view, names, spec) / 2
    with np.errstate(divide="ignore"):
        centre = np.where(own == 0, np.log(half), np.log(np.abs(own)) - variances / 2)
    variances = variances + noise_before / np.maximum(np.nanmean(own**2, axis=0), half**2)
    placed = np.log(np.maximum(np.abs(shown), half))
    alike = np.zeros(len(own), dtype=np.int64), np.zeros(len(shown), dtype=np.int64)
    return GaussianLikelihood(names, centre, placed, np.diag(variances)[np.newaxis], *alike, factors=True)


def _find_log_variances(view: IntruderView, own: Floats, shown: Floats, names: tuple[str, ...], spec: Noise) -> Floats:
    if spec.personal is not None:
        law, at = spec.personal.moments, [spec.target_attributes.index(name) for name in names]
        return compute_log_variances(law.deviations[at] ** 2, law.mean_squares[at], spec.share)
    return log_variances(own, spec.share) if view.knowledge.complete else _log_variances_by_release(shown, spec.share)


def _log_variances_by_release(shown: Floats, share: float) -> Floats:
    if not _can_be_estimated(shown):
        return np.full(shown.shape[1], np.nan)
    variance = compute_standard_deviations(shown) ** 2 / (1 + share**2)
    return compute_log_variances(variance, compute_column_means(shown**2) - share**2 * variance, share)


def _model_additive_noise(view: IntruderView, names: tuple[str, ...], spec: Noise) -> GaussianLikelihood:
    part = _joint(view, names)
    at = [part.names.index(name) for name in names]
    centre, before = _moments(view, part, at, spec)
    noise = spec.share**2 * (np.diag(before.diagonal()) if spec.kind == "independent" else before)
    factors = np.ones(len(part.names))
    if spec.kind == "variance_restoring":
        factors[at] = contraction(spec.share)
    covariance = part.covariance.copy()
    covariance[:, np.array(at)[:, np.newaxis], at] += noise
    covariance *= np.outer(factors, factors)
    covariance[:, at, at] += _steps(view, names, spec) ** 2 / 12
    means = np.zeros(len(part.names))
    means[at] = centre
    return replace(part, centre=means + (part.centre - means) * factors, covariance=covariance)


def _joint(view: IntruderView, names: tuple[str, ...]) -> GaussianLikelihood:
    """One law for all these attributes: of the noise that they show so far, which may be none."""
    touched = [part for part in view.knowledge.blurred if not set(part.names).isdisjoint(names)]
    blurred = {name for part in touched for name in part.names}
    clear = tuple(name for name in names if name not in blurred)
    if clear:
        own, variances = _locate(view, clear)
        shown = _positions(view.released, view, clear)
        alike = np.zeros(len(own), dtype=np.int64), np.zeros(len(shown), dtype=np.int64)
        touched.append(GaussianLikelihood(clear, own, shown, np.diag(variances)[np.newaxis], *alike))
    return touched[0] if len(touched) == 1 else _merge_likelihoods(touched)


def _merge_likelihoods(parts: list[GaussianLikelihood]) -> GaussianLikelihood:
    """Independent laws as one, with a covariance for each combination of theirs."""
    of_all = [np.concatenate([part.of_record, part.of_row]) for part in parts]
    codes = joint_codes(of_all, len(of_all[0]))
    first = np.unique(codes, return_index=True)[1]
    n = len(parts[0].of_record)
    return GaussianLikelihood(
        names=tuple(name for part in parts for name in part.names),
        centre=np.column_stack([part.centre for part in parts]),
        placed=np.column_stack([part.placed for part in parts]),
        covariance=np.array(
            [scipy.linalg.block_diag(*(part.covariance[of[i]] for part, of in zip(parts, of_all, strict=True))) for i in first]
        ),
        of_record=codes[:n],
        of_row=codes[n:],
    )


def _moments(view: IntruderView, part: GaussianLikelihood, at: list[int], spec: Noise) -> tuple[Floats, Floats]:
    """Mean and covariance of what the noise was made for, as far as the intruder can know; NaN where they cannot."""
    if spec.personal is not None:  # the law of the first release, which the intruder may know
        law, own = spec.personal.moments, [spec.target_attributes.index(part.names[i]) for i in at]
        covariance = np.diag(law.deviations[own] ** 2) if spec.kind == "independent" else law.covariance[np.ix_(own, own)]
        return law.means[own], covariance
    values = part.centre[:, at] if view.knowledge.complete else part.placed[:, at]
    if not _can_be_estimated(values):
        return np.full(len(at), np.nan), np.full((len(at), len(at)), np.nan)
    centre = compute_column_means(values)
    covariance = np.diag(compute_standard_deviations(values) ** 2) if spec.kind == "independent" else compute_covariance(values)
    if not view.knowledge.complete:
        return centre, covariance / (1 if spec.kind == "variance_restoring" else 1 + spec.share**2)
    shares = np.bincount(part.of_record, minlength=len(part.covariance)) / len(part.of_record)
    noise_before = np.tensordot(shares, part.covariance, axes=1)[np.ix_(at, at)]
    return centre, covariance + noise_before


def _can_be_estimated(values: Floats) -> bool:
    return bool(((~np.isnan(values)).sum(axis=0) > 1).all())


def _locate(view: IntruderView, names: tuple[str, ...]) -> tuple[Floats, Floats]:
    """What each record holds before the noise, or is expected to hold, and the variance of that, which may be 0."""
    own, variances = np.empty((view.knowledge.believed.n, len(names))), np.zeros(len(names))
    for j, name in enumerate(names):
        bounds = None if view.knowledge.is_certain((name,)) else find_bounds(view, name)
        if bounds is None:
            own[:, j] = view.knowledge.believed.positions(view.schema[name])
        else:
            own[:, j], variances[j] = locate_within_bounds(view, bounds)
    return own, variances


def _positions(table: Microdata, view: IntruderView, names: tuple[str, ...]) -> Floats:
    found = np.empty((table.n, len(names)))
    for j, name in enumerate(names):
        found[:, j] = table.positions(view.schema[name])
    return found


def _steps(view: IntruderView, names: tuple[str, ...], spec: Noise) -> Floats:
    if spec.personal is not None:
        return np.array([grid_step(spec.personal.get_grid(spec.target_attributes.index(name))) for name in names])
    return np.array([grid_step(view.precision[name]) for name in names])
