"""The intruder who knows how the table was masked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.linkage.distance_linkage import DistanceLinkage, link_by_distance
from tasks.attack.transparency.transparency import link_by_mechanism
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import infer_belief, mask
from tasks.mask.ranks.rank_swapping import RankSwapping, window_ranks
from tasks.microdata.errors import AttackFailed, NotApplicable, NotFollowed
from tasks.microdata.schema import Scale
from tasks.microdata.table import Microdata

SEED = bytes(range(32))
NAMES = ("a1", "a2", "a3", "a4")
# Torra (2016), the example of the attack on rank swapping: ten records, p = 2 ranks
ORIGINAL = dict(
    zip(
        NAMES,
        (
            [8, 6, 10, 7, 9, 2, 1, 4, 5, 3],
            [9, 7, 3, 1, 4, 2, 10, 8, 5, 6],
            [1, 10, 4, 2, 6, 8, 3, 7, 5, 9],
            [3, 2, 1, 6, 4, 8, 9, 10, 5, 7],
        ),
        strict=True,
    )
)
MASKED = [
    (10, 10, 3, 5), (5, 5, 8, 1), (8, 4, 2, 2), (9, 2, 4, 4), (7, 3, 5, 6),
    (4, 1, 10, 10), (3, 9, 1, 7), (2, 6, 9, 8), (6, 7, 6, 3), (1, 8, 7, 9),
]  # fmt: skip


def swap(*attributes, window_percent=20.0):
    return RankSwapping(method="rank_swapping", attributes=attributes, window_percent=window_percent)


def micro(*attributes, k=2, blocks=None):
    return Microaggregation(method="microaggregation", attributes=attributes, k=k, blocks=blocks)


@pytest.fixture(scope="module")
def torra(table):
    original, schema = table(ORIGINAL)
    masked = Microdata.from_columns(dict(zip(NAMES, map(list, zip(*MASKED, strict=True)), strict=True)))
    return original, masked, schema


def mean_credit(links):
    everybody = np.arange(len(links.search_class))
    return float(links.guesses(everybody).credit(everybody).mean())


class TestTheExampleOfTorra2016:
    def test_every_column_is_an_involution_within_two_ranks(self, torra):
        original, masked, _ = torra
        for name in NAMES:
            x, y = original.floats(name).astype(int), masked.floats(name).astype(int)
            image = dict(zip(x, y, strict=True))
            assert all(image[image[v]] == v for v in x)
            assert np.abs(x - y).max() == 2

    def test_the_sets_of_the_second_record(self, torra):
        original, masked, schema = torra
        between = infer_belief(original, masked, schema, (swap(*NAMES),)).between
        inside = [(masked.floats(b.name) >= b.low[1]) & (masked.floats(b.name) <= b.high[1]) for b in between]
        assert [int(b.sum()) for b in inside] == [5, 5, 3, 4]
        assert np.flatnonzero(np.all(inside, axis=0)).tolist() == [1]

    def test_the_whole_table(self, torra, credits):
        original, masked, schema = torra
        links, _ = link_by_mechanism(original, masked, schema, (swap(*NAMES),), NAMES)
        sizes = links.guesses(np.arange(10)).sound_sizes
        guess = links.guesses(np.arange(10))
        assert int((sizes == 1).sum()) == 7
        assert guess.credit(np.arange(10))[sizes == 1].all()
        assert float((1 / sizes).mean()) == pytest.approx(0.85)  # a uniform guess inside the sets: the truth is always there
        assert mean_credit(links) == pytest.approx(0.70)
        plain = link_by_distance(original, masked, schema, DistanceLinkage(method="distance_linkage"), NAMES)
        assert mean_credit(plain) == pytest.approx(0.55)

    def test_singletons_taken_from_the_others_leave_nothing_open(self, torra):
        original, masked, schema = torra
        between = infer_belief(original, masked, schema, (swap(*NAMES),)).between
        open_ = np.all(
            [(masked.floats(b.name) >= b.low[:, None]) & (masked.floats(b.name) <= b.high[:, None]) for b in between], axis=0
        )
        for _ in range(3):
            taken = open_[open_.sum(axis=1) == 1].any(axis=0)
            open_[open_.sum(axis=1) > 1] &= ~taken
        assert (open_ == np.eye(10, dtype=bool)).all()


def intersection_slowly(original, masked, window_percent):
    """For each record the rows within the window of every attribute, by the ranks of the released columns."""
    n = original.n
    open_ = np.ones((n, n), dtype=bool)
    for name in original.names:
        x, y = original.floats(name), np.sort(masked.floats(name))
        w = window_ranks(window_percent, n)
        for i in range(n):
            ranks = [r for r in range(n) if y[r] == x[i]]
            reach = [y[r] for r in range(max(0, ranks[0] - w), min(n - 1, ranks[-1] + w) + 1)]
            open_[i] &= np.isin(masked.floats(name), reach)
    return open_


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(8, 40), st.sampled_from([5, 1000]), st.sampled_from([15.0, 40.0, 100.0]))
def test_swaps_against_the_slow_twin(table, seed, n, different, window_percent):
    rng = np.random.default_rng(seed)
    original, schema = table({name: rng.integers(0, different, n) for name in ("a", "b", "c")})
    done = mask(original, schema, (swap("a", "b", "c", window_percent=window_percent),), seed=SEED, path=(str(seed),))
    links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, schema.names)
    open_ = intersection_slowly(original, done.data, window_percent)
    assert links.guesses(np.arange(n)).sound_sizes.tolist() == open_.sum(axis=1).tolist()
    assert open_.diagonal().all()  # the truth is never left out
    scaled_x, scaled_y = (
        np.column_stack([t.floats(c) / np.std(done.data.floats(c), ddof=1) for c in schema.names])
        for t in (original, done.data)
    )
    for i in range(n):
        squared = np.where(open_[i], ((scaled_x[i] - scaled_y) ** 2).sum(axis=1), np.inf)
        expected = np.flatnonzero(np.isclose(squared, squared.min(), rtol=1e-9, atol=1e-15))
        guess = links.guesses(np.array([i]))
        assert np.flatnonzero(np.isin(guess.class_of_row, guess.classes)).tolist() == expected.tolist()


def test_joint_microaggregation_leaves_exactly_the_group(census):
    original, schema = census
    for k in (3, 10):
        done = mask(original, schema, (micro(*schema.names, k=k),), seed=SEED, path=())
        links, knowledge = link_by_mechanism(original, done.data, schema, done.mechanisms, schema.names)
        guesses = links.guesses(np.arange(original.n))
        assert guesses.truth_among(np.arange(original.n)).all()
        assert set(guesses.tie_sizes().tolist()) == {k}
        assert guesses.sound_sizes.tolist() == guesses.tie_sizes().tolist()
        assert knowledge.unclear == ()


def test_a_zero_below_zero_is_a_zero(table):
    # 0.0 and -0.0 stand in one column: the records are not told apart by them, and nobody's own row is ruled out
    zeros = np.array([0.0, -0.0, 0.0, -0.0, 1.5, 1.5])
    original, schema = table({"x": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0], "z": zeros})
    done = mask(original, schema, (micro("x", k=3),), seed=SEED, path=())
    links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, ("z",))
    assert links.guesses(np.arange(6)).tie_sizes().tolist() == [4, 4, 4, 4, 2, 2]
    assert not links.rules_out(np.arange(6), np.arange(6)).any()


@pytest.mark.parametrize("partition", ["mdav", "v_mdav", "refined", "projection", "individual_ranking"])
def test_every_partition_that_draws_nothing_is_repeated(table, partition):
    # row i is that of record i: the images are exactly the rows that show what row i shows
    rng = np.random.default_rng(3)
    original, schema = table({name: rng.normal(size=60).round(6) for name in ("a", "b")})
    step = Microaggregation(method="microaggregation", attributes=("a", "b"), k=4, partition=partition)
    done = mask(original, schema, (step,), seed=SEED, path=())
    order = rng.permutation(60)
    links, _ = link_by_mechanism(original.take(order), done.data, schema, done.mechanisms, ("a", "b"))
    shown = np.column_stack([done.data.floats(name) for name in ("a", "b")])
    groups = (shown[order, None] == shown).all(axis=2).sum(axis=1)
    guesses = links.guesses(np.arange(60))
    np.testing.assert_allclose(guesses.credit(order), 1 / groups)
    assert guesses.sound_sizes.tolist() == groups.tolist()
    assert (groups < 4).all() if partition == "individual_ranking" else (groups >= 4).all()


@pytest.mark.parametrize("k", [3, 25])
def test_blocks_fall(census, k):
    # docs/SCIENCE.md section 4: blocks of two or three attributes are found almost completely at any k
    original, schema = census
    names = schema.names
    blocks = (names[0:2], names[2:4], names[4:6], names[6:8], names[8:10], names[10:13])
    done = mask(original, schema, (micro(*names, k=k, blocks=blocks),), seed=SEED, path=())
    links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, names)
    assert mean_credit(links) >= 0.99


def test_rank_swapping_of_census_as_published(census):
    # Torra (2016): RSLD of rs 10 is 29.21 percent, over an intruder who knows the first 1..7 attributes; a prototype: 29.1
    original, schema = census
    rates = []
    for seed in range(5):
        done = mask(original, schema, (swap(*schema.names, window_percent=10.0),), seed=SEED, path=(str(seed),))
        for known in range(1, 8):
            links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, schema.names[:known])
            rates.append(mean_credit(links))
    assert 100 * np.mean(rates) == pytest.approx(29.2, abs=1.5)


def test_equal_records_share_their_images(table):
    # 1, 1 and 30, 31 are groups; the fives and the 7 are two more, {5, 5} and {5, 7} (mean 6): which five is which stays open
    original, schema = table({"a": [5, 5, 5, 7, 1, 1, 30, 31]})
    done = mask(original, schema, (micro("a", k=2),), seed=SEED, path=())
    assert sorted(done.data.floats("a").tolist()) == [1, 1, 5, 5, 6, 6, 30, 30]
    links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, ("a",))
    assert links.guesses(np.arange(8)).sound_sizes.tolist() == [4, 4, 4, 2, 2, 2, 2, 2]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(10, 60), st.booleans())
def test_sets_of_microaggregation_against_the_slow_twin(table, seed, n, apart):
    rng = np.random.default_rng(seed)
    original, schema = table({name: [0.0, 1, 2, 3, *rng.integers(0, 4, n - 4)] for name in ("a", "b")})
    blocks = (("a",), ("b",)) if apart else (("a", "b"),)
    done = mask(original, schema, (micro("a", "b", k=3, blocks=blocks),), seed=SEED, path=())
    links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, ("a", "b"))
    open_ = np.ones((n, n), dtype=bool)
    for block in blocks:
        held, shown = (list(zip(*(t.floats(c) for c in block), strict=True)) for t in (original, done.data))
        for i in range(n):  # what the rows of all records show that were equal to i
            open_[i] &= [row in {shown[j] for j in range(n) if held[j] == held[i]} for row in shown]
    assert links.guesses(np.arange(n)).sound_sizes.tolist() == open_.sum(axis=1).tolist()


def test_attributes_that_no_step_touched_must_be_equal(table):
    original, schema = table(
        {"a": [1.0, 2, 3, 4, 5, 6], "vote": ["x", None, "y", "x", "y", "x"]}, scales={"vote": Scale.NOMINAL}
    )
    done = mask(original, schema, (micro("a", k=3),), seed=SEED, path=())
    alone, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, ("a",))
    insider, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, ("a", "vote"))
    everybody = np.arange(6)
    assert alone.guesses(everybody).sound_sizes.tolist() == [3] * 6
    assert insider.guesses(everybody).sound_sizes.tolist() == [1, 1, 1, 2, 1, 2]


def test_missing_values_are_shown_as_missing(table):
    original, schema = table({"a": [1.0, 2, 3, 4, None, None], "b": [4.0, 3, 1, 2, 1, 7]})
    done = mask(original, schema, (swap("a", window_percent=25.0), micro("b", k=3)), seed=SEED, path=())
    links, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, ("a", "b"))
    everybody = np.arange(6)
    assert links.guesses(everybody).truth_among(everybody).any()
    only_a, _ = link_by_mechanism(original, done.data, schema, done.mechanisms, ("a",))
    assert only_a.guesses(everybody).sound_sizes.tolist()[4:] == [2, 2]


def test_a_swap_after_a_microaggregation_is_followed(table):
    rng = np.random.default_rng(5)
    original, schema = table({"a": rng.permutation(40), "b": rng.permutation(40)})
    steps = (micro("a", k=4), swap("a", "b", window_percent=5.0))
    done = mask(original, schema, steps, seed=SEED, path=())
    links, knowledge = link_by_mechanism(original, done.data, schema, done.mechanisms, ("a", "b"))
    assert {part.name for part in knowledge.between} == {"a", "b"}
    window = intersection_slowly(original.select(["b"]), done.data.select(["b"]), 5.0)
    sizes = links.guesses(np.arange(40)).sound_sizes
    assert (sizes <= window.sum(axis=1)).all()
    assert sizes.mean() < window.sum(axis=1).mean()


def test_bounds_are_carried_through_a_step_after_a_swap(table):
    rng = np.random.default_rng(5)
    original, schema = table({"a": rng.permutation(40), "b": rng.permutation(40)})
    done = mask(original, schema, (swap("a", "b"), micro("a", k=4)), seed=SEED, path=())
    _, knowledge = link_by_mechanism(original, done.data, schema, done.mechanisms, ("a", "b"))
    assert knowledge.unclear == ()
    assert [part.name for part in knowledge.between] == ["b", "a"]
    assert [part.name for part in knowledge.bounds] == ["a"]


def test_a_law_that_a_later_step_hides_is_not_followed(table):
    rng = np.random.default_rng(5)
    original, schema = table({"a": rng.permutation(40), "b": rng.permutation(40)})
    buckets = RankSwapping(method="rank_swapping", attributes=("a", "b"), variant="p_buckets", buckets=5)
    done = mask(original, schema, (buckets, micro("a", "b", k=4)), seed=SEED, path=())
    lost = "what the steps did to a and b cannot be followed: rank_swapping, then microaggregation"
    with pytest.raises(NotFollowed, match=lost):
        link_by_mechanism(original, done.data, schema, done.mechanisms, ("a", "b"))
    with pytest.raises(NotFollowed, match="what the steps did to a cannot be followed"):
        link_by_mechanism(original, done.data, schema, done.mechanisms, ("a",))
    joint = mask(original, schema, (micro("a", "b", k=4),), seed=SEED, path=())
    with pytest.raises(NotApplicable, match="does not suffice") as lacking:  # who also knew b would follow it
        link_by_mechanism(original, joint.data, schema, joint.mechanisms, ("a",))
    assert lacking.value.status == "not_applicable"


def test_not_applicable(table):
    original, schema = table({"a": [1.0, 2, 3, 4], "b": [1.0, 4, 2, 3]})
    done = mask(original, schema, (micro("a", "b", k=2),), seed=SEED, path=())
    with pytest.raises(NotApplicable, match="no masking step is known"):
        link_by_mechanism(original, done.data, schema, (), ("a", "b"))
    with pytest.raises(NotApplicable, match="does not suffice"):
        link_by_mechanism(original, done.data, schema, done.mechanisms, ("a",))


def test_wrong_parameters_are_noticed(table):
    rng = np.random.default_rng(11)
    original, schema = table({name: rng.permutation(50) for name in ("a", "b")})
    swapped = mask(original, schema, (swap("a", "b", window_percent=60.0),), seed=SEED, path=())
    with pytest.raises(AttackFailed, match="not those that were applied"):
        link_by_mechanism(original, swapped.data, schema, (swap("a", "b", window_percent=2.0),), ("a", "b"))
    grouped = mask(original, schema, (micro("a", "b", k=5),), seed=SEED, path=())
    with pytest.raises(AttackFailed, match="not those that were applied"):
        link_by_mechanism(original, grouped.data, schema, (micro("a", "b", k=4),), ("a", "b"))
    with pytest.raises(AttackFailed, match="cannot be repeated"):
        link_by_mechanism(original, grouped.data, schema, (micro("a", "b", k=51),), ("a", "b"))
