"""Exchanges whose values are shown only within bounds, because a step before or after the exchange moved them.

Who changed places with whom is then no longer one record and one row. Row l may show what any record held whose value can be
shown so, and the value of record i may be shown by any row within its bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.consistency.exchanges import MISSING, NOBODY, Exchange, KindCounts
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers

MOST_PARTNERS = 40_000_000  # kinds of pairs that stand beside each other; of more nothing is asked


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Which codes of rows can show a value, and which codes of records can have held what is shown: ranges of codes.

    first_row, last_row: shape (number of codes of records,); first_record, last_record: shape (number of codes of rows,).
    one_record, one_row: of each code, is it of one record, or row, alone?
    middle: of the bounds of each code of records, value: of each code of rows, in units of the noise; 0 where missing, and
        all 0 where values that are shown within the bounds are alike.
    """

    first_row: Integers
    last_row: Integers
    first_record: Integers
    last_record: Integers
    one_record: Booleans
    one_row: Booleans
    middle: Floats
    value: Floats


def exchange_within_bounds(low: Floats, high: Floats, shown: Floats, counts: KindCounts, spread: float = 0.0) -> Exchange:
    """The exchange of an attribute of which record i's value, whoever got it, is shown within low[i]..high[i].

    spread: of noise around the middle of the bounds, by which partners are weighed; 0: none.
    low, high: shape (r,), shown: shape (c,): positions, NaN where missing. The intruder holds all records of a complete
    release (`counts`). Codes ascend, MISSING for a missing value.
    Example: values 1 and 5 that are shown within half a unit, rows that show 1.2 and 4.9: the first row shows the first value.
    """
    held_missing, shown_missing = np.isnan(low), np.isnan(shown)
    order = np.lexsort((high, low))
    order = order[~held_missing[order]]
    steps = (np.diff(low[order], prepend=np.nan) != 0) | (np.diff(high[order], prepend=np.nan) != 0)
    held = np.full(len(low), MISSING, dtype=np.int64)
    held[order] = np.cumsum(steps)
    values, place = np.unique(shown[~shown_missing], return_inverse=True)
    shown_codes = np.full(len(shown), MISSING, dtype=np.int64)
    shown_codes[~shown_missing] = place + 1
    lows, highs = low[order][steps], high[order][steps]
    first_row = np.append(MISSING, np.searchsorted(values, lows, side="left") + 1)
    last_row = np.append(MISSING, np.searchsorted(values, highs, side="right"))
    # the lows ascend, and so does the largest high so far: the range holds all whose bounds include the value
    first_record = np.append(MISSING, np.searchsorted(np.maximum.accumulate(highs), values, side="left") + 1)
    last_record = np.append(MISSING, np.searchsorted(lows, values, side="right"))
    n_held = np.bincount(held, weights=counts.records, minlength=len(lows) + 1)
    n_shown = np.bincount(shown_codes, weights=counts.rows, minlength=len(values) + 1)
    scale = 1 / spread if spread > 0 else 0.0
    middle, value = (np.append(0.0, ends * scale) for ends in ((lows + highs) / 2, values))
    tolerance = Tolerance(first_row, last_row, first_record, last_record, n_held == 1, n_shown == 1, middle, value)
    return Exchange(
        held,
        shown_codes,
        np.ones(len(values) + 1, dtype=bool),
        np.ones(len(lows) + 1, dtype=bool),
        _only_one(held, first_record, last_record, tolerance.one_record),
        _only_one(shown_codes, first_row, last_row, tolerance.one_row),
        tolerance,
    )


def _only_one(codes: Integers, first: Integers, last: Integers, single: Booleans) -> Integers:
    """Of each range of codes the only one who has a code in it; NOBODY where several have, and for missing values."""
    who = np.full(len(single), NOBODY, dtype=np.int64)
    who[codes] = np.arange(len(codes))
    at = np.minimum(first, len(single) - 1)
    alone = (first == last) & single[at]
    alone[MISSING] = False
    return np.where(alone, who[at], NOBODY)


@dataclass(frozen=True, slots=True)
class PartnerKinds:
    """Kinds of pairs (code held, code shown) and those that can be their partners: partners[starts[k]:starts[k + 1]].

    weights: of each partner, the logarithm of how probable it is that both rows show what they do, but for a constant.
    of_pair: shape (e,), the kind of each pair. asked: False where the partners were too many to be listed.
    """

    of_pair: Integers
    n: int
    starts: Integers
    partners: Integers
    weights: Floats
    asked: bool

    @classmethod
    def create_from_exchange(cls, exchange: Exchange, tolerance: Tolerance, records: Integers, rows: Integers) -> PartnerKinds:
        held, shown = exchange.held[records].astype(np.int64), exchange.shown[rows].astype(np.int64)
        n_shown = len(exchange.holder)
        codes, of_pair = np.unique(held * n_shown + shown, return_inverse=True)
        held, shown = np.divmod(codes, n_shown)
        begins = np.searchsorted(held, np.arange(len(exchange.shower) + 1))
        ranges = (
            tolerance.first_record[shown],
            tolerance.last_record[shown],
            tolerance.first_row[held],
            tolerance.last_row[held],
        )
        singles = tolerance.one_record, tolerance.one_row
        starts, partners = _list_partners(held, shown, begins, *ranges, *singles, MOST_PARTNERS)
        of_kind = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) if len(starts) else partners
        apart = (tolerance.middle[held[partners]] - tolerance.value[shown[of_kind]]) ** 2
        apart += (tolerance.middle[held[of_kind]] - tolerance.value[shown[partners]]) ** 2
        return cls(of_pair, len(codes), starts, partners, -apart / 2, len(starts) > 0)

    def find_supported(self, alive: Booleans) -> Booleans:
        """Shape (e,): has the pair a partner among those that are alive?"""
        if not self.asked:
            return np.ones(len(alive), dtype=bool)
        there = np.zeros(self.n, dtype=bool)
        there[self.of_pair[alive]] = True
        reached = np.append(0, np.cumsum(there[self.partners]))
        supported: Booleans = reached[self.starts[1:]] > reached[self.starts[:-1]]
        return supported[self.of_pair]

    def hear(self, told: Floats) -> Floats:
        """Shape (e,): the logarithm of the sum of what the partners of each pair say, by kind; 0 where none is asked."""
        if not self.asked:
            return np.zeros(len(self.of_pair))
        return _sum_partners(self.starts, self.partners, self.weights, told)[self.of_pair]


@njit
def _list_partners(
    held: Integers,
    shown: Integers,
    begins: Integers,
    first_record: Integers,
    last_record: Integers,
    first_row: Integers,
    last_row: Integers,
    one_record: Booleans,
    one_row: Booleans,
    most: int,
) -> tuple[Integers, Integers]:
    """Starts and partners of each kind; empty where there are more than `most`. The kinds ascend by `held`, then `shown`."""
    n = len(held)
    starts, partners, used = np.zeros(n + 1, dtype=np.int64), np.empty(max(n, 16), dtype=np.int64), 0
    for kind in range(n):
        for other in range(first_record[kind], last_record[kind] + 1):
            begin, end = begins[other], begins[other + 1]
            at = begin + np.searchsorted(shown[begin:end], first_row[kind])
            while at < end and shown[at] <= last_row[kind]:
                # one record has one row, and one row one record
                two_rows = other == held[kind] and shown[at] != shown[kind] and one_record[other]
                two_records = other != held[kind] and shown[at] == shown[kind] and one_row[shown[at]]
                if not two_rows and not two_records:
                    if used == len(partners):
                        if used >= most:
                            return starts[:0], partners[:0]
                        larger = np.empty(min(2 * used, most), dtype=np.int64)
                        larger[:used] = partners
                        partners = larger
                    partners[used] = at
                    used += 1
                at += 1
        starts[kind + 1] = used
    return starts, partners[:used].copy()


@njit(infinite={"told": "-inf is a kind without a pair that is still possible: it adds nothing to a sum"})
def _sum_partners(starts: Integers, partners: Integers, weights: Floats, told: Floats) -> Floats:
    n = len(starts) - 1
    found = np.full(n, -np.inf)
    for kind in range(n):
        largest = -np.inf
        for e in range(starts[kind], starts[kind + 1]):
            largest = max(largest, told[partners[e]] + weights[e])
        if largest > -np.inf:
            total = 0.0
            for e in range(starts[kind], starts[kind + 1]):
                total += np.exp(told[partners[e]] + weights[e] - largest)
            found[kind] = largest + np.log(total)
    return found
