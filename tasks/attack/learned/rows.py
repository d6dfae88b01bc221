"""The rows D with which "record i is linked" reads: p . D > 0 for every row of i; some of them, chosen and scaled.

D_ij = phi(i, j) - phi(i, own record of i). Records j equal to the own record make no row: they tie under every distance, and
are accounted for in the weight of i.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.learned.features import CODES, Kind, width, write_features
from tasks.attack.learned.recount import Links, measured
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers


@dataclass(frozen=True, slots=True)
class Problem:
    """Two files whose truth is known: searching (q, d), found (f, d), the own record of each, and how much each link counts.

    weight: shape (q,), what a link of each is worth: 0 or 1 by strict credit, 1 / equal records by shared credit.
    twins: shape (q,), how many other found records are equal to the own one.
    """

    kind: Kind
    searching: Floats
    found: Floats
    truth: Integers
    weight: Floats
    twins: Integers

    @property
    def parameters(self) -> int:
        return width(self.kind, self.searching.shape[1])

    def as_kind(self, kind: Kind) -> Problem:
        """The same files, for another distance."""
        return replace(self, kind=kind)

    def worth(self, links: Links) -> float:
        """What the search maximises: the weight of the records that only twins of their own record are as near to."""
        return float(self.weight[(links.nearer == 0) & (links.equal <= self.twins)].sum())


def problem(kind: Kind, searching: Floats, found: Floats, truth: Integers, *, strict: bool = True) -> Problem:
    """The problem of linking each searching record to found[truth]. strict: who has a twin is never linked."""
    _, record, count = np.unique(found, axis=0, return_inverse=True, return_counts=True)
    twins = count[record.ravel()][truth] - 1
    weight = (twins == 0).astype(float) if strict else 1.0 / (1 + twins)
    return Problem(kind, np.array(searching, float, order="C"), np.array(found, float, order="C"), truth, weight, twins)


def of_targets(of: Problem, targets: Integers) -> Problem:
    """The same problem for some of the searching records."""
    some = {name: getattr(of, name)[targets] for name in ("searching", "truth", "weight", "twins")}
    return replace(of, **some)


@dataclass(frozen=True, slots=True)
class Rows:
    """Chosen rows, by record. d: shape (m, p), each column divided by `unit` and each row of length 1.

    starts: shape (q + 1,), the rows of record i are d[starts[i]:starts[i + 1]]. others: shape (m,), the record j of each.
    unit: shape (p,): parameters of the problem are those of the scaled rows divided by it.
    """

    d: Floats
    starts: Integers
    others: Integers
    unit: Floats


def nearest_by_pairs(of: Problem, parameters: Floats, k: int) -> Integers:
    """The k records other than the own that are nearest under the given parameters; shape (q, k), in no order.

    Cost: O(q f p) time.
    """
    k = min(k, len(of.found) - 1)
    return _nearest_by_pairs(CODES[of.kind], parameters, of.searching, of.found, of.truth, k)


@njit
def _nearest_by_pairs(code: int, parameters: Floats, searching: Floats, found: Floats, truth: Integers, k: int) -> Integers:
    chosen = np.empty((len(searching), k), dtype=np.int64)
    phi, distance = np.zeros(len(parameters)), np.empty(len(found))
    for i in range(len(searching)):
        for j in range(len(found)):
            distance[j] = measured(code, parameters, searching[i] - found[j], phi)[0]
        distance[truth[i]] = np.inf
        kth = np.partition(distance, k - 1)[k - 1]
        at = 0
        for j in range(len(found)):
            if distance[j] < kth:
                chosen[i, at] = j
                at += 1
        for j in range(len(found)):
            if at < k and distance[j] == kth and j != truth[i]:
                chosen[i, at] = j
                at += 1
    return chosen


def rows_of(of: Problem, others: Integers, unit: Floats | None = None) -> Rows:
    """The rows of pairs (i, others[i, :]); others: shape (q, k), -1 for none. Doubles are dropped.

    unit: the scale of the columns; default: the root mean square of each.
    """
    i, j = _pairs(others)
    d = differences_of(of, i, j)
    kept = np.abs(d).sum(axis=1) > 0
    d, i, j = d[kept], i[kept], j[kept]
    scale = unit_of(d) if unit is None else unit
    starts = np.searchsorted(i, np.arange(len(of.searching) + 1))
    return Rows(scaled(d, scale), starts, j, scale)


def _pairs(others: Integers) -> tuple[Integers, Integers]:
    ordered = np.sort(others, axis=1)
    new = np.ones(ordered.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    kept: Booleans = new & (ordered >= 0)
    return np.nonzero(kept)[0], ordered[kept]


def differences_of(of: Problem, i: Integers, j: Integers) -> Floats:
    """D of the pairs (i, j), unscaled; shape (m, p)."""
    return _differences(CODES[of.kind], of.searching, of.found, of.truth, i, j, of.parameters)


@njit
def _differences(code: int, searching: Floats, found: Floats, truth: Integers, i: Integers, j: Integers, p: int) -> Floats:
    d = np.zeros((len(i), p))
    own = np.zeros(p)
    for row in range(len(i)):
        own[:] = 0.0
        write_features(code, searching[i[row]] - found[truth[i[row]]], own)
        write_features(code, searching[i[row]] - found[j[row]], d[row])
        d[row] -= own
    return d


def unit_of(d: Floats) -> Floats:
    """The root mean square of each column, 1 where it is 0."""
    root = np.sqrt(np.mean(d**2, axis=0)) if len(d) else np.ones(d.shape[1])
    unit: Floats = np.where(root > 0, root, 1.0)
    return unit


def scaled(d: Floats, unit: Floats) -> Floats:
    """Columns divided by their unit, rows of length 1."""
    columns = d / unit
    length = np.sqrt((columns**2).sum(axis=1, keepdims=True))
    return np.ascontiguousarray(columns / np.where(length > 0, length, 1.0))
