"""Pairs of a record and a row that stand and fall together, because values changed hands in pairs.

Where record i is row l, and attribute j shows there a value that one person alone held, this person is the one whom i changed
places with, and so is the row that shows i's own value, if one row alone does. The pair (i, l) thus implies a second pair, and
that the first: they form an orbit. An orbit that links one record to two rows, or two records to one row, or a record to a row
that cannot be its image, is false in all its pairs. False orbits wander over the whole table and collide after about the square
root of n steps; true ones never do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.attack.consistency.exchanges import NOBODY, CodeArray, Exchange, choose_code_type
from tasks.attack.neighbours.ties import ensure_capacity
from tasks.microdata.compiled import njit
from tasks.microdata.errors import NotFollowed
from tasks.microdata.table import Booleans, Floats, Integers
from tasks.microdata.value_ranks import count_below, count_up_to

Bits = npt.NDArray[np.uint8]
FALSE, HOLDS = 0, 1
MOST_LOOKED_AT = 400_000_000  # pairs: 20,000 records where nothing narrows the search
MOST_NOTED = 20_000**2  # pairs of which it is noted what their orbit says: two bits each, 100 MB
_ENDS = tuple(f"boxes.{part}.{end}" for part in ("intervals", "others") for end in ("low", "high"))
_MISSING = dict.fromkeys(
    (*_ENDS, "boxes.intervals.position", "boxes.others.position"), "a missing value: `_is_inside` asks for it"
)
_UNBOUNDED = dict.fromkeys(_ENDS, "an interval without an end: `_is_inside` only compares with it")
_COUNTED_BY = (1_000, 10_000, 100_000)  # records: in a large table the first of them have too many pairs by themselves
LONGEST = 1024  # pairs up to which an orbit is followed in larger tables, where nothing is noted


class Intervals(NamedTuple):
    """Which rows can be the image of a record: low[i, q] <= position[l, q] <= high[i, q] for all q.

    low, high: shape (r, q); position: shape (c, q). NaN is missing: a record that misses the value has rows that miss it.
    """

    low: Floats
    high: Floats
    position: Floats


class Boxes(NamedTuple):
    """Which rows can be the image of a record: those within all its intervals, and within all others.

    They stand apart so that the intervals, which fill the memory where tables are large, need not be copied.
    """

    intervals: Intervals
    others: Intervals

    @classmethod
    def create_from_intervals(cls, intervals: Intervals) -> Boxes:
        """With no others."""
        return cls(intervals, Intervals(*(of_all[:, :0].copy() for of_all in intervals)))

    @property
    def n_records(self) -> int:
        return len(self.intervals.low)

    @property
    def n_rows(self) -> int:
        return len(self.intervals.position)

    def count_pairs(self, wanted: Integers, most: int) -> Integers:
        """Shape (q,): the number of pairs of some records that meet each condition; above `most` those of some of these."""
        columns = (self._select(q) for q in range(sum(part.position.shape[1] for part in self)))
        return np.array([_count_pairs(*column, wanted, most) for column in columns], dtype=np.int64)

    def find_images(self, q: int, wanted: Integers) -> tuple[Integers, Integers, Integers]:
        """The rows by their positions in condition q, and where those end and begin that are left to some records."""
        low, high, position = self._select(q)
        order = np.argsort(position, kind="stable")
        return order, *_find_ends(position[order], low[wanted], high[wanted])

    def _select(self, q: int) -> tuple[Floats, Floats, Floats]:
        n_intervals = self.intervals.position.shape[1]
        low, high, position = self.intervals if q < n_intervals else self.others
        column = q if q < n_intervals else q - n_intervals
        return low[:, column], high[:, column], position[:, column]


def _count_pairs(low: Floats, high: Floats, position: Floats, wanted: Integers, most: int) -> int:
    ascending, counted = np.sort(position), 0
    for some in np.split(wanted, _COUNTED_BY):
        ends, begins = _find_ends(ascending, low[some], high[some])
        counted += int(np.maximum(ends - begins, 0).sum())
        if counted > most:
            break
    return counted


def _find_ends(ascending: Floats, low: Floats, high: Floats) -> tuple[Integers, Integers]:
    """Where the positions within each interval end and begin; the missing ones stand last."""
    n_present, missing = int(np.searchsorted(ascending, np.nan)), np.isnan(low)
    begins, ends = count_below(ascending, low), count_up_to(ascending, high)
    return np.where(missing, len(ascending), ends), np.where(missing, n_present, begins)


@dataclass(frozen=True, slots=True)
class PossiblePairs:
    """Pairs that are still possible, by record: record i with the rows rows[starts[i]:starts[i + 1]], ascending.

    n_rows: how many kinds of rows there are. starts: shape (r + 1,).
    """

    starts: Integers
    rows: Integers
    n_rows: int

    @property
    def records(self) -> Integers:
        """Shape (e,): the record of each pair."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def select_pairs(self, keep: Booleans) -> PossiblePairs:
        """The pairs that are chosen; keep: shape (e,)."""
        sizes = np.bincount(self.records[keep], minlength=len(self.starts) - 1)
        return PossiblePairs(np.append(0, np.cumsum(sizes)), self.rows[keep], self.n_rows)


class _StackedExchanges(NamedTuple):
    """held (r, d) and shown (c, d) as places in one array of the values of all attributes; holder and shower of each."""

    held: CodeArray
    shown: CodeArray
    holder: CodeArray
    shower: CodeArray


def consistent_pairs(
    boxes: Boxes,
    exchanges: tuple[Exchange, ...],
    most: int,
    wanted: Integers | None = None,
) -> PossiblePairs:
    """The pairs within the boxes whose orbits contradict nothing.

    most: how many they may be. wanted: the records whose pairs are looked for, ascending, through the records and rows of all;
    default: all records.
    Sound: where the boxes hold the truth and the values were exchanged in pairs, no true pair is left out.
    Raises NotFollowed where there are more, or even the narrowest condition leaves more than `MOST_LOOKED_AT`.
    Cost: each record looks through the rows of its narrowest condition; a pair that is within all boxes walks along its orbit
    until that collides. In tables of up to 20,000 records it is noted what was found, so that a pair is walked about once; in
    larger ones orbits are followed no further than LONGEST pairs, and one that did not collide there is taken to hold.
    Memory: what is found, and two bits for each pair of kinds where these are noted.
    """
    n_records, n_rows = boxes.n_records, boxes.n_rows
    wanted = np.arange(n_records) if wanted is None else wanted
    sizes = boxes.count_pairs(wanted, MOST_LOOKED_AT)
    if sizes.min() > MOST_LOOKED_AT:
        raise NotFollowed(f"more than {MOST_LOOKED_AT:,} pairs of records and rows are too many to look at")
    order, ends, begins = boxes.find_images(int(np.argmin(sizes)), wanted)
    noted = n_records * n_rows <= MOST_NOTED
    sizes, rows, complete = _walk_all(
        boxes,
        order,
        wanted,
        begins,
        ends,
        _stack_exchanges(exchanges, n_records, n_rows),
        np.zeros((2, n_records * n_rows // 8 + 1 if noted else 0), dtype=np.uint8),
        most,
    )
    if not complete:
        raise NotFollowed(f"more than {most:,} pairs of records and rows contradict nothing: too many to go on with")
    of_record = np.zeros(n_records, dtype=np.int64)
    of_record[wanted] = sizes
    return PossiblePairs(np.append(0, np.cumsum(of_record)), rows, n_rows)


def _stack_exchanges(exchanges: tuple[Exchange, ...], n_records: int, n_rows: int) -> _StackedExchanges:
    kind = choose_code_type(sum(len(exchange.holder) + len(exchange.shower) for exchange in exchanges))
    held, shown = np.empty((n_records, len(exchanges)), kind), np.empty((n_rows, len(exchanges)), kind)
    holder, shower = [np.empty(0, kind)], [np.empty(0, kind)]
    held_before, shown_before = 0, 0
    for j, exchange in enumerate(exchanges):
        held[:, j], shown[:, j] = exchange.held, exchange.shown
        held[:, j] += held_before
        shown[:, j] += shown_before
        holder.append(exchange.holder)
        shower.append(exchange.shower)
        held_before += len(exchange.shower)
        shown_before += len(exchange.holder)
    return _StackedExchanges(held, shown, np.concatenate(holder, dtype=kind), np.concatenate(shower, dtype=kind))


@njit(missing=_MISSING, infinite=_UNBOUNDED)
def _walk_all(
    boxes: Boxes,
    order: Integers,
    wanted: Integers,
    begins: Integers,
    ends: Integers,
    exchanges: _StackedExchanges,
    notes: Bits,
    most: int,
) -> tuple[Integers, Integers, bool]:
    """The number of rows of each wanted record, and these rows; False: there are more than `most`."""
    intervals, others = boxes
    n_records, n_rows = len(intervals.low), len(intervals.position)
    sizes, rows = np.zeros(len(wanted), dtype=np.int64), np.empty(len(wanted) + 16, dtype=np.int64)
    row_of, record_of = np.full(n_records, NOBODY, dtype=np.int64), np.full(n_rows, NOBODY, dtype=np.int64)
    longest = min(n_records, n_rows)
    walk = np.empty((longest if notes.shape[1] else min(longest, LONGEST), 2), dtype=np.int64)
    used = 0
    for e in range(len(wanted)):
        i, before = wanted[e], used
        low, high, other_low, other_high = intervals.low[i], intervals.high[i], others.low[i], others.high[i]
        for row in order[begins[e] : ends[e]]:
            # The cheap refusals come first: most pairs of a large table end here.
            if not _is_inside(other_low, other_high, others.position[row]):
                continue
            if not _is_inside(low, high, intervals.position[row]):
                continue
            if _is_noted(notes[FALSE], i * n_rows + row):
                continue
            # All pairs of an orbit stand and fall together, so that one walk answers for each of them.
            if not _is_noted(notes[HOLDS], i * n_rows + row):
                length, holds = _walk(i, row, boxes, exchanges, notes[FALSE], row_of, record_of, walk)
                _look_back(walk[:length], n_rows, row_of, record_of, notes[HOLDS if holds else FALSE])
                if not holds:
                    continue
            # Too many pairs would need more memory than the caller allows: what was found so far is given back as incomplete.
            if used == most:
                return sizes, rows[:used].copy(), False
            rows = ensure_capacity(rows, used)
            rows[used] = row
            used += 1
        rows[before:used] = np.sort(rows[before:used])
        sizes[e] = used - before
    return sizes, rows[:used].copy(), True


@njit
def _walk(
    i: int,
    row: int,
    boxes: Boxes,
    exchanges: _StackedExchanges,
    false: Bits,
    row_of: Integers,
    record_of: Integers,
    walk: Integers,
) -> tuple[int, bool]:
    """Follow an orbit from a pair within the boxes: how many pairs were met, and was none of them impossible?"""
    intervals, others = boxes
    n_rows = len(intervals.position)
    walk[0, 0], walk[0, 1] = i, row
    row_of[i], record_of[row] = row, i
    length, at = 1, 0
    while at < length:
        for j in range(exchanges.held.shape[1]):
            # Who alone held the value that the row shows changed places with the record: that is the next pair.
            there, here = exchanges.shown[walk[at, 1], j], exchanges.held[walk[at, 0], j]
            other, its_row = exchanges.holder[there], exchanges.shower[here]
            if other < 0 or its_row < 0 or row_of[other] == its_row:
                continue
            # One record with two rows, or one row with two records: the whole orbit is false.
            if row_of[other] >= 0 or record_of[its_row] >= 0:
                return length, False
            if _is_noted(false, other * n_rows + its_row):
                return length, False
            if not _is_inside(others.low[other], others.high[other], others.position[its_row]):
                return length, False
            if not _is_inside(intervals.low[other], intervals.high[other], intervals.position[its_row]):
                return length, False
            # Out of room: an orbit that did not collide so far is taken to hold, which leaves out no true pair.
            if length == len(walk):
                return length, True
            walk[length, 0], walk[length, 1] = other, its_row
            row_of[other], record_of[its_row] = its_row, other
            length += 1
        at += 1
    return length, True


@njit
def _look_back(walk: Integers, n_rows: int, row_of: Integers, record_of: Integers, noted: Bits) -> None:
    """Note what was found of all pairs of a walk, and forget the walk."""
    for e in range(len(walk)):
        record, row = walk[e, 0], walk[e, 1]
        row_of[record], record_of[row] = NOBODY, NOBODY
        if len(noted) > 0:
            pair = record * n_rows + row
            noted[pair >> 3] |= np.uint8(1 << (pair & 7))


@njit
def _is_noted(noted: Bits, pair: int) -> bool:
    return len(noted) > 0 and bool(noted[pair >> 3] & (1 << (pair & 7)))


@njit
def _is_inside(low: Floats, high: Floats, position: Floats) -> bool:
    for q in range(len(low)):
        # NaN compares as false with everything.
        if not (low[q] <= position[q] <= high[q]) and not (np.isnan(low[q]) and np.isnan(position[q])):
            return False
    return True
