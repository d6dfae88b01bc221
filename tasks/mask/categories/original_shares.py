"""The shares of the original categories, as anybody estimates them who has a released table and knows how PRAM drew it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tasks.mask.categories.pram import Pram, compute_transition_matrix_with_gaps
from tasks.mask.categories.product import CategoryCoding, create_category_coding
from tasks.mask.categories.randomised_response import MarginalEstimates, estimate_marginals
from tasks.mask.step import MaskStep
from tasks.microdata.errors import NotApplicable
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Spec
from tasks.microdata.table import Floats, Integers, Microdata

MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class EstimatedShare:
    """One category (or combination of categories) that the release shows, as a release file writes its values.

    released, estimated: shares of it among the released rows without a gap, and among their originals. standard_error: over the
    draw of the randomisation; None where the estimate lies so far outside [0, 1] that there is none.
    """

    values: tuple[str, ...]
    released: float
    estimated: float
    standard_error: float | None


@dataclass(frozen=True, slots=True)
class EstimatedShares:
    """What the release tells of the original frequencies of one attribute, or of several that were drawn together.

    n: released rows without a gap in them. n_categories: c, of which `shares` lists the most frequent in the release.
    n_left_out: shown by the release, but not listed. condition_number: of the matrix; None where it cannot be inverted, and
    nothing can be estimated.
    """

    attributes: tuple[str, ...]
    n: int
    n_categories: int
    condition_number: float | None
    shares: tuple[EstimatedShare, ...] = ()
    n_left_out: int = 0


def estimate_shares(released: Microdata, source: Microdata, schema: Schema, steps: Iterable[Spec]) -> list[EstimatedShares]:
    """The estimates that a reader of the release can make themselves: from the released counts and matrices that may be told.

    Nothing in it comes from the source but what its categories are. There is none for an attribute that another step masked as
    well, whose matrix is not told (a stated one, an invariant one), or that shows something that PRAM cannot have drawn.
    """
    steps = tuple(steps)
    return [
        one
        for names in _list_estimable_units(steps)
        if (one := _estimate_unit_shares(released, source, schema, names, steps)) is not None
    ]


def joint_marginals(coding: CategoryCoding, table: Microdata, probability: Floats) -> tuple[MarginalEstimates, Integers]:
    """`estimate_marginals` of the combinations without a gap, and how many released rows show each.

    probability: over all codes, the product of the matrices where there were several steps. Rows with a gap are passed over: a
    gap stays, so that the others are the rows whose originals had none.
    Raises NotApplicable as `estimate_marginals` does, and where no row is without a gap.
    """
    block = coding.blocks()[0]
    observed = np.bincount(coding.codes(table), minlength=coding.size + 1)[block]
    if observed.sum() == 0:
        raise NotApplicable("no released row is without a gap: there is nothing to estimate from")
    return estimate_marginals(probability[np.ix_(block, block)], observed.astype(float)), observed


def _list_estimable_units(steps: tuple[Spec, ...]) -> Iterator[tuple[str, ...]]:
    """What was drawn by PRAM steps alone, whose matrices may be told, and always together."""
    units = dict.fromkeys(names for step in steps if isinstance(step, Pram) for names in step.units)
    for names in units:
        touching = [step for step in steps if isinstance(step, MaskStep) and set(names) & set(step.target_attributes)]
        if all(isinstance(step, Pram) and names in step.units and _is_publishable(step) for step in touching):
            yield names


def _is_publishable(step: Pram) -> bool:
    return step.matrix is None and not step.invariant


def _estimate_unit_shares(
    released: Microdata, source: Microdata, schema: Schema, names: tuple[str, ...], steps: tuple[Spec, ...]
) -> EstimatedShares | None:
    coding = create_category_coding(schema, source, names, "masking")
    probability = np.eye(coding.size + 1)
    for step in steps:
        if isinstance(step, Pram) and names in step.units:
            probability = probability @ compute_transition_matrix_with_gaps(
                step, coding, np.empty(0, dtype=np.int64), where="masking"
            )
    if (coding.codes(released) == coding.size).any():
        return None
    try:
        found, observed = joint_marginals(coding, released, probability)
    except NotApplicable:
        return EstimatedShares(names, 0, len(coding.blocks()[0]), None)
    return _list_frequent_shares(coding, names, found, observed)


def _list_frequent_shares(
    coding: CategoryCoding, names: tuple[str, ...], found: MarginalEstimates, observed: Integers
) -> EstimatedShares:
    block, n = coding.blocks()[0], int(observed.sum())
    shown = np.flatnonzero(observed)
    most = np.sort(shown[np.argsort(-observed[shown], kind="stable")][:MOST_SHOWN])
    variance = found.variance
    shares = tuple(
        EstimatedShare(
            coding.texts(int(block[i])),
            float(observed[i] / n),
            float(found.shares[i]),
            float(np.sqrt(variance[i])) if variance[i] > 0 else None,
        )
        for i in most
    )
    return EstimatedShares(names, n, len(block), found.condition_number, shares, len(shown) - len(most))
