"""The local search from several starts, with counts over all pairs between its rounds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tasks.attack.learned.attribute_differences import compute_pair_differences
from tasks.attack.learned.constraint_rows import ConstraintRows, Problem, create_constraint_rows
from tasks.attack.learned.features import (
    LearnedDistanceKind,
    arithmetic_mean,
    clip_to_cone,
    cone,
    create_fuzzy_measure,
    create_matrix,
    diagonal,
    flatten_matrix,
    negative_direction,
)
from tasks.attack.learned.joinability import extend_linked_set
from tasks.attack.learned.learned_neighbours import count_links, links_and_nearest, nearest_others
from tasks.attack.learned.local_search import climb, compute_step_range
from tasks.attack.neighbours.distances import MISSING_AGAINST_PRESENT
from tasks.attack.neighbours.record_comparison import EQUAL
from tasks.microdata.table import Floats, Integers

NEAREST = 8  # rows of each record and start
OVERLOOKED = 5  # rows of each record that join after each round
MOST_ROWS = 120  # of each record; beyond, the rows are chosen anew
ROUNDS = {LearnedDistanceKind.WEIGHTED_MEAN: 8, LearnedDistanceKind.OWA: 12}
MOST_ROUNDS = 24
MOVES = 750
KICKED = 6  # rounds from one kick to the next


@dataclass(slots=True)
class _Best:
    parameters: Floats
    worth: float


@dataclass(slots=True)
class _Climber:
    of: Problem
    metric: bool
    rng: np.random.Generator
    starts: list[Floats]
    moves: int
    best: _Best = field(init=False)
    others: Integers = field(init=False)
    bounds: Floats = field(init=False)
    widened: float = -1.0

    def __post_init__(self) -> None:
        looks = [links_and_nearest(self.of, start, NEAREST) for start in self.starts]
        worths = [self.of.worth(links) for links, _ in looks]
        self.best = _Best(self.starts[int(np.argmax(worths))], max(worths))
        self.bounds = cone(self.of.kind, self.of.how.d, metric=self.metric)
        self.others = np.hstack([others for _, others in looks])

    def round(self, start: Floats) -> Floats:
        """Climb, count, take in the rows that were overlooked; returns where the climb ended."""
        rows = create_constraint_rows(self.of, self.others)
        bounds, white, point = self.bounds / rows.unit, _whitening(rows), start * rows.unit
        ended = climb(rows.d, rows.starts, self.of.weight, bounds, white, point, self.moves, self.rng)[0]
        parameters = self.make_feasible(ended / rows.unit)
        links, overlooked = links_and_nearest(self.of, parameters, OVERLOOKED)
        worth = self.of.worth(links)
        if worth >= self.best.worth:
            self.best = _Best(parameters, worth)
        self.others = np.hstack([self.others, overlooked])
        if self.others.shape[1] > MOST_ROWS:
            self.others = np.hstack([nearest_others(self.of, p, NEAREST) for p in (*self.starts, self.best.parameters)])
        return parameters

    def widen(self) -> None:
        """Let records join those that the best parameters link, once they link more than when this was last asked."""
        if self.best.worth <= self.widened:
            return
        parameters = extend_linked_set(self.of, self.best.parameters, self.bounds, self.make_feasible)
        self.best = _Best(parameters, self.of.worth(count_links(self.of, parameters)))
        self.widened = self.best.worth

    def make_feasible(self, parameters: Floats) -> Floats:
        """The parameters within their cone, or the positive definite matrix nearest to them, whose missing bound joins."""
        parameters = clip_to_cone(self.of.kind, parameters, self.of.how.d)
        missing = negative_direction(parameters) if self.metric and self.of.kind is LearnedDistanceKind.BILINEAR else None
        if missing is None:
            return parameters
        self.bounds = np.vstack([self.bounds, missing])
        nearest = project_semidefinite(parameters)
        return nearest if nearest.any() else self.starts[0]  # a negative definite matrix is nearest to 0, which is no distance

    def perturb_parameters(self) -> Floats:
        """Somewhere near the best parameters, or between them and a start."""
        rows = create_constraint_rows(self.of, self.others[:, :NEAREST])
        point = self.best.parameters * rows.unit
        point /= np.sqrt(point @ point)
        if self.rng.random() < 0.5:
            start = self.starts[self.rng.integers(len(self.starts))] * rows.unit
            share = self.rng.random()
            point = (1 - share) * point + share * start / np.sqrt(start @ start)
        else:
            direction = _whitening(rows) @ self.rng.normal(size=len(point))
            direction /= np.sqrt(direction @ direction)
            low, high = compute_step_range(self.bounds / rows.unit, point, direction, 1.0)
            point = point + 0.3 * self.rng.uniform(low, high) * direction
        return self.make_feasible(point / rows.unit)


def search_parameters(
    of: Problem, *, metric: bool = False, rounds: int | None = None, moves: int = MOVES, rng: np.random.Generator
) -> Floats:
    """Parameters that link as much as was found; shape (p,). More rounds look longer.

    The weighted mean is searched first for the kinds that contain it, and 2-additive measures for the general ones. After each
    six rounds records are asked to join exactly, and a kick follows. Cost: about 0.03 s a round at 400 records.
    """
    starts = [*standard_starts(of), *_simpler(of, metric, moves, rng)]
    climber = _Climber(of, metric, rng, starts, moves)
    point = climber.best.parameters
    last = rounds or ROUNDS.get(of.kind, MOST_ROUNDS)
    for number in range(1, 1 + last):
        point = climber.round(point)
        if number % KICKED == 0 or number == last:
            climber.widen()
            point = climber.perturb_parameters()
    return inside(of, climber.best.parameters) if metric else climber.best.parameters


def standard_starts(of: Problem) -> list[Floats]:
    """Equal weights; the inverse variances of the true differences; for the bilinear form the inverse of their covariance.

    Differences without a sign (of categories) vary about 0; one that is missing is as large as of two random records.
    """
    apart = np.nan_to_num(
        compute_pair_differences(of.searching, of.found[of.truth], of.how), nan=np.sqrt(MISSING_AGAINST_PRESENT)
    )
    d, signed = of.how.d, np.ones(of.how.d, dtype=bool)
    signed[of.how.attribute[of.how.kind == EQUAL]] = False
    least = 1e-6 * max(float(np.mean(apart**2)), 1e-12)
    centred = apart - np.where(signed, apart.mean(axis=0), 0.0)
    covariance = centred.T @ centred / max(len(centred) - 1, 1)
    starts = [arithmetic_mean(of.kind, d), diagonal(of.kind, 1 / (np.diag(covariance) + least))]
    if of.kind is LearnedDistanceKind.BILINEAR:
        starts.append(flatten_matrix(np.asarray(np.linalg.inv(covariance + least * np.eye(d)), dtype=float)))
    return starts


def _simpler(of: Problem, metric: bool, moves: int, rng: np.random.Generator) -> list[Floats]:
    match of.kind:
        case LearnedDistanceKind.BILINEAR | LearnedDistanceKind.CHOQUET_2ADDITIVE:
            return [
                diagonal(
                    of.kind, search_parameters(of.as_kind(LearnedDistanceKind.WEIGHTED_MEAN), rounds=6, moves=moves, rng=rng)
                )
            ]
        case LearnedDistanceKind.CHOQUET:
            found = search_parameters(
                of.as_kind(LearnedDistanceKind.CHOQUET_2ADDITIVE), metric=metric, rounds=10, moves=moves, rng=rng
            )
            return [create_fuzzy_measure(found, of.how.d)]
        case LearnedDistanceKind.WEIGHTED_MEAN | LearnedDistanceKind.OWA:
            return []


def _whitening(rows: ConstraintRows) -> Floats:
    values, vectors = np.linalg.eigh(rows.d.T @ rows.d / max(len(rows.d), 1))
    return np.asarray(vectors / np.sqrt(np.maximum(values, 1e-6 * max(values[-1], 1e-12))))


def project_semidefinite(parameters: Floats) -> Floats:
    """The positive semidefinite matrix nearest to a bilinear form's."""
    values, vectors = np.linalg.eigh(create_matrix(parameters))
    return flatten_matrix((vectors * np.maximum(values, 0.0)) @ vectors.T)


def inside(of: Problem, parameters: Floats) -> Floats:
    """Parameters moved off the edge of the cone (positive weights, a definite matrix), as far as none is lost."""
    middle = arithmetic_mean(of.kind, of.how.d) * np.abs(parameters).max()
    worth = of.worth(count_links(of, parameters))
    for share in 10.0 ** np.arange(-3, -13, -1):
        if of.worth(count_links(of, parameters + share * middle)) >= worth:
            return np.asarray(parameters + share * middle)
    return parameters
