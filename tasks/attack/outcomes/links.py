"""Links of whole files: which released rows each of the intruder's records is linked to, in classes of equal records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tasks.attack.learned.learning_summary import LearnedFacts
from tasks.attack.outcomes.guesses import Guesses
from tasks.attack.probabilistic.linkage_summary import ProbableFacts
from tasks.attack.transparency.intersection import Conditions, is_ruled_out
from tasks.attack.transparency.scores import ImageScores
from tasks.microdata.table import Booleans, Floats, Integers


class Posterior(Protocol):
    """A probability for every pair of a record and a released row: of one record over all rows at most 1."""

    def compute_probabilities(self, records: Integers, rows: Integers) -> Floats:
        """Shape (k,): the probability that the row is the record's own, for k pairs."""
        ...

    def compute_guess_probabilities(self, records: Integers) -> Floats:
        """Shape (k,): how probable the guess is taken to be, e.g. the largest probability of any row."""
        ...


@dataclass(frozen=True, slots=True)
class _OfHeld:
    """The probabilities of some records, asked for by their places among all: place has -1 for the others, who have none."""

    posterior: Posterior
    position: Integers

    @classmethod
    def create_from_held(cls, posterior: Posterior, held: Integers, n: int) -> _OfHeld:
        position = np.full(n, -1, dtype=np.int64)
        position[held] = np.arange(len(held))
        return cls(posterior, position)

    def compute_probabilities(self, records: Integers, rows: Integers) -> Floats:
        positions = self.position[records]
        found = np.zeros(len(records))
        found[positions >= 0] = self.posterior.compute_probabilities(positions[positions >= 0], rows[positions >= 0])
        return found

    def compute_guess_probabilities(self, records: Integers) -> Floats:
        positions = self.position[records]
        return np.where(positions >= 0, self.posterior.compute_guess_probabilities(np.maximum(positions, 0)), 0.0)


@dataclass(frozen=True, slots=True)
class Links:
    """Links of q searching records to f found ones.

    found_class: shape (f,), the class of each found record; search_class: shape (q,), the class of each searching record.
    starts, classes: search class s is linked to the found classes classes[starts[s]:starts[s + 1]].
    sound_sizes: shape (number of search classes,): size of the sound set the link was chosen from; None where there is none.
    small_sets: starts and found classes of the sound sets that hold few rows (as many as the attack was asked to write out);
        the others stand empty in it.
    conditions: what the sound sets follow from, by search and found class. image_scores: where laws are known, what speaks for
        each found class by these conditions. evidence_levels: how well that is known of the rows that were looked at
        (`transparency.estimated_evidence`). listed_sets: the whole sound sets, starts and found
        classes, where they are written out and follow from more than conditions.
    least, runner_up: shape (number of search classes,): the squared distance of what each is linked to, and that of the nearest
        found class it is not linked to (infinite where there is none); None where the links are not to the nearest.
    learned: of the links by a learned distance, what is to be said of it.
    posterior: where the attack has probabilities, those. probable: of probabilistic linkage, what is to be said of it.
    Links and sets are made for the records that the attack was asked for; of other searching records they stand empty.
    """

    found_class: Integers
    search_class: Integers
    starts: Integers
    classes: Integers
    sound_sizes: Integers | None = None
    small_sets: tuple[Integers, Integers] | None = None
    conditions: Conditions | None = None
    image_scores: ImageScores | None = None
    evidence_levels: Integers | None = None
    listed_sets: tuple[Integers, Integers] | None = None
    least: Floats | None = None
    runner_up: Floats | None = None
    learned: LearnedFacts | None = None
    posterior: Posterior | None = None
    probable: ProbableFacts | None = None

    @property
    def n_given(self) -> int:
        """How many of the searching records are linked to something."""
        return int((np.diff(self.starts)[self.search_class] > 0).sum())

    def margins(self, searching: Integers) -> Floats | None:
        """Shape (q,): how far the next nearest is beyond the nearest: (d2 - d1) / (|d1| + |d2|), 0..1 for distances >= 0.

        Of squared distances. 1 where the nearest is at 0, or nothing else is there; 0 where more than one row is nearest, or
        none: such a link names nobody. None where the links are not to the nearest.
        """
        if self.least is None or self.runner_up is None:
            return None
        first, second = self.least[self.search_class[searching]], self.runner_up[self.search_class[searching]]
        far = np.isinf(second)
        sums = np.abs(first) + np.abs(np.where(far, 1.0, second))
        margin = np.where(far, 1.0, (np.where(far, 1.0, second) - first) / np.where(sums > 0, sums, 1.0))
        return np.where(self.guesses(searching).tie_sizes() == 1, margin, 0.0)

    def guesses(self, searching: Integers) -> Guesses:
        """The guesses of the given searching records, in that order."""
        searched = self.search_class[searching]
        sizes = np.diff(self.starts)[searched]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        entries = np.arange(starts[-1]) + np.repeat(self.starts[searched] - starts[:-1], sizes)
        sound = None if self.sound_sizes is None else self.sound_sizes[searched]
        return Guesses(self.found_class, starts, self.classes[entries], sound)

    def rules_out(self, searching: Integers, found: Integers) -> Booleans:
        """Shape (q,): is found record found[e] outside the sound set of searching record searching[e]? Never without sets."""
        if self.listed_sets is not None:
            starts, classes = self.listed_sets
            n_classes = int(self.found_class.max(initial=0)) + 1
            keys = np.repeat(np.arange(len(starts) - 1), np.diff(starts)) * n_classes + classes
            return ~np.isin(self.search_class[searching] * n_classes + self.found_class[found], keys)
        if self.conditions is None:
            return np.zeros(len(searching), dtype=bool)
        return is_ruled_out(self.conditions, self.search_class[searching], self.found_class[found])

    def expand_links(self, present: Integers, n: int) -> Links:
        """The same links for n searching records of whom only those at `present` search; their classes stand in that order."""
        search_class = np.full(n, len(self.starts) - 1, dtype=np.int64)
        search_class[present] = self.search_class
        last = self.starts[-1:]
        sizes = None if self.sound_sizes is None else np.append(self.sound_sizes, 0)
        small, listed = (
            None if sets is None else (np.append(sets[0], sets[0][-1:]), sets[1])
            for sets in (self.small_sets, self.listed_sets)
        )
        least, runner_up = (None if of is None else np.append(of, np.inf) for of in (self.least, self.runner_up))
        longer = replace(self, search_class=search_class, starts=np.append(self.starts, last), sound_sizes=sizes)
        return replace(longer, small_sets=small, listed_sets=listed, least=least, runner_up=runner_up)

    def expand_links_and_posterior(self, held: Integers, n: int) -> Links:
        """`expand_links` for those whose records the intruder holds, with their probabilities."""
        lifted = self.expand_links(held, n)
        return (
            lifted if self.posterior is None else replace(lifted, posterior=_OfHeld.create_from_held(self.posterior, held, n))
        )

    def invert_links(self) -> Links:
        """The same links seen from the found records: which searching records are linked to each; may be none."""
        searching = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        order = np.argsort(self.classes, kind="stable")
        sizes = np.bincount(self.classes, minlength=int(self.found_class.max(initial=-1)) + 1)
        return Links(self.search_class, self.found_class, np.append(0, np.cumsum(sizes)), searching[order])
