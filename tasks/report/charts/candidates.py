"""The chart of candidate sets: among how many released records an intruder cannot choose.

What it may tell: the sizes are what an attack found, counts of people like its rates, which are public. They are given as
shares per bracket, in steps of 5 records or more in the public edition, and tell no statistic of the original's values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.microdata.table import Microdata
from tasks.report.charts.editions import DrawingRule, compute_bar_share

STARTS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


@dataclass(frozen=True, slots=True)
class Bracket:
    """Sets of `first` to `last` records (None: and more), and the share of the targets that have one."""

    first: int
    last: int | None
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The candidate sets of one attack by the declared intruder; brackets up to the last that holds a set."""

    attack: str
    n_targets: int
    brackets: tuple[Bracket, ...]


def candidates(attack: str, outcomes: Microdata, rule: DrawingRule) -> Candidates:
    """The sizes in the `candidates` column of the outcomes, one row per scored target. A target without any candidate is in no
    bracket.

    Example: constant released data of 12 rows: all sets are of 10 to 19 records.
    """
    sizes = outcomes.floats("candidates")
    ends = (*(start - 1 for start in STARTS[1:]), None)
    shares = [float(np.mean((sizes >= start) & (sizes <= (np.inf if end is None else end)))) if len(sizes) else 0.0
              for start, end in zip(STARTS, ends, strict=True)]  # fmt: skip
    used = max((position for position, share in enumerate(shares) if share), default=-1) + 1
    brackets = tuple(
        Bracket(start, end, share if rule.exact else compute_bar_share(round(share * outcomes.n), outcomes.n, rule))
        for start, end, share in zip(STARTS[:used], ends[:used], shares[:used], strict=True)
    )
    return Candidates(attack=attack, n_targets=outcomes.n, brackets=brackets)


def bracket_text(bracket: Bracket) -> str:
    if bracket.last is None:
        return f"{bracket.first:,} or more"
    return f"{bracket.first}" if bracket.last == bracket.first else f"{bracket.first} to {bracket.last}"
