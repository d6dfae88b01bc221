"""Masses on sets of released rows, and answers that no belief function is compatible with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.attack.base import AttackFindings
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.methods import attack
from tasks.attack.outcomes.belief import compute_masses, refuse_incompatible
from tasks.attack.outcomes.links import Links
from tasks.attack.threat import Intruder
from tasks.microdata.alignment import Alignment
from tasks.microdata.errors import AttackFailed
from tasks.microdata.table import Microdata


@dataclass(frozen=True)
class Stated:
    """Probabilities written down, one row for each record."""

    table: np.ndarray

    def compute_probabilities(self, records, rows):
        return self.table[records, rows]

    def compute_guess_probabilities(self, records):
        return self.table[records].max(axis=1)


def stated(table, **fields):
    """Three records, three rows, each linked to the row of its place."""
    n = np.arange(3)
    return Links(n, n, np.arange(4), n, posterior=Stated(np.asarray(table, dtype=np.float64)), **fields)


def outcomes(sizes, hits, **more):
    credit = [hit / size for size, hit in zip(sizes, hits, strict=True)]
    return Microdata.from_columns(
        {"in_release": [True] * len(sizes), "credit": credit, "among_nearest": [bool(hit) for hit in hits],
         "sound_candidates": [None] * len(sizes), **more}
    )  # fmt: skip


def test_masses_by_hand():
    """Guesses of 1, 2 and 4 rows, the truth in the first two; sound sets of 1, 2 and 5; probabilities 0.9, 0.4 and 0."""
    table = outcomes([1, 2, 4], [1, 1, 0], sound_candidates=[1, 2, 5], posterior=[0.9, 0.4, 0.0])
    sound, guesses, rows = compute_masses(table)
    assert [one.on for one in (sound, guesses, rows)] == ["sound sets", "guesses", "single rows"]
    assert (sound.belief, sound.plausibility, sound.pignistic) == pytest.approx((1 / 3, 1, (1 + 1 / 2 + 1 / 5) / 3))
    assert (guesses.belief, guesses.plausibility, guesses.pignistic) == pytest.approx((1 / 3, 2 / 3, 1.5 / 3))
    assert (guesses.median, guesses.largest, guesses.half) == pytest.approx((0.5, 1, 2 / 3))
    assert (rows.belief, rows.plausibility, rows.pignistic) == pytest.approx((1.3 / 3,) * 3)
    assert [one.on for one in compute_masses(table, one_row_each=False)] == ["guesses", "single rows"]


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_the_pignistic_value_is_between_belief_and_plausibility(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 20))
    sizes = rng.integers(1, 6, n)
    table = outcomes(sizes, rng.integers(0, 2, n), sound_candidates=sizes, posterior=rng.random(n))
    for one in compute_masses(table):
        assert 0 <= one.belief <= one.pignistic + 1e-12 <= one.plausibility + 2e-12 <= 1 + 3e-12


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_what_adds_up_to_one_at_most_is_compatible(seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(4), 3)[:, :3]  # the rest stands on "not released"
    refuse_incompatible(stated(shares), np.arange(3), np.arange(3), 3)
    shares[rng.integers(3)] *= 1.01 / shares.sum(axis=1).min()
    if shares.sum(axis=1).max() > 1:
        with pytest.raises(AttackFailed):
            refuse_incompatible(stated(shares), np.arange(3), np.arange(3), 3)


WRONG = {
    "adds up to more than one": stated([[0.5, 0.5, 0.1], [0, 1, 0], [0, 0, 1]]),
    "negative": stated([[1, -0.1, 0], [0, 1, 0], [0, 0, 1]]),
    "not a number": stated([[np.nan, 0, 0], [0, 1, 0], [0, 0, 1]]),
    "an empty set that is called sound": replace(stated(np.eye(3), sound_sizes=np.array([1, 0, 1])), posterior=None),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_attack_that_gives_what_no_belief_function_has_failed(table, monkeypatch, name):
    data, schema = table({"age": [10, 20, 30]})

    def answer(links):
        monkeypatch.setattr(DistanceLinkage, "run", lambda self, context: AttackFindings(links))
        alignment = Alignment(np.arange(3), np.arange(3), 3)
        how, who = DistanceLinkage(method="distance_linkage"), Intruder("declared", ("age",))
        return attack(data, data, schema, (), how, who, alignment=alignment, targets=np.arange(3))

    done = answer(WRONG[name])
    assert (done.status, done.outcomes) == ("failed", None)
    assert done.reason
    assert answer(stated(np.eye(3))).status == "ok"


def test_who_is_absent_may_have_an_empty_set():
    links = replace(stated(np.eye(3), sound_sizes=np.array([1, 0, 1])), posterior=None)
    refuse_incompatible(links, np.arange(3), np.array([0, 2]), 3)
    with pytest.raises(AttackFailed):
        refuse_incompatible(links, np.arange(3), np.array([1]), 3)
