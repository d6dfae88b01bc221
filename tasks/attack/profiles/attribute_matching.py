"""Which released attribute is which of the intruder's, where names tell nothing: by distributions and by dependence."""

from __future__ import annotations

import numpy as np
import scipy

from tasks.attack.profiles.likeness import UNLIKE, AttributeColumn, dependence, measure_distribution_distance
from tasks.microdata.table import Floats, Integers

_DIGITS = 9  # below, costs differ by the order in which records were summed up
NOBODY = -1


def match_attributes(own: tuple[AttributeColumn, ...], shown: tuple[AttributeColumn, ...], *, same_units: bool) -> Integers:
    """For each of the intruder's attributes the released one that they take for it, NOBODY for none, shape (d,).

    Meaning: two columns of one population have one distribution, and hang together with the other columns in the same way,
    whatever they are called; a mask changes both but little.
    Formula in words: the one-to-one matching with the least sum, over the matched attributes, of the distance of the
    distributions (`measure_distribution_distance`) and the mean absolute difference of the dependences on the others
    (`dependence`). Where one file has more attributes than the other, its rest is left over; an attribute is never matched with
    one of another kind. Absolute, not squared, because a mask may keep the distributions and weaken the dependences (rank
    swapping), or the other way round.

    The least sum is sought from three starts (the best matching of the distributions alone, with each attribute's ordered
    dependences, and of the dependences alone by scipy's quadratic_assignment), each improved by exchanging two attributes as
    long as that helps. It need not be the least of all: a quadratic assignment is hard. Of equal sums the first found is
    taken, which depends on the order of the attributes: the caller has to see that this order says nothing.

    Cost: O(d^2 n log n) for distances and dependence, then O(d^4) for each exchange.
    Example: unmasked columns of different distributions are matched with themselves.
    """
    if len(own) > len(shown):
        turned = match_attributes(shown, own, same_units=same_units)
        found = np.full(len(own), NOBODY)
        found[turned[turned >= 0]] = np.flatnonzero(turned >= 0)
        return found
    costs = np.round(
        np.array([[measure_distribution_distance(x, y, same_units=same_units) for y in shown] for x in own]), _DIGITS
    )
    theirs, among = np.round(dependence(own), _DIGITS), np.round(dependence(shown), _DIGITS)
    found = best_pairing(costs, theirs, among)
    return np.where(costs[np.arange(len(own)), found] < UNLIKE, found, NOBODY)


def best_pairing(costs: Floats, own: Floats, shown: Floats) -> Integers:
    """The d columns of the d' >= d, one for each row, of the least `total_cost` that was found.

    costs: shape (d, d'), of each pair. own: shape (d, d), shown: shape (d', d'): the dependences, symmetric.
    """
    d, n = costs.shape
    signatures = np.array([[_apart_by_dependence(x, y) for y in shown] for x in own])
    padded = np.zeros((n, n))
    padded[:d, :d] = own
    by_dependence = scipy.optimize.quadratic_assignment(
        padded, shown, options={"maximize": True, "rng": np.random.default_rng(0)}
    ).col_ind
    starts = [_complete_permutation(scipy.optimize.linear_sum_assignment(one)[1], n) for one in (costs, costs + signatures)]
    ends = [_improve_by_exchanges(start, costs, own, shown) for start in (*starts, by_dependence)]
    totals = [total_cost(end[:d], costs, own, shown) for end in ends]
    return ends[int(np.argmin(np.round(totals, _DIGITS)))][:d]


def total_cost(pairing: Integers, costs: Floats, own: Floats, shown: Floats) -> float:
    """What a pairing costs: its pairs, and for each the mean of |own[i, j] - shown[a, b]| over the other pairs (j, b)."""
    d = len(pairing)
    apart_together = float(np.abs(own - shown[np.ix_(pairing, pairing)]).sum()) / max(d - 1, 1)
    return float(costs[np.arange(d), pairing].sum()) + apart_together


def _apart_by_dependence(x: Floats, y: Floats) -> float:
    """The mean absolute difference of the dependences of two attributes on the others, in falling order."""
    positions = np.linspace(0.0, 1.0, max(len(x), len(y)))
    ordered = (np.interp(positions, np.linspace(0.0, 1.0, len(z)), np.sort(z)) for z in (x, y))
    return float(np.abs(next(ordered) - next(ordered)).mean())


def _complete_permutation(pairing: Integers, n: int) -> Integers:
    """A permutation of n that begins with the pairing; the columns that are left over follow."""
    return np.append(pairing, np.setdiff1d(np.arange(n), pairing))


def _improve_by_exchanges(start: Integers, costs: Floats, own: Floats, shown: Floats) -> Integers:
    """Exchange two places of a permutation, the pair that helps most each time, until none helps.

    scipy's quadratic_assignment knows neither the cost of a single pair nor attributes that are left over.
    """
    d, best = len(costs), np.array(start)
    least = total_cost(best[:d], costs, own, shown)
    while True:
        tried = [_swap_places(best, i, j) for i in range(d) for j in range(i + 1, len(best))]
        totals = np.round([total_cost(one[:d], costs, own, shown) for one in tried], _DIGITS)
        if not len(totals) or totals.min() >= round(least, _DIGITS):
            return best
        best, least = tried[int(totals.argmin())], float(totals.min())


def _swap_places(permutation: Integers, i: int, j: int) -> Integers:
    swapped = permutation.copy()
    swapped[[i, j]] = swapped[[j, i]]
    return swapped
