"""What is to be done about a version of a source, given what was done before. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tasks.audit.series.past_attempts import PastAttempt

Action = Literal[
    "certify", "review_due", "unchanged", "refused_before", "revoked_before", "quarantined_before", "nothing", "busy", "away"
]
SameRelease = Callable[[PastAttempt], bool | None]  # None: that cannot be told any more


@dataclass(frozen=True, slots=True)
class Look:
    """What a look came to. run: the earlier run that decided it. To run are `certify` and, unless only told, `review_due`."""

    action: Action
    reason: str
    run: str | None = None


def decide_action(here: Sequence[PastAttempt], same_release: SameRelease, *, draw: str | None, now: datetime) -> Look:
    """What to do about a version that is there.

    A version is certified once with one release file. Refused or undecided, it is not tried again; certified, it is measured
    again when its review is overdue, if the draw is still the same. A changed release file is a person's decision to certify.

    Parameters
    ----------
    here: earlier runs on this version of the source, oldest first. draw: the id of the series' current draw.
    """
    decided = [one for one in here if one.has_verdict]
    known = [one for one in decided if same_release(one) is not False]
    if not known:
        changed = "the release file was changed since it was tried" if decided else "a new version of the source"
        return Look("certify", changed if decided or not here else "the last run on this version came to no verdict")
    last, newest = known[-1], next((one for one in reversed(decided) if one.has_certificate), None)
    if last.outcome != "certified":
        return Look("refused_before", f"this version was {last.outcome} with this release file", last.run)
    if last.revoked:
        return Look("revoked_before", "the certificate of this version was revoked with this release file", last.run)
    if newest is not None and newest not in known:
        return Look("certify", "the release file was changed back since it was certified")
    return _decide_certified_version(last, draw, now)


def overdue(past: Sequence[PastAttempt], now: datetime) -> PastAttempt | None:
    """The last certificate of a series that stands, if its review is overdue."""
    standing = [one for one in past if one.has_certificate and not one.revoked]
    return standing[-1] if standing and _is_overdue(standing[-1], now) else None


def _decide_certified_version(last: PastAttempt, draw: str | None, now: datetime) -> Look:
    if not last.has_certificate or not _is_overdue(last, now):
        return Look("unchanged", "this version was certified with this release file", last.run)
    if last.draw != draw:
        return Look("unchanged", "its review is overdue, but the series has another draw since: certify it by hand", last.run)
    return Look("review_due", f"its review was due by {last.review_by:%Y-%m-%d}", last.run)


def _is_overdue(one: PastAttempt, now: datetime) -> bool:
    return one.review_by is not None and one.review_by < now
