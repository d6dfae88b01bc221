"""How conclusions are carried through a step whose input an intruder does not know for certain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from tasks.mask.intruder_belief import Belief, DiscreteLikelihood, InInterval
from tasks.mask.rank_law import LEAST, MOST_BLOCKS, blur_ranks, code_by_rank, find_block_starts, spread_over_ranks
from tasks.mask.step import IntruderView, MaskStep
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.schema import CATEGORICAL
from tasks.microdata.table import Floats

_MOST_RANKS = 0.9  # of all, that bounds leave on average: beyond, they say nothing of the rank
ERRING = 1e-7  # of all statements of one noise step together; so that ten such steps err with 1e-6


def carry_bounds(view: IntruderView, step: MaskStep, name: str) -> Belief:
    """What is left of an attribute after a step, by bounds on what each record held before it (`MaskStep.move_bounds`).

    Where the step says nothing of bounds, or there are none, nothing is concluded of the attribute any more. A law of ranks is
    kept beside the bounds, spread by the step (`MaskStep.spread_ranks`).
    """
    bounds = find_bounds(view, name)
    moved = None if bounds is None else step.move_bounds(view, bounds)
    if bounds is None or moved is None:
        return view.knowledge.forget((name,))
    laws = [law for law in view.knowledge.likelihoods if law.begins is not None and law.names == (name,)]
    first = None if laws else _law_of_noisy_ranks(view, name) or create_law_of_bounded_ranks(view, bounds)
    spread = [step.spread_ranks(view, law) for law in (laws if first is None else [first])]
    rest = view.knowledge.drop_attributes((name,))
    return replace(
        rest,
        between=(*rest.between, InInterval(name, moved.low, moved.high)),
        bounds=(*rest.bounds, moved),
        likelihoods=(*rest.likelihoods, *(law for law in spread if law is not None)),
    )


def follow_blocks(law: DiscreteLikelihood, kernel: Floats) -> DiscreteLikelihood:
    """The law of ranks after one more step: kernel[a, c] is the chance that what stands in block a then stands in block c."""
    probability, b = law.probability.copy(), len(kernel)
    probability[:b, :b] = np.maximum(probability[:b, :b] @ kernel, LEAST)
    return replace(law, probability=probability)


def _law_of_noisy_ranks(view: IntruderView, name: str) -> DiscreteLikelihood | None:
    """What the noise on an attribute says of ranks, once its law of values is lost; None: there is none, or several.

    Of factors the logarithms are ranked, so that all values have to be positive.
    """
    part = next((part for part in view.knowledge.blurred if name in part.names), None)
    if part is None or len(part.covariance) > 1 or not view.knowledge.complete:
        return None
    j, shown = part.names.index(name), view.released.positions(view.schema[name])
    own, spread = part.centre[:, j], float(np.sqrt(part.covariance[0, j, j]))
    column = np.sort(own[~np.isnan(own)])
    positive = not part.factors or bool((view.knowledge.believed.positions(view.schema[name])[~np.isnan(own)] > 0).all())
    if len(column) < 2 or spread == 0 or not positive:
        return None
    return _create_rank_law(name, own, shown, blur_ranks(column, find_block_starts(column, MOST_BLOCKS), spread))


def create_law_of_bounded_ranks(view: IntruderView, bounds: ValueBounds) -> DiscreteLikelihood | None:
    """That a value stands at any of the ranks that its bounds leave, as after random rounding or a swap; None: they leave all.

    Each rank counts as equally probable, and the records of one block have the ranks of their average.
    """
    if bounds.lowest is None or not len(bounds.lowest) or view.knowledge.is_certain((bounds.name,)):
        return None
    first, last = bounds.find_ranks()
    there, shown = first >= 0, view.released.positions(view.schema[bounds.name])
    if not there.any() or (last - first)[there].mean() > _MOST_RANKS * len(bounds.lowest):
        return None
    # at its rank among all that lie so: a column of many equal bounds, as after rounding, has few blocks
    own = np.where(there, np.clip(find_believed_positions(view, bounds), bounds.low, bounds.high), np.nan)
    begins = find_block_starts(np.sort(own[there]), MOST_BLOCKS)
    b, block = len(begins) - 1, code_by_rank(own, begins)
    n_records = np.maximum(np.bincount(block[there], minlength=b), 1)
    lows, highs = (np.bincount(block[there], weights=ends[there], minlength=b) / n_records for ends in (first, last + 1.0))
    return _create_rank_law(bounds.name, own, shown, spread_over_ranks(lows, highs, begins))


def find_believed_positions(view: IntruderView, bounds: ValueBounds) -> Floats:
    """What each record was last known to hold, or the middle of its bounds where its values are classes by now."""
    try:
        own = view.knowledge.believed.positions(view.schema[bounds.name])
    except TypeError:
        return (bounds.low + bounds.high) / 2
    return np.where(np.isnan(own), (bounds.low + bounds.high) / 2, own)


def _create_rank_law(name: str, own: Floats, shown: Floats, kernel: Floats) -> DiscreteLikelihood:
    begins, b = find_block_starts(np.sort(own[~np.isnan(own)]), MOST_BLOCKS), len(kernel)
    probability = np.zeros((b + 2, b + 2))
    probability[:b, :b] = np.maximum(kernel, LEAST)
    probability[b, b] = 1.0
    return DiscreteLikelihood((name,), code_by_rank(own, begins), code_by_rank(shown, begins), probability, begins=begins)


def find_bounds(view: IntruderView, name: str) -> ValueBounds | None:
    """What each record can hold before the step; None: nothing is known, or the values have no order."""
    knowledge = view.knowledge
    found = next((bounds for bounds in knowledge.bounds if bounds.name == name), None)
    part = next((part for part in knowledge.shown if name in part.names), None)
    if found is not None or part is None or view.schema[name].scale in CATEGORICAL:
        return found
    try:
        own = knowledge.believed.positions(view.schema[name])
    except TypeError:  # classes that a step has made of values
        return None
    column = np.sort(own[~np.isnan(own)]) if knowledge.complete else None
    low, high = own, own
    if part.twins is not None:
        n_twins, missing = int(part.twins.max(initial=-1)) + 1, np.isnan(own)
        lowest, highest = np.full(n_twins, np.inf), np.full(n_twins, -np.inf)
        np.minimum.at(lowest, part.twins[~missing], own[~missing])
        np.maximum.at(highest, part.twins[~missing], own[~missing])
        low, high = (np.where(missing, np.nan, ends[part.twins]) for ends in (lowest, highest))
    return ValueBounds(name, low, high, column, column)


def find_released_column(view: IntruderView, bounds: ValueBounds) -> Floats | None:
    """The column's values, ascending, where no later step masks the attribute and all of its values are released."""
    masked_later = any(bounds.name in step.target_attributes for step in view.later)
    if masked_later or bounds.lowest is None or not view.all_released:
        return None
    shown = view.released.positions(view.schema[bounds.name])
    column = np.sort(shown[~np.isnan(shown)])
    return column if len(column) == len(bounds.lowest) else None


def count_deviations(view: IntruderView) -> float:
    """Beyond how many standard deviations no number of a noise step lies, but with a chance of `ERRING` for all cells."""
    cells = max(view.table.n, view.released.n, 1) * max(len(view.released.names), 1)
    return float(-ndtri(ERRING / (2 * cells)))
