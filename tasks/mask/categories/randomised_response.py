"""What a transition matrix says: how private a cell is, and what the true shares of the categories were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.microdata.errors import NotApplicable
from tasks.microdata.table import Floats

WORST_CONDITION = 1e12  # beyond, the estimate has no correct digit left


def compute_epsilon(matrix: Floats, *, with_missing: bool = False) -> float:
    """The epsilon of local differential privacy of one randomised cell.

    Meaning: whatever category is released, no true category makes it more than e^epsilon times as probable as another.
    Formula in words: the maximum over the columns of ln(largest entry / smallest entry); columns of zeros are never shown and
    are passed over.

    Parameters
    ----------
    matrix: shape (c, c), rows are true categories and sum to 1.
    with_missing: are there missing cells, which stay missing? Then a gap is certain to be a gap, and epsilon is infinite.

    Returns a number from 0 (the release says nothing of the cell) to infinity (a zero stands beside a non-zero: some release
    rules a category out). It is about the step on the attribute, with its categories taken as public; not about the release.
    Cost: O(c^2).
    Source: docs/SCIENCE.md section 6; Torra (2026), randomised response by PRAM.

    Example: the coin of Warner's question (heads: say Yes, tails: the truth) has epsilon infinite: a No is certain.
    """
    if with_missing:
        return np.inf
    shown = matrix[:, matrix.max(axis=0) > 0]
    smallest, largest = shown.min(axis=0), shown.max(axis=0)
    if (smallest == 0).any():
        return np.inf
    return float(np.log(largest / smallest).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class MarginalEstimates:
    """Estimated shares of the true categories.

    shares: shape (c,); may be negative or above 1: never clipped, they sum to 1. covariance: shape (c, c), over the draw of the
    randomisation, the true categories held fixed. condition_number: of the matrix; how much the draw's error is enlarged.
    """

    shares: Floats
    covariance: Floats
    condition_number: float

    @property
    def variance(self) -> Floats:
        """Shape (c,): of each share. That of a sum of shares is the sum over their block of the covariance."""
        return np.diag(self.covariance).copy()


def estimate_marginals(matrix: Floats, observed: Floats) -> MarginalEstimates:
    """The shares that the true categories had, from the counts of the released ones.

    Meaning: an analyst who knows the matrix undoes, on average, what randomisation did to the frequencies.
    Formula in words: with o the released shares, o = P^T pi on average, so pi^ = (P^T)^-1 o. Given the true categories, the
    released shares have the covariance (diag(o) - P^T diag(pi) P) / n; pi^ is put in for pi, and the inverse on both sides.

    Parameters
    ----------
    matrix: shape (c, c), rows are true categories and sum to 1; over combinations of several attributes, or the product of the
        matrices of steps in a row, as well. observed: shape (c,), the number of records of each released category, their sum n
        at least 1.

    Returns the unbiased estimate. Where it lies outside [0, 1] its variance, computed from it, may be negative as well: n is
    then too small for this matrix.
    Raises NotApplicable where the matrix cannot be inverted (epsilon = 0: all rows are equal).
    Cost: O(c^3).
    Source: docs/SCIENCE.md section 6. Torra (2026) prints P^-1 o, which holds for symmetric P only.

    Example: P = [[.875, .125], [.375, .625]] and 425 and 575 of 1,000 records: shares (0.1, 0.9).
    """
    condition = float(np.linalg.cond(matrix))
    if not condition < WORST_CONDITION:
        raise NotApplicable("the transition matrix cannot be inverted: the release says nothing of the true frequencies")
    n = observed.sum()
    shown = observed / n
    inverse = np.linalg.inv(matrix.T)
    shares = inverse @ shown
    covariance = (np.diag(shown) - matrix.T @ np.diag(shares) @ matrix) / n
    return MarginalEstimates(shares, inverse @ covariance @ inverse.T, condition)
