"""Who is linked by a distance with given parameters: every pair in float64, whatever a solver or a search believed.

A record of the searching file is linked when its own record of the found file is nearer than all others. Another record is as
near as the own one when the distances differ by no more than 1e-9 of what their terms add up to in absolute value: a solution
that hangs on rounding counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.learned.features import CODES, Kind, write_features
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

TIE = 1e-9  # of the absolute terms of two distances: they are equal


@dataclass(frozen=True, slots=True)
class Links:
    """What became of q searching records.

    nearer: how many others are nearer than the own record; equal: how many are as near; shape (q,). strict: there are neither.
    """

    nearer: Integers
    equal: Integers

    @property
    def strict(self) -> Booleans:
        linked: Booleans = (self.nearer == 0) & (self.equal == 0)
        return linked

    @property
    def credit(self) -> Floats:
        """1/t where the own record is among the t nearest, else 0."""
        shared: Floats = np.where(self.nearer == 0, 1 / (1 + self.equal), 0.0)
        return shared


def recount(kind: Kind, parameters: Floats, searching: Floats, found: Floats, truth: Integers) -> Links:
    """Count over all pairs of searching (q, d) and found (f, d) records; truth: the own record of each, shape (q,).

    Cost: O(q f p) time, linear memory.
    """
    return links_among(kind, parameters, searching, found, truth, np.arange(len(found))[np.newaxis])


def links_among(kind: Kind, parameters: Floats, searching: Floats, found: Floats, truth: Integers, among: Integers) -> Links:
    """`recount` over the found records among[i, :] of each searching record; shape (q, k), or (1, k) for all; -1: none."""
    return Links(*_links_among(CODES[kind], parameters, *_contiguous(searching, found), truth, among))


def _contiguous(searching: Floats, found: Floats) -> tuple[Floats, Floats]:
    return np.ascontiguousarray(searching, dtype=float), np.ascontiguousarray(found, dtype=float)


@njit
def _links_among(
    code: int, parameters: Floats, searching: Floats, found: Floats, truth: Integers, among: Integers
) -> tuple[Integers, Integers]:
    q = len(searching)
    nearer, equal = np.zeros(q, dtype=np.int64), np.zeros(q, dtype=np.int64)
    phi = np.zeros(len(parameters))
    for i in range(q):
        own, own_size = measured(code, parameters, searching[i] - found[truth[i]], phi)
        for j in among[i % len(among)]:
            if j != truth[i] and j >= 0:
                other, size = measured(code, parameters, searching[i] - found[j], phi)
                slack = TIE * (own_size + size)
                nearer[i] += other < own - slack
                equal[i] += abs(other - own) <= slack
    return nearer, equal


@njit
def measured(code: int, parameters: Floats, difference: Floats, phi: Floats) -> tuple[float, float]:
    """The distance and the sum of its absolute terms; phi is room to work in."""
    phi[:] = 0.0
    write_features(code, difference, phi)
    distance, size = 0.0, 0.0
    for k in range(len(phi)):
        term = parameters[k] * phi[k]
        distance += term
        size += abs(term)
    return distance, size
