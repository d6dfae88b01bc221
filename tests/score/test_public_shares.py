"""What a public scorecard tells of counts of people: of one scorecard, and of two of one source that differ by one person."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.microdata.estimate import Estimate
from tasks.score.catalogue import MEASURES
from tasks.score.figure_rounding import round_criteria, round_for_publication, round_significant
from tasks.score.policy import PolicyLine
from tasks.score.public_shares import FEWEST, LEAST, ShareClasses
from tasks.score.verdict import decide, is_outside_limit

ENDS = ("value", "low", "high")


def rate(count, n, *, measure="records_exposed", interval=None, **more):
    low, high = interval or (count / n, count / n)
    more = {"attack": "x", "intruder": "declared", **more}
    return Estimate(
        measure=measure, value=count / n, low=low, high=high, unit="share", n_targets=n, n_in_release=n,
        basis="exact" if interval is None else "sampled_targets", **more,
    )  # fmt: skip


def told(count, n, limit=None, **more):
    """Everything that is public about one figure and, where there is a limit, about the line that it decides."""
    figures = (rate(count, n, **more),)
    if limit is None:
        (shown,) = round_for_publication(figures)
        return shown
    line = PolicyLine(measure=figures[0].measure, at_most=limit)
    criteria = decide((line,), figures).criteria
    (shown,) = round_for_publication(figures, zip((line,), criteria, strict=True))
    (criterion,) = round_criteria(criteria, figures, (shown,))
    return shown, criterion


def test_the_share_that_gave_nine_people_away():
    assert told(141, 150).value == told(150, 150).value == told(137, 150).value == 1.0
    assert told(0, 150).value == told(9, 150).value == told(14, 150).value == pytest.approx(10 / 150)
    assert told(134, 150).value == pytest.approx(130 / 150)
    assert told(75, 150).value == told(84, 150).value == pytest.approx(80 / 150)


@settings(deadline=None, max_examples=100)
@given(n=st.integers(10, 5000))
def test_no_count_below_ten_and_no_complement_is_told_by_one_or_two_scorecards(n):
    """Two neighbours: one person more in the source, who counts or does not. Thresholds are where what is shown changes."""
    if n < FEWEST:
        assert {told(count, n).value for count in range(n + 1)} == {None}
        return
    classes, more = ShareClasses(n), ShareClasses(n + 1)
    before, after = ([one.find_class(count / of) for count in range(of + 1)] for one, of in ((classes, n), (more, n + 1)))
    changes = [count for count, (a, b) in enumerate(pairwise(before), 1) if a != b]
    assert changes == list(classes.thresholds)
    assert all(count - 1 >= LEAST and n - count >= LEAST for count in changes)
    assert all(later - earlier >= LEAST for earlier, later in pairwise([0, *changes, n + 1]))
    for count in (*range(16), *range(n - 16, n + 1)):
        for other in (count, count + 1):
            pair = before[count], after[other]
            like = [
                (c, d)
                for c in range(max(0, count - 15), min(n, count + 15) + 1)
                for d in (c, c + 1)
                if (before[c], after[d]) == pair
            ]
            for number, of in ((0, n), (1, n + 1)):
                known = {one[number] for one in like}
                assert len(known) > 1 or min(*known, of - max(known)) >= LEAST


@settings(deadline=None, max_examples=150)
@given(n=st.integers(FEWEST, 3000), data=st.data())
def test_the_decision_is_unchanged_and_what_is_shown_follows_from_class_and_decision(n, data):
    limit = data.draw(st.one_of(st.floats(0, 1), st.integers(0, n).map(lambda count: count / n)))
    counts = sorted({0, n, *data.draw(st.lists(st.integers(0, n), min_size=5, max_size=20))})
    seen = {}
    for count in counts:
        figure, criterion = told(count, n, limit)
        exact = is_outside_limit(count / n, limit, "at_most")
        assert (criterion.decision == "fail") == exact
        for shown in (figure.value, figure.low, figure.high, criterion.deciding_value):
            assert is_outside_limit(shown, limit, "at_most") == exact
        known = (ShareClasses(n).find_class(count / n), exact)
        assert seen.setdefault(known, (figure, criterion)) == (figure, criterion)


@settings(deadline=None, max_examples=100)
@given(n=st.integers(FEWEST, 2000), data=st.data())
def test_the_interval_of_a_sample_tells_no_more_than_the_class(n, data):
    count = data.draw(st.integers(0, n))
    wide = data.draw(st.floats(0.001, 0.2))
    ends = (max(0.001, count / n - wide), min(0.999, count / n + wide))
    (shown,) = round_for_publication((rate(count, n, interval=ends),))
    low, high = ShareClasses(n).interval(ShareClasses(n).find_class(count / n))
    assert (shown.low, shown.high) == (min(low, shown.value), max(high, shown.value))


@pytest.mark.parametrize("decided", ["pass", "fail", "undecided"])
def test_the_ends_of_an_interval_stay_on_their_side_of_the_limit(decided):
    limit = {"pass": 0.162, "fail": 0.06, "undecided": 0.12}[decided]
    figure, criterion = told(20, 200, limit, interval=(0.061, 0.161))
    assert criterion.decision == decided
    low, high = (is_outside_limit(end, limit, "at_most") for end in (figure.low, figure.high))
    assert (low, high) == {"pass": (False, False), "fail": (True, True), "undecided": (False, True)}[decided]
    assert figure.low <= figure.value <= figure.high
    assert criterion.deciding_value == getattr(figure, criterion.deciding_bound)


def test_of_few_people_no_share_is_published_and_the_verdict_stays_readable():
    for count, limit, decision in ((3, 0.5, "pass"), (12, 0.1, "fail")):
        figure, criterion = told(count, 20, limit)
        assert (figure.value, figure.status) == (None, "not_applicable")
        assert criterion.decision == decision
        assert is_outside_limit(criterion.deciding_value, limit, "at_most") == (decision == "fail")


def test_figures_of_one_line_that_passes_are_all_shown_within_its_limit():
    figures = (rate(97, 944), rate(96, 944, attack="y"), rate(300, 944, measure="truth_among_nearest"))
    policy = (PolicyLine(measure="records_exposed", at_most=0.105),)
    criteria = decide(policy, figures).criteria
    first, second, other = round_for_publication(figures, zip(policy, criteria, strict=True))
    assert first.value <= 0.105
    assert second.value <= 0.105
    assert other.value == pytest.approx(300 / 944)


def test_whose_side_a_failing_line_does_not_tell_is_not_told():
    """The line fails by one attack; whether another one is beyond the limit is nobody's business."""
    policy = (PolicyLine(measure="records_exposed", at_most=3.5 / 944),)
    shown = []
    for count in (3, 4):
        figures = (rate(300, 944), rate(count, 944, attack="y"))
        shown.append(round_for_publication(figures, zip(policy, decide(policy, figures).criteria, strict=True))[1])
    assert shown[0] == shown[1]


def test_parts_of_a_membership_test_count_the_smaller_side():
    one = rate(12, 60, measure="membership_auc", intruder=None)
    few, many = (Estimate(**{**{f: getattr(one, f) for f in one.__slots__}, "n_in_release": k}) for k in (15, 30))
    assert round_for_publication((few,))[0].value is None
    assert round_for_publication((many,))[0].value == pytest.approx(10 / 30)


def test_what_everybody_can_count_stays_as_it_is():
    exact = [one.name for one in MEASURES.values() if one.rounding == "exact" and one.unit == "share"]
    figures = tuple(rate(1, 6, measure=measure, intruder=None, attack=None) for measure in exact)
    assert figures
    assert round_for_publication(figures) == figures


def test_the_mean_size_of_candidate_sets_has_two_digits():
    one = Estimate(measure="mean_candidate_set_size", value=10.437, low=10.437, high=10.437, unit="records", n_targets=944)
    assert round_for_publication((one,))[0].value == 10


@pytest.mark.parametrize(("n", "chance", "shown"), [(16, 4 / 16, None), (60, 57 / 60, 1.0), (60, 6 / 60, 10 / 60)])
def test_a_chance_level_that_counts_people_is_shown_by_classes_too(n, chance, shown):
    majority = rate(n // 2, n, measure="linked_value_disclosed", attribute="vote", chance=chance, chance_kind="majority")
    flagged = replace(rate(n // 2, n, measure="subgroup_share_of_most_exposed"), chance=chance, chance_kind="uniform_guess")
    assert round_for_publication((majority,))[0].chance == shown
    assert round_for_publication((flagged,))[0].chance == (
        shown and round_significant(shown, 2)
    )  # how many are in the subgroup is hidden as well


def test_the_chance_of_a_guess_among_all_records_stays():
    guess = rate(30, 60, measure="reidentification", chance=1 / 60, chance_kind="uniform_guess")
    assert round_for_publication((guess,))[0].chance == 1 / 60
