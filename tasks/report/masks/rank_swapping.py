"""Rank swapping in words."""

from __future__ import annotations

from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.words import join_with_and
from tasks.report.masks.mask_text import MaskText
from tasks.report.wording.numbers import SPACE, number

ANALYSTS = (
    "Statistics of one such attribute alone (mean, variance, quantiles, frequencies of its values) are exactly what "
    "they were before this step and need no correction, unless they are taken within a group of records.",
    "Its relations with other attributes (correlations, regressions, tables, statistics of groups) are weakened, mostly "
    "towards no relation; the release does not tell by how much, and no general correction is offered.",
)
KNOWN_LIMIT = (
    "Rank swapping exchanges pairs of values: a known limit of the method, in all its variants. If one record's released row "
    "is found, so is that of each person with whom it changed places. Somebody who knows all records and a few swapped "
    "attributes of which most values occur once can find nearly every record, however far the values moved"
)


def describe_rank_swapping(step: RankSwapping) -> MaskText:
    apart = ", each attribute by itself," if len(step.target_attributes) > 1 else ","
    return MaskText(
        title=f"Rank swapping, {_parameter(step)}",
        text=f"In {join_with_and(step.target_attributes)}{apart} {_describe_exchange(step)}. Each column keeps exactly "
        "its values; which record holds which value is blurred.",
        missing="Rank swapping exchanges present values only with present ones; records without a value take no part.",
        attribute=lambda _: _phrase(step),
        analysts=ANALYSTS,
    )


def _parameter(step: RankSwapping) -> str:
    if step.buckets is not None:
        return f"{step.buckets} buckets"
    if step.p_percent is not None:
        return f"normal distances, p {_percent(step.p_percent)}"
    return f"window {_percent(step.window_percent or 0.0)}"


def _describe_exchange(step: RankSwapping) -> str:
    if step.buckets is not None:
        return (
            f"the values were put in order and cut into {step.buckets} buckets of equal size, and values were exchanged "
            "between records of the same bucket or of two buckets, each next bucket half as often; a few values moved far"
        )
    if step.p_percent is not None:
        return (
            "values were exchanged between records whose ranks differ by a random number, drawn from a normal distribution "
            f"around {_percent(step.p_percent / 2)} of the number of records, with a standard deviation as large; a few values "
            "moved further than that"
        )
    return (
        "values were exchanged between records whose ranks differ by at most "
        f"{_percent(step.window_percent or 0.0)} of the number of records"
    )


def _phrase(step: RankSwapping) -> str:
    if step.buckets is not None:
        return f"exchanged within and between {step.buckets} buckets of ranks"
    if step.p_percent is not None:
        return f"exchanged over about {_percent(step.p_percent / 2)} of the ranks"
    return f"exchanged within {_percent(step.window_percent or 0.0)} of the ranks"


def _percent(percent: float) -> str:
    return f"{number(percent)}{SPACE}%"
