"""Pools of a membership evaluation: disjoint, by person, and balanced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from membership_models import halves, memoriser, noisy, records

from tasks.attack.membership.frame import Frame, create_frame, rehearsal
from tasks.attack.membership.shadows import combine_answers, plan_shadow_pool, train_shadow_model, train_shadow_models
from tasks.microdata.errors import NotApplicable
from tasks.microdata.units import Units


def test_a_control_of_a_fifth_is_asked_about_whole():
    control = np.arange(100) % 5 == 0
    frame = create_frame(records(100), ~control, control, rng=np.random.default_rng(1))
    assert frame.is_member.sum() == 20
    assert np.array_equal(frame.target_units[~frame.is_member], np.flatnonzero(control))
    assert frame.shadow.sum() == 60 and frame.member[frame.shadow].all()
    assert frame.calibration.sum() == 20 and frame.is_member[frame.calibrates].sum() == 10
    assert frame.evaluates == "this file"


def test_a_rehearsal_says_so():
    frame = rehearsal(records(80), rng=np.random.default_rng(1))
    assert frame.evaluates == "mechanism, not this file"
    assert frame.member.sum() == 40 and frame.is_member.sum() == 20 and frame.shadow.sum() == 40


@settings(max_examples=30, deadline=None)
@given(st.integers(40, 200), st.integers(0, 2**32 - 1))
def test_nobody_is_in_two_pools_and_every_target_is_in_half_of_the_shadows(n, seed):
    rng = np.random.default_rng(seed)
    of_row = rng.integers(0, n, 3 * n)  # persons with several rows, or none
    frame = halves(n, rng)
    frame = replace(frame, units=Units(of_row, n, "persons"))
    assert not set(of_row[frame.target_rows]) & set(of_row[frame.shadow_rows])
    for teaching in ("apart", "inserted"):
        pool = plan_shadow_pool(frame, 4, teaching, rng=rng)
        taught = np.array([np.isin(frame.target_rows, plan.rows) for plan in pool.plans])
        assert (taught.sum(axis=0) == (2 if teaching == "inserted" else 0)).all()
        own = np.array([np.isin(frame.shadow_rows, plan.rows) for plan in pool.plans])
        assert (own[0] | own[1]).all() and (own[2] | own[3]).all()  # each own record teaches one of a pair at least
        for plan in pool.plans:  # all rows of a person teach, or none
            inside = np.zeros(len(of_row), dtype=bool)
            inside[plan.rows] = True
            persons = set(of_row[inside])
            assert persons.isdisjoint(of_row[~inside])


@pytest.mark.parametrize(("share", "inserted", "apart"), [(0.1, 640, 640), (0.5, 250, 400)])
def test_a_shadow_learns_from_about_as_many_as_the_released_model(share, inserted, apart):
    """Of 1,000 records a tenth is control: 900 teach the model, 100 + 100 are asked about, and the intruder has 800."""
    rng = np.random.default_rng(2)
    control = rng.permutation(1000) < 1000 * share
    frame = create_frame(records(1000), ~control, control, rng=rng)
    for teaching, own in (("inserted", inserted), ("apart", apart)):
        for plan in plan_shadow_pool(frame, 4, teaching, rng=rng).plans:
            assert np.isin(plan.rows, frame.shadow_rows).sum() == own


@pytest.mark.parametrize("fault", [{"control": True}, {"shadow": True}, {"member": False, "control": False}])
def test_overlapping_pools_are_refused(fault):
    frame = halves(60, np.random.default_rng(1))
    wrong = {name: np.full(60, value) for name, value in fault.items()}
    with pytest.raises(ValueError, match=r"two pools|members or control"):
        replace(frame, **wrong)


def test_too_few_to_ask_about():
    control = np.arange(100) < 9
    with pytest.raises(NotApplicable, match="10 non-members"):
        create_frame(records(100), ~control, control, rng=np.random.default_rng(1))
    alone = halves(40, np.random.default_rng(1), target_share=0.5)
    with pytest.raises(NotApplicable, match="of their own"):
        plan_shadow_pool(alone, 2, "apart", rng=np.random.default_rng(1))


def test_a_pool_grows_without_changing_and_each_shadow_stands_alone():
    rng = np.random.default_rng(3)
    frame, data = halves(80, rng), noisy(80, rng)
    small, large = (plan_shadow_pool(frame, k, "inserted", rng=np.random.default_rng(5)) for k in (4, 8))
    for plan, same in zip(small.plans, large.plans[:4], strict=True):
        assert np.array_equal(plan.rows, same.rows) and plan.random_state == same.random_state
    together = train_shadow_models(large, data, memoriser)
    backwards = [train_shadow_model(large, i, data, memoriser) for i in reversed(range(8))][::-1]
    assert np.array_equal(combine_answers(large, data.labels, backwards).outputs, together.outputs)
    assert np.array_equal(together.first(4).taught, combine_answers(small, data.labels, backwards[:4]).taught)


def test_a_person_has_the_mean_of_their_rows():
    units = Units(np.array([0, 1, 1, 2, 3, 3]), 4, "persons")
    yes, no = np.array([True, True, False, False]), np.zeros(4, dtype=bool)
    frame = Frame(units, yes, ~yes, np.array([False, True, True, True]), np.array([True, False, False, False]), no, "this file")
    assert frame.target_rows.tolist() == [1, 2, 3, 4, 5]
    assert frame.average_by_unit(np.array([1.0, 3.0, 5.0, 0.0, 1.0])).tolist() == [2.0, 5.0, 0.5]
    assert frame.is_member.tolist() == [True, False, False]
