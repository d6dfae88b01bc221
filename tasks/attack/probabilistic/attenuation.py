"""What share of each attribute's values a mask kept, from how much less the released attributes hang together.

The intruder who has the whole file has two tables of the same people. Where a mask keeps a value with probability k_j
and else draws another that does not depend on it, apart for each attribute, the release's table of two attributes differs from
that of independent ones by k_i k_j times what the original's does. That says how much was kept without saying who is who.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from tasks.attack.probabilistic.levels import PatternComparison
from tasks.microdata.table import Floats, Integers

UNCHANGED = 0.9  # share kept, beyond which an attribute with the same values is taken to be published as it is
SPREAD = 0.3  # of the share kept around the assumed one, before a look
_ROUNDING = 1e-18  # variances below it are those of rounding: a constant attribute says nothing


@dataclass(frozen=True, slots=True)
class RetentionEstimate:
    """How alike matches are, as far as it follows from the files, for the k rules that ask for equal values or one bin.

    attribute, level: shape (k,), of the rule. share: shape (k,): the share of the values that were kept so far.
    alike: shape (k,): the share of all pairs of the intruder's own records that are alike by the rule.
    assumed: what counts for attributes that have no such rule.
    """

    attribute: Integers
    level: Integers
    share: Floats
    alike: Floats
    assumed: float


@dataclass(frozen=True, slots=True)
class _Coded:
    """Codes of one attribute in both files, and the share of each code."""

    own: Integers
    shown: Integers
    own_shares: Floats
    shown_shares: Floats


def estimate_retention(both: PatternComparison, assumed: float) -> RetentionEstimate:
    """The share of the values that the mask kept, estimated from both files.

    Formula in words: with C the table of two attributes less the product of its margins, <C_A, C_B> = k_i k_j <C_A, C_A> on
    average over the mask. The k_j that come nearest to all pairs of attributes, by least squares weighted by the noise of n
    released rows, and nearest to `assumed` by the weight of a spread of 0.3 (scipy's least_squares, 0 <= k_j <= 1). An
    attribute that hangs together with no other keeps `assumed`; with two attributes only the product of the two is told.

    A sample of other people hangs together just as well: that somebody is in the release does not follow.
    Of several such rules of one attribute the coarsest is estimated beside the coarsest of the others, and so on.
    Sound for PRAM, and for noise and swapping in bins about as far as a bin is wide; not for attributes masked together.
    Cost: O(d^2 n log n) time, O(n) memory.
    """
    asking = np.flatnonzero(both.reach == 0)
    ladders = [asking[both.attribute[asking] == j].tolist() for j in np.unique(both.attribute[asking])]
    coded = {rule: _encode_attribute(both, rule) for rule in asking.tolist()}
    share: dict[int, float] = {}
    for tier in range(max(map(len, ladders), default=0)):
        rules = [ladder[min(tier, len(ladder) - 1)] for ladder in ladders]
        found = _shares([coded[rule] for rule in rules], assumed)
        share = {**dict(zip(rules, found.tolist(), strict=True)), **share}
    alike = np.array([float(one.own_shares @ one.own_shares) for one in coded.values()])
    shares = np.array([share[rule] for rule in coded])
    return RetentionEstimate(both.attribute[asking], both.level[asking], shares, alike, assumed)


def restrict_to_unchanged(both: PatternComparison, found: RetentionEstimate) -> RetentionEstimate:
    """What was found of the attributes that look as if they were published as they are; of the others nothing is said.

    Those are of which the release shows each value as often as the intruder's file, and more than nine in ten were kept by what
    was found: where values were exchanged, they hang together less. In a release that lacks some records there are none.
    """
    same = np.array([_is_as_often(both, int(j)) for j in found.attribute], dtype=bool) & (found.share > UNCHANGED)
    return RetentionEstimate(found.attribute[same], found.level[same], found.share[same], found.alike[same], found.assumed)


def any_as_often(both: PatternComparison) -> bool:
    """Is there an attribute of which the release shows each value as often as the intruder's file?"""
    return any(_is_as_often(both, j) for j in np.unique(both.attribute[both.reach == 0]).tolist())


def _is_as_often(both: PatternComparison, j: int) -> bool:
    """Does each value (or bin, where there is no finer rule) occur as often in both files?"""
    rule = int(np.flatnonzero((both.attribute == j) & (both.reach == 0))[-1])
    own, shown = both.own[rule][both.own_of_record], both.shown[rule][both.shown_of_row]
    return len(own) == len(shown) and bool((np.sort(own) == np.sort(shown)).all())


def _encode_attribute(both: PatternComparison, rule: int) -> _Coded:
    own, shown = (
        side[rule][np.sort(which)] for side, which in ((both.own, both.own_of_record), (both.shown, both.shown_of_row))
    )  # in an order that is not the files': sums differ in the last bits
    codes = np.unique(np.append(own, shown), return_inverse=True)[1].astype(np.int64)
    own_codes, shown_codes, size = codes[: len(own)], codes[len(own) :], int(codes.max()) + 1
    shares = (np.bincount(one, minlength=size) / len(one) for one in (own_codes, shown_codes))
    return _Coded(own_codes, shown_codes, *shares)


def _shares(coded: list[_Coded], assumed: float) -> Floats:
    n, pairs = len(coded[0].shown) if coded else 0, list(combinations(range(len(coded)), 2))
    products = np.array([_products(coded[i], coded[j]) for i, j in pairs]).reshape(-1, 3)
    left, right = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    scale = np.sqrt(np.maximum(products[:, 1] * products[:, 2], _ROUNDING) / max(n, 1))

    def residuals(kept: Floats) -> Floats:
        apart = (products[:, 0] - kept[left] * kept[right] * products[:, 1]) / scale
        return np.append(apart, (kept - assumed) / SPREAD)

    found = scipy.optimize.least_squares(residuals, np.full(len(coded), assumed), bounds=(0, 1)) if coded else None
    return np.empty(0) if found is None else np.asarray(found.x, dtype=np.float64)


def _products(one: _Coded, other: _Coded) -> tuple[float, float, float]:
    """<C_A, C_B> and <C_A, C_A> of two attributes, by the pairs of values that occur; and the share of the commonest pair.

    Over the mask the variance of the first is at most the other two's product over the number of released rows, about.
    """
    size = len(other.own_shares)
    joint = np.unique(
        np.append(one.own * size + other.own, one.shown * size + other.shown),
        return_inverse=True,
    )[1]
    n = len(one.own)
    own, shown = (np.bincount(part, minlength=int(joint.max()) + 1) / len(part) for part in (joint[:n], joint[n:]))
    a_at_b = float((one.own_shares[one.shown] * other.own_shares[other.shown]).mean())
    b_at_a = float((one.shown_shares[one.own] * other.shown_shares[other.own]).mean())
    a_at_a = float((one.own_shares[one.own] * other.own_shares[other.own]).mean())
    across = float(one.own_shares @ one.shown_shares) * float(other.own_shares @ other.shown_shares)
    within = float(one.own_shares @ one.own_shares) * float(other.own_shares @ other.own_shares)
    return float(own @ shown) - b_at_a - a_at_b + across, float(own @ own) - 2 * a_at_a + within, float(own.max())
