"""Invariant PRAM: a transition matrix that keeps the expected frequencies of the categories."""

from __future__ import annotations

import numpy as np

from tasks.microdata.table import Floats


def invariant_matrix(base: Floats, counts: Floats) -> Floats:
    """The matrix P with t^T P = t^T, t the shares of the categories: each category has on average the frequency that it had.

    Meaning: a value is drawn by the base matrix R, and then drawn back: among the categories it may have come from, each with
    the probability that it came from there. Frequencies need no correction by an analyst.
    Formula in words: P = R Q with Q(k, j) = t_j R(j, k) / sum over i of t_i R(i, k), the Bayes reverse of R. A row k of Q that
    no record can reach is t; without any record t is taken as uniform.

    Parameters
    ----------
    base: R, shape (c, c), rows are true categories and sum to 1. counts: shape (c,), the records of each category.

    Returns P, shape (c, c), rows sum to 1. A category that nobody has is never drawn. P holds the shares: whoever has its cells
    has t, as the left eigenvector of eigenvalue 1. It depends on the data, so that it has no finite epsilon.
    Cost: O(c^3).
    Source: Kooiman, Willenborg and Gouweleeuw (1997), the two-stage method.

    Example: a base matrix of equal rows gives rows t: each value becomes that of a record drawn at random.
    """
    n = counts.sum()
    shares = counts / n if n > 0 else np.full(len(counts), 1 / len(counts))
    together = shares[:, np.newaxis] * base  # (j, k): true category j, drawn as k
    drawn = together.sum(axis=0)
    reached = drawn > 0
    back = np.tile(shares, (len(shares), 1))
    back[reached] = (together[:, reached] / drawn[reached]).T
    matrix: Floats = base @ back
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix
