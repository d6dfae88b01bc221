"""The original frequencies as the release lets them be estimated where PRAM drew anew: rows of ready texts."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import shorten

from tasks.mask.categories.original_shares import EstimatedShare, EstimatedShares
from tasks.microdata.numbers import count, format_share, number
from tasks.microdata.words import join_with_and
from tasks.report.content import Content
from tasks.report.views.rows import TextRow

TOLD = (
    "The original shares among the released records, estimated without bias from the counts in the release and the rule above: "
    "anybody who has the release can do so, and the "
    "figures tell nothing more. Estimates are not cut off at 0 and 100\u202f%. Standard errors are those of the draw alone; "
    "the larger the condition number, the more the error of the draw is enlarged."
)
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
    kind = "categories" if len(one.attributes) == 1 else "combinations"
    if one.condition_number is None:
        nothing = f"{names}: the release says nothing of the original frequencies of its {count(one.n_categories)} {kind}"
        return EstimatedView(names=names, summary=nothing, rows=(), note="")
    summary = f"{names}: {count(one.n_categories)} {kind}, condition number {number(one.condition_number)}"
    return EstimatedView(names=names, summary=summary, rows=tuple(map(_row, one.shares)), note=_not_listed(one, kind))


def _row(one: EstimatedShare) -> TextRow:
    error = "\u2013" if one.standard_error is None else number(100 * one.standard_error)
    head = shorten(" \u00b7 ".join(one.values), _LONGEST, placeholder="\u2026")
    return TextRow(head=head, cells=(format_share(one.released), _format_signed_share(one.estimated), error))


def _format_signed_share(estimate: float) -> str:
    return format_share(estimate) if estimate >= 0 else f"\u2212{format_share(-estimate)}"


def _not_listed(one: EstimatedShares, kind: str) -> str:
    unshown = one.n_categories - len(one.shares) - one.n_left_out
    parts = (
        f"{count(one.n_left_out)} rarer ones in the release" * (one.n_left_out > 0),
        f"{count(unshown)} that the release does not show" * (unshown > 0),
    )
    missing = " and ".join(filter(None, parts))
    rest = 1 - sum(row.estimated for row in one.shares)
    told = f"Not listed: {missing}; together their {kind} are estimated at {_format_signed_share(rest)}. " if missing else ""
    return f"{told}From {count(one.n)} records without a gap."
