"""The cached tasks of the stage: source in; masked table, whose row is whose, mechanisms and the table to release out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tasks.mask.control import harmonise_control, set_aside
from tasks.mask.elsewhere.adoption import AdoptionPlan, adopt
from tasks.mask.methods import Masking, Mechanism, mask
from tasks.mask.pseudonyms import Stable, add_pseudonyms, derive_key
from tasks.microdata.alignment import Alignment, RowAlignment
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import units_of
from tasks.runtime.artifacts import Ref, Store, content_address
from tasks.runtime.caching import stage
from tasks.runtime.draws import pseudonym_secret, seed_of
from tasks.runtime.records import Produced

Steps = tuple[Masking, ...]
Mechanisms = tuple[Mechanism, ...]
ROOMS = ("mask", "classify", "ingest")


@stage("mask", rooms=ROOMS)
def mask_table(data: str, schema: str, steps: str, draw: str, row_order: str, pseudonym_key: str) -> Produced:
    """Mask the table with the seed of a draw.

    row_order: `shuffled` or `kept`. pseudonym_key: the id of the series' key, empty where no step asks for one.
    Returns `masked` (rows aligned with the original: what the evaluator knows and the intruder does not), `alignment`,
    `released` (the same rows in the order of the file, with pseudonyms: what is published), `mechanisms` (what an intruder
    may know of how it was done) and `notes` (what the steward should know).
    """
    store = Store()
    source, wanted = store.table(Ref(data)), store.record(Ref(steps), Steps)
    path = ("mask", content_address(source))
    attributes, seed = store.record(Ref(schema), Schema), seed_of(draw)
    done = mask(source, attributes, wanted, seed=seed, path=path)
    order = done.order if row_order == "shuffled" else np.arange(done.data.n, dtype=np.int64)
    # steps and columns are in the path: the pseudonyms of two releases of one source must join nothing
    steps_and_columns = (*(step.model_dump_json() for step in done.mechanisms), *attributes.release_columns)
    keys: dict[Stable, bytes] = {"release": derive_key(seed, *path, *steps_and_columns)}
    if pseudonym_key:
        keys["series"] = derive_key(pseudonym_secret(pseudonym_key), "series")
    identified = source.take(done.record[order])
    released = add_pseudonyms(done.data.take(order), identified, attributes, done.mechanisms, keys)
    alignment = Alignment(done.record, np.argsort(order), source.n)
    return _store_outputs(store, done.data, released, alignment, done.mechanisms, done.notes)


@stage("control", rooms=ROOMS)
def set_aside_control(data: str, schema: str, share: str, draw: str) -> Produced:
    """Set the control aside. Returns `data`, what is masked and attacked from here on, and `control`, which nobody is shown."""
    store = Store()
    source, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    rng = stream(seed_of(draw), "control", content_address(source))
    rest, control = set_aside(units_of(source, attributes), float(share), rng=rng)
    return {"data": store.put_table(source.take(rest)), "control": store.put_table(source.take(control))}


@stage("fit control", rooms=ROOMS)
def fit_control(data: str, schema: str, control: str, key: str) -> Produced:
    """The people of another table as a control, in the columns of the source. Returns `control`."""
    store = Store()
    source, others = store.table(Ref(data)), store.table(Ref(control))
    return {"control": store.put_table(harmonise_control(source, others, store.record(Ref(schema), Schema), key or None))}


@stage("adopt", rooms=ROOMS)
def adopt_table(data: str, schema: str, plan: str, digest: str, draw: str, row_order: str) -> Produced:
    """Align a table that was masked or made elsewhere, its files having this digest, with its source.

    Returns what `mask_table` does. A kept row order is that of the table as it was given.
    """
    store = Store()
    source, wanted = store.table(Ref(data)), store.record(Ref(schema), Schema)
    done = adopt(source, wanted, store.record(Ref(plan), AdoptionPlan))
    alignment = done.alignment
    if row_order == "shuffled":
        rng = stream(seed_of(draw), "adopt", content_address(source), digest, *done.data.names)
        alignment = replace(alignment, place=rng.permutation(done.data.n))
    return _store_outputs(store, done.data, done.data.take(alignment.order), alignment, done.mechanisms, done.notes)


def _store_outputs(
    store: Store,
    masked: Microdata,
    released: Microdata,
    alignment: RowAlignment,
    mechanisms: Mechanisms,
    notes: tuple[str, ...],
) -> Produced:
    return {
        "masked": store.put_table(masked),
        "alignment": store.put_table(alignment.as_table()),
        "released": store.put_table(released),
        "mechanisms": store.put_record(mechanisms, Mechanisms),
        "notes": store.put_record(notes, tuple[str, ...]),
    }
