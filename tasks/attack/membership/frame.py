"""Who is asked about: members, non-members, and the records from which an intruder learns; no person in two of these pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from tasks.microdata.errors import NotFollowed
from tasks.microdata.table import Booleans, Floats, Integers, Microdata
from tasks.microdata.units import Units

Evaluates = Literal["this file", "mechanism, not this file"]
REHEARSED: Evaluates = "mechanism, not this file"
TARGET_SHARE = 0.25  # of all units that are asked about on each side; the others teach the shadow models
FEWEST = 10  # of members and of non-members to ask about
_ROLES = ("member", "control", "target", "shadow")
_POOLS = (*_ROLES, "calibration")


@dataclass(frozen=True, slots=True)
class Frame:
    """The pools of an evaluation, by unit (record or person) of a table of n rows.

    member: shape (n_units,): is what the unit says in the training set of the model, or in the original of the release?
    control: set aside before, and released in no form. Neither of both: records from elsewhere that an intruder has.
    target: asked about. shadow: the intruder's own, of which they need not know whether they are members. Nobody is both.
    calibration: the targets, about half of each side, on which a threshold may be chosen; the others are judged by it.
    evaluates: whether the members are those of the file itself, or of a rehearsal of how it was made.

    Raises ValueError where pools overlap, or a target is neither member nor control.
    """

    units: Units
    member: Booleans
    control: Booleans
    target: Booleans
    shadow: Booleans
    calibration: Booleans
    evaluates: Evaluates

    def __post_init__(self) -> None:
        if any(getattr(self, name).shape != (self.units.n_units,) for name in _ROLES):
            raise ValueError("a pool says of every unit whether it belongs to it")
        if (self.member & self.control).any() or (self.target & self.shadow).any():
            raise ValueError("a unit is in two pools")
        if (self.target & ~(self.member | self.control)).any() or (self.calibration & ~self.target).any():
            raise ValueError("the targets are members or control, and those of the calibration are targets")

    def as_table(self) -> Microdata:
        """The pools, one row per unit."""
        return Microdata.from_columns({name: pa.array(getattr(self, name)) for name in _POOLS})

    @classmethod
    def create_from_table(cls, table: Microdata, units: Units, evaluates: Evaluates) -> Frame:
        """The inverse of `as_table`."""
        pools = {name: np.asarray(table.column(name).to_numpy(zero_copy_only=False), dtype=bool) for name in _POOLS}
        return cls(units=units, evaluates=evaluates, **pools)

    @property
    def target_units(self) -> Integers:
        """The targets in ascending order, which says nothing of who is a member."""
        return np.flatnonzero(self.target)

    @property
    def target_rows(self) -> Integers:
        return np.flatnonzero(self.target[self.units.of_row])

    @property
    def shadow_rows(self) -> Integers:
        return np.flatnonzero(self.shadow[self.units.of_row])

    @property
    def member_rows(self) -> Integers:
        """What the released model is trained on, or the released table is made from."""
        return np.flatnonzero(self.member[self.units.of_row])

    @property
    def is_member(self) -> Booleans:
        """Of each target, in the order of `target_units`; only the evaluator may look."""
        return self.member[self.target]

    @property
    def calibrates(self) -> Booleans:
        """Of each target, in the order of `target_units`."""
        return self.calibration[self.target]

    def average_by_unit(self, values: Floats) -> Floats:
        """The mean over the rows of each target, from values in the order of `target_rows` to the order of `target_units`."""
        unit = self.units.of_row[self.target_rows]
        sums = np.bincount(unit, weights=values, minlength=self.units.n_units)
        means: Floats = (sums / np.maximum(np.bincount(unit, minlength=self.units.n_units), 1))[self.target]
        return means


def count_targets(n_members: int, n_others: int, n_units: int, target_share: float = TARGET_SHARE) -> int:
    """How many members are asked about, and as many others: `target_share` of all units, or fewer where there are no more.

    Example: 90 members and 10 of a control: 10.
    """
    return min(n_others, n_members, round(target_share * n_units))


def create_frame(
    units: Units,
    member: Booleans,
    control: Booleans,
    *,
    target_share: float = TARGET_SHARE,
    evaluates: Evaluates = "this file",
    rng: np.random.Generator,
) -> Frame:
    """Choose the targets, as many members as non-members, and leave the others to the intruder as their own records.

    Meaning: with as many of both, a guess that does not look is right half of the time. On each side `target_share` of all
    units is asked about, or all the control where it is smaller. The rest is the population of the shadow models: records of
    the same kind, members among them; the intruder uses of them what they say, and not whether they are members. Where the
    control is small they are members alone; the released model has then seen what its shadows are made of, which favours the
    intruder.

    Raises NotFollowed with fewer than 10 targets on either side.
    Cost: O(n). Example: 100 units, 20 of them control: all these, 20 members, and 60 members for the shadows.
    """
    size = count_targets(int(member.sum()), int(control.sum()), units.n_units, target_share)
    chosen = [rng.permutation(np.flatnonzero(side))[:size] for side in (member, control)]
    target, calibration = np.zeros((2, units.n_units), dtype=bool)
    for side in chosen:
        target[side] = True
        calibration[side[: size // 2]] = True
    if size < FEWEST:
        raise NotFollowed(f"membership needs at least {FEWEST} members and {FEWEST} non-members to ask about")
    return Frame(units, member, control, target, ~target, calibration, evaluates)


def random_half(units: Units, rng: np.random.Generator) -> Booleans:
    """Shape (n_units,): a random half of the units."""
    half = np.zeros(units.n_units, dtype=bool)
    half[rng.permutation(units.n_units)[: units.n_units // 2]] = True
    return half


def rehearsal(units: Units, *, target_share: float = TARGET_SHARE, rng: np.random.Generator) -> Frame:
    """A random half of the units as members, the others as non-members: it is about how a file is made, not about the file.

    Raises NotFollowed as `create_frame`.
    """
    member = random_half(units, rng)
    return create_frame(units, member, ~member, target_share=target_share, evaluates=REHEARSED, rng=rng)
