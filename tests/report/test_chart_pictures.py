"""The pictures: inert whatever the names say, the same every time, and legible."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.microdata.schema import Scale
from tasks.report.charts.bounds import mark_text
from tasks.report.charts.canvas import FONT_SIZE, estimate_text_width, shorten, to_printable
from tasks.report.charts.horizontal_bars import BarRow, draw_rows
from tasks.report.charts.vertical_bars import BarPair, draw_columns
from tasks.report.content import Content
from tasks.report.page import render_report
from tasks.report.views import figures

HOSTILE = (
    "<script>alert(1)</script>", "</svg></title><img src=x onerror=alert(1)>", "$\\frac{1}{0}$ and $",
    "\u202eright to left\u2066",
    "line\nbreak\r\n\ttab", "\U0001f600" * 20, "x" * 300, "&lt;b&gt;", "\x00\x07", "", "url(#a)", "\u6f22\u5b57" * 30,
)  # fmt: skip
NAMED = {"key": "chart-x", "title": "T", "description": "D"}
ALL = (
    figures.distribution_figures, figures.knowledge_figures, figures.subgroup_figures, figures.candidate_figures,
    figures.loss_figures, figures.relation_figures, figures.precision_figures,
)  # fmt: skip


def parsed(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)  # noqa: S314  drawn by the test itself


def every_figure(content: Content) -> list[figures.Figure]:
    overview = figures.summary_figure(content)
    return [*([overview] if overview else []), *(one for make in ALL for one in make(content))]


def test_large_bounds_are_short_and_stand_clear_of_the_zero():
    marks = [mark_text(5e6 * i, Scale.NUMERIC) for i in range(1, 11)]
    assert [one.replace("\u202f", " ") for one in marks[:3]] == ["5 M", "10 M", "15 M"]
    columns = [BarPair(f"bar {i}", 0.1, 0.1, mark) for i, mark in enumerate(["", *marks])]
    root = parsed(draw_columns(tuple(columns), between=True, **NAMED))
    texts = [one.text for one in root.iter("text")]
    assert len([one for one in texts if one.endswith("M")]) >= 5
    full = [BarPair(f"bar {i}", 0.1, 0.1, f"{5 * i},000,000") for i in range(11)]
    drawn = parsed(draw_columns(tuple(full), between=True, **NAMED))
    assert "0,000,000" not in [one.text for one in drawn.iter("text")]  # it would stand on the 0 % of the other axis


@pytest.mark.parametrize(
    ("value", "scale", "mark"),
    [(9_999, Scale.NUMERIC, "9,999"), (10_000, Scale.NUMERIC, "10 k"), (12_500, Scale.NUMERIC, "12.5 k"),
     (123_456, Scale.NUMERIC, "123,456"), (-2_500_000, Scale.NUMERIC, "\u22122.5 M"), (2e9, Scale.NUMERIC, "2 G"),
     (20_000, Scale.DATE, "2024-10-04"), (45_000, Scale.TIME, "12:30")],
)  # fmt: skip
def test_a_mark_is_short_where_it_says_the_same(value, scale, mark):
    assert mark_text(float(value), scale).replace("\u202f", " ") == mark


def test_equal_rates_are_one_sentence(detailed):
    assert figures.alike_subgroups(detailed) == ""
    equal = tuple(replace(one, value=0.051234, low=0.051234, high=0.051234) if one.measure == "subgroup_reidentification"
                  else one for one in detailed.estimates)  # fmt: skip
    content = replace(detailed, estimates=equal)
    assert figures.subgroup_figures(content) == ()
    told = figures.alike_subgroups(content)
    assert told.id == "figures.alike"
    assert told.facts == {"subgroups": 4, "rate": "5.1\u202f%", "counts": "records", "overall": "9.5\u202f%"}
    assert told in render_report(content)


def test_an_attack_without_a_curve_says_why(detailed):
    assert figures.explain_missing_curves(detailed) == ()
    own = next(one for one in detailed.attacks if one.intruder == "declared")
    silent = [replace(own, attack="row_position", method="row_position", intruder=f"knowing:{n}", status="not_applicable",
                      reason="it knows no attribute of rank_swapping") for n in (1, 2)]  # fmt: skip
    content = replace(detailed, attacks=(*detailed.attacks, *silent))
    (told,) = figures.explain_missing_curves(content)
    assert told.facts == {"attack": "row_position", "why": "it knows no attribute of rank swapping"}
    assert told in render_report(content)


def test_the_line_of_all_is_dashed_and_that_of_chance_dotted(detailed):
    (bars,), (curve, *_) = figures.subgroup_figures(detailed), figures.knowledge_figures(detailed)
    dashes = [re.findall(r"stroke-dasharray: ([\d.]+),([\d.]+)", one.svg) for one in (bars, curve)]
    assert all(float(stroke) >= 6 for stroke, _ in dashes[0])
    assert all(float(stroke) <= 2 for stroke, _ in dashes[1])
    assert all(dashes)


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
    rows = draw_rows((BarRow(hostile, (0.1, 0.2)), BarRow(hostile), BarRow("b", (0.3,), hostile)), percent=True, **NAMED)
    columns = draw_columns((BarPair(hostile, 0.2, 0.3, hostile), BarPair("b", 0.2, 0.3, "b")), between=False, **NAMED)
    for picture in (rows, columns):
        root = parsed(picture)
        assert {element.tag for element in root.iter()} <= {"svg", "g", "path", "text", "title", "desc"}
        assert "<script" not in picture
        assert "\u202e" not in picture
    titles = [element.text or "" for element in parsed(rows).iter("title")]
    assert sum(to_printable(hostile) in title for title in titles) >= 2
    texts = [element.text or "" for element in parsed(rows).iter("text")]
    assert not any(estimate_text_width(text) > 300 for text in texts if text.endswith("\u2026"))


def test_hostile_names_come_through_the_page(detailed):
    charts = detailed.charts
    assert charts is not None
    bars = tuple(replace(bar, label=HOSTILE[1]) for bar in charts.distributions[0].bars)
    poisoned = replace(charts.distributions[0], attribute=HOSTILE[0], form="categories", bars=bars)
    text = render_report(replace(detailed, charts=replace(charts, distributions=(poisoned,))))
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; before and after" in text


@given(st.text(max_size=60), st.floats(20, 300))
def test_short_texts_fit(text, width):
    assert estimate_text_width(shorten(text, width)) <= width + 1e-9
    assert "\n" not in shorten(text, width)
    assert shorten("abc", 100) == "abc"
    assert shorten("a" * 50, 100).endswith("\u2026")


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
    assert [row.cells[0].replace("\u202f", " ") for row in found.rows] == ["1.1 %", "2.1 %", "5.3 %", "9.5 %", "44.5 %"]
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
    assert estimate_text_width("average") > 0.55 * FONT_SIZE * len("average")
