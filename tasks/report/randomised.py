"""What PRAM promises of single attributes, in words: the step is epsilon-LDP, never the release."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tasks.mask.categories.pram import Randomisation
from tasks.report.content import Content
from tasks.report.numbers import number


def randomised_in_words(content: Content) -> Iterator[str]:
    """One sentence or two for each attribute that PRAM drew anew."""
    for one in content.randomised:
        yield _promise(one)
        if one.truth_is_less_likely:
            yield f"In {one.attribute}, a true category can be less likely to be released than another one."


def _promise(one: Randomisation) -> str:
    if isinstance(one.epsilon, str):
        return (
            f"The PRAM step on {one.attribute} has no finite epsilon: some released values rule original ones out, or a gap "
            "shows who has no value."
        )
    rounded_up = math.ceil(100 * one.epsilon) / 100
    return (
        f"The PRAM step on {one.attribute} is {number(rounded_up)}-LDP, its {one.n_categories} categories taken as public; "
        "nothing of the kind is claimed for the release."
    )
