"""What PRAM promises of single attributes, and of one record's cells, in words: the step is epsilon-LDP, never the release."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tasks.mask.categories.promise import Epsilon, Randomisation
from tasks.microdata.numbers import number
from tasks.report.content import Content
from tasks.report.wording.sentence import Sentence, say


def describe_randomisation(content: Content) -> Iterator[Sentence]:
    """One sentence or two for each attribute that PRAM drew anew, and one for all of them where each is bounded."""
    for one in content.randomised:
        yield _promise(one)
        if one.truth_is_less_likely:
            yield say("randomised.truth_is_less_likely", attribute=one.attribute)
    epsilon = content.epsilon_of_a_record
    if len(content.randomised) > 1 and isinstance(epsilon, float):
        attributes = [one.attribute for one in content.randomised]
        yield say("randomised.cells_of_a_record", attributes=attributes, epsilon=_round_epsilon_up(epsilon))
    if content.epsilon_over_releases is not None:
        yield describe_epsilon_over_releases(content.epsilon_over_releases)


def describe_epsilon_over_releases(epsilon: Epsilon) -> Sentence:
    """What PRAM promises of somebody who is in all releases that count; for the steward alone."""
    finite = None if isinstance(epsilon, str) else _round_epsilon_up(epsilon)
    return say("randomised.over_releases", epsilon=finite)


def _promise(one: Randomisation) -> Sentence:
    step = {"attribute": one.attribute, "together": one.together}
    if isinstance(one.epsilon, str):
        return say("randomised.no_finite_epsilon", **step, invariant=one.invariant)
    return say("randomised.private", **step, epsilon=_round_epsilon_up(one.epsilon), categories=one.n_categories)


def _round_epsilon_up(epsilon: float) -> str:
    return number(math.ceil(100 * epsilon) / 100, digits=12)
