"""The cached tasks of the stage: source in; masked table, whose row is whose, mechanisms and the table to release out."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, cast

import numpy as np

from tasks.mask.control import harmonise_control, set_aside
from tasks.mask.external_release.adoption import AdoptionPlan, adopt
from tasks.mask.groups.frozen_groups import EarlierGroups, freeze_groups
from tasks.mask.groups.microaggregation import Microaggregation
from tasks.mask.methods import Masking, mask, resolve_steps
from tasks.mask.outputs import ControlOutputs, KeptGroupsOutputs, MaskOutputs, Mechanisms, SetAsideOutputs
from tasks.mask.personal_laws import is_personal, keep_laws
from tasks.mask.pseudonyms import Stable, add_pseudonyms, derive_key
from tasks.microdata.alignment import Alignment, RowAlignment, invert_permutation
from tasks.microdata.random_order import draw_permutation
from tasks.microdata.randomness import stream
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.runtime.artifacts import Store, content_address
from tasks.runtime.draws import pseudonym_secret, read_seed
from tasks.runtime.stages import stage

Steps = tuple[Masking, ...]
RowOrder = Literal["shuffled", "kept"]
ROOMS = ("mask", "classify", "ingest")


@stage("mask", rooms=ROOMS)
def mask_table(
    data: TableRef,
    schema: RecordRef[Schema],
    steps: RecordRef[Steps],
    draw: str,
    row_order: RowOrder,
    pseudonym_key: str | None,
) -> MaskOutputs:
    """Mask the table with the seed of a draw.

    pseudonym_key: the id of the key of the series, if a step asks for one: pseudonyms, or draws per person.
    """
    store = Store()
    source, wanted = store.table(data), store.record(steps, Steps)
    path = ("mask", content_address(source))
    attributes, seed = store.record(schema, Schema), read_seed(draw)
    secret = None if pseudonym_key is None else derive_key(pseudonym_secret(pseudonym_key), "per person")
    if secret is None and any(is_personal(step) for step in wanted):
        raise RuntimeError("draws per person need the key of the series")
    notes: list[str] = []
    done = mask(source, attributes, wanted, seed=seed, path=path, secret=secret, tell=lambda note: notes.append(note()))
    order = done.order if row_order == "shuffled" else np.arange(done.data.n, dtype=np.int64)
    # steps and columns are in the path: the pseudonyms of two releases of one source must join nothing
    steps_and_columns = (*(step.model_dump_json() for step in done.mechanisms), *attributes.release_columns)
    keys: dict[Stable, bytes] = {"release": derive_key(seed, *path, *steps_and_columns)}
    if pseudonym_key is not None:
        keys["series"] = derive_key(pseudonym_secret(pseudonym_key), "series")
    identified = source.take(done.record[order])
    released = add_pseudonyms(done.data.take(order), identified, attributes, done.mechanisms, keys)
    alignment = Alignment(done.record, invert_permutation(order), source.n)
    return _store_outputs(store, done.data, released, alignment, done.mechanisms, tuple(notes))


@stage("keep released", rooms=ROOMS)
def keep_released(
    data: TableRef,
    schema: RecordRef[Schema],
    steps: RecordRef[Steps],
    key: str | None,
    drawn: RecordRef[Steps],
    earlier_data: TableRef | None,
    earlier_masked: TableRef | None,
    earlier_alignment: TableRef | None,
    history: TableRef | None,
) -> KeptGroupsOutputs:
    """Prepare a release that keeps groups or draws of earlier ones: what is masked in place of the source, and by which steps.

    key: the column that tells people apart across versions. drawn: the steps of earlier releases that drew per person, newest
    first. earlier_data, earlier_masked, earlier_alignment: of the release whose groups are kept; None: this is the first one.
    history: who had been released by then, and in which cohort.
    """
    store = Store()
    source, attributes = store.table(data), store.record(schema, Schema)
    earlier = None
    if earlier_data is not None and earlier_masked is not None and earlier_alignment is not None:
        before = store.table(earlier_data)
        alignment = Alignment.from_table(store.table(earlier_alignment), before.n)
        released_before = None if history is None else store.table(history)
        earlier = EarlierGroups(before, store.table(earlier_masked), alignment.record, released_before)
    drawn_before = store.record(drawn, Steps)
    resolved = resolve_steps(store.record(steps, Steps), attributes, "masking")
    wanted = cast("Steps", keep_laws(source, attributes, resolved, key, drawn_before))
    if not any(isinstance(step, Microaggregation) and step.frozen for step in wanted):
        nothing: tuple[str, ...] = ()
        notes = store.put_record(nothing, tuple[str, ...])
        return {"data": data, "steps": store.put_record(wanted, Steps), "notes": notes}
    done = freeze_groups(source, attributes, wanted, key, earlier)
    return {
        "data": store.put_table(done.data),
        "steps": store.put_record(cast("Steps", done.steps), Steps),
        "history": store.put_table(done.history),
        "notes": store.put_record(done.describe(), tuple[str, ...]),
    }


@stage("control", rooms=ROOMS)
def set_aside_control(data: TableRef, schema: RecordRef[Schema], share: float, draw: str) -> SetAsideOutputs:
    """Set a share of the people aside as the control."""
    store = Store()
    source, attributes = store.table(data), store.record(schema, Schema)
    rng = stream(read_seed(draw), "control", content_address(source))
    rest, control = set_aside(find_units(source, attributes), share, rng=rng)
    return {"data": store.put_table(source.take(rest)), "control": store.put_table(source.take(control))}


@stage("fit control", rooms=ROOMS)
def fit_control(data: TableRef, schema: RecordRef[Schema], control: TableRef, key: str | None) -> ControlOutputs:
    """Bring the people of another table into the columns of the source, as a control."""
    store = Store()
    source, others = store.table(data), store.table(control)
    return {"control": store.put_table(harmonise_control(source, others, store.record(schema, Schema), key))}


@stage("adopt", rooms=ROOMS)
def adopt_table(
    data: TableRef,
    schema: RecordRef[Schema],
    plan: RecordRef[AdoptionPlan],
    digest: str,
    draw: str,
    row_order: RowOrder,
    given: TableRef,
    notes: RecordRef[tuple[str, ...]],
) -> MaskOutputs:
    """Align a table that was masked or made elsewhere, its files having this digest, with its source.

    given, notes: the table as it was read, and what reading it found. A kept row order is that of the table as it was given.
    """
    store = Store()
    source, wanted = store.table(data), store.record(schema, Schema)
    found = store.record(notes, tuple[str, ...])
    done = adopt(source, wanted, store.record(plan, AdoptionPlan), store.table(given), found)
    alignment = done.alignment
    if row_order == "shuffled":
        rng = stream(read_seed(draw), "adopt", content_address(source), digest, *done.data.names)
        alignment = replace(alignment, position=draw_permutation(done.data.n, rng=rng))
    return _store_outputs(store, done.data, done.data.take(alignment.order), alignment, done.mechanisms, done.notes)


def _store_outputs(
    store: Store,
    masked: Microdata,
    released: Microdata,
    alignment: RowAlignment,
    mechanisms: Mechanisms,
    notes: tuple[str, ...],
) -> MaskOutputs:
    return {
        "masked": store.put_table(masked),
        "alignment": store.put_table(alignment.as_table()),
        "released": store.put_table(released),
        "mechanisms": store.put_record(mechanisms, Mechanisms),
        "notes": store.put_record(notes, tuple[str, ...]),
    }
