"""Membership by exact values: what each column shows by itself, how rare it is, and what hides nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from membership_models import halves, records
from scipy.optimize import minimize_scalar
from scipy.stats import rankdata

from tasks.attack.membership.frame import Frame
from tasks.attack.membership.methods import attack_table
from tasks.attack.membership.values_present import ValuesPresent, score_by_values_present
from tasks.microdata.schema import Role
from tasks.microdata.table import Microdata
from tasks.microdata.units import Units, units_of
from tasks.score.membership.roc_curve import auc

SPEC = ValuesPresent(method="values_present")


def ask_about_all(member, units=None):
    """A frame in which everybody is asked about."""
    units = units or records(len(member))
    everybody, none = np.ones(units.n_units, dtype=bool), np.zeros(units.n_units, dtype=bool)
    inside = np.asarray(member, dtype=bool)
    return Frame(units, inside, ~inside, everybody, none, none, "this file")


def keep_columns(data, rows, rng):
    """A release that keeps the values of each column, and tells nothing of which stand in one row."""
    columns = {name: data.column(name).take(pa.array(rng.permutation(rows))) for name in data.names}
    return Microdata.from_columns(columns)


def score(columns, released, member, knows=("x",), units=None):
    data = Microdata.from_columns(columns)
    return score_by_values_present(data, ask_about_all(member, units), Microdata.from_columns(released), knows).scores


def test_by_hand():
    """Seven values of one person each: one that nobody else has counts an eighth of a time, of seven others."""
    found = score({"x": [1.0, 2, 3, 4, 5, 6, 7, None]}, {"x": [3.0, 1, 2, 7]}, [1, 1, 1, 1, 0, 0, 0, 0])
    chance = 1 - (1 - 1 / 8 / 7) ** 4
    assert chance == pytest.approx(0.069537, abs=1e-6)
    kept = 1 - 1 / 14  # of seven values four occur, more than if all were kept: (4 / 7 - chance) / (1 - chance) is above 1/2
    there, absent = np.log(1 - kept + kept / chance), np.log(1 - kept)
    assert (there, absent) == pytest.approx((2.5971, -2.6391), abs=1e-4)
    assert found == pytest.approx([there, there, there, absent, absent, absent, there, 0.0])


def test_values_that_two_people_have_weigh_less():
    """Of two people with 3, one is a member; the other's share of it is 1 of 7 others, and of an unseen value 1/2 of 7."""
    found = score({"x": [1.0, 2, 3, 3, 4, 5, 6, 7]}, {"x": [1.0, 2, 3, 4]}, [1, 1, 1, 0, 1, 0, 0, 0])
    assert found[0] > found[2] == found[3] > 0 > found[5]
    ratio = (np.exp(found[0]) - np.exp(found[5])) / (np.exp(found[2]) - np.exp(found[5]))  # of a / q, without 1 - a
    unseen = 3 / 7  # (2 x 1 + 1) / (6 + 1)
    assert ratio == pytest.approx((1 - (6 / 7) ** 4) / (1 - (1 - unseen / 7) ** 4))


def test_a_hundred_people_of_whom_half_are_released(table):
    """The example of the docstring: ln 200, but for the half target by which nothing is sure."""
    data, _ = table({"x": np.arange(100.0)})
    found = score_by_values_present(data, ask_about_all(np.arange(100) < 50), data.take(np.arange(50)), ("x",)).scores
    assert found[:50] == pytest.approx(np.log(200), abs=0.02)
    assert found[50:] == pytest.approx(np.log(1 / 200), abs=0.01)


def test_columns_add_up_and_a_column_that_changes_every_value_adds_nothing():
    rng = np.random.default_rng(0)
    x, y = np.arange(40.0), np.arange(40.0) + 100
    member = np.arange(40) < 20
    alone = score({"x": x, "y": y}, {"x": x[:20], "y": y[:20]}, member)
    both = score({"x": x, "y": y}, {"x": x[:20], "y": rng.permutation(y[:20])}, member, ("x", "y"))
    noisy = score({"x": x, "y": y}, {"x": x[:20], "y": y[:20] + 0.5}, member, ("x", "y"))
    assert both == pytest.approx(2 * alone, rel=0.01)
    assert noisy == pytest.approx(alone, rel=0.01)


def test_a_category_that_everybody_may_have_tells_nothing():
    member = np.arange(60) < 30
    found = score({"x": ["a", "b"] * 30}, {"x": ["b", "a"] * 15}, member)
    assert found == pytest.approx(np.zeros(60), abs=1e-3)


WRITTEN = (
    ([1.0, 2, 30, 40], [2.0, 1.0]),
    ([1.0, 2, 30, 40], ["002", " 1.0 "]),  # numbers as text
    ([1.234, 5.678, 7.891, 9.123], [1.23, 5.68]),  # fewer digits
    ([1010.0, 2020, 3030, 4040], [1000.0, 2000.0]),  # in thousands
    ([" Ann", "Bea", "Cid", "Dora"], ["ann", "BEA"]),
)


@pytest.mark.parametrize(("own", "shown"), WRITTEN)
def test_other_formatting_hides_nobody(own, shown):
    found = score({"x": own}, {"x": shown}, [1, 1, 0, 0])
    assert min(found[:2]) > max(found[2:])


def test_dates_and_gaps(table):
    days = np.array(["2020-01-01", "2020-01-02", "2020-02-03", "NaT"], dtype="datetime64[D]")
    data = Microdata.from_columns({"x": pa.array(days)})
    found = score_by_values_present(data, ask_about_all([1, 0, 0, 1]), data.take(np.array([0, 3])), ("x",)).scores
    assert found[0] > found[1] == found[2]
    assert found[3] == 0


def test_only_gaps_or_nothing_released():
    for released in ({"x": [None, None]}, {"x": [1.0, None]}):
        assert score({"x": [None] * 4}, released, [1, 1, 0, 0]).tolist() == [0.0] * 4
    result = attack_table(SPEC, *_nothing_released(), ("x",))
    assert (result.status, result.reason) == ("not_applicable", "no row is released")


def _nothing_released():
    data = Microdata.from_columns({"x": np.arange(4.0)})
    return data, data.take(np.arange(0)), None, ask_about_all([1, 1, 0, 0])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_people_rows_and_columns_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    data = Microdata.from_columns({"x": rng.integers(0, 20, 30).astype(float), "y": rng.choice(list("abcdef"), 30).tolist()})
    member = rng.permutation(np.arange(30) < 15)
    released = keep_columns(data, np.flatnonzero(member), rng)
    first = score_by_values_present(data, ask_about_all(member), released, ("x", "y")).scores
    order = rng.permutation(30)
    other = released.take(rng.permutation(15))
    second = score_by_values_present(data.take(order), ask_about_all(member[order]), other, ("y", "x")).scores
    assert second == pytest.approx(first[order])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_as_a_slow_count_of_people_one_by_one(seed):
    """Persons with several rows: whoever shares a value with oneself alone shares it with nobody."""
    rng = np.random.default_rng(seed)
    person = rng.permutation(np.repeat(np.arange(12), rng.integers(1, 4, 12)))
    x = rng.choice([np.nan, *range(9)], len(person))
    member = rng.permutation(np.arange(12) < 6)
    shown = rng.choice([1.0, 2, 3, 11, np.nan], 5)
    found = score({"x": x}, {"x": shown}, member, units=Units(person, 12, "persons"))
    told = _look_up_slowly(x, person, shown)
    known = [i for i, one in enumerate(told) if one is not None]
    assert all(found[i] == 0 for i, one in enumerate(told) if one is None)

    def loss(kept):
        ratios = [1 - kept + kept / told[i][1] if told[i][0] else 1 - kept for i in known]
        return -np.log((1 + np.array(ratios)) / 2).sum()

    if known:
        best = minimize_scalar(loss, bounds=(0, 1 - 1 / (2 * len(known))), method="bounded", options={"xatol": 1e-7}).x
        scored = [np.log(1 - best + best / told[i][1] if told[i][0] else 1 - best) for i in known]
        assert found[known] == pytest.approx(scored, abs=0.02)


def _look_up_slowly(x, person, shown):
    people_with = {v: set(person[x == v]) for v in x[~np.isnan(x)]}
    sizes = [len(some) for some in people_with.values()]
    unseen = min(1, (2 * sizes.count(2) + 1) / (sizes.count(1) + 1))
    told = []
    for value, who in zip(x, person, strict=True):
        if np.isnan(value):
            told.append(None)
            continue
        others = [v for v, other in zip(x, person, strict=True) if other != who]
        share = min(max(sum(v == value for v in others), unseen) / len(others), 1)
        told.append((value in shown, 1 - (1 - share) ** len(shown)))
    return told


def test_an_insider_adds_the_column_that_they_know():
    rng = np.random.default_rng(3)
    data = Microdata.from_columns({"x": rng.normal(size=80), "vote": rng.choice(["a", "b"], 80).tolist(), "pay": np.arange(80.0)})
    frame = halves(80, rng)
    members = data.take(frame.member_rows)
    changed = members.replace_column("x", pa.array(members.floats("x") + 1e-9))
    insiders = {"insider:vote": ("x", "vote"), "insider:pay": ("x", "pay")}
    result = attack_table(SPEC, data, changed, None, frame, ("x",), insiders=insiders)
    areas = {name: auc(scores, frame.is_member) for name, scores in result.of_insiders}
    assert auc(result.scores, frame.is_member) == 0.5
    assert areas["insider:pay"] == 1
    assert areas["insider:vote"] == pytest.approx(0.5, abs=0.1)


def test_a_person_has_the_mean_of_their_rows(table):
    data, schema = table({"x": [1.0, 2, 3, 4, 5], "id": [0, 0, 1, 2, 3]}, roles={"id": Role.PERSON})
    frame = ask_about_all([1, 1, 0, 0], units_of(data, schema))
    result = attack_table(SPEC, data, data.take(np.array([0, 1, 2])), schema, frame, ("x",))
    assert len(result.scores) == 4
    assert min(result.scores[:2]) > 0 > max(result.scores[2:])


def _simulate(rng, n, sizes):
    """People whose columns are independent, with so many equally frequent values each."""
    data = Microdata.from_columns({f"x{j}": rng.integers(0, size, n).astype(float) for j, size in enumerate(sizes)})
    frame = halves(n, rng)
    return data, frame, keep_columns(data, frame.member_rows, rng)


def test_claims_come_true():
    """Of those to whom the scores give a chance p of being members, given half of all are, p are: independent columns."""
    rng = np.random.default_rng(5)
    claims, truth = [], []
    for sizes in 20 * [(100, 30, 200), (400, 800, 300)]:
        data, frame, released = _simulate(rng, 400, sizes)
        scores = score_by_values_present(data, frame, released, data.names).scores
        claims.append(1 / (1 + np.exp(-scores)))
        truth.append(frame.is_member)
    p, member = np.concatenate(claims), np.concatenate(truth)
    for low, high in ((0, 0.05), (0.5, 0.65), (0.65, 0.8), (0.8, 0.9), (0.9, 1.01)):
        inside = (p >= low) & (p < high)
        assert inside.sum() > 400
        assert member[inside].mean() == pytest.approx(p[inside].mean(), abs=0.05)


@pytest.mark.parametrize("sizes", [(30, 30), (1000, 200), (4, 4)])
def test_a_release_of_other_people_tells_nothing(sizes):
    """The sum of the rank sums over many draws, against its law, at 1e-4."""
    rng = np.random.default_rng(11)
    total, variance = 0.0, 0.0
    for _ in range(40):
        data, frame, _ = _simulate(rng, 200, sizes)
        strangers = _simulate(rng, 200, sizes)[2]
        scores = score_by_values_present(data, frame, strangers, data.names).scores
        m = int(frame.is_member.sum())
        ranks = rankdata(scores)
        total += ranks[frame.is_member].sum() - m * (2 * m + 1) / 2
        variance += m / (2 * (2 * m - 1)) * np.sum((ranks - ranks.mean()) ** 2)
    assert variance == 0 or abs(total) < 3.9 * np.sqrt(variance)
