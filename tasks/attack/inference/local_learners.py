"""Learners that look at the released rows around a person: those that are likely theirs, and the trend among the nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from tasks.microdata.codes import find_distinct_rows
from tasks.microdata.imports import one_at_a_time
from tasks.microdata.table import Floats, Integers

TOGETHER = 2_000_000  # numbers of one block of people
FEWEST_NEAR, MOST_NEAR = 30, 60  # lessons of a local regression
RIDGE = 1.0  # squared standard deviations that are added to those of each input


class LikelyRows:
    """The released rows, each weighed by how likely the mask moves the person there (a transparency attack's posterior).

    Meaning: who knows the mask need not take one nearest row. Each row could be the person's, with a likelihood that falls
    with its distance, measured by how far the mask moves people in each column. Where these distances are far below those
    between rows, it is the nearest place (`CandidateRows`); where they are far above, everybody's share.
    Formula in words: a row at y weighs exp(-1/2 sum over columns of ((x_j - y_j) / s_j)^2) for a person at x, over the sum of
    all weights. A category's chance is the weight of its rows, a number's guess the weighted mean. All columns are taken to be
    moved independently and normally, which is true of noise; of other masks it is an approximation.

    numbers: is a mean guessed? Else the likeliest category, of several the first. spreads: shape (d,), positive: s. Takes and
    answers as estimators of scikit-learn do. Cost of an answer: O(n u d) for n people and u distinct rows, in blocks.
    Example: lessons 1 at 0 and 2 at 2, s = 1, asked at 0: weights 1 and exp(-2), so 1 with a chance of 0.88.
    Source: Gaussian posterior of additive noise with equal priors, as in record linkage that knows the mask (Torra 2022).
    """

    def __init__(self, *, numbers: bool, spreads: Floats) -> None:
        self.numbers = numbers
        self.spreads = spreads

    def fit(self, inputs: Floats, lessons: Floats) -> LikelyRows:
        """inputs: shape (m, d); lessons: shape (m,)."""
        places, of_row = find_distinct_rows(inputs)
        self.places = places / self.spreads
        n, sizes = len(places), np.bincount(of_row)
        self.classes_, code = np.unique(lessons, return_inverse=True)
        width = len(self.classes_)
        if self.numbers:
            self.sums = np.bincount(of_row, weights=lessons, minlength=n)[:, None]
        else:
            self.sums = np.bincount(of_row * width + code, minlength=n * width).reshape(n, width).astype(np.float64)
        self.log_sizes = np.log(sizes)
        self.sizes = sizes.astype(np.float64)
        return self

    def predict(self, inputs: Floats) -> Floats:
        """Shape (n,): the weighted mean of the lessons, or the likeliest category."""
        if self.numbers:
            return self._weigh(inputs)[:, 0]
        return np.asarray(self.classes_[self.predict_proba(inputs).argmax(axis=1)])

    def predict_proba(self, inputs: Floats) -> Floats:
        """Shape (n, classes): the weight of each category; rows add up to 1."""
        return self._weigh(inputs)

    def _weigh(self, inputs: Floats) -> Floats:
        """Shape (n, columns of `sums`): their weighted sums, the weight of all rows being 1."""
        block = max(TOGETHER // len(self.places), 1)
        found = np.empty((len(inputs), self.sums.shape[1]))
        per_row = self.sums / self.sizes[:, None]
        for first in range(0, len(inputs), block):
            some = slice(first, first + block)
            logs = self.log_sizes - 0.5 * scipy.spatial.distance.cdist(inputs[some] / self.spreads, self.places, "sqeuclidean")
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            found[some] = weights @ per_row / weights.sum(axis=1, keepdims=True)
        return found


class LocalRegression:
    """A regression of its own for each person, taught by the lessons nearest to them; for numbers.

    Meaning: within the candidates of a link the secret may still rise with what is known; their mean says the same of all.
    Formula in words: ridge regression on the k nearest lessons, their inputs and values less their means; k is 3 (d + 1),
    but at least 30 and at most 60. The guess stays between the smallest and the largest of these lessons. The penalty, 1
    squared standard deviation, keeps directions in which the candidates do not differ from deciding.

    Cost of an answer: O(n (k^3 + k^2 d)), solved in the k lessons (the dual form), so that many inputs cost little more.
    Example: lessons y = x are guessed as x, between the k nearest.
    """

    def fit(self, inputs: Floats, lessons: Floats) -> LocalRegression:
        """inputs: shape (m, d); lessons: shape (m,)."""
        with one_at_a_time():
            from sklearn.neighbors import NearestNeighbors
        n_near = min(int(np.clip(3 * (inputs.shape[1] + 1), FEWEST_NEAR, MOST_NEAR)), len(lessons))
        self.index = NearestNeighbors(n_neighbors=n_near, n_jobs=1).fit(inputs)
        self.inputs, self.lessons = inputs, lessons
        return self

    def predict(self, inputs: Floats) -> Floats:
        """Shape (n,)."""
        near: Integers = self.index.kneighbors(inputs, return_distance=False)
        block = max(TOGETHER // (near.shape[1] * max(inputs.shape[1], near.shape[1])), 1)
        parts: list[Any] = [
            self._solve(inputs[first : first + block], near[first : first + block]) for first in range(0, len(inputs), block)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def _solve(self, asked: Floats, near: Integers) -> Floats:
        shown, values = self.inputs[near], self.lessons[near]
        centre, mean = shown.mean(axis=1, keepdims=True), values.mean(axis=1, keepdims=True)
        apart = shown - centre
        products = apart @ apart.transpose(0, 2, 1) + RIDGE * np.eye(near.shape[1])
        weights = np.linalg.solve(products, (values - mean)[:, :, None])
        slopes = (apart.transpose(0, 2, 1) @ weights)[:, :, 0]
        guesses = mean[:, 0] + ((asked - centre[:, 0]) * slopes).sum(axis=1)
        return np.asarray(np.clip(guesses, values.min(axis=1), values.max(axis=1)))
