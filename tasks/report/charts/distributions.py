"""The chart of a masked attribute's distribution before and after.

What it may tell: the release's distribution is public with the release; the original's is not. The public edition shows at
least 10 records of the original behind each bar (and 10 released ones, or none, since a refused release is not public
either), pools the tails into open bars and rare categories into `all other`, takes round numbers for bounds and names only
what was released or has 10 records, and rounds shares so that no count can be told exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tasks.microdata.schema import CATEGORICAL, MEASURED, Attribute, Scale
from tasks.microdata.table import Floats, Integers, Microdata
from tasks.report.charts.bounds import bounds, format_bound, mark_text, places
from tasks.report.charts.editions import DrawingRule, compute_bar_share
from tasks.report.charts.pooling import Span, enough, pool_bars

MOST_CATEGORIES = 12
MOST_LEVELS = 24
OTHER = "all other"
ALL = "all values"
BarCounts = tuple[list[int], list[int]]  # before and after, by place


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what it holds, and its share of the original's and of the release's values.

    bound: what stands at its lower end on a measured scale, in short; empty for the first bar and elsewhere.
    """

    label: str
    original: float
    released: float
    bound: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionChart:
    """The values of one attribute before and after; without bars where there are too few.

    form: `bins` of a measured scale, `levels` of an ordinal one, or `categories`. The shares are of the values present.
    """

    attribute: str
    form: Literal["bins", "levels", "categories"]
    bars: tuple[Bar, ...]


def distribution(original: Microdata, released: Microdata, attribute: Attribute, rule: DrawingRule) -> DistributionChart:
    """The distribution of one published attribute; what the head of this file says of the public edition holds for `rule`.

    original: the whole source. released: all released rows, in any order. Cost: O(n log n).
    Example: an attribute with 9 values present has no bars in the public edition.
    """
    if attribute.scale in CATEGORICAL:
        bars = _categories(original.column(attribute.name), released.column(attribute.name), rule)
        return DistributionChart(attribute=attribute.name, form="categories", bars=_if_telling(bars))
    before, after = (_present(table.positions(attribute)) for table in (original, released))
    measured = attribute.scale in MEASURED
    whole = attribute.scale is Scale.NUMERIC and original.is_integer(attribute.name)
    draw = _bins if measured else _levels
    bars = draw(before, after, attribute, rule, whole) if len(before) and len(after) else ()
    return DistributionChart(attribute=attribute.name, form="bins" if measured else "levels", bars=_if_telling(bars))


def _if_telling(bars: tuple[Bar, ...]) -> tuple[Bar, ...]:
    """None where all values are pooled into one bar, which says nothing."""
    return () if len(bars) == 1 and bars[0].label in (OTHER, ALL) else bars


def _present(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _bins(before: Floats, after: Floats, attribute: Attribute, rule: DrawingRule, whole: bool) -> tuple[Bar, ...]:
    edges = bounds(np.concatenate([before, after]), attribute.scale, rule.bars, whole=whole)
    n_bars = len(edges) + 1
    counts = _count_places(places(before, edges), n_bars), _count_places(places(after, edges), n_bars)
    spans = pool_bars(*counts, rule.least)
    texts = [format_bound(edge, attribute.scale) for edge in edges]
    last = [format_bound(edge - 1, attribute.scale) for edge in edges]
    labels = [_bin_label(span, texts, last, whole) for span in spans]
    marks = [mark_text(edge, attribute.scale) for edge in edges]
    starts = ["" if first == 0 else marks[first - 1] for first, _ in spans]
    return _bars(labels, starts, spans, counts, rule)


def _bin_label(span: Span, texts: list[str], last: list[str], whole: bool) -> str:
    first, end = span
    if first == 0 and end > len(texts):
        return ALL
    if first == 0:
        return f"under {texts[end - 1]}"
    if end > len(texts):
        return f"{texts[first - 1]} and over"
    if whole:
        return texts[first - 1] if texts[first - 1] == last[end - 1] else f"{texts[first - 1]} to {last[end - 1]}"
    return f"{texts[first - 1]} to under {texts[end - 1]}"


def _levels(before: Floats, after: Floats, attribute: Attribute, rule: DrawingRule, whole: bool) -> tuple[Bar, ...]:
    """Codes or ordered texts: those that were released or have enough records are named, the others join the one below."""
    values, counted = np.unique(before, return_counts=True)
    named = np.union1d(after, values[counted >= rule.least])
    least = max(rule.least, len(before) // MOST_LEVELS if len(named) > MOST_LEVELS else 0)
    below = [np.maximum(np.searchsorted(named, column, side="right") - 1, 0) for column in (before, after)]
    counts = _count_places(below[0], len(named)), _count_places(below[1], len(named))
    spans = pool_bars(*counts, least)
    texts = [attribute.order[int(one)] if attribute.order else format_bound(one, attribute.scale) for one in named]
    labels = [_level_label(span, texts) for span in spans]
    return _bars(labels, [""] * len(labels), spans, counts, rule)


def _level_label(span: Span, texts: list[str]) -> str:
    first, last = span[0], span[1] - 1
    if first == last:
        return texts[first]
    if first == 0:
        return ALL if last == len(texts) - 1 else f"up to {texts[last]}"
    return f"from {texts[first]}" if last == len(texts) - 1 else f"{texts[first]} to {texts[last]}"


def _categories(before: pa.Array, after: pa.Array, rule: DrawingRule) -> tuple[Bar, ...]:
    """The most frequent categories with enough records; the rest is `other`, which takes in named ones until it has enough.

    The public edition names none that a mask took away: which ones were joined is not told (`Recode.public`).
    """
    if before.type != after.type:  # whole numbers that a mask made decimals
        before, after = (pc.cast(column, pa.float64(), safe=False) for column in (before, after))
    counts = [_count_categories(column) for column in (before, after)]
    pairs = {name: (counts[0].get(name, 0), counts[1].get(name, 0)) for name in counts[0] | counts[1]}
    ranked = sorted(pairs, key=lambda name: (-pairs[name][0], name))
    shown = [name for name in ranked if rule.exact or pairs[name][1] > 0]
    named = [name for name in shown if enough(*pairs[name], rule.least)][:MOST_CATEGORIES]
    while named and len(named) < len(pairs) and not enough(*_rest(pairs, named), rule.least):
        named.pop()
    totals = [sum(column.values()) for column in counts]
    rows = [(name, *pairs[name]) for name in named]
    if enough(*_rest(pairs, named), rule.least):
        rows.append((OTHER, *_rest(pairs, named)))
    bars = [Bar(name, _share(was, totals[0], rule), _share(now, totals[1], rule)) for name, was, now in rows]
    # the order of bars with one rounded share must not tell more than the shares do
    return tuple(sorted(bars, key=lambda bar: (bar.label == OTHER, -bar.original, bar.label)))


def _rest(pairs: dict[str, tuple[int, int]], named: Sequence[str]) -> tuple[int, int]:
    rest = [pairs[name] for name in pairs if name not in named]
    return sum(one for one, _ in rest), sum(other for _, other in rest)


def _count_categories(column: pa.Array) -> dict[str, int]:
    counted = pc.value_counts(column.drop_null())
    return {_text(one["values"]): one["counts"] for one in counted.to_pylist()}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else f"{value}"


def _count_places(found: Integers, length: int) -> list[int]:
    return [int(count) for count in np.bincount(found, minlength=length)]


def _bars(
    labels: list[str], starts: list[str], spans: tuple[Span, ...], counts: BarCounts, rule: DrawingRule
) -> tuple[Bar, ...]:
    totals = [sum(column) for column in counts]
    shares = [
        [_share(sum(column[slice(*span)]), total, rule) for column, total in zip(counts, totals, strict=True)] for span in spans
    ]
    return tuple(Bar(label, was, now, start) for label, (was, now), start in zip(labels, shares, starts, strict=True))


def _share(count: int, total: int, rule: DrawingRule) -> float:
    return compute_bar_share(count, total, rule) if total else 0.0
