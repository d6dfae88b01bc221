"""Learning the distance that links most: the search, the proof, the papers' programme and an exhaustive look agree."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tasks.attack.learned import milp
from tasks.attack.learned.benders import improve_and_prove
from tasks.attack.learned.constraint_rows import create_constraint_rows, problem
from tasks.attack.learned.exact_links import recount
from tasks.attack.learned.features import LearnedDistanceKind, arithmetic_mean, cone, create_matrix
from tasks.attack.learned.learn import chance, evaluate_held_out, learn
from tasks.attack.learned.learned_neighbours import count_links
from tasks.attack.learned.multistart_search import search_parameters, standard_starts
from tasks.attack.learned.separation import RowPool


def rng(seed=0):
    return np.random.default_rng(seed)


def hard(seed, n=10, d=3, noise=1.0):
    """Two files whose records are hard to link, for the noise differs by attribute."""
    own = rng(seed)
    found = own.normal(size=(n, d))
    return found + noise * own.normal(size=(n, d)) * np.linspace(0.3, 1.5, d), found


def every_row(of):
    return create_constraint_rows(of, np.broadcast_to(np.arange(len(of.found)), (len(of.searching), len(of.found))).copy())


def exhaustive(of):
    """The most records that some parameters link, by linear programmes over the sets of records, the largest first."""
    rows, q = every_row(of), len(of.searching)
    bounds = cone(of.kind, of.searching.shape[1]) / rows.unit
    alone = [i for i in range(q) if margin(rows, bounds, (i,)) > 1e-7]
    for size in range(len(alone), 0, -1):
        if any(margin(rows, bounds, chosen) > 1e-7 for chosen in combinations(alone, size)):
            return size
    return 0


def margin(rows, bounds, records):
    d = np.vstack([rows.d[rows.starts[i] : rows.starts[i + 1]] for i in records])
    p = d.shape[1]
    above = np.hstack([-d, np.ones((len(d), 1))])
    inside = np.hstack([-bounds, np.zeros((len(bounds), 1))])
    answer = linprog(
        np.append(np.zeros(p), -1.0), np.vstack([above, inside]), np.zeros(len(above) + len(inside)),
        bounds=[(-1, 1)] * p + [(None, 1)],
    )  # fmt: skip
    return -answer.fun


def proven(of, seconds=30.0):
    start = search_parameters(of, rounds=2, moves=200, rng=rng())
    return improve_and_prove(of, start, cone(of.kind, of.searching.shape[1]), seconds=seconds, rng=rng(1))


class TestThreeWaysAgree:
    @pytest.mark.parametrize("kind", LearnedDistanceKind)
    @settings(max_examples=4, deadline=None)
    @given(seed=st.integers(0, 10_000), n=st.integers(3, 8))
    def test_on_small_files(self, kind, seed, n):
        of = problem(kind, *hard(seed, n), np.arange(n))
        proof = proven(of)
        assert proof.proven
        assert proof.linked == proof.bound == exhaustive(of) == of.worth(count_links(of, proof.parameters))
        solved, optimal = milp.solve(of)
        assert optimal
        assert of.worth(count_links(of, solved)) == proof.linked

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", LearnedDistanceKind)
    @pytest.mark.parametrize("seed", range(6))
    def test_on_twelve_records(self, kind, seed):
        of = problem(kind, *hard(seed, 12, 4, 1.5), np.arange(12))
        proof = proven(of)
        assert proof.proven
        assert proof.linked == exhaustive(of) == of.worth(count_links(of, milp.solve(of)[0]))


class TestReasons:
    def test_every_reason_holds_and_names_records_that_cannot_all_be_linked(self):
        of = problem(LearnedDistanceKind.WEIGHTED_MEAN, *hard(3, 30), np.arange(30))
        proof = proven(of)
        rows, bounds = every_row(of), np.eye(3)
        assert proof.proven
        assert proof.reasons
        for reason in proof.reasons:
            assert reason.holds(of)
            assert margin(rows, bounds / rows.unit, reason.records) <= 1e-9
            for left_out in reason.records:
                rest = [i for i in reason.records if i != left_out]
                assert not rest or margin(rows, bounds / rows.unit, rest) > 0

    def test_a_false_reason_does_not_hold(self):
        of = problem(LearnedDistanceKind.WEIGHTED_MEAN, *hard(3, 30), np.arange(30))
        reason = max(proven(of).reasons, key=lambda reason: len(reason.i))
        object.__setattr__(reason, "multipliers", reason.multipliers * np.linspace(1, 1.001, len(reason.i)))
        assert not reason.holds(of)
        object.__setattr__(reason, "multipliers", np.zeros(len(reason.i)))
        assert not reason.holds(of)

    def test_records_that_can_be_linked_together_get_parameters_that_link_them(self):
        x, y = hard(4, 20, noise=0.05)
        of = problem(LearnedDistanceKind.BILINEAR, x, y, np.arange(20))
        pool = RowPool(of, np.broadcast_to(np.arange(20), (20, 20)).copy(), np.zeros((0, 6)), arithmetic_mean(of.kind, 3))
        place, reason = pool.together(np.ones(20, dtype=bool))
        assert reason is None
        assert count_links(of, pool.parameters(place)).strict.all()

    def test_without_time_the_bound_is_the_whole(self):
        of = problem(LearnedDistanceKind.BILINEAR, *hard(5, 40), np.arange(40))
        proof = improve_and_prove(of, arithmetic_mean(of.kind, 3), np.zeros((0, 6)), seconds=0.0, rng=rng())
        assert (proof.bound, proof.proven) == (40, False)


class TestSearch:
    @pytest.mark.parametrize("kind", LearnedDistanceKind)
    def test_it_links_no_fewer_than_where_it_starts(self, kind):
        of = problem(kind, *hard(6, 60, 4), np.arange(60))
        found = search_parameters(of, rounds=2, moves=200, rng=rng())
        assert of.worth(count_links(of, found)) > max(of.worth(count_links(of, start)) for start in standard_starts(of))
        assert (cone(kind, 4) @ found >= -1e-9).all()

    def test_larger_families_link_no_fewer(self):
        linked = {}
        for kind in LearnedDistanceKind:
            of = problem(kind, *hard(7, 80, 4), np.arange(80))
            linked[kind] = of.worth(count_links(of, search_parameters(of, rounds=3, moves=300, rng=rng())))
        assert (
            linked[LearnedDistanceKind.CHOQUET]
            >= linked[LearnedDistanceKind.CHOQUET_2ADDITIVE]
            >= linked[LearnedDistanceKind.WEIGHTED_MEAN]
        )
        assert (
            linked[LearnedDistanceKind.BILINEAR]
            >= linked[LearnedDistanceKind.WEIGHTED_MEAN]
            > linked[LearnedDistanceKind.OWA]
            > 0
        )

    @pytest.mark.parametrize(
        "kind",
        [
            LearnedDistanceKind.WEIGHTED_MEAN,
            LearnedDistanceKind.CHOQUET,
            LearnedDistanceKind.CHOQUET_2ADDITIVE,
            LearnedDistanceKind.BILINEAR,
        ],
    )
    def test_metric_parameters_are_those_of_a_metric(self, kind):
        x, y = hard(8, 60, 3)
        found = learn(problem(kind, x, y), metric=True, rounds=3, rng=rng())
        assert (cone(kind, 3, metric=True) @ found.parameters >= -1e-12).all()
        if kind is LearnedDistanceKind.BILINEAR:
            assert np.linalg.eigvalsh(create_matrix(found.parameters)).min() > 0
        if kind is LearnedDistanceKind.WEIGHTED_MEAN:
            assert found.parameters.min() > 0
        assert found.linked >= learn(problem(LearnedDistanceKind.WEIGHTED_MEAN, x, y), metric=True, rounds=3, rng=rng()).linked

    def test_the_same_stream_gives_the_same_answer(self):
        x, y = hard(9, 50)
        first, second = (learn(problem(LearnedDistanceKind.BILINEAR, x, y), rounds=2, rng=rng(4)) for _ in range(2))
        assert np.array_equal(first.parameters, second.parameters)


class TestRecovery:
    def test_planted_weights_are_found(self):
        """Found records differ from searching ones by noise of given variances: the best weights are nearly their inverses."""
        own = rng(11)
        spread = np.array([0.02, 0.1, 0.5])
        found = own.normal(size=(600, 3))
        learned = learn(
            problem(LearnedDistanceKind.WEIGHTED_MEAN, found + spread * own.normal(size=(600, 3)), found), rng=rng()
        )
        planted = (1 / spread**2) / (1 / spread**2).sum()
        assert learned.parameters == pytest.approx(planted, rel=0.9)
        assert np.argsort(learned.betraying).tolist() == [2, 1, 0]
        euclid = recount(
            LearnedDistanceKind.WEIGHTED_MEAN, np.ones(3), found + spread * own.normal(size=(600, 3)), found, np.arange(600)
        )
        assert learned.rate > euclid.strict.mean() + 0.2

    @pytest.mark.parametrize(
        "kind",
        [
            LearnedDistanceKind.WEIGHTED_MEAN,
            LearnedDistanceKind.CHOQUET,
            LearnedDistanceKind.CHOQUET_2ADDITIVE,
            LearnedDistanceKind.BILINEAR,
        ],
    )
    def test_a_key_attribute_gets_all_the_weight_and_links_everybody(self, kind):
        own = rng(12)
        found, searching = own.normal(size=(2, 150, 3))
        searching[:, 1] = found[:, 1]
        learned = learn(problem(kind, searching, found), rounds=4, rng=rng())
        assert learned.rate == 1
        if kind in (LearnedDistanceKind.WEIGHTED_MEAN, LearnedDistanceKind.BILINEAR):
            assert learned.betraying[1] / np.abs(learned.betraying).sum() > 0.99
        assert np.argmax(learned.betraying) == 1  # a measure may ask for the key AND another: also 0 for the own record

    def test_a_copy_among_strangers_is_proven_at_once(self):
        own = rng(13)
        found = own.normal(size=(40, 2))
        learned = learn(problem(LearnedDistanceKind.WEIGHTED_MEAN, found, found), solver="certified", rng=rng())
        assert (learned.linked, learned.bound, learned.gap) == (40, 40, 0)

    def test_on_independent_files_nothing_is_gained_on_the_other_half(self):
        """Of the other 100, among 200 records, about Poisson(0.5) are linked by chance: P(7 or more) is 1e-6."""
        x, y = rng(14).normal(size=(2, 200, 4))
        split = evaluate_held_out(problem(LearnedDistanceKind.BILINEAR, x, y), rng=rng())
        assert split.learned_half >= 0.03
        assert split.other_half * 100 < 7

    def test_chance_of_learning_is_above_one_in_n(self):
        x, y = rng(15).normal(size=(2, 60, 4))
        rates = chance(problem(LearnedDistanceKind.WEIGHTED_MEAN, x, y), permutations=20, rng=rng())
        assert rates.shape == (20,)
        assert rates.mean() > 3 / 60
        own = learn(problem(LearnedDistanceKind.WEIGHTED_MEAN, x, y), rng=rng())
        assert rates.min() - 0.05 <= own.rate <= rates.max() + 0.05

    def test_what_is_learned_on_one_half_links_the_other(self):
        own = rng(16)
        found = own.normal(size=(400, 3))
        split = evaluate_held_out(
            problem(LearnedDistanceKind.WEIGHTED_MEAN, found + own.normal(size=(400, 3)) * [0.02, 0.1, 1.0], found), rng=rng()
        )
        assert split.other_half > split.euclidean + 0.2
        assert split.learned_half >= split.other_half - 0.1


class TestTies:
    def test_twins_of_the_own_record_share_or_earn_nothing(self):
        found = np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 5.0]])
        searching = np.array([[0.1, 0.1], [-0.1, 0.1], [5.0, 5.1]])
        strict = learn(problem(LearnedDistanceKind.WEIGHTED_MEAN, searching, found), solver="certified", rng=rng())
        shared = learn(
            problem(LearnedDistanceKind.WEIGHTED_MEAN, searching, found, strict=False), solver="certified", rng=rng()
        )
        assert (strict.linked, strict.bound) == (1, 1)
        assert (shared.linked, shared.bound) == (2, 2)
        assert shared.links.credit.tolist() == [0.5, 0.5, 1]

    def test_the_order_of_the_released_rows_changes_no_figure(self):
        x, y = hard(17, 40)
        order = rng(1).permutation(40)
        plain = learn(problem(LearnedDistanceKind.WEIGHTED_MEAN, x, y), solver="certified", rng=rng())
        shuffled = learn(
            problem(LearnedDistanceKind.WEIGHTED_MEAN, x, y[order], truth=np.argsort(order)), solver="certified", rng=rng()
        )
        assert (plain.gap, shuffled.gap) == (0, 0)
        assert plain.linked == shuffled.linked


@pytest.mark.parametrize(
    ("searching", "found"),
    [(np.ones((3, 2)), np.ones((3, 3))), (np.full((3, 2), np.inf), np.ones((3, 2))), (np.ones((3, 2)), np.ones((2, 2)))],
)
def test_files_that_cannot_be_learned_from_are_refused(searching, found):
    with pytest.raises(ValueError, match=r"learned distance|row i"):
        problem(LearnedDistanceKind.WEIGHTED_MEAN, searching, found)


class TestManyRecords:
    @pytest.mark.parametrize("kind", [LearnedDistanceKind.WEIGHTED_MEAN, LearnedDistanceKind.BILINEAR])
    def test_a_tree_counts_what_all_pairs_count(self, kind, monkeypatch):
        x, y = hard(18, 300, 3, 0.2)
        y[:20] = y[20:40]
        of = problem(kind, x, y, np.arange(300), strict=False)
        parameters = search_parameters(of, metric=True, rounds=1, rng=rng())
        pairs = count_links(of, parameters)
        monkeypatch.setattr("tasks.attack.learned.learned_neighbours.MOST_PAIRS", 0)
        tree = count_links(of, parameters)
        assert np.array_equal(tree.strict, pairs.strict)
        assert np.array_equal(tree.credit, pairs.credit)
        assert of.worth(tree) == of.worth(pairs)
        by_tree = of.worth(count_links(of, search_parameters(of, metric=True, rounds=1, rng=rng())))
        assert by_tree >= of.worth(pairs) - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_positive_definite_forms_are_proven(seed):
    """Of two attributes the forms with trace 1 are a disc, which can be looked at point by point."""
    of = problem(LearnedDistanceKind.BILINEAR, *hard(seed, 12, 2, 1.5))
    learned = learn(of, metric=True, solver="certified", time_limit=20.0, rng=rng())
    angle, radius = np.meshgrid(np.linspace(0, 2 * np.pi, 361), np.append(np.linspace(0, 0.49, 50), 0.4999))
    forms = np.stack([0.5 + radius * np.cos(angle), 0.5 - radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    seen = max(of.worth(count_links(of, form)) for form in forms.reshape(-1, 3))
    assert np.linalg.eigvalsh(create_matrix(learned.parameters)).min() > 0
    assert seen <= learned.linked == learned.bound
    assert learned.bound <= learn(of, solver="certified", time_limit=20.0, rng=rng()).bound
