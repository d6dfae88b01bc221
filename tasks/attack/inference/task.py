"""The cached task of inference attacks: original and released table in, how each person fared out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

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
from tasks.attack.inference.model_based_disclosure import ModelBasedDisclosure
from tasks.attack.inference.outcomes import InferenceOutputs, InferenceResult, InferredAttribute
from tasks.attack.inference.table_inference import DECLARED, AttackedTables, infer_from_table
from tasks.attack.membership.inference import ExperimentScope
from tasks.attack.outputs import AnswerOutputs, PeopleOutputs
from tasks.attack.task import asked_people, prepare_question
from tasks.attack.threat import Intruder
from tasks.mask.outputs import Mechanisms
from tasks.microdata.alignment import read_alignment
from tasks.microdata.errors import Idle, NotApplicable
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
    rows = read_alignment(store.table(alignment), original.n)
    tables = AttackedTables(original, None if control is None else store.table(control), store.table(masked), rows)
    found = infer_from_table(
        spec,
        tables,
        attributes,
        store.record(mechanisms, Mechanisms),
        who,
        is_rehearsal=is_rehearsal,
        can_be_rehearsed=can_be_rehearsed,
        seed=read_seed(draw),
        address=content_address(original),
    )
    produced: InferenceOutputs = {"result": store.put_record(found.result)}
    if found.people is not None and found.fates is not None:
        produced |= {"people": store.put_table(found.people), "fates": store.put_table(found.fates)}
    return produced


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
