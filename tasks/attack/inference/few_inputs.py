"""How much a few of the known attributes tell: the attributes in the greedy order that tells most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tasks.attack.inference.inference_learners import LearnerName
from tasks.attack.inference.inputs import join_inputs
from tasks.attack.inference.secret import Secret, teach
from tasks.microdata.table import Booleans, Floats

MOST_TRIED = 5  # attributes that are tried beside the first one: those that tell most alone


def infer_from_few(
    learner: LearnerName,
    secret: Secret,
    inputs: Mapping[str, tuple[Floats, Floats]],
    choosing: Booleans,
    most: int,
    random_state: int,
) -> Iterator[tuple[str, Floats]]:
    """For 1, 2, ... known attributes the one that comes to those before it, and of whom the value is inferred from these.

    Meaning: a good guess from many attributes may be good use of the data; one from a few of them is a disclosure that many
    people can make (Torra 2024). So the attributes come in the order that is worst for the people.
    Formula in words: each next attribute is the one with which a learner that the release taught is right of most people, of
    those who choose; of several the first. Greedy is not worst: some other set of i attributes may tell more. The first is
    chosen of all attributes, the others of the five that tell most alone.

    Parameters
    ----------
    inputs: by attribute, see `encode_each_input`. choosing: shape (n,): who chooses. Nobody should be judged who chooses: the
    figures of these are too large. most: attributes at most.

    Yields an attribute, and shape (n,): 1 right, 0 wrong, missing where nobody knows the value.
    Cost: d + 5 most fits.

    Example: if a vote follows from the party alone, the party comes first, and what comes after it adds nothing.
    """
    everybody, left = np.arange(len(secret.truth)), list(inputs)
    known: list[str] = []

    def judge(names: list[str]) -> Floats:
        shown, asked = join_inputs(inputs, names)
        guesses, _ = teach(learner, secret, shown, random_state).answer(asked)
        return secret.judge(guesses, everybody)

    while left and len(known) < most:
        right = {name: judge([*known, name]) for name in left}
        by_success = sorted(left, key=lambda name: -_mean(right[name][choosing]))
        best = by_success[0]
        yield best, right[best]
        left = [name for name in (by_success[: MOST_TRIED + 1] if not known else left) if name != best]
        known.append(best)


def _mean(values: Floats) -> float:
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else 0.0
