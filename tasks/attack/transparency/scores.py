"""How much speaks for each possible image of a record: what the posterior and the matching of all records share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.attack.transparency.intersection import (
    ArrangedConditions,
    Conditions,
    arrange_conditions,
    sum_evidence,
    write_likely_images,
)
from tasks.attack.transparency.likelihood import weigh
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers


class ImageScores(NamedTuple):
    """The conditions as compiled functions take them, and what is known of the c distinct rows in their order.

    evidence: shape (c,): log q of each row, 0 without laws. sizes: shape (c,). position: shape (c,): where each row stands
    here.
    rows: shape (c,): the row at each place.
    """

    conditions: ArrangedConditions
    sizes: Integers
    evidence: Floats
    rows: Integers
    position: Integers


_POSITIONS = ("whole.conditions.low", "whole.conditions.high", "whole.conditions.positions")
MISSING = dict.fromkeys(_POSITIONS, "a missing value, which `write_images` asks for")
UNBOUNDED = {
    **dict.fromkeys(_POSITIONS[:2], "an interval without an end: `write_images` only compares with it"),
    "whole.conditions.log_probability": "-inf is what cannot be shown: `rule_out` only compares, and drops such rows",
    "whole.evidence": "-inf is a row that is nobody's, and so among nobody's images",
}


def score_images(conditions: Conditions) -> ImageScores:
    """Put the conditions in order, and sum what speaks for each row over all records."""
    arranged, rows = arrange_conditions(conditions)
    evidence = sum_evidence(conditions.likelihoods, arranged)
    return ImageScores(arranged, conditions.sizes[rows], evidence, rows, np.argsort(rows))


@njit
def find_images(i: int, whole: ImageScores, possible: Integers, scores: Floats) -> int:
    """Write the places of the possible images of a distinct record, and log P / q of each; returns how many they are."""
    n = write_likely_images(i, whole.conditions, possible, scores)
    weigh(scores, whole.evidence, possible[:n])
    return n
