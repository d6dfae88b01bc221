"""The cached task of the stage: tables and attack results in, all figures and the verdict out."""

from __future__ import annotations

import dataclasses

from tasks.attack.outcome import AttackResult
from tasks.mask.methods import Mechanism
from tasks.microdata.alignment import Alignment
from tasks.microdata.schema import Schema
from tasks.microdata.units import units_of
from tasks.runtime.artifacts import Ref, Store
from tasks.runtime.caching import Produced, stage
from tasks.score.estimates import Score
from tasks.score.methods import Measure, score
from tasks.score.policy import Policy
from tasks.score.verdict import decide


@stage("score", rooms=("score", "attack", "mask", "classify", "ingest"))
def score_release(
    data: str,
    masked: str,
    alignment: str,
    schema: str,
    mechanisms: str,
    results: list[Produced],
    measures: str,
    policy: str,
) -> Produced:
    """Measure risk and loss, and decide. Returns `score`."""
    store = Store()
    original, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    estimates = score(
        original,
        store.table(Ref(masked)),
        attributes,
        store.record(Ref(mechanisms), tuple[Mechanism, ...]),
        tuple(_result(store, produced) for produced in results),
        store.record(Ref(measures), tuple[Measure, ...]),
        alignment=Alignment.of_table(store.table(Ref(alignment)), original.n),
        n_targets=units_of(original, attributes).n_units,
    )
    verdict = decide(store.record(Ref(policy), Policy), estimates)
    return {"score": store.put_record(Score(estimates, verdict))}


def _result(store: Store, produced: Produced) -> AttackResult:
    """The result of an attack with its outcomes, which are kept apart as a table."""
    outcomes = store.table(Ref(produced["outcomes"])) if "outcomes" in produced else None
    return dataclasses.replace(store.record(Ref(produced["result"]), AttackResult), outcomes=outcomes)
