"""Which parameter moves which measure, as the page tells it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from tasks.microdata.table import Floats
from tasks.sweep.page.page_content import InfluenceCell, InfluenceTable
from tasks.sweep.results import Results
from tasks.sweep.sensitivity import Influence as Line
from tasks.sweep.sensitivity import influences

MOST_MEASURES = 8
MUCH_BY_CHANCE = 0.05
_EXACT = (
    "The share of the variance of a measure over all trials of a pipeline that goes with the parameter alone. What is missing "
    "to 100\u202f% is interplay of parameters and seeds."
)
_LEARNED = (
    "Where the points are not a grid: what a random forest loses when the parameter is shuffled, as a share of the variance it "
    "foretells. It tells of the points that were tried."
)
_CHANCE = (
    "The more values a parameter has for the trials there are, the more of this is luck: one that moves nothing can get up to "
    "about {share:.0f}\u202f% here."
)
_ARROWS = "An arrow says whether the measure rises or falls with the parameter."


def create_influence_table(
    results: Results, first: Mapping[str, Floats], then: Iterable[tuple[str, Floats]], labels: Mapping[str, str]
) -> InfluenceTable:
    """The table of the measures in `first` (by label, per trial), and of some of `then` where that takes no learning.

    labels: of the axes, by path. Cost: that of `sensitivity.influences` for each measure.
    """
    columns = {name: _index_by_axis(influences(results, values)) for name, values in first.items()}
    if not any(line.method == "permutation" for column in columns.values() for line in column.values()):
        room = max(0, MOST_MEASURES - len(columns))
        columns |= {name: _index_by_axis(influences(results, values)) for name, values in islice(then, room)}
    lines = [line for column in columns.values() for line in column.values()]
    axes = list(dict.fromkeys((line.pipeline, line.axis) for line in lines))
    several = len({pipeline for pipeline, _ in axes}) > 1
    methods = {line.method for line in lines}
    kinds = (("eta_squared", _EXACT), ("permutation", _LEARNED))
    return InfluenceTable(
        parameters=tuple(f"{pipeline}: {labels[path]}" if several else labels[path] for pipeline, path in axes),
        measures=tuple(columns),
        rows=tuple(tuple(_create_influence_cell(column.get(axis)) for column in columns.values()) for axis in axes),
        says=" ".join([*(words for method, words in kinds if method in methods), *_describe_chance(lines), _ARROWS]),
        gaps=tuple(dict.fromkeys(f"{line.pipeline}: {line.reason}" for line in lines if line.share is None and line.reason)),
    )


def _describe_chance(lines: Iterable[Line]) -> Iterator[str]:
    """How large a share may be that means nothing, where that is much."""
    most = max((line.chance or 0.0 for line in lines), default=0.0)
    if most >= MUCH_BY_CHANCE:
        yield _CHANCE.format(share=100 * most)


def _index_by_axis(lines: Iterable[Line]) -> dict[tuple[str, str], Line]:
    return {(line.pipeline, line.axis): line for line in lines}


def _create_influence_cell(line: Line | None) -> InfluenceCell:
    return InfluenceCell(share=None) if line is None else InfluenceCell(share=line.share, direction=line.direction)
