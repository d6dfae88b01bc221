"""What is told of a learned attack beside its links: how they compare, what is proven, and which attributes betray."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Rates: of the learned distance on the half it was learned from and on the other, and of the Euclidean on the other."""

    learned_half: float
    other_half: float
    euclidean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedFacts:
    """Rates are shares of the records whose own row is released: those from which the distance was learned. None is a policy's.

    family: of distances, as in the release file. records: how many learned. rate, euclidean: by the learned distance and by the
    plain one, ties shared. chance: what the same learner earns where who is who is permuted, over all records, released or not:
    the mean of 20 permutations. sure: the most that was linked without a tie but with equal rows. bound: no parameters of the
    family link more of these; None where nothing was proven. stopped: did the time limit end the proof? Then another machine
    may prove another bound, and nothing else differs.
    held_out: learned from half of the links; None for a single record. betraying: how much each attribute weighs in the
    distance, adding up to 1 in absolute value; empty where places are weighed, not attributes.
    parameters: as `learned.features` takes them, in the order of the known attributes; empty in a public edition.
    """

    family: str
    metric: bool
    records: int
    rate: float
    euclidean: float
    chance: float
    sure: float
    bound: float | None
    stopped: bool
    held_out: HeldOut | None
    betraying: tuple[tuple[str, float], ...]
    parameters: tuple[float, ...]

    @property
    def public_summary(self) -> LearnedFacts:
        """What may be published: weights to two decimals, and no parameters."""
        return replace(self, betraying=tuple((name, round(weight, 2)) for name, weight in self.betraying), parameters=())

    @property
    def gap(self) -> float | None:
        """What might be linked beyond what was found, for all that is proven."""
        return None if self.bound is None else max(self.bound - self.sure, 0.0)
