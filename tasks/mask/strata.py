"""Steps that are carried out within strata: the rows that share a combination of values in some published attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tasks.mask.intruder_belief import Belief, DiscreteLikelihood, EqualTo, GaussianLikelihood, InInterval
from tasks.mask.step import IntruderView, MaskContext, MaskStep
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.codes import joint_codes, row_codes
from tasks.microdata.errors import InputError
from tasks.microdata.schema import Schema
from tasks.microdata.suggestion import did_you_mean
from tasks.microdata.table import Floats, Integers, Microdata, encode_jointly

Conclusion = TypeVar("Conclusion", EqualTo, InInterval, DiscreteLikelihood)
MOST_CELLS = 25_000_000  # of the probabilities of all strata in one table: 200 MB


def refuse_unfit_strata(steps: Iterable[MaskStep], schema: Schema, where: str) -> None:
    """Raise InputError if an attribute of `by` is not published, or is masked: the strata would reveal its values."""
    steps = tuple(steps)
    masked = {name for step in steps for name in step.target_attributes}
    for i, step in enumerate(steps):
        for name in step.by or ():
            location, allowed = f"{where}[{i}].by", ", ".join(n for n in schema.release_columns if n not in masked) or "none"
            remedy = "take it out of `by`, or out of the other steps"
            if name not in schema:
                remedy = did_you_mean(name, schema.names, "compare it with the column names of the table")
                raise InputError("unknown-attribute", location, f"the table has no attribute `{name}`", allowed, remedy, name)
            if not schema[name].is_published:
                raise InputError("unpublished-attribute", location, f"`{name}` is not published", allowed, remedy, name)
            if name in masked:
                what = f"`{name}` is masked itself, and the strata would reveal its true values"
                raise InputError("masked-stratum", location, what, allowed, remedy, name)


def apply_in_strata(site: MaskContext, by: tuple[str, ...], masked: Callable[[MaskContext], Microdata]) -> Microdata:
    """The table after a step that is carried out in each stratum by itself; a missing value of `by` is a stratum of its own."""
    strata = _list_rows(row_codes(site.source, by))
    parts = [_part(site, rows, i, len(strata), by, masked) for i, rows in enumerate(strata)]
    back = np.argsort(np.concatenate(strata), kind="stable")
    return Microdata(pa.concat_tables([part.arrow for part in parts])).take(back)


def _part(
    site: MaskContext, rows: Integers, i: int, n_strata: int, by: tuple[str, ...], masked: Callable[[MaskContext], Microdata]
) -> Microdata:
    try:
        return masked(site.select_rows(rows, partial(site.draw, f"stratum {i}")))
    except InputError as error:
        size = f"{len(rows):,} row{'s' if len(rows) > 1 else ''}"
        what = f"{error.what} (in one of the {n_strata:,} strata by {' and '.join(by)}, of {size})"
        remedy = f"{error.remedy}, or join the strata (coarser attributes in `by`, or none)"
        raise replace(error, what=what, remedy=remedy) from None


def infer_in_strata(view: IntruderView, step: MaskStep, conclude: Callable[[IntruderView], Belief]) -> Belief:
    """What an intruder concludes of a step that was carried out in strata: nothing, unless they know everybody's stratum.

    Only what follows for the masked attributes comes from the strata. What was concluded of others before stays as it is: a
    record can be the twin of one in another stratum there.
    """
    by = step.by or ()
    if not set(by) <= set(view.knowledge.believed.names) or not view.knowledge.is_certain(by):
        return view.knowledge.forget(step.target_attributes)
    coded = [encode_jointly(view.originals.column(name), view.released.column(name)) for name in by]
    codes = joint_codes([np.concatenate(pair) for pair in coded], view.originals.n + view.released.n)
    strata = _list_rows(codes[: view.originals.n])
    released = _rows_with(codes[view.originals.n :], codes[[rows[0] for rows in strata]])
    parts = [conclude(view.select_rows(rows, of_them)) for rows, of_them in zip(strata, released, strict=True)]
    return _join_beliefs(parts, strata, released, view, frozenset(step.target_attributes))


def _list_rows(codes: Integers) -> list[Integers]:
    order = np.argsort(codes, kind="stable").astype(np.int64)
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _rows_with(codes: Integers, wanted: Integers) -> list[Integers]:
    """The rows that hold each of the wanted codes."""
    order = np.argsort(codes, kind="stable").astype(np.int64)
    first, last = (np.searchsorted(codes[order], wanted, side=side) for side in ("left", "right"))
    return [order[begin:end] for begin, end in zip(first, last, strict=True)]


def _join_beliefs(
    parts: list[Belief], strata: list[Integers], released: list[Integers], view: IntruderView, masked: frozenset[str]
) -> Belief:
    """The conclusions of the strata as conclusions of all records. What is unclear in one stratum is unclear."""
    unclear = tuple(dict.fromkeys(name for part in parts for name in part.unclear if name in masked))
    parts = [part.drop_attributes(unclear) for part in parts]
    back = np.argsort(np.concatenate(strata), kind="stable")
    likelihoods = [part.likelihoods for part in parts]
    if _n_cells(likelihoods, masked) > MOST_CELLS:
        if not masked <= {one.name for part in parts for one in part.between}:
            return view.knowledge.forget(masked)
        likelihoods = [
            tuple(likelihood for likelihood in part if masked.isdisjoint(likelihood.names)) for part in likelihoods
        ]  # the intervals are left
    rest = view.knowledge.drop_attributes(masked)
    return replace(
        rest,
        believed=Microdata(pa.concat_tables([part.believed.arrow for part in parts])).take(back),
        shown=(*rest.shown, *(_join_equalities(group, strata) for group in _same([part.shown for part in parts], masked))),
        between=(*rest.between, *(_join_intervals(group, back) for group in _same([part.between for part in parts], masked))),
        likelihoods=(
            *rest.likelihoods,
            *(_join_discrete_likelihoods(group, back, released, view.released.n) for group in _same(likelihoods, masked)),
        ),
        blurred=_collect_gaussian_likelihoods(parts, view, back, released, masked),
        bounds=(*rest.bounds, *_join_bounds(parts, back, masked)),
        unclear=(*rest.unclear, *unclear),
    )


def _same(parts: Sequence[tuple[Conclusion, ...]], masked: frozenset[str]) -> list[tuple[Conclusion, ...]]:
    """What each stratum concluded of the masked attributes, side by side: every stratum went through the same steps."""
    return list(zip(*(tuple(one for one in part if masked.issuperset(_names(one))) for part in parts), strict=True))


def _names(one: EqualTo | InInterval | DiscreteLikelihood) -> tuple[str, ...]:
    return (one.name,) if isinstance(one, InInterval) else one.names


def _n_cells(likelihoods: Sequence[tuple[DiscreteLikelihood, ...]], masked: frozenset[str]) -> int:
    """How many cells the largest joined law would have."""
    return max((sum(len(part.probability) for part in group) ** 2 for group in _same(likelihoods, masked)), default=0)


def _join_equalities(parts: tuple[EqualTo, ...], rows: Sequence[Integers]) -> EqualTo:
    """rows: of each stratum. Where all twins show the same, each record stands for itself."""
    if all(part.certain for part in parts):
        return EqualTo(parts[0].names)
    of_strata = [np.arange(len(one)) if part.twins is None else part.twins for part, one in zip(parts, rows, strict=True)]
    offsets = np.cumsum([0, *(int(twins.max(initial=-1)) + 1 for twins in of_strata)])
    twins = np.concatenate([twins + offset for twins, offset in zip(of_strata, offsets, strict=False)])
    return EqualTo(parts[0].names, twins[np.argsort(np.concatenate(rows), kind="stable")])


def _join_intervals(parts: tuple[InInterval, ...], back: Integers) -> InInterval:
    low, high = (np.concatenate([getattr(part, end) for part in parts])[back] for end in ("low", "high"))
    return InInterval(parts[0].name, low, high)


def _join_bounds(parts: list[Belief], back: Integers, masked: frozenset[str]) -> Iterator[ValueBounds]:
    """The bounds of each masked attribute that has them in all strata; its column is known where it is in all of them."""
    for name in masked:
        found = [bounds for part in parts for bounds in part.bounds if bounds.name == name]
        if len(found) < len(parts):
            continue
        low, high = (np.concatenate([getattr(bounds, end) for bounds in found])[back] for end in ("low", "high"))
        lowest, highest = (_join_columns([getattr(bounds, ends) for bounds in found]) for ends in ("lowest", "highest"))
        yield ValueBounds(name, low, high, lowest, highest)


def _join_columns(columns: list[Floats | None]) -> Floats | None:
    known = [column for column in columns if column is not None]
    return np.sort(np.concatenate(known)) if len(known) == len(columns) else None


def _join_discrete_likelihoods(
    parts: tuple[DiscreteLikelihood, ...], back: Integers, released: list[Integers], n_released: int
) -> DiscreteLikelihood:
    """One table of chances with a block for each stratum; a row of no stratum shows what no record can show."""
    sizes = [len(part.probability) for part in parts]
    begins = np.cumsum([0, *sizes])
    probability = np.zeros((begins[-1] + 1, begins[-1] + 1))
    shown = np.full(n_released, begins[-1], dtype=np.int64)
    for part, rows, begin, size in zip(parts, released, begins, sizes, strict=False):
        probability[begin : begin + size, begin : begin + size] = part.probability
        shown[rows] = part.shown + begin
    own = np.concatenate([part.own + begin for part, begin in zip(parts, begins, strict=False)])[back]
    return DiscreteLikelihood(parts[0].names, own, shown, probability)


def _collect_gaussian_likelihoods(
    parts: list[Belief], view: IntruderView, back: Integers, released: list[Integers], masked: frozenset[str]
) -> tuple[GaussianLikelihood, ...]:
    """Noise that the step did not touch, and that of the strata: there a masked attribute can stand beside an untouched one."""
    untouched = tuple(part for part in view.knowledge.blurred if masked.isdisjoint(part.names))
    names = {part.names for part in untouched}
    touched = zip(*(tuple(one for one in part.blurred if one.names not in names) for part in parts), strict=True)
    return (*untouched, *(_join_gaussian_likelihoods(group, back, released, view.released.n) for group in touched))


def _join_gaussian_likelihoods(
    parts: tuple[GaussianLikelihood, ...], back: Integers, released: list[Integers], n_released: int
) -> GaussianLikelihood:
    begins = np.cumsum([0, *(len(part.covariance) for part in parts)])
    placed = np.full((n_released, len(parts[0].names)), np.nan)
    of_row = np.full(n_released, -1, dtype=np.int64)
    for part, rows, begin in zip(parts, released, begins, strict=False):
        placed[rows], of_row[rows] = part.placed, part.of_row + begin
    return replace(
        parts[0],
        centre=np.concatenate([part.centre for part in parts])[back],
        placed=placed,
        covariance=np.concatenate([part.covariance for part in parts]),
        of_record=np.concatenate([part.of_record + begin for part, begin in zip(parts, begins, strict=False)])[back],
        of_row=of_row,
    )
