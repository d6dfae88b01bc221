"""Pairs of a record and a row that are left where values changed hands in pairs: each rule by hand, and its slow twin."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from exchanged_codes import anything, as_set, made, of_pairs, single, within
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.consistency.belief import beliefs, likeliest
from tasks.attack.consistency.condition_boxes import create_boxes
from tasks.attack.consistency.exchanges import NOBODY, KindCounts, create_exchange
from tasks.attack.consistency.orbits import PossiblePairs, consistent_pairs
from tasks.attack.consistency.propagation import assignable, keep_supported_pairs, propagate_constraints
from tasks.attack.transparency.intersection import Conditions
from tasks.attack.transparency.likelihood import create_likelihoods
from tasks.microdata.errors import AttackFailed


class TestSixRecordsByHand:
    """Two attributes of six records, who held 0..5 in both. In the first 0-1, 2-3 and 4-5 changed places, in the second 1-2 and
    3-4; row i is that of record i.

    So the people stand in a chain 0-1-2-3-4-5, whose links are the first attribute, the second, the first, and so on. It reads
    the same from its other end: that record 0 became row 5 hangs together as well as that it became row 0.
    """

    HELD = np.arange(6)
    FIRST, SECOND = np.array([1, 0, 3, 2, 5, 4]), np.array([0, 2, 1, 4, 3, 5])
    TRUE, MIRRORED = {(i, i) for i in range(6)}, {(i, 5 - i) for i in range(6)}

    @pytest.fixture
    def exchanges(self):
        return tuple(create_exchange(self.HELD, shown, single(6)) for shown in (self.FIRST, self.SECOND))

    def test_a_chain_can_be_read_from_both_ends(self, exchanges):
        left = as_set(consistent_pairs(anything(6, 6), exchanges, 100))
        assert left >= self.TRUE | self.MIRRORED

    def test_where_one_pair_falls_all_that_it_implies_fall(self, exchanges):
        boxes = anything(6, 6)
        intervals = boxes.intervals
        intervals.position[5], intervals.low[1:], intervals.high[1:] = 1, 0, 1  # row 5 cannot be that of record 0
        left = as_set(consistent_pairs(boxes, exchanges, 100))
        assert left >= self.TRUE
        assert left.isdisjoint(self.MIRRORED)

    def test_within_one_rank_only_the_truth_is_left(self, exchanges):
        values = np.column_stack([self.FIRST, self.SECOND]).astype(float)
        boxes = within(np.column_stack([self.HELD - 1.0] * 2), np.column_stack([self.HELD + 1.0] * 2), values)
        inside = {(i, row) for i in range(6) for row in range(6) if (np.abs(values[row] - i) <= 1).all()}
        assert inside == self.TRUE | {(1, 0), (4, 5)}
        # were row 0 record 1's, it would show 0 in the second: record 0 would be row 2, which shows 3 in the first
        assert as_set(consistent_pairs(boxes, exchanges, 100)) == self.TRUE

    def test_a_value_that_two_held_implies_nothing_on_the_way(self):
        exchange = create_exchange(np.array([0, 0, 1, 2]), np.array([0, 1, 0, 2]), single(4))
        assert exchange.holder.tolist() == [NOBODY, NOBODY, 2, 3]
        assert exchange.shower.tolist() == [NOBODY, NOBODY, 1, 3]


def test_what_one_became_another_must_have_been():
    """Of three records who held 1, 2, 3 the rows show 2, 1, 3: that 1 became 3 needs that 3 became 1."""
    exchange = create_exchange(np.array([1, 2, 3]), np.array([2, 1, 3]), single(3))
    some = of_pairs([(0, 0), (0, 2), (1, 1), (2, 2)], 3, 3)
    assert as_set(keep_supported_pairs(some, (exchange,))) == {(0, 0), (1, 1), (2, 2)}
    assert as_set(keep_supported_pairs(of_pairs([(0, 2), (2, 1)], 3, 3), (exchange,))) == {(0, 2), (2, 1)}


def test_three_hands_in_a_ring_are_no_exchange():
    exchange = create_exchange(np.array([1, 2, 3]), np.array([2, 3, 1]), single(3))
    with pytest.raises(AttackFailed, match="no assignment"):
        propagate_constraints(of_pairs([(0, 0), (1, 1), (2, 2)], 3, 3), (exchange,), single(3))


def supported_slowly(pairs, held, shown):
    """Leave out one pair after the other that has no partner, in any order."""
    left = set(pairs)
    while True:
        for i, row in left:
            if any(not any(h[o] == s[row] and s[other] == h[i] for o, other in left) for h, s in zip(held, shown, strict=True)):
                left.remove((i, row))
                break
        else:
            return left


def assignable_slowly(pairs, n, m):
    """All pairs of all ways to give each of n records a row of its own."""
    ways = (set(enumerate(rows)) for rows in permutations(range(m), n))
    return set().union(*(way for way in ways if way <= pairs))


def walked_slowly(allowed, held, shown):
    """The pairs whose whole orbit, taken over values that occur once, is allowed and gives each one row."""

    def orbit(start):
        found, left = {start}, [start]
        while left:
            i, row = left.pop()
            for h, s in zip(held, shown, strict=True):
                once = all((h == v).sum() == 1 and (s == v).sum() == 1 for v in (h[i], s[row]))
                if once:
                    other = int(np.flatnonzero(h == s[row])[0]), int(np.flatnonzero(s == h[i])[0])
                    left += [other] if other not in found else []
                    found.add(other)
        return found

    def holds(found):
        return found <= allowed and len({i for i, _ in found}) == len({row for _, row in found}) == len(found)

    return {pair for pair in allowed if holds(orbit(pair))}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.sampled_from([3, 1000]), st.integers(1, 3))
def test_each_rule_against_its_slow_twin(seed, n, different, d):
    rng, held, shown, row = made(seed, n, different, d)
    codes = [np.unique(np.concatenate(pair), return_inverse=True)[1] for pair in zip(held, shown, strict=True)]
    exchanges = tuple(create_exchange(both[:n], both[n:], single(n)) for both in codes)
    some = {(i, j) for i in range(n) for j in range(n) if row[i] == j or rng.random() < 0.7}
    pairs = of_pairs(some, n, n)
    assert as_set(keep_supported_pairs(pairs, exchanges)) == supported_slowly(some, held, shown)
    assert as_set(assignable(pairs, single(n))) == assignable_slowly(some, n, n)
    low = rng.integers(0, 3, n).astype(float)
    positions = rng.integers(0, 4, n)
    boxes = within(low[:, None], low[:, None] + 1, positions[:, None].astype(float))
    allowed = {(i, j) for i in range(n) for j in range(n) if low[i] <= positions[j] <= low[i] + 1}
    assert as_set(consistent_pairs(boxes, exchanges, n * n)) == walked_slowly(allowed, held, shown)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(0, 3))
def test_rows_of_strangers_need_no_record(seed, n, strangers):
    rng = np.random.default_rng(seed)
    some = {(i, j) for i in range(n) for j in range(n + strangers) if i == j or rng.random() < 0.4}
    counts = KindCounts(np.ones(n, dtype=np.int64), np.ones(n + strangers, dtype=np.int64), all_records=strangers == 0)
    assert as_set(assignable(of_pairs(some, n, n + strangers), counts)) == assignable_slowly(some, n, n + strangers)
    turned = KindCounts(counts.rows, counts.records, all_rows=strangers == 0)  # now records are absent
    assert as_set(assignable(of_pairs({(j, i) for i, j in some}, n + strangers, n), turned)) == {
        (j, i) for i, j in assignable_slowly(some, n, n + strangers)
    }


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_kinds_of_several_are_assigned_as_their_members(seed, n):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 3, n)
    counts = KindCounts(sizes, sizes[::-1].copy())
    members, rows = np.repeat(np.arange(n), sizes), np.repeat(np.arange(n), sizes[::-1])
    order = rng.permutation(len(rows))
    some = {(int(i), int(j)) for i, j in zip(members, rows[order], strict=True)}
    some |= {(i, j) for i in range(n) for j in range(n) if rng.random() < 0.3}
    one_by_one = {(e, f) for e, i in enumerate(members) for f, j in enumerate(rows) if (i, j) in some}
    if len(members) <= 7:
        slowly = assignable_slowly(one_by_one, len(members), len(rows))
        assert as_set(assignable(of_pairs(some, n, n), counts)) == {(int(members[e]), int(rows[f])) for e, f in slowly}


def test_without_an_assignment_the_stated_steps_are_not_those_applied():
    with pytest.raises(AttackFailed, match="no assignment"):
        assignable(of_pairs([(0, 0), (1, 0)], 2, 2), single(2))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(8, 40), st.sampled_from([4, 1000]), st.floats(0.2, 0.9))
def test_who_holds_a_share_of_the_records_keeps_the_true_rows_too(seed, n, different, share):
    _, held, shown, row = made(seed, n, different, 3)
    known = np.random.default_rng(seed).permutation(n)[: max(1, round(share * n))]
    counts = KindCounts(np.ones(len(known), dtype=np.int64), np.ones(n, dtype=np.int64), all_records=len(known) == n)
    codes = [np.unique(np.concatenate(pair), return_inverse=True)[1] for pair in zip(held, shown, strict=True)]
    exchanges = tuple(create_exchange(both[:n][known], both[n:], counts) for both in codes)
    pairs = consistent_pairs(anything(len(known), n), exchanges, n * n)
    left = as_set(propagate_constraints(pairs, exchanges, counts))
    assert {(i, int(row[record])) for i, record in enumerate(known)} <= left


def test_conditions_as_ranges_are_no_narrower():
    """Codes of a list count from the first to the last; a missing value stands above all places, alone."""
    nothing = create_likelihoods((), (np.empty((2, 0)), np.empty((3, 0))), np.arange(2), np.arange(3), np.ones(2))
    conditions = Conditions(
        begins=np.array([[0, 2]]),
        ends=np.array([[2, 3]]),
        allowed=(np.array([0, 2, 1]),),
        shown=np.array([[0, 1, 2]]),
        low=np.array([[1.5], [np.nan]]),
        high=np.array([[3.0], [np.nan]]),
        positions=np.array([[3.0], [np.nan], [4.0]]),
        likelihoods=nothing,
        sizes=np.ones(3, dtype=np.int64),
    )
    boxes = create_boxes(conditions, ())
    low, high, position = (np.concatenate(parts, axis=1) for parts in zip(boxes.intervals, boxes.others, strict=True))
    low, high = low[:, None], high[:, None]
    inside = (((low <= position) & (position <= high)) | (np.isnan(low) & np.isnan(position))).all(axis=2)
    assert inside.tolist() == [[True, False, False], [False, True, False]]
    assert boxes.count_pairs(np.arange(2), 100).tolist() == [2, 4]
    assert boxes.count_pairs(np.array([1]), 100).tolist() == [1, 1]


def test_who_has_no_value_shows_none_also_where_no_interval_says_so():
    nothing = create_likelihoods((), (np.empty((3, 0)), np.empty((3, 0))), np.arange(3), np.arange(3), np.ones(3))
    code, places = np.zeros((1, 3), dtype=np.int64), np.array([[np.nan], [2.0], [5.0]])
    conditions = Conditions(
        code, code + 1, (np.array([0]),), code, places - 1, places + 1, places, nothing, np.ones(3, np.int64)
    )
    gap_in_first = create_exchange(np.array([-1, 0, 1]), np.array([-1, 0, 1]), single(3))
    gap_in_second = create_exchange(np.array([0, -1, 1]), np.array([0, -1, 1]), single(3))
    complete = create_exchange(np.array([0, 1, 2]), np.array([0, 1, 2]), single(3))
    assert create_boxes(conditions, (complete, gap_in_first)).others.position.shape == (3, 0)  # its interval is missing there
    boxes = create_boxes(conditions, (complete, gap_in_first, gap_in_second))
    assert [column.tolist() for column in boxes.others] == [[[0], [1], [0]]] * 3
    assert boxes.intervals.position is conditions.positions  # what large tables have no memory for twice


class TestBelief:
    def test_of_two_ways_the_prior_decides(self):
        """Two records, two rows, all pairs: crossed is likelier by e^0.3, the sum of its priors less that of the other."""
        prior = np.array([0.3, 0.0, 0.2, -0.4])
        belief = beliefs(PossiblePairs(np.array([0, 2, 4]), np.array([0, 1, 0, 1]), 2), (), single(2), prior)
        assert prior[[1, 2]].sum() - prior[[0, 3]].sum() == pytest.approx(0.3)
        assert (belief[[1, 2]] > 0).all()
        assert (belief[[0, 3]] < 0).all()
        assert likeliest(PossiblePairs(np.array([0, 2, 4]), np.array([0, 1, 0, 1]), 2), belief)[1].tolist() == [1, 0]

    def test_partners_believe_each_other(self):
        """Records 0 and 1 changed places in the one attribute. What is known of record 0's row alone settles record 1's."""
        exchange = create_exchange(np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2]), single(4))
        some = of_pairs([(0, 0), (0, 2), (1, 1), (1, 0), (2, 2), (2, 1), (3, 3)], 4, 4)
        prior = np.zeros(7)
        prior[0] = 2.0
        belief = beliefs(some, (exchange,), single(4), prior)
        assert likeliest(some, belief)[1].tolist() == [0, 1, 2, 3]

    def test_rows_of_strangers_are_left_to_them(self):
        """One record, whom the intruder holds, and three rows: nothing is said of them but the prior."""
        counts = KindCounts(np.ones(1, dtype=np.int64), np.ones(3, dtype=np.int64), all_records=False)
        prior = np.array([0.0, 1.0, 0.5])
        belief = beliefs(PossiblePairs(np.array([0, 3]), np.arange(3), 3), (), counts, prior)
        assert np.argsort(belief).tolist() == [0, 2, 1]

    def test_a_swapped_half_is_found_by_belief_where_no_certainty_is_left(self):
        """Half of 200 records, three attributes of distinct values: few are certain, most are found."""
        n, d = 200, 3
        rng, held, shown, row = made(7, n, 10**9, d)
        known = np.sort(rng.permutation(n)[:150])
        counts = KindCounts(np.ones(150, dtype=np.int64), np.ones(n, dtype=np.int64), all_records=False)
        codes = [np.unique(np.concatenate(pair), return_inverse=True)[1] for pair in zip(held, shown, strict=True)]
        exchanges = tuple(create_exchange(both[:n][known], both[n:], counts) for both in codes)
        pairs = propagate_constraints(consistent_pairs(anything(150, n), exchanges, n * n), exchanges, counts)
        belief = beliefs(pairs, exchanges, counts, np.zeros(len(pairs.rows)))
        starts, rows = likeliest(pairs, belief)
        right = [row[record] in rows[starts[i] : starts[i + 1]] for i, record in enumerate(known)]
        assert np.mean(right) > 0.5
