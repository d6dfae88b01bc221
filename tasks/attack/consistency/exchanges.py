"""Values that were exchanged in pairs, as the intruder sees them: who held each value, and which rows show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tasks.microdata.table import Booleans, Integers

if TYPE_CHECKING:
    from tasks.attack.consistency.tolerance import Tolerance

CodeArray = npt.NDArray[np.int32 | np.int64]
NOBODY = -1
MISSING = 0  # the code of a missing value, which stays missing


@dataclass(frozen=True, slots=True)
class Exchange:
    """One attribute whose values changed hands in pairs, for r kinds of records and c kinds of released rows.

    Codes, and kinds of records and rows, take four bytes each where they fit (`choose_code_type`).
    held: shape (r,), shown: shape (c,): codes 0..v-1 of the value that each held before, and shows now; MISSING among them.
    holders_known, rows_known: shape (v,): are all who held the value among the intruder's records, all who show it released?
    holder, shower: shape (v,): the one record and the one row of a value that occurs once on each side, else NOBODY.
    tolerance: where values are shown only within bounds, what goes with what; the codes of `held` and `shown` are then of
        different values, `holder` and `holders_known` go by the code shown, `shower` and `rows_known` by the code held.
    """

    held: CodeArray
    shown: CodeArray
    holders_known: Booleans
    rows_known: Booleans
    holder: CodeArray
    shower: CodeArray
    tolerance: Tolerance | None = None


@dataclass(frozen=True, slots=True)
class KindCounts:
    """How many records and rows there are of each kind, and what the intruder knows of their people.

    records: shape (r,), rows: shape (c,). all_records: does the intruder hold the record of everybody in the release?
    all_rows: is everybody released whose record they hold?
    """

    records: Integers
    rows: Integers
    all_records: bool = True
    all_rows: bool = True


def choose_code_type(n: int) -> type[np.int32 | np.int64]:
    """The smaller type that holds NOBODY and the numbers 0..n."""
    return np.int32 if n < np.iinfo(np.int32).max else np.int64


def create_exchange(held: Integers, shown: Integers, counts: KindCounts) -> Exchange:
    """What the codes of one attribute say of the pairs that may have changed places. held, shown: codes; -1 is missing.

    A permutation keeps a column's values. So if one side is complete, a value that occurs equally often on both is held, and
    shown, by the same people; if neither is, nothing is known of anybody's partner. Cost: O(r + c).
    """
    n_values = int(max(held.max(initial=0), shown.max(initial=0))) + 2
    kind = choose_code_type(max(n_values, len(held), len(shown)))
    own: CodeArray = (held + 1).astype(kind)
    released: CodeArray = (shown + 1).astype(kind)
    n_held = np.bincount(own, weights=counts.records, minlength=n_values)
    n_shown = np.bincount(released, weights=counts.rows, minlength=n_values)
    even = (n_held == n_shown) & (counts.all_records or counts.all_rows)
    single = even & (n_held == 1)
    holder, shower = np.full(n_values, NOBODY, dtype=kind), np.full(n_values, NOBODY, dtype=kind)
    holder[own], shower[released] = np.arange(len(own)), np.arange(len(released))
    return Exchange(
        own,
        released,
        even | counts.all_records,
        even | counts.all_rows,
        np.where(single, holder, kind(NOBODY)),
        np.where(single, shower, kind(NOBODY)),
    )
