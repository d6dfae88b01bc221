"""What the page says of probabilistic linkage: classes, weights, waterfalls, and claims beside hits."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from tasks.attack.probabilistic.linkage_summary import Classes, PatternEvidence, ProbableFacts, Rates, Weight
from tasks.microdata.table import Microdata
from tasks.report.charts.editions import RULES
from tasks.report.charts.reliability import ReliabilityCurve, ReliabilityPoint, create_reliability_curve
from tasks.report.charts.waterfall import Fall, draw_waterfall
from tasks.report.content import public_edition
from tasks.report.page import render_report
from tasks.report.views.probable import probable_view

WEIGHTS = (
    Weight("age", "equal", 0.8123, 0.0512, 3.9878),
    Weight("age", "not alike", 0.1877, 0.9488, -2.3377),
    Weight("town", "equal", 1.0, 0.25, 2.0),
    Weight("town", "not alike", 0.0, 0.75, None),
)
MANY = PatternEvidence(-9.88, (WEIGHTS[0], WEIGHTS[2]), 0.0, -3.8922, 0.0631, 497, 480)
FEW = PatternEvidence(-9.88, (WEIGHTS[1], WEIGHTS[2]), -0.3, -10.5177, 0.0007, 12, 9)
CLASSES = Classes(
    link_from=4.1234, drop_to=None, asked=Rates(false_links=5.3e-5, missed=0.05),
    expected=Rates(false_links=4.234e-5, missed=0.0), actual=Rates(false_links=0.0, missed=0.0312),
    matches=(0.61, 0.36, 0.03), others=(3.2e-7, 0.2, 0.79999968), precision=0.9423,
)  # fmt: skip
FACTS = ProbableFacts(
    estimate="tied", kept=0.6, n_pairs=891_136, n_matches=944.0, steps=12, present=1.0, claimed=0.5, squares=0.4,
    weights=WEIGHTS, classes=CLASSES, telling=(MANY, FEW),
)  # fmt: skip


@pytest.fixture
def attacked(detailed):
    """A content whose plain linkage is told of as probabilistic, with claims beside hits."""
    first, *others = detailed.attacks
    points = ReliabilityCurve(attack=first.attack, points=(ReliabilityPoint(0.25, 0.5), ReliabilityPoint(0.9, 0.8)))
    charts = replace(detailed.charts, reliability=(points,))
    return replace(detailed, attacks=(replace(first, probable=FACTS), *others), charts=charts)


def shown(content):
    return probable_view(content.attacks[0].probable, content, content.attacks[0].attack)


def test_rates_stand_as_allowed_expected_and_found(attacked):
    view = shown(attacked)
    assert [row.cells for row in view.errors] == [
        ("53 in a million", "42 in a million", "0\u202f%"),
        ("5.0\u202f%", "0\u202f%", "3.1\u202f%"),
    ]
    assert view.classes[1].cells[0] == "0.32 in a million"
    assert view.thresholds.facts == {"link_from": 4.1234, "drop_to": None, "precision": 0.9423}
    assert all(figure in view.thresholds for figure in ("4.1 bits", "94.2\u202f%"))


def test_without_a_threshold_nothing_is_linked(attacked):
    facts = replace(FACTS, classes=replace(CLASSES, link_from=None, precision=None, drop_to=-2.0))
    said = probable_view(facts, attacked, attacked.attacks[0].attack).thresholds
    assert said.facts == {"link_from": None, "drop_to": -2.0, "precision": None}
    assert "\u22122.0 bits" in said
    assert "%" not in said


def test_weights_have_their_bits_or_none(attacked):
    rows = {row.head: row.cells for row in shown(attacked).weights}
    assert rows["age: equal"] == ("81.2\u202f%", "5.1\u202f%", "+4.0")
    assert rows["age: not alike"][2] == "\u22122.3"
    assert rows["town: not alike"] == ("0\u202f%", "75\u202f%", "none")


def test_a_waterfall_begins_before_a_look_and_ends_after(attacked):
    first, second = shown(attacked).patterns
    assert [(row.head, *row.cells) for row in first.rows] == [
        ("before a look", "\u22129.9", "\u22129.9"),
        ("age: equal", "+4.0", "\u22125.9"),
        ("town: equal", "+2.0", "\u22123.9"),
        ("after", "\u22123.9", "\u22123.9"),
    ]
    assert first.note.facts == {"pairs": 497, "records": 480}
    assert [row.head for row in second.rows][-2:] == ["jointly", "after"]


def test_the_public_edition_shows_no_pattern_of_few_and_two_digits(attacked):
    public = public_edition(attacked, attacked.charts if attacked.charts.edition == "public" else None)
    view = shown(public)
    assert len(view.patterns) == 1
    assert view.patterns[0].note.facts == {"pairs": 500, "records": 480}
    assert ("town: equal", "100\u202f%") in [(row.head, row.cells[0]) for row in view.weights]
    assert {row.head: row.cells[0] for row in view.weights}["age: equal"] == "81\u202f%"
    nobody = replace(FACTS, telling=(FEW,)).public_summary
    assert probable_view(nobody, public, public.attacks[0].attack).without_patterns.facts == {"least": 10}


def test_the_page_says_that_claims_need_not_be_true(attacked):
    page, view = render_report(attacked), shown(attacked)
    assert (view.warning.id, view.warning.facts) == ("probable.not_calibrated", {"jointly": False})
    assert view.warning in page
    assert "chart-pattern-0-0" in page
    assert "chart-reliability-0" in page
    assert view.reliability[0].note in page


@pytest.mark.parametrize("estimate", ["tied", "plain", "supervised"])
def test_every_estimate_has_its_words(attacked, estimate):
    facts = replace(FACTS, estimate=estimate, kept=0.6 if estimate == "tied" else None)
    intro = probable_view(facts, attacked, attacked.attacks[0].attack).intro
    assert intro.facts | {"kept": None} == {
        "estimate": estimate, "pairs": 891_136, "matches": 944, "kept": None, "jointly": False
    }  # fmt: skip
    assert "891,136" in intro
    assert ("60\u202f%" in intro) == (estimate == "tied")


def test_the_picture_has_a_title_and_every_text():
    falls = (Fall("before", 0.0, -2.0, "-2.0", total=True), Fall("a <b> & c", -2.0, 1.5, "+3.5"))
    drawn = draw_waterfall(falls, key="k", title="t", description="d", below="bits")
    picture = ElementTree.fromstring(drawn)  # noqa: S314  drawn by the test itself
    texts = "".join(picture.itertext())
    assert "a <b> & c: +3.5" in texts
    assert picture.attrib["aria-labelledby"] == "k-title k-desc"


def test_claims_beside_hits_by_hand():
    # of 12 guesses that claim one half 9 are right, of 12 that claim all of it 12; three others are too few for the public
    claimed, credit = [0.5] * 12 + [1.0] * 12 + [0.1] * 3, [1.0] * 9 + [0.0] * 3 + [1.0] * 12 + [0.0] * 3
    table = Microdata.from_columns({"claimed": np.array(claimed), "credit": np.array(credit)})
    assert create_reliability_curve("a", table, RULES["public"]).points == (
        ReliabilityPoint(0.5, 0.75),
        ReliabilityPoint(1.0, 1.0),
    )
    assert create_reliability_curve("a", table, RULES["internal"]).points[0] == ReliabilityPoint(pytest.approx(0.1), 0.0)
    assert create_reliability_curve("a", Microdata.from_columns({"credit": np.array(credit)}), RULES["public"]).points == ()
