"""Draws per person show whose value changed: the same value shows the same mask in all releases, another value another one.

Who knows a value as it was in each release knows who must show the same twice. The rows of the others are those that no row of
the other release explains, as if one person had left and another had come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tasks.attack.together.joined_file import ReleaseFile
from tasks.mask.personal_draws import list_values
from tasks.mask.personal_laws import is_personal
from tasks.microdata.table import Booleans, Integers, Microdata


def split_changed(
    files: tuple[ReleaseFile, ...], of: int, n: int, knows: Sequence[str]
) -> tuple[tuple[ReleaseFile, ...], int, dict[int, Booleans]]:
    """The files in which somebody whose known values, drawn per person, are others than in file `of` is another record.

    n: the number of records. Returns the files, the number of records with those that were added (one for each record and its
    values), and for each file with such people, by its place, shape (n,): who they are.
    Cost: O(n log n) for each file and column. Example: of 100 people one is a year older: record 100 is who they were.
    """
    found, changed, added = list(files), dict[int, Booleans](), dict[tuple[int, str], int]()
    own, here = files[of].original, _place_records(files[of], n)
    for i, file in enumerate(files):
        names = [] if i == of else _list_shared_draws(files[of], file, knows)
        there = _place_records(file, n)
        both = np.flatnonzero((here >= 0) & (there >= 0))
        now, then = (_write_values(*one, names) for one in ((own, here[both]), (file.original, there[both])))
        differs = [k for k, (one, other) in enumerate(zip(now, then, strict=True)) if one != other]
        if differs:
            record = file.record.copy()
            for k in differs:
                record[there[both[k]]] = added.setdefault((int(both[k]), then[k]), n + len(added))
            changed[i] = np.isin(np.arange(n), both[differs])
            found[i] = replace(file, record=record)
    return tuple(found), n + len(added), changed


def _list_shared_draws(one: ReleaseFile, other: ReleaseFile, knows: Sequence[str]) -> list[str]:
    """The known attributes that the same steps drew per person in both releases, by one law."""
    steps = [step for step in one.mechanisms if is_personal(step) and step in other.mechanisms]
    drawn = {name for step in steps for name in step.target_attributes}
    held = [set(file.original.names) & set(file.masked.names) for file in (one, other)]
    return [name for name in knows if name in drawn and name in held[0] and name in held[1]]


def _place_records(file: ReleaseFile, n: int) -> Integers:
    """Shape (n,): the row of the source of each record, -1 where it has none."""
    places = np.full(n, -1, dtype=np.int64)
    places[file.record] = np.arange(file.original.n)
    return places


def _write_values(source: Microdata, rows: Integers, names: list[str]) -> list[str]:
    """The values of some rows as the draws take them."""
    return list_values([source.column(name).take(pa.array(rows)) for name in names]) if names else [""] * len(rows)
