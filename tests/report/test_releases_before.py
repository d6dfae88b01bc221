"""What the report says of earlier releases: which were joined, which tells most, and who is easiest to find."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.attack.outcomes.outcome import AttackResult, JoinedRelease
from tasks.microdata.estimate import Estimate
from tasks.report.views import releases_before, residual
from tasks.report.wording.names import attack_named
from tasks.report.wording.sentence import say

METHOD = "earlier_releases"


def figure(value, attack=METHOD, **more):
    return Estimate(measure="reidentification", value=value, low=value, high=value, unit="share", attack=attack,
                    intruder="declared", n_targets=944, **more)  # fmt: skip


def result(attack=METHOD, joined=(), earlier=None):
    return AttackResult(attack=attack, method=METHOD, intruder="declared", status="ok", infers="joins", knows_data="all",
                        knows_mechanism="all", direction="to_release", scale_by="release", n_release=944, chance=0.001,
                        joined=joined, earlier=earlier)  # fmt: skip


@pytest.fixture
def joined(certified):
    """The certified release beside two earlier ones, of which the first tells more; three people are new."""
    earlier = (("r1", "spring", 0.1), ("r2", "autumn", 0.2))
    both = tuple(JoinedRelease(name=run, release=name, credit_without=rate) for run, name, rate in earlier)
    attacks = (*certified.attacks, result(joined=both), result(f"{METHOD}:r1", earlier="r1"))
    figures = (*certified.estimates, figure(0.25), figure(1.0, subgroup="new people"), figure(0.3, f"{METHOD}:r1"))
    return replace(certified, attacks=attacks, estimates=figures)


def told_by_id(sentences):
    return {one.id.partition(".")[2]: one.facts for one in sentences}


def test_nothing_is_said_where_no_release_was_joined(certified):
    assert list(releases_before.describe_joined_releases(certified)) == []


def test_the_releases_and_the_one_that_tells_most_are_named(joined):
    told = told_by_id(releases_before.describe_joined_releases(joined))
    assert told["together"]["releases"] == ["spring (r1)", "autumn (r2)"]
    assert told["together"]["rate"].value == 0.25
    assert told["together"]["alone"].attack != METHOD
    assert (told["tells_most"]["release"], told["tells_most"]["without"]) == ("spring (r1)", 0.1)
    assert (told["breaks_earlier"]["release"], told["breaks_earlier"]["rate"].value) == ("spring (r1)", 0.3)
    assert (told["people"]["who"], told["people"]["rate"].value) == ("new people", 1.0)


@pytest.mark.parametrize(
    ("rate", "names", "words"),
    [
        (
            0.25,
            ["spring"],
            "who has that file as well links 25\u202f% of the records to the right row, and 20\u202f% with this",
        ),
        (0.2, ["spring"], "joins that file links 20\u202f% of the records to the right row, and the strongest attack on this"),
        (
            0.1,
            ["a", "b"],
            "joins those files links 10\u202f% of the records to the right row, and the strongest attack on",
        ),
    ],
)
def test_who_has_more_files_is_never_said_to_find_less(rate, names, words):
    assert words in say("earlier.together", releases=names, rate=figure(rate), alone=figure(0.2, "distance_linkage"))


def test_they_stand_under_the_verdict_and_among_the_limits(joined):
    assert "together" in told_by_id(one for one in residual.summary(joined) if hasattr(one, "id"))
    limits = told_by_id(one for one in residual.list_known_limits(joined) if hasattr(one, "id"))
    assert limits["attacked"]["releases"] == ["spring (r1)", "autumn (r2)"]


def test_an_attack_on_an_earlier_release_has_a_name_in_words():
    assert "r1" in attack_named(f"{METHOD}:r1")
    assert attack_named("mine:r1") != attack_named(f"{METHOD}:r1")
