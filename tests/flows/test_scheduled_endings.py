"""What a deployed flow makes of how its command ended: which state, what is told, and what is tried again."""

from dataclasses import replace
from pathlib import Path

import pytest

from flows.scheduled.child import CommandOutcome
from flows.scheduled.flow_outcomes import Broke, interpret_certify, interpret_check, interpret_sweep, interpret_watch

SCORECARD = {"run": "20261121T093000Z-1f2e3d", "release": "survey"}


def outcome(code, content=None, *, timed_out=False) -> CommandOutcome:
    return CommandOutcome(code, timed_out, 90.0, content, Path("/home/scheduled/20261121T093000Z-aaaaaa"))


def told(ended) -> tuple:
    return ended.kind, ended.name, ended.events


CERTIFY = [
    (0, {**SCORECARD, "verdict": "certified"}, ("COMPLETED", "Completed", ("certified",))),
    (1, {**SCORECARD, "verdict": "refused"}, ("COMPLETED", "Refused", ("refused",))),
    (1, {**SCORECARD, "verdict": "undecided"}, ("COMPLETED", "Undecided", ("undecided",))),
    (2, None, ("FAILED", "Quarantined", ("quarantined",))),
    (130, None, ("FAILED", "Interrupted", ("failed",))),
]


@pytest.mark.parametrize(("code", "content", "expected"), CERTIFY)
def test_a_release(code, content, expected):
    ended = interpret_certify(outcome(code, content))
    assert told(ended) == expected
    assert (ended.run, ended.release) == ((SCORECARD["run"], "survey") if content else (None, None))


WATCH = [
    (0, {"action": "certify", "verdict": "certified", "events": ["certified"]}, ("COMPLETED", "Completed", ("certified",))),
    (1, {"action": "certify", "verdict": "refused", "events": ["refused"]}, ("COMPLETED", "Refused", ("refused",))),
    (0, {"action": "unchanged", "events": []}, ("COMPLETED", "Unchanged", ())),
    (0, {"action": "refused_before", "events": []}, ("COMPLETED", "RefusedBefore", ())),
    (0, {"action": "busy", "events": []}, ("COMPLETED", "Busy", ())),
    (0, {"action": "review_due", "events": ["review_due"]}, ("COMPLETED", "ReviewDue", ("review_due",))),
    (0, {"action": "unchanged", "events": ["review_due"]}, ("COMPLETED", "Unchanged", ("review_due",))),
    (
        2,
        {"action": "certify", "code": "no-such-column", "events": ["quarantined"]},
        ("FAILED", "Quarantined", ("quarantined",)),
    ),
    (2, None, ("FAILED", "Quarantined", ("quarantined",))),
]


@pytest.mark.parametrize(("code", "content", "expected"), WATCH)
def test_a_look(code, content, expected):
    full = (
        None
        if content is None
        else {"release": "survey", "series": "surveys", "reason": "so it is", "verdict": None, **content}
    )
    ended = interpret_watch(outcome(code, full))
    assert told(ended) == expected
    assert ended.series == (None if full is None else "surveys")


@pytest.mark.parametrize("of", [interpret_certify, interpret_watch, interpret_sweep, interpret_check])
def test_the_limit_is_never_tried_again(of):
    ended = of(outcome(None, timed_out=True))
    assert told(ended) == ("FAILED", "TimedOut", ("timed_out",))
    assert "1.5 minutes" in ended.says


AGAIN = [3, -9, -15, None, 4]


def test_the_name_of_a_dropped_file_is_not_in_what_the_server_keeps():
    content = {
        "action": "certify",
        "reason": "new",
        "code": "no-such-column at somebody.csv: row 12",
        "events": ["quarantined"],
    }
    ended = interpret_watch(outcome(2, content))
    assert "no-such-column" in ended.says
    assert "somebody" not in ended.says


@pytest.mark.parametrize("of", [interpret_certify, interpret_watch, interpret_sweep, interpret_check])
@pytest.mark.parametrize("code", AGAIN)
def test_what_broke_or_was_lost_is_tried_again(of, code):
    with pytest.raises(Broke, match="20261121T093000Z-aaaaaa"):
        of(outcome(code))


@pytest.mark.parametrize("of", [interpret_certify, interpret_watch, interpret_sweep, interpret_check])
def test_a_server_that_does_not_answer_is_no_mistake_in_the_input(of):
    with pytest.raises(Broke, match="no-server"):
        of(replace(outcome(2), code="no-server at PREFECT_API_URL"))
    assert told(interpret_certify(replace(outcome(2), code="no-such-column at release.yaml, line 3: key")))[1] == "Quarantined"


@pytest.mark.parametrize("kind", ["home", "output", "ledger-not-usable", "store", "store-mark"])
def test_a_full_disk_or_a_place_that_is_away_is_no_quarantine(kind):
    """Nothing is wrong with the source: it is tried again, and told as a failure."""
    with pytest.raises(Broke, match=kind):
        interpret_certify(replace(outcome(2), code=f"{kind} at ledger"))


@pytest.mark.parametrize("of", [interpret_certify, interpret_watch, interpret_sweep])
def test_what_is_wrong_with_the_home_is_no_quarantine_and_not_tried_again(of):
    assert told(of(replace(outcome(2), code="lost-seed at SDCERT_HOME"))) == ("FAILED", "Failed", ("failed",))


def test_a_source_that_is_away_is_tried_again():
    with pytest.raises(Broke, match="no-database"):
        interpret_watch(outcome(3, {"action": "away", "reason": "no answer", "code": "no-database", "events": []}))


@pytest.mark.parametrize("content", [None, [], "certified", {"verdict": "certified"}, {"verdict": 7}])
def test_exit_code_1_without_a_verdict_is_not_taken_for_one(content):
    with pytest.raises(Broke, match="did not say"):
        interpret_certify(outcome(1, content))


CHECKS = [(0, ("COMPLETED", "Completed", ())), (1, ("FAILED", "Found", ("failed",))), (2, ("FAILED", "Failed", ("failed",)))]


@pytest.mark.parametrize(("code", "expected"), CHECKS)
def test_a_check_that_finds_something_has_failed(code, expected):
    assert told(interpret_check(outcome(code, {"problems": []}))) == expected


def test_a_sweep_that_is_complete():
    assert told(interpret_sweep(outcome(0, {}))) == ("COMPLETED", "Completed", ())


def test_an_audit_of_a_home_that_has_certified_nothing_has_nothing_to_find(home):
    nothing = replace(outcome(2), code="no-ledger at ledger")
    assert told(interpret_check(nothing)) == ("COMPLETED", "Completed", ())
    manifest = home / "runs" / SCORECARD["run"] / "manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("{}")
    assert told(interpret_check(nothing)) == ("FAILED", "Failed", ("failed",)), "the ledger is gone"


def test_a_review_that_is_due_is_that_of_the_certified_run():
    facts = {"action": "certify", "verdict": "refused", "run": "new", "review_due": "old", "events": ["review_due", "refused"]}
    ended = interpret_watch(outcome(1, {"release": "survey", "series": "surveys", "reason": "new", **facts}))
    assert (ended.run, ended.due, ended.events) == ("new", "old", ("refused", "review_due"))
