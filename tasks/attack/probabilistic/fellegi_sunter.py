"""How probable each comparison pattern is among matches (m) and among other pairs (u): Fellegi and Sunter's model.

Three ways to m. `fit_tied_model`, the attack: by expectation maximisation with what the intruder knows held fast.
`estimate_unconstrained`, for
comparison: expectation maximisation with everything free, which finds some class of similar pairs, on real data often not the
matches. `fit_supervised_model`, the worst case: from who is who.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import expit, logit

from tasks.attack.probabilistic.attenuation import RetentionEstimate
from tasks.attack.probabilistic.loglinear import Table, create_table, fit_loglinear_model
from tasks.attack.probabilistic.patterns import Patterns
from tasks.microdata.errors import AttackFailed
from tasks.microdata.table import Floats, Integers

Interactions = tuple[tuple[str, str], ...]
ByLevel = tuple[Floats, ...]
MOST_STEPS = 1000
SETTLED = 1e-7  # no probability moves by more in one step
MOST_KEPT = 0.999  # of a prior: what is taken for impossible stays so, whatever the patterns say
_LEAST = 1e-300  # a probability in the plain estimate: it may run into 0, whose ratio to another 0 says nothing
_PLAIN_START = 0.9  # P(most alike | match) that the plain estimate begins with, as the usual tools do


@dataclass(frozen=True, slots=True)
class Prior:
    """What the intruder takes for m before they look at the patterns.

    m: for each attribute the probabilities of its levels, adding up to 1, m/u never falling. weight: how much this counts, in
    matches, over the number of matches.
    """

    m: ByLevel
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Model:
    """m and u of the levels and of the patterns that occur.

    m, u: for each attribute the probabilities of its levels, adding up to 1, among matches and among other pairs.
    log_m, log_u: shape (p,), natural logarithms of the probabilities of the patterns. prevalence: share of matches among all.
    steps: of the estimation, 0 where there is none. settled: did it converge?
    """

    m: ByLevel
    u: ByLevel
    log_m: Floats
    log_u: Floats
    prevalence: float
    steps: int = 0
    settled: bool = True

    @property
    def log_ratio(self) -> Floats:
        """Shape (p,): log m/u; a pattern that occurs has u > 0."""
        return self.log_m - self.log_u

    @property
    def match(self) -> Floats:
        """Shape (p,): the probability that a pair of the pattern is a match: p m / (p m + (1 - p) u)."""
        return _match(self.log_ratio, self.prevalence)


def compute_prevalence(n_own: int, n_released: int, n_common: int) -> float:
    """The share of matches of all pairs: |A and B| / (|A| |B|), 1/n only if everybody is in both files."""
    return n_common / (n_own * n_released)


def create_assumed_prior(patterns: Patterns, kept: float, weight: float = 1.0) -> Prior:
    """The prior of somebody who assumes that the mask kept this share of the values alike, the same in every attribute.

    They are spread evenly over the levels above 0 that occur. m is not below u where records are more often alike than that.
    """
    m = (_create_prior(one, {1: kept}) for one in _shares(patterns, patterns.counts))
    return Prior(tuple(m), weight)


def create_estimated_prior(patterns: Patterns, found: RetentionEstimate, weight: float = 1.0) -> Prior:
    """The prior of somebody who found out from both files what share the mask kept (`estimate_retention`).

    Formula in words: matches are alike by a rule as often as any two records, and by k (1 - a) more often: k of the values were
    kept, and of two of the original's records the share a is alike anyway. What lies between two such rules is spread evenly
    over the levels there that occur. An attribute without such a rule has the prior of `create_assumed_prior`.
    """
    m = []
    for j, u in enumerate(_shares(patterns, patterns.counts)):
        mine = np.flatnonzero(found.attribute == j)
        more = zip(found.level[mine].tolist(), found.share[mine] * (1 - found.alike[mine]), strict=True)
        at_least = {level: min(float(u[level:].sum() + one), MOST_KEPT) for level, one in more}
        m.append(_create_prior(u, at_least or {1: found.assumed}))
    return Prior(tuple(m), weight)


def fit_tied_model(patterns: Patterns, prevalence: float, prior: Prior, interactions: Interactions = ()) -> Model:
    """m by expectation maximisation with the rest held fast.

    Meaning: nearly all pairs are no matches, so that u is what all pairs show; how many matches there are follows from the
    sizes of the files; a mask makes matches no less alike than strangers. Left to itself the estimate settles on whatever
    class of similar pairs the data hold (members of one household, say).
    Formula in words: u of a level is its share of all pairs. In turns: the probability of a match for each pattern, by Bayes'
    rule with the prevalence; then m of a level is the number of matches expected there plus the prior's, over all of them. m/u
    may not fall from a level to the next (then m >= u at the most alike): the likeliest such m by isotonic regression,
    weighted by u.
    With interactions m and u are log-linear models with the chosen pairs' interactions (`loglinear`), begun at the estimate
    without; the order of m/u is then not imposed.

    prevalence: above 0, below 1.
    Raises AttackFailed if 1,000 steps do not settle it; InputError as `create_table`. Cost: O(p d) a step, tens of steps.
    Source: Fellegi and Sunter (1969), Jaro (1989), Winkler (1993) for the interactions and the fixed parts.
    """
    u = _shares(patterns, patterns.counts)
    log_u = _log_product(patterns, u)
    n_matches = prevalence * patterns.n_pairs
    extra = tuple(prior.weight * n_matches * one for one in prior.m)

    def better(m: ByLevel) -> ByLevel:
        matches = patterns.counts * _match(_log_product(patterns, m) - log_u, prevalence)
        sums = (counts + more for counts, more in zip(_sums(patterns, matches), extra, strict=True))
        return tuple(_impose_monotone_ratio(one / one.sum(), other) for one, other in zip(sums, u, strict=True))

    m, steps = _iterate_to_convergence(better, prior.m)
    model = Model(m, u, _log_product(patterns, m), log_u, prevalence, steps)
    return _fit_interactions(patterns, model, interactions, prior) if interactions else model


def estimate_unconstrained(patterns: Patterns, prevalence: float) -> Model:
    """m, u and the prevalence by expectation maximisation with everything free; for comparison, it need not settle.

    prevalence: where it begins. Source: Jaro (1989).
    """
    u, steps, moved = _shares(patterns, patterns.counts), 0, 1.0
    m: ByLevel = tuple(_create_prior(one, {1: _PLAIN_START}) for one in u)
    while moved > SETTLED and steps < MOST_STEPS:
        match = _match(_log_product(patterns, m, _LEAST) - _log_product(patterns, u, _LEAST), prevalence)
        matches = patterns.counts * match
        last, m, u = m, _shares(patterns, matches), _shares(patterns, patterns.counts - matches)
        prevalence, moved, steps = float(matches.sum()) / patterns.n_pairs, _compute_largest_change(last, m), steps + 1
    logs = _log_product(patterns, m, _LEAST), _log_product(patterns, u, _LEAST)
    return Model(m, u, *logs, prevalence, steps, moved <= SETTLED)


def fit_supervised_model(patterns: Patterns, matches: Integers, interactions: Interactions = ()) -> Model:
    """m from who is who, u from all pairs: what the same model gives to somebody who knows the answers.

    matches: shape (p,), the true matches that show each pattern, at least one.
    """
    u, m = _shares(patterns, patterns.counts), _shares(patterns, matches)
    prevalence = float(matches.sum()) / patterns.n_pairs
    model = Model(m, u, _log_product(patterns, m), _log_product(patterns, u), prevalence)
    if not interactions:
        return model
    table = create_table(patterns, interactions)
    by_cell = fit_loglinear_model(table, table.cells(matches.astype(np.float64)) + table.product(m) + table.product(u))
    return Model(m, u, np.log(by_cell[table.cell]), _log_u(table, patterns, u), prevalence)


def _fit_interactions(patterns: Patterns, model: Model, interactions: Interactions, prior: Prior) -> Model:
    table = create_table(patterns, interactions)
    n_matches = model.prevalence * patterns.n_pairs
    log_u, mixed = _log_u(table, patterns, model.u), prior.weight * n_matches * table.product(prior.m) + table.product(model.u)

    def better(cells: ByLevel) -> ByLevel:
        with np.errstate(divide="ignore"):
            match = _match(np.log(cells[0][table.cell]) - log_u, model.prevalence)
        return (fit_loglinear_model(table, table.cells(patterns.counts * match) + mixed),)

    (cells,), steps = _iterate_to_convergence(better, (table.product(model.m),))
    m = tuple(np.bincount(table.levels[:, j], cells, len(one)).astype(np.float64) for j, one in enumerate(model.m))
    return Model(m, model.u, np.log(cells[table.cell]), log_u, model.prevalence, model.steps + steps)


def _log_u(table: Table, patterns: Patterns, u: ByLevel) -> Floats:
    """log u of the patterns; one more pair, spread as if the attributes agreed independently, keeps every term estimable."""
    cells = fit_loglinear_model(table, table.cells(patterns.counts.astype(np.float64)) + table.product(u))
    return np.log(cells[table.cell])


def _iterate_to_convergence(better: Callable[[ByLevel], ByLevel], start: ByLevel) -> tuple[ByLevel, int]:
    now = start
    for step in range(1, MOST_STEPS + 1):
        last, now = now, better(now)
        if _compute_largest_change(last, now) <= SETTLED:
            return now, step
    raise AttackFailed(f"the estimate of the patterns' probabilities did not settle in {MOST_STEPS:,} steps")


def _compute_largest_change(last: ByLevel, now: ByLevel) -> float:
    return max(float(np.abs(one - other).max()) for one, other in zip(last, now, strict=True))


def _match(log_ratio: Floats, prevalence: float) -> Floats:
    return np.asarray(expit(log_ratio + logit(prevalence)), dtype=np.float64)


def _sums(patterns: Patterns, of_patterns: Floats | Integers) -> ByLevel:
    """For each attribute the sums over the patterns with each of its levels."""
    levels = zip(patterns.levels, patterns.sizes.tolist(), strict=True)
    return tuple(np.bincount(column, of_patterns, size).astype(np.float64) for column, size in levels)


def _shares(patterns: Patterns, of_patterns: Floats | Integers) -> ByLevel:
    return tuple(one / max(float(one.sum()), _LEAST) for one in _sums(patterns, of_patterns))


def _log_product(patterns: Patterns, by_level: ByLevel, least: float = 0.0) -> Floats:
    total = np.zeros(len(patterns.numbers))
    with np.errstate(divide="ignore"):
        for levels, one in zip(patterns.levels, by_level, strict=True):
            total += np.log(np.maximum(one, least))[levels]
    return total


def _create_prior(u: Floats, at_least: dict[int, float]) -> Floats:
    """m of an attribute of which the share at_least[l] is at level l or above, m/u made to rise.

    What lies between two of these levels is spread evenly over the levels there that occur.
    """
    m, above, end = np.zeros(len(u)), 0.0, len(u)
    for level in sorted(at_least, reverse=True):
        there = level + np.flatnonzero(u[level:end] > 0)
        if len(there):
            m[there] = max(at_least[level] - above, 0.0) / len(there)
            above, end = max(at_least[level], above), level
    m[0] = 1 - above
    return _impose_monotone_ratio(m, u) if m[u > 0].any() else u


def _impose_monotone_ratio(m: Floats, u: Floats) -> Floats:
    """The likeliest m whose ratio to u does not fall as the level rises; a level that never occurs keeps 0."""
    occurs, found = u > 0, np.zeros(len(u))
    ratio = scipy.optimize.isotonic_regression(m[occurs] / u[occurs], weights=u[occurs]).x
    found[occurs] = u[occurs] * ratio
    return np.asarray(found / found.sum())
