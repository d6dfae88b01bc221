"""The lines on information loss in a drafted policy: limits that the drafted microaggregation is expected not to pass."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from flows.cli.draft.column_proposals import DraftColumn, DraftEntry
from flows.cli.draft.expected import Expected
from flows.questions import DECIDE
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata, encode_jointly

SSE_PERCENT_LIMIT = 40  # of the loss of the numbers, unless the groups lose more
CELLS_CHANGED_LIMIT = 0.5  # likewise, where there are no numbers
LARGEST_MARGINAL_DIFFERENCE_LIMIT = 0.2
CATEGORIES_LOST_LIMIT = 0.1
CATEGORY_ASSOCIATION_DIFFERENCE_LIMIT = 0.1
MARGIN = 1.2  # the release may lose so much more than some of its rows do: rows with gaps are grouped among few
SLIGHT = 0.03  # and of a share so much more
SET_ASIDE = 0.05  # and so much more where people are set aside, whoever they are: the groups are made of those that are left
WORTH_IT = 0.5  # of the largest value of a measure: whether a table that loses more is worth publishing is a question
TO_CHOOSE = "Choose it from what the table is for."
TOO_MUCH = "If that is too much, lower `k` (more risk), publish fewer columns, or coarser ones; then lower this limit."


def loss_lines(
    data: Microdata, grouped: Sequence[DraftColumn], expected: Expected | None, *, has_control: bool
) -> tuple[DraftEntry, ...]:
    """The policy lines on the loss. grouped: the columns of the one step that masks. has_control: are people set aside?"""
    slight = SLIGHT + (SET_ASIDE if has_control else 0)
    figures = {} if expected is None else expected.figures
    numbers = any(column.attribute.scale is Scale.NUMERIC for column in grouped)
    categories = any(column.categorical or column.attribute.scale is Scale.ORDINAL for column in grouped)
    found = [_limit_number_loss(figures.get("sse_percent", 0.0)) if numbers else _limit_cells_changed(data, grouped)]
    found.append(
        _limit_share(
            "largest_marginal_difference",
            figures,
            LARGEST_MARGINAL_DIFFERENCE_LIMIT,
            slight,
            "Of no masked column a share that is read off the release (of a category, or of the values up to a bound) "
            "is off by more.",
        )
    )
    if categories:
        lost = "At most this share of the categories is shown by no row any more."
        related = "How strongly categories are related to other columns (Cramer's V) is off by at most this much on average."
        found.append(_limit_share("categories_lost", figures, CATEGORIES_LOST_LIMIT, slight, lost))
        found.append(
            _limit_share("category_association_difference", figures, CATEGORY_ASSOCIATION_DIFFERENCE_LIMIT, slight, related)
        )
    return tuple(found)


def _limit_number_loss(expected: float) -> DraftEntry:
    why = "And the table must still be worth something: at most this percentage of the variation of the numbers is lost."
    limit = max(SSE_PERCENT_LIMIT, 5 * math.ceil(MARGIN * expected / 5))
    comment = TO_CHOOSE
    if expected > SSE_PERCENT_LIMIT:
        comment = (
            f"The groups are expected to lose about {expected:.0f}% of it: so many columns have little in common. {TOO_MUCH}"
        )
    return _line("sse_percent", limit, expected, 100, (why, comment))


def _limit_share(measure: str, figures: dict[str, float], usual: float, slight: float, why: str) -> DraftEntry:
    expected = figures.get(measure, 0.0)
    limit = max(usual, math.ceil(20 * (MARGIN * expected + slight)) / 20)
    comment = TO_CHOOSE if limit == usual else f"The groups are expected to reach about {expected:.2f}. {TOO_MUCH}"
    return _line(measure, limit, expected, 1, (why, comment))


def _line(measure: str, limit: float, expected: float, largest: float, why: tuple[str, ...]) -> DraftEntry:
    """A limit at the end of a measure's range could not fail: it is put between what is expected and that end."""
    if limit <= WORTH_IT * largest:
        return DraftEntry({"measure": measure, "at_most": limit}, why)
    nearly = round(expected + (largest - expected) / 2, 3) if limit >= largest else limit
    question = (
        f"is the table still worth publishing? Of {measure}, where {largest:g} means that nothing is left, the groups are "
        f"expected to reach {expected:.2g}. Publish fewer or coarser columns, or lower `k`; or keep this limit"
    )
    return DraftEntry({"measure": measure, "at_most": nearly, DECIDE: question}, why)


def _limit_cells_changed(data: Microdata, grouped: Sequence[DraftColumn]) -> DraftEntry:
    why = "And the table must still be worth something: at most this share of the masked cells is changed."
    most = float(np.mean([_share_changed(data, column) for column in grouped]))
    comment = TO_CHOOSE if most <= CELLS_CHANGED_LIMIT else f"The groups change at most about {most:.0%} of them. {TOO_MUCH}"
    limit = min(1.0, max(CELLS_CHANGED_LIMIT, float(np.ceil(20 * most)) / 20))
    return _line("cells_changed", limit, min(most, 0.99), 1, (why, comment))


def _share_changed(data: Microdata, column: DraftColumn) -> float:
    """The share of cells that differ if everybody is given the median or the mode: smaller groups are nearer to theirs."""
    if column.categorical:
        counts = np.bincount(encode_jointly(data.column(column.name).drop_null())[0])
        return float(counts.sum() - counts.max()) / data.n
    values = data.floats(column.name)[~data.missing(column.name)]
    median = np.sort(values)[(len(values) - 1) // 2]
    return float((values != median).sum()) / data.n
