"""Who is linked by a distance with given parameters: every pair in float64, whatever a solver or a search believed.

A record of the searching file is linked when its own record of the found file is nearer than all others. Another record is as
near as the own one when the distances differ by no more than 1e-9 of what their terms add up to in absolute value: a solution
that hangs on rounding counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.learned.attribute_differences import Apart, write_apart, write_apart_from
from tasks.attack.learned.features import CODES, LearnedDistanceKind, write_distances, write_features
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

TIE = 1e-9  # of the absolute terms of two distances: they are equal
BLOCK = 512  # found records that are compared at once: their differences fit into a processor's cache

_MISSING = dict.fromkeys(("searching", "found"), "a missing value, which `write_apart` and `write_apart_from` ask for")


@dataclass(frozen=True, slots=True)
class LinkCounts:
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


def recount(kind: LearnedDistanceKind, parameters: Floats, searching: Floats, found: Floats, truth: Integers) -> LinkCounts:
    """Count over all pairs of searching (q, d) and found (f, d) records; truth: the own record of each, shape (q,).

    Cost: O(q f p) time, linear memory.
    """
    own, others = (np.ascontiguousarray(file, dtype=float) for file in (searching, found))
    one_each, how = np.ones(len(found), dtype=np.int64), Apart.plain(found.shape[1])
    everybody = np.arange(len(found))[np.newaxis]
    return LinkCounts(*links_among(CODES[kind], parameters, own, others, truth, everybody, one_each, how))


@njit(missing=_MISSING)
def links_among(
    code: int,
    parameters: Floats,
    searching: Floats,
    found: Floats,
    truth: Integers,
    among: Integers,
    copies: Integers,
    how: Apart,
) -> tuple[Integers, Integers]:
    """The counts of `LinkCounts` over the found records among[i, :] of each searching record, each of which stands for its
    copies.

    among: shape (q, k), or (1, k) for all; -1: none. The other copies of the own record are as near as it.
    """
    q = len(searching)
    nearer, equal = np.zeros(q, dtype=np.int64), copies[truth] - 1
    phi, delta = np.zeros(len(parameters)), np.empty(how.d)
    for i in range(q):
        write_apart(searching[i], found[truth[i]], how, delta)
        own, own_size = compute_distance_and_magnitude(code, parameters, delta, phi)
        for j in among[i % len(among)]:
            if j != truth[i] and j >= 0:
                write_apart(searching[i], found[j], how, delta)
                other, size = compute_distance_and_magnitude(code, parameters, delta, phi)
                slack = TIE * (own_size + size)
                nearer[i] += copies[j] * (other < own - slack)
                equal[i] += copies[j] * (abs(other - own) <= slack)
    return nearer, equal


@njit
def compute_distance_and_magnitude(code: int, parameters: Floats, difference: Floats, phi: Floats) -> tuple[float, float]:
    """The distance and the sum of its absolute terms; phi is room to work in."""
    phi[:] = 0.0
    write_features(code, difference, phi)
    distance, size = 0.0, 0.0
    for k in range(len(phi)):
        term = parameters[k] * phi[k]
        distance += term
        size += abs(term)
    return distance, size


@njit(missing=_MISSING)
def look(
    code: int, parameters: Floats, searching: Floats, found: Floats, truth: Integers, copies: Integers, how: Apart, k: int
) -> tuple[Integers, Integers, Integers]:
    """`links_among` all, and the k records other than the own that are nearest, shape (q, k), k < f, nearest first.

    found: by columns, shape (columns, f).
    """
    q, f = len(searching), found.shape[1]
    nearer, equal = np.zeros(q, dtype=np.int64), copies[truth] - 1
    others, least = np.full((q, k), -1), np.empty(k)
    delta, distance, size = np.empty((how.d, BLOCK)), np.empty(BLOCK), np.empty(BLOCK)
    for i in range(q):
        least[:] = np.inf
        write_apart_from(searching[i], found, truth[i], 1, how, delta)
        write_distances(code, parameters, delta, 1, distance, size)
        own, own_size = distance[0], size[0]
        for first in range(0, f, BLOCK):
            count = min(BLOCK, f - first)
            write_apart_from(searching[i], found, first, count, how, delta)
            write_distances(code, parameters, delta, count, distance, size)
            for j in range(count):
                if first + j == truth[i]:
                    continue
                slack = TIE * (own_size + size[j])
                nearer[i] += copies[first + j] * (distance[j] < own - slack)
                equal[i] += copies[first + j] * (abs(distance[j] - own) <= slack)
                if k > 0 and distance[j] < least[k - 1]:
                    _insert(distance[j], first + j, least, others[i])
    return nearer, equal, others


@njit
def _insert(distance: float, record: int, least: Floats, records: Integers) -> None:
    at = len(least) - 1
    while at > 0 and least[at - 1] > distance:
        least[at], records[at] = least[at - 1], records[at - 1]
        at -= 1
    least[at], records[at] = distance, record
