"""What speaks for each released row: the sum of its probabilities over all records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from tasks.attack.transparency.image_trees import arrange_records, compute_reach, sum_by_tree
from tasks.attack.transparency.intersection import (
    MISSING_POSITIONS,
    UNBOUNDED_CONDITIONS,
    ArrangedConditions,
    Conditions,
    arrange_conditions,
    write_likely_images,
)
from tasks.attack.transparency.likelihood import add_evidence
from tasks.microdata.codes import find_first_rows, joint_codes
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers
from tasks.microdata.value_ranks import rank_values


@dataclass(frozen=True, slots=True)
class ConditionKinds:
    """Records, and rows, between which the conditions and the discrete laws make no difference.

    conditions: of one record and one row of each kind, without coordinates; as many records and rows as there are of the kind.
    of_record, of_row: shapes (r,) and (c,), the kind of each distinct record and row.
    """

    conditions: Conditions
    of_record: Integers
    of_row: Integers


def find_kinds(conditions: Conditions) -> ConditionKinds:
    """Group the distinct records and rows by what the conditions and discrete laws ask of them. Cost: O(n log n)."""
    laws = conditions.likelihoods
    lists = (_code_list(*one) for one in zip(conditions.begins, conditions.ends, conditions.allowed, strict=True))
    asked = chain(lists, _rank(conditions.low), _rank(conditions.high), laws.own_at.T)
    of_record = joint_codes(asked, conditions.begins.shape[1])
    of_row = joint_codes(chain(conditions.shown, _rank(conditions.positions), laws.shown_at.T), conditions.shown.shape[1])
    record, row = find_first_rows(of_record), find_first_rows(of_row)
    reduced = conditions.select(record, row)
    likelihoods = replace(
        reduced.likelihoods,
        records=np.bincount(of_record, weights=laws.records).astype(np.float64),
        own_coordinates=np.empty((len(record), 0)),
        shown_coordinates=np.empty((len(row), 0)),
    )
    sizes = np.bincount(of_row, weights=conditions.sizes).astype(np.int64)
    return ConditionKinds(replace(reduced, likelihoods=likelihoods, sizes=sizes), of_record, of_row)


def _code_list(begins: Integers, ends: Integers, allowed: Integers) -> Integers:
    """Equal numbers only for equal lists of codes: the code itself where there is one, else the place of the list."""
    single = ends - begins == 1
    codes: Integers = np.where(single, allowed[np.minimum(begins, len(allowed) - 1)], int(allowed.max()) + 1 + begins)
    return codes


def _rank(columns: Floats) -> Iterator[Integers]:
    return (rank_values(column)[0] for column in columns.T)


def count_images(conditions: Conditions, searching: Booleans) -> Integers:
    """Shape (r,): how many released rows can be the image of each searching distinct record; 0 for the others.

    Cost: of all pairs of kinds of records and rows that the conditions let meet: where noise was added alone there is one kind.
    """
    counted, searched = np.zeros(len(searching), dtype=np.int64), np.flatnonzero(searching)
    kinds = find_kinds(conditions.select_records(searched))
    arranged, rows = arrange_conditions(kinds.conditions)
    counted[searched] = _count_images(arranged, kinds.conditions.sizes[rows])[kinds.of_record]
    return counted


@njit(missing=MISSING_POSITIONS, infinite=UNBOUNDED_CONDITIONS)
def _count_images(conditions: ArrangedConditions, sizes: Integers) -> Integers:
    found = np.zeros(conditions.begins.shape[1], dtype=np.int64)
    possible, scores = np.empty(len(sizes), dtype=np.int64), np.empty(len(sizes))
    for i in range(len(found)):
        for row in possible[: write_likely_images(i, conditions, possible, scores)]:
            found[i] += sizes[row]
    return found


def sum_evidence(conditions: Conditions, arranged: ArrangedConditions, rows: Integers) -> Floats:
    """Shape (c,): log q of each row, the sum of its probabilities over all records; -inf: it is nobody's.

    arranged, rows: as `arrange_conditions` gives them; the answer is in that order.
    Of the sum at most 1e-12 is left out. Cost: with noise see `image_trees`; without it, of all pairs of kinds of records and
    rows that the conditions let meet. All records count, also where few are searched for.
    """
    records = conditions.likelihoods.records
    if arranged.own_coordinates.shape[1]:
        own, is_grouped = arrange_records(arranged)
        return sum_by_tree(arranged, own, is_grouped, records, compute_reach(int(records.sum())))
    kinds = find_kinds(conditions)
    of_kinds, kind_at = arrange_conditions(kinds.conditions)
    evidence = np.empty(len(kind_at))
    evidence[kind_at] = _sum_by_kinds(of_kinds, kinds.conditions.likelihoods.records)
    found: Floats = evidence[kinds.of_row[rows]]
    return found


@njit(missing=MISSING_POSITIONS, infinite=UNBOUNDED_CONDITIONS)
def _sum_by_kinds(conditions: ArrangedConditions, records: Floats) -> Floats:
    n_rows = len(conditions.shown_at)
    possible, scores = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)
    total, largest = np.zeros(n_rows), np.full(n_rows, -np.inf)
    for i in range(len(conditions.own_at)):
        n_images = write_likely_images(i, conditions, possible, scores)
        add_evidence(possible[:n_images], scores[:n_images], records[i], largest, total)
    evidence: Floats = np.log(total) + largest
    return evidence
