"""A chart that a test leaves undrawn lacks its shapes alone: every text and every title that is drawn stands there too."""

from xml.etree import ElementTree

import pytest
from undrawn_charts import leave_charts_undrawn

from tasks.report.charts.heat import draw_heat
from tasks.report.charts.horizontal_bars import BarRow, draw_rows
from tasks.report.charts.lines import draw_line, draw_shares
from tasks.report.charts.roc_chart import RocPoint, draw_roc_curve
from tasks.report.charts.vertical_bars import BarPair, draw_columns
from tasks.report.charts.waterfall import Fall, draw_waterfall

NAMES = {"key": "key", "title": "a <title>", "description": "a description"}
LONG = "a name of far more characters than a chart has room for & more"
CHARTS = {
    "rows": lambda: draw_rows(
        (BarRow("heading"), BarRow(LONG, (0.2, 0.3), "3 of 10", 0.25, 0.1), BarRow("b", (0.1,))),
        percent=True,
        line=0.5,
        **NAMES,
    ),
    "columns": lambda: draw_columns((BarPair(LONG, 0.2, 0.3, "1"), BarPair("b", 0.8, 0.7, "2")), between=False, **NAMES),
    "heat": lambda: draw_heat((LONG, "b", "c"), {(0, 1): 0.02, (1, 2): 0.3}, **NAMES),
    "line": lambda: draw_line(((1, 0.1), (2, 0.4)), most=0.4, chance=0.1, below="columns known", **NAMES),
    "shares": lambda: draw_shares(((0.2, 0.5), (1.0, 0.3)), aim=None, below="of the links", **NAMES),
    "curve": lambda: draw_roc_curve((RocPoint(0.01, 0.1), RocPoint(0.2, 0.5), RocPoint(1.0, 1.0)), **NAMES),
    "waterfall": lambda: draw_waterfall((Fall(LONG, 0, 2, "+2"), Fall("all", 0, -1, "\u22121", True)), below="bits", **NAMES),
}


def texts_of(svg: str) -> set[str]:
    return {one.text for one in ElementTree.fromstring(svg).iter() if one.tag.rpartition("}")[2] in ("text", "title", "desc")}  # noqa: S314  # our own drawing


@pytest.mark.parametrize("chart", CHARTS)
def test_it_says_all_that_the_drawn_chart_says(chart, monkeypatch):
    drawn = CHARTS[chart]()
    leave_charts_undrawn(monkeypatch)
    undrawn = CHARTS[chart]()
    assert "<path d=" in drawn
    assert "<path d=" not in undrawn
    assert texts_of(drawn) <= texts_of(undrawn)
    assert len(texts_of(drawn)) > 5
