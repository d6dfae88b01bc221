"""sdid: the worked figure, boundaries, a slow twin; and what the interval measures say of randomised categories."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.score.figure_rounding import round_for_publication
from tasks.score.interval_disclosure import (
    RankIntervalDisclosure,
    SdIntervalDisclosure,
    rank_interval_disclosure,
    same_value_disclosure,
    sd_interval_disclosure,
    sd_interval_hits,
)
from tasks.score.known_release import Known
from tasks.score.loss import cells_changed, sse_percent
from tasks.score.methods import SelectedMeasure
from tasks.score.policy import PolicyLine, check_policy
from tasks.score.table_pair import RowwiseTablePair

V = np.arange(10.0, 81.0, 10.0)
V_MASKED = np.array([20.0] * 3 + [60.0] * 5)


def attribute(name: str, scale: Scale) -> Attribute:
    return Attribute(name=name, role=Role.QUASI_IDENTIFIER, scale=scale, decided_by="declared")


def step(*names: str) -> Microaggregation:
    return Microaggregation(method="microaggregation", attributes=names, k=2)


def spec(*p: float, attributes: tuple[str, ...] | None = None) -> SdIntervalDisclosure:
    return SdIntervalDisclosure(p_percent=p, attributes=attributes)


def test_worked_example(pair_of):
    # docs/SCIENCE.md section 6: sd (n - 1) 24.49, p = 50: within 12.247; 10..30 around 20, 50..70 around 60: 6 of 8; the pairs:
    # three originals (10, 20, 30; 50, 60, 70) around each of eight masked values: 24 of 64
    (found,) = sd_interval_disclosure(pair_of({"V": V}, {"V": V_MASKED}), spec(50.0))
    assert (found.value, found.low, found.high, found.chance, found.chance_kind) == (0.75, 0.75, 0.75, 0.375, "all_pairs")
    assert (found.id, found.n_targets, found.unit) == ("sd_interval_disclosure|V|p_percent=50", 8, "share")
    assert np.std(V, ddof=1) / 2 == pytest.approx(12.247, abs=5e-4)


def test_the_threshold_is_of_n_minus_1():
    # with n instead, sd is 22.91 and p = 43 would reach 9.85 only; with n - 1 it reaches 10.53
    assert sd_interval_hits(V, V + 10, 43.0)[0].all()
    assert not sd_interval_hits(V, V + 10.6, 43.0)[0].any()


def test_a_constant_has_no_spread_and_nothing_missing_is_disclosed(pair_of):
    assert sd_interval_hits(np.full(3, 0.1), np.array([0.1, 0.1, 0.2]), 100.0)[0].tolist() == [True, True, False]
    assert sd_interval_hits(np.array([5.0]), np.array([5.0]), 10.0) == (np.array([True]), 1.0)
    tables = pair_of({"V": [10.0, 20.0, None, 40.0]}, {"V": [10.0, None, 20.0, 40.0]})
    (found,) = sd_interval_disclosure(tables, spec(5.0))
    assert (found.value, found.chance, found.n_targets) == (2 / 3, pytest.approx(2 / 9), 3)
    (nothing,) = sd_interval_disclosure(pair_of({"V": np.array([np.nan, np.nan])}, {"V": np.array([1.0, 2.0])}), spec(5.0))
    assert (nothing.status, nothing.value) == ("not_applicable", None)


def test_only_masked_measurements_are_measured(pair_of):
    columns = {"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [1, 2]}
    tables = pair_of(columns, columns, [attribute("c", Scale.ORDINAL)], steps=[step("a", "c")])
    assert [one.attribute for one in sd_interval_disclosure(tables, spec(5.0, 10.0))] == ["a", "a"]
    for name in ("b", "c", "A"):
        with pytest.raises(InputError) as refused:
            sd_interval_disclosure(tables, spec(5.0, attributes=("a", name)))
        assert (refused.value.value, refused.value.where) == (name, "measures: sd_interval_disclosure.attributes")


values = st.integers(-20, 20).map(float)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(values, values), min_size=2, max_size=15), st.sampled_from([3.7, 21.3, 77.7]), st.randoms())
def test_agrees_with_every_pair_compared(rows, p, random):
    original, masked = (np.array(column) for column in zip(*rows, strict=True))
    reach = p / 100 * np.std(original, ddof=1) + 1e-9
    hits, chance = sd_interval_hits(original, masked, p)
    assert hits.tolist() == [bool(abs(x - y) <= reach) for x, y in rows]
    assert chance == pytest.approx(np.mean([abs(x - y) <= reach for x in original for y in masked]))
    order = list(range(len(rows)))
    random.shuffle(order)
    again, same_chance = sd_interval_hits(original[order], masked[order], p)
    assert (again.sum(), same_chance) == (hits.sum(), chance)


def test_the_chance_is_the_mean_over_all_permutations():
    rng = np.random.default_rng(1)
    original = rng.lognormal(size=400)
    masked = np.sort(original) + rng.normal(size=400)
    chance = sd_interval_hits(original, masked, 10.0)[1]
    rates = [sd_interval_hits(original, rng.permutation(masked), 10.0)[0].mean() for _ in range(300)]
    error = 4 * np.std(rates) / np.sqrt(300)
    assert abs(np.mean(rates) - chance) < error
    assert abs(np.mean(rates) - 1.3 * chance) > error


def test_the_default_widths_are_near_chance_for_independent_normals():
    # what the docstring says of 5 and 10 percent
    rng = np.random.default_rng(2)
    original, masked = rng.normal(size=(2, 100_000))
    found = [sd_interval_hits(original, masked, p) for p in SdIntervalDisclosure().p_percent]
    assert [round(chance, 2) for _, chance in found] == [0.03, 0.06]
    assert [hits.mean() for hits, _ in found] == pytest.approx([chance for _, chance in found], abs=0.004)


def test_the_public_edition_shows_the_class_of_the_count_and_rounds_the_chance(pair_of):
    rng = np.random.default_rng(3)
    (found,) = sd_interval_disclosure(pair_of({"V": rng.normal(size=97)}, {"V": rng.normal(size=97)}), spec(10.0))
    (shown,) = round_for_publication((found,))
    assert (found.value, shown.value) == (5 / 97, 10 / 97)  # fewer than 15
    assert shown.chance == float(f"{found.chance:.1e}") != found.chance


def test_parameters_and_policy_lines():
    form = TypeAdapter(SelectedMeasure)
    assert form.validate_json('{"measure": "sd_interval_disclosure", "p_percent": [5]}') == spec(5.0)
    for wrong in ('"p_percent": []', '"p_percent": [0]', '"p_percent": 5', '"ddof": 1'):
        with pytest.raises(ValidationError):
            form.validate_json(f'{{"measure": "sd_interval_disclosure", {wrong}}}')
    line = PolicyLine(measure="sd_interval_disclosure", at_most=0.5, p_percent=7)
    check_policy((line,), Known(p_percent=(5.0,), sd_percent=(7.0,)))
    with pytest.raises(InputError, match=r"p_percent: \[7\]"):
        check_policy((line,), Known(p_percent=(7.0,), sd_percent=(5.0,)))


@pytest.fixture(scope="module")
def randomised():
    """Towns and grades after PRAM, and a number that nobody touched."""
    rng = np.random.default_rng(4)
    data = Microdata.from_columns(
        {
            "town": rng.choice(["a", "b", "c"], 3000, p=[0.7, 0.2, 0.1]),
            "grade": rng.choice(5, 3000, p=[0.4, 0.3, 0.1, 0.1, 0.1]),
            "income": rng.normal(size=3000),
        }
    )
    scales = {"town": Scale.NOMINAL, "grade": Scale.ORDINAL, "income": Scale.NUMERIC}
    schema = Schema(tuple(attribute(name, scale) for name, scale in scales.items()))
    step = Pram(method="pram", attributes=("town", "grade"), retention=0.7)
    done = mask(data, schema, (step,), seed=bytes(32), path=())
    return RowwiseTablePair(data, done.data, schema, done.mechanisms)


def test_same_values_and_intervals_of_randomised_categories_against_all_pairs(randomised):
    found = same_value_disclosure(randomised)
    assert [one.attribute for one in found] == ["town", "grade"]
    rng = np.random.default_rng(5)
    for one in (*found, *rank_interval_disclosure(randomised, RankIntervalDisclosure())):
        assert one.value == pytest.approx(0.7, abs=0.03) or one.measure == "rank_interval_disclosure"
        dealt = RowwiseTablePair(
            randomised.original, randomised.masked.take(rng.permutation(3000)), randomised.schema, randomised.mechanisms
        )
        again = {
            other.id: other
            for other in (*same_value_disclosure(dealt), *rank_interval_disclosure(dealt, RankIntervalDisclosure()))
        }
        assert again[one.id].value == pytest.approx(one.chance, abs=0.04)
        assert again[one.id].chance == one.chance
    original, masked = randomised.codes("town")
    assert found[0].chance == pytest.approx(float((original[:, None] == masked[None, :]).mean()))


def test_losses_of_randomised_categories(randomised):
    changed = {one.attribute: one.value for one in cells_changed(randomised)}
    assert changed["town"] == pytest.approx(0.3, abs=0.03)
    assert [one.status for one in sse_percent(randomised)] == ["not_applicable"]
    assert sd_interval_disclosure(randomised, SdIntervalDisclosure()) == ()
