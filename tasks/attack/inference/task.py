"""The cached task of inference attacks: original and released table in, how each person fared out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tasks.attack.inference.anonymeter_protocol import count_by_protocol
from tasks.attack.inference.experiment import InferenceExperiment, create_experiment, list_secrets, rehearse_inference
from tasks.attack.inference.inference_learners import OF_REPEATED_MASK, LearnerName
from tasks.attack.inference.model_answers import (
    FEWEST_OF_SUBGROUP,
    METHOD,
    P_PERCENT,
    AskedPeople,
    infer_feature,
    infer_target,
    list_model_secrets,
    select_asked,
)
from tasks.attack.inference.model_based_disclosure import RIGHT, ModelBasedDisclosure, infer_values
from tasks.attack.inference.outcomes import InferenceOutputs, InferenceResult, InferredAttribute, ProtocolCounts
from tasks.attack.inference.repeated_mask import RepeatedMask, repeat_mask
from tasks.attack.membership.frame import REHEARSED
from tasks.attack.membership.inference import ExperimentScope, select_repeatable_steps
from tasks.attack.outputs import AnswerOutputs, PeopleOutputs
from tasks.attack.task import asked_people, prepare_question
from tasks.attack.threat import Intruder
from tasks.mask.methods import Masking
from tasks.mask.outputs import Mechanisms
from tasks.microdata.alignment import NoAlignment, read_alignment
from tasks.microdata.errors import Idle, NotApplicable, NotFollowed
from tasks.microdata.randomness import stream
from tasks.microdata.refs import FileRef, RecordRef, TableRef
from tasks.microdata.schema import MEASURED, Schema
from tasks.microdata.table import Microdata
from tasks.microdata.units import find_units
from tasks.runtime.artifacts import Store, content_address
from tasks.runtime.draws import read_seed
from tasks.runtime.stages import stage
from tasks.train.spec import ModelSpec
from tasks.train.training import Predict, create_predictor

ROOMS = ("attack", "train", "mask", "classify", "ingest")
DECLARED = "declared"
NO_REHEARSAL = (
    "how often the values are inferred of people who are not in the release is not known: the table was made elsewhere, and "
    "the release file names nobody who is not in it (`control: {table: <path>}`)"
)


@stage("inference", rooms=ROOMS)
def infer_confidential_values(
    data: TableRef,
    control: TableRef | None,
    masked: TableRef,
    alignment: TableRef,
    schema: RecordRef[Schema],
    mechanisms: RecordRef[Mechanisms],
    plan: RecordRef[ModelBasedDisclosure],
    intruder: RecordRef[Intruder],
    is_rehearsal: bool,
    can_be_rehearsed: bool,
    draw: str,
) -> InferenceOutputs:
    """Let one attack by one intruder infer the confidential values of people in the release, and of people who are not.

    control: the people who are not in it; None: nobody is known. is_rehearsal: ask of a release of a random half of the
    people, made by the same steps, in place of this one. can_be_rehearsed: was this one made by steps that are known?
    """
    store = Store()
    spec, who = store.record(plan, ModelBasedDisclosure), store.record(intruder, Intruder)
    original, attributes = store.table(data), store.record(schema, Schema)
    steps = select_repeatable_steps(store.record(mechanisms, Mechanisms))
    by = () if who.name == DECLARED else (who.name,)
    path = ("inference", spec.attack_id, "rehearsal" if is_rehearsal else "file", content_address(original), *by)
    rng = stream(read_seed(draw), *path)
    result = InferenceResult(
        attack=spec.attack_id,
        method=spec.method,
        intruder=who.name,
        evaluates=REHEARSED if is_rehearsal else "this file",
        knows=who.knows,
        secrets=tuple(InferredAttribute(name=name) for name in list_secrets(attributes, who.knows)),
        learners=spec.learners,
        p_percent=spec.p_percent,
        fewest_of_subgroup=spec.fewest_of_subgroup,
    )
    try:
        if is_rehearsal and not can_be_rehearsed:
            raise NotFollowed(NO_REHEARSAL)
        if is_rehearsal:
            asked = rehearse_inference(original, attributes, steps, spec.train_at_most, seed=read_seed(draw), rng=rng)
        else:
            rows = read_alignment(store.table(alignment), original.n)
            record = None if isinstance(rows, NoAlignment) else np.asarray(rows.record)
            others = None if control is None else store.table(control)
            tables = (original, others, store.table(masked), record)
            asked = create_experiment(*tables, attributes, spec.train_at_most, rng)
    except NotApplicable as answer:
        return {"result": store.put_record(replace(result, status=answer.status, reason=answer.reason))}
    repeated = repeat_mask(asked.rows, attributes, steps, seed=read_seed(draw), path=(*path, "repeated"))
    ran, fates = _infer_each(spec, asked, attributes, steps, result, rng, repeated)
    ran = replace(ran, learners=_list_tried_learners(spec.learners, ran.secrets, fates))
    return {"result": store.put_record(ran), "people": store.put_table(asked.people), "fates": store.put_table(fates)}


def _list_tried_learners(
    learners: tuple[LearnerName, ...], secrets: tuple[InferredAttribute, ...], fates: Microdata
) -> tuple[LearnerName, ...]:
    """Without those that repeat the mask, where some attribute was inferred without them."""
    inferred = [place for place, secret in enumerate(secrets) if secret.status == "ok"]

    def was_tried_of_all(name: str) -> bool:
        return all(any(column.startswith(f"{place}|{RIGHT}{name}:") for column in fates.names) for place in inferred)

    return tuple(name for name in learners if name not in OF_REPEATED_MASK or was_tried_of_all(name))


def _infer_each(
    spec: ModelBasedDisclosure,
    asked: InferenceExperiment,
    schema: Schema,
    steps: tuple[Masking, ...],
    result: InferenceResult,
    rng: np.random.Generator,
    repeated: RepeatedMask | None,
) -> tuple[InferenceResult, Microdata]:
    columns = {"member": pa.array(asked.is_member)}
    secrets = []
    for place, secret in enumerate(result.secrets):
        known = tuple(name for name in result.knows if name != secret.name)
        one = replace(secret, is_number=schema[secret.name].scale in MEASURED)
        try:
            found = infer_values(spec, asked, schema, steps, known, secret.name, rng, repeated)
        except NotApplicable as answer:
            secrets.append(replace(one, status=answer.status, reason=answer.reason))
            continue
        secrets.append(replace(one, inputs=found.inputs))
        columns |= {f"{place}|{name}": found.fates.column(name) for name in found.fates.names}
    has_control = bool((~asked.is_member).any())
    protocol = _follow_protocol(asked, schema, steps, result, rng) if spec.protocol == "anonymeter" else ()
    ran = replace(result, secrets=tuple(secrets), has_control=has_control, population=asked.population, protocol=protocol)
    return ran, Microdata.from_columns(columns)


def _follow_protocol(
    asked: InferenceExperiment, schema: Schema, steps: tuple[Masking, ...], result: InferenceResult, rng: np.random.Generator
) -> tuple[ProtocolCounts, ...]:
    """What anonymeter counts; nothing where the people cannot be written as the release writes them."""
    try:
        people = asked.recode_like_release(schema, steps)
    except NotApplicable:
        return ()
    return count_by_protocol(asked, people, schema, result.knows, tuple(secret.name for secret in result.secrets), rng)


@stage("model inference", rooms=ROOMS)
def infer_by_model_answers(
    people: PeopleOutputs,
    answers: AnswerOutputs | None,
    model: FileRef,
    training: TableRef,
    schema: RecordRef[Schema],
    plan: RecordRef[ModelSpec],
    mechanisms: RecordRef[Mechanisms],
    draw: str,
) -> InferenceOutputs:
    """Let an intruder infer the confidential values of the chosen people from what a released model answers about them.

    answers: what `ask_model` returned, None where nobody could be asked about. model, training: as in `ask_model`.
    """
    store = Store()
    attributes, spec = store.record(schema, Schema), store.record(plan, ModelSpec)
    asking = store.record(people["asking"], ExperimentScope)
    result = InferenceResult(
        attack=METHOD,
        method=METHOD,
        intruder=DECLARED,
        evaluates=asking.evaluates,
        knows=(),
        secrets=tuple(InferredAttribute(name=name) for name in list_model_secrets(attributes, spec.target, ())),
        learners=(),
        p_percent=P_PERCENT,
        fewest_of_subgroup=FEWEST_OF_SUBGROUP,
    )
    if answers is None or "reason" in answers:
        reason = asking.reason if answers is None else store.record(answers["reason"], str)
        told: PeopleOutputs | AnswerOutputs = people if answers is None else answers
        status = store.record(told["status"], Idle) if "status" in told else "not_applicable"
        return {"result": store.put_record(replace(result, status=status, reason=reason))}
    asked = asked_people(store, people, attributes)
    question = prepare_question(store, asked, model, training, schema, plan, mechanisms)
    features = tuple(one.name for one in question.data.features)
    table = asked.table.take(asked.frame.target_rows)
    chosen = select_asked(asked.frame, question.data, find_units(table, attributes))
    predict = create_predictor(question.model, question.coding.classes)
    rng = stream(read_seed(draw), "model inference", asking.evaluates, content_address(asked.table))
    columns, secrets = {"member": pa.array(chosen.is_member)}, []
    for place, name in enumerate(list_model_secrets(attributes, spec.target, features)):
        one = InferredAttribute(name=name, is_number=name != spec.target and attributes[name].scale in MEASURED)
        try:
            fates = _infer_one(chosen, predict, spec.target, name, rng)
        except NotApplicable as answer:
            secrets.append(replace(one, status=answer.status, reason=answer.reason))
            continue
        secrets.append(one)
        columns |= {f"{place}|{column}": fates.column(column) for column in fates.names}
    ran = replace(
        result,
        knows=(*features, spec.target),
        secrets=tuple(secrets),
        has_control=True,
        population=int(asked.frame.member.sum()),
    )
    return {
        "result": store.put_record(ran),
        "people": store.put_table(table),
        "fates": store.put_table(Microdata.from_columns(columns)),
    }


def _infer_one(asked: AskedPeople, predict: Predict, target: str, name: str, rng: np.random.Generator) -> Microdata:
    return infer_target(asked, predict, rng) if name == target else infer_feature(asked, predict, name, rng)
