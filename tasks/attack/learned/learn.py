"""The worst case of linkage by distance: parameters learned from the true links, what they link, and what that is worth.

Nobody but the data's owner has all true links, so this bounds what an intruder with any parameters of the family achieves
against these files. Two figures stand beside it: what the same learner finds where the truth is permuted (chance), and what
parameters learned from half of the links achieve on the other half (the intruder who has part of the truth).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tasks.attack.learned.benders import improve_and_prove
from tasks.attack.learned.constraint_rows import Problem
from tasks.attack.learned.exact_links import LinkCounts
from tasks.attack.learned.features import LearnedDistanceKind, arithmetic_mean, cone, normalise_parameters, shapley
from tasks.attack.learned.learned_neighbours import count_links
from tasks.attack.learned.learning_summary import HeldOut
from tasks.attack.learned.multistart_search import inside, search_parameters, standard_starts
from tasks.microdata.table import Floats, Integers

Solver = Literal["search", "certified"]
MOST_TARGETS = 3000  # records that the search looks at; all are counted
MOST_PERMUTED = 1000  # the same, where the truth is permuted
PERMUTATIONS = 20


@dataclass(frozen=True, slots=True)
class Learned:
    """Parameters of a distance, and what they link.

    parameters: as `features` takes them, `normalise_parameters`: those that earn the most credit of what was found. links: of
    every searching record, over all pairs. linked: the largest worth found (the number linked without a tie but with twins);
    with shared credit, ties may earn more than that. bound: the worth that no parameters of the kind exceed, None without
    proof. complete: did the proof end by itself, not by its time limit? betraying: how much each attribute weighs in the
    distance, shape (d,), NaN for OWA. seconds: CPU time.
    """

    kind: LearnedDistanceKind
    metric: bool
    parameters: Floats
    links: LinkCounts
    linked: float
    bound: float | None
    complete: bool
    betraying: Floats
    seconds: float

    @property
    def rate(self) -> float:
        return self.linked / len(self.links.nearer)

    @property
    def gap(self) -> float | None:
        """How much more could be linked for all that was proven; 0: nothing."""
        return None if self.bound is None else self.bound - self.linked


def learn(
    of: Problem,
    *,
    rng: np.random.Generator,
    metric: bool = False,
    solver: Solver = "search",
    time_limit: float = 60.0,
    rounds: int | None = None,
    settled: bool = False,
) -> Learned:
    """Learn the distance by which most searching records are nearest to their own found record.

    metric: only distances that are metrics (`features`).
    solver: "search", or "certified", which goes on to prove for at most time_limit CPU seconds; where they do not suffice, how
        far it comes depends on the machine. settled: then keep what the search found, which does not.
    rounds: how long the search looks; it does not look at the clock, so that the same stream gives the same answer.
    """
    began = time.process_time()
    if len(of.found) < 2:
        return _evaluate_parameters(of, metric, arithmetic_mean(of.kind, of.how.d), None, complete=True, began=began)
    parameters, bound, complete = (
        search_parameters(_sample_searching_records(of, MOST_TARGETS, rng), metric=metric, rounds=rounds, rng=rng),
        None,
        True,
    )
    if solver == "certified":
        bounds, definite = cone(of.kind, of.how.d, metric=metric), metric and of.kind is LearnedDistanceKind.BILINEAR
        proof = improve_and_prove(of, parameters, bounds, seconds=time_limit, rng=rng, definite=definite)
        complete = proof.ended
        parameters, bound = proof.parameters if complete or not settled else parameters, proof.bound
    return _evaluate_parameters(of, metric, parameters, bound, complete=complete, began=began)


def _evaluate_parameters(
    of: Problem, metric: bool, parameters: Floats, bound: float | None, *, complete: bool, began: float
) -> Learned:
    shown, links = _best(of, parameters, metric)
    linked = max(of.worth(links), of.worth(count_links(of, normalise_parameters(of.kind, parameters))))
    weighs = shapley(of.kind, shown, of.how.d)
    used = time.process_time() - began
    return Learned(of.kind, metric, shown, links, linked, bound, complete, weighs, used)


def _best(of: Problem, parameters: Floats, metric: bool) -> tuple[Floats, LinkCounts]:
    """Of what was found and the plain starts: what earns the most credit, and of equals looks least at one attribute alone."""
    candidates = [parameters, *([] if metric else [inside(of, parameters)]), *standard_starts(of)]
    shown = [normalise_parameters(of.kind, one) for one in candidates]
    links = [count_links(of, one) for one in shown]
    best = max(range(len(shown)), key=lambda at: (of.credit(links[at]), np.abs(shown[at]).min()))
    return shown[best], links[best]


def _sample_searching_records(of: Problem, most: int, rng: np.random.Generator) -> Problem:
    q = len(of.searching)
    return of if q <= most else of.select_targets(np.sort(rng.choice(q, most, replace=False)))


def evaluate_held_out(of: Problem, *, rng: np.random.Generator, metric: bool = False) -> HeldOut:
    """Learn from a random half of the true links, among all found records; link the other half by what was learned."""
    shuffled = rng.permutation(len(of.searching))
    half, rest = (of.select_targets(np.sort(part)) for part in np.array_split(shuffled, 2))
    euclidean = arithmetic_mean(of.kind, of.how.d)
    parameters = (
        euclidean
        if len(of.found) < 2
        else search_parameters(_sample_searching_records(half, MOST_TARGETS, rng), metric=metric, rng=rng)
    )
    return HeldOut(rate(half, parameters), rate(rest, parameters), rate(rest, euclidean))


def rate(of: Problem, parameters: Floats) -> float:
    """The mean credit of the searching records by given parameters; 0 where there are none."""
    return of.credit(count_links(of, parameters)) / max(len(of.searching), 1)


def chance(
    of: Problem, *, rng: np.random.Generator, metric: bool = False, permutations: int = PERMUTATIONS, rounds: int | None = None
) -> Floats:
    """What the same learner links where the true records are permuted: the rate of each permutation, shape (permutations,).

    Found records that are nobody's own are among those that are dealt out: of few who search among many, few are found by luck.

    Of more than 1,000 records it looks at so many; each of the others, of whom it learned nothing, earns what a guess does.
    """
    rates = np.zeros(permutations)
    everybody = np.concatenate([of.truth, _others(of)])
    for at in range(permutations):
        truth = rng.permutation(everybody)[: len(of.truth)]
        permuted = _sample_searching_records(replace(of, truth=truth), MOST_PERMUTED, rng)
        q, others = len(permuted.searching), len(of.searching) - len(permuted.searching)
        parameters = arithmetic_mean(of.kind, of.how.d)
        if len(of.found) > 1:
            parameters = search_parameters(permuted, metric=metric, rounds=rounds, rng=rng)
        earned = permuted.credit(_best(permuted, parameters, metric)[1])
        rates[at] = (earned + others / of.copies.sum()) / (q + others)
    return rates


def _others(of: Problem) -> Integers:
    """The found records that are nobody's own, equal ones each by itself."""
    left = np.maximum(of.copies - np.bincount(of.truth, minlength=len(of.copies)), 0)
    return np.repeat(np.arange(len(left)), left)
