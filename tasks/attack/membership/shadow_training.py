"""Shadow models a few at a time, so that what they answered can be kept: an interruption loses a few, not all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tasks.attack.membership.inference import MembershipExperiment
from tasks.attack.membership.shadows import Prepare, ShadowAnswers, ShadowPool, Teaching, plan_shadow_pool
from tasks.mask.methods import Masking, mask
from tasks.microdata.errors import InputError, NotApplicable, NotFollowed
from tasks.microdata.randomness import stream
from tasks.microdata.schema import Schema
from tasks.microdata.table import Integers, Microdata
from tasks.train.examples import ExampleEncoder, Examples

LEAST_KNOWN = 0.5  # of the people, whose class the model must have learned
TOGETHER = 4  # shadow models; even, because they come in pairs


def plan_shadows(asked: MembershipExperiment, kind: Teaching, shadows: int, seed: bytes) -> ShadowPool:
    """The plan of so many shadow models of a kind about the chosen people: the first are the same however many there are.

    Raises NotApplicable as `plan_shadow_pool`.
    """
    return plan_shadow_pool(
        asked.frame, shadows, kind, rng=stream(seed, "shadows", kind, asked.frame.evaluates, str(asked.table.n))
    )


def as_asked(people: Microdata, schema: Schema, steps: tuple[Masking, ...]) -> Microdata:
    """The people in the words in which a model of a masked table is asked about them.

    Meaning: what a step does to a record for certain (recoding, top and bottom coding, rounding to the nearest) who knows the
    step does to the record that they ask about: a model that has learned `under 30` is not asked about `27`.

    Raises NotFollowed where the steps cannot be carried out on these people.
    """
    certain = tuple(step for step in steps if step.is_rule_for_values)
    if not certain:
        return people
    try:
        return mask(people, schema, certain, seed=bytes(32), path=()).data  # nothing is drawn
    except InputError as error:
        raise NotFollowed(f"the steps cannot be carried out on the people who are asked about ({error.code})") from error


def refuse_unknown_classes(labels: Integers, learned: Integers) -> None:
    """NotApplicable where the model has not learned the class of most of those who are asked about: it says nothing of them."""
    known = float(np.isin(labels, learned).mean())
    if known < LEAST_KNOWN:
        raise NotApplicable("the model has not learned the class of most people who are asked about")


def create_training_masker(
    people: Microdata, schema: Schema, coding: ExampleEncoder, steps: tuple[Masking, ...], seed: bytes, kind: Teaching
) -> Prepare:
    """What becomes of the rows that teach a shadow model where the released model was trained on a masked table.

    The steps are carried out on them, with random choices of their own; a record whose masked class the released model's
    classes lack is left out. It raises NotFollowed where the steps cannot be carried out.
    """

    def prepare(rows: Integers, i: int) -> tuple[Examples, Integers]:
        try:
            done = mask(people.take(rows), schema, steps, seed=seed, path=("shadows", kind, str(i)))
        except InputError as error:
            raise NotFollowed(f"the steps cannot be carried out on what teaches a shadow model ({error.code})") from error
        train, held = coding.get_labelled_examples(done.data)
        return train, rows[done.record[held]]

    return prepare


def answers_as_table(answers: Sequence[ShadowAnswers]) -> Microdata:
    """What some shadow models answered, one below the other: `taught`, and the probability of each class."""
    outputs = np.concatenate([one.outputs for one in answers])
    columns = {"taught": pa.array(np.concatenate([one.taught for one in answers]))}
    return Microdata.from_columns({**columns, **{f"p{c}": pa.array(outputs[:, c]) for c in range(outputs.shape[1])}})


def compute_table_answers(table: Microdata, shadows: int) -> list[ShadowAnswers]:
    """The inverse of `answers_as_table` for so many shadow models."""
    taught = np.asarray(table.column("taught").to_numpy(zero_copy_only=False), dtype=bool)
    outputs = np.column_stack([table.floats(name) for name in table.names[1:]])
    parts = zip(np.split(outputs, shadows), np.split(taught, shadows), strict=True)
    return [ShadowAnswers(own, of) for own, of in parts]
