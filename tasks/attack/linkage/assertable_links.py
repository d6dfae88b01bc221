"""Links that an intruder can assert: their margin over the next row is one at which 95 in 100 such links are right."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tasks.attack.outcomes.links import Links
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.table import Booleans, Floats, Integers

PRECISION = 0.95
HALVINGS = 100
MOST_PERMUTED = 30_000  # links; a permutation of a million takes a hundred times as long as so many coins
_BITS = 64  # of a word
_LOOKED_AT = 256  # words at once
FEWEST = round(1 / (1 - PRECISION))  # links of which a share of one error in twenty can be seen


@dataclass(frozen=True, slots=True)
class SurestLinks:
    """Whom the surest link of each of p targets names, shape (p,) each.

    margin: how far its runner-up is behind (`Links.margins`), 0 where no link names one row alone. unit: whom it names, or -1.
    """

    margin: Floats
    unit: Integers


@dataclass(frozen=True, slots=True)
class PrecisionCurve:
    """Precision against coverage: asserting the links with the c % largest margins, what share of these is right.

    coverage: shares of all targets, ascending; precision: of the links asserted there. One point per distinct margin.
    """

    coverage: Floats
    precision: Floats


def find_surest_links(
    links: Links, searching: Integers, position: Integers, n: int, unit_of_found: Integers
) -> SurestLinks | None:
    """The surest link of each of n targets, among those of its searching records; None for links that have no margins.

    searching: records that search; position: shape (q,), the target of each. unit_of_found: whose each found record is.
    Of equally sure links the one of the last record counts: the intruder cannot tell them apart, and no more can we.
    """
    margins = links.margins(searching)
    if margins is None:
        return None
    guesses = links.guesses(searching)
    order = np.lexsort((np.arange(len(position)), margins, position))
    last = np.flatnonzero(np.append(np.diff(position[order]) > 0, True)[: len(order)])
    chosen = order[last]
    row = np.zeros(int(links.found_class.max(initial=-1)) + 1, dtype=np.int64)
    row[links.found_class] = np.arange(len(links.found_class))
    margin, unit = np.zeros(n), np.full(n, -1, dtype=np.int64)
    margin[position[chosen]] = margins[chosen]
    sure = chosen[margins[chosen] > 0]
    unit[position[sure]] = unit_of_found[row[guesses.classes[guesses.starts[sure]]]]
    return SurestLinks(margin, unit)


def compute_assertion_shares(margin: Floats, right: Booleans) -> Floats:
    """Shape (n,), 0 to 1: how often each link is asserted by intruders who calibrate on people whom they do not attack.

    The targets are halved at random (if they are more than 30,000 by a coin for each, so that the halves differ a little); the
    links of one half are asserted from the margin on at which, of those of the other half, at least 95 % are right: the least
    such margin above which there are 20 links or more. Where there is none, nothing is asserted. So no link has a say in
    whether it is asserted itself, and the precision that results can be below 95 %.
    Where the distance was learned from the links of both halves, each has: that is what no intruder can do.
    One halving would decide by luck where few links lie between being asserted and not; this is the mean over 100 of them. They
    are drawn among the links in the order of their margins (of equal ones the wrong come first), so that neither sum, of what
    is asserted and of what is asserted and right, depends on the order of the rows.
    Cost: O(n log n), 0.3 s for 1,000,000 links.
    """
    n = len(margin)
    shares: Floats = np.zeros(n)
    falling = _order_falling(margin, right)  # those that name nobody are never asserted, and come last
    hits, margins = right[falling], margin[falling]
    if np.count_nonzero(hits) < PRECISION * FEWEST:
        return shares
    is_last = np.append(margins[1:] != margins[:-1], True)  # of those that are as sure
    links = _FallingLinks(_pack(hits, n), _pack(is_last, n))
    times = np.zeros(len(falling), dtype=np.uint8)
    for half in _draw_halves(n):
        own_bits = np.unpackbits(half.view(np.uint8), count=len(falling), bitorder="little")
        asserted = links.count_asserted(~half)  # the other half has no links beyond n: these are never the last
        times[:asserted] += own_bits[:asserted]
        asserted = links.count_asserted(half)
        times[:asserted] += 1 - own_bits[:asserted]
    shares[falling] = times / HALVINGS
    return shares


def _order_falling(margin: Floats, right: Booleans) -> Integers:
    """The links that name somebody, by falling margin; of equal margins the right ones first, of these the last."""
    named = np.flatnonzero(margin > 0)
    order = np.argsort(margin[named])
    ascending = margin[named[order]]
    if (ascending[1:] == ascending[:-1]).any():
        order = np.lexsort((right[named], margin[named]))
    return named[order[::-1]].astype(np.int64)


@lru_cache(maxsize=1)
def _draw_halves(n: int) -> npt.NDArray[np.uint64]:
    """Shape (100, words): a half of n links drawn at random in each row, a bit for each link; 12 MB for 1,000,000 links."""
    rng = stream(bytes(SEED_BYTES), "calibration", str(n))
    if n > MOST_PERMUTED:
        tossed = rng.integers(0, 2**_BITS, size=(HALVINGS, _count_words(n)), dtype=np.uint64)
        return tossed & _pack(np.ones(n, dtype=bool), n)
    halves = np.empty((HALVINGS, _count_words(n)), dtype=np.uint64)
    for i in range(HALVINGS):
        half = np.zeros(n, dtype=bool)
        half[rng.permutation(n)[: n // 2]] = True
        halves[i] = _pack(half, n)
    return halves


def _count_words(n: int) -> int:
    return -(-max(n, 1) // _BITS)


def _pack(flags: Booleans, n: int) -> npt.NDArray[np.uint64]:
    """A bit for each flag in words of 64, padded with zeros to n bits."""
    packed = np.zeros(_count_words(n) * 8, dtype=np.uint8)
    found = np.packbits(flags, bitorder="little")
    packed[: len(found)] = found
    return packed.view(np.uint64)


@dataclass(frozen=True, slots=True)
class _FallingLinks:
    """Links in the order of falling margins, a bit for each: is it right, and is it the last of those that are as sure?"""

    right: npt.NDArray[np.uint64]
    last: npt.NDArray[np.uint64]

    def count_asserted(self, half: npt.NDArray[np.uint64]) -> int:
        """How many links, from the surest on, have at least the least margin at which enough of this half are right.

        Words of 64 links are counted first. In most of them too many links before are wrong for any place in them.
        """
        count, found = (np.cumsum(np.bitwise_count(part), dtype=np.int64) for part in (half, half & self.right))
        before = count - np.bitwise_count(half), found - np.bitwise_count(half & self.right)
        possible = np.flatnonzero((self.last != 0) & (count >= FEWEST) & (found >= PRECISION * before[0]))
        for end in range(len(possible), 0, -_LOOKED_AT):
            words = possible[max(end - _LOOKED_AT, 0) : end]
            counts, hits = (
                start[words, None] + np.cumsum(_unpack(part[words]), axis=1, dtype=np.int64)
                for start, part in zip(before, (half, half & self.right), strict=True)
            )
            good = _unpack(self.last[words]).astype(bool) & (counts >= FEWEST) & (hits >= PRECISION * counts)
            if good.any():
                word, bit = (int(part[-1]) for part in np.nonzero(good))
                return self._find_end(half, int(np.searchsorted(count, counts[word, bit])), int(counts[word, bit]))
        return 0

    def _find_end(self, half: npt.NDArray[np.uint64], word: int, counted: int) -> int:
        """The place after the last of the links that are as sure as the link of the half up to which so many are counted."""
        within = counted - int(np.bitwise_count(half[:word]).sum())
        bit = int(np.flatnonzero(_unpack(half[word : word + 1])[0])[within - 1])
        while True:
            ends = np.flatnonzero(_unpack(self.last[word : word + 1])[0])
            ends = ends[ends >= bit]
            if len(ends):
                return word * _BITS + int(ends[0]) + 1
            word, bit = word + 1, 0


def _unpack(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """Shape (words, 64)."""
    return np.unpackbits(words.view(np.uint8), bitorder="little").reshape(-1, _BITS)


def threshold(margin: Floats, right: Booleans) -> float:
    """The least margin from which on at least 95 % of 20 or more links are right; infinite where there is none."""
    falling, count, hits = _count_by_margin(margin, right)
    good = (count >= FEWEST) & (hits >= PRECISION * count)
    return float(falling[good].min(initial=np.inf))


def precision_curve(margin: Floats, right: Booleans) -> PrecisionCurve:
    """Precision against coverage over all margins; empty where no link names one row alone."""
    _, count, hits = _count_by_margin(margin, right)
    return PrecisionCurve(count / max(len(margin), 1), hits / count)


def _count_by_margin(margin: Floats, right: Booleans) -> tuple[Floats, Floats, Floats]:
    """The distinct margins above 0, falling; how many links have that or more, and how many of these are right."""
    distinct, position = np.unique(margin[margin > 0], return_inverse=True)
    count = np.cumsum(np.bincount(position, minlength=len(distinct))[::-1]).astype(np.float64)
    hits: Floats = np.cumsum(np.bincount(position, weights=right[margin > 0].astype(np.float64), minlength=len(distinct))[::-1])
    return distinct[::-1], count, hits
