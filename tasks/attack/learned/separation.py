"""Can these records be linked together? One direction that has all their rows on its positive side, or a reason why none has.

By Gordan's theorem either some p has D p > 0 and G p >= 0, or some y >= 0, y not 0, z >= 0 have D^T y + G^T z = 0. The point of
least norm among the convex combinations of rows answers both: if it is not 0 it is such a p, of largest margin; if it is 0,
its multipliers are the reason. It is a problem of non-negative least squares, with few active rows (at most p + 1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from tasks.attack.learned.attribute_differences import Apart, write_apart
from tasks.attack.learned.constraint_rows import Problem, compute_pairwise_differences, create_constraint_rows
from tasks.attack.learned.exact_links import TIE
from tasks.attack.learned.features import CODES, write_features
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

RESIDUAL = 1e-7  # of the least norm: below it, the rows are taken to have no common direction, and the reason is checked
MARGIN = 1e-9
ROUNDING = 1e-12
STRAYS = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6)  # of the largest multiplier: left by rounding

_MISSING = dict.fromkeys(("searching", "found"), "a missing value, which `write_differences` asks for")


@dataclass(frozen=True, slots=True)
class Infeasibility:
    """Why records cannot all be linked: rows (i, j) with multipliers >= 0 that add up to zero together with those of bounds.

    records: the records i, ascending, each once. i, j, multipliers: shape (r,). bounds: shape (b, p), with multipliers
    bound_multipliers (b,); all in the problem's own, unscaled coordinates.
    """

    records: tuple[int, ...]
    i: Integers
    j: Integers
    multipliers: Floats
    bounds: Floats
    bound_multipliers: Floats

    def holds(self, of: Problem) -> bool:
        """Is the reason valid for whatever `recount` would count? Computed anew from the files.

        sum of y D + sum of z G = r, so parameters that link all have sum of y D.p <= r.p, but by the rule of ties also
        sum of y D.p > TIE * sum of y (terms of both distances). Where |r| is below that in each coordinate, there are none;
        what is less than 1e-12 of the numbers that were added up is rounding.
        """
        d, y, z = compute_pairwise_differences(of, self.i, self.j), self.multipliers, self.bound_multipliers
        rest = np.abs(y @ d + z @ self.bounds)
        room = TIE * (y @ absolute_terms(of, self.i, self.j)) + ROUNDING * (y @ np.abs(d) + z @ np.abs(self.bounds))
        positive = min(y.min(initial=0.0), z.min(initial=0.0)) >= 0 and y.sum() > 0
        return bool(positive and np.all(rest <= room))


def absolute_terms(of: Problem, i: Integers, j: Integers) -> Floats:
    """|phi| of both distances that the rows (i, j) compare; shape (r, p)."""
    return _absolute_terms(CODES[of.kind], of.searching, of.found, of.truth, i, j, of.parameters, of.how)


@njit(missing=_MISSING)
def _absolute_terms(
    code: int, searching: Floats, found: Floats, truth: Integers, i: Integers, j: Integers, p: int, how: Apart
) -> Floats:
    terms, phi, delta = np.zeros((len(i), p)), np.zeros(p), np.empty(how.d)
    for row in range(len(i)):
        for other in (j[row], truth[i[row]]):
            phi[:] = 0.0
            write_apart(searching[i[row]], found[other], how, delta)
            write_features(code, delta, phi)
            terms[row] += np.abs(phi)
    return terms


class RowPool:
    """The rows known so far, and the question for any set of records. Rows and bounds are added, never taken away."""

    def __init__(self, of: Problem, others: Integers, bounds: Floats, point: Floats) -> None:
        """others: as `create_constraint_rows` takes them; bounds: of the parameters; point: parameters to begin with."""
        self.of, self.rows = of, create_constraint_rows(of, others)
        self.bounds = bounds
        self.point = point * self.rows.unit
        self._index()

    def _index(self) -> None:
        self.record = np.repeat(np.arange(len(self.of.searching)), np.diff(self.rows.starts))
        scaled = self.bounds / self.rows.unit
        self._bound_lengths = np.sqrt((scaled**2).sum(axis=1))
        self._bounds = scaled / self._bound_lengths[:, None]

    def add(self, others: Integers) -> int:
        """Join the rows of pairs (i, others[i, :]), -1 for none; returns how many are new."""
        most = int(np.diff(self.rows.starts).max(initial=0))
        known = np.full((len(others), most), -1)
        known[self.record, np.arange(len(self.record)) - self.rows.starts[self.record]] = self.rows.others
        before = len(self.rows.d)
        self.rows = create_constraint_rows(self.of, np.hstack([known, others]), self.rows.unit)
        self._index()
        return len(self.rows.d) - before

    def bind(self, bound: Floats) -> None:
        """Join a bound of the parameters."""
        self.bounds = np.vstack([self.bounds, bound])
        self._index()

    def rows_of_records(self, records: Booleans) -> Integers:
        return np.flatnonzero(records[self.record])

    def parameters(self, point: Floats) -> Floats:
        """A place in scaled coordinates, as parameters of the problem."""
        unscaled: Floats = point / self.rows.unit
        return unscaled

    def together(self, records: Booleans) -> tuple[Floats, Infeasibility | None]:
        """A place where all rows of the records are positive, or the reason why there is none (then the place is of no use).

        Rows are taken in as they are broken, the worst of each record first.
        """
        allowed = self.rows_of_records(records)
        d, of_record = self.rows.d[allowed], self.record[allowed]
        point, working = self.point, np.zeros(0, dtype=np.int64)
        while True:
            height = d @ point
            broken = _find_worst_of_each(height, of_record, MARGIN * float(np.sqrt(point @ point)))
            fresh = np.setdiff1d(broken[np.argsort(height[broken])][:40], working)
            if len(fresh) == 0:
                return point, None
            working = np.concatenate([working, fresh])
            point, reason = self.separate_rows(allowed[working])
            if reason is not None:
                return point, reason

    def separate_rows(self, chosen: Integers) -> tuple[Floats, Infeasibility | None]:
        """`together` for single rows of the pool, all at once."""
        matrix = np.vstack([self.rows.d[chosen], self._bounds]).T
        matrix = np.vstack([matrix, np.zeros(matrix.shape[1])])
        matrix[-1, : len(chosen)] = 1.0
        aim = np.zeros(len(matrix))
        aim[-1] = 1.0
        try:
            y, distance = scipy.optimize.nnls(matrix, aim, maxiter=50 * matrix.shape[1])
        except RuntimeError:  # too many iterations: nothing is known, which makes the proof longer but not wrong
            return np.zeros(self.of.parameters), None
        rest = aim - matrix @ y
        if distance > RESIDUAL:
            return -rest[:-1], None
        reasons = (self._reason(chosen, multipliers) for multipliers in (*_drop_stray_multipliers(matrix, aim, y), y))
        return -rest[:-1], next((reason for reason in reasons if reason.holds(self.of)), None)

    def _reason(self, chosen: Integers, y: Floats) -> Infeasibility:
        used, bound = np.flatnonzero(y[: len(chosen)] > 0), np.flatnonzero(y[len(chosen) :] > 0)
        i, j = self.record[chosen[used]], self.rows.others[chosen[used]]
        lengths = np.sqrt(((compute_pairwise_differences(self.of, i, j) / self.rows.unit) ** 2).sum(axis=1))
        multipliers = y[used] / lengths
        of_bounds = y[len(chosen) + bound] / self._bound_lengths[bound]
        return Infeasibility(tuple(np.unique(i).tolist()), i, j, multipliers, self.bounds[bound], of_bounds)

    def shrink_reason(self, reason: Infeasibility, order: Integers) -> Infeasibility:
        """A reason of which no record can be left out; records are tried for leaving out in the given order."""
        for i in order:
            rest = [record for record in reason.records if record != i]
            if len(rest) < len(reason.records) and rest:
                kept = np.zeros(len(self.of.searching), dtype=bool)
                kept[rest] = True
                smaller = self.separate_rows(self.rows_of_records(kept))[1]
                reason = smaller or reason
        return reason


def _drop_stray_multipliers(matrix: Floats, aim: Floats, y: Floats) -> Iterator[Floats]:
    """The multipliers without those that rounding left, first as they are, then found anew among the larger ones."""
    yield np.where(y > STRAYS[0] * y.max(), y, 0.0)
    for stray in STRAYS:
        kept = np.flatnonzero(y > stray * y.max())
        anew = np.zeros(len(y))
        try:
            anew[kept] = scipy.optimize.nnls(matrix[:, kept], aim, maxiter=50 * len(kept))[0]
        except RuntimeError:
            continue
        yield anew


def _find_worst_of_each(height: Floats, of_record: Integers, margin: float) -> Integers:
    broken = np.flatnonzero(height <= margin)
    order = broken[np.lexsort((height[broken], of_record[broken]))]
    first = np.ones(len(order), dtype=bool)
    first[1:] = of_record[order][1:] != of_record[order][:-1]
    return order[first]
