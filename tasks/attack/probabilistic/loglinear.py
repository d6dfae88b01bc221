"""The law of the patterns where attributes do not agree independently: a log-linear model in which chosen pairs interact."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np

from tasks.attack.probabilistic.patterns import Patterns, compute_strides
from tasks.microdata.errors import AttackFailed, InputError
from tasks.microdata.imports import one_at_a_time
from tasks.microdata.table import Floats, Integers

MOST_CELLS = 1 << 12  # of the table that a log-linear model is fitted to


@dataclass(frozen=True, slots=True)
class Table:
    """All patterns of the levels that occur, and the terms of the model.

    levels: shape (cells, d). cell: shape (p,): the cell of each pattern that occurs.
    design: shape (cells, terms): the constant, one term for each level but the least, and their products for the chosen pairs.
    """

    levels: Integers
    cell: Integers
    design: Floats

    def cells(self, of_patterns: Floats) -> Floats:
        """Shape (cells,): numbers of the patterns that occur, 0 for the others."""
        return np.bincount(self.cell, of_patterns, len(self.levels)).astype(np.float64)

    def product(self, by_attribute: tuple[Floats, ...]) -> Floats:
        """Shape (cells,): the product of the probabilities of the levels."""
        parts = [one[self.levels[:, j]] for j, one in enumerate(by_attribute)]
        return np.asarray(np.prod(parts, axis=0), dtype=np.float64)


def create_table(patterns: Patterns, interactions: tuple[tuple[str, str], ...]) -> Table:
    """The table of a model in which these pairs of attributes interact.

    Raises InputError for a pair that is not of two of the attributes, and more than 4,096 cells.
    """
    pairs = [_pair(patterns.names, pair) for pair in interactions]
    kept = [np.unique(column).astype(np.int64) for column in patterns.levels]
    if math.prod(len(one) for one in kept) > MOST_CELLS:
        what = "the levels of the attributes make too many patterns for a log-linear model"
        allowed = f"at most {MOST_CELLS:,} patterns"
        remedy = "compare with fewer levels, let the intruder know fewer attributes, or leave `interactions` out"
        raise InputError("too-many-patterns", "attacks: interactions", what, allowed, remedy)
    every = np.stack([one.ravel() for one in np.meshgrid(*kept, indexing="ij")], axis=1)
    strides = compute_strides(patterns.sizes)
    order = np.argsort(every @ strides)
    every = every[order]
    return Table(every, np.searchsorted(every @ strides, patterns.numbers), _design(every, kept, pairs))


def fit_loglinear_model(table: Table, counts: Floats) -> Floats:
    """The probabilities of the cells by the log-linear model that is likeliest for their counts (Poisson, statsmodels' GLM).

    counts: shape (cells,), >= 0, need not be whole; a little of everything has to be in it, else a term has no estimate.
    Returns shape (cells,), adding up to 1; its margins over the chosen pairs and over every attribute are those of the counts.
    Raises AttackFailed where the fit does not converge.
    """
    with one_at_a_time():
        from statsmodels.genmod.families import Poisson  # slow to import, and few releases need it
        from statsmodels.genmod.generalized_linear_model import GLM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = GLM(counts / counts.sum(), table.design, family=Poisson()).fit(maxiter=200, tol=1e-12)
    if not fit.converged:
        raise AttackFailed("the log-linear model of the patterns did not converge")
    means: Floats = np.asarray(fit.fittedvalues, dtype=np.float64)
    return np.asarray(means / means.sum())


def _pair(names: tuple[str, ...], pair: tuple[str, str]) -> tuple[int, int]:
    if pair[0] == pair[1] or not set(pair) <= set(names):
        what = "an interaction is not of two different attributes that the intruder knows"
        remedy = "name two of the attributes in each"
        raise InputError("unknown-interaction", "attacks: interactions", what, ", ".join(names), remedy, " x ".join(pair))
    return names.index(pair[0]), names.index(pair[1])


def _design(levels: Integers, kept: list[Integers], pairs: list[tuple[int, int]]) -> Floats:
    singles = [levels[:, [j]] == one[1:] for j, one in enumerate(kept)]
    products = [(singles[j][:, :, None] & singles[k][:, None, :]).reshape(len(levels), -1) for j, k in pairs]
    return np.hstack([np.ones((len(levels), 1)), *singles, *products]).astype(np.float64)
