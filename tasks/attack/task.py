"""The cached task of the stage: original and masked table in, the outcome of one attack by one intruder out."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from tasks.attack.consistency.consistency import Consistency
from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.membership.answers import Answers
from tasks.attack.membership.answers import asked as answers_about
from tasks.attack.membership.frame import REHEARSED, Frame
from tasks.attack.membership.imitations import (
    TOGETHER,
    answers_as_table,
    answers_of_table,
    as_asked,
    masked_training,
    planned,
    refuse_unknown_classes,
)
from tasks.attack.membership.inference import Asked, Asking, asked_in_rehearsal, asked_of_file, done_here, infer
from tasks.attack.membership.methods import (
    MembershipResult,
    ModelAttack,
    TableAttack,
    Taught,
    attack_model,
    attack_name,
    without_targets,
)
from tasks.attack.membership.shadows import Shadows, Teaching, shadow_answers, shadows_of
from tasks.attack.methods import Attack, attack, sample_of_orbits, scene_of
from tasks.attack.outcomes.outcome import Scene, drawn_rows
from tasks.attack.threat import Intruder
from tasks.mask.methods import Mechanism
from tasks.microdata.alignment import NoAlignment, read_alignment
from tasks.microdata.errors import Idle, NotApplicable
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.units import Units, units_of
from tasks.runtime.artifacts import Ref, Store, content_address
from tasks.runtime.caching import stage
from tasks.runtime.draws import seed_of
from tasks.runtime.records import Produced
from tasks.train.examples import ExampleEncoder, Examples
from tasks.train.model import answers_of, coding_for, learn_like, learn_with, refuse_silent
from tasks.train.skops_file import read_model
from tasks.train.spec import WHERE, ModelSpec

Steps = tuple[Mechanism, ...]
ROOMS = ("attack", "train", "mask", "classify", "ingest")


@stage("attack", rooms=ROOMS)
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
    shown, rows = store.table(Ref(masked)), read_alignment(store.table(Ref(alignment)), original.n)
    who, held = store.record(Ref(intruder), Intruder), store.table(Ref(file)) if file else None
    scene = scene_of(Scene.of(original, shown, attributes, rows), attributes, who, held)
    part, spec = 1.0 if file else who.records, store.record(Ref(plan), Attack)
    targets = scored_targets(scene.original, attributes, float(share) * part, draw, scene.units)
    found = attack(
        original,
        shown,
        attributes,
        store.record(Ref(mechanisms), Steps),
        spec,
        who,
        alignment=rows,
        targets=targets,
        file=held,
        held=scored_targets(scene.original, attributes, part, draw, scene.units) if part < 1 else None,
        sample=sample_of_orbits(spec, scene.units, targets, _orbits(draw, scene)) if isinstance(spec, Consistency) else None,
    )
    produced: Produced = {"result": store.put_record(dataclasses.replace(found, outcomes=None))}
    if file:
        produced |= {"file": file, "holder": intruder}
    if found.outcomes is not None:
        produced["outcomes"] = store.put_table(found.outcomes)
    return produced


def _orbits(draw: str, scene: Scene) -> np.random.Generator:
    return stream(seed_of(draw), "orbits", content_address(scene.original))


def scored_targets(original: Microdata, schema: Schema, share: float, draw: str, units: Units | None = None) -> Integers:
    """The rows whose linkage is scored, chosen by a draw; see `drawn_rows`. units: of the rows; default: as the schema says."""
    if share >= 1:
        return np.arange(original.n, dtype=np.int64)
    rng = stream(seed_of(draw), "targets", content_address(original))
    return drawn_rows(units or units_of(original, schema), share, rng)


@stage("people", rooms=ROOMS)
def choose_people(
    data: str, control: str, whence: str, masked: str, alignment: str, schema: str, mechanisms: str, draw: str
) -> Produced:
    """Choose who is asked about: is this person among those of the release, or of the training set of a model?

    control: the records that were set aside; empty where none were: then the steps are rehearsed on a random half. whence: the
    control is of the `source`, or of `another table`. alignment: which row of `masked` is whose; empty: each is that of its
    record.
    Returns `asking`, and where people can be asked about `people` (their table), `frame` (the pools), `released` (what was
    made of the members: the released table, or what a model was trained on).
    """
    store = Store()
    original, attributes = store.table(Ref(data)), store.record(Ref(schema), Schema)
    rng = stream(seed_of(draw), "membership", content_address(original))
    try:
        if control:
            record = np.arange(original.n)
            if alignment:
                rows = read_alignment(store.table(Ref(alignment)), original.n)
                record = record if isinstance(rows, NoAlignment) else np.asarray(rows.record)
            tables = (original, store.table(Ref(control)), store.table(Ref(masked)))
            asked = asked_of_file(*tables, record, attributes, rng=rng)
        else:
            steps = done_here(store.record(Ref(mechanisms), Steps))
            asked = asked_in_rehearsal(original, attributes, steps, seed=seed_of(draw), rng=rng)
    except NotApplicable as answer:
        asking = Asking("this file" if control else REHEARSED, answer.reason)
        return {"asking": store.put_record(asking), **_idle(store, answer)}
    return {
        "asking": store.put_record(Asking(asked.frame.evaluates, of_another_table=whence == "another table")),
        "people": store.put_table(asked.table),
        "frame": store.put_table(asked.frame.as_table()),
        "released": store.put_table(asked.released),
    }


@stage("membership", rooms=ROOMS)
def infer_membership(people: Produced, schema: str, plan: str, linkage: str) -> Produced:
    """Let one attack tell by the released table who of the chosen people is in it.

    linkage: the attack whose scores are used, or empty.
    Returns `result`, and where the attack ran `scores`, one for each who is asked about.
    """
    store = Store()
    spec, attributes = store.record(Ref(plan), TableAttack), store.record(Ref(schema), Schema)
    asking = store.record(Ref(people["asking"]), Asking)
    if asking.reason is not None:
        status = _status(store, people)
        return {"result": store.put_record(without_targets(spec, asking.evaluates, asking.reason, status))}
    asked = asked_people(store, people, attributes)
    return _told(store, infer(spec, asked, attributes, store.record(Ref(linkage), DistanceLinkage) if linkage else None))


@stage("ask", rooms=ROOMS)
def ask_model(people: Produced, model: str, training: str, schema: str, plan: str, mechanisms: str) -> Produced:
    """Ask a model about the chosen people. training: the table that it was trained on, after these steps.

    Returns `answers`: for each row that is asked about the class (`label`) and the probability of each class; `labels`: the
    class of every row of theirs; and `loss`, the model's mean loss on its training set. Or `reason`, where they cannot be asked
    about.
    """
    store = Store()
    asked = asked_people(store, people, store.record(Ref(schema), Schema))
    try:
        question = _question(store, asked, model, training, schema, plan, mechanisms)
        train, _ = question.coding.get_labelled_examples(store.table(Ref(training)))
        refuse_unknown_classes(question.data.labels[asked.frame.target_rows], train.labels)
    except NotApplicable as answer:
        return {"reason": store.put_record(answer.reason), **_idle(store, answer)}
    predict = answers_of(question.model, question.coding.classes)
    refuse_silent(question.spec, predict, question.data.frame, "the people of the control")
    found = answers_about(asked.frame, predict, question.data, train)
    return {
        "answers": store.put_table(found.as_table()),
        "labels": store.put_table(Microdata.from_columns({"label": question.data.labels})),
        "loss": store.put_record(found.training_loss, float),
    }


@stage("shadows", rooms=ROOMS)
def train_shadows(
    people: Produced, model: str, training: str, schema: str, plan: str, mechanisms: str, kind: Teaching, first: str, draw: str
) -> Produced:
    """Train some shadow models, from number `first` on, and ask them; see `tasks.attack.membership.shadows`.

    model: the one that is imitated, where it was fitted elsewhere; empty: its learner says all.
    kind: `apart` or `inserted`. mechanisms: the steps that the released model's training set went through; who knows them
    carries them out on what teaches a shadow model too.
    Returns `answers`, one row for each shadow and each row of the people; or `reason`, where none can be trained.
    """
    store = Store()
    attributes = store.record(Ref(schema), Schema)
    asked = asked_people(store, people, attributes)
    steps = done_here(store.record(Ref(mechanisms), Steps))
    seed, begins = seed_of(draw), int(first)
    try:
        question = _question(store, asked, model, training, schema, plan, mechanisms)
        spec, coding = question.spec, question.coding
        learn = learn_like(question.model) if spec.learner is None else learn_with(spec.learner)
        pool = planned(asked, kind, begins + TOGETHER, seed)
        prepare = None if not steps else masked_training(asked.table, attributes, coding, steps, seed, kind)
        found = [shadow_answers(pool, i, question.data, learn, prepare) for i in range(begins, begins + TOGETHER)]
    except NotApplicable as answer:
        return {"reason": store.put_record(answer.reason), **_idle(store, answer)}
    return {"answers": store.put_table(answers_as_table(found))}


@stage("model membership", rooms=ROOMS)
def infer_from_model(
    people: Produced,
    answers: Produced,
    shadows: dict[Teaching, list[Produced]],
    schema: str,
    attack: str,
    draw: str,
) -> Produced:
    """Let one attack tell by what a model answers who of the chosen people taught it.

    answers: what `ask_model` returned. shadows: by kind, what `train_shadows` returned, in order.
    Returns as `infer_membership`.
    """
    store = Store()
    spec, attributes = store.record(Ref(attack), ModelAttack), store.record(Ref(schema), Schema)
    asking = store.record(Ref(people["asking"]), Asking)
    made = (answers, *(one for some in shadows.values() for one in some))
    idle = next((one for one in made if "reason" in one), None)
    reason = asking.reason if idle is None else store.record(Ref(idle["reason"]), str)
    if reason is not None:
        status = _status(store, people if idle is None else idle)
        return {"result": store.put_record(without_targets(spec, asking.evaluates, reason, status))}
    asked = asked_people(store, people, attributes)
    labels = store.table(Ref(answers["labels"])).floats("label").astype(np.int64)
    found: dict[Teaching, Shadows] = {}
    for kind, some in shadows.items():
        parts = [part for one in some for part in answers_of_table(store.table(Ref(one["answers"])), TOGETHER)]
        pool = planned(asked, kind, len(parts), seed_of(draw))
        found[kind] = shadows_of(pool, labels, parts)
    told = Answers.of_table(store.table(Ref(answers["answers"])), store.record(Ref(answers["loss"]), float))
    rng = stream(seed_of(draw), "model attack", attack_name(spec), content_address(asked.table))
    return _told(store, attack_model(spec, told, asked.frame, Taught(**found), rng=rng))


@dataclasses.dataclass(frozen=True, slots=True)
class _Question:
    """A model that is asked, how tables become examples for it, and the people as it is asked about them."""

    spec: ModelSpec
    model: Any | None
    coding: ExampleEncoder
    data: Examples


def _question(store: Store, asked: Asked, model: str, training: str, schema: str, plan: str, mechanisms: str) -> _Question:
    attributes, spec = store.record(Ref(schema), Schema), store.record(Ref(plan), ModelSpec)
    made = read_model(store.file(Ref(model)), WHERE) if model else None
    people = as_asked(asked.table, attributes, done_here(store.record(Ref(mechanisms), Steps)))
    coding = coding_for(spec, attributes, made, store.table(Ref(training)), people)
    return _Question(spec, made, coding, coding.examples(people))


def asked_people(store: Store, people: Produced, schema: Schema) -> Asked:
    """The chosen people, their pools, and what was made of the members."""
    table = store.table(Ref(people["people"]))
    evaluates = store.record(Ref(people["asking"]), Asking).evaluates
    frame = Frame.of_table(store.table(Ref(people["frame"])), units_of(table, schema), evaluates)
    return Asked(table, frame, store.table(Ref(people["released"])))


def _idle(store: Store, answer: NotApplicable) -> Produced:
    """The status of what could not be done, where it is another than `not_applicable`."""
    return {} if answer.status == "not_applicable" else {"status": store.put_record(answer.status)}


def _status(store: Store, made: Produced) -> Idle:
    return "not_followed" if "status" in made and store.record(Ref(made["status"]), str) == "not_followed" else "not_applicable"


def _told(store: Store, found: MembershipResult) -> Produced:
    produced: Produced = {"result": store.put_record(dataclasses.replace(found, scores=None))}
    if found.scores is not None:
        produced["scores"] = store.put_table(Microdata.from_columns({"score": found.scores}))
    return produced
