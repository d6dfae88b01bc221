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

from tasks.attack.membership.column_evidence import find_nearness
from tasks.attack.membership.frame import Frame
from tasks.attack.membership.methods import attack_table
from tasks.attack.membership.values_present import ValuesPresent, _look_up, score_by_values_present
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import Units, find_units
from tasks.score.membership.roc_curve import compute_auc

SPEC = ValuesPresent(method="values_present")


def ask_about_all(member, units=None):
    """A frame in which everybody is asked about."""
    units = units or records(len(member))
    everybody, none = np.ones(units.n_units, dtype=bool), np.zeros(units.n_units, dtype=bool)
    inside = np.asarray(member, dtype=bool)
    return Frame(units, inside, ~inside, everybody, none, none, "this file")


def schema_of(data, **scales):
    default = {name: Scale.NOMINAL if data.is_text(name) else Scale.NUMERIC for name in data.names}
    of = {**default, **scales}
    return Schema(tuple(Attribute(name, Role.QUASI_IDENTIFIER, of[name], "declared") for name in data.names))


def keep_columns(data, rows, rng):
    """A release that keeps the values of each column, and tells nothing of which stand in one row."""
    columns = {name: data.column(name).take(pa.array(rng.permutation(rows))) for name in data.names}
    return Microdata.from_columns(columns)


def score(columns, released, member, knows=("x",), units=None):
    data = Microdata.from_columns(columns)
    shown = Microdata.from_columns(released)
    return score_by_values_present(data, ask_about_all(member, units), shown, schema_of(data), knows).scores


def test_by_hand():
    """Seven values of one person each: one that nobody else has counts an eighth of a time, of seven others."""
    found = score({"x": [*"abcdefg", None]}, {"x": [*"cabg"]}, [1, 1, 1, 1, 0, 0, 0, 0])
    chance = 1 - (1 - 1 / 8 / 7) ** 4
    assert chance == pytest.approx(0.069537, abs=1e-6)
    kept = 1 - 1 / 14  # of seven values four occur, more than if all were kept: (4 / 7 - chance) / (1 - chance) is above 1/2
    there, absent = np.log(1 - kept + kept / chance), np.log(1 - kept)
    assert (there, absent) == pytest.approx((2.5971, -2.6391), abs=1e-4)
    assert found == pytest.approx([there, there, there, absent, absent, absent, there, 0.0])


def test_values_that_two_people_have_weigh_less():
    """Of two people with c, one is a member; the other's share of it is 1 of 7 others, and of an unseen value 3/7 of 7."""
    found = score({"x": [*"abccdefg"]}, {"x": [*"abcd"]}, [1, 1, 1, 0, 1, 0, 0, 0])
    assert found[0] > found[2] == found[3] > 0 > found[5]
    ratio = (np.exp(found[0]) - np.exp(found[5])) / (np.exp(found[2]) - np.exp(found[5]))  # of a / q, without 1 - a
    unseen = 3 / 7  # (2 x 1 + 1) / (6 + 1)
    assert ratio == pytest.approx((1 - (6 / 7) ** 4) / (1 - (1 - unseen / 7) ** 4))


def test_nearness_by_hand():
    """One row shows 23: of 20, three others are held, and the nearest of them is at 10; of 40, one of them is nearer.

    Of whoever has 23 itself nobody is within half a step, of a nearest at 7.
    """
    data = Microdata.from_columns({"x": [10.0, 20, 30, 40, 23]})
    seen = _look_up(data.take(np.arange(4)), ask_about_all([1, 1, 0, 0]), data.take(np.array([4])), schema_of(data), "x")
    times = 3 / 10 / 3
    assert seen.chance[[1, 3]] == pytest.approx([times / (1 + times), 1 - (3 / 4) ** 1.5])
    assert not seen.occurs.any()
    seen = _look_up(data, ask_about_all([0, 0, 0, 0, 1]), data.take(np.array([4])), schema_of(data), "x")
    times = 0.5 / 3 / 4  # half a step, of a nearest at 3
    assert seen.chance[4] == pytest.approx(max(times / (1 + times), 1 / 6 / 4))
    assert seen.occurs.tolist() == [False] * 4 + [True]


def test_the_likeliest_nearness():
    assert find_nearness(1 / 3 - 1 / (np.exp(3) - 1)) == pytest.approx(3)
    assert (find_nearness(0.5), find_nearness(0.7), find_nearness(1e-4)) == (1, 1, 200)


def test_a_hundred_people_of_whom_half_are_released():
    """The example of the docstring: ln 200, but for the half target by which nothing is sure."""
    data = Microdata.from_columns({"x": [f"v{i}" for i in range(100)]})
    frame, released = ask_about_all(np.arange(100) < 50), data.take(np.arange(50))
    found = score_by_values_present(data, frame, released, schema_of(data), ("x",)).scores
    assert found[:50] == pytest.approx(np.log(200), abs=0.02)
    assert (found[50:] < -4.5).all()


def test_columns_add_up_and_a_column_that_changes_every_value_adds_nothing():
    rng = np.random.default_rng(0)
    x, y = np.array([f"v{i}" for i in range(40)]), np.array([f"w{i}" for i in range(40)])
    member = np.arange(40) < 20
    alone = score({"x": x, "y": y}, {"x": x[:20], "y": y[:20]}, member)
    both = score({"x": x, "y": y}, {"x": x[:20], "y": rng.permutation(y[:20])}, member, ("x", "y"))
    other = score({"x": x, "y": y}, {"x": x[:20], "y": np.char.add(y[:20], "?")}, member, ("x", "y"))
    assert both == pytest.approx(2 * alone, rel=0.03)
    assert other == pytest.approx(alone, rel=0.03)


def test_noise_that_is_small_beside_the_distances_between_people_hides_nobody():
    rng = np.random.default_rng(4)
    data = Microdata.from_columns({"x": rng.normal(size=400), "y": rng.normal(size=400)})
    frame = halves(400, rng)
    for sd, least, most in ((1e-5, 0.99, 1.0), (0.01, 0.6, 0.9), (1.0, 0.35, 0.65)):
        released = keep_columns(data, frame.member_rows, rng)
        noisy = Microdata.from_columns({name: released.floats(name) + rng.normal(0, sd, released.n) for name in data.names})
        scores = score_by_values_present(data, frame, noisy, schema_of(data), data.names).scores
        assert least <= compute_auc(scores, frame.is_member) <= most


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
    found = score_by_values_present(
        data, ask_about_all([1, 0, 0, 1]), data.take(np.array([0, 3])), schema_of(data), ("x",)
    ).scores
    assert found[0] > found[1] > found[2]
    assert found[3] == 0


def test_only_gaps_or_nothing_released():
    for released in ({"x": pa.array([None, None], pa.float64())}, {"x": [1.0, None]}):
        assert score({"x": pa.array([None] * 4, pa.float64())}, released, [1, 1, 0, 0]).tolist() == [0.0] * 4
    result = attack_table(SPEC, *_nothing_released(), ("x",))
    assert (result.status, result.reason) == ("not_applicable", "no row is released")


def _nothing_released():
    data = Microdata.from_columns({"x": np.arange(4.0)})
    return data, data.take(np.arange(0)), schema_of(data), ask_about_all([1, 1, 0, 0])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_order_of_people_rows_and_columns_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    data = Microdata.from_columns({"x": rng.integers(0, 20, 30).astype(float), "y": rng.choice(list("abcdef"), 30).tolist()})
    member = rng.permutation(np.arange(30) < 15)
    released = keep_columns(data, np.flatnonzero(member), rng)
    first = score_by_values_present(data, ask_about_all(member), released, schema_of(data), ("x", "y")).scores
    order = rng.permutation(30)
    other = released.take(rng.permutation(15))
    second = score_by_values_present(data.take(order), ask_about_all(member[order]), other, schema_of(data), ("y", "x")).scores
    assert second == pytest.approx(first[order])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_as_a_slow_count_of_people_one_by_one(seed):
    """Persons with several rows: whoever shares a value with oneself alone shares it with nobody."""
    rng = np.random.default_rng(seed)
    person = rng.permutation(np.repeat(np.arange(12), rng.integers(1, 4, 12)))
    x = rng.choice([np.nan, *range(25)], len(person))
    shown = rng.choice([1.0, 2, 5.5, 11, 30, np.nan], 5)
    data, released = Microdata.from_columns({"x": x}), Microdata.from_columns({"x": shown})
    frame = ask_about_all(np.arange(12) < 6, Units(person, 12, "persons"))
    step = (
        0.1 if 5.5 in shown else next(s for s in (10**e for e in range(9, -1, -1)) if not (shown[~np.isnan(shown)] % s).any())
    )
    own = np.round(x / step) * step
    seen = _look_up(data, frame, released, schema_of(data), "x")
    for i in range(len(x)):
        assert seen.known[i] == (not np.isnan(x[i]))
        if seen.known[i]:
            assert seen.occurs[i] == bool(np.isclose(shown, own[i]).any())
            assert seen.chance[i] == pytest.approx(_compute_chance_slowly(i, own, person, shown, step))


def _compute_chance_slowly(i, own, person, shown, step):
    near = min((abs(v - own[i]) for v in shown if not np.isnan(v)), default=np.inf)
    if near == np.inf:
        return 1.0
    others = [v for v, other in zip(own, person, strict=True) if other != person[i]]
    m, n = len(shown), len(others)
    nearer = sum(abs(v - own[i]) <= near + 1e-9 for v in others)
    if near > 1e-9 and nearer:
        return 1 - (n / (m + n)) ** (nearer + 0.5)
    mine = [abs(v - own[i]) for v, who in zip(own, person, strict=True) if not np.isnan(v) and abs(v - own[i]) > near + 1e-9]
    times = m / n * max(near, step / 2) / min(mine, default=np.inf)
    if near > 1e-9:
        return times / (1 + times)
    people_with = {v: set(person[own == v]) for v in own[~np.isnan(own)]}
    sizes = [len(some) for some in people_with.values()]
    unseen = min(1, (2 * sizes.count(2) + 1) / (sizes.count(1) + 1))
    there = 1 - (1 - max(nearer, unseen) / n) ** m
    return there if nearer else max(there, times / (1 + times))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_kept_share_is_the_likeliest(seed):
    """Of one column of texts, against a search over all shares."""
    rng = np.random.default_rng(seed)
    x = np.array([f"v{i}" for i in rng.integers(0, 40, 30)])
    shown = np.array([f"v{i}" for i in rng.integers(0, 40, 15)])
    data, frame, released = Microdata.from_columns({"x": x}), ask_about_all(np.arange(30) < 15), {"x": shown}
    seen = _look_up(data, frame, Microdata.from_columns(released), schema_of(data), "x")

    def loss(kept):
        return -np.log1p(np.where(seen.occurs, 1 - kept + kept / seen.chance, 1 - kept)).sum()

    best = minimize_scalar(loss, bounds=(0, 1 - 1 / 60), method="bounded", options={"xatol": 1e-8}).x
    found = score({"x": x}, released, np.arange(30) < 15)
    assert np.expm1(found) == pytest.approx(np.where(seen.occurs, best / seen.chance - best, -best), abs=0.05)


def test_an_insider_adds_the_column_that_they_know():
    rng = np.random.default_rng(3)
    data = Microdata.from_columns(
        {"x": rng.normal(size=80), "vote": rng.choice(["a", "b"], 80).tolist(), "pay": np.arange(80.0)}
    )
    frame = halves(80, rng)
    members = data.take(frame.member_rows)
    changed = members.replace_column("x", pa.array(rng.normal(size=members.n)))
    insiders = {"insider:vote": ("x", "vote"), "insider:pay": ("x", "pay")}
    result = attack_table(SPEC, data, changed, schema_of(data), frame, ("x",), insiders=insiders)
    areas = {name: compute_auc(scores, frame.is_member) for name, scores in result.of_insiders}
    assert compute_auc(result.scores, frame.is_member) == pytest.approx(0.5, abs=0.2)
    assert areas["insider:pay"] == 1
    assert areas["insider:vote"] == pytest.approx(0.5, abs=0.2)


def test_a_person_has_the_mean_of_their_rows(table):
    data, schema = table({"x": [1.0, 2, 3, 4, 5], "id": [0, 0, 1, 2, 3]}, roles={"id": Role.PERSON})
    frame = ask_about_all([1, 1, 0, 0], find_units(data, schema))
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
        scores = score_by_values_present(data, frame, released, schema_of(data), data.names).scores
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
        scores = score_by_values_present(data, frame, strangers, schema_of(data), data.names).scores
        m = int(frame.is_member.sum())
        ranks = rankdata(scores)
        total += ranks[frame.is_member].sum() - m * (2 * m + 1) / 2
        variance += m / (2 * (2 * m - 1)) * np.sum((ranks - ranks.mean()) ** 2)
    assert variance == 0 or abs(total) < 3.9 * np.sqrt(variance)
