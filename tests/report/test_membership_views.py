"""Who is in the file: the curve worked by hand, what the public edition leaves out, and the page with it."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from tasks.attack.membership.methods import DEFAULT_MODEL_ATTACKS, MEANS, TITLES, MembershipResult
from tasks.microdata.estimate import Estimate
from tasks.report.charts.editions import RULES
from tasks.report.charts.roc_chart import RocChart, RocPoint, create_roc_chart, draw_roc_curve
from tasks.report.page import render_report
from tasks.report.views.membership import (
    describe_insider,
    describe_values_kept,
    membership_intro,
    membership_views,
    title_of,
    worst_of_membership,
)
from tasks.report.views.residual import list_known_limits, residual_risks
from tasks.train.card import ModelCard

POINTS = (RocPoint(0.01, 0.2), RocPoint(0.1, 0.5), RocPoint(1.0, 1.0))


def result(method="closest_record", **changes):
    about = {
        "attack": method,
        "method": method,
        "evaluates": "this file",
        "infers": "takes the near for members",
        "knows": "the record",
    }
    return MembershipResult(**{**about, **changes})


def figure(measure, value, attack="closest_record", **changes):
    return Estimate(measure=measure, value=value, attack=attack, unit="share", basis="control_group", **changes)


def asked(content, **changes):
    figures = (
        figure("membership_auc", 0.8, chance=0.5),
        figure("membership_recall", 0.71),
        figure("membership_advantage", 0.5),
    )
    few = figure(
        "membership_true_positive_rate", None, status="not_applicable", reason="not estimable: fewer than 1,000 non-members",
        parameters=(("false_positive_rate", 0.01),),
    )  # fmt: skip
    rare = figure("subgroup_membership_auc", 0.9, attribute="age", subgroup="highest values", n_targets=24)
    shown = replace(content.charts, membership=(RocChart(attack="closest_record", points=POINTS),))
    estimates = (*content.estimates, *figures, few, rare)
    return replace(content, **{"membership": (result(),), "control": 40, "estimates": estimates, "charts": shown, **changes})


def test_worked_points():
    """100 members and 100 others: 5 members above all others, 45 more above 9 others of 10, the rest alike."""
    scores = np.concatenate([np.full(5, 3.0), np.full(45, 2.0), np.zeros(50), np.full(10, 1.0), np.zeros(90)])
    member = np.arange(200) < 100
    points = {edition: create_roc_chart("a", scores, member, rule).points for edition, rule in RULES.items()}
    early = [RocPoint(rate, 0.5) for rate in (0.05, 0.1, 0.2, 0.5)]
    assert points["internal"] == (*early, RocPoint(1.0, 1.0))
    assert points["public"] == (*early[1:], RocPoint(1.0, 1.0))


def test_public_points_have_two_digits():
    rng = np.random.default_rng(0)
    scores, member = rng.normal(size=4000), np.arange(4000) < 2000
    for point in create_roc_chart("a", scores, member, RULES["public"]).points:
        assert f"{point.members:.2g}" == f"{point.members:g}"
        assert point.others >= 0.005


def test_the_picture_has_logarithmic_axes():
    drawn = draw_roc_curve(POINTS, key="k", title="t", description="d")
    root = ElementTree.fromstring(drawn)  # noqa: S314  our own drawing
    texts = {one.text.replace("\u202f", " ") for one in root.iter() if one.tag.endswith("text") and one.text}
    assert {"1 %", "10 %", "100 %"} <= texts
    assert "50 %" not in texts


def test_what_it_means_for_one_respondent(certified):
    (view,) = membership_views(asked(certified))
    assert view.plain.facts == {"of_model": False, "takes": (71, 21), "advantage": 0.5}
    assert [row.value.replace("\u202f", " ") for row in view.rates] == ["80 %", "50 %", "71 %"]
    assert [row.head for row in view.subgroups] == ["age: highest values"]
    facts = worst_of_membership(asked(certified)).facts
    assert (facts["attack"], facts["takes"], facts["is_rehearsed"]) == ("closest_record", (71, 21), False)
    assert "takes 71" in worst_of_membership(asked(certified))


@pytest.mark.parametrize(("asked_about", "more"), [(40, []), (30, [{"few": 30, "counts": "records"}])])
def test_how_many_were_asked_about_is_said_where_it_is_not_all_of_them(certified, asked_about, more):
    auc = figure("membership_auc", 0.8, n_targets=2 * asked_about, n_in_release=asked_about)
    assert [one.facts for one in membership_intro(asked(certified, estimates=(auc,)))[2:]] == more


def test_recall_and_miaar_are_one_row(certified):
    content = asked(certified)
    both = (*content.estimates, figure("membership_attribute_risk", 0.71))
    (view,) = membership_views(replace(content, estimates=both))
    assert [row.title for row in view.rates if "miaAR" in row.title] == ["Members noticed: recall (miaAR)"]


def test_a_rate_at_the_left_end_that_has_a_value_is_told(certified):
    content = asked(certified)
    rate = figure("membership_true_positive_rate", 0.031, parameters=(("false_positive_rate", 0.01),), chance=0.01)
    (view,) = membership_views(replace(content, estimates=(*content.estimates[:-2], rate)))
    assert view.rates[-1].title.facts["rate"] == 0.01
    assert "1 %" in view.rates[-1].title.replace("\u202f", " ")
    assert view.rates[-1].value.replace("\u202f", " ") == "3.1 %"


def test_an_attack_that_says_yes_or_no_has_no_curve(certified):
    content = asked(certified)
    flat = (RocPoint(0.1, 0.0), RocPoint(0.5, 0.0), RocPoint(1.0, 1.0))
    charts = replace(content.charts, membership=(RocChart(attack="closest_record", points=flat),))
    assert membership_views(replace(content, charts=charts))[0].curve == ()
    late = (RocPoint(0.1, 0.0), *POINTS[1:])
    charts = replace(content.charts, membership=(RocChart(attack="closest_record", points=late),))
    ((drawn,),) = (view.curve for view in membership_views(replace(content, charts=charts)))
    assert len(drawn.rows) == 3 and drawn.note.facts["has_gap"]
    assert not membership_views(content)[0].curve[0].note.facts["has_gap"]


def test_an_attack_that_tells_nothing_is_said_to_be_a_coin(certified):
    content = asked(certified)
    flat = tuple(replace(one, value=0.03) if one.measure == "membership_advantage" else one for one in content.estimates)
    (view,) = membership_views(replace(content, estimates=flat))
    assert "coin" in view.plain


def test_where_an_attack_failed_the_worst_of_the_others_is_not_relied_on(certified):
    content = asked(certified)
    other = figure("membership_auc", None, attack="gap", status="failed", reason="the tables differ")
    told = worst_of_membership(replace(content, estimates=(*content.estimates, other)))
    assert (told.facts["failed"], told.facts["reason"]) == (["gap"], "the tables differ")
    assert "the tables differ" in told and "coin" not in told
    assert worst_of_membership(content).facts["failed"] == []


def most_exposed(part, attribute, value, chance, low, attack="closest_record"):
    return figure("subgroup_share_of_most_exposed", value, attack, attribute=attribute, subgroup=part, chance=chance, low=low,
                  high=min(1.0, 2 * value), n_targets=200)  # fmt: skip


PARTS = (
    most_exposed("lowest values", "age", 0.06, 0.05, 0.03),
    most_exposed("rare categories", "vote", 0.21, 0.05, 0.12),
    most_exposed("missing values", "income", 0.2, 0.1, 0.101),
)


def test_who_is_most_exposed(certified):
    """Sorted by how many times its share; in words those whose bound is above their share of the members."""
    content = asked(certified)
    (view,) = membership_views(replace(content, estimates=(*content.estimates, *PARTS)))
    assert [(row.head, row.cells[1].replace("\u202f", " "), row.cells[2]) for row in view.exposed] == [
        ("vote: rare categories", "5.0 %", "4.2"),
        ("income: missing values", "10 %", "2"),
        ("age: lowest values", "5.0 %", "1.2"),
    ]
    assert [tuple(one.facts.values()) for one in view.exposed_in_words] == [
        ("rare categories", "vote", 0.05, 0.21), ("missing values", "income", 0.1, 0.2)
    ]  # fmt: skip
    page = render_report(replace(content, estimates=(*content.estimates, *PARTS)))
    assert "Who is most exposed, by part of the people" in page and "21\u202f%" in page


def test_a_part_stands_out_by_its_bound_alone(certified):
    content = asked(certified)
    (view,) = membership_views(replace(content, estimates=(*content.estimates, PARTS[0])))
    assert [one.id for one in view.exposed_in_words] == ["membership.no_exposed_part"]
    area = (replace(one, low=0.48, high=0.9) if one.measure == "membership_auc" else one for one in content.estimates)
    (view,) = membership_views(replace(content, estimates=(*area, *PARTS)))
    assert view.exposed_in_words[-1].id == "membership.maybe_a_coin"
    many = tuple(replace(PARTS[1], attribute=f"a{i}") for i in range(5))
    (view,) = membership_views(replace(content, estimates=(*content.estimates, *many)))
    assert (view.exposed_in_words[-1].id, view.exposed_in_words[-1].facts) == ("membership.other_exposed_parts", {"more": 2})
    few = figure("subgroup_share_of_most_exposed", None, attribute="age", subgroup="lowest values", status="not_applicable",
                 reason="a tenth of the members who were asked about is fewer than 10")  # fmt: skip
    (view,) = membership_views(replace(content, estimates=(*content.estimates, few)))
    assert view.exposed == () and "fewer than 10." in view.exposed_in_words[0]


CARD = ModelCard(algorithm="RandomForestClassifier", parameters={}, inputs=(), target="vote", target_type="string",
                 classes=("a", "b"), trained_on="original", rows=900, trusted=())  # fmt: skip


@pytest.mark.parametrize("control", [40, None])
def test_of_a_model_the_attacks_ask_who_is_in_its_training_set(certified, control):
    offline = result("likelihood_ratio", attack="likelihood_ratio_offline", shadows=16)
    attacks = (result("gap"), result("loss_threshold"), result("shadow_models", shadows=8), offline, result("likelihood_ratio"))
    content = asked(certified, membership=attacks, model=CARD, control=control)
    figures = (replace(one, attack="gap") if one.attack == "closest_record" else one for one in content.estimates)
    content = replace(content, estimates=tuple(figures))
    views = membership_views(content)
    assert [view.title for view in views] == [
        "Right or wrong", "Size of the error", "Shadow models", "Likelihood ratio (LiRA), offline", "Likelihood ratio (LiRA)",
    ]  # fmt: skip
    assert all(view.means for view in views) and len({view.means for view in views}) == 5
    assert [view.imitations and view.imitations.facts["shadows"] for view in views] == ["", "", 8, 16, ""]
    told = [*membership_intro(content), worst_of_membership(content), *(view.plain for view in views)]
    told += [f"{row.title} {row.sentence}" for view in views for row in view.rates]
    assert "the file" not in " ".join(told) and "masking" not in " ".join(told)
    assert views[0].plain.facts["of_model"] and views[0].plain.facts["takes"] == (71, 21)


def test_every_attack_on_a_model_has_words():
    for spec in DEFAULT_MODEL_ATTACKS:
        assert {spec.id or spec.method, spec.method} & set(TITLES) and {spec.id or spec.method, spec.method} & set(MEANS)
    assert title_of(result("gap", attack="mine")) == TITLES["gap"]


@pytest.mark.slow
@pytest.mark.parametrize("control", [40, None])
def test_the_page_says_whether_the_file_was_asked_about(certified, control):
    evaluates = "this file" if control else "mechanism, not this file"
    page = render_report(asked(certified, control=control, membership=(result(evaluates=evaluates),)))
    assert 'id="membership"' in page
    told = membership_intro(asked(certified, control=control))
    assert [one.id for one in told] == ["membership.asks", "membership.set_aside" if control else "membership.rehearsed"]
    assert all(one.replace("'", "&#39;") in page for one in told)
    assert "is not assessed" not in " ".join(list_known_limits(asked(certified, control=control)))


def test_an_attack_that_did_not_run_says_why(certified):
    silent = result(status="not_applicable", reason="too few people")
    page = render_report(asked(certified, membership=(silent,)))
    assert page.count("not applicable: too few people") == 2
    assert "For one respondent" not in page


def test_without_such_attacks_nothing_is_said_but_that(certified):
    assert membership_intro(certified) == ()
    assert 'id="membership"' not in render_report(certified)
    assert "residual.no_membership" in [getattr(one, "id", "") for one in list_known_limits(certified)]


def test_exact_values_and_the_strongest_insider_are_told(certified):
    values = "values_present"
    area = figure("membership_auc", 0.9, values, low=0.8, high=1.0, chance=0.5, n_targets=80, n_in_release=40)
    advantage = figure("membership_advantage", 0.7, values), figure("membership_recall", 0.8, values)
    insiders = (figure("insider_membership_auc", value, values, attribute=name, chance=0.5) for name, value in INSIDERS)
    content = replace(
        asked(certified), membership=(result(values),), estimates=(*certified.estimates, area, *advantage, *insiders)
    )
    (kept,), (insider,) = describe_values_kept(content, content.membership[0]), describe_insider(content)
    assert (kept.id, kept.facts["area"]) == ("membership.values_kept", area)
    assert (insider.id, insider.facts["strongest"].attribute, insider.facts["declared"]) == ("membership.insider", "PID", area)
    (view,) = membership_views(content)
    assert view.insider == f"{kept} {insider}"
    assert insider in residual_risks(content)
    alone = replace(content, estimates=(*certified.estimates, replace(area, low=0.45), *advantage))
    assert membership_views(alone)[0].insider == ""


INSIDERS = (("vote", 0.91), ("PID", 0.97))
