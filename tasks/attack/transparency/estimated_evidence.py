"""What speaks for each released row of a large table with laws, estimated where it can decide a link."""

from __future__ import annotations

import numpy as np

from tasks.attack.transparency.code_components import find_code_components
from tasks.attack.transparency.image_trees import (
    SearchedPlaces,
    compute_reach,
    find_least,
    measure_intervals,
    order_by_group,
)
from tasks.attack.transparency.intersection import ArrangedConditions
from tasks.attack.transparency.sampled_sums import RowLaw, bound_evidence, estimate_best, estimate_evidence, lower_others
from tasks.attack.transparency.sampled_tree import SampledTree, build_sampled_tree, find_largest
from tasks.microdata.table import Booleans, Floats, Integers

MOST_SUMMED_EXACTLY = 30_000  # records; of more the sums are estimated
# Relative standard errors at most, and how much less log P / q of a row that is estimated so well may be than the largest.
ERRORS = (0.5, 0.2, 0.1)
_MARGINS = (0.4, 0.25, 0.1)
_LESS_OF_OTHERS = 0.1  # of a row that is known less well than the likeliest, at least
BOUND, EXACT = 0, 9  # levels of what is known of a row: a lower bound, an estimate with one of the errors, or the sum


def has_many_kinds(n_noises: int, n_laws: int, n_intervals: int) -> bool:
    """Are there many kinds of records and rows? Where noise was added, or there are laws and intervals.

    Without these there are so few that the sums over all pairs of kinds are no effort, also in a large table.
    """
    return n_noises > 0 or (n_laws > 0 and n_intervals > 0)


def is_estimated(conditions: ArrangedConditions, records: Floats) -> bool:
    """Is what speaks for a row estimated? Of more than 30,000 records, where there are many kinds of them."""
    widths = (conditions.own_coordinates, conditions.own_at, conditions.positions)
    return bool(records.sum() > MOST_SUMMED_EXACTLY) and has_many_kinds(*(columns.shape[1] for columns in widths))


def describe_estimates(levels: Integers | None) -> str:
    """What is said of links for which sums were estimated; nothing where they were not. levels: of the rows."""
    if levels is None or (levels == EXACT).all():
        return ""
    error, of_which = ERRORS[0], ""
    if (levels == len(ERRORS)).any():
        error, of_which = ERRORS[-1], " for the rows that records are linked to; of other rows less is known"
    return (
        f"; with more than {MOST_SUMMED_EXACTLY:,} records, how probable a row is as anybody's is estimated over samples of "
        f"the records, with a relative standard error of at most {100 * error:.0f} %{of_which}"
    )


def estimate_rows(
    conditions: ArrangedConditions, records: Floats, searching: Booleans
) -> tuple[Floats, Integers, SearchedPlaces]:
    """Shape (c,): log q of each row, estimated where the row can be the likeliest image of a record that searches; shape (c,):
    how well it is known; and the rows as records search them.

    Of all other rows there is a less certain estimate, or a bound, with which they are less likely. conditions: as
    `arrange_conditions` gives them. records: shape (r,), how many there are of each kind. searching: shape (r,).
    Cost: O(n log n) for the bounds, and for each row that is estimated that of `sampled_sums`.
    """
    law, rows = _arrange_law(conditions, records), _arrange_rows(conditions)
    shown = rows.places
    most = find_largest(conditions.log_probability, conditions.own_at, conditions.shown_at)
    evidence, levels = np.zeros(len(conditions.shown_at)), np.full(len(conditions.shown_at), BOUND)
    order = shown.tree.records
    bound_evidence(law, order, evidence)
    shown = set_prices(shown, evidence)
    targets = law.own.places.tree.records
    targets = targets[searching[targets]]  # in the order of the tree: what one has looked at is at hand for the next
    shown = _estimate_likeliest(targets, law, rows._replace(places=shown), most, levels)
    evidence[order] = np.where(np.isinf(shown.price), -np.inf, shown.price)
    return evidence, levels, set_prices(shown, evidence)


def _estimate_likeliest(targets: Integers, law: RowLaw, rows: SampledTree, most: Floats, levels: Integers) -> SearchedPlaces:
    """The rows with estimates for those that can be the likeliest of a target. levels: shape (c,), changed in place.

    A row that was not looked at again, because others seemed better before, is in the end not taken for the likeliest: what
    speaks for it is raised.
    """
    for level, (error, margin) in enumerate(zip(ERRORS, _MARGINS, strict=True), start=1):
        best = estimate_best(targets, law, rows, most, error, margin, level, levels)
        rows = rows._replace(places=_renew_least(rows.places))
    lower_others(targets, law, rows, most, best - _LESS_OF_OTHERS, len(ERRORS), levels)
    return rows.places


def _renew_least(shown: SearchedPlaces) -> SearchedPlaces:
    return shown._replace(least=find_least(shown.tree.start, shown.tree.stop, shown.price))


def estimate_remaining(
    conditions: ArrangedConditions, records: Floats, evidence: Floats, levels: Integers, order: Integers
) -> tuple[Floats, Integers]:
    """Evidence and levels when the rows of which there is but a bound are estimated too. order: of all rows."""
    evidence, rest = evidence.copy(), order[levels[order] == BOUND]
    estimate_evidence(_arrange_law(conditions, records), rest, ERRORS[0], evidence)
    return evidence, np.maximum(levels, 1)


def set_prices(shown: SearchedPlaces, evidence: Floats) -> SearchedPlaces:
    """The rows with other prices. evidence: shape (c,), log q of each row."""
    price = np.where(np.isneginf(evidence), np.inf, evidence)[shown.tree.records]
    return _renew_least(shown._replace(price=price))


def _arrange_law(conditions: ArrangedConditions, records: Floats) -> RowLaw:
    begins, ends, n_codes = conditions.begins[0], conditions.ends[0], len(conditions.group_starts) - 1
    component, of_record = find_code_components(begins, ends, conditions.allowed, n_codes)
    own = build_sampled_tree(
        conditions.own_coordinates,
        conditions.own_at,
        measure_intervals(conditions, of_records=True),
        order_by_group(of_record, int(component.max()) + 1),
        np.zeros(len(records)),
        conditions.log_probability,
        records,
        "records",
    )
    most = find_largest(conditions.log_probability, conditions.shown_at, conditions.own_at)
    is_single = bool((ends - begins == 1).all())
    return RowLaw(conditions, own, component, is_single, most, compute_reach(int(records.sum())))


def _arrange_rows(conditions: ArrangedConditions) -> SampledTree:
    everybody = np.arange(len(conditions.shown_at))
    return build_sampled_tree(
        conditions.shown_coordinates,
        conditions.shown_at,
        measure_intervals(conditions, of_records=False),
        (everybody, conditions.group_starts),
        np.zeros(len(everybody)),
        conditions.log_probability,
        np.ones(len(everybody)),
        "rows",
    )
