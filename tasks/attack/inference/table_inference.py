"""One inference attack on a released table: whose values are inferred, and how each person fared."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tasks.attack.inference.anonymeter_protocol import count_by_protocol
from tasks.attack.inference.experiment import InferenceExperiment, create_experiment, list_secrets, rehearse_inference
from tasks.attack.inference.inference_learners import OF_REPEATED_MASK, LearnerName
from tasks.attack.inference.model_based_disclosure import RIGHT, ModelBasedDisclosure, infer_values
from tasks.attack.inference.outcomes import InferenceOutcome, InferenceResult, InferredAttribute, ProtocolCounts
from tasks.attack.inference.repeated_mask import RepeatedMask, repeat_mask
from tasks.attack.membership.frame import REHEARSED
from tasks.attack.membership.inference import select_repeatable_steps
from tasks.attack.threat import Intruder
from tasks.mask.methods import Masking, Mechanism
from tasks.microdata.alignment import NoAlignment, RowAlignment
from tasks.microdata.errors import NotApplicable, NotFollowed
from tasks.microdata.randomness import stream
from tasks.microdata.schema import MEASURED, Schema
from tasks.microdata.table import Microdata

DECLARED = "declared"
NO_REHEARSAL = (
    "how often the values are inferred of people who are not in the release is not known: the table was made elsewhere, and "
    "the release file names nobody who is not in it (`control: {table: <path>}`)"
)


@dataclass(frozen=True, slots=True)
class AttackedTables:
    """What an inference attack is on.

    original: the records that were masked. control: people who are not in the release; None: nobody is known. masked: the
    released table; rows: whose its rows are.
    """

    original: Microdata
    control: Microdata | None
    masked: Microdata
    rows: RowAlignment


def infer_from_table(
    spec: ModelBasedDisclosure,
    tables: AttackedTables,
    schema: Schema,
    mechanisms: tuple[Mechanism, ...],
    who: Intruder,
    *,
    is_rehearsal: bool,
    can_be_rehearsed: bool,
    seed: bytes,
    address: str,
) -> InferenceOutcome:
    """Let one attack by one intruder infer the confidential values of people in the release, and of people who are not.

    is_rehearsal: ask of a release of a random half of the people, made by the same steps, in place of this one.
    can_be_rehearsed: was this one made by steps that are known? seed, address: of the draw and of the original; they choose
    the people, the halves and the folds.

    An attack that cannot run has a status and a reason. Cost: that of training each learner a few times on at most
    `train_at_most` rows, for each confidential attribute.
    """
    steps = select_repeatable_steps(mechanisms)
    by = () if who.name == DECLARED else (who.name,)
    path = ("inference", spec.attack_id, "rehearsal" if is_rehearsal else "file", address, *by)
    rng = stream(seed, *path)
    result = InferenceResult(
        attack=spec.attack_id,
        method=spec.method,
        intruder=who.name,
        evaluates=REHEARSED if is_rehearsal else "this file",
        knows=who.knows,
        secrets=tuple(InferredAttribute(name=name) for name in list_secrets(schema, who.knows)),
        learners=spec.learners,
        p_percent=spec.p_percent,
        fewest_of_subgroup=spec.fewest_of_subgroup,
    )
    try:
        if is_rehearsal and not can_be_rehearsed:
            raise NotFollowed(NO_REHEARSAL)
        if is_rehearsal:
            asked = rehearse_inference(tables.original, schema, steps, spec.train_at_most, seed=seed, rng=rng)
        else:
            record = None if isinstance(tables.rows, NoAlignment) else np.asarray(tables.rows.record)
            given = (tables.original, tables.control, tables.masked, record)
            asked = create_experiment(*given, schema, spec.train_at_most, rng)
    except NotApplicable as answer:
        return InferenceOutcome(replace(result, status=answer.status, reason=answer.reason))
    repeated = repeat_mask(asked.rows, schema, steps, seed=seed, path=(*path, "repeated"))
    ran, fates = _infer_each(spec, asked, schema, steps, result, rng, repeated)
    return InferenceOutcome(replace(ran, learners=_list_tried_learners(spec.learners, ran.secrets, fates)), asked.people, fates)


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
