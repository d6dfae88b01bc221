"""What the ledger says of one series: its attempts on a source, its last draw, its releases and the one that stands."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from trails import attempt, began, digest, ended, write_trail

from tasks.audit.ledger.entries import AttemptMade
from tasks.audit.series.attempts import attempts_on_source, count_attempts
from tasks.audit.series.series import Series


def make_attempt(source, file, masking):
    digests = {"source": f"table:{source:064}", "source_file": f"{file:064}", "policy": f"{0:064}"}
    return AttemptMade(run="r", series="s", masking=masking, draw="d", attempts=1, **digests)


def test_attempts_are_connected_through_the_file_or_the_table():
    # table 1 of file 1; file 1 read as table 2; table 2 written as file 2; others
    made = [make_attempt(1, 1, "a"), make_attempt(2, 1, "b"), make_attempt(2, 2, "c"), make_attempt(3, 3, "d")]
    asked = {(1, 1): 3, (2, 2): 3, (9, 2): 3, (3, 3): 1, (3, 9): 1, (9, 9): 0}
    for (source, file), expected in asked.items():
        wanted = make_attempt(source, file, "e")
        assert len(attempts_on_source(made, wanted.source, wanted.source_file)) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=12))
def test_the_count_never_falls_along_one_file_or_one_table(made):
    counts = {}
    for number, (source, file, masking) in enumerate(made):
        one = make_attempt(source, file, masking)
        earlier = [make_attempt(*other) for other in made[:number]]
        count = count_attempts(earlier, one.source_file, (one.source, one.masking, one.draw, one.policy))
        for place in (("table", source), ("file", file)):
            assert count >= counts.get(place, 0)
            counts[place] = count


def test_refusals_and_rehearsals_are_no_releases(home):
    events = [
        *(attempt("r1", draw="d1"), ended("r1")),
        *(attempt("r2", draw="d2"), ended("r2", outcome="refused")),
        *(attempt("r3", draw="chosen"), ended("r3", not_for_publication=True)),
        *(began("r4", series="other"), attempt("r4", series="other", draw="d4"), ended("r4", series="other")),
    ]
    write_trail(home, events)
    series = Series("anes")
    assert series.find_last_release().run == series.find_standing_release().run == "r1"
    assert series.find_last_draw() == "d2"
    assert [one.run for one in series.list_serious_runs()] == ["r2", "r1"]
    assert [(one.run, one.has_certificate) for one in series.list_past_attempts()] == [
        ("r1", True),
        ("r2", False),
        ("r3", False),
    ]
    assert [one.run for one in series.list_last_ended(2)] == ["r2", "r3"]
    assert Series("nobody's").find_last_release() is None


def revoked(run):
    return {
        "kind": "revoked", "run": run, "certificate": digest(run, "certificate"), "revocation": digest("revocation"),
        "reason": "a column was left in", "asked_by": began(run)["asked_by"],
    }  # fmt: skip


def test_the_last_that_was_certified_stands_unless_it_was_revoked(home):
    """All series of up to three runs (certified, refused, tried in a rehearsal), with at most one certificate revoked."""
    cases = [
        ("".join(outcomes), gone)
        for length in range(4)
        for outcomes in product("crt", repeat=length)
        for gone in (None, *(place for place, outcome in enumerate(outcomes) if outcome == "c"))
    ]
    events = []
    for outcomes, gone in cases:
        name = f"series-{outcomes}-{gone}"
        runs = [f"{name}-{number}" for number in range(len(outcomes))]
        for run, outcome in zip(runs, outcomes, strict=True):
            word = "refused" if outcome == "r" else "certified"
            events.append(ended(run, series=name, outcome=word, not_for_publication=outcome == "t"))
        events += [revoked(runs[gone])] if gone is not None else []
    write_trail(home, events)
    for outcomes, gone in cases:
        series, last = Series(f"series-{outcomes}-{gone}"), outcomes.rfind("c")
        release, standing = series.find_last_release(), series.find_standing_release()
        assert (None if release is None else release.run) == (None if last < 0 else f"{series.name}-{last}"), series.name
        assert standing == (None if last == gone else release), series.name
