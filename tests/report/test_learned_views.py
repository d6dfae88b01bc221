"""What the page says of a learned distance: no more than was found, or proven."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tasks.attack.learned.learned_linkage import KINDS
from tasks.attack.learned.learning_summary import HeldOut, LearnedFacts
from tasks.report.views.learned import create_learned_view

FACTS = LearnedFacts(
    family="weighted_mean", metric=False, records=200, rate=0.8, euclidean=0.5, chance=0.01, sure=0.79, bound=None,
    stopped=False, held_out=HeldOut(0.82, 0.7, 0.48), betraying=(("age", 0.25), ("town", 0.7496), ("size", 4e-9)),
    parameters=(0.25, 0.7496, 4e-9),
)  # fmt: skip


def test_the_learned_rate_stands_beside_the_plain_one_and_the_halves():
    rates = {row.title: row.value for row in create_learned_view(FACTS).rates}
    assert list(rates.values()) == ["80\u202f%", "50\u202f%", "82\u202f%", "70\u202f%", "48\u202f%"]
    assert list(rates)[-1] == "Plain distance, on the other half"


def test_attributes_stand_by_their_weight():
    weights = [(row.title, row.value) for row in create_learned_view(FACTS).weights]
    assert weights == [("town", "75\u202f%"), ("age", "25\u202f%"), ("size", "under 0.1\u202f%")]


def test_a_search_proves_nothing():
    assert create_learned_view(FACTS).proof.id == "learned.nothing_proven"


@pytest.mark.parametrize(
    ("bound", "stopped", "closed"),
    [(0.79, False, True), (0.85, True, False), (0.85, False, False)],
)
def test_a_proof_says_how_far_it_came(bound, stopped, closed):
    shown = create_learned_view(replace(FACTS, bound=bound, stopped=stopped))
    assert shown.proof.id == "learned.proven"
    assert shown.proof.facts == {"bound": bound, "sure": 0.79, "closed": closed, "stopped": stopped}
    assert ("79\u202f%" in shown.proof, "85\u202f%" in shown.proof) == (True, not closed)
    assert (shown.rates[-1].title, shown.rates[-1].bar.value) == ("Proven for this family", pytest.approx(100 * bound))


def test_places_are_not_attributes():
    shown = create_learned_view(replace(FACTS, family="owa", betraying=()))
    assert shown.weights == ()
    assert shown.without_weights.id == "learned.places"


@pytest.mark.parametrize("family", KINDS)
def test_every_family_has_its_words(family):
    assert create_learned_view(replace(FACTS, family=family)).intro.facts["family"] == family


def test_what_is_published_has_no_parameters():
    rounded = FACTS.public_summary
    assert (rounded.parameters, rounded.betraying) == ((), (("age", 0.25), ("town", 0.75), ("size", 0.0)))
