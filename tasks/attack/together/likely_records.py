"""Which records of two files are probably one person's, by what both files say of them: equal, or only alike."""

from __future__ import annotations

import numpy as np

from tasks.attack.linkage.pair_marginals import WeighedPairs, compute_pair_marginals
from tasks.attack.together.row_links import RowLinks, compare_rows, link_rows
from tasks.microdata.errors import NotFollowed
from tasks.microdata.schema import Schema
from tasks.microdata.table import Floats, Integers, Microdata

MOST_PAIRS = 4_000_000  # of records that are compared: half a GB
LIKELY = 0.5  # records that are one person's with a larger probability are joined
_LARGEST = 60.0  # logarithm of a weight


def join_likely_records(
    first: Microdata, second: Microdata, schema: Schema, pairs: tuple[Integers, Integers]
) -> tuple[Integers, Floats]:
    """Join the records of two files that are one person's with a probability above one half.

    Meaning: rows of two releases are joined by the same laws (`link_rows`). The intruder is granted them, and how many people
    are in both files. Columns in which everybody in both is equal must be equal; for the others a likelihood ratio says how
    much two records look like one person. All records are weighed together, so that none is two people's.
    Formula in words: a pair's weight is the ratio, over the share of the second file's records that are equal in the columns
    that must be; its probability is its share of all matchings with so many pairs (`compute_pair_marginals`).

    Parameters
    ----------
    first, second: e and e' records, of which all common columns are compared. schema: of the first.
    pairs: places of the records of people who are in both, shape (k,) each, nobody twice; at least 1.

    Returns of each record of the first file the record of the second, -1 for none, and the probability of the likeliest.
    Raises NotFollowed for more than `MOST_PAIRS` pairs whose equal columns are equal. Cost: O(pairs), 100 rounds at most.
    Source: docs/SCIENCE.md section 5a. Example: ten people, whom the second file makes a year older: each is joined.
    """
    links = link_rows(first, second, schema, pairs, ())
    one, other = _list_pairs(links)
    counts = np.bincount(links.key_second, minlength=links.n_keys)
    evidence = compare_rows(one, other, links.ratios) + np.log(second.n / counts[links.key_first[one]])
    starts = np.append(0, np.cumsum(np.bincount(one, minlength=first.n)))
    weighed = WeighedPairs(starts, other, np.exp(np.clip(evidence, -_LARGEST, _LARGEST)))
    ones = np.ones(first.n, dtype=np.int64), np.ones(second.n, dtype=np.int64)
    chance = compute_pair_marginals(weighed, *ones, len(pairs[0]))
    found, likeliest, best = np.full(first.n, -1, dtype=np.int64), np.zeros(first.n), np.zeros(second.n)
    np.maximum.at(likeliest, one, chance)
    np.maximum.at(best, other, chance)
    joined = (chance > LIKELY) & (chance == likeliest[one]) & (chance == best[other])
    found[one[joined]] = other[joined]
    return found, likeliest


def _list_pairs(links: RowLinks) -> tuple[Integers, Integers]:
    """All pairs of rows with the same key, by the first row and then the second."""
    order = np.argsort(links.key_second, kind="stable")
    sizes = np.bincount(links.key_second, minlength=links.n_keys)
    begins = np.append(0, np.cumsum(sizes))[links.key_first]
    counts = sizes[links.key_first]
    if counts.sum() > MOST_PAIRS:
        raise NotFollowed(f"{counts.sum():,} pairs of records can be one person's, more than {MOST_PAIRS:,}")
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(np.arange(len(counts)), counts), order[np.repeat(begins, counts) + within]
