"""Randomised response for a question of Yes or No, as it is put to respondents."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from tasks.microdata.errors import InputError
from tasks.microdata.spec import Name, Public, Spec
from tasks.microdata.table import Floats


class Warner(Spec):
    """The probabilities of randomised response with a forced answer.

    p: the true answer is given; otherwise Yes with p_yes, else No. yes: the category that is the Yes, as text ("1", "true").

    Warner's own design of 1965 (with p the true answer, else the opposite one) is `retention: p` for two categories.
    """

    p: Public[Annotated[float, Field(ge=0, le=1)]]
    p_yes: Public[Annotated[float, Field(ge=0, le=1)]]
    yes: Name

    @model_validator(mode="after")
    def _masks_something(self) -> Self:
        if self.p == 1:
            raise ValueError("p = 1 always gives the true answer: it masks nothing; lower it, or take the step out")
        return self


def warner_matrix(warner: Warner, categories: tuple[str, ...], *, where: str) -> Floats:
    """The transition matrix of the design, shape (2, 2), in the order of `categories`.

    Formula in words: Yes is released for a Yes with p + (1 - p) p_yes, and for a No with (1 - p) p_yes.

    Raises InputError where there are not exactly two categories, or `yes` is none of them.
    Source: Warner (1965); Torra (2026), rr(f(X), p, p') with p' = p_yes. Example: the coin (heads: Yes, tails: the truth) is
    p = 0.5, p_yes = 1; a No is certain there.
    """
    if len(categories) != 2:
        what, allowed = (
            f"randomised response is for a Yes or No; an attribute has {len(categories)} categories",
            "two categories",
        )
        raise InputError("not-two-categories", where, what, allowed, "use `retention` or `epsilon`, or group its categories")
    if warner.yes not in categories:
        what, allowed = "`yes` is no category of an attribute", "one of its two categories, as text"
        raise InputError("unknown-category", f"{where}.yes", what, allowed, "compare it with the values", warner.yes)
    released = np.where([one == warner.yes for one in categories], warner.p_yes, 1 - warner.p_yes)
    return warner.p * np.eye(2) + (1 - warner.p) * released
