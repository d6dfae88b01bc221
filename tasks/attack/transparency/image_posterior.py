"""Where a record's own row is in the release: a probability for every row, for an intruder who knows the masking steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.attack.outcomes.links import Links
from tasks.attack.transparency.scores import MISSING, UNBOUNDED, ImageScores, find_images, score_images
from tasks.microdata.compiled import njit
from tasks.microdata.table import Floats, Integers

_LEAST = 1e-12  # of what speaks for a row: no other record can show it


@dataclass(frozen=True, slots=True)
class ImagePosterior:
    """r(l) of every distinct record over the released rows.

    links: of the attack. log_total: shape (r + 1,): the logarithm of the sum of the weights of a record's possible images; -inf
        where it has none, as the last one, which stands for those who are known to be absent.
    largest: shape (r + 1,): the largest r(l). squares: shape (r + 1,): the sum of r(l)^2.
    """

    links: Links
    whole: ImageScores
    by_likelihood: bool
    log_total: Floats
    largest: Floats
    squares: Floats

    def compute_probabilities(self, records: Integers, rows: Integers) -> Floats:
        """Shape (k,): r(row) of the record, for k pairs; 0 where the row cannot be its image."""
        kinds, positions = self.links.search_class[records], self.whole.position[self.links.found_class[rows]]
        order = np.argsort(kinds, kind="stable")
        logs = np.empty(len(kinds))
        logs[order] = _list_log_weights(kinds[order], positions[order], self.whole, self.by_likelihood)
        return np.exp(logs - np.where(np.isneginf(logs), 0.0, self.log_total[kinds]))

    def compute_guess_probabilities(self, records: Integers) -> Floats:
        """Shape (k,): the largest r(l) of each record."""
        return self.largest[self.links.search_class[records]]


def posterior(links: Links) -> ImagePosterior:
    """r(l) of all records, from what the steps let an intruder conclude.

    Formula in words: of the rows that can be the record's image, row l has a probability proportional to P(l | record) / q(l),
    q the sum of P(l | other) over all OTHER records that can show it (with the record's own P in it the claims would be a
    little low). Where no law is known all possible images are equally likely: then nothing is
    claimed but that the true row is among them.
    A mean over records of the largest r(l) is what the intruder claims to hit, and that of the sum of r(l)^2 what they claim to
    have at the truth.

    links: as `link_by_mechanism` returns them.
    Cost: that of the attack. Source: docs/SCIENCE.md section 4; Fellegi and Sunter (1969) for the ratio.
    Example: a record that alone can show a row has r = 1 there.
    """
    conditions = links.conditions
    if conditions is None:
        raise ValueError("the links follow from no masking steps")
    whole = score_images(conditions)
    return ImagePosterior(links, whole, conditions.likelihoods.any, *_sums(whole, conditions.likelihoods.any))


@njit(missing=MISSING, infinite=UNBOUNDED)
def _sums(whole: ImageScores, by_likelihood: bool) -> tuple[Floats, Floats, Floats]:
    r = len(whole.conditions.own_at)
    totals, largest, squares = np.full(r + 1, -np.inf), np.zeros(r + 1), np.zeros(r + 1)
    possible, scores = np.empty(len(whole.sizes), dtype=np.int64), np.empty(len(whole.sizes))
    for i in range(r):
        n = find_images(i, whole, possible, scores)
        if n == 0:
            continue
        for e in range(n):
            scores[e] = _weight(scores[e], by_likelihood)
        top = scores[:n].max()
        total, both = 0.0, 0.0
        for e in range(n):
            share, rows = np.exp(scores[e] - top), whole.sizes[possible[e]]
            total += rows * share
            both += rows * share * share
        totals[i], largest[i], squares[i] = top + np.log(total), 1 / total, both / total**2
    return totals, largest, squares


@njit
def _weight(score: float, by_likelihood: bool) -> float:
    """log P / (q - P) of log P / q."""
    return score - np.log(max(-np.expm1(score), _LEAST)) if by_likelihood else 0.0


@njit(missing=MISSING, infinite=UNBOUNDED)
def _list_log_weights(kinds: Integers, positions: Integers, whole: ImageScores, by_likelihood: bool) -> Floats:
    """Of ascending kinds: the images of each are listed once, however many rows of it are asked for."""
    logs, at_position = np.full(len(kinds), -np.inf), np.full(len(whole.sizes), -np.inf)
    possible, scores = np.empty(len(whole.sizes), dtype=np.int64), np.empty(len(whole.sizes))
    begin = 0
    for k in range(1, len(kinds) + 1):
        if k < len(kinds) and kinds[k] == kinds[begin]:
            continue
        absent = kinds[begin] == len(whole.conditions.own_at)
        n = 0 if absent else find_images(kinds[begin], whole, possible, scores)
        for e in range(n):
            at_position[possible[e]] = _weight(scores[e], by_likelihood)
        logs[begin:k] = at_position[positions[begin:k]]
        at_position[possible[:n]] = -np.inf
        begin = k
    return logs
