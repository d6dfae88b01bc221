"""How two records differ in each attribute, for the compiled loops of learning: the columns of
`neighbours.record_comparison`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.attack.neighbours.record_comparison import ABSOLUTE, SQUARED, ComparedColumns, write_differences
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

_MISSING = dict.fromkeys(("x", "y"), "a missing value, which `write_differences` asks for")


class Apart(NamedTuple):
    """What is done with the columns of two records, and how many attributes that gives; see `ComparedColumns`."""

    kind: Integers
    weight: Floats
    attribute: Integers
    d: int

    @classmethod
    def create_from_columns(cls, columns: ComparedColumns) -> Apart:
        return cls(columns.kind, columns.weight, columns.attribute, columns.n_attributes)

    @classmethod
    def plain(cls, d: int) -> Apart:
        """Each column is an attribute, of which the signed difference counts."""
        return cls(np.full(d, SQUARED, dtype=np.int64), np.ones(d), np.arange(d), d)

    @property
    def columns(self) -> ComparedColumns:
        return ComparedColumns(self.kind, self.weight, self.attribute, self.d, missing_out=False)


@njit
def write_apart(x: Floats, y: Floats, how: Apart, delta: Floats) -> None:
    """Write the d differences of two records: signed where the attribute has an order, NaN where one lacks the value."""
    write_differences(x, y, how.kind, how.weight, how.attribute, False, delta)


@njit(missing=_MISSING)
def compute_pair_differences(x: Floats, y: Floats, how: Apart) -> Floats:
    """The differences of the records in the same place of two lists, shape (m, d)."""
    found = np.empty((len(x), how.d))
    for i in range(len(x)):
        write_apart(x[i], y[i], how, found[i])
    return found


@njit
def write_apart_from(x: Floats, found: Floats, first: int, f: int, how: Apart, delta: Floats) -> None:
    """`write_apart` of one record from f others at once: found by columns, shape (columns, .), delta by attributes, (d, .)."""
    delta[:, :f] = 0.0
    for e in range(len(how.kind)):
        own, others, weight, apart = x[e], found[e][first : first + f], how.weight[e], delta[how.attribute[e]]
        for j in range(f):
            other = others[j]
            if np.isnan(own) or np.isnan(other):
                apart[j] = apart[j] if np.isnan(own) and np.isnan(other) else np.nan
            elif how.kind[e] == SQUARED:
                apart[j] = np.sqrt(weight) * (own - other)
            elif how.kind[e] == ABSOLUTE:
                apart[j] = np.sign(own - other) * np.sqrt(weight * abs(own - other))
            elif own != other:
                apart[j] = np.sqrt(apart[j] * apart[j] + weight)
