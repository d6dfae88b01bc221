"""Persons of several rows: which of them an intruder uses, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.outcomes.links import Links
from tasks.attack.outcomes.value_disclosure import ClassCounts, LinkedSets, tally
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers
from tasks.microdata.units import RowGroups, group_rows


@dataclass(frozen=True, slots=True)
class Tallied:
    """What the guesses of some searching rows hold, shape (q,) each.

    rows: found rows among the guesses. units: how many units these belong to. own: how many of them are the searcher's own.
    """

    rows: Integers
    units: Integers
    own: Integers


@dataclass(frozen=True, slots=True)
class PersonOutcomes:
    """How p persons fare, shape (p,) each.

    credit, among_nearest, candidates: as in `AttackResult`. sound: the fewest persons in a sound set of one of their rows; None
    where there are no sound sets. known: does one of these sets hold rows of this person and of nobody else?
    used: the records that the intruder uses, and for each the place of its person.
    """

    credit: Floats
    among_nearest: Booleans
    candidates: Floats
    sound: Integers | None
    known: Booleans
    used: tuple[Integers, Integers]


def fare(links: Links, persons: Integers, of_record: Integers, of_row: Integers) -> PersonOutcomes:
    """How persons fare of whom the intruder holds all records.

    Meaning: the intruder links each record of the person, and relies on the one that leaves them the fewest released
    rows (they cannot see whose rows these are); on several such records alike. A record without a guess is of no use to them.
    Formula in words: the credit of a record is the share of the person's own released rows among the t rows it is linked to;
    the credit of the person is its mean over the records that are used.

    Chance: for guesses that do not look, the mean credit over all P persons is exactly 1/P. For let every assignment of
    rows to persons be equally likely. Which records are used depends on the sizes t alone, not on whose the rows are; so a used
    record of a person with r released rows expects, among its t of m rows, t r/m of their own, a credit of r/m; and the r of
    all persons add up to m. The largest credit of a person's records would break this: the choice would look at whose the rows
    are, and a person with ten records would win by luck ten times as often (sets of one row, persons of two records and two
    rows: 2/m becomes nearly 4/m).

    Parameters
    ----------
    links: of records to released rows. persons: the targets. of_record, of_row: the person of each record and released row.

    Returns the outcomes in the order of `persons`. The number of persons among the rows of a used record is averaged. A person
    is asserted by any record whose sound set holds rows of one person alone: the intruder then has that person's values, even
    if they cannot see that the rows belong together. An intruder who could tell which released rows are of one person, and
    joined what they know of all records, would find more: that is not attempted.
    Cost: the classes of the linked rows times the persons in them, summed over the distinct sets.
    Example: each person has one record: credit, candidates and sound sets are those of the records.
    """
    n_persons = int(max(of_record.max(initial=-1), of_row.max(initial=-1))) + 1
    records, position = group_rows(of_record, n_persons).find_rows(persons)
    found = tally_guesses(links.starts, links.classes, links, records, persons[position], of_row, n_persons)
    used = fewest(found.rows, position, len(persons))
    mean = _MeanOf(position[used], len(persons))
    sound, known = _sound(links, records, position, persons, of_row, n_persons)
    return PersonOutcomes(
        credit=mean.compute_means((found.own / np.maximum(found.rows, 1))[used]),
        among_nearest=mean.compute_means((found.own > 0)[used].astype(np.float64)) > 0,
        candidates=mean.compute_means(found.units[used].astype(np.float64)),
        sound=sound,
        known=known,
        used=(records[used], position[used]),
    )


def fare_searched(links: Links, persons: Integers, rows: RowGroups, of_record: Integers) -> PersonOutcomes:
    """How persons fare where each released row looks for its record (`to_original`).

    The intruder cannot see which released rows are of one person, so that all of them count alike: the credit of a person is
    the mean, over the released rows, of the share of the person's records among those a row is linked to; 0 without a row. Here
    the row with the fewest candidates may not be chosen: persons of many rows would choose oftener, and chance would not be
    1/P. By chance, every assignment of the records to persons being equally likely: the share of records that belong to persons
    in the release, over P.

    rows: the released rows of each person. Returns as `fare`; all records of the person are `used`.
    """
    searching, position = rows.find_rows(persons)
    n_persons = len(rows.starts) - 1
    found = tally_guesses(links.starts, links.classes, links, searching, persons[position], of_record, n_persons)
    mean = _MeanOf(position, len(persons))
    return PersonOutcomes(
        credit=mean.compute_means(found.own / np.maximum(found.rows, 1)),
        among_nearest=mean.compute_means((found.own > 0).astype(np.float64)) > 0,
        candidates=mean.compute_means(found.units.astype(np.float64)),
        sound=None,
        known=np.zeros(len(persons), dtype=bool),
        used=group_rows(of_record, n_persons).find_rows(persons),
    )


def fewest(sizes: Integers, position: Integers, n: int) -> Booleans:
    """Shape (q,): which rows of each of n persons have the fewest candidates; all of them where none has any."""
    least = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(least, position[sizes > 0], sizes[sizes > 0])
    without = least[position] == np.iinfo(np.int64).max
    return np.asarray(without | (sizes == least[position]))


def tally_guesses(
    starts: Integers, classes: Integers, links: Links, searching: Integers, own: Integers, unit_of_found: Integers, n_units: int
) -> Tallied:
    """Count what the sets of some searching rows hold.

    starts, classes: the sets, by search class. own: shape (q,), the unit of each searching row.
    """
    by_set = group_rows(links.search_class[searching], len(starts) - 1)
    pairs, counts = np.unique(links.found_class * n_units + unit_of_found, return_counts=True)
    n_classes = int(links.found_class.max(initial=-1)) + 1
    return Tallied(
        *_tally_units(
            LinkedSets(starts, classes, by_set.starts, by_set.rows),
            ClassCounts(np.searchsorted(pairs // n_units, np.arange(n_classes + 1)), pairs % n_units, counts),
            own,
            n_units,
        )
    )


def _sound(
    links: Links, records: Integers, position: Integers, persons: Integers, of_row: Integers, n_persons: int
) -> tuple[Integers | None, Booleans]:
    """The fewest persons in a sound set of each person's records, and whether it holds the person alone.

    Sets that were not written out hold more rows than any person has: at least as many persons as it takes to hold them.
    """
    if links.sound_sizes is None or links.small_sets is None:
        return None, np.zeros(len(persons), dtype=bool)
    small = tally_guesses(*links.small_sets, links, records, persons[position], of_row, n_persons)
    largest = int(np.bincount(of_row, minlength=1).max())
    sizes = links.sound_sizes[links.search_class[records]]
    units = np.where(small.rows > 0, small.units, -(-sizes // largest))
    fewest_units = np.full(len(persons), np.iinfo(np.int64).max)
    np.minimum.at(fewest_units, position, units)
    known = np.zeros(len(persons), dtype=bool)
    known[position[(small.units == 1) & (small.own > 0)]] = True
    return fewest_units, known


@dataclass(frozen=True, slots=True)
class _MeanOf:
    """Means of numbers by the place of their person, 0 for persons without any."""

    position: Integers
    n: int

    def compute_means(self, values: Floats) -> Floats:
        sums = np.bincount(self.position, weights=values, minlength=self.n)
        means: Floats = sums / np.maximum(np.bincount(self.position, minlength=self.n), 1)
        return means


@njit
def _tally_units(sets: LinkedSets, classes: ClassCounts, own: Integers, n_units: int) -> tuple[Integers, Integers, Integers]:
    n = len(sets.targets)
    rows, distinct, mine = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    held = np.zeros(n_units, dtype=np.int64)
    met = np.empty(n_units, dtype=np.int64)
    for s in range(len(sets.starts) - 1):
        if sets.target_starts[s] == sets.target_starts[s + 1]:
            continue
        n_met = tally(sets.classes[sets.starts[s] : sets.starts[s + 1]], classes, held, met)
        total = held[met[:n_met]].sum()
        for t in sets.targets[sets.target_starts[s] : sets.target_starts[s + 1]]:
            rows[t], distinct[t], mine[t] = total, n_met, held[own[t]]
        held[met[:n_met]] = 0
    return rows, distinct, mine
