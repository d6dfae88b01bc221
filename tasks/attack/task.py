"""The cached task of the stage: original and masked table in, the outcome of one attack by one intruder out."""

from __future__ import annotations

import dataclasses

import numpy as np

from tasks.attack.methods import Attack, attack
from tasks.attack.threat import Intruder
from tasks.mask.methods import Mechanism
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
from tasks.runtime.artifacts import Ref, Store, content_address
from tasks.runtime.caching import Produced, stage
from tasks.runtime.draws import seed_of

Steps = tuple[Mechanism, ...]


@stage("attack", rooms=("attack", "mask"))
def attack_release(
    data: str, masked: str, schema: str, mechanisms: str, plan: str, intruder: str, share: str, draw: str
) -> Produced:
    """Let one intruder attack the masked table.

    share: the share of the records whose linkage is scored; `draw` chooses which, the same ones for every attack.
    Returns `result` and, where the attack ran, `outcomes` (one row per scored target).
    """
    store = Store()
    original = store.table(Ref(data))
    found = attack(
        original,
        store.table(Ref(masked)),
        store.record(Ref(schema), Schema),
        store.record(Ref(mechanisms), Steps),
        store.record(Ref(plan), Attack),
        store.record(Ref(intruder), Intruder),
        targets=scored_targets(original, float(share), draw),
    )
    produced: Produced = {"result": store.put_record(dataclasses.replace(found, outcomes=None))}
    if found.outcomes is not None:
        produced["outcomes"] = store.put_table(found.outcomes)
    return produced


def scored_targets(original: Microdata, share: float, draw: str) -> Integers:
    """The rows whose linkage is scored: all of them, or a simple random sample without replacement, in random order."""
    if share >= 1:
        return np.arange(original.n, dtype=np.int64)
    rng = stream(seed_of(draw), "targets", content_address(original))
    return rng.permutation(original.n)[: max(1, round(share * original.n))].astype(np.int64)
