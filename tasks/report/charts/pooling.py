"""Neighbouring bars pooled until enough records stand behind each."""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[int, int]  # places first..last+1


def is_enough(original: int, released: int, least: int) -> bool:
    """May a bar be shown? The release's side may be empty: that a value has vanished is no record's value."""
    return original >= least and (released == 0 or released >= least)


def pool_bars(original: Sequence[int], released: Sequence[int], least: int) -> tuple[Span, ...]:
    """Spans of neighbouring places, each with enough records; together they hold all places.

    From the first place on, a span grows until it has enough; what is left over at the end joins the spans before it.
    Returns nothing where all places together have too few. Example: (4, 7, 20, 1) with 10 each: (0, 2), (2, 4).
    """
    spans: list[Span] = []
    start = 0
    for end in range(1, len(original) + 1):
        if _is_enough_in(original, released, (start, end), least):
            spans.append((start, end))
            start = end
    while start < len(original) and spans:
        start = spans.pop()[0]
        if _is_enough_in(original, released, (start, len(original)), least):
            return (*spans, (start, len(original)))
    return tuple(spans)


def _is_enough_in(original: Sequence[int], released: Sequence[int], span: Span, least: int) -> bool:
    return is_enough(sum(original[slice(*span)]), sum(released[slice(*span)]), least)
