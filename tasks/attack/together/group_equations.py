"""The equations of published group means: which rows of several releases show one unknown value, and what the values sum to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.attack.together.recognisable_rows import ReleaseRows
from tasks.mask.groups.grouping import choose_aggregate
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.precision_grid import find_precision_grid, grid_step
from tasks.mask.sampling import Sampling
from tasks.microdata.table import Floats, Integers, encode_jointly


@dataclass(frozen=True, slots=True)
class GroupEquations:
    """The equations of one attribute.

    releases: the places of the releases that publish its means. unknown, group, n: see `solve_group_means`. mean, rounding:
    shape (m,): of each group. of_record: shape (n records, releases): the unknown for which each record's row stands, -1 where
    it has none.
    """

    releases: tuple[int, ...]
    unknown: Integers
    group: Integers
    n: int
    mean: Floats
    rounding: Floats
    of_record: Integers

    @property
    def structure(self) -> bytes:
        """Equal for attributes with the same groups of the same unknowns."""
        return b"|".join(part.tobytes() for part in (np.array(self.releases), self.unknown, self.group))


def find_averaged_block(rows: ReleaseRows, name: str) -> tuple[str, ...] | None:
    """The attributes that tell the groups of one whose published values are their means; None: it shows no such means.

    Microaggregation must be the only step on it: what another step changed is no original, and a sample afterwards takes
    members away.
    """
    steps = [(i, step) for i, step in enumerate(rows.mechanisms) if name in step.target_attributes]
    if len(steps) != 1 or name not in rows.masked.names:
        return None
    place, step = steps[0]
    if not isinstance(step, Microaggregation) or choose_aggregate(step, rows.schema[name]) != "mean":
        return None
    if any(isinstance(later, Sampling) for later in rows.mechanisms[place + 1 :]):
        return None
    block = next(names for names, _ in step.groups if name in names)
    return (*block, *(one for one in step.strata or () if one in rows.masked.names and one not in block))


def create_group_equations(releases: Sequence[ReleaseRows], labels: Integers, name: str) -> GroupEquations | None:
    """The equations of one attribute; None where the first release or all others publish no means of it.

    Groups are rows that look alike in the attributes that were grouped together: two groups of equal means are one to the
    intruder, whose equation holds as well. labels: see `label_recognised`. One unknown is the value of a person's rows with one
    label, if it is the same in each of them. A value that changed is another one, and so is that of a row that is not joined.
    """
    shown = [(place, found) for place, rows in enumerate(releases) if (found := read_group_means(rows, name)) is not None]
    if len(shown) < 2 or shown[0][0] != 0:
        return None
    values = [releases[place].original.floats(name)[releases[place].alignment.record[one.rows]] for place, one in shown]
    persons = [_number_persons(releases, labels, place)[one.rows] for place, one in shown]
    value = np.unique(np.concatenate(values), return_inverse=True)[1].reshape(-1)
    pairs = np.column_stack([np.concatenate(persons), value])
    unknown = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    starts = np.cumsum([0, *(len(one.mean) for _, one in shown)])
    parts = np.split(unknown, np.cumsum([len(one.rows) for _, one in shown])[:-1])
    return GroupEquations(
        releases=tuple(place for place, _ in shown),
        unknown=unknown,
        group=np.concatenate([one.group + start for (_, one), start in zip(shown, starts[:-1], strict=True)]),
        n=int(unknown.max()) + 1,
        mean=np.concatenate([one.mean for _, one in shown]),
        rounding=np.concatenate([np.full(len(one.mean), one.rounding) for _, one in shown]),
        of_record=np.column_stack(
            [_find_own(releases[place], one.rows, part) for (place, one), part in zip(shown, parts, strict=True)]
        ),
    )


@dataclass(frozen=True, slots=True)
class GroupMeans:
    """The masked rows with a value, the group of each, the mean of each group, and how far the exact one may be from it."""

    rows: Integers
    group: Integers
    mean: Floats
    rounding: float


def read_group_means(release: ReleaseRows, name: str) -> GroupMeans | None:
    """The groups of one attribute of a release, as rows that look alike; None: it shows no means of them."""
    block = find_averaged_block(release, name)
    if block is None:
        return None
    values = release.masked.floats(name)
    rows = np.flatnonzero(~np.isnan(values))
    codes = np.column_stack([encode_jointly(release.masked.column(one))[0][rows] for one in block])
    _, first, group = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    rounding = grid_step(find_precision_grid(release.masked, name)) / 2
    return GroupMeans(rows, group.reshape(-1), values[rows][first], rounding) if len(rows) else None


def _number_persons(releases: Sequence[ReleaseRows], labels: Integers, place: int) -> Integers:
    """A number for each masked row of a release: the same for rows with one label; rows of other people have their own."""
    n, t = labels.shape
    own, row = releases[place], releases[place].row
    numbers: Integers = n * t + place + t * np.arange(own.masked.n)
    here = np.flatnonzero(row >= 0)
    numbers[row[here]] = here * t + labels[here, place]
    return numbers


def _find_own(release: ReleaseRows, rows: Integers, unknown: Integers) -> Integers:
    """Shape (n,): the unknown for which each record's row in a release stands, -1 where it has none."""
    by_row = np.full(release.masked.n + 1, -1, dtype=np.int64)  # the last one is of records without a row
    by_row[rows] = unknown
    found: Integers = by_row[release.row]
    return found
