"""The cached task of singling out: original and released table in, how many people predicates isolate out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tasks.attack.inference.experiment import InferenceExperiment, create_experiment, mask_half
from tasks.attack.membership.frame import REHEARSED
from tasks.attack.membership.inference import select_repeatable_steps
from tasks.attack.singling_out.isolation import single_out
from tasks.attack.singling_out.outcomes import ATTACK, SinglingOutOutputs, SinglingOutResult
from tasks.mask.methods import Masking
from tasks.mask.outputs import Mechanisms
from tasks.microdata.errors import NotApplicable, NotFollowed
from tasks.microdata.randomness import stream
from tasks.microdata.refs import RecordRef, TableRef
from tasks.microdata.schema import Role, Schema
from tasks.microdata.table import Microdata
from tasks.runtime.artifacts import Store, content_address
from tasks.runtime.draws import read_seed
from tasks.runtime.stages import stage

ROOMS = ("attack", "train", "mask", "classify", "ingest")
NO_REHEARSAL = (
    "what isolates people who are not in the release is not known: the table was made elsewhere, and the release file names "
    "nobody who is not in it (`control: {table: <path>}`)"
)
ALL = 2**62  # people: nobody is left out


@stage("singling out", rooms=ROOMS)
def single_people_out(
    data: TableRef,
    control: TableRef | None,
    masked: TableRef,
    schema: RecordRef[Schema],
    mechanisms: RecordRef[Mechanisms],
    is_rehearsal: bool,
    can_be_rehearsed: bool,
    draw: str,
) -> SinglingOutOutputs:
    """Count whom the released rows single out.

    control: people who are not in the release; None: nobody is known. is_rehearsal: ask of a release of a random half of the
    people, made by the same steps, in place of this one. can_be_rehearsed: was this one made by steps that are known?
    """
    store = Store()
    original, attributes = store.table(data), store.record(schema, Schema)
    steps = select_repeatable_steps(store.record(mechanisms, Mechanisms))
    seed, others = read_seed(draw), None if control is None else store.table(control)
    rng = stream(seed, ATTACK, "rehearsal" if is_rehearsal else "file", content_address(original))
    try:
        if is_rehearsal:
            asked = _rehearse(original, attributes, steps, seed, rng, can_be_rehearsed=can_be_rehearsed)
        else:
            asked = create_experiment(original, others, store.table(masked), None, attributes, ALL, rng)
        found = single_out(asked, attributes, steps)
    except NotApplicable as answer:
        found = SinglingOutResult(
            evaluates=REHEARSED if is_rehearsal else "this file",
            quasi_identifiers=attributes.find_by_role(Role.QUASI_IDENTIFIER),
            largest=0,
            others=0 if others is None else others.n,
        )
        found = replace(found, status=answer.status, reason=answer.reason)
    return {"result": store.put_record(found)}


def _rehearse(
    original: Microdata,
    schema: Schema,
    steps: tuple[Masking, ...],
    seed: bytes,
    rng: np.random.Generator,
    *,
    can_be_rehearsed: bool,
) -> InferenceExperiment:
    if not can_be_rehearsed:
        raise NotFollowed(NO_REHEARSAL)
    half, rest, done = mask_half(original, schema, steps, seed=seed, rng=rng)
    return create_experiment(half, rest, done.data, None, schema, ALL, rng, REHEARSED)
