"""Sets of possible rows, record by record, and what is left of them when several releases must fit together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tasks.attack.together.images import MOST_IMAGES, Images
from tasks.attack.together.row_links import LikelihoodRatios, RowLinks
from tasks.microdata.compiled import njit
from tasks.microdata.errors import NotFollowed
from tasks.microdata.table import Booleans, Floats, Integers

ABSENT, RELEASED = -1, 0  # what the intruder knows of a record and a release
LEAST_LIKELY = 14.0  # of the other release, a row e^-14 times as likely as the record's likeliest says nothing
MOST_COMPARED = 1_000_000  # pairs of rows of one record that ratios are computed of; of more, keys alone speak


@dataclass(frozen=True, slots=True)
class RowSets:
    """Of record i the rows rows[starts[i]:starts[i + 1]], with the logarithm of how much speaks for each.

    state: shape (n,): RELEASED, or ABSENT (the intruder knows that the record has no row), whose sets are empty. is_sound: do
    the sets surely hold the true rows? informs: do they say anything? If not they are empty, and any row can be anybody's.
    """

    starts: Integers
    rows: Integers
    score: Floats
    state: Integers
    is_sound: bool
    informs: bool = True

    @property
    def owner(self) -> Integers:
        """Shape (e,): the record of each row."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def select(self, keep: Booleans) -> RowSets:
        """What is chosen; keep: shape (e,)."""
        sizes = np.bincount(self.owner[keep], minlength=len(self.starts) - 1)
        return replace(self, starts=np.append(0, np.cumsum(sizes)), rows=self.rows[keep], score=self.score[keep])


def expand_images(images: Images, kind_of_record: Integers, state: Integers) -> RowSets:
    """The possible rows of n records. kind_of_record: shape (n,): the distinct record of `images`, where it is RELEASED.

    Raises NotFollowed for more than `MOST_IMAGES` rows in all.
    """
    order = np.argsort(images.kind_of_row, kind="stable")
    sizes = np.bincount(images.kind_of_row)
    begins = np.append(0, np.cumsum(sizes))
    per_kind = np.append(0, np.cumsum(sizes[images.kinds]))[images.starts]
    released = state == RELEASED
    counts = np.where(released, np.diff(per_kind)[np.where(released, kind_of_record, 0)], 0)
    if counts.sum() > MOST_IMAGES:
        raise NotFollowed(f"more than {MOST_IMAGES:,} rows can be the images of the records: too many to join releases by")
    starts = np.append(0, np.cumsum(counts))
    rows, score = _expand(starts, kind_of_record, images.starts, images.kinds, images.score, begins, order)
    return RowSets(starts, rows, score, state, images.is_sound)


def list_linked_rows(other: RowSets, links: RowLinks, state: Integers) -> RowSets:
    """The rows of a release of which the intruder knows no attribute: those with the key of a row of the record elsewhere.

    other: the sets of a release that informs. links: from the release without known attributes to it. state: shape (n,): who is
    released in the first. Somebody who is not in the other release can have any row.
    Raises NotFollowed for more than `MOST_IMAGES` rows in all.
    """
    released = state == RELEASED
    both = released & (other.state == RELEASED)
    told = both[other.owner]
    owner, key = other.owner[told], links.key_second[other.rows[told]]
    shown = np.unique(links.key_first)
    alone = np.flatnonzero(released & ~both)
    pairs = np.unique(np.column_stack([owner, key]), axis=0)
    pairs = np.vstack([pairs, np.column_stack([np.repeat(alone, len(shown)), np.tile(shown, len(alone))])])
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    sizes = np.bincount(links.key_first, minlength=links.n_keys)
    counts = sizes[pairs[:, 1]]
    if counts.sum() > MOST_IMAGES:
        raise NotFollowed(f"more than {MOST_IMAGES:,} rows can be the images of the records: too many to join releases by")
    begins = np.append(0, np.cumsum(sizes))[pairs[:, 1]]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.argsort(links.key_first, kind="stable")[np.repeat(begins, counts) + within]
    of_record = np.bincount(np.repeat(pairs[:, 0], counts), minlength=len(state))
    return RowSets(np.append(0, np.cumsum(of_record)), rows, np.zeros(len(rows)), state, other.is_sound)


def keep_consistent(sets: list[RowSets], links: dict[tuple[int, int], RowLinks]) -> list[RowSets]:
    """What is left when each row of a record has, in every other release, a row of the record that can be the same person's.

    Formula in words: a row is left out if none of the record's rows in another release has its key; until no more are left out.
    Sound: if the sets hold the true rows, and the keys of one person's rows are equal, so do those that are left. Where they
    may not hold them, a record of whom nothing would be left keeps what it has: the likeliest rows contradict each other.
    links: by places in `sets`, the smaller one first. Cost: O(e) for each pair of releases and round.
    """
    found, changed = list(sets), True
    sound = all(one.is_sound for one in sets)
    while changed:
        keeps = [np.ones(len(one.rows), dtype=bool) for one in found]
        for (x, y), joined in links.items():
            for one, other, own, of_other in (
                (x, y, joined.key_first, joined.key_second),
                (y, x, joined.key_second, joined.key_first),
            ):
                both = (found[one].state == RELEASED) & (found[other].state == RELEASED)
                keeps[one] &= _find_supported(*_arrays(found[one]), *_arrays(found[other]), own, of_other, joined.n_keys, both)
        if not sound:
            keeps = [_keep_contradicted(one, keep) for one, keep in zip(found, keeps, strict=True)]
        changed = not all(keep.all() for keep in keeps)
        found = [one if keep.all() else one.select(keep) for one, keep in zip(found, keeps, strict=True)]
    return found


def keep_presence(own: RowSets, others: Sequence[tuple[RowSets, RowLinks]]) -> RowSets:
    """What is left of one release's sets by who is in the others, and what speaks for each row that is left.

    Meaning: somebody who is in this one and in another has a row whose key the other shows; of somebody who is in this one
    alone it is known that some rows are others'.
    Formula in words: key K has n rows here, n' there, and l(K) people are in the other release alone who may have it there.
    At most n - n' + l(K) people of this one alone have it, and n - n' if it is known of everybody whether they are in both.
    others: each with the links from this release to it; of its sets, those of records with no row in `own` are the people in it
    alone.

    Returns the sets, to whose scores the logarithm of the share of the key's rows is added that belong to people like the
    record. Where sets may not hold the true rows, a record of whom nothing would be left keeps what it has.
    """
    keep, score = np.ones(len(own.rows), dtype=bool), own.score
    for other, links in others:
        possible, speaks = _compare_presence(own, other, links)
        keep, score = keep & possible, score + speaks
    if not (own.is_sound and all(other.is_sound for other, _ in others)):
        keep = _keep_contradicted(own, keep)
    return replace(own, score=score).select(keep)


def _keep_contradicted(sets: RowSets, keep: Booleans) -> Booleans:
    """Every row of the records of whom no row would be left, besides `keep`."""
    left = np.bincount(sets.owner[keep], minlength=len(sets.state))
    return np.asarray(keep | (left == 0)[sets.owner])


def _compare_presence(own: RowSets, other: RowSets, links: RowLinks) -> tuple[Booleans, Floats]:
    """Of each row of `own`: can it be its record's, by who is in the other release, and the logarithm of what speaks for it."""
    here = np.bincount(links.key_first, minlength=links.n_keys)
    there = np.bincount(links.key_second, minlength=links.n_keys)
    left = (other.state == RELEASED) & (own.state == ABSENT)
    leavers = np.full(links.n_keys, 0 if other.informs else left.sum())
    if other.informs and left.any():
        of_leaver = left[other.owner]
        pairs = np.unique(np.column_stack([other.owner[of_leaver], links.key_second[other.rows[of_leaver]]]), axis=0)
        leavers = np.bincount(pairs[:, 1], minlength=links.n_keys)
    new = np.clip(here - there + leavers, 0, here)
    likely = np.clip(here - there, 0, here) + np.minimum(leavers, here) * 1e-3
    key, state = links.key_first[own.rows], other.state[own.owner]
    keep = np.where(state == ABSENT, new[key] > 0, there[key] > 0)
    share = np.where(state == ABSENT, likely[key], np.minimum(here, there)[key]) / here[key]
    return keep, np.log(np.maximum(share, 1e-9))


def add_scores(own: RowSets, other: RowSets, links: RowLinks) -> RowSets:
    """The first release's sets, with what the other release says of each row added to its score.

    Formula in words: to the logarithm of what speaks for row b the logarithm of the sum, over the record's rows a of the other
    release with the key of b, of what speaks for a, times the ratio of b and a being one person's, over the rows of that key.
    """
    counts = np.bincount(links.key_second, minlength=links.n_keys)
    both = (own.state == RELEASED) & (other.state == RELEASED)
    score = _add_scores(
        *_arrays(own),
        own.score,
        *_arrays(other),
        other.score,
        links.key_first,
        links.key_second,
        counts,
        both,
        links.ratios,
        links.has_ratios,
    )
    return replace(own, score=score)


def _arrays(sets: RowSets) -> tuple[Integers, Integers]:
    return sets.starts, sets.rows


@njit
def _expand(
    starts: Integers, kind: Integers, first: Integers, kinds: Integers, scores: Floats, begins: Integers, order: Integers
) -> tuple[Integers, Floats]:
    rows, score = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    for i in range(len(starts) - 1):
        used = starts[i]
        if starts[i + 1] == used:
            continue
        for e in range(first[kind[i]], first[kind[i] + 1]):
            for row in order[begins[kinds[e]] : begins[kinds[e] + 1]]:
                rows[used], score[used] = row, scores[e]
                used += 1
    return rows, score


@njit
def _find_supported(
    starts: Integers,
    rows: Integers,
    other_starts: Integers,
    other_rows: Integers,
    key: Integers,
    other_key: Integers,
    n_keys: int,
    both: Booleans,
) -> Booleans:
    keep = np.ones(len(rows), dtype=np.bool_)
    marked = np.full(n_keys, -1, dtype=np.int64)
    for i in range(len(both)):
        if not both[i]:
            continue
        for row in other_rows[other_starts[i] : other_starts[i + 1]]:
            marked[other_key[row]] = i
        for e in range(starts[i], starts[i + 1]):
            keep[e] = marked[key[rows[e]]] == i
    return keep


@njit
def _add_scores(
    starts: Integers,
    rows: Integers,
    score: Floats,
    other_starts: Integers,
    other_rows: Integers,
    other_score: Floats,
    key: Integers,
    other_key: Integers,
    counts: Integers,
    both: Booleans,
    ratios: LikelihoodRatios,
    has_ratios: bool,
) -> Floats:
    added = score.copy()
    head = np.full(len(counts), -1, dtype=np.int64)
    chain = np.empty(np.diff(other_starts).max() if len(other_starts) > 1 else 0, dtype=np.int64)
    for i in range(len(both)):
        first, last = other_starts[i], other_starts[i + 1]
        if not both[i] or first == last:
            continue
        # The rows of the other release by key, so that each row of this one meets only those with its own key.
        top = other_score[first:last].max()
        for e in range(first, last):
            k = other_key[other_rows[e]]
            if other_score[e] >= top - LEAST_LIKELY:
                chain[e - first] = head[k]
                head[k] = e
        weighed = has_ratios and (last - first) * (starts[i + 1] - starts[i]) <= MOST_COMPARED
        for e in range(starts[i], starts[i + 1]):
            k, total = key[rows[e]], 0.0
            at = head[k]
            while at >= 0:
                speaks = other_score[at] - top
                if weighed:
                    speaks += _compare(rows[e], other_rows[at], ratios)
                total += np.exp(min(speaks, 600.0))
                at = chain[at - first]
            added[e] += top + np.log(max(total, 1e-300)) - np.log(max(counts[k], 1))
        for e in range(first, last):
            head[other_key[other_rows[e]]] = -1
    return added


@njit
def _compare(row: int, other: int, ratios: LikelihoodRatios) -> float:
    """The logarithm of the likelihood ratio of `LikelihoodRatios`."""
    found: float = ratios.alone_first[row] + ratios.alone_second[other]
    for k in range(ratios.first.shape[1]):
        found += ratios.first[row, k] * ratios.second[other, k]
    for j in range(len(ratios.unequal)):
        same = ratios.code_first[row, j] == ratios.code_second[other, j]
        found += ratios.equal[ratios.code_first[row, j]] if same else ratios.unequal[j]
    for j in range(ratios.table_first.shape[1]):
        found += ratios.table[ratios.table_first[row, j] + ratios.table_second[other, j]]
    return found
