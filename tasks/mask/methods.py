"""The masking methods: which there are, what each does, and how the steps of a release are applied in order."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, get_args

import numpy as np
import pyarrow as pa
from pydantic import Field

from tasks.mask import personal_laws, pseudonyms, sampling
from tasks.mask.carrying import find_bounds
from tasks.mask.categories.pram import Pram
from tasks.mask.coding.recoding import Recoding
from tasks.mask.coding.rounding import Rounding
from tasks.mask.coding.top_bottom_coding import TopBottomCoding
from tasks.mask.external_release.released import FalseDeclaration, Synthetic, Undeclared
from tasks.mask.external_release.shown_digits import as_shown, match_column_types, stack_tables
from tasks.mask.fitting import fitting_attributes
from tasks.mask.groups import frozen_groups
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.intruder_belief import Belief, create_initial_belief
from tasks.mask.noise.noise import Noise
from tasks.mask.precision_grid import PrecisionGrids, find_precision
from tasks.mask.pseudonyms import Pseudonyms
from tasks.mask.ranks import reverse_mapping
from tasks.mask.ranks.rank_jitter import RankJitter
from tasks.mask.ranks.rank_swapping import RankSwapping
from tasks.mask.ranks.reverse_mapping import ReverseMapping
from tasks.mask.sampling import Sampling
from tasks.mask.step import Draw, IntruderView, MaskContext, MaskingMethod, NoteSink, discard_note
from tasks.mask.strata import apply_in_strata, infer_in_strata, refuse_unfit_strata
from tasks.mask.value_bounds import ValueBounds
from tasks.microdata.random_order import draw_permutation
from tasks.microdata.randomness import SEED_BYTES, stream
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Integers, Microdata, holds_same_values

_AnyStep = (
    Microaggregation
    | RankSwapping
    | RankJitter
    | Pram
    | Noise
    | ReverseMapping
    | TopBottomCoding
    | Rounding
    | Recoding
    | Sampling
    | Pseudonyms
)
Masking = Annotated[_AnyStep, Field(discriminator="method")]  # what a release file may ask for
Mechanism = Annotated[_AnyStep | Undeclared | FalseDeclaration | Synthetic, Field(discriminator="method")]  # what was done

METHODS: tuple[type[MaskingMethod], ...] = get_args(_AnyStep)  # in the order in which they are listed


StepResult = tuple[Microdata, Integers | None]  # the table after a step, and the rows that it kept, if not all
QUICK_ROWS = 20_000  # microaggregated within seconds by every partition


@dataclass(frozen=True, slots=True)
class MaskResult:
    """A masked table before it is shuffled.

    data: the published columns, masked; row i is the released form of record record[i] of the source, ascending.
    mechanisms: the steps with their attributes resolved: all that an intruder can know who knows the method. Never the seed.
    order: a random permutation of the rows: row order[i] of `data` is row i of the released file.
    """

    data: Microdata
    record: Integers
    mechanisms: tuple[Mechanism, ...]
    order: Integers


def mask(
    data: Microdata,
    schema: Schema,
    steps: tuple[Masking, ...],
    *,
    seed: bytes,
    path: tuple[str, ...],
    secret: bytes | None = None,
    precision: PrecisionGrids | None = None,
    tell: NoteSink = discard_note,
) -> MaskResult:
    """Apply masking steps in order.

    Each step draws from a stream of its own, named by `path`, its place and its parameters: changing one moves no other.
    Numbers are rounded after each step to the precision that the source column shows; columns that no step names stay as they
    are, bit for bit, and so do the rows, but for those that sampling leaves out: the next steps see only what is left.
    Pseudonyms are not among the columns: somebody who has their key adds them to the released file (`add_pseudonyms`).

    Parameters
    ----------
    data: the source, with at least the columns of `schema`. seed: 32 secret bytes. path: names the source and the release.
    secret: 32 bytes of the series, for steps that draw per person; without them they draw anew.
    precision: the grids of the masked columns; default: those of the source. tell: takes what the steward should know of the
    steps, no value of the table; by default nobody listens, as where an attack repeats the masking.

    Returns the published columns, the source's row of each of theirs, what was done, and an order for the released file.

    Raises InputError for a step that does not fit the table. Example: without steps the published columns come back unchanged.
    """
    mechanisms = resolve_steps(steps, schema, "masking")

    def draw(i: int, step: Masking) -> Draw:
        return partial(stream, seed, *path, f"{i}:{step.method}", _canonical(step))

    def apply(site: MaskContext, step: Masking, later: tuple[Masking, ...]) -> StepResult:
        return _apply_step(site, step, step.apply)

    how = (draw, apply, precision)
    published, record = _apply_steps(data, schema, mechanisms, *how, tell=tell, secret=secret)
    # steps and columns are in the path: two different releases of one source must not show their rows in one order
    steps_and_columns = (*(_canonical(step) for step in mechanisms), *schema.release_columns)
    order = draw_permutation(published.n, rng=stream(seed, *path, "order", *steps_and_columns))
    return MaskResult(published, record, mechanisms, order)


def resolve_steps(steps: tuple[Masking, ...], schema: Schema, where: str) -> tuple[Masking, ...]:
    """The steps with the attributes they mask written out; InputError where one of them does not fit.

    where: the place of the list in the release file.
    """
    found = tuple(_resolve_step(step, schema, f"{where}[{i}]") for i, step in enumerate(steps))
    refuse_unfit_strata(found, schema, where)
    pseudonyms.refuse_twice(found, where)
    reverse_mapping.refuse_unmasked_attributes(found, where)
    frozen_groups.refuse_unfit_pipeline(found, where)
    personal_laws.refuse_masked_again(found, where)
    return found


def find_method(name: str) -> type[MaskingMethod] | None:
    """The method of this name; None: this version has none."""
    return next((one for one in METHODS if one.description().method == name), None)


def refuse_unfit(data: Microdata, schema: Schema, steps: tuple[Masking, ...]) -> None:
    """Refuse steps that `mask` would refuse for what the table holds; quick, and nothing is kept. steps: resolved.

    A method that takes long is looked at only (`MaskingMethod.check`), unless a later step masks what it did and the table is
    small; the others are carried out with random numbers that nobody uses again.
    """

    def draw(i: int, step: Masking) -> Draw:
        return partial(stream, secrets.token_bytes(SEED_BYTES), "check")

    def try_step(site: MaskContext, step: Masking, later: tuple[Masking, ...]) -> StepResult:
        masked_later = {name for one in later for name in one.target_attributes}
        only_checked = data.n > QUICK_ROWS or masked_later.isdisjoint(step.target_attributes)
        return _apply_step(site, step, step.check if only_checked else step.apply)

    _apply_steps(data, schema, steps, draw, try_step, tell=discard_note)


def _apply_steps(
    data: Microdata,
    schema: Schema,
    steps: tuple[Masking, ...],
    draw: Callable[[int, Masking], Draw],
    apply: Callable[[MaskContext, Masking, tuple[Masking, ...]], StepResult],
    precision: PrecisionGrids | None = None,
    *,
    tell: NoteSink,
    secret: bytes | None = None,
) -> tuple[Microdata, Integers]:
    """The published columns after all steps, and the source's row of each of theirs.

    apply: is given a step and those after it.
    """
    published, source, record = data.select(schema.release_columns), data, np.arange(data.n, dtype=np.int64)
    precision = precision or find_precision(published, {name for step in steps for name in step.target_attributes})
    for i, step in enumerate(steps):
        site = MaskContext(published, source, data, schema, precision, draw(i, step), f"masking[{i}]", tell, secret)
        published, kept = apply(site, step, steps[i + 1 :])
        if kept is not None:
            source, record = source.take(kept), record[kept]
    return published, record


def infer_belief(
    originals: Microdata,
    released: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    present: Integers | None = None,
    *,
    n_records: int | None = None,
    persons: pa.Array | None = None,
    window_at_most: float | None = None,
) -> Belief:
    """What an intruder concludes who holds `originals` (their attributes), the released table and the steps.

    originals: one row per record, the columns they know. n_records: of the source; default: they hold all of them.
    released: the released table, rows in any order; one that was masked elsewhere may show decimals where the source has
    whole numbers, and more or fewer digits than the source.
    present: the records that they know to be in the release, where they know that of all of them.
    persons: whose record each is, where the schema names a person key and the intruder knows it.
    window_at_most: a bound on the windows of rank swapping and rank jitter, in percent, of an intruder who does not know them.

    Returns what they conclude of all their records; where steps came after the last sampling and they know who was sampled, of
    `present` alone.
    """
    of_source = originals.n if n_records is None else n_records
    view = _view_before_masking(originals, released, schema, of_source, persons, window_at_most)
    last = max((i for i, step in enumerate(mechanisms) if isinstance(step, Sampling)), default=len(mechanisms))
    for i, step in enumerate(mechanisms):
        view = replace(view, knowledge=_infer_from_step(replace(view, later=mechanisms[i + 1 :]), step))
        if i == last and present is not None and any(step.target_attributes for step in mechanisms[i:]):
            view = sampling.restrict_to_sample(view, present)
    return replace(view.knowledge, believed=as_shown(view.knowledge.believed, released))


def bound_shown_values(
    originals: Microdata,
    released: Microdata,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    position: int,
    name: str,
    *,
    persons: pa.Array | None = None,
) -> ValueBounds | None:
    """Bounds on the released form of the value that each record held before step `position`, whoever has it then.

    What step `position` does to the attribute is passed over. None: nothing is known. Parameters: as `infer_belief`; the
    intruder holds all records of a complete release.
    """
    view = _view_before_masking(originals, released, schema, originals.n, persons, None)
    for i, step in enumerate(mechanisms[:position]):
        view = replace(view, knowledge=_infer_from_step(replace(view, later=mechanisms[i + 1 :]), step))
    bounds = find_bounds(view, name)
    for i, step in enumerate(mechanisms[position + 1 :], position + 1):
        if bounds is not None and name in step.target_attributes:
            # in strata it matters who has the values, which is what the exchange has hidden
            bounds = step.move_bounds(replace(view, later=mechanisms[i + 1 :]), bounds) if step.strata is None else None
    return bounds


def _view_before_masking(
    originals: Microdata,
    released: Microdata,
    schema: Schema,
    n_records: int,
    persons: pa.Array | None,
    window_at_most: float | None,
) -> IntruderView:
    originals = match_column_types(originals, released)
    precision = _find_precision_of_both(originals, released)
    known = create_initial_belief(originals, complete=n_records == originals.n)
    for key in schema.find_by_role(Role.PERSON) if persons is not None else ():
        originals = Microdata(originals.arrow.append_column(key, persons))
    return IntruderView(known, originals, originals, released, schema, precision, released.n == n_records, window_at_most)


def _find_precision_of_both(originals: Microdata, released: Microdata) -> PrecisionGrids:
    """The precision of what either table shows of an attribute; of one that is equal in both that of one."""
    same = tuple(name for name in originals.names if holds_same_values(originals.column(name), released.column(name)))
    others = tuple(name for name in originals.names if name not in same)
    both = stack_tables(originals.select(others), released.select(others)) if others else originals
    grids = {**find_precision(originals, same), **find_precision(both, others)}
    return {name: grids[name] for name in originals.names if name in grids}


def describe() -> tuple[dict[str, str], ...]:
    """One row per method, for `sdcert methods mask`."""
    return tuple(one.description().row() for one in METHODS)


def _resolve_step(step: Masking, schema: Schema, where: str) -> Masking:
    if step.explicit_attributes == ():
        return step
    return step.model_copy(update={"attributes": fitting_attributes(step.mask_targets, schema, where)})


def _apply_step(site: MaskContext, step: Masking, apply: Callable[[MaskContext], Microdata]) -> StepResult:
    """apply: the step's own, or its `check`."""
    if isinstance(step, Sampling):
        kept = sampling.sample_rows(site, step)
        return site.data.take(kept), kept
    return apply(site) if step.strata is None else apply_in_strata(site, step.strata, apply), None


def _infer_from_step(view: IntruderView, step: Mechanism) -> Belief:
    return step.infer(view) if step.strata is None else infer_in_strata(view, step, step.infer)


def _canonical(step: Masking) -> str:
    return json.dumps(step.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
