"""The cached task of the stage: tables and attack results in, all figures and the verdict out."""

from __future__ import annotations

import dataclasses

from tasks.attack.membership.answers import Answers
from tasks.attack.membership.frame import Frame
from tasks.attack.membership.inference import Asking
from tasks.attack.membership.methods import MembershipResult
from tasks.attack.methods import scene_of
from tasks.attack.omissions import Omission
from tasks.attack.outcomes.outcome import AttackResult, Scene
from tasks.attack.threat import Intruder
from tasks.mask.methods import Mechanism
from tasks.microdata.alignment import read_alignment
from tasks.microdata.estimate import Estimate
from tasks.microdata.schema import Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import units_of
from tasks.runtime.artifacts import Ref, Store
from tasks.runtime.caching import stage
from tasks.runtime.records import Produced
from tasks.score.estimates import Score
from tasks.score.membership.figures import Answered, membership_figures, without_unlike_tables
from tasks.score.methods import Measure, score
from tasks.score.model_accuracy import model_accuracy, unmeasured_accuracy
from tasks.score.policy import Policy
from tasks.score.unfollowed import find_unfollowed
from tasks.score.verdict import decide

ROOMS = ("score", "attack", "train", "mask", "classify", "ingest")


@stage("score", rooms=ROOMS)
def score_release(
    data: str,
    masked: str,
    alignment: str,
    schema: str,
    mechanisms: str,
    results: list[Produced],
    measures: str,
    policy: str,
    members: list[Produced],
    people: Produced,
    omit: str,
) -> Produced:
    """Measure risk and loss, and decide. members: what the membership attacks said of the people. Returns `score`."""
    store = Store()
    original, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    shown, rows = store.table(Ref(masked)), read_alignment(store.table(Ref(alignment)), original.n)
    steps = store.record(Ref(mechanisms), tuple[Mechanism, ...])
    attacked = tuple(_result(store, produced) for produced in results)
    estimates = score(
        original,
        shown,
        attributes,
        steps,
        attacked,
        store.record(Ref(measures), tuple[Measure, ...]),
        alignment=rows,
        n_targets=units_of(original, attributes).n_units,
        files=_scenes_of_files(store, Scene.of(original, shown, attributes, rows), attributes, results),
    )
    estimates += _of_membership(store, members, people, original, attributes)
    lines = store.record(Ref(policy), Policy)
    unfollowed = find_unfollowed(attacked, store.record(Ref(omit), tuple[Omission, ...]), steps)
    verdict = decide(lines, estimates, unfollowed)
    return {"score": store.put_record(Score(estimates, verdict))}


@stage("score model", rooms=ROOMS)
def score_model(data: str, schema: str, policy: str, members: list[Produced], people: Produced, answers: Produced) -> Produced:
    """Measure what a released model tells of who taught it, and what it is good for, and decide. Returns `score`.

    answers: what the model answered about the people; empty where nobody could be asked about.
    """
    store = Store()
    original, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    asking = store.record(Ref(people["asking"]), Asking)
    reason = store.record(Ref(answers["reason"]), str) if "reason" in answers else asking.reason
    if reason is not None:
        accuracy = unmeasured_accuracy(reason, units_of(original, attributes).counts)
    else:
        told = Answers.of_table(store.table(Ref(answers["answers"])), store.record(Ref(answers["loss"]), float))
        accuracy = model_accuracy(told, _frame(store, people, store.table(Ref(people["people"])), attributes))
    estimates = (*_of_membership(store, members, people, original, attributes), accuracy)
    verdict = decide(store.record(Ref(policy), Policy), estimates)
    return {"score": store.put_record(Score(estimates, verdict))}


def _of_membership(
    store: Store, members: list[Produced], people: Produced, original: Microdata, schema: Schema
) -> tuple[Estimate, ...]:
    """The figures of what the membership attacks said of the people, if any ran."""
    if not members:
        return ()
    table = store.table(Ref(people["people"])) if "people" in people else None
    frame = None if table is None else _frame(store, people, table, schema)
    answered = (_answered(store, one, frame, table) for one in members)
    found = membership_figures(answered, schema, units_of(original, schema).counts)
    return without_unlike_tables(found) if store.record(Ref(people["asking"]), Asking).of_another_table else found


def _frame(store: Store, people: Produced, table: Microdata, schema: Schema) -> Frame:
    evaluates = store.record(Ref(people["asking"]), Asking).evaluates
    return Frame.of_table(store.table(Ref(people["frame"])), units_of(table, schema), evaluates)


def _answered(store: Store, produced: Produced, frame: Frame | None, table: Microdata | None) -> Answered:
    result = store.record(Ref(produced["result"]), MembershipResult)
    if "scores" not in produced:
        return Answered(result)
    scores = store.table(Ref(produced["scores"])).floats("score")
    return Answered(dataclasses.replace(result, scores=scores), frame, table)


def _scenes_of_files(store: Store, source: Scene, schema: Schema, results: list[Produced]) -> dict[str, Scene]:
    """The scene of each holder of an external file, by his name."""
    found = dict.fromkeys((one["holder"], one["file"]) for one in results if "file" in one)
    holders = ((store.record(Ref(holder), Intruder), store.table(Ref(file))) for holder, file in found)
    return {holder.name: scene_of(source, schema, holder, file) for holder, file in holders}


def _result(store: Store, produced: Produced) -> AttackResult:
    """The result of an attack with its outcomes, which are kept apart as a table."""
    outcomes = store.table(Ref(produced["outcomes"])) if "outcomes" in produced else None
    return dataclasses.replace(store.record(Ref(produced["result"]), AttackResult), outcomes=outcomes)
