"""Links that an intruder can assert: their margin over the next row is one at which 95 in 100 such links are right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.outcomes.links import Links
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.table import Booleans, Floats, Integers

PRECISION = 0.95
HALVINGS = 100
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

    The targets are halved at random; the links of one half are asserted from the margin on at which, of those of the other
    half, at least 95 % are right: the least such margin above which there are 20 links or more. Where there is none, nothing
    is asserted. So no link has a say in whether it is asserted itself, and the precision that results can be below 95 %.
    Where the distance was learned from the links of both halves, each has: that is what no intruder can do.
    One halving would decide by luck where few links lie between being asserted and not; this is the mean over 100 of them. They
    are drawn among the links in the order of their margins (of equal ones the wrong come first), so that neither sum, of what
    is asserted and of what is asserted and right, depends on the order of the rows.
    Cost: O(n log n), and 100 passes.
    """
    falling = np.lexsort((right, margin))[::-1]
    margins, hits = margin[falling], right[falling]
    last = np.searchsorted(-margins, -margins, side="right") - 1  # of those that are as sure
    rng = stream(bytes(SEED_BYTES), "calibration", str(len(margin)))
    times = np.zeros(len(margin))
    for _ in range(HALVINGS):
        half = np.zeros(len(margin), dtype=bool)
        half[rng.permutation(len(margin))[: len(margin) // 2]] = True
        for own, other in ((half, ~half), (~half, half)):
            count, found = np.cumsum(other)[last], np.cumsum(other & hits)[last]
            good = other & (margins > 0) & (count >= FEWEST) & (found >= PRECISION * count)
            times += own & (margins >= margins[good].min(initial=np.inf))
    shares = np.empty(len(margin))
    shares[falling] = times / HALVINGS
    return shares


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
