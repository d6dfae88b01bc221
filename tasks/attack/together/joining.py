"""Several releases of the same people, weighed together: which rows of one of them are left, and what speaks for each."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from tasks.attack.consistency.exchanges import KindCounts
from tasks.attack.consistency.orbits import PossiblePairs
from tasks.attack.consistency.propagation import MOST_ASSIGNED, assignable
from tasks.attack.linkage.pair_marginals import MOST_PAIRS_JOINTLY
from tasks.attack.mechanism_attack import is_sampled
from tasks.attack.outcomes.links import Links
from tasks.attack.simulated.likely_pairs import EQUAL, LikelyPairs
from tasks.attack.together.changed_draws import split_changed
from tasks.attack.together.images import FEWEST_KEPT, list_images
from tasks.attack.together.joined_file import ReleaseFile
from tasks.attack.together.row_links import RowLinks, link_rows
from tasks.attack.together.row_sets import (
    ABSENT,
    RELEASED,
    RowSets,
    add_scores,
    expand_images,
    keep_consistent,
    keep_presence,
    list_linked_rows,
)
from tasks.microdata.errors import AttackFailed, NotApplicable
from tasks.microdata.table import Booleans, Floats, Integers

LEAST_LIKELY = 25.0  # a row e^-25 times as likely as the record's likeliest is left out
TIE = 1e-9  # logarithms that differ by less are equal


def link_by_releases(files: tuple[ReleaseFile, ...], of: int, n: int, knows: tuple[str, ...]) -> Links:
    """Link the records to the rows of one release, by what all releases of the same people tell together.

    Meaning: the intruder has every release, and of everybody in its source the attributes `knows`, as they were then. They know
    the masking steps of each, who was in which source and which release, which columns stay the same from release to release,
    and the law by which the others change.
    Formula in words: of each release the possible images (`list_images`); a row is left only if each other release leaves the
    record a row that can be the same person's, until no more are left out (`keep_consistent`); who is in one release alone has
    a row that the other leaves unexplained (`keep_presence`); no row is two records' (`assignable`). Of the rows that are left
    the likeliest: log-likelihoods of releases add up, each summed over the rows that can be the same person's (`add_scores`),
    and no row is two records'. Attributes that show the same in two releases were drawn once and count once. Ties are shared.

    Parameters
    ----------
    files: the releases; `of`: the one whose rows are linked. n: the number N of records of all sources together.

    Returns the links of the N records to the rows of the release. Where nothing was left out by a likelihood, the sets are
    sound, with their sizes and their rows: the true row is never left out. By chance the credit is 1/m.
    Raises NotApplicable where the intruder knows nothing of what the release publishes, and nothing that it shows joins its
    rows with those of a release of which they do; NotFollowed where the images are too
    many; AttackFailed where no row is left of a record that is released: the stated steps are not those that were applied.
    Cost: that of the transparency attack on each release, O(images) for each pair of releases, and where columns are compared
    by a law, the pairs of a record's rows, at most a million.
    Source: docs/SCIENCE.md section 5a. Done otherwise than in the literature on republication (m-invariance; Xiao and Tao,
    2007): nothing is assumed of the mask but its law.
    Example: two releases leave a record {a, b} and {b, c}, rows being the same in both: together {b}.
    """
    whole, n_records = files, n
    files, n, changed = split_changed(whole, of, n, knows)
    rows = [one.spread_rows(n) for one in files]
    links: dict[tuple[int, int], RowLinks] = {}
    for x, y in combinations(range(len(files)), 2):
        one, other = files[x], files[y]
        in_both = np.flatnonzero((rows[x] >= 0) & (rows[y] >= 0))
        by_person = one.pseudonym is not None and one.pseudonym == other.pseudonym
        pairs = rows[x][in_both], rows[y][in_both]
        links[x, y] = link_rows(one.masked, other.masked, one.schema, pairs, knows, by_person=by_person)
    from_it = {i: links[of, i] if of < i else links[i, of].reverse() for i in range(len(files)) if i != of}
    most = FEWEST_KEPT if any(joined.has_ratios for joined in from_it.values()) else None
    sets = []
    for i, one in enumerate(files):
        told = knows if i == of else _drop_repeated(one, knows, from_it[i].shared)
        sets.append(_list_rows(one, rows[i], told, n, most))
    if not sets[of].informs:
        linked = [i for i, joined in from_it.items() if sets[i].informs and (joined.n_keys > 1 or joined.has_ratios)]
        if not linked:
            raise NotApplicable("the intruder knows no attribute that the release publishes")
        best = max(linked, key=lambda i: (from_it[i].n_keys, files[i].name))
        sets[of] = list_linked_rows(sets[best], from_it[best], sets[of].state)
    informed = {pair: joined for pair, joined in links.items() if sets[pair[0]].informs and sets[pair[1]].informs}
    sets = keep_consistent(sets, informed)
    if all(one.n_records is None for one in files):  # who has a share does not know who else is in both
        sets[of] = keep_presence(sets[of], [(sets[i], joined) for i, joined in from_it.items()])
        sets = keep_consistent(sets, informed)
    own = sets[of]
    sound = all(one.is_sound for one in sets)
    if sound and len(own.rows) <= MOST_ASSIGNED:
        own = _assign(own, files[of].masked.n)
    if (np.diff(own.starts)[own.state == RELEASED] == 0).any():
        raise AttackFailed("no row is left of a record that is released: the stated steps are not those that were applied")
    sizes = np.diff(own.starts)
    for i, joined in from_it.items():
        if sets[i].informs:
            own = add_scores(own, sets[i], joined)
    for i, people in changed.items():
        own = _add_other_draws(own, whole[of], whole[i], people, knows)
    by_law = any(len(one.score) and np.ptp(one.score) > 0 for one in sets) or any(one.has_ratios for one in from_it.values())
    chosen = _choose(own, files[of].masked.n, by_law=by_law)
    found = Links(np.arange(files[of].masked.n), np.arange(n_records), chosen.starts[: n_records + 1], chosen.rows)
    return (
        replace(found, sound_sizes=sizes[:n_records], listed_sets=(own.starts[: n_records + 1], own.rows)) if sound else found
    )


def _add_other_draws(own: RowSets, file: ReleaseFile, other: ReleaseFile, people: Booleans, knows: tuple[str, ...]) -> RowSets:
    """What the other release says of people with other values there, whose draws in it are independent of those in this one.

    people: shape (n,), of the n records of all sources, after whom others may be numbered.
    """
    n, more = len(people), len(own.state) - len(people)
    rows, there = (np.where(people, one.spread_rows(n), -1) for one in (file, other))
    both = np.flatnonzero((rows >= 0) & (there >= 0))
    by_person = file.pseudonym is not None and file.pseudonym == other.pseudonym
    joined = link_rows(file.masked, other.masked, file.schema, (rows[both], there[both]), knows, by_person=by_person)
    sets = _list_rows(other, there, _drop_repeated(other, knows, joined.shared), n, FEWEST_KEPT)
    if not sets.informs:
        return own
    starts, state = np.append(sets.starts, np.full(more, sets.starts[-1])), np.append(sets.state, np.full(more, ABSENT))
    return add_scores(own, replace(sets, starts=starts, state=state), joined)


def _drop_repeated(file: ReleaseFile, knows: tuple[str, ...], shared: tuple[str, ...]) -> tuple[str, ...]:
    """The known attributes without those that steps drew once for both releases: all their targets show the same in both."""
    published = set(file.masked.names)
    drawn = [published.intersection(step.target_attributes) for step in file.mechanisms]
    again = {name for targets in drawn if targets <= set(shared) for name in targets}
    return tuple(name for name in knows if name not in again or any(name in some and not some <= set(shared) for some in drawn))


def _list_rows(file: ReleaseFile, rows: Integers, knows: tuple[str, ...], n: int, most: int | None) -> RowSets:
    """The possible rows of all records in one release. most: as in `list_images`."""
    state = np.where(rows >= 0, RELEASED, ABSENT)
    known = tuple(name for name in knows if name in file.masked.names and name in file.original.names)
    if not known:
        return RowSets(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0), state, True, informs=False)
    sampled = is_sampled(file.mechanisms) and (file.row < 0).any()
    present = np.flatnonzero(file.row >= 0) if sampled else None
    read = file.original, file.masked, file.schema, file.mechanisms, known
    images = list_images(*read, present=present, n_records=file.n_records, most=most)
    kinds = np.full(n, -1, dtype=np.int64)
    kinds[file.record] = images.kind_of_record
    return expand_images(images, kinds, state)


def _assign(sets: RowSets, n_rows: int) -> RowSets:
    """What is left where each row is one record's."""
    released = np.flatnonzero(sets.state == RELEASED)
    starts = np.append(0, np.cumsum(np.diff(sets.starts)[released]))
    ones = np.ones(len(released), dtype=np.int64), np.ones(n_rows, dtype=np.int64)
    counts = KindCounts(*ones, all_records=len(released) == n_rows)
    left = assignable(PossiblePairs(starts, sets.rows, n_rows), counts)
    keys = left.records * n_rows + left.rows
    all_keys = np.repeat(np.arange(len(released)), np.diff(starts)) * n_rows + sets.rows
    return sets.select(np.isin(all_keys, keys))


def _choose(sets: RowSets, n_rows: int, *, by_law: bool) -> RowSets:
    """The rows that each record is linked to: the likeliest, where no row is two records' if the pairs are not too many."""
    if not by_law:
        return sets
    sets = sets.select(sets.score >= _find_largest(sets, sets.score) - LEAST_LIKELY)
    order = np.lexsort((sets.rows, sets.owner))
    counts, ones = (sets.state == RELEASED).astype(np.int64), np.ones(n_rows, dtype=np.int64)
    pairs = LikelyPairs(sets.starts, sets.rows[order], sets.score[order], counts, ones, int(counts.sum()))
    evidence = pairs.compute_evidence()
    ordered = replace(sets, rows=sets.rows[order], score=evidence)
    if len(evidence) > MOST_PAIRS_JOINTLY:
        return ordered.select(evidence >= _find_largest(ordered, evidence) - TIE)
    chance = pairs.compute_chances(evidence)
    return ordered.select(chance >= _find_largest(ordered, chance) * (1 - EQUAL))


def _find_largest(sets: RowSets, values: Floats) -> Floats:
    """Shape (e,): the largest value of the same record."""
    largest: Floats = np.maximum.reduceat(np.append(values, -np.inf), sets.starts[:-1])[sets.owner]
    return largest
