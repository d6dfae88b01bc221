"""A learned distance as one of the distances of linkage, which links whole files by it."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tasks.attack.learned.features import Kind, matrix_of
from tasks.attack.neighbours import distances
from tasks.attack.neighbours.distances import Form, create_weighted_mean, quadratic
from tasks.microdata.table import Floats

_NONE = np.zeros((0, 0))


def form_of(kind: Kind, parameters: Floats, d: int) -> Form:
    """The form that gives d times the learned distance of d attributes, without what rounding left below the cone's edge.

    It is made without the checks of a measure in a release file, which hold up to rounding.
    """
    match kind:
        case Kind.WEIGHTED_MEAN:
            return create_weighted_mean(d * np.maximum(parameters, 0.0))
        case Kind.OWA:  # learned for ascending differences
            return Form(distances.Kind.ORDERED, d * np.maximum(parameters, 0.0)[::-1].copy(), _NONE, d)
        case Kind.CHOQUET:
            return Form(distances.Kind.CHOQUET, d * np.append(0.0, parameters), _NONE, d)
        case Kind.CHOQUET_2ADDITIVE:
            return Form(distances.Kind.TWO_ADDITIVE, d * parameters[:d], d * _pairs(parameters[d:], d), d)
        case Kind.BILINEAR:
            return quadratic(d * matrix_of(parameters))


def _pairs(values: Floats, d: int) -> Floats:
    matrix = np.zeros((d, d))
    for value, (j, k) in zip(values, combinations(range(d), 2), strict=True):
        matrix[j, k] = matrix[k, j] = value
    return matrix
