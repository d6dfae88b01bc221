"""What is kept of a figure, the table of a sweep, and what is read back from it."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.threat import IntruderSpec
from tasks.mask.noise.noise import Noise
from tasks.microdata.canonical import canonical
from tasks.microdata.estimate import Estimate, Status, split_id
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.catalogue import MEASURES
from tasks.score.measure import SUBGROUPS
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide
from tasks.sweep import evaluation
from tasks.sweep.layout import StoredFigure, TrialRow, create_sweep_table, decode_figure, encode_figures, parse_figure_id
from tasks.sweep.results import FIGURE_FIELDS, Results

LINKED = "reidentification|distance_linkage|declared"
LOSS = "sse_percent"


def line(point: int, seed: int, figures: dict[str, StoredFigure], **fields: object) -> TrialRow:
    common = {"pipeline": "mdav", "axes": {"masking[0].k": 3}, "status": "ok", "reason": None, "seconds": 0.5}
    return TrialRow(point=point, seed=seed, figures=figures, **{**common, **fields})  # type: ignore[arg-type]  # by name


def test_whole_numbers_beyond_64_bits_do_not_cost_the_table() -> None:
    huge = 10**30
    table = create_sweep_table(
        [line(0, 0, {}), line(1, 0, {}, axes={"masking[0].k": huge}, status="skipped", reason="too few")]
    )
    assert table.column("axis:masking[0].k").to_pylist() == ["3", str(huge)]


NAMES = st.text("ab|~=,\\ä ", min_size=1, max_size=5)
INTRUDERS = st.sampled_from(["declared", "knowledge:2", "insider:a|b", "insider:"])
NUMBERS = st.floats(0, 1)


@st.composite
def estimates(draw: st.DrawFn) -> Estimate:
    measure = draw(st.sampled_from(list(MEASURES.values())))
    about = {"table": st.none(), "attribute": NAMES, "table_and_attribute": st.none() | NAMES}[measure.about]
    low, value, high = sorted(draw(st.tuples(NUMBERS, NUMBERS, NUMBERS)))
    has_interval = draw(st.booleans())
    found = Estimate(
        measure=measure.name,
        attack=draw(st.sampled_from(["transparency", "by-name"])) if measure.by_attack else None,
        intruder=draw(st.just("declared") if measure.by_subgroup else INTRUDERS) if measure.by_attack else None,
        attribute=draw(about),
        subgroup=draw(st.sampled_from(SUBGROUPS)) if measure.by_subgroup else None,
        parameters=(("p_percent", draw(st.floats(0.001, 100))),) if measure.takes_p_percent else (),
        value=value,
        low=low if has_interval else None,
        high=high if has_interval else None,
        basis="sampled_targets" if has_interval else "exact",
        unit=measure.unit,
    )
    states: list[Status] = ["ok", "ok", "not_applicable", "failed"]
    status = draw(st.sampled_from(states))
    return found if status == "ok" else replace(found, status=status, value=None, low=None, high=None, basis="exact")


@given(estimates())
def test_a_figure_survives_the_json_and_the_table(figure: Estimate) -> None:
    stored = json.loads(canonical(encode_figures([figure])))
    assert list(stored) == [figure.id]
    again = decode_figure(figure.id, stored[figure.id])
    table = Results.from_table(create_sweep_table([line(0, 0, stored), line(0, 1, {})]))
    assert table.estimates(0) == (again,)
    assert table.estimates(1) == ()
    if figure.low is not None and figure.low == figure.high:  # an interval that is a point is the value
        figure = replace(figure, low=None, high=None, basis="exact")
    assert again == figure


@given(estimates(), NUMBERS)
def test_a_policy_decides_on_what_is_kept_as_on_the_figures(figure: Estimate, limit: float) -> None:
    measure = MEASURES[figure.measure]
    assume(not (measure.of_membership or measure.only_of_model))  # which no sweep asks about
    assume(measure.better is not None and figure.intruder != "knowledge:2")  # of which no line can be
    limits = {"at_most": limit} if measure.better == "lower" else {"at_least": 1 + limit}
    asker = None if measure.by_subgroup or (measure.compares_people and not measure.of_inference) else figure.intruder
    asked = dict(figure.parameters)
    line_ = PolicyLine(measure=measure.name, intruder=asker, **limits, **asked)  # type: ignore[arg-type]  # by name
    stored = json.loads(canonical(encode_figures([figure])))
    again = tuple(decode_figure(name, fields) for name, fields in stored.items())
    before, after = decide((line_,), (figure,)), decide((line_,), again)
    assert after.verdict == before.verdict
    assert after.criteria[0].deciding_value == before.criteria[0].deciding_value


def test_every_figure_that_is_scored_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[Estimate] = []

    def spied(figures: tuple[Estimate, ...]) -> dict[str, StoredFigure]:
        scored.extend(figures)
        return encode_figures(figures)

    monkeypatch.setattr(evaluation, "encode_figures", spied)
    rng = np.random.default_rng(5)
    roles = {"a": Role.QUASI_IDENTIFIER, "b|c": Role.QUASI_IDENTIFIER, "vote": Role.CONFIDENTIAL, "home": Role.GROUP}
    attributes = (
        Attribute(name, role, Scale.NUMERIC if name < "c" else Scale.NOMINAL, "declared") for name, role in roles.items()
    )
    numbers = {name: rng.normal(size=240) for name in ("a", "b|c")}
    table = Microdata.from_columns(
        {**numbers, "vote": rng.choice(["x", "y", "z"], 240), "home": [f"h{i // 3}" for i in range(240)]}
    )
    attacks = tuple(DistanceLinkage(method="distance_linkage", id=name) for name in ("distance_linkage",))
    trial = evaluation.Trial("key", attacks, evaluation.drop_curve_and_files(IntruderSpec(targets=0.8)))
    noise = Noise(method="noise", kind="independent", attributes=("a", "b|c"), sd_percent=50)
    (row,) = evaluation.evaluate(table, Schema(tuple(attributes)), evaluation.TrialGroup((noise,), 0, (trial,)), source="s")
    assert row.status == "ok"
    found = Results.from_table(create_sweep_table([line(0, 0, row.figures)])).estimates(0)
    identity = ("id", "measure", "attack", "intruder", "attribute", "subgroup", "parameters", "value", "status", "unit")
    by_id = {one.id: [getattr(one, name) for name in identity] for one in scored}
    assert {one.id: [getattr(one, name) for name in identity] for one in found} == by_id
    assert {one.measure for one in scored} >= {"subgroup_reidentification", "linked_value_disclosed", "groups_exposed"}
    for line_ in (PolicyLine(measure=one, at_most=0.3) for one in ("reidentification", "max_record_risk", "sse_percent")):
        before, after = decide((line_,), tuple(scored)).criteria[0], decide((line_,), found).criteria[0]
        assert (after.decision, after.deciding_value) == (before.decision, before.deciding_value)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_no_number_is_kept_as_failed(number: float) -> None:
    assert encode_figures([Estimate(measure="il1s", value=number, unit="x")]) == {"il1s": {"status": "failed"}}


def test_names_with_bars_keep_apart() -> None:
    one = Estimate(measure="linked_value_disclosed", attack="t", intruder="insider:a", attribute="b|c", value=0, unit="share")
    other = replace(one, intruder="insider:a|b", attribute="c")
    assert one.id == "linked_value_disclosed|t|insider:a|b~1c"
    assert one.id != other.id
    assert split_id(other.id) == ("linked_value_disclosed", "t", "insider:a|b", "c")


def test_a_width_of_many_digits_is_read_back() -> None:
    one = Estimate(measure="rank_interval_disclosure", attribute="a", parameters=(("p_percent", 12.3456789),), value=0, unit="")
    assert parse_figure_id(one.id).p_percent == 12.3456789
    assert replace(one, parameters=(("p_percent", 5.0),)).id == "rank_interval_disclosure|a|p_percent=5"


PARAMETERS = [
    ("results_hidden", None, (("rules", 3.0), ("support", 1e-05), ("confidence", 0.8))),
    ("rule_support", None, (("rule", 2.0),)),
    ("cell_members_exposed", "income", (("coalition", 2.0), ("p_percent", 5.0))),
    ("cell_homogeneity", "rule=1", ()),
]


@pytest.mark.parametrize(("measure", "attribute", "parameters"), PARAMETERS)
def test_all_parameters_are_read_back(measure: str, attribute: str | None, parameters: tuple[tuple[str, float], ...]) -> None:
    one = Estimate(measure=measure, attribute=attribute, parameters=parameters, value=0.5, unit="share")
    found = decode_figure(one.id, 0.5)
    assert (found.id, found.attribute, found.parameters) == (one.id, attribute, parameters)


STRANGE = ["nothing", "reidentification", "reidentification|a", "il1s|a|b", "reidentification|a|b|c|d",
           "rank_interval_disclosure|a", "subgroup_reidentification|a|b|c|tall people"]  # fmt: skip


@pytest.mark.parametrize("strange", STRANGE)
def test_other_ids_are_refused(strange: str) -> None:
    with pytest.raises(ValueError, match="the id"):
        parse_figure_id(strange)


def test_the_table_of_three_trials() -> None:
    sampled: StoredFigure = {"value": 0.2, "low": 0.1, "high": 0.3}
    rows = [
        line(1, 0, {}, pipeline="swap", axes={"masking[0].p_percent": 5.0}, status="skipped", reason="k is too large"),
        line(0, 1, {LINKED: sampled, LOSS: 3.0}),
        line(0, 0, {LINKED: 0.1, LOSS: {"status": "not_applicable"}}),
    ]
    expected = {
        "point": [0, 0, 1],
        "pipeline": ["mdav", "mdav", "swap"],
        "seed": [0, 1, 0],
        "status": ["ok", "ok", "skipped"],
        "reason": [None, None, "k is too large"],
        "axis:masking[0].k": [3, 3, None],
        "axis:masking[0].p_percent": [None, None, 5.0],
        LINKED: [0.1, 0.2, None],
        f"low:{LINKED}": [None, 0.1, None],
        f"high:{LINKED}": [None, 0.3, None],
        LOSS: [None, 3.0, None],
        f"status:{LOSS}": ["not_applicable", None, None],
        "seconds": [0.5, 0.5, 0.5],
    }
    table = create_sweep_table(rows)
    assert table.to_pydict() == expected
    assert table.column_names == list(expected)
    random.Random(1).shuffle(rows)
    assert create_sweep_table(rows).equals(table)


def test_the_kinds_of_axes() -> None:
    axes: list[dict[str, object]] = [{"a": 1, "b": True, "c": 1, "d": "x", "e": ("u", "v")}, {"a": 2, "c": 0.5, "d": 2}]
    table = create_sweep_table([line(i, 0, {}, axes=values) for i, values in enumerate(axes)])
    kinds = {name: str(table.schema.field(f"axis:{name}").type) for name in "abcde"}
    assert kinds == {"a": "int64", "b": "bool", "c": "double", "d": "string", "e": "string"}
    assert table.column("axis:d").to_pylist() == ["x", "2"]
    assert table.column("axis:e").to_pylist() == ['["u","v"]', None]


def test_over_the_seeds() -> None:
    values = {(3, 0): 0.1, (3, 1): 0.3, (3, 2): 0.2, (7, 0): 0.1, (7, 1): 0.1, (7, 2): 0.1, (9, 0): 0.5, (10, 0): None}
    rows = [line(point, seed, {} if value is None else {LOSS: value}) for (point, seed), value in values.items()]
    results = Results.from_table(create_sweep_table([*rows, line(9, 1, {})]))
    found = results.aggregate_seeds(results.values(LOSS))
    assert results.points.tolist() == [3, 7, 9, 10]
    assert found.mean[:3].tolist() == pytest.approx([0.2, 0.1, 0.5])
    assert found.mean[1] == 0.1, "equal numbers have themselves as mean, to the last bit"
    assert found.low[:3].tolist() == [0.1, 0.1, 0.5]
    assert found.high[:3].tolist() == [0.3, 0.1, 0.5]
    assert np.isnan([found.mean[3], found.low[3], found.high[3]]).all()
    assert found.count.tolist() == [3, 3, 1, 0]
    assert found.complete.tolist() == [True, True, False, False]


@given(st.lists(st.tuples(st.integers(0, 4), st.none() | st.floats(-1e9, 1e9)), max_size=30))
def test_over_the_seeds_as_a_loop_has_it(given_: list[tuple[int, float | None]]) -> None:
    rows = [line(point, seed, {} if value is None else {LOSS: value}) for seed, (point, value) in enumerate(given_)]
    results = Results.from_table(create_sweep_table(rows))
    found = results.aggregate_seeds(results.values(LOSS))
    for place, point in enumerate(results.points.tolist()):
        own = [value for number, value in given_ if number == point and value is not None]
        assert found.count[place] == len(own)
        if own:
            assert found.low[place] == min(own) <= found.mean[place] <= max(own) == found.high[place]
            assert found.mean[place] == pytest.approx(sum(own) / len(own), abs=1e-3)


def test_an_empty_table() -> None:
    results = Results.from_table(create_sweep_table([]))
    assert (results.n_trials, results.n_points, results.figures) == (0, 0, {})
    assert len(results.aggregate_seeds(results.values(LOSS)).mean) == 0


def test_columns_and_order_are_checked() -> None:
    table = create_sweep_table([line(0, 0, {}), line(0, 1, {}), line(1, 0, {})])
    with pytest.raises(ValueError, match="no column seed"):
        Results.from_table(table.drop_columns(["seed"]))
    for order in ([1, 0, 2], [2, 0, 1], [0, 0, 1]):
        with pytest.raises(ValueError, match="order of point and seed"):
            Results.from_table(table.take(order))
    with pytest.raises(ValueError, match="no figure of the catalogue"):
        Results.from_table(table.append_column("made_up", pa.array([1.0, 2.0, 3.0])))


def test_texts_and_axes_per_trial() -> None:
    results = Results.from_table(
        create_sweep_table([line(0, 0, {LOSS: {"status": "failed"}}), line(1, 0, {LOSS: 1.0}, axes={})])
    )
    assert results.axes == ("masking[0].k",)
    assert results.axis("masking[0].k") == [3, None]
    assert results.texts(f"status:{LOSS}") == ["failed", None]
    assert results.texts("status:unheard-of") == [None, None]
    assert np.isnan(results.values("unheard-of")).all()
    assert next(results.all_estimates([LOSS]))[0].status == "failed"
    assert list(results.all_estimates([])) == [(), ()]
    assert FIGURE_FIELDS == ("value", "low", "high", "status")
