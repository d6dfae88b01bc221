"""What to do better with a stated matrix of two categories, for the person who wrote it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tasks.mask.categories.pram import Pram, transition_matrix
from tasks.mask.categories.product import category_texts, create_category_coding
from tasks.mask.categories.randomised_response import compute_epsilon
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Spec
from tasks.microdata.table import Floats, Microdata

_CLEARLY = 1e-6


def better_matrices(source: Microdata, schema: Schema, steps: Iterable[Spec]) -> tuple[str, ...]:
    """A sentence for each attribute of two categories whose stated matrix is not the best of its epsilon.

    The best is what `epsilon` in a release file stands for: every other matrix of the same epsilon is it with what it releases
    masked once more, or exchanged (Torra 2026, region of feasibility).
    It names no category. An invariant matrix, and one whose epsilon is 0 or infinite, has no better one.
    """
    return tuple(_sentences(source, schema, steps))


def _sentences(source: Microdata, schema: Schema, steps: Iterable[Spec]) -> Iterator[str]:
    for i, step in enumerate(steps):
        if not isinstance(step, Pram) or step.invariant or (step.matrix is None and step.warner is None):
            continue
        for name in step.target_attributes:
            texts = category_texts(create_category_coding(schema, source, (name,), "masking").categories[0])
            advice = _describe_better_matrix(transition_matrix(step, texts, where=f"masking[{i}]")) if len(texts) == 2 else None
            if advice is not None:
                yield f"masking[{i}]: the probabilities for {name} are {advice}"


def _describe_better_matrix(matrix: Floats) -> str | None:
    epsilon = compute_epsilon(matrix)
    if not 0 < epsilon < np.inf:
        return None
    truth = 1 / (1 + np.exp(-epsilon))
    best = 2 * truth - 1
    if abs(matrix.trace() - 1) >= best - _CLEARLY:
        return None
    return (
        f"{epsilon:.4g}-LDP; `epsilon: {epsilon:.4g}` keeps a value with probability {truth:.3g}, promises the same, and lets "
        f"shares be estimated better (condition number {1 / best:.3g} instead of {np.linalg.cond(matrix):.3g})"
    )
