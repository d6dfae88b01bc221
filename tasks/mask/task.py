"""The cached task of the stage: table and schema in, masked table, its mechanisms and the shuffled release out."""

from __future__ import annotations

from tasks.mask.methods import Masking, mask
from tasks.microdata.schema import Schema
from tasks.runtime.artifacts import Ref, Store, content_address
from tasks.runtime.caching import Produced, stage
from tasks.runtime.draws import seed_of

Steps = tuple[Masking, ...]


@stage("mask", rooms=("mask",))
def mask_table(data: str, schema: str, steps: str, draw: str) -> Produced:
    """Mask the table with the seed of a draw.

    Returns `masked` (rows aligned with the original: what the evaluator knows and the intruder does not), `released` (the
    same rows shuffled: what is published) and `mechanisms` (what an intruder may know of how it was done).
    """
    store = Store()
    wanted = store.record(Ref(steps), Steps)
    source = store.table(Ref(data))
    path = ("mask", content_address(source))
    done = mask(source, store.record(Ref(schema), Schema), wanted, seed=seed_of(draw), path=path)
    return {
        "masked": store.put_table(done.data),
        "released": store.put_table(done.data.take(done.order)),
        "mechanisms": store.put_record(done.mechanisms, Steps),
    }
