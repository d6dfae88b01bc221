"""Fellegi and Sunter's three classes of pairs: linked, not linked, and those left to a clerk, by two error rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tasks.attack.probabilistic.fellegi_sunter import Model
from tasks.attack.probabilistic.patterns import Patterns
from tasks.attack.transparency.likelihood import TIE
from tasks.microdata.table import Booleans, Integers


@dataclass(frozen=True, slots=True)
class LinkDecision:
    """Which patterns are linked, and which are not; the others are clerical.

    linked, not_linked: shape (p,), never both.
    link_from: LT, the least weight of a linked pattern, infinite where there is none. drop_to: NLT, the largest weight of one
        that is not linked, minus infinity where there is none. Weights are log2 m/u, in bits.
    false_links: the expected P(LP|U), the sum of u over the linked. missed: the expected P(NP|M), the sum of m over the others.
    """

    linked: Booleans
    not_linked: Booleans
    link_from: float
    drop_to: float
    false_links: float
    missed: float


@dataclass(frozen=True, slots=True)
class Classified:
    """How many pairs fell into the classes: matches and others, (linked, clerical, not linked) each."""

    matches: tuple[int, int, int]
    others: tuple[int, int, int]

    @property
    def false_links(self) -> float | None:
        """The actual P(LP|U): the share of the pairs that are no matches which are linked; None where there is none."""
        return _share(self.others[0], sum(self.others))

    @property
    def miss_rate(self) -> float | None:
        """The actual P(NP|M): the share of the matches which are not linked; None where there is none."""
        return _share(self.matches[2], sum(self.matches))

    @property
    def precision(self) -> float | None:
        """The share of the linked pairs that are matches; None where none is linked."""
        return _share(self.matches[0], self.matches[0] + self.others[0])


def choose_classes(model: Model, *, false_links: float, missed: float) -> LinkDecision:
    """The classes with the least clerical work within two error rates.

    Formula in words: in the order of m/u, patterns from the top are linked as long as their u add up to at most P(LP|U);
    patterns from the bottom are not linked as long as their m add up to at most P(NP|M). Patterns of the same m/u go together.
    Where the two overlap all of it is linked: both rates hold, nothing is clerical, and it is what an intruder gains most by.

    false_links, missed: P(LP|U) and P(NP|M), 0 to 1. The expected rates are the model's, over the patterns that occur.
    Source: Fellegi and Sunter (1969), D11.2, section 2.3. Done otherwise than there: at a threshold nothing is decided by
    lot, the pattern that would go beyond a rate is clerical. Both rates are therefore kept, and not always used up.
    Example: with P(LP|U) = 0 no pattern is linked that any pair shows which is no match (u > 0).
    """
    m, u, ratio = np.exp(model.log_m), np.exp(model.log_u), model.log_ratio
    order = np.argsort(-ratio, kind="stable")
    with np.errstate(invalid="ignore"):
        falls = ratio[order][:-1] - ratio[order][1:] > TIE
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.append(0, np.cumsum(falls))
    linked = _is_within_total(np.bincount(group, u), false_links)[group]
    not_linked = _is_within_total(np.bincount(group, m)[::-1], missed)[::-1][group] & ~linked
    return LinkDecision(
        *(linked, not_linked),
        link_from=float(ratio[linked].min(initial=np.inf) / np.log(2)),
        drop_to=float(ratio[not_linked].max(initial=-np.inf) / np.log(2)),
        false_links=float(u[linked].sum()),
        missed=float(m[not_linked].sum()),
    )


def classify_pairs(decision: LinkDecision, patterns: Patterns, matches: Integers) -> Classified:
    """How many pairs are in each class. matches: shape (p,), the true matches that show each pattern."""
    classes = (decision.linked, ~(decision.linked | decision.not_linked), decision.not_linked)
    true, every = ([int(counts[one].sum()) for one in classes] for counts in (matches, patterns.counts))
    others = [all_ - match for all_, match in zip(every, true, strict=True)]
    return Classified((true[0], true[1], true[2]), (others[0], others[1], others[2]))


def _is_within_total(parts: npt.NDArray[Any], most: float) -> Booleans:
    """Which parts, from the first, add up to at most so much; rounding in the sum does not count."""
    return np.asarray(np.cumsum(parts) <= most * (1 + 1e-12))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
