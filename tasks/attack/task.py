"""The cached task of the stage: original and masked table in, the outcome of one attack by one intruder out."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, TypeVar

import numpy as np

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.membership.answers import Answers
from tasks.attack.membership.answers import ask_about_targets as answers_about
from tasks.attack.membership.frame import REHEARSED, Frame
from tasks.attack.membership.inference import (
    ExperimentScope,
    MembershipExperiment,
    choose_experiment,
    score_membership,
    select_repeatable_steps,
)
from tasks.attack.membership.methods import (
    MembershipResult,
    ModelAttack,
    TableAttack,
    Taught,
    attack_model,
    attack_name,
    create_idle_result,
)
from tasks.attack.membership.shadow_training import (
    TOGETHER,
    answers_as_table,
    as_asked,
    compute_table_answers,
    create_training_masker,
    plan_shadows,
    refuse_unknown_classes,
)
from tasks.attack.membership.shadows import Shadows, Teaching, combine_answers, train_shadow_model
from tasks.attack.memory_needs import estimate_attack_bytes
from tasks.attack.methods import Attack, attack_records, resolve_ground_truth, sample_for_part
from tasks.attack.outcomes.outcome import sample_unit_rows
from tasks.attack.outputs import AnswerOutputs, AttackOutputs, MembershipOutputs, PeopleOutputs, ShadowOutputs
from tasks.attack.threat import Intruder
from tasks.mask.outputs import Mechanisms
from tasks.microdata.alignment import read_alignment
from tasks.microdata.errors import Idle, NotApplicable
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.randomness import stream
from tasks.microdata.refs import FileRef, RecordRef, TableRef
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
from tasks.microdata.units import Units, find_units
from tasks.runtime.artifacts import Store, content_address
from tasks.runtime.draws import read_seed
from tasks.runtime.memory_gate import memory_gate
from tasks.runtime.stages import stage
from tasks.train.examples import ExampleEncoder, Examples
from tasks.train.skops_file import read_model
from tasks.train.spec import MODEL_LOCATION, ModelSpec
from tasks.train.training import coding_for, create_predictor, learn_like, learn_with, refuse_silent

WithStatus = TypeVar("WithStatus", PeopleOutputs, AnswerOutputs, ShadowOutputs)
ControlOrigin = Literal["source", "another table"]
ROOMS = ("attack", "train", "mask", "classify", "ingest")


@stage("attack", rooms=ROOMS)
def attack_release(
    data: TableRef,
    masked: TableRef,
    alignment: TableRef,
    schema: RecordRef[Schema],
    mechanisms: RecordRef[Mechanisms],
    plan: RecordRef[Attack],
    intruder: RecordRef[Intruder],
    share: float,
    draw: str,
    file: TableRef | None = None,
) -> AttackOutputs:
    """Let one intruder attack the masked table.

    alignment: which of its rows is whose. share: the share of the records, or persons, whose linkage is scored; `draw` chooses
    which, the same ones for every attack. file: the table that the intruder has, if they have an external file.
    Attacks run side by side as far as the memory goes.
    """
    store = Store()
    original, attributes = store.table(data), store.record(schema, Schema)
    shown, rows = store.table(masked), read_alignment(store.table(alignment), original.n)
    who, held = store.record(intruder, Intruder), None if file is None else store.table(file)
    truth = resolve_ground_truth(GroundTruth.create_from_tables(original, shown, attributes, rows), attributes, who, held)
    part, spec = who.records if file is None else 1.0, store.record(plan, Attack)
    targets = scored_targets(truth.original, attributes, share * part, draw, truth.units)
    steps, largest = store.record(mechanisms, Mechanisms), max(truth.original.n, shown.n)
    with memory_gate.hold(estimate_attack_bytes(spec, steps, largest, len(who.knows))):
        found = attack_records(
            truth,
            attributes,
            steps,
            spec,
            who,
            targets=targets,
            held=scored_targets(truth.original, attributes, part, draw, truth.units) if part < 1 else None,
            sample=None
            if spec.traits.sample_size is None
            else sample_for_part(spec, truth.units, targets, _orbits(draw, truth)),
        )
    produced: AttackOutputs = {"result": store.put_record(dataclasses.replace(found, outcomes=None))}
    if file is not None:
        produced |= {"file": file, "holder": intruder}
    if found.outcomes is not None:
        produced["outcomes"] = store.put_table(found.outcomes)
    return produced


def _orbits(draw: str, truth: GroundTruth) -> np.random.Generator:
    return stream(read_seed(draw), "orbits", content_address(truth.original))


def scored_targets(original: Microdata, schema: Schema, share: float, draw: str, units: Units | None = None) -> Integers:
    """The rows whose linkage is scored, chosen by a draw; see `sample_unit_rows`. units: of the rows; default: the schema's."""
    if share >= 1:
        return np.arange(original.n, dtype=np.int64)
    rng = stream(read_seed(draw), "targets", content_address(original))
    return sample_unit_rows(units or find_units(original, schema), share, rng)


@stage("people", rooms=ROOMS)
def choose_people(
    data: TableRef,
    control: TableRef | None,
    control_origin: ControlOrigin,
    masked: TableRef,
    alignment: TableRef | None,
    schema: RecordRef[Schema],
    mechanisms: RecordRef[Mechanisms],
    draw: str,
) -> PeopleOutputs:
    """Choose who is asked about: is this person among those of the release, or of the training set of a model?

    control: the records that were set aside; if there are none, the steps are rehearsed on a random half. alignment: which row
    of `masked` is whose; None: each is that of its record.
    """
    store = Store()
    original, attributes = store.table(data), store.record(schema, Schema)
    rows = None if alignment is None else read_alignment(store.table(alignment), original.n)
    tables = (original, None if control is None else store.table(control), store.table(masked), rows)
    steps, address = store.record(mechanisms, Mechanisms), content_address(original)
    try:
        asked = choose_experiment(*tables, attributes, steps, seed=read_seed(draw), address=address)
    except NotApplicable as answer:
        asking = ExperimentScope(REHEARSED if control is None else "this file", answer.reason)
        unasked: PeopleOutputs = {"asking": store.put_record(asking)}
        return _add_status(store, unasked, answer)
    return {
        "asking": store.put_record(ExperimentScope(asked.frame.evaluates, of_another_table=control_origin == "another table")),
        "people": store.put_table(asked.table),
        "frame": store.put_table(asked.frame.as_table()),
        "released": store.put_table(asked.released),
    }


@stage("membership", rooms=ROOMS)
def infer_membership(
    people: PeopleOutputs,
    schema: RecordRef[Schema],
    plan: RecordRef[TableAttack],
    linkage: RecordRef[DistanceLinkage] | None,
    intruders: list[RecordRef[Intruder]],
    mechanisms: RecordRef[Mechanisms] | None,
) -> MembershipOutputs:
    """Let one attack tell by the released table who of the chosen people is in it.

    linkage: the attack whose scores are used, if any. intruders, mechanisms: the declared intruder and the insiders, and the
    masking steps, where the attack looks at them.
    """
    store = Store()
    spec, attributes = store.record(plan, TableAttack), store.record(schema, Schema)
    asking = store.record(people["asking"], ExperimentScope)
    if asking.reason is not None:
        status = _status(store, people)
        return {"result": store.put_record(create_idle_result(spec, asking.evaluates, asking.reason, status))}
    asked = asked_people(store, people, attributes)
    links = None if linkage is None else store.record(linkage, DistanceLinkage)
    steps = () if mechanisms is None else store.record(mechanisms, Mechanisms)
    who = tuple(store.record(one, Intruder) for one in intruders)
    return _store_membership(store, score_membership(spec, asked, attributes, links, who, steps))


@stage("ask", rooms=ROOMS)
def ask_model(
    people: PeopleOutputs,
    model: FileRef,
    training: TableRef,
    schema: RecordRef[Schema],
    plan: RecordRef[ModelSpec],
    mechanisms: RecordRef[Mechanisms],
) -> AnswerOutputs:
    """Ask a model about the chosen people. training: the table that it was trained on, after these steps."""
    store = Store()
    asked = asked_people(store, people, store.record(schema, Schema))
    try:
        question = prepare_question(store, asked, model, training, schema, plan, mechanisms)
        train, _ = question.coding.get_labelled_examples(store.table(training))
        refuse_unknown_classes(question.data.labels[asked.frame.target_rows], train.labels)
    except NotApplicable as answer:
        no_answers: AnswerOutputs = {"reason": store.put_record(answer.reason)}
        return _add_status(store, no_answers, answer)
    predict = create_predictor(question.model, question.coding.classes)
    refuse_silent(question.spec, predict, question.data.frame, "the people of the control")
    found = answers_about(asked.frame, predict, question.data, train)
    if found.training_loss is None:
        raise RuntimeError("the loss on the training set was not computed")
    return {
        "answers": store.put_table(found.as_table()),
        "labels": store.put_table(Microdata.from_columns({"label": question.data.labels})),
        "loss": store.put_record(found.training_loss, float),
    }


@stage("shadows", rooms=ROOMS)
def train_shadows(
    people: PeopleOutputs,
    model: FileRef | None,
    training: TableRef,
    schema: RecordRef[Schema],
    plan: RecordRef[ModelSpec],
    mechanisms: RecordRef[Mechanisms],
    kind: Teaching,
    first: int,
    draw: str,
) -> ShadowOutputs:
    """Train some shadow models, from number `first` on, and ask them; see `tasks.attack.membership.shadows`.

    model: the one that is imitated, if it was fitted elsewhere; None: its learner says all. mechanisms: the steps that the
    training set of the released model went through; an intruder who knows them applies them to the training set of a shadow
    model too.
    """
    store = Store()
    attributes = store.record(schema, Schema)
    asked = asked_people(store, people, attributes)
    steps = select_repeatable_steps(store.record(mechanisms, Mechanisms))
    seed = read_seed(draw)
    try:
        question = prepare_question(store, asked, model, training, schema, plan, mechanisms)
        spec, coding = question.spec, question.coding
        learn = learn_like(question.model) if spec.learner is None else learn_with(spec.learner)
        pool = plan_shadows(asked, kind, first + TOGETHER, seed)
        prepare = None if not steps else create_training_masker(asked.table, attributes, coding, steps, seed, kind)
        answers = [train_shadow_model(pool, i, question.data, learn, prepare) for i in range(first, first + TOGETHER)]
    except NotApplicable as answer:
        no_shadows: ShadowOutputs = {"reason": store.put_record(answer.reason)}
        return _add_status(store, no_shadows, answer)
    return {"answers": store.put_table(answers_as_table(answers))}


@stage("model membership", rooms=ROOMS)
def infer_from_model(
    people: PeopleOutputs,
    answers: AnswerOutputs | None,
    shadows: dict[Teaching, list[ShadowOutputs]],
    schema: RecordRef[Schema],
    attack: RecordRef[ModelAttack],
    draw: str,
) -> MembershipOutputs:
    """Let one attack tell by what a model answers who of the chosen people taught it.

    answers: what `ask_model` returned, None where nobody could be asked about. shadows: by kind, what `train_shadows`
    returned, in order.
    """
    store = Store()
    spec, attributes = store.record(attack, ModelAttack), store.record(schema, Schema)
    asking = store.record(people["asking"], ExperimentScope)
    reason, status = asking.reason, _status(store, people)
    for outputs in (answers or {}, *(one for some in shadows.values() for one in some)):
        if "reason" in outputs:
            reason, status = store.record(outputs["reason"], str), _status(store, outputs)
            break
    if reason is not None or answers is None:
        return {"result": store.put_record(create_idle_result(spec, asking.evaluates, reason or "", status))}
    asked = asked_people(store, people, attributes)
    labels = store.table(answers["labels"]).floats("label").astype(np.int64)
    found: dict[Teaching, Shadows] = {}
    for kind, some in shadows.items():
        parts = [part for one in some for part in compute_table_answers(store.table(one["answers"]), TOGETHER)]
        pool = plan_shadows(asked, kind, len(parts), read_seed(draw))
        found[kind] = combine_answers(pool, labels, parts)
    answered = Answers.create_from_table(store.table(answers["answers"]), store.record(answers["loss"], float))
    rng = stream(read_seed(draw), "model attack", attack_name(spec), content_address(asked.table))
    return _store_membership(store, attack_model(spec, answered, asked.frame, Taught(**found), rng=rng))


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """A model that is asked, how tables become examples for it, and the people as it is asked about them."""

    spec: ModelSpec
    model: Any | None
    coding: ExampleEncoder
    data: Examples


def prepare_question(
    store: Store,
    asked: MembershipExperiment,
    model: FileRef | None,
    training: TableRef,
    schema: RecordRef[Schema],
    plan: RecordRef[ModelSpec],
    mechanisms: RecordRef[Mechanisms],
) -> Question:
    """Read the model that is asked, and put the chosen people into its words; see `ask_model`. Raises as `coding_for`."""
    attributes, spec = store.record(schema, Schema), store.record(plan, ModelSpec)
    made = None if model is None else read_model(store.file(model), MODEL_LOCATION)
    people = as_asked(asked.table, attributes, select_repeatable_steps(store.record(mechanisms, Mechanisms)))
    coding = coding_for(spec, attributes, made, store.table(training), people)
    return Question(spec, made, coding, coding.examples(people))


def asked_people(store: Store, people: PeopleOutputs, schema: Schema) -> MembershipExperiment:
    """The chosen people, their pools, and what was made of the members."""
    table = store.table(people["people"])
    evaluates = store.record(people["asking"], ExperimentScope).evaluates
    frame = Frame.create_from_table(store.table(people["frame"]), find_units(table, schema), evaluates)
    return MembershipExperiment(table, frame, store.table(people["released"]))


def _add_status(store: Store, outputs: WithStatus, answer: NotApplicable) -> WithStatus:
    """Store the status of what could not be done, where it is another than `not_applicable`."""
    if answer.status != "not_applicable":
        outputs["status"] = store.put_record(answer.status, Idle)
    return outputs


def _status(store: Store, outputs: PeopleOutputs | AnswerOutputs | ShadowOutputs) -> Idle:
    return store.record(outputs["status"], Idle) if "status" in outputs else "not_applicable"


def _store_membership(store: Store, found: MembershipResult) -> MembershipOutputs:
    produced: MembershipOutputs = {"result": store.put_record(dataclasses.replace(found, scores=None, of_insiders=()))}
    if found.scores is not None:
        produced["scores"] = store.put_table(Microdata.from_columns({"score": found.scores, **dict(found.of_insiders)}))
    return produced
