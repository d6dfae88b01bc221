"""The masking steps of a release in words: one file for each method, and the door to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from tasks.mask.categories.pram import Pram
from tasks.mask.coding.recoding import Recoding
from tasks.mask.coding.rounding import Rounding
from tasks.mask.coding.top_bottom_coding import TopBottomCoding
from tasks.mask.external_release.released import Synthetic, Undeclared
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
from tasks.report.masks.mask_text import MaskText


def describe_mask(step: Mechanism, schema: Schema) -> MaskText:
    """One masking step in words."""
    whole = _describe_method(step, schema)
    if step.by is None or isinstance(step, Sampling):
        return whole
    strata = f"This was done within each combination of values of {join_with_and(step.by)} by itself."
    return replace(whole, title=f"{whole.title}, by {join_with_and(step.by)}", text=f"{whole.text} {strata}")


def for_analysts(steps: Iterable[Mechanism], schema: Schema) -> tuple[tuple[str, str], ...]:
    """How an analysis can correct for the steps: the attributes of each, and what is to be done; each piece of advice once."""
    advice = (
        (join_with_and(step.target_attributes) or "The whole table", " ".join(describe_mask(step, schema).analysts))
        for step in steps
    )
    return tuple(dict.fromkeys((whose, sentences) for whose, sentences in advice if sentences))


def _describe_method(step: Mechanism, schema: Schema) -> MaskText:
    match step:
        case Microaggregation():
            return microaggregation.describe_microaggregation(step, schema)
        case RankSwapping():
            return rank_swapping.describe_rank_swapping(step)
        case RankJitter():
            return rank_jitter.describe_rank_jitter(step)
        case ReverseMapping():
            return reverse_mapping.describe_reverse_mapping(step)
        case Pram():
            return pram.describe_pram(step)
        case Noise():
            return noise.describe_noise(step)
        case TopBottomCoding():
            return coding.describe_coding(step)
        case Rounding():
            return coding.describe_rounding(step)
        case Recoding():
            return coding.describe_recoding(step)
        case Sampling():
            return sampling.describe_sampling(step, schema)
        case Pseudonyms():
            return pseudonyms.describe_pseudonyms(step)
        case Undeclared():
            return _describe_undeclared(step)
        case Synthetic():
            return _synthetic(step)
        case _:
            assert_never(step)


def _describe_undeclared(step: Undeclared) -> MaskText:
    return MaskText(
        title="Masked elsewhere, method not declared",
        text=f"{join_with_and(step.target_attributes)} had been masked before, elsewhere, by a method that nobody declared.",
        missing="The table was masked elsewhere: how missing values were treated there is not known.",
        attribute=lambda _: "masked elsewhere; the method was not declared",
    )


def _synthetic(step: Synthetic) -> MaskText:
    return MaskText(
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
