"""The masking steps of a release in words: one file for each method, and the door to them."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from tasks.mask.categories.pram import Pram
from tasks.mask.elsewhere.released import Undeclared
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Mechanism
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.schema import Schema
from tasks.microdata.words import listed
from tasks.report.masks import microaggregation, pram, rank_swapping
from tasks.report.masks.told import Told


def told(step: Mechanism, schema: Schema) -> Told:
    """One masking step in words."""
    whole = _told(step, schema)
    if step.by is None:
        return whole
    strata = f"This was done within each combination of values of {listed(step.by)} by itself."
    return replace(whole, title=f"{whole.title}, by {listed(step.by)}", text=f"{whole.text} {strata}")


def _told(step: Mechanism, schema: Schema) -> Told:
    match step:
        case Microaggregation():
            return microaggregation.told(step, schema)
        case RankSwapping():
            return rank_swapping.told(step)
        case Pram():
            return pram.told(step)
        case Undeclared():
            return _elsewhere(step)
        case _:
            assert_never(step)


def _elsewhere(step: Undeclared) -> Told:
    return Told(
        title="Masked elsewhere, method not declared",
        text=f"{listed(step.masked)} had been masked before, elsewhere, by a method that nobody declared.",
        missing="The table was masked elsewhere: how missing values were treated there is not known.",
        attribute=lambda _: "masked elsewhere; the method was not declared",
    )
