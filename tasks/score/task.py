"""The cached task of the stage: tables and attack results in, all figures and the verdict out."""

from __future__ import annotations

import dataclasses

from tasks.attack.methods import scene_of
from tasks.attack.outcomes.outcome import AttackResult, Scene
from tasks.attack.threat import Intruder
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
    shown, rows = store.table(Ref(masked)), Alignment.of_table(store.table(Ref(alignment)), original.n)
    estimates = score(
        original,
        shown,
        attributes,
        store.record(Ref(mechanisms), tuple[Mechanism, ...]),
        tuple(_result(store, produced) for produced in results),
        store.record(Ref(measures), tuple[Measure, ...]),
        alignment=rows,
        n_targets=units_of(original, attributes).n_units,
        files=_scenes_of_files(store, Scene.of(original, shown, attributes, rows), attributes, results),
    )
    verdict = decide(store.record(Ref(policy), Policy), estimates)
    return {"score": store.put_record(Score(estimates, verdict))}


def _scenes_of_files(store: Store, source: Scene, schema: Schema, results: list[Produced]) -> dict[str, Scene]:
    """The scene of each holder of an external file, by his name."""
    found = dict.fromkeys((one["holder"], one["file"]) for one in results if "file" in one)
    holders = ((store.record(Ref(holder), Intruder), store.table(Ref(file))) for holder, file in found)
    return {holder.name: scene_of(source, schema, holder, file) for holder, file in holders}


def _result(store: Store, produced: Produced) -> AttackResult:
    """The result of an attack with its outcomes, which are kept apart as a table."""
    outcomes = store.table(Ref(produced["outcomes"])) if "outcomes" in produced else None
    return dataclasses.replace(store.record(Ref(produced["result"]), AttackResult), outcomes=outcomes)
