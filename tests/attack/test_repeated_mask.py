"""An intruder who knows the mask: rows weighed by how far it moves people, regressions near a person, and learners combined."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from tasks.attack.inference.combined_learners import fit_pool, fit_stack, pool_chances
from tasks.attack.inference.experiment import create_experiment
from tasks.attack.inference.inference_learners import BY_DEFAULT, OF_REPEATED_MASK
from tasks.attack.inference.inputs import encode_each_input
from tasks.attack.inference.local_learners import LikelyRows, LocalRegression
from tasks.attack.inference.model_based_disclosure import RIGHT, ModelBasedDisclosure, infer_values
from tasks.attack.inference.repeated_mask import RepeatedMask, measure_spreads, repeat_mask
from tasks.mask.categories.pram import Pram
from tasks.mask.coding.rounding import Rounding
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.noise.noise import Noise
from tasks.microdata.schema import Attribute, Role, Scale, Schema
from tasks.microdata.table import Microdata

KEYS = ("a", "b", "c", "d")
NOISE = Noise(method="noise", kind="independent", sd_percent=60, attributes=KEYS)
UNEQUAL = tuple(
    Noise(method="noise", kind="independent", sd_percent=percent, attributes=names)
    for percent, names in ((10, KEYS[:2]), (100, KEYS[2:]))
)
GROUPS = Microaggregation(method="microaggregation", attributes=KEYS, k=4)


def schema(secret=Scale.NOMINAL):
    keys = (Attribute(name, Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared") for name in KEYS)
    return Schema((*keys, Attribute("secret", Role.CONFIDENTIAL, secret, "declared")))


def test_likely_rows_by_hand():
    """Lessons 1 at 0 and 2 at 2, s = 1, asked at 0 and 1: weights 1 and exp(-2), and equal ones. Two rows at 2 weigh twice."""
    places, asked, one = np.array([[0.0], [2.0]]), np.array([[0.0], [1.0]]), np.ones(1)
    likely = LikelyRows(numbers=False, spreads=one).fit(places, np.array([1.0, 2.0]))
    first = 1 / (1 + np.exp(-2))
    assert likely.predict_proba(asked) == pytest.approx(np.array([[first, 1 - first], [0.5, 0.5]]))
    assert likely.predict(asked).tolist() == [1, 1]
    twice = LikelyRows(numbers=True, spreads=one).fit(places[[0, 1, 1]], np.array([1.0, 2.0, 3.0]))
    assert twice.predict(asked[1:]) == pytest.approx([2.0])
    assert LikelyRows(numbers=True, spreads=one).fit(places, places[:, 0]).predict(np.array([[1e9]])) == pytest.approx([2.0])


@pytest.mark.parametrize("seed", range(5))
def test_likely_rows_are_weighed_as_one_after_the_other(seed):
    """A slow twin over all rows, one person and one row at a time; some rows are equal, and columns are moved unequally far."""
    rng = np.random.default_rng(seed)
    places, lessons, asked = rng.integers(0, 4, (40, 2)) * 1.0, rng.integers(0, 3, 40) * 1.0, rng.normal(2, 1, (15, 2))
    spreads = np.array([0.4, 1.3])
    chances = LikelyRows(numbers=False, spreads=spreads).fit(places, lessons).predict_proba(asked)
    means = LikelyRows(numbers=True, spreads=spreads).fit(places, lessons).predict(asked)
    for person, chance, mean in zip(asked, chances, means, strict=True):
        weights = [
            np.exp(-0.5 * sum(((x - y) / s) ** 2 for x, y, s in zip(person, row, spreads, strict=True))) for row in places
        ]
        shares = [sum(w for w, lesson in zip(weights, lessons, strict=True) if lesson == value) for value in (0, 1, 2)]
        assert chance == pytest.approx(np.array(shares) / sum(weights))
        assert mean == pytest.approx(np.average(lessons, weights=weights))


@pytest.mark.parametrize("d", [2, 90])
def test_local_regression_is_a_ridge_regression_on_the_nearest(d):
    """scikit-learn's, for one person after the other, on the same 30 or 60 lessons; also with more columns than lessons."""
    rng = np.random.default_rng(d)
    inputs, asked = rng.normal(size=(200, d)), rng.normal(size=(10, d))
    lessons = inputs[:, 0] + rng.normal(size=200)
    guesses = LocalRegression().fit(inputs, lessons).predict(asked)
    for person, guess in zip(asked, guesses, strict=True):
        near = np.argsort(((inputs - person) ** 2).sum(axis=1))[: 30 if d == 2 else 60]
        told = Ridge(alpha=1.0).fit(inputs[near], lessons[near]).predict(person[None])[0]
        assert guess == pytest.approx(np.clip(told, lessons[near].min(), lessons[near].max()))


def test_the_mask_is_repeated_with_the_same_noise():
    """Noise of 60 % of a standard deviation, on columns that have one of 1.17 after it: 0.6 in units of that."""
    rng = np.random.default_rng(0)
    data = Microdata.from_columns({**{name: rng.normal(size=3000) for name in KEYS}, "secret": rng.integers(0, 4, 3000)})
    released = mask(data, schema(), (NOISE,), seed=bytes(32), path=()).data
    repeated = repeat_mask(released, schema(), (NOISE,), seed=bytes(32), path=("again",))
    spreads = measure_spreads(repeated, released, schema(), KEYS)
    assert [first for first, _ in spreads.values()] == pytest.approx([0.6] * 4, rel=0.05)
    assert repeated.rows.floats("a") == pytest.approx(released.floats("a"), abs=5)
    assert (repeated.rows.floats("secret") == data.floats("secret")).all()


def test_who_changes_a_category_is_weighed_by_the_chance_of_it():
    """The kernel of two different categories over that of two equal ones is q / (1 - q) for two of them."""
    rng = np.random.default_rng(1)
    data = Microdata.from_columns({"g": rng.integers(0, 2, 4000).astype(str), "secret": rng.integers(0, 4, 4000)})
    attributes = Schema((
        Attribute("g", Role.QUASI_IDENTIFIER, Scale.NOMINAL, "declared"),
        Attribute("secret", Role.CONFIDENTIAL, Scale.NOMINAL, "declared"),
    ))  # fmt: skip
    repeated = repeat_mask(data, attributes, (Pram(method="pram", attributes=("g",), retention=0.8),), seed=bytes(32), path=())
    changed = (np.asarray(repeated.rows.column("g")) != np.asarray(data.column("g"))).mean()
    ((spread, _),) = measure_spreads(repeated, data, attributes, ("g",)).values()
    assert 0.05 < changed < 0.3
    assert np.exp(-1 / spread**2) == pytest.approx(changed / (1 - changed))


def test_what_cannot_be_repeated_is_not():
    rounding = Rounding(method="rounding", attributes=("a",), bases={"a": 1.0}, kind="deterministic")
    data = Microdata.from_columns({**dict.fromkeys(KEYS, np.arange(3.0)), "secret": np.arange(3)})
    how = {"seed": bytes(32), "path": ()}
    assert repeat_mask(data, schema(), (), **how) is None
    assert repeat_mask(data, schema(), (rounding,), **how) is None
    assert repeat_mask(data, schema(), (GROUPS,), **how) is None  # 3 rows are no group of 4
    with pytest.raises(ValueError, match="candidate_rows"):
        ModelBasedDisclosure(method="model_based_disclosure", learners=("combined", "likely_rows"))


def test_a_pool_finds_who_is_right():
    """The first is right of 9 in 10 and says so, the second is as sure and right of half: that one gets nothing."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 500)
    said = [np.where(rng.random(500) < rate, truth, 1 - truth) for rate in (0.9, 0.5)]
    chances = np.array([np.column_stack([np.where(one == value, 0.9, 0.1) for value in (0, 1)]) for one in said])
    weights = fit_pool(chances, truth)
    assert weights[0] == pytest.approx(1, abs=0.2)
    assert weights[1] < 0.1
    assert pool_chances(chances, weights).sum(axis=1) == pytest.approx(np.ones(500))
    assert pool_chances(chances[:1, :1], np.ones(1)).max() == pytest.approx(0.99 * 0.9 + 0.005)


def test_a_stack_weighs_by_least_squares():
    truth = np.array([1.0, 2.0, 3.0, 6.0])
    assert fit_stack(np.array([truth, -truth]), truth, 3.0) == pytest.approx([1, 0])
    assert fit_stack(np.array([3 + (truth - 3) / 2]), truth, 3.0) == pytest.approx([2])


def create_people(rng, n, number, rho=0.0):
    """Four numbers, and a secret that is correlated with the first, or one of four values at chance."""
    x = rng.normal(size=(n, 4))
    secret = rho * x[:, 0] + np.sqrt(1 - rho**2) * rng.normal(size=n) if number else rng.integers(0, 4, n)
    return Microdata.from_columns({**dict(zip(KEYS, x.T, strict=True)), "secret": secret})


def infer_each(members, others, steps, number, learners, *, shown=None, seed=0):
    """By way the share of members, and of others, whose secret it tells. shown: who is masked, in place of the members."""
    rng, attributes = np.random.default_rng(seed), schema(Scale.NUMERIC if number else Scale.NOMINAL)
    released = mask(shown or members, attributes, steps, seed=bytes(32), path=(str(seed),)).data
    asked = create_experiment(members, others, released, np.arange(members.n), attributes, 3000, rng)
    repeated = repeat_mask(asked.rows, attributes, steps, seed=bytes(32), path=("again",))
    spec = ModelBasedDisclosure(method="model_based_disclosure", learners=learners, inputs_at_most=0, folds=2, p_percent=30)
    fates = infer_values(spec, asked, attributes, steps, KEYS, "secret", rng, repeated).fates
    rights = {name.removeprefix(RIGHT): fates.floats(name) for name in fates.names if name.startswith(RIGHT)}
    return {way: (right[asked.is_member].mean(), right[~asked.is_member].mean()) for way, right in rights.items()}


def infer_on_average(steps, number, n=400, tables=2, rho=0.0, learners=BY_DEFAULT):
    found = []
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        members, others = (create_people(rng, n, number, rho) for _ in range(2))
        found.append(infer_each(members, others, steps, number, learners, seed=seed))
    return {way: np.mean([one[way] for one in found], axis=0) for way in found[0]}


def test_secrets_that_belong_to_nobody_are_told_of_members_as_of_others():
    """Ten made tables of 150 and 150 people, noise, and released secrets that are drawn anew: chance, at 1e-4 for each way."""
    beyond = {}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        members, others, nobody = (create_people(rng, 150, number=False) for _ in range(3))
        shown = Microdata.from_columns({**{name: members.column(name) for name in KEYS}, "secret": nobody.column("secret")})
        learners = ("nearest_row", "decision_tree", "likely_rows", "combined")
        for way, (inside, outside) in infer_each(members, others, (NOISE,), False, learners, shown=shown, seed=seed).items():
            beyond[way] = beyond.get(way, 0.0) + 150 * (inside - outside)
    assert set(beyond) == {f"{learner}:value" for learner in learners}
    assert max(map(abs, beyond.values())) < 3.9 * np.sqrt(2 * 150 * 10 * 1 / 4 * 3 / 4)


def test_who_knows_how_far_the_noise_moves_people_tells_more():
    """Noise of 0.1 sd on two numbers and of 1 sd on two others: the nearest row trusts all of them alike (0.41 for 0.67)."""
    learners = ("nearest_row", "candidate_rows", "nearest_neighbours", "likely_rows")
    right = infer_on_average(UNEQUAL, number=False, learners=learners)
    inside = {way: float(members) for way, (members, _) in right.items()}
    likely = inside.pop("likely_rows:value")
    assert likely > max(inside.values()) + 0.05
    assert right["likely_rows:value"][1] == pytest.approx(0.25, abs=0.04)


@pytest.mark.slow
@pytest.mark.parametrize("step", [NOISE, GROUPS], ids=["noise", "groups"])
@pytest.mark.parametrize("number", [True, False])
def test_the_combined_tell_nearly_as_much_as_the_best(step, number):
    """Measured over three tables: of the values 0.38 (best single one: 0.38) after noise and 0.49 (0.48) in groups."""
    right = infer_on_average((step,), number, rho=0.7 if number else 0.0)
    inside = {way: float(members) for way, (members, _) in right.items()}
    combined = max(rate for way, rate in inside.items() if way.startswith("combined:"))
    assert combined > max(rate for way, rate in inside.items() if not way.startswith("combined:")) - 0.03
    assert {way.partition(":")[0] for way in inside} >= OF_REPEATED_MASK


def test_displacements_are_in_the_units_of_whoever_encoded():
    """Noise as large as the column: 1 standard deviation of the released rows is 0.71 of those that are masked twice."""
    draws = np.random.default_rng(0)
    released, moved = draws.normal(size=20_000), draws.normal(size=20_000)
    attributes = Schema((Attribute("x", Role.QUASI_IDENTIFIER, Scale.NUMERIC, "declared"),))
    repeated = RepeatedMask(Microdata.from_columns({"x": released + moved}), np.arange(20_000))
    rows = Microdata.from_columns({"x": released})
    encoded = encode_each_input(repeated.rows, rows, attributes, ("x",))["x"]
    spreads = [measure_spreads(repeated, rows, attributes, ("x",), by) for by in (None, {"x": encoded[::-1]})]
    assert [one["x"][0] for one in spreads] == pytest.approx([1, 1 / np.sqrt(2)], abs=0.02)
