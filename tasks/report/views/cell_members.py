"""What the cells of the released table tell of confidential values: to outsiders, and to coalitions of members."""

from __future__ import annotations

from collections.abc import Iterator

from tasks.microdata.estimate import Estimate
from tasks.microdata.numbers import count
from tasks.report.content import Content
from tasks.report.views.rows import TextRow, figure_text, share_in_words
from tasks.report.wording.sentence import Sentence, say
from tasks.report.wording.units import plural
from tasks.score.measures.inference import CELL_HOMOGENEITY, CELL_MEMBERS_EXPOSED, T_CLOSENESS

CELL_HEADS = ("An outsider (homogeneous cell)", "A coalition", "Members of the coalition", "Skewness (t)")


def describe_cells(content: Content) -> tuple[Sentence, ...]:
    """What the figures of cells say, and the worst of them; empty where none was asked for."""
    figures = _list_figures(content, CELL_MEMBERS_EXPOSED.name)
    if not figures:
        return ()
    widths = {dict(one.parameters).get("p_percent") for one in figures} - {None}
    asks = say("inference.cells", unit=_name_several(content), widths=sorted(width for width in widths if width is not None))
    return (asks, *describe_worst_cell_members(content))


def describe_worst_cell_members(content: Content) -> Iterator[Sentence]:
    """The attribute of which most people are exposed to a coalition, and that of which most are exposed to anybody."""
    worst, homogeneous = (content.worst(one.name) for one in (CELL_MEMBERS_EXPOSED, CELL_HOMOGENEITY))
    if worst is not None:
        size = int(dict(worst.parameters)["coalition"])
        told = share_in_words(worst, content.edition)
        yield say("inference.cell_members", worst=worst, share_told=told, size=size, unit=_name_several(content))
    if homogeneous is not None:
        told = share_in_words(homogeneous, content.edition)
        yield say("inference.homogeneous_cells", worst=homogeneous, share_told=told, unit=_name_several(content))


def list_cell_rows(content: Content) -> tuple[TextRow, ...]:
    """One row for each confidential attribute and size of a coalition."""
    rows = []
    for one in _list_figures(content, CELL_MEMBERS_EXPOSED.name):
        given = dict(one.parameters)
        width = given.get("p_percent")
        homogeneous = _list_figures(content, CELL_HOMOGENEITY.name, one.attribute, width)
        skewness = _list_figures(content, T_CLOSENESS.name, one.attribute)
        cells = (
            figure_text(homogeneous[0] if homogeneous else None),
            figure_text(one),
            count(int(given["coalition"])),
            figure_text(skewness[0] if skewness else None),
        )
        rows.append(TextRow(head=one.attribute or "", cells=cells))
    return tuple(rows)


def _list_figures(content: Content, measure: str, attribute: str | None = None, width: float | None = None) -> list[Estimate]:
    found = (one for one in content.estimates if one.measure == measure and attribute in (None, one.attribute))
    return [one for one in found if width is None or dict(one.parameters).get("p_percent") == width]


def _name_several(content: Content) -> str:
    return "people" if content.unit == "person" else plural(content.unit)
