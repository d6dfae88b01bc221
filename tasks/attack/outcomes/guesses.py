"""What an attack answers: for each target the whole set of equally good guesses.

Released rows that look alike to the intruder form one class, so that a file full of ties stays small: a guess is a set of
classes, its size t the number of rows in them, and a tie of t rows earns 1/t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.microdata.table import Booleans, Floats, Integers


@dataclass(frozen=True, slots=True)
class Guesses:
    """The guesses of one attack about m targets in a release of n rows.

    class_of_row: shape (n,), the class 0..c-1 of each released row.
    starts: shape (m + 1,), classes: shape (starts[-1],): target i is linked to classes[starts[i]:starts[i + 1]]. Where it is
        empty the attack has no guess, because nothing in the release can be the target's.
    sound_sizes: shape (m,): rows in the sound candidate set the guess was chosen from, where the attack has one (a set that
        surely holds the truth); None otherwise.
    """

    class_of_row: Integers
    starts: Integers
    classes: Integers
    sound_sizes: Integers | None = None

    @property
    def class_sizes(self) -> Integers:
        """Shape (c,): number of released rows in each class."""
        return np.bincount(self.class_of_row)

    def tie_sizes(self) -> Integers:
        """Shape (m,): the number t of released rows among which the intruder cannot choose; 0 without a guess."""
        return np.diff(np.append(0, np.cumsum(self.class_sizes[self.classes]))[self.starts])

    def truth_among(self, truth: Integers) -> Booleans:
        """Shape (m,): is the target's own row among its guesses? `truth`: the row of each target, -1 if not released."""
        target_of_entry = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        own_class = np.where(truth >= 0, self.class_of_row[truth], -1)
        hit = np.zeros(len(truth), dtype=bool)
        hit[target_of_entry[self.classes == own_class[target_of_entry]]] = True
        return hit

    def credit(self, truth: Integers) -> Floats:
        """Shape (m,): 1/t where the truth is among the t guesses, else 0; by chance 1/n on average, ties or not."""
        return self.truth_among(truth) / np.maximum(self.tie_sizes(), 1)
