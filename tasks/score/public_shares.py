"""Round shares of people so that they can leave the private folders: no count of 1 to 9, nor a complement of one, shows.

A share of n people tells a count, and n minus it. Counts are put into classes: below 15; 15 to 24, 25 to 34 and so on; and the
last, in which all but 10 to 19 or more are. Every figure of a class is shown alike: as the multiple of ten inside it, divided
by n. The first class is shown as 10 of n and the last as all of them, so that nobody takes "fewer than 15" for nobody; of a
measure of which more is better, as none and as the last threshold. Of fewer than 25 people there is one class only, and the
figure is withheld.

Two scorecards of one source whose counts differ by one person therefore show the same, or figures of two neighbouring classes.
In the second case somebody who knows that they differ by one person learns on which side of a threshold the count was. All
thresholds leave 10 people or more on both sides, so that this is never a count of 1 to 9, nor a complement of one.

A verdict is public, and so a figure must be shown on that side of its limit on which it is: where its class would be shown on
the other one, the limit itself is shown if it is kept, and the next class if it is broken. What the verdict alone tells is not
hidden: a limit of fewer than 10 people that is kept tells that so few are found, and a limit of 0 that nobody is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from scipy.special import betainccinv, betaincinv

from tasks.microdata.interval import ERROR
from tasks.score.policy import Direction
from tasks.score.verdict import is_outside_limit

LEAST = 10  # people whom no public count may be below
FEWEST = 25  # people of whom a share is published: those of two classes
FIRST = LEAST + LEAST // 2  # the first class holds fewer people than these, and nobody
_LAST_BITS = 1e-9


@dataclass(frozen=True, slots=True)
class Side:
    """A limit, and on which side of it a figure must be shown."""

    limit: float
    direction: Direction
    is_beyond: bool

    def holds(self, shown: float) -> bool:
        return is_outside_limit(shown, self.limit, self.direction) == self.is_beyond


@dataclass(frozen=True, slots=True)
class ShareClasses:
    """The classes of shares of n people. lowest: the bottom of the range: 0, or -1 for a difference of two shares."""

    n: int
    more_is_better: bool = False
    lowest: float = 0.0

    @property
    def thresholds(self) -> tuple[int, ...]:
        """The smallest count of each class but the first."""
        return tuple(range(FIRST, self.n - LEAST + 1, LEAST))

    def find_class(self, share: float) -> int:
        """The number of the class that holds this share."""
        count = (share - self.lowest) / (1 - self.lowest) * self.n + _LAST_BITS
        return sum(count >= threshold for threshold in self.thresholds)

    def get_public_share(self, position: int) -> float:
        """What stands for a class."""
        if position == len(self.thresholds):
            return self._share(self.thresholds[-1] if self.more_is_better else self.n)
        return self._share(0 if position == 0 and self.more_is_better else (position + 1) * LEAST)

    def least(self, position: int) -> float:
        """The smallest share of a class: what a lower bound in it is shown as."""
        return self._share(0 if position == 0 else self.thresholds[position - 1])

    def interval(self, position: int, error: float = ERROR) -> tuple[float, float]:
        """Bounds (Clopper and Pearson's) that hold for every count of the class, had each of the n been drawn.

        error: of each bound; 5 %, unless another level is given.
        """
        ends = (0, *self.thresholds, self.n + 1)
        first, last = ends[position], ends[position + 1] - 1
        low = 0.0 if first == 0 else float(betaincinv(first, self.n - first + 1, error))
        high = 1.0 if last == self.n else float(betainccinv(last + 1, self.n - last, error))
        return self._share(low * self.n), self._share(high * self.n)

    def choose_public_share(
        self, position: int, sides: Iterable[Side], finish: Callable[[float], float], *, least: bool = False
    ) -> float:
        """What stands for the class; a limit that is kept, or the nearest class, where that is on the wrong side of a limit.

        finish: a further rounding of what is shown. least: show the smallest share of the class, as of a lower bound; where
        no class begins on the right side of a limit, as of any other figure.
        """
        show = self.least if least else self.get_public_share
        return choose_on_right_side(
            (finish(show(position)),), tuple(sides), map(finish, self._list_other_shares(position, show, least=least))
        )

    def _list_other_shares(self, position: int, show: Callable[[int], float], *, least: bool) -> Iterator[float]:
        """What stands for the other classes, the nearest first; where lower bounds are shown, then any class's figure."""
        every = range(len(self.thresholds) + 1)
        nearest = sorted(every, key=lambda other: (abs(other - position), -other))
        yield from map(show, nearest[1:])
        if least:
            yield from map(self.get_public_share, nearest)

    def _share(self, count: float) -> float:
        return self.lowest + (1 - self.lowest) * count / self.n


def choose_on_right_side(candidates: Iterable[float], sides: tuple[Side, ...], last: Iterable[float] = ()) -> float:
    """The first number on the right side of every limit: of the candidates, the limits themselves, and the last ones."""
    found = [*candidates]
    limits = [side.limit for side in sides if not side.is_beyond]
    return next((one for one in chain(found, limits, last) if all(side.holds(one) for side in sides)), found[0])
