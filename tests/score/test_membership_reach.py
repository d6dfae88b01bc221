"""How many people a limit on membership needs, against the figures of evaluations in which nothing is told."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tasks.attack.membership.frame import Frame
from tasks.attack.membership.methods import MembershipResult
from tasks.microdata.units import Units
from tasks.score.membership.membership_estimates import membership_estimates
from tasks.score.membership.sample_size import GUESSES, compute_guess_bound, find_sample_size


def upper_bounds(scores):
    """The bounds that an evaluation has where members and others have the same scores, and 0.5 or more is flagged."""
    n = len(scores)
    units, nobody = Units(np.arange(2 * n), 2 * n, "records"), np.zeros(2 * n, dtype=bool)
    member = np.arange(2 * n) < n
    of = MembershipResult(
        attack="gap",
        method="gap",
        evaluates="this file",
        infers="",
        knows="",
        scores=np.tile(scores, 2),
        threshold=0.5,
        threshold_from="own_rule",
    )
    found = membership_estimates(of, Frame(units, member, ~member, ~nobody, nobody, nobody, "this file"))
    assert all(one.value == GUESSES[one.measure] for one in found if one.measure in GUESSES)
    return {one.measure: one.high for one in found if one.measure in GUESSES}


@pytest.mark.parametrize("n", [10, 48, 300])
def test_the_bound_is_the_one_that_an_evaluation_has(n):
    scores = np.linspace(0, 1, n)
    high = upper_bounds(scores)
    assert compute_guess_bound("membership_auc", n) == pytest.approx(high["membership_auc"], rel=0.01)
    for measure in ("membership_advantage", "membership_precision"):  # of twice as many, half have chosen the threshold
        assert compute_guess_bound(measure, 2 * n) == pytest.approx(high[measure], rel=1e-12)


def test_by_hand():
    """Of 10, 5: 0.2224 to 0.7776; twice 0.2776 at right angles."""
    assert compute_guess_bound("membership_advantage", 20) == pytest.approx(0.2776 * math.sqrt(2), abs=1e-4)
    assert compute_guess_bound("membership_precision", 20) == pytest.approx(0.7776, abs=1e-4)


@pytest.mark.parametrize("measure", GUESSES)
@pytest.mark.parametrize("above_chance", [0.01, 0.05, 0.2])
def test_enough_is_the_fewest(measure, above_chance):
    limit = GUESSES[measure] + above_chance
    enough = find_sample_size(measure, limit)
    assert compute_guess_bound(measure, enough) <= limit < compute_guess_bound(measure, enough - 1)


@pytest.mark.parametrize("measure", GUESSES)
def test_no_number_is_enough_for_a_limit_that_a_guess_breaks(measure):
    assert find_sample_size(measure, GUESSES[measure]) is None
    assert find_sample_size(measure, GUESSES[measure] + 1e-6) is None


def test_of_other_measures_no_guess_is_known():
    with pytest.raises(ValueError, match="membership_recall"):
        compute_guess_bound("membership_recall", 10)
