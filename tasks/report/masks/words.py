"""The masking steps of a release in words: one file for each method, and the door to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from tasks.mask.categories.pram import Pram
from tasks.mask.coding.recoding import Recoding
from tasks.mask.coding.rounding import Rounding
from tasks.mask.coding.top_bottom_coding import TopBottomCoding
from tasks.mask.elsewhere.released import Synthetic, Undeclared
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Mechanism
from tasks.mask.noise.noise import Noise
from tasks.mask.pseudonyms import Pseudonyms
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.ranks.reverse_mapping import ReverseMapping
from tasks.mask.sampling import Sampling
from tasks.microdata.schema import Schema
from tasks.microdata.words import join_with_and
from tasks.report.masks import (
    coding,
    microaggregation,
    noise,
    pram,
    pseudonyms,
    rank_jitter,
    rank_swapping,
    reverse_mapping,
    sampling,
)
from tasks.report.masks.told import Told


def told(step: Mechanism, schema: Schema) -> Told:
    """One masking step in words."""
    whole = _told(step, schema)
    if step.by is None or isinstance(step, Sampling):
        return whole
    strata = f"This was done within each combination of values of {join_with_and(step.by)} by itself."
    return replace(whole, title=f"{whole.title}, by {join_with_and(step.by)}", text=f"{whole.text} {strata}")


def for_analysts(steps: Iterable[Mechanism], schema: Schema) -> tuple[tuple[str, str], ...]:
    """How an analysis can correct for the steps: the attributes of each, and what is to be done; each piece of advice once."""
    advice = (
        (join_with_and(step.target_attributes) or "The whole table", " ".join(told(step, schema).analysts)) for step in steps
    )
    return tuple(dict.fromkeys((whose, sentences) for whose, sentences in advice if sentences))


def _told(step: Mechanism, schema: Schema) -> Told:
    match step:
        case Microaggregation():
            return microaggregation.told(step, schema)
        case RankSwapping():
            return rank_swapping.told(step)
        case RankJitter():
            return rank_jitter.told(step)
        case ReverseMapping():
            return reverse_mapping.told(step)
        case Pram():
            return pram.told(step)
        case Noise():
            return noise.told(step)
        case TopBottomCoding():
            return coding.told_coding(step)
        case Rounding():
            return coding.told_rounding(step)
        case Recoding():
            return coding.told_recoding(step)
        case Sampling():
            return sampling.told(step, schema)
        case Pseudonyms():
            return pseudonyms.told(step)
        case Undeclared():
            return _elsewhere(step)
        case Synthetic():
            return _synthetic(step)
        case _:
            assert_never(step)


def _elsewhere(step: Undeclared) -> Told:
    return Told(
        title="Masked elsewhere, method not declared",
        text=f"{join_with_and(step.target_attributes)} had been masked before, elsewhere, by a method that nobody declared.",
        missing="The table was masked elsewhere: how missing values were treated there is not known.",
        attribute=lambda _: "masked elsewhere; the method was not declared",
    )


def _synthetic(step: Synthetic) -> Told:
    return Told(
        title="Fully synthetic, made elsewhere",
        text=f"The rows are made up: {join_with_and(step.target_attributes)} were written into rows that belong to "
        "nobody, elsewhere, by a "
        "method that is not known here.",
        missing="The rows belong to nobody: a gap in one says nothing of a person, and how gaps were made is not known.",
        attribute=lambda _: "synthetic, in rows that belong to nobody",
        analysts=(
            "Estimates from synthetic rows have the error of the synthesis beside that of sampling; a standard error that is "
            "computed as for a sample leaves the first out.",
        ),
    )
