"""Precision against coverage: the points worked by hand, what the public edition leaves out, and the page with it."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from tasks.microdata.estimate import Estimate
from tasks.microdata.table import Microdata
from tasks.report.charts.editions import RULES
from tasks.report.charts.precision import Asserted, PrecisionCoverage, precision
from tasks.report.page import render_report
from tasks.report.views.figures import precision_figures


def outcomes(margin, right):
    return Microdata.from_columns({"margin": np.array(margin, dtype=float), "named_right": np.array(right)})


def test_worked_points():
    # 40 links: the ten surest right, of the next ten (all of one margin) five, then twenty that name nobody
    table = outcomes([0.9] * 10 + [0.5] * 10 + [0.0] * 20, [True] * 15 + [False] * 25)
    found = precision("distance_linkage", table, RULES["internal"])
    assert found.points == (Asserted(0.25, 1.0), Asserted(0.5, 0.75))
    assert precision("one_to_one", Microdata.from_columns({"target": np.arange(3)}), RULES["internal"]).points == ()
    assert precision("nobody", outcomes([0, 0], [False, False]), RULES["internal"]).points == ()


def test_a_point_stands_for_enough_links_and_has_two_digits_in_public():
    n = 1000
    table = outcomes(np.linspace(1, 0.001, n), np.arange(n) % 3 > 0)
    points = {edition: precision("a", table, rule).points for edition, rule in RULES.items()}
    assert [point.coverage for point in points["internal"]][:2] == [0.01, 0.02]
    assert points["internal"][0].precision == 0.6
    assert points["internal"][-1] == Asserted(1.0, 0.666)
    assert points["public"][-1] == Asserted(1.0, 0.67)
    few = outcomes([0.9] * 4 + [0.0] * 6, [True] * 10)
    assert precision("a", few, RULES["public"]).points == ()
    assert len(precision("a", few, RULES["internal"]).points) == 1


@pytest.fixture(scope="module")
def with_curve(detailed):
    points = tuple(Asserted(share, right) for share, right in ((0.05, 1.0), (0.1, 0.97), (0.5, 0.6), (1.0, 0.31)))
    shown = (PrecisionCoverage(attack="distance_linkage", points=points), PrecisionCoverage(attack="transparency", points=()))
    return replace(detailed, charts=replace(detailed.charts, precision=shown))


def claims(content, links, right):
    about = {"attack": "distance_linkage", "intruder": "declared", "unit": "share", "n_targets": 944}
    pairs = (("known_links", links), ("known_reidentification", right))
    return replace(
        content, estimates=(*content.estimates, *(Estimate(measure=name, value=value, **about) for name, value in pairs))
    )


def asserted(figure) -> tuple:
    assert figure.note.id == "figures.asserted"
    return tuple(figure.note.facts[name] for name in ("links", "right", "of_these"))


def test_the_figure_has_its_table_and_says_what_is_claimed(with_curve):
    (figure,) = precision_figures(with_curve)
    assert [(row.head, *row.cells) for row in figure.rows] == [
        ("5.0\u202f%", "100\u202f%"), ("10\u202f%", "97\u202f%"), ("50\u202f%", "60\u202f%"), ("100\u202f%", "31\u202f%"),
    ]  # fmt: skip
    assert (figure.note.id, figure.note.facts) == ("figures.aim", {"precision": 0.95})
    (figure,) = precision_figures(claims(with_curve, 0.12, 0.114))
    assert asserted(figure) == ("12\u202f%", "11.4\u202f%", False)
    (internal,) = precision_figures(replace(claims(with_curve, 0.12, 0.114), edition="internal"))
    assert asserted(internal) == ("12\u202f%", "95\u202f%", True)
    (figure,) = precision_figures(claims(with_curve, 10 / 944, 10 / 944))
    assert asserted(figure) == ("fewer than 15, perhaps none,", "fewer than 15, perhaps none,", False)
    (figure,) = precision_figures(claims(with_curve, 0.0, 0.0))
    assert figure.note.id == "figures.none_asserted"
    drawn = ElementTree.fromstring(figure.svg)  # noqa: S314  drawn by the test itself
    assert "10 %: 97 %" in drawn.find("desc").text
    assert precision_figures(replace(with_curve, charts=None)) == ()


def test_the_page_shows_it_once(with_curve, detailed):
    heading = "How sure the links are"
    assert render_report(with_curve).count(heading) == 1
    assert heading not in render_report(detailed)
