"""What PRAM promises of single attributes, and of one record's cells, in words: the step is epsilon-LDP, never the release."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tasks.mask.categories.promise import Randomisation
from tasks.microdata.numbers import number
from tasks.microdata.words import join_with_and
from tasks.report.content import Content


def describe_randomisation(content: Content) -> Iterator[str]:
    """One sentence or two for each attribute that PRAM drew anew, and one for all of them where each is bounded."""
    for one in content.randomised:
        yield _promise(one)
        if one.truth_is_less_likely:
            yield f"In {one.attribute}, a true category can be less likely to be released than another one."
    yield from _describe_record_epsilon(content)


def _promise(one: Randomisation) -> str:
    step = f"The PRAM step on {one.attribute}" + (
        f", drawn together with {join_with_and(one.together)}," if one.together else ""
    )
    if isinstance(one.epsilon, str):
        why = (
            "its chances come from the data, so that expected frequencies stay."
            if one.invariant
            else "some released values rule original ones out, or a gap shows who has no value."
        )
        return f"{step} has no finite epsilon: {why}"
    return (
        f"{step} is {_round_epsilon_up(one.epsilon)}-LDP, its {one.n_categories} categories taken as public; nothing of the "
        "kind is claimed for the release."
    )


def _describe_record_epsilon(content: Content) -> Iterator[str]:
    epsilon = content.epsilon_of_a_record
    if len(content.randomised) > 1 and isinstance(epsilon, float):
        names = join_with_and(one.attribute for one in content.randomised)
        yield (
            f"The PRAM steps on {names} together are {_round_epsilon_up(epsilon)}-LDP for one record's cells in them; every "
            "other release about the same people adds to it."
        )


def _round_epsilon_up(epsilon: float) -> str:
    return number(math.ceil(100 * epsilon) / 100, digits=12)
