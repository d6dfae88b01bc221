"""The worst case of linkage by distance: parameters learned from the true links, what they link, and what that is worth.

Nobody but the data's owner has all true links, so this bounds what an intruder with any parameters of the family achieves
against these files. Two figures stand beside it: what the same learner finds where the truth is permuted (chance), and what
parameters learned from half of the links achieve on the other half (the intruder who has part of the truth).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.attack.learned.benders import prove
from tasks.attack.learned.features import Kind, arithmetic_mean, cone, normalised, shapley
from tasks.attack.learned.neighbours import links_of
from tasks.attack.learned.recount import Links
from tasks.attack.learned.rows import Problem, of_targets, problem
from tasks.attack.learned.search import search
from tasks.microdata.table import Floats, Integers

Solver = Literal["search", "certified"]
MOST_TARGETS = 3000  # records that the search looks at; all are counted
PERMUTATIONS = 20


@dataclass(frozen=True, slots=True)
class Learned:
    """Parameters of a distance, and what they link.

    parameters: as `features` takes them, `normalised`. links: of every searching record, over all pairs. linked: the worth of
    those linked (their number, by strict credit). bound: what no parameters of the kind exceed, None without proof.
    betraying: how much each attribute weighs in the distance, shape (d,), NaN for OWA. seconds: CPU time.
    """

    kind: Kind
    metric: bool
    parameters: Floats
    links: Links
    linked: float
    bound: float | None
    betraying: Floats
    seconds: float

    @property
    def rate(self) -> float:
        return self.linked / len(self.links.nearer)

    @property
    def gap(self) -> float | None:
        """How much more could be linked for all that was proven; 0: nothing."""
        return None if self.bound is None else self.bound - self.linked


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Rates: of the learned distance on the half it was learned from and on the other, and of the Euclidean on the other."""

    learned_half: float
    other_half: float
    euclidean: float


def learn(
    searching: Floats,
    found: Floats,
    kind: Kind,
    *,
    rng: np.random.Generator,
    truth: Integers | None = None,
    metric: bool = False,
    strict: bool = True,
    solver: Solver = "search",
    time_limit: float = 60.0,
    rounds: int | None = None,
) -> Learned:
    """Learn the distance by which most searching records are nearest to their own found record.

    Parameters
    ----------
    searching, found: shapes (q, d), (f, d), scaled, without NaN. truth: the own record of each; default: row i of row i.
    metric: only distances that are metrics (`features`). strict: ties earn nothing; else twins of the own record share.
    solver: "search", or "certified", which goes on to prove for at most time_limit CPU seconds; where they do not suffice, how
        far it comes depends on the machine.
    rounds: how long the search looks; it does not look at the clock, so that the same stream gives the same answer.

    Raises ValueError for NaN, other numbers of attributes, fewer than 2 found records.
    """
    began = time.process_time()
    of = _checked(searching, found, kind, truth, strict)
    parameters = search(_sampled(of, rng), metric=metric, rounds=rounds, rng=rng)
    bound = None
    if solver == "certified":
        bounds, definite = cone(kind, searching.shape[1], metric=metric), metric and kind is Kind.BILINEAR
        proof = prove(of, parameters, bounds, seconds=time_limit, rng=rng, definite=definite)
        parameters, bound = proof.parameters, proof.bound
    return _learned(of, metric, parameters, bound, time.process_time() - began)


def _learned(of: Problem, metric: bool, parameters: Floats, bound: float | None, seconds: float) -> Learned:
    shown = normalised(of.kind, parameters)
    links = links_of(of, shown)
    weighs = shapley(of.kind, shown, of.searching.shape[1])
    return Learned(of.kind, metric, shown, links, of.worth(links), bound, weighs, seconds)


def _checked(searching: Floats, found: Floats, kind: Kind, truth: Integers | None, strict: bool) -> Problem:
    if searching.shape[1] != found.shape[1] or len(found) < 2:
        raise ValueError(f"files of shapes {searching.shape} and {found.shape} cannot be linked by a learned distance")
    if not (np.isfinite(searching).all() and np.isfinite(found).all()):
        raise ValueError("a learned distance takes no missing values")
    if truth is None and len(searching) > len(found):
        raise ValueError("without a truth, row i of one file must be row i of the other")
    own = np.arange(len(searching)) if truth is None else np.asarray(truth, dtype=np.int64)
    return problem(kind, searching, found, own, strict=strict)


def _sampled(of: Problem, rng: np.random.Generator) -> Problem:
    q = len(of.searching)
    return of if q <= MOST_TARGETS else of_targets(of, np.sort(rng.choice(q, MOST_TARGETS, replace=False)))


def held_out(
    searching: Floats,
    found: Floats,
    kind: Kind,
    *,
    rng: np.random.Generator,
    truth: Integers | None = None,
    metric: bool = False,
    strict: bool = True,
) -> HeldOut:
    """Learn from a random half of the true links, among all found records; link the other half by what was learned."""
    of = _checked(searching, found, kind, truth, strict)
    shuffled = rng.permutation(len(searching))
    half, rest = (of_targets(of, np.sort(part)) for part in np.array_split(shuffled, 2))
    parameters = search(_sampled(half, rng), metric=metric, rng=rng)
    euclidean = arithmetic_mean(kind, searching.shape[1])
    return HeldOut(*(part.worth(links_of(part, p)) / max(len(part.searching), 1)
                     for part, p in ((half, parameters), (rest, parameters), (rest, euclidean))))  # fmt: skip


def chance(
    searching: Floats,
    found: Floats,
    kind: Kind,
    *,
    rng: np.random.Generator,
    truth: Integers | None = None,
    metric: bool = False,
    strict: bool = True,
    permutations: int = PERMUTATIONS,
    rounds: int = 4,
) -> Floats:
    """What the same learner links where the true records are permuted: the rate of each permutation, shape (permutations,)."""
    of = _checked(searching, found, kind, truth, strict)
    rates = np.zeros(permutations)
    for at in range(permutations):
        permuted = problem(kind, of.searching, of.found, rng.permutation(of.truth), strict=strict)
        parameters = search(_sampled(permuted, rng), metric=metric, rounds=rounds, rng=rng)
        rates[at] = permuted.worth(links_of(permuted, parameters)) / len(searching)
    return rates
