"""PRAM in words."""

from __future__ import annotations

from tasks.mask.categories.pram import Pram
from tasks.microdata.words import listed
from tasks.report.masks.told import Told
from tasks.report.numbers import number


def told(step: Pram) -> Told:
    return Told(
        title=_title(step),
        text=f"In {listed(step.masked)}, every cell by itself was drawn anew among its categories: {_rule(step)}. "
        f"{_correction(step)}; a single cell may be true or not.",
        missing="PRAM draws present values anew; a gap stays a gap, so that it is certain who gave no answer.",
        attribute=lambda _: f"randomised: {_rule(step)}",
    )


def matrix_in_words(step: Pram) -> str:
    """A stated matrix by its size: which categories it is over, and their chances, are not for the public."""
    return f"a matrix of {len(step.matrix or ())} categories"


def _title(step: Pram) -> str:
    if step.retention is not None:
        return f"PRAM, values kept with probability {number(step.retention)}"
    if step.epsilon is not None:
        return f"PRAM, randomised response with epsilon {number(step.epsilon)}"
    return f"PRAM by {matrix_in_words(step)}"


def _rule(step: Pram) -> str:
    return step.law if step.matrix is None else f"each value drawn by {matrix_in_words(step)}"


def _correction(step: Pram) -> str:
    if step.matrix is None:
        return "Whoever knows this rule can correct how often a category occurs"
    held_back = "The chances in the matrix are not published, as they could tell what is not released"
    return f"{held_back}; who has them can correct how often a category occurs"
