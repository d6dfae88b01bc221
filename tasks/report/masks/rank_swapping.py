"""Rank swapping in words."""

from __future__ import annotations

from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.words import listed
from tasks.report.masks.told import Told
from tasks.report.numbers import SPACE, number


def told(step: RankSwapping) -> Told:
    window = f"{number(step.window_percent)}{SPACE}%"
    apart = ", each attribute by itself," if len(step.masked) > 1 else ","
    return Told(
        title=f"Rank swapping, window {window}",
        text=f"In {listed(step.masked)}{apart} values were exchanged between records whose ranks "
        f"differ by at most {window} of the number of records. Each column keeps exactly "
        "its values; which record holds which value is blurred.",
        missing="Rank swapping exchanges present values only with present ones; records without a value take no part.",
        attribute=lambda _: f"exchanged within {window} of the ranks",
    )
