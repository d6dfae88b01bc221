"""The consistency attack: values changed hands in pairs, so that no link is alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.consistency.consistency import Consistency, link_by_consistency
from tasks.attack.consistency.displacements import LEAST, log_displacement, mid_ranks
from tasks.attack.consistency.swapped_attributes import select_exchanged_attributes
from tasks.attack.methods import attack
from tasks.attack.threat import Intruder
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.coding.rounding import Rounding
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import infer_belief, mask
from tasks.mask.noise.noise import Noise
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.sampling import Sampling
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import AttackFailed, NotApplicable
from tasks.microdata.schema import Role, Scale
from tasks.microdata.table import Microdata

SEED = bytes(range(32))
VARIANTS = (
    {"window_percent": 40.0},
    {"window_percent": 100.0},
    {"variant": "p_buckets", "buckets": 3},
    {"variant": "p_distribution", "p_percent": 50.0},
)


def swap(*attributes, **parameters):
    return RankSwapping(method="rank_swapping", attributes=attributes, **(parameters or {"window_percent": 20.0}))


def linked(original, schema, step, seed, knows=None, **more):
    done = mask(original, schema, (step,), seed=SEED, path=(str(seed),))
    links, names = link_by_consistency(original, done.data, schema, done.mechanisms, knows or original.names, **more)
    return done, links, names


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(6, 40),
    st.sampled_from([3, 12, 1000]),
    st.integers(1, 3),
    st.sampled_from(VARIANTS),
)
def test_the_true_row_is_never_left_out(table, seed, n, different, d, parameters):
    rng = np.random.default_rng(seed)
    columns = {name: np.append(rng.integers(0, different, n), [0, 1]) for name in ("a", "b", "c")[:d]}
    original, schema = table(columns)
    _, links, names = linked(original, schema, swap(*columns, **parameters), seed)
    everybody = np.arange(original.n)
    assert names == tuple(columns)
    assert not links.rules_out(everybody, everybody).any()
    guesses = links.guesses(everybody)
    assert (guesses.sound_sizes >= 1).all()
    assert guesses.credit(everybody)[guesses.sound_sizes == 1].all()


def random_columns(n, d, seed=5):
    rng = np.random.default_rng(seed)
    return {f"a{j}": rng.permutation(n) for j in range(d)}


class TestThreeHundredRecordsOfDistinctValues:
    @pytest.fixture
    def survey(self, table):
        return table(random_columns(300, 3))

    @pytest.mark.parametrize("parameters", [{"window_percent": 20.0}, *VARIANTS[2:]])
    def test_three_attributes_find_everybody_for_sure(self, survey, parameters):
        original, schema = survey
        _, links, _ = linked(original, schema, swap(*original.names, **parameters), 1)
        guesses = links.guesses(np.arange(300))
        assert (guesses.sound_sizes == 1).all()
        assert guesses.credit(np.arange(300)).all()

    def test_the_transparency_attack_finds_few_of_them(self, survey):
        original, schema = survey
        done = mask(original, schema, (swap(*original.names),), seed=SEED, path=("1",))
        links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, original.names)
        assert links.guesses(np.arange(300)).credit(np.arange(300)).mean() < 0.2

    def test_on_columns_dealt_out_independently_it_says_that_nothing_was_exchanged(self, survey):
        original, schema = survey
        rng = np.random.default_rng(3)
        dealt = Microdata.from_columns({name: rng.permutation(original.floats(name)) for name in original.names})
        for parameters in VARIANTS[2:]:
            with pytest.raises(AttackFailed, match="no assignment"):
                link_by_consistency(original, dealt, schema, (swap(*original.names, **parameters),), original.names)

    def test_ranks_that_were_jittered_are_no_exchange_either(self, survey):
        original, schema = survey
        jitter = RankJitter(method="rank_jitter", attributes=original.names, window_percent=10.0)
        done = mask(original, schema, (jitter,), seed=SEED, path=("1",))
        with pytest.raises(AttackFailed, match="no assignment"):
            link_by_consistency(original, done.data, schema, (swap(*original.names, window_percent=40.0),), original.names)
        with pytest.raises(NotApplicable, match="no attribute that the intruder knows was rank-swapped"):
            link_by_consistency(original, done.data, schema, done.mechanisms, original.names)

    def test_rows_dealt_out_to_other_people_fail_for_the_evaluator(self, survey):
        """Each link holds together, and all of them are wrong: that only somebody can see who knows whose row is whose."""
        original, schema = survey
        done = mask(original, schema, (swap(*original.names),), seed=SEED, path=("1",))
        other = done.data.take(np.random.default_rng(1).permutation(300))
        result = attack(
            original,
            other,
            schema,
            done.mechanisms,
            Consistency(method="consistency"),
            Intruder("declared", original.names),
            alignment=Alignment.complete_in(np.arange(300)),
            targets=np.arange(300),
        )
        assert result.status == "failed"
        assert "rule out the true row" in result.reason


@pytest.mark.parametrize(
    "parameters",
    [{"window_percent": 20.0}, {"variant": "p_buckets", "buckets": 10}, {"variant": "p_distribution", "p_percent": 10.0}],
)
def test_census_with_three_attributes_is_found_for_sure_to_the_last_record(census, parameters):
    """The intersection of the windows alone finds 3 % at 20 percent of the ranks (`benchmarks/transparency.py`)."""
    original, schema = census
    _, links, _ = linked(original, schema, swap(*original.names, **parameters), 1, knows=original.names[:3])
    guesses = links.guesses(np.arange(1080))
    assert (guesses.sound_sizes == 1).all()
    assert guesses.credit(np.arange(1080)).all()


class TestWhatWasExchanged:
    @pytest.fixture
    def survey(self, table):
        return table(random_columns(60, 2))

    def names(self, survey, *steps):
        original, schema = survey
        done = mask(original, schema, steps, seed=SEED, path=())

        def is_certain_before(place, name):
            return infer_belief(original, done.data, schema, done.mechanisms[:place]).is_certain((name,))

        return select_exchanged_attributes(done.mechanisms, original.names, is_certain_before)

    def test_only_what_was_swapped_last(self, survey):
        noise = Noise(method="noise", attributes=("a0",), kind="independent", sd_percent=10)
        assert self.names(survey, swap("a0", "a1")) == ("a0", "a1")
        assert self.names(survey, swap("a0", "a1"), noise) == ("a1",)
        assert self.names(survey, noise, swap("a0", "a1")) == ("a1",)
        assert self.names(survey, swap("a0"), swap("a0", "a1")) == ("a1",)
        assert self.names(survey, swap("a1", **VARIANTS[2]), noise) == ("a1",)

    def test_what_was_repeated_for_sure_before_it_is_known(self, survey):
        rounded = Rounding(method="rounding", bases={"a0": 7}, kind="deterministic")
        assert self.names(survey, rounded, swap("a0", "a1")) == ("a0", "a1")

    def test_nothing_is_to_be_had_of_what_was_grouped_with_another(self, survey):
        original, schema = survey
        groups = Microaggregation(method="microaggregation", attributes=("a0", "a1"), k=3)
        done = mask(original, schema, (swap("a0"), groups), seed=SEED, path=())
        with pytest.raises(NotApplicable, match="masked again"):
            link_by_consistency(original, done.data, schema, done.mechanisms, original.names)


def attacked(original, done, schema, knows, **intruder):
    return attack(
        original,
        done.data,
        schema,
        done.mechanisms,
        Consistency(method="consistency"),
        Intruder("declared", knows, **intruder),
        alignment=Alignment(done.record, done.order, original.n),
        targets=np.arange(original.n),
    )


class TestAsAnAttackOfAPlan:
    @pytest.fixture
    def survey(self, table):
        columns = random_columns(200, 3)
        columns["sex"] = np.random.default_rng(1).integers(0, 2, 200)
        return table(columns)

    def test_everybody_is_known_and_it_says_how(self, survey):
        original, schema = survey
        done = mask(original, schema, (swap("a0", "a1", "a2"),), seed=SEED, path=())
        result = attacked(original, done, schema, ("a0", "a1", "a2", "sex"))
        assert result.status == "ok"
        assert np.mean(result.outcomes.floats("credit")) == 1
        assert result.outcomes.column("known").to_pylist() == [True] * 200
        assert "that in a0, a1 and a2 the values were exchanged in pairs" in result.knows_mechanism
        assert "never left out" in result.knows_mechanism
        assert result.chance == 1 / 200

    def test_a_sample_is_followed_by_who_knows_who_is_in_it(self, survey):
        original, schema = survey
        steps = (Sampling(method="sampling", share=0.6), swap("a0", "a1", "a2"))
        done = mask(original, schema, steps, seed=SEED, path=())
        result = attacked(original, done, schema, ("a0", "a1", "a2"))
        assert result.status == "ok"
        credit, there = result.outcomes.floats("credit"), result.outcomes.column("in_release").to_numpy(zero_copy_only=False)
        assert credit[there].mean() == 1
        assert credit[~there].max() == 0

    def test_rows_that_were_left_out_afterwards_cost_partners_but_no_true_row(self, survey):
        original, schema = survey
        steps = (swap("a0", "a1", "a2"), Sampling(method="sampling", share=0.6))
        done = mask(original, schema, steps, seed=SEED, path=())
        result = attacked(original, done, schema, ("a0", "a1", "a2"), participation_known=False)
        assert result.status == "ok"
        assert "not sound" in result.knows_mechanism

    def test_of_persons_with_several_rows_the_rows_are_found(self, table):
        columns = random_columns(200, 3)
        columns["who"] = np.random.default_rng(1).integers(0, 90, 200)
        original, schema = table(columns, roles={"who": Role.PERSON}, scales={"who": Scale.CODE})
        done = mask(original, schema, (swap("a0", "a1", "a2"),), seed=SEED, path=())
        result = attacked(original, done, schema, ("a0", "a1", "a2"))
        assert (result.status, result.counts) == ("ok", "persons")
        assert result.outcomes.floats("credit").min() == 1
        assert set(result.outcomes.column("known").to_pylist()) == {True}

    def test_an_intruder_who_knows_nothing_swapped_is_told_so(self, survey):
        original, schema = survey
        done = mask(original, schema, (swap("a0"),), seed=SEED, path=())
        result = attacked(original, done, schema, ("a1", "sex"))
        assert result.status == "not_applicable"
        assert "was rank-swapped" in result.reason

    def test_too_many_pairs_are_not_looked_at(self, survey, monkeypatch):
        original, schema = survey
        done = mask(original, schema, (swap("a0", **VARIANTS[2]),), seed=SEED, path=())
        for limit in ("orbits.MOST_LOOKED_AT", "consistency.MOST_KEPT"):
            with monkeypatch.context() as patch:
                patch.setattr(f"tasks.attack.consistency.{limit}", 1000)
                result = attacked(original, done, schema, ("a0",))
            assert result.status == "not_followed"
            assert "1,000 pairs" in result.reason


@pytest.mark.parametrize("parameters", [{"window_percent": 60.0}, VARIANTS[2]])
def test_missing_values_and_several_people_alike(table, parameters):
    """Two records alike in all, a missing value, and nobody loses the true row."""
    columns = {"a": [1, 1, 2, 3, None, 5, 6, 7], "b": [4, 4, 1, 2, 3, None, 9, 8]}
    original, schema = table(columns)
    for seed in range(5):
        _, links, _ = linked(original, schema, swap("a", "b", **parameters), seed)
        assert not links.rules_out(np.arange(8), np.arange(8)).any()
        assert links.rules_out(np.array([4, 4, 0]), np.array([0, 6, 4])).all()  # a missing value stays missing


@pytest.mark.parametrize(
    "step",
    [
        swap("a", window_percent=5.0),
        swap("a", variant="p_buckets", buckets=20),
        swap("a", variant="p_distribution", p_percent=10.0),
        RankJitter(method="rank_jitter", attributes=("a",), window_percent=5.0),
    ],
)
def test_values_move_as_far_as_the_law_says(table, step):
    """4,000 values: the mean distance of those away from the ends, against the law; one 30 % off does not pass."""
    n = 4000
    original, schema = table({"a": np.arange(n)})
    moved = mask(original, schema, (step,), seed=SEED, path=()).data.floats("a") - np.arange(n)
    middle = slice(n // 4, 3 * n // 4)
    after = np.arange(n, dtype=float)
    law = np.exp(log_displacement(step, n, np.full(n, n / 2), after))
    assert law.sum() == pytest.approx(1, abs=0.02)
    expected = float((law * np.abs(after - n / 2)).sum())
    assert np.abs(moved[middle]).mean() == pytest.approx(expected, rel=0.15)


def test_a_missing_value_moves_nowhere():
    before, after = np.array([np.nan, np.nan, 3.0]), np.array([np.nan, 3.0, np.nan])
    step = swap("a", window_percent=50.0)
    assert log_displacement(step, 10, before, after).tolist() == [0.0, LEAST, LEAST]
    assert mid_ranks(np.array([5.0, np.nan, 1.0]), np.array([1.0, 5.0, 5.0, np.nan])).tolist()[0] == 1.5
