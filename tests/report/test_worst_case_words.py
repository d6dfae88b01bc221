"""A learned distance is nobody's: wherever its figure stands the page says so; and the rows of who holds an external file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from markupsafe import escape

from tasks.attack.learned.learning_summary import HeldOut, LearnedFacts
from tasks.attack.methods import describe
from tasks.microdata.estimate import Estimate
from tasks.report.charts.precision import Asserted, PrecisionCoverage
from tasks.report.content import Content
from tasks.report.page import render_report
from tasks.report.views import residual
from tasks.report.views.attacks import attack_views
from tasks.report.views.figures import precision_figures
from tasks.report.views.learned import create_learned_view
from tasks.report.views.overview import policy_rows, tiles
from tasks.report.wording.intruders import NOT_DISJOINT, WORST_CASE, somebody
from tasks.score.verdict import decide

FACTS = LearnedFacts(
    family="weighted_mean", metric=False, records=944, rate=0.5, euclidean=0.1, chance=0.01, sure=0.5, bound=None,
    stopped=False, held_out=HeldOut(0.55, 0.27, 0.1), betraying=(("age", 0.25), ("educ", 0.75)), parameters=(0.25, 0.75),
)  # fmt: skip
ID = "learned_linkage"


def plain(text) -> str:
    return str(text).replace("\u202f", " ")


@pytest.fixture(scope="module")
def learned(detailed) -> Content:
    """The certified release, attacked by a learned distance too, which found most."""
    own = next(one for one in detailed.attacks if one.intruder == "declared")
    attack = replace(own, attack=ID, method=ID, learned=FACTS, chance=0.02, chance_kind="permutation")
    by = {"attack": ID, "intruder": "declared", "unit": "share", "n_targets": 944, "n_in_release": 944}
    figures = [
        Estimate(measure=name, value=value, low=value, high=value, **by, **more)
        for name, value, more in (
            ("reidentification", 0.5, {"chance": 0.02, "chance_kind": "permutation"}),
            ("known_links", 0.4, {"reason": "the margin is calibrated on its own links"}),
            ("known_reidentification", 0.39, {"reason": "the margin is calibrated on its own links"}),
        )
    ]
    estimates = (*detailed.estimates, *figures)
    points = (Asserted(0.4, 0.97), Asserted(1.0, 0.5))
    charts = replace(detailed.charts, precision=(PrecisionCoverage(attack=ID, points=points),))
    return replace(
        detailed, attacks=(*detailed.attacks, attack), estimates=estimates,
        verdict=decide(detailed.policy, estimates), charts=charts,
    )  # fmt: skip


def test_the_figure_is_nobodys_wherever_it_stands(learned):
    row = next(row for row in policy_rows(learned) if "learned distance" in row.who)
    assert row.note.facts["worst_case"] == WORST_CASE
    assert row.who.facts["who"].facts["like_owner"]
    tile = next(tile for tile in tiles(learned) if "learned distance" in tile.who)
    assert tile.note.facts["worst_case"] == WORST_CASE
    told = residual.residual_risks(learned)[0]
    assert (told.facts["worst_case"], told.facts["half"]) == (WORST_CASE, 0.27)
    assert WORST_CASE in told and "27 %" in plain(told)
    assert somebody(learned, "insider:vote", ID).facts["like_owner"]
    assert not somebody(learned, "declared", "transparency").facts["like_owner"]


def test_the_block_begins_with_how_to_read_it(learned):
    reading = create_learned_view(FACTS).reading
    assert reading.facts == {"worst_case": WORST_CASE, "half": FACTS.held_out}
    assert all(said in plain(reading) for said in (WORST_CASE, "27 %", "10 %"))
    assert "%" not in create_learned_view(replace(FACTS, held_out=None)).reading
    page = render_report(learned)
    assert page.index(str(escape(reading))) < page.index("What the weights are worth")
    assert page.count("would find who weighed as only the data") == 1  # no other table is of nobody


def test_links_that_are_asserted_are_calibrated_on_links_that_were_learned_from(learned):
    (figure,) = precision_figures(learned)
    assert figure.note.endswith(NOT_DISJOINT)
    asserted = [one for one in residual.residual_risks(learned) if getattr(one, "id", "") == "residual.asserted_links"]
    assert [one.facts["by_owner"] for one in asserted] == [True]
    assert NOT_DISJOINT in asserted[0]
    plain_chart = replace(
        learned.charts, precision=(PrecisionCoverage(attack="distance_linkage", points=(Asserted(0.5, 1.0),)),)
    )
    (figure,) = precision_figures(replace(learned, charts=plain_chart))
    assert NOT_DISJOINT not in figure.note
    (told,) = (row for row in describe() if row["method"] == ID)
    assert "no intruder's rate" in told["what it does"]
    assert "calibrated on links that it has seen" in told["what it does"]
    view = next(view for view in attack_views(learned) if view.id == ID)
    cautious = [row.title for row in view.rates if "The margin is calibrated on its own links." in row.sentence]
    assert cautious == ["Links that can be asserted", "Asserted and correct"]


def of_file(name: str, attribute: str, value: float, measure: str = "linked_value_disclosed") -> Estimate:
    return Estimate(
        measure=measure,
        attack="transparency",
        intruder=f"file:{name}",
        attribute=attribute,
        value=value,
        unit="share",
        chance=0.3,
    )


def test_who_holds_a_file_has_his_rows_among_the_confidential_values(certified):
    figures = (
        *(of_file("register", "vote", 0.7), of_file("register", "vote", 0.55, "linked_value_control")),
        *(of_file("list", "vote", 0.2), of_file("list", "PID", 0.4), of_file("list", "PID", 0.4, "linked_value_control")),
    )
    content = replace(certified, estimates=(*certified.estimates, *figures))
    view = next(view for view in attack_views(content) if view.id == "transparency")
    before = next(view for view in attack_views(certified) if view.id == "transparency")
    assert view.values.file_heads == ("PID", "vote")  # as in the table
    rows = {row.head: tuple(map(plain, row.cells)) for row in view.values.files}
    assert rows == {"register": ("\u2013", "70 % (+15)"), "list": ("40 % (no gain)", "20 % (no gain)")}
    assert (before.values.files, view.values.insiders) == ((), before.values.insiders)
    assert "The same for the holder of each external file" in render_report(content)
    assert "The same for the holder of each external file" not in render_report(certified)
