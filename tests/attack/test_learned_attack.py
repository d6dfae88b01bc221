"""Linkage by a learned distance as an attack on tables: what it finds, what it says of itself, what it does not depend on."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from pydantic import TypeAdapter

from tasks.attack.learned import learn as learning
from tasks.attack.learned.constraint_rows import problem
from tasks.attack.learned.features import clip_to_cone, cone, diagonal
from tasks.attack.learned.learned_linkage import KINDS, MOST_TERMS, LearnedLinkage, link_by_learning
from tasks.attack.learned.multistart_search import search_parameters
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import Attack, attack
from tasks.attack.outcomes.outcome import AttackResult
from tasks.attack.plan import check_attacks
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import InputError
from tasks.microdata.ground_truth import RecordPairs
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata

N = 40


@pytest.fixture(autouse=True)
def short_search(monkeypatch):
    """Two of the twenty permutations, a fifth of the moves: what they are worth is tested by itself."""
    monkeypatch.setattr(learning.chance, "__kwdefaults__", {**learning.chance.__kwdefaults__, "permutations": 2})
    monkeypatch.setattr(search_parameters, "__kwdefaults__", {**search_parameters.__kwdefaults__, "moves": 300})


def learned(**parameters):
    return LearnedLinkage(method="learned_linkage", **parameters)


def linked(original, masked, schema, *, knows=None, pairs=None, **parameters):
    everybody = np.arange(masked.n)
    return link_by_learning(
        original, masked, schema, learned(**parameters), knows or schema.names, pairs or RecordPairs(everybody, everybody)
    )


def attacked(original, masked, schema, spec, *, alignment=None, targets=None, intruder=None):
    return attack(
        original, masked, schema, (), spec, intruder or Intruder("declared", schema.names),
        alignment=alignment or Alignment.complete_in(np.arange(original.n)),
        targets=np.arange(original.n) if targets is None else targets,
    )  # fmt: skip


@pytest.fixture
def crossed(table):
    """x is as it was, y is turned round: by both alike only the two in the middle are linked, each in a tie of two."""
    original, schema = table({"x": [1, 2, 3, 4], "y": [1, 2, 3, 4]})
    return original, Microdata.from_columns({"x": [1, 2, 3, 4], "y": [4, 3, 2, 1]}), schema


def mixed(table, n=N, seed=5):
    """Numbers, an order, categories, and gaps in each of two; what is released differs by attribute."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(size=n)
    grade, group = rng.integers(1, 5, n), rng.integers(0, 3, n)
    other = np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), group)

    def with_gaps(values, every):
        return [None if i % every == 0 else value for i, value in enumerate(values)]

    columns = {
        "x": x, "z": with_gaps(z, 7), "grade": grade, "group": with_gaps([f"g{one}" for one in group], 9),
    }  # fmt: skip
    original, schema = table(columns, scales={"grade": Scale.ORDINAL, "group": Scale.NOMINAL})
    released = {
        "x": x + 0.2 * rng.normal(size=n), "z": with_gaps(z + 2 * rng.normal(size=n), 11),
        "grade": np.clip(grade + rng.integers(-1, 2, n), 1, 4), "group": with_gaps([f"g{one}" for one in other], 8),
    }  # fmt: skip
    return original, Microdata.from_columns(released), schema


class TestByHand:
    def test_who_weighs_x_more_than_five_times_y_links_everybody(self, crossed):
        """Record (1, 1), rows (1, 4) and (2, 3): 9 w_y < w_x + 4 w_y; by equal weights 9 against 5, and 5."""
        original, masked, schema = crossed
        result = attacked(original, masked, schema, learned(solver="certified"))
        facts = result.learned
        assert result.outcomes.floats("credit").tolist() == [1, 1, 1, 1]
        assert (facts.rate, facts.euclidean, facts.sure, facts.bound, facts.gap) == (1, 0.25, 1, 1, 0)
        assert not facts.stopped
        weights = dict(facts.betraying)
        assert weights["x"] > 5 * weights["y"] >= 0
        assert sum(weights.values()) == pytest.approx(1)
        assert (result.chance, result.chance_kind) == (facts.chance, "permutation")

    def test_a_missing_value_counts_two_and_a_category_two_by_the_share_of_pairs_that_differ(self, table):
        """Released: a, a, b: two of three pairs differ, so a difference counts 3. x has variance 1; record 3 lacks it."""
        original, schema = table({"x": [0.0, 1.0, None], "c": ["a", "b", "b"]}, scales={"c": Scale.NOMINAL})
        masked = Microdata.from_columns({"x": [0.0, 1.0, 2.0], "c": ["a", "a", "b"]})
        links = linked(original, masked, schema, learn="owa")
        expected = {(0, 0): 0, (0, 1): 1, (0, 2): 7, (1, 0): 4, (1, 1): 3, (1, 2): 1, (2, 0): 5, (2, 1): 5, (2, 2): 2}
        plain = {row: [expected[row, j] for j in range(3)] for row in range(3)}
        assert [int(np.argmin(plain[row])) for row in range(3)] == [0, 2, 2]
        assert links.learned.euclidean == pytest.approx(2 / 3)


class TestRecovery:
    def test_a_key_gets_all_the_weight_and_links_everybody(self, table):
        rng = np.random.default_rng(1)
        original, schema = table({"key": rng.permutation(N), "a": rng.normal(size=N), "b": rng.normal(size=N)})
        masked = Microdata.from_columns({"key": original.floats("key"), "a": rng.normal(size=N), "b": rng.normal(size=N)})
        links = linked(original, masked, schema)
        assert links.learned.rate == links.learned.held_out.other_half == 1
        assert links.learned.euclidean < 1
        assert dict(links.learned.betraying)["key"] > 0.9

    def test_planted_weights_are_found(self, table):
        rng, spread = np.random.default_rng(2), np.array([0.02, 0.1, 0.5])
        own = rng.normal(size=(150, 3))
        original, schema = table(dict(zip("abc", own.T, strict=True)))
        noisy = own + spread * rng.normal(size=own.shape)
        links = linked(original, Microdata.from_columns(dict(zip("abc", noisy.T, strict=True))), schema)
        weights = [weight for _, weight in links.learned.betraying]
        assert weights == sorted(weights, reverse=True)
        assert links.learned.rate > links.learned.euclidean + 0.2
        assert links.learned.held_out.other_half > links.learned.held_out.euclidean + 0.2

    def test_on_independent_tables_nothing_is_gained_on_the_other_half(self, table):
        """Of the other 60 among 120 about Poisson(0.5) are linked by luck: 6 or more with probability 1.4e-5."""
        rng = np.random.default_rng(3)
        own, other = rng.normal(size=(2, 120, 4))
        original, schema = table(dict(zip("abcd", own.T, strict=True)))
        links = linked(original, Microdata.from_columns(dict(zip("abcd", other.T, strict=True))), schema, learn="bilinear")
        assert links.learned.held_out.other_half * 60 < 6
        assert links.learned.rate > 1 / 120


class TestTheSameLinks:
    @pytest.mark.slow
    @pytest.mark.parametrize("direction", ["to_release", "to_original"])
    @pytest.mark.parametrize("family", KINDS)
    def test_linkage_counts_what_the_learner_counted(self, table, family, direction):
        original, masked, schema = mixed(table)
        links = linked(original, masked, schema, learn=family, direction=direction)
        credit = links.guesses(np.arange(N)).credit(np.arange(N))
        assert credit.mean() == pytest.approx(links.learned.rate, abs=1e-12)
        assert links.learned.rate >= links.learned.euclidean
        assert links.learned.rate > 0.1

    def test_the_weighted_mean_is_what_a_plain_count_says(self, table):
        original, masked, schema = mixed(table)
        facts = linked(original, masked, schema).learned
        assert counted(original, masked, np.array(facts.parameters)) == pytest.approx(facts.rate, abs=1e-12)
        assert counted(original, masked, np.full(4, 0.25)) == pytest.approx(facts.euclidean, abs=1e-12)

    def test_the_plain_distance_is_that_of_distance_linkage(self, table):
        original, masked, schema = mixed(table)
        plain = attacked(original, masked, schema, DistanceLinkage(method="distance_linkage"))
        facts = linked(original, masked, schema).learned
        assert plain.outcomes.floats("credit").mean() == pytest.approx(facts.euclidean, abs=1e-12)

    @pytest.mark.slow
    @pytest.mark.parametrize("family", ["weighted_mean", "choquet_2_additive", "bilinear"])
    def test_the_order_of_neither_file_changes_a_figure(self, table, family):
        original, masked, schema = mixed(table)
        straight = linked(original, masked, schema, learn=family)
        rng = np.random.default_rng(6)
        rows, records = rng.permutation(N), rng.permutation(N)
        whose = RecordPairs(np.argsort(records)[rows], np.arange(N))
        turned = linked(original.take(records), masked.take(rows), schema, learn=family, pairs=whose)
        assert turned.learned == straight.learned
        credit = turned.guesses(whose.records).credit(whose.rows)
        np.testing.assert_array_equal(credit, straight.guesses(rows).credit(rows))


def counted(original, masked, weights):
    """The rate by the weighted mean of the squared differences, pair by pair."""
    columns = []
    for name in ("x", "z", "grade"):
        shown, spread = masked.floats(name), np.nanstd(masked.floats(name), ddof=1)
        columns.append((original.floats(name) / spread, shown / spread, lambda x, y: (x - y) ** 2))
    codes = {None: np.nan, "g0": 0.0, "g1": 1.0, "g2": 2.0}
    own, shown = (np.array([codes[one] for one in of.column("group").to_pylist()]) for of in (original, masked))
    present = shown[~np.isnan(shown)]
    pairs = [(x, y) for i, x in enumerate(present) for y in present[:i]]
    differing = 2 / np.mean([x != y for x, y in pairs])
    columns.append((own, shown, lambda x, y: differing * (x != y)))
    total = 0.0
    for i in range(N):
        distances = np.zeros(N)
        for weight, (own, shown, apart) in zip(weights, columns, strict=True):
            gaps = np.isnan(own[i]).astype(int) + np.isnan(shown)
            distances += weight * np.where(gaps == 0, apart(own[i], shown), np.where(gaps == 1, 2.0, 0.0))
        nearest = distances <= distances.min() * (1 + 1e-9) + 1e-15
        total += nearest[i] / nearest.sum()
    return total / N


class TestWhoIsThere:
    def test_absent_records_teach_nothing_and_count(self, table):
        original, masked, schema = mixed(table)
        there = np.arange(0, N, 2)
        alignment = Alignment(there, np.arange(len(there)), N)
        result = attacked(original, masked.take(there), schema, learned(), alignment=alignment)
        credit = result.outcomes.floats("credit")
        assert result.learned.records == len(there)
        assert credit[1::2].sum() == 0
        assert credit.mean() == pytest.approx(result.learned.rate / 2, abs=1e-12)
        assert result.chance <= 0.5

    def test_scored_targets_do_not_change_what_is_learned(self, table):
        original, masked, schema = mixed(table)
        some = np.array([3, 1, 30])
        result = attacked(original, masked, schema, learned(), targets=some)
        everybody = attacked(original, masked, schema, learned())
        assert result.learned == everybody.learned
        assert result.outcomes.floats("credit").tolist() == everybody.outcomes.floats("credit")[some].tolist()

    def test_a_constant_release_is_worth_chance(self, table):
        original, _, schema = mixed(table)
        constant = Microdata.from_columns({"x": [1.0] * N, "z": [1.0] * N, "grade": [1] * N, "group": ["g0"] * N})
        result = attacked(original, constant, schema, learned(solver="certified"))
        assert result.outcomes.floats("credit") == pytest.approx(np.full(N, 1 / N))
        assert result.chance == pytest.approx(1 / N)

    def test_one_attribute_alone(self, table):
        original, masked, schema = mixed(table)
        for family in KINDS:
            facts = linked(original, masked, schema, learn=family, knows=("x",)).learned
            assert facts.rate == pytest.approx(facts.euclidean)


class TestNotApplicable:
    def test_persons(self, table):
        rng = np.random.default_rng(7)
        columns = {"who": np.repeat(np.arange(10), 2), "x": rng.normal(size=20)}
        original, schema = table(columns, roles={"who": Role.PERSON})
        result = attacked(original, original, schema, learned(), intruder=Intruder("declared", ("x",)))
        assert (result.status, result.reason) == ("not_followed", "a distance is learned from tables of one row per person")

    @pytest.mark.parametrize(
        ("family", "otherwise"), [("choquet", "choquet_2_additive or weighted_mean"), ("bilinear", "weighted_mean")]
    )
    def test_too_many_attributes(self, table, family, otherwise):
        d = 11 if family == "choquet" else 31
        original, schema = table({f"a{j}": np.arange(5) for j in range(d)})
        result = attacked(original, original, schema, learned(learn=family))
        assert result.reason.endswith(f"and {d} are known: learn {otherwise}")

    def test_the_knowledge_curve(self, crossed):
        original, masked, schema = crossed
        less = Intruder("knowing:1", ("x",), greedy=True)
        assert attacked(original, masked, schema, learned(), intruder=less).status == "not_applicable"

    def test_tables_too_large_for_all_pairs(self, table, monkeypatch):
        assert MOST_TERMS == 2 * 10**9
        monkeypatch.setattr("tasks.attack.learned.learned_linkage.MOST_TERMS", 6500)  # 40 x 40 x 4: but ten for a mean in order
        original, masked, schema = mixed(table)
        result = attacked(original, masked, schema, learned(learn="owa"))
        assert result.reason.startswith("1,600 pairs of records are too many for a distance that no search tree knows")
        assert linked(original, masked, schema).learned.rate > 0
        monkeypatch.setattr("tasks.attack.learned.learned_linkage.MOST_TERMS", 100)
        assert attacked(original, masked, schema, learned()).status == "not_followed"
        small = original.select(("x",)), masked.select(("x",))
        assert linked(*small, schema, knows=("x",)).learned.rate > 0

    def test_only_the_declared_intruder_gets_a_proof(self, crossed):
        original, masked, schema = crossed
        insider = Intruder("insider:y", ("x", "y"))
        assert attacked(original, masked, schema, learned(solver="certified"), intruder=insider).learned.bound is None


class TestProofs:
    def test_a_proof_that_does_not_end_leaves_the_links_of_the_search(self, table):
        original, masked, schema = mixed(table)
        searched = linked(original, masked, schema)
        hasty = linked(original, masked, schema, solver="certified", time_limit_seconds=1e-6)
        assert hasty.learned.stopped
        assert replace(hasty.learned, bound=None, stopped=False) == searched.learned
        assert hasty.learned.gap > 0


class TestFiles:
    def test_an_attribute_that_is_not_there(self, crossed):
        original, masked, schema = crossed
        spec = TypeAdapter(Attack).validate_json('{"method": "learned_linkage", "compare": {"X": {"by": "rank"}}}')
        with pytest.raises(InputError, match="no attribute `X`"):
            attacked(original, masked, schema, spec)

    def test_it_does_not_stand_for_the_plain_attack(self):
        with pytest.raises(InputError, match="must face the attack `distance_linkage`"):
            check_attacks((learned(),), (), ())

    def test_results_from_before_have_nothing_learned(self, crossed):
        original, masked, schema = crossed
        result = replace(attacked(original, masked, schema, DistanceLinkage(method="distance_linkage")), outcomes=None)
        kept = TypeAdapter(AttackResult)
        written = json.loads(kept.dump_json(result))
        assert written.pop("learned") is None
        assert kept.validate_json(json.dumps(written)) == result

    def test_results_are_kept_whole(self, crossed):
        result = replace(attacked(*crossed, learned()), outcomes=None)
        kept = TypeAdapter(AttackResult)
        assert kept.validate_json(kept.dump_json(result)) == result
        assert result.learned.public_summary.parameters == ()


class TestInsideTheCone:
    @pytest.mark.parametrize("learn", ["weighted_mean", "owa"])
    @pytest.mark.parametrize("direction", ["to_release", "to_original"])
    def test_what_it_says_of_itself_is_what_its_links_earn(self, table, learn, direction):
        """y is published as one value. A weight of -1e-236 on x links by what is farthest, where y tells nobody apart."""
        original, schema = table({"x": [1.0, 2.0], "y": [2.0, 1.0]})
        masked = Microdata.from_columns({"x": [3.0, 1.0], "y": [2.0, 2.0]})
        result = attacked(original, masked, schema, learned(learn=learn, direction=direction))
        assert min(result.learned.parameters) >= 0
        assert result.learned.rate == result.outcomes.floats("credit").mean() == 0.5

    @pytest.mark.parametrize("kind", list(KINDS.values()))
    def test_what_rounding_left_outside_is_taken_off_and_nothing_else_moves(self, kind):
        rng, d = np.random.default_rng(4), 4
        bounds = cone(kind, d)
        inside = clip_to_cone(kind, diagonal(kind, rng.random(d)), d)
        np.testing.assert_array_equal(inside, diagonal(kind, np.random.default_rng(4).random(d)))
        for _ in range(20):
            strayed = clip_to_cone(kind, inside - 1e-9 * rng.random(len(inside)) - (rng.random(len(inside)) < 0.5) * inside, d)
            assert (bounds @ strayed >= -1e-15).all()
            np.testing.assert_allclose(clip_to_cone(kind, strayed, d), strayed, atol=1e-15)


def test_of_few_records_among_many_rows_few_are_found_by_chance(table):
    """One record of forty has only itself to be exchanged with: its true row is drawn among all that are released."""
    rng = np.random.default_rng(2)
    original, schema = table({"x": rng.normal(size=N)})
    everybody = np.arange(N)
    of = problem(KINDS["weighted_mean"], original.floats("x")[:1, None], original.floats("x")[:, None], everybody[:1])
    rates = learning.chance(of, rng=rng, permutations=200, rounds=1)
    assert rates.sum() == (rates == 1).sum() <= 20  # Binomial(200, 1/40): more than 20 has probability 3e-8
    links = linked(original, original, schema, pairs=RecordPairs(everybody[:1], everybody[:1]))
    assert links.learned.rate == 1
