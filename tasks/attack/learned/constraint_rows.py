"""The rows D with which "record i is linked" reads: p . D > 0 for every row of i; some of them, chosen and scaled.

D_ij = phi(i, j) - phi(i, own record of i). Equal found records stand as one, with their number: they tie under every
distance, and are accounted for in the weight of i.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.learned.attribute_differences import Apart, write_apart
from tasks.attack.learned.exact_links import LinkCounts
from tasks.attack.learned.features import CODES, LearnedDistanceKind, width, write_features
from tasks.microdata.codes import find_distinct_rows
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

_MISSING = dict.fromkeys(("searching", "found"), "a missing value, which `write_differences` asks for")


@dataclass(frozen=True, slots=True)
class Problem:
    """Two files whose truth is known, and how their records differ.

    searching: shape (q, columns). found: shape (f, columns), the distinct records; copies: shape (f,), how many equal ones each
    stands for. truth: shape (q,), the own record of each. strict: does a tie earn nothing, or is it shared?
    """

    kind: LearnedDistanceKind
    searching: Floats
    found: Floats
    truth: Integers
    copies: Integers
    how: Apart
    strict: bool

    @property
    def parameters(self) -> int:
        return width(self.kind, self.how.d)

    @property
    def twins(self) -> Integers:
        """Shape (q,): how many other found records are equal to the own one."""
        return self.copies[self.truth] - 1

    @property
    def weight(self) -> Floats:
        """Shape (q,): what a link of each is worth: 0 or 1 by strict credit, 1 / equal records by shared credit."""
        weight: Floats = (self.twins == 0).astype(float) if self.strict else 1.0 / (1 + self.twins)
        return weight

    def as_kind(self, kind: LearnedDistanceKind) -> Problem:
        """The same files, for another distance."""
        return replace(self, kind=kind)

    def worth(self, links: LinkCounts) -> float:
        """What the search maximises: the weight of the records that only twins of their own record are as near to."""
        return float(self.weight[self.is_linked(links)].sum())

    def is_linked(self, links: LinkCounts) -> Booleans:
        """Shape (q,): is nothing nearer than the own record, and only its twins as near?"""
        linked: Booleans = (links.nearer == 0) & (links.equal <= self.twins)
        return linked

    def credit(self, links: LinkCounts) -> float:
        """What the links earn; by shared credit also those that tie with others than twins."""
        return float((links.strict if self.strict else links.credit).sum())

    def select_targets(self, targets: Integers) -> Problem:
        """The same problem for some of the searching records."""
        return replace(self, searching=self.searching[targets], truth=self.truth[targets])


def problem(
    kind: LearnedDistanceKind,
    searching: Floats,
    found: Floats,
    truth: Integers | None = None,
    *,
    strict: bool = True,
    how: Apart | None = None,
) -> Problem:
    """The problem of linking each searching record (q, columns) to found[truth] of (f, columns).

    truth: default: row i of row i. strict: who has a twin is never linked. how: default: the columns are attributes.
    Raises ValueError for infinite values, other numbers of columns, an empty file, and row i without a row i.
    """
    if searching.ndim != 2 or searching.shape[1:] != found.shape[1:] or not len(found) or not len(searching):
        raise ValueError(f"files of shapes {searching.shape} and {found.shape} cannot be linked by a learned distance")
    if np.isinf(searching).any() or np.isinf(found).any():
        raise ValueError("a learned distance takes no infinite values")
    if truth is None and len(searching) > len(found):
        raise ValueError("without a truth, row i of one file must be row i of the other")
    records, record = find_distinct_rows(np.asarray(found, dtype=float))
    own = record[np.arange(len(searching)) if truth is None else truth]
    copies = np.bincount(record).astype(np.int64)
    return Problem(
        kind, np.array(searching, float, order="C"), records, own, copies, how or Apart.plain(found.shape[1]), strict
    )


@dataclass(frozen=True, slots=True)
class ConstraintRows:
    """Chosen rows, by record. d: shape (m, p), each column divided by `unit` and each row of length 1.

    starts: shape (q + 1,), the rows of record i are d[starts[i]:starts[i + 1]]. others: shape (m,), the record j of each.
    unit: shape (p,): parameters of the problem are those of the scaled rows divided by it.
    """

    d: Floats
    starts: Integers
    others: Integers
    unit: Floats


def create_constraint_rows(of: Problem, others: Integers, unit: Floats | None = None) -> ConstraintRows:
    """The rows of pairs (i, others[i, :]); others: shape (q, k), -1 for none. Doubles are dropped.

    unit: the scale of the columns; default: the root mean square of each.
    """
    i, j = _pairs(others)
    d = compute_pairwise_differences(of, i, j)
    kept = np.abs(d).sum(axis=1) > 0
    d, i, j = d[kept], i[kept], j[kept]
    scale = compute_column_scale(d) if unit is None else unit
    starts = np.searchsorted(i, np.arange(len(of.searching) + 1))
    return ConstraintRows(scale_rows(d, scale), starts, j, scale)


def _pairs(others: Integers) -> tuple[Integers, Integers]:
    ordered = np.sort(others, axis=1)
    new = np.ones(ordered.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    kept: Booleans = new & (ordered >= 0)
    return np.nonzero(kept)[0], ordered[kept]


def compute_pairwise_differences(of: Problem, i: Integers, j: Integers) -> Floats:
    """D of the pairs (i, j), unscaled; shape (m, p)."""
    return _differences(CODES[of.kind], of.searching, of.found, of.truth, i, j, of.parameters, of.how)


@njit(missing=_MISSING)
def _differences(
    code: int, searching: Floats, found: Floats, truth: Integers, i: Integers, j: Integers, p: int, how: Apart
) -> Floats:
    d = np.zeros((len(i), p))
    own, delta = np.zeros(p), np.empty(how.d)
    for row in range(len(i)):
        own[:] = 0.0
        write_apart(searching[i[row]], found[truth[i[row]]], how, delta)
        write_features(code, delta, own)
        write_apart(searching[i[row]], found[j[row]], how, delta)
        write_features(code, delta, d[row])
        d[row] -= own
    return d


def compute_column_scale(d: Floats) -> Floats:
    """The root mean square of each column, 1 where it is 0."""
    root = np.sqrt(np.mean(d**2, axis=0)) if len(d) else np.ones(d.shape[1])
    unit: Floats = np.where(root > 0, root, 1.0)
    return unit


def scale_rows(d: Floats, unit: Floats) -> Floats:
    """Columns divided by their unit, rows of length 1."""
    columns = d / unit
    length = np.sqrt((columns**2).sum(axis=1, keepdims=True))
    return np.ascontiguousarray(columns / np.where(length > 0, length, 1.0))
