"""Sensitivity: which parameter moves which measure, told per pipeline and axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance

from tasks.microdata.table import Booleans, Floats, Integers
from tasks.sweep.results import Results

Method = Literal["eta_squared", "permutation"]
LEAST_PER_LEVEL = 2  # trials; with one each, every axis of its own explains everything
LEAST_FOR_FOREST = 50
MOST_FOR_FOREST = 2000
TREES = 200
LEAST_SCORE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """How much one parameter moves one quantity within one pipeline.

    share: the part of the quantity's variance that the axis alone explains, 0 to 1; None: not assessed, and `reason` says why.
    method: `eta_squared` or `permutation`, see `compute_influences`. chance: what an axis without influence would get on
        average (eta squared only). score: the forest's R^2 on points it has not seen (permutation only): the shares sum to it.
    direction: Spearman's rank correlation of the axis and the quantity, -1 to 1; None for an axis of unordered values, or
        where it cannot be had.
    n_trials, n_points, levels: how many had both a value of the axis and the quantity, and how many values the axis took.
    """

    pipeline: str
    axis: str
    share: float | None
    method: Method | None
    chance: float | None
    score: float | None
    direction: float | None
    n_trials: int
    n_points: int
    levels: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class _Design:
    """The trials on which some axes are compared: all of these are active there, and the quantity is known.

    codes: shape (trials, axes), ranks of the values where they are ordered, else their places in order of occurrence.
    y: shape (trials,). point: shape (trials,), the places of their points.
    """

    codes: Floats
    y: Floats
    point: Integers

    @property
    def points(self) -> int:
        return len(np.unique(self.point))


def compute_influences(results: Results, values: Floats) -> tuple[Influence, ...]:
    """Which parameters move a quantity: one line per pipeline and axis that takes at least two values there.

    values: shape (trials,): risk, loss or any figure; NaN where a trial has none, which leaves the trial out.

    Where the axes are balanced (each pair of values of two axes occurs as often as their frequencies say: a grid), the share is
    eta squared of the axis: variance between the means of its values over the variance of all trials, which splits into the
    main effects, their interplay and the seeds. Else (random and searched designs) it is the permutation importance of a random
    forest on the points' means, scaled so that the shares of a pipeline sum to the forest's out-of-bag R^2: how a searched
    design spreads its points colours it, so it says what moved the quantity among the points tried.
    An axis that exists only where another one has some value is compared there alone, beside the axes that exist there too.

    Not assessed: a quantity that never changes; fewer than 2 trials per value of a balanced axis (each value would explain
    itself); fewer than 50 points, or an out-of-bag R^2 below 0.1, for a forest.
    Cost: O(trials * axes^2) for a grid; a forest of 200 trees on at most 2,000 points for each set of axes else, about 2 s.
    Source: Fisher's correlation ratio; Breiman 2001.

    Example: risk = k + noise of the seeds, on a grid of k and another axis: k explains nearly all, the other about its chance.
    """
    pipelines = np.array(results.texts("pipeline"), dtype=object)
    return tuple(
        line
        for pipeline in dict.fromkeys(pipelines.tolist())
        for line in _assess_pipeline(results, values, str(pipeline), pipelines == pipeline)
    )


def _assess_pipeline(results: Results, values: Floats, pipeline: str, own: Booleans) -> list[Influence]:
    columns = {path: _encode_values(results.axis(path)) for path in results.axes}
    moved = {path: codes for path, codes in columns.items() if len(np.unique(codes[own & ~np.isnan(codes)])) > 1}
    found: dict[str, Influence] = {}
    for where, paths in _group_axes(moved, own).values():
        known = where & ~np.isnan(values)
        beside = [path for path in moved if not np.isnan(moved[path][where]).any()]
        codes = np.column_stack([moved[path][known] for path in beside])
        design = _Design(codes, values[known], results.position[known])
        for path, line in _assess_axes(design, beside, pipeline, results).items():
            found |= {path: line} if path in paths else {}
    return [found[path] for path in moved]


def _group_axes(columns: dict[str, Floats], own: Booleans) -> dict[bytes, tuple[Booleans, list[str]]]:
    """The axes that are active in the same trials."""
    groups: dict[bytes, tuple[Booleans, list[str]]] = {}
    for path, codes in columns.items():
        active: Booleans = own & ~np.isnan(codes)
        groups.setdefault(active.tobytes(), (active, []))[1].append(path)
    return groups


def _encode_values(values: Sequence[object]) -> Floats:
    """Numbers by their value, others by their place in order of occurrence; NaN where there is none."""
    if all(_is_number(value) for value in values if value is not None):
        return np.array([np.nan if value is None else float(str(value)) for value in values])
    positions = {value: float(i) for i, value in enumerate(dict.fromkeys(one for one in values if one is not None))}
    return np.array([np.nan if value is None else positions[value] for value in values])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _assess_axes(design: _Design, paths: list[str], pipeline: str, results: Results) -> dict[str, Influence]:
    shares, method, score, why = _compute_shares(design)
    lines = {}
    for i, path in enumerate(paths):
        levels = len(np.unique(design.codes[:, i]))
        reason = why or _explain_too_few(design, levels, method)
        ordered = all(_is_number(value) for value in results.axis(path) if value is not None)
        lines[path] = Influence(
            pipeline=pipeline,
            axis=path,
            share=None if reason else shares[i],
            method=None if reason else method,
            chance=None if reason or method == "permutation" else (levels - 1) / (len(design.y) - 1),
            score=score,
            direction=_compute_direction(design.codes[:, i], design.y) if ordered else None,
            n_trials=len(design.y),
            n_points=design.points,
            levels=levels,
            reason=reason,
        )
    return lines


def _compute_shares(design: _Design) -> tuple[list[float], Method, float | None, str | None]:
    """The share of each axis, how it was had, the forest's score, and why there is none."""
    if len(design.y) < 2 or np.ptp(design.y) == 0:
        return [], "eta_squared", None, "the figure is the same everywhere" if len(design.y) else "no trial has the figure"
    if _is_balanced(design.codes):
        return [_compute_eta_squared(codes, design.y) for codes in design.codes.T], "eta_squared", None, None
    if design.points < LEAST_FOR_FOREST:
        few = f"{design.points} points of an unbalanced design are too few: at least {LEAST_FOR_FOREST}"
        return [], "permutation", None, few
    return _compute_forest_shares(design)


def _explain_too_few(design: _Design, levels: int, method: Method) -> str | None:
    if levels < 2:
        return "the axis takes one value where the figure is there"
    if method == "eta_squared" and len(design.y) < LEAST_PER_LEVEL * levels:
        return f"{len(design.y)} trials for {levels} values are too few: at least {LEAST_PER_LEVEL} for each"
    return None


def _is_balanced(codes: Floats) -> bool:
    """Is every two-way table of the axes the product of its margins?"""
    for one, other in combinations(codes.T, 2):
        rows, columns = (np.unique(axis, return_inverse=True)[1] for axis in (one, other))
        counts = np.zeros((rows.max() + 1, columns.max() + 1), dtype=np.int64)
        np.add.at(counts, (rows, columns), 1)
        if (counts * len(one) != np.outer(counts.sum(axis=1), counts.sum(axis=0))).any():
            return False
    return True


def _compute_eta_squared(codes: Floats, y: Floats) -> float:
    levels = np.unique(codes, return_inverse=True)[1]
    means = np.bincount(levels, weights=y) / np.bincount(levels)
    between = math.fsum((means[levels] - y.mean()) ** 2)
    return min(between / math.fsum((y - y.mean()) ** 2), 1.0)


def _compute_forest_shares(design: _Design) -> tuple[list[float], Method, float | None, str | None]:
    first, position = np.unique(design.point, return_index=True, return_inverse=True)[1:]
    x, y = design.codes[first], np.bincount(position, weights=design.y) / np.bincount(position)
    if len(y) > MOST_FOR_FOREST:
        drawn = np.random.default_rng(0).choice(len(y), MOST_FOR_FOREST, replace=False)
        x, y = x[drawn], y[drawn]
    forest = RandomForestRegressor(TREES, min_samples_leaf=2, oob_score=True, random_state=0, n_jobs=1).fit(x, y)
    score = float(forest.oob_score_)
    if not score >= LEAST_SCORE:
        return [], "permutation", score, f"the axes do not foretell the figure: R^2 {score:.2f} on points not seen"
    fallen = permutation_importance(forest, x, y, n_repeats=5, random_state=0, n_jobs=1).importances_mean
    weights = np.maximum(fallen, 0)
    return (score * weights / weights.sum()).tolist(), "permutation", score, None


def _compute_direction(codes: Floats, y: Floats) -> float | None:
    from scipy.stats import spearmanr

    if len(y) < 3 or np.ptp(codes) == 0 or np.ptp(y) == 0:
        return None
    return float(spearmanr(codes, y).statistic)
