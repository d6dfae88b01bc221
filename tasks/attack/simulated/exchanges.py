"""Exchanges of values in pairs, which rank swapping leaves behind: whoever has a record's value has given one in return."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

TOLERANCE = 1  # places in the order of a column, by which a later step may have moved a value
MOST_EQUAL = 10  # places at which a value is looked for, where many are equal
NOT_LISTED = -5.0  # what a partner that is hardly possible counts


@dataclass(frozen=True, slots=True)
class Partners:
    """Where to look for the other side of an exchange, by attribute.

    records: shape (d, r), distinct records in the order of their values; rows: shape (d, c), the same of the rows. of_row:
    shape (d, c, 2): between which places of `records` the values like that of a row stand; of_record: shape (d, r, 2), of a
    record's among `rows`.
    """

    records: Integers
    rows: Integers
    of_row: Integers
    of_record: Integers


def find_partners(
    own: Floats, shown: Floats, own_counts: Integers, shown_counts: Integers, *, by_value: bool = False
) -> Partners:
    """Values are alike that have about the same rank in their own table. own, shown: shapes (d, r), (d, c), numbers.

    by_value: where some records are not released, ranks do not fit; values are then alike that stand side by side.
    """
    records, rows = np.argsort(own, axis=1, kind="stable"), np.argsort(shown, axis=1, kind="stable")
    of_row, of_record = np.empty((*shown.shape, 2), dtype=np.int64), np.empty((*own.shape, 2), dtype=np.int64)
    for j in range(len(own)):
        mine, theirs = (own[j], shown[j]) if by_value else (_rank(own[j], own_counts), _rank(shown[j], shown_counts))
        of_row[j] = _find_places(theirs, mine[records[j]])
        of_record[j] = _find_places(mine, theirs[rows[j]])
    return Partners(records, rows, of_row, of_record)


def _rank(values: Floats, counts: Integers) -> Floats:
    """Mid-ranks as shares of all, equal values alike."""
    _, kind = np.unique(values, return_inverse=True)
    sizes = np.bincount(kind, counts)
    ends = np.cumsum(sizes)
    ranks: Floats = ((ends - sizes / 2) / ends[-1])[kind]
    return ranks


def _find_places(wanted: Floats, ascending: Floats) -> Integers:
    at = np.clip(np.searchsorted(ascending, wanted), 0, len(ascending) - 1)
    before = np.maximum(at - 1, 0)
    nearest = np.where(np.abs(ascending[before] - wanted) <= np.abs(ascending[at] - wanted), before, at)
    begin = np.searchsorted(ascending, ascending[nearest], "left") - TOLERANCE
    end = np.searchsorted(ascending, ascending[nearest], "right") + TOLERANCE
    middle = (begin + end) // 2
    begin, end = np.maximum(begin, middle - MOST_EQUAL // 2), np.minimum(end, middle + MOST_EQUAL // 2)
    return np.column_stack([np.maximum(begin, 0), np.minimum(end, len(ascending))])


def weigh_exchanges(starts: Integers, rows: Integers, evidence: Floats, partners: Partners) -> Floats:
    """Shape (e,): what speaks for each pair because its values were exchanged, added up over the attributes.

    Meaning: if record i became row l, the record p with l's value became the row that shows i's. The evidence for that pair,
    the best within the tolerance, is evidence for this one. evidence: shape (e,), logarithms.
    Source: of this project; `tasks.attack.consistency` follows exchanges that nothing masked afterwards.
    """
    return _weigh_exchanges(starts, rows, evidence, partners.records, partners.rows, partners.of_row, partners.of_record)


@njit
def _weigh_exchanges(
    starts: Integers,
    rows: Integers,
    evidence: Floats,
    ordered_records: Integers,
    ordered_rows: Integers,
    of_row: Integers,
    of_record: Integers,
) -> Floats:
    # the same pairs by their rows: records[begins[l]:begins[l + 1]] and their evidence
    begins = np.zeros(of_row.shape[1] + 1, dtype=np.int64)
    for row in rows:
        begins[row + 1] += 1
    begins = np.cumsum(begins)
    free, records, known = begins.copy(), np.empty(len(rows), dtype=np.int32), np.empty(len(rows))
    for i in range(len(starts) - 1):
        for e in range(starts[i], starts[i + 1]):
            records[free[rows[e]]], known[free[rows[e]]] = i, evidence[e]
            free[rows[e]] += 1

    found, best = np.zeros(len(rows)), np.full(len(starts) - 1, NOT_LISTED)
    for i in range(len(starts) - 1):
        for j in range(len(of_row)):
            mine = ordered_rows[j, of_record[j, i, 0] : of_record[j, i, 1]]  # rows that show the value of record i
            for row in mine:
                for at in range(begins[row], begins[row + 1]):
                    best[records[at]] = max(best[records[at]], known[at])
            for e in range(starts[i], starts[i + 1]):
                most = NOT_LISTED
                for place in range(of_row[j, rows[e], 0], of_row[j, rows[e], 1]):
                    most = max(most, best[ordered_records[j, place]])
                found[e] += most
            for row in mine:
                for at in range(begins[row], begins[row + 1]):
                    best[records[at]] = NOT_LISTED
    return found
