"""The cached task of inference attacks: original and released table in, how each person fared out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tasks.attack.inference.experiment import InferenceExperiment, create_experiment, list_secrets, rehearse_inference
from tasks.attack.inference.model_based_disclosure import ModelBasedDisclosure, infer_values
from tasks.attack.inference.outcomes import InferenceOutputs, InferenceResult, InferredAttribute
from tasks.attack.membership.frame import REHEARSED
from tasks.attack.membership.inference import select_repeatable_steps
from tasks.attack.threat import Intruder
from tasks.mask.methods import Masking
from tasks.mask.outputs import Mechanisms
from tasks.microdata.alignment import NoAlignment, read_alignment
from tasks.microdata.errors import NotApplicable, NotFollowed
from tasks.microdata.randomness import stream
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import MEASURED, Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store, content_address
from tasks.runtime.draws import read_seed
from tasks.runtime.stages import stage

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
    ran, fates = _infer_each(spec, asked, attributes, steps, result, rng)
    return {"result": store.put_record(ran), "people": store.put_table(asked.people), "fates": store.put_table(fates)}


def _infer_each(
    spec: ModelBasedDisclosure,
    asked: InferenceExperiment,
    schema: Schema,
    steps: tuple[Masking, ...],
    result: InferenceResult,
    rng: np.random.Generator,
) -> tuple[InferenceResult, Microdata]:
    columns = {"member": pa.array(asked.is_member)}
    secrets = []
    for place, secret in enumerate(result.secrets):
        known = tuple(name for name in result.knows if name != secret.name)
        one = replace(secret, is_number=schema[secret.name].scale in MEASURED)
        try:
            found = infer_values(spec, asked, schema, steps, known, secret.name, rng)
        except NotApplicable as answer:
            secrets.append(replace(one, status=answer.status, reason=answer.reason))
            continue
        secrets.append(replace(one, inputs=found.inputs))
        columns |= {f"{place}|{name}": found.fates.column(name) for name in found.fates.names}
    has_control = bool((~asked.is_member).any())
    ran = replace(result, secrets=tuple(secrets), has_control=has_control, population=asked.population)
    return ran, Microdata.from_columns(columns)
