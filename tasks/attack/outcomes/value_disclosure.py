"""What the linked rows say of a confidential attribute: ties share an identity, but may agree on the secret."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tasks.attack.outcomes.links import Links
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers, encode_jointly
from tasks.microdata.units import RowGroups, group_rows


class LinkedSets(NamedTuple):
    """The sets of linked rows, by class, and who is linked to each.

    Set s holds the classes classes[starts[s]:starts[s + 1]]; it is that of targets[target_starts[s]:target_starts[s + 1]].
    """

    starts: Integers
    classes: Integers
    target_starts: Integers
    targets: Integers


class ClassCounts(NamedTuple):
    """What the rows of class c show: values[starts[c]:starts[c + 1]] (or units), each as often as `counts` says."""

    starts: Integers
    values: Integers
    counts: Integers


class _OwnRows(NamedTuple):
    """The released rows of each target, rows[begins[t]:ends[t]], and class and value of each released row."""

    begins: Integers
    ends: Integers
    rows: Integers
    class_of_row: Integers
    value_of_row: Integers


def compute_value_credits(
    links: Links, original: pa.Array, released: pa.Array, targets: Integers, own: RowGroups, unit: Integers
) -> tuple[Floats, Floats]:
    """How well the linked rows' most frequent value tells the value of each target.

    Meaning: the intruder guesses the value that most of the linked rows show. The control does the same without the released
    rows of the target's unit: what it scores is known from the others and is no disclosure about the target.
    Formula in words: if the target's original value is among the g most frequent released values of the linked rows, 1/g,
    else 0. Where no row is left, the guess is the most frequent value of the whole release. Missing is a value of its own.

    Parameters
    ----------
    links: of the records to released rows. original, released: the attribute in both files, shapes (n,) and (m,).
    targets: records that are scored, shape (t,). own: the released rows of each unit (none if it is absent).
    unit: shape (t,), the unit of each target: itself, or its person, whose other rows tell the same of them.

    Returns two arrays of shape (t,), each in [0, 1]: linked and control. By chance: the share of the most frequent value.
    Cost: the number of linked rows, summed over the distinct sets of them; for units of several rows that are linked, their
    number times the distinct values as well; memory is linear.
    """
    truth, shown = (codes + 1 for codes in encode_jointly(original, released))
    n_values = int(max(truth.max(initial=0), shown.max(initial=0))) + 1
    by_set = group_rows(links.search_class[targets], len(links.starts) - 1)
    return _modal_credits(
        LinkedSets(links.starts, links.classes, by_set.starts, by_set.rows),
        _value_counts(links, shown, n_values),
        _OwnRows(own.starts[unit], own.starts[unit + 1], own.rows, links.found_class, shown),
        truth[targets],
        _modal_shares(shown, n_values),
    )


def _value_counts(links: Links, values: Integers, n_values: int) -> ClassCounts:
    """How often the rows of each class that is linked show each value; of other classes nobody asks."""
    n_classes = int(links.found_class.max(initial=-1)) + 1
    is_linked = np.zeros(n_classes, dtype=bool)
    is_linked[links.classes] = True
    asked = is_linked[links.found_class]
    pairs, counts = np.unique(links.found_class[asked] * n_values + values[asked], return_counts=True)
    classes, values = np.divmod(pairs, n_values)
    starts = np.concatenate([[0], np.cumsum(np.bincount(classes, minlength=n_classes))])
    return ClassCounts(starts, values, counts)


def _modal_shares(values: Integers, n_values: int) -> Floats:
    """Shape (n_values,): the credit that each value earns as a guess of the most frequent one."""
    counts = np.bincount(values, minlength=n_values)
    modal = (counts == counts.max(initial=0)).astype(np.float64)
    shares: Floats = modal / modal.sum()
    return shares


@njit
def _modal_credits(
    sets: LinkedSets, classes: ClassCounts, own: _OwnRows, truth: Integers, otherwise: Floats
) -> tuple[Floats, Floats]:
    n_sets, n_targets = len(sets.starts) - 1, len(sets.targets)
    linked, control = np.empty(n_targets), np.empty(n_targets)
    counts = np.zeros(len(otherwise), dtype=np.int64)
    met = np.empty(len(otherwise), dtype=np.int64)
    in_set = np.full(len(classes.starts) - 1, -1, dtype=np.int64)
    for s in range(n_sets):
        if sets.target_starts[s] == sets.target_starts[s + 1]:
            continue
        # Targets with one set share its counts, so that the rows of a set are counted once.
        linked_classes = sets.classes[sets.starts[s] : sets.starts[s + 1]]
        in_set[linked_classes] = s
        n_met = tally(linked_classes, classes, counts, met)
        top = _highest(counts, met[:n_met])
        for t in sets.targets[sets.target_starts[s] : sets.target_starts[s + 1]]:
            linked[t] = _compute_credit(counts[truth[t]], top[0], top[1], otherwise[truth[t]])
            control[t] = linked[t]
            # The control lacks the target's own rows; a single one changes only the highest counts, and needs no recount.
            mine = _own_values(t, s, own, in_set)
            if len(mine) == 1:
                control[t] = _credit_without(mine[0], truth[t], counts, top, otherwise[truth[t]])
            elif len(mine) > 1:
                control[t] = _credit_without_all(mine, truth[t], counts, met[:n_met], otherwise[truth[t]])
        # Clearing what was met costs less than a fresh array of all values for each set.
        counts[met[:n_met]] = 0
    return linked, control


@njit
def _own_values(t: int, s: int, own: _OwnRows, in_set: Integers) -> Integers:
    """The values of those rows of target t whose class is in set s."""
    rows = own.rows[own.begins[t] : own.ends[t]]
    values = np.empty(len(rows), dtype=np.int64)
    used = 0
    for row in rows:
        if in_set[own.class_of_row[row]] == s:
            values[used] = own.value_of_row[row]
            used += 1
    return values[:used]


@njit
def tally(linked: Integers, classes: ClassCounts, counts: Integers, met: Integers) -> int:
    """Count the values (or units) of some classes into `counts`; `met` lists those that occur. Returns how many do."""
    n_met = 0
    for c in linked:
        for e in range(classes.starts[c], classes.starts[c + 1]):
            value = classes.values[e]
            if counts[value] == 0:
                met[n_met] = value
                n_met += 1
            counts[value] += classes.counts[e]
    return n_met


@njit
def _highest(counts: Integers, met: Integers) -> tuple[int, int, int, int]:
    """The highest count, how many values have it, the next highest count (0: none), how many values have that."""
    highest, sharing, second, sharing_second = 0, 0, 0, 0
    for value in met:
        count = counts[value]
        if count > highest:
            second, sharing_second = highest, sharing
            highest, sharing = count, 1
        elif count == highest:
            sharing += 1
        elif count > second:
            second, sharing_second = count, 1
        elif count == second:
            sharing_second += 1
    return highest, sharing, second, sharing_second


@njit
def _compute_credit(count: int, highest: int, sharing: int, otherwise: float) -> float:
    if highest == 0:
        return otherwise
    return 1.0 / sharing if count == highest else 0.0


@njit
def _credit_without(own: int, truth: int, counts: Integers, top: tuple[int, int, int, int], otherwise: float) -> float:
    """The credit once the target's own row, which shows `own`, is struck out of the counts."""
    count = counts[truth] - (1 if own == truth else 0)
    if counts[own] < top[0]:
        return _compute_credit(count, top[0], top[1], otherwise)
    if top[1] > 1:
        return _compute_credit(count, top[0], top[1] - 1, otherwise)
    return _compute_credit(count, top[0] - 1, 1 + (top[3] if top[2] == top[0] - 1 else 0), otherwise)


@njit
def _credit_without_all(own: Integers, truth: int, counts: Integers, met: Integers, otherwise: float) -> float:
    """The credit once several rows of the target's unit, which show the values `own`, are struck out of the counts."""
    for value in own:
        counts[value] -= 1
    top = _highest(counts, met)
    credit = _compute_credit(counts[truth], top[0], top[1], otherwise)
    for value in own:
        counts[value] += 1
    return credit
