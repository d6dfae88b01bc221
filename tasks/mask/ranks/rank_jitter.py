"""Rank jitter: in each attribute alone, ranks are shaken and the values handed out by the new order; nothing is paired."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import Literal, Self

import numpy as np

from tasks.mask.carrying import follow_blocks
from tasks.mask.intruder_belief import Belief, DiscreteLikelihood
from tasks.mask.mask_text import MaskText
from tasks.mask.rank_law import LEAST, MOST_BLOCKS, code_by_rank, find_block_starts
from tasks.mask.ranks.by_rank import (
    KEPT_COLUMNS,
    check_window,
    get_window_bound,
    infer_rank_intervals,
    move_bounds_by_ranks,
    permute_by_rank,
    ranks_in,
)
from tasks.mask.ranks.jitter_distribution import compute_displacement_distribution
from tasks.mask.shared_advice import JOINTLY, Fields, begin_sentence, suggest_distance
from tasks.mask.step import Description, IntruderView, MaskContext, MaskingMethod, Randomness
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.numbers import SPACE, number
from tasks.microdata.schema import Scale, Schema
from tasks.microdata.spec import Percent, Public
from tasks.microdata.table import Floats, Integers, Microdata
from tasks.microdata.words import join_with_and


class RankJitter(MaskingMethod):
    """Parameters of rank jitter.

    attributes: what is masked; default: the quasi-identifiers that are numeric, ordinal, dates or times.
    window_percent: how far a rank is shaken up or down, in percent of the number of present values; a value may move nearly
        twice as far.
    """

    method: Public[Literal["rank_jitter"]]
    window_percent: Public[Percent]

    @property
    def moves_values(self) -> bool:
        return True

    @property
    def rule(self) -> str:
        return (
            f"rank jitter of {join_with_and(self.target_attributes)}, ranks shaken by up to "
            f"{self.window_percent:g} percent of the ranks"
        )

    @property
    def no_attack_reason(self) -> None:
        return None

    @property
    def randomness(self) -> Randomness:
        return "by_rank"

    @property
    def is_rule_for_values(self) -> bool:
        return False

    @classmethod
    def description(cls) -> Description:
        return DESCRIPTION

    def apply(self, context: MaskContext) -> Microdata:
        return jitter(context, self)

    def infer(self, view: IntruderView) -> Belief:
        return infer(view, self)

    def move_bounds(self, view: IntruderView, bounds: ValueBounds) -> ValueBounds | None:
        window = get_window_bound(view, self.window_percent)
        return move_bounds_by_ranks(view, bounds, lambda n: compute_longest_displacement(window, n))

    def spread_ranks(self, view: IntruderView, law: DiscreteLikelihood) -> DiscreteLikelihood | None:
        if law.begins is None or view.window_at_most is not None:
            return None
        return follow_blocks(
            law, compute_displacement_distribution(half_width(self.window_percent, int(law.begins[-1])), law.begins)
        )

    def describe(self, schema: Schema) -> MaskText:
        return describe_rank_jitter(self)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        return (cls(method="rank_jitter", attributes=("age", "size"), window_percent=10.0),)

    @classmethod
    def suggest_stronger(cls, fields: Fields, named: str, line: Fields) -> Iterator[str]:
        yield f"{begin_sentence(suggest_distance(fields, named))}, or {JOINTLY}."

    @classmethod
    def suggest_weaker(cls, fields: Fields, named: str) -> Iterator[str]:
        yield suggest_distance(fields, named, back=True)


_MOST_IN_STRATA = 1024

SCALES = (Scale.NUMERIC, Scale.DATE, Scale.TIME, Scale.ORDINAL)
DESCRIPTION = Description(
    method="rank_jitter",
    what_it_does="shakes the ranks and hands out the values by the new order, in each attribute alone; no pairs are exchanged",
    scales=SCALES,
    parameters="window_percent (how far a rank is shaken, in percent of the ranks), attributes, by",
    intruder="knows by how many ranks values move: hardly ever by more than the window. They weigh each row by that in all "
    "attributes together, and all records against each other; many attributes leave few rows",
    answered_by=("transparency",),
)


def jitter(site: MaskContext, spec: RankJitter) -> Microdata:
    """Shake the ranks by uniform noise and hand out the sorted values by the new order.

    Meaning: the column keeps exactly its values, and somebody who has which is blurred; unlike a swap it does not exchange
    pairs, so that who finds one record's image has not found a second one. That does not make it safe: see below.
    Formula in words: sort the n present values (equal ones in random order); to rank i add a number drawn from U(-w, w),
    w = window_percent * n / 100; the record whose sum is the j-th smallest receives the value of rank j; undo the sorting.
    Attributes are shaken independently. Missing values stay missing.
    Bound: no value moves by more than `furthest(window_percent, n)` = ceil(2 w) - 1 ranks. A record rises by the number of
    records above it that fall below it, less the number of those below it that rise above it. One that began d >= 2 w ranks
    above rank i has a sum of at least i + d - w >= i + w and stays above (equal sums keep their order), so only those with
    d < 2 w can fall below: at most ceil(2 w) - 1 of them; falling is the mirror image. Rounding sums to floats keeps their
    order. The bound is sharp: with positive chance rank i goes to nearly i + w, the next ceil(2 w) - 1 each nearly w down.

    Parameters
    ----------
    site: a table whose columns include the step's attributes. spec: with its attributes resolved.

    Returns the table with those columns replaced; each is a permutation of the source's within the bound.

    Raises InputError if the window is under one rank, for a constant column, an infinite value, or a text without order.
    Cost: O(n log n) per attribute.
    Source: none published. It was made to answer the consistency attack on rank swapping, which does not apply to it. That
    makes it no safe mask: the transparency attack by the law of the displacements finds 99.9 percent of the Census file by 13
    attributes at a window of 9 percent, 97 at 19, and 55 at 34 (`benchmarks/rank_jitter.py`). Reverse mapping of joint
    microaggregation (`reverse_mapping`) keeps the columns' values as well, and for the same loss hides far more.
    Example: window_percent = 50 of 2 values: sums of U(-1, 1) and 1 + U(-1, 1): they change places with chance 1/8.
    """

    def assign_ranks(name: str, n: int, rng: np.random.Generator) -> Integers:
        check_window("window_percent", spec.window_percent, name, n, site.where)
        return jitter_ranks(half_width(spec.window_percent, n), rng.random(n))

    return permute_by_rank(site, spec.target_attributes, assign_ranks)


def jitter_ranks(width: float, uniforms: Floats) -> Integers:
    """Shape (n,): the rank whose value each rank receives; uniforms: shape (n,), in [0, 1). width: w, in ranks."""
    n = len(uniforms)
    sums = np.arange(n) + width * (2 * uniforms - 1)
    received = np.empty(n, dtype=np.int64)
    received[np.argsort(sums, kind="stable")] = np.arange(n)  # stable: the bound needs ties of sums in the original order
    return received


def half_width(window_percent: float, n: int) -> float:
    """w = window_percent * n / 100, in ranks, not rounded to whole ones."""
    return float(ranks_in(window_percent, n))


def compute_longest_displacement(window_percent: float, n: int) -> int:
    """How many ranks a value moves at the most: the largest whole number under 2 w."""
    return ceil(2 * half_width(window_percent, n)) - 1


def infer(view: IntruderView, spec: RankJitter) -> Belief:
    """What the step lets an intruder conclude who knows it.

    For sure: `infer_rank_intervals`, the reach being `compute_longest_displacement`. Beyond that the law of how many ranks
    values move, `compute_displacement_distribution`, between blocks of ranks. Blocks are the column's distinct values, or
    neighbours of them together where there are more than 512 (in strata: 1,024 in all); equal values are in random order, so
    that one of them has any of their ranks. The column is the released one or the one they hold, whichever is fuller: where
    records were left out the law is an approximation. Who has only a bound on the window knows no law.
    """
    window = get_window_bound(view, spec.window_percent)
    knowledge = infer_rank_intervals(view, spec, lambda n: compute_longest_displacement(window, n))
    if view.window_at_most is not None:
        return knowledge
    carried = {part.name for part in knowledge.bounds}
    bounded = {part.name for part in knowledge.between} - carried
    likelihoods = [_infer_likelihood(view, knowledge, spec, name) for name in spec.target_attributes if name in bounded]
    for name in spec.target_attributes:
        if name in carried and view.knowledge.complete and view.knowledge.is_certain((name,)):
            likelihoods.append(_infer_rank_likelihood(view, spec, name))
    return replace(knowledge, likelihoods=(*knowledge.likelihoods, *likelihoods))


def _infer_rank_likelihood(view: IntruderView, spec: RankJitter, name: str) -> DiscreteLikelihood:
    """The law where later steps mask the attribute again: released rows stand in the block of their rank (`code_by_rank`)."""
    law = _infer_likelihood(view, view.knowledge, spec, name)
    own, shown = (table.positions(view.schema[name]) for table in (view.knowledge.believed, view.released))
    column = np.sort(own[~np.isnan(own)])
    begins = find_block_starts(column, _count_blocks(view))
    return replace(law, own=_find_rank_block(own, column, begins), shown=code_by_rank(shown, begins), begins=begins)


def _infer_likelihood(view: IntruderView, knowledge: Belief, spec: RankJitter, name: str) -> DiscreteLikelihood:
    attribute = view.schema[name]
    columns = [table.positions(attribute) for table in (knowledge.believed, view.released)]
    values = [column[~np.isnan(column)] for column in columns]
    column = np.sort(max(values, key=len))
    begins = find_block_starts(column, _count_blocks(view))
    b = len(begins) - 1
    probability = np.zeros((b + 2, b + 2))
    if b:
        probability[:b, :b] = np.maximum(
            compute_displacement_distribution(half_width(spec.window_percent, len(column)), begins), LEAST
        )
    probability[b, b] = 1.0
    own, shown = (_find_rank_block(positions, column, begins) for positions in columns)
    return DiscreteLikelihood((name,), own, shown, probability)


def _count_blocks(view: IntruderView) -> int:
    return min(MOST_BLOCKS, max(_MOST_IN_STRATA * view.originals.n // max(view.table.n, 1), 1))


def _find_rank_block(positions: Floats, column: Floats, begins: Integers) -> Integers:
    """The block of each value; b for none, b + 1 for a value that is not in the column."""
    b, missing = len(begins) - 1, np.isnan(positions)
    first = np.searchsorted(column, np.where(missing, -np.inf, positions), side="left")
    there = np.append(column, np.nan)[first] == positions
    block = np.searchsorted(begins, first, side="right") - 1
    return np.where(missing, b, np.where(there, block, b + 1))


RESIDUAL_RISK_TEXT = (
    "Rank jitter exchanges no pairs, so that the consistency attack on rank swapping does not apply. That does not make it "
    "safe: ranks hardly ever move by more than the window, and somebody who knows it and several attributes weighs each row by "
    "how probable all its displacements are together"
)


def describe_rank_jitter(step: RankJitter) -> MaskText:
    window = f"{number(step.window_percent)}{SPACE}%"
    apart = ", each attribute by itself," if len(step.target_attributes) > 1 else ","
    return MaskText(
        title=f"Rank jitter, window {window}",
        text=f"In {join_with_and(step.target_attributes)}{apart} the ranks of the values were shifted at random by "
        f"up to {window} of the number "
        f"of records, up or down, and the values were handed out by the new order{_describe_displacement_bound(step)}. "
        "Each column keeps exactly its values; which record holds which value is blurred.",
        missing="Rank jitter moves present values only among the records that have one; records without a value take no part.",
        attribute=lambda _: f"handed out anew by ranks that were shifted by up to {window}",
        analysts=KEPT_COLUMNS,
    )


def _describe_displacement_bound(step: RankJitter) -> str:
    twice = 2 * step.window_percent
    return f", so that none moved by as much as {number(twice)}{SPACE}% of the ranks" if twice < 100 else ""
