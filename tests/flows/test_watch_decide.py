"""What a watch does about a version, given what the ledger remembers: each rule by hand, and laws for all histories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.watch.decide import decide_action, overdue
from tasks.audit.series.past_attempts import PastAttempt

NOW = datetime(2026, 11, 21, tzinfo=UTC)
LATER, EARLIER = NOW + timedelta(days=1), NOW - timedelta(days=1)
OURS, OTHERS = "record:ours", "record:others"


def tried(order: int, outcome: str | None, *, spec: str | None = OURS, **more) -> PastAttempt:
    facts = {"draw": "d", "review_by": LATER if outcome == "certified" else None, "source": "table:1"} | more
    return PastAttempt(run=f"run-{order}", began_at=EARLIER, order=order, spec=spec, outcome=outcome, **facts)


def ours(one: PastAttempt) -> bool | None:
    return None if one.spec is None else one.spec == OURS


def look(*here: PastAttempt, draw: str | None = "d"):
    return decide_action(here, ours, draw=draw, now=NOW)


@pytest.mark.parametrize(
    ("here", "action", "run"),
    [
        ([], "certify", None),
        ([tried(1, "certified")], "unchanged", "run-1"),
        ([tried(1, "refused")], "refused_before", "run-1"),
        ([tried(1, "undecided")], "refused_before", "run-1"),
        ([tried(1, "certified", spec=OTHERS)], "certify", None),
        ([tried(1, "refused", spec=OTHERS)], "certify", None),
        ([tried(1, "failed")], "certify", None),
        ([tried(1, "interrupted"), tried(2, None)], "certify", None),
        ([tried(1, "certified"), tried(2, "interrupted")], "unchanged", "run-1"),
        ([tried(1, "certified", revoked=True)], "revoked_before", "run-1"),
        ([tried(1, "certified", revoked=True), tried(2, "certified")], "unchanged", "run-2"),
        ([tried(1, "certified", review_by=EARLIER)], "review_due", "run-1"),
        ([tried(1, "certified", review_by=EARLIER), tried(2, "certified")], "unchanged", "run-2"),
        ([tried(1, "certified", review_by=EARLIER), tried(2, "refused")], "refused_before", "run-2"),
        ([tried(1, "certified", review_by=EARLIER, publishable=False)], "unchanged", "run-1"),
        ([tried(1, "certified"), tried(2, "certified", spec=OTHERS)], "certify", None),
        ([tried(1, "certified"), tried(2, "refused", spec=OTHERS)], "unchanged", "run-1"),
        ([tried(1, "refused"), tried(2, "certified", spec=OTHERS)], "refused_before", "run-1"),
        ([tried(1, "refused", spec=None)], "refused_before", "run-1"),
    ],
)
def test_each_rule(here, action, run):
    found = look(*here)
    assert (found.action, found.run) == (action, run)


def test_a_review_is_never_measured_with_another_draw():
    found = look(tried(1, "certified", review_by=EARLIER), draw="another")
    assert found.action == "unchanged"
    assert "by hand" in found.reason


histories = st.lists(
    st.builds(
        tried,
        st.integers(0, 50),
        st.sampled_from(["certified", "refused", "undecided", "failed", "interrupted", None]),
        spec=st.sampled_from([OURS, OTHERS, None]),
        revoked=st.booleans(),
        publishable=st.booleans(),
        review_by=st.sampled_from([EARLIER, LATER, None]),
    ),
    max_size=6,
).map(lambda found: sorted(found, key=lambda one: one.order))


@given(histories, st.sampled_from(["d", "another", None]))
def test_what_was_refused_last_with_this_release_file_is_never_run(here, draw):
    known = [one for one in here if one.has_verdict and ours(one) is not False]
    found = look(*here, draw=draw)
    if known and known[-1].outcome != "certified":
        assert found.action == "refused_before"
    if found.action == "review_due":
        assert (known[-1].draw, known[-1].outcome) == (draw, "certified")


@given(histories)
def test_the_overdue_certificate_is_the_newest_that_stands(past):
    standing = [one for one in past if one.outcome == "certified" and one.publishable and not one.revoked]
    late = overdue(past, NOW)
    assert late is (standing[-1] if standing and standing[-1].review_by == EARLIER else None)
