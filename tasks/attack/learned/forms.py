"""A learned distance as one of the distances of linkage, which links whole files by it."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tasks.attack.learned.features import LearnedDistanceKind, create_matrix
from tasks.attack.neighbours import distances
from tasks.attack.neighbours.distances import Form, create_weighted_mean, quadratic
from tasks.microdata.table import Floats

_NONE = np.zeros((0, 0))


def create_learned_form(kind: LearnedDistanceKind, parameters: Floats, d: int) -> Form:
    """The form that gives d times the learned distance of d attributes, without what rounding left below the cone's edge.

    It is made without the checks of a measure in a release file, which hold up to rounding.
    """
    match kind:
        case LearnedDistanceKind.WEIGHTED_MEAN:
            return create_weighted_mean(d * np.maximum(parameters, 0.0))
        case LearnedDistanceKind.OWA:  # learned for ascending differences
            return Form(distances.DistanceKind.ORDERED, d * np.maximum(parameters, 0.0)[::-1].copy(), _NONE, d)
        case LearnedDistanceKind.CHOQUET:
            return Form(distances.DistanceKind.CHOQUET, d * np.append(0.0, parameters), _NONE, d)
        case LearnedDistanceKind.CHOQUET_2ADDITIVE:
            return Form(distances.DistanceKind.TWO_ADDITIVE, d * parameters[:d], d * _pairs(parameters[d:], d), d)
        case LearnedDistanceKind.BILINEAR:
            return quadratic(d * create_matrix(parameters))


def _pairs(values: Floats, d: int) -> Floats:
    matrix = np.zeros((d, d))
    for value, (j, k) in zip(values, combinations(range(d), 2), strict=True):
        matrix[j, k] = matrix[k, j] = value
    return matrix
