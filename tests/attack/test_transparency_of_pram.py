"""The intruder who knows the transition matrices: Bayes' rule over the rows that can be the image."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.datasets import anes96

from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.methods import attack
from tasks.attack.plan import check_attacks, default_attacks, list_required_attacks
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import Transparency, link_by_mechanism
from tasks.mask.categories.pram import Pram
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import mask
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import AttackFailed, InputError, NotApplicable
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata

SEED = bytes(range(32))
LEVEL = 1e-4
KEYS = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "hhcivil")
NOMINAL = dict.fromkeys("abc", Scale.NOMINAL)


def pram(*attributes, **rule):
    return Pram(method="pram", attributes=attributes, **(rule or {"retention": 0.8}))


def micro(*attributes, k):
    return Microaggregation(method="microaggregation", attributes=attributes, k=k)


def attacked(original, schema, *steps, knows=None, path=(), order=None):
    done = mask(original, schema, steps, seed=SEED, path=path)
    masked = done.data if order is None else done.data.take(order)
    return link_by_mechanism(original, masked, schema, done.mechanisms, knows or schema.names)[0], masked


def posterior_slowly(original, masked, names, matrices, possible=None):
    """r(l) of every record and row, by the formula: the product of the laws over its sum over all records."""
    n = original.n
    chance = np.ones((n, n)) if possible is None else possible.astype(float)
    for name in names:
        own, shown = (table.column(name).to_pylist() for table in (original, masked))
        categories = sorted({one for one in own if one is not None})
        for i in range(n):
            for row in range(n):
                if own[i] is None or shown[row] is None:
                    chance[i, row] *= own[i] is shown[row]
                else:
                    chance[i, row] *= matrices(len(categories))[categories.index(own[i]), categories.index(shown[row])]
    shares = np.divide(chance, chance.sum(axis=0), out=np.zeros_like(chance), where=chance > 0)
    return shares / shares.sum(axis=1, keepdims=True)


def retention(r):
    return lambda c: np.where(np.eye(c, dtype=bool), r, (1 - r) / (c - 1))


def likeliest(posterior):
    best = posterior >= posterior.max(axis=1, keepdims=True) * (1 - 1e-7)
    return best / best.sum(axis=1, keepdims=True)


def test_worked_posterior(table, credits):
    # P = .75 / .25 among two categories; records x, x, y; released y, x, y. The sums over the records of P are 1.25 for a
    # row that shows y and 1.75 for one that shows x, so x is the likelier of a row x (3/7 against 1/5), y of the rows y
    original, schema = table({"a": ["x", "x", "y"]}, scales=NOMINAL)
    masked = Microdata.from_columns({"a": ["y", "x", "y"]})
    links, _ = link_by_mechanism(original, masked, schema, (pram("a", retention=0.75),), ("a",))
    assert credits(links).tolist() == [[0, 1, 0], [0, 1, 0], [0.5, 0, 0.5]]
    assert links.guesses(np.arange(3)).sound_sizes.tolist() == [3, 3, 3]


def test_a_common_value_is_no_likelier_for_being_common(table, credits):
    # nearly everybody is x; under a matrix that often turns z into x, P alone links the z to the crowd of x, the ratio does not
    original, schema = table({"a": ["x"] * 8 + ["z", "y"]}, scales=NOMINAL)
    rows = {"x": {"x": 1.0, "y": 0.0, "z": 0.0}, "y": {"x": 0.0, "y": 1.0, "z": 0.0}, "z": {"x": 0.6, "y": 0.0, "z": 0.4}}
    masked = Microdata.from_columns({"a": ["x"] * 8 + ["z", "y"]})
    links, _ = link_by_mechanism(original, masked, schema, (pram("a", matrix=rows),), ("a",))
    assert credits(links)[8].tolist() == [0] * 8 + [1, 0]
    assert links.guesses(np.arange(10)).sound_sizes.tolist() == [8] * 8 + [9, 1]  # zeros of the matrix rule rows out


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(5, 25), st.sampled_from([0.1, 0.5, 0.9]), st.booleans())
def test_against_the_slow_twin(table, credits, seed, n, kept, gaps):
    rng = np.random.default_rng(seed)
    columns = {name: ["xyz"[i] for i in rng.integers(0, c, n)] for name, c in (("a", 2), ("b", 3), ("c", 3))}
    for column in columns.values():
        column[:3] = ["x", "y", None if gaps else "x"]
    original, schema = table(columns, scales=NOMINAL)
    links, masked = attacked(original, schema, pram("a", "b", "c", retention=kept), path=(str(seed),))
    expected = likeliest(posterior_slowly(original, masked, "abc", retention(kept)))
    np.testing.assert_array_equal(credits(links), expected)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_only_possible_images_compete(table, credits, seed):
    # groups by a number that is microaggregated, and a category that is randomised: Bayes inside the group alone
    rng = np.random.default_rng(seed)
    n = 30
    original, schema = table({"x": rng.permutation(n), "a": ["uv"[i] for i in rng.integers(0, 2, n)]}, scales=NOMINAL)
    links, masked = attacked(original, schema, micro("x", k=5), pram("a"), path=(str(seed),))
    groups = masked.floats("x")
    possible = groups[:, None] == groups[None, :]
    assert links.guesses(np.arange(n)).sound_sizes.tolist() == possible.sum(axis=1).tolist()
    expected = likeliest(posterior_slowly(original, masked, "a", retention(0.8), possible))
    np.testing.assert_array_equal(credits(links), expected)


def test_the_distance_breaks_what_the_posterior_leaves_equal(table, credits):
    # a swap keeps everything within the window possible; of the rows that are equally likely the nearer number wins
    rng = np.random.default_rng(8)
    n = 40
    original, schema = table({"x": rng.permutation(n), "a": ["uv"[i % 2] for i in range(n)]}, scales=NOMINAL)
    steps = (RankSwapping(method="rank_swapping", attributes=("x",), window_percent=20.0), pram("a"))
    links, masked = attacked(original, schema, *steps)
    x, y = original.floats("x"), masked.floats("x")
    possible = np.abs(x[:, None] - y[None, :]) <= 8
    best = likeliest(posterior_slowly(original, masked, "a", retention(0.8), possible)) > 0
    distance = np.where(best, np.abs(x[:, None] - y[None, :]), np.inf)
    nearest = distance == distance.min(axis=1, keepdims=True)
    np.testing.assert_array_equal(credits(links) > 0, nearest)


@pytest.fixture(scope="module")
def people(table):
    rng = np.random.default_rng(2)
    n = 80
    columns = {"a": ["xyzw"[i] for i in rng.integers(0, 4, n)], "b": ["xyz"[i] for i in rng.integers(0, 3, n)]}
    columns["key"] = [f"person {i}" for i in range(n)]
    columns["code"] = rng.permutation(n)
    return table(columns, scales={**NOMINAL, "key": Scale.NOMINAL, "code": Scale.CODE})


def test_everybody_is_found_where_hardly_anything_is_randomised(people, credits):
    original, schema = people
    for knows in (("key",), ("code", "a"), ("a", "b", "key", "code")):
        links, masked = attacked(original, schema, pram(*knows, retention=0.999999), knows=knows)
        np.testing.assert_array_equal(credits(links), np.eye(original.n))
        plain = link_by_distance(original, masked, schema, DistanceLinkage(method="distance_linkage"), knows)
        np.testing.assert_array_equal(credits(plain), np.eye(original.n))


def test_the_orders_of_rows_and_of_records_are_forgotten(people, credits):
    original, schema = people
    order = np.random.default_rng(4).permutation(original.n)
    knows = ("a", "b", "code")
    steps = (pram("a", "b"), pram("b", epsilon=1.0))
    straight, masked = attacked(original, schema, *steps, knows=knows)
    permuted, _ = attacked(original, schema, *steps, knows=knows, order=order)
    np.testing.assert_array_equal(credits(permuted), credits(straight)[:, order])
    again, _ = link_by_mechanism(original.take(order), masked, schema, steps, knows)
    np.testing.assert_array_equal(credits(again), credits(straight)[order])
    assert credits(straight).mean() == pytest.approx(1 / original.n, rel=1e-12)


def p_value(matrix, draws=20_000):
    """How often a random assignment of records to rows earns at least what the true one does."""
    rng, n = np.random.default_rng(20261121), len(matrix)
    random = np.array([matrix[np.arange(n), rng.permutation(n)].sum() for _ in range(draws)])
    return (1 + int((random >= matrix.trace() - 1e-12).sum())) / (draws + 1)


def test_nobody_is_found_in_an_independent_table(people, credits):
    original, schema = people
    rng = np.random.default_rng(9)
    done = mask(original, schema, (pram("a", "b"),), seed=SEED, path=())
    apart = Microdata.from_columns({name: done.data.column(name).take(rng.permutation(original.n)) for name in original.names})
    links, _ = link_by_mechanism(original, apart, schema, done.mechanisms, ("a", "b"))
    matrix = credits(links)
    assert p_value(matrix) > LEVEL
    matrix[:10] = np.eye(original.n)[:10]
    assert p_value(matrix) < LEVEL


def test_records_that_are_not_released_take_nobodys_row(people):
    original, schema = people
    done = mask(original, schema, (pram("a", "b", "key", retention=0.999999),), seed=SEED, path=())
    kept = np.arange(0, original.n, 2)
    links, _ = link_by_mechanism(original, done.data.take(kept), schema, done.mechanisms, ("a", "b", "key"))
    truth = np.full(original.n, -1)
    truth[kept] = np.arange(len(kept))
    credit = links.guesses(np.arange(original.n)).credit(truth)
    assert credit[kept].all()
    assert not credit[1::2].any()


def test_a_uniform_matrix_leaves_everybody_alike(people, credits):
    original, schema = people
    links, _ = attacked(original, schema, pram("a", "b", epsilon=0.0), knows=("a", "b"))
    assert (credits(links) == 1 / original.n).all()


def test_wrong_steps_and_strangers(table):
    original, schema = table({"a": ["x", "y"] * 10, "b": ["x", "y"] * 10}, scales=NOMINAL)
    flip = {"x": {"x": 0.0, "y": 1.0}, "y": {"x": 1.0, "y": 0.0}}
    constant = Microdata.from_columns({"a": ["x"] * 20, "b": ["x"] * 20})
    with pytest.raises(AttackFailed, match="not those that were applied"):
        link_by_mechanism(original, constant, schema, (pram("a", matrix=flip),), ("a",))
    other = {"x": {"x": 0.5, "z": 0.5}, "z": {"x": 0.5, "z": 0.5}}
    with pytest.raises(AttackFailed, match="matrix-categories"):
        link_by_mechanism(original, constant, schema, (pram("a", matrix=other),), ("a",))
    swap = RankSwapping(method="rank_swapping", attributes=("n",), window_percent=50.0)
    numbers, numeric = table({"n": [1, 2, 1, 2], "a": list("xyxy")}, scales={"n": Scale.ORDINAL, **NOMINAL})
    with pytest.raises(NotApplicable):
        link_by_mechanism(numbers, numbers, numeric, (swap, pram("n")), ("n",))


def test_what_a_randomised_table_must_face():
    assert list_required_attacks((pram("a"),)) == ("distance_linkage", "transparency")
    assert check_attacks(default_attacks((pram("a"),)), (), (pram("a"),)) is None
    with pytest.raises(InputError, match="transparency"):
        check_attacks((DistanceLinkage(method="distance_linkage"),), (), (pram("a"),))


def test_what_the_intruder_knows_is_told(people):
    original, schema = people
    done = mask(original, schema, (pram("a", "b"), pram("b", epsilon=1.5)), seed=SEED, path=())
    alignment = Alignment.complete_in(np.arange(original.n))
    plan, intruder = Transparency(method="transparency"), Intruder("declared", ("a", "b"))
    parts = (original, done.data, schema, done.mechanisms, plan, intruder)
    found = attack(*parts, alignment=alignment, targets=np.arange(original.n))
    assert "PRAM of a and b, each value kept with probability 0.8, else any other of its categories" in found.knows_mechanism
    assert "PRAM of b, each value by randomised response with epsilon 1.5" in found.knows_mechanism
    assert "likeliest" in found.infers
    links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, ("a", "b"))
    everybody = np.arange(original.n)
    assert found.outcomes.floats("credit").tolist() == links.guesses(everybody).credit(everybody).tolist()


def test_anes96_masked_in_three_ways(table):
    # docs/SCIENCE.md section 2: k = 5 of (age, income), popul swapped within 10 %, educ by PRAM 0.8: plain linkage finds 0.57
    frame = anes96.load_pandas().data
    scales = {"age": Scale.NUMERIC, "income": Scale.ORDINAL, "popul": Scale.NUMERIC, "educ": Scale.ORDINAL}
    original, schema = table({name: frame[name].to_numpy() for name in scales}, scales=scales)
    swap = RankSwapping(method="rank_swapping", attributes=("popul",), window_percent=10.0)
    everybody, rates = np.arange(original.n), []
    for seed in range(5):
        links, masked = attacked(original, schema, micro("age", "income", k=5), swap, pram("educ"), path=(str(seed),))
        plain = link_by_distance(original, masked, schema, DistanceLinkage(method="distance_linkage"), schema.names)
        rates.append([one.guesses(everybody).credit(everybody).mean() for one in (plain, links)])
        assert (links.guesses(everybody).sound_sizes > 0).all()
    assert np.mean(rates, axis=0) == pytest.approx([0.57, 0.86], abs=0.02)


@pytest.fixture(scope="module")
def household(reference, table):
    frame = pd.read_csv(reference / "household.csv")
    return table({name: frame[name].to_numpy() for name in KEYS}, scales=dict.fromkeys(KEYS, Scale.CODE))


def claims_and_hits(original, masked, links):
    """The mean largest posterior, with q over all records and over all but the target, and the mean credit.

    The posterior is computed by the formula on the distinct records and rows; its arg max must be the attack's guess.
    """
    own, own_of, records = distinct(original)
    shown, shown_of, rows = distinct(masked)
    chance = np.ones((len(own), len(shown)))
    for j in range(len(KEYS)):
        c = int(own[:, j].max()) + 1
        chance *= retention(0.8)(c)[own[:, j]][:, shown[:, j]]
    everybody = np.arange(original.n)
    guesses = links.guesses(everybody)
    found = []
    for q in (records @ chance, records @ chance - chance):
        weight = chance / q
        total = weight @ rows
        found.append((weight.max(axis=1) / total)[own_of].mean())
    best = chance / (records @ chance)
    best = best >= best.max(axis=1, keepdims=True) * (1 - 1e-8)
    assert guesses.tie_sizes().tolist() == (best @ rows)[own_of].tolist()
    assert guesses.truth_among(everybody).tolist() == best[own_of, shown_of].tolist()
    return (*found, guesses.credit(everybody).mean())


def distinct(data):
    codes = np.column_stack([np.unique(data.floats(name), return_inverse=True)[1] for name in KEYS])
    kinds, of_row, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    return kinds, of_row, counts.astype(float)


def test_household_once(household):
    original, schema = household
    links, masked = attacked(original, schema, pram(*KEYS))
    claim, without_target, hit = claims_and_hits(original, masked, links)
    assert claim == pytest.approx(0.0303, abs=0.001)
    assert hit == pytest.approx(without_target, abs=0.006)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [8, pytest.param(30, marks=pytest.mark.long)])
def test_claims_are_calibrated_on_household(household, seeds):
    # docs/SCIENCE.md section 4: the ratio claims 0.0303. Plain numpy, 40 seeds: claims 0.0303, hits 0.0325. That the claim is a
    # little low comes from q, in which the target takes part; without it the claim is 0.0327, which the hits meet
    original, schema = household
    claims = np.array(
        [claims_and_hits(original, masked, links)
         for links, masked in (attacked(original, schema, pram(*KEYS), path=(str(seed),)) for seed in range(seeds))]
    )  # fmt: skip
    claim, without_target, hit = claims.mean(axis=0)
    error = claims[:, 2].std(ddof=1) / np.sqrt(seeds)
    assert claim == pytest.approx(0.0303, abs=2e-4)
    assert abs(hit - without_target) < 4 * error
    assert abs(hit - 1.3 * without_target) > 4 * error
    assert abs(hit - 0.0566) > 4 * error  # what P alone, normalised, claims


def posterior_of(law, n):
    """r(l) of every record and row, by the formula, from one law."""
    chance = law[np.arange(n)]
    shares = np.divide(chance, chance.sum(axis=0), out=np.zeros_like(chance), where=chance > 0)
    return shares / shares.sum(axis=1, keepdims=True)


def codes_of(original, masked, names):
    return [list(zip(*(table.column(name).to_pylist() for name in names), strict=True)) for table in (original, masked)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.4, 0.9]), st.booleans())
def test_attributes_drawn_together_against_the_slow_twin(table, credits, seed, kept, gaps):
    rng = np.random.default_rng(seed)
    n = 25
    columns = {name: ["xyz"[i] for i in rng.integers(0, 3, n)] for name in "ab"}
    for column in columns.values():
        column[:4] = ["x", "y", "z", None if gaps else "x"]
    original, schema = table(columns, scales=NOMINAL)
    links, masked = attacked(original, schema, pram("a", "b", retention=kept, jointly=True), path=(str(seed),))
    own, shown = codes_of(original, masked, "ab")
    law = np.zeros((n, n))
    for i, one in enumerate(own):
        for row, other in enumerate(shown):
            present = 3 ** sum(value is not None for value in one)
            if [value is None for value in one] == [value is None for value in other]:
                law[i, row] = 1.0 if present == 1 else kept if one == other else (1 - kept) / (present - 1)
    np.testing.assert_array_equal(credits(links), likeliest(posterior_of(law, n)))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.5, 0.9]))
def test_invariant_pram_in_strata_against_the_slow_twin(table, credits, seed, kept):
    # the intruder knows everybody's stratum, counts the categories in it, and makes the matrix from them
    rng = np.random.default_rng(seed)
    n = 30
    columns = {"b": ["uv"[i % 2] for i in range(n)], "a": ["xyz"[i] for i in rng.integers(0, 3, n)]}
    columns["a"][:3] = "xyz"
    original, schema = table(columns, scales=NOMINAL)
    links, masked = attacked(original, schema, pram("a", retention=kept, invariant=True, by=("b",)), path=(str(seed),))
    (own, shown), base = codes_of(original, masked, "ba"), retention(kept)(3)
    law = np.zeros((n, n))
    for i, (stratum, value) in enumerate(own):
        counts = np.array([own.count((stratum, category)) for category in "xyz"])
        drawn = counts @ base
        for row, (there, released) in enumerate(shown):
            if there == stratum:
                k = "xyz".index(released)
                back = counts[k] * base[k] / drawn  # it came from k, given what it was drawn as
                law[i, row] = base["xyz".index(value)] @ back
    np.testing.assert_array_equal(credits(links), likeliest(posterior_of(law, n)))


def test_who_lacks_a_stratum_or_a_partner_has_the_distance_alone(people, credits):
    original, schema = people
    joint, stratified = pram("a", "b", jointly=True, retention=0.8), pram("a", invariant=True, retention=0.8, by=("b",))
    for step, knows in ((joint, ("a", "code")), (stratified, ("a", "code"))):
        links, masked = attacked(original, schema, step, knows=knows)
        plain = link_by_distance(original, masked, schema, DistanceLinkage(method="distance_linkage"), ("code",))
        np.testing.assert_array_equal(credits(links), credits(plain))  # `code` was left alone and tells everybody
    with pytest.raises(NotApplicable):
        attacked(original, schema, joint, knows=("a",))


def test_what_the_intruder_is_said_to_know_of_the_other_forms():
    steps = (pram("a", "b", jointly=True, retention=0.8), pram("key", retention=0.9, invariant=True, by=("code",)))
    said = [step.rule for step in steps]
    assert said == [
        "joint PRAM of a and b, each combination of values kept with probability 0.8, else any other combination",
        "PRAM of key, each value kept with probability 0.9, else any other of its categories, then drawn back so that expected "
        "frequencies stay, within each combination of code",
    ]
