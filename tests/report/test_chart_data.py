"""What the charts hold: enough records behind each bar, nothing rare by name, nothing that gives a statistic away."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from tasks.microdata.alignment import Alignment
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.report.charts.bounds import choose_bounds, format_bound
from tasks.report.charts.candidates import bracket_text, candidates
from tasks.report.charts.data import chart_data
from tasks.report.charts.distributions import OTHER, compute_distribution
from tasks.report.charts.editions import RULES, DrawingRule, choose_rounding_step, compute_bar_share
from tasks.report.charts.knowledge import list_knowledge_curves
from tasks.report.charts.losses import collect_losses
from tasks.report.charts.pooling import pool_bars
from tasks.report.charts.relations import compare_relations
from tasks.report.charts.subgroups import compare_subgroups
from tasks.report.content import public_edition
from tasks.report.page import render_report
from tasks.report.views.attacks import attack_views
from tasks.score.figure_rounding import round_for_publication

PUBLIC, INTERNAL = RULES["public"], RULES["internal"]
COUNTED = DrawingRule(bars=12, least=10, exact=True)  # the public rule with shares that can be counted back
COUNTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=30)


def attribute(scale: Scale, name: str = "x", order: tuple[str, ...] | None = None) -> Attribute:
    return Attribute(name=name, role=Role.QUASI_IDENTIFIER, scale=scale, decided_by="declared", order=order)


def drawn(original, released, scale, rule=COUNTED, order=None):
    return compute_distribution(
        Microdata.from_columns({"x": original}), Microdata.from_columns({"x": released}), attribute(scale, order=order), rule
    )


def test_one_bar_of_everything_is_no_chart():
    single = [f"v{i}" for i in range(60)]
    assert drawn(single, single, Scale.NOMINAL).bars == ()
    assert [bar.label for bar in drawn(["a"] * 30 + single, ["a"] * 30 + single, Scale.NOMINAL).bars] == ["a", OTHER]
    assert [bar.label for bar in drawn(["a"] * 30, ["a"] * 30, Scale.NOMINAL).bars] == ["a"]
    assert drawn([float(i) for i in range(12)], [float(i) for i in range(12)], Scale.NUMERIC).bars == ()


def test_neighbours_are_pooled_until_there_are_enough():
    assert pool_bars((4, 7, 20, 1), (4, 7, 20, 1), 10) == ((0, 2), (2, 4))
    assert pool_bars((4, 5), (9, 0), 10) == ()
    assert pool_bars((12, 12), (0, 12), 10) == ((0, 1), (1, 2))  # nothing released is no record's value
    assert pool_bars((12, 12), (3, 12), 10) == ((0, 2),)
    assert pool_bars((12, 12, 2), (12, 0, 3), 10) == ((0, 3),)  # the rest makes the span before it too small, and the next


@pytest.mark.slow
@given(COUNTS, st.integers(1, 12))
def test_pooled_spans_hold_everything_once_and_enough(counts, least):
    original, released = zip(*counts, strict=True)
    spans = pool_bars(original, released, least)
    if spans:
        assert [span[0] for span in spans] == [0, *(span[1] for span in spans[:-1])]
        assert spans[-1][1] == len(counts)
    for first, end in spans:
        assert sum(original[first:end]) >= least
        assert sum(released[first:end]) == 0 or sum(released[first:end]) >= least


@pytest.mark.parametrize(("total", "step"), [(944, 0.01), (1000, 0.005), (20190, 0.0005), (20, 0.5), (3, 1.0), (5, 1.0)])
def test_a_step_is_worth_five_records(total, step):
    assert choose_rounding_step(total) == pytest.approx(step)
    assert compute_bar_share(13, 944, PUBLIC) == 0.01
    assert compute_bar_share(13, 20190, PUBLIC) == 0.0005
    assert compute_bar_share(0, 944, PUBLIC) == 0
    assert compute_bar_share(13, 944, INTERNAL) == 13 / 944


@given(st.integers(10, 10**6), st.data())
def test_a_public_share_leaves_the_count_open_and_no_bar_vanishes(total, data):
    count = data.draw(st.integers(10, total))
    share = compute_bar_share(count, total, PUBLIC)
    assert 0 < share <= 1
    assert share == float(f"{share:.1e}")
    same = [other for other in range(max(0, count - 3), count + 4) if compute_bar_share(other, total, PUBLIC) == share]
    assert len(same) >= 2


VALUES = {
    Scale.NUMERIC: st.integers(-50, 3000),
    Scale.ORDINAL: st.integers(1, 40),
    Scale.NOMINAL: st.sampled_from(["a", "b", "c", "dd", "e$", "<f>", *"ghijklmnopq"]),
}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(VALUES)), st.data())
def test_behind_each_bar_stand_ten_records_and_all_records_stand_behind_a_bar(scale, data):
    original, released = (data.draw(st.lists(VALUES[scale], min_size=1, max_size=150)) for _ in range(2))
    found = drawn(original, released, scale)
    for bar in found.bars:
        assert round(bar.original * len(original)) >= 10
        assert round(bar.released * len(released)) == 0 or round(bar.released * len(released)) >= 10
    if found.bars and scale is not Scale.NOMINAL:
        assert sum(bar.original for bar in found.bars) == pytest.approx(1)
        assert sum(bar.released for bar in found.bars) == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 400), min_size=10, max_size=200), st.lists(st.integers(0, 400), min_size=10, max_size=200))
def test_the_labels_say_what_is_counted(original, released):
    for bar in drawn(original, released, Scale.NUMERIC).bars:
        for values, share in ((original, bar.original), (released, bar.released)):
            assert share == pytest.approx(sum(_is_in(value, bar.label) for value in values) / len(values))


def _is_in(value: int, label: str) -> bool:
    """The slow twin: reads the label as a person does."""
    numbers = [int(text.replace(",", "")) for text in re.findall(r"[\d,]+", label)]
    if label == "all values":
        return True
    if label.startswith("under"):
        return value < numbers[0]
    if label.endswith("and over"):
        return value >= numbers[0]
    return numbers[0] <= value <= numbers[-1]


def test_tails_are_cut():
    rng = np.random.default_rng(3)
    income = np.append(rng.integers(1000, 9000, 500), [123_456, 654_321])
    text = " ".join(bar.label for bar in drawn(income, income, Scale.NUMERIC, PUBLIC).bars)
    assert "123" not in text
    assert "654" not in text
    assert text.startswith("under ")
    assert text.endswith(" and over")


def test_skewed_values_have_bounds_that_double():
    rng = np.random.default_rng(4)
    towns = np.round(np.exp(rng.normal(4, 2.5, 2000))).astype(int)
    edges = choose_bounds(towns.astype(float), Scale.NUMERIC, 12, whole=True)
    assert {10.0, 100.0, 1000.0} <= set(edges)
    assert len(drawn(towns, towns, Scale.NUMERIC, PUBLIC).bars) >= 6


def test_rare_categories_have_no_name_and_none_can_be_had_by_subtraction():
    names = ["common"] * 40 + ["usual"] * 25 + ["rare"] * 9 + ["rarest"]
    found = drawn(names, names, Scale.NOMINAL)
    assert [(bar.label, round(75 * bar.original)) for bar in found.bars] == [("common", 40), ("usual", 25), (OTHER, 10)]
    few = drawn(names[:-2], names[:-2], Scale.NOMINAL)  # 8 are left: the smallest named one joins them
    assert [(bar.label, round(73 * bar.original)) for bar in few.bars] == [("common", 40), (OTHER, 33)]


def test_categories_that_a_mask_took_away_have_no_name_in_public():
    before = ["Bergen"] * 30 + ["Oslo"] * 40 + ["Narvik"] * 12
    after = ["west"] * 30 + ["Oslo"] * 40 + ["west"] * 12
    public = drawn(before, after, Scale.NOMINAL, PUBLIC)
    assert {bar.label for bar in public.bars} == {"Oslo", OTHER}
    assert "Bergen" in {bar.label for bar in drawn(before, after, Scale.NOMINAL, INTERNAL).bars}


def test_levels_keep_their_order_and_pool_their_neighbours():
    order = ("none", "low", "middle", "high", "most")
    texts = ["none"] * 4 + ["low"] * 8 + ["middle"] * 20 + ["high"] * 11 + ["most"] * 3
    found = drawn(texts, texts, Scale.ORDINAL, order=order)
    assert [(bar.label, round(46 * bar.original)) for bar in found.bars] == [
        ("up to low", 12),
        ("middle", 20),
        ("from high", 14),
    ]


def test_too_few_values_have_no_chart():
    assert drawn([1, 2, 3] * 3, [1, 2, 3] * 3, Scale.NUMERIC).bars == ()
    assert drawn(["a"] * 9, ["a"] * 9, Scale.NOMINAL).bars == ()


def test_missing_values_are_not_counted():
    values = [1.0] * 20 + [None] * 20 + [2.0] * 20
    found = drawn(values, values, Scale.ORDINAL)
    assert [bar.original for bar in found.bars] == [0.5, 0.5]


def test_dates_and_times_have_round_bounds():
    days = np.arange(9000.0, 12000.0)
    edges = choose_bounds(days, Scale.DATE, 12, whole=False)
    assert 3 <= len(edges) <= 12
    assert all(format_bound(edge, Scale.DATE).endswith("-01") for edge in edges)
    hours = choose_bounds(np.arange(0.0, 86400.0, 60), Scale.TIME, 12, whole=False)
    assert [format_bound(edge, Scale.TIME) for edge in hours][:2] == ["02:00", "04:00"] or len(hours) <= 12
    assert format_bound(36000.0, Scale.TIME) == "10:00"
    assert format_bound(-1234567.5, Scale.NUMERIC) == "\u22121,234,567.5"


def pair_tables(n: int = 300):
    rng = np.random.default_rng(5)
    a = rng.normal(size=n)
    source = {"a": a, "b": a + rng.normal(size=n), "c": rng.integers(1, 5, n).astype(float), "d": rng.normal(size=n)}
    masked = source | {"a": rng.permutation(a)}
    schema = Schema(tuple(attribute(Scale.ORDINAL if name == "c" else Scale.NUMERIC, name) for name in source))
    return Microdata.from_columns(source), Microdata.from_columns(masked), schema


def test_relations_are_those_of_spearman_and_of_masked_pairs_alone():
    source, masked, schema = pair_tables()
    exact, shown = (compare_relations(source, masked, schema, frozenset({"a"}), rule) for rule in (INTERNAL, PUBLIC))
    assert [(pair.one, pair.other) for pair in exact.pairs] == [("a", "b"), ("a", "c"), ("a", "d")]
    for pair, told in zip(exact.pairs, shown.pairs, strict=True):
        before, after = (spearmanr(table.floats(pair.one), table.floats(pair.other)).statistic for table in (source, masked))
        assert (pair.original, pair.released) == (pytest.approx(before), pytest.approx(after))
        assert pair.difference == pytest.approx(abs(after - before))
        assert (told.original, told.released) == (None, None)
        assert told.difference == round(float(f"{abs(after - before):.1e}"), 3)
    assert compare_relations(source, masked, schema, frozenset(), PUBLIC).pairs == ()


def test_candidate_sets_are_shares_of_brackets():
    ten = [1, 1, 2, 4, 5, 9, 12, 12, 12, 1200]
    sizes = 20 * ten  # of 200 targets: steps of 10
    found = candidates("linkage", Microdata.from_columns({"candidates": sizes}), PUBLIC)
    shown = [(bracket_text(one), one.share) for one in found.brackets if one.share]
    assert shown == [("1", 0.2), ("2", 0.1), ("3 to 4", 0.1), ("5 to 9", 0.2), ("10 to 19", 0.3), ("1,000 or more", 0.1)]
    assert sum(one.share for one in found.brackets) == pytest.approx(1)
    few = candidates(
        "linkage", Microdata.from_columns({"candidates": ten}), PUBLIC
    )  # steps of 5 of 10: brackets of 1 or 2 show none
    assert [(bracket_text(one), one.share) for one in few.brackets if one.share] == [("10 to 19", 0.5)]
    assert [one.last for one in candidates("x", Microdata.from_columns({"candidates": [3, 4]}), PUBLIC).brackets] == [1, 2, 4]


def rate(value: float, intruder: str, attack: str = "linkage", **more) -> Estimate:
    return Estimate(measure=more.pop("measure", "reidentification"), value=value, unit="share", attack=attack,
                    intruder=intruder, chance=0.001, **more)  # fmt: skip


def test_a_curve_ends_with_the_declared_intruder():
    figures = (rate(0.2, "knowing:2"), rate(0.5, "declared"), rate(0.1, "knowing:1"), rate(0.9, "insider:x"),
               rate(0.3, "declared", "other"))  # fmt: skip
    (curve,) = list_knowledge_curves(figures, 3)
    assert [(point.known, point.rate) for point in curve.points] == [(1, 0.1), (2, 0.2), (3, 0.5)]
    assert list_knowledge_curves((rate(0.5, "declared"),), 3) == ()


def test_subgroups_show_the_worst_attack_and_no_small_ones():
    def part(value, attribute, subgroup, n, attack="linkage"):
        return rate(value, "declared", attack, measure="subgroup_reidentification", attribute=attribute, subgroup=subgroup,
                    n_targets=n)  # fmt: skip

    figures = (rate(0.1, "declared"), part(0.2, "age", "lowest values", 47), part(0.3, "age", "lowest values", 47, "other"),
               part(1.0, "town", "rare categories", 4), part(0.9, "size", "highest values", 47))  # fmt: skip
    found = compare_subgroups(figures, PUBLIC)
    assert [(one.attribute, one.rate, one.attack) for one in found.subgroups] == [
        ("size", 0.9, "linkage"),
        ("age", 0.3, "other"),
    ]
    assert (found.overall, found.n_small) == (0.1, 1)
    assert len(compare_subgroups(figures, INTERNAL).subgroups) == 3
    withheld = compare_subgroups(
        round_for_publication(figures), PUBLIC
    )  # 4 of fewer than 25; the rates of 47 and of an unknown number stay
    assert ({one.attribute for one in withheld.subgroups}, withheld.n_small) == ({"size", "age"}, 1)


def test_losses_need_two_attributes():
    figures = tuple(Estimate(measure="sse_percent", value=value, unit="percent", attribute=name) for name, value in
                    (("a", 3.0), ("b", 9.0)))  # fmt: skip
    (found,) = collect_losses(figures)
    assert [(one.attribute, one.value) for one in found.losses] == [("b", 9.0), ("a", 3.0)]
    assert collect_losses(figures[:1]) == ()


def test_a_bar_needs_as_many_times_more_records_as_a_person_can_have():
    rng = np.random.default_rng(6)
    n = 400
    table = Microdata.from_columns({"id": np.repeat(np.arange(n // 4), 4), "x": rng.integers(0, 100, n)})
    key = replace(attribute(Scale.NOMINAL, "id"), role=Role.PERSON)
    schema = Schema((key, attribute(Scale.NUMERIC, "x")))
    masked = table.select(["x"])
    rows = Alignment.complete_in(np.arange(n))
    (found,) = chart_data(table, masked, rows, schema, frozenset({"x"}), {}, "internal").distributions
    assert min(round(bar.original * n) for bar in found.bars) >= 4 * INTERNAL.least


def test_masses_of_the_true_rows_stay_in_the_house(internal, certified):
    """The public edition has none of them, neither in its content nor on its page."""
    masses = internal.charts.masses["distance_linkage"]
    assert [(one.on, one.plausibility, one.largest) for one in masses] == [("sound sets", 1, 1), ("guesses", 1, 1)]
    assert "Pignistic, mean" in render_report(internal)
    of_insider = internal.charts.masses_of_others["transparency"]["insider:TVnews"]
    assert [(one.belief, one.pignistic) for one in of_insider] == [(1, 1), (1, 1)]
    (rows,) = [one.masses_of_others for one in attack_views(internal) if one.id == "transparency"]
    assert [(one.head, one.cells[0]) for one in rows] == [(rows[0].head, "sound sets"), (rows[0].head, "guesses")]
    assert "TVnews" in rows[0].head
    assert certified.charts.masses == certified.charts.masses_of_others == {}
    assert not any(one.masses_of_others for one in attack_views(certified))
    for public in (certified, public_edition(internal)):
        assert "ignistic" not in render_report(public)
