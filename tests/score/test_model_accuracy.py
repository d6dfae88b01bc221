"""How often a released model is right about people who did not teach it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from tasks.attack.membership.answers import Answers
from tasks.attack.membership.frame import Frame
from tasks.microdata.units import Units
from tasks.score.model_accuracy import create_unmeasured_accuracy, model_accuracy


def frame(of_row, member):
    units = Units(np.asarray(of_row), len(member), "records" if len(of_row) == len(member) else "persons")
    member = np.asarray(member, dtype=bool)
    every = np.ones(len(member), dtype=bool)
    return Frame(units, member, ~member, every, ~every, ~every, "this file")


def test_worked_example_of_ten_others():
    labels = np.array([0] * 10 + [0] * 5 + [1] * 5)
    sure = np.eye(2)[[*labels[:10], *labels[10:16], *(1 - labels[16:])]]
    found = model_accuracy(Answers(sure, labels), frame(np.arange(20), [True] * 10 + [False] * 10))
    assert (found.value, found.chance, found.n_targets) == (0.6, 0.5, 10)  # the members' own answers count for nothing
    exact = binomtest(6, 10).proportion_ci(0.9, method="exact")
    assert (found.low, found.high) == (pytest.approx(exact.low), pytest.approx(exact.high))


def test_a_person_counts_by_the_mean_of_their_rows_and_ties_count_their_share():
    labels = np.array([0, 0, 0, 1])
    answers = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    found = model_accuracy(Answers(answers, labels), frame([0, 1, 1, 2], [True, False, False]))
    assert found.value == pytest.approx((0.5 + 0.5) / 2)
    assert (found.chance, found.counts) == (0.5, "persons")


def test_a_rehearsal_says_so_and_what_is_not_measured_has_a_reason():
    of = frame(np.arange(4), [True, True, False, False])
    rehearsed = Frame(of.units, of.member, of.control, of.target, of.shadow, of.calibration, "mechanism, not this file")
    found = model_accuracy(Answers(np.eye(2)[[0, 1, 0, 1]], np.array([0, 1, 0, 1])), rehearsed)
    assert "rehearsed" in found.reason
    assert create_unmeasured_accuracy("nobody", "records").status == "not_applicable"
