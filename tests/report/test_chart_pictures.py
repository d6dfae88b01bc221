"""The pictures: inert whatever the names say, the same every time, and legible."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.report import figures
from tasks.report.charts.canvas import TEXT, printable, short, width_of
from tasks.report.charts.columns import Column, draw_columns
from tasks.report.charts.rows import Row, draw_rows
from tasks.report.content import Content
from tasks.report.page import render

HOSTILE = (
    "<script>alert(1)</script>", "</svg></title><img src=x onerror=alert(1)>", "$\\frac{1}{0}$ and $",
    "\u202eright to left\u2066",
    "line\nbreak\r\n\ttab", "\U0001f600" * 20, "x" * 300, "&lt;b&gt;", "\x00\x07", "", "url(#a)", "\u6f22\u5b57" * 30,
)  # fmt: skip
NAMED = {"key": "chart-x", "title": "T", "description": "D"}
ALL = (
    figures.distribution_figures, figures.knowledge_figures, figures.subgroup_figures, figures.candidate_figures,
    figures.loss_figures, figures.relation_figures,
)  # fmt: skip


def parsed(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)  # noqa: S314  drawn by the test itself


def every_figure(content: Content) -> list[figures.Figure]:
    overview = figures.summary_figure(content)
    return [*([overview] if overview else []), *(one for make in ALL for one in make(content))]


@pytest.mark.parametrize("which", ["certified", "refused", "undecided", "detailed", "internal"])
def test_every_picture_is_a_named_image_of_shapes_and_texts(which, request):
    shown = every_figure(request.getfixturevalue(which))
    assert len({one.key for one in shown}) == len(shown) >= 3
    for one in shown:
        root = parsed(one.svg)
        assert {element.tag for element in root.iter()} <= {"svg", "g", "path", "text", "title", "desc"}
        assert {name for element in root.iter() for name in element.attrib} <= {
            "class", "role", "aria-labelledby", "viewBox", "id", "d", "style", "x", "y", "transform",
        }  # fmt: skip
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-labelledby"].split() == [root[0].attrib["id"], root[1].attrib["id"]]
        assert all((element.text or "").strip() for element in root[:2])
        assert "#" not in one.svg.replace("&#", "")
        assert len(one.rows) > 1
        assert all(len(row.cells) == len(one.heads) for row in one.rows)


def test_no_colour_of_a_chart_is_fixed(detailed):
    for one in every_figure(detailed):
        colours = {found.removeprefix("var(--").rstrip(")") for found in re.findall(r"(?:fill|stroke): ([^;\"]+)", one.svg)}
        assert colours <= {"ink", "soft", "line", "chart-before", "chart-after", *(f"heat-{i}" for i in range(1, 5)), "none"}


def test_no_text_is_smaller_than_eleven_on_a_telephone(detailed):
    narrow = 294 / 300  # what is left of 360 pixels, over the width of a chart
    for one in every_figure(detailed):
        sizes = [
            float(size)
            for size in re.findall(r"font-size: ([\d.]+)px|font: [^;]*?([\d.]+)px", one.svg)
            for size in size
            if size
        ]
        assert sizes
        assert min(sizes) * narrow >= 11


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_are_inert_and_full_in_the_title(hostile):
    rows = draw_rows((Row(hostile, (0.1, 0.2)), Row(hostile), Row("b", (0.3,), hostile)), percent=True, **NAMED)
    columns = draw_columns((Column(hostile, 0.2, 0.3, hostile), Column("b", 0.2, 0.3, "b")), between=False, **NAMED)
    for picture in (rows, columns):
        root = parsed(picture)
        assert {element.tag for element in root.iter()} <= {"svg", "g", "path", "text", "title", "desc"}
        assert "<script" not in picture
        assert "\u202e" not in picture
    titles = [element.text or "" for element in parsed(rows).iter("title")]
    assert sum(printable(hostile) in title for title in titles) >= 2
    texts = [element.text or "" for element in parsed(rows).iter("text")]
    assert not any(width_of(text) > 300 for text in texts if text.endswith("\u2026"))


def test_hostile_names_come_through_the_page(detailed):
    charts = detailed.charts
    assert charts is not None
    bars = tuple(replace(bar, label=HOSTILE[1]) for bar in charts.distributions[0].bars)
    poisoned = replace(charts.distributions[0], attribute=HOSTILE[0], form="categories", bars=bars)
    text = render(replace(detailed, charts=replace(charts, distributions=(poisoned,))))
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; before and after" in text


@given(st.text(max_size=60), st.floats(20, 300))
def test_short_texts_fit(text, width):
    assert width_of(short(text, width)) <= width + 1e-9
    assert "\n" not in short(text, width)
    assert short("abc", 100) == "abc"
    assert short("a" * 50, 100).endswith("\u2026")


def test_pictures_do_not_depend_on_the_machines_settings(detailed):
    before = [one.svg for one in every_figure(detailed)]
    with mpl.rc_context(
        {"font.size": 30, "text.usetex": False, "svg.fonttype": "path", "axes.grid": True, "lines.linewidth": 9}
    ):
        assert [one.svg for one in every_figure(detailed)] == before


def test_the_summary_climbs_from_little_knowledge_to_an_insider(detailed, certified):
    found = figures.summary_figure(detailed)
    assert found is not None
    assert [row.head for row in found.rows] == ["1 attribute", "2 attributes", "3 attributes", "all 4 attributes", "also PID"]
    assert [row.cells[0].replace("\u202f", " ") for row in found.rows] == ["0.60 %", "1.8 %", "5.5 %", "9.96 %", "44.8 %"]
    assert [row.cells[1].replace("\u202f", " ") for row in found.rows[-2:]] == ["at most 15 %", "at most 50 %"]
    bare = figures.summary_figure(certified)
    assert bare is not None
    assert [row.head for row in bare.rows] == ["all 4 attributes", "also PID"]


def test_the_public_tables_hold_no_correlation_of_the_original(detailed, internal):
    (public,), (private,) = (figures.relation_figures(one) for one in (detailed, internal))
    assert public.heads == ("Moved by",)
    assert private.heads == ("Moved by", "Before", "After")
    assert all(len(row.cells[0]) <= len("under 0.0005") for row in public.rows)


def test_a_text_is_a_little_narrower_than_it_is_taken_for():
    assert width_of("average") > 0.55 * TEXT * len("average")
