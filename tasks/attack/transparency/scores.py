"""How much speaks for each possible image of a record: what the links, the posterior and the matching of all records share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.attack.transparency.estimated_evidence import (
    BOUND,
    EXACT,
    estimate_remaining,
    estimate_rows,
    is_estimated,
    set_prices,
)
from tasks.attack.transparency.image_trees import (
    SearchedPlaces,
    arrange_nothing,
    arrange_rows,
    keep_best,
    write_images_in_reach,
)
from tasks.attack.transparency.intersection import (
    ArrangedConditions,
    Conditions,
    arrange_conditions,
    write_likely_images,
)
from tasks.attack.transparency.likelihood import weigh
from tasks.attack.transparency.row_evidence import sum_evidence
from tasks.microdata.compiled import njit
from tasks.microdata.table import Booleans, Floats, Integers


class ImageScores(NamedTuple):
    """The conditions as compiled functions take them, and what is known of the c distinct rows in their order.

    evidence: shape (c,): log q of each row, 0 without laws. levels: shape (c,): how well it is known (`estimated_evidence`).
    sizes: shape (c,). position: shape (c,): where each row stands here. rows: shape (c,): the row at each place. places: the
    rows as they are searched where noise was added; else empty.
    """

    conditions: ArrangedConditions
    sizes: Integers
    evidence: Floats
    levels: Integers
    rows: Integers
    position: Integers
    places: SearchedPlaces


_POSITIONS = ("whole.conditions.low", "whole.conditions.high", "whole.conditions.positions")
_BOXES = ("whole.places.tree.low", "whole.places.tree.high")
_PRICES = ("whole.evidence", "whole.places.price", "whole.places.least")
MISSING = {
    **dict.fromkeys(_POSITIONS, "a missing value, which `write_images` asks for"),
    "whole.places.tree.rows": "a missing value: the nodes say whether they have one",
}
UNBOUNDED = {
    **dict.fromkeys(_POSITIONS[:2], "an interval without an end: `write_images` only compares with it"),
    **dict.fromkeys(_BOXES, "a box without numbers, which is only compared with"),
    **dict.fromkeys(_PRICES, "infinite is a row that is nobody's, and so among nobody's images"),
    "whole.conditions.log_probability": "-inf is what cannot be shown: `rule_out` only compares, and drops such rows",
}


def score_images(conditions: Conditions, *, without_laws: bool = False, searching: Booleans | None = None) -> ImageScores:
    """Put the conditions in order, and sum what speaks for each row over all records.

    without_laws: also where no law is known, by the number of records that can show the row. searching: shape (r,), the
    records whose likeliest images are wanted; default: all that is asked of the rows must hold for every row.
    Of more than 30,000 records the sums are estimated with noise, or with laws and intervals (`estimated_evidence`).
    """
    arranged, rows = arrange_conditions(conditions)
    sizes, position = conditions.sizes[rows], np.empty_like(rows)
    position[rows] = np.arange(len(rows))
    records = conditions.likelihoods.records
    if is_estimated(arranged, records):
        wanted = np.zeros(len(records), dtype=bool) if searching is None else searching
        evidence, levels, places = estimate_rows(arranged, records, wanted)
        whole = ImageScores(arranged, sizes, evidence, levels, rows, position, places)
        return complete_scores(whole, records) if searching is None else whole
    is_weighed = without_laws or conditions.likelihoods.any
    evidence = sum_evidence(conditions, arranged, rows) if is_weighed else np.zeros(len(rows))
    places = arrange_rows(arranged, evidence) if arranged.own_coordinates.shape[1] else arrange_nothing()
    return ImageScores(arranged, sizes, evidence, np.full(len(rows), EXACT), rows, position, places)


def complete_scores(whole: ImageScores, records: Floats) -> ImageScores:
    """The same with an estimate for each row of which there was but a bound. records: shape (r,), how many of each kind."""
    if (whole.levels > BOUND).all():
        return whole
    evidence, levels = estimate_remaining(whole.conditions, records, whole.evidence, whole.levels, whole.places.tree.records)
    return whole._replace(evidence=evidence, levels=levels, places=set_prices(whole.places, evidence))


@njit
def find_images(i: int, whole: ImageScores, possible: Integers, scores: Floats) -> int:
    """Write the places of the possible images of a distinct record, and log P / q of each; returns how many they are."""
    n = write_likely_images(i, whole.conditions, possible, scores)
    weigh(scores, whole.evidence, possible[:n])
    return n


@njit
def find_likely_images(i: int, whole: ImageScores, reach: float, possible: Integers, scores: Floats) -> int:
    """`find_images` of those whose log P / q is at least the largest less `reach`, in no order."""
    if len(whole.places.least):
        return write_images_in_reach(i, whole.conditions, whole.places, reach, possible, scores)
    n = write_likely_images(i, whole.conditions, possible, scores)
    return keep_best(possible, scores, n, weigh(scores, whole.evidence, possible[:n]) - reach)
