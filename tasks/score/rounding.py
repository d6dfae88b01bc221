"""Figures as they may leave the private folders.

A table's masked values are public, so a published difference is an equation about the original: with the release's mean, the
exact `mean_difference` gives the original's mean (up to a sign), and with the exact figure of one attribute's error an
intruder can test guesses of single values. Two significant digits leave enough unknown and are what a reader uses.

What is rounded to 2 digits: differences of means, covariances and correlations; sse_percent and il1s of one attribute, and of
a table in which only one attribute is; the chance levels that are computed from the original's frequencies (the share of the
most frequent original value, the rate over all pairs). The figures of a table over two or more attributes mix several unknowns
and keep 6 digits, enough to be compared with published ones. Differences of statistics have 3 decimals at most as well: two
significant digits of a tiny difference would give the original's statistic all the more exactly. Rates of attacks, k and
counts of changed cells stay as they are: they are counts of people, and the certificate has to be checked against them.

So are the rates by which a control of other people is measured that stands for rows of nobody: the release is not in them,
only the source. They have 2 digits.

Rates of subgroups are the exception, and with them the numbers of their targets: who is in a tail or a rare category of the
original is not public, an exact rate is a fraction whose denominator counts them, and its numerator is an equation about which
released records are theirs. The rates have 2 digits, the numbers 2 digits and whole tens (2 digits of 47 would be all of it).
The share of groups exposed has 2 digits too: its denominator counts the groups of the source, which no released column shows.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from tasks.microdata.estimate import Estimate
from tasks.score.verdict import Criterion, beyond

STATISTICS = frozenset(
    {
        "mean_difference",
        "covariance_difference",
        "correlation_difference",
        "largest_correlation_difference",
        "rank_correlation_difference",
        "marginal_difference",
        "propensity_ratio",
    }
)
HIDDEN_DENOMINATORS = frozenset(
    {
        "subgroup_reidentification",
        "groups_exposed",
        "subgroup_membership_auc",
        "subgroup_membership_advantage",
        "subgroup_share_of_most_exposed",
    }
)
ERRORS = frozenset({"sse_percent", "il1s"})
ORIGINAL_FREQUENCIES = frozenset({"majority", "all_pairs", "independent_columns"})
FEW, MANY = 2, 6
DECIMALS = 3


def public(estimates: tuple[Estimate, ...]) -> tuple[Estimate, ...]:
    """The figures rounded for the public edition; see the head of this file. Same order, same ids."""
    return tuple(
        _public(one, FEW if one.basis == "control_group" and one.measure == "linked_value_control" else kept)
        for one, kept in ((one, digits(one.measure, one.attribute, estimates)) for one in estimates)
    )


def public_criteria(criteria: tuple[Criterion, ...], estimates: tuple[Estimate, ...]) -> tuple[Criterion, ...]:
    """The criteria with their deciding values rounded as `public` rounds the figures they come from.

    estimates: all figures of the release, rounded or not. Where the nearest rounded number would contradict the decision
    (0.1004 fails a limit of 0.1, and rounds to it), the next one on the side of the decision is shown.
    """
    return tuple(_public_criterion(one, digits(one.measure, one.attribute, estimates)) for one in criteria)


def digits(measure: str, attribute: str | None, estimates: tuple[Estimate, ...]) -> int | None:
    """How many significant digits of a figure are public; None: all."""
    if measure in STATISTICS | HIDDEN_DENOMINATORS:
        return FEW
    if measure not in ERRORS:
        return None
    parts = sum(1 for other in estimates if other.measure == measure and other.attribute is not None)
    return MANY if attribute is None and parts >= 2 else FEW


def rounded(number: float, significant: int, decimals: int | None = None) -> float:
    """A number to so many significant digits, and at most so many decimals. Example: 0 stays 0; 5.6922 to 2 digits is 5.7."""
    found = float(f"{number:.{significant - 1}e}")
    return found if decimals is None else round(found, decimals)


def _public(estimate: Estimate, significant: int | None) -> Estimate:
    if estimate.subgroup is not None:
        estimate = replace(estimate, n_targets=_few(estimate.n_targets), n_in_release=_few(estimate.n_in_release))
    chance = estimate.chance
    if chance is not None and (estimate.chance_kind in ORIGINAL_FREQUENCIES or estimate.measure in HIDDEN_DENOMINATORS):
        chance = rounded(chance, FEW)
    if significant is None:
        return replace(estimate, chance=chance)
    places = _decimals(estimate.measure)
    value, low, high = (
        None if end is None else rounded(end, significant, places) for end in (estimate.value, estimate.low, estimate.high)
    )
    return replace(estimate, chance=chance, value=value, low=low, high=high)


def _few(count: int | None) -> int | None:
    return None if count is None else round(int(rounded(count, FEW)), -1)


def _public_criterion(criterion: Criterion, significant: int | None) -> Criterion:
    if significant is None or criterion.deciding_value is None:
        return criterion
    places = _decimals(criterion.measure)
    shown = rounded(criterion.deciding_value, significant, places)
    limit, direction = criterion.limit, criterion.direction
    if beyond(shown, limit, direction) != beyond(criterion.deciding_value, limit, direction):
        shown = _rounded_towards(criterion.deciding_value, significant, places, up=criterion.deciding_value > shown)
    return replace(criterion, deciding_value=shown)


def _decimals(measure: str) -> int | None:
    return DECIMALS if measure in STATISTICS else None


def _rounded_towards(number: float, significant: int, decimals: int | None, *, up: bool) -> float:
    exact = Decimal(number)
    power = exact.adjusted() - significant + 1
    last_digit = Decimal(1).scaleb(power if decimals is None else max(power, -decimals))
    return float(exact.quantize(last_digit, rounding=ROUND_CEILING if up else ROUND_FLOOR))
