"""How much speaks for each possible image of a record: what the posterior and the matching of all records share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.attack.transparency.intersection import (
    Conditions,
    concatenate_lists,
    evidence_by_row,
    groups_of,
    write_images,
)
from tasks.attack.transparency.likelihood import rule_out, weigh
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers


class ImageScores(NamedTuple):
    """The conditions as compiled functions take them, the c distinct rows in the order in which they are looked up.

    evidence: shape (c,): log q of each row, 0 without laws. sizes: shape (c,). place: shape (c,): where each row stands here.
    rows: shape (c,): the row at each place. The rest as in `Conditions` and its laws.
    """

    begins: Integers
    ends: Integers
    allowed: Integers
    shown: Integers
    low: Floats
    high: Floats
    positions: Floats
    log_probability: Floats
    own_at: Integers
    shown_at: Integers
    own_places: Floats
    shown_places: Floats
    group_starts: Integers
    sizes: Integers
    evidence: Floats
    rows: Integers
    place: Integers


MISSING = dict.fromkeys(("whole.low", "whole.high", "whole.positions"), "a missing value, which `write_images` asks for")
UNBOUNDED = {
    **dict.fromkeys(("whole.low", "whole.high"), "an interval without an end: `write_images` only compares with it"),
    "whole.log_probability": "-inf is what cannot be shown: `rule_out` only compares, and drops such rows",
    "whole.evidence": "-inf is a row that is nobody's, and so among nobody's images",
}


def score_images(conditions: Conditions) -> ImageScores:
    """Put the conditions in order, and sum what speaks for each row over all records."""
    starts, rows = groups_of(conditions)
    laws = conditions.laws
    whole = ImageScores(
        *concatenate_lists(conditions),
        np.ascontiguousarray(conditions.shown[:, rows]),
        conditions.low,
        conditions.high,
        conditions.positions[rows],
        laws.log_probability,
        laws.own_at,
        np.ascontiguousarray(laws.shown_at[rows]),
        laws.own_places,
        np.ascontiguousarray(laws.shown_places[rows]),
        starts,
        conditions.sizes[rows],
        np.zeros(len(rows)),
        rows,
        np.argsort(rows),
    )
    return whole._replace(evidence=_evidence(whole, laws.records)) if laws.any else whole


def _evidence(whole: ImageScores, records: Floats) -> Floats:
    return evidence_by_row(*whole[:12], records, whole.group_starts)


@njit
def images_of(i: int, whole: ImageScores, possible: Integers, scores: Floats) -> int:
    """Write the places of the possible images of a distinct record, and log P / q of each; returns how many they are."""
    begins, ends = whole.begins[:, i], whole.ends[:, i]
    n = write_images(
        begins, ends, whole.allowed, whole.shown, whole.low[i], whole.high[i], whole.positions, whole.group_starts, possible
    )
    own_at, own_place = whole.own_at[i], whole.own_places[i]
    n = rule_out(whole.log_probability, own_at, whole.shown_at, own_place, whole.shown_places, possible, n, scores)
    weigh(scores, whole.evidence, possible[:n])
    return n
