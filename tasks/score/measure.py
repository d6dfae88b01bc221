"""What is known of a measure before it is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher"]
Subject = Literal["table", "attribute", "table_and_attribute"]
Kind = Literal["identity", "insiders", "inference", "membership", "earlier_releases"]


LOWEST, HIGHEST, RARE = "lowest values", "highest values", "rare categories"
SUBGROUPS = (LOWEST, HIGHEST, RARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is known of a measure before it is computed.

    better: the direction a publisher wants; None: the figure is a baseline for another one, or read beside its chance, and
    decides nothing.
    largest: the top of its range, None where there is none (the bottom is 0 for all).
    about: one figure per table, one per attribute, or both.
    by_attack: is there one figure per attack and intruder? by_subgroup: one per subgroup of the targets as well, and only for
    the declared intruder?
    of_membership: is it about who is in the file, and so of no intruder of the linkage attacks?
    takes_p_percent, takes_false_positive_rate: is there one figure for each?
    infinite_without_value: is a figure that is not applicable infinite, so that it breaks every limit?
    only_of_model: is it about a released model, and no table?
    of_nobody: can it be measured where the rows of the release belong to nobody? only_of_nobody: nowhere else?
    answers: the kind of disclosure that a limit on it answers (`score.kinds`): `identity` for a figure of the declared
    intruder, which a line with `intruder: insider` makes one of `insiders`. None: it answers none by itself.
    is_tail: is it about the people who are easiest to find, and no average over all of them?
    """

    name: str
    says: str
    unit: str
    better: Better | None
    about: Subject
    largest: float | None = None
    by_attack: bool = False
    by_subgroup: bool = False
    takes_p_percent: bool = False
    takes_false_positive_rate: bool = False
    chance: str = "none"
    of_nobody: bool = False
    only_of_nobody: bool = False
    of_membership: bool = False
    only_of_model: bool = False
    infinite_without_value: bool = False
    answers: Kind | None = None
    is_tail: bool = False
