"""Randomised response for a question of Yes or No, as it is put to respondents; and what epsilon leaves to two categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from tasks.microdata.errors import InputError
from tasks.microdata.spec import Name, Public, Spec
from tasks.microdata.table import Floats

_ROUNDING = 1e-12


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


def estimate_yes_share(answered_yes: int, n: int, *, p: float, p_yes: float) -> tuple[float, float]:
    """The share of true Yes among n respondents, and its variance over the draw of a simple random sample with replacement.

    Formula in words: pi^ = (o - (1 - p) p_yes) / p with o the share that answered Yes; its variance is o (1 - o) / (n p^2).
    `estimate_marginals` gives the same estimate with the variance over the randomisation alone, the respondents held fixed,
    which is smaller by pi^ (1 - pi^) / n.

    Returns the estimate, never clipped: it may be below 0 or above 1. Raises ValueError for p = 0 (the answers say nothing) and
    for n = 0. Source: Torra (2026); Warner (1965). Example: p = 0.5, p_yes = 0.75 and 425 of 1,000: 0.1.
    """
    if p == 0 or n == 0:
        raise ValueError("nothing is known of the true answers: p and n must not be 0")
    o = answered_yes / n
    return (o - (1 - p) * p_yes) / p, o * (1 - o) / (n * p**2)


@dataclass(frozen=True, slots=True)
class Region:
    """The (p00, p11) of matrices of two categories that are epsilon-LDP: a four-cornered convex region.

    corners: shape (4, 2), going round: everything released as 1, the truth as likely as can be, everything released as 0, a lie
    as likely as can be.
    """

    corners: Floats

    @property
    def best(self) -> tuple[float, float]:
        """The second corner: every matrix of the region is this one with what it releases masked once more, or exchanged."""
        return float(self.corners[1, 0]), float(self.corners[1, 1])


def feasible_region(epsilon: float) -> Region:
    """Which matrices [[p00, 1 - p00], [1 - p11, p11]] are epsilon-LDP.

    Formula in words: p00 <= (1 - p11) e, p11 <= (1 - p00) e, 1 - p00 <= p11 e and 1 - p11 <= p00 e, e being e^epsilon: the
    region between the corners (0, 1), (s, s), (1, 0) and (1 - s, 1 - s), s = e / (1 + e).

    epsilon: at least 0 (ValueError otherwise). Every matrix of the region is a mixture of its corners, of which two say nothing
    and the fourth is the second with its answers exchanged. So `epsilon` in a release file, which is the second, is never worse
    than another matrix of the same epsilon: `better_matrices` says so to who checks a release file with such a one.
    Source: Torra (2026), region of feasibility. Example: epsilon 0 leaves the segment p00 + p11 = 1, where rows are equal.
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon must be at least 0, not {epsilon}")
    truth = 1 / (1 + np.exp(-epsilon))
    return Region(np.array([[0.0, 1.0], [truth, truth], [1.0, 0.0], [1 - truth, 1 - truth]]))


def is_feasible(p00: float, p11: float, epsilon: float) -> bool:
    """Does the matrix of two categories lie in the region, its border included (within rounding)?"""
    most = np.exp(epsilon) * (1 + _ROUNDING)
    pairs = ((p00, 1 - p11), (p11, 1 - p00))
    return all(one <= most * other + _ROUNDING and other <= most * one + _ROUNDING for one, other in pairs)
