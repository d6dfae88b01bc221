"""The original frequencies as the release lets them be estimated where PRAM drew anew: rows of ready texts."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import shorten

from tasks.mask.categories.original_shares import EstimatedShare, EstimatedShares
from tasks.microdata.numbers import format_share, number
from tasks.microdata.words import join_with_and
from tasks.report.content import Content
from tasks.report.views.rows import TextRow
from tasks.report.wording.sentence import say

HEADS = ("In the release", "Estimated original", "Standard error (points)")
_LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedView:
    """summary: what is listed. rows: one for each listed category; empty where nothing can be estimated."""

    names: str
    summary: str
    rows: tuple[TextRow, ...]
    note: str


def create_estimated_views(content: Content) -> tuple[EstimatedView, ...]:
    """One view for each attribute, or attributes drawn together, of which the release tells frequencies."""
    return tuple(map(_view, content.estimated_shares))


def _view(one: EstimatedShares) -> EstimatedView:
    names = join_with_and(one.attributes)
    if one.condition_number is None:
        return EstimatedView(names=names, summary=say("estimated.nothing", shares=one), rows=(), note="")
    unseen = one.n_categories - len(one.shares) - one.n_left_out
    note = say("estimated.without_gap", shares=one, unseen=unseen, rest=1 - sum(row.estimated for row in one.shares))
    return EstimatedView(names=names, summary=say("estimated.listed", shares=one), rows=tuple(map(_row, one.shares)), note=note)


def _row(one: EstimatedShare) -> TextRow:
    error = "\u2013" if one.standard_error is None else number(100 * one.standard_error)
    head = shorten(" \u00b7 ".join(one.values), _LONGEST, placeholder="\u2026")
    return TextRow(head=head, cells=(format_share(one.released), _format_signed_share(one.estimated), error))


def _format_signed_share(estimate: float) -> str:
    return format_share(estimate) if estimate >= 0 else f"\u2212{format_share(-estimate)}"
