"""What leaves the private folders: which figures are rounded, to how many digits, and that decisions stay readable."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.microdata.estimate import Estimate
from tasks.score.figure_rounding import public, round_significant
from tasks.score.figure_rounding import public_criteria as criteria_beside
from tasks.score.policy import PolicyLine
from tasks.score.verdict import decide, is_outside_limit


def public_criteria(criteria, figures):
    return criteria_beside(criteria, figures, public(figures))


def loss(measure: str, value: float | None, attribute: str | None = None) -> Estimate:
    return Estimate(measure=measure, value=value, unit="percent", attribute=attribute)


@pytest.mark.parametrize(
    ("number", "digits", "expected"), [(5.6922, 2, 5.7), (0.0, 2, 0.0), (123456.7, 5, 123460.0), (-0.01239, 2, -0.012)]
)
def test_significant_digits(number, digits, expected):
    assert round_significant(number, digits) == expected


def test_which_figures_are_rounded():
    figures = (
        loss("sse_percent", 5.692186279),
        loss("sse_percent", 1.23456, "a"),
        loss("sse_percent", 10.149, "b"),
        loss("il1s", 0.123456789),
        loss("il1s", 0.123456789, "a"),
        loss("mean_difference", 0.0123456, "a"),
        loss("correlation_difference", 0.0123456),
        loss("cells_changed", 0.123456789),
        Estimate(measure="reidentification", attack="x", value=0.292037, low=0.27, high=0.3, unit="share", chance=1 / 1080,
                 chance_kind="uniform_guess"),
        Estimate(measure="same_value_disclosure", attribute="a", value=0.123456, low=0.123456, high=0.123456, unit="share",
                 chance=0.0123456, chance_kind="all_pairs"),
        loss("covariance_difference", None),
    )  # fmt: skip
    found = public(figures)
    # il1s has one attribute alone: the figure of the table is that of the attribute
    assert [one.value for one in found] == [
        5.69219, 1.2, 10.0, 0.12, 0.12, 0.012, 0.012, 0.123456789, 0.292037, 0.123456, None,
    ]  # fmt: skip
    assert (found[8].low, found[8].chance) == (0.27, 1 / 1080)
    assert (found[9].low, found[9].chance) == (0.123456, 0.012)
    assert [one.id for one in found] == [one.id for one in figures]
    assert public(found) == found


def test_a_rounded_criterion_never_contradicts_its_decision():
    figures = (loss("mean_difference", 0.1004, "a"),)
    policy = (PolicyLine(measure="mean_difference", at_most=0.1), PolicyLine(measure="mean_difference", at_most=0.2))
    found = public_criteria(decide(policy, figures).criteria, figures)
    assert [(one.decision, one.deciding_value) for one in found] == [("fail", 0.11), ("pass", 0.1)]


@settings(deadline=None, max_examples=300)
@given(st.floats(1e-6, 1e6), st.floats(0, 1e6))
def test_shown_values_are_on_the_side_of_the_decision(value, limit):
    figures = (loss("mean_difference", value, "a"),)
    (found,) = public_criteria(decide((PolicyLine(measure="mean_difference", at_most=limit),), figures).criteria, figures)
    assert is_outside_limit(found.deciding_value, limit, "at_most") == (found.decision == "fail")
    assert found.deciding_value == pytest.approx(value, rel=0.11, abs=0.001)


@settings(deadline=None)
@given(st.floats(0.001, 0.999))
def test_rates_of_attacks_are_decided_and_shown_as_they_are(value):
    figures = (
        Estimate(measure="reidentification", attack="x", intruder="declared", value=value, low=value, high=value, unit="share"),
    )
    criteria = decide((PolicyLine(measure="reidentification", at_most=0.5),), figures).criteria
    assert public_criteria(criteria, figures) == criteria


def test_a_tiny_difference_does_not_give_the_original_mean():
    tiny = Estimate(measure="mean_difference", attribute="a", value=4.5e-10, unit="sd")
    small = Estimate(measure="mean_difference", attribute="b", value=0.00184, unit="sd")
    assert [one.value for one in public((tiny, small))] == [0.0, 0.002]


@given(count=st.integers(0, 120), n=st.integers(25, 120), limit=st.floats(0.01, 0.99))
def test_a_lower_bound_is_rounded_downwards_on_its_side_of_a_limit(count, n, limit):
    share = min(count, n) / n
    bound = Estimate(measure="reidentification", attack="consistency", intruder="declared", value=share, low=share, high=1.0,
                     unit="share", status="not_followed", n_targets=n, n_in_release=n)  # fmt: skip
    assert public((bound,))[0].value <= share
    lines = (PolicyLine(measure="reidentification", at_most=limit),)
    unfollowed = frozenset({("consistency", "declared")})
    found = decide(lines, (bound,), unfollowed).criteria
    (shown,) = public((bound,), zip(lines, found, strict=True))
    assert shown.is_lower_bound
    assert shown.low == shown.value
    assert public((shown,), zip(lines, found, strict=True)) == (shown,)
    (criterion,) = criteria_beside(found, (bound,), (shown,))
    assert criterion.lower_bound == (criterion.decision == "fail") == is_outside_limit(share, limit, "at_most")
    if criterion.lower_bound:
        assert is_outside_limit(shown.value, limit, "at_most")
        assert criterion.deciding_value == shown.value
