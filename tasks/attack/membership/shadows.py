"""Shadow models: imitations of the released model, of which the intruder knows who taught them.

All attacks share them. What is kept of a shadow model is what it answers, never the model; each is a function of its plan
and the data alone, so that a caller can keep the answers one by one and go on after an interruption.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tasks.attack.membership.frame import FEWEST, Frame
from tasks.microdata.errors import NotApplicable
from tasks.microdata.table import Booleans, Floats, Integers
from tasks.train.examples import Examples
from tasks.train.learners import RANDOM_STATES
from tasks.train.training import Learn

Teaching = Literal["apart", "inserted"]
MOST_OF_OWN = (
    0.8  # of the intruder's own units, that teach one shadow model: the others show them how it answers about strangers
)
Prepare = Callable[[Integers, int], tuple[Examples, Integers]]  # rows, which shadow -> what is learned, and whose rows it is


@dataclass(frozen=True, slots=True)
class ShadowPlan:
    """One shadow model: the rows that teach it, ascending, and the seed of its learner. Private: the rows are the secret."""

    rows: Integers
    random_state: int


@dataclass(frozen=True, slots=True)
class ShadowPool:
    """The plans of k shadow models, and the rows that each is asked about, ascending: the intruder's own, and the targets.

    teaching: `apart`: no shadow has seen a target; `inserted`: each has also seen half of the targets.
    """

    plans: tuple[ShadowPlan, ...]
    asked: Integers
    teaching: Teaching


@dataclass(frozen=True, slots=True)
class Shadows:
    """What the shadow models of a pool answer: outputs[i, j] are the class probabilities of shadow i for row asked[j].

    outputs: shape (k, q, n_classes). taught: shape (k, q): has shadow i learned from row asked[j]? labels: shape (q,).
    """

    outputs: Floats
    taught: Booleans
    labels: Integers
    asked: Integers
    teaching: Teaching

    @property
    def n(self) -> int:
        return len(self.outputs)

    def first(self, k: int) -> Shadows:
        """The first k of the shadow models: an attack that needs fewer than another shares with it."""
        return Shadows(self.outputs[:k], self.taught[:k], self.labels, self.asked, self.teaching)

    def select_answers(self, rows: Integers) -> Shadows:
        """The answers about some of the rows, which were all asked about."""
        positions = np.searchsorted(self.asked, rows)
        if not np.array_equal(self.asked[positions], rows):
            raise ValueError("the shadow models were not asked about these rows")
        return Shadows(self.outputs[:, positions], self.taught[:, positions], self.labels[positions], rows, self.teaching)


def plan_shadow_pool(frame: Frame, shadows: int, teaching: Teaching, *, rng: np.random.Generator) -> ShadowPool:
    """Plan an even number of shadow models, in pairs.

    Meaning: each learns from as many of the intruder's own units as make its training set as large as the released model's,
    from a half to four fifths of them; they know for each shadow who of these was in and who was out, which is what they learn
    membership from. Where targets are `inserted`, they add a random half of the people they ask about to one of a pair, and
    the others to the other, whoever they are: so each target is in half of the shadows and out of the other half. They have
    their records, for they ask about them; which of them were members, they do not use. The pools of the frame stay disjoint.

    shadows: even, >= 2. The first k plans of a pool are the same whatever its size.

    Raises ValueError for an odd number, NotApplicable with fewer than 10 units of the intruder's own. Cost: O(shadows n).
    """
    if shadows < 2 or shadows % 2:
        raise ValueError("shadow models come in pairs")
    if frame.shadow.sum() < FEWEST:
        raise NotApplicable(f"an intruder learns membership from at least {FEWEST} records of their own")
    plans = [plan for _ in range(shadows // 2) for plan in _pair(frame, teaching, rng)]
    asked = np.flatnonzero((frame.shadow | frame.target)[frame.units.of_row])
    return ShadowPool(tuple(plans), asked, teaching)


@dataclass(frozen=True, slots=True)
class ShadowAnswers:
    """What one shadow model answers about the rows `asked` of its pool. outputs: shape (q, n_classes). taught: shape (q,)."""

    outputs: Floats
    taught: Booleans


def train_shadow_model(pool: ShadowPool, i: int, data: Examples, learn: Learn, prepare: Prepare | None = None) -> ShadowAnswers:
    """Train shadow model i and ask it about the rows `ShadowPool.asked`.

    data: all rows, as the intruder knows them. prepare: what becomes of the rows of a training set before a model learns from
    them, where the released model learned from a masked table: who knows the steps carries them out on their own records too.
    The same plan, data, learner and preparation give the same answer.
    """
    plan = pool.plans[i]
    train, rows = (data.take(plan.rows), plan.rows) if prepare is None else prepare(plan.rows, i)
    return ShadowAnswers(learn(train, plan.random_state)(data.frame.iloc[pool.asked]), np.isin(pool.asked, rows))


def combine_answers(pool: ShadowPool, labels: Integers, answers: Sequence[ShadowAnswers]) -> Shadows:
    """What is known when all shadow models of a pool have answered. labels: of all rows."""
    if len(answers) != len(pool.plans):
        raise ValueError("one answer from each shadow model")
    outputs, taught = np.stack([one.outputs for one in answers]), np.stack([one.taught for one in answers])
    return Shadows(outputs, taught, labels[pool.asked], pool.asked, pool.teaching)


def train_shadow_models(pool: ShadowPool, data: Examples, learn: Learn) -> Shadows:
    """Train and ask all shadow models of a pool, one after the other."""
    return combine_answers(pool, data.labels, [train_shadow_model(pool, i, data, learn) for i in range(len(pool.plans))])


def _pair(frame: Frame, teaching: Teaching, rng: np.random.Generator) -> tuple[ShadowPlan, ShadowPlan]:
    first, second = np.zeros((2, frame.units.n_units), dtype=bool)
    half = int(frame.target.sum()) // 2 if teaching == "inserted" else 0
    own = rng.permutation(np.flatnonzero(frame.shadow))
    size = min(max(int(frame.member.sum()) - half, len(own) // 2), int(MOST_OF_OWN * len(own)))
    first[own[:size]] = True
    second[own[min(size, len(own) - size) :]] = True  # from the other end: they share as few as can be
    if teaching == "inserted":
        targets = rng.permutation(np.flatnonzero(frame.target))
        first[targets[:half]] = True
        second[targets[half:]] = True
    states = rng.integers(0, RANDOM_STATES, 2)
    rows = (np.flatnonzero(one[frame.units.of_row]) for one in (first, second))
    one, other = (ShadowPlan(taught, int(state)) for taught, state in zip(rows, states, strict=True))
    return one, other
