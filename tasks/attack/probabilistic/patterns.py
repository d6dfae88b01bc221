"""How often each comparison pattern occurs among all pairs of the intruder's records and the released rows, exactly.

A pattern is the level of every attribute. It is numbered in mixed radix: the sum of the levels times the strides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tasks.attack.probabilistic.levels import PatternComparison
from tasks.microdata.compiled import njit
from tasks.microdata.errors import InputError, NotFollowed
from tasks.microdata.table import Floats, Integers

MOST_COUNTED_AT_ONCE = 1 << 20  # patterns that are counted in one array; more of them are sorted, block by block
MOST_PATTERNS = 1 << 62
MOST_OCCURRING = 10_000_000  # patterns; beyond, they would take gigabytes
_PAIRS_OF_A_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns that some pair shows, ascending by number.

    numbers: shape (p,). counts: shape (p,), pairs of records (not of distinct ones) that show it; they add up to n m.
    levels: shape (d, p): the level of each attribute in each pattern.
    sizes: shape (d,): number of levels of each attribute. names: of the attributes.
    """

    numbers: Integers
    counts: Integers
    levels: npt.NDArray[np.uint8]
    sizes: Integers
    names: tuple[str, ...]

    @property
    def n_pairs(self) -> int:
        return int(self.counts.sum())

    def count_occurrences(self, numbers: Integers) -> Integers:
        """Shape (p,): how often each pattern occurs among the numbers given, each of which must be there."""
        return np.bincount(np.searchsorted(self.numbers, numbers), minlength=len(self.numbers))


class Rules(NamedTuple):
    """What the compiled loops take of `Compared`.

    adds: what the level that a rule gives adds to the number of a pattern. first, starts, alike: as in `Alike`.
    """

    own: Floats
    shown: Floats
    reach: Floats
    level: Integers
    adds: Integers
    first: Integers
    starts: Integers
    alike: Integers


def compute_strides(sizes: Integers) -> Integers:
    """Shape (d,): what one level of each attribute adds to the number of a pattern."""
    return np.append(1, np.cumprod(sizes)[:-1]).astype(np.int64)


def create_rules(both: PatternComparison) -> Rules:
    """The rules for the compiled loops."""
    adds = both.level * compute_strides(both.sizes)[both.attribute]
    alike = both.alike
    return Rules(both.own, both.shown, both.reach, both.level, adds, alike.first, alike.starts, alike.shown)


def count_patterns(both: PatternComparison, *, at_once: int = MOST_COUNTED_AT_ONCE) -> Patterns:
    """Count the patterns of all pairs, none left out by blocking.

    Raises InputError where the levels make more patterns than a 64-bit number tells apart; NotFollowed where more than ten
    million occur.
    Cost: O(r c) time for r and c distinct records, about 1 ns for each rule; memory O(r + c) and one number per possible
    pattern, or, with more than `at_once` of these, some per pattern that occurs.
    """
    space = 1
    for size in both.sizes.tolist():
        space *= size
    if space > MOST_PATTERNS:
        what = f"{len(both.sizes)} attributes with these levels make more patterns than can be told apart"
        raise InputError("too-many-patterns", "attacks: compare", what, "fewer than 2^62", "compare with fewer levels")
    if space <= at_once:
        dense = _count_in_array(create_rules(both), both.record_counts, both.row_counts, space)
        numbers = np.flatnonzero(dense)
        return _patterns(both, numbers, dense[numbers])
    return _patterns(both, *_count_by_sorting(both))


def compute_patterns(both: PatternComparison, records: Integers, rows: Integers) -> Integers:
    """Shape (k,): the numbers of the patterns of k pairs of a record and a released row."""
    return compute_pattern_numbers(create_rules(both), both.own_of_record[records], both.shown_of_row[rows])


def records_showing(both: PatternComparison, numbers: Integers) -> Integers:
    """Shape (k,): how many of the intruder's records have a pair that shows each of k patterns. Cost: a pass over all pairs."""
    order = np.argsort(numbers)
    found = np.empty(len(numbers), dtype=np.int64)
    found[order] = _records_showing(create_rules(both), both.record_counts, numbers[order])
    return found


def _patterns(both: PatternComparison, numbers: Integers, counts: Integers) -> Patterns:
    parts = zip(compute_strides(both.sizes).tolist(), both.sizes.tolist(), strict=True)
    levels = np.stack([(numbers // stride % size).astype(np.uint8) for stride, size in parts])
    return Patterns(numbers, counts, levels, both.sizes, both.names)


@njit
def write_patterns(rules: Rules, i: int, found: Integers, adds: Integers) -> None:
    """Write the number of the pattern of distinct record i with each distinct released row into `found`.

    The rules of an attribute stand one after the other, the most alike last. `adds` is room of the same length.
    """
    found[:] = 0
    adds[:] = 0
    for e in range(len(rules.reach)):
        if rules.level[e] == 1:
            found += adds
            adds[:] = 0
        x, far, add, shown = rules.own[e, i], rules.reach[e], rules.adds[e], rules.shown[e]
        if rules.first[e] >= 0:
            _write_listed(_alike_to(rules, e, x), shown, add, adds)
            continue
        for c in range(len(found)):
            adds[c] = add if abs(x - shown[c]) <= far else adds[c]
    found += adds


@njit
def _alike_to(rules: Rules, e: int, x: float) -> Integers:
    at = rules.first[e] + int(x)
    return rules.alike[rules.starts[at] : rules.starts[at + 1]]


@njit
def _write_listed(listed: Integers, shown: Floats, add: int, adds: Integers) -> None:
    for c in range(len(adds)):
        if _is_listed(listed, shown[c]):
            adds[c] = add


@njit
def _is_listed(listed: Integers, number: float) -> bool:
    at = np.searchsorted(listed, int(number))
    return bool(at < len(listed) and listed[at] == int(number))


@njit
def _records_showing(rules: Rules, own_counts: Integers, numbers: Integers) -> Integers:
    """Of ascending numbers. The patterns that tell most are rare: nearly every pair is done with at the first comparison."""
    records, seen = np.zeros(len(numbers), dtype=np.int64), np.empty(len(numbers), dtype=np.bool_)
    found, adds = np.empty(rules.shown.shape[1], dtype=np.int64), np.empty(rules.shown.shape[1], dtype=np.int64)
    if not len(numbers):
        return records
    for i in range(len(own_counts)):
        write_patterns(rules, i, found, adds)
        seen[:] = False
        for c in range(len(found)):
            if numbers[0] <= found[c] <= numbers[-1]:
                at = np.searchsorted(numbers, found[c])
                seen[at] |= numbers[at] == found[c]
        records += own_counts[i] * seen
    return records


@njit
def _count_in_array(rules: Rules, own_counts: Integers, shown_counts: Integers, space: int) -> Integers:
    counts = np.zeros(space, dtype=np.int64)
    found, adds = np.empty(len(shown_counts), dtype=np.int64), np.empty(len(shown_counts), dtype=np.int64)
    for i in range(len(own_counts)):
        write_patterns(rules, i, found, adds)
        for c in range(len(found)):
            counts[found[c]] += own_counts[i] * shown_counts[c]
    return counts


@njit
def compute_block_patterns(rules: Rules, begin: int, end: int) -> Integers:
    """Shape (end - begin, c): the numbers of the patterns of some distinct records with all distinct released rows."""
    found = np.empty((end - begin, rules.shown.shape[1]), dtype=np.int64)
    adds = np.empty(rules.shown.shape[1], dtype=np.int64)
    for i in range(begin, end):
        write_patterns(rules, i, found[i - begin], adds)
    return found


def _count_by_sorting(both: PatternComparison) -> tuple[Integers, Integers]:
    rules, own_counts, shown_counts = create_rules(both), both.record_counts, both.row_counts
    numbers, counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    at_a_time = max(_PAIRS_OF_A_BLOCK // len(shown_counts), 1)
    for begin in range(0, len(own_counts), at_a_time):
        end = min(begin + at_a_time, len(own_counts))
        pairs = np.multiply.outer(own_counts[begin:end], shown_counts)
        some = _sum_by_number(compute_block_patterns(rules, begin, end).ravel(), pairs.ravel())
        numbers, counts = _sum_by_number(np.append(numbers, some[0]), np.append(counts, some[1]))
        if len(numbers) > MOST_OCCURRING:
            what = f"more than {MOST_OCCURRING:,} patterns of likeness occur"
            raise NotFollowed(f"{what}: compare fewer attributes, or more coarsely")
    return numbers, counts


def _sum_by_number(numbers: Integers, counts: Integers) -> tuple[Integers, Integers]:
    """The distinct numbers, ascending, and the sum of the counts of each."""
    order = np.argsort(numbers)
    ascending = numbers[order]
    first = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)])
    return ascending[first], np.add.reduceat(counts[order], first)


@njit
def compute_pattern_numbers(rules: Rules, own: Integers, shown: Integers) -> Integers:
    found = np.zeros(len(own), dtype=np.int64)
    for k in range(len(own)):
        adds = 0
        for e in range(len(rules.reach)):
            if rules.level[e] == 1:
                found[k] += adds
                adds = 0
            x, y = rules.own[e, own[k]], rules.shown[e, shown[k]]
            holds = _is_listed(_alike_to(rules, e, x), y) if rules.first[e] >= 0 else abs(x - y) <= rules.reach[e]
            adds = rules.adds[e] if holds else adds
        found[k] += adds
    return found
