"""The cached task of the stage: original and masked table in, the outcome of one attack by one intruder out."""

from __future__ import annotations

import dataclasses

import numpy as np

from tasks.attack.methods import Attack, attack
from tasks.attack.outcome import drawn_targets
from tasks.attack.threat import Intruder
from tasks.mask.methods import Mechanism
from tasks.microdata.alignment import Alignment
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
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
) -> Produced:
    """Let one intruder attack the masked table.

    alignment: which of its rows is whose. share: the share of the records, or persons, whose linkage is scored; `draw` chooses
    which, the same ones for every attack.
    Returns `result` and, where the attack ran, `outcomes` (one row per scored target).
    """
    store = Store()
    original, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    found = attack(
        original,
        store.table(Ref(masked)),
        attributes,
        store.record(Ref(mechanisms), Steps),
        store.record(Ref(plan), Attack),
        store.record(Ref(intruder), Intruder),
        alignment=Alignment.of_table(store.table(Ref(alignment)), original.n),
        targets=scored_targets(original, attributes, float(share), draw),
    )
    produced: Produced = {"result": store.put_record(dataclasses.replace(found, outcomes=None))}
    if found.outcomes is not None:
        produced["outcomes"] = store.put_table(found.outcomes)
    return produced


def scored_targets(original: Microdata, schema: Schema, share: float, draw: str) -> Integers:
    """The rows whose linkage is scored, chosen by a draw; see `drawn_targets`."""
    if share >= 1:
        return np.arange(original.n, dtype=np.int64)
    return drawn_targets(original, schema, share, stream(seed_of(draw), "targets", content_address(original)))
