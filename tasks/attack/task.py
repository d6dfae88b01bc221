"""The cached task of the stage: original and masked table in, the outcome of one attack by one intruder out."""

from __future__ import annotations

import dataclasses

import numpy as np

from tasks.attack.methods import Attack, attack, scene_of
from tasks.attack.outcomes.outcome import Scene, drawn_rows
from tasks.attack.threat import Intruder
from tasks.mask.methods import Mechanism
from tasks.microdata.alignment import Alignment
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.units import Units, units_of
from tasks.runtime.artifacts import Ref, Store, content_address
from tasks.runtime.caching import Produced, stage
from tasks.runtime.draws import seed_of

Steps = tuple[Mechanism, ...]


@stage("attack", rooms=("attack", "mask", "classify", "ingest"))
def attack_release(
    data: str,
    masked: str,
    alignment: str,
    schema: str,
    mechanisms: str,
    plan: str,
    intruder: str,
    share: str,
    draw: str,
    file: str = "",
) -> Produced:
    """Let one intruder attack the masked table.

    alignment: which of its rows is whose. share: the share of the records, or persons, whose linkage is scored; `draw` chooses
    which, the same ones for every attack. file: the table that the intruder holds, if he holds an external file.
    Returns `result` and, where the attack ran, `outcomes` (one row per scored target); with a file that, and who `holder` is.
    """
    store = Store()
    original, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    shown, rows = store.table(Ref(masked)), Alignment.of_table(store.table(Ref(alignment)), original.n)
    who, held = store.record(Ref(intruder), Intruder), store.table(Ref(file)) if file else None
    scene = scene_of(Scene.of(original, shown, attributes, rows), attributes, who, held)
    found = attack(
        original,
        shown,
        attributes,
        store.record(Ref(mechanisms), Steps),
        store.record(Ref(plan), Attack),
        who,
        alignment=rows,
        targets=scored_targets(scene.original, attributes, float(share), draw, scene.units),
        file=held,
    )
    produced: Produced = {"result": store.put_record(dataclasses.replace(found, outcomes=None))}
    if file:
        produced |= {"file": file, "holder": intruder}
    if found.outcomes is not None:
        produced["outcomes"] = store.put_table(found.outcomes)
    return produced


def scored_targets(original: Microdata, schema: Schema, share: float, draw: str, units: Units | None = None) -> Integers:
    """The rows whose linkage is scored, chosen by a draw; see `drawn_rows`. units: of the rows; default: as the schema says."""
    if share >= 1:
        return np.arange(original.n, dtype=np.int64)
    rng = stream(seed_of(draw), "targets", content_address(original))
    return drawn_rows(units or units_of(original, schema), share, rng)
