"""Steps that are carried out within strata: the rows that share a combination of values in some published attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tasks.mask.images import Between, Knowledge, Law, Shown, joint_codes, row_codes
from tasks.mask.step import Site, Step, View
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Integers, Microdata, shared_codes


def refuse_unfit_strata(steps: Iterable[Step], schema: Schema, where: str) -> None:
    """InputError for a `by` that is not published as it is: strata must be visible, and masking them would undo that."""
    steps = tuple(steps)
    masked = {name for step in steps for name in step.masked}
    for i, step in enumerate(steps):
        for name in step.by or ():
            place, allowed = f"{where}[{i}].by", ", ".join(n for n in schema.published if n not in masked) or "none"
            remedy = "take it out of `by`, or out of the other steps"
            if name not in schema:
                remedy = did_you_mean(name, schema.names, "compare it with the column names of the table")
                raise InputError("unknown-attribute", place, f"the table has no attribute `{name}`", allowed, remedy, name)
            if not schema[name].published:
                raise InputError("unpublished-attribute", place, f"`{name}` is not published", allowed, remedy, name)
            if name in masked:
                what = f"`{name}` is masked itself, and the strata would tell its true values"
                raise InputError("masked-stratum", place, what, allowed, remedy, name)


def in_strata(site: Site, by: tuple[str, ...], masked: Callable[[Site], Microdata]) -> Microdata:
    """The table after a step that is carried out in each stratum by itself; a missing value of `by` is a stratum of its own."""
    strata = _rows_of(row_codes(site.source, by))
    parts = [_part(site, rows, i, len(strata), by, masked) for i, rows in enumerate(strata)]
    back = np.argsort(np.concatenate(strata), kind="stable")
    return Microdata(pa.concat_tables([part.arrow for part in parts])).take(back)


def _part(
    site: Site, rows: Integers, i: int, n_strata: int, by: tuple[str, ...], masked: Callable[[Site], Microdata]
) -> Microdata:
    try:
        return masked(site.of_rows(rows, partial(site.draw, f"stratum {i}")))
    except InputError as error:
        what = f"{error.what} (in one of the {n_strata:,} strata by {' and '.join(by)}, of {len(rows):,} rows)"
        remedy = f"{error.remedy}, or join the strata (coarser attributes in `by`, or none)"
        raise replace(error, what=what, remedy=remedy) from None


def concluded_in_strata(view: View, step: Step, conclude: Callable[[View], Knowledge]) -> Knowledge:
    """What an intruder concludes of a step that was carried out in strata: nothing, unless he knows everybody's stratum."""
    by = step.by or ()
    if not set(by) <= set(view.knowledge.believed.names) or not view.knowledge.is_certain(by):
        return view.knowledge.doubting(step.masked)
    coded = [shared_codes(view.originals.column(name), view.released.column(name)) for name in by]
    codes = joint_codes([np.concatenate(pair) for pair in coded], view.originals.n + view.released.n)
    own, shown = codes[: view.originals.n], codes[view.originals.n :]
    strata = _rows_of(own)
    released = [np.flatnonzero(shown == own[rows[0]]) for rows in strata]
    parts = [conclude(view.of_rows(rows, of_them)) for rows, of_them in zip(strata, released, strict=True)]
    return _joined(parts, strata, released, view)


def _rows_of(codes: Integers) -> list[Integers]:
    order = np.argsort(codes, kind="stable").astype(np.int64)
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _joined(parts: list[Knowledge], strata: list[Integers], released: list[Integers], view: View) -> Knowledge:
    """The conclusions of the strata as conclusions of all records. What is unclear in one stratum is unclear."""
    unclear = tuple(dict.fromkeys(name for part in parts for name in part.unclear))
    parts = [part.without(unclear) for part in parts]
    back = np.argsort(np.concatenate(strata), kind="stable")
    believed = Microdata(pa.concat_tables([part.believed.arrow for part in parts])).take(back)
    shown = tuple(_joined_shown(group, back) for group in _same([part.shown for part in parts]))
    between = tuple(
        Between(group[0].name, *(np.concatenate([getattr(part, end) for part in group])[back] for end in ("low", "high")))
        for group in _same([part.between for part in parts])
    )
    laws = tuple(_joined_law(group, back, released, view.released.n) for group in _same([part.laws for part in parts]))
    complete = all(part.complete for part in parts)
    return Knowledge(believed, shown, between, unclear, laws, complete)


def _same(parts: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What each stratum concluded, side by side: every stratum went through the same steps."""
    return list(zip(*parts, strict=True))


def _joined_shown(parts: tuple[Shown, ...], back: Integers) -> Shown:
    offsets = np.cumsum([0, *(int(part.twins.max(initial=-1)) + 1 for part in parts)])
    twins = np.concatenate([part.twins + offset for part, offset in zip(parts, offsets, strict=False)])
    return Shown(parts[0].names, twins[back], all(part.certain for part in parts))


def _joined_law(parts: tuple[Law, ...], back: Integers, released: list[Integers], n_released: int) -> Law:
    """One table of chances with a block for each stratum; a row of no stratum shows what no record can show."""
    sizes = [len(part.probability) for part in parts]
    begins = np.cumsum([0, *sizes])
    probability = np.zeros((begins[-1] + 1, begins[-1] + 1))
    shown = np.full(n_released, begins[-1], dtype=np.int64)
    for part, rows, begin, size in zip(parts, released, begins, sizes, strict=False):
        probability[begin : begin + size, begin : begin + size] = part.probability
        shown[rows] = part.shown + begin
    own = np.concatenate([part.own + begin for part, begin in zip(parts, begins, strict=False)])[back]
    return Law(parts[0].names, own, shown, probability)
