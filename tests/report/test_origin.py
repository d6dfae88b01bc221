"""Whoever masked the table, whatever it counts: the words follow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.microdata.estimate import Estimate
from tasks.report.content import public_edition
from tasks.report.page import render_report
from tasks.report.views import origin, overview, residual
from tasks.report.views.rows import format_rate_as_count
from tasks.report.wording.meanings import meaning
from tasks.score.figure_rounding import round_for_publication
from tasks.score.verdict import decide


def plain(sentences) -> str:
    return "\n".join(sentences).replace("\u202f", " ")


def facts_by_id(sentences) -> dict:
    return {one.id: one.facts for one in sentences if hasattr(one, "id")}


def test_a_table_masked_elsewhere_is_said_to_be_known_as_declared(certified):
    elsewhere = replace(certified, masked_elsewhere=True, tool="sdcMicro 5.8")
    masking = origin.summarise_masking(elsewhere)
    assert (masking.facts["elsewhere"], masking.facts["tool"]) == (True, "sdcMicro 5.8")
    assert all(said in masking for said in ("sdcMicro 5.8", "Microaggregation"))
    assert facts_by_id(origin.describe_table_origin(elsewhere))["origin.masked_elsewhere"] == {"tool": "sdcMicro 5.8"}
    assert "PCG64" not in plain(residual.list_known_limits(elsewhere))
    assert "PCG64" in plain(residual.list_known_limits(certified))
    assert "None" not in origin.summarise_masking(replace(elsewhere, tool=None))


def test_absent_records_are_counted(certified):
    fewer = replace(certified, rows_out=900)
    told = list(origin.describe_table_origin(fewer))
    assert facts_by_id(told)["origin.absent"] == {"absent": 44, "rows": 944}
    assert all(figure in plain(told) for figure in ("44 of 944", "4.7 %"))
    assert "44 of 944 records" in render_report(fewer)
    assert "origin.absent" not in facts_by_id(origin.describe_table_origin(certified))


def test_a_kept_row_order_is_told_with_its_reason_and_its_attack(certified):
    kept = replace(certified, keep_row_order="the rows are a time series")
    assert facts_by_id(origin.describe_table_origin(kept))["origin.row_order"] == {"kept": "the rows are a time series"}
    limits = facts_by_id(residual.list_known_limits(kept))
    assert "residual.random_order" not in limits
    assert limits["residual.kept_order"] == {"reason": "the rows are a time series", "tried": False}
    attacked = replace(kept, attacks=(*kept.attacks, replace(kept.attacks[0], attack="row_position", method="row_position")))
    assert facts_by_id(residual.list_known_limits(attacked))["residual.kept_order"]["tried"] is True


@pytest.fixture
def of_persons(certified):
    figures = tuple(
        replace(one, counts="persons") if one.attack is not None or one.measure == "k_anonymity" else one
        for one in certified.estimates
    )
    return replace(certified, estimates=figures, verdict=decide(certified.policy, figures), persons=500)


def test_figures_of_persons_say_persons(of_persons):
    assert of_persons.counts == "persons"
    shown = {tile.title: tile for tile in overview.create_tiles(of_persons)}
    assert shown["Re-identification rate"].people == "about 90 of 944 persons"
    assert shown["k-anonymity"].value.replace("\u202f", " ") == "10 persons"
    assert shown["k-anonymity"].limit.replace("\u202f", " ") == "at least 10 persons"
    assert "Persons exposed" in shown
    (linked,) = (one for one in residual.residual_risks(of_persons) if "residual.declared" in getattr(one, "id", ""))
    assert (linked.facts["rate"].counts, linked.facts["unit"]) == ("persons", "person")
    assert "9.5\u202f% of the persons" in linked
    persons = facts_by_id(residual.list_known_limits(of_persons))["residual.persons"]
    assert persons == {"rows": 944, "persons": 500, "counted": True}
    assert "every person was attacked" in render_report(of_persons)
    assert meaning("k_anonymity", "persons").sentence.startswith("The smallest number of persons whose records look alike")


@pytest.mark.parametrize(("hits", "exact", "shown"), [
    (944, "all 944 records", "about 944 of 944 records"), (930, "about 930 of 944 records", "about 944 of 944 records"),
    (14, "about 14 of 944 records", "fewer than 15 of 944 records"), (0, "none of 944 records", "fewer than 15 of 944 records"),
    (15, "about 15 of 944 records", "about 20 of 944 records"),
])  # fmt: skip
def test_people_are_counted_as_far_as_their_class_tells(hits, exact, shown):
    one = Estimate(measure="records_exposed", value=hits / 944, unit="share", n_targets=944, n_in_release=944)
    (rounded,) = round_for_publication((one,))
    assert (format_rate_as_count(one, "internal"), format_rate_as_count(rounded, "public")) == (exact, shown)


def test_what_was_rounded_to_none_is_not_said_to_be_none(certified):
    rows = dict(zip(("popul", "age"), overview.attribute_losses(certified)[1], strict=False))
    assert rows["popul"].cells[-1].replace("\u202f", " ") == "under 0.0005 sd"


@pytest.mark.slow
def test_editions_do_not_mix(internal, detailed):
    assert "Internal edition." in render_report(internal)
    assert "Internal edition." not in render_report(detailed)
    public = public_edition(internal)
    assert (public.edition, public.charts) == ("public", None)
    assert public_edition(detailed) == detailed
    with pytest.raises(ValueError, match="charts of the internal one"):
        replace(detailed, charts=internal.charts)
    exact = next(one for one in internal.figures("sse_percent") if one.attribute is None)
    assert exact.value == 8.1234567
